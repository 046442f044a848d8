package bench

import (
	"fmt"
	"math"
	"slices"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/chart"
)

// readbackCharts draws, for each case, the frames of the blocking loop over those
// of the asynchronous one, and below them where the time of a capture goes. The
// case of firstChart comes first.
func readbackCharts(measured []*readbackFigures) []chart.Chart {
	ordered := slices.Clone(measured)
	slices.SortStableFunc(ordered, func(a, b *readbackFigures) int {
		return rank(a.name != firstChart) - rank(b.name != firstChart)
	})
	var list []chart.Chart
	for _, f := range ordered {
		list = append(list, f.frameChart("blocking readback", f.blocking[0]))
		if f.refused == nil {
			list = append(list, f.frameChart("asynchronous readback of the same captures", f.async[0]), f.stageChart())
		}
	}
	return list
}

func rank(later bool) int {
	if later {
		return 1
	}
	return 0
}

// frameChart draws a bar for each frame of one run.
func (f *readbackFigures) frameChart(title string, p *pass) chart.Chart {
	bars := chart.Series{Name: "frame", Kind: chart.Bars}
	for n, d := range p.frames {
		bars.X, bars.Y = append(bars.X, float64(n+1)), append(bars.Y, milliseconds(d))
	}
	return chart.Chart{
		Title: f.name + ": " + title, X: "frame", Y: "frame time, ms", Scale: "readback " + f.name, Series: []chart.Series{bars},
		Marks: []chart.Mark{{Name: fmt.Sprintf("computation of a frame, %v", frameWork), Y: milliseconds(frameWork)}},
	}
}

// Classes of the histogram of stages: so many to a factor of ten, from 1 microsecond.
const (
	stageClasses = 8
	firstClass   = 1e-3 // ms
)

// stageChart draws the distribution of each stage's time, all runs together.
func (f *readbackFigures) stageChart() chart.Chart {
	c := chart.Chart{
		Title: f.name + ": where the time of a capture goes", X: "ms", Y: "share of captures or messages, %", LogX: true,
	}
	all := newStageTimes()
	for _, t := range f.stages {
		all.merge(t)
	}
	for stage, name := range stageNames {
		total := float64(all[stage].TotalCount())
		if total == 0 {
			continue
		}
		counts := map[int]float64{}
		for _, bar := range all[stage].Distribution() {
			if bar.Count > 0 {
				counts[classOf(float64(bar.From)/1e6)] += float64(bar.Count)
			}
		}
		c.Series = append(c.Series, steps(name, counts, total))
	}
	return c
}

// classOf returns the class of a time in milliseconds; the first one has all that
// are shorter, too.
func classOf(ms float64) int {
	return int(math.Floor(stageClasses*math.Log10(max(ms, firstClass)/firstClass) + 1e-9))
}

// steps draws classes by their lower edges; the last one closes the steps.
func steps(name string, counts map[int]float64, total float64) chart.Series {
	s := chart.Series{Name: name, Kind: chart.Steps}
	least, most := math.MaxInt, 0
	for class := range counts {
		least, most = min(least, class), max(most, class)
	}
	for class := least; class <= most+1; class++ {
		s.X = append(s.X, firstClass*math.Pow(10, float64(class)/stageClasses))
		s.Y = append(s.Y, 100*counts[class]/total)
	}
	return s
}
