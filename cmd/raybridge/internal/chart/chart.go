// Package chart draws charts, as SVG and as pixels: lines, bars, histograms and scattered points, on axes that are linear,
// logarithmic, or have names.
package chart

import (
	"bytes"
	"cmp"
	"fmt"
	"html/template"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// Chart is one pair of axes with what is drawn between them.
//
// Values that aren't finite are left out, and so are those of zero or less on a logarithmic
// axis. A line has a gap there, and a bar is missing. A linear Y axis begins at zero where no
// value is negative, unless Near is set.
type Chart struct {
	Title string
	// X and Y label the axes, units included.
	X, Y string
	// LogX and LogY make an axis logarithmic.
	LogX, LogY bool
	// Names are those of the places 0, 1, 2 ... of the X axis, which then has no numbers.
	Names []string
	// Ticks are the values that the X axis names, where not empty.
	Ticks []float64
	// Near has linear axes span the values and some air, so that small differences of large ones show.
	Near bool
	// Scale, where not empty, gives all charts of a report with the same Scale the same
	// ranges, so that they can be compared by eye. Their axes are alike logarithmic.
	Scale  string
	Series []Series
	// Marks are horizontal lines with a name, such as a period or a limit.
	Marks []Mark
}

// Kind says how a series is drawn.
type Kind uint8

const (
	// Line joins the points.
	Line Kind = iota
	// Bars draws a bar from zero to Y at each X, one wide: one a frame.
	Bars
	// Steps fills the area below a step from each X to the next: a histogram, whose X are
	// the edges of its classes. The last Y doesn't count. Empty classes at either end don't
	// widen the axis.
	Steps
	// Points draws a dot for each, through which others shine.
	Points
	// Rug draws a short line on the X axis for each X: a point whose Y isn't known.
	Rug
)

// Series is a set of points with a name for the legend. X and Y have one length; a Rug has no Y.
type Series struct {
	Name string
	Kind Kind
	X, Y []float64
}

// Mark is a horizontal line.
type Mark struct {
	Name string
	Y    float64
}

// Sheet is charts, one below the other. The zero Width is 900 points. Equal sheets give equal bytes.
type Sheet struct {
	// Title heads a picture, and tells those who can't see it what it is.
	Title string
	// Lines stand below the title.
	Lines  []string
	Charts []Chart
	// Width is in points.
	Width float64
}

// PNG draws the sheet as a picture, 1600 pixels wide.
func (s *Sheet) PNG() ([]byte, error) {
	l := newLayout(s, false)
	scale := 1600 / l.width
	c := &raster{scale: scale, image: image.NewRGBA(image.Rect(0, 0, 1600, int(math.Ceil(l.height*scale))))}
	draw.Draw(c.image, c.image.Bounds(), image.NewUniform(paper.color), image.Point{}, draw.Src)
	l.draw(c)
	var out bytes.Buffer
	err := png.Encode(&out, c.image)
	return out.Bytes(), err
}

// SVG draws the sheet as an <svg> element that says what it shows.
func (s *Sheet) SVG() []byte { return s.vector("charts", false) }

// Element draws the sheet as an <svg> element of a page, without title and lines. Its texts, lines and paper have the
// page's colours --ink, --soft, --grid and --card. id begins the element's ids; no other sheet of the page has it.
func (s *Sheet) Element(id string) []byte { return s.vector(id, true) }

func (s *Sheet) vector(id string, within bool) []byte {
	l := newLayout(s, within)
	c := &markup{themed: within}
	var about []string
	for i := range s.Charts {
		k := &s.Charts[i]
		var names []string
		for _, series := range k.Series {
			names = append(names, series.Name)
		}
		about = append(about, fmt.Sprintf("%s: %s over %s, of %s.", k.Title, k.Y, k.X, strings.Join(names, ", ")))
	}
	size := decimal(l.width) + " " + decimal(l.height)
	fmt.Fprintf(&c.out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s" role="img" aria-labelledby="%s-title %[2]s-desc" font-family="sans-serif">`, size, id)
	fmt.Fprintf(&c.out, "\n<title id=\"%s-title\">%s</title>\n<desc id=\"%[1]s-desc\">%[3]s</desc>\n", id, escaped(s.Title), escaped(strings.Join(about, " ")))
	if !within {
		c.area([][]point{{{0, 0}, {l.width, 0}, {l.width, l.height}, {0, l.height}}}, paper, 1)
	}
	l.draw(c)
	c.out.WriteString("</svg>\n")
	return c.out.Bytes()
}

// ink is a colour. A page has its own colour for one that has a name.
type ink struct {
	name  string
	color color.NRGBA
}

var (
	textInk = ink{"ink", color.NRGBA{0x1c, 0x23, 0x30, 255}}
	softInk = ink{"soft", color.NRGBA{0x5c, 0x66, 0x77, 255}}
	gridInk = ink{"grid", color.NRGBA{0xe3, 0xe7, 0xed, 255}}
	paper   = ink{"card", color.NRGBA{0xff, 0xff, 0xff, 255}}
)

// inks are the series' colours: those of Okabe and Ito (Color Universal Design, 2008), which
// people with any colour vision can tell apart. Grey stands for black, the colour of text.
// Yellow, which is pale on white, is left out. Those that differ most come first.
var inks = []ink{
	{"", color.NRGBA{0x00, 0x72, 0xb2, 255}}, // blue
	{"", color.NRGBA{0xd5, 0x5e, 0x00, 255}}, // vermillion
	{"", color.NRGBA{0x00, 0x9e, 0x73, 255}}, // bluish green
	{"", color.NRGBA{0xcc, 0x79, 0xa7, 255}}, // reddish purple
	{"", color.NRGBA{0xe6, 0x9f, 0x00, 255}}, // orange
	{"", color.NRGBA{0x56, 0xb4, 0xe9, 255}}, // sky blue
	{"", color.NRGBA{0x70, 0x70, 0x70, 255}}, // grey
}

// point is a place on the sheet, in points from its upper left corner.
type point struct{ x, y float64 }

// lettering is how a text is written.
type lettering struct {
	size float64 // points
	bold bool
	ink  ink
}

var (
	titleText  = lettering{16, true, textInk}
	leadText   = lettering{9.5, false, softInk}
	headText   = lettering{11.5, true, textInk}
	legendText = lettering{10, false, textInk}
	tickText   = lettering{9.5, false, softInk}
	markText   = lettering{9, false, textInk}
)

// Where a text stands from its point: after it, around it, before it, or around it
// upwards.
const (
	after = iota
	around
	before
	upwards
)

// canvas is what a sheet is drawn on.
type canvas interface {
	// area fills polygons.
	area(list [][]point, of ink, opacity float64)
	// stroke draws lines.
	stroke(list [][]point, of ink, width float64, dashed bool)
	// dots draws circles, through which others shine.
	dots(list []point, of ink)
	// write writes a text, on a line through the point.
	write(at point, text string, how lettering, place int)
}

// markup is a canvas of SVG.
type markup struct {
	out    bytes.Buffer
	themed bool
}

func (c *markup) color(of ink) string {
	if c.themed && of.name != "" {
		return "var(--" + of.name + ")"
	}
	return fmt.Sprintf("#%02x%02x%02x", of.color.R, of.color.G, of.color.B)
}

func (c *markup) area(list [][]point, of ink, opacity float64) {
	fmt.Fprintf(&c.out, `<path d="%s" style="fill:%s;fill-opacity:%s"/>`+"\n", paths(list, "Z"), c.color(of), decimal(opacity))
}

func (c *markup) stroke(list [][]point, of ink, width float64, dashed bool) {
	dashes := ""
	if dashed {
		dashes = ";stroke-dasharray:5 3"
	}
	fmt.Fprintf(&c.out, `<path d="%s" style="fill:none;stroke:%s;stroke-width:%s%s"/>`+"\n", paths(list, ""), c.color(of), decimal(width), dashes)
}

// Lines without a length have round ends, which are circles.
func (c *markup) dots(list []point, of ink) {
	var b strings.Builder
	for _, p := range list {
		b.WriteString("M" + decimal(p.x) + "," + decimal(p.y) + "h0")
	}
	fmt.Fprintf(&c.out, `<path d="%s" style="fill:none;stroke:%s;stroke-opacity:%s;stroke-width:%s;stroke-linecap:round"/>`+"\n", b.String(), c.color(of), decimal(dotOpacity), decimal(2*dotRadius))
}

func (c *markup) write(at point, text string, how lettering, place int) {
	weight, turn := "", ""
	if how.bold {
		weight = ";font-weight:bold"
	}
	if place == upwards {
		place, turn = around, fmt.Sprintf(` transform="rotate(-90 %s %s)"`, decimal(at.x), decimal(at.y))
	}
	anchor := [...]string{after: "start", around: "middle", before: "end"}[place]
	fmt.Fprintf(&c.out, `<text x="%s" y="%s" text-anchor="%s"%s style="font-size:%spx;fill:%s%s">%s</text>`+"\n",
		decimal(at.x), decimal(at.y), anchor, turn, decimal(how.size), c.color(how.ink), weight, escaped(text))
}

// paths writes lines as SVG has them, with an ending each.
func paths(list [][]point, ending string) string {
	var b strings.Builder
	for _, line := range list {
		for i, p := range line {
			letter := "L"
			if i == 0 {
				letter = "M"
			}
			b.WriteString(letter + decimal(p.x) + "," + decimal(p.y))
		}
		b.WriteString(ending)
	}
	return b.String()
}

func decimal(v float64) string { return strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64) }

func escaped(text string) string { return template.HTMLEscapeString(printable(text)) }

// printable replaces what XML 1.0 can't hold, and what breaks a line.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
}

