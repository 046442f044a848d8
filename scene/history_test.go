package scene_test

import (
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/city"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ahead goes along x at 1 m/s.
type ahead struct{}

func (ahead) PoseAt(stamp simtime.Stamp) spatial.Pose {
	return spatial.FromRPY(mgl64.Vec3{float64(stamp) / 1e9, 0, 0}, 0, 0, 0)
}

// TestKeepTakesWhatIsThere grows a history whose ring has turned.
func TestKeepTakesWhatIsThere(t *testing.T) {
	h := scene.NewHistory(&scene.Scene{Ego: spatial.Identity()}, ahead{}, 4)
	for k := range int64(6) {
		h.Record(simtime.Stamp(k * 1e9))
	}
	h.Keep(7)
	h.Keep(3) // never fewer
	for k := int64(6); k < 9; k++ {
		h.Record(simtime.Stamp(k * 1e9))
	}
	oldest, newest, ok := h.Span()
	require.True(t, ok)
	assert.EqualValues(t, 2e9, oldest)
	assert.EqualValues(t, 8e9, newest)
	for k := int64(2); k < 9; k++ {
		pose, _ := h.Pose(scene.EgoID, simtime.Stamp(k*1e9))
		assert.InDelta(t, float64(k), pose.Position[0], 1e-12)
	}
}

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
	g, h := build(b, s), recorded(s, s.Route)
	b.Run("record", func(b *testing.B) {
		b.ReportAllocs()
		at := int64(200e6)
		for b.Loop() {
			at += 10e6
			h.Record(simtime.Stamp(at))
		}
	})
	_, newest, _ := h.Span()
	p := scene.NewPacker(g, h)
	var buf []byte
	b.Run("pack", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var err error
			if buf, err = p.Motion(buf, scene.Window{Mount: spatial.Identity(), StartNs: newest - 100e6, EndNs: newest}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
