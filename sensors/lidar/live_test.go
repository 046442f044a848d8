//go:build cgo

package lidar_test

import (
	"maps"
	"math"
	"os"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/lidar"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/sensors/sensortest"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) { gputest.Main(m) }

const height = 1.9 // of the mast, metres

var mast = spatial.FromRPY(mgl64.Vec3{0, 0, height}, 0, 0, 0)

// scan fires a lidar once, at stamp: a VLP-16 unless the attributes say otherwise.
func scan(t *testing.T, o sensortest.Options, stamp simtime.Stamp) *sample.PointCloud {
	t.Helper()
	return scanOf(t, lidar.RayCastDefinition, o, stamp)
}

func scanOf(t *testing.T, d *sensors.Definition, o sensortest.Options, stamp simtime.Stamp) *sample.PointCloud {
	t.Helper()
	h := sensortest.New(t, d, vlp16(t, o))
	h.Fire(stamp)
	return sensortest.Last[*sample.PointCloud](h, "points")
}

// vlp16 adds the preset to options that have none.
func vlp16(tb testing.TB, o sensortest.Options) sensortest.Options {
	tb.Helper()
	o.GL = gputest.Thread(tb)
	attributes := map[string]any{"preset": "VelodyneVLP16"}
	maps.Copy(attributes, o.Attributes)
	o.Attributes = attributes
	return o
}

func ground() *scene.Scene {
	b := scenetest.NewBuilder("ground")
	b.Put("ground", scenetest.Plane(400, 8), scenetest.Matte("grey", 0.5, 0.5, 0.5), scenetest.At(0, 0, 0, scene.TagRoads))
	return b.Scene
}

func TestPlaneRangesAreExact(t *testing.T) {
	m := scan(t, sensortest.Options{Scene: ground(), Mount: mast, Attributes: map[string]any{"organized": true, "atmosphere_attenuation_rate": 0.0}}, scanPeriod)
	d, _ := lidar.Preset("VelodyneVLP16")
	rays := d.Rays(scanPeriod)
	require.Len(t, m.Points, len(rays))
	assert.EqualValues(t, simtime.Stamp(0), m.Stamp)
	assert.Equal(t, "under_test", m.FrameID)
	hits := 0
	for i, r := range rays {
		p := &m.Points[i]
		require.EqualValues(t, i, p.Ray)
		require.Equal(t, r.Ring, p.Ring)
		require.EqualValues(t, r.TimeNs, p.TimeNs)
		require.InDelta(t, math.Atan2(r.Direction[1], r.Direction[0]), p.Azimuth, 1e-4)
		require.InDelta(t, math.Asin(r.Direction[2]), p.Elevation, 1e-4)
		want := -(height + r.Origin[2]) / r.Direction[2]
		if r.Direction[2] >= 0 || want >= 100 {
			require.True(t, math.IsInf(float64(p.Distance), 1), "ray %d", i)
			require.True(t, math.IsNaN(float64(p.X)))
			continue
		}
		hits++
		require.InDelta(t, want, p.Distance, scenetest.Tolerance(want))
		require.InDelta(t, -height, p.Z, 1e-3)
		require.InDelta(t, -r.Direction[2], p.CosIncidence, 1e-5)
		require.InDelta(t, 100*0.5*-r.Direction[2], p.Intensity, 0.05)
		require.EqualValues(t, scene.TagRoads, p.Tag)
		require.EqualValues(t, 1, p.Instance)
		require.EqualValues(t, sample.ReturnStrongest, p.Return)
	}
	assert.Greater(t, hits, 10_000)
}

// A wall that comes nearer while the lidar turns is seen where it is at each
// ray's own time.
func TestRollingScanSeesAMovingWall(t *testing.T) {
	const distance, speed = 30.0, 20.0
	s := scenetest.MovingWall(distance, speed)
	m := scan(t, sensortest.Options{Scene: s, Mount: mast}, 2*scanPeriod)
	assert.EqualValues(t, simtime.Stamp(scanPeriod), m.Stamp)
	seen := map[bool]int{}
	for i := range m.Points {
		p := &m.Points[i]
		if p.Z < -height+0.5 {
			continue // the floor
		}
		at := float64(m.Stamp+simtime.Stamp(p.TimeNs)) / 1e9
		require.InDelta(t, distance-speed*at, p.X, 2e-3)
		seen[p.TimeNs > scanPeriod/2]++
	}
	assert.Greater(t, seen[false], 50, "rays at the scan's begin")
	assert.Greater(t, seen[true], 50, "rays at the scan's end")
}

