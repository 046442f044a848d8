package scene

import (
	"sync"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// EgoID is the ego vehicle's number in a History; actors have 1 and up.
const EgoID = 0

// Advancer is a Motion with a state that time moves. History.Record and Jump call Advance or
// Jump once a tick, before they ask for the state.
type Advancer interface {
	Motion
	// Advance moves the state to a tick's time. Frame loop only.
	Advance(stamp simtime.Stamp)
	// Jump continues from another time, earlier or later, with the state as it is: the clock
	// was set, and nothing happened in between. Frame loop only.
	Jump(stamp simtime.Stamp)
}

// History holds where the ego and the moving actors were at the latest ticks. So a scan that
// began some ticks ago sees them where they were. One goroutine, the frame loop, records; any
// goroutine may ask.
//
// Actors come and go: Spawn makes one of the scene's reserve present, Remove takes one away.
// Presence is recorded with the states, and holds from its tick up to the next. An actor
// spawned before tick T is there from T on. One removed before T is there up to T, and
// continues along its motion until then. What answers for an earlier time answers for who was
// there then.
type History struct {
	scene  *Scene
	moving []*Actor       // all that aren't static: tracks 1.. ; track 0 is the ego
	track  map[uint32]int // actor id to track
	fixed  map[uint32]spatial.Pose
	boxes  map[uint32]Box
	// The frame loop's own, a track each. states is scratch of Record, here who is to be there
	// at the next tick, was who was there at the latest.
	states    []State
	here, was []bool

	mu      sync.RWMutex
	motions []Motion        // guarded by mu, written by the frame loop: nil stands still
	times   []simtime.Stamp // guarded by mu: ring of tick times
	ring    []State         // guarded by mu: ring of ticks, one State a track
	there   []bool          // guarded by mu: ring of ticks, one presence a track
	first   int             // guarded by mu: oldest tick's place in the ring
	length  int             // guarded by mu: ticks in the ring

	switches map[uint32]Switches // guarded by mu: of those in which any were set
}

// DefaultHistory is the number of ticks that NewHistory keeps where it is given 0:
// 2.56 s at the default step of 10 ms.
const DefaultHistory = 256

// NewHistory returns an empty history of the scene's actors and of the ego. The ego follows the
// given motion, or stands at the scene's Ego pose if that is nil. It keeps the latest capacity
// ticks; 0 means DefaultHistory.
func NewHistory(s *Scene, ego Motion, capacity int) *History {
	if capacity <= 0 {
		capacity = DefaultHistory
	}
	h := &History{
		scene: s, motions: []Motion{ego},
		here:  []bool{true},
		track: map[uint32]int{EgoID: 0},
		fixed: map[uint32]spatial.Pose{},
		times: make([]simtime.Stamp, capacity),
	}
	for _, a := range s.Actors {
		if a.Static() {
			h.fixed[a.ID] = a.Pose
			continue
		}
		h.moving = append(h.moving, a)
		h.track[a.ID] = len(h.moving)
		h.motions, h.here = append(h.motions, a.Motion), append(h.here, !a.Reserved)
	}
	h.boxes = make(map[uint32]Box, len(s.Actors)+1)
	boxer := newBoxer(s)
	for _, a := range s.Actors {
		h.boxes[a.ID] = boxer.box(a)
	}
	h.boxes[EgoID] = s.EgoBox
	if s.EgoBox == (Box{}) {
		h.boxes[EgoID] = DefaultEgoBox
	}
	h.states, h.was = make([]State, 1+len(h.moving)), make([]bool, 1+len(h.moving))
	for track := range h.states {
		h.states[track].Pose = h.standing(track)
	}
	h.ring, h.there = make([]State, capacity*len(h.states)), make([]bool, capacity*len(h.states))
	return h
}

// standing returns where a track's actor stands without a motion.
func (h *History) standing(track int) spatial.Pose {
	if track == 0 {
		return h.scene.Ego
	}
	return h.moving[track-1].Pose
}

// Keep makes the history keep at least so many of the latest ticks. Frame loop only.
func (h *History) Keep(ticks int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if ticks <= len(h.times) {
		return
	}
	tracks := len(h.states)
	times, ring, there := make([]simtime.Stamp, ticks), make([]State, ticks*tracks), make([]bool, ticks*tracks)
	for k := range h.length {
		from := (h.first + k) % len(h.times) * tracks
		times[k] = h.timeLocked(k)
		copy(ring[k*tracks:], h.ring[from:from+tracks])
		copy(there[k*tracks:], h.there[from:from+tracks])
	}
	h.times, h.ring, h.there, h.first = times, ring, there, 0
}

// Record moves the Advancers to a tick's time and stores every state, and who is there. What
// was spawned and removed since the last tick is now. Times must rise from call to call; one
// that doesn't starts the history again from there. Frame loop only; it allocates nothing.
func (h *History) Record(stamp simtime.Stamp) { h.record(stamp, Advancer.Advance) }

// Jump is Record for a tick that the clock has jumped to, either way. Advancers are there as
// they were before, other motions where they are at the new time. Frame loop only.
func (h *History) Jump(stamp simtime.Stamp) { h.record(stamp, Advancer.Jump) }

func (h *History) record(stamp simtime.Stamp, move func(Advancer, simtime.Stamp)) {
	for track, m := range h.motions {
		switch {
		case !h.here[track] && !h.was[track]: // nowhere: the place it had last is kept
			h.states[track] = State{Pose: h.states[track].Pose}
		case m == nil:
			h.states[track] = State{Pose: h.standing(track)}
		default:
			if a, ok := m.(Advancer); ok {
				move(a, stamp)
			}
			h.states[track] = StateOf(m, stamp)
		}
	}
	copy(h.was, h.here)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.length > 0 && stamp <= h.timeLocked(h.length-1) {
		h.length = 0
	}
	if h.length == len(h.times) {
		h.first = (h.first + 1) % len(h.times)
		h.length--
	}
	at := (h.first + h.length) % len(h.times)
	h.times[at] = stamp
	copy(h.ring[at*len(h.states):], h.states)
	copy(h.there[at*len(h.states):], h.here)
	h.length++
}

// Box returns the bounding box of an actor, or of the ego, in its own frame; ok is
// false for an unknown id.
func (h *History) Box(id uint32) (box Box, ok bool) {
	box, ok = h.boxes[id]
	return box, ok
}

// Span returns the times of the oldest and the newest tick; ok is false before
// the first.
func (h *History) Span() (oldest, newest simtime.Stamp, ok bool) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if h.length == 0 {
		return 0, 0, false
	}
	return h.timeLocked(0), h.timeLocked(h.length - 1), true
}

