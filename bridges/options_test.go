package bridges_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
)

func TestForm(t *testing.T) {
	info := bridges.Info{Connection: "HOST[:9090]"}
	assert.Equal(t, "HOST[:9090]", info.Form())
	info.Options = []bridges.Option{{Key: "a", Value: "1|2"}, {Key: "b", Value: "N"}}
	assert.Equal(t, "HOST[:9090][?a=1|2][&b=N]", info.Form())
}

func TestSplitOptions(t *testing.T) {
	for connection, want := range map[string]struct {
		target  string
		options map[string]string
	}{
		"":                     {"", map[string]string{}},
		"a/b.c":                {"a/b.c", map[string]string{}},
		"a?x=1&y=%20z":         {"a", map[string]string{"x": "1", "y": " z"}},
		"ws://[::1]:90/p?x=a?": {"ws://[::1]:90/p", map[string]string{"x": "a?"}},
		"a?":                   {"a", map[string]string{}},
	} {
		target, options, err := bridges.SplitOptions(connection, bridges.Option{Key: "x"}, bridges.Option{Key: "y"})
		require.NoError(t, err, connection)
		assert.Equal(t, want.target, target, connection)
		assert.Equal(t, want.options, options, connection)
	}
	for connection, want := range map[string]string{
		"a?z=1":     `unknown option "z"; known are x, y`,
		"a?x=1&x=2": `option "x" is given twice`,
		"a?x=%g":    "invalid URL escape",
	} {
		_, _, err := bridges.SplitOptions(connection, bridges.Option{Key: "x"}, bridges.Option{Key: "y"})
		require.ErrorIs(t, err, bridges.ErrConnectionString, connection)
		assert.ErrorContains(t, err, want, connection)
	}
	_, _, err := bridges.SplitOptions("a?x=1")
	require.ErrorIs(t, err, bridges.ErrConnectionString)
	assert.ErrorContains(t, err, `unknown option "x"; the bridge has none`)
}
