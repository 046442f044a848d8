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
	scenery *scenery
	roster  *roster
	id      uint32
	typeID  string
	name    string
}

// Actor returns the actor with an id, scene.EgoID for the ego. The error wraps
// scene.ErrNoActor, or scene.ErrAbsent for one that was removed.
func (p *Pipeline) Actor(id uint32) (*Actor, error) {
	if id == scene.EgoID {
		return p.actor(ego), nil
	}
	a, err := p.scenery.actor(id)
	if err != nil {
		return nil, err
	}
	return p.actor(a), nil
}

// ego stands for the ego among the scene's actors.
var ego = &scene.Actor{ID: scene.EgoID, TypeID: scene.EgoTypeID, Name: "ego"}

func (p *Pipeline) actor(a *scene.Actor) *Actor {
	return &Actor{scenery: p.scenery, roster: p.roster, id: a.ID, typeID: a.TypeID, name: a.Name}
}

// Actors returns the actors that are there and whose type id matches a wildcard pattern
// ("vehicle.*"; see path.Match), the ego first, then by rising id.
func (p *Pipeline) Actors(pattern string) []*Actor {
	var found []*Actor
	if ok, err := path.Match(pattern, scene.EgoTypeID); err == nil && ok {
		found = append(found, p.actor(ego))
	}
	for _, a := range p.scenery.actors(pattern) {
		found = append(found, p.actor(a))
	}
	return found
}

// SpawnActor makes an actor present from the next instant on. It has the first of the scene's
// models whose name matches a wildcard pattern ("vehicle.sedan"). It follows the motion, which is
// asked with the simulation's time. scene.Standing is that of what stands at a pose, nil stands at
// the model's own. Any goroutine may call it. Errors wrap scene.ErrNoActor or
// scene.ErrReserveEmpty.
func (p *Pipeline) SpawnActor(pattern string, motion scene.Motion) (*Actor, error) {
	a, err := p.scenery.spawn(pattern, motion)
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
	_, newest, _ := a.scenery.history.Span()
	return a.scenery.history.State(a.id, newest)
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
	known := a.scenery.history.Actor(a.id)
	return known != nil && a.scenery.present(known)
}

// Sensors returns the sensors that ride on the actor.
func (a *Actor) Sensors() []*Sensor { return a.roster.on(a.id) }

// Destroy takes the actor away at the next instant, and lets the sensors on it end as
// Sensor.Destroy does, without waiting for that. Destroying again is an error that wraps
// scene.ErrAbsent; the ego and what stands still for ever can't be: scene.ErrPermanent.
func (a *Actor) Destroy() error {
	if err := a.scenery.remove(a.id); err != nil {
		return err
	}
	a.roster.endOn(a.id)
	return nil
}
