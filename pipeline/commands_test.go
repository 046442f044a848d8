package pipeline_test

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/pipeline/carry"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/motion"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// wheel is a scripted bridge that brings commands; send does.
type wheel struct {
	peer
	name string // "" for "wheel"

	lock    sync.Mutex           // for topics that are subscribed to during a run
	deliver map[string]func(any) // by topic
}

// bring delivers a message if the topic has been subscribed to.
func (w *wheel) bring(topic string, message any) bool {
	w.lock.Lock()
	deliver := w.deliver[topic]
	w.lock.Unlock()
	if deliver != nil {
		deliver(message)
	}
	return deliver != nil
}

func (w *wheel) registry() *bridges.Registry { return bridges.MustRegistry(w) }

func (w *wheel) Info() bridges.Info {
	name := cmp.Or(w.name, "wheel")
	return bridges.Info{Name: name, Type: name, Kind: bridges.KindNetwork, Summary: "scripted", Connection: "ANY"}
}

func (w *wheel) Register(to *bridges.Plugin) error {
	return errors.Join(
		w.peer.Register(to),
		brings[*sample.VehicleControl](w, to, "Control"), brings[*sample.AckermannDrive](w, to, "Ackermann"),
		brings[*sample.VelocityCommand](w, to, "Velocity"), brings[*lane](w, to, "Lane"), brings[*sample.Clock](w, to, "Clock"))
}

func (w *wheel) NewInstance(env bridges.Env) (bridges.Instance, error) {
	w.env, w.deliver = env, map[string]func(any){}
	return &w.peer, nil
}

func brings[T any](w *wheel, to *bridges.Plugin, wire string) error {
	return bridges.RegSubscriber(to, wire, func(_ bridges.Instance, topic bridges.Topic, deliver func(T)) error {
		w.lock.Lock()
		defer w.lock.Unlock()
		w.deliver[topic.Name] = func(m any) { deliver(m.(T)) }
		return nil
	})
}

// lane is a message type from outside.
type lane struct{ offset float64 }

func (w *wheel) attach(t *testing.T, p *pipeline.Pipeline) {
	t.Helper()
	require.NoError(t, p.AddBridge(t.Context(), carry.BridgeConfig{Spec: w.Info().Type + ":x"}))
}

func drivenEgo(t *testing.T) *scene.Driven {
	t.Helper()
	d, err := scene.NewDriven(spatial.Identity(), scene.Vehicle{})
	require.NoError(t, err)
	return d
}

// speed is along the vehicle's x axis, m/s.
func speed(s scene.State) float64 { return s.Pose.Orientation.Inverse().Rotate(s.Twist.Linear)[0] }

