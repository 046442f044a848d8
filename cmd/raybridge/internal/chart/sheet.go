package chart

import (
	"image/color"
	"math"
	"slices"
	"strings"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Sizes of a page, in points.
const (
	pageWidth  = vg.Length(900)
	margin     = vg.Length(18)
	tileHeight = vg.Length(190) // a chart with its axes
	titleLine  = vg.Length(24)
	leadLine   = vg.Length(14)
	stripLine  = vg.Length(17) // of a chart's title and legend
	stripGap   = vg.Length(7)  // between these and the chart
	betweenGap = vg.Length(12) // between a chart and the next one's title
	hairline   = vg.Length(0.6)
	labelLine  = vg.Length(15) // of an axis' label
	tickLength = vg.Length(4)
	labelGap   = vg.Length(4)
	markGap    = vg.Length(2.5)
	swatch     = vg.Length(12) // a legend's sample
	entryGap   = vg.Length(14) // between entries of a legend
	entryMost  = pageWidth / 3 // an entry's text
)

// sheet is a page laid out.
type sheet struct {
	look    *look
	figures []*figure
	strips  []strip
	title   string
	lines   []string
	top     vg.Length // above the first chart's strip
}

// newSheet lays out a page that has charts. In a bare look the page's title and
// lines are left to who puts the drawing in a page.
func newSheet(p *Page, l *look) *sheet {
	s := &sheet{look: l, figures: p.figures(l), top: margin}
	if l.bare {
		s.top = 0
	} else {
		s.title = fit(p.Title, l.title, pageWidth-2*margin)
		for _, line := range p.Lines {
			s.lines = append(s.lines, wrap(line, l.lead, pageWidth-2*margin)...)
		}
		if s.title != "" {
			s.top += titleLine
		}
		s.top += leadLine * vg.Length(len(s.lines))
		if s.top > margin {
			s.top += betweenGap
		}
	}
	for _, f := range s.figures {
		s.strips = append(s.strips, newStrip(f, l))
	}
	return s
}

// height returns how high the page is.
func (s *sheet) height() vg.Length {
	height := s.top + s.bottom() - betweenGap
	for i := range s.strips {
		height += s.strips[i].height() + tileHeight + betweenGap
	}
	return height
}

func (s *sheet) bottom() vg.Length {
	if s.look.bare {
		return 0
	}
	return margin
}

// draw draws the page on a canvas of its size.
func (s *sheet) draw(canvas vg.CanvasSizer) {
	c := draw.New(canvas)
	side := margin
	if s.look.bare {
		side = 2 // labels reach to the very edge
	} else {
		c.FillPolygon(s.look.paper, []vg.Point{c.Min, {X: c.Max.X, Y: c.Min.Y}, c.Max, {X: c.Min.X, Y: c.Max.Y}})
		s.head(&c)
	}
	tiles := make([]draw.Canvas, len(s.figures))
	y := c.Max.Y - s.top
	for i := range tiles {
		y -= s.strips[i].height()
		tiles[i] = draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{
			Min: vg.Point{X: c.Min.X + side + labelLine, Y: y - tileHeight + labelLine}, Max: vg.Point{X: c.Max.X - side, Y: y},
		}}
		y -= tileHeight + betweenGap
	}
	s.align(tiles)
	for i, f := range s.figures {
		f.plot.Draw(tiles[i])
		data := f.plot.DataCanvas(tiles[i])
		s.labels(&data, f.chart, vg.Point{X: c.Min.X + side, Y: tiles[i].Min.Y - labelLine})
		s.strips[i].draw(&c, vg.Point{X: c.Min.X + side, Y: data.Max.Y + stripGap}, data.Max.X)
	}
}

// labels writes the labels of the axes around the data of a chart, whose tile has
// that lower left corner.
func (s *sheet) labels(data *draw.Canvas, chart *Chart, corner vg.Point) {
	style := s.look.label
	style.XAlign = text.XCenter
	descent := style.FontExtents().Descent
	data.FillText(style, vg.Point{X: data.Center().X, Y: corner.Y + descent}, fit(chart.X, style, data.Max.X-data.Min.X))
	line := fit(chart.Y, style, data.Max.Y-data.Min.Y)
	style.Rotation = math.Pi / 2
	data.FillText(style, vg.Point{X: corner.X + style.Font.Size, Y: data.Center().Y}, line)
}

