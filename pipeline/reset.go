package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/world"
)

// reset takes the pipeline back to the beginning, if nobody steps it.
func (s *stepper) reset(ctx context.Context, seed uint64) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if kind := s.following.kindOf(); kind != "" {
		return fmt.Errorf("%w: the actors follow a world of %s, which can't be taken back", world.ErrMode, kind)
	}
	if !take(s.turn) {
		return world.ErrBusy
	}
	defer func() { <-s.turn }()
	if !take(s.runner.turn) { // somebody runs it
		return s.resetRun(ctx, seed)
	}
	defer func() { <-s.runner.turn }()
	return s.runner.restart(seed)
}

// resetRun has a run end its present stretch and begin again.
func (s *stepper) resetRun(ctx context.Context, seed uint64) error {
	if err := s.stand(ctx, world.Delivered); err != nil {
		return err
	}
	again := &rewind{seed, make(chan error, 1)}
	for !s.runner.failure.rewind(again) { // its sensors begin, or it ends
		select {
		case <-time.After(pollPause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if !s.runner.running() {
			return errors.Join(world.ErrEnded, s.runner.failure.failed())
		}
	}
	return <-again.done // the loop had nothing to do, so that this is soon
}

// lasting returns those of a list that a Reset keeps: their actors are there at the beginning.
func (x *runner) lasting(list []*Sensor) []*Sensor {
	return slices.DeleteFunc(slices.Clone(list), func(s *Sensor) bool {
		return s.owner != scene.EgoID && x.loop.scenery.scene.Actor(s.owner) == nil
	})
}

// restart takes everything back to the beginning. The caller has the turn, and no loop is at work.
func (x *runner) restart(seed uint64) error {
	if err := x.failure.failed(); err != nil {
		return err
	}
	started, err := x.roster.reseed(seed)
	if err != nil || !started {
		return err
	}
	begun := time.Now()
	defer x.loop.elapsed.start(begun)
	x.roster.coming.Lock() // what is added meanwhile would begin with what the others end
	defer x.roster.coming.Unlock()
	kept, err := x.endSensors()
	if err == nil {
		err = x.restartScene()
	}
	if err == nil {
		err = x.beginSensors(kept)
	}
	for _, s := range kept {
		s.users.Exit()
	}
	if err != nil {
		x.failure.fail(err)
		return err
	}
	x.resets.Add(1)
	return nil
}

// reseed gives sensors another seed, those that come included, and reports whether the pipeline has started. If it
// has, the others have to begin again for that.
func (r *roster) reseed(seed uint64) (started bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return r.started, ErrClosed
	}
	r.seed.Store(seed)
	if !r.started {
		for _, s := range r.members {
			s.env.Seed = seedOf(seed, s.spec.Name)
		}
	}
	return r.started, nil
}

// endSensors ends the sensors that came later for good, and what the first ones began. It returns
// those of them that stay. Nobody ends them meanwhile: the caller is one of their users.
func (x *runner) endSensors() (kept []*Sensor, _ error) {
	errs := []error{x.captures.settle()} // a look at the readbacks may be under way yet
	kept, gone := x.roster.endOthers(x.first)
	for _, s := range gone {
		<-s.ending.done
		errs = append(errs, s.ending.err)
	}
	for _, s := range slices.Backward(kept) {
		errs = append(errs, s.endLife())
	}
	return kept, errors.Join(append(errs, x.roster.shared.Close())...)
}

// endOthers begins the end of all members but those of a list. The caller becomes a user of the members that stay.
func (r *roster) endOthers(list []*Sensor) (kept, gone []*Sensor) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.members {
		if slices.Contains(list, s) && s.users.Begin() {
			kept = append(kept, s)
			continue
		}
		r.endLater(s)
		gone = append(gone, s)
	}
	return kept, gone
}

// restartScene takes time and all that moves back.
func (x *runner) restartScene() error {
	if err := x.loop.clock.Restart(); err != nil {
		return err
	}
	x.loop.scenery.restart()
	x.loop.restart()
	x.bridges.SetInstant(0)
	if x.clock != nil {
		x.clock.restart()
	}
	return nil
}

// beginSensors begins the first sensors again, in their order. The ones that aren't kept are made again.
func (x *runner) beginSensors(kept []*Sensor) error {
	lost := map[uint32][]sensors.Config{} // by their owners: one may be mounted on another
	for _, s := range x.first {
		if !slices.Contains(kept, s) {
			lost[s.owner] = append(lost[s.owner], *s.spec.Config)
		} else if err := x.roster.beginAgain(context.Background(), s); err != nil {
			return err
		}
	}
	for owner, entries := range lost {
		added, err := x.roster.add(entries, owner)
		if err != nil {
			return err
		}
		for _, s := range added {
			at := slices.IndexFunc(x.first, func(other *Sensor) bool { return other.spec.Name == s.spec.Name })
			x.first[at] = s
			s.joined.Store(true)
		}
	}
	x.roster.reorder(x.first)
	return nil
}

// beginAgain gives a sensor another life, with the settings of the rig. Its outputs and inputs stay, and
// those who are connected with them.
func (r *roster) beginAgain(ctx context.Context, s *Sensor) error {
	if err := s.untune(); err != nil {
		return err
	}
	for _, port := range s.env.Ports {
		port.Unlatch()
	}
	for _, in := range s.env.Inlets {
		in.Restart() // what came since it ended
	}
	s.seq, s.heard = 0, false
	s.points.restart()
	s.env.Seed = seedOf(r.seed.Load(), s.spec.Name)
	about, err := r.ownerOf(s.owner)
	if err == nil {
		err = s.makeLife()
	}
	if err == nil {
		err = s.life.Load().SetOwner(about)
	}
	if err != nil {
		return s.fault("", err)
	}
	return s.begin(ctx)
}

// untune takes back what the sensor was told.
func (s *Sensor) untune() error {
	t := &s.tuning
	t.mu.Lock()
	defer t.mu.Unlock()
	t.settings, t.rate, t.after, t.from, t.queue = nil, simtime.Rate{}, nil, 0, nil
	if s.schedule == nil {
		return nil
	}
	err := s.schedule.SetRate(s.spec.Rate, 0)
	s.schedule.Realign(1)
	return err
}