// raster is a canvas of pixels.
type raster struct {
	image *image.RGBA
	scale float64 // pixels a point
}

func (c *raster) area(list [][]point, of ink, opacity float64) {
	size := c.image.Bounds().Size()
	z := vector.NewRasterizer(size.X, size.Y)
	for _, polygon := range list {
		for i, p := range polygon {
			x, y := float32(p.x*c.scale), float32(p.y*c.scale)
			if i == 0 {
				z.MoveTo(x, y)
			} else {
				z.LineTo(x, y)
			}
		}
		z.ClosePath()
	}
	shade := of.color
	shade.A = uint8(math.Round(255 * opacity))
	z.Draw(c.image, c.image.Bounds(), image.NewUniform(shade), image.Point{})
}

// stroke fills a box around each piece of a line; all turn the same way round, so that
// where they overlap nothing is cut out.
func (c *raster) stroke(list [][]point, of ink, width float64, dashed bool) {
	var boxes [][]point
	box := func(a, b point) {
		length := math.Hypot(b.x-a.x, b.y-a.y)
		if length == 0 {
			return
		}
		x, y := (b.x-a.x)/length*width/2, (b.y-a.y)/length*width/2
		if !dashed { // the pieces of a line meet
			a, b = point{a.x - x, a.y - y}, point{b.x + x, b.y + y}
		}
		boxes = append(boxes, []point{{a.x + y, a.y - x}, {b.x + y, b.y - x}, {b.x - y, b.y + x}, {a.x - y, a.y + x}})
	}
	for _, line := range list {
		for i := range line[1:] {
			a, b := line[i], line[i+1]
			if !dashed {
				box(a, b)
				continue
			}
			for x := a.x; x < b.x; x += 8 { // dashes are of horizontal lines
				box(point{x, a.y}, point{min(x+5, b.x), a.y})
			}
		}
	}
	c.area(boxes, of, 1)
}

