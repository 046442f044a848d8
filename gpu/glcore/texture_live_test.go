//go:build cgo

package glcore_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/gpu"
)

// Every format keeps its bytes through upload, readback and a copy to a buffer.
func TestTexturesKeepTheirBytes(t *testing.T) {
	for format := gpu.FormatR8; format <= gpu.FormatDepth32F; format++ {
		t.Run(format.String(), func(t *testing.T) {
			const w, h = 5, 3 // rows of R8 are no multiple of 4 bytes
			want := ramp(w * h * format.PixelBytes())
			if format == gpu.FormatDepth32F {
				values := make([]float32, w*h)
				for i := range values {
					values[i] = float32(i) / 16 // depth is clamped to [0, 1]
				}
				want = bytesOf(values)
			}
			onGPU(t, func(b bench) {
				tex := b.texture(gpu.TextureDesc{Label: "picture", Format: format, Width: w, Height: h})
				must(b.c.WriteTexture(tex, gpu.TextureRegion{}, want))
				assert.Equal(t, want, b.readTexture(tex, 0))
				offset := 7 * format.PixelBytes() // more than a row
				dst := b.staging(len(want) + offset)
				must(b.c.CopyTextureToBuffer(tex, 0, format, dst, offset))
				must(b.c.Finish())
				assert.Equal(t, want, dst.Bytes()[offset:])
			})
		})
	}
}

func TestTextureRegionsLayersAndLevels(t *testing.T) {
	onGPU(t, func(b bench) {
		tex := b.texture(gpu.TextureDesc{
			Label: "stack", Kind: gpu.Texture2DArray, Format: gpu.FormatR8, Width: 4, Height: 2, Layers: 2, Levels: 2,
		})
		must(b.c.WriteTexture(tex, gpu.TextureRegion{}, make([]byte, 8)))
		must(b.c.WriteTexture(tex, gpu.TextureRegion{Layer: 1}, make([]byte, 8)))
		must(b.c.WriteTexture(tex, gpu.TextureRegion{Layer: 1, X: 1, Y: 1, Width: 2, Height: 1}, []byte{7, 8}))
		must(b.c.WriteTexture(tex, gpu.TextureRegion{Level: 1, Layer: 0}, []byte{50, 60}))
		must(b.c.WriteTexture(tex, gpu.TextureRegion{Level: 1, Layer: 1}, []byte{70, 80}))
		assert.Equal(t, []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 8, 0}, b.readTexture(tex, 0))
		assert.Equal(t, []byte{50, 60, 70, 80}, b.readTexture(tex, 1))
	})
}

// sample reads a texture at n coordinates (u, v, lod) in a compute shader.
func (b bench) sample(tex *gpu.Texture, coordinates [][4]float32) []float32 {
	program := b.compute(fmt.Sprintf(`
		layout(local_size_x = %d) in;
		layout(binding = 3) uniform sampler2D picture;
		layout(std430, binding = 0) readonly buffer In { vec4 at[]; };
		layout(std430, binding = 1) buffer Out { float red[]; };
		void main() {
			uint i = gl_GlobalInvocationID.x;
			red[i] = textureLod(picture, at[i].xy, at[i].z).r;
		}`, len(coordinates)))
	out := b.buffer("red", 4*len(coordinates), nil)
	b.run(program,
		gpu.Binding{Kind: gpu.BindSampler, Slot: 3, Texture: tex},
		gpu.Binding{Kind: gpu.BindStorage, Slot: 0, Buffer: b.buffer("at", 16*len(coordinates), bytesOf(coordinates))},
		gpu.Binding{Kind: gpu.BindStorage, Slot: 1, Buffer: out})
	return floats(b.read(out))
}

