package coco

import "testing"

// BenchmarkMasks finds 200 masks in a picture of 1600x900.
func BenchmarkMasks(b *testing.B) {
	const width, height = 1600, 900
	data, step := drawn(0, width, height, func(x, y int) uint32 {
		if x%80 < 50 && y%90 < 60 {
			return uint32(1 + y/90*20 + x/80)
		}
		return 0
	})
	var trace tracer
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		for _, m := range trace.masks(data, step, width, height) {
			_ = m.counts()
		}
	}
}