func (c *raster) dots(list []point, of ink) {
	for _, p := range list {
		c.area([][]point{circle(p, dotRadius)}, of, dotOpacity)
	}
}

func (c *raster) write(at point, text string, how lettering, place int) {
	face := how.face(c.scale)
	width, x, y := font.MeasureString(face, text), fixed.I(0), fixed.I(0)
	switch place {
	case around, upwards:
		x = -width / 2
	case before:
		x = -width
	}
	if place != upwards {
		x, y = x+fixed.Int26_6(at.x*c.scale*64), y+fixed.Int26_6(at.y*c.scale*64)
		d := font.Drawer{Dst: c.image, Src: image.NewUniform(how.ink.color), Face: face, Dot: fixed.Point26_6{X: x, Y: y}}
		d.DrawString(text)
		return
	}
	// Written on a strip of its own, which is then turned.
	high := 2 * int(how.size*c.scale)
	strip := image.NewAlpha(image.Rect(0, 0, width.Ceil(), high))
	d := font.Drawer{Dst: strip, Src: image.Opaque, Face: face, Dot: fixed.P(0, high/2)}
	d.DrawString(text)
	turned := image.NewAlpha(image.Rect(0, 0, high, width.Ceil()))
	for i := range width.Ceil() {
		for k := range high {
			turned.SetAlpha(k, width.Ceil()-1-i, strip.AlphaAt(i, k))
		}
	}
	corner := image.Pt(int(at.x*c.scale)-high/2, int(at.y*c.scale)-width.Ceil()/2)
	draw.DrawMask(c.image, turned.Bounds().Add(corner), image.NewUniform(how.ink.color), image.Point{}, turned, image.Point{}, draw.Over)
}