// A wall that a joint brings nearer, at 4 m/s, is seen within half of 12.5 ms of each ray's own
// time: 25 mm. With one shape a scan it would be 0.2 m. A scan of an instant is exact.
func TestRollingScanSeesWhatMovesInItself(t *testing.T) {
	const distance, speed = 12.0, 4.0
	wall := scenetest.Box(1, 20, 10)
	for range wall.Positions {
		wall.Joints, wall.Weights = append(wall.Joints, 0), append(wall.Weights, 1)
	}
	wall.Groups = []scene.Group{{Count: len(wall.Indices)}}
	asset := &scene.Asset{
		Name: "wall", Materials: []scene.Material{scenetest.Matte("grey", 0.5, 0.5, 0.5)}, Meshes: []scene.Mesh{wall},
		Nodes: []scene.Node{
			{Name: "wall", Parent: -1, Local: scene.IdentityTRS(), Skin: &scene.Skin{Joints: []int{1}, Bind: []mgl64.Mat4{mgl64.Ident4()}}},
			{Name: "joint", Parent: -1, Mesh: -1, Local: scene.IdentityTRS()},
		},
		Animations: []scene.Animation{{DurationNs: 1e9, Channels: []scene.Channel{
			{Node: 1, Path: scene.PathTranslation, TimesNs: []int64{0, 1e9}, Values: []float64{0, 0, 0, -speed, 0, 0}},
		}}},
	}
	s := ground()
	place := scenetest.At(distance+0.5, 0, 5, scene.TagPedestrian)
	place.Whole = true
	_, err := s.Add(asset, place)
	require.NoError(t, err)
	for _, rolling := range []bool{true, false} {
		m := scan(t, sensortest.Options{Scene: s, Mount: mast, Attributes: map[string]any{"rolling": rolling}}, 2*scanPeriod)
		worst, sum, n := 0.0, 0.0, 0
		for i := range m.Points {
			p := &m.Points[i]
			if p.Z < -height+0.5 {
				continue // the floor
			}
			at := float64(m.Stamp+simtime.Stamp(p.TimeNs)) / 1e9
			off := distance - speed*at - float64(p.X)
			worst, sum, n = max(worst, math.Abs(off)), sum+off, n+1
			assert.EqualValues(t, scene.TagPedestrian, p.Tag)
		}
		require.Greater(t, n, 200)
		if rolling {
			assert.Less(t, worst, speed*0.00625+2e-3)
			assert.InDelta(t, 0, sum/float64(n), 4e-3, "neither late nor early")
		} else {
			assert.Less(t, worst, 2e-3)
		}
	}
}

// A lidar that drives sees a standing wall from where it is at each ray's time.
func TestRollingScanFromAMovingSensor(t *testing.T) {
	s := scenetest.MovingWall(30, 0)
	m := scan(t, sensortest.Options{Scene: s, Mount: mast, Ego: scenetest.Linear{Start: spatial.Identity(), Velocity: mgl64.Vec3{15, 0, 0}}}, 2*scanPeriod)
	walls := 0
	for i := range m.Points {
		p := &m.Points[i]
		if p.Z >= -height+0.5 {
			at := float64(m.Stamp+simtime.Stamp(p.TimeNs)) / 1e9
			require.InDelta(t, 30-15*at, p.X, 2e-3)
			walls++
		}
	}
	assert.Greater(t, walls, 100)
}

func TestInstantScan(t *testing.T) {
	m := scan(t, sensortest.Options{Scene: scenetest.MovingWall(30, 20), Mount: mast, Attributes: map[string]any{"rolling": false}}, 2*scanPeriod)
	assert.EqualValues(t, simtime.Stamp(2*scanPeriod), m.Stamp)
	for i := range m.Points {
		p := &m.Points[i]
		require.Zero(t, p.TimeNs)
		if p.Z >= -height+0.5 {
			require.InDelta(t, 30-20*0.2, p.X, 2e-3)
		}
	}
}

