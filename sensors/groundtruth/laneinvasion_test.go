package groundtruth_test

import (
	"sync"
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
)

// road has a broken line at y = 1 and a solid one at y = 3, along x.
func road() *scene.Scene {
	s := scene.New("road")
	s.Ego = spatial.Identity()
	line := func(y float64) []mgl64.Vec3 { return []mgl64.Vec3{{-100, y, 0}, {0, y, 0}, {100, y, 0}} }
	s.LaneMarks = []scene.LaneMark{
		{ID: 1, Type: scene.LaneMarkBroken, Color: scene.LaneMarkWhite, Points: line(1)},
		{ID: 2, Type: scene.LaneMarkSolid, Color: scene.LaneMarkYellow, Points: line(3)},
	}
	return s
}

// marks are the road's, as they are published.
func marks() (list []sample.LaneMark) {
	for _, m := range road().LaneMarks {
		list = append(list, sample.LaneMark{ID: m.ID, Type: sample.LaneMarkType(m.Type), Color: sample.LaneMarkColor(m.Color), Points: m.Points})
	}
	return list
}

// frameNs is the time between two frames.
const frameNs = 10_000_000

// car is a snapshot of actor 7, 4 m long and 2 m wide, at (x, y).
func car(frame uint64, x, y float64) *sample.Snapshot {
	pose := spatial.Identity()
	pose.Position = mgl64.Vec3{x, y, 0.5}
	return &sample.Snapshot{
		Header: sample.Header{Frame: frame, Stamp: simtime.Stamp(frameNs * int64(frame))}, DeltaNs: frameNs,
		Actors: []sample.ActorState{{ID: 7, Pose: pose, BoxHalf: mgl64.Vec3{2, 1, 0.5}}},
	}
}

func TestLaneWatchCountsEachMarkOnce(t *testing.T) {
	type step struct {
		frame uint64
		x, y  float64
		want  []uint32
	}
	for name, steps := range map[string][]step{
		"along the lane":                    {{1, 0, -0.5, nil}, {2, 10, -0.5, nil}},
		"over the first line":               {{1, 0, -0.5, nil}, {2, 1, 0.5, []uint32{1}}, {3, 2, 0.6, nil}},
		"over both at once":                 {{1, 0, -0.5, nil}, {2, 1, 8, []uint32{1, 2}}},
		"left wheels over, right follow":    {{1, 0, -0.5, nil}, {2, 1, 1.5, []uint32{1}}, {3, 2, 2.1, []uint32{1, 2}}},
		"an older frame counts for nothing": {{5, 0, -0.5, nil}, {4, 1, 8, nil}, {5, 1, 8, nil}, {6, 1, -0.5, nil}},
		"parked on the line":                {{1, 0, 0, nil}, {2, 0, 0, nil}, {3, 0, 0, nil}},
		"halts on the line and continues":   {{1, 0, -0.5, nil}, {2, 0, 0, []uint32{1}}, {3, 0, 0.5, nil}},
		"beyond the line's end":             {{1, 150, -0.5, nil}, {2, 150, 8, nil}},
	} {
		t.Run(name, func(t *testing.T) {
			w := groundtruth.NewLaneWatch(7, marks())
			for _, s := range steps {
				var got []uint32
				for _, m := range w.Next(car(s.frame, s.x, s.y)) {
					got = append(got, m.ID)
				}
				assert.Equal(t, s.want, got, "frame %d", s.frame)
			}
		})
	}
}

func TestLaneWatchForgetsAnActorThatHasGone(t *testing.T) {
	w := groundtruth.NewLaneWatch(7, marks())
	assert.Empty(t, w.Next(car(1, 0, -0.5)))
	assert.Empty(t, w.Next(&sample.Snapshot{Header: sample.Header{Frame: 2}}))
	assert.Empty(t, w.Next(car(3, 0, 8)), "it appeared there")
	assert.Len(t, w.Next(car(4, 0, -0.5)), 2)
}

// TestLaneWatchAnOldFrameOfAnActorThatHasGone comes after the frame in which it isn't any more.
func TestLaneWatchAnOldFrameOfAnActorThatHasGone(t *testing.T) {
	w := groundtruth.NewLaneWatch(7, marks())
	assert.Empty(t, w.Next(&sample.Snapshot{Header: sample.Header{Frame: 2, Stamp: 2 * frameNs}}))
	assert.Empty(t, w.Next(car(1, 0, -0.5)), "older")
	assert.Empty(t, w.Next(car(3, 0, 8)), "it has come there")
}

// TestLaneWatchAJumpOfTheClockIsNoWay: frames go on rising over it.
func TestLaneWatchAJumpOfTheClockIsNoWay(t *testing.T) {
	for name, jump := range map[string]int64{"back": -90, "far ahead": 500} {
		t.Run(name, func(t *testing.T) {
			w := groundtruth.NewLaneWatch(7, marks())
			at := func(frame uint64, y float64) []sample.CrossedMark {
				s := car(frame, 0, y)
				if frame > 101 {
					s.Stamp += simtime.Stamp(jump * frameNs)
				}
				return w.Next(s)
			}
			require.Empty(t, at(100, -0.5))
			require.Len(t, at(101, 8), 2)
			assert.Empty(t, at(102, -0.5), "where it was at another time")
			assert.Len(t, at(103, 8), 2, "and goes on")
		})
	}
}

