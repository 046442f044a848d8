package motion_test

import (
	"context"
	"log/slog"
	"math"
	"strings"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/all"
	"github.com/raybridge/raybridge/sensors/motion"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/sensors/sensortest"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// drivenWorld is a pipeline whose ego is driven, with sensors on it, in steps of 10 ms.
func drivenWorld(t *testing.T, s *scene.Scene, list ...sensors.Config) (*pipeline.Pipeline, *scene.Driven) {
	t.Helper()
	car, err := scene.NewDriven(s.Ego, scene.Vehicle{})
	require.NoError(t, err)
	world, err := pipeline.New(t.Context(), pipeline.Config{Scene: s, Ego: car, Sensors: all.Registry(), Step: 10_000_000, Open: gputest.NewFake().Open})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, world.Close(context.Background())) })
	for i := range list {
		_, err := world.AddSensor(list[i])
		require.NoError(t, err)
	}
	return world, car
}

// outside is a scene with a wall far away and the ego at the origin.
func outside() *scene.Scene {
	s := scenetest.MovingWall(900, 1)
	s.Ego = spatial.Identity()
	return s
}

// speedOf is the car's at the latest tick.
func speedOf(car *scene.Driven) float64 { return car.Controls(math.MaxInt64).Speed }

// TestCruiseControlKeepsItsSpeed, though nobody listens, and a command from outside wins while
// it holds.
func TestCruiseControlKeepsItsSpeed(t *testing.T) {
	world, car := drivenWorld(t, outside(), sensors.Config{ID: "sensor.other.cruise_control", Name: "cruise", Attributes: map[string]any{"cruise_speed": 6.0}})
	require.NoError(t, world.Step(t.Context(), 300))
	assert.InDelta(t, 6, speedOf(car), 1e-9)
	keeping, err := world.Sensor("cruise")
	require.NoError(t, err)
	require.NoError(t, keeping.Tune(pipeline.Tuning{Attributes: map[string]any{"cruise_speed": 5.0}}))
	require.NoError(t, world.Step(t.Context(), 300))
	assert.InDelta(t, 5, speedOf(car), 1e-9, "another speed, while it runs")
	require.NoError(t, keeping.Tune(pipeline.Tuning{Attributes: map[string]any{"cruise_speed": 6.0}}))
	require.NoError(t, world.Step(t.Context(), 300))
	require.NoError(t, car.SetCommand(scene.Command{BySpeed: true, Speed: 2}))
	require.NoError(t, world.Step(t.Context(), 50))
	assert.InDelta(t, 2, speedOf(car), 1e-9, "8 m/s² for half a second")
	require.NoError(t, world.Step(t.Context(), 300))
	assert.InDelta(t, 6, speedOf(car), 1e-9, "the command has timed out")

	cruise, err := world.Sensor("cruise")
	require.NoError(t, err)
	require.NoError(t, cruise.Destroy())
	require.NoError(t, cruise.Wait(t.Context()))
	require.NoError(t, world.Step(t.Context(), 300))
	assert.InDelta(t, 0, speedOf(car), 1e-9, "nobody keeps the speed any more")
}

// TestAutopilotsNeedADrivenVehicle names what to do.
func TestAutopilotsNeedADrivenVehicle(t *testing.T) {
	for _, d := range []*sensors.Definition{motion.CruiseControlDefinition, motion.LaneFollowingDefinition, motion.ControlCalibrationDefinition} {
		life := sensors.NewLife(d)
		require.NoError(t, life.Set(sensors.Spec{Name: "it"}))
		assert.ErrorIs(t, life.SetOwner(sensors.Owner{}), motion.ErrNotDriven, d.ID)
	}
	for speed, want := range map[float64]error{0: nil, 3: motion.ErrNotDriven} {
		life := sensors.NewLife(motion.DestinationDefinition)
		settings := motion.DestinationDefinition.NewSettings()
		require.NoError(t, settings.Set("drive_speed", speed))
		require.NoError(t, life.Set(sensors.Spec{Name: "it", Settings: settings}))
		assert.ErrorIs(t, life.SetOwner(sensors.Owner{}), want)
	}
}

// square is a scene with a square route of 60 m sides; the ego stands on its first leg.
func square(t *testing.T) (*scene.Scene, *scene.WaypointLoop) {
	t.Helper()
	loop, err := scene.NewWaypointLoop([]mgl64.Vec3{{0, 0, 0}, {60, 0, 0}, {60, 60, 0}, {0, 60, 0}}, 5)
	require.NoError(t, err)
	s := outside()
	s.Route, s.Ego = loop, spatial.FromRPY(mgl64.Vec3{10, 0.5, 0}, 0, 0, 5)
	return s, loop
}

