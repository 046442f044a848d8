package gputest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
)

// lines makes n lines of a format that takes the line's number.
func lines(n int, format string) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, format+"\n", i)
	}
	return text.String()
}

// Each limit is the most that OpenGL 4.5 core guarantees, and one more is named.
func TestBeyond(t *testing.T) {
	samplers := func(n int) string { return lines(n, "layout(binding = %[1]d) uniform samplerBuffer s%[1]d;") }
	for name, c := range map[string]struct {
		fits, beyond gpu.ProgramDesc
		want         []string
	}{
		"samplers": {gpu.ProgramDesc{Compute: samplers(16)}, gpu.ProgramDesc{Compute: samplers(17)},
			[]string{"compute stage: 17 samplers, OpenGL 4.5 guarantees 16"}},
		"samplers of each stage": {gpu.ProgramDesc{Vertex: samplers(16), Fragment: samplers(16)}, gpu.ProgramDesc{Vertex: samplers(17), Fragment: samplers(17)},
			[]string{"vertex stage: 17 samplers, OpenGL 4.5 guarantees 16", "fragment stage: 17 samplers, OpenGL 4.5 guarantees 16"}},
		"an array of samplers": {gpu.ProgramDesc{Compute: "uniform sampler2D s[16];"}, gpu.ProgramDesc{Compute: "const int N = 17;\nuniform sampler2D s[N];"},
			[]string{"compute stage: 17 samplers, OpenGL 4.5 guarantees 16"}},
		"arrays by their type": {gpu.ProgramDesc{Compute: "uniform sampler2D[8] a, b;"}, gpu.ProgramDesc{Compute: "uniform sampler2D[4]a[2], b, c[1], d;"},
			[]string{"compute stage: 20 samplers, OpenGL 4.5 guarantees 16"}},
		"storage blocks": {gpu.ProgramDesc{Compute: lines(8, "layout(std430) writeonly buffer B%d { uint words[]; };")}, gpu.ProgramDesc{Compute: lines(9, "layout(std430) writeonly buffer B%d { uint words[]; };")},
			[]string{"compute stage: 9 storage blocks, OpenGL 4.5 guarantees 8", "9 storage blocks, images and colours, OpenGL 4.5 guarantees 8"}},
		"storage blocks of vertices": {gpu.ProgramDesc{Fragment: "buffer B { uint word; };"}, gpu.ProgramDesc{Vertex: "buffer B { uint word; };"},
			[]string{"vertex stage: 1 storage blocks, OpenGL 4.5 guarantees 0"}},
		"images": {gpu.ProgramDesc{Compute: lines(8, "layout(r8) uniform writeonly image2D i%d;")}, gpu.ProgramDesc{Compute: lines(9, "layout(r8) uniform writeonly image2D i%d;")},
			[]string{"compute stage: 9 images, OpenGL 4.5 guarantees 8", "9 storage blocks, images and colours, OpenGL 4.5 guarantees 8"}},
		"outputs together": {gpu.ProgramDesc{Fragment: lines(7, "uniform uimage2D i%d;") + "out vec4 c;"}, gpu.ProgramDesc{Fragment: lines(7, "uniform uimage2D i%d;") + "out vec4 c; out vec4 d;"},
			[]string{"9 storage blocks, images and colours, OpenGL 4.5 guarantees 8"}},
		"uniform blocks": {gpu.ProgramDesc{Compute: lines(14, "uniform U%d { vec4 v; };")}, gpu.ProgramDesc{Compute: "uniform U { vec4 v; } blocks[15];"},
			[]string{"compute stage: 15 uniform blocks, OpenGL 4.5 guarantees 14"}},
		"bytes of a uniform block": {gpu.ProgramDesc{Compute: "uniform U { vec4 v[1024]; };"}, gpu.ProgramDesc{Compute: "uniform U { vec4 v[1024]; float f; };"},
			[]string{"compute stage: 16400 bytes of a uniform block, OpenGL 4.5 guarantees 16384"}},
		"shared memory": {gpu.ProgramDesc{Compute: "#define N (64 * 2)\n  shared vec4 a[8][N], b[1024];"}, gpu.ProgramDesc{Compute: "shared vec4 a[8][128], b[1024]; shared uint c;"},
			[]string{"compute stage: 32772 bytes of shared memory, OpenGL 4.5 guarantees 32768"}},
		"invocations": {gpu.ProgramDesc{Compute: "#define X 32\nlayout(local_size_x = X, local_size_y = X) in;"}, gpu.ProgramDesc{Compute: "layout(local_size_x = 32, local_size_y = 32, local_size_z = 2) in;"},
			[]string{"compute stage: 2048 invocations of a work group, OpenGL 4.5 guarantees 1024"}},
		"invocations in z": {gpu.ProgramDesc{Compute: "layout(local_size_z = 64) in;"}, gpu.ProgramDesc{Compute: "layout(local_size_z = 65) in;"},
			[]string{"compute stage: 65 invocations of a work group in z, OpenGL 4.5 guarantees 64"}},
		"varyings": {gpu.ProgramDesc{Vertex: lines(15, "layout(location = %[1]d) flat out uvec4 v%[1]d;")}, gpu.ProgramDesc{Vertex: "out V { mat4 m[3]; vec4 v[3]; float f; };"},
			[]string{"vertex stage: 61 components of varyings, OpenGL 4.5 guarantees 60"}},
		"what can't be bound": {gpu.ProgramDesc{Fragment: "in vec4 tint;"}, gpu.ProgramDesc{Vertex: "in vec3 position; uniform atomic_uint count;"},
			[]string{"vertex stage: 1 vertex attributes, OpenGL 4.5 guarantees 0", "vertex stage: 1 atomic counters, OpenGL 4.5 guarantees 0"}},
		"what isn't understood": {gpu.ProgramDesc{Compute: "uniform U { vec4 v[2]; };"}, gpu.ProgramDesc{Compute: "uniform U { vec4 v[MANY]; dvec2 w; };"},
			[]string{`the number "MANY" can't be read`, `the size of "dvec2" isn't known`}},
	} {
		assert.Empty(t, gputest.Beyond(c.fits), name)
		assert.Equal(t, c.want, gputest.Beyond(c.beyond), name)
	}
}