// TestCommandsMoveTheEgo: each kind of command, sent again and again for a second as
// drivers do, and what the bicycle model makes of it.
func TestCommandsMoveTheEgo(t *testing.T) {
	limits := drivenEgo(t).Vehicle()
	arc := func(speed, angle float64) (x, y float64) { // of a second; the vehicle needs some of it to get going
		r := limits.Wheelbase / math.Tan(angle)
		return r * math.Sin(speed/r), r * (1 - math.Cos(speed/r))
	}
	for name, tt := range map[string]struct {
		topic   string
		message any
		check   func(t *testing.T, s scene.State)
	}{
		"throttle": {"/control", &sample.VehicleControl{Acceleration: 0.5, Gear: sample.GearDrive}, func(t *testing.T, s scene.State) {
			assert.InDelta(t, limits.MaxAcceleration/2, speed(s), 0.1, "m/s after a second")
			assert.InDelta(t, limits.MaxAcceleration/4, s.Pose.Position[0], 0.1)
		}},
		"throttle in neutral": {"/control", &sample.VehicleControl{Acceleration: 0.5}, func(t *testing.T, s scene.State) {
			assert.Positive(t, speed(s))
		}},
		"reverse": {"/control", &sample.VehicleControl{Acceleration: 1, Gear: sample.GearReverse}, func(t *testing.T, s scene.State) {
			assert.InDelta(t, -limits.MaxAcceleration, speed(s), 0.1)
		}},
		"parking": {"/control", &sample.VehicleControl{Acceleration: 1, Gear: sample.GearParking}, func(t *testing.T, s scene.State) {
			assert.Zero(t, speed(s))
		}},
		"steering wheel to the right": {"/control", &sample.VehicleControl{Acceleration: 1, Steering: 1}, func(t *testing.T, s scene.State) {
			assert.Negative(t, s.Twist.Angular[2])
			assert.Negative(t, s.Pose.Position[1])
		}},
		"steering angle to the left": {"/control", &sample.VehicleControl{Acceleration: 1, SteeringAngle: 0.3, HasAngle: true}, func(t *testing.T, s scene.State) {
			assert.InDelta(t, speed(s)*math.Tan(0.3)/limits.Wheelbase, s.Twist.Angular[2], 1e-6)
		}},
		"speed and angle": {"/ackermann", &sample.AckermannDrive{Speed: 1, SteeringAngle: 0.2}, func(t *testing.T, s scene.State) {
			x, y := arc(1, 0.2)
			assert.InDelta(t, 1, speed(s), 1e-6)
			assert.InDelta(t, x, s.Pose.Position[0], 0.2)
			assert.InDelta(t, y, s.Pose.Position[1], 0.05)
		}},
		"velocities": {"/cmd_vel", &sample.VelocityCommand{Twist: spatial.Twist{Linear: mgl64.Vec3{1}, Angular: mgl64.Vec3{0, 0, -0.2}}}, func(t *testing.T, s scene.State) {
			assert.InDelta(t, 1, speed(s), 1e-6)
			assert.InDelta(t, -0.2, s.Twist.Angular[2], 1e-6)
		}},
		"backwards": {"/cmd_vel", &sample.VelocityCommand{Twist: spatial.Twist{Linear: mgl64.Vec3{-1}}}, func(t *testing.T, s scene.State) {
			assert.InDelta(t, -1, speed(s), 1e-6)
		}},
		"no number": {"/ackermann", &sample.AckermannDrive{Speed: math.NaN()}, func(t *testing.T, s scene.State) {
			assert.Zero(t, speed(s))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			ego, w := drivenEgo(t), &wheel{}
			p := newScripted(t, &script{}, pipeline.Config{
				Bridges: w.registry(), Ego: ego,
			})
			require.NoError(t, p.AddCommands(steered))
			addScripted(t, p, plainID, "probe", "10")
			w.attach(t, p)
			for range 10 {
				w.deliver[tt.topic](tt.message)
				require.NoError(t, p.Run(t.Context(), 100*time.Millisecond))
			}
			tt.check(t, ego.StateAt(p.Clock().Now()))
			received := p.Summary().Bridges[0].Received
			require.Len(t, received, 3)
			for _, r := range received {
				if r.Topic == tt.topic {
					assert.EqualValues(t, 10, r.Messages)
				}
			}
			require.NoError(t, p.Close(context.Background()))
		})
	}
}

// follower is a sensor that is brought lanes.
type follower struct {
	plain
	lanes *sensors.Input[*lane]
	seen  *[]float64
	mu    *sync.Mutex
}

func (f *follower) Begin(ctx context.Context, env *sensors.Env) (err error) {
	if f.lanes, err = sensors.InputOf[*lane](env, "lane"); err != nil {
		return err
	}
	return f.plain.Begin(ctx, env)
}

func (f *follower) Tick(at sensors.Tick) error {
	for l := range f.lanes.Take() {
		f.mu.Lock()
		*f.seen = append(*f.seen, l.offset)
		f.mu.Unlock()
	}
	return f.plain.Tick(at)
}

