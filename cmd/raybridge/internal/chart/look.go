package chart

import (
	"image/color"
	"slices"

	xfont "golang.org/x/image/font"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
)

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
