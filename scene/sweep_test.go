package scene_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// surfaces are the triangles of actors at an instant in the frame of a ball, by ids.
func surfaces(s *scene.Scene, h *scene.History, ball spatial.Pose, stamp simtime.Stamp) map[uint32][][3]mgl64.Vec3 {
	all := map[uint32][][3]mgl64.Vec3{}
	for _, a := range h.Spawned(append([]*scene.Actor{}, s.Actors...), stamp) {
		pose, _ := h.Pose(a.ID, stamp)
		for i := range a.Parts {
			part := &a.Parts[i]
			at := ball.Inverse().Compose(pose).Mat4().Mul4(part.At(stamp))
			positions, indices := part.Positions(s, stamp), s.Meshes[part.Mesh].Indices
			for k := 0; k+2 < len(indices); k += 3 {
				var t [3]mgl64.Vec3
				for v := range t {
					t[v] = mgl64.TransformCoordinate(positions[indices[k+v]], at)
				}
				all[a.ID] = append(all[a.ID], t)
			}
		}
	}
	return all
}

// gone is how far the ball of a radius goes along x until it touches a point, +Inf for never.
func gone(p mgl64.Vec3, radius float64) float64 {
	free := radius*radius - p[1]*p[1] - p[2]*p[2]
	if p[0] < 0 || free < 0 {
		return math.Inf(1)
	}
	return max(p[0]-math.Sqrt(free), 0)
}

// nearestOf returns the distance of a point from a triangle (Ericson, Real-Time Collision Detection,
// 5.1.5).
func nearestOf(p mgl64.Vec3, t [3]mgl64.Vec3) float64 {
	n := t[1].Sub(t[0]).Cross(t[2].Sub(t[0])).Normalize()
	foot := p.Sub(n.Mul(n.Dot(p.Sub(t[0]))))
	inside, least := true, math.Inf(1)
	for k := range t {
		a, e := t[k], t[(k+1)%3].Sub(t[k])
		inside = inside && e.Cross(foot.Sub(a)).Dot(n) >= 0
		share := min(max(p.Sub(a).Dot(e)/max(e.Dot(e), 1e-30), 0), 1)
		least = min(least, p.Sub(a.Add(e.Mul(share))).Len())
	}
	if away := p.Sub(foot).Len(); inside && away < least { // not of a triangle without an area
		return away
	}
	return least
}

// TestBallsTouchWhatIsFirst: no point of any surface is touched before, and where the ball stops it
// does touch the actor that is named. Some of the triangles drive, turn, are scaled or bend. Some
// belong to actors that came as models, one of them of its own size.
func TestBallsTouchWhatIsFirst(t *testing.T) {
	soup := scenetest.Soup(3, 240, true)
	spawn := scenetest.Hold(soup, "*vegetation*")
	soup.AddBox()
	soup.Slots++
	for name, c := range map[string]struct {
		scene *scene.Scene
		come  func(*scene.History)
		aims  []mgl64.Vec3
	}{
		"soup": {soup, func(h *scene.History) {
			spawn(h)
			box := soup.Model(scene.BoxModel)
			parts := append([]scene.Part{}, box.Parts...)
			parts[0].Joints = func(simtime.Stamp) mgl64.Mat4 { return mgl64.Scale3D(12, 2, 0.05) }
			_, err := h.SpawnActor(box, scene.Actor{Parts: parts}, scenetest.Linear{Start: scenetest.At(5, 5, 12, 0).Pose, YawRate: 2, Velocity: mgl64.Vec3{1, 0, 0}})
			require.NoError(t, err)
		}, []mgl64.Vec3{{}, {5.6, 5, 12}, {8, -3, 0}, {20, 15, -3}, {40, 40, 0}, {-40, 30, 5}, {-30, 20, 0}, {30, -30, 3}, {-25, -25, 0}, {0, 40, 0}}},
		"limbs": {limbs(), func(*scene.History) {}, []mgl64.Vec3{{6, 2, 0}, {3, -2.4, 0.2}}},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := scene.Build(t.Context(), c.scene, scene.BuildOptions{})
			require.NoError(t, err)
			h := scene.NewHistory(c.scene, nil, 0)
			c.come(h)
			h.Record(0)
			h.Record(1e9)
			const stamp = simtime.Stamp(63e7)
			random := rand.New(rand.NewPCG(5, 6))
			touched := map[uint32]int{}
			sweeper := scene.NewSweeper(w, h)
			for k := range 220 {
				from := spatial.FromRPY(c.aims[k%len(c.aims)].Add(mgl64.Vec3{random.NormFloat64(), random.NormFloat64(), random.NormFloat64()}), 0, 20*random.NormFloat64(), 360*random.Float64())
				from.Position = from.Apply(mgl64.Vec3{-12 * random.Float64(), 0, 0})
				b := scene.Ball{Pose: from, Radius: 3 * random.Float64() * random.Float64(), Distance: 80, Counts: func(scene.Tag, float64) bool { return true }}
				first, ok := sweeper.First(b, stamp)
				if !ok {
					first.Distance = b.Distance
				}
				all := surfaces(c.scene, h, b.Pose, stamp)
				earliest := earliestOf(all, b.Radius, random)
				require.False(t, earliest < first.Distance-1e-4, "something is touched after %v m, not after %v m", earliest, first.Distance)
				if !ok {
					continue
				}
				touched[first.Actor]++
				near := math.Inf(1)
				for _, tr := range all[first.Actor] {
					near = min(near, nearestOf(mgl64.Vec3{first.Distance, 0, 0}, tr))
				}
				require.LessOrEqual(t, near, b.Radius+1e-4)
				b.Through = first.Actor
				other, ok := sweeper.First(b, stamp)
				require.False(t, ok && (other.Actor == first.Actor || other.Distance < first.Distance), "it passes through one of them")
			}
			assert.Greater(t, len(touched), 2)
			for _, a := range h.Spawned(c.scene.ActorsOf("*"), stamp) {
				assert.True(t, a.Static() || touched[a.ID] > 0, "%s was touched", a.Name)
			}
		})
	}
}

