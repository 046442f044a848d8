package kitti

import (
	"math"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/dataset/check"
)

// evidence is what points and pictures of a whole set say of the boxes: how well they fit as they are written, and as they would be if a known mistake were taken back. Some points
// are always beside their box, so only many boxes show a mistake.
type evidence struct {
	near     int                // points near boxes
	inside   int                // of these in their box
	repaired [len(mistakes)]int // in the box without that mistake
	labelled bool               // points are those that bear the label of an object
	wide     int                // vehicles that are wider than long
	vehicles int
	clear    int                  // vehicles near by that nothing hides
	empty    int                  // and of these such that hold no point
	still    share                // points of objects that stand still, in a box
	moving   share                // and those of objects that move
	fills    []float64            // how visible boxes in the picture fill their projection
	cameras  [len(views)]alikeSum // how well they fit by P2, and by other matrices
	edges    clipped
	tracks   map[track]vector // where a box was when it was last seen, in the sequence's frame
	ahead    int              // boxes that moved where they look
	back     int              // and the other way
	example  string           // where boxes are
}

// share is part of whole.
type share struct{ part, whole int64 }

// A mistake is one that whole sets have.
type mistake struct {
	rule, message string
	undo          func(l *label)
}

const quarter = math.Pi / 2

// mistakes are those that points show.
var mistakes = [...]mistake{
	{ruleBoxBottom, "columns 12 to 14 seem to be the box's middle: the centre of the bottom face is wanted", func(l *label) { l.y += l.height / 2 }},
	{ruleBoxSize, "columns 9 to 11 seem to be height, length, width: height, width, length is wanted", func(l *label) { l.width, l.length = l.length, l.width }},
	{ruleBoxSize, "columns 9 to 11 seem to be length, width, height: height, width, length is wanted", func(l *label) { l.height, l.length = l.length, l.height }},
	{ruleBoxSize, "columns 9 to 11 seem to be width, height, length: height, width, length is wanted", func(l *label) { l.height, l.width = l.width, l.height }},
	{ruleBoxSize, "columns 9 to 11 seem to be length, height, width: height, width, length is wanted", func(l *label) { l.height, l.width, l.length = l.width, l.length, l.height }},
	{ruleBoxSize, "columns 9 to 11 seem to be width, length, height: height, width, length is wanted", func(l *label) { l.height, l.width, l.length = l.length, l.height, l.width }},
	{ruleBoxHeading, "ry seems to be 90 degrees off: 0 looks along the camera's x", func(l *label) { l.ry += quarter }},
	{ruleBoxHeading, "ry seems to have the other sign: it turns about y, which is down", func(l *label) { l.ry = -l.ry }},
	{ruleBoxHeading, "ry seems to have the other sign and to be 90 degrees off: 0 looks along the camera's x, and it turns about y, which is down", func(l *label) { l.ry = quarter - l.ry }},
}

// The mistakes that turn a box by 90 degrees and swap its width and length look the same.
const (
	swapped = 1
	turned  = 6
)

// views are the matrices that boxes are projected by. The first is right.
var views = [...]struct {
	name   string
	matrix func(c *calibration) matrix
}{
	{"P2", func(c *calibration) matrix { return c.p[2] }},
	{"P0", func(c *calibration) matrix { return c.p[0] }},
	{"P1", func(c *calibration) matrix { return c.p[1] }},
	{"P3", func(c *calibration) matrix { return c.p[3] }},
	{"P2 without its fourth column", func(c *calibration) matrix {
		m := c.p[2]
		m[3], m[7], m[11] = 0, 0, 0
		return m
	}},
}

// alikeSum is the sum of overlaps.
type alikeSum float64

// A track is what an object is known by from frame to frame.
type track struct {
	sequence *sequence
	object   pointLabel
}

// clipped counts boxes at the picture's edges, where only pixels that are counted from the wrong number go beyond.
type clipped struct{ atZero, beyond int }

func newEvidence() *evidence { return &evidence{tracks: map[track]vector{}} }

// slack is how far a point may be from its box, metres: numbers are printed to a centimetre, and lidars have noise.
const slack = 0.1

// add takes the points of a frame. With labels only those of objects count; else all that are near a box.
func (e *evidence) add(fr *frame, points []point, labels []pointLabel) {
	toCamera := fr.calib.toCamera()
	places, of := make([]vector, 0, len(points)), make([]pointLabel, 0, len(points))
	for i, p := range points {
		if labels != nil && !labels[i].isThing() {
			continue
		}
		places = append(places, toCamera.apply(p.at()))
		if labels != nil {
			of = append(of, labels[i])
		}
	}
	e.labelled = e.labelled || labels != nil
	for i := range fr.labels {
		if l := &fr.labels[i]; l.class != dontCare && l.length > 0 && l.width > 0 && l.height > 0 {
			e.addBox(l, places)
			e.example = fr.at(fr.rows[i]).File
		}
	}
	if labels != nil {
		e.addObjects(fr, places, of)
	}
}