func TestSensorsAreBroughtTheirInputs(t *testing.T) {
	var mu sync.Mutex
	var seen []float64
	s := &script{}
	s.with = []*sensors.Definition{{
		ID: "sensor.test.follower", Doc: "follows lanes", Rate: simtime.Hz(10),
		Outputs: []sensors.OutputSpec{sensors.Declare[sample.Imu](sensors.OutputSpec{Name: "out"})},
		Inputs:  []sensors.InputSpec{sensors.DeclareInput[*lane](sensors.InputSpec{Name: "lane", Suffix: "/lane"})},
		New: func(spec sensors.Spec) (sensors.Sensor, error) {
			return &follower{plain: plain{script: s, name: spec.Name}, seen: &seen, mu: &mu}, nil
		},
	}}
	w := &wheel{}
	p := newScripted(t, s, pipeline.Config{Bridges: w.registry()})
	first := addScripted(t, p, "sensor.test.follower", "first", "10")
	hear(t, first, func(sensors.Tick, *sample.Imu) {})
	w.attach(t, p)
	second, err := p.AddSensor(sensors.Config{ID: "sensor.test.follower", Name: "second", Topics: map[string]string{"lane": "/lanes"}})
	require.NoError(t, err, "added after the bridge")
	hear(t, second, func(sensors.Tick, *sample.Imu) {})
	w.deliver["/first/lane"](&lane{offset: 1})
	w.deliver["/lanes"](&lane{offset: 2})
	require.NoError(t, p.Run(t.Context(), 100*time.Millisecond))
	assert.ElementsMatch(t, []float64{1, 2}, seen)
	w.deliver["/lanes"](&lane{offset: 3})
	require.NoError(t, p.Run(t.Context(), 100*time.Millisecond))
	assert.ElementsMatch(t, []float64{1, 2, 3}, seen, "each once")
	destroy(t, second)
	w.deliver["/lanes"](&lane{offset: 4}) // to nobody
	require.NoError(t, p.Run(t.Context(), 100*time.Millisecond))
	assert.Len(t, seen, 3)

	again, err := p.AddSensor(sensors.Config{ID: "sensor.test.follower", Name: "second", Topics: map[string]string{"lane": "/lanes"}})
	require.NoError(t, err)
	hear(t, again, func(sensors.Tick, *sample.Imu) {})
	w.deliver["/lanes"](&lane{offset: 5})
	require.NoError(t, p.Run(t.Context(), 300*time.Millisecond))
	assert.ElementsMatch(t, []float64{1, 2, 3, 5}, seen)
}

// late handles messages as they come. One comes just behind its end.
type late struct {
	plain
	wheel *wheel
	ended bool
	after int
}

func (l *late) Begin(_ context.Context, env *sensors.Env) error {
	return sensors.Handle(env, "lane", func(*lane) {
		if l.ended {
			l.after++
		}
	})
}

func (l *late) End() error {
	l.ended = true
	l.wheel.bring("/late/lane", &lane{})
	return nil
}

// TestNothingIsHandledAfterTheEnd, be that a Reset, the sensor's own or the pipeline's.
func TestNothingIsHandledAfterTheEnd(t *testing.T) {
	s, w := &script{}, &wheel{}
	var lives []*late
	s.with = []*sensors.Definition{{
		ID: "sensor.test.late", Doc: "handles lanes", Rate: simtime.Hz(10),
		Outputs: []sensors.OutputSpec{sensors.Declare[sample.Imu](sensors.OutputSpec{Name: "out"})},
		Inputs:  []sensors.InputSpec{sensors.DeclareInput[*lane](sensors.InputSpec{Name: "lane", Suffix: "/lane"})},
		New: func(spec sensors.Spec) (sensors.Sensor, error) {
			lives = append(lives, &late{plain: plain{script: s, name: spec.Name}, wheel: w})
			return lives[len(lives)-1], nil
		},
	}}
	p := newScripted(t, s, pipeline.Config{Bridges: w.registry()})
	first := addScripted(t, p, "sensor.test.late", "late", "10")
	w.attach(t, p)
	require.NoError(t, p.Step(t.Context(), 1))
	_, err := p.Reset(t.Context(), 1)
	require.NoError(t, err)
	destroy(t, first)
	addScripted(t, p, "sensor.test.late", "late", "10")
	require.NoError(t, p.Close(context.Background()))
	ended := 0
	for _, l := range lives {
		assert.Zero(t, l.after)
		if l.ended {
			ended++
		}
	}
	assert.Equal(t, 3, ended)
}

