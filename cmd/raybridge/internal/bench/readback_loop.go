package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/sensors"
)

// frameLoop drives the sensors of a case frame by frame, blocking or
// asynchronously. Its methods are called on one goroutine, unless they say
// otherwise. A frame of the asynchronous loop allocates nothing: neither the
// collector nor a growing list makes one longer than another.
type frameLoop struct {
	rig  *rigged
	out  *delivery
	work computation
	pace pace

	asked  atomic.Int64  // captures that the asynchronous loop wants, so far
	wanted chan struct{} // pinged when asked has grown

	ticks     [2 * inFlight]sensors.Tick // of the latest captures, by number
	announced int                        // captures; of an asynchronous run the carrier's
	issued    int                        // captures; GL thread only, as waits
	waits     []time.Duration            // from a capture's announcement to its turn
	glFailure atomic.Pointer[error]      // of what the GL thread did

	// What is called on the GL thread, made once.
	blockingHop, captureHop func(*gpu.Ctx) error
}

// pass is what one run of a loop came to.
type pass struct {
	frames  []time.Duration // how long each frame was
	asks    []time.Duration // how long each capture kept the loop
	start   time.Time       // of the first frame
	waits   []time.Duration // from a capture's announcement to its turn on the GL thread
	took    time.Duration   // from start to the last publication
	streams []stream
}

// pace says when frames begin.
type pace struct {
	// period is from a frame's beginning to the next one's, if that isn't late; 0:
	// each begins when the one before it has ended.
	period time.Duration
	// every is how many frames have one capture, which the first of them makes.
	every int
}

// await returns when frame n of a loop that began at start may begin.
func (p pace) await(start time.Time, n int) (begun time.Time) {
	if p.period > 0 {
		time.Sleep(time.Until(start.Add(time.Duration(n) * p.period)))
	}
	return time.Now()
}

func newFrameLoop(r *rigged, out *delivery, work computation, pace pace) *frameLoop {
	l := &frameLoop{rig: r, out: out, work: work, pace: pace, wanted: make(chan struct{}, 1)}
	l.blockingHop, l.captureHop = l.captureAndFinish, l.capture
	return l
}

// begin makes ready for so many captures. Every run has the same stamps, from 0:
// what moves its limbs moves them by the stamp.
func (l *frameLoop) begin(captures int) *pass {
	l.out.expect(captures)
	l.rig.now, l.announced, l.issued = 0, 0, 0
	l.asked.Store(0)
	p := &pass{frames: make([]time.Duration, 0, captures*l.pace.every), asks: make([]time.Duration, 0, captures)}
	l.waits = make([]time.Duration, 0, captures)
	runtime.GC()
	return p
}

// announce begins the next capture: the sensors are told of it.
func (l *frameLoop) announce() (*sensors.Tick, error) {
	at := &l.ticks[l.announced%len(l.ticks)]
	*at = sensors.Tick{TimeNs: l.rig.now, PeriodNs: period, Seq: uint64(l.announced), Started: time.Now()}
	l.rig.now++
	l.announced++
	for _, s := range l.rig.sensors {
		if err := s.Tick(*at); err != nil {
			return nil, err
		}
	}
	return at, nil
}

// issue issues the next announced capture. GL thread.
func (l *frameLoop) issue(c *gpu.Ctx) error {
	at := &l.ticks[l.issued%len(l.ticks)]
	l.issued++
	l.waits = append(l.waits, time.Since(at.Started))
	for i, s := range l.rig.sensors {
		// One that isn't issued is counted as lost.
		if _, err := s.Capture(c, *at); err != nil {
			return fmt.Errorf("%s: %w", l.rig.names[i], err)
		}
	}
	return c.Flush()
}

// follow runs the frames of so many captures. What capture takes is part of its
// frame.
func (l *frameLoop) follow(p *pass, captures int, capture func() error) error {
	p.start = time.Now()
	begun := p.start
	for n := range captures * l.pace.every {
		l.work.do()
		if n%l.pace.every == 0 {
			entered := time.Now()
			if err := capture(); err != nil {
				return err
			}
			p.asks = append(p.asks, time.Since(entered))
		}
		p.frames = append(p.frames, time.Since(begun))
		begun = l.pace.await(p.start, n+1)
	}
	return nil
}

// blocking makes captures and waits for each.
func (l *frameLoop) blocking(ctx context.Context, captures int) (*pass, error) {
	p := l.begin(captures)
	if err := l.follow(p, captures, func() error { return l.captureNow(ctx) }); err != nil {
		return nil, err
	}
	return p, l.end(ctx, p)
}

