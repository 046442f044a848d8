package city_test

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/city"
	"github.com/raybridge/raybridge/spatial"
)

// footprint is what an actor covers of the ground: the convex hull of its
// vertices between knee and head height, counter-clockwise, in its own frame.
type footprint struct {
	name  string
	hull  []mgl64.Vec2
	reach float64 // no point of the hull is farther from the first
	pose  func(tNs int64) spatial.Pose
}

// footprints returns those of the actors that keep accepts.
func footprints(s *scene.Scene, keep func(*scene.Actor) bool) []footprint {
	var out []footprint
	for _, a := range s.Actors {
		if a.Reserved || !keep(a) {
			continue
		}
		f := footprint{name: a.Name, pose: func(int64) spatial.Pose { return a.Pose }}
		if a.Motion != nil {
			f.pose = a.Motion.PoseAt
		}
		var points []mgl64.Vec2
		for i := range a.Parts {
			for _, p := range s.Meshes[a.Parts[i].Mesh].Positions {
				q := mgl64.TransformCoordinate(mgl64.Vec3{float64(p[0]), float64(p[1]), float64(p[2])}, a.Parts[i].Local)
				if h := q[2] + a.Pose.Position[2]; h > 0.4 && h < 1.7 {
					points = append(points, mgl64.Vec2{q[0], q[1]})
				}
			}
		}
		if f.hull = hull(points); len(f.hull) > 2 {
			for _, p := range f.hull {
				f.reach = max(f.reach, p.Sub(f.hull[0]).Len())
			}
			out = append(out, f)
		}
	}
	return out
}

// turn is positive where a, b, c turn left.
func turn(a, b, c mgl64.Vec2) float64 {
	u, v := b.Sub(a), c.Sub(b)
	return u[0]*v[1] - u[1]*v[0]
}

// hull returns the convex hull of points (A. M. Andrew, Another efficient
// algorithm for convex hulls in two dimensions, 1979).
func hull(points []mgl64.Vec2) []mgl64.Vec2 {
	slices.SortFunc(points, func(a, b mgl64.Vec2) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	points = slices.Compact(points)
	half := func(yield func(i int) mgl64.Vec2) (out []mgl64.Vec2) {
		for i := range points {
			p := yield(i)
			for len(out) > 1 && turn(out[len(out)-2], out[len(out)-1], p) <= 0 {
				out = out[:len(out)-1]
			}
			out = append(out, p)
		}
		return out[:max(len(out)-1, 0)]
	}
	lower := half(func(i int) mgl64.Vec2 { return points[i] })
	return append(lower, half(func(i int) mgl64.Vec2 { return points[len(points)-1-i] })...)
}

// outline returns points around the hull, in the map, at most half a metre apart.
func (f *footprint) outline(tNs int64) []mgl64.Vec3 {
	pose := f.pose(tNs)
	var out []mgl64.Vec3
	for i, a := range f.hull {
		d := f.hull[(i+1)%len(f.hull)].Sub(a)
		n := int(2*d.Len()) + 1
		for k := range n {
			p := a.Add(d.Mul(float64(k) / float64(n)))
			out = append(out, pose.Apply(p.Vec3(0)))
		}
	}
	return out
}

// holds reports whether a point of the map lies in the hull.
func (f *footprint) holds(p mgl64.Vec3, tNs int64) bool {
	q := f.pose(tNs).Inverse().Apply(p).Vec2()
	for i, a := range f.hull {
		if turn(a, f.hull[(i+1)%len(f.hull)], q) <= 0 {
			return false
		}
	}
	return true
}

// near reports whether two footprints could meet.
func (f *footprint) near(g *footprint, tNs int64) bool {
	a, b := f.pose(tNs).Apply(f.hull[0].Vec3(0)), g.pose(tNs).Apply(g.hull[0].Vec3(0))
	return a.Sub(b).Len() <= f.reach+g.reach
}

func moving(a *scene.Actor) bool { return a.Motion != nil }

func onFoot(a *scene.Actor) bool { return a.Parts[0].Tag == scene.TagPedestrian }

func assertApart(t *testing.T, a, b []footprint, times []int64) {
	t.Helper()
	for _, tNs := range times {
		for i := range a {
			outline := a[i].outline(tNs)
			for j := range b {
				if a[i].name == b[j].name || !a[i].near(&b[j], tNs) {
					continue
				}
				for _, p := range outline {
					if b[j].holds(p, tNs) {
						require.Failf(t, "collision", "%s is in %s at %d ns", a[i].name, b[j].name, tNs)
					}
				}
			}
		}
	}
}

// someTimes are instants over more than a lap, not in step with anything.
func someTimes() []int64 {
	var out []int64
	for i := range int64(30) {
		out = append(out, i*2_330_000_000)
	}
	return out
}

func TestMoversMeetNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	more := mostMovers
	more.Seed, more.Triangles = 1, 150_000
	for _, o := range []city.Options{mostMovers, more} {
		s := town(t, o)
		cars := footprints(s, func(a *scene.Actor) bool { return moving(a) && !onFoot(a) })
		walkers := footprints(s, func(a *scene.Actor) bool { return moving(a) && onFoot(a) })
		still := footprints(s, func(a *scene.Actor) bool { return !moving(a) && a.Parts[0].Tag != scene.TagTerrain })
		// The ego takes part with the size of a saloon around its rear axle.
		ego := []footprint{{"ego", []mgl64.Vec2{{-1, -0.95}, {3.9, -0.95}, {3.9, 0.95}, {-1, 0.95}}, 6, s.Route.PoseAt}}
		require.Len(t, cars, city.MaxCars)
		require.Len(t, walkers, city.MaxWalkers)

		assertApart(t, append(cars, walkers...), still, someTimes())
		assertApart(t, ego, still, someTimes())
		assertApart(t, append(cars, ego...), append(cars, ego...), someTimes())
		assertApart(t, append(cars, ego...), walkers, someTimes())
	}
}

func TestCarsKeepRight(t *testing.T) {
	s := town(t, city.Options{Triangles: 60_000})
	clear := 0
	for _, a := range s.Actors {
		if !moving(a) || onFoot(a) {
			continue
		}
		// A car that drives straight on and the ego's street: who goes east keeps
		// south of the centre line, where the ego is; who goes west north of it.
		for _, tNs := range someTimes() {
			p := a.Motion.PoseAt(tNs)
			ahead := p.Rotate(mgl64.Vec3{1, 0, 0})
			centre := s.Ego.Position[1] + 1.6
			if math.Abs(p.Position[1]-centre) < 5 && math.Abs(ahead[0]) > 0.999 && math.Abs(p.Position[0]) < 30 {
				assert.Equal(t, ahead[0] > 0, p.Position[1] < centre, a.Name)
				clear++
			}
		}
	}
	assert.Greater(t, clear, 20)
}

func TestEgoRouteIsALoop(t *testing.T) {
	s := town(t, city.Options{Triangles: 60_000})
	route, ok := s.Route.(*scene.WaypointLoop)
	require.True(t, ok)
	assert.InDelta(t, 7.5, route.Speed(), 1e-9)
	assert.Equal(t, s.Ego, route.PoseAt(0))
	lap := int64(route.Length() / route.Speed() * 1e9)
	assert.Less(t, route.PoseAt(lap).Position.Sub(s.Ego.Position).Len(), 1e-6)
	for tNs := int64(0); tNs < lap; tNs += 1e8 {
		state := route.StateAt(tNs)
		assert.Zero(t, state.Pose.Position[2])
		assert.Less(t, state.Acceleration.Len(), 4.2, "a brisk driver's corner")
	}
}
