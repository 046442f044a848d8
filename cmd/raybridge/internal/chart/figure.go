package chart

import "gonum.org/v1/plot"

// figure is a chart ready to be drawn.
type figure struct {
	chart  *Chart
	traces []trace
	inks   []ink // a series' colour
	x, y   extent
	plot   *plot.Plot
}

// Ticks that have room on the axes: parts of a linear one, labels of a logarithmic.
const (
	partsX, labelsX = 10, 14
	partsY, labelsY = 6, 7
)

// figures prepares the charts of a page, in the look of one format.
func (p *Page) figures(l *look) []*figure {
	out := make([]*figure, len(p.Charts))
	palette := assign(p.Charts)
	for i := range p.Charts {
		c := &p.Charts[i]
		f := &figure{chart: c, inks: palette[i]}
		for k := range c.Series {
			f.traces = append(f.traces, c.trace(&c.Series[k]))
		}
		f.measure()
		out[i] = f
	}
	share(out)
	for _, f := range out {
		f.settle()
		f.plot = f.axes(l)
		f.plot.Add(&drawing{f, l})
	}
	return out
}

// measure finds the extents of the data.
func (f *figure) measure() {
	f.x, f.y = extents(f.traces)
	if f.chart.LogY && boxed(f.traces) {
		f.y.lo /= 1.5 // a box of the lowest value has a height too
	}
	for _, m := range f.chart.Marks {
		switch { // with room for the name above the line
		case !drawable(m.Y, f.chart.LogY):
		case f.chart.LogY:
			f.y.add(m.Y)
			f.y.add(min(3*m.Y, greatest))
		default:
			f.y.add(1.04 * m.Y)
		}
	}
}

// share gives figures of the same scale the same extents.
func share(figures []*figure) {
	type both struct{ x, y extent }
	scales := map[string]*both{}
	for _, f := range figures {
		s := scales[f.chart.Scale]
		if s == nil {
			s = &both{}
			scales[f.chart.Scale] = s
		}
		s.x.join(f.x)
		s.y.join(f.y)
	}
	for _, f := range figures {
		if f.chart.Scale != "" {
			f.x, f.y = scales[f.chart.Scale].x, scales[f.chart.Scale].y
		}
	}
}

// settle rounds the extents to what the axes show.
func (f *figure) settle() {
	if f.chart.LogX {
		f.x = f.x.decades()
	} else {
		f.x = f.x.linear()
	}
	if f.chart.LogY {
		f.y = f.y.decades()
	} else {
		f.y = f.y.heights()
	}
}

// axes returns the chart's axes without anything between them, and without their
// labels, which stand in one line with those of other charts.
func (f *figure) axes(l *look) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil // the page has one
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = f.x.lo, f.x.hi, f.y.lo, f.y.hi
	p.X.Tick.Marker, p.Y.Tick.Marker = linearTicks(f.x, partsX), linearTicks(f.y, partsY)
	if f.chart.LogX {
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, logTicks(f.x, labelsX)
	}
	if f.chart.LogY {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, logTicks(f.y, labelsY)
	}
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Padding = 0
		a.Color, a.Width = l.soft, hairline
		a.Tick.Color, a.Tick.Width, a.Tick.Length = l.soft, hairline, tickLength
		a.Tick.Label.Font, a.Tick.Label.Color = l.tick.Font, l.tick.Color
	}
	return p
}
