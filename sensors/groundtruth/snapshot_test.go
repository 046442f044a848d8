package groundtruth_test

import (
	"math"
	"slices"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/city"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/groundtruth"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/sensors/sensortest"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/world"
)

// street has a house, a parked car and a car that drives at 3 m/s. It has a light that is green
// for 10 s from 0.05 s on.
func street() *scene.Scene {
	b := scenetest.NewBuilder("street")
	put := func(name, typeID string, size mgl64.Vec3, p scene.Placement) *scene.Actor {
		p.TypeID = typeID
		return b.Put(name, scenetest.Box(size[0], size[1], size[2]), scenetest.Matte(name, 1, 1, 1), p)
	}
	put("house", "static.building", mgl64.Vec3{10, 10, 10}, scenetest.At(0, 30, 0, scene.TagBuilding))
	put("parked", "vehicle.sedan", mgl64.Vec3{4, 2, 1.5}, scenetest.At(10, 5, 0, scene.TagCar))
	moving := scenetest.At(0, 0, 0, scene.TagCar)
	moving.Motion = scenetest.Linear{Start: spatial.Identity(), Velocity: mgl64.Vec3{3, 0, 0}}
	put("moving", "vehicle.taxi", mgl64.Vec3{4, 2, 1.5}, moving)
	light := put("light", "traffic.traffic_light", mgl64.Vec3{0.3, 0.3, 1}, scenetest.At(20, -5, 0, scene.TagTrafficLight))
	b.Scene.Signals = []scene.TrafficLight{{
		ID: 1, Actor: light.ID, Green: 10_000_000_000, Yellow: 3_000_000_000, Red: 12_000_000_000, OffsetNs: 50_000_000,
	}}
	return b.Scene
}

func TestSnapshotHasTheActorsAndNotTheHouses(t *testing.T) {
	h := sensortest.New(t, groundtruth.SnapshotDefinition, sensortest.Options{
		Scene: street(), Ego: scenetest.Linear{Start: spatial.Identity(), Velocity: mgl64.Vec3{0, 2, 0}},
	})
	h.Fire(100_000_000)
	h.Fire(200_000_000)
	m := sensortest.Last[*sample.Snapshot](h, "snapshot")
	require.Len(t, m.Actors, 4)
	assert.Equal(t, int64(100_000_000), m.DeltaNs)
	assert.Equal(t, uint64(1), m.Frame)
	ego, parked, moving, light := &m.Actors[0], &m.Actors[1], &m.Actors[2], &m.Actors[3]

	assert.Equal(t, []string{"vehicle.ego", "vehicle.sedan", "vehicle.taxi", "traffic.traffic_light"},
		[]string{ego.TypeID, parked.TypeID, moving.TypeID, light.TypeID})
	assert.Equal(t, []sample.ActorKind{sample.KindVehicle, sample.KindVehicle, sample.KindVehicle, sample.KindTrafficLight},
		[]sample.ActorKind{ego.Kind, parked.Kind, moving.Kind, light.Kind})
	assert.InDelta(t, 0.4, ego.Pose.Position[1], 1e-9)
	assert.InDelta(t, 0.6, moving.Pose.Position[0], 1e-9)
	assert.InDelta(t, 3, moving.Twist.Linear[0], 1e-6)
	assert.Equal(t, mgl64.Vec3{2, 1, 0.75}, moving.BoxHalf)
	assert.Equal(t, []int32{1, 0}, []int32{moving.Gear, parked.Gear})
	assert.Equal(t, mgl64.Vec3{10, 5, 0}, parked.Pose.Position)
	assert.Equal(t, world.SignalGreen, light.Signal)
	assert.InDelta(t, 0.15, light.SignalElapsed, 1e-6)
	assert.Equal(t, []float32{10, 3, 12}, []float32{light.Green, light.Yellow, light.Red})
}

