package nuscenes

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/dataset/check"
	"github.com/raybridge/raybridge/spatial"
)

// detectionClass is a class of nuScenes' detection task.
type detectionClass struct {
	name string
	// reach is up to which distance from the ego boxes count, metres.
	reach float64
	// heading says whether the orientation counts, and its period; 0 is without.
	period float64
	// moves says whether velocity and attribute count.
	moves bool
}

var detectionClasses = []detectionClass{
	{"car", 50, 2 * math.Pi, true}, {"truck", 50, 2 * math.Pi, true}, {"bus", 50, 2 * math.Pi, true}, {"trailer", 50, 2 * math.Pi, true},
	{"construction_vehicle", 50, 2 * math.Pi, true}, {"pedestrian", 40, 2 * math.Pi, true}, {"motorcycle", 40, 2 * math.Pi, true},
	{"bicycle", 40, 2 * math.Pi, true}, {"traffic_cone", 30, 0, false}, {"barrier", 30, math.Pi, false},
}

// detectionName is the class of a category, "" for those that don't count.
func detectionName(category string) string {
	switch category {
	case "movable_object.barrier":
		return "barrier"
	case "movable_object.trafficcone":
		return "traffic_cone"
	case "vehicle.bus.bendy", "vehicle.bus.rigid":
		return "bus"
	case "vehicle.construction":
		return "construction_vehicle"
	case "vehicle.car", "vehicle.truck", "vehicle.trailer", "vehicle.motorcycle", "vehicle.bicycle":
		return strings.TrimPrefix(category, "vehicle.")
	case "human.pedestrian.adult", "human.pedestrian.child", "human.pedestrian.construction_worker", "human.pedestrian.police_officer":
		return "pedestrian"
	}
	return ""
}

// detection is a box as the evaluation takes it.
type detection struct {
	frame     int
	pose      spatial.Pose // global
	size      mgl64.Vec3   // length, width, height
	velocity  mgl64.Vec2   // NaN for unknown
	attribute string
	score     float64
}

// score is what the evaluation gives one class. Errors are means over the recalls from 0.1 on, and 1 where no detection matches. They are NaN where
// nothing is known.
type score struct {
	// ap is by centre distance of 0.5, 1, 2 and 4 m.
	ap [4]float64
	// translation is in metres, scale is 1 - IoU of aligned boxes, orientation is in radians, velocity in m/s, attribute is the share of wrong ones.
	translation, scale, orientation, velocity, attribute float64
}

// distances are the thresholds of AP, and errorsBy the place of the one by which errors are taken.
var distances = [4]float64{0.5, 1, 2, 4}

const errorsBy = 2

// recalls is how many recalls a curve has, from 0 to 1. The first ones don't count: they are noise.
const (
	recalls     = 101
	firstRecall = 10
	leastRecall = 0.1
)

// match is a detection and the truth that it was given to.
type match struct {
	found *detection
	truth *detection // nil for none
}

// matchAll gives each detection, the surest first, the nearest truth of its frame that has none yet, if it is nearer than a distance.
func matchAll(found, truth []detection, within float64) []match {
	order := make([]*detection, len(found))
	for i := range found {
		order[i] = &found[i]
	}
	slices.SortStableFunc(order, func(a, b *detection) int { return cmp.Compare(b.score, a.score) })
	byFrame := map[int][]*detection{}
	for i := range truth {
		byFrame[truth[i].frame] = append(byFrame[truth[i].frame], &truth[i])
	}
	matches := make([]match, len(order))
	for i, d := range order {
		matches[i].found = d
		best, at := within, -1
		for k, t := range byFrame[d.frame] {
			if off := planar(d, t); off < best {
				best, at = off, k
			}
		}
		if at >= 0 {
			matches[i].truth = byFrame[d.frame][at]
			byFrame[d.frame] = slices.Delete(byFrame[d.frame], at, at+1)
		}
	}
	return matches
}

func planar(a, b *detection) float64 { return a.pose.Position.Sub(b.pose.Position).Vec2().Len() }

// evaluate compares detections of a class with the truth, as nuScenes' detection task does.
func evaluate(found, truth []detection, class detectionClass) (s score) {
	s.translation, s.scale, s.orientation, s.velocity, s.attribute = 1, 1, 1, 1, 1
	for i, within := range distances {
		matches := matchAll(found, truth, within)
		s.ap[i] = averagePrecision(matches, len(truth))
		if i == errorsBy {
			s.errors(matches, len(truth), class)
		}
	}
	return s
}

// averagePrecision is the mean precision above 0.1 over the recalls above 0.1.
func averagePrecision(matches []match, truths int) float64 {
	var recall, precision []float64
	hits := 0
	for i, m := range matches {
		if m.truth != nil {
			hits++
		}
		recall = append(recall, float64(hits)/float64(truths))
		precision = append(precision, float64(hits)/float64(i+1))
	}
	if hits == 0 {
		return 0
	}
	sum := 0.0
	for i := firstRecall + 1; i < recalls; i++ {
		sum += max(interpolated(float64(i)/(recalls-1), recall, precision, 0)-leastRecall, 0)
	}
	return sum / (recalls - 1 - firstRecall) / (1 - leastRecall)
}

