package kitti

import (
	"context"
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/dataset/check"
)

// A sequence is one of odometry's: frames of one drive, with poses and times.
type sequence struct {
	folder string // from the root
	count  int    // files of points
	calib  *calibration
	poses  []matrix
	frames []*frame // the same frames in training, nil where they aren't known
	labels bool
}

// openSequences reads all that is small. If all sequences together have as many frames as training, they are the same in the same order.
func (s *set) openSequences(ctx context.Context, f *check.Findings) error {
	base := sequenceBase(s.root)
	entries, _ := fs.ReadDir(s.root, base)
	total := 0
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		q := &sequence{folder: path.Join(base, e.Name())}
		s.openSequence(q, path.Join(path.Dir(base), "poses", e.Name()+".txt"), f)
		s.sequences = append(s.sequences, q)
		total += q.count
	}
	if total != len(s.frames) {
		return nil
	}
	at := 0
	for _, q := range s.sequences {
		q.frames = s.frames[at : at+q.count]
		at += q.count
		for i, fr := range q.frames {
			if fr.sequence = q; q.labels {
				fr.pointLabels = q.file("labels", i, ".label")
			}
			if len(q.poses) == q.count {
				fr.pose = &q.poses[i]
			}
		}
	}
	return nil
}

// file is the path of frame i's in one of the sequence's folders.
func (q *sequence) file(folder string, i int, extension string) string {
	return path.Join(q.folder, folder, fmt.Sprintf("%06d%s", i, extension))
}

func (s *set) openSequence(q *sequence, poses string, f *check.Findings) {
	q.count = s.count(q, "velodyne", ".bin", f)
	for folder, extension := range map[string]string{"image_2": ".png", "labels": ".label"} {
		n := s.count(q, folder, extension, f)
		q.labels = q.labels || folder == "labels" && n > 0
		if n != q.count && (n > 0 || folder != "labels") {
			f.Add(ruleSequence, check.Place{File: path.Join(q.folder, folder)}, "has %d files: velodyne has %d", n, q.count)
		}
	}
	if text, ok := s.read(path.Join(q.folder, "calib.txt"), f); ok {
		c, err := parseSequenceCalibration(text)
		if err != nil {
			f.Add(ruleCalibration, check.Place{File: path.Join(q.folder, "calib.txt")}, "%v", err)
		} else {
			q.calib = c
		}
	}
	if text, ok := s.read(path.Join(q.folder, "times.txt"), f); ok {
		times, err := parseTimes(text)
		q.checkTimes(times, err, f)
	}
	if text, ok := s.read(poses, f); ok {
		var err error
		q.poses, err = parsePoses(text)
		q.checkPoses(check.Place{File: poses}, err, f)
	}
}

// count returns how many files a folder of the sequence has. They must be numbered from 0.
func (s *set) count(q *sequence, folder, extension string, f *check.Findings) int {
	names, strange := content(s.root, path.Join(q.folder, folder), extension)
	for _, name := range strange {
		f.Add(ruleSequence, check.Place{File: path.Join(q.folder, folder, name)}, "a name of six digits and %s is wanted", extension)
	}
	for i := range len(names) {
		if !names[fmt.Sprintf("%06d", i)] {
			f.Add(ruleSequence, check.Place{File: q.file(folder, i, extension)}, "the file is missing")
			break
		}
	}
	return len(names)
}

func (s *set) read(file string, f *check.Findings) (text string, ok bool) {
	data, err := fs.ReadFile(s.root, file)
	if err != nil {
		f.Add(ruleSequence, check.Place{File: file}, "can't be read: %v", err)
	}
	return string(data), err == nil
}

func (q *sequence) checkTimes(times []float64, err error, f *check.Findings) {
	at := check.Place{File: path.Join(q.folder, "times.txt")}
	if err != nil {
		f.Add(ruleTimes, at, "%v", err)
		return
	}
	if len(times) != q.count {
		f.Add(ruleSequence, at, "has %d lines: velodyne has %d files", len(times), q.count)
	}
	for i, t := range times {
		at.Row = fmt.Sprintf("line %d", i+1)
		if i == 0 && t != 0 {
			f.Add(ruleTimes, at, "is %v: seconds from the sequence's first frame are wanted", t)
		} else if i > 0 && t <= times[i-1] {
			f.Add(ruleTimes, at, "%v doesn't follow %v", t, times[i-1])
		}
	}
}

