package bench_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image"
	"image/color"
	"image/png"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/bench"
	"github.com/raybridge/raybridge/cmd/raybridge/internal/chart"
)

// plot draws charts into a new file of that ending and returns what is in it.
func plot(t testing.TB, ending string, charts ...chart.Chart) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "page"+ending)
	r := report()
	r.Charts = charts
	require.NoError(t, r.WritePlot(path))
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return data
}

// report is one of some figures and of no machine that is known.
func report() *bench.Report {
	return &bench.Report{
		Machine: bench.Machine{CPU: "<b>&amp; 'quoted'</b>", Cores: 2, Platform: "linux/amd64", GoVersion: "go1.26", LoadBefore: 0.31, LoadAfter: 1.8},
		Scenes:  []string{"city: 100390 triangles"},
		Results: []bench.Result{{Name: "memcpy.bytes_per_s", Case: "8MiB", Unit: "bytes/s", Runs: []float64{9_100_000_000, 10_112_345_678}, Note: "warm"}},
		Methods: []string{"Both loops make\nthe same captures."},
	}
}

// element is a node of a document.
type element struct {
	name       string
	attributes map[string]string
	text       string // that directly in it
}

// parse reads a document to its end, in the order of its elements.
func parse(t testing.TB, data []byte, html bool) []*element {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(data))
	if html {
		d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	}
	var all, open []*element
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			require.Empty(t, open, "elements are left open")
			return all
		}
		require.NoError(t, err)
		switch token := token.(type) {
		case xml.StartElement:
			e := &element{name: token.Name.Local, attributes: map[string]string{}}
			for _, a := range token.Attr {
				e.attributes[a.Name.Local] = a.Value
			}
			all, open = append(all, e), append(open, e)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			if len(open) > 0 {
				open[len(open)-1].text += string(token)
			}
		}
	}
}

// upright is the vertical line of a pair of axes, and the horizontal one after it.
var upright = regexp.MustCompile(`M([0-9.]+),[0-9.]+L([0-9.]+),[0-9.]+L[0-9.]+,[0-9.]+" style="fill:none;stroke:#5c6677`)

// texts returns the text of all elements of a name.
func texts(elements []*element, name string) []string {
	var out []string
	for _, e := range elements {
		if e.name == name {
			out = append(out, strings.TrimSpace(e.text))
		}
	}
	return out
}

func bars(name string, y ...float64) chart.Series {
	s := chart.Series{Name: name, Kind: chart.Bars, Y: y}
	for i := range y {
		s.X = append(s.X, float64(i))
	}
	return s
}

// sampleCharts are like those that the benches draw.
func sampleCharts() []chart.Chart {
	return []chart.Chart{
		{
			Title: "blocking readback", X: "frame", Y: "frame time, ms", Scale: "frames", Series: []chart.Series{bars("frame", 65, 64, 112)},
			Marks: []chart.Mark{{Name: "computation", Y: 4}},
		}, {
			Title: "where the time goes", X: "ms", Y: "share, %", LogX: true, Series: []chart.Series{
				{Name: "fence", Kind: chart.Steps, X: []float64{0.05, 1, 10, 100}, Y: []float64{0, 40, 60, 0}},
				{Name: "copy", Kind: chart.Steps, X: []float64{0.05, 1, 10, 100}, Y: []float64{100, 0, 0, 0}},
			},
		}, {
			Title: "lateness", X: "time, s", Y: "ms", LogY: true, Series: []chart.Series{{Name: "idle", X: []float64{0, 1, 2}, Y: []float64{0.05, 20, 0.1}}},
			Marks: []chart.Mark{{Name: "period", Y: 10}},
		},
	}
}

func TestCheckPlot(t *testing.T) {
	for path, ok := range map[string]bool{
		"a.png": true, "x/b.svg": true, "c.HTML": true, "": false, "png": false, "a.jpg": false, "a.html/b": false, "a.htm": false,
	} {
		err := bench.CheckPlot(path)
		if ok {
			assert.NoError(t, err, path)
			continue
		}
		assert.ErrorIs(t, err, bench.ErrFormat, path)
		assert.ErrorIs(t, report().WritePlot(path), bench.ErrFormat, path)
	}
}

