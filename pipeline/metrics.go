package pipeline

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/rig"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// Names of the metrics. Those of a sensor have its name between two parts.
const (
	metricCollisions   = "collisions"
	metricDistance     = "ego.distance"
	metricTimeTo       = "min_ttc"
	metricSensor       = "sensors."
	metricSensorPoints = ".points_mean"
)

// MetricUnit returns the unit of one of the Summary's Metrics: "m", "s" or, of a count, "".
func MetricUnit(name string) string {
	switch name {
	case metricDistance:
		return "m"
	case metricTimeTo:
		return "s"
	}
	return ""
}

// MetricNames lists the metrics that a run of a rig may have. Its errors are CheckRig's.
func MetricNames(r *rig.Rig, registry *sensors.Registry) ([]string, error) {
	resolved, err := r.Resolve(registry)
	if err != nil {
		return nil, err
	}
	names := []string{metricCollisions, metricDistance, metricTimeTo}
	for i := range resolved {
		if slices.ContainsFunc(resolved[i].Definition.Outputs, func(o sensors.OutputSpec) bool { return o.Type == reflect.TypeFor[*sample.PointCloud]() }) {
			names = append(names, metricSensor+resolved[i].Name+metricSensorPoints)
		}
	}
	return names, nil
}

// metrics are the figures of what the ego did, measured at the steps of the clock, so that neither the sensors' rates
// nor the machine count. The frame loop uses them; any goroutine may call add.
type metrics struct {
	history *scene.History
	scene   *scene.Scene
	box     scene.Box           // the ego's
	watch   *scene.ContactWatch // of the ego
	parked  []parked            // those who stand and have a time to collision
	touched []scene.Contact
	before  []uint32 // whom the ego touched at the step before
	// last is where the ego was at the latest instant, if one is known, way where it was at the latest step: moved by what
	// it has jumped since.
	last, way mgl64.Vec3
	known     bool

	mu         sync.Mutex
	distance   float64 // guarded by mu: m
	collisions int64   // guarded by mu
	least      float64 // guarded by mu: time to collision, s; infinite for none
}

func newMetrics(s *scene.Scene, history *scene.History) *metrics {
	m := &metrics{history: history, scene: s, least: math.Inf(1)}
	m.box, _ = history.Box(scene.EgoID)
	m.watch = scene.NewContactWatch(s, history, scene.EgoID, m.box)
	for _, a := range s.Actors {
		if box, ok := history.Box(a.ID); ok && a.Static() && isRoadUser(a.TypeID) {
			at := box.At(a.Pose)
			m.parked = append(m.parked, parked{at, at.Radius()})
		}
	}
	return m
}

// isRoadUser reports whether an actor that stands is one that the ego may be about to hit: all others are part of the
// scene, such as houses at a bend.
func isRoadUser(typeID string) bool {
	return strings.HasPrefix(typeID, "vehicle.") || strings.HasPrefix(typeID, "walker.")
}

// parked is the box of one who stands, in the map frame.
type parked struct {
	box    spatial.OrientedBox
	radius float64
}

// restart takes the figures back to the beginning.
func (m *metrics) restart() {
	m.before, m.known = m.before[:0], false
	m.mu.Lock()
	defer m.mu.Unlock()
	m.distance, m.collisions, m.least = 0, 0, math.Inf(1)
}

// leap says that the clock has jumped: the way from where the ego was isn't counted.
func (m *metrics) leap() { m.known = false }

// depart notes where the ego leaves from, before the scene moves on from an instant.
func (m *metrics) depart(at simtime.Stamp) {
	motion, _ := m.history.Motion(scene.EgoID)
	_, jumps := motion.(*scene.Guided) // no other does
	switch {
	case m.known && !jumps:
	case motion == nil:
		m.known, m.way = true, m.scene.Ego.Position
	case m.known:
		m.way = m.way.Add(motion.PoseAt(at).Position.Sub(m.last)) // nothing where it hasn't jumped
	default:
		m.known, m.way = true, motion.PoseAt(at).Position
	}
}

// arrive measures where the scene has moved to, if a step ends there.
func (m *metrics) arrive(at simtime.Stamp, step bool) {
	ego, _ := m.history.State(scene.EgoID, at)
	m.last = ego.Pose.Position
	if !step {
		return
	}
	begun := m.contacts(at)
	least := m.timeToCollision(&ego, at)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.distance += m.last.Sub(m.way).Len()
	m.collisions += begun
	m.least = min(m.least, least)
	m.way = m.last
}

// contacts counts whom the ego touches and didn't touch at the step before.
func (m *metrics) contacts(at simtime.Stamp) (begun int64) {
	m.touched = m.watch.Touched(m.touched[:0], at)
	for i := range m.touched {
		if !slices.Contains(m.before, m.touched[i].ID) {
			begun++
		}
	}
	m.before = m.before[:0]
	for i := range m.touched {
		m.before = append(m.before, m.touched[i].ID)
	}
	return begun
}

