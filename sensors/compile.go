package sensors

import (
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/shaders"
)

// Compile makes a program of an entry's source, in which the defines replace the entry's own of
// the same name. GL thread.
func Compile(c *gpu.Ctx, e *shaders.Entry, defines ...shaders.Define) (*gpu.Program, error) {
	source, err := shaders.Source(e, defines...)
	if err != nil {
		return nil, err
	}
	return c.NewProgram(gpu.ProgramDesc(source))
}