// agreement holds a whole rolling scan beside the float64 tracer.
func agreement(t *testing.T, s *scene.Scene, o sensortest.Options) *scenetest.Agreement {
	t.Helper()
	o.Scene = s
	o = vlp16(t, o)
	o.Attributes["organized"] = true
	h := sensortest.New(t, lidar.RayCastDefinition, o)
	h.Fire(3 * scanPeriod)
	m := sensortest.Last[*sample.PointCloud](h, "points")
	tracer := scenetest.NewTracer(s, h.Env.History.Pose)
	d, _ := lidar.Preset("VelodyneVLP16")
	var a scenetest.Agreement
	for i, r := range d.Rays(scanPeriod) {
		at := m.Stamp + simtime.Stamp(r.TimeNs)
		pose := h.Env.Pose(o.Mount, at)
		a.Add(tracer, pose.Apply(r.Origin), pose.Rotate(r.Direction), r.MinM, r.MaxM, at, float64(m.Points[i].Distance))
	}
	return &a
}

func TestSoupAgainstTheTracer(t *testing.T) {
	for seed := range uint64(2) {
		a := agreement(t, scenetest.Soup(seed, 2000, true), sensortest.Options{
			Mount: mast, Ego: scenetest.Linear{Start: spatial.Identity(), Velocity: mgl64.Vec3{8, 1, 0}, YawRate: 0.3},
		})
		t.Log(a)
		assert.GreaterOrEqual(t, a.Share(), 0.9999)
		assert.Zero(t, a.Wrong)
	}
}

func TestAnEmptyScanSaysWhy(t *testing.T) {
	above := spatial.FromRPY(mgl64.Vec3{0, 0, 150}, 0, 0, 0)
	for _, organized := range []bool{false, true} {
		h := sensortest.New(t, lidar.RayCastDefinition, vlp16(t, sensortest.Options{Scene: ground(), Mount: above, Attributes: map[string]any{"organized": organized}}))
		h.Fire(scanPeriod)
		m := sensortest.Last[*sample.PointCloud](h, "points")
		assert.Len(t, m.Points, map[bool]int{true: 28_800}[organized])
		assert.Equal(t, map[flow.Cause]int{flow.CauseNoReturn: 1}, h.Drops)
	}
	h := sensortest.New(t, lidar.LaserScanDefinition, sensortest.Options{Scene: ground(), Mount: above, GL: gputest.Thread(t)})
	h.Fire(scanPeriod)
	assert.Equal(t, map[flow.Cause]int{flow.CauseNoReturn: 1}, h.Drops)
	for _, r := range sensortest.Last[*sample.LaserScan](h, "scan").Ranges {
		assert.True(t, math.IsInf(float64(r), 1))
	}
}

func BenchmarkScanGround(b *testing.B) {
	if os.Getenv("REQUIRE_GL") == "" {
		b.Skip("set REQUIRE_GL to measure")
	}
	h := sensortest.New(b, lidar.RayCastDefinition, vlp16(b, sensortest.Options{Scene: ground(), Mount: mast}))
	stamp := int64(0)
	for b.Loop() {
		stamp += scanPeriod
		h.Fire(simtime.Stamp(stamp))
	}
	b.ReportMetric(float64(28_800*b.N)/b.Elapsed().Seconds(), "rays/s")
}

// The near-field lasers of an AT128 see what is near in every second column, the others
// in none.
func TestNearFieldLasersAlternate(t *testing.T) {
	b := scenetest.NewBuilder("room")
	b.Put("room", scenetest.Box(6, 6, 6), scenetest.Matte("grey", 0.5, 0.5, 0.5), scenetest.At(0, 0, 0, scene.TagBuilding))
	m := scan(t, sensortest.Options{Scene: b.Scene, Attributes: map[string]any{"preset": "HesaiAT128E2X", "organized": true, "columns": 61}}, scanPeriod)
	d, _ := lidar.Preset("HesaiAT128E2X")
	require.Len(t, m.Points, 61*len(d.Lasers))
	for i := range m.Points {
		laser, column := i%len(d.Lasers), i/len(d.Lasers)
		if near := d.Lasers[laser].MinM == 0.5 && column%2 == 0; near {
			require.Less(t, m.Points[i].Distance, float32(6), "laser %d, column %d", laser, column)
			require.Greater(t, m.Points[i].Distance, float32(2.9), "laser %d, column %d", laser, column)
		} else {
			require.True(t, math.IsInf(float64(m.Points[i].Distance), -1), "laser %d, column %d reads %v", laser, column, m.Points[i].Distance)
		}
	}
}