// TestLaneFollowingKeepsToTheRoute round its bends, for more than a lap.
func TestLaneFollowingKeepsToTheRoute(t *testing.T) {
	s, loop := square(t)
	world, car := drivenWorld(t, s, sensors.Config{ID: "sensor.other.lane_following", Name: "lane", Attributes: map[string]any{"cruise_speed": 8.0}})
	way, fastest := 0.0, 0.0
	last := s.Ego.Position
	for k := range 500 {
		require.NoError(t, world.Step(t.Context(), 10))
		pose := car.PoseAt(math.MaxInt64)
		way += pose.Position.Sub(last).Len()
		last, fastest = pose.Position, max(fastest, speedOf(car))
		if k < 20 {
			continue // it begins beside the route
		}
		on, direction := loop.At(loop.Nearest(pose, 0))
		assert.Less(t, on.Sub(pose.Position).Len(), 0.6, "metres from the route, after %v m", way)
		assert.Greater(t, direction.Dot(pose.Rotate(mgl64.Vec3{1, 0, 0})), 0.7)
		turning := car.StateAt(math.MaxInt64)
		assert.Less(t, turning.Twist.Angular.Len()*turning.Twist.Linear.Len(), 4.5, "m/s² to the side")
	}
	assert.Greater(t, way, loop.Length())
	assert.InDelta(t, 8, fastest, 0.01)
}

// TestLaneFollowingObeysSteering for half a second, times its sensitivity.
func TestLaneFollowingObeysSteering(t *testing.T) {
	d := motion.LaneFollowingDefinition
	car, err := scene.NewDriven(spatial.Identity(), scene.Vehicle{})
	require.NoError(t, err)
	settings := d.NewSettings()
	require.NoError(t, settings.Set("steering_sensitivity", 0.5))
	require.NoError(t, settings.Set("cruise_speed", 4.0))
	life := sensors.NewLife(d)
	require.NoError(t, life.Set(sensors.Spec{Name: "lane", Settings: settings}))
	require.NoError(t, life.SetOwner(sensors.Owner{Vehicle: car}))
	in := d.Inputs[0].Open()
	require.NoError(t, life.Begin(t.Context(), &sensors.Env{Scene: karlsruhe(), Inlets: []sensors.Inlet{in}, Log: slog.New(slog.DiscardHandler)}))
	in.Put(&sample.VehicleControl{SteeringAngle: 0.2, HasAngle: true, Acceleration: 1})
	for k := int64(1); k <= 100; k++ {
		now := simtime.Stamp(k * 10_000_000)
		require.NoError(t, life.PreTick(sensors.Tick{Due: now, Seq: uint64(k)}))
		car.Advance(now)
		want := 0.1
		if k > 50 {
			want = 0
		}
		assert.InDelta(t, want, car.Controls(now-1).Steering, 1e-9, "step %d", k)
	}
	assert.InDelta(t, 4, speedOf(car), 1e-9, "the pedals of the message don't count")
}

// TestWhoFindsNoRouteSaysSo: a vehicle that would follow a route, in a scene without one.
func TestWhoFindsNoRouteSaysSo(t *testing.T) {
	for _, c := range []struct {
		d          *sensors.Definition
		attributes map[string]any
		warned     string
	}{
		{motion.LaneFollowingDefinition, nil, "drives straight ahead"},
		{motion.DestinationDefinition, map[string]any{"drive_speed": 5.0}, "stays where it is"},
		{motion.DestinationDefinition, nil, ""},
	} {
		car, err := scene.NewDriven(spatial.Identity(), scene.Vehicle{})
		require.NoError(t, err)
		sensor, err := sensorOf(c.d, c.attributes)
		require.NoError(t, err)
		require.NoError(t, sensor.(sensors.Owned).SetOwner(sensors.Owner{Vehicle: car}))
		var log strings.Builder
		env := &sensors.Env{Scene: karlsruhe(), Log: slog.New(slog.NewTextHandler(&log, nil))}
		for _, in := range c.d.Inputs {
			env.Inlets = append(env.Inlets, in.Open())
		}
		for _, out := range c.d.Outputs {
			env.Ports = append(env.Ports, out.Open())
		}
		require.NoError(t, sensor.Begin(t.Context(), env))
		if c.warned == "" {
			assert.Empty(t, log.String())
			continue
		}
		assert.Contains(t, log.String(), c.warned)
		assert.Contains(t, log.String(), "ego.waypoints")
	}
}

