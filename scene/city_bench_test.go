package scene_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/city"
	"github.com/raybridge/raybridge/spatial"
)

// BenchmarkNewHistory is what a run pays once: most of it goes into the boxes.
func BenchmarkNewHistory(b *testing.B) {
	s, err := city.Generate(city.Options{Triangles: 1_000_000})
	require.NoError(b, err)
	for b.Loop() {
		scene.NewHistory(s, s.Route, 0)
	}
}

// BenchmarkCityTick is what the default town costs on the CPU: the record of a
// tick, and the packing of a rolling scan.
func BenchmarkCityTick(b *testing.B) {
	s, err := city.Generate(city.Options{})
	require.NoError(b, err)
	w, h := buildWorld(b, s), recorded(s, s.Route)
	b.Run("record", func(b *testing.B) {
		b.ReportAllocs()
		at := int64(200e6)
		for b.Loop() {
			at += 10e6
			h.Record(at)
		}
	})
	_, newest, _ := h.Span()
	p := scene.NewPacker(w, h)
	buf := make([]byte, p.MotionBytes())
	b.Run("pack", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := p.Motion(buf, scene.Window{Mount: spatial.Identity(), StartNs: newest - 100e6, EndNs: newest}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
