package scene_test

import (
	"math"
	"sync"
	"testing"
	"time"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func assertVec(t *testing.T, want, got mgl64.Vec3, delta float64, msg ...any) {
	t.Helper()
	assert.InDeltaSlice(t, want[:], got[:], delta, msg...)
}

// A square of 100 m with 10 m corners: four legs of 80 m and four quarter circles. The mean of
// these over 10/3 m to both sides has (sin(1/6) / (1/6))² of radius and speed.
func TestWaypointLoopIsExact(t *testing.T) {
	square := []mgl64.Vec3{{0, 0, 1}, {100, 0, 1}, {100, 100, 1}, {0, 100, 1}}
	l, err := scene.NewWaypointLoopWith(square, 8, scene.LoopOptions{CornerRadius: 10, Start: 5 * math.Pi})
	require.NoError(t, err)
	lap := 4*80 + 20*math.Pi
	assert.InDelta(t, lap, l.Length(), 1e-12)

	// At 0 the first corner is behind; 10 s later the leg's end comes.
	assertVec(t, mgl64.Vec3{14, 0, 1}, l.PoseAt(0.5e9).Position, 1e-12)
	assertVec(t, mgl64.Vec3{86, 0, 1}, l.PoseAt(9.5e9).Position, 1e-12)
	half := int64(math.Round((80 + 2.5*math.Pi) / 8 * 1e9)) // the middle of the next corner
	s := l.StateAt(simtime.Stamp(half))
	k, less := math.Sqrt(0.5), math.Pow(6*math.Sin(1./6), 2)
	assertVec(t, mgl64.Vec3{90 + 10*less*k, 10 - 10*less*k, 1}, s.Pose.Position, 1e-8)
	assertVec(t, mgl64.Vec3{8 * less * k, 8 * less * k, 0}, s.Twist.Linear, 1e-8)
	assertVec(t, mgl64.Vec3{0, 0, 0.8}, s.Twist.Angular, 1e-12)
	assertVec(t, mgl64.Vec3{-6.4 * less * k, 6.4 * less * k, 0}, s.Acceleration, 1e-8)
	assertVec(t, mgl64.Vec3{}, s.AngularAcceleration, 1e-8)
	assertVec(t, mgl64.Vec3{k, k, 0}, s.Pose.Rotate(mgl64.Vec3{1, 0, 0}), 1e-9)

	// A thousand laps later nothing has drifted; before time 0 it runs on too.
	for _, at := range []int64{0, 3e9, 12345678901} {
		far := at + int64(math.Round(1000*lap/8*1e9))
		assertVec(t, l.PoseAt(simtime.Stamp(at)).Position, l.PoseAt(simtime.Stamp(far)).Position, 1e-7)
		back := at - int64(math.Round(lap/8*1e9))
		assertVec(t, l.PoseAt(simtime.Stamp(at)).Position, l.PoseAt(simtime.Stamp(back)).Position, 1e-8)
	}
}

// The closed forms agree with differences of the poses, on slopes too.
func TestStatesAreTheDerivatives(t *testing.T) {
	hilly := []mgl64.Vec3{{0, 0, 0}, {40, 5, 4}, {60, 40, -2}, {10, 60, 3}, {-20, 20, 1}}
	for _, upright := range []bool{false, true} {
		l, err := scene.NewWaypointLoopWith(hilly, 7, scene.LoopOptions{Upright: upright})
		require.NoError(t, err)
		checked := 0
		for at := int64(0); at < 30e9; at += 171e6 {
			s := l.StateAt(simtime.Stamp(at))
			d := scene.StateOf(poseOnly{l}, simtime.Stamp(at))
			assertVec(t, s.Twist.Linear, d.Twist.Linear, 1e-4, at)
			assertVec(t, s.Twist.Angular, d.Twist.Angular, 1e-4, at)
			assertVec(t, s.Acceleration, d.Acceleration, 0.01, at)
			assert.InDelta(t, 7, s.Twist.Linear.Len(), 0.15)
			const step = 1e5 // the angular velocity's own differences
			turning := l.StateAt(simtime.Stamp(at + step)).Twist.Angular.Sub(l.StateAt(simtime.Stamp(at - step)).Twist.Angular).Mul(1e9 / (2 * step))
			assertVec(t, s.AngularAcceleration, turning, 1e-3, at)
			assertVec(t, mgl64.Vec3{1, 0, 0}, s.Pose.Orientation.Conjugate().Rotate(mgl64.Vec3{s.Twist.Linear[0], s.Twist.Linear[1], 0}).Normalize(),
				map[bool]float64{true: 1e-9, false: 0.2}[upright])
			checked++
		}
		assert.Greater(t, checked, 100)
	}
}

// What an IMU on a route feels changes no faster than the blends of r/3 allow, at the axle and
// 2 m ahead of it. Forces change by 3 v³/r², rates of turn by 3 v²/r², their change by 20
// v³/r³. A lap takes as long as the way at that speed, and on the legs nothing changes.
func TestWaypointLoopsHaveBoundedJerk(t *testing.T) {
	const speed, radius, ahead = 8.0, 6.0, 2.0
	for name, points := range map[string][]mgl64.Vec3{
		"square": {{0, 0, 0}, {60, 0, 0}, {60, 60, 0}, {0, 60, 0}},
		"hilly":  {{0, 0, 0}, {80, 10, 6}, {120, 80, -4}, {20, 120, 5}, {-40, 40, 1}},
		"bends":  {{0, 0, 0}, {50, 0, 0}, {100, 20, 0}, {80, 60, 0}, {90, 100, 0}, {0, 90, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := scene.NewWaypointLoop(points, speed)
			require.NoError(t, err)
			lap := l.Length() / speed
			const step = 1_000_000 // ns
			nose := func(s *scene.State) mgl64.Vec3 {
				arm := s.Pose.Rotate(mgl64.Vec3{ahead, 0, 0})
				return s.Acceleration.Add(s.AngularAcceleration.Cross(arm)).Add(s.Twist.Angular.Cross(s.Twist.Angular.Cross(arm)))
			}
			before := l.StateAt(0)
			var jerk, noseJerk, turn, change, most float64
			for at := int64(step); at < int64(lap*1e9); at += step {
				now := l.StateAt(simtime.Stamp(at))
				jerk = max(jerk, now.Acceleration.Sub(before.Acceleration).Len()*1e9/step)
				noseJerk = max(noseJerk, nose(&now).Sub(nose(&before)).Len()*1e9/step)
				turn = max(turn, now.Twist.Angular.Sub(before.Twist.Angular).Len()*1e9/step)
				change = max(change, now.AngularAcceleration.Sub(before.AngularAcceleration).Len()*1e9/step)
				most = max(most, now.Acceleration.Len())
				before = now
			}
			t.Logf("jerk up to %.1f m/s³, %.1f at the nose, turning up to %.2f rad/s², changing by %.1f rad/s³", jerk, noseJerk, turn, change)
			const perSecond = speed / radius
			assert.LessOrEqual(t, jerk, 3.01*speed*perSecond*perSecond)
			assert.LessOrEqual(t, turn, 3.1*perSecond*perSecond)
			assert.LessOrEqual(t, change, 20*perSecond*perSecond*perSecond)
			assert.LessOrEqual(t, noseJerk, 6*speed*perSecond*perSecond+20*ahead*perSecond*perSecond*perSecond)
			assert.LessOrEqual(t, most, 1.001*speed*perSecond)
			assert.Greater(t, most, 0.9*speed*perSecond, "its corners are corners")
			assertVec(t, l.PoseAt(0).Position, l.PoseAt(simtime.Stamp(math.Round(lap*1e9))).Position, 1e-7, "the lap")
			leg, err := scene.NewWaypointLoopWith(points, speed, scene.LoopOptions{Start: 22})
			require.NoError(t, err)
			middle := leg.StateAt(0)
			assert.InDelta(t, speed, middle.Twist.Linear.Len(), 1e-12, "a leg")
			assert.InDelta(t, 0, middle.Acceleration.Len()+middle.AngularAcceleration.Len(), 1e-9)
		})
	}
}

// A route that leads there and back slows down to turn round, and never looks aside.
func TestWaypointLoopTurnsRight(t *testing.T) {
	l, err := scene.NewWaypointLoop([]mgl64.Vec3{{0, 0, 0}, {40, 0, 0}}, 4)
	require.NoError(t, err)
	slowest, before := 4.0, l.StateAt(0).Acceleration
	for at := int64(1e6); at < 20e9; at += 1e6 {
		s := l.StateAt(simtime.Stamp(at))
		slowest = min(slowest, s.Twist.Linear.Len())
		assert.InDelta(t, 1, math.Abs(s.Pose.Rotate(mgl64.Vec3{1, 0, 0})[0]), 1e-9, "at %d", at)
		assert.LessOrEqual(t, s.Acceleration.Len(), 2*4*4/2+1e-9)
		assert.LessOrEqual(t, s.Acceleration.Sub(before).Len()*1e3, 2*4*4*4/(2*2)+0.01, "m/s³")
		before = s.Acceleration
		assert.InDelta(t, 0, s.Twist.Angular.Len(), 1e-6)
		assert.LessOrEqual(t, s.Pose.Position[0], 40.0)
	}
	assert.InDelta(t, 0, slowest, 1e-2)
	assertVec(t, mgl64.Vec3{-1, 0, 0}, l.PoseAt(10e9).Rotate(mgl64.Vec3{1, 0, 0}), 1e-9, "where it turns it looks ahead")
}

type poseOnly struct{ m scene.Motion }

func (p poseOnly) PoseAt(stamp simtime.Stamp) spatial.Pose { return p.m.PoseAt(stamp) }

func TestWaypointLoopRefusesWhatIsNoLoop(t *testing.T) {
	two := []mgl64.Vec3{{0, 0, 0}, {10, 0, 0}}
	for _, c := range []struct {
		points []mgl64.Vec3
		speed  float64
		says   string
	}{
		{two[:1], 1, "two different waypoints"},
		{[]mgl64.Vec3{{1, 1, 1}, {1, 1, 1}}, 1, "has 1"},
		{two, 0, "0 m/s"},
		{two, math.NaN(), "NaN"},
		{[]mgl64.Vec3{{0, 0, 0}, {0, math.Inf(1), 0}}, 1, "waypoint 1"},
	} {
		_, err := scene.NewWaypointLoop(c.points, c.speed)
		require.ErrorIs(t, err, scene.ErrMotion)
		assert.ErrorContains(t, err, c.says)
	}
	l, err := scene.NewWaypointLoopWith(two, 2, scene.LoopOptions{CornerRadius: 0.5, Upright: true}) // there and back
	require.NoError(t, err)
	assertVec(t, mgl64.Vec3{6, 0, 0}, l.PoseAt(7e9).Position, 1e-12)
	assertVec(t, mgl64.Vec3{-1, 0, 0}, l.PoseAt(7e9).Rotate(mgl64.Vec3{1, 0, 0}), 1e-12)
}

// At constant speed and steering the rear axle goes round a circle of radius
// wheelbase / tan(steering), whatever the ticks.
func TestDrivenGoesRoundACircle(t *testing.T) {
	d, err := scene.NewDriven(spatial.Identity(), scene.Vehicle{Wheelbase: 3, MaxAcceleration: 1e6})
	require.NoError(t, err)
	d.Advance(1)
	radius := 3 / math.Tan(0.3)
	for at := int64(10e6); at <= 4e9; at += 10e6 {
		require.NoError(t, d.SetCommand(scene.Command{BySpeed: true, Speed: 5, Steering: 0.3}))
		d.Advance(simtime.Stamp(at))
	}
	s := d.StateAt(4e9)
	centre := s.Pose.Apply(mgl64.Vec3{0, radius, 0})
	assertVec(t, mgl64.Vec3{0, radius, 0}, centre, 1e-3) // the first ticks sped up
	assert.InDelta(t, 5, s.Twist.Linear.Len(), 1e-9)
	assert.InDelta(t, 5/radius, s.Twist.Angular[2], 1e-9)
	assertVec(t, s.Pose.Rotate(mgl64.Vec3{0, 25 / radius, 0}), s.Acceleration, 1e-9)

	// Between ticks it is exact as well, and what was stays.
	mid := d.PoseAt(2_005_000_000)
	assert.InDelta(t, radius, mid.Position.Sub(centre).Len(), 1e-9)
	d.Advance(5e9)
	assert.Equal(t, mid, d.PoseAt(2_005_000_000))
	diff := scene.StateOf(poseOnly{d}, 2_005_000_000)
	assertVec(t, d.StateAt(2_005_000_000).Twist.Linear, diff.Twist.Linear, 1e-4)
}

// TestDrivenOnASlope: one that starts with a roll and a pitch drives in that plane, as one on the
// level drives on the ground.
func TestDrivenOnASlope(t *testing.T) {
	start := spatial.FromRPY(mgl64.Vec3{5, -3, 2}, 6, -10, 40)
	drive := func(start spatial.Pose) *scene.Driven {
		d, err := scene.NewDriven(start, scene.Vehicle{CommandTimeout: -1})
		require.NoError(t, err)
		require.NoError(t, d.SetCommand(scene.Command{Acceleration: 2, Steering: 0.2}))
		for at := simtime.Stamp(0); at <= 3e9; at += 10e6 {
			d.Advance(at)
		}
		return d
	}
	slope, level := drive(start), drive(spatial.Identity())
	for _, at := range []simtime.Stamp{0, 1_234_567_890, 3e9} {
		want, got := level.StateAt(at), slope.StateAt(at)
		pose := start.Compose(want.Pose)
		assertVec(t, pose.Position, got.Pose.Position, 1e-9)
		assert.InDelta(t, 1, math.Abs(pose.Orientation.Dot(got.Pose.Orientation)), 1e-12)
		assertVec(t, start.Rotate(want.Twist.Linear), got.Twist.Linear, 1e-9)
		assertVec(t, start.Rotate(want.Twist.Angular), got.Twist.Angular, 1e-9)
		assertVec(t, start.Rotate(want.Acceleration), got.Acceleration, 1e-9)
		assertVec(t, start.Rotate(want.AngularAcceleration), got.AngularAcceleration, 1e-9)
	}
	slope.Restart()
	assert.Equal(t, start.Position, slope.PoseAt(0).Position)
}

func TestDrivenForgetsOldCommands(t *testing.T) {
	for name, tt := range map[string]struct {
		timeout time.Duration
		command scene.Command
		tick    int64     // ns
		speeds  []float64 // m/s after each second
		turns   bool      // in the end
	}{
		"pedals":          {0, scene.Command{Acceleration: 2, Steering: 0.1}, 100e6, []float64{0, 0}, false},
		"reverse":         {0, scene.Command{Acceleration: 2, Reverse: true}, 100e6, []float64{0, 0}, false},
		"speed":           {0, scene.Command{BySpeed: true, Speed: -3}, 100e6, []float64{0, 0}, false},
		"its own timeout": {1500 * time.Millisecond, scene.Command{Acceleration: 2}, 100e6, []float64{2, 0}, false},
		"a tick that is longer than the timeout": {
			500 * time.Millisecond, scene.Command{Acceleration: 20}, 1000e6, []float64{0, 0}, false,
		},
		"none":                 {-1, scene.Command{Acceleration: 2, Steering: 0.1}, 100e6, []float64{2, 4}, true},
		"none, in a long tick": {-1, scene.Command{Acceleration: 2, Steering: 0.1}, 1000e6, []float64{2, 4}, true},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := scene.NewDriven(spatial.Identity(), scene.Vehicle{CommandTimeout: tt.timeout})
			require.NoError(t, err)
			require.NoError(t, d.SetCommand(tt.command))
			at := int64(0)
			for _, want := range tt.speeds {
				for end := at + 1e9; at < end; {
					at += tt.tick
					d.Advance(simtime.Stamp(at))
				}
				assert.InDelta(t, want, d.StateAt(simtime.Stamp(at)).Twist.Linear.Len(), 1e-9, "m/s at %d ns", at)
			}
			assert.Equal(t, tt.turns, d.Controls(simtime.Stamp(at)).Steering != 0)
			assert.NotZero(t, d.PoseAt(simtime.Stamp(at)).Position.Len(), "it moved first")
		})
	}
}

