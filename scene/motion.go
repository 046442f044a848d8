package scene

import (
	"errors"
	"fmt"
	"math"
	"sort"
	"sync"
	"time"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/world"
)

// State is a body's place and movement at one instant, all in the map frame. Twist is the
// velocity of its origin and its angular velocity. Acceleration is the second derivative of its
// origin's position, m/s² (gravity not included). AngularAcceleration is the derivative of its
// angular velocity, rad/s².
type State struct {
	Pose                spatial.Pose
	Twist               spatial.Twist
	Acceleration        mgl64.Vec3
	AngularAcceleration mgl64.Vec3
	// Lights are those that are on.
	Lights world.Lights
}

// Kinematic is a Motion that knows its derivatives.
type Kinematic interface {
	Motion
	// StateAt returns the state at a simulation time. Like PoseAt it is a pure
	// function that any goroutine may call.
	StateAt(stamp simtime.Stamp) State
}

// differenceNs is the step of the central differences: small against what
// moves, and large enough that float64 leaves 1e-6 m/s² and rad/s² in accelerations.
const differenceNs = 2_000_000

// StateOf returns a motion's state: its own where it is Kinematic, else from
// central differences of its poses 2 ms apart.
func StateOf(m Motion, stamp simtime.Stamp) State {
	if k, ok := m.(Kinematic); ok {
		return k.StateAt(stamp)
	}
	const h = differenceNs * 1e-9
	before, now, after := m.PoseAt(stamp-differenceNs), m.PoseAt(stamp), m.PoseAt(stamp+differenceNs)
	turn := func(from, to spatial.Pose) mgl64.Vec3 {
		return spatial.RotationVector(to.Orientation.Mul(from.Orientation.Conjugate()))
	}
	return State{
		Pose: now,
		Twist: spatial.Twist{
			Linear:  after.Position.Sub(before.Position).Mul(1 / (2 * h)),
			Angular: turn(before, after).Mul(1 / (2 * h)),
		},
		Acceleration:        after.Position.Add(before.Position).Sub(now.Position.Mul(2)).Mul(1 / (h * h)),
		AngularAcceleration: turn(now, after).Sub(turn(before, now)).Mul(1 / (h * h)),
	}
}

// ErrMotion says that the figures given for a motion make none.
var ErrMotion = errors.New("motion is not usable")

// LoopOptions shapes a WaypointLoop.
type LoopOptions struct {
	// CornerRadius is the radius of the arcs that round corners, metres; where
	// the legs are too short it is less. 0 means 6 m. A third of it is how far before
	// and after an arc the turn begins and ends.
	CornerRadius float64
	// Start is how far along the loop the motion is at time 0, metres.
	Start float64
	// Upright keeps the body level on slopes, as walkers are.
	Upright bool
}

// carCorner is the corner radius of cars, metres.
const carCorner = 6

// WaypointLoop is a Motion around a closed polygon with rounded corners. Its route is of legs and
// circular arcs, which a point follows at constant speed. The body is at the mean of that point's
// places from a blend before to a blend after. The weights are 1 in the middle and fall to 0 at
// both ends. So velocity and acceleration are continuous, and on legs and arcs the jerk, and with
// it how the body turns. The jerk is about v³ / (blend r) at most, r being an arc's radius. It is
// at most twice that where arcs are closer than the blend.
//
// On the legs, up to a blend before an arc, the body is on the route and has its speed. In an
// arc it is inside of it by `r (1 - (sin(q) / q)²)`, `q = blend / (2 r)`, and slower by the
// same share. At the radius that was asked for that is 0.9%. A lap takes the route's length
// over the speed, and poses are exact in float64. The body's x axis follows the path. Where two
// legs lead there and back, the body slows down, turns at once and speeds up. A WaypointLoop
// never changes: any goroutine may ask.
type WaypointLoop struct {
	speed    float64 // m/s
	start    float64 // metres
	blend    float64 // metres
	upright  bool
	length   float64   // metres
	segments []segment // in order
	ends     []float64 // distance at each segment's end
}

// segment is a leg, or an arc where radius > 0.
type segment struct {
	from, along mgl64.Vec3 // first point, unit direction there
	inward      mgl64.Vec3 // of an arc: unit direction to its centre
	radius      float64
	length      float64
}

// NewWaypointLoop returns a car's loop through points of the map frame, metres,
// at a speed in m/s; the last point joins the first. Errors: ErrMotion.
func NewWaypointLoop(points []mgl64.Vec3, speed float64) (*WaypointLoop, error) {
	return NewWaypointLoopWith(points, speed, LoopOptions{})
}

