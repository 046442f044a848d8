package groundtruth

import (
	"cmp"
	"math"
	"slices"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// LaneLines describes sensor.other.lane_lines, the lines that bound the lanes ahead, as SVL's
// Lane Line sensor gives them. It is ground truth: it reads the scene's painted marks and
// nothing hides them. Kerbs are no lines.
//
// A mark counts as far as it lies ahead, in the range and in the field of view. It has to run
// along rather than across the sensor's x axis. A mark that continues another is one line with it,
// also over a gap. Of each line comes a cubic, the least-squares fit of its points. Its place
// counts from the sensor outwards to either side; beyond the fifth it is LaneLineOther.
type LaneLines struct {
	DetectionRange float64 `attribute:"detection_range" live:"true" unit:"m" default:"50" min:"1" max:"1000" usual:"10 200" doc:"how far ahead lines are known"`
	SampleDelta    float64 `attribute:"sample_delta" unit:"m" default:"0.5" min:"0.1" max:"10" doc:"distance of the points that the curves are fitted to"`
	FOV            float64 `attribute:"fov" unit:"deg" default:"90" min:"1" max:"170" usual:"30 120" doc:"horizontal field of view"`
}

// LaneLinesDefinition describes sensor.other.lane_lines.
var LaneLinesDefinition = sensors.Define(sensors.Definition{
	ID:     "sensor.other.lane_lines",
	Number: 67,
	Doc:    "lines that bound the lanes ahead, as cubics in the sensor's frame",
	Tags:   []string{"ground_truth"},
	Outputs: sensors.OneOutput[sample.LaneLines](sensors.OutputSpec{
		Name: "lane_lines", Doc: "the lines, those on the left first and of each side the nearest; also if there are none",
	}),
	Rate: simtime.Hz(10),
}, func(spec sensors.Spec, o LaneLines) (sensors.Sensor, error) {
	return &laneLines{
		Reading: sensors.Reading[sample.LaneLines]{Spec: spec},
		reach:   o.DetectionRange, delta: o.SampleDelta, widen: math.Tan(mgl64.DegToRad(o.FOV) / 2),
	}, nil
})

type laneLines struct {
	sensors.Reading[sample.LaneLines]
	reach, delta float64      // metres
	widen        float64      // how much further to the side the view goes for each metre ahead
	points       [][2]float64 // of the mark at hand, reused
	found        []linePiece  // reused
}

// linePiece is a stretch of marks ahead: points (x, y) in the sensor's frame, x rising.
type linePiece struct {
	mark   *scene.LaneMark // the nearest
	points [][2]float64
}

// Tune takes over the range.
func (s *laneLines) Tune(fresh sensors.Sensor) error {
	s.reach = fresh.(*laneLines).reach
	return nil
}

// Tick publishes the lines ahead at the due instant, if the owner is there then.
func (s *laneLines) Tick(at sensors.Tick) error {
	owner, ok := s.Env.History.Pose(s.Env.Owner, at.Due)
	if !ok {
		return nil
	}
	pose := owner.Compose(s.Spec.Mount)
	s.find(pose)
	m := &s.Message
	m.Header = at.Header(s.Spec.FrameID, pose)
	m.Lines = m.Lines[:0]
	for _, p := range s.found {
		m.Lines = append(m.Lines, sample.LaneLine{
			Type: lineType(p.mark), MinX: p.points[0][0], MaxX: p.points[len(p.points)-1][0], C: fitCubic(p.points),
		})
	}
	placeLines(m.Lines)
	s.Publish(at)
	return nil
}

// lineType is how a mark is painted. What isn't yellow counts as white.
func lineType(m *scene.LaneMark) sample.LaneLineType {
	dashed, yellow := m.Type == scene.LaneMarkBroken, m.Color == scene.LaneMarkYellow
	switch {
	case yellow && dashed:
		return sample.LaneLineYellowDashed
	case yellow:
		return sample.LaneLineYellowSolid
	case dashed:
		return sample.LaneLineWhiteDashed
	default:
		return sample.LaneLineWhiteSolid
	}
}

// find lists the lines ahead of a pose.
func (s *laneLines) find(pose spatial.Pose) {
	s.found = s.found[:0]
	toSensor, far := pose.Inverse(), s.reach*math.Hypot(1, s.widen)+s.delta
	for i := range s.Env.Scene.LaneMarks {
		mark := &s.Env.Scene.LaneMarks[i]
		if mark.Type == scene.LaneMarkCurb || !near(mark.Points, pose.Position, far) {
			continue
		}
		s.sample(mark.Points, toSensor)
		s.cut(mark)
	}
	slices.SortStableFunc(s.found, func(a, b linePiece) int { return cmp.Compare(a.points[0][0], b.points[0][0]) })
	s.join()
}

// near reports whether a line's bounds come within a distance of a place on the ground.
func near(line []mgl64.Vec3, place mgl64.Vec3, far float64) bool {
	b := emptyBounds()
	for _, p := range line {
		b.add(p[0], p[1])
	}
	return b.meets(&bounds{[2]float64{place[0] - far, place[1] - far}, [2]float64{place[0] + far, place[1] + far}})
}

// sample puts points of a polyline, a delta apart and at its corners, into the sensor's frame.
func (s *laneLines) sample(line []mgl64.Vec3, toSensor spatial.Pose) {
	s.points = s.points[:0]
	add := func(p mgl64.Vec3) { s.points = append(s.points, [2]float64{p[0], p[1]}) }
	for k := range line {
		to := toSensor.Apply(line[k])
		if k > 0 {
			from := toSensor.Apply(line[k-1])
			way := to.Sub(from)
			steps := math.Min(math.Ceil(way.Len()/s.delta), maxSteps)
			for n := 1.0; n < steps; n++ {
				add(from.Add(way.Mul(n / steps)))
			}
		}
		add(to)
	}
}

// maxSteps bounds the points of one segment of a line that is longer than anybody sees.
const maxSteps = 20_000

// cut adds the stretches of the points that lie in view and run along x, each in one
// direction.
func (s *laneLines) cut(mark *scene.LaneMark) {
	begin, rising := 0, false
	for k := 1; k <= len(s.points); k++ {
		usable := k < len(s.points) && s.inView(s.points[k-1]) && s.inView(s.points[k]) && along(s.points[k-1], s.points[k])
		up := usable && s.points[k][0] > s.points[k-1][0]
		if usable && (k-1 == begin || up == rising) {
			rising = up
			continue
		}
		s.add(mark, s.points[begin:k])
		if begin = k; usable {
			begin, rising = k-1, up
		}
	}
}

// inView reports whether a point lies in the range and the field of view.
func (s *laneLines) inView(p [2]float64) bool {
	return p[0] > 0 && p[0] <= s.reach && math.Abs(p[1]) <= p[0]*s.widen
}

// along reports whether the way from one point to another goes along x rather than across.
func along(from, to [2]float64) bool {
	return from[0] != to[0] && math.Abs(to[1]-from[1]) <= math.Abs(to[0]-from[0])
}

// shortest is the length, metres, from which a stretch is a line.
const shortest = 1

// add keeps a stretch that is long enough, with its points rising in x.
func (s *laneLines) add(mark *scene.LaneMark, points [][2]float64) {
	if len(points) < 2 || math.Abs(points[len(points)-1][0]-points[0][0]) < shortest {
		return
	}
	points = slices.Clone(points)
	if points[0][0] > points[len(points)-1][0] {
		slices.Reverse(points)
	}
	s.found = append(s.found, linePiece{mark, points})
}

// aside is how far, metres, a line may lie beside where another one leads to continue it.
const aside = 0.75

// join makes one line of stretches that continue each other.
func (s *laneLines) join() {
	lines := s.found[:0]
	for _, p := range s.found {
		k := slices.IndexFunc(lines, func(l linePiece) bool { return continues(l.points, p.points) })
		if k < 0 {
			lines = append(lines, p)
			continue
		}
		lines[k].points = append(lines[k].points, p.points...)
	}
	s.found = lines
}

// continues reports whether a stretch begins where a line leads, straight on from its end.
func continues(line, next [][2]float64) bool {
	end, before := line[len(line)-1], line[len(line)-2]
	ahead := next[0][0] - end[0]
	if ahead < -aside || end[0] <= before[0] {
		return false
	}
	slope := (end[1] - before[1]) / (end[0] - before[0])
	return math.Abs(end[1]+slope*ahead-next[0][1]) <= aside
}

// placeLines orders the lines, those on the left first, and counts them from the sensor
// outwards on either side.
func placeLines(lines []sample.LaneLine) {
	beside := func(l *sample.LaneLine) float64 {
		return l.C[0] + l.MinX*(l.C[1]+l.MinX*(l.C[2]+l.MinX*l.C[3]))
	}
	slices.SortStableFunc(lines, func(a, b sample.LaneLine) int {
		y, z := beside(&a), beside(&b)
		if (y >= 0) != (z >= 0) {
			return cmp.Compare(z, y)
		}
		return cmp.Compare(math.Abs(y), math.Abs(z))
	})
	left, right := int8(0), int8(0)
	for i := range lines {
		if beside(&lines[i]) >= 0 {
			left--
			lines[i].Place = left
		} else {
			right++
			lines[i].Place = right
		}
		if lines[i].Place < -outermost || lines[i].Place > outermost {
			lines[i].Place = sample.LaneLineOther
		}
	}
}

// outermost is the last place on either side that has a number.
const outermost = 5

// fitCubic returns the coefficients of the cubic nearest to the points in the sense of least
// squares. Of fewer than four points they are those of a polynomial through them. It solves the normal
// equations for the powers of u, which is x brought to -1..1.
func fitCubic(points [][2]float64) (c [4]float64) {
	low, high := points[0][0], points[len(points)-1][0]
	centre, half := (low+high)/2, (high-low)/2
	var a [4][5]float64
	for _, p := range points {
		u := (p[0] - centre) / half
		powers := [4]float64{1, u, u * u, u * u * u}
		for i := range powers {
			for j := range powers {
				a[i][j] += powers[i] * powers[j]
			}
			a[i][4] += powers[i] * p[1]
		}
	}
	b := solve(a, min(len(points), len(c)))
	for i := len(b) - 1; i >= 0; i-- { // Horner's scheme with u = (x - centre) / half
		for k := len(c) - 1; k >= 0; k-- {
			c[k] *= -centre / half
			if k > 0 {
				c[k] += c[k-1] / half
			}
		}
		c[0] += b[i]
	}
	return c
}

// solve solves the first so many of four linear equations for as many unknowns by Gauss's
// elimination; the other unknowns are 0. The equations are symmetric and positive definite.
func solve(a [4][5]float64, unknowns int) (x [4]float64) {
	for i := range unknowns {
		for k := range unknowns {
			if k == i {
				continue
			}
			f := a[k][i] / a[i][i]
			for j := range a[k] {
				a[k][j] -= f * a[i][j]
			}
		}
	}
	for i := range unknowns {
		x[i] = a[i][4] / a[i][i]
	}
	return x
}
