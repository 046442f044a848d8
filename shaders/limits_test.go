package shaders_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/shaders"
)

// TestEntriesKeepToTheGuaranteedLimits: whatever its constants are, a program of the catalogue needs no more than every
// driver of OpenGL 4.5 has. Beyond reads the sources, and the declarations of the catalogue must agree with it.
func TestEntriesKeepToTheGuaranteedLimits(t *testing.T) {
	most := gpu.Guaranteed()
	for _, e := range shaders.All() {
		for _, s := range setsOf(t, e) {
			p, err := shaders.Source(e, s.defines...)
			require.NoError(t, err)
			assert.Empty(t, gputest.Beyond(gpu.ProgramDesc(p)), "%s %s", e.Name, s.name)
		}
		var count [shaders.KindImage + 1]int
		slots := [...]int{shaders.KindUniform: most.UniformSlots, shaders.KindStorage: most.StorageSlots, shaders.KindSampler: most.SamplerSlots, shaders.KindImage: most.ImageSlots}
		for _, b := range e.Bindings {
			count[b.Kind]++
			assert.Less(t, b.Slot, slots[b.Kind], "%s binds %s", e.Name, b.Name)
		}
		assert.LessOrEqual(t, count[shaders.KindSampler], most.MaxSamplers, e.Name)
		assert.LessOrEqual(t, count[shaders.KindUniform], most.MaxUniformBlocks, e.Name)
		assert.LessOrEqual(t, count[shaders.KindStorage]+count[shaders.KindImage], most.MaxOutputs, e.Name)
	}
}

// TestLimitsSeeTheCatalogue: what Beyond finds in the largest program is what that declares, so that one more would be
// named.
func TestLimitsSeeTheCatalogue(t *testing.T) {
	p, err := shaders.Source(&shaders.CameraShade, shaders.Flag("WEATHER", true))
	require.NoError(t, err)
	p.Compute = strings.Replace(p.Compute, "vec4 offsets;", "vec4 offsets[1000];", 1) // of a block of 416 bytes
	p.Compute += "layout(binding = 15) uniform sampler2D seventeenth;\n" +
		"layout(std430, binding = 7) buffer Eighth { uint eighth[]; };\n" +
		"layout(binding = 0) uniform writeonly image2D ninth;\n" +
		"shared uint much[8192];\n"
	assert.Equal(t, []string{
		"compute stage: 17 samplers, OpenGL 4.5 guarantees 16",
		"compute stage: 16400 bytes of a uniform block, OpenGL 4.5 guarantees 16384",
		"compute stage: 34048 bytes of shared memory, OpenGL 4.5 guarantees 32768",
		"9 storage blocks, images and colours, OpenGL 4.5 guarantees 8",
	}, gputest.Beyond(gpu.ProgramDesc(p)))
}
