package check_test

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/png"
	"io/fs"
	"iter"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/dataset/check"
)

// list is a format for tests: a text file whose words are labels. "bad" breaks one rule, "odd" another.
var list = check.Format{
	Name: "list",
	Rules: []check.Rule{
		{ID: "record.word", Severity: check.Error, Holds: "no word is bad"},
		{ID: "record.odd", Severity: check.Warning, Holds: "no word is odd"},
	},
	Detect: func(root fs.FS) []string {
		names, _ := fs.Glob(root, "*.list") // the pattern is right
		return names
	},
	Open: func(_ context.Context, root fs.FS, name string, f *check.Findings) (check.Set, error) {
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return nil, err
		}
		return words(strings.Fields(string(text))), nil
	},
}

type words []string

func (w words) Check(_ context.Context, f *check.Findings) error {
	for _, word := range w {
		switch word {
		case "bad":
			f.Add("record.word", check.Place{File: "a.list", Row: word}, "the word is %s", word)
		case "odd":
			f.Add("record.odd", check.Place{}, "odd")
		default:
			f.Measure("words", 1, 2)
		}
	}
	return nil
}

func (w words) Objects() iter.Seq[check.Object] {
	return func(yield func(check.Object) bool) {
		for i, word := range w {
			o := check.Object{Category: word, Distance: float64(i) * 7, Occlusion: "visible"}
			if i == 0 {
				o.Distance, o.Occlusion = math.NaN(), ""
			}
			if !yield(o) {
				return
			}
		}
	}
}

func (w words) Frames() int { return len(w) }

func (w words) Views(i int) (string, []check.View) {
	line := check.Segment{From: [2]float64{-1e12, 5.5}, To: [2]float64{30.5, 5.5}, Category: w[i]}
	return w[i], []check.View{
		{Channel: "left <b>", File: "a.png", Segments: []check.Segment{line}, Dots: []check.Dot{{At: [2]float64{3.2, 8.9}, Depth: 1}}},
		{Channel: "right", File: "missing.png"},
	}
}

func folder(text string) fstest.MapFS {
	var b bytes.Buffer
	_ = png.Encode(&b, image.NewGray(image.Rect(0, 0, 40, 10))) // into memory
	return fstest.MapFS{"a.list": {Data: []byte(text)}, "a.png": {Data: b.Bytes()}}
}

func TestRun(t *testing.T) {
	tests := []struct {
		name, text       string
		exclude          []string
		errors, warnings int
	}{
		{"good", "one two", nil, 0, 0},
		{"both", "one bad odd bad", nil, 2, 1},
		{"without a rule", "one bad odd bad", []string{"record.word"}, 0, 1},
		{"without a group", "one bad odd bad", []string{"record"}, 0, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			results, err := check.Run(t.Context(), folder(test.text), []check.Format{list}, test.exclude)
			require.NoError(t, err)
			require.Len(t, results, 1)
			r := results[0]
			assert.Equal(t, test.errors, r.Total(check.Error))
			assert.Equal(t, test.errors+test.warnings, r.Total(check.Warning))
			assert.Len(t, r.All(), test.errors+test.warnings)
		})
	}
	_, err := check.Run(t.Context(), fstest.MapFS{}, []check.Format{list}, nil)
	require.ErrorIs(t, err, check.ErrNoSet)
	_, err = check.Run(t.Context(), folder(""), []check.Format{list}, []string{"record.wor"})
	require.ErrorIs(t, err, check.ErrNoRule)
}

// TestKept: a rule that each row breaks is told 20 times and counted in full.
func TestKept(t *testing.T) {
	results, err := check.Run(t.Context(), folder(strings.Repeat("bad odd one ", 1000)), []check.Format{list}, nil)
	require.NoError(t, err)
	r := results[0]
	assert.Len(t, r.All(), 40)
	assert.Equal(t, "record.word", r.All()[19].Rule)
	assert.Equal(t, 1000, r.Count("record.word"))
	assert.Equal(t, []check.Share{{Name: "words", Part: 1000, Whole: 2000}}, r.Shares())
}

func TestOpen(t *testing.T) {
	set, err := check.Open(t.Context(), folder("one bad"), []check.Format{list})
	require.NoError(t, err)
	assert.Equal(t, 2, set.Frames())
	_, err = check.Open(t.Context(), fstest.MapFS{}, []check.Format{list})
	require.ErrorIs(t, err, check.ErrNoSet)
}