// A rolling scan from a car that drives sideways past the ego, towards a wall. Each ray is
// fired from where the car is at its own time.
func TestALidarRidesOnAnotherActor(t *testing.T) {
	const start, speed = 30.0, 20.0 // metres before the wall, m/s
	b := scenetest.NewBuilder("ride")
	b.Put("wall", scenetest.Box(60, 1, 40), scenetest.Matte("white", 0.8, 0.8, 0.8), scenetest.At(0, start+0.5, 0, scene.TagWall))
	car := b.Put("car", scenetest.Box(4, 2, 1), scenetest.Matte("black", 0.1, 0.1, 0.1), scene.Placement{
		TypeID: "vehicle.car", Tag: scene.TagCar,
		Motion: scenetest.Linear{Start: spatial.FromRPY(mgl64.Vec3{3, 0, 0}, 0, 0, 90), Velocity: mgl64.Vec3{0, speed, 0}},
	})
	h := sensortest.New(t, lidar.RayCastSemanticDefinition, sensortest.Options{
		Scene: b.Scene, GL: gputest.Thread(t), Owner: car.ID, Mount: spatial.FromRPY(mgl64.Vec3{0, 0, 2}, 0, 0, 0), Attributes: map[string]any{"range": 100},
	})
	h.Fire(2 * scanPeriod)
	m := sensortest.Last[*sample.PointCloud](h, "points")
	stamp := float64(m.Stamp) / 1e9
	assert.InDelta(t, speed*stamp, m.Pose.Position[1], 1e-9)
	walls := 0
	for i := range m.Points {
		p := &m.Points[i]
		if scene.Tag(p.Tag) != scene.TagWall {
			continue
		}
		walls++
		before := start - speed*(stamp+float64(p.TimeNs)/1e9)
		require.InDelta(t, before, p.X, 1e-3, "point %d", i)
		require.InDelta(t, before/math.Hypot(float64(p.X), math.Hypot(float64(p.Y), float64(p.Z))), p.CosIncidence, 1e-4)
	}
	assert.Greater(t, walls, 500)
}

// A rolling scan has an actor from the moment at which it was spawned, within the scan. It has
// the actor up to the moment at which it was removed.
func TestSpawnedActorIsInTheScanAtOnce(t *testing.T) {
	b := scenetest.NewBuilder("reserve")
	b.Put("floor", scenetest.Plane(60, 4), scenetest.Matte("grey", 0.5, 0.5, 0.5), scenetest.At(0, 0, 0, scene.TagRoads))
	// A ball around the sensor: whatever time it is, rays look at it.
	b.Put("ball", scenetest.Sphere(6, 12), scenetest.Matte("red", 1, 0, 0), scene.Placement{TypeID: "static.ball", Tag: scene.TagWall, Reserved: true})
	h := sensortest.New(t, lidar.RayCastDefinition, sensortest.Options{
		Scene: b.Scene, GL: gputest.Thread(t), Mount: mast, Attributes: map[string]any{"noise_stddev": 0.0},
	})
	seen := func(id uint32) (first, last uint32, n int) {
		m := sensortest.Last[*sample.PointCloud](h, "points")
		for i := range m.Points {
			if p := &m.Points[i]; p.Instance == id {
				if n++; n == 1 {
					first, last = p.TimeNs, p.TimeNs
				}
				first, last = min(first, p.TimeNs), max(last, p.TimeNs)
			}
		}
		return first, last, n
	}
	h.Fire(scanPeriod)
	_, _, n := seen(2) // the one that comes
	assert.Zero(t, n)
	h.Fire(3 * scanPeriod / 2) // the next scan begins before the spawn
	ball, err := h.Env.History.Spawn("static.ball", scene.Standing(spatial.FromRPY(mgl64.Vec3{0, 0, height}, 0, 0, 0)))
	require.NoError(t, err)
	require.EqualValues(t, 2, ball.ID)
	h.Fire(2 * scanPeriod)
	first, last, n := seen(ball.ID)
	assert.Positive(t, n)
	assert.InDelta(t, scanPeriod/2+10e6, first, 1e6, "spawned at the tick after")
	assert.InDelta(t, scanPeriod, last, 1e6)
	require.NoError(t, h.Env.History.Remove(ball.ID))
	h.Fire(3 * scanPeriod)
	first, last, n = seen(ball.ID)
	assert.Positive(t, n)
	assert.InDelta(t, 0, first, 1e6)
	assert.InDelta(t, 10e6, last, 1e6, "removed at the tick after")
	h.Fire(4 * scanPeriod)
	_, _, n = seen(ball.ID)
	assert.Zero(t, n)
}