func TestDrivenBrakesAndRefuses(t *testing.T) {
	d, err := scene.NewDriven(spatial.Identity(), scene.Vehicle{MaxAcceleration: 1e6})
	require.NoError(t, err)
	require.NoError(t, d.SetCommand(scene.Command{BySpeed: true, Speed: 1}))
	d.Advance(1e6)
	require.NoError(t, d.SetCommand(scene.Command{Acceleration: -20}))
	require.ErrorIs(t, d.SetCommand(scene.Command{Speed: math.NaN()}), scene.ErrMotion)
	d.Advance(101e6)
	assert.InDelta(t, 0.2, d.StateAt(101e6).Twist.Linear.Len(), 1e-9, "brakes have a limit; what was refused changed nothing")
	d.Advance(401e6)
	assert.Zero(t, d.StateAt(401e6).Twist.Linear.Len(), "brakes don't drive backwards")
	_, err = scene.NewDriven(spatial.Identity(), scene.Vehicle{Wheelbase: -1})
	require.ErrorIs(t, err, scene.ErrMotion)
}

// TestDrivenJumps: the clock is set while the vehicle drives, to either side.
func TestDrivenJumps(t *testing.T) {
	for name, to := range map[string]int64{"ahead": 3600e9, "back": -3600e9, "by decades": 1_700_000_000e9} {
		t.Run(name, func(t *testing.T) {
			d, err := scene.NewDriven(spatial.Identity(), scene.Vehicle{MaxAcceleration: 1e6})
			require.NoError(t, err)
			h := scene.NewHistory(scene.New("empty"), d, 0)
			require.NoError(t, d.SetCommand(scene.Command{BySpeed: true, Speed: 2}))
			h.Record(1e6)
			h.Record(300e6)
			before, _ := h.State(scene.EgoID, 300e6)
			h.Jump(simtime.Stamp(to))
			after, ok := h.State(scene.EgoID, simtime.Stamp(to))
			require.True(t, ok)
			assert.Equal(t, before, after, "as it was")

			h.Record(simtime.Stamp(to + 100e6))
			moved, _ := h.State(scene.EgoID, simtime.Stamp(to+100e6))
			assert.InDelta(t, 0.2, moved.Pose.Position[0]-after.Pose.Position[0], 1e-9, "the command goes on")
			assert.InDelta(t, after.Pose.Position[0]+0.1, d.PoseAt(simtime.Stamp(to + 50e6)).Position[0], 1e-9)
			h.Record(simtime.Stamp(to + 1000e6))
			stopped, _ := h.State(scene.EgoID, simtime.Stamp(to+1000e6))
			assert.Zero(t, stopped.Twist.Linear.Len(), "and times out")
			assert.InDelta(t, 2*0.1+2*0.8/2, stopped.Pose.Position[0]-moved.Pose.Position[0], 1e-9, "200 ms after the jump")
		})
	}
}