// TestOneTopicOfCommandsIsEnough: the others are only told of where none is brought.
func TestOneTopicOfCommandsIsEnough(t *testing.T) {
	commands := pipeline.Commands{Control: "/control", Ackermann: "/ackermann", Velocity: "/velocity"}
	for name, c := range map[string]struct {
		registry func() (*bridges.Registry, string)
		told     bool
	}{
		"control alone": {func() (*bridges.Registry, string) { return bridges.MustRegistry(&pedals{}), "wheel:x" }, false},
		"none":          {func() (*bridges.Registry, string) { return bridges.MustRegistry(&peer{}), "test:x" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			var log lockedText
			registry, spec := c.registry()
			p := newScripted(t, &script{}, pipeline.Config{
				Bridges: registry, Ego: drivenEgo(t), Log: slog.New(slog.NewTextHandler(&log, nil)),
			})
			require.NoError(t, p.AddCommands(commands))
			require.NoError(t, p.AddBridge(t.Context(), carry.BridgeConfig{Spec: spec}))
			addScripted(t, p, plainID, "probe", "10")
			require.NoError(t, p.Step(t.Context(), 1))
			if !c.told {
				assert.NotContains(t, log.String(), "no bridge brings")
				return
			}
			assert.Contains(t, log.String(), `"/ackermann (AckermannDrive) /control (VehicleControl) /velocity (VelocityCommand)"`)
		})
	}
}

// pedals is a wheel that has no message for speeds, as Apollo's bridge.
type pedals struct{ wheel }

func (w *pedals) Register(to *bridges.Plugin) error {
	return errors.Join(w.peer.Register(to), brings[*sample.VehicleControl](&w.wheel, to, "Control"))
}

var steered = pipeline.Commands{Control: "/control", Ackermann: "/ackermann", Velocity: "/cmd_vel"}

func forward(metresPerSecond float64) *sample.VelocityCommand {
	return &sample.VelocityCommand{Twist: spatial.Twist{Linear: mgl64.Vec3{metresPerSecond}}}
}

// TestSilenceStopsTheEgo: whatever steered it, and if all that comes then makes no sense.
func TestSilenceStopsTheEgo(t *testing.T) {
	noNumber := &sample.AckermannDrive{Speed: math.NaN()}
	for name, tt := range map[string]struct {
		topic         string
		message, then any
	}{
		"pedals":     {"/control", &sample.VehicleControl{Acceleration: 1, SteeringAngle: 0.3, HasAngle: true}, nil},
		"speed":      {"/ackermann", &sample.AckermannDrive{Speed: -2, SteeringAngle: 0.2}, nil},
		"velocity":   {"/cmd_vel", forward(2), nil},
		"no numbers": {"/control", &sample.VehicleControl{Acceleration: 1}, noNumber},
	} {
		t.Run(name, func(t *testing.T) {
			ego, w := drivenEgo(t), &wheel{}
			p := newScripted(t, &script{}, pipeline.Config{Bridges: w.registry(), Ego: ego})
			require.NoError(t, p.AddCommands(steered))
			addScripted(t, p, plainID, "probe", "10")
			w.attach(t, p)
			w.deliver[tt.topic](tt.message)
			require.NoError(t, p.Run(t.Context(), 400*time.Millisecond))
			assert.NotZero(t, speed(ego.StateAt(p.Clock().Now())))
			for range 20 {
				if tt.then != nil {
					w.deliver["/ackermann"](tt.then)
				}
				require.NoError(t, p.Run(t.Context(), 100*time.Millisecond))
			}
			s := ego.StateAt(p.Clock().Now())
			assert.Zero(t, speed(s))
			assert.Zero(t, ego.Controls(p.Clock().Now()).Steering)
		})
	}
}

