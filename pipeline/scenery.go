package pipeline

import (
	"fmt"
	"path"
	"sync"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/stage"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/world"
)

// scenery is the scene as it moves. Any goroutine may use it.
type scenery struct {
	scene   *scene.Scene
	history *scene.History

	mu    sync.Mutex   // serialises what changes the history: the frame loop's instants, and actors that come and go between them
	stage *stage.Stage // guarded by mu: what frames of a world bring
}

// move moves everything to an instant as record does, a method of History.
func (x *scenery) move(t simtime.Stamp, record func(*scene.History, simtime.Stamp)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	record(x.history, t)
}

// remember has the history keep the poses of so many ticks.
func (x *scenery) remember(ticks int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.history.Keep(ticks)
}

// ego returns the vehicle that carries the sensors at a time, by its motion.
func (x *scenery) ego(now simtime.Stamp) world.State {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.stage.Ego(now)
}

// counts returns what frames have brought.
func (x *scenery) counts() stage.Counts {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.stage.Counts()
}

// restart takes all that moves back to the beginning.
func (x *scenery) restart() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.history.Restart()
	x.stage.Restart()
}

// actor returns an actor that is there, or will be at the next instant, but not the ego. The error wraps
// scene.ErrNoActor, or scene.ErrAbsent for one that was removed.
func (x *scenery) actor(id uint32) (*scene.Actor, error) {
	a := x.history.Actor(id)
	switch {
	case a == nil:
		return nil, fmt.Errorf("actor %d: %w", id, scene.ErrNoActor)
	case !x.present(a):
		return nil, fmt.Errorf("actor %d (%s): %w", id, a.TypeID, scene.ErrAbsent)
	}
	return a, nil
}

// present reports whether an actor is there, or will be at the next instant.
func (x *scenery) present(a *scene.Actor) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	own := x.scene.Actor(a.ID) // one that was spawned may have a model that never moves
	return own != nil && own.Static() || x.history.IsComing(a.ID)
}

// placeOf is where an actor is, or where it begins, in the map frame.
func (x *scenery) placeOf(id uint32) mgl64.Vec3 {
	_, newest, _ := x.history.Span()
	if state, there := x.history.State(id, newest); there {
		return state.Pose.Position
	}
	if m, _ := x.history.Motion(id); m != nil {
		return m.PoseAt(0).Position
	}
	return x.scene.Ego.Position
}

// actors returns the actors that are there, or will be at the next instant, and whose type id matches a wildcard
// pattern, by rising id.
func (x *scenery) actors(pattern string) []*scene.Actor {
	var found []*scene.Actor
	for _, a := range x.scene.ActorsOf(pattern) {
		if x.present(a) {
			found = append(found, a)
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, a := range x.history.Coming(nil) {
		if ok, err := path.Match(pattern, a.TypeID); err == nil && ok {
			found = append(found, a)
		}
	}
	return found
}

// spawn has an actor come at the next instant.
func (x *scenery) spawn(pattern string, motion scene.Motion) (*scene.Actor, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.history.Spawn(pattern, motion)
}

// remove has an actor leave at the next instant.
func (x *scenery) remove(id uint32) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.history.Remove(id); err != nil {
		return err
	}
	x.stage.Forget(id)
	return nil
}
