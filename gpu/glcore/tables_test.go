//go:build cgo

package glcore

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/gpu"
)

// The values are those of the OpenGL registry's gl.xml.
func TestMemoryBarrierBits(t *testing.T) {
	want := map[gpu.BarrierBits]uint32{
		gpu.BarrierStorage: 0x2000, gpu.BarrierImage: 0x20, gpu.BarrierTextureFetch: 0x8,
		gpu.BarrierBufferUpdate: 0x200, gpu.BarrierTextureUpdate: 0x100, gpu.BarrierPixelBuffer: 0x80,
		gpu.BarrierClientMapped: 0x4000, gpu.BarrierFramebuffer: 0x400, gpu.BarrierUniform: 0x4, gpu.BarrierCommand: 0x40,
	}
	var all gpu.BarrierBits
	var allGL uint32
	for bit, value := range want {
		assert.Equal(t, value, memoryBarrierBits(bit), bit)
		all |= bit
		allGL |= value
	}
	assert.Equal(t, allGL, memoryBarrierBits(all))
	assert.Len(t, barrierBits, len(want))
	assert.Equal(t, uint32(0x200), memoryBarrierBits(gpu.BarrierFor(gpu.SourceBuffer)))
	assert.Equal(t, uint32(0x580), memoryBarrierBits(gpu.BarrierFor(gpu.SourceTexture)))
}

func TestMessagesKeepEachNoteOnce(t *testing.T) {
	const typeError, undefined, performance = 0x824C, 0x824E, 0x8250
	var m messages
	for range 1000 {
		m.add(performance, 131186, "buffer copied from VIDEO memory to HOST memory")
	}
	m.add(performance, 131218, "shader recompiled")
	m.add(typeError, 1, "GL_INVALID_VALUE in glBindBufferRange")
	m.add(undefined, 2, "texture is also the target")
	assert.Equal(t, []string{
		"buffer copied from VIDEO memory to HOST memory (message 131186, 1000 times)",
		"shader recompiled (message 131218, 1 times)",
	}, m.list())
	assert.Equal(t, []error{
		errors.New("opengl: GL_INVALID_VALUE in glBindBufferRange"),
		errors.New("opengl: texture is also the target"),
	}, toPlain(m.takeErrors()))
	assert.Empty(t, m.takeErrors())
	for id := range uint32(1000) {
		m.add(performance, id, "flood")
	}
	assert.Len(t, m.list(), maxNotes)
}

func toPlain(errs []error) (out []error) {
	for _, err := range errs {
		out = append(out, errors.New(err.Error()))
	}
	return out
}

func TestErrorCodes(t *testing.T) {
	assert.NoError(t, glError(0))
	assert.EqualError(t, glError(0x505), "GL_OUT_OF_MEMORY")
	assert.EqualError(t, glError(0x1234), "gl error 0x1234")
	assert.ErrorIs(t, glError(0x507), gpu.ErrContextLost)
}

func TestSoftwareRenderers(t *testing.T) {
	for renderer, want := range map[string]bool{
		"llvmpipe (LLVM 15.0.6, 256 bits)":     true,
		"softpipe":                             true,
		"Google SwiftShader":                   true,
		"NVIDIA H200/PCIe/SSE2":                false,
		"AMD Radeon RX 6600 (radeonsi, ...)":   false,
		"Mesa Intel(R) UHD Graphics (CML GT2)": false,
	} {
		assert.Equal(t, want, softwareRenderer(renderer), renderer)
	}
}

func TestMissingSaysWhatItCosts(t *testing.T) {
	const loseContextOnReset, noResetNotification = 0x8252, 0x8261
	full := gpu.Info{TimestampBits: 64, Limits: gpu.Guaranteed()}
	assert.Empty(t, missing(&full, loseContextOnReset))
	poor := gpu.Info{Limits: gpu.Guaranteed()}
	poor.Limits.MaxTextureBufferTexels, poor.Limits.MaxSamplers, poor.Limits.StorageAlignment = 1<<16, 15, 512
	assert.Equal(t, []string{
		"GPU timestamps: captures carry no GPU times",
		"reset notification: a GPU reset is noticed by failing commands only",
		"large texture buffers: 65536 texels, scenes of more than 9362 triangles may not fit",
		"limits that OpenGL 4.5 guarantees (MaxSamplers 15, not 16, StorageAlignment 512, not 256): shaders and sensors may be refused",
	}, missing(&poor, noResetNotification))
}
