package kitti

import (
	"errors"
	"io/fs"
	"math"
	"path"
	"slices"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/dataset/check"
)

// classes are KITTI's.
var classes = []string{"Car", "Van", "Truck", "Pedestrian", "Person_sitting", "Cyclist", "Tram", "Misc", dontCare}

// printed is half of the last digit of a label's numbers.
const printed = 0.005

func (s *set) readLabel(fr *frame, row int, text string, f *check.Findings) {
	l, err := parseLabel(text)
	switch {
	case errors.Is(err, errOccluded):
		f.Add(ruleOccluded, fr.at(row), "%v", err)
	case err != nil:
		f.Add(ruleColumns, fr.at(row), "%v", err)
		return
	}
	fr.labels, fr.rows = append(fr.labels, l), append(fr.rows, row)
}

// checkLabel checks one by itself, and with its picture.
func (s *set) checkLabel(fr *frame, i int, f *check.Findings) {
	l, at := &fr.labels[i], fr.at(fr.rows[i])
	if !slices.Contains(classes, l.class) {
		f.Add(ruleClass, at, "the type is %.20q: one of %v is wanted", l.class, classes)
	}
	if l.right <= l.left || l.bottom <= l.top {
		f.Add(ruleBox, at, "the box %v is empty: left, top, right, bottom are wanted", l.rectangle())
	} else if w, h := float64(fr.width-1), float64(fr.height-1); w > 0 && (l.left < 0 || l.top < 0 || l.right > w+printed || l.bottom > h+printed) {
		f.Add(ruleBox, at, "the box %v leaves the picture, whose last pixel is %v, %v: clip it", l.rectangle(), w, h)
	}
	if l.class == dontCare {
		if got := []float64{l.truncated, float64(l.occluded), l.alpha, l.height, l.width, l.length, l.x, l.y, l.z, l.ry}; !slices.Equal(got, notGiven) {
			f.Add(ruleDontCare, at, "has %v beside its box: %v are wanted", got, notGiven)
		}
		return
	}
	if l.truncated != -1 && (l.truncated < 0 || l.truncated > 1) {
		f.Add(ruleTruncated, at, "truncated is %v", l.truncated)
	}
	if l.occluded < 0 || l.occluded > 3 {
		f.Add(ruleOccluded, at, "occluded is %d: 0 to 3 are wanted", l.occluded)
	}
	if l.height <= 0 || l.width <= 0 || l.length <= 0 {
		f.Add(ruleSize, at, "height, width and length are %v, %v, %v", l.height, l.width, l.length)
	}
	if math.Abs(l.ry) > math.Pi+printed || math.Abs(l.alpha) > math.Pi+printed && l.alpha != -10 {
		f.Add(ruleAngles, at, "alpha and ry are %v and %v: radians from -pi to pi are wanted", l.alpha, l.ry)
	}
	// The numbers are rounded: alpha, ry and the place.
	slack := 2*printed + 2*printed/max(math.Hypot(l.x, l.z), 0.1) + 1e-6
	if want := wrap(l.ry - math.Atan2(l.x, l.z)); l.alpha != -10 && math.Abs(wrap(l.alpha-want)) > slack {
		f.Add(ruleAlpha, at, "alpha is %v: ry - atan2(x, z) is %.2f", l.alpha, want)
	}
}

// notGiven is what DontCare has beside its box.
var notGiven = []float64{-1, -1, -10, -1, -1, -1, -1000, -1000, -1000, -10}

// checkCalibration checks what a calibration's matrices mean.
func (s *set) checkCalibration(fr *frame, f *check.Findings) {
	at, c := check.Place{File: path.Join(calibrationFolder, fr.name+".txt")}, fr.calib
	checkRotation(f, at, "R0_rect", &c.rect)
	checkRotation(f, at, "Tr_velo_to_cam", &c.lidar)
	checkRotation(f, at, "Tr_imu_to_velo", &c.inertia)
	// The camera's y is down. Half of a unit is 60 degrees: no camera of a car looks at the sky. Where it looks else is the set's own choice.
	if m := c.toCamera(); -m[6] < 0.5 {
		f.Add(ruleLidarAxes, at, "Tr_velo_to_cam turns the lidar's z, which is up, into (%.2f, %.2f, %.2f): (0, -1, 0) is about right, its inverse leads the other way", m[2], m[6], m[10])
	}
	p := &c.p[2]
	if p[0] <= 0 || p[5] <= 0 || p[4] != 0 || p[8] != 0 || p[9] != 0 || p[10] != 1 {
		f.Add(ruleCamera, at, "P2 isn't the matrix of a rectified camera: fx 0 cx ., 0 fy cy ., 0 0 1 . are wanted")
	} else if w, h := float64(fr.width), float64(fr.height); w > 0 && (p[2] < 0 || p[2] > w || p[6] < 0 || p[6] > h) {
		f.Add(ruleCamera, at, "P2's centre %.1f, %.1f is outside of the picture of %v x %v pixels", p[2], p[6], w, h)
	}
}

// leastRigid is how far from a rotation a matrix may be.
const leastRigid = 1e-4

func checkRotation(f *check.Findings, at check.Place, name string, m *matrix) {
	if worst := m.unrigid(); worst > leastRigid {
		f.Add(ruleRotations, at, "%s has no rotation: its rows are off by %.2g", name, worst)
	}
}

// readPoints reads a frame's points.
func (s *set) readPoints(fr *frame) ([]point, error) {
	data, err := fs.ReadFile(s.root, path.Join(pointFolder, fr.name+".bin"))
	if err != nil {
		return nil, err
	}
	return parsePoints(data)
}

// checkPoints checks a file of points, and gathers what points say of the boxes.
func (s *set) checkPoints(fr *frame, e *evidence, f *check.Findings) {
	file := path.Join(pointFolder, fr.name+".bin")
	data, err := fs.ReadFile(s.root, file)
	if err != nil {
		return // a finding already
	}
	at := check.Place{File: file}
	if hasRings(data) {
		f.Add(ruleRings, at, "points seem to have five numbers, the last a ring's: four are wanted")
		return
	}
	points, err := parsePoints(data)
	if err != nil {
		f.Add(rulePoints, at, "%v", err)
		return
	}
	checkValues(points, at, f)
	if fr.calib == nil {
		return
	}
	var labels []pointLabel
	if data, err := fs.ReadFile(s.root, fr.pointLabels); fr.pointLabels != "" && err == nil {
		if labels, err = parsePointLabels(data); err != nil || len(labels) != len(points) {
			labels = nil // the sequence's check says so
		}
	}
	e.add(fr, points, labels)
}

func checkValues(points []point, at check.Place, f *check.Findings) {
	wild, bright := 0, 0
	for _, p := range points {
		if sum := float64(p.x + p.y + p.z); math.IsNaN(sum) || math.IsInf(sum, 0) {
			wild++
		}
		if !(p.reflectance >= 0 && p.reflectance <= 1) {
			bright++
		}
	}
	if wild > 0 {
		f.Add(rulePoints, at, "%d of %d points have coordinates that aren't finite: leave out what met nothing", wild, len(points))
	}
	if bright > 0 {
		f.Add(ruleReflectance, at, "%d of %d points have a reflectance outside of 0 to 1", bright, len(points))
	}
}