func TestSVG(t *testing.T) {
	svg := plot(t, ".svg", sampleCharts()...)
	assert.Contains(t, string(svg), "fill-opacity:0.28", "histograms shine through each other")
	axes := map[string]int{}
	for _, m := range upright.FindAllStringSubmatch(string(svg), -1) {
		axes[m[1]]++
	}
	require.Len(t, axes, 1, "Y axes stand in one line")
	elements := parse(t, svg, false)
	assert.Equal(t, "svg", elements[0].name)
	assert.Equal(t, "img", elements[0].attributes["role"])
	assert.Equal(t, []string{"raybridge bench"}, texts(elements, "title"))
	assert.Contains(t, texts(elements, "desc")[0], "where the time goes: share, % over ms, of fence, copy.")
	for _, want := range []string{
		"raybridge bench", "machine: 2 cores of <b>&amp; 'quoted'</b>", "load: 0.31 before, 1.80 after", "blocking readback", "frame time, ms", "frame", "fence",
		"copy", "computation", "period", "0.05", "100",
	} {
		assert.Contains(t, texts(elements, "text"), want)
	}
}

func TestHTML(t *testing.T) {
	data := plot(t, ".html", sampleCharts()...)
	elements := parse(t, data, true)
	assert.Len(t, texts(elements, "svg"), 1)
	assert.Equal(t, []string{"figure", "case", "n", "median", "min", "max", "unit", "of"}, texts(elements, "th"))
	assert.Equal(t, []string{"memcpy.bytes_per_s", "8MiB", "2", "9,606,172,839", "9,100,000,000", "10,112,345,678", "bytes/s", "warm"}, texts(elements, "td"))
	assert.Contains(t, texts(elements, "li"), "machine: 2 cores of <b>&amp; 'quoted'</b>")
	assert.Equal(t, []string{"Both loops make the same captures."}, texts(elements, "p"))
	for _, e := range elements {
		assert.NotEqual(t, "script", e.name)
		for name, value := range e.attributes {
			assert.False(t, name != "xmlns" && strings.Contains(value, "//"), "%s is elsewhere", value)
		}
	}
	// What the drawing has in common with the page follows its colours.
	assert.Contains(t, string(data), "fill:var(--ink)")
	assert.NotContains(t, string(data), "fill:#1c2330")
	assert.NotContains(t, string(data), "fill:#ffffff", "the page has its own paper by night")
}

func TestReportWithoutCharts(t *testing.T) {
	elements := parse(t, plot(t, ".html"), true)
	assert.Len(t, texts(elements, "td"), 8)
	assert.Empty(t, texts(elements, "svg"))
	for _, ending := range []string{".png", ".svg"} {
		err := report().WritePlot(filepath.Join(t.TempDir(), "page"+ending))
		assert.ErrorIs(t, err, bench.ErrNoCharts)
		assert.ErrorContains(t, err, ".html")
	}
}

func TestAFailureLeavesWhatWasThere(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "page.svg")
	require.NoError(t, os.WriteFile(path, []byte("before"), 0o600))
	require.Error(t, report().WritePlot(path))
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "before", string(data))

	r := report()
	r.Charts = sampleCharts()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "folder.svg", "full"), 0o755))
	assert.Error(t, r.WritePlot(filepath.Join(dir, "folder.svg")), "a folder can't be replaced")
	assert.ErrorIs(t, r.WritePlot(filepath.Join(dir, "none", "page.svg")), fs.ErrNotExist)

	require.NoError(t, r.WritePlot(path))
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o644), info.Mode().Perm())
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, left, 2, "temporary files were left: %v", left)
}

func TestSameReportSameBytes(t *testing.T) {
	for _, ending := range []string{".png", ".svg", ".html"} {
		assert.True(t, bytes.Equal(plot(t, ending, sampleCharts()...), plot(t, ending, sampleCharts()...)), ending)
	}
}

// The first two colours, as they are in Okabe and Ito's table.
var (
	blue       = color.RGBA{0, 114, 178, 255}
	vermillion = color.RGBA{213, 94, 0, 255}
)

// drawn draws charts and reads them back.
func drawn(t *testing.T, charts ...chart.Chart) image.Image {
	t.Helper()
	m, err := png.Decode(bytes.NewReader(plot(t, ".png", charts...)))
	require.NoError(t, err)
	return m
}

// heights returns how many pixels of a colour each column has, of those that have any.
func heights(m image.Image, c color.RGBA) []int {
	var out []int
	for x := m.Bounds().Min.X; x < m.Bounds().Max.X; x++ {
		n := 0
		for y := m.Bounds().Min.Y; y < m.Bounds().Max.Y; y++ {
			if r, g, b, _ := m.At(x, y).RGBA(); uint8(r>>8) == c.R && uint8(g>>8) == c.G && uint8(b>>8) == c.B {
				n++
			}
		}
		if n > 0 {
			out = append(out, n)
		}
	}
	return out
}

