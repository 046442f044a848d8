package scene

import (
	"context"
	"math"
	"sync"
)

// Costs of the surface area heuristic, relative to each other: visiting a node
// and testing a triangle.
const (
	costNode     = 1.0
	costTriangle = 0.6
)

// The number of planes, less one, that are tried on each axis: more for the
// few large nodes, whose splits every ray meets.
const (
	largeNode = 256 // prims
	largeBins = 64
	smallBins = 8
)

func binsFor(prims int) int {
	if prims >= largeNode {
		return largeBins
	}
	return smallBins
}

// parallelPrims is the size of a subtree below which it isn't handed to
// another goroutine.
const parallelPrims = 8192

// prim is one triangle's box on its way into a hierarchy.
type prim struct {
	min, max [3]float32
	index    int32
}

// binaryNode is a node of the two-wide tree from which the four-wide one is
// collapsed. A leaf has count > 0 and its prims at first; an inner node has its
// children at left and right.
type binaryNode struct {
	min, max     [3]float32
	first, count int32
	left, right  int32
}

func (n *binaryNode) area() float32 { return halfArea(n.min, n.max) }

func halfArea(lo, hi [3]float32) float32 {
	x, y, z := hi[0]-lo[0], hi[1]-lo[1], hi[2]-lo[2]
	return x*y + y*z + z*x
}

// treeBuilder builds a binary tree by binned surface area heuristic (Wald, On
// fast Construction of SAH-based Bounding Volume Hierarchies, 2007). The tree
// depends on the prims alone, not on the number of workers: a subtree of k
// prims owns a run of 2k-1 node slots.
type treeBuilder struct {
	ctx   context.Context
	prims []prim
	// balanced halves at the median instead: a worse tree, but never a deep one.
	balanced bool
	nodes    []binaryNode
	workers  chan struct{} // tokens of the goroutines that may still be started
	group    sync.WaitGroup
}

// buildTree sorts prims into the order of the leaves of a tree over them.
// workers is how many goroutines build.
func buildTree(ctx context.Context, prims []prim, workers int, balanced bool) ([]binaryNode, error) {
	b := &treeBuilder{
		ctx: ctx, prims: prims, balanced: balanced,
		nodes:   make([]binaryNode, 2*len(prims)-1),
		workers: make(chan struct{}, workers-1),
	}
	b.build(0, 0, len(prims))
	b.group.Wait()
	return b.nodes, ctx.Err()
}

// build makes the subtree of prims [lo, hi) at node slot at.
func (b *treeBuilder) build(at, lo, hi int) {
	for {
		if hi-lo >= parallelPrims && b.ctx.Err() != nil {
			return
		}
		node := &b.nodes[at]
		mid := b.split(node, lo, hi)
		if mid < 0 {
			node.first, node.count = int32(lo), int32(hi-lo)
			return
		}
		left, right := at+1, at+2*(mid-lo)
		node.left, node.right = int32(left), int32(right)
		b.descend(left, lo, mid)
		at, lo = right, mid
	}
}

// descend builds a subtree on another goroutine if it is worth it and one is free.
func (b *treeBuilder) descend(at, lo, hi int) {
	if hi-lo >= parallelPrims {
		select {
		case b.workers <- struct{}{}:
			b.group.Add(1)
			go func() {
				defer b.group.Done()
				defer func() { <-b.workers }()
				b.build(at, lo, hi)
			}()
			return
		default:
		}
	}
	b.build(at, lo, hi)
}

// bin gathers the prims whose centres fall between two planes.
type bin struct {
	min, max [3]float32
	count    int32
}

var emptyBin = bin{
	min: [3]float32{math.MaxFloat32, math.MaxFloat32, math.MaxFloat32},
	max: [3]float32{-math.MaxFloat32, -math.MaxFloat32, -math.MaxFloat32},
}

func (b *bin) add(lo, hi *[3]float32) {
	b.min[0], b.min[1], b.min[2] = min(b.min[0], lo[0]), min(b.min[1], lo[1]), min(b.min[2], lo[2])
	b.max[0], b.max[1], b.max[2] = max(b.max[0], hi[0]), max(b.max[1], hi[1]), max(b.max[2], hi[2])
}

// split sets the node's box, and partitions prims [lo, hi); it returns the
// first of the right half, or -1 where a leaf is cheaper.
func (b *treeBuilder) split(node *binaryNode, lo, hi int) int {
	prims := b.prims[lo:hi]
	box, centres := emptyBin, emptyBin
	for i := range prims {
		p := &prims[i]
		box.add(&p.min, &p.max)
		c := [3]float32{p.min[0] + p.max[0], p.min[1] + p.max[1], p.min[2] + p.max[2]}
		centres.add(&c, &c)
	}
	node.min, node.max = box.min, box.max
	if len(prims) == 1 || b.balanced && len(prims) <= maxLeaf {
		return -1
	}
	if b.balanced {
		return lo + halve(prims)
	}
	bins := binsFor(len(prims))
	var scale [3]float32
	for a := range 3 {
		if d := centres.max[a] - centres.min[a]; d > 0 {
			scale[a] = float32(bins) * 0.9999 / d
		}
	}
	axis, plane, cost := bestSplit(prims, bins, centres.min, scale)
	area := halfArea(box.min, box.max)
	if axis < 0 || (len(prims) <= maxLeaf && costNode*area+costTriangle*cost >= costTriangle*area*float32(len(prims))) {
		if len(prims) <= maxLeaf {
			return -1
		}
		if axis < 0 {
			return (lo + hi) / 2 // all centres in one place: any halves will do
		}
	}
	return lo + partition(prims, slab{axis, plane, centres.min[axis], scale[axis]})
}

