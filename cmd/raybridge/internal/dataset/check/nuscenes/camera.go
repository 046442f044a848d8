package nuscenes

import (
	"cmp"
	"math"
	"slices"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/dataset/check"
	"github.com/raybridge/raybridge/spatial"
)

// nearPlane is from which depth on a camera sees something, metres.
const nearPlane = 0.05

// edges are pairs of a box's corners. Bit 0 of a corner is x, bit 1 is y, bit 2 is z.
var edges = [12][2]int{{0, 1}, {2, 3}, {4, 5}, {6, 7}, {0, 2}, {1, 3}, {4, 6}, {5, 7}, {0, 4}, {1, 5}, {2, 6}, {3, 7}}

// lens is a camera of a sample_data at a place.
type lens struct {
	fromGlobal    spatial.Pose
	matrix        [3][3]float64
	width, height float64
}

// lensOf returns the camera as it is at an ego pose.
func lensOf(d *data, ego *egoPose) lens {
	return lens{ego.pose.Compose(d.sensor.pose).Inverse(), d.sensor.matrix, float64(d.width), float64(d.height)}
}

// pixel projects a point in the camera's frame, which lies before it.
func (l *lens) pixel(p mgl64.Vec3) [2]float64 {
	k := &l.matrix
	return [2]float64{(k[0][0]*p[0]+k[0][1]*p[1])/p[2] + k[0][2], k[1][1]*p[1]/p[2] + k[1][2]}
}

// within reports whether a pixel is in the picture.
func (l *lens) within(at [2]float64) bool {
	return at[0] >= 0 && at[1] >= 0 && at[0] < l.width && at[1] < l.height
}

// edges returns what of a box's edges lies before the camera, in pixels.
func (l *lens) edges(pose spatial.Pose, size mgl64.Vec3) (lines [][2][2]float64) {
	var corners [8]mgl64.Vec3
	inCamera := l.fromGlobal.Compose(pose)
	for i := range corners {
		sign := func(bit int) float64 { return float64(i>>bit&1) - 0.5 }
		corners[i] = inCamera.Apply(mgl64.Vec3{sign(0) * size[0], sign(1) * size[1], sign(2) * size[2]})
	}
	for _, e := range edges {
		a, b := corners[e[0]], corners[e[1]]
		if a[2] < b[2] {
			a, b = b, a
		}
		if a[2] <= nearPlane {
			continue
		}
		if b[2] < nearPlane {
			b = a.Add(b.Sub(a).Mul((a[2] - nearPlane) / (a[2] - b[2])))
		}
		lines = append(lines, [2][2]float64{l.pixel(a), l.pixel(b)})
	}
	return lines
}

// bounds are those of what the picture shows of a box: left, top, right, bottom. ok is false where it is out of sight. The outline is
// cut at the picture's edges, as the devkit does, and not the rectangle around it, which is larger where a box reaches past the camera.
func (l *lens) bounds(pose spatial.Pose, size mgl64.Vec3) (b [4]float64, ok bool) {
	var points [][2]float64
	for _, line := range l.edges(pose, size) {
		points = append(points, line[0], line[1])
	}
	outline := hull(points)
	for axis, most := range [2]float64{l.width, l.height} {
		outline = cut(outline, axis, 1, 0)
		outline = cut(outline, axis, -1, -most)
	}
	b = [4]float64{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}
	for _, p := range outline {
		b = [4]float64{min(b[0], p[0]), min(b[1], p[1]), max(b[2], p[0]), max(b[3], p[1])}
	}
	return b, b[0] < b[2] && b[1] < b[3]
}

