package scene

import (
	"math"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// sweepMargin covers float32 rounding of the boxes that movers sweep, metres.
const sweepMargin = 1e-3

// sweeping is what a mover's triangles are like on its way.
type sweeping struct {
	stretch mgl64.Mat3
	jointed bool          // the way between keys leads through the middles
	at      simtime.Stamp // the time that the shape is of
}

// sweep returns the box that the mover's triangles stay in while it goes through the keys and
// the middles between them. It holds the boxes there, and for the turns from one to the next
// how far an arc bends away from its chord.
func (m *Mover) sweep(keys, middles []spatial.Pose, how sweeping) (box prim) {
	low, high := m.Bounds(how.at)
	centre, half := low.Add(high).Mul(0.5), high.Sub(low).Mul(0.5)
	centre, half = how.stretch.Mul3x1(centre), absolute(how.stretch).Mul3x1(half)
	s := sweptBox{
		centre: centre, half: half,
		lo: mgl64.Vec3{math.Inf(1), math.Inf(1), math.Inf(1)}, hi: mgl64.Vec3{math.Inf(-1), math.Inf(-1), math.Inf(-1)},
	}
	reach := centre.Len() + half.Len()
	bend := 0.0
	for k := range keys {
		s.add(&keys[k])
		if k == len(keys)-1 {
			break
		}
		if how.jointed {
			s.add(&middles[k])
		}
		// Half the turn has the quaternions' product as cosine.
		cos := min(math.Abs(keys[k].Orientation.Dot(keys[k+1].Orientation)), 1)
		bend = max(bend, reach*(1-cos))
	}
	for a := range 3 {
		box.min[a], box.max[a] = float32(s.lo[a]-bend-sweepMargin), float32(s.hi[a]+bend+sweepMargin)
	}
	return box
}

// sweptBox grows over a box at several poses.
type sweptBox struct {
	centre, half mgl64.Vec3
	lo, hi       mgl64.Vec3
}

func (s *sweptBox) add(pose *spatial.Pose) {
	r := rotationRows(&pose.Orientation)
	for a := range 3 {
		x := &r[a]
		c := x[0]*s.centre[0] + x[1]*s.centre[1] + x[2]*s.centre[2] + pose.Position[a]
		e := math.Abs(x[0])*s.half[0] + math.Abs(x[1])*s.half[1] + math.Abs(x[2])*s.half[2]
		s.lo[a], s.hi[a] = min(s.lo[a], c-e), max(s.hi[a], c+e)
	}
}

// rotationRows returns the rows of a unit quaternion's rotation matrix.
func rotationRows(q *mgl64.Quat) [3]mgl64.Vec3 {
	w, x, y, z := q.W, q.V[0], q.V[1], q.V[2]
	return [3]mgl64.Vec3{
		{1 - 2*(y*y+z*z), 2 * (x*y - w*z), 2 * (x*z + w*y)},
		{2 * (x*y + w*z), 1 - 2*(x*x+z*z), 2 * (y*z - w*x)},
		{2 * (x*z - w*y), 2 * (y*z + w*x), 1 - 2*(x*x+y*y)},
	}
}

func absolute(m mgl64.Mat3) mgl64.Mat3 {
	for i := range m {
		m[i] = math.Abs(m[i])
	}
	return m
}

// moverTree is the hierarchy over the movers' boxes, built again for each capture without
// allocating. Its leaves are single movers.
type moverTree struct {
	boxes []prim
	nodes []BVHNode
}

func (t *moverTree) reserve(movers int) {
	t.boxes = make([]prim, 0, movers)
	t.nodes = make([]BVHNode, 0, max(movers, 1)) // each has two children or more
}

func (t *moverTree) reset() { t.boxes, t.nodes = t.boxes[:0], t.nodes[:0] }

// add takes a mover in. One whose place is NaN is left out: its box would be that of all
// that share a node with it.
func (t *moverTree) add(mover int, box prim) {
	for a := range 3 {
		if !(box.min[a] <= box.max[a]) {
			return
		}
	}
	box.index = int32(mover)
	t.boxes = append(t.boxes, box)
}

// build returns the root's reference, 0 without movers.
func (t *moverTree) build() Ref {
	if len(t.boxes) == 0 {
		return 0
	}
	return t.subtree(t.boxes)
}

// subtree makes a node of up to four groups of boxes. They are halved and halved again at the
// median of the axis along which their centres spread most.
func (t *moverTree) subtree(boxes []prim) Ref {
	if len(boxes) == 1 {
		return leafRef(int(boxes[0].index), 1, false)
	}
	slot := len(t.nodes)
	t.nodes = append(t.nodes, BVHNode{})
	groups := [4][]prim{}
	half := halve(boxes)
	q1, q3 := halve(boxes[:half]), half+halve(boxes[half:])
	groups[0], groups[1], groups[2], groups[3] = boxes[:q1], boxes[q1:half], boxes[half:q3], boxes[q3:]
	var node BVHNode
	for i, g := range groups {
		box := emptyBin
		for k := range g {
			box.add(&g[k].min, &g[k].max)
		}
		for a := range 3 {
			node[2*a][i], node[2*a+1][i] = box.min[a], box.max[a]
		}
		if len(g) > 0 {
			node[6][i] = math.Float32frombits(uint32(t.subtree(g)))
		}
	}
	t.nodes[slot] = node
	return innerRef(slot)
}

// halve partitions boxes about their median centre on the widest axis and
// returns the first of the upper half.
func halve(boxes []prim) int {
	if len(boxes) < 2 {
		return len(boxes)
	}
	centres := emptyBin
	for i := range boxes {
		c := boxes[i].centre()
		centres.add(&c, &c)
	}
	axis := 0
	for a := range 3 {
		if centres.max[a]-centres.min[a] > centres.max[axis]-centres.min[axis] {
			axis = a
		}
	}
	mid := (len(boxes) + 1) / 2
	selectNth(boxes, mid, axis)
	return mid
}

// centre returns twice the middle of the box.
func (p *prim) centre() [3]float32 {
	return [3]float32{p.min[0] + p.max[0], p.min[1] + p.max[1], p.min[2] + p.max[2]}
}

// selectNth orders boxes so that those before nth have centres not above those
// from nth on (Hoare's selection).
func selectNth(boxes []prim, nth, axis int) {
	lo, hi := 0, len(boxes)-1
	for lo < hi {
		pivot := boxes[(lo+hi)/2].centre()[axis]
		i, j := lo, hi
		for i <= j {
			for boxes[i].centre()[axis] < pivot {
				i++
			}
			for boxes[j].centre()[axis] > pivot {
				j--
			}
			if i <= j {
				boxes[i], boxes[j] = boxes[j], boxes[i]
				i++
				j--
			}
		}
		switch {
		case nth <= j:
			hi = j
		case nth >= i:
			lo = i
		default:
			return
		}
	}
}
