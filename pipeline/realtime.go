package pipeline

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// runRealtime lets the scene follow the clock until the simulation time is
// until. Three goroutines share the work and end with it: the frame loop (this
// one), the clock's publisher, and the completion of readbacks.
func (p *Pipeline) runRealtime(r *run, until func() int64) error {
	// With workers on every processor a ticking clock would wait for its turn.
	defer simtime.ReserveProcs()()
	p.letPass()
	defer func() { p.letPass = p.clock.Hold() }()
	p.follow()
	var workers sync.WaitGroup
	stop, cancel := context.WithCancel(r.completion)
	defer workers.Wait()
	defer cancel()

	finishClock, err := p.startClock(stop, &workers)
	if err != nil {
		return err
	}
	completed := make(chan struct{})
	drain := make(chan struct{})
	workers.Go(func() {
		defer close(completed)
		p.completeRealtime(stop, drain)
	})

	err = errors.Join(p.followClock(r, until()), p.settle())
	close(drain)
	select {
	case <-completed:
	case <-time.After(settleLimit):
		err = errors.Join(err, errors.New("captures in flight did not come back"))
	}
	finishClock()
	return err
}

// startClock starts the publisher of /clock, which ends with ctx. finish
// publishes the clock's last time, so that what waits for it may go out (law T4).
func (p *Pipeline) startClock(ctx context.Context, workers *sync.WaitGroup) (finish func(), err error) {
	if !p.gated() {
		return func() {}, nil
	}
	publisher, err := simtime.NewClockPublisher(p.clock, simtime.ClockPublisherConfig{
		Rate: p.clockDue.Rate(), Publish: p.publishClock, OwnThread: true, Logger: p.log,
	})
	if err != nil {
		return nil, err
	}
	// The run before let everything go at its end.
	p.dispatcher.Release(p.released)
	workers.Go(func() { _ = publisher.Run(ctx) }) // always nil
	return func() {
		if publisher.Stats().LastStamp != p.clock.Now() {
			_ = publisher.Publish(context.WithoutCancel(ctx)) // counted and logged
		}
	}, nil
}

// followClock is the frame loop. A loop that is late goes on from where the
// clock is: sensors fire once for their latest due instant, and never catch up
// (law T3).
func (p *Pipeline) followClock(r *run, until int64) error {
	var inFlight atomic.Int32 // instants handed to the GL thread and not yet issued
	for r.loop.Err() == nil {
		t, reached, err := p.advance(r, until)
		switch {
		case err != nil || reached == ended:
			return err
		case reached == elsewhere:
			until = later(until, p.realign(r))
			continue
		case reached == nowhere:
			continue
		}
		if err := p.fire(p.beginInstant(t), &inFlight); err != nil {
			return err
		}
		if p.config.OnProgress != nil {
			p.config.OnProgress(Progress{SimNs: t})
		}
	}
	return nil
}

// fire publishes what needs no GPU and hands the captures to the GL thread,
// unless it is behind: then they are dropped and counted (law R4).
func (p *Pipeline) fire(i *instant, inFlight *atomic.Int32) error {
	for k := range i.firings {
		f := &i.firings[k]
		if f.sensor.capturer != nil {
			continue
		}
		f.at.Started = time.Now()
		if err := f.sensor.sensor.Tick(f.at); err != nil {
			return wrap("sensor "+f.sensor.spec.Name, err)
		}
	}
	if !i.gpu {
		return nil
	}
	if inFlight.Load() >= maxCaptures {
		i.drop()
		return nil
	}
	announce(i)
	inFlight.Add(1)
	err := p.issue(i, func() {
		inFlight.Add(-1)
		p.failWith(i)
		p.wakeCompletion()
	})
	if errors.Is(err, gpu.ErrBusy) {
		inFlight.Add(-1)
		i.drop()
		p.failWith(i)
		return nil
	}
	return err
}

// drop counts the captures of an instant that the GL thread has no time for.
func (i *instant) drop() {
	for k := range i.firings {
		if s := i.firings[k].sensor; s.capturer != nil {
			s.dropped(sensors.CauseReadbackFull, 1)
		}
	}
}

// failWith ends the run with the errors of an instant's captures.
func (p *Pipeline) failWith(i *instant) {
	for k := range i.firings {
		if f := &i.firings[k]; f.err != nil {
			p.fail(wrap("sensor "+f.sensor.spec.Name, f.err))
		}
	}
}

// completeRealtime publishes readbacks as they come back, until drain is closed
// and none is left, or ctx ends.
func (p *Pipeline) completeRealtime(ctx context.Context, drain <-chan struct{}) {
	for {
		processed, pending := 0, 0
		for _, s := range p.sensors {
			if s.capturer != nil {
				processed += s.capturer.Process(math.MaxInt64)
				pending += s.capturer.Pending()
			}
		}
		if pending == 0 {
			select {
			case <-drain:
				return
			case <-p.wake:
			case <-ctx.Done():
				return
			}
			continue
		}
		if processed == 0 && p.awaitReadback(ctx) != nil {
			return
		}
	}
}

// publishClock sends /clock on every bridge and then lets the samples go that
// waited for it (law T4). It runs on the clock publisher's goroutine, or at the
// run's end on the frame loop's, one at a time.
func (p *Pipeline) publishClock(ctx context.Context, t int64) error {
	at := sensors.Tick{TimeNs: t, Started: time.Now()}
	message := &sample.Clock{StampNs: t}
	var errs []error
	for _, b := range p.bridges {
		if b.clockWanted() {
			errs = append(errs, b.clock.Publish(ctx, at, message))
			b.clockSent()
		}
	}
	p.released = t
	p.dispatcher.Release(t)
	return errors.Join(errs...)
}
