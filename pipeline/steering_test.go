package pipeline_test

import (
	"math"
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
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

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
			p := newScripted(t, &script{}, pipeline.Config{Bridges: w.registry(), Ego: ego, Commands: steered})
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
			p := newScripted(t, &script{}, pipeline.Config{Bridges: bridges.MustRegistry(left, right), Ego: ego, Commands: steered})
			addScripted(t, p, plainID, "probe", "10")
			left.attach(t, p)
			right.attach(t, p)
			for _, give := range tt.commands {
				require.NoError(t, give(left, right, ego))
			}
			require.NoError(t, p.Run(t.Context(), 400*time.Millisecond))
			assert.InDelta(t, tt.want, speed(ego.StateAt(p.Clock().Now())), 1e-9)
		})
	}
}

// TestPedalsHaveLimits: a sender that exaggerates isn't obeyed beyond them, and a brake
// below nothing is no throttle.
func TestPedalsHaveLimits(t *testing.T) {
	ego, w := drivenEgo(t), &wheel{}
	p := newScripted(t, &script{}, pipeline.Config{Bridges: w.registry(), Ego: ego, Commands: steered})
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
	p := newScripted(t, &script{}, pipeline.Config{Mode: pipeline.Realtime, Bridges: w.registry(), Ego: ego, Commands: steered})
	stamps := stampsOf(t, p)
	w.attach(t, p)
	p.Clock().Pause()
	end := inBackground(t, p)
	at := int64(0)
	step := func(ns int64) {
		at += ns
		require.NoError(t, p.Clock().Step(ns))
		stamps(at)
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
		Mode: pipeline.Realtime, TimeSource: simtime.SS2, Bridges: w.registry(), Ego: ego, Commands: steered,
	})
	stamps := stampsOf(t, p)
	w.attach(t, p)
	end := inBackground(t, p)
	at := int64(0)
	jump := func(to int64) scene.State {
		at = to
		require.NoError(t, p.Clock().Set(at/1e9, uint32(at%1e9)))
		stamps(at)
		return ego.StateAt(at)
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
func stampsOf(t *testing.T, p *pipeline.Pipeline) (await func(stamp int64)) {
	t.Helper()
	seen := make(chan int64, 1000)
	hear(t, addScripted(t, p, plainID, "probe", "10"), func(at sensors.Tick, _ *sample.Imu) { seen <- at.TimeNs })
	return func(stamp int64) {
		t.Helper()
		for {
			select {
			case got := <-seen:
				if got == stamp {
					return
				}
			case <-time.After(20 * time.Second):
				t.Fatalf("nothing fires at %d", stamp)
			}
		}
	}
}
