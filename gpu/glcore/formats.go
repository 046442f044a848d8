//go:build cgo

package glcore

import (
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/glcore/internal/gl"
)

// pixels names a format to OpenGL: how it is stored, and how its pixels lie in
// client memory or a pixel buffer (GL 4.5 core, tables 8.12 and 8.2 to 8.5).
type pixels struct {
	internal, format, dataType uint32
}

var formats = map[gpu.Format]pixels{
	gpu.FormatR8:       {gl.R8, gl.RED, gl.UNSIGNED_BYTE},
	gpu.FormatRGBA8:    {gl.RGBA8, gl.RGBA, gl.UNSIGNED_BYTE},
	gpu.FormatSRGB8A8:  {gl.SRGB8_ALPHA8, gl.RGBA, gl.UNSIGNED_BYTE},
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
