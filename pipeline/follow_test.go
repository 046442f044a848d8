package pipeline_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/world"
)

// frames is a source of some frames, which then ends with an error.
type frames struct {
	list  []world.Frame
	then  error
	egos  []world.State
	gaps  int64
	onEnd func()
}

func (s *frames) Next(ctx context.Context, ego world.State) (*world.Frame, error) {
	s.egos = append(s.egos, ego)
	if len(s.list) == 0 {
		if s.onEnd != nil {
			s.onEnd()
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return nil, s.then
	}
	f := &s.list[0]
	s.list = s.list[1:]
	return f, nil
}

func (s *frames) Gaps() int64 { return s.gaps }

func (*frames) Close() error { return nil }

// TestFollow goes through a source's frames, by each way to its end.
func TestFollow(t *testing.T) {
	broken := errors.New("the line is dead")
	there := at(3, 0, 0)
	list := func() []world.Frame {
		return []world.Frame{{Until: 10_000_000, Ego: &there}, {Until: 20_000_000}, {Until: 40_000_000}}
	}
	for name, c := range map[string]struct {
		then     error
		duration time.Duration
		frames   int64
		stamp    simtime.Stamp
		err      error
	}{
		"to its end":      {io.EOF, 0, 3, 40_000_000, nil},
		"to its fault":    {broken, 0, 3, 40_000_000, broken},
		"for a duration":  {io.EOF, 20 * time.Millisecond, 2, 20_000_000, nil},
		"into a step":     {io.EOF, 30 * time.Millisecond, 3, 30_000_000, nil},
		"until ctx ended": {nil, 0, 3, 40_000_000, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := stepped(t, 1, &script{})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			source := &frames{list: list(), then: c.then, gaps: 7}
			if c.then == nil {
				source.onEnd = cancel
			}
			require.ErrorIs(t, p.Follow(ctx, pipeline.Following{Kind: "test", Source: source, Duration: c.duration}), c.err)
			assert.Equal(t, c.stamp, p.Clock().Now())
			summary := p.Summary().World
			assert.Equal(t, [2]int64{c.frames, 7}, [2]int64{summary.Frames, summary.Gaps})
			assert.Equal(t, "test", summary.Kind)
			assert.InDelta(t, 0, source.egos[0].Pose.Position[0], 1e-9, "the source is told where the ego is")
			assert.InDelta(t, 3, source.egos[1].Pose.Position[0], 1e-9)
		})
	}
}

// stubborn is a source that goes on after a frame that was refused.
type stubborn struct {
	frames
	refused []error
	end     error
}

func (s *stubborn) Refused(err error) error {
	s.refused = append(s.refused, err)
	return s.end
}

// TestASourceIsToldOfRefusedFrames: it may continue, or say where the frame stands. Frames that are too far ahead
// are refused, too.
func TestASourceIsToldOfRefusedFrames(t *testing.T) {
	list := []world.Frame{{Until: 10_000_000}, {Until: 20_000_000, Remove: []world.Ref{{Name: "nobody"}}}, {Until: 17e17}, {Until: 30_000_000}}
	s := &stubborn{frames: frames{list: list, then: io.EOF}}
	p := stepped(t, 1, &script{})
	require.NoError(t, p.Follow(t.Context(), pipeline.Following{Kind: "test", Source: s}))
	assert.Equal(t, simtime.Stamp(30_000_000), p.Clock().Now())
	require.Len(t, s.refused, 2)
	assert.ErrorIs(t, s.refused[0], world.ErrUnknownActor)
	assert.ErrorIs(t, s.refused[1], world.ErrTime)
	assert.ErrorContains(t, s.refused[1], "steps of 10ms ahead, the most is 1000000")

	s = &stubborn{frames: frames{list: list, then: io.EOF}, end: errors.New("line 7")}
	err := stepped(t, 1, &script{}).Follow(t.Context(), pipeline.Following{Kind: "test", Source: s})
	assert.EqualError(t, err, "world test: line 7")
}

// TestFollowKeepsToItsPace lets no more simulated time pass than the scale says.
func TestFollowKeepsToItsPace(t *testing.T) {
	p := stepped(t, 1, &script{})
	begun := time.Now()
	source := &frames{list: []world.Frame{{Until: 10_000_000}, {Until: 100_000_000}}, then: io.EOF}
	require.NoError(t, p.Follow(t.Context(), pipeline.Following{Kind: "test", Source: source, Scale: 2}))
	assert.GreaterOrEqual(t, time.Since(begun), 50*time.Millisecond)
	assert.Equal(t, simtime.Stamp(100_000_000), p.Clock().Now())
}

// TestALongFrameKeepsToItsPace: time passes within it, too, instead of standing and then going at once.
func TestALongFrameKeepsToItsPace(t *testing.T) {
	p := stepped(t, 1, &script{})
	begun, samples := time.Now(), 0
	hear(t, addScripted(t, p, plainID, "imu", "100"), func(at sensors.Tick, _ *sample.Imu) {
		assert.GreaterOrEqual(t, time.Since(begun), time.Duration(at.Due))
		samples++
		p.Clock().Pause() // it is resumed in time, and what the pause takes isn't made good
		p.Clock().Resume()
	})
	source := &frames{list: []world.Frame{{Until: 100_000_000}}, then: io.EOF}
	require.NoError(t, p.Follow(t.Context(), pipeline.Following{Kind: "test", Source: source, Scale: 1}))
	assert.Equal(t, simtime.Stamp(100_000_000), p.Clock().Now())
	assert.Equal(t, 10, samples)
}

// TestWhoFollowsSteps: nobody else steps while a source is followed.
func TestWhoFollowsSteps(t *testing.T) {
	p := stepped(t, 1, &script{})
	source := &frames{then: io.EOF}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	source.onEnd = func() {
		_, err := p.StepTo(ctx, &world.Frame{Until: 10_000_000})
		assert.ErrorIs(t, err, world.ErrBusy)
		assert.ErrorContains(t, err, "the world test moves the actors and time")
		_, err = p.StepRunning(ctx, &world.Frame{Until: 10_000_000})
		assert.ErrorIs(t, err, world.ErrBusy)
		assert.True(t, p.Running())
		cancel()
	}
	require.NoError(t, p.Follow(ctx, pipeline.Following{Kind: "test", Source: source}))
}

// TestAPauseHoldsUpWhoFollows: others may pause the clock between two frames, and resume it.
func TestAPauseHoldsUpWhoFollows(t *testing.T) {
	p := stepped(t, 1, &script{})
	p.Clock().Pause()
	var resumed time.Time
	released := make(chan struct{})
	go func() {
		defer close(released)
		time.Sleep(100 * time.Millisecond)
		assert.Zero(t, p.Clock().Now(), "it stands")
		resumed = time.Now()
		p.Clock().Resume()
	}()
	source := &frames{list: []world.Frame{{Until: 10_000_000}, {Until: 500_000_000}}, then: io.EOF}
	require.NoError(t, p.Follow(t.Context(), pipeline.Following{Kind: "test", Source: source, Scale: 1}))
	<-released
	assert.Equal(t, simtime.Stamp(500_000_000), p.Clock().Now())
	assert.GreaterOrEqual(t, time.Since(resumed), 200*time.Millisecond, "and doesn't hurry afterwards; a busy machine may be late before")
}
