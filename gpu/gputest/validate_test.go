package gputest_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
)

const (
	version = "#version 450 core\n"
	one     = "layout(local_size_x = 1) in;\n"
)

// lax are shaders that llvmpipe takes, and what the validators say of them.
var lax = map[string]struct{ source, refused string }{
	"too many samplers": {one + lines(17, "layout(binding = %[1]d) uniform samplerBuffer s%[1]d;") + "void main() {\n" +
		lines(17, "if (texelFetch(s%d, 0).x < 0.0) return;") + "}\n", "17 samplers, OpenGL 4.5 guarantees 16"},
	"too many storage blocks": {one + lines(9, "layout(std430, binding = %[1]d) buffer Block%[1]d { uint b%[1]d[]; };") + "void main() {\n" +
		lines(9, "b%d[0] = 1u;") + "}\n", "9 storage blocks, OpenGL 4.5 guarantees 8"},
	"too deep a work group": {"layout(local_size_z = 128) in;\nvoid main() {}\n", "128 invocations of a work group in z"},
	// Of GLSL 4.60, or an extension.
	"a semicolon after a function": {one + "void main() {};\n", "extraneous semicolon"},
	"shared memory with a value":   {one + "shared uint w = 1u;\nvoid main() { w = 2u; }\n", "initializer"},
}

func TestValidateRefusesWhatLlvmpipeTakes(t *testing.T) {
	gputest.Validators(t)
	for name, l := range lax {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := gputest.Validate(gpu.ProgramDesc{Label: "lax", Compute: version + l.source})
			assert.ErrorContains(t, err, `validate "lax": `)
			assert.ErrorContains(t, err, l.refused)
		})
	}
}

// TestCompilersLimitsAreTheGuaranteedOnes: those that both files have are the same, and the compiler has them.
func TestCompilersLimitsAreTheGuaranteedOnes(t *testing.T) {
	text, err := os.ReadFile("testdata/opengl-4.5.conf")
	require.NoError(t, err)
	l := gpu.Guaranteed()
	for name, want := range map[string]int{
		"MaxComputeTextureImageUnits": l.MaxSamplers, "MaxVertexTextureImageUnits": l.MaxSamplers, "MaxTextureImageUnits": l.MaxSamplers,
		"MaxGeometryTextureImageUnits": l.MaxSamplers, "MaxCombinedTextureImageUnits": l.SamplerSlots,
		"MaxComputeImageUniforms": l.MaxImages, "MaxFragmentImageUniforms": l.MaxImages, "MaxImageUnits": l.ImageSlots,
		"MaxCombinedImageUniforms": l.MaxImages, "MaxVertexImageUniforms": 0, "MaxVertexAtomicCounters": 0,
		"MaxCombinedShaderOutputResources": l.MaxOutputs, "MaxCombinedImageUnitsAndFragmentOutputs": l.MaxOutputs, "MaxDrawBuffers": l.MaxOutputs,
		"MaxVaryingComponents": 60, "MaxVaryingFloats": 60, // of Beyond's varyings
		"MaxComputeWorkGroupCountX": l.MaxComputeGroups[0], "MaxComputeWorkGroupCountY": l.MaxComputeGroups[1], "MaxComputeWorkGroupCountZ": l.MaxComputeGroups[2],
		"MaxComputeWorkGroupSizeX": l.MaxComputeGroupSize[0], "MaxComputeWorkGroupSizeY": l.MaxComputeGroupSize[1], "MaxComputeWorkGroupSizeZ": l.MaxComputeGroupSize[2],
	} {
		assert.Contains(t, string(text), fmt.Sprintf("\n%s %d\n", name, want))
	}
	gputest.Validators(t)
	buffers := func(n int) error {
		source := fmt.Sprintf("void main() { int only[gl_MaxDrawBuffers == %d ? 1 : -1]; }\n", n)
		return gputest.Validate(gpu.ProgramDesc{Compute: version + one + source})
	}
	require.NoError(t, buffers(8))
	assert.ErrorContains(t, buffers(32), "glslangValidator", "it is what the compiler takes for usual")
}

// The compiler takes a bias outside a fragment stage, and SPIR-V doesn't.
func TestValidateJudgesTheSPIRV(t *testing.T) {
	gputest.Validators(t)
	bias := "layout(binding = 0) uniform sampler2D s;\nlayout(std430, binding = 0) buffer Block { float b; };\nvoid main() { b = texture(s, vec2(0.0), 1.0).r; }\n"
	assert.ErrorContains(t, gputest.Validate(gpu.ProgramDesc{Compute: version + one + bias}), "spirv-val")
}

// TestValidateLinksStages: they agree on what passes between them.
func TestValidateLinksStages(t *testing.T) {
	gputest.Validators(t)
	vertex := "layout(location = 0) flat out uint id;\nvoid main() { id = 1u; gl_Position = vec4(0.0); }\n"
	fragment := "layout(location = 0) flat in %s id;\nlayout(location = 0) out uint found;\nvoid main() { found = uint(id); }\n"
	pair := func(taken string) error {
		return gputest.Validate(gpu.ProgramDesc{Vertex: version + vertex, Fragment: version + fmt.Sprintf(fragment, taken)})
	}
	require.NoError(t, pair("uint"))
	assert.ErrorContains(t, pair("int"), "glslangValidator")
}
