package city_test

import (
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-gl/mathgl/mgl32"
	"github.com/go-gl/mathgl/mgl64"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/city"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func generate(t testing.TB, o city.Options) *scene.Scene {
	t.Helper()
	s, err := city.Generate(o)
	require.NoError(t, err)
	return s
}

// kept holds the towns that tests have asked for: making one is cheap, but not
// under the race detector.
var kept struct {
	sync.Mutex
	towns map[city.Options]*scene.Scene
}

// town is generate for tests that only read; equal options share one scene.
func town(t testing.TB, o city.Options) *scene.Scene {
	t.Helper()
	kept.Lock()
	defer kept.Unlock()
	if kept.towns == nil {
		kept.towns = map[city.Options]*scene.Scene{}
	}
	if kept.towns[o] == nil {
		kept.towns[o] = generate(t, o)
	}
	return kept.towns[o]
}

// fingerprint hashes everything a sensor could see at three instants.
func fingerprint(s *scene.Scene) uint64 {
	h := fnv.New64a()
	write := func(v ...any) { h.Write(fmt.Append(nil, v...)) }
	for i := range s.Textures {
		h.Write(s.Textures[i].Image.Pix)
	}
	write(s.Materials, s.Meshes, s.Light, s.Map, s.Ego, s.LaneMarks, s.Signals)
	write(s.Slots)
	for _, a := range slices.Concat(s.Actors, s.Models) {
		write(a.ID, a.Name, a.TypeID, a.Pose)
		for _, stamp := range []int64{0, 1e9, 77e9} {
			if a.Motion != nil {
				write(a.Motion.PoseAt(simtime.Stamp(stamp)))
			}
			for _, p := range a.Parts {
				write(p.Name, p.Mesh, p.Tag, p.Local)
				if p.Joints != nil {
					write(p.Joints(simtime.Stamp(stamp)))
				}
			}
		}
	}
	return h.Sum64()
}

func TestSameOptionsSameScene(t *testing.T) {
	o := city.Options{Seed: 3, Triangles: 60_000}
	first := fingerprint(generate(t, o))
	assert.Equal(t, first, fingerprint(generate(t, o)))
	o.Seed = 4
	assert.NotEqual(t, first, fingerprint(generate(t, o)))
}

func TestDefaultsAreWritten(t *testing.T) {
	written := city.Options{Triangles: city.DefaultTriangles, Cars: city.DefaultCars, Walkers: city.DefaultWalkers, Slots: city.DefaultSlots}
	assert.Equal(t, fingerprint(generate(t, city.Options{})), fingerprint(generate(t, written)))
}

func TestTriangleBudget(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	for _, n := range []int{city.MinTriangles, city.DefaultTriangles, 300_000, 1_000_000} {
		assert.InEpsilon(t, n, town(t, city.Options{Triangles: n}).Stats().Triangles, 0.1)
	}
	for seed := range uint64(5) {
		o := city.Options{Seed: seed, Triangles: 60_000}
		assert.InEpsilon(t, o.Triangles, town(t, o).Stats().Triangles, 0.1, "seed %d", seed)
	}
}

func TestLargerTownKeepsItsMiddle(t *testing.T) {
	small, large := town(t, city.Options{Triangles: city.DefaultTriangles}), town(t, city.Options{Triangles: 300_000})
	assert.Equal(t, small.Ego, large.Ego)
	assert.Equal(t, houseNearEgo(small), houseNearEgo(large))
}

// houseNearEgo returns the bounds in plan of the building nearest to the ego.
func houseNearEgo(s *scene.Scene) (bounds [4]float32) {
	best := math.Inf(1)
	for _, a := range s.Actors {
		if a.TypeID != "static.building" {
			continue
		}
		b := planBounds(&s.Meshes[a.Parts[0].Mesh], 2)
		x, y := float64(b[0]+b[2])/2-s.Ego.Position[0], float64(b[1]+b[3])/2-s.Ego.Position[1]
		if d := math.Hypot(x, y); d < best {
			best, bounds = d, b
		}
	}
	return bounds
}

