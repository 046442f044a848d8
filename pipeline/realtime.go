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

// drainLimit bounds how long the end of a realtime run waits for the captures in
// flight.
const drainLimit = 10 * time.Second

// runRealtime lets the scene follow the clock until the simulation time is
// until. Three goroutines share the work and end with it: the frame loop (this
// one), the clock's publisher, and the completion of readbacks.
func (p *Pipeline) runRealtime(r *run, until int64) error {
	// With workers on every processor a ticking clock would wait for its turn.
	defer simtime.ReserveProcs()()
	p.clock.Resume()
	defer p.clock.Pause()
	var workers sync.WaitGroup
	stop, cancel := context.WithCancel(r.completion)
	defer workers.Wait()
	defer cancel()

	if p.clockDue != nil {
		publisher, err := simtime.NewClockPublisher(p.clock, simtime.ClockPublisherConfig{
			Rate: p.clockDue.Rate(), Publish: p.publishClock, OwnThread: true, Logger: p.log,
		})
		if err != nil {
			return err
		}
		workers.Go(func() { _ = publisher.Run(stop) }) // always nil
	}
	completed := make(chan struct{})
	drain := make(chan struct{})
	workers.Go(func() {
		defer close(completed)
		p.completeRealtime(stop, drain)
	})

	err := p.followClock(r.loop, until)
	close(drain)
	select {
	case <-completed:
	case <-time.After(drainLimit):
		err = errors.Join(err, errors.New("captures in flight did not come back"))
	}
	return err
}

// followClock is the frame loop. A loop that is late goes on from where the
// clock is: sensors fire once for their latest due instant, and never catch up
// (law T3).
func (p *Pipeline) followClock(ctx context.Context, until int64) error {
	var inFlight atomic.Int32 // instants handed to the GL thread and not yet issued
	for ctx.Err() == nil {
		next := p.nextInstant()
		if next > until {
			p.simNs = until
			return nil
		}
		if reached, jumped := p.await(ctx, next); jumped {
			p.realign()
			continue
		} else if !reached {
			return nil
		}
		t := next
		if now := p.clock.Pace(); now-next > int64(p.config.Step) {
			t = min(now, until)
		}
		err := p.clock.Advance(t)
		if errors.Is(err, simtime.ErrAhead) {
			continue // paused or set back meanwhile
		}
		if err != nil && !errors.Is(err, simtime.ErrBackward) {
			return err
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

// await waits until the loop may advance to t: neither, if ctx ended first.
func (p *Pipeline) await(ctx context.Context, t int64) (reached, jumped bool) {
	err := p.clock.WaitUntil(ctx, t)
	return err == nil, errors.Is(err, simtime.ErrJumped)
}

// realign goes on from where the clock has jumped to.
func (p *Pipeline) realign() {
	now := p.clock.Now()
	p.simNs = now
	for _, s := range p.sensors {
		s.schedule.Realign(now)
	}
	if p.clockDue != nil {
		p.clockDue.Realign(now)
	}
}

// fire publishes what needs no GPU and hands the captures to the GL thread,
// unless it is behind: then they are dropped and counted (law R4).
func (p *Pipeline) fire(i *instant, inFlight *atomic.Int32) error {
	captures := i.gpu
	for k := range i.firings {
		f := &i.firings[k]
		switch {
		case f.sensor.capturer == nil:
			if err := f.sensor.sensor.Tick(f.at); err != nil {
				return wrap("sensor "+f.sensor.spec.Name, err)
			}
		case inFlight.Load() >= maxCaptures:
			f.sensor.dropped(sensors.CauseReadbackFull, 1)
			captures = false
		}
	}
	if !captures {
		return nil
	}
	inFlight.Add(1)
	err := p.issue(i)
	go func() {
		<-i.issued
		inFlight.Add(-1)
		for k := range i.firings {
			if f := &i.firings[k]; f.err != nil {
				p.fail(wrap("sensor "+f.sensor.spec.Name, f.err))
			}
		}
		p.wakeCompletion()
	}()
	if errors.Is(err, gpu.ErrBusy) {
		return nil
	}
	return err
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
// waited for it (law T4). It runs on the clock publisher's goroutine.
func (p *Pipeline) publishClock(ctx context.Context, t int64) error {
	at := sensors.Tick{TimeNs: t, Started: time.Now()}
	message := &sample.Clock{StampNs: t}
	var errs []error
	for _, b := range p.bridges {
		if b.clock != nil && b.clock.Listening() {
			errs = append(errs, b.clock.Publish(ctx, at, message))
		}
	}
	p.dispatcher.Release(t)
	return errors.Join(errs...)
}