// TestDestinationIsReached: the vehicle drives there along the route and stops, and says so.
func TestDestinationIsReached(t *testing.T) {
	s, _ := square(t)
	world, car := drivenWorld(t, s, sensors.Config{ID: "sensor.other.destination", Name: "to", Attributes: map[string]any{
		"destination": []float64{60, 40, 90}, "drive_speed": 8.0,
	}})
	to, err := world.Sensor("to")
	require.NoError(t, err)
	var got []*sample.Destination
	listener, err := pipeline.Listen(to, "destination", func(_ sensors.Tick, m *sample.Destination) {
		kept := *m
		got = append(got, &kept)
	})
	require.NoError(t, err)
	require.NoError(t, world.Step(t.Context(), 3000))
	listener.Stop()
	require.NoError(t, to.Tune(pipeline.Tuning{Attributes: map[string]any{"destination": []float64{0, 20, -90}}}))
	require.NoError(t, world.Step(t.Context(), 3000))
	assert.InDelta(t, 20, car.PoseAt(math.MaxInt64).Position[1], 1, "the next destination")
	require.NoError(t, to.Tune(pipeline.Tuning{Attributes: map[string]any{"destination": []float64{60, 40, 90}}}))
	require.NoError(t, world.Step(t.Context(), 500))
	assert.Greater(t, speedOf(car), 1.0, "on its way back")
	require.NoError(t, to.Tune(pipeline.Tuning{Attributes: map[string]any{"destination": []float64{}}}))
	require.NoError(t, world.Step(t.Context(), 300))
	assert.InDelta(t, 0, speedOf(car), 1e-9, "there is nowhere to go")
	require.NotEmpty(t, got)
	first, last := got[0], got[len(got)-1]
	assert.False(t, first.Reached)
	assert.Equal(t, spatial.FrameMap, first.FrameID)
	assert.InDelta(t, 60, first.Goal.Position[0], 1e-12)
	assert.True(t, last.Reached)
	assert.Less(t, last.Distance, 1.0)
	assert.InDelta(t, 0, speedOf(car), 1e-3)
}

// TestDestinationThatLooksTheOtherWay: the vehicle stops beside it, and doesn't say that it is
// there.
func TestDestinationThatLooksTheOtherWay(t *testing.T) {
	s, _ := square(t)
	world, car := drivenWorld(t, s, sensors.Config{ID: "sensor.other.destination", Name: "to", Attributes: map[string]any{
		"destination": []float64{61, 40, -90}, "drive_speed": 8.0,
	}})
	to, err := world.Sensor("to")
	require.NoError(t, err)
	reached := false
	_, err = pipeline.Listen(to, "destination", func(_ sensors.Tick, m *sample.Destination) { reached = reached || m.Reached })
	require.NoError(t, err)
	require.NoError(t, world.Step(t.Context(), 3000))
	at := car.PoseAt(math.MaxInt64).Position
	assert.InDeltaSlice(t, []float64{60, 40}, at[:2], 1)
	assert.InDelta(t, 0, speedOf(car), 1e-3)
	assert.False(t, reached)
}

// TestControlCalibration: each state has its pedals for its duration within its speeds; the
// vehicle stands between two and after the last.
func TestControlCalibration(t *testing.T) {
	world, car := drivenWorld(t, outside(), sensors.Config{ID: "sensor.other.control_calibration", Name: "it", Attributes: map[string]any{
		"min_speed": []float64{0.2, 1, 0.2}, "max_speed": []float64{10, 8, 5}, "throttle": []float64{25, 0, 50}, "brake": []float64{0, 25, 0},
		"steering": []float64{0, 0, 50}, "reverse": []float64{0, 0, 1}, "duration": []float64{2, 1, 1},
	}})
	held := map[[2]float64]int{}
	stood := 0
	for range 3000 {
		require.NoError(t, world.Step(t.Context(), 1))
		c := car.Controls(math.MaxInt64 - 1)
		state := car.StateAt(math.MaxInt64)
		held[[2]float64{math.Round(100 * c.Acceleration), math.Round(100 * state.Acceleration[1])}]++
		if math.Abs(c.Speed) < 0.5 {
			stood++
		}
	}
	accelerations := map[float64]int{}
	for k, n := range held {
		accelerations[k[0]] += n
	}
	assert.InDelta(t, 200, accelerations[100], 3, "25%% of 4 m/s² for 2 s: %v", accelerations)
	assert.InDelta(t, 200, accelerations[-200], 3, "25%% of 8 m/s² for 1 s, and 50%% of 4 m/s² backwards: %v", accelerations)
	assert.InDelta(t, 0, speedOf(car), 1e-9)
	assert.Greater(t, stood, 1000)

	_, err := sensorOf(motion.ControlCalibrationDefinition, map[string]any{"duration": []float64{1}})
	assert.ErrorIs(t, err, sensors.ErrValue)
	_, err = sensorOf(motion.DestinationDefinition, map[string]any{"destination": []float64{1, 2}})
	assert.ErrorIs(t, err, sensors.ErrValue)
}