// TestTheCommandThatCameLastCounts: of two bridges and of a program, on the same topic and
// on others.
func TestTheCommandThatCameLastCounts(t *testing.T) {
	type command func(left, right *wheel, ego *scene.Driven) error
	by := func(right bool, topic string, message any) command {
		return func(l, r *wheel, _ *scene.Driven) error {
			if right {
				l = r
			}
			l.deliver[topic](message)
			return nil
		}
	}
	program := func(_, _ *wheel, ego *scene.Driven) error {
		return ego.SetCommand(scene.Command{BySpeed: true, Speed: 0.5})
	}
	for name, tt := range map[string]struct {
		commands []command
		want     float64 // m/s
	}{
		"one topic":      {[]command{by(false, "/cmd_vel", forward(1)), by(true, "/cmd_vel", forward(-1))}, -1},
		"the other way":  {[]command{by(true, "/cmd_vel", forward(-1)), by(false, "/cmd_vel", forward(1))}, 1},
		"two topics":     {[]command{by(false, "/cmd_vel", forward(1)), by(true, "/ackermann", &sample.AckermannDrive{Speed: -1})}, -1},
		"a program":      {[]command{by(false, "/cmd_vel", forward(1)), program}, 0.5},
		"after programs": {[]command{program, by(true, "/control", &sample.VehicleControl{Braking: 1})}, 0},
		"one refused":    {[]command{by(false, "/cmd_vel", forward(1)), by(true, "/cmd_vel", forward(math.NaN()))}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			ego, left, right := drivenEgo(t), &wheel{name: "left"}, &wheel{name: "right"}
			p := newScripted(t, &script{}, pipeline.Config{Bridges: bridges.MustRegistry(left, right), Ego: ego})
			require.NoError(t, p.AddCommands(steered))
			addScripted(t, p, plainID, "probe", "10")
			left.attach(t, p)
			right.attach(t, p)
			require.NoError(t, p.Step(t.Context(), 1)) // what came before is obeyed at the start
			for _, give := range tt.commands {
				require.NoError(t, give(left, right, ego))
			}
			require.NoError(t, p.Run(t.Context(), 400*time.Millisecond))
			assert.InDelta(t, tt.want, speed(ego.StateAt(p.Clock().Now())), 1e-9)
		})
	}
}

// TestPedalsHaveLimits: a sender that exaggerates isn't obeyed beyond them, and a brake
// below nothing is not a throttle.
func TestPedalsHaveLimits(t *testing.T) {
	ego, w := drivenEgo(t), &wheel{}
	p := newScripted(t, &script{}, pipeline.Config{Bridges: w.registry(), Ego: ego})
	require.NoError(t, p.AddCommands(steered))
	addScripted(t, p, plainID, "probe", "10")
	w.attach(t, p)
	for _, tt := range []struct {
		pedals sample.VehicleControl
		want   float64 // m/s after it
	}{
		{sample.VehicleControl{Braking: -1}, 0},
		{sample.VehicleControl{Acceleration: -1}, 0},
		{sample.VehicleControl{Acceleration: math.Inf(1)}, 0.4},
		{sample.VehicleControl{Acceleration: -1}, 0.4}, // rolls on
		{sample.VehicleControl{Acceleration: 3, Braking: 0.25}, 0.6},
	} {
		w.deliver["/control"](&tt.pedals)
		require.NoError(t, p.Run(t.Context(), 100*time.Millisecond))
		assert.InDelta(t, tt.want, speed(ego.StateAt(p.Clock().Now())), 1e-9, "%+v", tt.pedals)
	}
}

// TestCommandsToAPausedRun wait, and don't grow old.
func TestCommandsToAPausedRun(t *testing.T) {
	ego, w := drivenEgo(t), &wheel{}
	p := newScripted(t, &script{}, pipeline.Config{Mode: pipeline.Realtime, Bridges: w.registry(), Ego: ego})
	require.NoError(t, p.AddCommands(steered))
	stamps := stampsOf(t, p)
	w.attach(t, p)
	p.Clock().Pause()
	end := inBackground(t, p)
	at := int64(0)
	step := func(ns int64) {
		at += ns
		require.NoError(t, p.Clock().Step(ns))
		stamps(simtime.Stamp(at))
	}
	step(100 * ms)
	w.deliver["/cmd_vel"](forward(-1))
	w.deliver["/cmd_vel"](forward(1))
	assert.Zero(t, speed(ego.StateAt(100*ms)), "time stands still")
	step(400 * ms)
	assert.InDelta(t, 1, speed(ego.StateAt(500*ms)), 1e-9)
	step(1000 * ms)
	assert.Zero(t, speed(ego.StateAt(1500*ms)))
	end()
}

