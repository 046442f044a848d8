package scene

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"sync"

	"github.com/go-gl/mathgl/mgl64"
)

// builder makes a World's tables, set after set.
type builder struct {
	ctx     context.Context
	scene   *Scene
	workers int
	world   *World
}

func build(ctx context.Context, s *Scene, opts BuildOptions) (*World, error) {
	for i := range s.Meshes {
		if err := s.checkMesh(&s.Meshes[i]); err != nil {
			return nil, err
		}
	}
	w := &World{Scene: s, Anchor: anchor(s)}
	b := &builder{ctx: ctx, scene: s, workers: opts.Workers, world: w}
	if b.workers <= 0 {
		b.workers = runtime.GOMAXPROCS(0)
	}
	if err := b.build(); err != nil {
		return nil, err
	}
	if w.Triangles() == 0 {
		return nil, fmt.Errorf("%w: %d actors, %d meshes", ErrEmptyScene, len(s.Actors), len(s.Meshes))
	}
	return w, nil
}

func (b *builder) build() error {
	static, err := b.staticParts()
	if err != nil {
		return err
	}
	set, err := b.scene.flatten(b.ctx, static)
	if err != nil {
		return err
	}
	if b.world.Static, err = b.addSet(set); err != nil {
		return err
	}
	b.world.StaticCount = b.world.Triangles()
	return b.addMovers()
}

// anchor returns the world frame's origin: the map's own unless the actors
// stand far from it, then the middle of their poses in whole metres.
func anchor(s *Scene) mgl64.Vec3 {
	lo := mgl64.Vec3{math.Inf(1), math.Inf(1), math.Inf(1)}
	hi := lo.Mul(-1)
	add := func(p mgl64.Vec3) {
		for i := range 3 {
			lo[i], hi[i] = min(lo[i], p[i]), max(hi[i], p[i])
		}
	}
	for _, a := range s.Actors {
		pose := a.poseAt(0)
		for i := range a.Parts {
			add(mgl64.TransformCoordinate(mgl64.Vec3{}, pose.Mat4().Mul4(a.Parts[i].Local)))
		}
	}
	mid := lo.Add(hi).Mul(0.5)
	if !(mid.Len() > nearOrigin) || math.IsInf(mid.Len(), 0) {
		return mgl64.Vec3{}
	}
	return mgl64.Vec3{math.Round(mid[0]), math.Round(mid[1]), math.Round(mid[2])}
}

// nearOrigin is how far from the map's origin a scene's middle may lie, in
// metres, before the world frame gets an anchor of its own.
const nearOrigin = 1024

func (b *builder) part(a *Actor, i int) (*Mesh, error) {
	mesh := a.Parts[i].Mesh
	if mesh < 0 || mesh >= len(b.scene.Meshes) {
		return nil, fmt.Errorf("%w: actor %q, part %q names mesh %d of %d", ErrIndex, a.Name, a.Parts[i].Name, mesh, len(b.scene.Meshes))
	}
	return &b.scene.Meshes[mesh], nil
}

// staticParts lists what never moves.
func (b *builder) staticParts() ([]placement, error) {
	var parts []placement
	for _, a := range b.scene.Actors {
		if !a.Static() {
			continue
		}
		pose := b.world.FromMap(a.Pose).Mat4()
		for i := range a.Parts {
			m, err := b.part(a, i)
			if err != nil {
				return nil, err
			}
			parts = append(parts, placement{a, m, pose.Mul4(a.Parts[i].Local), label(a, a.Parts[i].Tag)})
		}
	}
	return parts, nil
}

// meshKey names the triangles that movers share.
type meshKey struct {
	mesh    int
	stretch mgl64.Mat3
}