// Two slots are others' within a scan. It has those who came last from their time on, by their own
// ids and tags, where the analytic boxes of their own parts are.
func TestScanOfWhoTookASlot(t *testing.T) {
	b := scenetest.NewBuilder("slots")
	b.Put("floor", scenetest.Plane(60, 4), scenetest.Matte("grey", 0.5, 0.5, 0.5), scenetest.At(0, 0, -20, scene.TagRoads))
	unit := b.Put("unit", scenetest.Box(1, 1, 1), scenetest.Matte("red", 1, 0, 0), scene.Placement{TypeID: "any", Tag: scene.TagCar, Reserved: true})
	b.Put("ball", scenetest.Sphere(2, 12), scenetest.Matte("blue", 0, 0, 1), scene.Placement{TypeID: "ball", Tag: scene.TagDynamic, Reserved: true})
	h := sensortest.New(t, lidar.RayCastDefinition, sensortest.Options{
		Scene: b.Scene, GL: gputest.Thread(t), Attributes: map[string]any{"noise_stddev": 0.0, "range": 60},
	})
	// It surrounds the sensor: whatever the time, rays look at it.
	size := mgl64.Vec3{24, 16, 8}
	parts := []scene.Part{unit.Parts[0]}
	parts[0].Tag = scene.TagBus
	parts[0].Joints = func(simtime.Stamp) mgl64.Mat4 { return mgl64.Scale3D(size[0], size[1], size[2]) }
	motion := scenetest.Linear{Start: spatial.FromRPY(mgl64.Vec3{1, -1, 0.5}, 0, 0, 25), Velocity: mgl64.Vec3{8, -4, 0}, YawRate: 0.5}
	history := h.Env.History
	h.Fire(scanPeriod)
	spawn := func(model *scene.Actor, as scene.Actor, m scene.Motion) *scene.Actor {
		a, err := history.SpawnActor(model, as, m)
		require.NoError(t, err)
		return a
	}
	ball := spawn(b.Scene.Models[1], scene.Actor{}, scene.Standing(spatial.Identity()))
	small := spawn(unit, scene.Actor{}, scene.Standing(scenetest.At(0, 5, 0, 0).Pose))
	h.Fire(2 * scanPeriod)
	count := func() map[uint32]int {
		m, n := sensortest.Last[*sample.PointCloud](h, "points"), map[uint32]int{}
		for i := range m.Points {
			n[m.Points[i].Instance]++
		}
		return n
	}
	assert.Greater(t, count()[ball.ID], 1000)
	// In the third scan both leave, and others come.
	h.Fire(2*scanPeriod + scanPeriod/5)
	require.NoError(t, history.Remove(ball.ID))
	require.NoError(t, history.Remove(small.ID))
	h.Fire(2*scanPeriod + 3*scanPeriod/10)
	around := spawn(unit, scene.Actor{TypeID: "vehicle.bus", Parts: parts}, motion)
	h.Fire(3 * scanPeriod)
	m := sensortest.Last[*sample.PointCloud](h, "points")
	n := count()
	assert.Zero(t, n[ball.ID], "another took its slot")
	require.Greater(t, n[around.ID], 1000)
	first := uint32(math.MaxUint32)
	for i := range m.Points {
		p := &m.Points[i]
		if p.Instance != around.ID {
			continue
		}
		first = min(first, p.TimeNs)
		require.Equal(t, scene.TagBus, scene.Tag(p.Tag))
		to := motion.PoseAt(m.Stamp + simtime.Stamp(p.TimeNs)).Inverse()
		at := to.Apply(mgl64.Vec3{float64(p.X), float64(p.Y), float64(p.Z)})
		off := math.Inf(1) // from the nearest face
		for axis := range 3 {
			off = min(off, math.Abs(math.Abs(at[axis])-size[axis]/2))
			require.Less(t, math.Abs(at[axis]), size[axis]/2+2e-3, "point %d", i)
		}
		require.Less(t, off, 2e-3, "point %d", i)
	}
	assert.InDelta(t, 3*scanPeriod/10+10e6, first, 1e6, "from the tick on at which it came")
	h.Fire(4 * scanPeriod)
	assert.Greater(t, count()[around.ID], n[around.ID])
}

