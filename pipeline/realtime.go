package pipeline

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/simtime"
)

// realtime is one run that follows the clock. Three goroutines share its work and
// end with it: the frame loop, the clock's publisher, and the completion of
// readbacks.
type realtime struct {
	*run
	p     *Pipeline
	clock *clockOutput // nil without /clock
}

// runRealtime lets the scene follow the clock until the simulation time is until.
func (p *Pipeline) runRealtime(r *run, until func() simtime.Stamp) error {
	// With workers on every processor a ticking clock would wait for its turn.
	defer simtime.ReserveProcs()()
	p.letPass()
	defer func() { p.letPass = p.clock.Hold() }()
	p.follow()
	var workers sync.WaitGroup
	stop, cancel := context.WithCancel(r.completion)
	defer workers.Wait()
	defer cancel()

	clock, err := p.startClock(stop, &workers)
	if err != nil {
		return err
	}
	completed := make(chan struct{})
	drain := make(chan struct{})
	workers.Go(func() {
		defer close(completed)
		p.completeRealtime(stop, drain)
	})

	rt := &realtime{run: r, p: p, clock: clock}
	err = errors.Join(rt.followClock(until()), p.settle())
	close(drain)
	select {
	case <-completed:
	case <-time.After(p.settleLimit()):
		err = errors.Join(err, errors.New("captures in flight did not come back"))
	}
	if clock != nil {
		clock.finish(stop)
	}
	return err
}

// followClock is the frame loop. A loop that is late continues from where the clock is: sensors
// fire once for their latest due instant, and never catch up (law T3). What a paused clock is
// told to step it goes through instant by instant.
func (rt *realtime) followClock(until simtime.Stamp) error {
	p := rt.p
	for rt.loop.Err() == nil {
		t, reached, err := p.advance(rt.run, until)
		switch {
		case err != nil || reached == ended:
			return err
		case reached == elsewhere:
			until = later(until, int64(p.realign(rt.run, rt.leave)))
			continue
		case reached == nowhere:
			continue
		}
		if rt.clock != nil {
			rt.clock.reach(t)
		}
		i, err := p.beginInstant(rt.run, t)
		switch {
		case err != nil:
		case p.clock.Stepping(t):
			err = rt.fireWhole(i)
		default:
			err = rt.fire(i)
		}
		i.release()
		if err != nil {
			return err
		}
		if p.config.OnProgress != nil {
			p.config.OnProgress(p.progress(t))
		}
	}
	return nil
}

// leave lets go out what was captured before a jump, with the clock that goes with it.
func (rt *realtime) leave() {
	if rt.clock != nil {
		rt.clock.follow(rt.loop, rt.settle)
	}
}

// settle waits until all that was captured has been published and sent, unless the
// run ends before, or something takes too long.
func (rt *realtime) settle() {
	ctx, cancel := flow.WithPatience(rt.loop, rt.p.settleLimit())
	defer cancel()
	for rt.p.issuing.Load() > 0 || rt.p.pending() > 0 {
		select {
		case <-time.After(pollPause):
		case <-ctx.Done():
			return
		}
	}
	_ = rt.p.dispatcher.Drain(ctx) // what isn't sent by then is sent later
}

// fire publishes what needs no GPU and hands the captures to the GL thread, unless it is
// behind. Then they are dropped and counted (law R4).
func (rt *realtime) fire(i *instant) error {
	if err := i.tickPlain(); err != nil || !i.gpu {
		return err
	}
	if rt.p.issuing.Load() >= maxCaptures {
		i.drop()
		return nil
	}
	announce(i)
	err := rt.p.issue(i, func() { rt.issued(i) })
	if errors.Is(err, gpu.ErrBusy) {
		i.drop()
		rt.p.failWith(i)
		return nil
	}
	return err
}

// fireWhole does all of an instant before it returns, as a stepped run does: time
// that is stepped has time, and loses nothing.
func (rt *realtime) fireWhole(i *instant) error {
	if rt.clock != nil && (i.clock || i.sensors) {
		rt.clock.tick(rt.loop)
	}
	if err := i.tickPlain(); err != nil {
		return err
	}
	if i.gpu {
		if err := rt.p.issuePatiently(rt.completion, i, func() { rt.issued(i) }); err != nil {
			return err
		}
	}
	if len(i.firings) > 0 {
		rt.settle()
	}
	return nil
}

// issued follows an instant's captures on the GL thread.
func (rt *realtime) issued(i *instant) {
	rt.p.failWith(i)
	rt.p.wakeCompletion()
}

// tickPlain publishes what needs no GPU.
func (i *instant) tickPlain() error {
	for k := range i.firings {
		f := &i.firings[k]
		if f.sensor.gpu {
			continue
		}
		if err := f.tick(); err != nil {
			return wrap("sensor "+f.sensor.spec.Name, err)
		}
	}
	return nil
}

// drop counts the captures of an instant that the GL thread has no time for.
func (i *instant) drop() {
	for k := range i.firings {
		if f := &i.firings[k]; f.sensor.gpu {
			f.sensor.dropped(f.at, flow.CauseReadbackFull)
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
		processed := 0
		for _, s := range p.live() {
			if s.gpu && s.users.Enter() {
				processed += s.life.Load().Process(math.MaxInt64)
				s.users.Exit()
			}
		}
		if p.pending() == 0 {
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

// pending counts the captures that were not yet published.
func (p *Pipeline) pending() int {
	n := 0
	for _, s := range p.live() {
		n += s.life.Load().Pending()
	}
	return n
}