// addMovers adds the moving parts, each mesh once per scale.
func (b *builder) addMovers() error {
	made := map[meshKey]int{} // first mover with that mesh
	for _, a := range b.scene.Actors {
		if a.Static() {
			continue
		}
		for i := range a.Parts {
			mesh, err := b.part(a, i)
			if err != nil {
				return err
			}
			m := Mover{Actor: a, Part: i}
			m.stretch, m.unstretch = fixedStretch(a.Parts[i].at(0).Mat3())
			m.rest, _, _ = rigidPart(m.place(0))
			key := meshKey{a.Parts[i].Mesh, m.stretch}
			if first, ok := made[key]; ok {
				like := &b.world.Movers[first]
				m.First, m.Count, m.Root, m.Min, m.Max = like.First, like.Count, like.Root, like.Min, like.Max
			} else {
				made[key] = len(b.world.Movers)
				if err := b.addMoverMesh(&m, mesh); err != nil {
					return err
				}
			}
			if m.Count > 0 {
				b.world.Movers = append(b.world.Movers, m)
			} else {
				delete(made, key)
			}
		}
	}
	if len(b.world.Movers) > maxMovers {
		return fmt.Errorf("%w: %d moving parts, at most %d are possible", ErrTooLarge, len(b.world.Movers), maxMovers)
	}
	return nil
}

// maxMovers is how many moving parts the per-capture tables can number.
const maxMovers = 1 << 16

func (b *builder) addMoverMesh(m *Mover, mesh *Mesh) error {
	set, err := b.scene.flatten(b.ctx, []placement{{actor: m.Actor, mesh: mesh, matrix: m.stretch.Mat4()}})
	if err != nil {
		return err
	}
	m.First = b.world.Triangles()
	if m.Root, err = b.addSet(set); err != nil {
		return err
	}
	m.Count = b.world.Triangles() - m.First
	box := emptyBounds()
	for _, v := range set.vertices {
		box.add(v)
	}
	for i := range 3 {
		m.Min[i], m.Max[i] = float64(box.min[i]), float64(box.max[i])
	}
	return nil
}

// addSet builds a set's hierarchy and appends its tables in the leaves' order.
func (b *builder) addSet(set *soup) (Ref, error) {
	n := set.triangles()
	if n == 0 {
		return 0, b.ctx.Err()
	}
	w := b.world
	if total := w.Triangles() + n; total > MaxTriangles {
		return 0, fmt.Errorf("%w: %d triangles, at most %d are possible", ErrTooLarge, total, MaxTriangles)
	}
	margin := enlargement(set.extent())
	prims := make([]prim, n)
	b.parallel(n, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			v := set.vertices[3*i : 3*i+3]
			_, _, _, corners := planeRows(v[0], v[1], v[2], margin)
			prims[i].index = int32(i)
			prims[i].min, prims[i].max = boxOf(&corners, margin)
		}
	})
	tree, err := buildTree(b.ctx, prims, b.workers)
	if err != nil {
		return 0, err
	}
	c := collapser{
		tree: tree, prims: prims, cut: set.cut, nodes: w.Nodes,
		baseNode: 0, baseTriangle: w.Triangles(),
	}
	root := c.collapse(0)
	w.Nodes = c.nodes
	b.appendTables(set, prims, margin)
	return root, nil
}

// extent returns the largest coordinate of the set.
func (s *soup) extent() float64 {
	var m float32
	for _, v := range s.vertices {
		for _, x := range v[:3] {
			m = max(m, x, -x)
		}
	}
	return float64(m)
}

// appendTables appends the set's rows in the order of prims.
func (b *builder) appendTables(set *soup, prims []prim, margin float64) {
	w, n := b.world, len(prims)
	base := 3 * w.Triangles()
	w.Planes = append(w.Planes, make([]Row, 3*n)...)
	w.Vertices = append(w.Vertices, make([]Row, 3*n)...)
	w.Attributes = append(w.Attributes, make([][4]uint32, 3*n)...)
	b.parallel(n, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			from, to := 3*int(prims[i].index), base+3*i
			v := set.vertices[from : from+3]
			copy(w.Vertices[to:to+3], v)
			copy(w.Attributes[to:to+3], set.attributes[from:from+3])
			w.Planes[to], w.Planes[to+1], w.Planes[to+2], _ = planeRows(v[0], v[1], v[2], margin)
		}
	})
}

// parallel calls f for chunks of [0, n) on the builder's workers and waits.
func (b *builder) parallel(n int, f func(lo, hi int)) {
	const chunk = 4096
	workers := min(b.workers, (n+chunk-1)/chunk)
	if workers <= 1 {
		f(0, n)
		return
	}
	var group sync.WaitGroup
	for k := range workers {
		group.Go(func() { f(n*k/workers, n*(k+1)/workers) })
	}
	group.Wait()
}
