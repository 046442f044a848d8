package wire_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/sensors/stream/wire"
)

// FuzzDecode opens and decodes anything as the kind that it says it is. What can be
// decoded comes to the same sample again after it was serialized.
func FuzzDecode(f *testing.F) {
	for _, msg := range filled() {
		b, err := wire.Append(nil, envelope, msg)
		require.NoError(f, err)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := wire.Open(b)
		if err != nil {
			return
		}
		first, err := wire.Decode(m)
		if err != nil {
			return
		}
		e := wire.Envelope{Type: m.Type(), PublishNs: m.PublishNs()}
		again, err := wire.Append(nil, e, first)
		require.NoError(t, err)
		second, err := wire.Decode(must(wire.Open(again)))
		require.NoError(t, err)
		third, err := wire.Append(nil, e, second)
		require.NoError(t, err)
		require.Equal(t, again, third) // bytes, since NaN isn't equal to itself
	})
}
