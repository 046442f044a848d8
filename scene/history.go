package scene

import (
	"sync"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/spatial"
)

// EgoID is the ego vehicle's number in a History; actors have 1 and up.
const EgoID = 0

// Advancer is a Motion with a state that time moves: History.Record calls
// Advance once a tick, before it asks for the state.
type Advancer interface {
	Motion
	// Advance moves the state to a tick's time. Frame loop only.
	Advance(tNs int64)
}

// History holds where the ego and the moving actors were at the latest ticks,
// so that a scan that began some ticks ago sees them where they were. One
// goroutine, the frame loop, records; any goroutine may ask.
type History struct {
	scene  *Scene
	moving []*Actor       // tracks 1.. ; track 0 is the ego
	ego    Motion         // nil: the ego stands at the scene's Ego pose
	track  map[uint32]int // actor id to track
	fixed  map[uint32]spatial.Pose
	states []State // scratch of Record
	boxes  map[uint32]Box

	mu     sync.RWMutex
	times  []int64 // guarded by mu: ring of tick times
	ring   []State // guarded by mu: ring of ticks, one State a track
	first  int     // guarded by mu: oldest tick's place in the ring
	length int     // guarded by mu: ticks in the ring
}

// DefaultHistory is the number of ticks that NewHistory keeps where it is given 0:
// 2.56 s at the default step of 10 ms.
const DefaultHistory = 256

// NewHistory returns an empty history of the scene's actors and of the ego,
// which follows the given motion, or stands at the scene's Ego pose if that is
// nil. It keeps the latest capacity ticks; 0 means DefaultHistory.
func NewHistory(s *Scene, ego Motion, capacity int) *History {
	if capacity <= 0 {
		capacity = DefaultHistory
	}
	h := &History{
		scene: s, ego: ego,
		track: map[uint32]int{EgoID: 0},
		fixed: map[uint32]spatial.Pose{},
		times: make([]int64, capacity),
	}
	for _, a := range s.Actors {
		if a.Motion == nil {
			h.fixed[a.ID] = a.Pose
			continue
		}
		h.moving = append(h.moving, a)
		h.track[a.ID] = len(h.moving)
	}
	h.boxes = make(map[uint32]Box, len(s.Actors)+1)
	boxer := boxer{scene: s, made: map[boxKey]bounds64{}}
	for _, a := range s.Actors {
		h.boxes[a.ID] = boxer.box(a)
	}
	h.boxes[EgoID] = s.EgoBox
	if s.EgoBox == (Box{}) {
		h.boxes[EgoID] = DefaultEgoBox
	}
	h.states = make([]State, 1+len(h.moving))
	h.ring = make([]State, capacity*len(h.states))
	return h
}

// Keep makes the history keep at least so many of the latest ticks. Frame loop only.
func (h *History) Keep(ticks int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if ticks <= len(h.times) {
		return
	}
	times, ring := make([]int64, ticks), make([]State, ticks*len(h.states))
	for k := range h.length {
		times[k] = h.timeLocked(k)
		copy(ring[k*len(h.states):], h.ring[(h.first+k)%len(h.times)*len(h.states):][:len(h.states)])
	}
	h.times, h.ring, h.first = times, ring, 0
}

// Record moves the externally driven actors to a tick's time and stores every
// state. Times must rise from call to call; one that doesn't starts the history
// anew from there. Frame loop only; it allocates nothing.
func (h *History) Record(tNs int64) {
	h.states[0] = State{Pose: h.scene.Ego}
	if h.ego != nil {
		h.states[0] = stateAtTick(h.ego, tNs)
	}
	for i, a := range h.moving {
		h.states[1+i] = stateAtTick(a.Motion, tNs)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.length > 0 && tNs <= h.timeLocked(h.length-1) {
		h.length = 0
	}
	if h.length == len(h.times) {
		h.first = (h.first + 1) % len(h.times)
		h.length--
	}
	at := (h.first + h.length) % len(h.times)
	h.times[at] = tNs
	copy(h.ring[at*len(h.states):], h.states)
	h.length++
}

func stateAtTick(m Motion, tNs int64) State {
	if a, ok := m.(Advancer); ok {
		a.Advance(tNs)
	}
	return StateOf(m, tNs)
}

// Box returns the bounding box of an actor, or of the ego, in its own frame; ok is
// false for an unknown id.
func (h *History) Box(id uint32) (box Box, ok bool) {
	box, ok = h.boxes[id]
	return box, ok
}

// Present reports whether an actor, or the ego, was there at a time: actors held in
// reserve are not until they are spawned.
func (h *History) Present(id uint32, tNs int64) bool {
	_, ok := h.State(id, tNs)
	return ok
}

// Span returns the times of the oldest and the newest tick; ok is false before
// the first.
func (h *History) Span() (oldest, newest int64, ok bool) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if h.length == 0 {
		return 0, 0, false
	}
	return h.timeLocked(0), h.timeLocked(h.length - 1), true
}

