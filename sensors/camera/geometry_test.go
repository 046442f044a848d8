//go:build cgo

package camera_test

import (
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
)

func TestDepthOfAFloorIsPlanar(t *testing.T) {
	const height = 1.6
	b := scenetest.NewBuilder("floor")
	b.Put("floor", scenetest.Plane(100, 10), scenetest.Matte("floor", 0.5, 0.5, 0.5), scenetest.At(0, 0, 0, scene.TagRoads))
	r := newRig(t, b.Scene, nil, mounted{camera.Depth, forward(height), size(64, 48, "fov", 70)})
	r.fire(0)
	m, l := r.picture(0), lens(t, 64, 48, 70)
	require.Equal(t, sample.Encoding32FC1, m.Encoding)
	seen := 0
	for v := range m.Height {
		for u := range m.Width {
			// The floor is y = height in the optical frame.
			want := height / l.Ray(float64(u), float64(v))[1]
			if want < 0 || want > 50 || math.Abs(want*l.Ray(float64(u), 0)[0]) > 50 {
				want = math.Inf(1)
			}
			if math.IsInf(want, 1) {
				assert.True(t, math.IsInf(depthAt(m, u, v), 1), "pixel %d, %d sees the sky", u, v)
				continue
			}
			seen++
			assert.InDelta(t, want, depthAt(m, u, v), 1e-3+1e-5*want, "pixel %d, %d", u, v)
		}
	}
	assert.Greater(t, seen, 64*20, "the floor fills the lower part")
	assert.True(t, math.IsInf(depthAt(m, 32, 0), 1), "row 0 is the top")
}

// TestAKnownPointLandsOnItsPixel puts squares of 0.02 pixels where lenses say
// that a pixel's centre looks: each is seen by its pixel and by no other.
func TestAKnownPointLandsOnItsPixel(t *testing.T) {
	mount := spatial.FromRPY(mgl64.Vec3{1.5, -0.7, 1.2}, 4, -7, 30)
	l := lens(t, 160, 120, 80)
	b := scenetest.NewBuilder("markers")
	want := map[[2]int]uint32{}
	toMap := mount.Compose(spatial.OpticalInBody())
	for i, px := range [][2]int{{0, 0}, {159, 0}, {0, 119}, {159, 119}, {80, 60}, {79, 59}, {17, 101}, {141, 33}, {3, 64}} {
		depth := 2 + 3*float64(i)
		side := 0.02 * depth / l.Fx
		p := l.Unproject(float64(px[0]), float64(px[1]), depth)
		// A plane faces +z; the optical frame's -z looks back at the camera.
		pose := toMap.Compose(spatial.Pose{Position: p, Orientation: mgl64.QuatIdent()})
		a := b.Put("marker", scenetest.Plane(side, 1), scenetest.Matte("marker", 1, 1, 1), scene.Placement{Pose: pose, Tag: scene.TagPole})
		want[px] = a.ID
	}
	r := newRig(t, b.Scene, nil, mounted{camera.Instance, mount, size(160, 120, "fov", 80)})
	r.fire(0)
	m := r.picture(0)
	got := map[[2]int]uint32{}
	for v := range m.Height {
		for u := range m.Width {
			p := at(m, u, v, 2)
			if id := uint32(p[0]) | uint32(p[1])<<8; id != 0 {
				got[[2]int{u, v}] = id
			}
		}
	}
	assert.Equal(t, want, got)
}

func TestSphereDepthAndNormals(t *testing.T) {
	const radius, distance = 2.0, 6.0
	const rings = 128
	b := scenetest.NewBuilder("sphere")
	b.Put("ball", scenetest.Sphere(radius, rings), scenetest.Matte("ball", 1, 1, 1), scenetest.At(distance, 0, 0, scene.TagStatic))
	r := newRig(t, b.Scene, nil,
		mounted{camera.Depth, forward(0), size(120, 100, "fov", 60)},
		mounted{camera.Normals, forward(0), size(120, 100, "fov", 60)})
	r.fire(0)
	depth, normals, l := r.picture(0), r.picture(1), lens(t, 120, 100, 60)
	sag := radius * (math.Pi / rings) * (math.Pi / rings) / 4
	hits := 0
	for v := range depth.Height {
		for u := range depth.Width {
			ray := l.Ray(float64(u), float64(v))
			d := ray.Normalize()
			// |t d - c|² = r² with c on the axis.
			along := distance * d[2]
			under := along*along - distance*distance + radius*radius
			if math.Abs(under) < 0.05 {
				continue // the rim: facets differ from the sphere
			}
			if under < 0 {
				assert.True(t, math.IsInf(depthAt(depth, u, v), 1))
				assert.True(t, math.IsNaN(normalAt(normals, u, v)[0]), "no surface, no normal")
				continue
			}
			hits++
			want := (along - math.Sqrt(under)) * d[2]
			n := ray.Mul(want).Sub(mgl64.Vec3{0, 0, distance}).Mul(1 / radius)
			slant := 1 / math.Abs(n.Dot(d))
			assert.InDelta(t, want, depthAt(depth, u, v), 1e-3+2*sag*slant, "pixel %d, %d", u, v)
			got := normalAt(normals, u, v)
			assert.InDelta(t, 1, got.Len(), 1e-4)
			assert.Greater(t, got.Dot(n), math.Cos(0.01*slant), "pixel %d, %d: normal %v, want %v", u, v, got, n)
		}
	}
	assert.Greater(t, hits, 2000)
}

