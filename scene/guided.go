package scene

import (
	"math"
	"sync"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/world"
)

// Waypoint is where a Guided body is at a time, and how it moves there. The velocities count
// where they are known; otherwise they follow from the way.
type Waypoint struct {
	Stamp                               simtime.Stamp
	Pose                                spatial.Pose
	Velocity, AngularVelocity           mgl64.Vec3 // m/s and rad/s, map frame
	VelocityKnown, AngularVelocityKnown bool
	// Lights are on up to there.
	Lights world.Lights
}

// Guided is a Motion that is led from outside, step by step: from one Waypoint to the next. Lead
// belongs to the frame loop, the questions to any goroutine.
//
// # Velocity and acceleration
//
// Within a step the velocity goes from that of its beginning to that of its end. Its length grows
// evenly, and its direction turns evenly. The acceleration is its derivative. So over each step
// the mean acceleration is the change of velocity over the time, whatever the poses say. Where the
// direction stays it is that throughout, and on a circle it leads to the centre. Angular velocity
// and acceleration do the same.
//
// At a step's end the velocity is the waypoint's, and the next step begins with it. Where it isn't
// known it is the step's mean, way over time, and so half a step late. It turns with the body from
// the step's middle on, unless the body turns on its way. After a longer step it is later, and
// catches up little by little: uneven steps aren't force. A body whose velocity isn't known yet,
// since it has come or jumped, has that of its first step throughout.
//
// # Way
//
// The body is at both waypoints at their times. Where the second one's velocity is known, a parabola
// leads from one to the other. Its second derivative is the change of velocity over the time, so
// that the way is smooth, whatever integrator made the poses. It never leads back: where the poses
// deny the velocities it is less curved. Otherwise the way is straight. The orientation is a slerp.
//
// Before the first waypoint the body is there. Behind the second it is there and stands.
type Guided struct {
	mu       sync.RWMutex
	from, to Waypoint   // guarded by mu
	bulge    mgl64.Vec3 // guarded by mu: what the way is beside the straight line, times f (f - 1)
	late     float64    // guarded by mu: seconds from what to's velocities are of to to's time
	joints   []jointWay // guarded by mu
}

// Lead sets the way of the next step. A from that isn't earlier is not counted: the body is at
// to throughout, and moves as that says.
func (g *Guided) Lead(from, to Waypoint) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.bulge = (mgl64.Vec3{}); from.Stamp >= to.Stamp {
		from, g.late = to, 0
	} else {
		g.joinLocked(&from, &to)
	}
	share := g.shareLocked(from.Stamp)
	for k := range g.joints {
		held := g.joints[k].at(share)
		g.joints[k] = jointWay{held, held}
	}
	g.from, g.to = from, to
}

// Stand leaves the body where it is at a time. It has come to rest at the step's end.
func (g *Guided) Stand(stamp, end simtime.Stamp) {
	from := g.At(stamp)
	g.Lead(from, Waypoint{Stamp: end, Pose: from.Pose, Lights: from.Lights})
}

// Coast lets the body go on at the velocity that it has at a time, straight ahead, until another.
func (g *Guided) Coast(stamp, until simtime.Stamp) {
	from := g.At(stamp)
	from.Velocity, from.VelocityKnown = g.StateAt(stamp).Twist.Linear, true
	from.AngularVelocity, from.AngularVelocityKnown = mgl64.Vec3{}, true
	to := from
	to.Stamp = until
	to.Pose.Position = from.Pose.Position.Add(from.Velocity.Mul(float64(until-stamp) * 1e-9))
	g.Lead(from, to)
}

// At returns the waypoint of a time, which is on the way only where a step was broken off.
func (g *Guided) At(stamp simtime.Stamp) Waypoint {
	g.mu.RLock()
	at := g.to
	g.mu.RUnlock()
	if stamp == at.Stamp {
		return at
	}
	s := g.StateAt(stamp)
	at.Pose, at.Velocity, at.AngularVelocity = s.Pose, s.Twist.Linear, s.Twist.Angular
	if stamp > at.Stamp { // it has stood since
		at.VelocityKnown, at.AngularVelocityKnown = true, true
	}
	at.Stamp = stamp
	return at
}

// PoseAt implements Motion.
func (g *Guided) PoseAt(stamp simtime.Stamp) spatial.Pose { return g.StateAt(stamp).Pose }

