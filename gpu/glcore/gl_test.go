//go:build cgo

package glcore

import (
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
)

// A driver without one of the functions is told by its name.
func TestLoadNamesTheFunctionThatIsMissing(t *testing.T) {
	asked := map[string]bool{}
	var code byte
	err := glLoad(func(name string) unsafe.Pointer {
		asked[name] = true
		if name == "glNamedBufferStorage" {
			return nil
		}
		return unsafe.Pointer(&code) // never called
	})
	assert.EqualError(t, err, "glNamedBufferStorage")
	for name := range asked {
		assert.True(t, strings.HasPrefix(name, "gl") && name != "gl", name)
	}
}

// Names counts OpenGL's own objects that have a name. GL thread.
func Names() (n int) {
	for i := range uint32(1000) {
		for _, there := range []bool{glIsBuffer(i), glIsTexture(i), glIsFramebuffer(i), glIsProgram(i), glIsQuery(i)} {
			if there {
				n++
			}
		}
	}
	return n
}
