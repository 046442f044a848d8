package chart

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Sizes of what is drawn between the axes.
const (
	column    = vg.Length(1.25) // what is narrower is merged
	gapBelow  = vg.Length(3)    // bars narrower than that have no gap between them
	traceLine = vg.Length(1.4)
	denseLine = vg.Length(0.9) // of more points than columns
	dotRadius = vg.Length(2.2)
	fewPoints = 40
)

// drawing is what stands between a figure's axes.
type drawing struct {
	*figure
	look *look
}

// Plot draws the grid, the series and the marks.
func (d *drawing) Plot(c draw.Canvas, p *plot.Plot) {
	d.grid(&c, p)
	some := false
	for i := range d.traces {
		t := &d.traces[i]
		some = some || len(t.boxes)+len(t.lines) > 0
		if t.kind == Line {
			d.strokeLines(&c, p, i)
		} else {
			d.fillBoxes(&c, p, i)
		}
	}
	if !some {
		style := d.look.nothing
		style.XAlign, style.YAlign = text.XCenter, text.YCenter
		c.FillText(style, c.Center(), "no data")
	}
	d.marks(&c, p)
}

// grid draws a line at each labelled tick.
func (d *drawing) grid(c *draw.Canvas, p *plot.Plot) {
	var path vg.Path
	x, y := p.Transforms(c)
	for _, t := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
		if at := x(t.Value); !t.IsMinor() && c.ContainsX(at) {
			path.Move(vg.Point{X: at, Y: c.Min.Y})
			path.Line(vg.Point{X: at, Y: c.Max.Y})
		}
	}
	for _, t := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
		if at := y(t.Value); !t.IsMinor() && c.ContainsY(at) {
			path.Move(vg.Point{X: c.Min.X, Y: at})
			path.Line(vg.Point{X: c.Max.X, Y: at})
		}
	}
	if len(path) > 0 {
		c.SetLineStyle(draw.LineStyle{Color: d.look.grid, Width: hairline})
		c.Stroke(path)
	}
}

// strokeLines draws a series of lines, and a dot at each point where there are few, or
// where it stands alone.
func (d *drawing) strokeLines(c *draw.Canvas, p *plot.Plot, series int) {
	x, y := p.Transforms(c)
	lines := d.traces[series].lines
	count := 0
	for _, run := range lines {
		count += len(run)
	}
	var path, dots vg.Path
	width := traceLine
	for _, run := range lines {
		points := make([]vg.Point, len(run))
		for i, q := range run {
			points[i] = vg.Point{X: x(q.x), Y: y(q.y)}
		}
		if vg.Length(len(points))*column > c.Max.X-c.Min.X {
			width = denseLine
		}
		points = thin(points)
		if count <= fewPoints || len(points) == 1 {
			addDots(&dots, points)
		}
		path.Move(points[0])
		for _, q := range points[1:] {
			path.Line(q)
		}
	}
	if len(path) > 0 {
		c.SetLineStyle(draw.LineStyle{Color: d.inks[series].solid(), Width: width})
		c.Stroke(path)
	}
	if len(dots) > 0 {
		c.SetColor(d.inks[series].solid())
		c.Fill(dots)
	}
}

func addDots(path *vg.Path, points []vg.Point) {
	for _, at := range points {
		path.Move(vg.Point{X: at.X + dotRadius, Y: at.Y})
		path.Arc(at, dotRadius, 0, 2*math.Pi)
		path.Close()
	}
}

// thin keeps of a line that goes to the right the first, the lowest, the highest and
// the last point of each column: it looks the same.
func thin(points []vg.Point) []vg.Point {
	if !slices.IsSortedFunc(points, func(a, b vg.Point) int { return cmp.Compare(a.X, b.X) }) {
		return points
	}
	var out []vg.Point
	for len(points) > 0 {
		n, lowest, highest := 1, 0, 0
		for n < len(points) && math.Floor(float64(points[n].X/column)) == math.Floor(float64(points[0].X/column)) {
			if points[n].Y < points[lowest].Y {
				lowest = n
			}
			if points[n].Y > points[highest].Y {
				highest = n
			}
			n++
		}
		kept := []int{0, lowest, highest, n - 1}
		slices.Sort(kept)
		for _, k := range slices.Compact(kept) {
			out = append(out, points[k])
		}
		points = points[n:]
	}
	return out
}