// TestSnapshotHasWhoWasSpawned as if they had been there from the start, by rising id, while they
// are there.
func TestSnapshotHasWhoWasSpawned(t *testing.T) {
	s := street()
	last := func(s *scene.Scene, then func(*scene.History)) *sample.Snapshot {
		h := sensortest.New(t, groundtruth.SnapshotDefinition, sensortest.Options{Scene: s})
		then(h.Env.History)
		h.Fire(100_000_000)
		h.Fire(200_000_000)
		return sensortest.Last[*sample.Snapshot](h, "snapshot")
	}
	want := last(s, func(*scene.History) {}).Actors
	spawn := scenetest.Hold(s, "vehicle.*")
	got := last(s, func(h *scene.History) { spawn(h) }).Actors
	require.Len(t, got, len(want))
	for i, k := range []int{0, 3, 1, 2} { // the light has a lower id than those who came
		got, want := got[i], want[k]
		if k == 1 || k == 2 {
			assert.EqualValues(t, 4+k, got.ID)
			got.ID = want.ID
		}
		assert.Equal(t, want, got)
	}

	// Parts, type and box of its own; it is there from one frame to another.
	h := sensortest.New(t, groundtruth.SnapshotDefinition, sensortest.Options{Scene: s})
	h.Fire(10_000_000)
	parts := slices.Clone(s.Models[0].Parts)
	parts[0].Joints = func(simtime.Stamp) mgl64.Mat4 { return mgl64.Scale3D(0.125, 0.25, 1.2) }
	walker, err := h.Env.History.SpawnActor(s.Models[0], scene.Actor{TypeID: "walker.tall", Parts: parts},
		scenetest.Linear{Start: spatial.Identity(), Velocity: mgl64.Vec3{0, 1.5, 0}})
	require.NoError(t, err)
	h.Fire(20_000_000)
	require.NoError(t, h.Env.History.Remove(walker.ID))
	h.Fire(30_000_000)
	for i, there := range []bool{false, true, false} {
		m := h.Messages["snapshot"][i].(*sample.Snapshot)
		require.Equal(t, there, len(m.Actors) == 3, "frame %d", i)
		if there {
			a := m.Actors[2]
			assert.Equal(t, sample.KindWalker, a.Kind)
			assert.Equal(t, [2]any{walker.ID, "walker.tall"}, [2]any{a.ID, a.TypeID})
			assert.InDeltaSlice(t, []float64{0.25, 0.25, 0.9}, a.BoxHalf[:], 1e-9)
			assert.InDelta(t, 1.5, a.Twist.Linear[1], 1e-6)
		}
	}
}

// TestSnapshotDeltaIsTheFrames: also of the first that is heard, and after a jump of the clock.
func TestSnapshotDeltaIsTheFrames(t *testing.T) {
	h := sensortest.New(t, groundtruth.SnapshotDefinition, sensortest.Options{Scene: street()})
	for frame, at := range []int64{5_000_000_000, 5_010_000_000, 20_000_000} {
		h.Env.History.Record(simtime.Stamp(at))
		require.NoError(t, h.Sensor.Tick(sensors.Tick{Due: simtime.Stamp(at), PeriodNs: 10_000_000, Frame: uint64(100 + frame)}))
		assert.Equal(t, int64(10_000_000), sensortest.Last[*sample.Snapshot](h, "snapshot").DeltaNs)
	}
}

// TestSnapshotSteeringOfACircle: 5 m/s and 0.5 rad/s to the left are a radius of 10 m. That is
// atan(2.8 / 10) of 0.6 rad at the front wheels of the default vehicle.
func TestSnapshotSteeringOfACircle(t *testing.T) {
	loop := circle{}
	h := sensortest.New(t, groundtruth.SnapshotDefinition, sensortest.Options{Scene: street(), Ego: loop})
	h.Fire(100_000_000)
	ego := sensortest.Last[*sample.Snapshot](h, "snapshot").Actors[0]
	assert.InDelta(t, -math.Atan(0.28)/0.6, ego.Steering, 1e-3)
	assert.Equal(t, int32(1), ego.Gear)
	assert.InDelta(t, 0, ego.Throttle, 1e-3)
}

// circle is a circle of 10 m at 0.5 rad/s.
type circle struct{}

func (circle) PoseAt(stamp simtime.Stamp) spatial.Pose {
	angle := 0.5 * float64(stamp) * 1e-9
	sin, cos := math.Sincos(angle)
	return spatial.FromRPY(mgl64.Vec3{10 * sin, 10 - 10*cos, 0}, 0, 0, angle*180/math.Pi)
}

// BenchmarkSnapshot is one snapshot of the default city, without what makes copies of it.
func BenchmarkSnapshot(b *testing.B) {
	town, err := city.Generate(city.Options{})
	require.NoError(b, err)
	h := sensortest.New(b, groundtruth.SnapshotDefinition, sensortest.Options{Scene: town, Ego: town.Route})
	h.Fire(0)
	b.ReportMetric(float64(len(sensortest.Last[*sample.Snapshot](h, "snapshot").Actors)), "actors")
	b.ReportAllocs()
	for seq := uint64(1); b.Loop(); seq++ {
		_ = h.Sensor.Tick(sensors.Tick{Due: 0, Seq: seq})
	}
}
