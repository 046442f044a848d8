package sweep_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/sweep"
)

func TestParseFile(t *testing.T) {
	t.Parallel()
	f, err := sweep.ParseFile("a/sweep.yaml", []byte(`
sweep:
  base: drive.yaml
  matrix: {scene.seed: [1, 2.0, 3], ego.speed: [5, 1e1], ego.driver: [waypoints, "7"], ego.pose: [{x: 1, y: [2]}]}
  exclude: [{scene.seed: 1, ego.speed: 5}]
  repeat: {seed: 5}
  collect: [ego.distance]
  keep: [summary, mcap]
  device: host
`))
	require.NoError(t, err)
	assert.Equal(t, "a/drive.yaml", f.Base)
	var texts [][]string
	for _, a := range f.Axes {
		list := []string{a.Key.Text}
		for _, v := range a.Values {
			list = append(list, v.Text)
		}
		texts = append(texts, list)
	}
	assert.Equal(t, [][]string{
		{"scene.seed", "1", "2", "3"}, {"ego.speed", "5", "10"}, {"ego.driver", "waypoints", `"7"`}, {"ego.pose", `{"x":1,"y":[2]}`},
	}, texts)
	assert.EqualValues(t, 3*2*2*5, f.Count())
	assert.Equal(t, []string{"summary", "mcap"}, f.Keep.Words())
	assert.Equal(t, "host", f.Device)
}

func TestParseFileSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                                                           "s.yaml: not a sweep: it has no key sweep",
		"swep: {}":                                                                   "s.yaml:1:1: swep: unknown key, did you mean sweep?",
		"sweep: {base: a, matrx: {}}":                                                "s.yaml:1:18: sweep.matrx: unknown key, did you mean matrix?",
		"sweep: {matrix: {a: [1]}}":                                                  "sweep.base is missing",
		"sweep: {base: a}":                                                           "nothing is varied",
		"sweep: {base: a, matrix: {}}":                                               "s.yaml:1:26: sweep.matrix: not a sweep: the matrix has no key",
		"sweep: {base: a, matrix: }":                                                 "sweep.matrix: not a sweep: the matrix has no key",
		"sweep: {base: a, matrix: {b: []}}":                                          "s.yaml:1:30: sweep.matrix.b: not a sweep: the list has no value",
		"sweep: {base: a, matrix: {b: 1}}":                                           "a key of the matrix has a list of values",
		"sweep: {base: a, matrix: {b: [1, ~]}}":                                      "there is no value",
		"sweep: {base: a, matrix: {b: [1, 1.0]}}":                                    "s.yaml:1:34: sweep.matrix.b[1]: unknown value: 1 is given twice",
		"sweep: {base: a, matrix: {b: [.inf]}}":                                      "not a finite number",
		"sweep: {base: a, list: []}":                                                 "the list has no combination",
		"sweep: {base: a, list: [{}]}":                                               "the combination has no key",
		"sweep: {base: a, list: [{b: 1}], matrix: {b: [1]}}":                         "give one of matrix, list and random",
		"sweep: {base: a, random: {n: 3}}":                                           "random needs n",
		"sweep: {base: a, random: {n: 3, ranges: {b: [2, 1]}}}":                      "the first end isn't below the second",
		"sweep: {base: a, random: {n: 3, ranges: {b: [a, 1]}}}":                      "a range is [LOW, HIGH], of numbers",
		"sweep: {base: a, repeat: {seed: 0}}":                                        "out of range: 0, the range is 1 to 1000000000",
		"sweep: {base: a, repeat: {sed: 2}}":                                         "did you mean seed?",
		"sweep: {base: a, repeat: {seed: 2}, keep: [outputs, sumary]}":               `unknown value "sumary": want summary, outputs, mcap or report; did you mean summary?`,
		"sweep: {base: a, repeat: {seed: 2}, collect: [min_ttc, min_ttc]}":           "min_ttc is given twice",
		"sweep: {base: a, repeat: {seed: 2}, collect: [min_ttc], keep: {outputs: }}": "need a list",
	} {
		_, err := sweep.ParseFile("s.yaml", []byte(text))
		assert.ErrorContains(t, err, want, text)
	}
}

func TestFileThatAsksForNothing(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "sweep: {base: a}", "sweep: {base: a, matrix: {}}"} {
		_, err := sweep.ParseFile("s.yaml", []byte(text))
		assert.ErrorIs(t, err, sweep.ErrFile, text)
	}
}

func TestCountDoesNotOverflow(t *testing.T) {
	t.Parallel()
	f := &sweep.File{Seeds: math.MaxUint64 / 2, Axes: []sweep.Axis{{Values: make([]sweep.Value, 3)}}}
	assert.EqualValues(t, uint64(math.MaxUint64), f.Count())
}

func FuzzParseFile(f *testing.F) {
	f.Add([]byte("sweep: {base: a, matrix: {b: [1, x, {c: d}]}, exclude: [{b: 1}], repeat: {seed: 3}}"))
	f.Add([]byte("sweep: {base: a, random: {n: 3, seed: 7, ranges: {b: [1, 2.5]}}, keep: [mcap]}"))
	f.Add([]byte("sweep:\n  base: &x a\n  list: [{b: *x}]\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := sweep.ParseFile("s.yaml", text)
		if err == nil && file.Count() == 0 {
			t.Error("a sweep without cases")
		}
	})
}
