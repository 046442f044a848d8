package chart_test

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/chart"
)

// The first two colours, as they are in Okabe and Ito's table.
var (
	blue       = color.RGBA{0, 114, 178, 255}
	vermillion = color.RGBA{213, 94, 0, 255}
)

func bars(name string, y ...float64) chart.Series {
	s := chart.Series{Name: name, Kind: chart.Bars, Y: y}
	for i := range y {
		s.X = append(s.X, float64(i))
	}
	return s
}

// picture draws a page and reads it back.
func picture(t *testing.T, page *chart.Page) image.Image {
	t.Helper()
	m, err := png.Decode(bytes.NewReader(write(t, page, ".png")))
	require.NoError(t, err)
	return m
}

// heights returns how many pixels of a colour each column has, of those that have
// any.
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

func TestPNGSize(t *testing.T) {
	var before int
	for n := 1; n <= 3; n++ {
		page := &chart.Page{Charts: make([]chart.Chart, n)}
		for i := range page.Charts {
			page.Charts[i] = chart.Chart{Title: "a chart", Series: []chart.Series{bars("", 1, 2)}}
		}
		size := picture(t, page).Bounds().Size()
		assert.Equal(t, 1600, size.X)
		if n > 1 {
			assert.InDelta(t, 390, size.Y-before, 40, "a chart more")
		}
		before = size.Y
	}
}

