package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/world"
)

// Reset takes the pipeline back to the beginning of its first run, with another seed of the
// sensors' noise. From then on it publishes what a fresh pipeline of that seed would. The time
// source begins again, and so do frames and sequence numbers. The scene is the same. The ego and the scene's own actors
// are where they were at first. Who came by SpawnActor or a frame is gone, and handles are given out
// again. The sensors are those that were there at first, as they were, also those that were destroyed
// since. Listeners and bridges stay. A recording continues, and its times go back.
//
// The scale and the pause of the clock stay, and so do the counts of the Summary. Before the
// first run only the seed changes.
//
// A pipeline that somebody runs has to be paused, or the error wraps world.ErrMode. It does, too,
// where frames come from a Source. While a step is under way the error wraps world.ErrBusy. If ctx ends
// before the reset begins, nothing has changed, and Reset returns its error. A sensor that can't
// begin again ends the pipeline. Any goroutine may call it, but a sensor's listener.
//
// The result has the time and the ego at the beginning.
func (p *Pipeline) Reset(ctx context.Context, seed uint64) (world.StepResult, error) {
	if err := p.reset(ctx, seed); err != nil {
		return world.StepResult{}, fmt.Errorf("reset: %w", err)
	}
	return world.StepResult{Stamp: p.clock.Now(), Ego: p.stepper.ego()}, nil
}

// Seed returns the seed of the sensors' noise. Any goroutine may ask.
func (p *Pipeline) Seed() uint64 { return p.seed.Load() }

func (p *Pipeline) reset(ctx context.Context, seed uint64) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if kind := p.stepper.following.kindOf(); kind != "" {
		return fmt.Errorf("%w: the actors follow a world of %s, which can't be taken back", world.ErrMode, kind)
	}
	if !take(p.stepper.turn) {
		return world.ErrBusy
	}
	defer func() { <-p.stepper.turn }()
	if !take(p.turn) { // somebody runs it
		return p.resetRun(ctx, seed)
	}
	defer func() { <-p.turn }()
	return p.restart(seed)
}

// rewind is a Reset that the one who runs the pipeline makes.
type rewind struct {
	seed uint64
	done chan error
}

