package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/sensors"
)

// inFlight is how many captures are under way at a time, as in a stepped run of a
// pipeline: the GL thread works on one while the one before is read and published.
const inFlight = 2

// pollPause is how long the loop waits before it has a fence asked again.
const pollPause = 200 * time.Microsecond

// period is the sensors' nominal period.
const period = 100_000_000 // ns

// lostCaptures collects why captures were lost: a figure with a lost capture
// would be none. Any goroutine may add.
type lostCaptures struct {
	mu    sync.Mutex
	cause flow.Cause // guarded by mu
}

func (l *lostCaptures) add(cause flow.Cause, _ int) {
	if cause == flow.CauseNoReturn {
		return // a scan that saw nothing is complete
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cause = cause
}

func (l *lostCaptures) err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cause == "" {
		return nil
	}
	return fmt.Errorf("a capture was lost: %s", l.cause)
}

// frame is one firing of all sensors of a rig.
type frame struct {
	at     sensors.Tick
	issued chan struct{} // closed when the GL thread has issued the captures
	err    error         // written before issued is closed
}

// run makes complete frames and returns how long that took, from the first
// dispatch to the last delivery.
func (r *rigged) run(ctx context.Context, frames int) (time.Duration, error) {
	begun := time.Now()
	var open []*frame
	for done := 0; done < frames; done++ {
		for len(open) < inFlight && done+len(open) < frames {
			f, err := r.issue()
			if err != nil {
				return 0, err
			}
			open = append(open, f)
		}
		if err := r.await(ctx, open[0]); err != nil {
			return 0, err
		}
		open = open[1:]
	}
	return time.Since(begun), r.lost.err()
}

// issue announces a frame and hands it to the GL thread in one hop. Frames are a
// nanosecond apart: the poses stand still, and yet no sensor takes what it made
// for the instant before.
func (r *rigged) issue() (*frame, error) {
	f := &frame{
		at:     sensors.Tick{TimeNs: r.now, PeriodNs: period, Seq: uint64(r.now), Started: time.Now()},
		issued: make(chan struct{}),
	}
	r.now++
	for _, s := range r.sensors {
		if err := s.Tick(f.at); err != nil {
			return nil, err
		}
	}
	return f, r.gl.Go(func(c *gpu.Ctx) error {
		defer close(f.issued)
		for _, s := range r.sensors {
			// One that isn't issued is missed by await.
			_, err := s.Capture(c, f.at)
			f.err = errors.Join(f.err, err)
		}
		f.err = errors.Join(f.err, c.Flush())
		r.pollAll(c)
		return nil
	})
}

func (r *rigged) pollAll(c *gpu.Ctx) {
	for _, s := range r.sensors {
		s.Poll(c)
	}
}

// await returns when every sensor has published a frame.
func (r *rigged) await(ctx context.Context, f *frame) error {
	select {
	case <-f.issued:
	case <-ctx.Done():
		return ctx.Err()
	}
	if f.err != nil {
		return f.err
	}
	for i, s := range r.sensors {
		for s.Process(f.at.TimeNs) == 0 {
			if s.Pending() == 0 {
				return errors.Join(fmt.Errorf("%s has published nothing", r.names[i]), r.lost.err())
			}
			if err := r.poll(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// poll waits until a readback may have become ready, and has the GL thread look
// after them.
func (r *rigged) poll(ctx context.Context) error {
	if err := r.askForPoll(); err != nil {
		return err
	}
	select {
	case <-r.wake:
	case <-time.After(pollPause):
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// askForPoll has the GL thread look after the readbacks, by one look that waits for
// its turn at a time.
func (r *rigged) askForPoll() error {
	if !r.polling.CompareAndSwap(false, true) {
		return nil
	}
	err := r.gl.Go(r.pollHop)
	if err != nil {
		r.polling.Store(false)
	}
	return err
}

// pollInTurn is askForPoll's look. GL thread.
func (r *rigged) pollInTurn(c *gpu.Ctx) error {
	r.polling.Store(false)
	r.pollAll(c)
	return nil
}

// Frames that are made before anything counts: the first compile shaders, the
// next tell how long a frame takes.
const (
	warmUp     = 3
	calibrated = 4
)

// timing is what the runs of a case took.
type timing struct {
	frames int       // a run
	rates  []float64 // frames per second, one a run
}

// measure times several runs of whole frames.
func (r *rigged) measure(ctx context.Context, cfg *Config) (timing, error) {
	if _, err := r.run(ctx, warmUp); err != nil {
		return timing{}, err
	}
	took, err := r.run(ctx, calibrated)
	if err != nil {
		return timing{}, err
	}
	t := timing{frames: max(calibrated, int(cfg.RunTime*calibrated/max(took, 1)+1))}
	for range cfg.Runs {
		took, err := r.run(ctx, t.frames)
		if err != nil {
			return timing{}, err
		}
		t.rates = append(t.rates, float64(t.frames)/took.Seconds())
	}
	return t, nil
}

// snapshot makes one more frame and keeps it.
func (r *rigged) snapshot(ctx context.Context) error {
	r.keep = true
	_, err := r.run(ctx, 1)
	r.keep = false
	return err
}
