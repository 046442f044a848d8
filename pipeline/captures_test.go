package pipeline_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/readback"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// ringID is a sensor with a real readback.
const ringID = "sensor.test.ring"

// ring publishes a reading for each capture that comes back.
type ring struct {
	sensors.Ring[struct{}, uint32]
	*plain
	spec sensors.Spec
}

func (s *ring) Begin(ctx context.Context, env *sensors.Env) error {
	if err := s.plain.Begin(ctx, env); err != nil {
		return err
	}
	if err := s.Open(&s.spec, env, func(k *sensors.Capture[struct{}], _ readback.Lease[uint32]) { s.publish(k.At) }); err != nil {
		return err
	}
	return env.GL.Do(ctx, func(c *gpu.Ctx) error { return s.Make(c, 1) })
}

func (s *ring) Tick(sensors.Tick) error { return nil }

func (s *ring) Capture(c *gpu.Ctx, at sensors.Tick) (bool, error) {
	target, err := s.Take(c, at)
	if err != nil || target == nil {
		return false, err
	}
	return s.Start(c, sensors.Capture[struct{}]{At: at})
}

func (s *ring) End() error { return s.Close() }

// newRinged is newScripted with a sensor of type ringID, on a device whose fences follow a script.
func newRinged(t *testing.T, fences gputest.FenceScript, c pipeline.Config) (p *pipeline.Pipeline, s *pipeline.Sensor) {
	t.Helper()
	do, fake := &script{}, gputest.NewFake()
	do.with = []*sensors.Definition{{
		ID: ringID, Doc: ringID, Rate: simtime.Hz(100),
		Outputs: []sensors.OutputSpec{sensors.Declare[sample.Imu](sensors.OutputSpec{Name: "out"})},
		New: func(spec sensors.Spec) (sensors.Sensor, error) {
			return &ring{plain: &plain{script: do, name: spec.Name}, spec: spec}, nil
		},
	}}
	fake.StopLog()
	fake.SetFences(fences)
	c.Scene, c.Open, c.Sensors = scenetest.MovingWall(30, 5), fake.Open, do.registry()
	p, err := pipeline.New(t.Context(), c)
	require.NoError(t, err)
	return p, addScripted(t, p, ringID, "front", "100")
}

// slowFence takes so many looks, pollPause apart in a stepped run, that a capture is on its way for
// longer than readback.DefaultTimeout.
var slowFence = gputest.FenceScript{Polls: 26_000}

// TestABusyGLThreadIsWaitedFor fills the GL thread's queue, as somebody may who
// shares it.
func TestABusyGLThreadIsWaitedFor(t *testing.T) {
	p := newScripted(t, &script{}, pipeline.Config{})
	s := addScripted(t, p, laggyID, "s", "100")
	n := 0
	release := make(chan struct{})
	hear(t, s, func(sensors.Tick, *sample.Imu) { n++ })
	for err := error(nil); err == nil; {
		err = p.GL().Go(func(*gpu.Ctx) error {
			<-release
			return nil
		})
		require.True(t, err == nil || errors.Is(err, gpu.ErrBusy))
	}
	ended := make(chan error, 1)
	go func() { ended <- p.Run(context.Background(), 100*time.Millisecond) }()
	select {
	case err := <-ended:
		t.Fatalf("the run ended: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	close(release)
	require.NoError(t, <-ended)
	assert.Equal(t, 10, n)
}

// TestABusyGLThreadIsWaitedForInSteps, unlike in time that passes by itself.
func TestABusyGLThreadIsWaitedForInSteps(t *testing.T) {
	p, to, end := paused(t, pipeline.Realtime, &script{})
	to.await(t, "a clock", func(got []delivery) bool { return len(got) > 0 })
	release := make(chan struct{})
	for err := error(nil); !errors.Is(err, gpu.ErrBusy); {
		err = p.GL().Go(func(*gpu.Ctx) error {
			<-release
			return nil
		})
	}
	require.NoError(t, p.Clock().Step(50*ms))
	to.awaitStamp(t, "/computed", 50*ms)
	close(release)
	to.awaitStamp(t, "/captured", 50*ms)
	end()
	assert.Equal(t, []int64{50 * ms}, to.stamps("/captured"))
}

// TestASlowDeviceLosesNothingInSteps: in a stepped run a capture takes as long as it takes, unless a limit was
// asked for. The sensor's name is told.
func TestASlowDeviceLosesNothingInSteps(t *testing.T) {
	for name, c := range map[string]struct {
		limit     time.Duration
		published int
		drops     flow.Drops
	}{
		"no limit":    {0, 1, flow.Drops{}},
		"a tight one": {time.Second, 0, flow.Drops{flow.CauseReadbackFailed: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				p, s := newRinged(t, slowFence, pipeline.Config{DeviceTimeout: c.limit, Log: slog.New(slog.NewTextHandler(&log, nil))})
				published := 0
				hear(t, s, func(sensors.Tick, *sample.Imu) { published++ })
				require.NoError(t, p.Run(t.Context(), 10*time.Millisecond))
				require.NoError(t, p.Close(t.Context()))
				assert.Equal(t, c.published, published)
				assert.Equal(t, c.drops, s.Drops())
				assert.Equal(t, c.limit != time.Second, strings.Contains(log.String(), "the run waits for it") && strings.Contains(log.String(), "sensor=front"), log.String())
			})
		})
	}
}

// TestADeviceThatHangsEndsSteps that have a limit for it, and the error says so.
func TestADeviceThatHangsEndsSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newScripted(t, &script{}, pipeline.Config{DeviceTimeout: 20 * time.Second})
		release := make(chan struct{})
		require.NoError(t, p.GL().Go(func(*gpu.Ctx) error {
			<-release
			return nil
		}))
		err := p.Step(t.Context(), 1)
		close(release)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.ErrorContains(t, err, "end the run: the device has not come to rest within 40s")
	})
}

// TestADeviceThatHangsIsLeftInRealTime: a realtime run gives up a capture that is late.
func TestADeviceThatHangsIsLeftInRealTime(t *testing.T) {
	p, s := newRinged(t, gputest.FenceScript{Hold: true}, pipeline.Config{Mode: pipeline.Realtime, DeviceTimeout: time.Millisecond})
	hear(t, s, func(sensors.Tick, *sample.Imu) { t.Error("nothing comes back") })
	require.NoError(t, p.Run(t.Context(), 100*time.Millisecond))
	require.NoError(t, p.Close(t.Context()))
	assert.Positive(t, s.Drops()[flow.CauseReadbackFailed])
}