// NewWaypointLoopWith is NewWaypointLoop with options.
func NewWaypointLoopWith(points []mgl64.Vec3, speed float64, opts LoopOptions) (*WaypointLoop, error) {
	if !(speed > 0) || math.IsInf(speed, 0) {
		return nil, fmt.Errorf("%w: a loop's speed is %v m/s, must be above 0", ErrMotion, speed)
	}
	if opts.CornerRadius < 0 || math.IsNaN(opts.CornerRadius+opts.Start) || math.IsInf(opts.Start, 0) {
		return nil, fmt.Errorf("%w: corner radius %v m and start %v m", ErrMotion, opts.CornerRadius, opts.Start)
	}
	if opts.CornerRadius == 0 {
		opts.CornerRadius = carCorner
	}
	var p []mgl64.Vec3
	for i, x := range points {
		for _, v := range x {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return nil, fmt.Errorf("%w: waypoint %d is %v", ErrMotion, i, x)
			}
		}
		if len(p) == 0 || x.Sub(p[len(p)-1]).Len() > sameWaypoint {
			p = append(p, x)
		}
	}
	for len(p) > 1 && p[0].Sub(p[len(p)-1]).Len() <= sameWaypoint {
		p = p[:len(p)-1]
	}
	if len(p) < 2 {
		return nil, fmt.Errorf("%w: a loop needs two different waypoints or more, has %d", ErrMotion, len(p))
	}
	l := &WaypointLoop{speed: speed, start: opts.Start, upright: opts.Upright}
	l.round(p, opts.CornerRadius)
	l.blend = min(opts.CornerRadius/3, l.length/8)
	return l, nil
}

// sameWaypoint is the distance in metres below which two waypoints are one.
const sameWaypoint = 1e-6

// corner is a waypoint with the arc that rounds it.
type corner struct {
	in, out mgl64.Vec3 // unit directions of the legs
	turn    float64    // radians
	radius  float64
	cut     float64 // how much of each leg the arc replaces
}

// round makes the segments. An arc takes at most half of each leg.
func (l *WaypointLoop) round(p []mgl64.Vec3, radius float64) {
	n := len(p)
	corners := make([]corner, n)
	for i := range p {
		in, out := p[i].Sub(p[(i+n-1)%n]), p[(i+1)%n].Sub(p[i])
		room := min(in.Len(), out.Len()) / 2
		c := corner{in: in.Normalize(), out: out.Normalize()}
		c.turn = math.Atan2(c.in.Cross(c.out).Len(), c.in.Dot(c.out))
		if tan := math.Tan(c.turn / 2); c.turn > 1e-9 && c.turn < math.Pi-1e-6 {
			c.cut = min(radius*tan, room)
			c.radius = c.cut / tan
		}
		corners[i] = c
	}
	for i := range p {
		c, next := corners[i], corners[(i+1)%n]
		if c.radius > 0 {
			inward := c.out.Sub(c.in.Mul(c.in.Dot(c.out))).Normalize()
			l.add(segment{from: p[i].Sub(c.in.Mul(c.cut)), along: c.in, inward: inward, radius: c.radius, length: c.radius * c.turn})
		}
		from := p[i].Add(c.out.Mul(c.cut))
		l.add(segment{from: from, along: c.out, length: p[(i+1)%n].Sub(p[i]).Len() - c.cut - next.cut})
	}
}

func (l *WaypointLoop) add(s segment) {
	if s.length <= 0 {
		return
	}
	l.length += s.length
	l.segments = append(l.segments, s)
	l.ends = append(l.ends, l.length)
}

// Length returns the route's length in metres.
func (l *WaypointLoop) Length() float64 { return l.length }

// Speed returns the speed on the legs in m/s, at which a lap takes as long.
func (l *WaypointLoop) Speed() float64 { return l.speed }

// distance returns how far along the route the point is that the body follows.
func (l *WaypointLoop) distance(stamp simtime.Stamp) float64 {
	// Whole laps are taken out of the time in integers first: far times stay exact.
	lap := simtime.Stamp(math.Floor(l.length / l.speed * 1e9))
	laps, rest := simtime.Stamp(0), stamp
	if lap > 0 {
		laps, rest = stamp/lap, stamp%lap
	}
	short := l.speed*float64(lap)*1e-9 - l.length // what a lap of whole nanoseconds lacks
	return l.start + l.speed*float64(rest)*1e-9 + float64(laps)*short
}

// find returns the segment at a distance along the route, and how far along it is.
func (l *WaypointLoop) find(s float64) (i int, along float64) {
	if s = math.Mod(s, l.length); s < 0 {
		s += l.length
	}
	i = min(sort.SearchFloat64s(l.ends, s), len(l.ends)-1)
	return i, s - l.ends[i] + l.segments[i].length
}

// at returns the place s along a segment: position and unit tangent.
func (g *segment) at(s float64) (position, tangent mgl64.Vec3) {
	if g.radius == 0 {
		return g.from.Add(g.along.Mul(s)), g.along
	}
	sin, cos := math.Sincos(s / g.radius)
	inward := g.inward.Mul(cos).Sub(g.along.Mul(sin))
	return g.centre().Sub(inward.Mul(g.radius)), g.along.Mul(cos).Add(g.inward.Mul(sin))
}

// centre returns that of an arc.
func (g *segment) centre() mgl64.Vec3 { return g.from.Add(g.inward.Mul(g.radius)) }