func TestBoxNormalsAreInTheOpticalFrame(t *testing.T) {
	b := scenetest.NewBuilder("box")
	b.Put("box", scenetest.Box(2, 2, 2), scenetest.Matte("box", 1, 1, 1), scenetest.At(5, 0, 0, scene.TagStatic))
	// From above and the left: the front, the top and the left side are seen.
	mount := spatial.FromRPY(mgl64.Vec3{1, 4, 3}, 0, 35, -45)
	r := newRig(t, b.Scene, nil,
		mounted{camera.Normals, mount, size(200, 150)},
		mounted{camera.Normals, forward(0), size(64, 48)})
	r.fire(0)
	toOptical := mount.Compose(spatial.OpticalInBody()).Inverse()
	want := []mgl64.Vec3{{-1, 0, 0}, {0, 1, 0}, {0, 0, 1}}
	seen := [3]int{}
	m := r.picture(0)
	for v := range m.Height {
		for u := range m.Width {
			got := normalAt(m, u, v)
			if math.IsNaN(got[0]) {
				continue
			}
			for i, n := range want {
				if toOptical.Rotate(n).Sub(got).Len() < 1e-3 {
					seen[i]++
				}
			}
		}
	}
	for i, n := range seen {
		assert.Greater(t, n, 50, "pixels of the face along %v", want[i])
	}
	// Straight ahead, a wall's normal is -z: towards the camera.
	ahead := normalAt(r.picture(1), 32, 24)
	assert.InDeltaSlice(t, []float64{0, 0, -1}, ahead[:], 1e-3)
}

func TestAMoverIsWhereItIsAtTheStamp(t *testing.T) {
	const distance, speed = 30.0, 8.0
	r := newRig(t, scenetest.MovingWall(distance, speed), nil,
		mounted{camera.Depth, forward(1.5), size(32, 24)},
		mounted{camera.Semantic, forward(1.5), size(32, 24)})
	for k := range int64(4) {
		stamp := k * second / 3
		r.fire(stamp)
		want := distance - speed*float64(stamp)/1e9
		assert.InDelta(t, want, depthAt(r.picture(0), 16, 11), 1e-3, "at %d ns", stamp)
		assert.Equal(t, byte(scene.TagWall), at(r.picture(1), 16, 11, 1)[0])
		assert.Equal(t, byte(scene.TagSky), at(r.picture(1), 16, 0, 1)[0])
		assert.Equal(t, byte(scene.TagRoads), at(r.picture(1), 16, 23, 1)[0])
		assert.Equal(t, stamp, r.picture(0).StampNs)
	}
}

func TestRangeLimitsFollowREP117(t *testing.T) {
	r := newRig(t, scenetest.MovingWall(10, 0), nil,
		mounted{camera.Depth, forward(1.5), size(32, 24, "max_depth", 9.9)},
		mounted{camera.Depth, forward(1.5), size(32, 24, "min_depth", 10.1)},
		mounted{camera.Depth, forward(1.5), size(32, 24, "far_clip", 9.5)},
		mounted{camera.Depth, forward(1.5), size(32, 24, "near_clip", 12, "far_clip", 20)})
	r.fire(0)
	assert.True(t, math.IsInf(depthAt(r.picture(0), 16, 11), 1), "too far is +Inf")
	assert.True(t, math.IsInf(depthAt(r.picture(1), 16, 11), -1), "too near is -Inf")
	assert.True(t, math.IsInf(depthAt(r.picture(2), 16, 11), 1), "beyond the far plane is nothing")
	assert.True(t, math.IsInf(depthAt(r.picture(3), 16, 11), 1), "before the near plane is nothing")
	assert.InDelta(t, 1.5/(5.5/16), depthAt(r.picture(0), 16, 17), 1e-3, "the floor is in range")
}