// timeToCollision returns the least gap over closing speed of all actors, infinite for none.
func (m *metrics) timeToCollision(ego *scene.State, at simtime.Stamp) float64 {
	l := newLane(ego, m.box)
	for i := range m.parked {
		if p := &m.parked[i]; l.mayMeet(p.box.Pose.Position, p.radius, mgl64.Vec3{}) {
			l.meet(p.box, mgl64.Vec3{})
		}
	}
	moving := m.watch.Moving() // contacts has looked at them
	for i := range moving {
		mover := &moving[i]
		if mover.ID == scene.EgoID || !l.mayMeet(mover.Position, mover.Reach, mover.Velocity) {
			continue
		}
		if pose, there := m.history.Pose(mover.ID, at); there {
			box, _ := m.history.Box(mover.ID)
			l.meet(box.At(pose), mover.Velocity)
		}
	}
	return l.least
}

// lane is what lies straight ahead of the ego: as wide and as high as its box.
type lane struct {
	velocity mgl64.Vec3    // of the ego, map frame
	middle   mgl64.Vec3    // of its box
	axes     [3]mgl64.Vec3 // of its box: ahead, left and up
	toBox    spatial.Pose  // into the frame of the box, whose middle is the origin
	half     mgl64.Vec3    // of the box
	least    float64       // time to collision so far
}

func newLane(ego *scene.State, box scene.Box) lane {
	at := box.At(ego.Pose)
	l := lane{velocity: ego.Twist.Linear, middle: at.Pose.Position, toBox: at.Pose.Inverse(), half: at.Half, least: math.Inf(1)}
	for k := range l.axes {
		var axis mgl64.Vec3
		axis[k] = 1
		l.axes[k] = at.Pose.Rotate(axis)
	}
	return l
}

// slowest is the least closing speed that counts, m/s: what is less may be rounding.
const slowest = 1e-3

// closing is how fast the ego comes nearer to what moves, along its heading.
func (l *lane) closing(velocity mgl64.Vec3) float64 { return l.velocity.Sub(velocity).Dot(l.axes[0]) }

// mayMeet reports whether what is in a sphere and moves may have the least time to collision so far.
func (l *lane) mayMeet(center mgl64.Vec3, radius float64, velocity mgl64.Vec3) bool {
	closing := l.closing(velocity)
	if closing < slowest {
		return false
	}
	from := center.Sub(l.middle)
	ahead := from.Dot(l.axes[0])
	return ahead+radius > -l.half[0] && ahead-radius-l.half[0] < l.least*closing &&
		math.Abs(from.Dot(l.axes[1])) < l.half[1]+radius && math.Abs(from.Dot(l.axes[2])) < l.half[2]+radius
}

// meet takes another's box, to which the ego comes nearer.
func (l *lane) meet(box spatial.OrientedBox, velocity mgl64.Vec3) {
	box.Pose = l.toBox.Compose(box.Pose)
	if gap, in := l.gap(box.Corners()); in {
		l.least = min(l.least, gap/l.closing(velocity))
	}
}

// gap returns how far ahead the nearest point of a box is, 0 where it overlaps the ego's. in is false for one that is
// not in the lane, or behind. The corners are in the frame of the ego's box.
func (l *lane) gap(corners [8]mgl64.Vec3) (gap float64, in bool) {
	low, high := corners[0][2], corners[0][2]
	for _, c := range corners {
		low, high = min(low, c[2]), max(high, c[2])
	}
	near, far := math.Inf(1), math.Inf(-1)
	for i, a := range corners {
		for axis := range 3 { // along the edges, each once
			b := corners[i|1<<axis]
			begin, end, within := clip(a[1], b[1], l.half[1])
			if i&(1<<axis) == 0 && within {
				for _, share := range [2]float64{begin, end} {
					x := a[0] + share*(b[0]-a[0])
					near, far = min(near, x), max(far, x)
				}
			}
		}
	}
	return max(0, near-l.half[0]), low < l.half[2] && high > -l.half[2] && far > -l.half[0]
}

// clip returns which part of the way from a to b lies between -half and half.
func clip(a, b, half float64) (begin, end float64, within bool) {
	begin, end = 0, 1
	for _, side := range [2]float64{-1, 1} {
		from, to := side*a-half, side*b-half // inside is below 0
		switch {
		case from > 0 && to > 0:
			return 0, 0, false
		case from > 0:
			begin = max(begin, from/(from-to))
		case to > 0:
			end = min(end, from/(from-to))
		}
	}
	return begin, end, begin <= end
}

// add adds the figures to those of a summary.
func (m *metrics) add(to map[string]float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	to[metricDistance], to[metricCollisions] = m.distance, float64(m.collisions)
	if !math.IsInf(m.least, 1) {
		to[metricTimeTo] = m.least
	}
}

// points counts what a sensor's clouds have. Any goroutine may use it.
type points struct{ clouds, total atomic.Int64 }

// see counts a message, if it is a cloud.
func (p *points) see(message any) {
	if cloud, ok := message.(*sample.PointCloud); ok {
		p.clouds.Add(1)
		p.total.Add(int64(len(cloud.Points)))
	}
}

func (p *points) restart() {
	p.clouds.Store(0)
	p.total.Store(0)
}

// add adds the mean of a sensor's clouds to the figures of a summary, if it has published any.
func (p *points) add(to map[string]float64, sensor string) {
	if clouds := p.clouds.Load(); clouds > 0 {
		to[metricSensor+sensor+metricSensorPoints] = float64(p.total.Load()) / float64(clouds)
	}
}