// At returns the route's point at a distance along it, metres, and its unit direction there.
// The body is within the bends, where its own path is rounder.
func (l *WaypointLoop) At(distance float64) (position, direction mgl64.Vec3) {
	i, along := l.find(distance)
	return l.segments[i].at(along)
}

// Nearest returns how far along the route, metres, its point is that is nearest to a pose. A
// point where the route leads another way than the pose looks counts as so many metres farther.
func (l *WaypointLoop) Nearest(pose spatial.Pose, opposite float64) float64 {
	forward, best, least := pose.Rotate(mgl64.Vec3{1, 0, 0}), 0.0, math.Inf(1)
	for i := range l.segments {
		g := &l.segments[i]
		along := g.nearest(pose.Position)
		position, direction := g.at(along)
		away := position.Sub(pose.Position).Len()
		if direction.Dot(forward) <= 0 {
			away += opposite
		}
		if away < least {
			best, least = l.ends[i]-g.length+along, away
		}
	}
	return best
}

// nearest returns how far along a segment its point is that is nearest to a place.
func (g *segment) nearest(place mgl64.Vec3) float64 {
	if g.radius == 0 {
		return max(0, min(g.length, place.Sub(g.from).Dot(g.along)))
	}
	to := place.Sub(g.centre())
	angle, half := math.Atan2(to.Dot(g.along), -to.Dot(g.inward)), g.length/g.radius/2
	around := math.Remainder(angle-half, 2*math.Pi) // from the arc's middle
	return (half + max(-half, min(half, around))) * g.radius
}

// integral returns the integral of position times weight along a segment, over a length
// from from on. The weight begins with weight and rises by slope a metre.
func (g *segment) integral(from, length, weight, slope float64) mgl64.Vec3 {
	whole := length * (weight + slope*length/2) // the weight's own integral
	if g.radius == 0 {
		start := g.from.Add(g.along.Mul(from))
		return start.Mul(whole).Add(g.along.Mul(length * length * (weight/2 + slope*length/3)))
	}
	// By parts: the integral of inward is r times what lies across it.
	r := g.radius
	sin0, cos0 := math.Sincos(from / r)
	sin1, cos1 := math.Sincos((from + length) / r)
	end := weight + slope*length
	inward := g.inward.Mul(end*sin1 - weight*sin0 + slope*r*(cos1-cos0)).
		Add(g.along.Mul(end*cos1 - weight*cos0 - slope*r*(sin1-sin0)))
	return g.centre().Mul(whole).Sub(inward.Mul(r * r))
}

// integral returns the integral of position times weight along the route, over a blend from
// s on. The weight begins with weight and rises by slope a metre.
func (l *WaypointLoop) integral(s, weight, slope float64) (sum mgl64.Vec3) {
	i, along := l.find(s)
	for left := l.blend; left > 0; i, along = (i+1)%len(l.segments), 0 {
		g := &l.segments[i]
		length := min(left, g.length-along)
		sum = sum.Add(g.integral(along, length, weight, slope))
		weight += slope * length
		left -= length
	}
	return sum
}

// track is the movement at an instant: the position and its three derivatives by time.
type track struct{ position, velocity, acceleration, jerk mgl64.Vec3 }

// at returns the movement at a time, and the direction in which the body looks.
func (l *WaypointLoop) at(stamp simtime.Stamp) (m track, direction mgl64.Vec3) {
	s, b, v := l.distance(stamp), l.blend, l.speed
	var p, t [3]mgl64.Vec3 // a blend before, now, a blend after
	for k := range p {
		i, along := l.find(s + float64(k-1)*b)
		p[k], t[k] = l.segments[i].at(along)
	}
	// The first derivative of the weighted mean is the difference of the means of both
	// sides, and the others are second differences.
	second := func(of [3]mgl64.Vec3) mgl64.Vec3 { return of[0].Add(of[2]).Sub(of[1].Mul(2)).Mul(1 / (b * b)) }
	m = track{
		position:     l.integral(s-b, 0, 1/(b*b)).Add(l.integral(s, 1/b, -1/(b*b))),
		velocity:     l.integral(s, 1, 0).Sub(l.integral(s-b, 1, 0)).Mul(v / (b * b)),
		acceleration: second(p).Mul(v * v),
		jerk:         second(t).Mul(v * v * v),
	}
	if m.velocity.Len() < 1e-6*v { // in the midst of there and back
		return m, t[2]
	}
	return m, m.velocity.Normalize()
}

// PoseAt implements Motion.
func (l *WaypointLoop) PoseAt(stamp simtime.Stamp) spatial.Pose {
	m, direction := l.at(stamp)
	return spatial.Pose{Position: m.position, Orientation: l.heading(direction)}
}

// heading turns x along a direction without rolling.
func (l *WaypointLoop) heading(tangent mgl64.Vec3) mgl64.Quat {
	q := mgl64.QuatRotate(math.Atan2(tangent[1], tangent[0]), mgl64.Vec3{0, 0, 1})
	if l.upright {
		return q
	}
	level := math.Hypot(tangent[0], tangent[1])
	return q.Mul(mgl64.QuatRotate(math.Atan2(-tangent[2], level), mgl64.Vec3{0, 1, 0}))
}

