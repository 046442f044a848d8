package pipeline_test

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
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
	if !to.Knows(reflect.TypeFor[T]()) {
		if err := bridges.AddType[T](to, wire); err != nil {
			return err
		}
	}
	return bridges.AddSubscriberCreator(to, func(_ bridges.Instance, topic bridges.Topic, deliver func(T)) error {
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
	require.NoError(t, p.AddBridge(t.Context(), pipeline.BridgeConfig{Spec: w.Info().Type + ":x"}))
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
				Commands: pipeline.Commands{Control: "/control", Ackermann: "/ackermann", Velocity: "/cmd_vel"},
			})
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
		ID: "sensor.test.follower", Doc: "follows lanes", DefaultRate: "10",
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
	second, err := p.AddSensor(pipeline.SensorConfig{ID: "sensor.test.follower", Name: "second", Topics: map[string]string{"lane": "/lanes"}})
	require.NoError(t, err, "added after the bridge")
	hear(t, second, func(sensors.Tick, *sample.Imu) {})
	w.deliver["/first/lane"](&lane{offset: 1})
	w.deliver["/lanes"](&lane{offset: 2})
	require.NoError(t, p.Run(t.Context(), 100*time.Millisecond))
	assert.ElementsMatch(t, []float64{1, 2}, seen)
	w.deliver["/lanes"](&lane{offset: 3})
	require.NoError(t, p.Run(t.Context(), 100*time.Millisecond))
	assert.ElementsMatch(t, []float64{1, 2, 3}, seen, "each once")
	require.NoError(t, second.Destroy(t.Context()))
	w.deliver["/lanes"](&lane{offset: 4}) // to nobody
	require.NoError(t, p.Run(t.Context(), 100*time.Millisecond))
	assert.Len(t, seen, 3)
	assert.Zero(t, p.Takers("/lanes"), "nothing is kept of it")
	assert.Equal(t, 1, p.Takers("/first/lane"))

	again, err := p.AddSensor(pipeline.SensorConfig{ID: "sensor.test.follower", Name: "second", Topics: map[string]string{"lane": "/lanes"}})
	require.NoError(t, err)
	hear(t, again, func(sensors.Tick, *sample.Imu) {})
	w.deliver["/lanes"](&lane{offset: 5})
	require.NoError(t, p.Run(t.Context(), 300*time.Millisecond))
	assert.ElementsMatch(t, []float64{1, 2, 3, 5}, seen)
}

// TestMissingTopicsAreTold: at the start, and of sensors that come later.
func TestMissingTopicsAreTold(t *testing.T) {
	var log lockedText
	w, s := &wheel{}, &script{}
	s.with = []*sensors.Definition{{
		ID: "sensor.test.listener", Doc: "is brought what nobody has", DefaultRate: "10",
		Outputs: []sensors.OutputSpec{sensors.Declare[sample.Imu](sensors.OutputSpec{Name: "out"})},
		Inputs: []sensors.InputSpec{
			sensors.DeclareInput[*lane](sensors.InputSpec{Name: "lane", Suffix: "/lane"}),
			sensors.DeclareInput[*struct{}](sensors.InputSpec{Name: "riddle", Suffix: "/riddle"}),
		},
		New: func(spec sensors.Spec) (sensors.Sensor, error) { return &plain{script: s, name: spec.Name}, nil },
	}}
	p := newScripted(t, s, pipeline.Config{Bridges: w.registry(), Log: slog.New(slog.NewTextHandler(&log, nil))})
	w.attach(t, p)
	addScripted(t, p, "sensor.test.listener", "first", "10")
	require.NoError(t, p.Step(t.Context(), 1))
	addScripted(t, p, "sensor.test.listener", "second", "10")
	require.NoError(t, p.Step(t.Context(), 1))
	var told []string
	for line := range strings.Lines(log.String()) {
		if _, topics, ok := strings.Cut(line, "topics="); ok && strings.Contains(line, "waited for") {
			told = append(told, strings.TrimSpace(topics))
		}
	}
	assert.Equal(t, []string{`"/first/riddle (*struct {})"`, `"/second/riddle (*struct {})"`}, told)
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
				Bridges: registry, Ego: drivenEgo(t), Commands: commands, Log: slog.New(slog.NewTextHandler(&log, nil)),
			})
			require.NoError(t, p.AddBridge(t.Context(), pipeline.BridgeConfig{Spec: spec}))
			addScripted(t, p, plainID, "probe", "10")
			require.NoError(t, p.Step(t.Context(), 1))
			if !c.told {
				assert.NotContains(t, log.String(), "no bridge brings")
				return
			}
			assert.Contains(t, log.String(), `"/ackermann (*sample.AckermannDrive) /control (*sample.VehicleControl) /velocity (*sample.VelocityCommand)"`)
		})
	}
}

// pedals is a wheel that has no message for speeds, as Apollo's bridge.
type pedals struct{ wheel }

func (w *pedals) Register(to *bridges.Plugin) error {
	return errors.Join(w.peer.Register(to), brings[*sample.VehicleControl](&w.wheel, to, "Control"))
}
