//go:build cgo && linux && !nowindow

package window

import (
	"fmt"
	"image"
	"math"
	"unsafe"

	"github.com/go-gl/gl/v4.5-core/gl"
)

// canvas is the texture with the picture that the window shows, so that uncovered parts are
// painted without the program. All of it is the main thread's, in the window's context. It
// takes nothing beyond OpenGL 3.3.
type canvas struct {
	texture, framebuffer uint32
	size                 image.Point // of texture; zero for none
	maxSide              int
}

func (c *canvas) create() error {
	var side int32
	gl.GetIntegerv(gl.MAX_TEXTURE_SIZE, &side)
	c.maxSide = int(side)
	gl.GenTextures(1, &c.texture)
	gl.BindTexture(gl.TEXTURE_2D, c.texture)
	gl.TexParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAX_LEVEL, 0)
	gl.GenFramebuffers(1, &c.framebuffer)
	gl.BindFramebuffer(gl.READ_FRAMEBUFFER, c.framebuffer)
	gl.FramebufferTexture2D(gl.READ_FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, c.texture, 0)
	return lastError("prepare drawing")
}

func (c *canvas) delete() {
	gl.DeleteFramebuffers(1, &c.framebuffer)
	gl.DeleteTextures(1, &c.texture)
}

// take copies a picture.
func (c *canvas) take(picture *image.RGBA) error {
	size := picture.Rect.Size()
	if size.X <= 0 || size.Y <= 0 || size.X > c.maxSide || size.Y > c.maxSide {
		return fmt.Errorf("it has %d x %d pixels, a side has 1 to %d", size.X, size.Y, c.maxSide)
	}
	if c.size != size {
		gl.TexImage2D(gl.TEXTURE_2D, 0, gl.RGBA8, int32(size.X), int32(size.Y), 0, gl.RGBA, gl.UNSIGNED_BYTE, nil)
		c.size = size
	}
	gl.PixelStorei(gl.UNPACK_ROW_LENGTH, int32(picture.Stride/4))
	first := picture.PixOffset(picture.Rect.Min.X, picture.Rect.Min.Y)
	gl.TexSubImage2D(gl.TEXTURE_2D, 0, 0, 0, int32(size.X), int32(size.Y), gl.RGBA, gl.UNSIGNED_BYTE, unsafe.Pointer(&picture.Pix[first]))
	return lastError("take it")
}

// draw draws the picture from the top-left corner of a window, each pixel as large as scale
// says, and black around it.
func (c *canvas) draw(width, height int, scale float64) {
	gl.Clear(gl.COLOR_BUFFER_BIT) // of the window: it has no other target
	if c.size == (image.Point{}) {
		return
	}
	filter := uint32(gl.NEAREST)
	if scale != math.Trunc(scale) {
		filter = gl.LINEAR
	}
	w, h := int32(c.size.X), int32(c.size.Y)
	right, bottom := int32(math.Round(float64(w)*scale)), int32(height)-int32(math.Round(float64(h)*scale))
	gl.BlitFramebuffer(0, 0, w, h, 0, int32(height), right, bottom, gl.COLOR_BUFFER_BIT, filter)
}

// lastError is an error of OpenGL's since it was asked before.
func lastError(verb string) error {
	if code := gl.GetError(); code != gl.NO_ERROR {
		return fmt.Errorf("%s: OpenGL error %#x", verb, code)
	}
	return nil
}
