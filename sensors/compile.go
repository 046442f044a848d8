package sensors

import (
	"slices"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/shaders"
)

// Compile makes a program of an entry's source, in which the defines replace the entry's own of
// the same name. On a GPU an invocation traces one ray (shaders.Alone). GL thread.
func Compile(c *gpu.Ctx, e *shaders.Entry, defines ...shaders.Define) (*gpu.Program, error) {
	if info := c.Info(); info.GPU() && e.Together != [3]int{} {
		defines = append(slices.Clip(defines), shaders.Alone(true))
	}
	source, err := shaders.Source(e, defines...)
	if err != nil {
		return nil, err
	}
	return c.NewProgram(gpu.ProgramDesc(source))
}