// StateAt implements Kinematic: the derivatives are exact.
func (l *WaypointLoop) StateAt(stamp simtime.Stamp) State {
	m, direction := l.at(stamp)
	s := State{
		Pose:         spatial.Pose{Position: m.position, Orientation: l.heading(direction)},
		Twist:        spatial.Twist{Linear: m.velocity},
		Acceleration: m.acceleration,
	}
	s.Twist.Angular, s.AngularAcceleration = m.turning(l.upright)
	return s
}

// turning returns the angular velocity and acceleration of a body that looks where it
// goes. They derive its yaw, atan2(vy, vx), once and twice, and unless it is upright its
// pitch, atan2(-vz, level).
func (m *track) turning(upright bool) (velocity, acceleration mgl64.Vec3) {
	v, a, j := m.velocity, m.acceleration, m.jerk
	square := v[0]*v[0] + v[1]*v[1]
	if square < 1e-12*v.Dot(v) || square == 0 { // straight up: the heading does not follow the path
		return velocity, acceleration
	}
	level := math.Sqrt(square)
	faster := (v[0]*a[0] + v[1]*a[1]) / level // level's derivative
	yaw := (v[0]*a[1] - v[1]*a[0]) / square
	yawing := (v[0]*j[1]-v[1]*j[0])/square - 2*yaw*faster/level
	velocity, acceleration = mgl64.Vec3{0, 0, yaw}, mgl64.Vec3{0, 0, yawing}
	if upright {
		return velocity, acceleration
	}
	steady := (a[0]*a[0] + a[1]*a[1] + v[0]*j[0] + v[1]*j[1] - faster*faster) / level // faster's derivative
	whole := v.Dot(v)
	pitch := (v[2]*faster - a[2]*level) / whole
	pitching := (v[2]*steady-j[2]*level)/whole - 2*pitch*v.Dot(a)/whole
	left := mgl64.Vec3{-v[1], v[0], 0}.Mul(1 / level)
	ahead := mgl64.Vec3{v[0], v[1], 0}.Mul(1 / level)
	return velocity.Add(left.Mul(pitch)), acceleration.Add(left.Mul(pitching)).Sub(ahead.Mul(pitch * yaw))
}

// clip is a channel with its animation's duration.
type clip struct {
	channel    *Channel
	durationNs int64
}

// joint is a node's local transform with what animates it.
type joint struct {
	local TRS
	clips []clip
	axis  axis // that of the actor's joint of an index
	index int
}

// at returns the local transform at a time.
func (j *joint) at(stamp simtime.Stamp) mgl64.Mat4 {
	trs := j.local
	for _, c := range j.clips {
		v := c.channel.sample(c.loop(stamp))
		switch c.channel.Path {
		case PathTranslation:
			trs.Translation = mgl64.Vec3{v[0], v[1], v[2]}
		case PathScale:
			trs.Scale = mgl64.Vec3{v[0], v[1], v[2]}
		case PathRotation:
			trs.Rotation = quaternion(v)
		}
	}
	return trs.Mat4()
}

// loop folds a time into the animation's duration.
func (c clip) loop(stamp simtime.Stamp) int64 {
	if c.durationNs <= 0 {
		return 0
	}
	return ((int64(stamp) % c.durationNs) + c.durationNs) % c.durationNs
}

// width returns the numbers of one value of the channel.
func (c *Channel) width() int {
	switch c.Path {
	case PathRotation:
		return 4
	case PathWeight:
		return 1
	}
	return 3
}

func (a *Animation) check(nodes int) error {
	for i := range a.Channels {
		c := &a.Channels[i]
		want := len(c.TimesNs) * c.width()
		if c.Interpolation == InterpolationCubicSpline {
			want *= 3
		}
		switch {
		case c.Node < 0 || c.Node >= nodes:
			return fmt.Errorf("%w: channel %d names node %d of %d", ErrIndex, i, c.Node, nodes)
		case len(c.TimesNs) == 0 || len(c.Values) != want:
			return fmt.Errorf("%w: channel %d has %d values, its %d keys need %d", ErrIndex, i, len(c.Values), len(c.TimesNs), want)
		}
		for k := 1; k < len(c.TimesNs); k++ {
			if c.TimesNs[k] <= c.TimesNs[k-1] {
				return fmt.Errorf("%w: channel %d, key %d doesn't come after the one before", ErrIndex, i, k)
			}
		}
	}
	return nil
}

// sample returns the channel's value at a time: outside the keys that of the
// nearest one, between them as glTF 2.0, appendix C, joins them.
func (c *Channel) sample(stamp int64) [4]float64 {
	n := len(c.TimesNs)
	k := sort.Search(n, func(i int) bool { return c.TimesNs[i] > stamp }) - 1
	switch {
	case k < 0:
		return c.value(0)
	case k == n-1 || c.Interpolation == InterpolationStep:
		return c.value(k)
	}
	span := c.TimesNs[k+1] - c.TimesNs[k]
	f := float64(stamp-c.TimesNs[k]) / float64(span)
	switch {
	case c.Interpolation == InterpolationCubicSpline:
		return c.spline(k, f, float64(span)*1e-9)
	case c.Path == PathRotation:
		return slerp(c.value(k), c.value(k+1), f)
	default:
		a, b := c.value(k), c.value(k+1)
		for i := range a {
			a[i] += (b[i] - a[i]) * f
		}
		return a
	}
}

