package scene

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"time"

	"github.com/go-gl/mathgl/mgl64"
)

// builder makes a World's tables, set after set.
type builder struct {
	ctx     context.Context
	scene   *Scene
	workers int
	world   *World
	// stackSize is the constant, but for tests.
	stackSize int
}

func build(ctx context.Context, s *Scene, opts BuildOptions) (*World, error) {
	w := &World{Scene: s, Anchor: anchor(s)}
	b := &builder{ctx: ctx, scene: s, workers: opts.Workers, world: w, stackSize: stackSize}
	if b.workers <= 0 {
		b.workers = runtime.GOMAXPROCS(0)
	}
	var key [32]byte
	if opts.CacheDir != "" {
		key = b.cacheKey()
		err := b.load(opts.CacheDir, key)
		if err == nil {
			now := time.Now()
			w.CacheErr = os.Chtimes(cachePath(opts.CacheDir, key), now, now)
			return w, nil
		}
		if !errors.Is(err, os.ErrNotExist) {
			w.CacheErr = err
		}
	}
	movers, err := b.build()
	if err != nil {
		return nil, err
	}
	if w.Triangles() == 0 {
		return nil, fmt.Errorf("%w: %d actors, %d meshes", ErrEmptyScene, len(s.Actors), len(s.Meshes))
	}
	if opts.CacheDir != "" {
		if err := b.save(opts.CacheDir, key, movers); err != nil {
			w.CacheErr = errors.Join(w.CacheErr, err)
		}
	}
	b.setMovers(movers)
	return w, nil
}

// build makes the tables and returns all movers, those without triangles too.
func (b *builder) build() ([]Mover, error) {
	for i := range b.scene.Meshes {
		if err := b.scene.checkMesh(&b.scene.Meshes[i]); err != nil {
			return nil, err
		}
	}
	static, err := b.staticParts()
	if err != nil {
		return nil, err
	}
	set, err := b.flatten(static)
	if err != nil {
		return nil, err
	}
	if b.world.Static, err = b.addSet(set); err != nil {
		return nil, err
	}
	b.world.StaticCount = b.world.Triangles()
	movers, err := b.listMovers()
	if err != nil {
		return nil, err
	}
	return movers, b.addMovers(movers)
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
		if a.Reserved {
			continue
		}
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

// listMovers returns the moving parts without their triangles.
func (b *builder) listMovers() ([]Mover, error) {
	var movers []Mover
	for _, a := range b.scene.Actors {
		if a.Static() {
			continue
		}
		for i := range a.Parts {
			if _, err := b.part(a, i); err != nil {
				return nil, err
			}
			m := Mover{Actor: a, Part: i}
			m.stretch, m.unstretch = fixedStretch(a.Parts[i].At(0).Mat3())
			m.rest, _, _ = rigidPart(m.place(0))
			movers = append(movers, m)
		}
	}
	if len(movers) > maxMovers {
		return nil, fmt.Errorf("%w: %d moving parts, at most %d are possible", ErrTooLarge, len(movers), maxMovers)
	}
	return movers, nil
}

// addMovers adds the movers' triangles, each mesh once per scale.
func (b *builder) addMovers(movers []Mover) error {
	made := map[meshKey]*Mover{}
	for i := range movers {
		m := &movers[i]
		mesh := m.Actor.Parts[m.Part].Mesh
		key := meshKey{mesh, m.stretch}
		if like := made[key]; like != nil {
			m.First, m.Count, m.Root, m.Min, m.Max = like.First, like.Count, like.Root, like.Min, like.Max
			continue
		}
		made[key] = m
		if err := b.addMoverMesh(m, &b.scene.Meshes[mesh]); err != nil {
			return err
		}
	}
	return nil
}

// setMovers gives the world the movers that have triangles.
func (b *builder) setMovers(movers []Mover) {
	for _, m := range movers {
		if m.Count > 0 {
			b.world.Movers = append(b.world.Movers, m)
		}
	}
}

// maxMovers is how many moving parts the per-capture tables can number.
const maxMovers = 1 << 16

func (b *builder) addMoverMesh(m *Mover, mesh *Mesh) error {
	set, err := b.flatten([]placement{{actor: m.Actor, mesh: mesh, matrix: m.stretch.Mat4()}})
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
	prims := make([]prim, n)
	b.parallel(n, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			v := set.vertices[3*i : 3*i+3]
			margin := enlargement(extent(v))
			_, _, _, corners := planeRows(v[0], v[1], v[2], margin)
			prims[i].index = int32(i)
			prims[i].min, prims[i].max = boxOf(&corners, margin)
		}
	})
	root, err := b.addHierarchy(set, prims)
	if err != nil {
		return 0, err
	}
	b.appendTables(set, prims)
	return root, nil
}

// addHierarchy puts prims in the order of a hierarchy over them and appends its
// nodes: the best one, or a balanced one where a search of that would need too
// high a stack.
func (b *builder) addHierarchy(set *soup, prims []prim) (Ref, error) {
	w := b.world
	for _, balanced := range []bool{false, true} {
		tree, err := buildTree(b.ctx, prims, b.workers, balanced)
		if err != nil {
			return 0, err
		}
		c := collapser{tree: tree, prims: prims, cut: set.cut, nodes: w.Nodes, baseTriangle: w.Triangles()}
		root, stack := c.collapse(0)
		if stack <= b.stackSize {
			w.Nodes = c.nodes
			return root, nil
		}
	}
	return 0, fmt.Errorf("%w: %d triangles need too deep a hierarchy", ErrTooLarge, set.triangles())
}

// extent returns the largest coordinate of some vertices.
func extent(vertices []Row) float64 {
	var m float32
	for _, v := range vertices {
		for _, x := range v[:3] {
			m = max(m, x, -x)
		}
	}
	return float64(m)
}

// appendTables appends the set's rows in the order of prims.
func (b *builder) appendTables(set *soup, prims []prim) {
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
			w.Planes[to], w.Planes[to+1], w.Planes[to+2], _ = planeRows(v[0], v[1], v[2], enlargement(extent(v)))
		}
	})
}

// flattenChunk is the most vertices and indices that one goroutine flattens at a time.
const flattenChunk = 1 << 16

// flatten writes the placements' triangles into one soup, on all workers, in order.
func (b *builder) flatten(parts []placement) (*soup, error) {
	var chunks [][]placement
	from, size := 0, 0
	for i := range parts {
		size += len(parts[i].mesh.Positions) + len(parts[i].mesh.Indices)
		if size > flattenChunk || i == len(parts)-1 {
			chunks = append(chunks, parts[from:i+1])
			from, size = i+1, 0
		}
	}
	soups, errs := make([]*soup, len(chunks)), make([]error, len(chunks))
	b.each(len(chunks), func(i int) { soups[i], errs[i] = b.scene.flatten(b.ctx, chunks[i]) })
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	total := 0
	for _, s := range soups {
		total += s.triangles()
	}
	out := newSoup(total)
	for _, s := range soups {
		out.vertices = append(out.vertices, s.vertices...)
		out.attributes = append(out.attributes, s.attributes...)
		out.cut = append(out.cut, s.cut...)
	}
	return out, nil
}
