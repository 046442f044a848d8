package scene

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// Joint is what moves parts of a model by one value. That is an angle in radians or a way in metres,
// as sensor_msgs/JointState has them.
type Joint struct {
	// Name is unique in the model.
	Name string
	// Slides: the value is in metres.
	Slides bool
	// Follow returns the value where nobody gives one: from that of the tick before, 0 at first, and
	// from how the actor has moved since. It must be a pure function. Nil leaves the parts to their
	// Part.Joints.
	Follow func(before float64, m Moved) float64
}

// Moved is how an actor has moved from one tick to the next.
type Moved struct {
	// State is that of the later tick.
	State State
	// Way is how far the actor came along its x axis, metres.
	Way float64
}

// Jointed is a Motion that has values for joints of its actor.
type Jointed interface {
	Motion
	// JointsAt writes the values of a time, in the order of the actor's Joints. It leaves those
	// alone for which it has none. Frame loop only.
	JointsAt(values []float64, stamp simtime.Stamp)
}

// JointValues are those of an actor at a time. The zero value has none.
type JointValues struct {
	from, to []float64
	share    float64
}

// Of returns the value of a joint, by its place in the actor's Joints; ok is false where it has none.
func (v JointValues) Of(joint int) (value float64, ok bool) {
	if joint >= len(v.to) || math.IsNaN(v.to[joint]) {
		return 0, false
	}
	a, b := v.from[joint], v.to[joint]
	if math.IsNaN(a) {
		a = b
	}
	return a + (b-a)*v.share, true
}

// joint gives the parts of an actor that comes the values of its joints.
func (h *History) joint(a *Actor, model *Actor, track int) {
	if a.Joints = model.Joints; len(a.Joints) == 0 {
		return
	}
	values := h.valuesOf(track, len(a.Joints))
	for k := range values {
		if values[k] = 0; a.Joints[k].Follow == nil {
			values[k] = math.NaN()
		}
	}
	a.Parts = slices.Clone(a.Parts)
	for i := range a.Parts {
		if posed := a.Parts[i].Posed; posed != nil {
			a.Parts[i].Joints = func(stamp simtime.Stamp) mgl64.Mat4 {
				h.mu.RLock()
				defer h.mu.RUnlock()
				return posed(h.jointsLocked(a, track, stamp), stamp)
			}
		}
	}
}

// mostJoints returns the number of joints of the model that has the most.
func (s *Scene) mostJoints() (most int) {
	for _, m := range s.Models {
		most = max(most, len(m.Joints))
	}
	return most
}

// valuesOf returns the values of a slot's joints at the latest tick. Frame loop only.
func (h *History) valuesOf(track, count int) []float64 {
	at := (track - h.firstSlot) * h.stride
	return h.values[at : at+count]
}

// turn brings the joints of the actor on a track to a tick's time. Its state is that of the tick, before
// that of the one before. Frame loop only.
func (h *History) turn(track int, who *visit, before State, stamp simtime.Stamp) {
	values := h.valuesOf(track, len(who.actor.Joints))
	moved := Moved{State: h.states[track]}
	if h.was[track] == who { // otherwise it comes, or jumps
		moved.Way = moved.State.Pose.Rotate(mgl64.Vec3{1, 0, 0}).Dot(moved.State.Pose.Position.Sub(before.Pose.Position))
	}
	for k := range values {
		if follow := who.actor.Joints[k].Follow; follow != nil {
			values[k] = follow(values[k], moved)
		}
	}
	if m, ok := h.motions[track].(Jointed); ok {
		m.JointsAt(values, stamp)
	}
}

// jointsLocked returns the values of an actor's joints at a time, or at the nearest at which it was
// there; mu must be held.
func (h *History) jointsLocked(a *Actor, track int, stamp simtime.Stamp) JointValues {
	if h.length == 0 {
		return JointValues{}
	}
	at := h.placeLocked(stamp)
	has := func(tick int) bool {
		v := h.visitLocked(track, tick)
		return v != nil && v.actor == a
	}
	if !has(at.tick) {
		tick := at.tick
		for tick < h.length && !has(tick) {
			tick++
		}
		if tick == h.length {
			for tick = at.tick; tick >= 0 && !has(tick); {
				tick--
			}
		}
		if tick < 0 { // its first tick is to come
			return JointValues{}
		}
		at = tickPlace{tick: tick, next: tick}
	} else if h.jumpsLocked(track, at) {
		at.next = at.tick
	}
	return JointValues{h.valuesLocked(a, track, at.tick), h.valuesLocked(a, track, at.next), at.fraction}
}

// jointsAt appends the values of an actor's joints at each time to dst, NaN for none.
func (h *History) jointsAt(dst []float64, a *Actor, track int, times []simtime.Stamp) []float64 {
	h.mu.RLock()
	defer h.mu.RUnlock()
	for _, t := range times {
		values := h.jointsLocked(a, track, t)
		for k := range a.Joints {
			value, given := values.Of(k)
			if !given {
				value = math.NaN()
			}
			dst = append(dst, value)
		}
	}
	return dst
}

// valuesLocked returns the values at a tick; mu must be held.
func (h *History) valuesLocked(a *Actor, track, tick int) []float64 {
	slots := h.tracks - h.firstSlot
	from := ((h.first+tick)%len(h.times)*slots + track - h.firstSlot) * h.stride
	return h.turned[from : from+len(a.Joints)]
}