// planBounds bounds a mesh's vertices below a height: x0, y0, x1, y1.
func planBounds(m *scene.Mesh, below float32) [4]float32 {
	inf := float32(math.Inf(1))
	b := [4]float32{inf, inf, -inf, -inf}
	for _, p := range m.Positions {
		if p[2] < below {
			b = [4]float32{min(b[0], p[0]), min(b[1], p[1]), max(b[2], p[0]), max(b[3], p[1])}
		}
	}
	return b
}

func TestOptionsAreChecked(t *testing.T) {
	for _, o := range []city.Options{
		{Triangles: city.MinTriangles - 1}, {Triangles: -5}, {Triangles: city.MaxTriangles + 1},
		{Cars: city.MaxCars + 1}, {Walkers: city.MaxWalkers + 1}, {Slots: city.MaxSlots + 1},
	} {
		_, err := city.Generate(o)
		assert.ErrorIs(t, err, city.ErrOptions, "%+v", o)
	}
}

func TestNoMovers(t *testing.T) {
	for _, a := range generate(t, city.Options{Triangles: 60_000, Cars: -1, Walkers: -1}).Actors {
		assert.True(t, a.Static(), a.Name)
	}
}

// mostMovers is the default town with as many movers as there can be.
var mostMovers = city.Options{Cars: city.MaxCars, Walkers: city.MaxWalkers}

func TestMostMovers(t *testing.T) {
	s := town(t, mostMovers)
	assert.Equal(t, city.MaxCars+city.MaxWalkers, s.Stats().Moving)
}

func TestMeshesAreSound(t *testing.T) {
	for _, n := range []int{city.DefaultTriangles, 1_000_000} {
		s := town(t, city.Options{Triangles: n})
		for i := range s.Meshes {
			if err := checkMesh(s, &s.Meshes[i]); err != nil {
				t.Errorf("mesh %d %s: %v", i, s.Meshes[i].Name, err)
			}
		}
	}
}

// checkMesh tells what breaks scene.Mesh's contract: array lengths, indices,
// groups, unit normals, and faces whose winding disagrees with their normals.
func checkMesh(s *scene.Scene, m *scene.Mesh) error {
	if len(m.Normals) != len(m.Positions) || len(m.UVs) != len(m.Positions) || len(m.Indices) == 0 {
		return fmt.Errorf("%d positions, %d normals, %d texture coordinates, %d indices", len(m.Positions), len(m.Normals), len(m.UVs), len(m.Indices))
	}
	next := 0
	for _, g := range m.Groups {
		if g.First != next || g.Count <= 0 || g.Count%3 != 0 || g.Material < 0 || g.Material >= len(s.Materials) {
			return fmt.Errorf("group %+v after %d indices", g, next)
		}
		next += g.Count
	}
	if next != len(m.Indices) {
		return fmt.Errorf("groups cover %d of %d indices", next, len(m.Indices))
	}
	for i, n := range m.Normals {
		if math.Abs(float64(n.Len())-1) > 1e-4 {
			return fmt.Errorf("normal %d is %v", i, n)
		}
	}
	for i := 0; i < len(m.Indices); i += 3 {
		if err := checkTriangle(m, m.Indices[i:i+3]); err != nil {
			return fmt.Errorf("triangle %d: %w", i/3, err)
		}
	}
	return nil
}

func checkTriangle(m *scene.Mesh, v []uint32) error {
	for _, i := range v {
		if int(i) >= len(m.Positions) {
			return fmt.Errorf("index %d of %d", i, len(m.Positions))
		}
	}
	a, b, c := m.Positions[v[0]], m.Positions[v[1]], m.Positions[v[2]]
	across := b.Sub(a).Cross(c.Sub(a))
	longest := max(b.Sub(a).Len(), c.Sub(a).Len(), c.Sub(b).Len())
	if across.Len() < 2e-3*longest { // a sliver: rounded vertices decide its side
		return nil
	}
	for _, i := range v {
		if across.Dot(m.Normals[i]) <= 0 {
			return fmt.Errorf("winding %v against normal %v at %v", across.Normalize(), m.Normals[i], m.Positions[i])
		}
	}
	return nil
}