func TestFiltersAndWraps(t *testing.T) {
	// Texels 0 and 1 side by side; their centres are at u = 0.25 and 0.75.
	tests := map[string]struct {
		filter  gpu.Filter
		wrap    gpu.Wrap
		u, want float32
	}{
		"nearest":          {gpu.FilterNearest, gpu.WrapClampToEdge, 0.49, 0},
		"linear":           {gpu.FilterLinear, gpu.WrapClampToEdge, 0.625, 0.75},
		"clamped":          {gpu.FilterNearest, gpu.WrapClampToEdge, 1.2, 1},
		"repeated":         {gpu.FilterNearest, gpu.WrapRepeat, 1.2, 0},
		"mirrored":         {gpu.FilterNearest, gpu.WrapMirroredRepeat, 1.2, 1},
		"linear, repeated": {gpu.FilterLinear, gpu.WrapRepeat, 0, 0.5},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			onGPU(t, func(b bench) {
				tex := b.texture(gpu.TextureDesc{
					Label: "two texels", Format: gpu.FormatR32F, Width: 2, Height: 1, Filter: tt.filter, Wrap: tt.wrap,
				})
				must(b.c.WriteTexture(tex, gpu.TextureRegion{}, bytesOf([]float32{0, 1})))
				assert.InDelta(t, tt.want, b.sample(tex, [][4]float32{{tt.u, 0.5, 0, 0}})[0], 1.0/256)
			})
		})
	}
}

func TestTrilinearBlendsLevels(t *testing.T) {
	onGPU(t, func(b bench) {
		tex := b.texture(gpu.TextureDesc{
			Label: "levels", Format: gpu.FormatR32F, Width: 2, Height: 2, Levels: 2, Filter: gpu.FilterTrilinear,
		})
		must(b.c.WriteTexture(tex, gpu.TextureRegion{}, bytesOf([]float32{0, 0, 0, 0})))
		must(b.c.WriteTexture(tex, gpu.TextureRegion{Level: 1}, bytesOf([]float32{1})))
		got := b.sample(tex, [][4]float32{{0.5, 0.5, 0, 0}, {0.5, 0.5, 0.25, 0}, {0.5, 0.5, 1, 0}})
		assert.InDeltaSlice(t, []float32{0, 0.25, 1}, got, 1.0/128)
	})
}

func TestImagesAreStoredPerLevelAndLayer(t *testing.T) {
	onGPU(t, func(b bench) {
		program := b.compute(`
			layout(local_size_x = 2, local_size_y = 2, local_size_z = 2) in;
			layout(r32ui, binding = 1) uniform writeonly uimage2DArray stack;
			layout(r32ui, binding = 2) uniform readonly uimage2D first;
			void main() {
				ivec3 at = ivec3(gl_GlobalInvocationID);
				uint base = imageLoad(first, ivec2(0)).x;
				imageStore(stack, at, uvec4(base + uint(at.x + 10 * at.y + 100 * at.z)));
			}`)
		stack := b.texture(gpu.TextureDesc{
			Label: "stack", Kind: gpu.Texture2DArray, Format: gpu.FormatR32UI, Width: 4, Height: 4, Layers: 2, Levels: 2,
		})
		first := b.texture(gpu.TextureDesc{Label: "first", Format: gpu.FormatR32UI, Width: 1, Height: 1})
		must(b.c.WriteTexture(first, gpu.TextureRegion{}, bytesOf([]uint32{1000})))
		b.run(program,
			gpu.Binding{Kind: gpu.BindImage, Slot: 1, Texture: stack, Level: 1, Access: gpu.WriteOnly},
			gpu.Binding{Kind: gpu.BindImage, Slot: 2, Texture: first})
		must(b.c.Barrier(gpu.BarrierFor(gpu.SourceTexture)))
		dst := b.staging(32)
		must(b.c.CopyTextureToBuffer(stack, 1, gpu.FormatR32UI, dst, 0))
		must(b.c.Finish())
		assert.Equal(t, []uint32{1000, 1001, 1010, 1011, 1100, 1101, 1110, 1111}, uints(dst.Bytes()))
	})
}