// resetRun has a run end its present stretch and begin again.
func (p *Pipeline) resetRun(ctx context.Context, seed uint64) error {
	if err := p.stepper.stand(ctx, world.Delivered); err != nil {
		return err
	}
	again := &rewind{seed, make(chan error, 1)}
	for !p.ask(again) { // its sensors begin, or it ends
		select {
		case <-time.After(pollPause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if !p.Running() {
			return errors.Join(world.ErrEnded, p.failed())
		}
	}
	return <-again.done // the loop had nothing to do, so that this is soon
}

// errRewound ends a run's loop for a Reset.
var errRewound = errors.New("the run begins again")

// ask has a run that is under way begin again; false where none is.
func (p *Pipeline) ask(again *rewind) bool {
	p.failure.Lock()
	defer p.failure.Unlock()
	if p.failure.stop == nil {
		return false
	}
	p.failure.again = again
	p.failure.stop(errRewound)
	return true
}

// lasting returns those of a list that a Reset keeps: their actors are there at the beginning.
func (p *Pipeline) lasting(list []*Sensor) []*Sensor {
	return slices.DeleteFunc(slices.Clone(list), func(s *Sensor) bool {
		return s.owner != scene.EgoID && p.config.Scene.Actor(s.owner) == nil
	})
}

// restart takes everything back to the beginning. The caller has the turn, and no loop is at work.
func (p *Pipeline) restart(seed uint64) error {
	if err := p.failed(); err != nil {
		return err
	}
	p.change.Lock()
	started, closed := p.started, p.closed
	if !started {
		for _, s := range p.members {
			s.env.Seed = seedOf(seed, s.spec.Name)
		}
	}
	p.change.Unlock()
	if closed {
		return ErrClosed
	}
	p.seed.Store(seed)
	if !started {
		return nil
	}
	begun := time.Now()
	defer p.elapsed.start(begun)
	p.coming.Lock() // what is added meanwhile would begin with what the others end
	defer p.coming.Unlock()
	kept, err := p.endSensors()
	if err == nil {
		err = p.restartScene()
	}
	if err == nil {
		err = p.beginSensors(kept)
	}
	for _, s := range kept {
		s.users.Exit()
	}
	if err != nil {
		p.fail(err)
		return err
	}
	p.resets.Add(1)
	return nil
}

// endSensors ends the sensors that came later for good, and what the first ones began. It returns
// those of them that stay. Nobody ends them meanwhile: the caller is one of their users.
func (p *Pipeline) endSensors() (kept []*Sensor, _ error) {
	errs := []error{p.settle()} // a look at the readbacks may be under way yet
	p.change.Lock()
	var gone []*Sensor
	for _, s := range p.members {
		if slices.Contains(p.first, s) && s.users.Begin() {
			kept = append(kept, s)
			continue
		}
		p.letEnd(s)
		gone = append(gone, s)
	}
	p.change.Unlock()
	for _, s := range gone {
		<-s.ending.done
		errs = append(errs, s.ending.err)
	}
	for _, s := range slices.Backward(kept) {
		errs = append(errs, s.endLife())
	}
	return kept, errors.Join(append(errs, p.shared.Close())...)
}

// restartScene takes time and all that moves back.
func (p *Pipeline) restartScene() error {
	if err := p.clock.Restart(); err != nil {
		return err
	}
	p.moving.Lock()
	defer p.moving.Unlock()
	p.history.Restart()
	p.stage.Restart()
	p.goal.Store(math.MinInt64)
	p.simNs.Store(0)
	p.bridges.SetInstant(0)
	p.lastFrame.Store(0)
	p.frame, p.lastNs, p.lastClock = 0, 0, math.MinInt64
	p.steps.Realign(1)
	if p.clockDue != nil {
		p.clockDue.Realign(1)
	}
	return nil
}

// beginSensors begins the first sensors again, in their order. Those that aren't kept are made again.
func (p *Pipeline) beginSensors(kept []*Sensor) error {
	lost := map[uint32][]sensors.Config{} // by their owners: one may be mounted on another
	for _, s := range p.first {
		if !slices.Contains(kept, s) {
			lost[s.owner] = append(lost[s.owner], *s.spec.Config)
		} else if err := s.beginAgain(context.Background()); err != nil {
			return err
		}
	}
	for owner, entries := range lost {
		added, err := p.add(entries, owner)
		if err != nil {
			return err
		}
		for _, s := range added {
			at := slices.IndexFunc(p.first, func(other *Sensor) bool { return other.spec.Name == s.spec.Name })
			p.first[at] = s
			s.joined.Store(true)
		}
	}
	p.change.Lock()
	defer p.change.Unlock()
	place := func(name string) int {
		return slices.IndexFunc(p.first, func(s *Sensor) bool { return s.spec.Name == name })
	}
	p.members = slices.SortedFunc(slices.Values(p.members), func(a, b *Sensor) int { return cmp.Compare(place(a.spec.Name), place(b.spec.Name)) })
	p.rig.Sensors = slices.SortedFunc(slices.Values(p.rig.Sensors), func(a, b sensors.Config) int { return cmp.Compare(place(a.Name), place(b.Name)) })
	p.refresh(nil)
	return nil
}

// beginAgain gives a sensor another life, with the settings of the rig. Its outputs and inputs stay, and
// those who are connected with them.
func (s *Sensor) beginAgain(ctx context.Context) error {
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
	s.env.Seed = seedOf(s.p.seed.Load(), s.spec.Name)
	about, err := s.p.ownerOf(s.owner)
	if err == nil {
		err = s.beBorn()
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
