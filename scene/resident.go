package scene

import (
	"fmt"
	"math/bits"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/shaders"
)

// Resident is a World's tables in GPU memory, for any number of sensors.
type Resident struct {
	World    *World
	bindings []gpu.Binding
	closers  []interface{ Close() }
}

// Upload copies the world's tables and textures to the GPU. GL thread only. It
// fails with ErrTooLarge where a table has more texels than the driver's
// texture buffers can hold. The caller closes the Resident before the thread.
func (w *World) Upload(c *gpu.Ctx) (*Resident, error) {
	r := &Resident{World: w}
	if err := r.upload(c); err != nil {
		r.Close()
		return nil, fmt.Errorf("upload scene %q: %w", w.Scene.Name, err)
	}
	return r, nil
}

func (r *Resident) upload(c *gpu.Ctx) error {
	w := r.World
	layers := w.Scene.textureLayers()
	for _, t := range []struct {
		name   string
		slot   int
		format gpu.Format
		data   []byte
	}{
		{"nodes", shaders.SlotNodes, gpu.FormatRGBA32F, bytesOf(w.Nodes)},
		{"triangles", shaders.SlotTriangles, gpu.FormatRGBA32F, bytesOf(w.Planes)},
		{"vertices", shaders.SlotVertices, gpu.FormatRGBA32F, bytesOf(w.Vertices)},
		{"attributes", shaders.SlotAttributes, gpu.FormatRGBA32UI, bytesOf(w.Attributes)},
		{"materials", shaders.SlotMaterials, gpu.FormatRGBA32F, bytesOf(w.Scene.materialRecords(layers))},
		{"movers", shaders.SlotMovers, gpu.FormatRGBA32UI, bytesOf(w.moverRecords())},
	} {
		if err := r.addTable(c, "scene "+t.name, t.slot, t.format, t.data); err != nil {
			return err
		}
	}
	if err := r.addPictures(c, shaders.SlotColorTextures, gpu.FormatSRGB8A8, layers, layers.colorOrder); err != nil {
		return err
	}
	return r.addPictures(c, shaders.SlotDataTextures, gpu.FormatRGBA8, layers, layers.dataOrder)
}

// addTable makes a texture buffer of data; an empty table gets one zero texel,
// since a buffer can't be empty.
func (r *Resident) addTable(c *gpu.Ctx, label string, slot int, format gpu.Format, data []byte) error {
	texels, limit := len(data)/format.PixelBytes(), c.Info().Limits.MaxTextureBufferTexels
	if texels > limit {
		return fmt.Errorf("%w: its %s need %d texels, the driver's texture buffers hold %d: use fewer triangles", ErrTooLarge, label, texels, limit)
	}
	if len(data) == 0 {
		data = make([]byte, format.PixelBytes())
	}
	b, err := c.NewBuffer(gpu.BufferDesc{Label: label, Size: len(data), Data: data})
	if err != nil {
		return err
	}
	r.closers = append(r.closers, b)
	t, err := c.NewTexture(gpu.TextureDesc{Label: label + " view", Kind: gpu.TextureBuffer, Format: format, Buffer: b})
	if err != nil {
		return err
	}
	r.closers = append(r.closers, t)
	r.bind(slot, t)
	return nil
}

func (r *Resident) bind(slot int, t *gpu.Texture) {
	r.bindings = append(r.bindings, gpu.Binding{Kind: gpu.BindSampler, Slot: slot, Texture: t})
}

// addPictures makes one array of the textures in order, with mipmaps; without
// textures, one white pixel that nothing samples.
func (r *Resident) addPictures(c *gpu.Ctx, slot int, format gpu.Format, layers *textureLayers, order []int) error {
	size := layers.size(order)
	levels := bits.Len(uint(size))
	if limit := c.Info().Limits.MaxTextureLayers; len(order) > limit {
		return fmt.Errorf("%w: %d textures, the driver's arrays hold %d", ErrTooLarge, len(order), limit)
	}
	filter := gpu.FilterTrilinear
	if levels == 1 {
		filter = gpu.FilterLinear
	}
	t, err := c.NewTexture(gpu.TextureDesc{
		Label: "scene pictures", Kind: gpu.Texture2DArray, Format: format,
		Width: size, Height: size, Layers: max(len(order), 1), Levels: levels,
		Filter: filter, Wrap: gpu.WrapRepeat,
	})
	if err != nil {
		return err
	}
	r.closers = append(r.closers, t)
	r.bind(slot, t)
	for i, texture := range order {
		data := resampled(layers.scene.Textures[texture].Image, size, format == gpu.FormatSRGB8A8)
		if err := c.WriteTexture(t, gpu.TextureRegion{Layer: i}, data); err != nil {
			return err
		}
	}
	if len(order) == 0 {
		return c.WriteTexture(t, gpu.TextureRegion{}, []byte{255, 255, 255, 255})
	}
	if levels == 1 {
		return nil
	}
	return c.GenerateMipmaps(t)
}

// Bindings appends the bindings of the scene's tables to dst, all but the
// per-capture ones (PlacementBuffer, MotionBuffer). Any goroutine may call it.
func (r *Resident) Bindings(dst []gpu.Binding) []gpu.Binding { return append(dst, r.bindings...) }

// Close queues the deletion of the GPU objects (law G3). Any goroutine may call
// it, more than once.
func (r *Resident) Close() {
	for _, x := range r.closers {
		x.Close()
	}
}
