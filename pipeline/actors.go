package pipeline

import (
	"errors"
	"fmt"
	"path"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/stage"
	"github.com/raybridge/raybridge/spatial"
)

// Actor is one of the scene's actors, or the ego, in a pipeline. Its methods may be
// called from any goroutine, callbacks too.
type Actor struct {
	p      *Pipeline
	id     uint32
	typeID string
	name   string
}

// Actor returns the actor with an id, scene.EgoID for the ego. The error wraps
// scene.ErrNoActor, or scene.ErrAbsent for one that was removed.
func (p *Pipeline) Actor(id uint32) (*Actor, error) {
	if id == scene.EgoID {
		return &Actor{p: p, id: id, typeID: scene.EgoTypeID, name: "ego"}, nil
	}
	a := p.history.Actor(id)
	switch {
	case a == nil:
		return nil, fmt.Errorf("actor %d: %w", id, scene.ErrNoActor)
	case !p.present(a):
		return nil, fmt.Errorf("actor %d (%s): %w", id, a.TypeID, scene.ErrAbsent)
	}
	return p.actor(a), nil
}

func (p *Pipeline) actor(a *scene.Actor) *Actor {
	return &Actor{p: p, id: a.ID, typeID: a.TypeID, name: a.Name}
}

// Actors returns the actors that are there and whose type id matches a wildcard pattern
// ("vehicle.*"; see path.Match), the ego first, then by rising id.
func (p *Pipeline) Actors(pattern string) []*Actor {
	var found []*Actor
	if ok, err := path.Match(pattern, scene.EgoTypeID); err == nil && ok {
		found = append(found, &Actor{p: p, id: scene.EgoID, typeID: scene.EgoTypeID, name: "ego"})
	}
	for _, a := range p.config.Scene.ActorsOf(pattern) {
		if p.present(a) {
			found = append(found, p.actor(a))
		}
	}
	p.moving.Lock()
	defer p.moving.Unlock()
	for _, a := range p.history.Coming(nil) {
		if ok, err := path.Match(pattern, a.TypeID); err == nil && ok {
			found = append(found, p.actor(a))
		}
	}
	return found
}

// present reports whether an actor is there, or will be at the next tick.
func (p *Pipeline) present(a *scene.Actor) bool {
	p.moving.Lock()
	defer p.moving.Unlock()
	own := p.config.Scene.Actor(a.ID) // one that was spawned may have a model that never moves
	return own != nil && own.Static() || p.history.IsComing(a.ID)
}

// SpawnActor makes an actor present from the next instant on. It has the first of the scene's
// models whose name matches a wildcard pattern ("vehicle.sedan"). It follows the motion, which is
// asked with the simulation's time. scene.Standing is that of what stands at a pose, nil stands at
// the model's own. Any goroutine may call it. Errors wrap scene.ErrNoActor or
// scene.ErrReserveEmpty.
func (p *Pipeline) SpawnActor(pattern string, motion scene.Motion) (*Actor, error) {
	p.moving.Lock()
	defer p.moving.Unlock()
	a, err := p.history.Spawn(pattern, motion)
	if errors.Is(err, scene.ErrNoActor) {
		return nil, fmt.Errorf("%w; %s", err, stage.WhichModels)
	}
	if err != nil {
		return nil, err
	}
	return p.actor(a), nil
}

// ID returns the actor's id, as sensors' events and instance labels have it.
func (a *Actor) ID() uint32 { return a.id }

// TypeID returns the actor's type, such as vehicle.sedan.
func (a *Actor) TypeID() string { return a.typeID }

// Name returns the actor's name in the scene.
func (a *Actor) Name() string { return a.name }

// State returns where the actor was at the latest instant and how it moved, in the map frame.
// ok is false where it was not there.
func (a *Actor) State() (state scene.State, ok bool) {
	_, newest, _ := a.p.history.Span()
	return a.p.history.State(a.id, newest)
}

// Pose returns where the actor was at the latest instant, in the map frame: for one that
// was not there, where it was last.
func (a *Actor) Pose() spatial.Pose {
	state, _ := a.State()
	return state.Pose
}

// Present reports whether the actor is there, or will be at the next instant.
func (a *Actor) Present() bool {
	if a.id == scene.EgoID {
		return true
	}
	known := a.p.history.Actor(a.id)
	return known != nil && a.p.present(known)
}

// Sensors returns the sensors that ride on the actor.
func (a *Actor) Sensors() []*Sensor {
	var list []*Sensor
	for _, s := range a.p.live() {
		if s.owner == a.id {
			list = append(list, s)
		}
	}
	return list
}

// Destroy takes the actor away at the next instant, and lets the sensors on it end as
// Sensor.Destroy does, without waiting for that. Destroying again is an error that wraps
// scene.ErrAbsent; the ego and what stands still for ever can't be: scene.ErrPermanent.
func (a *Actor) Destroy() error {
	if err := a.remove(); err != nil {
		return err
	}
	a.p.orphan(a.id)
	return nil
}

func (a *Actor) remove() error {
	a.p.moving.Lock()
	defer a.p.moving.Unlock()
	if err := a.p.history.Remove(a.id); err != nil {
		return err
	}
	a.p.stage.Forget(a.id)
	return nil
}