// TestTheEgoStaysWhereTimeJumps, and drives on from there.
func TestTheEgoStaysWhereTimeJumps(t *testing.T) {
	ego, w := drivenEgo(t), &wheel{}
	p := newScripted(t, &script{}, pipeline.Config{
		Mode: pipeline.Realtime, TimeSource: simtime.SS2, Bridges: w.registry(), Ego: ego,
	})
	require.NoError(t, p.AddCommands(steered))
	stamps := stampsOf(t, p)
	w.attach(t, p)
	end := inBackground(t, p)
	at := int64(0)
	jump := func(to int64) scene.State {
		at = to
		require.NoError(t, p.Clock().Set(at/1e9, uint32(at%1e9)))
		stamps(simtime.Stamp(at))
		return ego.StateAt(simtime.Stamp(at))
	}
	drive := func() (s scene.State) {
		for range 8 {
			w.deliver["/cmd_vel"](forward(1))
			s = jump(at + 100*ms)
		}
		assert.InDelta(t, 1, speed(s), 1e-9)
		return s
	}
	before := drive()
	for _, to := range []int64{10_000_000 * ms, 100 * ms, 50_000 * ms} {
		after := jump(to)
		assert.InDelta(t, before.Pose.Position[0], after.Pose.Position[0], 1e-9, "at %d", to)
		before = drive()
		assert.InDelta(t, after.Pose.Position[0]+0.8, before.Pose.Position[0], 0.01, "at %d", to)
	}
	end()
}

// stampsOf adds a sensor of 10 Hz; the function waits until it has fired at a time.
func stampsOf(t *testing.T, p *pipeline.Pipeline) (await func(stamp simtime.Stamp)) {
	t.Helper()
	seen := make(chan int64, 1000)
	hear(t, addScripted(t, p, plainID, "probe", "10"), func(at sensors.Tick, _ *sample.Imu) { seen <- int64(at.Due) })
	return func(stamp simtime.Stamp) {
		t.Helper()
		for {
			select {
			case got := <-seen:
				if simtime.Stamp(got) == stamp {
					return
				}
			case <-time.After(20 * time.Second):
				t.Fatalf("nothing fires at %d", stamp)
			}
		}
	}
}

// TestAControlNeedsAVehicleThatObeys: and a rig may have one with topics of its own.
func TestAControlNeedsAVehicleThatObeys(t *testing.T) {
	config := sensors.Config{ID: "sensor.other.control", Name: "mine", Topics: map[string]string{"control": "/mine", "velocity": ""}}
	p := newScripted(t, &script{}, pipeline.Config{})
	_, err := p.AddSensor(config)
	require.ErrorIs(t, err, motion.ErrNotDriven)

	ego, w := drivenEgo(t), &wheel{}
	p = newScripted(t, &script{}, pipeline.Config{Bridges: w.registry(), Ego: ego})
	_, err = p.AddSensor(config)
	require.NoError(t, err)
	require.NoError(t, p.AddCommands(steered), "there is one")
	w.attach(t, p)
	assert.True(t, w.bring("/mine", &sample.VehicleControl{Acceleration: 1}), "before the start too")
	assert.False(t, w.bring("/cmd_vel", forward(1)), "an empty topic is not brought")
	require.NoError(t, p.Run(t.Context(), 400*time.Millisecond))
	assert.Positive(t, speed(ego.StateAt(p.Clock().Now())))
	inputs := p.Summary().Inputs
	require.Len(t, inputs, 2)
	assert.EqualValues(t, 1, inputs[0].Messages)
}