// Pose returns where an actor, or the ego, was: between two ticks interpolated
// (position linearly, orientation by slerp), before the oldest tick as then, after
// the newest as then. ok is false for an unknown id and before the first tick.
func (h *History) Pose(id uint32, tNs int64) (pose spatial.Pose, ok bool) {
	if p, still := h.fixed[id]; still {
		return p, true
	}
	h.mu.RLock()
	defer h.mu.RUnlock()
	track, known := h.track[id]
	if !known || h.length == 0 {
		return spatial.Identity(), false
	}
	return h.poseLocked(track, h.placeLocked(tNs)), true
}

// poses writes where an actor was at each time into out, as Pose does.
func (h *History) poses(id uint32, times []int64, out []spatial.Pose) bool {
	if p, still := h.fixed[id]; still {
		for k := range times {
			out[k] = p
		}
		return true
	}
	h.mu.RLock()
	defer h.mu.RUnlock()
	track, known := h.track[id]
	if !known || h.length == 0 {
		return false
	}
	for k, t := range times {
		out[k] = h.poseLocked(track, h.placeLocked(t))
	}
	return true
}

// State returns an actor's, or the ego's, state, interpolated as Pose does.
func (h *History) State(id uint32, tNs int64) (state State, ok bool) {
	if p, still := h.fixed[id]; still {
		return State{Pose: p}, true
	}
	h.mu.RLock()
	defer h.mu.RUnlock()
	track, known := h.track[id]
	if !known || h.length == 0 {
		return State{Pose: spatial.Identity()}, false
	}
	at := h.placeLocked(tNs)
	a, b := h.stateLocked(track, at.tick), h.stateLocked(track, at.next)
	mix := func(x, y mgl64.Vec3) mgl64.Vec3 { return x.Add(y.Sub(x).Mul(at.fraction)) }
	return State{
		Pose:                h.poseLocked(track, at),
		Twist:               spatial.Twist{Linear: mix(a.Twist.Linear, b.Twist.Linear), Angular: mix(a.Twist.Angular, b.Twist.Angular)},
		Acceleration:        mix(a.Acceleration, b.Acceleration),
		AngularAcceleration: mix(a.AngularAcceleration, b.AngularAcceleration),
	}, true
}

// tickPlace is a time between two ticks; tick and next are equal outside.
type tickPlace struct {
	tick, next int // 0 is the oldest
	fraction   float64
}

// placeLocked finds a time among the ticks; mu must be held and length > 0.
func (h *History) placeLocked(tNs int64) tickPlace {
	lo, hi := 0, h.length // the first tick after tNs lies in [lo, hi]
	for lo < hi {
		mid := (lo + hi) / 2
		if h.timeLocked(mid) <= tNs {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 {
		return tickPlace{}
	}
	if lo == h.length {
		return tickPlace{tick: lo - 1, next: lo - 1}
	}
	t0, t1 := h.timeLocked(lo-1), h.timeLocked(lo)
	if t0 == tNs {
		return tickPlace{tick: lo - 1, next: lo - 1}
	}
	return tickPlace{lo - 1, lo, float64(tNs-t0) / float64(t1-t0)}
}

func (h *History) timeLocked(tick int) int64 { return h.times[(h.first+tick)%len(h.times)] }

func (h *History) stateLocked(track, tick int) *State {
	return &h.ring[(h.first+tick)%len(h.times)*len(h.states)+track]
}

func (h *History) poseLocked(track int, at tickPlace) spatial.Pose {
	a := h.stateLocked(track, at.tick).Pose
	if at.tick == at.next {
		return a
	}
	return spatial.Interpolate(a, h.stateLocked(track, at.next).Pose, at.fraction)
}
