package pipeline

import (
	"context"
	"errors"
	"time"

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
	sensor *Sensor
	at     sensors.Tick
	// captured is written on the GL thread before the instant's issued is closed.
	captured bool
	err      error
}

// instant is everything that happens at one moment of simulation time.
type instant struct {
	timeNs  int64
	clock   bool
	firings []firing
	gpu     bool          // some firing captures
	issued  chan struct{} // closed when the GL thread has issued the captures
}

// runStepped goes from instant to instant until the simulation time is `until`,
// and publishes each instant completely before the next (law T5). It returns
// when everything begun was published, or at the first error.
func (p *Pipeline) runStepped(r *run, until int64) error {
	begun := make(chan *instant, maxInstants)
	captures := make(chan struct{}, maxCaptures)
	done := make(chan error, 1)
	go func() {
		err := p.complete(r.completion, begun, captures)
		if err != nil {
			r.cancel(err)
		}
		done <- err
	}()
	err := p.begin(r.loop, until, begun, captures)
	close(begun)
	return errors.Join(<-done, err)
}

// begin is the frame loop: it advances time and hands instants on. It waits only
// for room, and returns nil when ctx ends.
func (p *Pipeline) begin(ctx context.Context, until int64, begun chan<- *instant, captures chan<- struct{}) error {
	for ctx.Err() == nil {
		next := p.nextInstant()
		if next > until {
			p.simNs = until
			return nil
		}
		if reached, _ := p.await(ctx, next); !reached {
			return nil // ctx ended while the clock was paused
		}
		if err := p.clock.Advance(next); err != nil {
			return err
		}
		i := p.beginInstant(next)
		if i.gpu {
			select {
			case captures <- struct{}{}:
			case <-ctx.Done():
				return nil
			}
			if err := p.issue(i); err != nil {
				return err
			}
		}
		select {
		case begun <- i:
		case <-ctx.Done():
			return nil
		}
		if p.config.OnProgress != nil {
			p.config.OnProgress(Progress{SimNs: next})
		}
	}
	return nil
}

// nextInstant is the earliest of the next step, clock and due sensor.
func (p *Pipeline) nextInstant() int64 {
	step := int64(p.config.Step)
	next := (p.simNs/step + 1) * step
	if p.clockDue != nil {
		next = min(next, p.clockDue.Next())
	}
	for _, s := range p.sensors {
		next = min(next, s.schedule.Next())
	}
	return next
}

// beginInstant moves the scene to t and lists what is due.
func (p *Pipeline) beginInstant(t int64) *instant {
	p.simNs = t
	p.history.Record(t)
	i := &instant{timeNs: t}
	if p.clockDue != nil {
		_, i.clock = p.clockDue.Due(t)
	}
	now := time.Now()
	for _, s := range p.sensors {
		if at, due := s.due(t, now); due && s.heard() {
			i.firings = append(i.firings, firing{sensor: s, at: at})
			i.gpu = i.gpu || s.capturer != nil
		}
	}
	return i
}

// due returns the sensor's firing at the latest instant of its grid up to t that
// hasn't fired.
func (s *Sensor) due(t int64, now time.Time) (sensors.Tick, bool) {
	fired, due := s.schedule.Due(t)
	if !due {
		return sensors.Tick{}, false
	}
	rate := s.schedule.Rate()
	at := sensors.Tick{
		TimeNs: fired, PeriodNs: fired - rate.At(rate.IndexAt(fired)-1), Seq: s.seq, Started: now,
	}
	s.seq++
	return at, true
}

// issue announces the captures and hands them to the GL thread in one hop (law G2).
func (p *Pipeline) issue(i *instant) error {
	for k := range i.firings {
		f := &i.firings[k]
		if f.sensor.capturer != nil {
			f.err = f.sensor.sensor.Tick(f.at)
		}
	}
	i.issued = make(chan struct{})
	err := p.gl.Go(func(c *gpu.Ctx) error {
		defer close(i.issued)
		p.captureAll(c, i)
		return nil
	})
	if err != nil {
		close(i.issued)
	}
	return err
}

// captureAll issues an instant's captures. GL thread.
func (p *Pipeline) captureAll(c *gpu.Ctx, i *instant) {
	for k := range i.firings {
		f := &i.firings[k]
		if f.sensor.capturer == nil || f.err != nil {
			continue
		}
		f.captured, f.err = f.sensor.capturer.Capture(c, f.at)
	}
	if err := c.Flush(); err != nil {
		p.fail(err)
	}
	p.pollAll(c)
}

// pollAll moves all finished readbacks on. GL thread.
func (p *Pipeline) pollAll(c *gpu.Ctx) {
	for _, s := range p.sensors {
		if s.capturer != nil {
			s.capturer.Poll(c)
		}
	}
}

// complete publishes the instants in order.
func (p *Pipeline) complete(ctx context.Context, begun <-chan *instant, captures <-chan struct{}) error {
	for i := range begun {
		if err := p.publish(ctx, i); err != nil {
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
		if f.sensor.capturer == nil {
			if err := f.sensor.sensor.Tick(f.at); err != nil {
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
	for f.sensor.capturer.Process(f.at.TimeNs) == 0 {
		if f.sensor.capturer.Pending() == 0 {
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

// awaitReadback has the GL thread poll, and waits until something may have become
// ready.
func (p *Pipeline) awaitReadback(ctx context.Context) error {
	polled := make(chan struct{})
	err := p.gl.Go(func(c *gpu.Ctx) error {
		p.pollAll(c)
		close(polled)
		return nil
	})
	if err != nil && !errors.Is(err, gpu.ErrBusy) {
		return err
	}
	if err == nil {
		select {
		case <-polled:
		case <-ctx.Done():
			return context.Cause(ctx)
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

// queueClock queues /clock for all bridges.
func (p *Pipeline) queueClock(t int64) {
	at := sensors.Tick{TimeNs: t, Started: time.Now()}
	for _, b := range p.bridges {
		if b.clock != nil && b.clock.Listening() {
			b.clock.TryQueue(at, &sample.Clock{StampNs: t})
		}
	}
}