func TestHistoryInterpolates(t *testing.T) {
	start := spatial.FromRPY(mgl64.Vec3{1, 2, 3}, 0, 0, 170)
	s := scenetest.MovingWall(20, 5)
	ego := scenetest.Linear{Start: start, Velocity: mgl64.Vec3{3, 0, 0}, YawRate: 0.5}
	h := scene.NewHistory(s, ego, 8)
	_, ok := h.Pose(scene.EgoID, 0)
	assert.False(t, ok, "nothing is recorded yet")
	for at := int64(0); at <= 200e6; at += 10e6 {
		h.Record(simtime.Stamp(at))
	}
	oldest, newest, _ := h.Span()
	assert.Equal(t, []int64{130e6, 200e6}, []int64{int64(oldest), int64(newest)})

	got, ok := h.Pose(scene.EgoID, 172_500_000)
	require.True(t, ok)
	want := ego.PoseAt(172_500_000)
	assertVec(t, want.Position, got.Position, 1e-12)
	assert.InDelta(t, 1, math.Abs(want.Orientation.Dot(got.Orientation)), 1e-12)
	state, _ := h.State(scene.EgoID, 172_500_000)
	assertVec(t, mgl64.Vec3{3, 0, 0}, state.Twist.Linear, 1e-6)
	assertVec(t, mgl64.Vec3{0, 0, 0.5}, state.Twist.Angular, 1e-6)

	for _, c := range [][2]int64{{0, 130e6}, {900e6, 200e6}, {150e6, 150e6}} { // outside: the nearest tick
		got, _ = h.Pose(scene.EgoID, simtime.Stamp(c[0]))
		assert.Equal(t, ego.PoseAt(simtime.Stamp(c[1])), got)
	}
	wall := s.Actors[1]
	got, _ = h.Pose(wall.ID, 185e6)
	assert.InDelta(t, 20.5-5*0.185, got.Position[0], 1e-12)
	floor, ok := h.Pose(s.Actors[0].ID, 5)
	assert.True(t, ok)
	assert.Equal(t, s.Actors[0].Pose, floor)
	_, ok = h.Pose(999, 0)
	assert.False(t, ok)

	h.Record(50e6) // time went back: a new beginning
	oldest, newest, _ = h.Span()
	assert.Equal(t, []int64{50e6, 50e6}, []int64{int64(oldest), int64(newest)})
}

