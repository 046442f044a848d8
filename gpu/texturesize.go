package gpu

import (
	"errors"
	"fmt"
	"math"
)

// largestPixel is the size in bytes of the formats' largest pixel.
const largestPixel = 16

// LevelSize returns the size in pixels of one mipmap level.
func (d *TextureDesc) LevelSize(level int) (width, height int) {
	return max(d.Width>>level, 1), max(d.Height>>level, 1)
}

// LevelBytes returns the size in bytes of one mipmap level, all layers of it,
// as tightly packed pixels of format f; 0 if there is no such level.
func (d *TextureDesc) LevelBytes(level int, f Format) int {
	if d.Kind == TextureBuffer || level < 0 || level >= max(d.Levels, 1) {
		return 0
	}
	w, h := d.LevelSize(level)
	return w * h * max(d.Layers, 1) * f.PixelBytes()
}

// check reports a description that no driver can make.
func (d *TextureDesc) check() error {
	switch {
	case d.Format.PixelBytes() == 0:
		return fmt.Errorf("unknown format %d", d.Format)
	case d.Kind == TextureBuffer && d.Buffer == nil:
		return errors.New("a texture buffer needs a buffer")
	case d.Kind == TextureBuffer:
		return nil
	case d.Width <= 0 || d.Height <= 0:
		return fmt.Errorf("size %dx%d is out of range", d.Width, d.Height)
	case (d.Kind == Texture2DArray) != (d.Layers > 0):
		return fmt.Errorf("%d layers: an array needs at least 1, others have none", d.Layers)
	case max(d.Width, d.Height)>>(d.Levels-1) == 0:
		return fmt.Errorf("%d mipmap levels are more than %dx%d has", d.Levels, d.Width, d.Height)
	case float64(d.Width)*float64(d.Height)*float64(max(d.Layers, 1))*largestPixel > math.MaxInt/2:
		return fmt.Errorf("%dx%d pixels in %d layers are more than memory has addresses", d.Width, d.Height, max(d.Layers, 1))
	}
	return nil
}

// checkRegion fills in a zero region's size and holds it and the data's length
// against the texture.
func (d *TextureDesc) checkRegion(r *TextureRegion, bytes int) error {
	if d.LevelBytes(r.Level, d.Format) == 0 {
		return fmt.Errorf("no level %d", r.Level)
	}
	w, h := d.LevelSize(r.Level)
	if r.Width == 0 && r.Height == 0 {
		r.Width, r.Height = w-r.X, h-r.Y
	}
	if r.X < 0 || r.Y < 0 || r.Width <= 0 || r.Height <= 0 || !within(r.X, r.Width, w) || !within(r.Y, r.Height, h) ||
		r.Layer < 0 || r.Layer >= max(d.Layers, 1) {
		return fmt.Errorf("region %+v lies outside of %dx%d pixels, %d layers", *r, w, h, max(d.Layers, 1))
	}
	if want := r.Width * r.Height * d.Format.PixelBytes(); bytes != want {
		return fmt.Errorf("%d bytes for %dx%d pixels: need %d", bytes, r.Width, r.Height, want)
	}
	return nil
}
