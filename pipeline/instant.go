package pipeline

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/simtime"
)

// instant is everything that happens at one moment of simulation time.
type instant struct {
	stamp   simtime.Stamp
	before  simtime.Stamp // the one before, or where the clock jumped to
	frame   uint64
	clock   bool // /clock is due
	sensors bool // so is a sensor, whether it is heard or not
	firings []firing
	gpu     bool          // some firing captures
	retimed bool          // some sensor has another rate from now on
	issued  chan struct{} // closed when the GL thread has issued the captures

	underway *underway
	released bool // see release; the goroutine that has the instant uses it
}

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

// underway counts the instants that were begun and not yet released. Any goroutine may use it.
type underway struct {
	count atomic.Int64
	left  chan struct{} // pinged when one was released
}

// leave says that an instant was released.
func (u *underway) leave() {
	u.count.Add(-1)
	select {
	case u.left <- struct{}{}:
	default: // who waits looks again for the one before
	}
}

// admit adds a sensor's firing to the instant, if it is due and heard, and does what
// comes before the scene moves. It may begin room firings.
func (i *instant) admit(ctx context.Context, s *Sensor, room int) error {
	at, skipped, due := s.due(i)
	if !due && s.hearer == nil {
		return nil
	}
	if s.users.Closing() {
		return nil // it is ending: what would have been due is nobody's
	}
	i.sensors = i.sensors || due
	listening := s.listenedTo()
	if err := s.tell(ctx, listening); err != nil || !due {
		return err
	}
	retimed, err := s.changeRate(at, listening)
	if err != nil {
		return wrap("sensor "+s.spec.Name, err)
	}
	i.retimed = i.retimed || retimed
	b := s.barrier.Load()
	b.expect(s, at, skipped)
	if !listening {
		b.lose(s, at.Seq, flow.CauseIdle)
		return nil
	}
	if !s.users.Begin() {
		b.lose(s, at.Seq, flow.CauseClosed)
		return nil
	}
	if skipped > 0 {
		s.skip(skipped)
	}
	if i.firings == nil {
		i.firings = make([]firing, 0, room)
	}
	i.firings = append(i.firings, firing{sensor: s, at: at})
	i.gpu = i.gpu || s.gpu
	if err := s.takeTurn(ctx); err != nil {
		i.firings[len(i.firings)-1].turnless = true
		return err
	}
	if err := s.life.Load().PreTick(at); err != nil {
		return wrap("sensor "+s.spec.Name, err)
	}
	return nil
}

// dropOrphans takes out the firings of sensors whose actor is not there any more, and
// lets those sensors end.
func (i *instant) dropOrphans(history *scene.History, end func(owner uint32)) {
	kept := i.firings[:0]
	for k := range i.firings {
		f := &i.firings[k]
		if f.sensor.owner == scene.EgoID || history.Present(f.sensor.owner, i.stamp) {
			kept = append(kept, *f)
			continue
		}
		f.sensor.barrier.Load().lose(f.sensor, f.at.Seq, flow.CauseClosed)
		f.release()
		end(f.sensor.owner)
	}
	i.firings = kept
}

// announce tells the sensors of an instant that their captures follow.
func (i *instant) announce() {
	for k := range i.firings {
		f := &i.firings[k]
		if f.sensor.gpu {
			f.err = f.tick()
		}
	}
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

// tune lets the sensors of an instant take over what they were told. One may make the
// captures of others, so that all of them come first. GL thread.
func (i *instant) tune() {
	for k := range i.firings {
		f := &i.firings[k]
		if f.sensor.gpu && f.err == nil && f.sensor.users.Enter() {
			f.err = f.sensor.tune(f.at)
			f.sensor.users.Exit()
		}
	}
}

// drop counts the captures of an instant that the GL thread has no time for.
func (i *instant) drop() {
	for k := range i.firings {
		if f := &i.firings[k]; f.sensor.gpu {
			f.sensor.dropped(f.at, flow.CauseReadbackFull)
		}
	}
}

// fail gives the captures that were not issued an error.
func (i *instant) fail(err error) {
	for k := range i.firings {
		if f := &i.firings[k]; f.sensor.gpu && !f.captured && f.err == nil {
			f.err = err
		}
	}
}

// failures hands on the errors of an instant's captures.
func (i *instant) failures(fail func(error)) {
	for k := range i.firings {
		if f := &i.firings[k]; f.err != nil {
			fail(wrap("sensor "+f.sensor.spec.Name, f.err))
		}
	}
}

// release says that the loops have done their part of the instant's firings; again it
// does nothing.
func (i *instant) release() {
	if i.released {
		return
	}
	i.released = true
	for k := range i.firings {
		i.firings[k].release()
	}
	i.underway.leave()
}

// tick calls the sensor's Tick for the firing.
func (f *firing) tick() error {
	f.at.Started = time.Now()
	if !f.sensor.gpu {
		if err := f.sensor.tune(f.at); err != nil {
			return err
		}
	}
	return f.sensor.life.Load().Tick(f.at)
}

// release says that the loops have done their part of a firing.
func (f *firing) release() {
	if !f.turnless {
		f.sensor.giveTurn()
	}
	f.sensor.barrier.Load().firingDone(f.sensor, f.at.Seq)
	f.sensor.users.Exit()
}

// due returns the sensor's firing at an instant, of the latest instant of its grid up to then
// that hasn't fired. It also returns how many before that were passed over.
func (s *Sensor) due(i *instant) (at sensors.Tick, skipped int, due bool) {
	at = sensors.Tick{Due: i.stamp, PeriodNs: int64(i.stamp - i.before), Seq: s.seq, Frame: i.frame}
	if s.schedule != nil {
		before := s.schedule.Skipped()
		fired, due := s.schedule.Due(i.stamp)
		if !due {
			return sensors.Tick{}, 0, false
		}
		rate := s.schedule.Rate()
		at.Due, at.PeriodNs = fired, int64(fired-rate.At(rate.IndexAt(fired)-1))
		skipped = int(s.schedule.Skipped() - before)
	}
	s.seq++
	return at, skipped, true
}
