package chart

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
)

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

// point is a place in the units of the axes.
type point struct{ x, y float64 }

// box stands on zero between two X, or on the axis where that is logarithmic.
type box struct{ from, to, y float64 }

// trace is what can be drawn of a series: lines or boxes, the boxes by their X.
type trace struct {
	kind  Kind
	lines [][]point // without gaps
	boxes []box
}

// trace leaves out what has no place on the chart's axes.
func (c *Chart) trace(s *Series) trace {
	t := trace{kind: s.Kind}
	switch s.Kind {
	case Line:
		t.lines = c.lines(s)
	case Bars:
		t.boxes = c.bars(s)
	case Steps:
		t.boxes = c.classes(s)
	}
	return t
}

// lines splits a series at what can't be drawn.
func (c *Chart) lines(s *Series) [][]point {
	var lines [][]point
	var run []point
	for i, x := range s.X {
		if drawable(x, c.LogX) && drawable(s.Y[i], c.LogY) {
			run = append(run, point{x, s.Y[i]})
		} else if len(run) > 0 {
			lines, run = append(lines, run), nil
		}
	}
	if len(run) > 0 {
		lines = append(lines, run)
	}
	return lines
}

// ascending returns the points that have an X, by it.
func (c *Chart) ascending(s *Series) []point {
	var points []point
	for i, x := range s.X {
		if drawable(x, c.LogX) {
			points = append(points, point{x, s.Y[i]})
		}
	}
	slices.SortStableFunc(points, func(a, b point) int { return cmp.Compare(a.x, b.x) })
	return points
}

// bars are as wide as the middle distance of neighbours: frames come at times that
// are a little uneven.
func (c *Chart) bars(s *Series) []box {
	points := c.ascending(s)
	half := halfWidth(points, c.LogX)
	var boxes []box
	for _, p := range points {
		if !drawable(p.y, c.LogY) {
			continue
		}
		if c.LogX {
			boxes = append(boxes, box{p.x / half, p.x * half, p.y})
		} else {
			boxes = append(boxes, box{p.x - half, p.x + half, p.y})
		}
	}
	return boxes
}

// halfWidth returns half the median distance of neighbours; on a logarithmic axis
// the root of their median ratio.
func halfWidth(points []point, log bool) float64 {
	var apart []float64
	for i := 1; i < len(points); i++ {
		switch before, x := points[i-1].x, points[i].x; {
		case x == before:
		case log:
			apart = append(apart, min(x/before, 1e6))
		default:
			apart = append(apart, x-before)
		}
	}
	slices.Sort(apart)
	switch {
	case len(apart) == 0 && log:
		return 1.1
	case len(apart) == 0:
		return 0.5
	case log:
		return math.Sqrt(apart[len(apart)/2])
	}
	return apart[len(apart)/2] / 2
}

// classes go from each X to the next.
func (c *Chart) classes(s *Series) []box {
	points := c.ascending(s)
	var boxes []box
	for i, p := range points {
		if drawable(p.y, c.LogY) {
			boxes = append(boxes, box{p.x, c.upper(points, i), p.y})
		}
	}
	empty := func(b box) bool { return b.y == 0 }
	if slices.IndexFunc(boxes, func(b box) bool { return !empty(b) }) < 0 {
		return boxes
	}
	for empty(boxes[0]) {
		boxes = boxes[1:]
	}
	for empty(boxes[len(boxes)-1]) {
		boxes = boxes[:len(boxes)-1]
	}
	return boxes
}

// upper returns the upper edge of a class.
func (c *Chart) upper(points []point, i int) float64 {
	x := points[i].x
	switch last := i == len(points)-1; {
	case !last:
		return points[i+1].x
	case i == 0 && c.LogX:
		return x * 1.1
	case i == 0:
		return x + 1
	case c.LogX:
		return x * min(x/points[i-1].x, 1e6)
	}
	return 2*x - points[i-1].x
}

// extents returns what the traces cover.
func extents(traces []trace) (x, y extent) {
	for i := range traces {
		for _, run := range traces[i].lines {
			for _, p := range run {
				x.add(p.x)
				y.add(p.y)
			}
		}
		for _, b := range traces[i].boxes {
			x.add(b.from)
			x.add(b.to)
			y.add(b.y)
		}
	}
	return x, y
}

// boxed tells whether any of the traces has boxes.
func boxed(traces []trace) bool {
	return slices.ContainsFunc(traces, func(t trace) bool { return len(t.boxes) > 0 })
}

// greatest and least bound the values that are drawn, so that no range overflows.
const (
	greatest = 1e300
	least    = 1e-290
)

// drawable tells whether a value has a place on an axis.
func drawable(v float64, log bool) bool {
	if log {
		return v >= 1/greatest && v <= greatest
	}
	return math.Abs(v) <= greatest // false for NaN
}

// extent is a range of values; the zero value is of none.
type extent struct {
	lo, hi float64
	some   bool
}