// nearBy is the distance in metres within which a coarse lidar, too, meets every vehicle.
const nearBy = 20

// reach is the distance from the middle of a box's bottom at which points are still looked at.
func (l *label) reach() float64 {
	return math.Sqrt(l.length*l.length+l.width*l.width+l.height*l.height)/2 + l.height/2 + slack
}

func (e *evidence) addBox(l *label, places []vector) {
	var candidates [len(mistakes)]label
	for i, m := range mistakes {
		candidates[i] = *l
		m.undo(&candidates[i])
	}
	if l.class == "Car" || l.class == "Van" || l.class == "Truck" {
		e.vehicles++
		if l.width > l.length {
			e.wide++
		}
	}
	reach, before := l.reach(), e.inside
	for _, p := range places {
		if dx, dy, dz := p[0]-l.x, p[1]-l.y, p[2]-l.z; dx*dx+dy*dy+dz*dz > reach*reach {
			continue
		}
		e.near++
		if l.contains(p, slack) {
			e.inside++
		}
		for i := range candidates {
			if candidates[i].contains(p, slack) {
				e.repaired[i]++
			}
		}
	}
	if l.class != "Pedestrian" && l.occluded == 0 && math.Hypot(l.x, l.z) < nearBy {
		e.clear++
		if e.inside == before {
			e.empty++
		}
	}
}

// leastGroup is how many points an object must have to be looked at.
const leastGroup = 5

// addObjects counts how many points of each object in the picture are in one box. Objects without a box near them were left out by the set's own limits.
func (e *evidence) addObjects(fr *frame, places []vector, of []pointLabel) {
	groups := map[pointLabel][]vector{}
	for i, l := range of {
		if l.instance != 0 {
			groups[l] = append(groups[l], places[i])
		}
	}
	for l, group := range groups {
		if len(group) < leastGroup {
			continue
		}
		var middle vector
		for _, p := range group {
			for i := range middle {
				middle[i] += p[i] / float64(len(group))
			}
		}
		box, held := fr.holder(group, middle)
		if box == nil || !fr.sees(middle) {
			continue
		}
		if 2*held > int64(len(group)) {
			e.follow(fr, l, box)
		}
		counted := &e.still
		if l.isMoving() {
			counted = &e.moving
		}
		counted.whole += int64(len(group))
		counted.part += held
	}
}

// sees reports whether a place is in the picture: only what is there has boxes.
func (fr *frame) sees(p vector) bool {
	p = fr.calib.p[2].apply(p)
	u, v := p[0]/p[2], p[1]/p[2]
	return p[2] > nearest && u > 0 && v > 0 && u < float64(fr.width-1) && v < float64(fr.height-1)
}

// holder returns the box that holds most points of a group, of those whose reach the group's middle is in, and how many it holds. It is nil if there is none.
func (fr *frame) holder(group []vector, middle vector) (box *label, most int64) {
	for i := range fr.labels {
		l := &fr.labels[i]
		if l.class == dontCare || distance(middle, vector{l.x, l.y - l.height/2, l.z}) > l.reach() {
			continue
		}
		held := int64(0)
		for _, p := range group {
			if l.contains(p, slack) {
				held++
			}
		}
		if box == nil || held > most {
			box, most = l, held
		}
	}
	return box, most
}

// leastStep is how far in metres a box must move to show where it looks.
const leastStep = 0.1

// follow compares the way that an object took since it was last seen with where its box looks: points alone don't tell front from back.
func (e *evidence) follow(fr *frame, of pointLabel, box *label) {
	if fr.pose == nil {
		return
	}
	key, now := track{fr.sequence, of}, fr.pose.apply(vector{box.x, box.y, box.z})
	before, known := e.tracks[key]
	e.tracks[key] = now
	if !known || distance(before, now) < leastStep {
		return
	}
	sin, cos := math.Sincos(box.ry)
	front := fr.pose.apply(vector{box.x + cos, box.y, box.z - sin})
	along := 0.0
	for i := range now {
		along += (now[i] - before[i]) * (front[i] - now[i])
	}
	if along > 0 {
		e.ahead++
	} else {
		e.back++
	}
}