// The branches of an #if count together, but a name counts once, with the most that a branch needs, and comments count nothing.
func TestBeyondReadsAllBranches(t *testing.T) {
	source := lines(8, "layout(std430, binding = 0) buffer B%d { uint words[]; };")
	assert.Len(t, gputest.Beyond(gpu.ProgramDesc{Compute: source + "#if LIGHT\nbuffer Other { uint more[]; };\n#endif"}), 2)
	assert.Empty(t, gputest.Beyond(gpu.ProgramDesc{Compute: source + "#if LIGHT\nlayout(binding = 1) buffer B0 { uvec2 words[]; };\n#endif"}))
	for _, branches := range []struct{ small, large, want string }{
		{"uniform U { vec4 v; };", "uniform U { vec4 v[1025]; };", "16400 bytes of a uniform block, OpenGL 4.5 guarantees 16384"},
		{"uniform sampler2D s[2];", "uniform sampler2D s[17];", "17 samplers, OpenGL 4.5 guarantees 16"},
		{"uniform U { vec4 v; } blocks[2];", "uniform U { vec4 v; } blocks[15];", "15 uniform blocks, OpenGL 4.5 guarantees 14"},
		{"shared float a[4], b[2];", "shared vec4 a[2047], b[2];", "32784 bytes of shared memory, OpenGL 4.5 guarantees 32768"},
		{"#define N 2", "#define N 8193", "32772 bytes of shared memory, OpenGL 4.5 guarantees 32768"},
		{"const int N = M;\n#define M 1", "const int N = 2 * M - 1;\n#define M 4097", "32772 bytes of shared memory, OpenGL 4.5 guarantees 32768"},
		{"struct S { vec4 v; };", "struct S { vec4 v[65]; };", "16640 bytes of a uniform block, OpenGL 4.5 guarantees 16384"},
		{"layout(local_size_x = 8, local_size_z = 8) in;", "layout(local_size_z = 65) in;", "65 invocations of a work group in z, OpenGL 4.5 guarantees 64"},
	} {
		for _, order := range [][2]string{{branches.small, branches.large}, {branches.large, branches.small}} {
			source := fmt.Sprintf("#if LIGHT\n%s\n#else\n%s\n#endif\n", order[0], order[1])
			if strings.Contains(source, "N") {
				source += "shared float a[N];"
			}
			if strings.Contains(source, "struct S") {
				source += "uniform U { S s[16]; };"
			}
			assert.Equal(t, []string{"compute stage: " + branches.want}, gputest.Beyond(gpu.ProgramDesc{Compute: source}), source)
		}
	}
	assert.Empty(t, gputest.Beyond(gpu.ProgramDesc{Compute: source + "// buffer C { uint c; };\n/* buffer D\n { uint d; }; */"}))
}