func TestHistoryIsReadWhileItIsWritten(t *testing.T) {
	s := scenetest.MovingWall(20, 5)
	h := scene.NewHistory(s, nil, 4)
	h.Record(0)
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				_, newest, _ := h.Span()
				p, ok := h.Pose(s.Actors[1].ID, newest)
				if !ok || p.Position[0] > 20.5 {
					t.Errorf("pose %v at %d", p, newest)
					return
				}
			}
		})
	}
	for at := int64(1e6); at < 2e9; at += 1e6 {
		h.Record(simtime.Stamp(at))
	}
	close(done)
	readers.Wait()
}

func BenchmarkRecord(b *testing.B) {
	s := scene.New("fleet")
	l, err := scene.NewWaypointLoop([]mgl64.Vec3{{0, 0, 0}, {100, 0, 0}, {100, 100, 0}}, 10)
	require.NoError(b, err)
	for range 40 {
		require.NoError(b, s.AddActor(&scene.Actor{Name: "car", Motion: l}))
	}
	h := scene.NewHistory(s, nil, 0)
	at := int64(0)
	b.ReportAllocs()
	for b.Loop() {
		at += 1e7
		h.Record(simtime.Stamp(at))
	}
}

// circle goes round on a slope, to the left for a positive radius, backwards for a
// negative speed, with its speed growing.
type circle struct{ radius, speed, growth float64 }