// captureNow makes one capture, waits for its data, and hands it on.
func (l *frameLoop) captureNow(ctx context.Context) error {
	at, err := l.announce()
	if err != nil {
		return err
	}
	if err := l.rig.gl.Do(ctx, l.blockingHop); err != nil {
		return err
	}
	for i, s := range l.rig.sensors {
		if s.Process(at.TimeNs) != 1 {
			return errors.Join(fmt.Errorf("%s: the data isn't there after glFinish", l.rig.names[i]), l.rig.lost.err())
		}
	}
	return nil
}

// captureAndFinish makes a capture as a blocking readback does. A pool that copies
// after the fence issues its copy when it sees the fence. GL thread.
func (l *frameLoop) captureAndFinish(c *gpu.Ctx) error {
	if err := l.issue(c); err != nil {
		return err
	}
	for range 2 {
		if err := c.Finish(); err != nil {
			return err
		}
		l.rig.pollAll(c)
	}
	return nil
}

// end waits for what is still to be published, and takes it, unless ctx ends before.
func (l *frameLoop) end(ctx context.Context, p *pass) error {
	if err := l.out.dispatcher.Drain(ctx); err != nil {
		return errors.Join(err, l.failure())
	}
	p.waits, p.streams = l.waits, l.out.received()
	for i := range p.streams {
		for k := range p.streams[i].arrivals {
			p.took = max(p.took, p.streams[i].arrivals[k].published.Sub(p.start))
		}
	}
	return l.failure()
}

// failure returns what went wrong on the way.
func (l *frameLoop) failure() error {
	if err := l.glFailure.Load(); err != nil {
		return *err
	}
	return errors.Join(l.rig.lost.err(), l.out.failure())
}

// asynchronous asks for captures and waits for none; the run ends when all are
// published. Where captures are lost it returns what it came to nevertheless.
func (l *frameLoop) asynchronous(ctx context.Context, captures int) (*pass, error) {
	p := l.begin(captures)
	carried := make(chan error, 1)
	go func() { carried <- l.carry(ctx, captures) }()
	err := l.follow(p, captures, func() error {
		l.ask()
		return ctx.Err()
	})
	err = errors.Join(err, <-carried)
	// Whatever the GL thread still has of this run is over before its figures are
	// read, and before the next run, also when ctx has ended.
	barrier := l.rig.gl.Do(context.WithoutCancel(ctx), func(*gpu.Ctx) error { return nil })
	return p, errors.Join(err, barrier, l.end(ctx, p))
}

// ask wants one more capture. It doesn't wait, however many are not yet made.
func (l *frameLoop) ask() {
	l.asked.Add(1)
	select {
	case l.wanted <- struct{}{}:
	default:
	}
}

// carry makes the captures that are asked for, in order, and hands on what comes
// back, until that is all of the run, something failed, or ctx ended. It has a
// goroutine of its own, and as many captures under way as a stepped pipeline.
func (l *frameLoop) carry(ctx context.Context, captures int) error {
	done := make([]int, len(l.rig.sensors))
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		completed := l.handOn(done)
		if completed >= captures {
			return nil
		}
		if err := l.failure(); err != nil {
			return err
		}
		for l.announced < int(l.asked.Load()) && l.announced-completed < inFlight {
			if _, err := l.announce(); err != nil {
				return err
			}
			if err := l.rig.gl.Go(l.captureHop); err != nil {
				return err
			}
		}
		if err := l.awaitCapture(ctx, pause, l.announced > completed); err != nil {
			return err
		}
	}
}

// handOn hands on what has come back, counts it by sensor in done, and returns how
// many captures all sensors have handed on.
func (l *frameLoop) handOn(done []int) int {
	for i, s := range l.rig.sensors {
		done[i] += s.Process(math.MaxInt64)
	}
	return slices.Min(done)
}

// awaitCapture waits until there may be something to hand on or to make. While
// captures are under way it has the GL thread look at their fences.
func (l *frameLoop) awaitCapture(ctx context.Context, pause *time.Timer, underWay bool) error {
	var elapsed <-chan time.Time
	if underWay {
		if err := l.rig.askForPoll(); err != nil {
			return err
		}
		pause.Reset(pollPause)
		elapsed = pause.C
	}
	select {
	case <-l.rig.wake:
	case <-l.wanted:
	case <-elapsed:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// errCapture is what a capture leaves that ended the GL thread's function; the log
// has its panic.
var errCapture = errors.New("the capture panicked")

// capture issues a capture and looks at the fences. GL thread.
func (l *frameLoop) capture(c *gpu.Ctx) error {
	failure := errCapture
	defer func() {
		if failure != nil {
			l.glFailure.Store(&failure)
		}
	}()
	err := l.issue(c)
	l.rig.pollAll(c)
	failure = err
	return nil // the loop reports it, not the thread
}
