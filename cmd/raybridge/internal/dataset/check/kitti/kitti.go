// Package kitti reads and checks data sets in KITTI's formats: object detection, with odometry's poses and times and SemanticKITTI's labels of points beside.
//
// Reference: the development kits' descriptions, what their programs take for granted, and what they don't notice.
package kitti

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/dataset/check"
)

const (
	ruleFrames       = "structure.frames"
	ruleImageSets    = "structure.image_sets"
	ruleSequence     = "structure.sequence"
	ruleLabels       = "structure.labels"
	ruleColumns      = "record.columns"
	ruleClass        = "record.class"
	ruleTruncated    = "record.truncated"
	ruleOccluded     = "record.occluded"
	ruleAngles       = "record.angles"
	ruleBox          = "record.bbox"
	ruleSize         = "record.size"
	ruleDontCare     = "record.dont_care"
	ruleTimes        = "record.times"
	rulePoses        = "record.poses"
	rulePointClass   = "record.point_class"
	ruleCalibration  = "format.calib"
	rulePicture      = "format.picture"
	rulePoints       = "format.points"
	ruleRings        = "format.rings"
	ruleReflectance  = "format.reflectance"
	rulePointLabels  = "format.point_labels"
	ruleRotations    = "geometry.rotations"
	ruleLidarAxes    = "geometry.lidar_axes"
	ruleCamera       = "geometry.camera"
	ruleCameraMatrix = "geometry.camera_matrix"
	ruleProjection   = "geometry.projection"
	rulePixelOrigin  = "geometry.pixel_origin"
	ruleAlpha        = "geometry.alpha"
	ruleBoxSize      = "geometry.box_size"
	ruleBoxBottom    = "geometry.box_bottom"
	ruleBoxHeading   = "geometry.box_heading"
	ruleBoxPoints    = "geometry.box_points"
	ruleFirstPose    = "geometry.first_pose"
	ruleMotion       = "geometry.poses"
	ruleSameTr       = "geometry.sequence_calib"
	ruleEvaluation   = "evaluation.self"
)

