package scene

import "math"

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

// collapse returns the reference of the subtree at binary node at, and how many
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

// open lists up to four descendants of at that together hold its prims: the
// largest inner one is replaced by its children until there are four.
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
