// Package stage puts the frames of a world into a scene. Actors come, move and leave, traffic lights
// show what a frame says, and the vehicle that carries the sensors is where a frame has it.
//
// A Stage reads the scene and writes into a scene.History. It knows no device, no sensor and no
// clock. The caller says when a frame begins, and records the history on the way to its end.
package stage

import (
	"log/slog"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/world"
)

// Stage holds the actors that frames spawned. Its methods are called by one goroutine at a time, and
// not while the history is being recorded: they are part of the frame loop.
type Stage struct {
	geometry *scene.Geometry
	scene    *scene.Scene
	history  *scene.History
	capacity int
	log      *slog.Logger

	actors  map[uint32]*actor // by their handles
	names   map[string]*actor
	ego     *scene.Guided // nil until a frame moves the ego
	plan    Plan          // scratch of Check
	checked uint64        // frames
	counts  Counts
	begun   bool // a frame was applied since the start, or Restart

	boxes    map[string]struct{} // models that a box stands for, up to knownBoxes
	boxLines flow.Journal        // of those beyond toldBoxes
	far      bool                // the log has that places are far from the scene
}

// Counts says how much the frames have brought so far.
type Counts struct {
	// Frames were applied. Actors are there now, and Most were at a time.
	Frames       int64
	Actors, Most int
}

// New returns a stage without actors, with room for so many at a time.
func New(g *scene.Geometry, h *scene.History, capacity int, log *slog.Logger) *Stage {
	return &Stage{
		geometry: g, scene: g.Scene, history: h, capacity: capacity, log: log,
		actors: map[uint32]*actor{}, names: map[string]*actor{}, boxes: map[string]struct{}{},
	}
}

// Restart forgets all actors, that a frame moved the ego, and that one was applied. The caller restarts the history. The counts of
// frames and of most actors stay.
func (s *Stage) Restart() {
	clear(s.actors)
	clear(s.names)
	s.ego, s.plan, s.begun = nil, Plan{}, false
}

// Begun reports whether a frame was applied since the start, or since Restart.
func (s *Stage) Begun() bool { return s.begun }

// Forget takes out an actor that has left the history. It does nothing for one that no frame spawned.
func (s *Stage) Forget(handle uint32) {
	a := s.actors[handle]
	if a == nil {
		return
	}
	delete(s.actors, handle)
	if s.names[a.name] == a {
		delete(s.names, a.name)
	}
}

// Counts returns what the frames have brought.
func (s *Stage) Counts() Counts {
	c := s.counts
	c.Actors = len(s.actors)
	return c
}

// Ego returns where the vehicle that carries the sensors is at a time, by its motion.
func (s *Stage) Ego(now simtime.Stamp) world.State {
	if m, _ := s.history.Motion(scene.EgoID); m != nil {
		return StateOf(scene.StateOf(m, now))
	}
	return StateOf(scene.State{Pose: s.scene.Ego})
}

// StateOf returns a state of the scene as frames have it. All its velocities are known.
func StateOf(s scene.State) world.State {
	return world.State{
		Pose: s.Pose, Velocity: s.Twist.Linear, AngularVelocity: s.Twist.Angular, VelocityKnown: true, AngularVelocityKnown: true,
	}
}

// find returns the actor that is meant.
func (s *Stage) find(ref world.Ref) (*actor, error) {
	a := s.names[ref.Name]
	if ref.Handle != 0 {
		a = s.actors[ref.Handle]
	}
	if a == nil {
		return nil, world.ErrUnknownActor
	}
	return a, nil
}