// Format is KITTI. A set is the folder training with the lists of ImageSets, sequences with their poses, or both of the same frames.
var Format = check.Format{Name: "kitti", Rules: []check.Rule{
	{ID: ruleFrames, Severity: check.Error, Holds: "each frame of training has a picture, labels, a calibration and points, with six digits for a name"},
	{ID: ruleImageSets, Severity: check.Error, Holds: "ImageSets names each frame of training in trainval, and in either train or val, six digits a line"},
	{ID: ruleLabels, Severity: check.Warning, Holds: "some frame of training has a label"},
	{ID: ruleSequence, Severity: check.Error, Holds: "a sequence has as many poses, times, pictures and files of labels as it has files of points, numbered from 000000"},
	{ID: ruleColumns, Severity: check.Error, Holds: "a label has a type and 14 numbers, with single blanks between them"},
	{ID: ruleClass, Severity: check.Error, Holds: "a label's type is one of KITTI's nine"},
	{ID: ruleTruncated, Severity: check.Error, Holds: "truncated is from 0 to 1, or -1 for unknown"},
	{ID: ruleOccluded, Severity: check.Error, Holds: "occluded is 0, 1, 2 or 3, without a decimal point: readers take what follows one for the next column"},
	{ID: ruleAngles, Severity: check.Error, Holds: "alpha and ry are from -pi to pi; alpha may be -10 for unknown"},
	{ID: ruleBox, Severity: check.Error, Holds: "a box isn't empty, and within the picture, whose first pixel is 0"},
	{ID: ruleSize, Severity: check.Error, Holds: "height, width and length are above 0"},
	{ID: ruleDontCare, Severity: check.Error, Holds: "DontCare has -1 -1 -10, its box, then -1 -1 -1 -1000 -1000 -1000 -10"},
	{ID: ruleTimes, Severity: check.Error, Holds: "times are seconds from 0 that rise"},
	{ID: rulePoses, Severity: check.Error, Holds: "a pose is three rows of four numbers, a rotation and a place"},
	{ID: rulePointClass, Severity: check.Error, Holds: "a point's class is one of SemanticKITTI's, and an instance has one class all through its sequence, moving or not"},
	{ID: ruleCalibration, Severity: check.Error, Holds: "calib has P0 to P3, R0_rect, Tr_velo_to_cam and Tr_imu_to_velo in this order, a sequence's has P0 to P3 and Tr"},
	{ID: rulePicture, Severity: check.Error, Holds: "each picture is a whole PNG"},
	{ID: ruleRings, Severity: check.Error, Holds: "a point doesn't have a ring's number for a fifth value"},
	{ID: rulePoints, Severity: check.Error, Holds: "a file of points has 16 bytes a point, and finite coordinates"},
	{ID: ruleReflectance, Severity: check.Error, Holds: "reflectance is from 0 to 1"},
	{ID: rulePointLabels, Severity: check.Error, Holds: "a sequence has a label of 4 bytes for each point"},
	{ID: ruleRotations, Severity: check.Error, Holds: "calib's R0_rect and Tr have rotations"},
	{ID: ruleLidarAxes, Severity: check.Error, Holds: "Tr_velo_to_cam leads from the lidar to the camera: the lidar's z is up in the picture"},
	{ID: ruleCamera, Severity: check.Error, Holds: "P2 is a camera's that looks along z, and has its centre in the picture"},
	{ID: ruleCameraMatrix, Severity: check.Error, Holds: "boxes in space are on their boxes in the picture by P2, not by the matrix of another camera"},
	{ID: ruleProjection, Severity: check.Error, Holds: "a box in the picture is within the projection of its box in space, and most fill it"},
	{ID: rulePixelOrigin, Severity: check.Error, Holds: "pixels are counted from 0, not from 1"},
	{ID: ruleAlpha, Severity: check.Error, Holds: "alpha is ry - atan2(x, z)"},
	{ID: ruleBoxSize, Severity: check.Error, Holds: "columns 9 to 11 are height, width, length: no other order holds many more points"},
	{ID: ruleBoxBottom, Severity: check.Error, Holds: "columns 12 to 14 are the centre of the bottom face: boxes that stand on it don't hold many more points"},
	{ID: ruleBoxHeading, Severity: check.Error, Holds: "ry turns about y, from x: boxes with another heading don't hold many more points, and what moves goes ahead"},
	{ID: ruleBoxPoints, Severity: check.Error, Holds: "boxes hold the points of their object that stands still"},
	{ID: ruleFirstPose, Severity: check.Error, Holds: "a sequence's first pose is the identity"},
	{ID: ruleMotion, Severity: check.Error, Holds: "poses are the camera's in that of the first frame: no other meaning lays what stands still so well on itself"},
	{ID: ruleSameTr, Severity: check.Error, Holds: "a sequence's Tr and P2 are those of its frames of training, Tr with R0_rect"},
	{ID: ruleEvaluation, Severity: check.Error, Holds: "labels that are given back as detections are found, in KITTI's three evaluations"},
}, Detect: detect, Open: open}

// Folders of the object set.
const (
	training          = "training/"
	labelFolder       = training + "label_2"
	pictureFolder     = training + "image_2"
	calibrationFolder = training + "calib"
	pointFolder       = training + "velodyne"
)

// detect returns one set without a name if there are labels, calibrations or sequences.
func detect(root fs.FS) []string {
	for _, dir := range []string{labelFolder, calibrationFolder} {
		if _, err := fs.Stat(root, dir); err == nil {
			return []string{""}
		}
	}
	if sequences, _ := fs.Glob(root, sequenceBase(root)+"/*/velodyne"); sequences != nil {
		return []string{""}
	}
	return nil
}

// sequenceBase is the folder of the sequences: odometry's own archive has them in dataset.
func sequenceBase(root fs.FS) string {
	if _, err := fs.Stat(root, "dataset/sequences"); err == nil {
		return "dataset/sequences"
	}
	return "sequences"
}

// A frame is one of training.
type frame struct {
	name   string
	labels []label
	rows   []int // the line of each label
	calib  *calibration
	// width and height are the picture's, 0 if it can't be read.
	width, height int
	// pointLabels is the path of the labels of the same points in a sequence, "" if there are none; pose is the camera's there, nil if it isn't known.
	pointLabels string
	sequence    *sequence
	pose        *matrix
}

type set struct {
	root      fs.FS
	frames    []*frame
	sequences []*sequence
}

