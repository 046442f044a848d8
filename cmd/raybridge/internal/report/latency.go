package report

import (
	"bytes"
	"html/template"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/raybridge/raybridge/pipeline"
)

// drawLatency draws, for each stage of the way to the first bridge, the median
// and the 99th percentile of every sensor, as SVG.
func drawLatency(stages []pipeline.Stage) (template.HTML, error) {
	names, values := tabulate(stages)
	if len(names) == 0 {
		return "", nil
	}
	p := plot.New()
	p.Y.Label.Text = "milliseconds"
	p.Legend.Top = true
	p.Legend.Padding = vg.Points(4)
	p.Y.Min = 0
	p.NominalX(names...)
	width := vg.Points(14)
	for i, series := range []struct {
		label string
		color color.Color
	}{{"median", color.NRGBA{66, 133, 200, 255}}, {"99 %", color.NRGBA{230, 150, 60, 255}}} {
		bars, err := plotter.NewBarChart(values[i], width)
		if err != nil {
			return "", err
		}
		bars.Color, bars.LineStyle.Width = series.color, 0
		bars.Offset = width * vg.Length(2*i-1) / 2
		p.Add(bars)
		p.Legend.Add(series.label, bars)
	}
	w, err := p.WriterTo(vg.Points(820), vg.Points(230), "svg")
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	if _, err := w.WriteTo(&out); err != nil {
		return "", err
	}
	svg := out.Bytes()
	if start := bytes.Index(svg, []byte("<svg")); start > 0 {
		svg = svg[start:] // the page has its own XML declaration
	}
	return template.HTML(svg), nil
}

// way is the order of the stages.
var way = []string{"gpu", "fence", "copy", "wait", "queue", "send"}

// tabulate takes the slowest sensor of each stage that happened.
func tabulate(stages []pipeline.Stage) (names []string, values [2]plotter.Values) {
	for _, name := range way {
		var p50, p99 float64
		seen := false
		for _, s := range stages {
			if s.Name == name {
				seen = true
				p50, p99 = max(p50, s.P50.Seconds()*1e3), max(p99, s.P99.Seconds()*1e3)
			}
		}
		if seen {
			names = append(names, name)
			values[0], values[1] = append(values[0], p50), append(values[1], p99)
		}
	}
	return names, values
}