func (q *sequence) checkPoses(at check.Place, err error, f *check.Findings) {
	if err != nil {
		f.Add(rulePoses, at, "%v", err)
	}
	if len(q.poses) != q.count {
		f.Add(ruleSequence, at, "has %d lines: velodyne has %d files", len(q.poses), q.count)
	}
	for i := range q.poses {
		at.Row = fmt.Sprintf("line %d", i+1)
		if worst := q.poses[i].unrigid(); worst > leastRigid {
			f.Add(rulePoses, at, "has no rotation: its rows are off by %.2g", worst)
		}
	}
	at.Row = "line 1"
	if len(q.poses) > 0 && q.poses[0].off(&identity) > leastRigid {
		f.Add(ruleFirstPose, at, "isn't the identity: poses are relative to the first frame's camera")
	}
}

// off is the largest difference of two matrices' numbers.
func (m *matrix) off(o *matrix) (worst float64) {
	for i := range m {
		worst = max(worst, math.Abs(m[i]-o[i]))
	}
	return worst
}

// checkSequence reads the labels of points, and looks whether poses lay what stands still on itself.
func (s *set) checkSequence(ctx context.Context, q *sequence, f *check.Findings) error {
	if q.calib == nil {
		return nil
	}
	at := check.Place{File: path.Join(q.folder, "calib.txt")}
	checkRotation(f, at, "Tr", &q.calib.lidar)
	if len(q.frames) > 0 && q.frames[0].calib != nil {
		of := q.frames[0].calib
		if want := of.toCamera(); want.off(&q.calib.lidar) > leastRigid || of.p[2].off(&q.calib.p[2]) > leastRigid*max(of.p[2][0], 1) {
			f.Add(ruleSameTr, at, "Tr or P2 isn't that of frame %s in training: Tr must be R0_rect x Tr_velo_to_cam", q.frames[0].name)
		}
	}
	m, instances := newMotion(q), map[uint16]uint16{}
	for i := range q.count {
		if err := ctx.Err(); err != nil {
			return err
		}
		data, err := fs.ReadFile(s.root, q.file("velodyne", i, ".bin"))
		if err != nil {
			continue
		}
		points, err := parsePoints(data)
		if err != nil {
			f.Add(rulePoints, check.Place{File: q.file("velodyne", i, ".bin")}, "%v", err)
			continue
		}
		if labels, ok := s.readPointLabels(q, i, len(points), f); ok {
			q.checkClasses(i, labels, instances, f)
			m.add(i, points, labels)
		}
	}
	m.judge(f)
	return nil
}

func (s *set) readPointLabels(q *sequence, i, points int, f *check.Findings) (labels []pointLabel, ok bool) {
	if !q.labels {
		return nil, false
	}
	at := check.Place{File: q.file("labels", i, ".label")}
	data, err := fs.ReadFile(s.root, at.File)
	if err == nil {
		labels, err = parsePointLabels(data)
	}
	if err != nil {
		f.Add(rulePointLabels, at, "can't be read: %v", err)
		return nil, false
	}
	if len(labels) != points {
		f.Add(rulePointLabels, at, "has %d labels: there are %d points", len(labels), points)
		return nil, false
	}
	return labels, true
}

// resting are the classes of things that move, as they are while they stand.
var resting = map[uint16]uint16{252: 10, 253: 31, 254: 30, 255: 32, 256: 16, 257: 13, 258: 18, 259: 20}