// The typefaces of pictures; browsers take their own.
var regular, bold = typeface(goregular.TTF), typeface(gobold.TTF)

func typeface(data []byte) *opentype.Font {
	f, err := opentype.Parse(data)
	if err != nil {
		panic(err) // it is part of the program
	}
	return f
}

// face returns the letters at so many pixels a point.
func (l lettering) face(scale float64) font.Face {
	of := regular
	if l.bold {
		of = bold
	}
	face, err := opentype.NewFace(of, &opentype.FaceOptions{Size: l.size * scale, DPI: 72})
	if err != nil {
		panic(err) // of options that never change
	}
	return face
}

// width returns how wide a text is, in points.
func (l lettering) width(text string) float64 {
	return float64(font.MeasureString(l.face(1), text)) / 64
}

// fit returns the text, or as much of it as the width allows and an ellipsis.
func (l lettering) fit(text string, width float64) string {
	runes := []rune(printable(text))
	runes = runes[:min(len(runes), 400)]
	if l.width(string(runes)) <= width {
		return string(runes)
	}
	for len(runes) > 0 && l.width(string(runes)+"…") > width {
		runes = runes[:len(runes)-1]
	}
	return string(runes) + "…"
}

// Sizes of a sheet, in points.
const (
	usualWidth = 900.0
	margin     = 18.0
	plotHeight = 160.0
	belowPlot  = 46.0 // for the X axis' numbers and its label, and a gap
	leftOfPlot = 16.0 // for the Y axis' label
	stripLine  = 17.0 // of a chart's title and legend
	swatch     = 12.0 // a legend's sample
	entryGap   = 14.0 // between entries of a legend
	hairline   = 0.6
)

// layout is a sheet's charts laid out.
type layout struct {
	title   string
	lines   []string // above the charts
	width   float64
	figures []*figure
	height  float64
	within  bool // a page has the title and the lines
}

func newLayout(of *Sheet, within bool) *layout {
	s := &layout{title: of.Title, within: within, width: cmp.Or(of.Width, usualWidth), height: margin}
	if !within {
		for _, line := range of.Lines {
			s.lines = append(s.lines, leadText.fit(line, s.width-2*margin))
		}
		s.height += 36 + 14*float64(len(s.lines))
	}
	scales, colors := map[string]*figure{}, map[string]int{}
	for i := range of.Charts {
		f := newFigure(&of.Charts[i], colors, s.width-2*margin)
		s.figures = append(s.figures, f)
		if shared := scales[f.Scale]; shared != nil && f.Scale != "" {
			shared.x.join(f.x)
			shared.y.join(f.y)
		} else {
			scales[f.Scale] = f
		}
	}
	for _, f := range s.figures {
		if f.Scale != "" {
			f.x.join(scales[f.Scale].x)
			f.y.join(scales[f.Scale].y)
		}
	}
	left := 0.0
	for _, f := range s.figures {
		left = max(left, f.settle())
	}
	for _, f := range s.figures {
		s.height += stripLine * float64(f.rows())
		f.x.from, f.x.to = margin+leftOfPlot+left, s.width-margin-12
		f.y.from, f.y.to = s.height+plotHeight, s.height
		s.height += plotHeight + belowPlot
	}
	return s
}

func (s *layout) draw(c canvas) {
	if !s.within {
		c.write(point{margin, margin + 16}, titleText.fit(s.title, s.width-2*margin), titleText, after)
		for i, line := range s.lines {
			c.write(point{margin, margin + 32 + 14*float64(i)}, line, leadText, after)
		}
	}
	for _, f := range s.figures {
		f.draw(c)
	}
}

// figure is a chart ready to be drawn.
type figure struct {
	*Chart
	inks   []ink // a series' colour
	legend [][]int
	beside bool // the legend stands beside the title
	boxes  [][]box
	runs   [][][]point // of lines, without gaps, in the axes' units
	room   float64     // for texts, points
	x, y   axis
}

// box is a bar or a class, in the axes' units.
type box struct{ from, to, y float64 }

