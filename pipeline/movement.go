package pipeline

import (
	"errors"
	"fmt"
	"path"
	"sync"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/stage"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/world"
)

// movement is all that moves in the scene: the ego, the scene's own actors, and those that come and go. The frame
// loop records it. Frames and the program change it in between. Any goroutine may call its methods.
type movement struct {
	scene   *scene.Scene
	history *scene.History

	mu    sync.Mutex   // serialises what changes the history
	stage *stage.Stage // guarded by mu
}

// record moves everything to a tick's time as how does, a method of History.
func (m *movement) record(t simtime.Stamp, how func(*scene.History, simtime.Stamp)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	how(m.history, t)
}

// keep has the history keep so many ticks.
func (m *movement) keep(ticks int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.history.Keep(ticks)
}

// ego returns the vehicle that carries the sensors at a time, by its motion.
func (m *movement) ego(now simtime.Stamp) world.State {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stage.Ego(now)
}

// counts returns what frames have brought.
func (m *movement) counts() stage.Counts {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stage.Counts()
}

// restart takes everything back to the beginning.
func (m *movement) restart() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.history.Restart()
	m.stage.Restart()
}

// present reports whether an actor is there, or will be at the next tick.
func (m *movement) present(a *scene.Actor) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.presentLocked(a)
}

// presentLocked is present; mu must be held.
func (m *movement) presentLocked(a *scene.Actor) bool {
	own := m.scene.Actor(a.ID) // one that was spawned may have a model that never moves
	return own != nil && own.Static() || m.history.IsComing(a.ID)
}

// actors returns the actors that are there, or will be at the next tick, and whose type id matches a wildcard
// pattern: the scene's own, then those that were spawned.
func (m *movement) actors(pattern string) (list []*scene.Actor) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, a := range m.scene.ActorsOf(pattern) {
		if m.presentLocked(a) {
			list = append(list, a)
		}
	}
	for _, a := range m.history.Coming(nil) {
		if ok, err := path.Match(pattern, a.TypeID); err == nil && ok {
			list = append(list, a)
		}
	}
	return list
}

// spawn makes an actor present from the next tick on, of the first model whose name matches a wildcard pattern.
func (m *movement) spawn(pattern string, motion scene.Motion) (*scene.Actor, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	a, err := m.history.Spawn(pattern, motion)
	if errors.Is(err, scene.ErrNoActor) {
		return nil, fmt.Errorf("%w; %s", err, stage.WhichModels)
	}
	return a, err
}

// remove takes an actor away at the next tick.
func (m *movement) remove(id uint32) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.history.Remove(id); err != nil {
		return err
	}
	m.stage.Forget(id)
	return nil
}
