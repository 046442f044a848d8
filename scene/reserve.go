package scene

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"

	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// Errors of Spawn, SpawnActor and Remove; they come wrapped with what was asked for.
var (
	// ErrNoActor: no actor has the id, or none that could come and go the type.
	ErrNoActor = errors.New("no such actor")
	// ErrReserveEmpty: all actors of the type are there already.
	ErrReserveEmpty = errors.New("no actor is left in reserve")
	// ErrPresent: the actor is there, or was until the latest tick.
	ErrPresent = errors.New("actor is there already")
	// ErrAbsent: the actor is not there.
	ErrAbsent = errors.New("actor is not there")
	// ErrPermanent: the actor can neither come nor go. It is static, and so part of the world's
	// one set of triangles, or it is the ego.
	ErrPermanent = errors.New("actor is permanent")
)

// Standing is the motion of what stands still at a pose.
type Standing spatial.Pose

// PoseAt implements Motion.
func (s Standing) PoseAt(simtime.Stamp) spatial.Pose { return spatial.Pose(s) }

// StateAt implements Kinematic.
func (s Standing) StateAt(simtime.Stamp) State { return State{Pose: spatial.Pose(s)} }

var _ Kinematic = Standing{}

// Reserve adds n actors like a template and holds them in reserve. They have ids and share the
// template's meshes, so that the World has room for them and nothing is built during a run.
// They are nowhere until History.Spawn. The template's parts name the scene's meshes. It may be
// one of the scene's actors (a reserved one that Add made of an asset, say), and is not
// changed. Errors: ErrTooManyActors; those that found room are returned with it.
func (s *Scene) Reserve(template *Actor, n int) ([]*Actor, error) {
	reserved := make([]*Actor, 0, max(n, 0))
	for range n {
		a := &Actor{Name: template.Name, TypeID: template.TypeID, Parts: slices.Clone(template.Parts), Pose: template.Pose, Reserved: true}
		if a.Name == "" {
			a.Name = a.TypeID
		}
		if err := s.AddActor(a); err != nil {
			return reserved, fmt.Errorf("reserve %d of %q: %w", n, template.TypeID, err)
		}
		reserved = append(reserved, a)
	}
	return reserved, nil
}

// Spawn makes an actor present from the next tick on and returns it. It takes the one of the
// least id among those that can come and go, are not there, and whose TypeID matches a wildcard
// pattern. Patterns are "vehicle.sedan", "walker.*"; see path.Match. It follows the motion,
// which is asked with the simulation's time; nil stands at the actor's Pose. An actor that was
// removed counts again from the tick after. Frame loop only. Errors: ErrNoActor,
// ErrReserveEmpty.
func (h *History) Spawn(pattern string, m Motion) (*Actor, error) {
	if _, err := path.Match(pattern, ""); err != nil {
		return nil, fmt.Errorf("spawn %q: %w: %w", pattern, ErrNoActor, err)
	}
	known := 0
	for i, a := range h.moving {
		if ok, _ := path.Match(pattern, a.TypeID); !ok {
			continue
		}
		if known++; !h.taken(1 + i) {
			h.appear(1+i, m)
			return a, nil
		}
	}
	if known > 0 {
		return nil, fmt.Errorf("spawn %q: %w: all %d actors of the type are there: reserve more with Scene.Reserve before the run", pattern, ErrReserveEmpty, known)
	}
	return nil, fmt.Errorf("spawn %q: %w: of this type none is held in reserve, %s", pattern, ErrNoActor, fault.Hint(pattern, h.types()))
}

// types returns the type ids that Spawn knows, sorted.
func (h *History) types() []string {
	types := map[string]bool{}
	for _, a := range h.moving {
		types[a.TypeID] = true
	}
	return slices.Sorted(maps.Keys(types))
}

// SpawnActor is Spawn for the actor with an id. Errors: ErrNoActor, ErrPresent,
// ErrPermanent.
func (h *History) SpawnActor(id uint32, m Motion) (*Actor, error) {
	track, err := h.comingAndGoing(id)
	if err != nil {
		return nil, fmt.Errorf("spawn actor %d: %w", id, err)
	}
	if h.taken(track) {
		return nil, fmt.Errorf("spawn actor %d: %w: remove it, and wait for a tick", id, ErrPresent)
	}
	h.appear(track, m)
	return h.moving[track-1], nil
}