// hull returns the corners of the convex hull of points, in order (Andrew's monotone chain).
func hull(points [][2]float64) (chain [][2]float64) {
	slices.SortFunc(points, func(a, b [2]float64) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	for range 2 {
		start := len(chain)
		for _, p := range points {
			for n := len(chain); n >= start+2; n-- {
				a, b := chain[n-2], chain[n-1]
				if (b[0]-a[0])*(p[1]-a[1]) > (b[1]-a[1])*(p[0]-a[0]) {
					break
				}
				chain = chain[:n-1]
			}
			chain = append(chain, p)
		}
		if len(chain) > 0 {
			chain = chain[:len(chain)-1]
		}
		slices.Reverse(points)
	}
	return chain
}

// cut returns what of a convex outline has sign times a coordinate of at least a value.
func cut(outline [][2]float64, axis int, sign, least float64) (within [][2]float64) {
	for i, a := range outline {
		b := outline[(i+1)%len(outline)]
		da, db := sign*a[axis]-least, sign*b[axis]-least
		if da >= 0 {
			within = append(within, a)
		}
		if da*db < 0 {
			t := da / (da - db)
			within = append(within, [2]float64{a[0] + t*(b[0]-a[0]), a[1] + t*(b[1]-a[1])})
		}
	}
	return within
}

// slack is by how many pixels bounds of a side's length may differ: what is drawn is a little larger than its box says at times.
func slack(side float64) float64 { return 2 + 0.03*side }

// thin reports whether bounds are within the slack of nothing.
func thin(b [4]float64) bool { return min(b[2]-b[0], b[3]-b[1]) <= slack(0) }

// inside reports whether bounds hold others.
func inside(outer, inner [4]float64) bool {
	x, y := slack(outer[2]-outer[0]), slack(outer[3]-outer[1])
	return inner[0] >= outer[0]-x && inner[1] >= outer[1]-y && inner[2] <= outer[2]+x && inner[3] <= outer[3]+y
}

// checkPictureBoxes compares what image_annotations says of a key frame's picture with boxes and points.
func (g *geometry) checkPictureBoxes(tallies []tally, d *data) {
	rows := g.pictures[d]
	if len(rows) == 0 || d.ego == nil || !d.sensor.isCamera {
		return
	}
	l := lensOf(d, d.ego)
	var judged, wrong []*picture
	for _, p := range rows {
		if p.box.sample != d.sample || d.stamp != d.sample.stamp && !g.stays(p.box) {
			continue
		}
		judged = append(judged, p)
		if !l.shows(p, p.box.pose) {
			wrong = append(wrong, p)
		}
		if i := slices.IndexFunc(tallies, func(t tally) bool { return t.box == p.box }); i >= 0 && (g.instant || g.stays(p.box)) {
			g.checkPoints(&l, p, &tallies[i])
		}
	}
	g.found.Measure("2-D boxes of pictures that fit the boxes", int64(len(judged)-len(wrong)), int64(len(judged)))
	if len(wrong) > 0 {
		g.late = append(g.late, func() { g.addPictures(d, judged, wrong) })
	}
}

// shows reports whether a box at a pose, projected, holds the pixels that show it, and is where the set says that it is in the picture.
// One that is out of sight by less than the slack may be in the picture's edge: sets count pixels from their corners or their centres.
func (l *lens) shows(p *picture, pose spatial.Pose) bool {
	b, ok := l.bounds(pose, p.box.size)
	if !ok && thin(p.amodal) && (!p.isVisible || thin(p.visible)) {
		return true
	}
	return inside(b, p.amodal) && inside(p.amodal, b) && (!p.isVisible || inside(b, p.visible))
}

// addPictures adds the boxes that aren't where a picture shows them. Where they are at the pose of the picture's neighbour, that is the fault.
func (g *geometry) addPictures(d *data, judged, wrong []*picture) {
	for _, token := range []string{d.prev, d.next} {
		other := g.datas[token]
		if other == nil || other.ego == nil || 2*len(wrong) < len(judged) {
			continue
		}
		l := lensOf(d, other.ego)
		elsewhere := func(p *picture) bool {
			v, _ := g.velocity(p.box)
			pose := p.box.pose
			pose.Position = pose.Position.Add(v.Mul(float64(other.stamp-d.stamp) / 1e6))
			return !l.shows(p, pose)
		}
		if !slices.ContainsFunc(wrong, elsewhere) {
			g.found.Add(ruleCameraTime, d.at(), "the picture shows what was there %d µs before its timestamp", d.stamp-other.stamp)
			return
		}
	}
	l := lensOf(d, d.ego)
	for _, p := range wrong {
		b, _ := l.bounds(p.box.pose, p.box.size)
		g.found.Add(ruleBoxOnPicture, check.Place{File: d.file, Row: p.box.token}, "the box of the %s lies at %.0f in the picture, which shows it at %.0f of %.0f", p.box.instance.category.name, b, p.visible, p.amodal)
	}
}

// checkPoints projects an object's points into a picture.
func (g *geometry) checkPoints(l *lens, p *picture, t *tally) {
	in, all := 0, 0
	for _, point := range t.points {
		c := l.fromGlobal.Apply(point)
		if c[2] <= nearPlane {
			continue
		}
		at := l.pixel(c)
		if !l.within(at) {
			continue
		}
		all++
		if at[0] >= p.amodal[0]-1 && at[1] >= p.amodal[1]-1 && at[0] <= p.amodal[2]+1 && at[1] <= p.amodal[3]+1 {
			in++
		}
	}
	g.found.Measure("lidar points within the bounds of their object in the picture", int64(in), int64(all))
	if all >= 5 && 10*in < 9*all {
		category := p.box.instance.category.name
		g.late = append(g.late, func() {
			g.found.Add(ruleLidarOnCamera, check.Place{File: p.data.file, Row: p.box.token}, "%d of the %d lidar points of the %s land on it in the picture", in, all, category)
		})
	}
}
