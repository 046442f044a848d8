package scene

import (
	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/spatial"
)

// graph is an asset's node hierarchy with what is known of each node.
type graph struct {
	asset    *Asset
	tags     []Tag
	children [][]int
	global   []mgl64.Mat4 // in the asset's frame, as the nodes stand
	channels [][]clip     // that animate the node itself
	moving   []bool       // the node or one above it is animated
}

func newGraph(asset *Asset, tag Tag) *graph {
	n := len(asset.Nodes)
	g := &graph{
		asset: asset, tags: make([]Tag, n), children: make([][]int, n),
		global: make([]mgl64.Mat4, n), channels: make([][]clip, n), moving: make([]bool, n),
	}
	for i := range asset.Animations {
		a := &asset.Animations[i]
		for k := range a.Channels {
			c := &a.Channels[k]
			g.channels[c.Node] = append(g.channels[c.Node], clip{c, a.DurationNs})
		}
	}
	for i := range asset.Nodes {
		node := &asset.Nodes[i]
		g.tags[i], g.global[i] = node.Tag, node.Local.Mat4()
		g.moving[i] = len(g.channels[i]) > 0
		inherited := tag
		if p := node.Parent; p >= 0 {
			inherited = g.tags[p]
			g.children[p] = append(g.children[p], i)
			g.global[i] = g.global[p].Mul4(g.global[i])
			g.moving[i] = g.moving[i] || g.moving[p]
		}
		if node.Tag == TagUnlabeled {
			g.tags[i] = inherited
		}
	}
	return g
}

// wholeAsset stands for all nodes that belong to no other actor.
const wholeAsset = -1

// actorRoots returns the nodes that are actors with all below them that isn't
// another actor's.
func (g *graph) actorRoots(whole bool) []int {
	if whole {
		return []int{wholeAsset}
	}
	roots := g.roots()
	isRoot := map[int]bool{}
	for _, r := range roots {
		isRoot[r] = true
	}
	var actors []int
	for i := range g.asset.Nodes {
		if g.asset.Nodes[i].Actor || isRoot[i] {
			actors = append(actors, i)
		}
	}
	return actors
}

// roots returns the nodes without a parent, or the children of a single one
// that has no mesh.
func (g *graph) roots() []int {
	var roots []int
	for i := range g.asset.Nodes {
		if g.asset.Nodes[i].Parent < 0 {
			roots = append(roots, i)
		}
	}
	if len(roots) == 1 {
		if r := roots[0]; g.asset.Nodes[r].Mesh < 0 && !g.asset.Nodes[r].Actor && len(g.children[r]) > 0 {
			return g.children[r]
		}
	}
	return roots
}

// actor makes the actor of a root node, or of the whole asset. Its frame is the
// root's, without scale, unless the root is animated: then the asset's.
func (g *graph) actor(root int, pose spatial.Pose, firstMesh int) *Actor {
	a := &Actor{Pose: pose}
	into := mgl64.Ident4()
	if root != wholeAsset && !g.moving[root] {
		if frame, _, ok := rigidPart(g.global[root]); ok {
			a.Pose = pose.Compose(frame)
			into = frame.Inverse().Mat4()
		}
	}
	if root != wholeAsset {
		g.collect(a, root, root, into, firstMesh)
		return a
	}
	for i := range g.asset.Nodes {
		if g.asset.Nodes[i].Parent < 0 {
			g.collect(a, i, wholeAsset, into, firstMesh)
		}
	}
	return a
}

// collect appends the parts of a node and those below it, but not those of
// other actors below root.
func (g *graph) collect(a *Actor, node, root int, into mgl64.Mat4, firstMesh int) {
	n := &g.asset.Nodes[node]
	if n.Actor && node != root && root != wholeAsset {
		return
	}
	if n.Mesh >= 0 {
		p := Part{Name: n.Name, Mesh: firstMesh + n.Mesh, Local: into.Mul4(g.global[node]), Tag: g.tags[node]}
		if g.moving[node] {
			p.Joints = g.joints(node, into)
		}
		a.Parts = append(a.Parts, p)
	}
	for _, c := range g.children[node] {
		g.collect(a, c, root, into, firstMesh)
	}
}

// joints returns a node's place in the actor's frame as a function of time.
func (g *graph) joints(node int, into mgl64.Mat4) func(tNs int64) mgl64.Mat4 {
	var chain []joint // from the node up
	for i := node; i >= 0; i = g.asset.Nodes[i].Parent {
		chain = append(chain, joint{local: g.asset.Nodes[i].Local, clips: g.channels[i]})
	}
	return func(tNs int64) mgl64.Mat4 {
		m := into
		for i := len(chain) - 1; i >= 0; i-- {
			m = m.Mul4(chain[i].at(tNs))
		}
		return m
	}
}