// Pose returns where an actor, or the ego, was. Between two ticks it is interpolated (position
// linearly, orientation by slerp). Before the oldest tick it is as then, after the newest as
// then. ok is false for an unknown id, before the first tick, and where the actor was not
// there. Then pose is the place that it had last, for what was mounted on it.
func (h *History) Pose(id uint32, stamp simtime.Stamp) (pose spatial.Pose, ok bool) {
	if p, still := h.fixed[id]; still {
		return p, true
	}
	h.mu.RLock()
	defer h.mu.RUnlock()
	track, known := h.track[id]
	if !known || h.length == 0 {
		return spatial.Identity(), false
	}
	at := h.placeLocked(stamp)
	return h.poseLocked(track, at), h.thereLocked(track, at.tick)
}

// poses writes where an actor was at each time into out, as Pose does. It returns false for an
// unknown id and before the first tick.
func (h *History) poses(id uint32, times []simtime.Stamp, out []spatial.Pose) bool {
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

// State returns an actor's, or the ego's, state, interpolated as Pose does. That of an actor
// that was not there stands still, and ok is false.
func (h *History) State(id uint32, stamp simtime.Stamp) (state State, ok bool) {
	if p, still := h.fixed[id]; still {
		return State{Pose: p}, true
	}
	h.mu.RLock()
	defer h.mu.RUnlock()
	track, known := h.track[id]
	if !known || h.length == 0 {
		return State{Pose: spatial.Identity()}, false
	}
	at := h.placeLocked(stamp)
	if !h.thereLocked(track, at.tick) {
		return State{Pose: h.poseLocked(track, at)}, false
	}
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
func (h *History) placeLocked(stamp simtime.Stamp) tickPlace {
	lo, hi := 0, h.length // the first tick after stamp lies in [lo, hi]
	for lo < hi {
		mid := (lo + hi) / 2
		if h.timeLocked(mid) <= stamp {
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
	if t0 == stamp {
		return tickPlace{tick: lo - 1, next: lo - 1}
	}
	return tickPlace{lo - 1, lo, float64(stamp-t0) / float64(t1-t0)}
}

func (h *History) timeLocked(tick int) simtime.Stamp { return h.times[(h.first+tick)%len(h.times)] }

func (h *History) stateLocked(track, tick int) *State {
	return &h.ring[(h.first+tick)%len(h.times)*len(h.states)+track]
}

// thereLocked reports whether a track's actor was there at a tick, and so up to the
// next; mu must be held.
func (h *History) thereLocked(track, tick int) bool {
	return h.there[(h.first+tick)%len(h.times)*len(h.states)+track]
}

func (h *History) poseLocked(track int, at tickPlace) spatial.Pose {
	a := h.stateLocked(track, at.tick).Pose
	if at.tick == at.next || !h.thereLocked(track, at.tick) {
		return a
	}
	return spatial.Interpolate(a, h.stateLocked(track, at.next).Pose, at.fraction)
}
