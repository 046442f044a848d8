package bench

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/simtime"
)

// pending is a sensor whose captures never come back; capture is called for each.
type pending struct{ capture func() }

func (*pending) Begin(context.Context, *sensors.Env) error { return nil }
func (*pending) Tick(sensors.Tick) error                   { return nil }
func (*pending) End() error                                { return nil }
func (*pending) Poll(*gpu.Ctx)                             {}
func (*pending) Process(simtime.Stamp) int                 { return 0 }
func (*pending) Pending() int                              { return 1 }
func (p *pending) Capture(*gpu.Ctx, sensors.Tick) (issued bool, err error) {
	p.capture()
	return true, nil
}

// loopOf is a frame loop of that sensor, on a GL thread that fakes OpenGL.
func loopOf(t *testing.T, s sensors.Capturer) *frameLoop {
	t.Helper()
	thread, err := gpu.Config{OnError: func(err error) { slog.Debug("expected", "error", err) }}.Start(gputest.NewFake().Open)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, thread.Close()) })
	out, err := openDelivery(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, out.close()) })
	r := newRigged(thread, nil)
	r.sensors, r.names = []sensors.Capturer{s}, []string{"pending"}
	return &frameLoop{rigged: r, out: out, work: computation{rounds: 10_000}, pace: pace{every: 1}}
}

// A loop that its caller ends makes no frame more than it must. It leaves the GL thread nothing
// to do that its figures are made of.
func TestAsynchronousLoopEndsWithItsContext(t *testing.T) {
	const captures = 200_000
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	l := loopOf(t, &pending{capture: cancel})
	p, err := l.asynchronous(ctx, captures)
	require.ErrorIs(t, err, context.Canceled)
	assert.Less(t, len(p.frames), captures)
	assert.Equal(t, l.announced, l.issued)
}

func TestPanicOfACaptureEndsTheAsynchronousLoop(t *testing.T) {
	l := loopOf(t, &pending{capture: func() { panic("no picture") }})
	_, err := l.asynchronous(t.Context(), 3)
	require.ErrorIs(t, err, errCapture)
}

// prompt is a sensor whose data is there at once.
type prompt struct{ pending }

func (*prompt) Process(simtime.Stamp) int { return 1 }

// A capture that the asynchronous loop loses is wrong data, not a loop that is too slow.
func TestALostCaptureIsWrongData(t *testing.T) {
	const captures = 3
	n := 0
	l := loopOf(t, &prompt{pending{capture: func() {
		if n++; n > captures { // the blocking loop has made its own
			panic("no picture")
		}
	}}})
	f := readbackFigures{captures: captures}
	require.NoError(t, f.run(t.Context(), l))
	require.ErrorIs(t, f.refused, ErrWrongData)
	require.ErrorIs(t, f.refused, errCapture)
	assert.NotErrorIs(t, compareRates([]float64{10}, []float64{5}), ErrWrongData)
}

// A driver that is done with everything at once leaves nothing to poll for, and a device without
// OpenGL takes no shader to wait for.
func TestNoFigureOfPollsIsSaid(t *testing.T) {
	host := gputest.NewFake()
	host.Fail("CreateProgram", &gpu.UnsupportedError{Feature: "shader", Need: "OpenGL"})
	for _, fake := range []*gputest.Fake{gputest.NewFake(), host} {
		var said strings.Builder
		cfg, err := Config{GL: fake.Start(t), Runs: 1, Progress: &said}.checked()
		require.NoError(t, err)
		results, err := measurePoll(t.Context(), &cfg)
		require.NoError(t, err)
		assert.Empty(t, results)
		assert.Contains(t, said.String(), "a poll isn't measured")
	}
}