// newFigure finds what of a chart can be drawn. A name has one colour on all the sheet, unless
// another series of the chart has it already.
func newFigure(c *Chart, colors map[string]int, room float64) *figure {
	f := &figure{Chart: c, room: room, x: newAxis(c.LogX), y: newAxis(c.LogY)}
	if len(c.Names) > 0 {
		f.x.add(-0.5)
		f.x.add(float64(len(c.Names)) - 0.5)
	}
	for i := range c.Series {
		s := &c.Series[i]
		if _, known := colors[s.Name]; !known {
			colors[s.Name] = len(colors) % len(inks)
		}
		of := inks[colors[s.Name]]
		for k := 0; k < len(inks) && slices.Contains(f.inks, of); k++ {
			of = inks[k]
		}
		f.inks = append(f.inks, of)
		var boxes []box
		var runs [][]point
		switch s.Kind {
		case Line, Points:
			runs = f.lines(s)
		case Rug:
			runs = f.rug(s)
		default:
			boxes = f.bars(s)
		}
		f.boxes, f.runs = append(f.boxes, boxes), append(f.runs, runs)
	}
	for _, m := range c.Marks {
		if f.y.holds(m.Y) { // with room for its name
			f.y.add(m.Y)
			f.y.add(map[bool]float64{true: 3, false: 1.04}[c.LogY] * m.Y)
		}
	}
	f.arrange()
	return f
}

// lines splits a series at what can't be drawn.
func (f *figure) lines(s *Series) (runs [][]point) {
	broken := true
	for i, x := range s.X {
		if !f.x.holds(x) || !f.y.holds(s.Y[i]) {
			broken = true
			continue
		}
		if broken {
			runs, broken = append(runs, nil), false
		}
		last := len(runs) - 1
		runs[last] = append(runs[last], point{x, s.Y[i]})
		f.x.add(x)
		f.y.add(s.Y[i])
	}
	return runs
}

// rug has a run of one point for each X that can be drawn.
func (f *figure) rug(s *Series) (runs [][]point) {
	for _, x := range s.X {
		if f.x.holds(x) {
			f.x.add(x)
			runs = append(runs, []point{{x: x}})
		}
	}
	return runs
}

// bars are the bars or the classes of a series.
func (f *figure) bars(s *Series) (list []box) {
	for i, x := range s.X {
		b := box{x - 0.5, x + 0.5, s.Y[i]}
		if s.Kind == Steps {
			if i+1 == len(s.X) {
				break
			}
			b.from, b.to = x, s.X[i+1]
		}
		if f.x.holds(b.from) && f.x.holds(b.to) && f.y.holds(b.y) {
			list = append(list, b)
		}
	}
	empty := func(b box) bool { return s.Kind == Steps && b.y == 0 }
	for len(list) > 0 && empty(list[0]) {
		list = list[1:]
	}
	for len(list) > 0 && empty(list[len(list)-1]) {
		list = list[:len(list)-1]
	}
	for _, b := range list {
		f.x.add(b.from)
		f.x.add(b.to)
		f.y.add(b.y)
		if f.LogY {
			f.y.add(b.y / 1.5) // a box of the lowest value has a height too
		}
	}
	return list
}

// arrange puts the legend into lines: one beside the title, if that has room, else as many
// as it needs below it.
func (f *figure) arrange() {
	used := f.room
	for i := range f.Series {
		width := entryGap + swatch + 4 + legendText.width(f.name(i))
		if f.name(i) == "" {
			continue
		}
		if used+width > f.room {
			f.legend, used = append(f.legend, nil), 0
		}
		last := len(f.legend) - 1
		f.legend[last] = append(f.legend[last], i)
		used += width
	}
	f.beside = len(f.legend) == 0 || len(f.legend) == 1 && used+headText.width(f.Title) < f.room
}

// name is a series' in the legend.
func (f *figure) name(series int) string { return legendText.fit(f.Series[series].Name, f.room/3) }

// rows is how many lines the title and the legend take.
func (f *figure) rows() int {
	if f.beside {
		return 1
	}
	return 1 + len(f.legend)
}

