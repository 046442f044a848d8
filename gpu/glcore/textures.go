//go:build cgo

package glcore

import (
	"fmt"
	"unsafe"

	"github.com/go-gl/gl/v4.5-core/gl"

	"github.com/raybridge/raybridge/gpu"
)

// pixels names a format to OpenGL. It says how the format is stored (GL 4.5 core, table 8.12).
// It says how the format's pixels lie in client memory or a pixel buffer (tables 8.2 to 8.5).
type pixels struct {
	internal, format, dataType uint32
}

var formats = map[gpu.Format]pixels{
	gpu.FormatR8:       {gl.R8, gl.RED, gl.UNSIGNED_BYTE},
	gpu.FormatRGBA8:    {gl.RGBA8, gl.RGBA, gl.UNSIGNED_BYTE},
	gpu.FormatR32F:     {gl.R32F, gl.RED, gl.FLOAT},
	gpu.FormatRG32F:    {gl.RG32F, gl.RG, gl.FLOAT},
	gpu.FormatRGBA16F:  {gl.RGBA16F, gl.RGBA, gl.HALF_FLOAT},
	gpu.FormatRGBA32F:  {gl.RGBA32F, gl.RGBA, gl.FLOAT},
	gpu.FormatR32UI:    {gl.R32UI, gl.RED_INTEGER, gl.UNSIGNED_INT},
	gpu.FormatRG32UI:   {gl.RG32UI, gl.RG_INTEGER, gl.UNSIGNED_INT},
	gpu.FormatRGBA32UI: {gl.RGBA32UI, gl.RGBA_INTEGER, gl.UNSIGNED_INT},
	gpu.FormatDepth32F: {gl.DEPTH_COMPONENT32F, gl.DEPTH_COMPONENT, gl.FLOAT},
}

// integer tells the formats that are cleared by glClearNamedFramebufferuiv.
func (p pixels) integer() bool { return p.dataType == gl.UNSIGNED_INT }

// barrierBits is glMemoryBarrier's name of each gpu.BarrierBits bit.
var barrierBits = []struct {
	bit gpu.BarrierBits
	gl  uint32
}{
	{gpu.BarrierStorage, gl.SHADER_STORAGE_BARRIER_BIT},
	{gpu.BarrierImage, gl.SHADER_IMAGE_ACCESS_BARRIER_BIT},
	{gpu.BarrierTextureFetch, gl.TEXTURE_FETCH_BARRIER_BIT},
	{gpu.BarrierBufferUpdate, gl.BUFFER_UPDATE_BARRIER_BIT},
	{gpu.BarrierTextureUpdate, gl.TEXTURE_UPDATE_BARRIER_BIT},
	{gpu.BarrierPixelBuffer, gl.PIXEL_BUFFER_BARRIER_BIT},
	{gpu.BarrierClientMapped, gl.CLIENT_MAPPED_BUFFER_BARRIER_BIT},
	{gpu.BarrierFramebuffer, gl.FRAMEBUFFER_BARRIER_BIT},
	{gpu.BarrierUniform, gl.UNIFORM_BARRIER_BIT},
	{gpu.BarrierCommand, gl.COMMAND_BARRIER_BIT},
}

// memoryBarrierBits translates a set of bits.
func memoryBarrierBits(bits gpu.BarrierBits) uint32 {
	var out uint32
	for _, b := range barrierBits {
		if bits&b.bit != 0 {
			out |= b.gl
		}
	}
	return out
}

// CreateTexture implements gpu.Driver.
func (d *Driver) CreateTexture(desc gpu.TextureDesc, buffer gpu.Handle) (gpu.Handle, error) {
	px, ok := formats[desc.Format]
	if !ok {
		return 0, fmt.Errorf("format %v has no OpenGL counterpart", desc.Format)
	}
	d.keepErrors()
	t, err := storeTexture(&desc, px, buffer)
	if err == nil {
		err = drainErrors()
	}
	if err != nil {
		gl.DeleteTextures(1, &t)
		return 0, err
	}
	label(gl.TEXTURE, t, desc.Label)
	if desc.Kind != gpu.TextureBuffer {
		setSampling(t, &desc)
	}
	return gpu.Handle(t), nil
}

