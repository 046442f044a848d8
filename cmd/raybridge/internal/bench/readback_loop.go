package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
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

	ticks     [2 * inFlight]sensors.Tick // of the latest captures, by number
	announced int                        // captures
	issued    int                        // captures; GL thread only, as waits
	waits     []time.Duration            // from a capture's announcement to its turn
	glFailure atomic.Pointer[error]      // of what the GL thread did

	polled    chan struct{} // of the completion's hops
	completed atomic.Int64  // captures that all sensors have handed on

	// What is called on the GL thread, made once.
	blockingHop, captureHop, pollHop func(*gpu.Ctx) error
}

// pass is what one run of a loop came to.
type pass struct {
	frames  []time.Duration // how long each frame was
	hops    []time.Duration // how long each frame was in calls of raybridge; asynchronous only
	crowded int             // frames that found no room for their capture
	waits   []time.Duration // from a capture's announcement to its turn on the GL thread
	took    time.Duration   // from the first frame's beginning to the last publication
	streams []stream
}

func newFrameLoop(r *rigged, out *delivery, work computation) *frameLoop {
	l := &frameLoop{rig: r, out: out, work: work, polled: make(chan struct{}, 1)}
	l.blockingHop, l.captureHop, l.pollHop = l.captureAndFinish, l.capture, l.poll
	return l
}

// begin makes ready for so many captures in about so many frames. Every run has
// the same stamps, from 0: what moves its limbs moves them by the stamp.
func (l *frameLoop) begin(captures, frames int) *pass {
	l.out.expect(captures)
	l.rig.now, l.announced, l.issued = 0, 0, 0
	l.completed.Store(0)
	p := &pass{
		frames: make([]time.Duration, 0, frames), hops: make([]time.Duration, 0, frames),
	}
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

// blocking makes captures one a frame, and waits for each.
func (l *frameLoop) blocking(ctx context.Context, captures int) (*pass, error) {
	p := l.begin(captures, captures)
	start := time.Now()
	begun := start
	for range captures {
		l.work.do()
		if err := l.captureNow(ctx); err != nil {
			return nil, err
		}
		begun = p.endFrame(begun)
	}
	return p, l.end(ctx, p, start)
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

// endFrame notes a frame that began at begun, and returns when the next one begins.
func (p *pass) endFrame(begun time.Time) time.Time {
	now := time.Now()
	p.frames = append(p.frames, now.Sub(begun))
	return now
}

// end waits for what is still to be published, and takes it.
func (l *frameLoop) end(ctx context.Context, p *pass, start time.Time) error {
	err := l.out.dispatcher.Drain(ctx)
	p.waits, p.streams = l.waits, l.out.received()
	for i := range p.streams {
		for k := range p.streams[i].arrivals {
			p.took = max(p.took, p.streams[i].arrivals[k].published.Sub(start))
		}
	}
	return errors.Join(err, l.failure())
}

// failure returns what went wrong on the way.
func (l *frameLoop) failure() error {
	if err := l.glFailure.Load(); err != nil {
		return *err
	}
	return errors.Join(l.rig.lost.err(), l.out.failure())
}

// asynchronous makes captures as there is room for them, and waits for none.
// frames is about how many it will take. Where captures are lost it returns what it
// came to nevertheless.
func (l *frameLoop) asynchronous(ctx context.Context, captures, frames int) (*pass, error) {
	p := l.begin(captures, frames)
	completion, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		l.complete(completion, captures)
	}()
	start := time.Now()
	err := l.followFrames(ctx, p, captures)
	cancel()
	<-ended
	// Whatever the GL thread still has of this run is over before the next.
	barrier := l.rig.gl.Do(ctx, func(*gpu.Ctx) error { return nil })
	return p, errors.Join(err, barrier, l.end(ctx, p, start))
}

// followFrames is the loop, up to the last message's publication.
func (l *frameLoop) followFrames(ctx context.Context, p *pass, captures int) error {
	begun := time.Now()
	for !l.out.whole(captures) && ctx.Err() == nil && l.failure() == nil {
		l.work.do()
		entered := time.Now()
		err := l.hop(p, captures)
		p.hops = append(p.hops, time.Since(entered))
		if err != nil {
			return err
		}
		begun = p.endFrame(begun)
	}
	return ctx.Err()
}

// hop makes a capture where one is wanted and there is room, in one hop to the GL
// thread (law G2). It never waits.
func (l *frameLoop) hop(p *pass, captures int) error {
	if l.announced == captures {
		return nil
	}
	if l.announced-int(l.completed.Load()) >= inFlight {
		p.crowded++
		return nil
	}
	if _, err := l.announce(); err != nil {
		return err
	}
	return l.rig.gl.Go(l.captureHop)
}

// capture issues a capture and looks at the fences. GL thread.
func (l *frameLoop) capture(c *gpu.Ctx) error {
	failed := l.issue(c)
	if failed != nil {
		l.glFailure.Store(&failed)
	}
	l.rig.pollAll(c)
	return nil // the loop reports it, not the thread
}

// poll looks at the fences. GL thread.
func (l *frameLoop) poll(c *gpu.Ctx) error {
	l.rig.pollAll(c)
	l.polled <- struct{}{} // has room: one is under way
	return nil
}

// complete hands on what has come back, on a goroutine of its own, until that is
// all or ctx ends. While captures are under way it has the GL thread look at their
// fences, as a pipeline does.
func (l *frameLoop) complete(ctx context.Context, captures int) {
	done := make([]int64, len(l.rig.sensors))
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		least := int64(math.MaxInt64)
		for i, s := range l.rig.sensors {
			done[i] += int64(s.Process(math.MaxInt64))
			least = min(least, done[i])
		}
		l.completed.Store(least)
		if least >= int64(captures) {
			return
		}
		if l.rig.gl.Go(l.pollHop) == nil {
			<-l.polled
		}
		pause.Reset(pollPause)
		select {
		case <-l.rig.wake:
		case <-pause.C:
		case <-ctx.Done():
			return
		}
	}
}
