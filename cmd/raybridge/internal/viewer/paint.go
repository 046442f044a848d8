package viewer

import (
	"fmt"
	"image"
	"image/color"
	"image/draw"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/gomono"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
)

// Colours of the window.
var (
	colorBackground = color.RGBA{0x0e, 0x11, 0x15, 0xff}
	colorPanel      = color.RGBA{0x17, 0x1b, 0x21, 0xff}
	colorTitle      = color.RGBA{0x1e, 0x24, 0x2c, 0xff}
	colorWell       = color.RGBA{0x0a, 0x0c, 0x10, 0xff} // behind pictures
	colorBorder     = color.RGBA{0x2a, 0x31, 0x3b, 0xff}
	colorText       = color.RGBA{0xe3, 0xe8, 0xee, 0xff}
	colorDim        = color.RGBA{0x8b, 0x96, 0xa5, 0xff}
	colorFaint      = color.RGBA{0x3a, 0x44, 0x51, 0xff}
	colorAccent     = color.RGBA{0x4c, 0xa9, 0xff, 0xff}
	colorGood       = color.RGBA{0x46, 0xc2, 0x8e, 0xff}
	colorWarning    = color.RGBA{0xf2, 0xa9, 0x3b, 0xff}
	colorBad        = color.RGBA{0xff, 0x6b, 0x6b, 0xff}
)

// fill paints a rectangle, clipped to dst.
func fill(dst *image.RGBA, r image.Rectangle, c color.RGBA) {
	draw.Draw(dst, r, image.NewUniform(c), image.Point{}, draw.Src)
}

// outline paints a rectangle's border, a pixel wide, inside it.
func outline(dst *image.RGBA, r image.Rectangle, c color.RGBA) {
	fill(dst, image.Rect(r.Min.X, r.Min.Y, r.Max.X, r.Min.Y+1), c)
	fill(dst, image.Rect(r.Min.X, r.Max.Y-1, r.Max.X, r.Max.Y), c)
	fill(dst, image.Rect(r.Min.X, r.Min.Y, r.Min.X+1, r.Max.Y), c)
	fill(dst, image.Rect(r.Max.X-1, r.Min.Y, r.Max.X, r.Max.Y), c)
}

// veil mixes a colour into a rectangle; alpha is of 255.
func veil(dst *image.RGBA, r image.Rectangle, c color.RGBA, alpha uint32) {
	r = r.Intersect(dst.Rect)
	for y := r.Min.Y; y < r.Max.Y; y++ {
		row := dst.Pix[dst.PixOffset(r.Min.X, y):]
		for x := range r.Dx() {
			blend(row[4*x:4*x+4], c, alpha)
		}
	}
}

// blend mixes a colour into an opaque pixel; alpha is of 255.
func blend(pix []byte, c color.RGBA, alpha uint32) {
	rest := 255 - alpha
	pix[0] = byte((uint32(pix[0])*rest + uint32(c.R)*alpha + 127) / 255)
	pix[1] = byte((uint32(pix[1])*rest + uint32(c.G)*alpha + 127) / 255)
	pix[2] = byte((uint32(pix[2])*rest + uint32(c.B)*alpha + 127) / 255)
	pix[3] = 255
}

// within returns the part of a picture inside a rectangle; it shares the pixels.
func within(dst *image.RGBA, r image.Rectangle) *image.RGBA {
	return dst.SubImage(r).(*image.RGBA)
}

// centred returns a rectangle of a size in the middle of another.
func centred(size image.Point, in image.Rectangle) image.Rectangle {
	at := in.Min.Add(in.Size().Sub(size).Div(2))
	return image.Rectangle{Min: at, Max: at.Add(size)}
}

// typeface draws one font in one size. It keeps the glyphs it has drawn: a
// window's text is the same few dozen of them over and over.
type typeface struct {
	face   font.Face
	glyphs map[rune]glyph
	// ascent and height are of a line, pixels.
	ascent, height int
}

// glyph is a drawn character: its coverage, with bounds relative to the pen.
type glyph struct {
	mask    *image.Alpha
	advance int // pixels
}

// typefaces are the fonts of the window.
type typefaces struct{ regular, bold, mono *typeface }

// newTypefaces opens the fonts; size is of text in pixels.
func newTypefaces(size float64) (t typefaces, err error) {
	for _, f := range []struct {
		at   **typeface
		data []byte
		size float64
	}{{&t.regular, goregular.TTF, size}, {&t.bold, gobold.TTF, size}, {&t.mono, gomono.TTF, size - 1}} {
		if *f.at, err = newTypeface(f.data, f.size); err != nil {
			return t, err
		}
	}
	return t, nil
}

func newTypeface(data []byte, size float64) (*typeface, error) {
	parsed, err := opentype.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("read font: %w", err)
	}
	face, err := opentype.NewFace(parsed, &opentype.FaceOptions{Size: size, DPI: 72, Hinting: font.HintingFull})
	if err != nil {
		return nil, fmt.Errorf("scale font: %w", err)
	}
	m := face.Metrics()
	return &typeface{
		face: face, glyphs: map[rune]glyph{},
		ascent: m.Ascent.Ceil(), height: m.Ascent.Ceil() + m.Descent.Ceil(),
	}, nil
}

func (t *typeface) glyph(r rune) glyph {
	if g, ok := t.glyphs[r]; ok {
		return g
	}
	bounds, mask, at, advance, _ := t.face.Glyph(fixed.Point26_6{}, r)
	g := glyph{mask: image.NewAlpha(bounds), advance: advance.Round()}
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			_, _, _, a := mask.At(at.X+x-bounds.Min.X, at.Y+y-bounds.Min.Y).RGBA()
			g.mask.SetAlpha(x, y, color.Alpha{A: uint8(a >> 8)})
		}
	}
	t.glyphs[r] = g
	return g
}

// width returns a text's width in pixels.
func (t *typeface) width(text string) int {
	width := 0
	for _, r := range text {
		width += t.glyph(r).advance
	}
	return width
}

// fit shortens a text to a width, with an ellipsis where something is left out.
func (t *typeface) fit(text string, width int) string {
	if t.width(text) <= width {
		return text
	}
	const ellipsis = '…'
	room := width - t.glyph(ellipsis).advance
	for k, r := range text {
		if room -= t.glyph(r).advance; room < 0 {
			if k == 0 {
				return ""
			}
			return text[:k] + string(ellipsis)
		}
	}
	return ""
}

// draw writes a text whose line's top-left corner is at, clipped to dst, and
// returns where the next one would begin.
func (t *typeface) draw(dst *image.RGBA, at image.Point, text string, c color.RGBA) image.Point {
	pen := image.Pt(at.X, at.Y+t.ascent)
	for _, r := range text {
		g := t.glyph(r)
		cover(dst, g.mask, pen, c)
		pen.X += g.advance
	}
	return image.Pt(pen.X, at.Y)
}

// cover paints a colour through a mask that is moved by at.
func cover(dst *image.RGBA, mask *image.Alpha, at image.Point, c color.RGBA) {
	r := mask.Rect.Add(at).Intersect(dst.Rect)
	for y := r.Min.Y; y < r.Max.Y; y++ {
		row := mask.Pix[mask.PixOffset(r.Min.X-at.X, y-at.Y):]
		pix := dst.Pix[dst.PixOffset(r.Min.X, y):]
		for x := range r.Dx() {
			if a := row[x]; a > 0 {
				blend(pix[4*x:4*x+4], c, uint32(a))
			}
		}
	}
}
