//go:build cgo

package glcore

import (
	"strings"
	"unsafe"

	"github.com/go-gl/gl/v4.5-core/gl"
)

// zink is what Mesa's OpenGL on Vulkan needs besides what OpenGL asks for, seen with Mesa 22.3.6. Its
// zero value is any other driver's, and does nothing.
type zink struct {
	small uint32 // a buffer of 8 bytes
}

// find looks whether the renderer is zink. The driver calls it once.
func (z *zink) find(renderer string) {
	if strings.HasPrefix(renderer, "zink") {
		gl.CreateBuffers(1, &z.small)
		gl.NamedBufferStorage(z.small, 8, nil, 0)
	}
}

func (z *zink) found() bool { return z.small != 0 }

// settle gives the fence or glFinish that follows a command to wait for. One that directly follows
// a flush is done before the flushed commands are, so that data would be read too early;
// testdata/zink_fence.c shows it.
func (z *zink) settle() {
	if z.found() {
		gl.CopyNamedBufferSubData(z.small, z.small, 0, 4, 4)
	}
}

// write is glNamedBufferSubData. A dispatch that reads a buffer through a texture buffer would find
// there what is written after it: within a submission the write goes first, and afterwards it doesn't
// wait for the dispatch. A copy in the next submission comes in its turn; testdata/zink_write.c shows it.
func (z *zink) write(buffer uint32, offset int, data []byte) {
	var staged uint32
	gl.Flush()
	gl.CreateBuffers(1, &staged)
	gl.NamedBufferStorage(staged, len(data), unsafe.Pointer(&data[0]), 0)
	gl.CopyNamedBufferSubData(staged, buffer, 0, offset, len(data))
	gl.DeleteBuffers(1, &staged)
}