// TestLaneWatchCrossedMarksAreTheCallers: what one goroutine was given isn't another's.
func TestLaneWatchCrossedMarksAreTheCallers(t *testing.T) {
	w := groundtruth.NewLaneWatch(7, marks())
	w.Next(car(0, 0, -0.5))
	var wg sync.WaitGroup
	for g := range uint64(4) {
		wg.Go(func() {
			for k := range uint64(200) {
				frame := 1 + 4*k + g
				for _, m := range w.Next(car(frame, 0, float64(frame%2)*8-0.5)) {
					assert.Contains(t, []uint32{1, 2}, m.ID)
				}
			}
		})
	}
	wg.Wait()
}

func TestLaneWatchTakesSnapshotsFromSeveralGoroutines(t *testing.T) {
	w := groundtruth.NewLaneWatch(7, marks())
	w.Next(car(0, 0, -0.5))
	var wg sync.WaitGroup
	for g := range uint64(4) {
		wg.Go(func() {
			for k := range uint64(200) {
				w.Next(car(1+4*k+g, 0, -0.5))
			}
		})
	}
	wg.Wait()
	assert.Empty(t, w.Next(car(100, 0, 8)), "frames up to 800 were seen")
	assert.Len(t, w.Next(car(801, 0, 8)), 2)
}

// TestLaneInvasionFollowsItsOwner drives the ego over the broken line at the instant that its
// left side reaches it. Its box is 1.9 m wide and it drifts at 1 m/s from y = 0, so that is at
// 0.05 s.
func TestLaneInvasionFollowsItsOwner(t *testing.T) {
	h := sensortest.New(t, groundtruth.LaneInvasionDefinition, sensortest.Options{
		Scene: road(),
		Ego:   scenetest.Linear{Start: spatial.Identity(), Velocity: mgl64.Vec3{10, 1, 0}},
	})
	for k := range int64(10) {
		h.Fire(simtime.Stamp(k * 10_000_000))
	}
	events := h.Messages["lane_invasion"]
	require.Len(t, events, 1)
	e := events[0].(*sample.LaneInvasion)
	assert.Equal(t, simtime.Stamp(50_000_000), e.Stamp)
	assert.Equal(t, uint32(scene.EgoID), e.Actor)
	assert.Equal(t, []sample.CrossedMark{{ID: 1, Type: sample.LaneMarkBroken, Color: sample.LaneMarkWhite}}, e.Marks)
}

// TestLaneInvasionWhatNobodyHeardIsNotToldLater: the sensor isn't ticked while nobody listens.
func TestLaneInvasionWhatNobodyHeardIsNotToldLater(t *testing.T) {
	h := sensortest.New(t, groundtruth.LaneInvasionDefinition, sensortest.Options{
		Scene: road(),
		Ego:   scenetest.Linear{Start: spatial.Identity(), Velocity: mgl64.Vec3{10, 1, 0}},
	})
	tick := func(frame uint64) {
		at := int64(frame) * frameNs
		h.Env.History.Record(simtime.Stamp(at))
		require.NoError(t, h.Sensor.Tick(sensors.Tick{Due: simtime.Stamp(at), PeriodNs: frameNs, Frame: frame}))
	}
	tick(3)
	tick(100) // over the broken line meanwhile
	assert.Empty(t, h.Messages["lane_invasion"])
	for frame := uint64(101); frame < 200; frame++ {
		tick(frame)
	}
	assert.Len(t, h.Messages["lane_invasion"], 1, "the right side crosses at 1.95 s")
}

func TestLaneInvasionOnlyVehiclesOwnIt(t *testing.T) {
	sensor, err := groundtruth.LaneInvasionDefinition.New(sensors.Spec{Name: "lanes", Settings: groundtruth.LaneInvasionDefinition.NewSettings()})
	require.NoError(t, err)
	owned := sensor.(sensors.Owned)
	require.ErrorIs(t, owned.SetOwner(sensors.Owner{TypeID: "walker.pedestrian.0001"}), groundtruth.ErrOwner)
	require.NoError(t, owned.SetOwner(sensors.Owner{TypeID: "vehicle.sedan"}))
}

// BenchmarkLaneInvasion is one frame of the ego's way through the default city: the sensor is
// ticked at every instant.
func BenchmarkLaneInvasion(b *testing.B) {
	town, err := city.Generate(city.Options{})
	require.NoError(b, err)
	h := sensortest.New(b, groundtruth.LaneInvasionDefinition, sensortest.Options{Scene: town, Ego: town.Route})
	h.Fire(10_000_000)
	h.Fire(20_000_000)
	b.ReportAllocs()
	for frame := uint64(2); b.Loop(); frame++ { // ahead, and by a jump of the clock back
		at := sensors.Tick{Due: simtime.Stamp(10_000_000 * int64(1+frame%2)), PeriodNs: 10_000_000, Frame: frame}
		require.NoError(b, h.Sensor.Tick(at))
	}
}