// value returns key k's value; of a cubic spline, without its tangents.
func (c *Channel) value(k int) [4]float64 {
	if c.Interpolation == InterpolationCubicSpline {
		return c.number(3*k + 1)
	}
	return c.number(k)
}

// number returns the i-th value in the channel's list.
func (c *Channel) number(i int) (v [4]float64) {
	w := c.width()
	copy(v[:], c.Values[i*w:(i+1)*w])
	return v
}

// spline is the cubic Hermite spline of glTF 2.0, appendix C.4; seconds is the
// time between the keys.
func (c *Channel) spline(k int, f, seconds float64) (v [4]float64) {
	p0, out := c.number(3*k+1), c.number(3*k+2)
	in, p1 := c.number(3*k+3), c.number(3*k+4)
	f2, f3 := f*f, f*f*f
	for i := range v {
		v[i] = (2*f3-3*f2+1)*p0[i] + seconds*(f3-2*f2+f)*out[i] +
			(3*f2-2*f3)*p1[i] + seconds*(f3-f2)*in[i]
	}
	return v
}

func slerp(a, b [4]float64, f float64) [4]float64 {
	qa := mgl64.Quat{W: a[3], V: mgl64.Vec3{a[0], a[1], a[2]}}
	qb := mgl64.Quat{W: b[3], V: mgl64.Vec3{b[0], b[1], b[2]}}
	if qa.Dot(qb) < 0 {
		qb = qb.Scale(-1)
	}
	q := mgl64.QuatSlerp(qa, qb, f)
	return [4]float64{q.V[0], q.V[1], q.V[2], q.W}
}

// DefaultCommandTimeout is a Vehicle's CommandTimeout where none is given.
const DefaultCommandTimeout = 500 * time.Millisecond

// Vehicle describes a car for Driven; zero fields take the default.
type Vehicle struct {
	Wheelbase       float64 // metres between the axles; default 2.8
	MaxSteering     float64 // radians at the front wheels; default 0.6
	MaxAcceleration float64 // m/s²; default 4
	MaxDeceleration float64 // m/s²; default 8
	MaxSpeed        float64 // m/s; default 50
	// CommandTimeout is how old a command may grow, in simulation time. Then the vehicle
	// brakes as hard as it can, wheels straight, and stands until the next one. Default
	// DefaultCommandTimeout; below 0 a command holds until the next.
	CommandTimeout time.Duration
}

func (v Vehicle) withDefaults() Vehicle {
	for _, f := range []struct {
		at    *float64
		value float64
	}{{&v.Wheelbase, 2.8}, {&v.MaxSteering, 0.6}, {&v.MaxAcceleration, 4}, {&v.MaxDeceleration, 8}, {&v.MaxSpeed, 50}} {
		if *f.at == 0 {
			*f.at = f.value
		}
	}
	if v.CommandTimeout == 0 {
		v.CommandTimeout = DefaultCommandTimeout
	}
	return v
}

// Command steers a Driven. Values beyond the vehicle's limits are cut to them.
type Command struct {
	// Steering is the front wheels' angle in radians, positive to the left.
	Steering float64
	// BySpeed chooses what counts of the other two: Speed in m/s (negative
	// drives backwards), or Acceleration in m/s² (negative brakes, to a standstill).
	BySpeed             bool
	Speed, Acceleration float64
	// Reverse turns Acceleration's direction: above 0 drives backwards.
	Reverse bool
}

// Driven is a Motion steered from outside. It is the kinematic bicycle model about the rear axle
// (Rajamani, Vehicle Dynamics and Control, section 2.2), in the plane of its first pose. That is
// level ground, unless the pose has a roll or a pitch. Each tick is integrated exactly: a circular arc at constant
// acceleration. Before the first command, and after one that has timed out, it obeys its
// standing order, which at first is to brake to a standstill. SetCommand, SetStanding and the
// questions may come from any goroutine; Advance and Jump belong to the frame loop.
type Driven struct {
	vehicle Vehicle
	plane   *spatial.Pose // the frame of the ticks; nil is the map's
	start   drivenTick

	mu       sync.Mutex
	command  Command       // guarded by mu
	standing Command       // guarded by mu: what it obeys while no command holds
	switches Switches      // guarded by mu
	lost     simtime.Stamp // guarded by mu: when the command times out
	now      drivenTick    // guarded by mu
	ticks    []drivenTick  // guarded by mu: ring of the latest ticks
	recorded int           // guarded by mu: ticks ever written into the ring
}

// drivenTick is the state at one tick, and how it continues from there.
type drivenTick struct {
	stamp        simtime.Stamp
	position     mgl64.Vec3
	yaw, speed   float64
	acceleration float64 // m/s² along x
	steering     float64 // radians
}