func (q *sequence) checkClasses(i int, labels []pointLabel, instances map[uint16]uint16, f *check.Findings) {
	at, unknown, changed := check.Place{File: q.file("labels", i, ".label")}, map[uint16]int{}, map[uint16]bool{}
	for _, l := range labels {
		if pointClasses[l.class] == "" {
			unknown[l.class]++
			continue
		}
		class := l.class
		if r, ok := resting[class]; ok {
			class = r
		}
		if l.instance == 0 || !l.isThing() {
			continue
		}
		if before, ok := instances[l.instance]; ok && before != class {
			changed[l.instance] = true
		}
		instances[l.instance] = class
	}
	for _, class := range sorted(unknown) {
		f.Add(rulePointClass, at, "%d points have the class %d: the low 16 bits must be one of SemanticKITTI's", unknown[class], class)
	}
	for _, instance := range sorted(changed) {
		f.Add(rulePointClass, at, "instance %d has a class that it didn't have before", instance)
	}
}

func sorted[V any](m map[uint16]V) (keys []uint16) {
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// motion lays points of buildings, fences and poles of one frame on those of another, by the poses as they are meant and by other meanings.
type motion struct {
	q        *sequence
	first    int // the frame whose points wait for another, -1 for none
	waiting  []vector
	compared int
	met      [len(meanings)]int
}

// meanings are what people write for poses. The first is right.
var meanings = [...]struct {
	name string
	pose func(q *sequence, i int) matrix
}{
	{"", func(q *sequence, i int) matrix { return q.poses[i] }},
	{"their inverse", func(q *sequence, i int) matrix { return q.poses[i].inverse() }},
	{"the lidar's axes", func(q *sequence, i int) matrix {
		back := q.calib.lidar.inverse()
		m := q.calib.lidar.times(&q.poses[i])
		return m.times(&back)
	}},
}

func newMotion(q *sequence) *motion { return &motion{q: q, first: -1} }

const (
	// leastMotion is how far apart two frames are that are compared, mostPairs how many pairs are.
	leastMotion = 2.0
	mostPairs   = 20
	// cell is how near a point must come to one of the other frame.
	cell = 0.4
)

func (m *motion) add(i int, points []point, labels []pointLabel) {
	if i >= len(m.q.poses) || m.compared == mostPairs {
		return
	}
	if m.first >= 0 && distance(m.q.poses[i].place(), m.q.poses[m.first].place()) < leastMotion {
		return
	}
	var still []vector
	for j, l := range labels {
		if l.isStatic() {
			still = append(still, m.q.calib.lidar.apply(points[j].at()))
		}
	}
	if m.first >= 0 {
		m.compared++
		for j, meaning := range meanings {
			a, b := meaning.pose(m.q, m.first), meaning.pose(m.q, i)
			m.met[j] += meeting(&a, m.waiting, &b, still)
		}
	}
	m.first, m.waiting = i, still
}

func (m *matrix) place() vector { return vector{m[3], m[7], m[11]} }

func distance(a, b vector) float64 {
	return math.Sqrt((a[0]-b[0])*(a[0]-b[0]) + (a[1]-b[1])*(a[1]-b[1]) + (a[2]-b[2])*(a[2]-b[2]))
}

// meeting returns how many points of one frame lie near points of another.
func meeting(a *matrix, pa []vector, b *matrix, pb []vector) (n int) {
	type key [3]int32
	keyOf := func(p vector) (k key) {
		for i, v := range p {
			k[i] = int32(math.Floor(v / cell))
		}
		return k
	}
	filled := map[key]bool{}
	for _, p := range pa {
		filled[keyOf(a.apply(p))] = true
	}
	for _, p := range pb {
		k := keyOf(b.apply(p))
	around:
		for dx := int32(-1); dx <= 1; dx++ {
			for dy := int32(-1); dy <= 1; dy++ {
				for dz := int32(-1); dz <= 1; dz++ {
					if filled[key{k[0] + dx, k[1] + dy, k[2] + dz}] {
						n++
						break around
					}
				}
			}
		}
	}
	return n
}

func (m *motion) judge(f *check.Findings) {
	best := 0
	for i, n := range m.met {
		if n > m.met[best] {
			best = i
		}
	}
	if m.met[best] >= leastEvidence && float64(m.met[best]) > muchBetter*float64(m.met[0]) {
		f.Add(ruleMotion, check.Place{File: m.q.folder}, "by the poses %d points of what stands still lie on one another, by %s %d do: a pose is the camera's in the first frame's camera frame",
			m.met[0], meanings[best].name, m.met[best])
	}
}
