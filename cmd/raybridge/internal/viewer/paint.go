package viewer

import (
	"image"
	"image/color"
	"image/draw"
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
