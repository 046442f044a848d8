package kitti

import "math"

// local returns a point of the rectified camera frame in the box's own: forward along its heading, right of it, and up from its bottom face.
func (l *label) local(p vector) (forward, right, up float64) {
	sin, cos := math.Sincos(l.ry)
	dx, dz := p[0]-l.x, p[2]-l.z
	return dx*cos - dz*sin, -dx*sin - dz*cos, l.y - p[1]
}

// contains reports whether a point is in the box or within slack of it, metres.
func (l *label) contains(p vector, slack float64) bool {
	forward, right, up := l.local(p)
	return math.Abs(forward) <= l.length/2+slack && math.Abs(right) <= l.width/2+slack && up >= -slack && up <= l.height+slack
}

// corners are those of the bottom face, then those of the top face above them.
func (l *label) corners() (all [8]vector) {
	sin, cos := math.Sincos(l.ry)
	for i, side := range [4][2]float64{{1, 1}, {1, -1}, {-1, -1}, {-1, 1}} {
		forward, right := side[0]*l.length/2, side[1]*l.width/2
		all[i] = vector{l.x + forward*cos - right*sin, l.y, l.z - forward*sin - right*cos}
		all[i+4] = vector{all[i][0], l.y - l.height, all[i][2]}
	}
	return all
}

// edges are a box's, as numbers of corners. The last two cross the front face.
var edges = [14][2]int{{0, 1}, {1, 2}, {2, 3}, {3, 0}, {4, 5}, {5, 6}, {6, 7}, {7, 4}, {0, 4}, {1, 5}, {2, 6}, {3, 7}, {0, 5}, {1, 4}}

// nearest is the depth in metres that lines are cut at: what is behind a camera has no place in its picture.
const nearest = 0.1

// project returns a line in a camera's picture, as far as it is before the camera.
func (m *matrix) project(from, to vector) (a, b [2]float64, ok bool) {
	p, q := m.apply(from), m.apply(to)
	if p[2] < nearest && q[2] < nearest {
		return a, b, false
	}
	if p[2] < nearest || q[2] < nearest {
		t := (nearest - p[2]) / (q[2] - p[2])
		var cut vector
		for i := range cut {
			cut[i] = p[i] + t*(q[i]-p[i])
		}
		if p[2] < nearest {
			p = cut
		} else {
			q = cut
		}
	}
	return [2]float64{p[0] / p[2], p[1] / p[2]}, [2]float64{q[0] / q[2], q[1] / q[2]}, true
}

// A rectangle is a box in a picture, in pixels.
type rectangle struct{ left, top, right, bottom float64 }

func (r rectangle) area() float64 { return max(r.right-r.left, 0) * max(r.bottom-r.top, 0) }

// both is what two rectangles share.
func (r rectangle) both(o rectangle) rectangle {
	return rectangle{max(r.left, o.left), max(r.top, o.top), min(r.right, o.right), min(r.bottom, o.bottom)}
}

// iou returns intersection over union, 0 where a rectangle is empty.
func (r rectangle) iou(o rectangle) float64 {
	both := r.both(o).area()
	if both == 0 {
		return 0
	}
	return both / (r.area() + o.area() - both)
}

func (l *label) rectangle() rectangle { return rectangle{l.left, l.top, l.right, l.bottom} }

// projected is the tight rectangle around the box in a camera's picture, empty if it is behind the camera.
func (l *label) projected(camera *matrix) rectangle {
	corners := l.corners()
	r := rectangle{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}
	for _, e := range edges[:12] {
		if a, b, ok := camera.project(corners[e[0]], corners[e[1]]); ok {
			r.left, r.right = min(r.left, a[0], b[0]), max(r.right, a[0], b[0])
			r.top, r.bottom = min(r.top, a[1], b[1]), max(r.bottom, a[1], b[1])
		}
	}
	return r
}

// footprint is the box seen from above: x and z of its corners, in order.
func (l *label) footprint() (corners [][2]float64) {
	for _, c := range l.corners() {
		corners = append(corners, [2]float64{c[0], c[2]})
	}
	return corners[:4]
}

// shared is the area that two footprints share: one is cut by each edge of the other.
func shared(a, b [][2]float64) float64 {
	for i := range b {
		from, to := b[i], b[(i+1)%len(b)]
		side := func(p [2]float64) float64 { return (to[0]-from[0])*(p[1]-from[1]) - (to[1]-from[1])*(p[0]-from[0]) }
		inside := side(b[(i+2)%len(b)])
		var cut [][2]float64
		for j := range a {
			p, q := a[j], a[(j+1)%len(a)]
			sp, sq := side(p)*inside, side(q)*inside
			if sp >= 0 {
				cut = append(cut, p)
			}
			if sp*sq < 0 {
				t := sp / (sp - sq)
				cut = append(cut, [2]float64{p[0] + t*(q[0]-p[0]), p[1] + t*(q[1]-p[1])})
			}
		}
		if a = cut; len(a) == 0 {
			return 0
		}
	}
	area := 0.0
	for i := range a {
		p, q := a[i], a[(i+1)%len(a)]
		area += p[0]*q[1] - p[1]*q[0]
	}
	return math.Abs(area) / 2
}

// overlapAbove is intersection over union of two boxes seen from above, overlapInSpace that of their volumes.
func overlapAbove(a, b *label) float64 {
	both := shared(a.footprint(), b.footprint())
	if both <= 0 {
		return 0
	}
	return both / (a.length*a.width + b.length*b.width - both)
}

func overlapInSpace(a, b *label) float64 {
	high := min(a.y, b.y) - max(a.y-a.height, b.y-b.height)
	both := shared(a.footprint(), b.footprint()) * high
	if both <= 0 {
		return 0
	}
	return both / (a.length*a.width*a.height + b.length*b.width*b.height - both)
}

// overlapInPicture is intersection over union of two boxes in the picture.
func overlapInPicture(a, b *label) float64 { return a.rectangle().iou(b.rectangle()) }