// align crops tiles of one size so that what lies around the data is as wide in all
// of them as where it is widest. How much room a label at the right end takes
// depends a little on the width that is left: once more, and it fits.
func (s *sheet) align(tiles []draw.Canvas) {
	whole := slices.Clone(tiles)
	around := make([]vg.Rectangle, len(tiles)) // room needed: left and below, right and above
	for range 3 {
		var widest vg.Rectangle
		for i, f := range s.figures {
			data := f.plot.DataCanvas(tiles[i])
			r := vg.Rectangle{Min: data.Min.Sub(tiles[i].Min), Max: tiles[i].Max.Sub(data.Max)}
			around[i] = r
			widest.Min = vg.Point{X: max(widest.Min.X, r.Min.X), Y: max(widest.Min.Y, r.Min.Y)}
			widest.Max = vg.Point{X: max(widest.Max.X, r.Max.X), Y: max(widest.Max.Y, r.Max.Y)}
		}
		for i, r := range around {
			tiles[i] = draw.Crop(whole[i], widest.Min.X-r.Min.X, r.Max.X-widest.Max.X, widest.Min.Y-r.Min.Y, r.Max.Y-widest.Max.Y)
		}
	}
}

// head writes the page's title and lines.
func (s *sheet) head(c *draw.Canvas) {
	at := vg.Point{X: c.Min.X + margin, Y: c.Max.Y - margin}
	write := func(style text.Style, line string, height vg.Length) {
		at.Y -= height
		c.FillText(style, vg.Point{X: at.X, Y: at.Y + style.FontExtents().Descent}, line)
	}
	if s.title != "" {
		write(s.look.title, s.title, titleLine)
	}
	for _, line := range s.lines {
		write(s.look.lead, line, leadLine)
	}
}

// wrap breaks a text between words.
func wrap(text string, style text.Style, width vg.Length) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		longer := strings.TrimPrefix(line+" "+word, " ")
		if line != "" && style.Width(longer) > width {
			lines, longer = append(lines, line), word
		}
		line = fit(longer, style, width)
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// strip is what stands above a chart: its title at the left, its legend at the
// right, in lines of its own where there is no room beside the title.
type strip struct {
	figure *figure
	look   *look
	title  string
	rows   [][]entry // the legend's lines
	beside bool      // the first of them stands beside the title
}

// entry is a series in a legend.
type entry struct {
	series int
	name   string
	width  vg.Length // of the sample and the name
}

func newStrip(f *figure, l *look) strip {
	const room = pageWidth - 2*margin
	s := strip{figure: f, look: l, title: fit(f.chart.Title, l.head, room)}
	used := room + 1 // begins a line
	for i := range f.chart.Series {
		e := entry{series: i, name: fit(f.chart.Series[i].Name, l.legend, entryMost)}
		if e.name == "" {
			continue
		}
		e.width = swatch + labelGap + l.legend.Width(e.name)
		if used+entryGap+e.width > room*3/4 {
			s.rows, used = append(s.rows, nil), 0
		}
		last := len(s.rows) - 1
		s.rows[last] = append(s.rows[last], e)
		used += e.width + entryGap
	}
	s.beside = len(s.rows) == 1 && l.head.Width(s.title)+2*entryGap+rowWidth(s.rows[0]) < room*7/8
	return s
}

func rowWidth(row []entry) vg.Length {
	width := -entryGap
	for _, e := range row {
		width += entryGap + e.width
	}
	return width
}

// height returns what the strip needs, the gap to the chart included.
func (s *strip) height() vg.Length {
	lines := len(s.rows)
	if s.title != "" && !s.beside {
		lines++
	}
	return vg.Length(lines)*stripLine + stripGap
}

// draw draws the strip from its lower left corner up, and as far as to the right.
func (s *strip) draw(c *draw.Canvas, corner vg.Point, right vg.Length) {
	y := corner.Y
	for i := len(s.rows) - 1; i >= 0; i-- {
		x := right - rowWidth(s.rows[i])
		for _, e := range s.rows[i] {
			s.sample(c, e.series, vg.Point{X: x, Y: y})
			c.FillText(s.look.legend, vg.Point{X: x + swatch + labelGap, Y: y + s.look.legend.FontExtents().Descent}, e.name)
			x += e.width + entryGap
		}
		if !s.beside {
			y += stripLine
		}
	}
	c.FillText(s.look.head, vg.Point{X: corner.X, Y: y + s.look.head.FontExtents().Descent}, s.title)
}

