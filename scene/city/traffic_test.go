package city_test

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/city"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/world"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// footprint is what an actor covers of the ground: the convex hull of its
// vertices between knee and head height, counter-clockwise, in its own frame.
type footprint struct {
	name  string
	hull  []mgl64.Vec2
	reach float64 // no point of the hull is farther from the first
	pose  func(stamp simtime.Stamp) spatial.Pose
}

// footprints returns those of the actors that keep accepts.
func footprints(s *scene.Scene, keep func(*scene.Actor) bool) []footprint {
	var out []footprint
	for _, a := range s.Actors {
		if !keep(a) {
			continue
		}
		f := footprint{name: a.Name, pose: func(simtime.Stamp) spatial.Pose { return a.Pose }}
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
func (f *footprint) outline(stamp simtime.Stamp) []mgl64.Vec3 {
	pose := f.pose(stamp)
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
func (f *footprint) holds(p mgl64.Vec3, stamp simtime.Stamp) bool {
	q := f.pose(stamp).Inverse().Apply(p).Vec2()
	for i, a := range f.hull {
		if turn(a, f.hull[(i+1)%len(f.hull)], q) <= 0 {
			return false
		}
	}
	return true
}

// near reports whether two footprints could meet.
func (f *footprint) near(g *footprint, stamp simtime.Stamp) bool {
	a, b := f.pose(stamp).Apply(f.hull[0].Vec3(0)), g.pose(stamp).Apply(g.hull[0].Vec3(0))
	return a.Sub(b).Len() <= f.reach+g.reach
}

func moving(a *scene.Actor) bool { return a.Motion != nil }

func onFoot(a *scene.Actor) bool { return a.Parts[0].Tag == scene.TagPedestrian }

func assertApart(t *testing.T, a, b []footprint, times []int64) {
	t.Helper()
	for _, stamp := range times {
		for i := range a {
			outline := a[i].outline(simtime.Stamp(stamp))
			for j := range b {
				if a[i].name == b[j].name || !a[i].near(&b[j], simtime.Stamp(stamp)) {
					continue
				}
				for _, p := range outline {
					if b[j].holds(p, simtime.Stamp(stamp)) {
						require.Failf(t, "collision", "%s is in %s at %d ns", a[i].name, b[j].name, stamp)
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
		// A car that drives straight on and the ego's street. One that goes east keeps south of
		// the centre line, where the ego is; one that goes west north of it.
		for _, stamp := range someTimes() {
			p := a.Motion.PoseAt(simtime.Stamp(stamp))
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
	assert.Less(t, route.PoseAt(simtime.Stamp(lap)).Position.Sub(s.Ego.Position).Len(), 1e-6)
	for stamp := int64(0); stamp < lap; stamp += 1e8 {
		state := route.StateAt(simtime.Stamp(stamp))
		assert.Zero(t, state.Pose.Position[2])
		assert.Less(t, state.Acceleration.Len(), 4.2, "a brisk driver's corner")
	}
}

// empty returns the scene without vehicles and people, which may stand on a line.
func empty(s *scene.Scene) *scene.Scene {
	out := frozen(s)
	var rest []*scene.Actor
	for _, a := range out.Actors {
		if !strings.HasPrefix(a.TypeID, "vehicle.") && !strings.HasPrefix(a.TypeID, "walker.") {
			rest = append(rest, a)
		}
	}
	out.Actors = rest
	return out
}

// walkAlong calls f every step metres along a polyline, with the unit direction there.
func walkAlong(points []mgl64.Vec3, step float64, f func(p, along mgl64.Vec3)) {
	for i := 1; i < len(points); i++ {
		d := points[i].Sub(points[i-1])
		length := d.Len()
		for s := step / 2; s < length; s += step {
			f(points[i-1].Add(d.Mul(s/length)), d.Mul(1/length))
		}
	}
}

// Every mark lies where the geometry has it. Paint is under solid lines and under a good third
// of broken ones; a kerb's step is beside the others.
func TestLaneMarksLieOnThePaint(t *testing.T) {
	s := town(t, city.Options{Seed: 2, Triangles: city.MinTriangles})
	tracer := scenetest.NewTracer(empty(s), nil)
	below := func(p mgl64.Vec3) (tag scene.Tag, height float64) {
		p[2] = 0.15
		hit, ok := tracer.Trace(p, mgl64.Vec3{0, 0, -1}, 0, 1, 0)
		require.True(t, ok)
		return hit.Tag(), hit.Point[2]
	}
	count := map[scene.LaneMarkType]int{}
	dashes, road := 0, 0
	for i, m := range s.LaneMarks {
		require.EqualValues(t, i+1, m.ID)
		require.GreaterOrEqual(t, len(m.Points), 2)
		count[m.Type]++
		walkAlong(m.Points, 0.9, func(p, along mgl64.Vec3) {
			left := mgl64.Vec3{-along[1], along[0], 0}
			tag, _ := below(p)
			switch m.Type {
			case scene.LaneMarkSolid:
				require.Equal(t, scene.TagRoadLine, tag, "mark %d at %v", m.ID, p)
			case scene.LaneMarkBroken:
				if road++; tag == scene.TagRoadLine {
					dashes++
				} else {
					require.Equal(t, scene.TagRoads, tag, "mark %d at %v", m.ID, p)
				}
			case scene.LaneMarkCurb:
				lefts, leftHeight := below(p.Add(left.Mul(0.12)))
				rights, rightHeight := below(p.Add(left.Mul(-0.12)))
				require.Equal(t, scene.TagSidewalks, lefts, "left of kerb %d at %v", m.ID, p)
				require.NotEqual(t, scene.TagSidewalks, rights, "right of kerb %d at %v", m.ID, p)
				require.InDelta(t, 0.12, leftHeight, 0.01)
				require.InDelta(t, 0.01, rightHeight, 0.011)
			}
		})
		if m.Type == scene.LaneMarkCurb {
			assert.Equal(t, m.Points[0], m.Points[len(m.Points)-1], "kerbs are closed")
			assert.Equal(t, scene.LaneMarkColorOther, m.Color)
		} else {
			assert.Equal(t, scene.LaneMarkWhite, m.Color)
		}
	}
	assert.InDelta(t, 0.36, float64(dashes)/float64(road), 0.05, "3 m of paint in 7.5 m, and gaps at both ends")
	// 3 by 3 blocks have 24 stretches, 16 crossings with 16 open sides, and a verge.
	assert.Equal(t, map[scene.LaneMarkType]int{scene.LaneMarkSolid: 24*4 + 16, scene.LaneMarkBroken: 24, scene.LaneMarkCurb: 9 + 1}, count)
}

// A car has room at every place to spawn at: around it is road, and on its right the pavement.
func TestSpawnPointsAreInFreeLanes(t *testing.T) {
	s := town(t, city.Options{Seed: 2, Triangles: city.MinTriangles, Cars: 20, Walkers: 20})
	require.Greater(t, len(s.SpawnPoints), 60)
	tracer := scenetest.NewTracer(s, nil)
	distance := 0.0
	for i, p := range s.SpawnPoints {
		below := func(x, y float64) (scene.Tag, float64) {
			at := p.Apply(mgl64.Vec3{x, y, 3})
			hit, ok := tracer.Trace(at, mgl64.Vec3{0, 0, -1}, 0, 5, 0)
			require.True(t, ok)
			return hit.Tag(), hit.Point[2]
		}
		for _, x := range []float64{-4, -2, 0, 2, 4} {
			for _, y := range []float64{-1, 0, 1} {
				tag, height := below(x, y)
				require.Contains(t, []scene.Tag{scene.TagRoads, scene.TagRoadLine}, tag, "%d at %v", i, p.Position)
				require.InDelta(t, p.Position[2], height, 0.03)
			}
		}
		tag, _ := below(0, -4.2)
		require.NotContains(t, []scene.Tag{scene.TagRoads, scene.TagRoadLine}, tag, "the other lane is on the left of %d", i)
		d := p.Position.Sub(s.Ego.Position).Len()
		require.GreaterOrEqual(t, d, distance)
		distance = d
		for _, other := range s.SpawnPoints[:i] {
			require.Greater(t, other.Position.Sub(p.Position).Len(), 3.0)
		}
	}
	require.Less(t, s.SpawnPoints[0].Position.Sub(s.Ego.Position).Len(), 40.0)
}

// No car's route, nor the ego's, crosses a mark that must not be crossed. It does cross the
// gaps between them, so the marks are near.
func TestRoutesCrossNoSolidMark(t *testing.T) {
	s := town(t, city.Options{Triangles: 60_000})
	var solid [][2]mgl64.Vec3
	for _, m := range s.LaneMarks {
		for i := 1; i < len(m.Points) && m.Type != scene.LaneMarkBroken; i++ {
			solid = append(solid, [2]mgl64.Vec3{m.Points[i-1], m.Points[i]})
		}
	}
	side := func(a, b, p mgl64.Vec3) float64 { return turn(a.Vec2(), b.Vec2(), p.Vec2()) }
	cross := func(a, b, c, d mgl64.Vec3) bool {
		return side(a, b, c)*side(a, b, d) < 0 && side(c, d, a)*side(c, d, b) < 0
	}
	assert.True(t, cross(mgl64.Vec3{0, 0, 0}, mgl64.Vec3{2, 2, 0}, mgl64.Vec3{0, 2, 0}, mgl64.Vec3{2, 0, 0}))
	routes := []scene.Motion{s.Route}
	for _, a := range s.Actors {
		if moving(a) && !onFoot(a) {
			routes = append(routes, a.Motion)
		}
	}
	nearest := math.Inf(1)
	for _, r := range routes {
		loop := r.(*scene.WaypointLoop)
		before := r.PoseAt(0).Position
		for stamp := int64(0); stamp < int64(loop.Length()/loop.Speed()*1e9); stamp += 3e8 {
			now := r.PoseAt(simtime.Stamp(stamp)).Position
			for _, m := range solid {
				require.False(t, cross(before, now, m[0], m[1]), "a route crosses a mark at %v", now)
				nearest = min(nearest, now.Sub(m[0]).Len())
			}
			before = now
		}
	}
	assert.Less(t, nearest, 2.5)
}

func TestSignalsTakeTurns(t *testing.T) {
	s := town(t, city.Options{Seed: 1})
	require.NotEmpty(t, s.Signals)
	type crossing struct {
		middle mgl64.Vec3
		lights map[bool][]*scene.TrafficLight // by whether they face along x
	}
	var crossings []*crossing
	at := func(p mgl64.Vec3) *crossing {
		for _, c := range crossings {
			if c.middle.Sub(p).Len() < 30 {
				return c
			}
		}
		crossings = append(crossings, &crossing{p, map[bool][]*scene.TrafficLight{}})
		return crossings[len(crossings)-1]
	}
	offsets := map[int64]bool{}
	for i := range s.Signals {
		l := &s.Signals[i]
		require.EqualValues(t, i+1, l.ID)
		assert.EqualValues(t, 12e9, l.Green)
		assert.EqualValues(t, 3e9, l.Yellow)
		assert.EqualValues(t, 17e9, l.Red)
		facing := l.Pose.Rotate(mgl64.Vec3{1, 0, 0})
		c, alongX := at(l.Pose.Position.Sub(facing.Mul(20))), math.Abs(facing[0]) > 0.5
		c.lights[alongX] = append(c.lights[alongX], l)
		offsets[l.OffsetNs] = true
	}
	require.GreaterOrEqual(t, len(crossings), 4, "the park's corners at least")
	assert.Len(t, offsets, 2*len(crossings), "crossings are out of step")
	for _, c := range crossings {
		pairs := c.lights
		require.Len(t, pairs, 2, "%v", c.middle)
		shown := map[world.SignalState]int64{}
		allRed := int64(0)
		const step = 50_000_000
		for stamp := int64(0); stamp < 64e9; stamp += step {
			var states [2]world.SignalState
			for i, alongX := range []bool{false, true} {
				states[i], _ = pairs[alongX][0].StateAt(simtime.Stamp(stamp))
				for _, l := range pairs[alongX] {
					state, _ := l.StateAt(simtime.Stamp(stamp))
					require.Equal(t, states[i], state, "opposite arms show the same")
				}
			}
			require.True(t, states[0] == world.SignalRed || states[1] == world.SignalRed, "crossing arms at %d: %v", stamp, states)
			if states[0] == states[1] {
				allRed += step
			}
			shown[states[0]] += step
		}
		assert.Equal(t, map[world.SignalState]int64{world.SignalGreen: 24e9, world.SignalYellow: 6e9, world.SignalRed: 34e9}, shown)
		assert.EqualValues(t, 4e9, allRed)
	}
}

// A light faces those who drive towards it: at the stop line the ego's heading is
// against its x axis. Its lamps are where its actor has them.
func TestSignalsFaceTheirTraffic(t *testing.T) {
	s := town(t, city.Options{})
	tracer := scenetest.NewTracer(empty(s), nil)
	route := s.Route.(*scene.WaypointLoop)
	passed := map[uint32]bool{}
	for stamp := int64(0); stamp < int64(route.Length()/route.Speed()*1e9); stamp += 1e8 {
		pose := route.PoseAt(simtime.Stamp(stamp))
		for i := range s.Signals {
			l := &s.Signals[i]
			off := l.Pose.Position.Sub(pose.Position)
			if l.Pose.Position[2] > 4 && math.Hypot(off[0], off[1]) < 1 {
				passed[l.ID] = true
				heading, facing := pose.Rotate(mgl64.Vec3{1, 0, 0}), l.Pose.Rotate(mgl64.Vec3{1, 0, 0})
				assert.InDelta(t, -1, heading.Dot(facing), 1e-3, "light %d", l.ID)
			}
		}
	}
	assert.Len(t, passed, 4, "one at each corner of the park")

	for i := range s.Signals {
		l := &s.Signals[i]
		facing, up := l.Pose.Rotate(mgl64.Vec3{1, 0, 0}), l.Pose.Rotate(mgl64.Vec3{0, 0, 1})
		assert.Equal(t, s.Actor(l.Actor).Name, l.Name)
		for z, lamp := range map[float64]world.Lights{-0.34: world.LightGreen, 0: world.LightYellow, 0.34: world.LightRed} {
			// From straight ahead: the hoods are above the lamps.
			from := l.Pose.Position.Add(facing.Mul(2)).Add(up.Mul(z))
			hit, ok := tracer.Trace(from, facing.Mul(-1), 0, 3, 0)
			require.True(t, ok)
			require.Equal(t, l.Actor, hit.Actor.ID, "light %d", l.ID)
			assert.Equal(t, scene.TagTrafficLight, hit.Tag())
			assert.InDelta(t, 2-l.Size[0]/2, hit.T, 0.02)
			assert.Equal(t, lamp, s.Materials[hit.Material].Lamps, "light %d, lamp at %v", l.ID, z)
		}
	}
}

// TestWalkersLights: each light has one for those who cross before it, red where the drivers aren't.
func TestWalkersLights(t *testing.T) {
	s := town(t, city.Options{})
	for _, a := range s.ActorsOf(scene.TypeTrafficLight) {
		lamps := map[string]world.Lights{}
		for _, p := range a.Parts {
			for _, g := range s.Meshes[p.Mesh].Groups {
				m := &s.Materials[g.Material]
				lamps[m.Name] = m.Lamps
			}
		}
		assert.Equal(t, world.LightRed, lamps["walkers_green"], a.Name)
		assert.Equal(t, world.LightYellow|world.LightGreen, lamps["walkers_red"], a.Name)
	}
}

func TestModelsOfTheCity(t *testing.T) {
	s := town(t, city.Options{})
	var types []string
	for _, m := range s.Models {
		types = append(types, m.TypeID)
		assert.Zero(t, m.ID, m.Name)
		assert.Nil(t, m.Motion, m.Name)
		if strings.HasPrefix(m.TypeID, "walker.") {
			assert.NotNil(t, m.Parts[1].Joints, "%s goes", m.TypeID)
		}
	}
	assert.Equal(t, city.DefaultSlots, s.Slots)
	assert.Len(t, types, 14)
	slices.Sort(types)
	assert.Equal(t, types, slices.Compact(slices.Clone(types)), "each is there once")
	for _, a := range s.Actors { // bicycles, cars and people that are there may come, too
		if strings.HasPrefix(a.TypeID, "vehicle.") {
			assert.Contains(t, types, a.TypeID)
		}
	}
	none := town(t, city.Options{Slots: -1})
	bare, stats := none.Stats(), s.Stats()
	assert.Equal(t, 14, stats.Models)
	assert.Zero(t, bare.Models)
	assert.Less(t, float64(stats.Stored), 1.1*float64(bare.Stored), "people share their meshes, and vehicles have their wheels apart")
	stats.Models, stats.Stored, stats.Meshes = bare.Models, bare.Stored, bare.Meshes
	assert.Equal(t, bare, stats, "nothing of them is there")
	assert.Equal(t, [2]int{0, 0}, [2]int{len(none.Models), max(none.Slots, 0)})

	// Without anybody to look like, too.
	alone := generate(t, city.Options{Triangles: city.MinTriangles, Cars: -1, Walkers: -1, Slots: 1})
	assert.Equal(t, 14, alone.Stats().Models)
	furnished := func() *scene.Scene {
		s := scene.Plane(mgl64.Vec3{})
		city.Furnish(s, 1)
		s.Slots = 300
		return s
	}
	outside := furnished()
	assert.Len(t, outside.Actors, 1)
	assert.Len(t, outside.Models, 14)

	for name, s := range map[string]*scene.Scene{"town": s, "alone": alone, "plane": outside} {
		t.Run(name, func(t *testing.T) {
			h := scene.NewHistory(s, s.Route, 0)
			h.Record(0)
			for pattern, least := range map[string]mgl64.Vec3{
				"vehicle.bus": {4, 1, 1}, "vehicle.bicycle": {0.7, 0.2, 0.4}, "vehicle.motorcycle": {0.8, 0.25, 0.5}, "walker.*": {0.2, 0.2, 0.75},
			} {
				a, err := h.Spawn(pattern, nil)
				require.NoError(t, err, pattern)
				box, _ := h.Box(a.ID)
				for axis := range 3 {
					assert.Greater(t, box.Half[axis], least[axis], "%s, axis %d", pattern, axis)
					assert.Less(t, box.Half[axis], 3*least[axis], "%s, axis %d", pattern, axis)
				}
				require.NoError(t, h.Remove(a.ID))
			}
		})
	}
	assert.NotEqual(t, fingerprint(outside), fingerprint(none))
	assert.Equal(t, fingerprint(outside), fingerprint(furnished()))
}

// Furnish brings what its models show: one picture, for plates and hubcaps, and no walls or grass. Each of
// them would take a layer of the scene's pictures.
func TestFurnishBringsWhatItsModelsShow(t *testing.T) {
	s := scene.New("yard")
	s.Textures = []scene.Texture{{Name: "own"}}
	s.Materials = []scene.Material{{Name: "own", BaseColorTexture: 0, MetalRoughTexture: scene.NoTexture, EmissiveTexture: scene.NoTexture}}
	city.Furnish(s, 1)
	materials, textures := map[int]bool{0: true}, map[int]bool{0: true}
	for i := range s.Meshes {
		for _, g := range s.Meshes[i].Groups {
			materials[g.Material] = true
			if texture := s.Materials[g.Material].BaseColorTexture; texture != scene.NoTexture {
				textures[texture] = true
			}
		}
	}
	assert.Len(t, materials, len(s.Materials))
	assert.Len(t, textures, len(s.Textures))
	require.Len(t, s.Textures, 2)

	whole, err := city.Generate(city.Options{Seed: 1})
	require.NoError(t, err)
	at := slices.IndexFunc(whole.Textures, func(other scene.Texture) bool { return other.Name == s.Textures[1].Name })
	require.GreaterOrEqual(t, at, 0)
	assert.Equal(t, whole.Textures[at].Image.Pix, s.Textures[1].Image.Pix)
	sedan := s.Model("vehicle.sedan")
	var names []string
	for i := range sedan.Parts {
		for _, g := range s.Meshes[sedan.Parts[i].Mesh].Groups {
			names = append(names, s.Materials[g.Material].Name)
		}
	}
	assert.Subset(t, names, []string{"car_glass", "tyre", "head_lamp", "tail_lamp"})
}