// settle rounds the axes and divides them. It returns how wide the Y axis' numbers are.
func (f *figure) settle() (width float64) {
	switch {
	case len(f.Names) > 0:
		f.x.names(f.Names, f.room)
	case f.LogX:
		f.x.decades(14)
	default:
		if f.Near {
			f.x.near()
		}
		f.x.parts(int(f.room / 86))
	}
	if len(f.Ticks) > 0 {
		f.x.ticks = nil
		for _, v := range f.Ticks {
			f.x.ticks = append(f.x.ticks, tick{v, number(v, 1e6)})
		}
	}
	switch {
	case f.LogY:
		f.y.decades(7)
	case f.Near:
		f.y.near()
		f.y.parts(6)
	default:
		f.y.fromZero()
		f.y.parts(6)
	}
	for _, t := range f.y.ticks {
		width = max(width, tickText.width(t.label))
	}
	return width + 8
}

func (f *figure) draw(c canvas) {
	f.head(c)
	left, right, low, high := f.x.from, f.x.to, f.y.from, f.y.to
	var grid, marks [][]point
	for _, t := range f.x.ticks {
		x, length := f.x.at(t.value), 2.0
		if t.label != "" {
			length = 4
			grid = append(grid, []point{{x, low}, {x, high}})
			c.write(point{x, low + 14}, t.label, tickText, around)
		}
		marks = append(marks, []point{{x, low}, {x, low + length}})
	}
	for _, t := range f.y.ticks {
		y, length := f.y.at(t.value), 2.0
		if t.label != "" {
			length = 4
			grid = append(grid, []point{{left, y}, {right, y}})
			c.write(point{left - 6, y + 3}, t.label, tickText, before)
		}
		marks = append(marks, []point{{left - length, y}, {left, y}})
	}
	c.stroke(grid, gridInk, hairline, false)
	c.stroke(append(marks, []point{{left, high}, {left, low}, {right, low}}), softInk, hairline, false)
	label := lettering{10, false, softInk}
	c.write(point{(left + right) / 2, low + 29}, label.fit(f.X, right-left), label, around)
	c.write(point{margin + 8, (low + high) / 2}, label.fit(f.Y, low-high), label, upwards)
	some := false
	for i := range f.Series {
		some = some || len(f.boxes[i])+len(f.runs[i]) > 0
		f.series(c, i)
	}
	if !some {
		c.write(point{(left + right) / 2, (low + high) / 2}, "no data", label, around)
	}
	for _, m := range f.Marks {
		if !f.y.holds(m.Y) {
			continue
		}
		y, name := f.y.at(m.Y), markText.fit(m.Name, (right-left)/2)
		c.stroke([][]point{{{left, y}, {right, y}}}, textInk, 1, true)
		// Below the name lies a piece of paper that is thin, so that a bar there is seen.
		from := right - 6 - markText.width(name)
		c.area([][]point{{{from - 2, y - 12}, {right - 4, y - 12}, {right - 4, y - 1.5}, {from - 2, y - 1.5}}}, paper, 0.7)
		c.write(point{right - 6, y - 4}, name, markText, before)
	}
}

// head writes the title at the left, and the legend at the right.
func (f *figure) head(c canvas) {
	y := f.y.to - stripLine*float64(f.rows()) + 9
	c.write(point{margin, y}, headText.fit(f.Title, f.room), headText, after)
	if !f.beside {
		y += stripLine
	}
	for _, row := range f.legend {
		x := f.x.to
		for _, i := range slices.Backward(row) {
			x -= legendText.width(f.name(i))
			c.write(point{x, y}, f.name(i), legendText, after)
			x -= swatch + 4
			sample := [][]point{{{x, y - 8}, {x + swatch, y - 8}, {x + swatch, y}, {x, y}, {x, y - 8}}}
			switch f.Series[i].Kind {
			case Line:
				c.stroke([][]point{{{x, y - 4}, {x + swatch, y - 4}}}, f.inks[i], 2, false)
			case Points:
				c.dots([]point{{x + swatch/2, y - 4}, {x + swatch/2, y - 4}}, f.inks[i])
			case Rug:
				c.stroke([][]point{{{x + swatch/2, y - 8}, {x + swatch/2, y}}}, f.inks[i], rugWidth, false)
			case Steps:
				c.stroke(sample, f.inks[i], 1, false)
				fallthrough
			case Bars:
				c.area(sample, f.inks[i], f.opacity())
			}
			x -= entryGap
		}
		y += stripLine
	}
}

// opacity is how opaque areas are: others may lie below.
func (f *figure) opacity() float64 {
	if len(f.Series) > 1 {
		return 0.28
	}
	return 1
}