// content is a folder's files: their names without the extension, and whether they are there.
func content(root fs.FS, dir, extension string) (names map[string]bool, strange []string) {
	names = map[string]bool{}
	entries, _ := fs.ReadDir(root, dir)
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), extension); ok && sixDigits(name) {
			names[name] = true
		} else {
			strange = append(strange, e.Name())
		}
	}
	return names, strange
}

func sixDigits(name string) bool {
	return len(name) == 6 && strings.Trim(name, "0123456789") == ""
}

func open(ctx context.Context, root fs.FS, _ string, f *check.Findings) (check.Set, error) {
	s := &set{root: root}
	folders := []struct{ dir, extension string }{{labelFolder, ".txt"}, {pictureFolder, ".png"}, {calibrationFolder, ".txt"}, {pointFolder, ".bin"}}
	found, all := make([]map[string]bool, len(folders)), map[string]bool{}
	for i, folder := range folders {
		var strange []string
		found[i], strange = content(root, folder.dir, folder.extension)
		for _, name := range strange {
			f.Add(ruleFrames, check.Place{File: path.Join(folder.dir, name)}, "a name of six digits and %s is wanted", folder.extension)
		}
		maps.Copy(all, found[i])
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		for i, folder := range folders {
			if !found[i][name] {
				f.Add(ruleFrames, check.Place{File: path.Join(folder.dir, name+folder.extension)}, "frame %s lacks this file", name)
			}
		}
		s.frames = append(s.frames, &frame{name: name})
	}
	if _, err := fs.Stat(root, "training"); err == nil || len(all) > 0 {
		s.checkLists(all, f)
	}
	for _, fr := range s.frames {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s.readFrame(fr, f)
	}
	return s, s.openSequences(ctx, f)
}

// lists are those of ImageSets.
const lists = "ImageSets"

// checkLists compares the lists of frames with the frames.
func (s *set) checkLists(frames map[string]bool, f *check.Findings) {
	of := map[string]map[string]bool{}
	for _, name := range []string{"train", "val", "trainval"} {
		file := path.Join(lists, name+".txt")
		text, err := fs.ReadFile(s.root, file)
		if err != nil {
			f.Add(ruleImageSets, check.Place{File: file}, "the list is missing: trainers don't start without it")
			continue
		}
		of[name] = map[string]bool{}
		for i, l := range rows(string(text)) {
			at := check.Place{File: file, Row: fmt.Sprintf("line %d", i+1)}
			switch {
			case !sixDigits(l):
				f.Add(ruleImageSets, at, "is %.20q, six digits are wanted", l)
			case of[name][l]:
				f.Add(ruleImageSets, at, "%s is in the list already", l)
			case !frames[l]:
				f.Add(ruleImageSets, at, "training has no frame %s", l)
			}
			of[name][l] = true
		}
	}
	for _, l := range slices.Sorted(maps.Keys(frames)) {
		if of["trainval"] != nil && !of["trainval"][l] {
			f.Add(ruleImageSets, check.Place{File: lists + "/trainval.txt"}, "frame %s of training isn't in the list", l)
		}
		if of["train"] != nil && of["val"] != nil && of["train"][l] == of["val"][l] {
			f.Add(ruleImageSets, check.Place{File: lists + "/train.txt"}, "frame %s must be in either train or val", l)
		}
	}
}

// readFrame reads labels, calibration and the picture's size.
func (s *set) readFrame(fr *frame, f *check.Findings) {
	file := path.Join(labelFolder, fr.name+".txt")
	if text, err := fs.ReadFile(s.root, file); err == nil {
		for i, l := range rows(string(text)) {
			s.readLabel(fr, i+1, l, f)
		}
	}
	file = path.Join(calibrationFolder, fr.name+".txt")
	if text, err := fs.ReadFile(s.root, file); err == nil {
		if c, err := parseCalibration(string(text)); err != nil {
			f.Add(ruleCalibration, check.Place{File: file}, "%v", err)
		} else {
			fr.calib = c
		}
	}
	file = path.Join(pictureFolder, fr.name+".png")
	if _, err := fs.Stat(s.root, file); err == nil {
		if fr.width, fr.height, err = check.PictureSize(s.root, file); err != nil {
			f.Add(rulePicture, check.Place{File: file}, "can't be read: %v", err)
		}
	}
}

