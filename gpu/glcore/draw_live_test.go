//go:build cgo

package glcore_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/gpu"
)

// quads draws axis-parallel rectangles of one depth, six vertices each. Their corners come from
// a texture buffer: x0 y0 x1 y1 in pixels, then z, and the id that the fragment shader writes.
// Call indexes the first rectangle.
const quadsVertex = `#version 450 core
layout(location = 0) uniform int first;
layout(binding = 0) uniform samplerBuffer quads;
layout(std140, binding = 0) uniform Target { vec2 size; };
layout(location = 0) flat out uint id;
const ivec2 corners[6] = ivec2[](ivec2(0, 0), ivec2(1, 0), ivec2(1, 1), ivec2(0, 0), ivec2(1, 1), ivec2(0, 1));
void main() {
	int quad = first + gl_InstanceID;
	vec4 rect = texelFetch(quads, 2 * quad);
	vec4 more = texelFetch(quads, 2 * quad + 1);
	ivec2 corner = corners[gl_VertexID % 6];
	vec2 at = vec2(corner.x == 0 ? rect.x : rect.z, corner.y == 0 ? rect.y : rect.w);
	gl_Position = vec4(at / size * 2.0 - 1.0, more.x * 2.0 - 1.0, 1.0);
	id = uint(more.y);
}`

const idFragment = `#version 450 core
layout(location = 0) flat in uint id;
layout(location = 0) out uint found;
void main() { found = id; }`

type quad struct{ X0, Y0, X1, Y1, Z, ID, _, _ float32 }

// painter draws quads into a 4x4 id image with depth.
type painter struct {
	bench
	ids, depth *gpu.Texture
	draw       gpu.Draw
}

func (b bench) painter(quads ...quad) *painter {
	p := &painter{bench: b}
	p.ids = b.texture(gpu.TextureDesc{Label: "ids", Format: gpu.FormatR32UI, Width: 4, Height: 4})
	p.depth = b.texture(gpu.TextureDesc{Label: "depth", Format: gpu.FormatDepth32F, Width: 4, Height: 4})
	fb := b.framebuffer(p.depth, p.ids)
	table := b.texture(gpu.TextureDesc{
		Label: "quads", Kind: gpu.TextureBuffer, Format: gpu.FormatRGBA32F, Buffer: b.buffer("quads", 32*len(quads), bytesOf(quads)),
	})
	p.draw = gpu.Draw{
		Program:     keep(b.c.NewProgram(gpu.ProgramDesc{Label: "quads", Vertex: quadsVertex, Fragment: idFragment})),
		Framebuffer: fb,
		Bind: []gpu.Binding{
			{Kind: gpu.BindSampler, Slot: 0, Texture: table},
			{Kind: gpu.BindUniform, Slot: 0, Buffer: b.buffer("target", 16, bytesOf([]float32{4, 4, 0, 0}))},
		},
	}
	must(b.c.Clear(fb, gpu.ClearColor{Uint: [4]uint32{99}}))
	return p
}

// paint draws and returns the id image.
func (p *painter) paint(calls ...gpu.DrawCall) []uint32 {
	p.draw.Calls = calls
	must(p.c.Draw(&p.draw))
	return uints(p.readTexture(p.ids, 0))
}

func TestDrawCoversPixelCentres(t *testing.T) {
	onGPU(t, func(b bench) {
		p := b.painter(quad{X0: 1, Y0: 1, X1: 3, Y1: 4, Z: 0.25, ID: 7})
		assert.Equal(t, []uint32{
			99, 99, 99, 99,
			99, 7, 7, 99,
			99, 7, 7, 99,
			99, 7, 7, 99,
		}, p.paint(gpu.DrawCall{Count: 6}))
		depth := floats(p.readTexture(p.depth, 0))
		assert.InDelta(t, 1, depth[0], 0)
		assert.InDelta(t, 0.25, depth[5], 1e-6)
	})
}

func TestDrawKeepsTheNearest(t *testing.T) {
	onGPU(t, func(b bench) {
		full := quad{X1: 4, Y1: 4}
		near, far, same := full, full, full
		near.Z, near.ID = 0.2, 1
		far.Z, far.ID = 0.8, 2
		same.Z, same.ID = 0.2, 3
		p := b.painter(near, far, same)
		got := p.paint(gpu.DrawCall{Count: 6, Index: 0}, gpu.DrawCall{Count: 6, Index: 1}, gpu.DrawCall{Count: 6, Index: 2})
		assert.NotContains(t, got, uint32(2), "the far one is hidden")
		assert.NotContains(t, got, uint32(3), "LESS: an equal depth does not replace")
	})
}

func TestDrawIndexAndInstances(t *testing.T) {
	row := func(y float32, id float32) quad { return quad{Y0: y, X1: 4, Y1: y + 1, Z: 0.5, ID: id} }
	onGPU(t, func(b bench) {
		p := b.painter(row(0, 10), row(1, 11), row(2, 12), row(3, 13))
		got := p.paint(gpu.DrawCall{Count: 6, Index: 3}, gpu.DrawCall{Count: 6, Index: 1, Instances: 2})
		assert.Equal(t, []uint32{99, 11, 12, 13}, []uint32{got[0], got[4], got[8], got[12]})
	})
}