// StateAt implements Kinematic.
func (g *Guided) StateAt(stamp simtime.Stamp) State {
	g.mu.RLock()
	a, b, bulge := g.from, g.to, g.bulge
	g.mu.RUnlock()
	switch {
	case stamp > b.Stamp:
		return State{Pose: b.Pose, Lights: b.Lights}
	case a.Stamp >= b.Stamp: // it is there, and may say that it moves
		return State{Pose: b.Pose, Twist: spatial.Twist{Linear: b.Velocity, Angular: b.AngularVelocity}, Lights: b.Lights}
	}
	seconds := float64(b.Stamp-a.Stamp) * 1e-9
	f := min(max(float64(stamp-a.Stamp)/float64(b.Stamp-a.Stamp), 0), 1)
	s := State{Pose: spatial.Interpolate(a.Pose, b.Pose, f), Lights: b.Lights}
	s.Pose.Position = s.Pose.Position.Add(bulge.Mul(f * (f - 1)))
	s.Twist.Linear, s.Acceleration = veer(a.Velocity, b.Velocity, f, seconds)
	s.Twist.Angular, s.AngularAcceleration = veer(a.AngularVelocity, b.AngularVelocity, f, seconds)
	return s
}

// joinLocked makes the velocities at both ends of a step known, and finds how its way bulges; mu
// must be held.
func (g *Guided) joinLocked(a, b *Waypoint) {
	seconds := float64(b.Stamp-a.Stamp) * 1e-9
	way := b.Pose.Position.Sub(a.Pose.Position)
	turn := spatial.RotationVector(b.Pose.Orientation.Mul(a.Pose.Orientation.Conjugate()))
	if a.VelocityKnown && b.VelocityKnown {
		g.bulge = b.Velocity.Sub(a.Velocity).Mul(seconds / 2)
		if most := way.Len(); g.bulge.Len() > most {
			g.bulge = g.bulge.Mul(most / g.bulge.Len())
		}
	}
	// The means are of the step's middle. The line through those of the beginning and them has the
	// velocities of a time that is late enough for both.
	middle := seconds / 2
	late := max(middle, min(g.late-seconds*catchUp, seconds*latest))
	kept := (late - middle) / (g.late + middle)
	if way.Len() == 0 && turn.Len() == 0 { // it stands
		late, kept = 0, 0
	}
	g.late = late
	half := mgl64.QuatIdent()
	if angle := turn.Len(); angle > 0 && angle < math.Pi/2 {
		half = mgl64.QuatRotate(angle/2, turn.Mul(1/angle))
	}
	linear, angular := means{way.Mul(1 / seconds), half, kept}, means{turn.Mul(1 / seconds), mgl64.QuatIdent(), kept}
	a.Velocity, b.Velocity = linear.ends(knownVelocity{a.Velocity, a.VelocityKnown}, knownVelocity{b.Velocity, b.VelocityKnown})
	a.AngularVelocity, b.AngularVelocity = angular.ends(knownVelocity{a.AngularVelocity, a.AngularVelocityKnown}, knownVelocity{b.AngularVelocity, b.AngularVelocityKnown})
	a.VelocityKnown, a.AngularVelocityKnown, b.VelocityKnown, b.AngularVelocityKnown = true, true, true, true
}

// Velocities by poses alone are late by so many steps at most, and catch up by so much of a step in each.
const latest, catchUp = 2, 0.05

// means is what poses tell of a velocity in a step.
type means struct {
	mean mgl64.Vec3 // in the step's middle
	half mgl64.Quat // how the body turns up to there, and from there on
	kept float64    // the share of the velocity at the beginning that is left at the end
}

// knownVelocity is a velocity that counts if it is known.
type knownVelocity struct {
	velocity mgl64.Vec3
	known    bool
}

// ends returns the velocities at both ends of a step by what is told of them.
func (m *means) ends(a, b knownVelocity) (from, to mgl64.Vec3) {
	half := m.half
	if from, to = a.velocity, b.velocity; !b.known {
		before := m.mean
		if a.known {
			before = half.Rotate(from)
			if from.Sub(m.mean).Len() < before.Sub(m.mean).Len() { // the body turns on its way
				half, before = mgl64.QuatIdent(), from
			}
		}
		to = half.Rotate(m.mean.Add(before.Sub(m.mean).Mul(m.kept)))
	}
	if !a.known {
		back := half.Conjugate()
		from = back.Rotate(back.Rotate(to))
	}
	return from, to
}

// veer returns the vector at a share of the way from one to another, and its derivative by time. It turns
// evenly, and its length grows evenly. If they are more than a right angle apart it is on the straight line.
func veer(a, b mgl64.Vec3, share, seconds float64) (at, rate mgl64.Vec3) {
	axis, cos := a.Cross(b), a.Dot(b)
	sin := axis.Len()
	if cos <= 0 || sin < 1e-9*cos {
		change := b.Sub(a)
		return a.Add(change.Mul(share)), change.Mul(1 / seconds)
	}
	angle, length, growth := math.Atan2(sin, cos), a.Len(), b.Len()-a.Len()
	direction := mgl64.QuatRotate(angle*share, axis.Mul(1/sin)).Rotate(a.Mul(1 / length))
	length += growth * share
	aside := axis.Mul(1 / sin).Cross(direction)
	return direction.Mul(length), direction.Mul(growth / seconds).Add(aside.Mul(length * angle / seconds))
}

var _ Kinematic = (*Guided)(nil)
