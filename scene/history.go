package scene

import (
	"cmp"
	"sync"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/weather"
)

// EgoID is the ego vehicle's number in a History; actors have 1 and up.
const EgoID = 0

// Advancer is a Motion with a state that time moves. History.Record and Jump call Advance or
// Jump once a tick, before they ask for the state. History.Restart calls Restart.
type Advancer interface {
	Motion
	// Advance moves the state to a tick's time. Frame loop only.
	Advance(stamp simtime.Stamp)
	// Restart takes the state back to how it was made, at time 0. Frame loop only.
	Restart()
	// Jump continues from another time, earlier or later, with the state as it is: the clock
	// was set, and nothing happened in between. Frame loop only.
	Jump(stamp simtime.Stamp)
}

// History holds where the ego and the moving actors were at the latest ticks, and which weather it was. So a
// scan that began some ticks ago sees them where they were. One goroutine, the frame loop, records; any
// goroutine may ask.
//
// Actors come and go: Spawn makes one of a model's shape present, Remove takes one away.
// Presence is recorded with the states, and holds from its tick up to the next. An actor
// spawned before tick T is there from T on. One removed before T is there up to T, and
// continues along its motion until then. What answers for an earlier time answers for who was
// there then. An actor's Since may be later than the next tick.
type History struct {
	scene      *Scene
	fixed      map[uint32]spatial.Pose // of static actors
	boxes      map[uint32]Box          // of those
	modelBoxes []Box
	// firstSlot is the first slot's track. Track 0 is the ego; those between are the scene's own
	// actors that aren't static.
	firstSlot int
	// The frame loop's own lists have an entry for each track. States is scratch of Record. Here has
	// those who are to be there at the next tick, was those of the latest.
	states    []State
	here, was []*visit
	values    []float64 // of the joints of those in the slots, stride for each
	stride    int
	recorded  int    // ticks
	lastID    uint32 // of an actor
	ownLast   uint32 // highest id of the scene's own
	ownIDs    uint32 // the scene's own are up to it; 0 where they leave no label to others

	mu sync.RWMutex
	// members are all that move, or may, by their ids, and occupants the ids of those who took
	// slots last. guarded by mu, written by the frame loop.
	members   map[uint32]*member
	occupants []uint32
	motions   []Motion        // guarded by mu, written by the frame loop: nil stands still
	tracks    int             // guarded by mu: in the ring
	times     []simtime.Stamp // guarded by mu: ring of tick times
	ring      []State         // guarded by mu: ring of ticks, one State a track
	there     []*visit        // guarded by mu: ring of ticks, who was there on each track
	turned    []float64       // guarded by mu: ring of ticks, the joints' values of each slot
	first     int             // guarded by mu: oldest tick's place in the ring
	length    int             // guarded by mu: ticks in the ring

	switches map[uint32]Switches // guarded by mu: of those in which any were set
	lights   lights
	weather  *weather.History
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
		scene: s, members: map[uint32]*member{}, fixed: map[uint32]spatial.Pose{}, boxes: map[uint32]Box{},
		times: make([]simtime.Stamp, capacity), lights: newLights(s), stride: s.mostJoints(),
		weather: weather.NewHistory(weather.State{}),
	}
	boxer := newBoxer(s)
	h.enter(&Actor{ID: EgoID, Name: "ego", TypeID: EgoTypeID, Pose: s.Ego, Motion: ego}, cmp.Or(s.EgoBox, DefaultEgoBox))
	for _, a := range s.Actors {
		h.lastID = max(h.lastID, a.ID)
		if a.Static() {
			h.fixed[a.ID], h.boxes[a.ID] = a.Pose, boxer.box(a)
			continue
		}
		h.enter(a, boxer.box(a))
	}
	for _, m := range s.Models {
		h.modelBoxes = append(h.modelBoxes, boxer.box(m))
	}
	h.ownLast, h.ownIDs = h.lastID, h.lastID%labelMask
	h.firstSlot, h.tracks = len(h.here), len(h.here)
	h.was, h.occupants = make([]*visit, h.tracks), make([]uint32, h.tracks)
	h.ring, h.there = make([]State, capacity*h.tracks), make([]*visit, capacity*h.tracks)
	return h
}

