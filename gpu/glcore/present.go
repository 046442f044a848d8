//go:build cgo

package glcore

import (
	"unsafe"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/glcore/internal/gl"
)

// Present implements gpu.Presenter by a blit to the default framebuffer. The
// back buffer's row 0 is at the bottom, the texture's at the top: the blit
// turns it over. Bytes arrive as they are: FRAMEBUFFER_SRGB stays off.
func (d *Driver) Present(texture gpu.Handle, from, to [2]int) error {
	d.keepErrors()
	if gl.CheckNamedFramebufferStatus(0, gl.DRAW_FRAMEBUFFER) == gl.FRAMEBUFFER_UNDEFINED {
		return &gpu.UnsupportedError{Feature: "window", Need: "a context that glfwctx opened"}
	}
	var f uint32
	gl.CreateFramebuffers(1, &f)
	defer gl.DeleteFramebuffers(1, &f)
	gl.NamedFramebufferTexture(f, gl.COLOR_ATTACHMENT0, uint32(texture), 0)
	filter := uint32(gl.NEAREST)
	if from != to {
		filter = gl.LINEAR
	}
	w, h := int32(to[0]), int32(to[1])
	gl.BlitNamedFramebuffer(f, 0, 0, 0, int32(from[0]), int32(from[1]), 0, h, w, 0, gl.COLOR_BUFFER_BIT, filter)
	return drainErrors()
}

// ReadBackBuffer copies the window's back buffer as RGBA8, row 0 at the top.
// It waits for the GPU.
func (d *Driver) ReadBackBuffer(width, height int, dst []byte) error {
	d.keepErrors()
	gl.BindFramebuffer(gl.READ_FRAMEBUFFER, 0)
	gl.ReadBuffer(gl.BACK)
	rows := make([]byte, len(dst))
	gl.ReadnPixels(0, 0, int32(width), int32(height), gl.RGBA, gl.UNSIGNED_BYTE, int32(len(rows)), unsafe.Pointer(&rows[0]))
	for y := range height {
		copy(dst[y*width*4:(y+1)*width*4], rows[(height-1-y)*width*4:])
	}
	return drainErrors()
}