// drivenTicks is how many ticks a Driven remembers.
const drivenTicks = 1024

// NewDriven returns a vehicle that stands at a pose at time 0.
// Errors: ErrMotion for figures below 0 or not finite.
func NewDriven(start spatial.Pose, v Vehicle) (*Driven, error) {
	v = v.withDefaults()
	for _, x := range []float64{v.Wheelbase, v.MaxSteering, v.MaxAcceleration, v.MaxDeceleration, v.MaxSpeed} {
		if !(x > 0) || math.IsInf(x, 0) {
			return nil, fmt.Errorf("%w: vehicle %+v has a figure that is not above 0", ErrMotion, v)
		}
	}
	if v.MaxSteering >= math.Pi/2 {
		return nil, fmt.Errorf("%w: maximum steering %v rad must be below a right angle", ErrMotion, v.MaxSteering)
	}
	roll, pitch, yaw := start.RPY()
	d := &Driven{vehicle: v, ticks: make([]drivenTick, drivenTicks)}
	if math.Abs(roll)+math.Abs(pitch) > upright {
		d.plane = &start
	} else {
		d.start = drivenTick{position: start.Position, yaw: mgl64.DegToRad(yaw)}
	}
	d.Restart()
	return d, nil
}

// upright is the roll and the pitch of what stands upright, degrees: rounding.
const upright = 1e-9

// Restart implements Advancer: the vehicle stands where it did at first. All that it was told is
// forgotten.
func (d *Driven) Restart() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.command, d.standing, d.switches, d.lost = Command{}, Command{BySpeed: true}, Switches{}, 0
	d.now, d.recorded = d.start, 0
	d.keepLocked()
}

// Vehicle returns the vehicle's figures, defaults filled in.
func (d *Driven) Vehicle() Vehicle { return d.vehicle }

// SetCommand replaces the command from the next tick on, whatever its source. It holds for the
// vehicle's CommandTimeout, counted from the latest tick, so that time which stands still
// doesn't count. A command with a NaN is refused with ErrMotion, and the one before holds on.
func (d *Driven) SetCommand(c Command) error {
	if err := c.check(); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.command, d.lost = c, math.MaxInt64
	if timeout := simtime.Stamp(d.vehicle.CommandTimeout); timeout >= 0 && d.now.stamp < math.MaxInt64-timeout {
		d.lost = d.now.stamp + timeout
	}
	return nil
}

// check refuses a command that has a NaN.
func (c Command) check() error {
	if math.IsNaN(c.Steering) || math.IsNaN(c.Speed) || math.IsNaN(c.Acceleration) {
		return fmt.Errorf("%w: command %+v has a value that is not a number", ErrMotion, c)
	}
	return nil
}

// SetStanding changes the standing order from the next tick on: what the vehicle does while no
// command holds. Several may each change a part of it, one the speed and another the steering;
// of one part the last change counts. An order with a NaN is refused with ErrMotion.
func (d *Driven) SetStanding(change func(*Command)) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.standing
	change(&c)
	if err := c.check(); err != nil {
		return err
	}
	d.standing = c
	return nil
}

// Advance integrates up to a tick's time; one that isn't later changes nothing. A command
// that times out on the way holds up to that instant.
func (d *Driven) Advance(stamp simtime.Stamp) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.now.stamp < d.lost && d.lost < stamp {
		d.integrateLocked(d.switches.limit(d.command, &d.vehicle), d.lost)
	}
	c := d.command
	if d.now.stamp >= d.lost {
		c = d.standing
	}
	d.integrateLocked(d.switches.limit(c, &d.vehicle), stamp)
}

// Jump implements Advancer: the vehicle is where it was and as fast, and its command as
// old. What it did before is forgotten.
func (d *Driven) Jump(stamp simtime.Stamp) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.lost != math.MaxInt64 {
		d.lost += stamp - d.now.stamp
	}
	d.now.stamp, d.recorded = stamp, 0
	d.keepLocked()
}

// integrateLocked moves the vehicle under a command up to a time, unless that isn't
// later; mu must be held.
func (d *Driven) integrateLocked(c Command, stamp simtime.Stamp) {
	if stamp <= d.now.stamp {
		return
	}
	seconds := float64(stamp-d.now.stamp) * 1e-9
	d.now.steering = clamp(c.Steering, d.vehicle.MaxSteering, d.vehicle.MaxSteering)
	d.now.acceleration = d.vehicle.acceleration(c, d.now.speed, seconds)
	d.ticks[(d.recorded-1)%drivenTicks] = d.now // the tick before now knows how it continues
	d.now = d.now.after(stamp, d.vehicle.Wheelbase)
	if math.Abs(d.now.speed) < still {
		d.now.acceleration = 0 // its brake has done its work
	}
	d.keepLocked()
}

func (d *Driven) keepLocked() {
	d.ticks[d.recorded%drivenTicks] = d.now
	d.recorded++
}

