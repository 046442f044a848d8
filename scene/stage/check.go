package stage

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/world"
)

// Check plans a frame whose step begins at a time, and changes nothing. The frame's end isn't before
// that. The plan holds until the next Check, and as long as the frame isn't changed. Errors wrap those of
// package world, most in a *world.ActorError.
func (s *Stage) Check(f *world.Frame, now simtime.Stamp) (*Plan, error) {
	p := &s.plan
	*p = Plan{f, now, p.leave[:0], p.come[:0], p.move[:0], p.show[:0]}
	if len(f.Spawn) > s.capacity { // each is compared with the others
		return nil, s.full(s.capacity, len(s.actors))
	}
	s.checked++ // actors that a refused frame named count as not named
	if err := s.planActors(); err != nil {
		return nil, err
	}
	for i := range f.Signals {
		if err := s.planSignal(&f.Signals[i]); err != nil {
			return nil, &world.ActorError{List: world.ListSignals, Index: i, Actor: f.Signals[i].Ref, Err: err}
		}
	}
	if f.Complete {
		s.planRest()
	}
	if err := s.checkRoom(); err != nil {
		return nil, err
	}
	if f.Ego != nil {
		if _, err := waypoint(f.Ego, f.Until); err != nil {
			return nil, &world.ActorError{List: "ego", Err: err}
		}
	}
	if err := f.CheckWeather(); err != nil {
		return nil, err
	}
	return p, nil
}

// planActors plans the frame's lists of actors.
func (s *Stage) planActors() error {
	f := s.plan.frame
	for i, ref := range f.Remove {
		if err := s.planRemoval(ref); err != nil {
			return &world.ActorError{List: "remove", Index: i, Actor: ref, Err: err}
		}
	}
	for i := range f.Spawn {
		if err := s.planSpawn(&f.Spawn[i]); err != nil {
			return &world.ActorError{List: "spawn", Index: i, Actor: world.Ref{Name: f.Spawn[i].Name}, Err: err}
		}
	}
	for i := range f.Actors {
		if err := s.planMove(&f.Actors[i]); err != nil {
			return &world.ActorError{List: "actors", Index: i, Actor: f.Actors[i].Ref, Err: err}
		}
	}
	return nil
}

// planRemoval plans that an actor leaves.
func (s *Stage) planRemoval(ref world.Ref) error {
	a, err := s.find(ref)
	switch {
	case err != nil:
		return err
	case a.told == s.checked:
		return world.ErrDuplicate
	}
	a.told = s.checked
	s.plan.leave = append(s.plan.leave, a)
	return nil
}

// planRest plans that the actors leave that a complete frame doesn't name.
func (s *Stage) planRest() {
	p := &s.plan
	for _, a := range s.actors {
		if a.told != s.checked {
			p.leave = append(p.leave, a)
		}
	}
	slices.SortFunc(p.leave, func(a, b *actor) int { return cmp.Compare(a.handle, b.handle) })
}

// checkRoom returns an error for the first actor that has no room.
func (s *Stage) checkRoom() error {
	come, stay := len(s.plan.come), len(s.actors)-len(s.plan.leave)
	if room := max(s.capacity-stay, 0); come > room {
		return s.full(room, stay)
	}
	if come > 0 { // actors that the program spawned take slots, too
		if room := s.history.Room(); come > room {
			return s.noRoom(room, fmt.Errorf("%w: the scene has %d slots, and others have taken the rest", world.ErrFull, s.scene.Slots))
		}
	}
	return nil
}

// full is the error for the first actor that is beyond the stage's capacity, if so many stay.
func (s *Stage) full(first, stay int) error {
	return s.noRoom(first, fmt.Errorf("%w: it is for %d, of whom %d are there; world.capacity makes more", world.ErrFull, s.capacity, stay))
}

func (s *Stage) noRoom(first int, err error) error {
	return &world.ActorError{List: "spawn", Index: first, Actor: world.Ref{Name: s.plan.frame.Spawn[first].Name}, Err: err}
}

// planSpawn plans that an actor comes.
func (s *Stage) planSpawn(spawn *world.Spawn) error {
	if err := s.checkName(spawn.Name); err != nil {
		return err
	}
	if err := near("size", spawn.Size); err != nil || min(spawn.Size[0], spawn.Size[1], spawn.Size[2]) < 0 {
		return cmp.Or(err, fmt.Errorf("%w: size %v", world.ErrValue, spawn.Size))
	}
	comes := s.plan.now
	if s.plan.frame.AtEnd {
		comes = s.plan.frame.Until
	}
	at, err := waypoint(&spawn.State, comes)
	if err != nil {
		return err
	}
	c := coming{
		actor: &actor{
			name: spawn.Name, motion: &scene.Guided{}, onGround: spawn.OnGround,
			ability: abilityOf(spawn.Model, spawn.TopSpeed), told: s.checked,
		},
		at: at, first: &spawn.State,
	}
	if err := s.shape(&c, spawn); err != nil {
		return err
	}
	if err := c.actor.checkJoints(&spawn.State); err != nil {
		return err
	}
	s.plan.come = append(s.plan.come, c)
	return nil
}

// checkName refuses a name that another has.
func (s *Stage) checkName(name string) error {
	if name == "" {
		return nil
	}
	if a := s.names[name]; a != nil && !slices.Contains(s.plan.leave, a) {
		return fmt.Errorf("%w: the name is taken", world.ErrDuplicate)
	}
	for i := range s.plan.come {
		if s.plan.come[i].actor.name == name {
			return fmt.Errorf("%w: so is spawn[%d]", world.ErrDuplicate, i)
		}
	}
	return nil
}

// planMove plans where an actor is at the step's end.
func (s *Stage) planMove(to *world.Actor) error {
	at, err := waypoint(&to.State, s.plan.frame.Until)
	if err != nil {
		return err
	}
	if c := s.plan.comingAs(to.Ref); c != nil {
		if c.then != nil {
			return world.ErrDuplicate
		}
		if err := c.actor.checkJoints(&to.State); err != nil {
			return err
		}
		c.then = &to.State
		return nil
	}
	a, err := s.find(to.Ref)
	switch {
	case err != nil:
		return err
	case a.told == s.checked:
		return world.ErrDuplicate
	}
	if err := a.checkJoints(&to.State); err != nil {
		return err
	}
	a.told = s.checked
	s.plan.move = append(s.plan.move, moving{a, at, &to.State})
	return nil
}
