//go:build cgo

package glcore

import (
	"errors"
	"fmt"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/glcore/internal/gl"
)

var errorNames = map[uint32]string{
	gl.INVALID_ENUM:                  "GL_INVALID_ENUM",
	gl.INVALID_VALUE:                 "GL_INVALID_VALUE",
	gl.INVALID_OPERATION:             "GL_INVALID_OPERATION",
	gl.INVALID_FRAMEBUFFER_OPERATION: "GL_INVALID_FRAMEBUFFER_OPERATION",
	gl.OUT_OF_MEMORY:                 "GL_OUT_OF_MEMORY",
	gl.CONTEXT_LOST:                  "GL_CONTEXT_LOST",
}

// glError gives a code of glGetError a Go error; nil for GL_NO_ERROR.
func glError(code uint32) error {
	switch name, known := errorNames[code]; {
	case code == gl.NO_ERROR:
		return nil
	case code == gl.CONTEXT_LOST:
		return fmt.Errorf("%w: %s", gpu.ErrContextLost, name)
	case known:
		return errors.New(name)
	default:
		return fmt.Errorf("gl error %#x", code)
	}
}

// drainErrors clears the error flags and returns what was set. There is one
// flag an error at most; a lost context may repeat its own for ever.
func drainErrors() error {
	var errs []error
	for range len(errorNames) {
		err := glError(gl.GetError())
		if err == nil {
			break
		}
		errs = append(errs, err)
		if errors.Is(err, gpu.ErrContextLost) {
			break
		}
	}
	return errors.Join(errs...)
}

// Reset implements gpu.Driver by glGetGraphicsResetStatus.
func (d *Driver) Reset() error {
	switch gl.GetGraphicsResetStatus() {
	case gl.NO_ERROR:
		return nil
	case gl.GUILTY_CONTEXT_RESET:
		return fmt.Errorf("%w: a command of this program reset the GPU", gpu.ErrContextLost)
	case gl.INNOCENT_CONTEXT_RESET:
		return fmt.Errorf("%w: another program reset the GPU", gpu.ErrContextLost)
	default:
		return fmt.Errorf("%w: the GPU was reset", gpu.ErrContextLost)
	}
}