// sample shows how a series is drawn.
func (s *strip) sample(c *draw.Canvas, series int, at vg.Point) {
	const low, high = vg.Length(2), vg.Length(10)
	f := s.figure
	if f.chart.Series[series].Kind == Line {
		middle := at.Y + (low+high)/2
		c.StrokeLine2(draw.LineStyle{Color: f.inks[series].solid(), Width: 2}, at.X, middle, at.X+swatch, middle)
		return
	}
	corners := []vg.Point{
		{X: at.X, Y: at.Y + low}, {X: at.X + swatch, Y: at.Y + low}, {X: at.X + swatch, Y: at.Y + high}, {X: at.X, Y: at.Y + high},
	}
	c.FillPolygon(f.inks[series].veil(f.alpha()), corners)
	if f.chart.Series[series].Kind == Steps {
		c.StrokeLines(draw.LineStyle{Color: f.inks[series].solid(), Width: 1}, append(corners, corners[0]))
	}
}

// ink is the colour of a series.
type ink color.NRGBA

// inks are Okabe and Ito's colours with grey for black, the colour of text, and
// without yellow, which is pale on white; those that differ most come first.
var inks = []ink{
	{0x00, 0x72, 0xb2, 255}, // blue
	{0xd5, 0x5e, 0x00, 255}, // vermillion
	{0x00, 0x9e, 0x73, 255}, // bluish green
	{0xcc, 0x79, 0xa7, 255}, // reddish purple
	{0xe6, 0x9f, 0x00, 255}, // orange
	{0x56, 0xb4, 0xe9, 255}, // sky blue
	{0x70, 0x70, 0x70, 255}, // grey
}

// solid returns the colour of a line.
func (i ink) solid() color.Color { return color.NRGBA(i) }

// veil returns the colour that much of what lies below shines through.
func (i ink) veil(alpha uint8) color.Color { return color.NRGBA{i.R, i.G, i.B, alpha} }

// assign gives the series of each chart their colours: those of a name the same in
// all charts, unless another of the chart has it already.
func assign(charts []Chart) [][]ink {
	index := map[string]int{}
	out := make([][]ink, len(charts))
	for i := range charts {
		series := charts[i].Series
		taken := make([]bool, len(inks))
		for k := range series {
			n, known := index[series[k].Name]
			if !known {
				n = len(index) % len(inks)
				index[series[k].Name] = n
			}
			if free := slices.Index(taken, false); taken[n] && free >= 0 {
				n = free
			}
			taken[n] = true
			out[i] = append(out[i], inks[n])
		}
	}
	return out
}

// look is how a page's texts and lines are drawn in one format.
type look struct {
	ink, soft, grid, paper     color.Color
	title, lead, head, legend  text.Style
	label, tick, mark, nothing text.Style
	bare                       bool // the paper isn't drawn: it is the page's
}

// The colours of texts, lines and paper, which an HTML page has its own names for.
var (
	inkColor   = color.NRGBA{0x1c, 0x23, 0x30, 255}
	softColor  = color.NRGBA{0x5c, 0x66, 0x77, 255}
	gridColor  = color.NRGBA{0xe3, 0xe7, 0xed, 255}
	paperColor = color.NRGBA{0xfe, 0xff, 0xff, 255}
	// tagColor is paper that a bar is seen through. An SVG has it as #FDFEFE, for its
	// writer rounds what is translucent down.
	tagColor = color.NRGBA{0xfe, 0xff, 0xff, 176}
)

// newLook returns the look of a picture on paper.
func newLook() *look {
	l := &look{ink: inkColor, soft: softColor, grid: gridColor, paper: paperColor}
	style := func(size vg.Length, c color.Color, bold bool) text.Style {
		f := font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
		if bold {
			f.Weight = xfont.WeightBold
		}
		return text.Style{Font: f, Color: c, Handler: plot.DefaultTextHandler}
	}
	l.title, l.lead = style(16, l.ink, true), style(9.5, l.soft, false)
	l.head, l.legend = style(11.5, l.ink, true), style(10, l.ink, false)
	l.label, l.tick = style(10, l.soft, false), style(9.5, l.soft, false)
	l.mark, l.nothing = style(9, l.ink, false), style(11, l.soft, false)
	return l
}

// fit returns the text, or as much of it as the width allows and an ellipsis.
func fit(line string, style text.Style, width vg.Length) string {
	if style.Width(line) <= width {
		return line
	}
	runes := []rune(line)
	lo, hi := 0, len(runes)
	for lo+1 < hi { // lo runes fit, hi don't
		if mid := (lo + hi) / 2; style.Width(string(runes[:mid])+"…") <= width {
			lo = mid
		} else {
			hi = mid
		}
	}
	return string(runes[:lo]) + "…"
}