// block is a box on the canvas.
type block struct{ from, to, y vg.Length }

// alpha is how opaque areas are: others may lie below.
func (f *figure) alpha() uint8 {
	if len(f.traces) > 1 {
		return 72
	}
	return 255
}

// fillBoxes draws a series of bars or classes.
func (d *drawing) fillBoxes(c *draw.Canvas, p *plot.Plot, series int) {
	blocks, base := d.blocks(c, p, series)
	if len(blocks) == 0 {
		return
	}
	t, color := &d.traces[series], d.inks[series]
	narrow := slices.ContainsFunc(blocks, func(b block) bool { return b.to-b.from < 2*column })
	if narrow {
		blocks = merge(blocks, base, c)
	}
	c.SetColor(color.veil(d.alpha()))
	if t.kind == Bars && !narrow {
		c.Fill(separate(blocks, base))
		return
	}
	fill, outline := skyline(blocks, base)
	c.Fill(fill)
	if t.kind == Steps {
		c.SetLineStyle(draw.LineStyle{Color: color.solid(), Width: traceLine})
		c.Stroke(outline)
	}
}

// blocks returns a series' boxes on the canvas, and what they stand on.
func (d *drawing) blocks(c *draw.Canvas, p *plot.Plot, series int) (blocks []block, base vg.Length) {
	x, y := p.Transforms(c)
	base = c.Min.Y
	if !d.chart.LogY {
		base = y(0)
	}
	for _, b := range d.traces[series].boxes {
		q := block{max(c.Min.X, x(b.from)), min(c.Max.X, x(b.to)), y(b.y)}
		if q.to > q.from {
			blocks = append(blocks, q)
		}
	}
	return blocks, base
}

// merge returns blocks a column wide, each as far from the base as the farthest
// block that reaches into it.
func merge(blocks []block, base vg.Length, c *draw.Canvas) []block {
	const sliver = 0.01 // of a column: no reaching into it
	columns := map[int]vg.Length{}
	for _, b := range blocks {
		first := int(math.Floor(float64((b.from-c.Min.X)/column) + sliver))
		last := int(math.Ceil(float64((b.to-c.Min.X)/column)-sliver)) - 1
		for k := first; k <= max(first, last); k++ {
			if y, ok := columns[k]; !ok || math.Abs(float64(b.y-base)) > math.Abs(float64(y-base)) {
				columns[k] = b.y
			}
		}
	}
	var out []block
	for _, k := range slices.Sorted(maps.Keys(columns)) {
		from := c.Min.X + vg.Length(k)*column
		out = append(out, block{from, min(from+column, c.Max.X), columns[k]})
	}
	return out
}

// separate draws each block by itself, with a gap to the next where there is room.
func separate(blocks []block, base vg.Length) vg.Path {
	var path vg.Path
	for _, b := range blocks {
		gap := vg.Length(0)
		if b.to-b.from > gapBelow {
			gap = (b.to - b.from) / 10
		}
		path.Move(vg.Point{X: b.from + gap, Y: base})
		path.Line(vg.Point{X: b.from + gap, Y: b.y})
		path.Line(vg.Point{X: b.to - gap, Y: b.y})
		path.Line(vg.Point{X: b.to - gap, Y: base})
		path.Close()
	}
	return path
}

