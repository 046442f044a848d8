package scene

import (
	"unsafe"
)

// bytesOf views a table as the bytes that the GPU and the cache file hold. It
// needs a little-endian machine, as do all that raybridge runs on.
func bytesOf[T Row | [4]uint32 | BVHNode](table []T) []byte {
	if len(table) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&table[0])), len(table)*int(unsafe.Sizeof(table[0])))
}

// moverRecords returns the table of movers.
func (w *World) moverRecords() [][4]uint32 {
	records := make([][4]uint32, len(w.Movers))
	for i := range w.Movers {
		m := &w.Movers[i]
		tag := m.Actor.Parts[m.Part].Tag
		records[i] = [4]uint32{uint32(m.Root), label(m.Actor, tag), uint32(m.First), uint32(m.Count)}
	}
	return records
}

// Flags of a material record.
const (
	flagRetro       = 1
	flagDoubleSided = 2
)

// materialRecords returns the table of materials; layers says where each
// texture went.
func (s *Scene) materialRecords(layers *textureLayers) []Row {
	rows := make([]Row, 0, 4*len(s.Materials))
	for i := range s.Materials {
		m := &s.Materials[i]
		var flags float32
		if m.Retro {
			flags += flagRetro
		}
		if m.DoubleSided {
			flags += flagDoubleSided
		}
		base, baseWrap := layers.color(m.BaseColorTexture)
		rough, roughWrap := layers.data(m.MetalRoughTexture)
		glow, glowWrap := layers.color(m.EmissiveTexture)
		rows = append(rows,
			Row(m.BaseColor),
			Row{m.Emissive[0], m.Emissive[1], m.Emissive[2], m.cutoff()},
			Row{m.Metallic, m.Roughness, m.Reflectance, flags},
			Row{base, rough, glow, float32(baseWrap) + 4*float32(roughWrap) + 16*float32(glowWrap)},
		)
	}
	return rows
}

// cutoff returns the alpha below which the surface is absent, 0 for never.
func (m *Material) cutoff() float32 {
	switch m.AlphaMode {
	case AlphaMask:
		return m.AlphaCutoff
	case AlphaBlend:
		return 0.5
	default:
		return 0
	}
}