func TestBarsAreAsHighAsTheirValues(t *testing.T) {
	high := heights(picture(t, &chart.Page{Charts: []chart.Chart{{Series: []chart.Series{bars("", 30, 120, 60, 90)}}}}), blue)
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

// One slow frame among thousands is what such a chart is for.
// The name of a mark stands on the last bar of all, and hides no part of it.
func TestBarsAreSeenBehindNames(t *testing.T) {
	page := func(marks ...chart.Mark) *chart.Page {
		return &chart.Page{Charts: []chart.Chart{{Series: []chart.Series{bars("", 9, 9, 9)}, Marks: marks}}}
	}
	mark := chart.Mark{Name: "a name", Y: 4}
	plain, named := picture(t, page()), picture(t, page(mark))
	require.Equal(t, plain.Bounds(), named.Bounds())
	paper := color.RGBA{254, 255, 255, 255}
	for y := plain.Bounds().Min.Y; y < plain.Bounds().Max.Y; y++ {
		for x := plain.Bounds().Min.X; x < plain.Bounds().Max.X; x++ {
			if plain.At(x, y) == blue {
				require.NotEqual(t, paper, named.At(x, y), "%d, %d", x, y)
			}
		}
	}
	html := string(write(t, page(mark), ".html"))
	assert.NotContains(t, html, "#FDFEFE", "the page has its own paper by night")
	assert.Regexp(t, `fill:var\(--card\);fill-opacity:0\.69`, html)
}

func TestASpikeAmongThousandsIsSeen(t *testing.T) {
	const n = 20_000
	s := bars("", make([]float64, n)...)
	for i := range s.Y {
		s.Y[i] = 4
	}
	s.Y[12_345] = 80
	data := write(t, &chart.Page{Charts: []chart.Chart{{Series: []chart.Series{s}}}}, ".svg")
	assert.Less(t, len(data), 20_000, "bars weren't merged")
	high := heights(picture(t, &chart.Page{Charts: []chart.Chart{{Series: []chart.Series{s}}}}), blue)
	require.Greater(t, len(high), 1000)
	spike := slices.Index(high, slices.Max(high))
	assert.InDelta(t, 12_345./n, float64(spike)/float64(len(high)), 0.005)
	assert.InDelta(t, 80./4, float64(high[spike])/float64(high[len(high)/4]), 4)
	for _, h := range high {
		assert.GreaterOrEqual(t, h, high[len(high)/4]-1, "a hole between bars")
	}
}

func TestBusyChartsStaySmall(t *testing.T) {
	random := frames(50_000, 10, 100, 5)
	values := random.Y
	for _, kind := range []chart.Kind{chart.Line, chart.Bars, chart.Steps} {
		s := bars("", values...)
		s.Kind = kind
		data := write(t, &chart.Page{Charts: []chart.Chart{{Series: []chart.Series{s}}}}, ".svg")
		assert.Less(t, len(data), 60_000, "kind %d", kind)
	}
}

// Both series have a colour of their own, that of a name in all charts.
func TestColours(t *testing.T) {
	page := &chart.Page{Charts: []chart.Chart{
		{Series: []chart.Series{bars("slow", 3, 3)}},
		{Series: []chart.Series{bars("fast", 1, 1)}},
		{Series: []chart.Series{bars("slow", 3, 3)}},
	}}
	m := picture(t, page)
	slow, fast := heights(m, blue), heights(m, vermillion)
	require.NotEmpty(t, slow)
	require.NotEmpty(t, fast)
	assert.InDelta(t, 2, float64(slices.Max(slow))/float64(slices.Max(fast)), 0.2)
}

// labels returns the numbers on a drawing's axes: X of the first chart, Y of the
// first, X of the next ...
func labels(elements []*element) [][]float64 {
	var out [][]float64
	previous := ""
	for _, e := range elements {
		v, err := strconv.ParseFloat(e.text, 64)
		if e.name != "text" || err != nil {
			continue
		}
		// The labels of an X axis are in a line.
		sameLine := e.attributes["y"] == previous
		last := len(out) - 1
		switch {
		case last >= 0 && (sameLine || len(out)%2 == 0 && v > out[last][len(out[last])-1]):
			out[last] = append(out[last], v)
		default:
			out = append(out, []float64{v})
		}
		previous = e.attributes["y"]
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
		got := labels(parse(t, write(t, &chart.Page{Charts: []chart.Chart{c.chart}}, ".svg"), false))
		require.Len(t, got, 2, name)
		assert.Equal(t, c.horizontal, got[0], name)
		assert.Equal(t, c.vertical, got[1], name)
	}
}

func TestChartsOfOneScaleHaveEqualRanges(t *testing.T) {
	page := &chart.Page{Charts: []chart.Chart{
		{Scale: "frames", Series: []chart.Series{{X: []float64{0, 30}, Y: []float64{60, 70}}}},
		{Scale: "frames", Series: []chart.Series{{X: []float64{10, 20}, Y: []float64{4, 5}}}, Marks: []chart.Mark{{Name: "limit", Y: 150}}},
		{Scale: "other", Series: []chart.Series{{X: []float64{0, 1}, Y: []float64{1, 2}}}},
		{Series: []chart.Series{{X: []float64{0, 300}, Y: []float64{1, 4}}}},
	}}
	got := labels(parse(t, write(t, page, ".svg"), false))
	require.Len(t, got, 8)
	assert.Equal(t, got[0], got[2], "X")
	assert.Equal(t, got[1], got[3], "Y")
	assert.Contains(t, got[1], 150.)
	assert.NotEqual(t, got[0], got[4])
	assert.NotEqual(t, got[1], got[5])
	assert.NotEqual(t, got[4], got[6], "no scale is no scale of its own")
}

// vertical is a vertical line in the colour of axes.
var vertical = regexp.MustCompile(`d="M([0-9.]+),[0-9.]+L([0-9.]+),[0-9.]+" style="fill:none;stroke:#5C6677`)

func TestAxesStandInOneLine(t *testing.T) {
	page := samplePage()
	page.Charts = append(page.Charts, chart.Chart{Y: "1 is here", Series: []chart.Series{bars("", 123_000, 2)}})
	axes := map[string]int{}
	for _, m := range vertical.FindAllStringSubmatch(string(write(t, page, ".svg")), -1) {
		if m[1] == m[2] {
			axes[m[1]]++
		}
	}
	most := 0
	for _, n := range axes {
		most = max(most, n)
	}
	assert.Equal(t, len(page.Charts), most, "Y axes at one X: %v", axes)
}

func TestHistogramsShineThrough(t *testing.T) {
	page := samplePage()
	page.Charts = page.Charts[2:3]
	svg := string(write(t, page, ".svg"))
	assert.Contains(t, svg, "fill-opacity:0.28")
	page.Charts[0].Series = page.Charts[0].Series[:1]
	assert.NotContains(t, string(write(t, page, ".svg")), "fill-opacity")
}

// odd are values that a measurement that went wrong may come to.
var odd = []float64{
	0, math.Copysign(0, -1), 1, -1, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, -math.MaxFloat64,
	math.SmallestNonzeroFloat64, 1e300, -1e300, 1e-300, 1e16, 1e16 + 2, 1e-9, 1e299,
}

// checkDrawing says that a chart is drawn as SVG that has no number gone wrong and
// whose ticks ascend.
func checkDrawing(t testing.TB, c *chart.Chart) {
	elements := parse(t, write(t, &chart.Page{Charts: []chart.Chart{*c}}, ".svg"), false)
	for _, e := range elements {
		assert.NotContains(t, e.attributes["d"], "N") // NaN
		assert.NotContains(t, e.attributes["d"], "I") // Inf
		if e.name == "text" {
			assert.NotContains(t, e.attributes["x"]+e.attributes["y"], "N")
		}
	}
	for _, axis := range labels(elements) {
		assert.True(t, slices.IsSorted(axis), "%v", axis)
		assert.LessOrEqual(t, len(axis), 32, "%v", axis)
	}
}

func TestOddData(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	series := map[string][2][]float64{
		"nothing": {}, "all odd": {odd, odd}, "all zero": {{1, 2, 3}, {0, 0, 0}}, "one instant": {{4, 4, 4}, {1, 2, 3}},
	}
	for _, v := range odd {
		series["a point at "+strconv.FormatFloat(v, 'g', -1, 64)] = [2][]float64{{v}, {v}}
		series["two around "+strconv.FormatFloat(v, 'g', -1, 64)] = [2][]float64{{v, 1}, {1, v}}
	}
	for name, points := range series {
		for _, kind := range []chart.Kind{chart.Line, chart.Bars, chart.Steps} {
			for log := range 4 {
				t.Run(name, func(t *testing.T) {
					checkDrawing(t, &chart.Chart{
						LogX: log&1 != 0, LogY: log&2 != 0, Marks: []chart.Mark{{Name: "m", Y: math.NaN()}, {Name: "n", Y: -4}},
						Series: []chart.Series{{Kind: kind, X: points[0], Y: points[1]}},
					})
				})
			}
		}
	}
}

func TestNothingToDrawSaysSo(t *testing.T) {
	for _, c := range []chart.Chart{
		{}, {Series: []chart.Series{{Name: "empty"}}}, {LogY: true, Series: []chart.Series{bars("", 0, 0)}},
		{Series: []chart.Series{{X: []float64{math.NaN()}, Y: []float64{1}}}},
	} {
		elements := parse(t, write(t, &chart.Page{Charts: []chart.Chart{c}}, ".svg"), false)
		assert.Contains(t, texts(elements, "text"), "no data")
	}
}

func TestOddTexts(t *testing.T) {
	endless := strings.Repeat("endless ", 5000)
	for _, text := range []string{"", " ", "\x00\x1b]0;x\a", "\xff\xfe", "a\nb\tc", "<script>&\"'", "]]>", "日本語 \u202e\uffff", endless, strings.Repeat("W", 5000)} {
		page := samplePage()
		page.Charts = page.Charts[:1]
		c := &page.Charts[0]
		page.Title, page.Lines, page.Notes = text, []string{text}, []string{text}
		page.Table[1][1] = text
		c.Title, c.X, c.Y = text, text, text
		c.Series[0].Name, c.Marks[0].Name = text, text
		parse(t, write(t, page, ".svg"), false)
		for _, e := range parse(t, write(t, page, ".html"), true) {
			assert.NotEqual(t, "script", e.name)
		}
	}
}

// Odd values beside usual ones, and any that 64 bits can hold.
func TestAnyData(t *testing.T) {
	const seed = 11
	random := rand.New(rand.NewPCG(seed, seed))
	value := func() float64 {
		switch random.IntN(3) {
		case 0:
			return odd[random.IntN(len(odd))]
		case 1:
			return math.Float64frombits(random.Uint64())
		}
		return random.NormFloat64()
	}
	for i := range 150 {
		s := chart.Series{Name: "a series", Kind: chart.Kind(i % 3)}
		for range random.IntN(30) {
			s.X, s.Y = append(s.X, value()), append(s.Y, value())
		}
		log := random.IntN(4)
		c := chart.Chart{LogX: log&1 != 0, LogY: log&2 != 0, Series: []chart.Series{s, {Name: "other", X: s.Y, Y: s.X}}}
		if checkDrawing(t, &c); t.Failed() {
			t.Fatalf("seed %d: chart %d: %+v", seed, i, c)
		}
	}
}