// fewPoints is up to how many points of a line have a dot.
const fewPoints = 40

// series draws one series.
func (f *figure) series(c canvas, i int) {
	if kind := f.Series[i].Kind; kind == Points || kind == Rug {
		f.scattered(c, i)
		return
	}
	base := f.y.from
	if !f.LogY {
		base = f.y.at(0)
	}
	var areas, lines [][]point
	for _, run := range f.runs[i] {
		line := make([]point, len(run))
		for k, p := range run {
			line[k] = point{f.x.at(p.x), f.y.at(p.y)}
			if len(f.Series[i].X) <= fewPoints || len(run) == 1 {
				areas = append(areas, circle(line[k], dotRadius))
			}
		}
		lines = append(lines, line)
	}
	for k, b := range f.boxes[i] {
		from, to, y := f.x.at(b.from), f.x.at(b.to), f.y.at(b.y)
		if f.Series[i].Kind == Bars {
			gap := 0.0
			if to-from > 3 {
				gap = (to - from) / 10
			}
			areas = append(areas, []point{{from + gap, base}, {from + gap, y}, {to - gap, y}, {to - gap, base}})
			continue
		}
		if k == 0 || f.boxes[i][k-1].to != b.from {
			areas = append(areas, []point{{from, base}, {from, base}})
		}
		last := len(areas) - 1
		areas[last] = append(areas[last][:len(areas[last])-1], point{from, y}, point{to, y}, point{to, base})
	}
	if len(areas) > 0 {
		opacity := f.opacity()
		if f.Series[i].Kind == Line {
			opacity = 1
		}
		c.area(areas, f.inks[i], opacity)
	}
	if f.Series[i].Kind == Steps {
		lines = areas
	}
	if len(lines) > 0 {
		c.stroke(lines, f.inks[i], 1.3, false)
	}
}

// Sizes of what is drawn for each point of a scattered series, in points.
const (
	dotRadius  = 2.2
	dotOpacity = 0.6
	rugWidth   = 1.6
	rugHeight  = 9
)

// scattered draws a series of points, or of those whose Y isn't known.
func (f *figure) scattered(c canvas, i int) {
	var dots []point
	var rug [][]point
	for _, run := range f.runs[i] {
		for _, p := range run {
			if x := f.x.at(p.x); f.Series[i].Kind == Rug {
				rug = append(rug, []point{{x, f.y.from - rugHeight}, {x, f.y.from}})
			} else {
				dots = append(dots, point{x, f.y.at(p.y)})
			}
		}
	}
	if len(dots) > 0 {
		c.dots(dots, f.inks[i])
	}
	if len(rug) > 0 {
		c.stroke(rug, f.inks[i], rugWidth, false)
	}
}

// circle is a polygon around a point.
func circle(at point, radius float64) (polygon []point) {
	const corners = 12
	for k := range corners {
		sin, cos := math.Sincos(2 * math.Pi * float64(k) / corners)
		polygon = append(polygon, point{at.x + radius*cos, at.y + radius*sin})
	}
	return polygon
}

// axis is a range of values and where it lies.
type axis struct {
	log      bool
	lo, hi   float64 // hi is less than lo while there are no values
	from, to float64 // on the sheet
	ticks    []tick
}

// tick is a place of an axis; one in between has no label.
type tick struct {
	value float64
	label string
}

func newAxis(log bool) axis { return axis{log: log, lo: math.Inf(1), hi: math.Inf(-1)} }

// holds tells whether a value has a place on the axis.
func (a *axis) holds(v float64) bool { return math.Abs(v) < 1e100 && (!a.log || v > 1e-100) }

func (a *axis) add(v float64) { a.lo, a.hi = min(a.lo, v), max(a.hi, v) }

func (a *axis) join(b axis) { a.lo, a.hi = min(a.lo, b.lo), max(a.hi, b.hi) }

// at returns where a value lies on the sheet.
func (a *axis) at(v float64) float64 {
	share := (v - a.lo) / (a.hi - a.lo)
	if a.log {
		share = math.Log(v/a.lo) / math.Log(a.hi/a.lo)
	}
	return a.from + share*(a.to-a.from)
}

// fromZero has the axis show zero, the values, and some air.
func (a *axis) fromZero() {
	a.add(0)
	air := 0.06 * (a.hi - a.lo)
	if a.lo < 0 {
		a.lo -= air
	}
	if a.hi > 0 {
		a.hi += air
	}
}