func TestSpread(t *testing.T) {
	assert.Equal(t, []int{0, 2, 4, 6, 8}, check.Spread(10, 5))
	assert.Equal(t, []int{0, 1, 2}, check.Spread(3, 5))
	assert.Empty(t, check.Spread(0, 5))
}

// TestDraw: a line along row 5 from far outside to column 30, and a dot, whose pixel is that of its coordinates.
func TestDraw(t *testing.T) {
	root := folder("one")
	_, views := words{"one"}.Views(0)
	m, err := check.Draw(root, views[0], 40)
	require.NoError(t, err)
	require.Equal(t, image.Rect(0, 0, 40, 10), m.Rect)
	bright := m.RGBAAt(10, 5)
	assert.Greater(t, max(bright.R, bright.G, bright.B), uint8(200))
	for y := range 10 {
		for x := range 40 {
			want := color.RGBA{0, 0, 0, 255}
			switch {
			case y == 5 && x <= 30:
				want = bright
			case (y == 8 || y == 9) && (x == 3 || x == 2):
				want = m.RGBAAt(3, 8)
				assert.Greater(t, want.R, want.B, "near is red")
			}
			require.Equal(t, want, m.RGBAAt(x, y), "%d, %d", x, y)
		}
	}
	m, err = check.Draw(root, views[0], 20)
	require.NoError(t, err)
	assert.Equal(t, image.Rect(0, 0, 20, 5), m.Rect)
	assert.Equal(t, bright, m.RGBAAt(14, 2))
	_, err = check.Draw(root, views[1], 40)
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestWriteReport(t *testing.T) {
	root := folder("one one bad odd")
	results, err := check.Run(t.Context(), root, []check.Format{list}, nil)
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, check.WriteReport(&b, "a <set>", root, results, 3))
	page := b.String()
	for _, want := range []string{"a &lt;set&gt;", "<b class=\"bad\">1</b>errors", "record.word", "the word is bad", "50.00 %", "<td>one</td><td>2</td>", "labels by distance", "left &lt;b&gt;"} {
		assert.Contains(t, page, want)
	}
	assert.Equal(t, 3, strings.Count(page, "data:image/jpeg;base64,"))
	assert.NotContains(t, page, "ZgotmplZ")
}

// far are labels at distances that no set has.
type far struct{ words }

func (far) Objects() iter.Seq[check.Object] {
	return slices.Values([]check.Object{{Distance: 1e300}, {Distance: math.Inf(1)}, {Distance: math.Inf(-1)}, {Distance: -4}})
}

func TestReportOfWildDistances(t *testing.T) {
	results := []*check.Result{{Format: "list", Findings: check.NewFindings(nil, nil), Set: far{}}}
	var b bytes.Buffer
	require.NoError(t, check.WriteReport(&b, "far", folder(""), results, 0))
	assert.Contains(t, b.String(), "labels by distance")
}

// TestDrawOfHugePicture: a file of a few bytes can't claim more memory than there is.
func TestDrawOfHugePicture(t *testing.T) {
	header := "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x01\x00\x00\x00\x01\x00\x00\x08\x02\x00\x00\x00\xe3\xe6\xa7\xb4"
	_, err := check.Draw(fstest.MapFS{"a.png": {Data: []byte(header)}}, check.View{File: "a.png"}, 40)
	require.ErrorContains(t, err, "65536x65536 pixels are more")
}

// TestFolder: pipes, which may never end, and files that are larger than any set's aren't read.
func TestFolder(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a"), []byte("text"), 0o600))
	require.NoError(t, os.Symlink(filepath.Join(dir, "a"), filepath.Join(dir, "link")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "hole"), nil, 0o600))
	require.NoError(t, os.Truncate(filepath.Join(dir, "hole"), 1<<40))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	root := check.Folder(dir)
	for _, name := range []string{"a", "link"} {
		text, err := fs.ReadFile(root, name)
		require.NoError(t, err)
		assert.Equal(t, "text", string(text))
	}
	for name, want := range map[string]string{"hole": "bytes", "pipe": "pipe", ".": "isn't a file", "gone": "no such file"} {
		_, err := fs.ReadFile(root, name)
		assert.ErrorContains(t, err, want, name)
	}
	info, err := fs.Stat(root, "pipe")
	require.NoError(t, err)
	assert.False(t, info.Mode().IsRegular())
	entries, err := fs.ReadDir(root, ".")
	require.NoError(t, err)
	assert.Len(t, entries, 4)
}