func (c circle) PoseAt(stamp simtime.Stamp) spatial.Pose {
	s := float64(stamp) * 1e-9
	angle := (c.speed*s + c.growth*s*s/2) / c.radius
	flat := spatial.Pose{
		Position:    mgl64.Vec3{c.radius * math.Sin(angle), c.radius * (1 - math.Cos(angle)), 0},
		Orientation: mgl64.QuatRotate(angle, mgl64.Vec3{0, 0, 1}),
	}
	return spatial.FromRPY(mgl64.Vec3{50, 20, 3}, 8, -5, 33).Compose(flat)
}

func TestControlsOnACircle(t *testing.T) {
	v := scene.Vehicle{Wheelbase: 2.5, MaxAcceleration: 3, MaxDeceleration: 6}
	for _, c := range []struct {
		motion                    circle
		steering, throttle, brake float64
		gear                      int8
	}{
		{circle{20, 8, 0}, math.Atan(2.5 / 20), 0, 0, 1},
		{circle{-15, 8, 0}, -math.Atan(2.5 / 15), 0, 0, 1},
		{circle{20, -4, 0}, math.Atan(2.5 / 20), 0, 0, -1},
		{circle{20, 8, 1.5}, math.Atan(2.5 / 20), 0.5, 0, 1},
		{circle{20, 8, -3}, math.Atan(2.5 / 20), 0, 0.5, 1},
		{circle{20, -8, -1.5}, math.Atan(2.5 / 20), 0.5, 0, -1},
		{circle{20, -8, 3}, math.Atan(2.5 / 20), 0, 0.5, -1},
		{circle{20, 8, -60}, math.Atan(2.5 / 20), 0, 1, 1},
		{circle{2, 8, 0}, 0.6, 0, 0, 1}, // tighter than the wheels turn
		{circle{1e9, 0, 0}, 0, 0, 0, 0},
	} {
		got := v.ControlsOf(scene.StateOf(c.motion, 0))
		assert.InDelta(t, c.motion.speed, got.Speed, 1e-4, "%+v", c.motion)
		assert.InDelta(t, c.motion.growth, got.Acceleration, 1e-4)
		assert.InDelta(t, c.steering, got.Steering, 1e-6, "%+v", c.motion)
		assert.InDelta(t, got.Steering/0.6, got.SteeringShare, 1e-9)
		assert.InDelta(t, c.throttle, got.Throttle, 1e-4, "%+v", c.motion)
		assert.InDelta(t, c.brake, got.Brake, 1e-4, "%+v", c.motion)
		assert.Equal(t, c.gear, got.Gear, "%+v", c.motion)
		assert.Equal(t, c.gear < 0, got.Reverse)
	}
	start := scene.State{Pose: spatial.Identity(), Acceleration: mgl64.Vec3{-2, 0, 0}}
	got := scene.Vehicle{}.ControlsOf(start)
	assert.Equal(t, scene.Controls{Acceleration: -2, Throttle: 0.5, Gear: -1, Reverse: true}, got, "it sets off backwards")
}

