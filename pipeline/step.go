package pipeline

import (
	"context"
	"errors"
	"time"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
)

// Bounds of what a stepped run has begun and not yet published: enough for the
// GL thread to work on one instant's captures while the one before is converted.
const (
	maxInstants = 256
	maxCaptures = 2
)

// firing is one sensor's tick at an instant.
type firing struct {
	sensor *Sensor // counted as in use until the instant's release
	at     sensors.Tick
	// captured and err are written on the GL thread before the instant's issued is
	// closed.
	captured bool
	err      error
	turnless bool // it failed before it had its turn
}

// instant is everything that happens at one moment of simulation time.
type instant struct {
	timeNs  int64
	frame   uint64
	clock   bool
	firings []firing
	gpu     bool          // some firing captures
	issued  chan struct{} // closed when the GL thread has issued the captures

	released bool // see release; of whoever has the instant
}

// runStepped goes from instant to instant until the simulation time is `until`,
// and publishes each instant completely before the next (law T5). It returns
// when everything begun was published, or at the first error.
func (p *Pipeline) runStepped(r *run, until int64) error {
	for {
		begun := make(chan *instant, maxInstants)
		captures := make(chan struct{}, maxCaptures)
		done := make(chan error, 1)
		go func() {
			err := p.complete(r.completion, begun, captures)
			if err != nil {
				r.cancel(err)
			}
			for i := range begun {
				i.release() // of a run that has failed
			}
			done <- err
		}()
		jumped, err := p.begin(r, until, begun, captures)
		close(begun)
		err = errors.Join(<-done, err)
		if err != nil || !jumped {
			return err
		}
		// Only now: what was begun before the jump needs the history as it was.
		until = later(until, p.realign(r, func() {}))
	}
}

// begin is the frame loop: it advances time and hands instants on. It waits only
// for room, and returns when time is at until, the run ends, or the clock has jumped.
func (p *Pipeline) begin(r *run, until int64, begun chan<- *instant, captures chan<- struct{}) (jumped bool, err error) {
	for r.loop.Err() == nil {
		t, reached, err := p.advance(r, until)
		switch {
		case err != nil || reached == ended:
			return false, err
		case reached == elsewhere:
			return true, nil
		case reached == nowhere:
			continue
		}
		i, err := p.beginInstant(r, t)
		if err == nil {
			err = p.handOn(r, i, begun, captures)
		} else {
			i.release()
		}
		if err != nil {
			return false, err
		}
		if p.config.OnProgress != nil {
			p.config.OnProgress(p.progress(t))
		}
	}
	return false, nil
}

// handOn issues an instant's captures and gives it to the completion. An instant
// that was begun is handed on whole, also when the caller ends the run: only a
// failure leaves it out.
func (p *Pipeline) handOn(r *run, i *instant, begun chan<- *instant, captures chan<- struct{}) error {
	if i.gpu {
		select {
		case captures <- struct{}{}:
		case <-r.completion.Done():
			i.release()
			return nil
		}
		if err := p.issuePatiently(r.completion, i, nil); err != nil {
			i.release()
			return err
		}
	}
	select {
	case begun <- i:
	case <-r.completion.Done():
		i.release()
	}
	return nil
}

// issuePatiently issues an instant's captures, see issue; where others keep the GL
// thread busy it waits, for what is stepped loses nothing.
func (p *Pipeline) issuePatiently(ctx context.Context, i *instant, after func()) error {
	announce(i)
	for {
		err := p.issue(i, after)
		if !errors.Is(err, gpu.ErrBusy) {
			return err
		}
		select {
		case <-time.After(pollPause):
		case <-ctx.Done():
			return nil // the run has failed, and nobody waits for the instant
		}
	}
}

// errCapture is what a capture leaves that ended the GL thread's function; the
// log has its panic.
var errCapture = errors.New("the capture panicked")

// issue hands an instant's captures to the GL thread in one hop (law G2); after,
// if not nil, is called there when they are issued and must not wait. On an error
// nothing was handed over.
func (p *Pipeline) issue(i *instant, after func()) error {
	i.issued = make(chan struct{})
	return p.gl.Go(func(c *gpu.Ctx) error {
		returned := false
		defer func() {
			if !returned {
				i.fail(errCapture)
			}
			close(i.issued)
			if after != nil {
				after()
			}
		}()
		p.captureAll(c, i)
		returned = true
		return nil
	})
}

