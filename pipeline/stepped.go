package pipeline

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/raybridge/raybridge/pipeline/carry"
	"github.com/raybridge/raybridge/simtime"
)

// stepped is one run that goes from instant to instant as fast as the machine can. Two goroutines share its
// work and end with it: the frame loop, which begins instants, and the completion, which publishes each of them
// completely before the next (law T5).
type stepped struct {
	*run
	loop     *loop
	captures *captures
	bridges  *carry.Bridges
	log      *slog.Logger // that isn't published
}

// runUntil runs until the simulation time is `until`. It returns
// when everything begun was published, or at the first error.
func (x *stepped) runUntil(until simtime.Stamp) error {
	for {
		begun := make(chan *instant, maxInstants)
		captures := make(chan struct{}, maxCaptures)
		done := make(chan error, 1)
		go func() {
			err := x.complete(begun, captures)
			if err != nil {
				x.cancel(err)
			}
			for i := range begun {
				i.release() // of a run that has failed
			}
			done <- err
		}()
		jumped, err := x.begin(until, begun, captures)
		close(begun)
		err = errors.Join(<-done, err)
		if err != nil || !jumped {
			return err
		}
		// Only now: what was begun before the jump needs the history as it was.
		until = later(until, int64(x.loop.realign(func() {})))
	}
}

// begin advances time and hands instants on. It waits only
// for room, and returns when time is at until, the run ends, or the clock has jumped.
func (x *stepped) begin(until simtime.Stamp, begun chan<- *instant, captures chan<- struct{}) (jumped bool, err error) {
	for x.ctx.Err() == nil {
		t, reached, err := x.loop.advance(x.ctx, until)
		switch {
		case err != nil || reached == ended:
			return false, err
		case reached == elsewhere:
			return true, nil
		case reached == nowhere:
			continue
		}
		i, err := x.loop.beginInstant(x.completion, t)
		if err == nil {
			err = x.submit(i, begun, captures)
		} else {
			i.release()
		}
		if err != nil {
			return false, err
		}
		x.loop.report(t)
	}
	return false, nil
}

// submit issues an instant's captures and gives it to the completion. An instant
// that was begun is handed on whole, also when the caller ends the run: only a
// failure leaves it out.
func (x *stepped) submit(i *instant, begun chan<- *instant, captures chan<- struct{}) error {
	if i.gpu {
		select {
		case captures <- struct{}{}:
		case <-x.completion.Done():
			i.release()
			return nil
		}
		if err := x.captures.issuePatiently(x.completion, i, nil); err != nil {
			i.release()
			return err
		}
	}
	select {
	case begun <- i:
	case <-x.completion.Done():
		i.release()
	}
	return nil
}

// complete publishes the instants in order.
func (x *stepped) complete(begun <-chan *instant, captures <-chan struct{}) error {
	for i := range begun {
		err := x.publish(i)
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

// publish sends everything of one instant: the clock, then the sensors in the order they were
// added. Their instants have a clock of their own where none is due (law T4). That a sensor is
// heard doesn't matter: a recording has the same clocks with other listeners besides.
func (x *stepped) publish(i *instant) error {
	x.bridges.SetInstant(i.stamp)
	if i.clock || i.sensors {
		x.bridges.QueueClock(i.stamp)
	}
	for k := range i.firings {
		f := &i.firings[k]
		if err := x.publishFiring(i, f); err != nil {
			return wrap("sensor "+f.sensor.spec.Name, err)
		}
	}
	return nil
}

// publishFiring has a sensor publish, or waits for its capture and publishes that.
func (x *stepped) publishFiring(i *instant, f *firing) error {
	if !f.sensor.gpu {
		return f.tick()
	}
	slow := slowness{log: x.log, sensor: f.sensor.spec.Name}
	for issued := false; !issued; {
		select {
		case <-i.issued:
			issued = true
		case <-slow.look(): // the GL thread itself waits for the driver
			slow.tell()
		case <-x.completion.Done():
			return context.Cause(x.completion)
		}
	}
	if f.err != nil {
		return f.err
	}
	if !f.captured {
		return nil
	}
	for life := f.sensor.life.Load(); life.Process(f.at.Due) == 0; slow.tell() {
		if life.Pending() == 0 {
			return nil // it failed and was counted
		}
		if err := x.captures.await(x.completion); err != nil {
			return err
		}
	}
	return nil
}

// slowCapture is how long a capture that is waited for may take until that is told.
const slowCapture = 5 * time.Second

// slowness tells, ever more rarely, of a capture that a stepped run waits for. The wait begins
// when it is first asked.
type slowness struct {
	log    *slog.Logger
	sensor string
	begun  time.Time
	next   time.Duration // after begun
}

// look returns when to tell.
func (s *slowness) look() <-chan time.Time {
	s.begin()
	return time.After(time.Until(s.begun.Add(s.next)))
}

func (s *slowness) begin() {
	if s.begun.IsZero() {
		s.begun, s.next = time.Now(), slowCapture
	}
}

// tell tells if it is time to. The line isn't published as those of the run's own log are: what a
// bridge sends would depend on the host's clock.
func (s *slowness) tell() {
	s.begin()
	if waited := time.Since(s.begun); waited >= s.next {
		s.next = 2 * waited
		s.log.Warn("the device has not finished a capture yet, and the run waits for it", "sensor", s.sensor, "waited", waited.Round(time.Second))
	}
}