func TestBarsAreAsHighAsTheirValues(t *testing.T) {
	m := drawn(t, chart.Chart{Series: []chart.Series{bars("", 30, 120, 60, 90)}})
	assert.Equal(t, 1600, m.Bounds().Dx())
	high := heights(m, blue)
	require.NotEmpty(t, high)
	assert.InDelta(t, 0.8*1450, len(high), 25, "a fifth of the width is gaps")
	var steps []int // the middle column of each run of equal height
	for i := 20; i < len(high)-20; i++ {
		if high[i-20] == high[i] && high[i+20] == high[i] && (len(steps) == 0 || steps[len(steps)-1] != high[i]) {
			steps = append(steps, high[i])
		}
	}
	require.Len(t, steps, 4)
	for i, want := range []float64{30, 120, 60, 90} {
		assert.InDelta(t, want/120*float64(slices.Max(steps)), steps[i], 2)
	}
}

// The name of a mark stands on the last bar, and hides no part of it.
func TestBarsAreSeenBehindNames(t *testing.T) {
	with := func(marks ...chart.Mark) image.Image {
		return drawn(t, chart.Chart{Series: []chart.Series{bars("", 9, 9, 9)}, Marks: marks})
	}
	plain, named := with(), with(chart.Mark{Name: "a name", Y: 4})
	require.Equal(t, plain.Bounds(), named.Bounds())
	seen := 0
	for y := range plain.Bounds().Dy() {
		for x := range plain.Bounds().Dx() {
			if plain.At(x, y) == blue {
				seen++
				require.NotEqual(t, color.RGBA{255, 255, 255, 255}, named.At(x, y), "%d, %d", x, y)
			}
		}
	}
	assert.Positive(t, seen)
}

// A name has one colour on all charts.
func TestColours(t *testing.T) {
	m := drawn(t, chart.Chart{Series: []chart.Series{bars("slow", 3, 3)}}, chart.Chart{Series: []chart.Series{bars("fast", 1, 1)}},
		chart.Chart{Series: []chart.Series{bars("slow", 3, 3)}})
	slow, fast := heights(m, blue), heights(m, vermillion)
	require.NotEmpty(t, slow)
	require.NotEmpty(t, fast)
	assert.InDelta(t, 2, float64(slices.Max(slow))/float64(slices.Max(fast)), 0.2)
}

func TestALineTouchesItsPoints(t *testing.T) {
	s := chart.Series{X: []float64{0, 1, 2}, Y: []float64{0, math.NaN(), 4}}
	for i := range 50 { // without dots
		s.X, s.Y = append(s.X, 3+float64(i)/10), append(s.Y, 4)
	}
	high := heights(drawn(t, chart.Chart{Series: []chart.Series{s}}), blue)
	assert.InDelta(t, 1450*6./7.9, len(high), 60, "it begins after the gap")
	assert.Less(t, slices.Max(high), 12, "it is thin")
}

// labels returns the numbers on a drawing's axes: X of the first chart, Y of the first, X of
// the next ...
func labels(t *testing.T, charts ...chart.Chart) [][]float64 {
	var out [][]float64
	upright, previous := "", -1
	for _, e := range parse(t, plot(t, ".svg", charts...), false) {
		if v, err := strconv.ParseFloat(e.text, 64); e.name == "text" && err == nil {
			if anchor := e.attributes["text-anchor"]; anchor != upright {
				out, upright = append(out, nil), anchor
				previous++
			}
			out[previous] = append(out[previous], v)
		}
	}
	return out
}

func TestTicks(t *testing.T) {
	for name, c := range map[string]struct {
		chart      chart.Chart
		horizontal []float64
		vertical   []float64
	}{
		"frames": {
			chart.Chart{Series: []chart.Series{{X: []float64{0, 19}, Y: []float64{64, 112}}}},
			[]float64{0, 2, 4, 6, 8, 10, 12, 14, 16, 18}, []float64{0, 20, 40, 60, 80, 100},
		},
		"fractions": {
			chart.Chart{Series: []chart.Series{{X: []float64{0, 0.3}, Y: []float64{-0.001, 0.002}}}},
			[]float64{0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3}, []float64{-0.001, 0, 0.001, 0.002},
		},
		"decades": {
			chart.Chart{LogX: true, LogY: true, Series: []chart.Series{{X: []float64{0.06, 88}, Y: []float64{1, 100_000}}}},
			[]float64{0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100}, []float64{1, 10, 100, 1000, 10_000, 100_000},
		},
		"many decades": {
			chart.Chart{LogX: true, LogY: true, Series: []chart.Series{{X: []float64{1e-9, 1e9}, Y: []float64{1, 1e12}}}},
			[]float64{1e-9, 1e-7, 1e-5, 1e-3, 0.1, 10, 1000, 1e5, 1e7, 1e9}, []float64{1, 100, 1e4, 1e6, 1e8, 1e10, 1e12},
		},
		"large": {
			chart.Chart{Series: []chart.Series{{X: []float64{1e6, 2e6}, Y: []float64{0, 1.1e10}}}},
			[]float64{1e6, 1.1e6, 1.2e6, 1.3e6, 1.4e6, 1.5e6, 1.6e6, 1.7e6, 1.8e6, 1.9e6, 2e6}, []float64{0, 2e9, 4e9, 6e9, 8e9, 1e10},
		},
	} {
		got := labels(t, c.chart)
		require.Len(t, got, 2, name)
		assert.Equal(t, c.horizontal, got[0], name)
		assert.Equal(t, c.vertical, got[1], name)
	}
}

