package scene

import (
	"sync"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// Waypoint is where a Guided body is at a time, and how it moves there. The velocities count
// where they are known; otherwise they follow from the way.
type Waypoint struct {
	Stamp                               simtime.Stamp
	Pose                                spatial.Pose
	Velocity, AngularVelocity           mgl64.Vec3 // m/s and rad/s, map frame
	VelocityKnown, AngularVelocityKnown bool
	// Lamps are on up to there.
	Lamps Lamps
}

// Guided is a Motion that is led from outside, step by step: from one Waypoint to the next. Where
// both have a velocity, positions follow the cubic Hermite spline through both; else they are on
// a straight line. The orientation is a slerp. Before the first waypoint and behind the second the
// body is there. Lead belongs to the frame loop, the questions to any goroutine.
type Guided struct {
	mu       sync.RWMutex
	from, to Waypoint   // guarded by mu
	joints   []jointWay // guarded by mu
}

// Lead sets the way of the next step. A from that isn't earlier is not counted: the body is at
// to throughout.
func (g *Guided) Lead(from, to Waypoint) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if from.Stamp >= to.Stamp {
		from = to
	}
	share := g.shareLocked(from.Stamp)
	for k := range g.joints {
		held := g.joints[k].at(share)
		g.joints[k] = jointWay{held, held}
	}
	g.from, g.to = from, to
}

// Stand leaves the body where it is at a time, and at rest.
func (g *Guided) Stand(stamp simtime.Stamp) {
	here := g.At(stamp)
	at := Waypoint{Stamp: stamp, Pose: here.Pose, Lamps: here.Lamps}
	g.Lead(at, at)
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
	if stamp < at.Stamp {
		s := g.StateAt(stamp)
		at.Pose, at.Velocity, at.AngularVelocity = s.Pose, s.Twist.Linear, s.Twist.Angular
	}
	at.Stamp = stamp
	return at
}

// PoseAt implements Motion.
func (g *Guided) PoseAt(stamp simtime.Stamp) spatial.Pose { return g.StateAt(stamp).Pose }

// StateAt implements Kinematic.
func (g *Guided) StateAt(stamp simtime.Stamp) State {
	g.mu.RLock()
	a, b := g.from, g.to
	g.mu.RUnlock()
	if a.Stamp >= b.Stamp { // it stands, and may say otherwise
		return State{Pose: b.Pose, Twist: spatial.Twist{Linear: b.Velocity, Angular: b.AngularVelocity}, Lamps: b.Lamps}
	}
	seconds := float64(b.Stamp-a.Stamp) * 1e-9
	share := min(max(float64(stamp-a.Stamp)/float64(b.Stamp-a.Stamp), 0), 1)
	s := State{Pose: spatial.Interpolate(a.Pose, b.Pose, share), Lamps: b.Lamps}
	way := b.Pose.Position.Sub(a.Pose.Position)
	s.Twist.Linear = way.Mul(1 / seconds)
	if a.VelocityKnown && b.VelocityKnown {
		s.Pose.Position, s.Twist.Linear, s.Acceleration = hermite(&a, &b, seconds, share)
	} else if b.VelocityKnown && share == 1 {
		s.Twist.Linear = b.Velocity
	}
	turn := rotationVector(b.Pose.Orientation.Mul(a.Pose.Orientation.Conjugate()))
	s.Twist.Angular = turn.Mul(1 / seconds)
	if a.AngularVelocityKnown && b.AngularVelocityKnown {
		change := b.AngularVelocity.Sub(a.AngularVelocity)
		s.Twist.Angular = a.AngularVelocity.Add(change.Mul(share))
		s.AngularAcceleration = change.Mul(1 / seconds)
	} else if b.AngularVelocityKnown && share == 1 {
		s.Twist.Angular = b.AngularVelocity
	}
	return s
}

// hermite returns the position, velocity and acceleration at a share of the way along the cubic
// that has both ends' positions and velocities.
func hermite(a, b *Waypoint, seconds, f float64) (position, velocity, acceleration mgl64.Vec3) {
	p0, p1 := a.Pose.Position, b.Pose.Position
	m0, m1 := a.Velocity.Mul(seconds), b.Velocity.Mul(seconds)
	// p(f) = p0 + m0 f + c f² + d f³
	way := p1.Sub(p0)
	c := way.Mul(3).Sub(m0.Mul(2)).Sub(m1)
	d := m0.Add(m1).Sub(way.Mul(2))
	position = p0.Add(m0.Mul(f)).Add(c.Mul(f * f)).Add(d.Mul(f * f * f))
	velocity = m0.Add(c.Mul(2 * f)).Add(d.Mul(3 * f * f)).Mul(1 / seconds)
	acceleration = c.Mul(2).Add(d.Mul(6 * f)).Mul(1 / (seconds * seconds))
	return position, velocity, acceleration
}

var _ Kinematic = (*Guided)(nil)