func storeTexture(desc *gpu.TextureDesc, px pixels, buffer gpu.Handle) (t uint32, err error) {
	w, h := int32(desc.Width), int32(desc.Height)
	switch desc.Kind {
	case gpu.Texture2D:
		gl.CreateTextures(gl.TEXTURE_2D, 1, &t)
		gl.TextureStorage2D(t, int32(desc.Levels), px.internal, w, h)
	case gpu.Texture2DArray:
		gl.CreateTextures(gl.TEXTURE_2D_ARRAY, 1, &t)
		gl.TextureStorage3D(t, int32(desc.Levels), px.internal, w, h, int32(desc.Layers))
	case gpu.TextureBuffer:
		gl.CreateTextures(gl.TEXTURE_BUFFER, 1, &t)
		gl.TextureBuffer(t, px.internal, uint32(buffer))
	default:
		return 0, fmt.Errorf("unknown kind %d of texture", desc.Kind)
	}
	return t, nil
}

var (
	minFilters = map[gpu.Filter]int32{
		gpu.FilterNearest: gl.NEAREST, gpu.FilterLinear: gl.LINEAR, gpu.FilterTrilinear: gl.LINEAR_MIPMAP_LINEAR,
	}
	magFilters = map[gpu.Filter]int32{
		gpu.FilterNearest: gl.NEAREST, gpu.FilterLinear: gl.LINEAR, gpu.FilterTrilinear: gl.LINEAR,
	}
	wraps = map[gpu.Wrap]int32{
		gpu.WrapRepeat: gl.REPEAT, gpu.WrapClampToEdge: gl.CLAMP_TO_EDGE, gpu.WrapMirroredRepeat: gl.MIRRORED_REPEAT,
	}
)

func setSampling(t uint32, desc *gpu.TextureDesc) {
	gl.TextureParameteri(t, gl.TEXTURE_MIN_FILTER, minFilters[desc.Filter])
	gl.TextureParameteri(t, gl.TEXTURE_MAG_FILTER, magFilters[desc.Filter])
	gl.TextureParameteri(t, gl.TEXTURE_WRAP_S, wraps[desc.Wrap])
	gl.TextureParameteri(t, gl.TEXTURE_WRAP_T, wraps[desc.Wrap])
	if desc.DepthCompare {
		gl.TextureParameteri(t, gl.TEXTURE_COMPARE_MODE, gl.COMPARE_REF_TO_TEXTURE)
		gl.TextureParameteri(t, gl.TEXTURE_COMPARE_FUNC, gl.LEQUAL)
	}
}

// WriteTexture implements gpu.Driver.
func (d *Driver) WriteTexture(h gpu.Handle, desc *gpu.TextureDesc, r gpu.TextureRegion, data []byte) error {
	px := formats[desc.Format]
	level, x, y, w, ht := int32(r.Level), int32(r.X), int32(r.Y), int32(r.Width), int32(r.Height)
	p := unsafe.Pointer(&data[0])
	if desc.Kind == gpu.Texture2DArray {
		gl.TextureSubImage3D(uint32(h), level, x, y, int32(r.Layer), w, ht, 1, px.format, px.dataType, p)
	} else {
		gl.TextureSubImage2D(uint32(h), level, x, y, w, ht, px.format, px.dataType, p)
	}
	return nil
}

// ReadTexture implements gpu.Driver.
func (d *Driver) ReadTexture(h gpu.Handle, level int, format gpu.Format, dst []byte) error {
	px := formats[format]
	gl.MemoryBarrier(gl.TEXTURE_UPDATE_BARRIER_BIT | gl.FRAMEBUFFER_BARRIER_BIT)
	gl.GetTextureImage(uint32(h), int32(level), px.format, px.dataType, int32(len(dst)), unsafe.Pointer(&dst[0]))
	return nil
}

// CopyTextureToBuffer implements gpu.Driver by glGetTextureImage into the bound pixel pack
// buffer. The offset goes through PACK_SKIP_PIXELS. As a "pointer" it would be a small number
// in a Go frame, which the runtime rejects when it moves the stack.
func (d *Driver) CopyTextureToBuffer(src gpu.Handle, level int, format gpu.Format, dst gpu.Handle, offset, size int) error {
	px, ok := formats[format]
	if !ok {
		return fmt.Errorf("format %v has no OpenGL counterpart", format)
	}
	gl.BindBuffer(gl.PIXEL_PACK_BUFFER, uint32(dst))
	gl.PixelStorei(gl.PACK_SKIP_PIXELS, int32(offset/format.PixelBytes()))
	gl.GetTextureImage(uint32(src), int32(level), px.format, px.dataType, int32(offset+size), nil)
	gl.PixelStorei(gl.PACK_SKIP_PIXELS, 0)
	gl.BindBuffer(gl.PIXEL_PACK_BUFFER, 0)
	return nil
}
