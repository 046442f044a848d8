package chart

import (
	"bytes"
	_ "embed"
	"encoding/xml"
	"fmt"
	"html/template"
	"strconv"
	"strings"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// dotsPerInch make a PNG 1600 pixels wide.
const dotsPerInch = 128

func drawPNG(p *Page) ([]byte, error) {
	if len(p.Charts) == 0 {
		return nil, errNothing()
	}
	s := newSheet(p, newLook())
	canvas := vgimg.NewWith(vgimg.UseWH(pageWidth, s.height()), vgimg.UseDPI(dotsPerInch))
	s.draw(canvas)
	var out bytes.Buffer
	_, err := vgimg.PngCanvas{Canvas: canvas}.WriteTo(&out)
	return out.Bytes(), err
}

func errNothing() error {
	return fmt.Errorf("%w: what was measured has none; name the file .html to get the table alone", ErrNoCharts)
}

func drawSVG(p *Page) ([]byte, error) {
	if len(p.Charts) == 0 {
		return nil, errNothing()
	}
	svg, err := vector(p, newLook())
	return append([]byte(xml.Header), svg...), err
}

// family is what a viewer without Liberation Sans takes: fonts of the same widths.
const family = "font-family:'Liberation Sans',Arimo,Arial,Helvetica,sans-serif;"

// vector draws the page's charts as an <svg> element that says what it shows.
func vector(p *Page, l *look) ([]byte, error) {
	s := newSheet(p, l)
	canvas := &measuringCanvas{Canvas: vgsvg.New(pageWidth, s.height())}
	s.draw(canvas)
	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return nil, err
	}
	drawn := bytes.ReplaceAll(out.Bytes(), []byte("font-family:Liberation Sans;"), []byte(family))
	drawn = canvas.hold(drawn)
	_, body, found := bytes.Cut(drawn, []byte(`xlink">`))
	if !found {
		return nil, fmt.Errorf("draw as SVG: no <svg> element in %d bytes", len(drawn))
	}
	var svg bytes.Buffer
	fmt.Fprintf(&svg, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.5g %.5g" width="%.5g" height="%.5g" role="img" aria-labelledby="charts-title charts-desc">`,
		pageWidth, s.height(), pageWidth, s.height())
	fmt.Fprintf(&svg, "\n<title id=\"charts-title\">%s</title>\n<desc id=\"charts-desc\">%s</desc>", template.HTMLEscapeString(p.Title), template.HTMLEscapeString(p.describe()))
	svg.Write(body)
	return svg.Bytes(), nil
}

// measuringCanvas notes how wide each text was taken to be, so that a viewer that has
// another font can be told.
type measuringCanvas struct {
	*vgsvg.Canvas
	widths []vg.Length
}

// FillString writes a text.
func (c *measuringCanvas) FillString(f font.Face, at vg.Point, text string) {
	c.widths = append(c.widths, f.Width(text))
	c.Canvas.FillString(f, at, text)
}

// hold gives each text its width.
func (c *measuringCanvas) hold(svg []byte) []byte {
	const element = "<text "
	parts := bytes.Split(svg, []byte(element))
	var out bytes.Buffer
	out.Write(parts[0])
	for i, part := range parts[1:] {
		fmt.Fprintf(&out, `%slengthAdjust="spacingAndGlyphs" textLength="%.5g" `, element, c.widths[i].Points())
		out.Write(part)
	}
	return out.Bytes()
}

// describe says in words what the charts show.
func (p *Page) describe() string {
	var b strings.Builder
	for i := range p.Charts {
		c := &p.Charts[i]
		var names []string
		for k := range c.Series {
			names = append(names, c.Series[k].Name)
		}
		fmt.Fprintf(&b, "%s: %s over %s, of %s. ", c.Title, c.Y, c.X, strings.Join(names, ", "))
	}
	return strings.TrimSpace(b.String())
}

//go:embed page.tmpl
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// cell is one of the table's.
type cell struct {
	Text   string
	Number bool
}

func drawHTML(p *Page) ([]byte, error) {
	data := struct {
		*Page
		SVG        template.HTML
		Head, Rows [][]cell
	}{Page: p}
	if len(p.Charts) > 0 {
		l := newLook()
		l.bare = true
		svg, err := vector(p, l)
		if err != nil {
			return nil, err
		}
		data.SVG = template.HTML(themed(svg))
	}
	if len(p.Table) > 0 {
		cells := align(p.Table)
		data.Head, data.Rows = cells[:1], cells[1:]
	}
	var out bytes.Buffer
	err := pageTemplate.Execute(&out, data)
	return out.Bytes(), err
}

// themed gives the colours of texts, lines and paper the names that the page has for
// them by day and by night.
func themed(svg []byte) []byte {
	var pairs []string
	for _, t := range []struct {
		name  string
		color [3]uint8
	}{
		{"ink", [3]uint8{inkColor.R, inkColor.G, inkColor.B}}, {"soft", [3]uint8{softColor.R, softColor.G, softColor.B}},
		{"grid", [3]uint8{gridColor.R, gridColor.G, gridColor.B}}, {"card", [3]uint8{paperColor.R, paperColor.G, paperColor.B}},
		{"card", [3]uint8{tagColor.R - 1, tagColor.G - 1, tagColor.B - 1}},
	} {
		for _, property := range []string{"fill", "stroke"} {
			pairs = append(pairs, fmt.Sprintf(`%s:#%02X%02X%02X`, property, t.color[0], t.color[1], t.color[2]), fmt.Sprintf("%s:var(--%s)", property, t.name))
		}
	}
	return []byte(strings.NewReplacer(pairs...).Replace(string(svg)))
}

// align marks the cells of columns that hold numbers below their head.
func align(table [][]string) [][]cell {
	words := map[int]bool{}
	for _, row := range table[1:] {
		for i, text := range row {
			if !numeric(text) {
				words[i] = true
			}
		}
	}
	out := make([][]cell, len(table))
	for r, row := range table {
		for i, text := range row {
			out[r] = append(out[r], cell{text, !words[i] && len(table) > 1})
		}
	}
	return out
}

// numeric tells whether a cell holds a number, with thousands separated or not, or
// nothing.
func numeric(text string) bool {
	text = strings.ReplaceAll(text, ",", "")
	if text == "" {
		return true
	}
	_, err := strconv.ParseFloat(text, 64)
	return err == nil
}
