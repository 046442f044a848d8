package chart_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/chart"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// write draws a page into a new file of that ending and returns what is in it.
func write(t testing.TB, page *chart.Page, ending string) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "page"+ending)
	require.NoError(t, chart.Write(path, page))
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return data
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

func TestCheckPath(t *testing.T) {
	for path, ok := range map[string]bool{
		"a.png": true, "x/b.svg": true, "c.HTML": true, "": false, "png": false, "a.jpg": false, "a.html/b": false, "a.htm": false,
	} {
		err := chart.CheckPath(path)
		if ok {
			assert.NoError(t, err, path)
			continue
		}
		assert.ErrorIs(t, err, chart.ErrFormat, path)
		assert.ErrorIs(t, chart.Write(path, samplePage()), chart.ErrFormat, path)
	}
}

func TestSVG(t *testing.T) {
	elements := parse(t, write(t, samplePage(), ".svg"), false)
	root := elements[0]
	assert.Equal(t, "svg", root.name)
	assert.Equal(t, "img", root.attributes["role"])
	assert.Equal(t, []string{"raybridge bench"}, texts(elements, "title"))
	description := texts(elements, "desc")
	require.Len(t, description, 1)
	for _, c := range samplePage().Charts {
		assert.Contains(t, description[0], c.Title)
	}
	all := texts(elements, "text")
	for _, want := range []string{
		"raybridge bench", "load: 0.31 before, 1.80 after", "Blocking readback, 1280x720", "frame time, ms", "time, s",
		"blocking", "asynchronous", "30 frames a second", "fence seen", "captures", "limit of p99", "0.05", "100",
	} {
		assert.Contains(t, all, want)
	}
	for _, e := range elements {
		if e.name == "text" {
			assert.NotEmpty(t, e.attributes["textLength"], e.text)
		}
	}
}

func TestHTML(t *testing.T) {
	page := samplePage()
	page.Lines = append(page.Lines, "<b>&amp; 'quoted'</b>")
	data := write(t, page, ".html")
	elements := parse(t, data, true)
	assert.Len(t, texts(elements, "svg"), 1)
	assert.Contains(t, texts(elements, "text"), "Latency by stage")
	assert.Equal(t, page.Table[0], texts(elements, "th"))
	assert.Equal(t, append(append(append([]string{}, page.Table[1]...), page.Table[2]...), page.Table[3]...), texts(elements, "td"))
	assert.Equal(t, page.Lines, texts(elements, "li"))
	assert.Equal(t, page.Notes, texts(elements, "p"))
	for _, e := range elements {
		if e.name == "td" {
			_, isNumber := e.attributes["class"]
			assert.Equal(t, strings.Trim(e.text, "0123456789,.") == "" && e.text != "", isNumber, e.text)
		}
		assert.NotEqual(t, "script", e.name)
		for name, value := range e.attributes {
			assert.False(t, name != "xmlns" && strings.Contains(value, "//"), "%s is elsewhere", value)
		}
	}
	// What the drawing has in common with the page follows its colours.
	assert.Contains(t, string(data), "fill:var(--ink)")
	assert.NotContains(t, string(data), "#1C2330")
}

func TestPageWithoutCharts(t *testing.T) {
	page := samplePage()
	page.Charts = nil
	elements := parse(t, write(t, page, ".html"), true)
	assert.Equal(t, page.Table[0], texts(elements, "th"))
	assert.Empty(t, texts(elements, "svg"))
	assert.NotEmpty(t, parse(t, write(t, &chart.Page{}, ".html"), true))
	for _, ending := range []string{".png", ".svg"} {
		err := chart.Write(filepath.Join(t.TempDir(), "page"+ending), page)
		assert.ErrorIs(t, err, chart.ErrNoCharts)
		assert.ErrorContains(t, err, ".html")
	}
}

func TestBadPages(t *testing.T) {
	three := []float64{1, 2, 3}
	for name, page := range map[string]*chart.Page{
		"nil":     nil,
		"lengths": {Charts: []chart.Chart{{Series: []chart.Series{{Name: "s", X: three, Y: three[:2]}}}}},
		"no Y":    {Charts: []chart.Chart{{Series: []chart.Series{{Name: "s", X: three}}}}},
		"kind":    {Charts: []chart.Chart{{Series: []chart.Series{{Kind: 77}}}}},
		"scale":   {Charts: []chart.Chart{{Scale: "ms"}, {Scale: "ms", LogY: true}}},
		"scale X": {Charts: []chart.Chart{{Scale: "ms", LogX: true}, {Scale: "bytes"}, {Scale: "ms"}}},
	} {
		for _, ending := range []string{".png", ".svg", ".html"} {
			path := filepath.Join(t.TempDir(), "page"+ending)
			assert.ErrorIs(t, chart.Write(path, page), chart.ErrPage, name)
			assert.NoFileExists(t, path)
		}
	}
}

