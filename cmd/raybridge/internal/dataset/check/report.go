package check

import (
	"bytes"
	"cmp"
	_ "embed" // the page
	"encoding/base64"
	"fmt"
	"html/template"
	"image/jpeg"
	"io"
	"io/fs"
	"maps"
	"math"
	"slices"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/chart"
	"github.com/raybridge/raybridge/internal/fault"
)

//go:embed report.tmpl
var reportSource string

var reportTemplate = template.Must(template.New("report").Funcs(template.FuncMap{
	"count": fault.Count[int],
	"percent": func(s Share) string {
		if s.Whole == 0 {
			return "–"
		}
		return fmt.Sprintf("%.2f %%", 100*float64(s.Part)/float64(s.Whole))
	},
}).Parse(reportSource))

// A page is what the report shows.
type page struct {
	Title string
	Sets  []pageSet
}

// pageSet is one set's part.
type pageSet struct {
	*Result
	Errors, Warnings int
	Frames, Objects  int
	Categories       []categoryRow
	Occlusions       []string
	Charts           template.HTML
	Samples          []pageFrame
	Legend           []legendRow
}

// categoryRow counts the labels of one category.
type categoryRow struct {
	Name      string
	Count     int
	Distance  string // the median
	Occlusion []int  // by the set's words
}

type legendRow struct {
	Name  string
	Color template.CSS
}

type pageFrame struct {
	Name     string
	Pictures []pagePicture
}

type pagePicture struct {
	Channel string
	Source  template.URL
}

// sampleWidth is how wide the report's pictures are at most, pixels.
const sampleWidth = 960

// WriteReport writes a page of HTML, which needs no other file, on what was found in a folder: findings, counts by category, distance and
// occlusion, and so many key frames of each set with boxes and points drawn.
func WriteReport(w io.Writer, title string, root fs.FS, results []*Result, frames int) error {
	p := page{Title: title}
	for i, r := range results {
		s := pageSet{Result: r, Errors: r.Total(Error), Warnings: r.Total(Warning) - r.Total(Error)}
		if r.Set != nil {
			s.Frames = r.Set.Frames()
			s.count(fmt.Sprintf("set-%d", i))
			if err := s.sample(root, frames); err != nil {
				return err
			}
		}
		p.Sets = append(p.Sets, s)
	}
	return reportTemplate.Execute(w, p)
}

// Spread returns the numbers of n key frames, evenly spread over all, the first one among them.
func Spread(all, n int) (picked []int) {
	n = min(all, n)
	for i := range n {
		picked = append(picked, i*all/n)
	}
	return picked
}

// distanceStep is how wide a class of distances is, metres. The last one has all from mostDistance on.
const (
	distanceStep = 10
	mostDistance = 1000
)

// count counts the labels. id begins the ids of the charts' elements.
func (s *pageSet) count(id string) {
	byCategory := map[string]*categoryRow{}
	byOcclusion := map[string]map[string]int{} // category, then occlusion
	distances := map[string][]float64{}
	words := map[string]bool{}
	var all []float64
	for o := range s.Set.Objects() {
		s.Objects++
		c := byCategory[o.Category]
		if c == nil {
			c = &categoryRow{Name: o.Category}
			byCategory[o.Category], byOcclusion[o.Category] = c, map[string]int{}
		}
		c.Count++
		word := cmp.Or(o.Occlusion, "unknown")
		words[word] = true
		byOcclusion[o.Category][word]++
		if !math.IsNaN(o.Distance) {
			distances[o.Category] = append(distances[o.Category], o.Distance)
			all = append(all, o.Distance)
		}
	}
	s.Occlusions = slices.Sorted(maps.Keys(words))
	for _, name := range slices.Sorted(maps.Keys(byCategory)) {
		c := byCategory[name]
		c.Distance = "–"
		if d := distances[name]; len(d) > 0 {
			slices.Sort(d)
			c.Distance = fault.Number(d[len(d)/2], 3) + " m"
		}
		for _, word := range s.Occlusions {
			c.Occlusion = append(c.Occlusion, byOcclusion[name][word])
		}
		s.Categories = append(s.Categories, *c)
	}
	slices.SortStableFunc(s.Categories, func(a, b categoryRow) int { return b.Count - a.Count })
	if s.Objects > 0 {
		sheet := chart.Sheet{Title: "labels", Width: 900, Charts: s.charts(all, byOcclusion)}
		s.Charts = template.HTML(sheet.Element(id)) //nolint:gosec // it is escaped
	}
}

// charts are bars of the counts.
func (s *pageSet) charts(distances []float64, byOcclusion map[string]map[string]int) (charts []chart.Chart) {
	if len(distances) > 0 {
		edges := []float64{0}
		counts := []float64{}
		for _, d := range distances {
			i := int(min(max(d, 0), mostDistance) / distanceStep)
			for len(counts) <= i {
				counts = append(counts, 0)
				edges = append(edges, float64(len(edges)*distanceStep))
			}
			counts[i]++
		}
		charts = append(charts, chart.Chart{Title: "labels by distance", X: "distance from the ego or the camera in m", Y: "labels",
			Series: []chart.Series{{Kind: chart.Steps, X: edges, Y: append(counts, 0)}}})
	}
	of := chart.Chart{Title: "labels by visibility or occlusion, as the format has it", Y: "labels", Names: s.Occlusions}
	bars := chart.Series{Kind: chart.Bars}
	for i, word := range s.Occlusions {
		n := 0
		for _, counts := range byOcclusion {
			n += counts[word]
		}
		bars.X, bars.Y = append(bars.X, float64(i)), append(bars.Y, float64(n))
	}
	of.Series = []chart.Series{bars}
	return append(charts, of)
}

// sample draws key frames. A picture that can't be drawn is left out: a finding has told of it.
func (s *pageSet) sample(root fs.FS, frames int) error {
	shown := map[string]bool{}
	for _, i := range Spread(s.Set.Frames(), frames) {
		name, views := s.Set.Views(i)
		frame := pageFrame{Name: name}
		for _, v := range views {
			m, err := Draw(root, v, sampleWidth)
			if err != nil {
				continue
			}
			var b bytes.Buffer
			if err := jpeg.Encode(&b, m, &jpeg.Options{Quality: 85}); err != nil {
				return err
			}
			source := "data:image/jpeg;base64," + base64.StdEncoding.EncodeToString(b.Bytes())
			frame.Pictures = append(frame.Pictures, pagePicture{v.Channel, template.URL(source)}) //nolint:gosec // it is of base64
			for _, e := range v.Segments {
				shown[e.Category] = true
			}
		}
		s.Samples = append(s.Samples, frame)
	}
	for _, name := range slices.Sorted(maps.Keys(shown)) {
		c := categoryColor(name)
		s.Legend = append(s.Legend, legendRow{name, template.CSS(fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B))}) //nolint:gosec // it is three numbers
	}
	return nil
}