func TestSceneIsComplete(t *testing.T) {
	s := town(t, city.Options{})
	names, types := map[string]bool{}, map[string]bool{}
	for i, a := range s.Actors {
		assert.EqualValues(t, i+1, a.ID)
		assert.False(t, names[a.Name], a.Name)
		names[a.Name], types[a.TypeID] = true, true
		for _, p := range a.Parts {
			assert.Less(t, p.Mesh, len(s.Meshes))
		}
	}
	for _, id := range []string{"vehicle.sedan", "vehicle.bus", "vehicle.bicycle", "walker.pedestrian.0001", "static.building",
		"static.vegetation", "static.streetlight", "static.bench", "static.hydrant", "static.bus_stop", "static.fence", "traffic.traffic_light"} {
		assert.True(t, types[id], id)
	}
	assert.LessOrEqual(t, len(s.Textures), 16)
	for _, x := range s.Textures {
		assert.Equal(t, 512, x.Image.Rect.Dx(), x.Name)
		assert.Equal(t, 512, x.Image.Rect.Dy(), x.Name)
	}
	retro := 0
	for _, m := range s.Materials {
		assert.Less(t, m.BaseColorTexture, len(s.Textures), m.Name)
		assert.NotEmpty(t, m.Name)
		assert.True(t, m.Reflectance > 0 && m.Reflectance <= 1, m.Name)
		if m.Retro {
			retro++
		}
	}
	assert.Equal(t, 2, retro, "signs and number plates")
	assert.InDelta(t, 1, s.Light.SunDirection.Len(), 1e-6)
	assert.Greater(t, s.Light.SunDirection.Dot(mgl32.Vec3{0, 0, 1}), float32(0.3))
}

// A vehicle stands on its wheels, is as wide to the left as to the right, and shows white lamps
// ahead and red ones behind.
func TestVehiclesAreBuiltForward(t *testing.T) {
	s := town(t, city.Options{Triangles: 300_000})
	seen := map[string]bool{}
	for _, a := range s.Actors {
		if !strings.HasPrefix(a.TypeID, "vehicle.") || a.TypeID == "vehicle.bicycle" || a.TypeID == "vehicle.motorcycle" {
			continue
		}
		seen[a.TypeID] = true
		m := &s.Meshes[a.Parts[0].Mesh]
		low, high := m.Positions[0], m.Positions[0]
		for _, p := range m.Positions {
			for k, x := range p {
				low[k], high[k] = min(low[k], x), max(high[k], x)
			}
		}
		assert.InDelta(t, 0, low[2], 0.02, a.Name)
		assert.InDelta(t, 0, low[1]+high[1], 0.02, a.Name)
		lamps := map[string]int{}
		for _, g := range m.Groups {
			name := s.Materials[g.Material].Name
			for _, i := range m.Indices[g.First : g.First+g.Count] {
				switch x := m.Positions[i][0]; name {
				case "head_lamp":
					require.Greater(t, x, 0.7*high[0], a.Name)
					lamps[name]++
				case "tail_lamp":
					require.Less(t, x, 0.7*low[0], a.Name)
					lamps[name]++
				}
			}
		}
		assert.Len(t, lamps, 2, a.Name)
	}
	assert.Len(t, seen, 8)
}