// clamp limits x to -below..above.
func clamp(x, below, above float64) float64 { return max(-below, min(above, x)) }

// acceleration returns what a command makes of the speed over a tick.
func (v *Vehicle) acceleration(c Command, speed, seconds float64) float64 {
	if c.Reverse && !c.BySpeed {
		c.Reverse = false
		return -v.acceleration(c, -speed, seconds)
	}
	want := speed + clamp(c.Acceleration, v.MaxDeceleration, v.MaxAcceleration)*seconds
	switch {
	case c.BySpeed:
		want = c.Speed
	case speed >= 0 && want < 0, speed < 0 && c.Acceleration < 0:
		want = 0 // brakes end at a standstill, forwards and backwards
	}
	want = clamp(want, v.MaxSpeed, v.MaxSpeed)
	a := (want - speed) / seconds
	if (speed >= 0) == (a >= 0) {
		return clamp(a, v.MaxAcceleration, v.MaxAcceleration)
	}
	return clamp(a, v.MaxDeceleration, v.MaxDeceleration)
}

// after returns the state at a later time with acceleration and steering held.
func (k drivenTick) after(stamp simtime.Stamp, wheelbase float64) drivenTick {
	seconds := float64(stamp-k.stamp) * 1e-9
	way := k.speed*seconds + k.acceleration*seconds*seconds/2
	half := math.Tan(k.steering) / wheelbase * way / 2 // half the turn
	chord := way
	if math.Abs(half) > 1e-8 {
		chord *= math.Sin(half) / half
	}
	sin, cos := math.Sincos(k.yaw + half)
	k.position = k.position.Add(mgl64.Vec3{chord * cos, chord * sin, 0})
	k.yaw = math.Remainder(k.yaw+2*half, 2*math.Pi)
	k.speed += k.acceleration * seconds
	k.stamp = stamp
	return k
}

// PoseAt implements Motion: exact between the remembered ticks, the oldest
// before them, the newest after.
func (d *Driven) PoseAt(stamp simtime.Stamp) spatial.Pose { return d.StateAt(stamp).Pose }

// StateAt implements Kinematic.
func (d *Driven) StateAt(stamp simtime.Stamp) State {
	d.mu.Lock()
	k := d.tickLocked(stamp)
	d.mu.Unlock()
	s := k.state(d.vehicle.Wheelbase)
	if p := d.plane; p != nil {
		s.Pose = p.Compose(s.Pose)
		for _, v := range []*mgl64.Vec3{&s.Twist.Linear, &s.Twist.Angular, &s.Acceleration, &s.AngularAcceleration} {
			*v = p.Rotate(*v)
		}
	}
	return s
}

// tickLocked returns the state at a time; mu must be held.
func (d *Driven) tickLocked(stamp simtime.Stamp) drivenTick {
	if stamp >= d.now.stamp {
		return d.now
	}
	oldest := max(d.recorded-drivenTicks, 0)
	later := sort.Search(d.recorded-oldest, func(k int) bool { return d.ticks[(oldest+k)%drivenTicks].stamp > stamp })
	if later == 0 {
		return d.ticks[oldest%drivenTicks]
	}
	return d.ticks[(oldest+later-1)%drivenTicks].after(stamp, d.vehicle.Wheelbase)
}

// state returns the movement of the rear axle. The wheels turn between ticks, in no
// time: that has no acceleration.
func (k drivenTick) state(wheelbase float64) State {
	sin, cos := math.Sincos(k.yaw)
	forward, left := mgl64.Vec3{cos, sin, 0}, mgl64.Vec3{-sin, cos, 0}
	curvature := math.Tan(k.steering) / wheelbase
	return State{
		Pose: spatial.Pose{Position: k.position, Orientation: mgl64.QuatRotate(k.yaw, mgl64.Vec3{0, 0, 1})},
		Twist: spatial.Twist{
			Linear:  forward.Mul(k.speed),
			Angular: mgl64.Vec3{0, 0, curvature * k.speed},
		},
		Acceleration:        forward.Mul(k.acceleration).Add(left.Mul(curvature * k.speed * k.speed)),
		AngularAcceleration: mgl64.Vec3{0, 0, curvature * k.acceleration},
	}
}

var (
	_ Kinematic = (*WaypointLoop)(nil)
	_ Kinematic = (*Driven)(nil)
	_ Advancer  = (*Driven)(nil)
)

// Switches are what is on in a vehicle beside its pedals and its steering wheel. The numbers
// are those of lgsvl_msgs/VehicleStateData, which package sample names.
type Switches struct {
	// Given: somebody has set them. Otherwise nothing is on, and the mode is automatic.
	Given                                   bool
	Blinker, Headlights, Wipers, Gear, Mode uint8
	HandBrake, Horn, Autonomous             bool
}

// The numbers of gears and modes that change how a vehicle moves.
const (
	gearReverse   = 2
	gearParking   = 3
	modeEmergency = 4
)