// sensorOf makes a sensor with attributes.
func sensorOf(d *sensors.Definition, attributes map[string]any) (sensors.Sensor, error) {
	settings := d.NewSettings()
	for name, value := range attributes {
		if err := settings.Set(name, value); err != nil {
			return nil, err
		}
	}
	return d.New(sensors.Spec{Definition: d, Name: "it", Settings: settings})
}

// canBusOf returns what the vehicle reports of itself at a time of a history.
func canBusOf(t *testing.T, history *scene.History, now simtime.Stamp) *sample.CanBus {
	t.Helper()
	h := sensortest.New(t, motion.CANBusDefinition, sensortest.Options{Scene: karlsruhe()})
	h.Env.History = history
	require.NoError(t, h.Sensor.Tick(sensors.Tick{Due: now}))
	return sensortest.Last[*sample.CanBus](h, "can_bus")
}

// TestVehicleStateReachesTheCANBus and the vehicle: lamps, gear, hand brake and mode.
func TestVehicleStateReachesTheCANBus(t *testing.T) {
	car, err := scene.NewDriven(spatial.Identity(), scene.Vehicle{})
	require.NoError(t, err)
	history := scene.NewHistory(karlsruhe(), car, 0)
	d := motion.VehicleStateDefinition
	life := sensors.NewLife(d)
	require.NoError(t, life.Set(sensors.Spec{Name: "state"}))
	require.NoError(t, life.SetOwner(sensors.Owner{Vehicle: car}))
	in := d.Inputs[0].Open()
	require.NoError(t, life.Begin(t.Context(), &sensors.Env{History: history, Inlets: []sensors.Inlet{in}}))
	now := simtime.Stamp(0)
	drive := func() *sample.CanBus {
		for range 10 {
			now += 100_000_000
			require.NoError(t, car.SetCommand(scene.Command{Acceleration: 2}))
			history.Record(now)
		}
		return canBusOf(t, history, now)
	}
	plain := drive()
	assert.Equal(t, uint8(sample.ModeAutomatic), plain.Mode)
	assert.InDelta(t, 2, plain.Speed, 1e-9)

	in.Put(&sample.VehicleState{Blinker: sample.BlinkerLeft, Headlights: sample.HeadlightsHigh, Wipers: 2, Gear: sample.GearLow, Mode: sample.ModeManual})
	m := drive()
	assert.True(t, m.LeftTurn && m.HighBeam && m.Wipers)
	assert.False(t, m.RightTurn || m.HazardLights || m.LowBeam || m.ParkingBrake)
	assert.EqualValues(t, sample.GearLow, m.Gear)
	assert.Equal(t, uint8(sample.ModeManual), m.Mode)
	assert.InDelta(t, 4, m.Speed, 1e-9)

	in.Put(&sample.VehicleState{Blinker: sample.BlinkerHazard, HandBrake: true, Gear: sample.GearDrive, Mode: sample.ModeAutomatic})
	m = drive()
	assert.True(t, m.LeftTurn && m.RightTurn && m.HazardLights && m.ParkingBrake)
	assert.InDelta(t, 0, m.Speed, 1e-9, "the hand brake holds")

	in.Put(&sample.VehicleState{Gear: sample.GearReverse})
	m = drive()
	assert.InDelta(t, -2, m.Speed, 1e-9)
	assert.EqualValues(t, sample.GearReverse, m.Gear)
	assert.False(t, m.HazardLights)
	now += 400_000_000
	require.NoError(t, car.SetCommand(scene.Command{BySpeed: true, Speed: 3}))
	history.Record(now)
	assert.InDelta(t, -3, canBusOf(t, history, now).Speed, 1e-9, "a speed, too")

	in.Put(&sample.VehicleState{Gear: sample.GearDrive, Mode: sample.ModeEmergency})
	assert.InDelta(t, 0, drive().Speed, 1e-9)
}