// interpolated is the value of a curve at x: the first one before it, and beyond behind it. Of several points of one x the last counts.
func interpolated(x float64, xs, ys []float64, beyond float64) float64 {
	i := len(xs)
	for k, at := range xs {
		if at > x {
			i = k
			break
		}
	}
	switch {
	case i == 0:
		return ys[0]
	case i == len(xs):
		if xs[i-1] >= x {
			return ys[i-1]
		}
		return beyond
	}
	share := (x - xs[i-1]) / (xs[i] - xs[i-1])
	return ys[i-1] + share*(ys[i]-ys[i-1])
}

// errors takes the errors of what matches.
func (s *score) errors(matches []match, truths int, class detectionClass) {
	var recall []float64
	var columns [5][]float64
	hits := 0
	for _, m := range matches {
		if m.truth == nil {
			continue
		}
		hits++
		recall = append(recall, float64(hits)/float64(truths))
		a, b := m.found, m.truth
		orientation, velocity, attribute := math.NaN(), math.NaN(), math.NaN()
		if class.period > 0 {
			off := math.Mod(math.Abs(spatial.Yaw(a.pose.Orientation)-spatial.Yaw(b.pose.Orientation)), class.period)
			orientation = min(off, class.period-off)
		}
		if class.moves {
			velocity = a.velocity.Sub(b.velocity).Len()
			switch {
			case b.attribute == "":
			case a.attribute == b.attribute:
				attribute = 0
			default:
				attribute = 1
			}
		}
		for i, v := range []float64{planar(a, b), 1 - overlap(a.size, b.size), orientation, velocity, attribute} {
			columns[i] = append(columns[i], v)
		}
	}
	if len(recall) == 0 || recall[len(recall)-1] < float64(firstRecall+1)/(recalls-1) {
		return
	}
	for i, to := range []*float64{&s.translation, &s.scale, &s.orientation, &s.velocity, &s.attribute} {
		*to = meanError(recall, columns[i])
	}
}

// meanError is the mean of a running mean over the recalls that were reached. Unknown values are passed over.
func meanError(recall, values []float64) float64 {
	running := make([]float64, len(values))
	sum, n := 0.0, 0
	for i, v := range values {
		if !math.IsNaN(v) {
			sum += v
			n++
		}
		running[i] = sum / float64(n)
	}
	if n == 0 {
		return math.NaN()
	}
	for i := n - 1; i >= 0; i-- { // leading ones that nothing is known of take the first that is
		if math.IsNaN(running[i]) && i+1 < len(running) {
			running[i] = running[i+1]
		}
	}
	total, count := 0.0, 0
	for i := firstRecall + 1; i < recalls; i++ {
		x := float64(i) / (recalls - 1)
		if x > recall[len(recall)-1]+1e-12 {
			break
		}
		total += interpolated(x, recall, running, running[len(running)-1])
		count++
	}
	return total / float64(count)
}

// overlap is the IoU of two boxes with one centre and one heading.
func overlap(a, b mgl64.Vec3) float64 {
	both := min(a[0], b[0]) * min(a[1], b[1]) * min(a[2], b[2])
	return both / (a[0]*a[1]*a[2] + b[0]*b[1]*b[2] - both)
}

// detections are a class's boxes in the whole set that count: within reach, with a lidar or radar point.
func (s *set) detections(class detectionClass) (all []detection) {
	for i, m := range s.sampleList {
		if len(m.keys) == 0 || m.keys[0].ego == nil {
			continue
		}
		ego := m.keys[0].ego.pose.Position
		for _, a := range m.boxes {
			if detectionName(a.instance.category.name) != class.name || a.lidar+a.radar == 0 || a.pose.Position.Sub(ego).Vec2().Len() >= class.reach {
				continue
			}
			d := detection{frame: i, pose: a.pose, size: a.size, velocity: mgl64.Vec2{math.NaN(), math.NaN()}}
			if v, ok := s.velocity(a); ok {
				d.velocity = v.Vec2()
			}
			if len(a.attributes) > 0 {
				d.attribute = a.attributes[0]
			}
			all = append(all, d)
		}
	}
	return all
}

// checkSelf takes the set's labels for detections, the last one for the surest: of two boxes in one place each is then given to the other.
func (s *set) checkSelf(f *check.Findings) {
	for _, class := range detectionClasses {
		truth := s.detections(class)
		if len(truth) == 0 {
			continue
		}
		known := int64(0)
		for _, d := range truth {
			if !math.IsNaN(d.velocity[0]) {
				known++
			}
		}
		f.Measure("boxes of the detection task with a velocity", known, int64(len(truth)))
		found := slices.Clone(truth)
		for i := range found {
			found[i].score = float64(i)
		}
		r := evaluate(found, truth, class)
		bad := false
		for _, e := range []float64{1 - r.ap[0], 1 - r.ap[1], 1 - r.ap[2], 1 - r.ap[3], r.translation, r.scale, r.orientation, r.velocity, r.attribute} {
			bad = bad || e > 1e-9
		}
		if bad {
			f.Add(ruleSelf, check.Place{File: s.table("sample_annotation")}, "the labels of %s, taken for detections, have AP %.3f and errors %.3f, %.3f, %.3f, %.3f, %.3f: two boxes must lie in one place", class.name,
				r.ap, r.translation, r.scale, r.orientation, r.velocity, r.attribute)
		}
	}
}