// Seen from its side a wheel is round: no arch of a body hides more of it than a sixth of its
// radius.
func TestWheelsShowInTheirArches(t *testing.T) {
	s := town(t, city.Options{})
	seen := map[string]bool{}
	for _, a := range s.Actors {
		if !strings.HasPrefix(a.TypeID, "vehicle.") || a.TypeID == "vehicle.bicycle" || a.TypeID == "vehicle.motorcycle" {
			continue
		}
		seen[a.TypeID] = true
		alone := scene.New("vehicle")
		alone.Materials, alone.Meshes = s.Materials, []scene.Mesh{s.Meshes[a.Parts[0].Mesh]}
		require.NoError(t, alone.AddActor(&scene.Actor{Pose: spatial.Identity(), Parts: []scene.Part{{Local: mgl64.Ident4()}}}))
		tracer := scenetest.NewTracer(alone, nil)
		m := &alone.Meshes[0]
		for _, g := range m.Groups {
			if s.Materials[g.Material].Name != "rim" {
				continue
			}
			for i := g.First; i < g.First+g.Count; i += 3 { // of a fan: one middle a wheel
				hub := middleOf(m, g, m.Positions[m.Indices[i]])
				side, radius := math.Copysign(1, hub[1]), 0.83*hub[2] // it stands on the ground
				for k := range 36 {
					sin, cos := math.Sincos(float64(k) * math.Pi / 18)
					from := mgl64.Vec3{hub[0] + radius*cos, 5 * side, hub[2] + radius*sin}
					h, ok := tracer.Trace(from, mgl64.Vec3{0, -side, 0}, 0, 10, 0)
					require.True(t, ok)
					require.Contains(t, []string{"rim", "tyre"}, s.Materials[h.Material].Name, "%s: wheel at %.2f, %d degrees", a.TypeID, hub, 10*k)
				}
			}
		}
	}
	assert.Len(t, seen, 8)
}

// middleOf returns the middle of a group's vertices that lie within 0.5 m of a place.
func middleOf(m *scene.Mesh, g scene.Group, near mgl32.Vec3) (middle mgl64.Vec3) {
	low, high := near, near
	for _, i := range m.Indices[g.First : g.First+g.Count] {
		p := m.Positions[i]
		if p.Sub(near).Len() > 1 || p[1]*near[1] < 0 {
			continue
		}
		for k := range p {
			low[k], high[k] = min(low[k], p[k]), max(high[k], p[k])
		}
	}
	for k := range middle {
		middle[k] = float64(low[k]+high[k]) / 2
	}
	return middle
}

// A walker has a foot on the ground all the time, and knees that bend backwards alone.
func TestWalkersStepOnTheGround(t *testing.T) {
	s := town(t, city.Options{})
	walkers := 0
	for _, a := range s.Actors {
		if a.Motion == nil || a.Parts[0].Tag != scene.TagPedestrian {
			continue
		}
		walkers++
		for stamp := simtime.Stamp(0); stamp < 1_200_000_000; stamp += 60_000_000 {
			lowest, joints := math.Inf(1), map[string]mgl64.Mat4{}
			for i := range a.Parts {
				p := &a.Parts[i]
				joints[p.Name] = p.At(stamp)
				for _, v := range s.Meshes[p.Mesh].Positions {
					lowest = min(lowest, mgl64.TransformCoordinate(mgl64.Vec3{float64(v[0]), float64(v[1]), float64(v[2])}, p.At(stamp))[2])
				}
			}
			require.InDelta(t, 0.01, lowest, 0.06, "%s at %v", a.Name, stamp)
			for _, side := range []string{"left", "right"} {
				bent := joints["leg_"+side].Inv().Mul4(joints["shin_"+side])
				require.Less(t, mgl64.TransformNormal(mgl64.Vec3{0, 0, -1}, bent)[0], 0.0, "%s at %v", a.Name, stamp)
			}
		}
	}
	assert.Equal(t, city.DefaultWalkers, walkers)
}

func BenchmarkGenerate(b *testing.B) {
	for _, n := range []int{100_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				generate(b, city.Options{Triangles: n})
			}
		})
	}
}

func ExampleGenerate() {
	s, err := city.Generate(city.Options{Seed: 1, Triangles: 50_000})
	if err != nil {
		fmt.Println(err)
		return
	}
	stats := s.Stats()
	fmt.Println(stats.Triangles >= 50_000, stats.Moving, s.Actors[0].Name)
	// Output: true 40 static.terrain_0001
}

