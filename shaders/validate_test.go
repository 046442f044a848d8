package shaders_test

import (
	"fmt"
	"testing"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/shaders"
	"github.com/stretchr/testify/require"
)

// lights are the pictures of light. A GRID above 1 is for one of them alone.
var lights = []string{"COLOR", "WIDE_COLOR", "LUMINANCE"}

// set is one set of an entry's constants.
type set struct {
	name    string
	defines []shaders.Define
}

// setsOf returns sets of an entry's constants that have each value of each constant twice: with what the
// other constants are by default, and with the least of each.
func setsOf(t *testing.T, e *shaders.Entry) []set {
	t.Helper()
	var least []shaders.Define
	for _, c := range e.Constants {
		require.Positive(t, c.Most, "%s doesn't say what %s may be", e.Name, c.Name)
		least = append(least, shaders.Int(c.Name, c.Least))
	}
	list := []set{{"as it is", nil}}
	add := func(name string, defines ...shaders.Define) { list = append(list, set{name, defines}) }
	for _, c := range e.Constants {
		for v := c.Least; v <= c.Most; v++ {
			name, define := fmt.Sprintf("%s=%d", c.Name, v), shaders.Int(c.Name, v)
			if c.Name == "GRID" && v > 1 {
				for _, light := range lights {
					add(name+" "+light, append(least[:len(least):len(least)], shaders.Flag(light, true), define)...)
				}
				continue
			}
			add(name, define)
			add(name+" alone", append(least[:len(least):len(least)], define)...)
		}
	}
	return list
}

// TestEachConstantPassesTheValidators compiles what drivers that aren't here get to see. The live tests do
// it for the sets of constants that sensors make.
func TestEachConstantPassesTheValidators(t *testing.T) {
	gputest.Validators(t)
	for _, e := range shaders.All() {
		for _, s := range setsOf(t, e) {
			t.Run(e.Name+" "+s.name, func(t *testing.T) {
				t.Parallel()
				source, err := shaders.Source(e, s.defines...)
				require.NoError(t, err)
				require.NoError(t, gputest.Validate(gpu.ProgramDesc(source)))
			})
		}
	}
}
