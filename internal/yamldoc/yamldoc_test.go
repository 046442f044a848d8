package yamldoc_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/internal/yamldoc"
)

type inner struct {
	Speed float64 `yaml:"speed" min:"0" max:"50"`
	Name  string  `yaml:"name"`
}

type document struct {
	Seed     uint64        `yaml:"seed"`
	Duration time.Duration `yaml:"duration"`
	On       bool          `yaml:"on_start"`
	Count    int           `yaml:"count" min:"1"`
	List     []inner       `yaml:"list"`
	Inner    *inner        `yaml:"inner"`
	Color    string        `yaml:"color" enum:"red,green"`
	Shade    string        `yaml:"shade" enum:"dark,light" case:"any"`
	Hidden   int
}

func decode(t *testing.T, text string) (document, error) {
	t.Helper()
	d := document{Count: 7}
	n, err := yamldoc.Parse("f.yaml", []byte(text))
	if err == nil {
		err = n.Decode(&d)
	}
	return d, err
}

func TestDecode(t *testing.T) {
	d, err := decode(t, "seed: 18446744073709551615\nduration: 2m30s\non_start: true\nlist:\n  - speed: 3\n    name: 42\n  - {name: b}\ninner: {speed: 1e1}\ncolor: red\n")
	require.NoError(t, err)
	assert.Equal(t, document{
		Seed: 1<<64 - 1, Duration: 150 * time.Second, On: true, Count: 7,
		List: []inner{{3, "42"}, {0, "b"}}, Inner: &inner{Speed: 10}, Color: "red",
	}, d)

	d, err = decode(t, "# nothing but a comment\n")
	require.NoError(t, err)
	assert.Equal(t, document{Count: 7}, d)

	d, err = decode(t, "shade: DarK")
	require.NoError(t, err)
	assert.Equal(t, "DarK", d.Shade)

	d, err = decode(t, "duration: 1.5")
	require.NoError(t, err)
	assert.Equal(t, 1500*time.Millisecond, d.Duration)
}

func TestFaultsNameTheirPlace(t *testing.T) {
	for _, c := range []struct {
		text, message string
		is            error
	}{
		{"sed: 1", "f.yaml:1:1: sed: unknown key, did you mean seed?", yamldoc.ErrUnknownKey},
		{"list:\n  - name: a\n  - sped: 2", "f.yaml:3:5: list[1].sped: unknown key, did you mean speed?", yamldoc.ErrUnknownKey},
		{"inner:\n  speed: 51", "f.yaml:2:10: inner.speed: out of range: 51, the range is 0 to 50", yamldoc.ErrRange},
		{"count: 0", "f.yaml:1:8: count: out of range: 0, the range is 1 to inf", yamldoc.ErrRange},
		{"count: 1.5", "f.yaml:1:8: count: wrong kind of value: 1.5, need a whole number", yamldoc.ErrType},
		{"seed: -1", "f.yaml:1:7: seed: out of range: -1, need a number of at least 0", yamldoc.ErrRange},
		{"seed: many", "f.yaml:1:7: seed: wrong kind of value: many, need a number", yamldoc.ErrType},
		{"color: gren", `f.yaml:1:8: color: unknown value: "gren", did you mean green?`, yamldoc.ErrValue},
		{"color: Red", `f.yaml:1:8: color: unknown value: "Red", did you mean red?`, yamldoc.ErrValue},
		{"shade: Dakr", `f.yaml:1:8: shade: unknown value: "Dakr", did you mean dark?`, yamldoc.ErrValue},
		{"color: 3", `f.yaml:1:8: color: unknown value: "3", known are red, green`, yamldoc.ErrValue},
		{"list: 3", "f.yaml:1:7: list: wrong kind of value: need a list", yamldoc.ErrType},
		{"duration: soon", `f.yaml:1:11: duration: wrong kind of value: "soon", need a duration such as 10s or 2m30s`, yamldoc.ErrType},
		{"inner: {speed: .nan}", "f.yaml:1:16: inner.speed: out of range: NaN, the range is 0 to 50", yamldoc.ErrRange},
	} {
		_, err := decode(t, c.text)
		require.ErrorIs(t, err, c.is, c.text)
		assert.Equal(t, c.message, err.Error(), c.text)
	}
}

// TestWindowsFiles: a byte-order mark and CRLF mean nothing.
func TestWindowsFiles(t *testing.T) {
	d, err := decode(t, "\ufeffseed: 7\r\ninner:\r\n  speed: 3\r\n")
	require.NoError(t, err)
	assert.EqualValues(t, 7, d.Seed)
	_, err = decode(t, "\ufeffseed: 7\r\ncolor: blue\r\n")
	assert.ErrorContains(t, err, "f.yaml:2:8: color: unknown value")
}

func TestSyntaxErrors(t *testing.T) {
	for _, text := range []string{"a: [1", "a: 1\n  b: 2", "\ta: 1", "a: 1\n---\nb: 2", "seed: 1\nseed: 2"} {
		_, err := decode(t, text)
		require.Error(t, err, text)
		var e *yamldoc.Error
		require.ErrorAs(t, err, &e, text)
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{"seed: 1", "list: [{speed: 1}]", "inner: *a", "a: &x {b: *x}", "? [1]: 2", "- 1", "! 0", "seed: ! 0", "list: [! 0]", "inner: ! 0"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var d document
		if n, err := yamldoc.Parse("f.yaml", data); err == nil {
			_ = n.Decode(&d)
		}
	})
}