// limit returns what the switches leave of a command.
func (s *Switches) limit(c Command, v *Vehicle) Command {
	switch {
	case s.HandBrake || s.Given && (s.Gear == gearParking || s.Mode == modeEmergency):
		return Command{Steering: c.Steering, Acceleration: -v.MaxDeceleration}
	case s.Given && s.Gear == gearReverse:
		c.Reverse, c.Speed = true, -math.Abs(c.Speed)
	}
	return c
}

// Controls is what a vehicle's own instruments say: how fast it goes, and what its
// driver does.
type Controls struct {
	// Switches are what is on.
	Switches Switches
	// Speed in m/s and Acceleration in m/s² are along the vehicle's x axis.
	Speed, Acceleration float64
	// Steering is the front wheels' angle in radians, positive to the left.
	Steering float64
	// SteeringShare is Steering as a share of the vehicle's greatest angle, -1..1.
	SteeringShare float64
	// Throttle and Brake are 0..1 of the greatest acceleration and deceleration;
	// one of them is 0. Nothing slows a vehicle down but its brake: at constant speed
	// both are 0.
	Throttle, Brake float64
	// Gear is 1 forwards, -1 backwards, 0 while it stands; Reverse says the same of -1.
	Gear    int8
	Reverse bool
}

const (
	// standstill is the speed in m/s below which a vehicle stands: a turn of the
	// body tells nothing of the wheels then.
	standstill = 0.05
	// still is the speed in m/s below which a speed is rounding. Above it, the way that the
	// vehicle goes tells the brake from the throttle of the other gear.
	still = 1e-6
	// setOff is the acceleration in m/s² above which one that stands sets off: less
	// is rounding.
	setOff = 1e-3
)

// ControlsOf derives a vehicle's controls from how it moves. The state is that of its rear
// axle, as the ego's and a Driven's are. There the kinematic bicycle model (Rajamani, Vehicle
// Dynamics and Control, section 2.2) has the steering angle from speed and yaw rate. Steering
// is limited to the vehicle's, and 0 below 0.05 m/s. Zero fields of v take Driven's defaults.
// It is a pure function.
func (v Vehicle) ControlsOf(s State) Controls {
	v = v.withDefaults()
	forward := s.Pose.Rotate(mgl64.Vec3{1, 0, 0})
	yawRate := s.Pose.Rotate(mgl64.Vec3{0, 0, 1}).Dot(s.Twist.Angular)
	steering := 0.0
	speed := forward.Dot(s.Twist.Linear)
	if math.Abs(speed) >= standstill {
		steering = clamp(math.Atan(v.Wheelbase*yawRate/speed), v.MaxSteering, v.MaxSteering)
	}
	return v.controls(speed, forward.Dot(s.Acceleration), steering)
}

// controls finds the pedals and the gear.
func (v *Vehicle) controls(speed, acceleration, steering float64) Controls {
	c := Controls{Speed: speed, Acceleration: acceleration, Steering: steering, SteeringShare: steering / v.MaxSteering}
	onward := acceleration // in the direction of travel
	switch {
	case speed >= standstill, speed > still && acceleration < 0:
		c.Gear = 1
	case speed <= -standstill, speed < -still && acceleration > 0:
		c.Gear, onward = -1, -acceleration
	case acceleration < -setOff:
		c.Gear, onward = -1, -acceleration
	case acceleration > setOff:
		c.Gear = 1
	default:
		onward = 0
	}
	c.Reverse = c.Gear < 0
	c.Throttle = min(max(onward, 0)/v.MaxAcceleration, 1)
	c.Brake = min(max(-onward, 0)/v.MaxDeceleration, 1)
	return c
}

// Controls returns what the vehicle obeyed at a time: the steering and acceleration of
// the command, as far as its limits let it. Any goroutine may ask.
func (d *Driven) Controls(stamp simtime.Stamp) Controls {
	d.mu.Lock()
	k := d.tickLocked(stamp)
	d.mu.Unlock()
	return d.vehicle.controls(k.speed, k.acceleration, k.steering)
}

// Controls returns those of an actor, or of the ego, at a time. They are a Driven's own, else
// what ControlsOf makes of its state with the vehicle's figures v. ok is false where State's
// is. Any goroutine may ask.
func (h *History) Controls(id uint32, v Vehicle, stamp simtime.Stamp) (c Controls, ok bool) {
	s, ok := h.State(id, stamp)
	if !ok {
		return Controls{}, false
	}
	c = v.ControlsOf(s)
	m, _ := h.Motion(id)
	if d, driven := m.(*Driven); driven {
		c = d.Controls(stamp)
	}
	h.mu.RLock()
	defer h.mu.RUnlock()
	c.Switches = h.switches[id]
	return c, true
}

// Switch sets what is on in an actor, or in the ego; of a Driven that counts for how it moves,
// too. Any goroutine may call it.
func (h *History) Switch(id uint32, s Switches) {
	s.Given = true
	m, _ := h.Motion(id)
	if d, driven := m.(*Driven); driven {
		d.mu.Lock()
		d.switches = s
		d.mu.Unlock()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.switches == nil {
		h.switches = map[uint32]Switches{}
	}
	h.switches[id] = s
}