// at is the place of a label.
func (fr *frame) at(row int) check.Place {
	return check.Place{File: path.Join(labelFolder, fr.name+".txt"), Row: fmt.Sprintf("line %d", row)}
}

// Check checks frames one by one, then what only many of them show.
func (s *set) Check(ctx context.Context, f *check.Findings) error {
	e := newEvidence()
	for _, fr := range s.frames {
		if err := ctx.Err(); err != nil {
			return err
		}
		for i := range fr.labels {
			s.checkLabel(fr, i, f)
		}
		if fr.calib != nil {
			s.checkCalibration(fr, f)
		}
		s.checkPoints(fr, e, f)
		e.addPictures(fr, f)
	}
	e.judge(f)
	if len(s.frames) > 0 && !slices.ContainsFunc(s.frames, func(fr *frame) bool { return len(fr.labels) > 0 }) {
		f.Add(ruleLabels, check.Place{File: labelFolder}, "no frame has a label that can be read: nothing can be learnt from the set")
	}
	for _, q := range s.sequences {
		if err := s.checkSequence(ctx, q, f); err != nil {
			return err
		}
	}
	s.evaluateSelf(f)
	return nil
}

// occlusions are the words of KITTI, by their number.
var occlusions = map[int]string{0: "0 visible", 1: "1 partly hidden", 2: "2 largely hidden", 3: ""}

// Objects are the labels, except DontCare.
func (s *set) Objects() iter.Seq[check.Object] {
	return func(yield func(check.Object) bool) {
		for _, fr := range s.frames {
			for _, l := range fr.labels {
				if l.class == dontCare {
					continue
				}
				if !yield(check.Object{Category: l.class, Distance: math.Hypot(l.x, l.z), Occlusion: occlusions[l.occluded]}) {
					return
				}
			}
		}
	}
}

func (s *set) Frames() int { return len(s.frames) }

// maxDots is how many points are drawn over a picture.
const maxDots = 20_000

// Views draws the boxes in space, a cross on their front, the rectangles of what isn't labelled, and the lidar's points.
func (s *set) Views(i int) (name string, views []check.View) {
	fr := s.frames[i]
	if fr.width == 0 {
		return fr.name, nil
	}
	view := check.View{Channel: "image_2", File: path.Join(pictureFolder, fr.name+".png")}
	// A pixel's centre is an integer in KITTI.
	drawn := func(p [2]float64) [2]float64 { return [2]float64{p[0] + 0.5, p[1] + 0.5} }
	if fr.calib == nil {
		return fr.name, []check.View{view}
	}
	camera := &fr.calib.p[2]
	for _, l := range fr.labels {
		if l.class == dontCare {
			r := l.rectangle()
			for i, from := range r.corners() {
				view.Segments = append(view.Segments, check.Segment{From: drawn(from), To: drawn(r.corners()[(i+1)%4]), Category: l.class})
			}
			continue
		}
		corners := l.corners()
		for _, e := range edges {
			if a, b, ok := camera.project(corners[e[0]], corners[e[1]]); ok {
				view.Segments = append(view.Segments, check.Segment{From: drawn(a), To: drawn(b), Category: l.class})
			}
		}
	}
	points, _ := s.readPoints(fr)
	toCamera := fr.calib.toCamera()
	for i := 0; i < len(points); i += 1 + len(points)/maxDots {
		p := camera.apply(toCamera.apply(points[i].at()))
		if u, v := p[0]/p[2], p[1]/p[2]; p[2] > nearest && u >= -0.5 && v >= -0.5 && u < float64(fr.width)-0.5 && v < float64(fr.height)-0.5 {
			view.Dots = append(view.Dots, check.Dot{At: drawn([2]float64{u, v}), Depth: p[2]})
		}
	}
	return fr.name, []check.View{view}
}

func (r rectangle) corners() [4][2]float64 {
	return [4][2]float64{{r.left, r.top}, {r.right, r.top}, {r.right, r.bottom}, {r.left, r.bottom}}
}

// median returns that of values, which it sorts; 0 for none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.SortFunc(values, cmp.Compare)
	return values[len(values)/2]
}