// Restart takes the history back to how NewHistory made it. Who came is gone. The scene's own and
// the ego are there, and follow the motions that they had, from the beginning. Frame loop only.
func (h *History) Restart() {
	h.mu.Lock()
	defer h.mu.Unlock()
	own := h.firstSlot
	h.states, h.here, h.was = h.states[:own], h.here[:own], make([]*visit, own)
	h.motions, h.occupants, h.tracks = h.motions[:own], make([]uint32, own), own
	for id, m := range h.members {
		if m.track >= own {
			delete(h.members, id)
			continue
		}
		m.last = 0
		h.here[m.track], h.motions[m.track], h.states[m.track] = &visit{actor: m.actor, model: -1}, m.actor.Motion, State{Pose: m.actor.Pose}
		if a, ok := m.actor.Motion.(Advancer); ok {
			a.Restart()
		}
	}
	h.recorded, h.lastID, h.switches = 0, h.ownLast, nil
	clear(h.lights.shown)
	h.first, h.length = 0, 0
	h.ring, h.there = make([]State, len(h.times)*own), make([]*visit, len(h.times)*own)
	h.values, h.turned = nil, nil
	h.weather.Restart()
}

// enter gives a track to somebody who is there from the start.
func (h *History) enter(a *Actor, box Box) {
	h.members[a.ID] = &member{actor: a, track: len(h.here), box: box}
	h.here = append(h.here, &visit{actor: a, model: -1})
	h.motions = append(h.motions, a.Motion)
	h.states = append(h.states, State{Pose: a.Pose})
}

// Keep makes the history keep at least so many of the latest ticks. Frame loop only.
func (h *History) Keep(ticks int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if ticks > len(h.times) {
		h.resizeLocked(ticks, h.tracks)
	}
}

// resizeLocked makes room for more ticks or tracks; mu must be held.
func (h *History) resizeLocked(ticks, tracks int) {
	times, ring, there := make([]simtime.Stamp, ticks), make([]State, ticks*tracks), make([]*visit, ticks*tracks)
	before, row := (h.tracks-h.firstSlot)*h.stride, (tracks-h.firstSlot)*h.stride
	turned := make([]float64, ticks*row)
	for k := range h.length {
		from := (h.first + k) % len(h.times) * h.tracks
		times[k] = h.timeLocked(k)
		copy(ring[k*tracks:], h.ring[from:from+h.tracks])
		copy(there[k*tracks:], h.there[from:from+h.tracks])
		at := (h.first + k) % len(h.times) * before
		copy(turned[k*row:], h.turned[at:at+before])
	}
	h.times, h.ring, h.there, h.turned, h.first, h.tracks = times, ring, there, turned, 0, tracks
}

// Record moves the Advancers to a tick's time and stores every state, and who is there. What
// was spawned and removed since the last tick is now. Times must rise from call to call; one
// that doesn't starts the history again from there. Frame loop only; it allocates nothing.
func (h *History) Record(stamp simtime.Stamp) { h.record(stamp, Advancer.Advance) }

// Jump is Record for a tick that the clock has jumped to, either way. Advancers are there as
// they were before, other motions where they are at the new time. Frame loop only.
func (h *History) Jump(stamp simtime.Stamp) { h.record(stamp, Advancer.Jump) }

func (h *History) record(stamp simtime.Stamp, move func(Advancer, simtime.Stamp)) {
	for _, v := range h.here {
		if v != nil && v.until != 0 && v.until <= stamp {
			_ = h.Remove(v.actor.ID) // it is there
		}
	}
	for track, m := range h.motions {
		who, before := cmp.Or(h.here[track], h.was[track]), h.states[track]
		switch {
		case who == nil: // nowhere: the place it had last is kept
			h.states[track] = State{Pose: h.states[track].Pose}
		case m == nil:
			h.states[track] = State{Pose: who.actor.Pose}
		default:
			if a, ok := m.(Advancer); ok {
				move(a, stamp)
			}
			h.states[track] = StateOf(m, stamp)
		}
		if who != nil && len(who.actor.Joints) > 0 && track >= h.firstSlot {
			h.turn(track, who, before, stamp)
		}
	}
	for track, v := range h.here {
		if h.was[track] = v; v != nil && v.actor.Since != 0 && v.actor.Since > stamp {
			h.was[track] = nil
		}
	}
	h.recorded++
	h.mu.Lock()
	defer h.mu.Unlock()
	again := h.length > 0 && stamp <= h.timeLocked(h.length-1)
	for h.length == len(h.times) || again && h.length > 0 {
		h.dropLocked()
	}
	at := (h.first + h.length) % len(h.times)
	h.times[at] = stamp
	copy(h.ring[at*len(h.states):], h.states)
	copy(h.there[at*len(h.states):], h.was)
	copy(h.turned[at*len(h.values):], h.values)
	h.length++
	h.recordSignalsLocked(stamp, again)
	h.weather.Record(stamp, h.timeLocked(0))
}