// bestSplit returns the axis and the first bin of the right half with the least sum of area
// times count. The axis is -1 where all centres coincide.
func bestSplit(prims []prim, count int, origin, scale [3]float32) (axis, plane int, cost float32) {
	var bins [3][largeBins]bin
	for a := range 3 {
		for i := range count {
			bins[a][i] = emptyBin
		}
	}
	for i := range prims {
		p := &prims[i]
		for a := range 3 {
			e := &bins[a][int((p.min[a]+p.max[a]-origin[a])*scale[a])&(largeBins-1)]
			e.add(&p.min, &p.max)
			e.count++
		}
	}
	axis, cost = -1, math.MaxFloat32
	for a := range 3 {
		if scale[a] == 0 {
			continue
		}
		if p, c := sweep(bins[a][:count]); c < cost {
			axis, plane, cost = a, p, c
		}
	}
	return axis, plane, cost
}

// sweep returns the cheapest plane between the bins of one axis.
func sweep(bins []bin) (plane int, cost float32) {
	var right [largeBins]float32
	sum, total := emptyBin, int32(0)
	for i := len(bins) - 1; i > 0; i-- {
		if bins[i].count > 0 {
			sum.add(&bins[i].min, &bins[i].max)
			total += bins[i].count
		}
		if total > 0 {
			right[i] = halfArea(sum.min, sum.max) * float32(total)
		}
	}
	total += bins[0].count
	cost = math.MaxFloat32
	sum, count := emptyBin, int32(0)
	for i := range len(bins) - 1 {
		if bins[i].count > 0 {
			sum.add(&bins[i].min, &bins[i].max)
			count += bins[i].count
		}
		if count == 0 || count == total {
			continue
		}
		if c := halfArea(sum.min, sum.max)*float32(count) + right[i+1]; c < cost {
			plane, cost = i+1, c
		}
	}
	return plane, cost
}

// slab is the plane before a bin of one axis.
type slab struct {
	axis, plane   int
	origin, scale float32
}

// partition moves the prims of bins below the plane to the front and returns
// how many they are.
func partition(prims []prim, s slab) int {
	i, j := 0, len(prims)-1
	for i <= j {
		p := &prims[i]
		if int((p.min[s.axis]+p.max[s.axis]-s.origin)*s.scale)&(largeBins-1) < s.plane {
			i++
			continue
		}
		prims[i], prims[j] = prims[j], prims[i]
		j--
	}
	return i
}

// absent is the box bound of a child that isn't there: min is +absent, max is
// -absent, so that no ray enters it.
const absent = math.MaxFloat32

// stackSize is how many references a search of a hierarchy may have to put by:
// STACK_SIZE in shaders/lib/trace.glsl, less one that is written in advance.
const stackSize = 63

// collapser turns a binary tree into four-wide nodes and puts the triangles
// in the order of its leaves.
type collapser struct {
	tree  []binaryNode
	prims []prim
	cut   []bool // by prim index
	nodes []BVHNode
	// baseTriangle is where this hierarchy's triangles will stand in the world's
	// table; its nodes are appended to those that are there.
	baseTriangle int
}

// collapse returns the reference of the subtree at binary node at. It also returns how many
// references a search of it may put by, in whatever order it takes children.
func (c *collapser) collapse(at int32) (root Ref, stack int) {
	n := &c.tree[at]
	if n.count > 0 {
		return c.leaf(n), 0
	}
	var children [4]int32
	k := c.open(at, &children)
	slot := len(c.nodes)
	c.nodes = append(c.nodes, BVHNode{})
	var node BVHNode
	for i := range 4 {
		for a := range 3 {
			node[2*a][i], node[2*a+1][i] = absent, -absent
		}
	}
	for i := range k {
		child := &c.tree[children[i]]
		for a := range 3 {
			node[2*a][i], node[2*a+1][i] = child.min[a], child.max[a]
		}
		ref, below := c.collapse(children[i])
		node[6][i] = math.Float32frombits(uint32(ref))
		stack = max(stack, below)
	}
	c.nodes[slot] = node
	return innerRef(slot), stack + k - 1
}

// open lists up to four descendants of at that together hold its prims. It replaces the largest
// inner one by its children until there are four.
func (c *collapser) open(at int32, children *[4]int32) int {
	children[0], children[1] = c.tree[at].left, c.tree[at].right
	k := 2
	for k < 4 {
		largest, area := -1, float32(-1)
		for i := range k {
			if n := &c.tree[children[i]]; n.count == 0 && n.area() > area {
				largest, area = i, n.area()
			}
		}
		if largest < 0 {
			break
		}
		n := &c.tree[children[largest]]
		children[largest], children[k] = n.left, n.right
		k++
	}
	return k
}

func (c *collapser) leaf(n *binaryNode) Ref {
	cut := false
	for _, p := range c.prims[n.first : n.first+n.count] {
		cut = cut || c.cut[p.index]
	}
	return leafRef(c.baseTriangle+int(n.first), int(n.count), cut)
}