// axis is how a node of an asset moves by a value: about a line, or along it.
type axis struct {
	along  mgl64.Vec3 // a unit vector of the node's own frame, or where it slides of its parent's
	slides bool
	zero   TRS     // where the value is 0
	scale  float64 // of a way in metres
}

// axis returns how a node moves whose animation only turns it about one axis, or only moves it along
// one line. The value is 0 at the animation's first key, and rises from there to the second.
func (g *graph) axis(node int) (of axis, ok bool) {
	if len(g.channels[node]) != 1 {
		return of, false
	}
	of.zero = g.asset.Nodes[node].Local
	c := g.channels[node][0].channel
	away := func(int) mgl64.Vec3 { return mgl64.Vec3{} }
	first := c.value(0)
	switch c.Path {
	case PathRotation:
		of.zero.Rotation = quaternion(first)
		back := of.zero.Rotation.Conjugate()
		away = func(k int) mgl64.Vec3 { return spatial.RotationVector(back.Mul(quaternion(c.value(k)))) }
	case PathTranslation:
		of.slides = true
		of.zero.Translation = mgl64.Vec3{first[0], first[1], first[2]}
		away = func(k int) mgl64.Vec3 {
			v := c.value(k)
			return mgl64.Vec3{v[0], v[1], v[2]}.Sub(of.zero.Translation)
		}
	}
	for k := range c.TimesNs {
		way := away(k)
		switch length := way.Len(); {
		case length < 1e-6:
		case of.along == (mgl64.Vec3{}):
			of.along = way.Mul(1 / length)
		case way.Cross(of.along).Len() > 1e-3*length:
			return of, false
		}
	}
	of.scale = 1
	if p := g.asset.Nodes[node].Parent; of.slides && p >= 0 {
		of.scale = 1 / g.global[p].Mat3().Mul3x1(of.along).Len()
	}
	return of, of.along != (mgl64.Vec3{}) && !math.IsInf(of.scale, 0)
}

// quaternion returns a value of a channel that turns.
func quaternion(v [4]float64) mgl64.Quat {
	return mgl64.Quat{W: v[3], V: mgl64.Vec3{v[0], v[1], v[2]}}.Normalize()
}

// index returns the place of a node's joint among an actor's, which gets it if it is new.
func (g *graph) index(a *Actor, node int, of axis) int {
	if known, ok := g.places[node]; ok {
		return known
	}
	name := cmp.Or(g.asset.Nodes[node].Name, fmt.Sprintf("node_%d", node))
	taken := func(name string) bool {
		return slices.ContainsFunc(a.Joints, func(j Joint) bool { return j.Name == name })
	}
	unique := name
	for n := 2; taken(unique); n++ {
		unique = fmt.Sprintf("%s_%d", name, n)
	}
	g.places[node] = len(a.Joints)
	a.Joints = append(a.Joints, Joint{Name: unique, Slides: of.slides})
	return g.places[node]
}

// posed returns the local transform at a time by the values of joints.
func (j *joint) posed(values JointValues, stamp simtime.Stamp) mgl64.Mat4 {
	value, given := values.Of(j.index)
	if j.axis.along == (mgl64.Vec3{}) || !given {
		return j.at(stamp)
	}
	trs := j.axis.zero
	if j.axis.slides {
		trs.Translation = trs.Translation.Add(j.axis.along.Mul(value * j.axis.scale))
	} else {
		trs.Rotation = trs.Rotation.Mul(mgl64.QuatRotate(value, j.axis.along))
	}
	return trs.Mat4()
}

// jointWay is a joint's value at both ends of a step, NaN for none.
type jointWay struct{ from, to float64 }

// at returns the value at a share of the step.
func (w jointWay) at(share float64) float64 { return w.from + (w.to-w.from)*share }

// Turn leads a joint to a value at the end of the way that Lead has set, from where it is at its
// beginning. There it has the value of the way before, and keeps it where it isn't turned. The first
// value of a joint counts for the whole way. Frame loop only.
func (g *Guided) Turn(joint int, value float64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for joint >= len(g.joints) {
		g.joints = append(g.joints, jointWay{math.NaN(), math.NaN()})
	}
	w := &g.joints[joint]
	if math.IsNaN(w.from) {
		w.from = value
	}
	w.to = value
}

// JointsAt implements Jointed.
func (g *Guided) JointsAt(values []float64, stamp simtime.Stamp) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	share := g.shareLocked(stamp)
	for k, w := range g.joints {
		if x := w.at(share); k < len(values) && !math.IsNaN(x) {
			values[k] = x
		}
	}
}

// turned reports whether a value has led a joint.
func (g *Guided) turned() bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return len(g.joints) > 0
}

// shareLocked returns how much of the way is gone at a time; mu must be held.
func (g *Guided) shareLocked(stamp simtime.Stamp) float64 {
	if g.from.Stamp >= g.to.Stamp {
		return 1
	}
	return min(max(float64(stamp-g.from.Stamp)/float64(g.to.Stamp-g.from.Stamp), 0), 1)
}

var _ Jointed = (*Guided)(nil)
