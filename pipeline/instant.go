package pipeline

import (
	"context"
	"time"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
)

// nextInstant is the earliest of the next step, clock and due sensor.
func (p *Pipeline) nextInstant() int64 {
	step := int64(p.config.Step)
	next := (p.simNs.Load()/step + 1) * step
	if p.clockDue != nil {
		next = min(next, p.clockDue.Next())
	}
	for _, s := range p.live() {
		if s.joined.Load() && s.schedule != nil {
			next = min(next, s.schedule.Next())
		}
	}
	return next
}

// beginInstant lists what is due at t and moves the scene there. The instant has to be
// released, also on an error: a sensor's, or the run's end. Frame loop.
func (p *Pipeline) beginInstant(r *run, t int64) (*instant, error) {
	i := &instant{timeNs: t, frame: p.frame}
	p.frame++
	list := p.live()
	p.joinAll(list, t)
	if p.clockDue != nil {
		_, i.clock = p.clockDue.Due(t)
	}
	for rank := range ranks {
		for _, s := range list {
			if s.rank != rank {
				continue
			}
			if err := i.list(r.completion, s, len(list)); err != nil {
				return i, err
			}
		}
	}
	p.moveTo(t)
	p.lastNs = t
	p.moveScene(t, (*scene.History).Record)
	i.leaveOrphans(p)
	return i, nil
}

// moveScene moves everything to a tick's time as record does, a method of History.
func (p *Pipeline) moveScene(t int64, record func(*scene.History, int64)) {
	p.moving.Lock()
	defer p.moving.Unlock()
	record(p.history, t)
}

// joinAll lets sensors join that were added since the instant before: each fires first
// a whole period from now.
func (p *Pipeline) joinAll(list []*Sensor, t int64) {
	grew := false
	for _, s := range list {
		if s.joined.Load() {
			continue
		}
		if s.schedule != nil {
			s.schedule.Realign(s.firstAfter(t))
		}
		s.joined.Store(true)
		grew = true
	}
	if grew {
		p.moving.Lock()
		defer p.moving.Unlock()
		p.history.Keep(historyTicks(p.config.Step, p.clockDue, list))
	}
}

// firstAfter returns the first instant of the sensor's grid that is a whole period
// after t, or more.
func (s *Sensor) firstAfter(t int64) int64 {
	rate := s.schedule.Rate()
	k := rate.IndexAt(t)
	if rate.At(k) < t {
		k++
	}
	return rate.At(k + 1)
}

// list adds a sensor's firing to the instant, if it is due and heard, and does what
// comes before the scene moves.
func (i *instant) list(ctx context.Context, s *Sensor, room int) error {
	at, skipped, due := s.due(i)
	if !due && s.hearer == nil {
		return nil
	}
	if s.users.isClosing() {
		return nil // it is ending: what would have been due is nobody's
	}
	listening := s.listenedTo()
	if err := s.tell(ctx, listening); err != nil || !due {
		return err
	}
	b := s.p.barrier.Load()
	if b != nil {
		b.expect(s, at, skipped)
	}
	if !listening {
		return missed(b, s, at.Seq, causeIdle)
	}
	if !s.users.begin() {
		return missed(b, s, at.Seq, flow.CauseClosed)
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
	if err := s.life.PreTick(at); err != nil {
		return wrap("sensor "+s.spec.Name, err)
	}
	return nil
}

// missed tells a barrier, where there is one, that a firing comes to nothing; it returns
// nil, for who lists.
func missed(b *barrier, s *Sensor, seq uint64, cause flow.Cause) error {
	if b != nil {
		b.miss(s, seq, cause)
	}
	return nil
}

// due returns the sensor's firing at an instant, of the latest instant of its grid up to
// then that hasn't fired, and how many before that were passed over.
func (s *Sensor) due(i *instant) (at sensors.Tick, skipped int, due bool) {
	at = sensors.Tick{TimeNs: i.timeNs, PeriodNs: i.timeNs - s.p.lastNs, Seq: s.seq, Frame: i.frame}
	if s.schedule != nil {
		before := s.schedule.Skipped()
		fired, due := s.schedule.Due(i.timeNs)
		if !due {
			return sensors.Tick{}, 0, false
		}
		rate := s.schedule.Rate()
		at.TimeNs, at.PeriodNs = fired, fired-rate.At(rate.IndexAt(fired)-1)
		skipped = int(s.schedule.Skipped() - before)
	}
	s.seq++
	return at, skipped, true
}

// tell tells a sensor that wants to know it whether anybody listens, when that changes.
func (s *Sensor) tell(ctx context.Context, listening bool) error {
	if s.hearer == nil || s.heard == listening || !s.users.begin() {
		return nil
	}
	defer s.users.exit()
	if err := s.takeTurn(ctx); err != nil {
		return err
	}
	defer s.giveTurn()
	s.heard = listening
	s.hearer.Heard(listening)
	return nil
}

// takeTurn waits until the sensor's firing before has ticked: one that works before the
// scene moves, or is told of its listeners, isn't called from two goroutines at once,
// though the loop runs ahead of what is published. It fails when ctx ends.
func (s *Sensor) takeTurn(ctx context.Context) error {
	if s.turn == nil {
		return nil
	}
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *Sensor) giveTurn() {
	if s.turn != nil {
		<-s.turn
	}
}

// leaveOrphans takes out the firings of sensors whose actor is not there any more, and
// lets those sensors end.
func (i *instant) leaveOrphans(p *Pipeline) {
	kept := i.firings[:0]
	for k := range i.firings {
		f := &i.firings[k]
		if f.sensor.owner == scene.EgoID || p.history.Present(f.sensor.owner, i.timeNs) {
			kept = append(kept, *f)
			continue
		}
		f.missed(flow.CauseClosed)
		f.release()
		p.orphan(f.sensor.owner)
	}
	i.firings = kept
}

// missed is the function missed for a firing that was listed.
func (f *firing) missed(cause flow.Cause) {
	_ = missed(f.sensor.p.barrier.Load(), f.sensor, f.at.Seq, cause)
}

// release says that the loops have done their part of a firing.
func (f *firing) release() {
	if !f.turnless {
		f.sensor.giveTurn()
	}
	f.sensor.users.exit()
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
}

// announce tells the sensors of an instant that their captures follow.
func announce(i *instant) {
	for k := range i.firings {
		f := &i.firings[k]
		if f.sensor.gpu {
			f.at.Started = time.Now()
			f.err = f.sensor.life.Tick(f.at)
		}
	}
}