// skyline draws neighbouring blocks as one area, and the line above it.
func skyline(blocks []block, base vg.Length) (fill, outline vg.Path) {
	for len(blocks) > 0 {
		n := 1
		for n < len(blocks) && blocks[n].from-blocks[n-1].to < column/10 {
			n++
		}
		top := []vg.Point{{X: blocks[0].from, Y: base}}
		for i, b := range blocks[:n] {
			if i == 0 || b.y != blocks[i-1].y {
				top = append(top, vg.Point{X: b.from, Y: top[len(top)-1].Y}, vg.Point{X: b.from, Y: b.y})
			}
		}
		end := blocks[n-1].to
		top = append(top, vg.Point{X: end, Y: top[len(top)-1].Y}, vg.Point{X: end, Y: base})
		for _, path := range []*vg.Path{&fill, &outline} {
			path.Move(top[0])
			for _, q := range top[1:] {
				path.Line(q)
			}
		}
		fill.Close()
		blocks = blocks[n:]
	}
	return fill, outline
}

// marks draws horizontal lines with their names at the right end: above the line,
// or below it, or farther left, where another name stands already.
func (d *drawing) marks(c *draw.Canvas, p *plot.Plot) {
	_, y := p.Transforms(c)
	style := draw.LineStyle{Color: d.look.ink, Width: 1, Dashes: []vg.Length{5, 3}}
	var lines, names []vg.Rectangle
	marks := slices.DeleteFunc(slices.Clone(d.chart.Marks), func(m Mark) bool { return !drawable(m.Y, d.chart.LogY) })
	for _, m := range marks {
		at := y(m.Y)
		c.StrokeLine2(style, c.Min.X, at, c.Max.X, at)
		lines = append(lines, vg.Rectangle{Min: vg.Point{X: c.Min.X, Y: at}, Max: vg.Point{X: c.Max.X, Y: at}})
	}
	for i, m := range marks {
		name := fit(m.Name, d.look.mark, (c.Max.X-c.Min.X)/2)
		if name == "" {
			continue
		}
		size := vg.Point{X: d.look.mark.Width(name), Y: d.look.mark.Font.Size}
		area, found := room(c, lines[i].Min.Y, size, [][]vg.Rectangle{names, lines})
		if !found {
			area, _ = room(c, lines[i].Min.Y, size, [][]vg.Rectangle{names})
		}
		names = append(names, area)
		d.tag(c, area, name)
	}
}

// room returns an area for the name of a line that touches none of the taken ones;
// where there is none, not found, one that does.
func room(c *draw.Canvas, line vg.Length, size vg.Point, taken [][]vg.Rectangle) (area vg.Rectangle, found bool) {
	at := func(right, low vg.Length) vg.Rectangle {
		return vg.Rectangle{Min: vg.Point{X: right - size.X, Y: low}, Max: vg.Point{X: right, Y: low + size.Y}}
	}
	rights := []vg.Length{c.Max.X - 2*markGap}
	for _, r := range taken[0] {
		rights = append(rights, r.Min.X-4*markGap)
	}
	for _, right := range rights {
		for _, low := range []vg.Length{line + markGap, line - markGap - size.Y} {
			a := at(right, low)
			touches := func(r vg.Rectangle) bool {
				return a.Min.X < r.Max.X+1 && r.Min.X < a.Max.X+1 && a.Min.Y < r.Max.Y+1 && r.Min.Y < a.Max.Y+1
			}
			inside := a.Min.X >= c.Min.X && a.Min.Y >= c.Min.Y && a.Max.Y <= c.Max.Y
			if inside && !slices.ContainsFunc(taken, func(list []vg.Rectangle) bool { return slices.ContainsFunc(list, touches) }) {
				return a, true
			}
		}
	}
	return at(rights[0], min(line+markGap, c.Max.Y-size.Y)), false
}

// tag writes a text on a piece of paper that is thin, so that both the text and the
// bar below it are seen.
func (d *drawing) tag(c *draw.Canvas, area vg.Rectangle, name string) {
	const border = 1.5
	lo, hi := area.Min.Sub(vg.Point{X: border, Y: border}), area.Max.Add(vg.Point{X: border})
	c.FillPolygon(tagColor, []vg.Point{lo, {X: hi.X, Y: lo.Y}, hi, {X: lo.X, Y: hi.Y}})
	c.FillText(d.look.mark, vg.Point{X: area.Min.X, Y: area.Min.Y + d.look.mark.FontExtents().Descent}, name)
}
