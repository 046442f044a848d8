//go:build cgo

package camera_test

import (
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/spatial"
)

// agree holds every pixel of a depth, a semantic and an instance camera beside a
// float64 ray caster that shares no code with them.
func agree(t *testing.T, s *scene.Scene, mount spatial.Pose, tNs int64) (total *scenetest.Agreement, labels float64) {
	t.Helper()
	const width, height, fov = 240, 180, 100
	attributes := size(width, height, "fov", fov)
	r := newRig(t, s, nil,
		mounted{camera.Depth, mount, attributes}, mounted{camera.Semantic, mount, attributes}, mounted{camera.Instance, mount, attributes})
	r.fire(tNs)
	l := lens(t, width, height, fov)
	pose := s.Ego.Compose(mount).Compose(spatial.OpticalInBody())
	tracer := scenetest.NewTracer(s, nil)
	total = &scenetest.Agreement{}
	right, all := 0, 0
	for v := range height {
		for u := range width {
			ray := l.Ray(float64(u), float64(v))
			d := pose.Rotate(ray).Normalize()
			near, far := 0.05*ray.Len(), 1000*ray.Len()
			got := depthAt(r.picture(0), u, v)
			wrong := total.Wrong
			total.Add(tracer, pose.Position, d, near, far, tNs, got*ray.Len())
			if total.Wrong > wrong && seenBeside(tracer, pose, l, [2]float64{float64(u), float64(v)}, tNs, got) {
				total.Wrong--
				total.Edge++
			}
			h, ok := tracer.Trace(pose.Position, d, near, far, tNs)
			tag, id := scene.TagSky, uint32(0)
			if ok {
				tag, id = h.Tag(), h.Actor.ID
			}
			p := at(r.picture(2), u, v, 2)
			all++
			if at(r.picture(1), u, v, 1)[0] == byte(tag) && uint32(p[0])|uint32(p[1])<<8 == id {
				right++
			}
		}
	}
	return total, float64(right) / float64(all)
}

// seenBeside tells whether a ray 0.02 pixels beside the pixel's centre has the
// depth: rasterisers round corners to 1/256 of a pixel, and what is cut off at
// the near plane a little more.
func seenBeside(tracer *scenetest.Tracer, pose spatial.Pose, l camera.Lens, px [2]float64, tNs int64, depth float64) bool {
	for k := range 8 {
		sin, cos := math.Sincos(float64(k) * math.Pi / 4)
		ray := l.Ray(px[0]+0.02*cos, px[1]+0.02*sin)
		h, ok := tracer.Trace(pose.Position, pose.Rotate(ray).Normalize(), 0.05*ray.Len(), 1000*ray.Len(), tNs)
		want := math.Inf(1)
		if ok {
			want = h.T / ray.Len()
		}
		if want == depth || math.Abs(want-depth) <= 0.01+0.01*want {
			return true
		}
	}
	return false
}

func TestPicturesAgreeWithAReferenceTracer(t *testing.T) {
	mounts := []spatial.Pose{
		spatial.FromRPY(mgl64.Vec3{0, 0, 1}, 0, 0, 0),
		spatial.FromRPY(mgl64.Vec3{-20, 13, 7}, 12, 20, 140),
		spatial.FromRPY(mgl64.Vec3{40, -40, -3}, -30, -15, 100),
	}
	var equal, rays, wrong int
	for seed := range uint64(3) {
		total, labels := agree(t, scenetest.Soup(seed, 6000, true), mounts[seed], int64(seed)*second/2)
		t.Logf("soup %d: %v; labels %.4f %%", seed, total, 100*labels)
		equal, rays, wrong = equal+total.Equal, rays+total.Rays(), wrong+total.Wrong
		assert.GreaterOrEqual(t, labels, 0.999)
	}
	assert.GreaterOrEqual(t, float64(equal)/float64(rays), 0.9999)
	assert.Zero(t, wrong, "pixels that no edge explains")
}
