package scene

import (
	"errors"
	"fmt"
	"math"
	"sort"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/spatial"
)

// ErrMotion says that the figures given for a motion make none.
var ErrMotion = errors.New("motion is not usable")

// LoopOptions shapes a WaypointLoop.
type LoopOptions struct {
	// CornerRadius is the radius of the arcs that round corners, metres; where
	// the legs are too short it is less. 0 means 6 m.
	CornerRadius float64
	// Start is how far along the loop the motion is at time 0, metres.
	Start float64
	// Upright keeps the body level on slopes, as walkers are.
	Upright bool
}

// Corner radii of cars and walkers, metres.
const (
	carCorner    = 6
	walkerCorner = 0.5
)

// WaypointLoop is a Motion at constant speed around a closed polygon with
// rounded corners: legs and circular arcs, so that places along it are exact in
// float64. The body's x axis follows the path. It never changes: any goroutine may
// ask.
type WaypointLoop struct {
	speed    float64 // m/s
	start    float64 // metres
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

// NewWalker returns a walker's loop: narrow corners, upright on slopes.
func NewWalker(points []mgl64.Vec3, speed float64) (*WaypointLoop, error) {
	return NewWaypointLoopWith(points, speed, LoopOptions{CornerRadius: walkerCorner, Upright: true})
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

// Length returns the loop's length in metres.
func (l *WaypointLoop) Length() float64 { return l.length }

// Speed returns the speed in m/s.
func (l *WaypointLoop) Speed() float64 { return l.speed }

// at returns the place at a time: position, unit tangent and curvature vector
// (the tangent's derivative along the path, 1/m).
func (l *WaypointLoop) at(tNs int64) (position, tangent, curvature mgl64.Vec3) {
	// Whole laps are taken out of the time in integers first: far times stay exact.
	lap := int64(math.Floor(l.length / l.speed * 1e9))
	laps, rest := int64(0), tNs
	if lap > 0 {
		laps, rest = tNs/lap, tNs%lap
	}
	short := l.speed*float64(lap)*1e-9 - l.length // what a lap of whole nanoseconds lacks
	s := math.Mod(l.start+l.speed*float64(rest)*1e-9+float64(laps)*short, l.length)
	if s < 0 {
		s += l.length
	}
	i := min(sort.SearchFloat64s(l.ends, s), len(l.ends)-1)
	g := &l.segments[i]
	s -= l.ends[i] - g.length
	if g.radius == 0 {
		return g.from.Add(g.along.Mul(s)), g.along, mgl64.Vec3{}
	}
	sin, cos := math.Sincos(s / g.radius)
	centre := g.from.Add(g.inward.Mul(g.radius))
	inward := g.inward.Mul(cos).Sub(g.along.Mul(sin))
	return centre.Sub(inward.Mul(g.radius)), g.along.Mul(cos).Add(g.inward.Mul(sin)), inward.Mul(1 / g.radius)
}

// PoseAt implements Motion.
func (l *WaypointLoop) PoseAt(tNs int64) spatial.Pose {
	position, tangent, _ := l.at(tNs)
	return spatial.Pose{Position: position, Orientation: l.heading(tangent)}
}

// heading turns x along the tangent without rolling.
func (l *WaypointLoop) heading(tangent mgl64.Vec3) mgl64.Quat {
	q := mgl64.QuatRotate(math.Atan2(tangent[1], tangent[0]), mgl64.Vec3{0, 0, 1})
	if l.upright {
		return q
	}
	level := math.Hypot(tangent[0], tangent[1])
	return q.Mul(mgl64.QuatRotate(math.Atan2(-tangent[2], level), mgl64.Vec3{0, 1, 0}))
}

// StateAt implements Kinematic: velocity along the path, centripetal
// acceleration in the arcs. The angular acceleration is left at 0, which is exact in
// legs and in level arcs; where they meet the angular velocity leaps.
func (l *WaypointLoop) StateAt(tNs int64) State {
	position, tangent, curvature := l.at(tNs)
	s := State{
		Pose:         spatial.Pose{Position: position, Orientation: l.heading(tangent)},
		Twist:        spatial.Twist{Linear: tangent.Mul(l.speed)},
		Acceleration: curvature.Mul(l.speed * l.speed),
	}
	level := tangent[0]*tangent[0] + tangent[1]*tangent[1]
	if level < 1e-12 { // straight up: the heading does not follow the path
		return s
	}
	yawRate := (tangent[0]*curvature[1] - tangent[1]*curvature[0]) / level * l.speed
	s.Twist.Angular = mgl64.Vec3{0, 0, yawRate}
	if !l.upright {
		pitchRate := -curvature[2] / math.Sqrt(level) * l.speed
		left := mgl64.Vec3{-tangent[1], tangent[0], 0}.Mul(1 / math.Sqrt(level))
		s.Twist.Angular = s.Twist.Angular.Add(left.Mul(pitchRate))
	}
	return s
}