// BeginWeather has the weather be one from the beginning on, and after Restart. Before the first tick only. The error
// wraps weather.ErrValue.
func (h *History) BeginWeather(w weather.State) error {
	if err := w.Validate(); err != nil {
		return err
	}
	h.weather = weather.NewHistory(w)
	return nil
}

// Weather returns which weather it was at a time, and is set at times to come. Any goroutine may use it.
func (h *History) Weather() *weather.History { return h.weather }

// Box returns the bounding box of an actor, or of the ego, in its own frame; ok is
// false for an unknown id.
func (h *History) Box(id uint32) (box Box, ok bool) {
	if box, ok = h.boxes[id]; ok {
		return box, true
	}
	h.mu.RLock()
	defer h.mu.RUnlock()
	if member, known := h.members[id]; known {
		return member.box, true
	}
	return Box{}, false
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
	member, known := h.members[id]
	if !known || h.length == 0 {
		return spatial.Identity(), false
	}
	at := h.placeOfLocked(member, stamp)
	return h.poseLocked(member.track, at), h.thereLocked(member, h.placeLocked(stamp).tick)
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
	member, known := h.members[id]
	if !known || h.length == 0 {
		return false
	}
	for k, t := range times {
		out[k] = h.poseLocked(member.track, h.placeOfLocked(member, t))
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
	member, known := h.members[id]
	if !known || h.length == 0 {
		return State{Pose: spatial.Identity()}, false
	}
	at, track := h.placeLocked(stamp), member.track
	if !h.thereLocked(member, at.tick) {
		return State{Pose: h.poseLocked(track, h.placeOfLocked(member, stamp))}, false
	}
	a, b := h.stateLocked(track, at.tick), h.stateLocked(track, at.next)
	if h.jumpsLocked(track, at) {
		b = a
	}
	mix := func(x, y mgl64.Vec3) mgl64.Vec3 { return x.Add(y.Sub(x).Mul(at.fraction)) }
	return State{
		Pose:                h.poseLocked(track, at),
		Twist:               spatial.Twist{Linear: mix(a.Twist.Linear, b.Twist.Linear), Angular: mix(a.Twist.Angular, b.Twist.Angular)},
		Acceleration:        mix(a.Acceleration, b.Acceleration),
		AngularAcceleration: mix(a.AngularAcceleration, b.AngularAcceleration),
		Lights:              a.Lights,
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

// placeOfLocked is placeLocked for a member. Where another has its slot it is the last tick of before.
func (h *History) placeOfLocked(m *member, stamp simtime.Stamp) tickPlace {
	at := h.placeLocked(stamp)
	for tick := at.tick; tick >= 0; tick-- {
		if v := h.visitLocked(m.track, tick); v == nil || v.actor.ID == m.actor.ID {
			if tick < at.tick {
				return tickPlace{tick: tick, next: tick}
			}
			break
		}
	}
	return at
}

func (h *History) timeLocked(tick int) simtime.Stamp { return h.times[(h.first+tick)%len(h.times)] }

func (h *History) stateLocked(track, tick int) *State {
	return &h.ring[(h.first+tick)%len(h.times)*h.tracks+track]
}

// visitLocked returns who was there on a track at a tick, and so up to the next, nil for nobody;
// mu must be held.
func (h *History) visitLocked(track, tick int) *visit {
	return h.there[(h.first+tick)%len(h.times)*h.tracks+track]
}

// thereLocked reports whether a member was there at a tick, and so up to the next; mu must be
// held. A slot may have been another's before.
func (h *History) thereLocked(m *member, tick int) bool {
	v := h.visitLocked(m.track, tick)
	return v != nil && v.actor.ID == m.actor.ID
}

// jumpsLocked reports whether the actor of the tick before a time is not on its way to the track's
// next state. Mu must be held.
func (h *History) jumpsLocked(track int, at tickPlace) bool {
	v := h.visitLocked(track, at.tick)
	next := h.visitLocked(track, at.next)
	return v == nil || next != nil && next != v
}

func (h *History) poseLocked(track int, at tickPlace) spatial.Pose {
	a := h.stateLocked(track, at.tick).Pose
	if at.tick == at.next || h.jumpsLocked(track, at) {
		return a
	}
	return spatial.Interpolate(a, h.stateLocked(track, at.next).Pose, at.fraction)
}
