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
func BuildWithStack(s *Scene, size int) (*World, error) {
	w := &World{Scene: s}
	b := &builder{ctx: context.Background(), scene: s, workers: 2, world: w, stackSize: size}
	_, err := b.build()
	return w, err
}

// Leaf reports whether r holds triangles, and which.
func (r Ref) Leaf() (first, count int, leaf bool) {
	return int(r & refFirstMask), int(r>>refCountBit&3) + 1, r&refLeaf != 0
}