func TestChartsOfOneScaleHaveEqualRanges(t *testing.T) {
	got := labels(t,
		chart.Chart{Scale: "frames", Series: []chart.Series{{X: []float64{0, 30}, Y: []float64{60, 70}}}},
		chart.Chart{Scale: "frames", Series: []chart.Series{{X: []float64{10, 20}, Y: []float64{4, 5}}}, Marks: []chart.Mark{{Name: "limit", Y: 150}}},
		chart.Chart{Scale: "other", Series: []chart.Series{{X: []float64{0, 1}, Y: []float64{1, 2}}}},
		chart.Chart{Series: []chart.Series{{X: []float64{0, 300}, Y: []float64{1, 4}}}},
	)
	require.Len(t, got, 8)
	assert.Equal(t, got[0], got[2], "X")
	assert.Equal(t, got[1], got[3], "Y")
	assert.Contains(t, got[1], 150.)
	assert.NotEqual(t, got[0], got[4])
	assert.NotEqual(t, got[4], got[6], "no scale is not a scale of its own")
}

// Values that a measurement that went wrong may come to leave no number in a drawing that
// isn't one.
func TestOddData(t *testing.T) {
	odd := []float64{
		0, math.Copysign(0, -1), 1, -1, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, -math.MaxFloat64,
		math.SmallestNonzeroFloat64, 1e300, 1e-300, 1e16, 1e16 + 2, 1e-9,
	}
	series := [][2][]float64{{}, {odd, odd}, {{1, 2, 3}, {0, 0, 0}}, {{4, 4, 4}, {1, 2, 3}}}
	for _, v := range odd {
		series = append(series, [2][]float64{{v}, {v}}, [2][]float64{{v, 1}, {1, v}})
	}
	for _, points := range series {
		for _, kind := range []chart.Kind{chart.Line, chart.Bars, chart.Steps} {
			for log := range 4 {
				c := chart.Chart{
					LogX: log&1 != 0, LogY: log&2 != 0, Marks: []chart.Mark{{Name: "m", Y: math.NaN()}, {Name: "n", Y: -4}},
					Series: []chart.Series{{Kind: kind, X: points[0], Y: points[1]}},
				}
				for _, e := range parse(t, plot(t, ".svg", c), false) {
					for _, name := range []string{"d", "x", "y"} {
						require.NotRegexp(t, "N|I", e.attributes[name], "%+v", c)
					}
				}
			}
		}
	}
}

func TestNothingToDrawSaysSo(t *testing.T) {
	for _, c := range []chart.Chart{
		{}, {Series: []chart.Series{{Name: "empty"}}}, {LogY: true, Series: []chart.Series{bars("", 0, 0)}},
		{Series: []chart.Series{{X: []float64{math.NaN()}, Y: []float64{1}}}},
	} {
		assert.Contains(t, texts(parse(t, plot(t, ".svg", c), false), "text"), "no data")
	}
}

func TestOddTexts(t *testing.T) {
	for _, text := range []string{"", " ", "\x00\x1b]0;x\a", "\xff\xfe", "a\nb\tc", "<script>&\"'", "]]>", "日本語 \u202e\uffff", strings.Repeat("endless ", 5000)} {
		c := sampleCharts()[0]
		c.Title, c.X, c.Y, c.Series[0].Name, c.Marks[0].Name = text, text, text, text, text
		parse(t, plot(t, ".svg", c), false)
		for _, e := range parse(t, plot(t, ".html", c), true) {
			assert.NotEqual(t, "script", e.name)
		}
	}
}
