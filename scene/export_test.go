package scene

import "context"

// TrimCache lets tests use another limit than CacheLimit.
var TrimCache = trimCache

// Resampled and SlerpCorrection are tested by their figures.
var (
	Resampled       = resampled
	SlerpCorrection = slerpCorrection
	EncodeNormal    = encodeNormal
)

// BuildWithStack builds a world for searches with a smaller stack.
func BuildWithStack(s *Scene, size int) (*Geometry, error) {
	g := &Geometry{Scene: s}
	b := &builder{ctx: context.Background(), scene: s, workers: 2, geometry: g, stackSize: size}
	_, err := b.build()
	return g, err
}

// Mipmaps returns the levels of the scene's colours, or of its data, as they lie in a layer: their
// size and pixels.
func Mipmaps(s *Scene, srgb bool, layer int) (levels [][2]int, pixels [][]byte) {
	p, data := s.pictures()
	if !srgb {
		p = data
	}
	for _, m := range p.mipmaps(layer) {
		levels, pixels = append(levels, [2]int{m.w, m.h}), append(pixels, m.pixels)
	}
	return levels, pixels
}

// Leaf reports whether r holds triangles, and which.
func (r Ref) Leaf() (first, count int, leaf bool) {
	return int(r & refFirstMask), int(r>>refCountBit&3) + 1, r&refLeaf != 0
}

// Sampling returns how the scene's colours, or its data, are sampled: of their records.
func Sampling(s *Scene, srgb bool) (sampling []float32) {
	p, data := s.pictures()
	if !srgb {
		p = data
	}
	for _, row := range p.records() {
		sampling = append(sampling, row[3])
	}
	return sampling
}