// near has the axis show the values, and some air.
func (a *axis) near() {
	if a.lo <= a.hi {
		air := 0.06 * (a.hi - a.lo)
		a.lo, a.hi = a.lo-air, a.hi+air
	}
}

// names gives the axis a label for each name, or for each so many where there are more than the room has for.
func (a *axis) names(names []string, room float64) {
	const least = 48 // points a label
	each := max(1, int(math.Ceil(least*float64(len(names))/room)))
	for i, name := range names {
		t := tick{value: float64(i)}
		if i%each == 0 {
			t.label = tickText.fit(name, room*float64(each)/float64(len(names))-6)
		}
		a.ticks = append(a.ticks, t)
	}
}

// rounding lets 9.99999 be a 10.
const rounding = 1e-9

// scaled returns d * 10^k, for negative k as the nearest number to the decimal fraction.
func scaled(d float64, k int) float64 {
	if k < 0 {
		return d / math.Pow10(-k)
	}
	return d * math.Pow10(k)
}

// parts divides a linear axis into about so many parts of 1, 2 or 5 times a power of ten. Ticks
// without a label divide those into five or four.
func (a *axis) parts(most int) {
	if a.lo > a.hi {
		a.lo, a.hi = 0, 1
	}
	if width := max(math.Abs(a.lo), math.Abs(a.hi)); a.hi-a.lo <= 1e-9*width {
		a.lo, a.hi = a.lo-max(0.5, width/100), a.hi+max(0.5, width/100)
	}
	rough := (a.hi - a.lo) / float64(most)
	k := int(math.Floor(math.Log10(rough)))
	digit, minor := 10.0, 5.0
	for _, d := range []float64{5, 2, 1} {
		if scaled(d, k) >= rough*(1-rounding) {
			digit = d
		}
	}
	if digit == 2 {
		minor = 4
	}
	step := scaled(digit, k) / minor
	for i := math.Ceil(a.lo/step - rounding); i*step <= a.hi+step*rounding; i++ {
		t := tick{value: i * step}
		if math.Mod(i, minor) == 0 {
			t.value = scaled(i/minor*digit, k)
			t.label = number(t.value, 1e6)
		}
		a.ticks = append(a.ticks, t)
	}
}

// decades rounds a logarithmic axis to the next of 1, 2 and 5 of a decade on both sides. It has
// a label at each decade, or at every so many where there are more than would fit. In a range
// of few decades it has labels at 2 and 5 too.
func (a *axis) decades(most int) {
	if a.lo > a.hi {
		a.lo, a.hi = 1, 10
	}
	lo, hi := a.lo, a.hi
	first := int(math.Floor(math.Log10(lo) + rounding))
	last := max(first+1, int(math.Ceil(math.Log10(hi)-rounding)))
	a.lo, a.hi = scaled(1, first), scaled(1, last)
	for _, d := range []float64{2, 5} {
		if v := scaled(d, first); v <= lo*(1+rounding) {
			a.lo = v
		}
	}
	for _, d := range []float64{5, 2, 1} {
		if v := scaled(d, last-1); v >= hi*(1-rounding) && v > a.lo {
			a.hi = v
		}
	}
	decades := last - first
	each := (decades + most - 1) / most // decades a label
	for k := first; k <= last; k++ {
		for d := 1.0; d <= 9; d++ {
			t := tick{value: scaled(d, k)}
			if t.value < a.lo*(1-rounding) || t.value > a.hi*(1+rounding) {
				continue
			}
			switch {
			case d == 1 && (k-first)%each == 0, (d == 2 || d == 5) && 3*decades <= most:
				t.label = number(t.value, 1e5)
			case d > 1 && each > 1:
				continue // the ticks would touch each other
			}
			a.ticks = append(a.ticks, t)
		}
	}
}

// number writes a tick's label: 1500, 0.02, and from a limit on 2e9.
func number(v, limit float64) string {
	if a := math.Abs(v); a >= 1e-3 && a < limit || v == 0 {
		return strconv.FormatFloat(v+0, 'f', -1, 64) // never -0
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(v, 'e', -1, 64), "e")
	k, _ := strconv.Atoi(exponent) // FormatFloat writes digits with a sign
	return mantissa + "e" + strconv.Itoa(k)
}