// A table of a device's own firings gives what the device gives, firing by firing: the two shaders share
// nothing but the tracer. Noise and drop-off are those of the firings' numbers.
func TestAFiringTableGivesWhatItsDeviceGives(t *testing.T) {
	for name, more := range map[string]map[string]any{
		"plain":       {"intensity": "carla"},
		"noisy":       {"noise_stddev": 0.05, "dropoff_general_rate": 0.1, "dropoff_zero_intensity": 0.4},
		"compensated": {"compensated": true, "intensity": "svl"},
		"an instant":  {"rolling": false},
	} {
		t.Run(name, func(t *testing.T) {
			o := sensortest.Options{
				Scene: scenetest.MovingWall(30, 20), Mount: mast, Seed: 4,
				Ego: scenetest.Linear{Start: spatial.Identity(), Velocity: mgl64.Vec3{5, 1, 0}},
				Attributes: map[string]any{
					"preset": "uniform", "channels": 20, "columns": 300, "range": 60.0, "range_min": 5.0, "upper_fov": 5,
					"organized": true, "dropoff_general_rate": 0, "dropoff_zero_intensity": 0,
				},
			}
			maps.Copy(o.Attributes, more)
			want := scan(t, o, 3*scanPeriod)
			d := lidar.UniformDevice(20, 300, 5, -30, 360)
			d.MinM, d.MaxM = 5, 60
			rays := d.Rays(scanPeriod)
			for i := range rays {
				rays[i].TimeNs += int64(i % 20) // no two are of one time
			}
			o.Attributes = map[string]any{"firing_table": tableOf(t, rays), "firing_period": 0.1}
			maps.Copy(o.Attributes, more)
			o.GL = gputest.Thread(t)
			h := sensortest.New(t, lidar.RayCastDefinition, o)
			h.Fire(3 * scanPeriod)
			got := sensortest.Last[*sample.PointCloud](h, "points")
			assert.Equal(t, want.Stamp, got.Stamp)
			returns := 0
			for i := range got.Points {
				g := &got.Points[i]
				w := &want.Points[g.Ray]
				require.Equal(t, w.Ring, g.Ring)
				require.InDelta(t, w.TimeNs, g.TimeNs, 20)
				require.InDelta(t, w.Azimuth, g.Azimuth, 1e-5)
				require.InDelta(t, w.Elevation, g.Elevation, 1e-5)
				if w.Return != g.Return || math.Abs(float64(w.Distance-g.Distance)) > 1e-3 {
					continue // at an edge
				}
				returns++
				require.InDelta(t, w.X, g.X, 2e-3)
				require.InDelta(t, w.Y, g.Y, 2e-3)
				require.InDelta(t, w.Z, g.Z, 2e-3)
				require.Equal(t, w.Tag, g.Tag)
				require.InDelta(t, w.Intensity, g.Intensity, 0.01)
			}
			n := 0
			for i := range want.Points {
				if want.Points[i].Return != sample.ReturnUnknown {
					n++
				}
			}
			assert.Greater(t, n, 2000)
			assert.InDelta(t, n, returns, float64(n)/1000)
			assert.InDelta(t, n, len(got.Points), float64(n)/1000)
		})
	}
}

// A table that is longer than a scan gives each scan other directions, those of its own window.
func TestAPatternThatDoesNotRepeat(t *testing.T) {
	const rows = 5000
	rays := make([]lidar.Ray, rows)
	for i := range rays { // a rosette, 0.25 s of it
		a, r := 2*math.Pi*float64(i)*0.618034, 0.3*math.Abs(math.Cos(float64(i)*0.0137))
		rays[i] = lidar.Ray{
			Direction: mgl64.Vec3{1, r * math.Cos(a), r*math.Sin(a) - 0.5}.Normalize(), TimeNs: int64(i) * 50_000, MaxM: 100,
		}
	}
	o := sensortest.Options{Scene: ground(), Mount: mast, GL: gputest.Thread(t), Attributes: map[string]any{"firing_table": tableOf(t, rays)}}
	h := sensortest.New(t, lidar.RayCastDefinition, o)
	for k := range 6 {
		h.Fire(simtime.Stamp(k+1) * scanPeriod)
		m := sensortest.Last[*sample.PointCloud](h, "points")
		require.Len(t, m.Points, 2000)
		for i := range m.Points {
			p := &m.Points[i]
			r := &rays[(2000*k+i)%rows]
			require.EqualValues(t, i, p.Ray)
			require.EqualValues(t, i*50_000, p.TimeNs)
			want := -height / r.Direction[2]
			require.InDelta(t, want, p.Distance, scenetest.Tolerance(want))
			require.InDelta(t, want*r.Direction[0], p.X, 1e-3)
			require.InDelta(t, want*r.Direction[1], p.Y, 1e-3)
		}
	}
}