func TestAFailureLeavesWhatWasThere(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "page.svg")
	require.NoError(t, os.WriteFile(path, []byte("before"), 0o600))
	bad := samplePage()
	bad.Charts[0].Series[0].X = nil
	assert.Error(t, chart.Write(path, bad))
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "before", string(data))

	require.NoError(t, os.MkdirAll(filepath.Join(dir, "folder.svg", "full"), 0o755))
	assert.Error(t, chart.Write(filepath.Join(dir, "folder.svg"), samplePage()), "a folder can't be replaced")
	assert.ErrorIs(t, chart.Write(filepath.Join(dir, "none", "page.svg"), samplePage()), fs.ErrNotExist)

	require.NoError(t, chart.Write(path, samplePage()))
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o644), info.Mode().Perm())
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, left, 2, "temporary files were left: %v", left)
}

func TestSamePageSameBytes(t *testing.T) {
	for _, ending := range []string{".png", ".svg", ".html"} {
		page := samplePage()
		page.Charts = page.Charts[1:3]
		first := write(t, page, ending)
		assert.True(t, bytes.Equal(first, write(t, page, ending)), ending)
	}
}

// frames are the times of frames that mostly take about so long, one in so many
// some times longer, in milliseconds.
func frames(n int, typical float64, oneIn int, longer float64) chart.Series {
	random := rand.New(rand.NewPCG(3, 4))
	s := chart.Series{Kind: chart.Bars}
	for i := range n {
		y := typical * (1 + 0.06*random.NormFloat64())
		if random.IntN(oneIn) == 0 {
			y *= longer
		}
		s.X, s.Y = append(s.X, float64(i)), append(s.Y, y)
	}
	return s
}

// histogram counts values that are spread around a median by a factor, in classes
// of equal ratio from 0.05 to 100.
func histogram(name string, n int, median, factor float64) chart.Series {
	random := rand.New(rand.NewPCG(5, uint64(len(name))))
	const classes = 90
	s := chart.Series{Name: name, Kind: chart.Steps, Y: make([]float64, classes)}
	for i := range classes {
		s.X = append(s.X, 0.05*math.Pow(2000, float64(i)/classes))
	}
	for range n {
		v := median * math.Pow(factor, random.NormFloat64())
		if k := int(math.Log(v/0.05) / math.Log(2000) * classes); k >= 0 && k < classes {
			s.Y[k]++
		}
	}
	return s
}

// samplePage is like what the bench of readback draws.
func samplePage() *chart.Page {
	blocking, pooled := frames(300, 65, 40, 1.5), frames(3000, 4.3, 200, 4)
	blocking.Name, pooled.Name = "blocking", "asynchronous"
	for i := range blocking.X {
		blocking.X[i] *= 0.0654
	}
	for i := range pooled.X {
		pooled.X[i] *= 0.0065
	}
	lateness := chart.Series{Name: "loaded", Kind: chart.Line}
	idle := chart.Series{Name: "idle", Kind: chart.Line}
	random := rand.New(rand.NewPCG(7, 8))
	for i := range 6000 {
		lateness.X, lateness.Y = append(lateness.X, float64(i)/100), append(lateness.Y, 0.4*random.ExpFloat64())
		idle.X, idle.Y = append(idle.X, float64(i)/100), append(idle.Y, 0.06*random.ExpFloat64())
	}
	return &chart.Page{
		Title: "raybridge bench",
		Lines: []string{
			"machine: 2 cores Intel(R) Xeon(R) Processor @ 2.60GHz", "program: go1.26.0 linux/amd64",
			"OpenGL: llvmpipe (LLVM 15.0.6, 256 bits); 4.5 (Core Profile) Mesa 22.3.6; EGL surfaceless",
			"load: 0.31 before, 1.80 after",
		},
		Table: [][]string{
			{"figure", "case", "n", "median", "min", "max", "unit"},
			{"readback.blocking.frame_ms.p50", "1280x720", "5", "64.8", "63.9", "66.1", "ms"},
			{"readback.async.frame_ms.p99", "1280x720", "5", "5.102", "4.98", "6.3", "ms"},
			{"memcpy.bytes_per_s", "8MiB", "5", "9,812,345,678", "9,100,000,000", "10,112,345,678", "bytes/s"},
		},
		Notes: []string{"Both loops make the same captures and have 4 ms of work a frame. A frame ends when the loop may start the next."},
		Charts: []chart.Chart{
			{
				Title: "Blocking readback, 1280x720", X: "time, s", Y: "frame time, ms", Scale: "frames",
				Series: []chart.Series{blocking}, Marks: []chart.Mark{{Name: "30 frames a second", Y: 1000. / 30}},
			},
			{
				Title: "Asynchronous readback, 1280x720", X: "time, s", Y: "frame time, ms", Scale: "frames",
				Series: []chart.Series{pooled}, Marks: []chart.Mark{{Name: "30 frames a second", Y: 1000. / 30}},
			},
			{
				Title: "Latency by stage", X: "latency, ms", Y: "captures", LogX: true,
				Series: []chart.Series{
					histogram("dispatch to GPU done", 3000, 20, 1.3), histogram("fence seen", 3000, 0.3, 1.8), histogram("copied", 3000, 1.1, 1.2),
					histogram("converted", 3000, 2.2, 1.4), histogram("published", 3000, 0.11, 1.5),
				},
			},
			{
				Title: "Lateness of the clock, 100 Hz", X: "time, s", Y: "late by, ms", LogY: true,
				Series: []chart.Series{lateness, idle}, Marks: []chart.Mark{{Name: "a period", Y: 10}, {Name: "limit of p99", Y: 5}},
			},
		},
	}
}
