//go:build cgo

package gl_test

import (
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/gpu/glcore/internal/gl"
)

// A driver without one of the functions is told by its name.
func TestLoadNamesTheFunctionThatIsMissing(t *testing.T) {
	asked := map[string]bool{}
	var code byte
	err := gl.Load(func(name string) unsafe.Pointer {
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