// earliestOf returns when a ball touches the earliest of random points of surfaces.
func earliestOf(all map[uint32][][3]mgl64.Vec3, radius float64, random *rand.Rand) float64 {
	earliest := math.Inf(1)
	for _, triangles := range all {
		for _, tr := range triangles {
			for range 30 {
				u, v := random.Float64(), random.Float64()
				if u+v > 1 {
					u, v = 1-u, 1-v
				}
				earliest = min(earliest, gone(tr[0].Add(tr[1].Sub(tr[0]).Mul(u)).Add(tr[2].Sub(tr[0]).Mul(v)), radius))
			}
		}
	}
	return earliest
}

// TestBallsMeetAnalyticSurfaces at distances that follow by hand.
func TestBallsMeetAnalyticSurfaces(t *testing.T) {
	b := scenetest.NewBuilder("things")
	b.Put("wall", scenetest.Box(1, 4, 4), scenetest.Matte("wall", 1, 1, 1), scenetest.At(10.5, 0, 0, scene.TagWall))
	ball := b.Put("ball", scenetest.Sphere(0.5, 96), scenetest.Matte("ball", 1, 1, 1), scenetest.At(6, 1.2, 0, scene.TagStatic))
	w, err := scene.Build(t.Context(), b.Scene, scene.BuildOptions{})
	require.NoError(t, err)
	h := scene.NewHistory(b.Scene, nil, 0)
	h.Record(0)
	sweeper := scene.NewSweeper(w, h)
	for name, c := range map[string]struct {
		radius, distance, back, want float64
		through                      uint32
		counts                       func(scene.Tag, float64) bool
	}{
		"a ray":              {0, 20, 0, 10, 0, nil},
		"a ball at a face":   {0.6, 20, 0, 9.4, 0, nil},
		"a ball at a ball":   {1, 20, 0, 6 - math.Sqrt(1.5*1.5-1.2*1.2), 0, nil},
		"it ends before":     {0.6, 9.3, 0, -1, 0, nil},
		"it passes through":  {1, 20, 0, 9, ball.ID, nil},
		"another tag":        {1, 20, 0, 9, 0, func(tag scene.Tag, _ float64) bool { return tag == scene.TagWall }},
		"an edge":            {2.5, 20, 0, 10 - 2.5, ball.ID, func(_ scene.Tag, facing float64) bool { return facing > 0.9 }},
		"the sides alone":    {2.5, 20, 0, 10 - 1.5, ball.ID, func(_ scene.Tag, facing float64) bool { return facing < 0.1 }},
		"it touches already": {0.6, 20, 9.7, 0, 0, nil},
		"beyond the middle":  {0.6, 20, 10.2, 11 - 10.2 - 0.6, 0, nil},
		"behind alone":       {0.6, 20, 11.3, -1, 0, nil},
		"nothing":            {0.6, 20, 0, -1, 0, func(scene.Tag, float64) bool { return false }},
	} {
		if c.counts == nil {
			c.counts = func(scene.Tag, float64) bool { return true }
		}
		got, ok := sweeper.First(scene.Ball{Pose: scenetest.At(c.back, 0, 0, 0).Pose, Radius: c.radius, Distance: c.distance, Through: c.through, Counts: c.counts}, 0)
		if !ok {
			got.Distance = -1
		}
		assert.InDelta(t, c.want, got.Distance, 2e-3, name)
	}
}
