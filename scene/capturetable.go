package scene

import (
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/shaders"
)

// CaptureTable is GPU memory for what a Packer writes, bound at its slot. Each
// sensor has its own: commands issued before a Write still see what was there.
type CaptureTable struct {
	slot    int
	buffer  *gpu.Buffer
	texture *gpu.Texture
}

// NewMotionTable makes the memory for Packer.Motion. GL thread only.
func (p *Packer) NewMotionTable(c *gpu.Ctx) (*CaptureTable, error) {
	return newCaptureTable(c, "motion", shaders.SlotMotion, p.MotionBytes())
}

func newCaptureTable(c *gpu.Ctx, label string, slot, size int) (*CaptureTable, error) {
	b, err := c.NewBuffer(gpu.BufferDesc{Label: label, Size: size})
	if err != nil {
		return nil, err
	}
	t, err := c.NewTexture(gpu.TextureDesc{Label: label + " view", Kind: gpu.TextureBuffer, Format: gpu.FormatRGBA32F, Buffer: b})
	if err != nil {
		b.Close()
		return nil, err
	}
	return &CaptureTable{slot: slot, buffer: b, texture: t}, nil
}

// Write replaces the table's first bytes. GL thread only.
func (t *CaptureTable) Write(c *gpu.Ctx, data []byte) error { return c.WriteBuffer(t.buffer, 0, data) }

// Binding returns the table's binding.
func (t *CaptureTable) Binding() gpu.Binding {
	return gpu.Binding{Kind: gpu.BindSampler, Slot: t.slot, Texture: t.texture}
}

// Close queues the deletion (law G3). Any goroutine may call it, more than once.
func (t *CaptureTable) Close() {
	t.texture.Close()
	t.buffer.Close()
}