func (e *extent) add(v float64) {
	if !e.some {
		*e = extent{v, v, true}
		return
	}
	e.lo, e.hi = min(e.lo, v), max(e.hi, v)
}

func (e *extent) join(other extent) {
	if other.some {
		e.add(other.lo)
		e.add(other.hi)
	}
}

// linear returns the extent, no narrower than can be divided.
func (e extent) linear() extent {
	if !e.some {
		return extent{0, 1, true}
	}
	if e.hi-e.lo < max(least, 1e-9*math.Abs(e.lo), 1e-9*math.Abs(e.hi)) {
		d := max(0.5, 1e-6*math.Abs(e.lo))
		return extent{e.lo - d, e.hi + d, true}
	}
	return e
}

// heights returns what a linear Y axis shows: zero, the values, and some air.
func (e extent) heights() extent {
	e.add(0)
	if e.hi-e.lo < least {
		return extent{0, 1, true}
	}
	const air = 0.06
	d := (e.hi - e.lo) * air
	if e.lo < 0 {
		e.lo -= d
	}
	if e.hi > 0 {
		e.hi += d
	}
	return e
}

// decades returns the extent up to the next of 1, 2 and 5 of a decade on both sides.
func (e extent) decades() extent {
	if !e.some {
		return extent{1, 10, true}
	}
	out := extent{below(e.lo), -1, true}
	if out.hi = above(e.hi); out.hi <= out.lo {
		out.hi = above(out.lo * 1.5)
	}
	return out
}

// rounding lets 9.99999 be a 10.
const rounding = 1e-9

func below(v float64) float64 {
	k := int(math.Floor(math.Log10(v) + rounding))
	for _, d := range []float64{5, 2} {
		if scaled(d, k) <= v*(1+rounding) {
			return scaled(d, k)
		}
	}
	return scaled(1, k)
}

func above(v float64) float64 {
	k := int(math.Floor(math.Log10(v) + rounding))
	for _, d := range []float64{1, 2, 5} {
		if scaled(d, k) >= v*(1-rounding) {
			return scaled(d, k)
		}
	}
	return scaled(1, k+1)
}

// scaled returns d * 10^k, for negative k as the nearest number to the decimal
// fraction.
func scaled(d float64, k int) float64 {
	if k < 0 {
		return d / math.Pow10(-k)
	}
	return d * math.Pow10(k)
}

// ticks are the ticks of an axis whose range is known.
type ticks []plot.Tick

// Ticks returns them.
func (t ticks) Ticks(float64, float64) []plot.Tick { return t }

// linearTicks divides a range into about so many parts of 1, 2 or 5 times a power
// of ten, and those into five or four with ticks that have no label.
func linearTicks(e extent, parts int) ticks {
	rough := (e.hi - e.lo) / float64(parts)
	k := int(math.Floor(math.Log10(rough)))
	digit, minor := 10.0, 5
	for _, c := range []struct {
		digit float64
		minor int
	}{{5, 5}, {2, 4}, {1, 5}} {
		if scaled(c.digit, k) >= rough*(1-rounding) {
			digit, minor = c.digit, c.minor
		}
	}
	var out ticks
	step := scaled(digit, k) / float64(minor)
	for i := math.Ceil(e.lo/step - rounding); i*step <= e.hi+step*rounding; i++ {
		t := plot.Tick{Value: i * step}
		if math.Mod(i, float64(minor)) == 0 {
			t.Value = scaled(i/float64(minor)*digit, k)
			t.Label = number(t.Value, 1e6)
		}
		out = append(out, t)
	}
	return out
}

// logTicks has a label at each decade, or at every so many of them where there are
// more than would fit; in a range of few decades at 2 and 5 too.
func logTicks(e extent, most int) ticks {
	first, last := int(math.Floor(math.Log10(e.lo)+rounding)), int(math.Ceil(math.Log10(e.hi)-rounding))
	decades := last - first
	each := (decades + most - 1) / most // decades per label
	var out ticks
	for k := first; k <= last; k++ {
		for d := 1.0; d <= 9; d++ {
			t := plot.Tick{Value: scaled(d, k)}
			if t.Value < e.lo*(1-rounding) || t.Value > e.hi*(1+rounding) {
				continue
			}
			switch {
			case d == 1 && (k-first)%each == 0, (d == 2 || d == 5) && 3*decades <= most:
				t.Label = number(t.Value, 1e5)
			case d > 1 && each > 1:
				continue // the ticks would touch each other
			}
			out = append(out, t)
		}
	}
	return out
}

// number writes a tick's label: 1500, 0.02, and from a limit on 2e9.
func number(v, limit float64) string {
	if v == 0 {
		return "0" // never -0
	}
	if a := math.Abs(v); a >= 1e-3 && a < limit {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(v, 'e', -1, 64), "e")
	k, _ := strconv.Atoi(exponent) // FormatFloat writes digits with a sign
	return mantissa + "e" + strconv.Itoa(k)
}