// addPictures compares the boxes in the picture with the projections of those in space.
func (e *evidence) addPictures(fr *frame, f *check.Findings) {
	if fr.width == 0 {
		return
	}
	whole := rectangle{0, 0, float64(fr.width - 1), float64(fr.height - 1)}
	for i := range fr.labels {
		l := &fr.labels[i]
		if l.left < 1 || l.top < 1 {
			e.edges.atZero++
		}
		if l.right > whole.right+printed && l.right <= whole.right+1+printed || l.bottom > whole.bottom+printed && l.bottom <= whole.bottom+1+printed {
			e.edges.beyond++
		}
		if l.class == dontCare || fr.calib == nil {
			continue
		}
		if e.example == "" {
			e.example = fr.at(fr.rows[i]).File
		}
		checkProjection(fr, i, whole, f)
		for j, v := range views {
			m := v.matrix(fr.calib)
			iou := l.rectangle().iou(l.projected(&m).both(whole))
			e.cameras[j] += alikeSum(iou)
			if j == 0 && l.occluded == 0 {
				e.fills = append(e.fills, iou)
			}
		}
	}
}

// checkProjection looks for a box that leaves the projection of its box in space by more than rounding and a little tilt of the camera explain: boxes in space turn about the camera's y alone.
func checkProjection(fr *frame, i int, whole rectangle, f *check.Findings) {
	l := &fr.labels[i]
	in := l.projected(&fr.calib.p[2])
	pixels := 3 + 0.03*(l.bottom-l.top)
	if r := l.rectangle(); r.left < in.left-pixels || r.top < in.top-pixels || r.right > in.right+pixels || r.bottom > in.bottom+pixels {
		in = in.both(whole)
		f.Add(ruleProjection, fr.at(fr.rows[i]), "the box %.0f leaves the projection of the box in space, %.0f", r, in)
	}
}

const (
	// muchBetter is how many more points boxes must hold without a mistake to say that it was made, leastEvidence how many points must be there.
	muchBetter    = 1.3
	leastEvidence = 30
	// leastInBox is the share of the points of objects that stand still which must be in boxes.
	leastInBox = 0.95
	// leastFill is how much of a projection its box fills at least in the middle of all that are visible: objects are rounder than boxes.
	leastFill = 0.5
	// otherCamera is how much better another matrix must fit, as a sum of overlaps.
	otherCamera = 1.05
)

// judge adds what the whole set shows.
func (e *evidence) judge(f *check.Findings) {
	at := check.Place{File: e.example}
	best := -1
	for i, n := range e.repaired {
		if n >= leastEvidence && float64(n) > muchBetter*float64(e.inside) && (best < 0 || n > e.repaired[best]) {
			best = i
		}
	}
	if best == swapped && 2*e.wide < e.vehicles {
		best = turned
	}
	if best >= 0 {
		f.Add(mistakes[best].rule, at, "%s: boxes of the set hold %d points, and would hold %d", mistakes[best].message, e.inside, e.repaired[best])
	}
	if e.back > e.ahead && e.back >= leastGroup {
		f.Add(ruleBoxHeading, at, "ry seems to be 180 degrees off: of %d steps of objects that move %d go backwards", e.back+e.ahead, e.back)
	}
	if e.labelled {
		f.Measure("points of objects that stand still, in their box", e.still.part, e.still.whole)
		f.Measure("points of objects that move, in their box", e.moving.part, e.moving.whole)
		if float64(e.still.part) < leastInBox*float64(e.still.whole) {
			f.Add(ruleBoxPoints, at, "%d of %d points of objects that stand still are in their box: a pose, an axis or a time is wrong", e.still.part, e.still.whole)
		}
	}
	if e.clear >= leastGroup && 2*e.empty > e.clear {
		f.Add(ruleBoxPoints, at, "%d of %d vehicles that nothing hides, nearer than %d m, hold no point: Tr_velo_to_cam, an axis or a time is wrong", e.empty, e.clear, nearBy)
	}
	e.judgePictures(at, f)
}

func (e *evidence) judgePictures(at check.Place, f *check.Findings) {
	if e.edges.beyond > 0 && e.edges.atZero == 0 {
		f.Add(rulePixelOrigin, at, "%d boxes reach one pixel beyond the picture, and none begins at its first: count from 0", e.edges.beyond)
	}
	best := 0
	for i, sum := range e.cameras {
		if sum > e.cameras[best] {
			best = i
		}
	}
	if best > 0 && e.cameras[best] > otherCamera*e.cameras[0] {
		f.Add(ruleCameraMatrix, at, "boxes in space fit those in the picture better by %s: overlaps are %.2f instead of %.2f in the mean",
			views[best].name, float64(e.cameras[best])/float64(max(len(e.fills), 1)), float64(e.cameras[0])/float64(max(len(e.fills), 1)))
	}
	if middle := median(e.fills); len(e.fills) > 0 && middle < leastFill {
		f.Add(ruleProjection, at, "half of the visible boxes overlap the projection of their box in space by less than %.2f: P2, a pose or an axis is wrong", middle)
	}
}