func TestDrawViewportAndCulling(t *testing.T) {
	onGPU(t, func(b bench) {
		clockwise := quad{X0: 4, X1: 0, Y1: 4, Z: 0.5, ID: 5} // x runs backwards
		p := b.painter(clockwise)
		p.draw.CullBack = true
		assert.NotContains(t, p.paint(gpu.DrawCall{Count: 6}), uint32(5))
		p.draw.CullBack = false
		p.draw.Viewport = [4]int{2, 0, 2, 1}
		assert.Equal(t, []uint32{
			99, 99, 5, 5,
			99, 99, 99, 99,
			99, 99, 99, 99,
			99, 99, 99, 99,
		}, p.paint(gpu.DrawCall{Count: 6}))
	})
}

func TestDrawDepthBias(t *testing.T) {
	onGPU(t, func(b bench) {
		p := b.painter(quad{X1: 4, Y1: 4, Z: 0.5, ID: 1})
		p.draw.DepthBias = [2]float32{0, 1 << 16} // units of a float depth at 0.5: 2^-24 or 2^-23
		p.paint(gpu.DrawCall{Count: 6})
		biased := floats(p.readTexture(p.depth, 0))[0]
		assert.Greater(t, biased, float32(0.501))
		// The bias ends with the draw that asked for it.
		must(p.c.Clear(p.draw.Framebuffer, gpu.ClearColor{}))
		p.draw.DepthBias = [2]float32{}
		p.paint(gpu.DrawCall{Count: 6})
		assert.InDelta(t, 0.5, floats(p.readTexture(p.depth, 0))[0], 1e-6)
	})
}

func TestShadowCompareInCompute(t *testing.T) {
	onGPU(t, func(b bench) {
		shadow := b.texture(gpu.TextureDesc{
			Label: "shadow map", Kind: gpu.Texture2DArray, Format: gpu.FormatDepth32F, Width: 2, Height: 1, Layers: 2,
			Wrap: gpu.WrapClampToEdge, DepthCompare: true,
		})
		for layer, depth := range []float32{0.3, 0.6} {
			must(b.c.WriteTexture(shadow, gpu.TextureRegion{Layer: layer}, bytesOf([]float32{depth, 1})))
		}
		program := b.compute(`
			layout(local_size_x = 4) in;
			layout(binding = 0) uniform sampler2DArrayShadow shadow;
			layout(std430, binding = 0) buffer Out { float lit[]; };
			void main() {
				uint i = gl_GlobalInvocationID.x;
				lit[i] = texture(shadow, vec4(i < 2u ? 0.25 : 0.75, 0.5, float(i & 1u), 0.5));
			}`)
		out := b.buffer("lit", 16, nil)
		b.run(program,
			gpu.Binding{Kind: gpu.BindSampler, Slot: 0, Texture: shadow},
			gpu.Binding{Kind: gpu.BindStorage, Slot: 0, Buffer: out})
		// 0.5 <= 0.3 no, <= 0.6 yes, <= 1 yes, <= 1 yes
		assert.Equal(t, []float32{0, 1, 1, 1}, floats(b.read(out)))
	})
}

func TestDepthOnlyFramebufferOfALayer(t *testing.T) {
	onGPU(t, func(b bench) {
		shadow := b.texture(gpu.TextureDesc{
			Label: "shadow map", Kind: gpu.Texture2DArray, Format: gpu.FormatDepth32F, Width: 4, Height: 4, Layers: 2,
		})
		fb := keep(b.c.NewFramebuffer(gpu.FramebufferDesc{Label: "layer 1", Depth: shadow, Layer: 1}))
		for layer := range 2 {
			must(b.c.WriteTexture(shadow, gpu.TextureRegion{Layer: layer}, make([]byte, 64)))
		}
		must(b.c.Clear(fb))
		p := b.painter(quad{X1: 4, Y1: 4, Z: 0.75})
		p.draw.Framebuffer = fb
		p.paint(gpu.DrawCall{Count: 6})
		got := floats(b.readTexture(shadow, 0))
		assert.Equal(t, make([]float32, 16), got[:16], "layer 0 is left alone")
		for _, v := range got[16:] {
			assert.InDelta(t, 0.75, v, 1e-6)
		}
	})
}

func TestSeveralTargetsAndClearColours(t *testing.T) {
	onGPU(t, func(b bench) {
		ids := b.texture(gpu.TextureDesc{Label: "ids", Format: gpu.FormatRG32UI, Width: 1, Height: 1})
		colour := b.texture(gpu.TextureDesc{Label: "colour", Format: gpu.FormatRGBA8, Width: 1, Height: 1})
		range_ := b.texture(gpu.TextureDesc{Label: "range", Format: gpu.FormatR32F, Width: 1, Height: 1})
		fb := b.framebuffer(nil, ids, colour, range_)
		must(b.c.Clear(fb,
			gpu.ClearColor{Uint: [4]uint32{1, 4_000_000_000}},
			gpu.ClearColor{Float: [4]float32{1, 0.6, 0, 1}}, // 153, however a driver rounds
			gpu.ClearColor{Float: [4]float32{-12.5}}))
		assert.Equal(t, []uint32{1, 4_000_000_000}, uints(b.readTexture(ids, 0)))
		assert.Equal(t, []byte{255, 153, 0, 255}, b.readTexture(colour, 0))
		assert.Equal(t, []float32{-12.5}, floats(b.readTexture(range_, 0)))
	})
}
