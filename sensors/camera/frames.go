package camera

import (
	"unsafe"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/shaders"
)

// The frames of a scene are numbered as the shaders number them: the world's,
// then those of the rows of scene.Geometry.
const worldFrame = 0

func rowFrame(row int) int { return 1 + row }

// frameTable is a texture buffer of one record a frame of the scene.
type frameTable struct {
	texels  int // a record
	rows    []scene.Row
	buffer  *gpu.Buffer
	texture *gpu.Texture
}

func newFrameTable(c *gpu.Ctx, label string, frames, texels int) (*frameTable, error) {
	t := &frameTable{texels: texels, rows: make([]scene.Row, 0, frames*texels)}
	var err error
	if t.buffer, err = c.NewBuffer(gpu.BufferDesc{Label: label, Size: frames * texels * rowBytes}); err != nil {
		return nil, err
	}
	t.texture, err = c.NewTexture(gpu.TextureDesc{Label: label, Kind: gpu.TextureBuffer, Format: gpu.FormatRGBA32F, Buffer: t.buffer})
	if err != nil {
		t.buffer.Close()
		return nil, err
	}
	return t, nil
}

const rowBytes = int(unsafe.Sizeof(scene.Row{}))

// add appends the three rows of an affine map.
func (t *frameTable) add(m *mgl64.Mat4) {
	for i := range 3 {
		r := m.Row(i)
		t.rows = append(t.rows, scene.Row{float32(r[0]), float32(r[1]), float32(r[2]), float32(r[3])})
	}
}

// write replaces the table by what was added since the last write. Commands
// issued before it still see what was there.
func (t *frameTable) write(c *gpu.Ctx) error { return t.writeFrom(c, 0) }

// writeFrom replaces the part of the table that begins at a texel.
func (t *frameTable) writeFrom(c *gpu.Ctx, texel int) error {
	err := c.WriteBuffer(t.buffer, texel*rowBytes, gpu.BytesOf(t.rows))
	t.rows = t.rows[:0]
	return err
}

func (t *frameTable) binding() gpu.Binding {
	return gpu.Binding{Kind: gpu.BindSampler, Slot: shaders.SlotFrames, Texture: t.texture}
}

func (t *frameTable) Close() {
	if t != nil {
		t.texture.Close()
		t.buffer.Close()
	}
}