// TestControlsOfOneThatStops: on its way to a standstill, and there, nobody takes the brake for
// the throttle of the other gear.
func TestControlsOfOneThatStops(t *testing.T) {
	for _, way := range []float64{1, -1} {
		d, err := scene.NewDriven(spatial.Identity(), scene.Vehicle{})
		require.NoError(t, err)
		now := simtime.Stamp(0)
		advance := func(c scene.Command) scene.Controls {
			require.NoError(t, d.SetCommand(c))
			now += 10_000_000
			d.Advance(now)
			return d.Controls(now)
		}
		for range 13 {
			advance(scene.Command{BySpeed: true, Speed: way})
		}
		for range 12 {
			c := advance(scene.Command{BySpeed: true})
			assert.Zero(t, c.Throttle, "at %v m/s", c.Speed)
			assert.GreaterOrEqual(t, way*float64(c.Gear), 0.0, "at %v m/s", c.Speed)
		}
		assert.Zero(t, d.Controls(now).Brake, "it stands")
	}
}

// A Driven says what it was told, also where its motion says nothing: at a standstill.
func TestControlsOfADriven(t *testing.T) {
	car, err := scene.NewDriven(spatial.Identity(), scene.Vehicle{MaxAcceleration: 4, MaxDeceleration: 8})
	require.NoError(t, err)
	h := scene.NewHistory(scene.New("empty"), car, 0)
	at := int64(0)
	h.Record(simtime.Stamp(at))
	drive := func(c scene.Command, ticks int) scene.Controls {
		require.NoError(t, car.SetCommand(c))
		for range ticks {
			at += 10e6
			h.Record(simtime.Stamp(at))
		}
		got, ok := h.Controls(scene.EgoID, scene.Vehicle{Wheelbase: 99}, simtime.Stamp(at))
		require.True(t, ok)
		return got
	}
	got := drive(scene.Command{Steering: 0.3}, 1)
	assert.Equal(t, [4]float64{0, 0.3, 0, 0}, [4]float64{got.Speed, got.Steering, got.Throttle, got.Brake})
	assert.Zero(t, got.Gear)
	got = drive(scene.Command{Steering: 9, Acceleration: 2}, 20)
	assert.InDelta(t, 0.4, got.Speed, 1e-9)
	assert.InDeltaSlice(t, []float64{0.6, 0.5, 0}, []float64{got.Steering, got.Throttle, got.Brake}, 1e-9)
	got = drive(scene.Command{Acceleration: -4}, 5)
	assert.InDeltaSlice(t, []float64{0, 0, 0.5}, []float64{got.Steering, got.Throttle, got.Brake}, 1e-9)
	got = drive(scene.Command{BySpeed: true, Speed: -2}, 30)
	assert.True(t, got.Reverse)
	assert.InDelta(t, 1, got.Throttle, 1e-9)

	// Derived from its state, it is the same.
	vehicle := scene.Vehicle{MaxAcceleration: 4, MaxDeceleration: 8}
	drive(scene.Command{Steering: -0.2, BySpeed: true, Speed: 5}, 40)
	own, state := car.Controls(simtime.Stamp(at)), car.StateAt(simtime.Stamp(at))
	derived := vehicle.ControlsOf(state)
	assert.InDelta(t, own.Steering, derived.Steering, 1e-9)
	assert.InDelta(t, own.Throttle, derived.Throttle, 1e-9)
	_, ok := h.Controls(42, vehicle, simtime.Stamp(at))
	assert.False(t, ok)
}