// scan is what one turn of a VLP-16 sees: 16 rings from -15 to 15 degrees,
// 1800 azimuths, 1.9 m above the ego's base_link.
type scan struct {
	rays      int
	ranges    []float64 // of those that hit within 100 m, ascending
	instances map[uint32]bool
	tags      map[scene.Tag]bool
}

func scanFromEgo(s *scene.Scene) scan {
	const reach = 100
	tracer := scenetest.NewTracer(frozen(s), nil)
	sensor := s.Ego.Compose(spatial.FromRPY(mgl64.Vec3{0, 0, 1.9}, 0, 0, 0))
	out := scan{instances: map[uint32]bool{}, tags: map[scene.Tag]bool{}}
	for ring := range 16 {
		elevation := mgl64.DegToRad(float64(2*ring - 15))
		for column := range 1800 {
			azimuth := 2 * math.Pi * float64(column) / 1800
			d := mgl64.Vec3{math.Cos(elevation) * math.Cos(azimuth), math.Cos(elevation) * math.Sin(azimuth), math.Sin(elevation)}
			out.rays++
			if hit, ok := tracer.Trace(sensor.Position, sensor.Rotate(d), 0, reach, 0); ok {
				out.ranges = append(out.ranges, hit.T)
				out.instances[hit.Actor.ID] = true
				out.tags[hit.Tag()] = true
			}
		}
	}
	slices.Sort(out.ranges)
	return out
}

// frozen returns the scene as it stands at time 0, nothing moving: the tracer
// finds hits on standing actors faster.
func frozen(s *scene.Scene) *scene.Scene {
	out := *s
	out.Actors = nil
	for _, a := range s.Actors {
		still := *a
		if a.Motion != nil {
			still.Pose, still.Motion = a.Motion.PoseAt(0), nil
		}
		still.Parts = slices.Clone(a.Parts)
		for i := range still.Parts {
			if p := &still.Parts[i]; p.Joints != nil {
				p.Local, p.Joints = p.Joints(0), nil
			}
		}
		out.Actors = append(out.Actors, &still)
	}
	return &out
}

func TestSceneIsHonest(t *testing.T) {
	for seed := range uint64(2) {
		got := scanFromEgo(town(t, city.Options{Seed: seed}))
		share, median := float64(len(got.ranges))/float64(got.rays), got.ranges[len(got.ranges)/2]
		t.Logf("seed %d: %.1f %% of rays hit, %d instances, %d tags, median %.1f m", seed, 100*share, len(got.instances), len(got.tags), median)
		assert.GreaterOrEqual(t, share, 0.6)
		assert.GreaterOrEqual(t, len(got.instances), 150)
		assert.GreaterOrEqual(t, len(got.tags), 8)
		assert.InDelta(t, 24, median, 16)
	}
}

func TestMostTrianglesAreThings(t *testing.T) {
	stats := town(t, city.Options{}).Stats()
	things := 0
	for _, tag := range stats.Tags {
		switch tag.Tag {
		case scene.TagBuilding, scene.TagVegetation, scene.TagPole, scene.TagCar, scene.TagTruck, scene.TagBus,
			scene.TagMotorcycle, scene.TagBicycle:
			things += tag.Triangles
		}
	}
	assert.GreaterOrEqual(t, float64(things)/float64(stats.Triangles), 0.6)
}

func TestMoversByDefault(t *testing.T) {
	cars, walkers := 0, 0
	for _, a := range town(t, city.Options{}).Actors {
		if a.Motion == nil {
			continue
		}
		assert.Greater(t, a.Motion.PoseAt(2e9).Position.Sub(a.Motion.PoseAt(0).Position).Len(), 1.0, a.Name)
		if a.Parts[0].Tag == scene.TagPedestrian {
			walkers++
		} else {
			cars++
		}
	}
	assert.Equal(t, 20, cars)
	assert.Equal(t, 20, walkers)
}