// fail gives the captures that were not issued an error.
func (i *instant) fail(err error) {
	for k := range i.firings {
		if f := &i.firings[k]; f.sensor.gpu && !f.captured && f.err == nil {
			f.err = err
		}
	}
}

// captureAll issues an instant's captures. GL thread.
func (p *Pipeline) captureAll(c *gpu.Ctx, i *instant) {
	for k := range i.firings {
		f := &i.firings[k]
		if !f.sensor.gpu || f.err != nil {
			continue
		}
		if !f.sensor.users.enter() { // it was ended before its turn came
			f.sensor.dropped(flow.CauseClosed, 1)
			continue
		}
		f.captured, f.err = f.sensor.life.Capture(c, f.at)
		f.sensor.users.exit()
		if !f.captured && f.err == nil {
			f.missed(flow.CauseReadbackFull)
		}
	}
	if err := c.Flush(); err != nil {
		p.fail(err)
	}
	p.pollAll(c)
}

// pollAll moves all finished readbacks on. GL thread.
func (p *Pipeline) pollAll(c *gpu.Ctx) {
	for _, s := range p.live() {
		if s.gpu && s.users.enter() {
			s.life.Poll(c)
			s.users.exit()
		}
	}
}

// complete publishes the instants in order.
func (p *Pipeline) complete(ctx context.Context, begun <-chan *instant, captures <-chan struct{}) error {
	for i := range begun {
		err := p.publish(ctx, i)
		i.release()
		if err != nil {
			return err
		}
		if i.gpu {
			<-captures
		}
	}
	return nil
}

// publish sends everything of one instant: the clock, then the sensors in the
// order they were added.
func (p *Pipeline) publish(ctx context.Context, i *instant) error {
	p.publishing.Store(i.timeNs)
	if i.clock {
		p.queueClock(i.timeNs)
	}
	for k := range i.firings {
		f := &i.firings[k]
		if !f.sensor.gpu {
			f.at.Started = time.Now()
			if err := f.sensor.life.Tick(f.at); err != nil {
				return wrap("sensor "+f.sensor.spec.Name, err)
			}
			continue
		}
		if err := p.publishCapture(ctx, i, f); err != nil {
			return wrap("sensor "+f.sensor.spec.Name, err)
		}
	}
	return nil
}

// publishCapture waits for a capture and publishes it.
func (p *Pipeline) publishCapture(ctx context.Context, i *instant, f *firing) error {
	select {
	case <-i.issued:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if f.err != nil {
		return f.err
	}
	if !f.captured {
		return nil
	}
	for f.sensor.life.Process(f.at.TimeNs) == 0 {
		if f.sensor.life.Pending() == 0 {
			return nil // it failed and was counted
		}
		if err := p.awaitReadback(ctx); err != nil {
			return err
		}
	}
	return nil
}

// pollPause is how long a completion waits before it asks the GL thread again
// for a fence that hasn't signalled.
const pollPause = 200 * time.Microsecond

// awaitReadback waits until a capture may have become ready, and has the GL thread
// look after the readbacks. One such look waits for its turn at a time, for the GL
// thread may be busy with the next capture; what that finds ready isn't kept waiting.
func (p *Pipeline) awaitReadback(ctx context.Context) error {
	if p.polling.CompareAndSwap(false, true) {
		err := p.gl.Go(p.pollHop)
		if err != nil {
			p.polling.Store(false)
		}
		if err != nil && !errors.Is(err, gpu.ErrBusy) {
			return err
		}
	}
	select {
	case <-p.wake:
	case <-time.After(pollPause):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// pollInTurn is awaitReadback's look. GL thread.
func (p *Pipeline) pollInTurn(c *gpu.Ctx) error {
	p.polling.Store(false)
	p.pollAll(c)
	return nil
}

// queueClock queues /clock for all bridges, ahead of the instant's samples (law T4).
func (p *Pipeline) queueClock(t int64) {
	at := sensors.Tick{TimeNs: t, Started: time.Now()}
	message := &sample.Clock{StampNs: t}
	for _, b := range p.bridges {
		if b.clockWanted() {
			b.clock.Load().TryQueue(at, message)
			b.clockSent()
		}
	}
}