// Remove takes an actor away at the next tick; any that isn't static may go, and may be spawned
// again from the tick after. One that was spawned since the latest tick never appears. Frame
// loop only. Errors: ErrNoActor, ErrAbsent, ErrPermanent.
func (h *History) Remove(id uint32) error {
	track, err := h.comingAndGoing(id)
	if err != nil {
		return fmt.Errorf("remove actor %d: %w", id, err)
	}
	if !h.here[track] {
		return fmt.Errorf("remove actor %d: %w", id, ErrAbsent)
	}
	h.here[track] = false
	return nil
}

// comingAndGoing returns the track of an actor that can come and go.
func (h *History) comingAndGoing(id uint32) (track int, err error) {
	if id == EgoID {
		return 0, fmt.Errorf("%w: it is the ego", ErrPermanent)
	}
	if track, ok := h.track[id]; ok {
		return track, nil
	}
	if _, static := h.fixed[id]; static {
		return 0, fmt.Errorf("%w: it is static, and so part of the world that is built once", ErrPermanent)
	}
	return 0, ErrNoActor
}

// taken reports whether a track's actor is there, or was at the latest tick:
// what it did then is still joined to the next tick.
func (h *History) taken(track int) bool { return h.here[track] || h.was[track] }

func (h *History) appear(track int, m Motion) {
	h.here[track] = true
	h.mu.Lock()
	defer h.mu.Unlock()
	h.motions[track] = m
}

// Motion returns what an actor, or the ego, follows now, nil for one that stands
// still; ok is false for an unknown id. Any goroutine may ask.
func (h *History) Motion(id uint32) (m Motion, ok bool) {
	if _, still := h.fixed[id]; still {
		return nil, true
	}
	track, ok := h.track[id]
	if !ok {
		return nil, false
	}
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.motions[track], true
}

// Present reports whether an actor, or the ego, was there at a time: reserved actors
// are not until they are spawned.
func (h *History) Present(id uint32, stamp simtime.Stamp) bool {
	if _, still := h.fixed[id]; still {
		return true
	}
	h.mu.RLock()
	defer h.mu.RUnlock()
	track, known := h.track[id]
	return known && h.length > 0 && h.thereLocked(track, h.placeLocked(stamp).tick)
}

// stay is when an actor was there: from <= t < until.
type stay struct{ from, until simtime.Stamp }

// within returns what two stays share; its end isn't after its beginning where they share nothing.
func (s stay) within(o stay) stay { return stay{max(s.from, o.from), min(s.until, o.until)} }

// always is a stay without a beginning or an end in sight.
var always = stay{math.MinInt64, math.MaxInt64}

// stays writes where an actor was at each of a window's times into out, as Pose does. It
// returns when the actor was there: the last stay in the window, if it came more than once.
// Before it came it is where it came, after it went where it went. So what interpolates between
// the times goes only the way that it went. ok is false if it was not there at all.
func (h *History) stays(id uint32, times []simtime.Stamp, out []spatial.Pose) (s stay, ok bool) {
	if _, still := h.fixed[id]; still {
		return always, h.poses(id, times, out)
	}
	h.mu.RLock()
	defer h.mu.RUnlock()
	track, known := h.track[id]
	if !known || h.length == 0 || len(times) == 0 {
		return stay{}, false
	}
	if s, ok = h.stayLocked(track, times[0], times[len(times)-1]); !ok {
		return s, false
	}
	for k, t := range times {
		out[k] = h.poseLocked(track, h.placeLocked(max(s.from, min(t, s.until))))
	}
	return s, true
}

// stayLocked returns a track's last stay in a window; mu must be held.
func (h *History) stayLocked(track int, startNs, endNs simtime.Stamp) (s stay, ok bool) {
	first, last := h.placeLocked(startNs).tick, h.placeLocked(endNs).tick
	for last >= first && !h.thereLocked(track, last) {
		last--
	}
	if last < first {
		return stay{}, false
	}
	s = always
	if last+1 < h.length && !h.thereLocked(track, last+1) {
		s.until = h.timeLocked(last + 1)
	}
	for last > first && h.thereLocked(track, last-1) {
		last--
	}
	if last > first {
		s.from = h.timeLocked(last)
	}
	return s, true
}