// The sizes are those of the rules of OpenGL 4.5 core, section 7.6.2.2. An array as large as the limit comes first, so
// that each block is beyond it by its own size.
func TestBeyondLaysBlocksOut(t *testing.T) {
	for members, size := range map[string]int{
		"float a;":                              16,
		"vec3 a; float b;":                      16,
		"float a; vec3 b;":                      32,
		"float a; vec2 b; float c;":             32,
		"float a[3];":                           48,
		"mat3 a; float b;":                      64,
		"mat2x4 a[2];":                          64,
		"float a; S s; float b;":                64,
		"S s[2]; bool b;":                       80,
		"ivec2 a; uint b; float c; uvec4 d, e;": 48,
		"bvec3 a[2], b; int c; vec4 d[1];":      64,
	} {
		source := "struct S { vec4 v; float f; };\nuniform U { vec4 first[1024]; " + members + " };"
		assert.Equal(t, []string{fmt.Sprintf("compute stage: %d bytes of a uniform block, OpenGL 4.5 guarantees 16384", 16384+size)},
			gputest.Beyond(gpu.ProgramDesc{Compute: source}), members)
	}
}

// A fake is a driver that has what OpenGL 4.5 guarantees, and no more: what is beyond that fails the test.
func TestTheFakeHoldsToTheGuaranteedLimits(t *testing.T) {
	fake := gputest.NewFake()
	thread := fake.Start(t)
	most := gpu.Guaranteed()
	require.Equal(t, most, thread.Info().Limits)
	require.NoError(t, thread.Do(t.Context(), func(c *gpu.Ctx) error {
		program, err := c.NewProgram(gpu.ProgramDesc{Label: "wide", Compute: lines(17, "uniform sampler2D s%d;")})
		require.NoError(t, err)
		defer program.Close()
		small, err := c.NewBuffer(gpu.BufferDesc{Label: "small", Size: 1024})
		require.NoError(t, err)
		defer small.Close()
		picture, err := c.NewTexture(gpu.TextureDesc{Label: "picture", Format: gpu.FormatR8, Width: 2, Height: 2})
		require.NoError(t, err)
		defer picture.Close()
		dispatch := func(bind ...gpu.Binding) error {
			return c.Dispatch(&gpu.Dispatch{Program: program, Bind: bind, Groups: [3]int{65535, 65535, 65535}})
		}
		var many []gpu.Binding
		for slot := range 17 {
			many = append(many, gpu.Binding{Kind: gpu.BindSampler, Slot: slot, Texture: picture})
		}
		for slot := range 15 {
			many = append(many, gpu.Binding{Kind: gpu.BindUniform, Slot: slot, Buffer: small})
		}
		for slot := range 8 {
			many = append(many, gpu.Binding{Kind: gpu.BindStorage, Slot: slot, Buffer: small, Offset: 256})
		}
		many = append(many, gpu.Binding{Kind: gpu.BindImage, Texture: picture})
		require.NoError(t, dispatch(many...))
		require.ErrorIs(t, dispatch(gpu.Binding{Kind: gpu.BindStorage, Buffer: small, Offset: 128}), gpu.ErrLimit)
		target, err := c.NewFramebuffer(gpu.FramebufferDesc{Label: "target", Color: []*gpu.Texture{picture}})
		require.NoError(t, err)
		defer target.Close()
		// The stages of a draw share its bindings, so that more than one stage's are no fault.
		draw := gpu.Draw{Program: program, Framebuffer: target, Bind: many[:32+7]}
		require.NoError(t, c.Draw(&draw))
		draw.Bind = many
		return c.Draw(&draw)
	}))
	assert.Equal(t, []string{
		`program "wide": compute stage: 17 samplers, OpenGL 4.5 guarantees 16`,
		`dispatch "wide" binds 15 of kind uniform, OpenGL 4.5 guarantees 14`,
		`dispatch "wide" binds 17 of kind sampler, OpenGL 4.5 guarantees 16`,
		`dispatch "wide" has 9 storage blocks, images and colours, OpenGL 4.5 guarantees 8`,
		`draw "wide" has 10 storage blocks, images and colours, OpenGL 4.5 guarantees 8`,
	}, fake.Faults())
	fake.ClearFaults()
}
