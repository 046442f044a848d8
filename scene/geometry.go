package scene

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-gl/mathgl/mgl32"
	"github.com/go-gl/mathgl/mgl64"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/memory"
	"github.com/raybridge/raybridge/spatial"
)

// Errors of Build and Upload; they come wrapped with the place and the figures.
var (
	// ErrEmptyScene: no actor has a triangle with an area.
	ErrEmptyScene = errors.New("scene has no triangles")
	// ErrVertex: a vertex position is NaN or infinite, or too far away for
	// float32 coordinates.
	ErrVertex = errors.New("vertex is not usable")
	// ErrIndex: a mesh, material or vertex index points to nothing.
	ErrIndex = errors.New("index is out of range")
	// ErrTooLarge: more triangles, nodes or movers than the tables can number
	// or the driver can hold.
	ErrTooLarge = errors.New("scene is too large")
)

// BVHNode is one node of a bounding volume hierarchy with four children, as the GPU reads it.
// Rows 0..5 are min x, max x, min y, max y, min z, max z of the children in metres. Row 6 is
// the bits of their Refs. An absent child has min > max.
type BVHNode [7][4]float32

// Ref is a child of a BVHNode, shaped so that its bits are a normal float32. Bit 30 is 1, and
// bit 31 is set for a leaf. An inner reference has the node's number in bits 0..28. A leaf has
// its first triangle in bits 0..25 and the count less one in bits 26 and 27. Its bit 28 is set
// where a material may be cut out by its alpha. In the hierarchy over the movers a leaf is one
// mover instead.
type Ref uint32

const (
	refValid     = Ref(1) << 30
	refLeaf      = Ref(1) << 31
	refCut       = Ref(1) << 28
	refCountBit  = 26
	refFirstMask = Ref(1)<<refCountBit - 1
	refNodeMask  = Ref(1)<<29 - 1

	// MaxTriangles is how many triangles a Geometry can number.
	MaxTriangles = 1 << refCountBit
	// maxLeaf is the most triangles of a leaf.
	maxLeaf = 4
)

func innerRef(node int) Ref { return refValid | Ref(node) }

func leafRef(first, count int, cut bool) Ref {
	r := refValid | refLeaf | Ref(count-1)<<refCountBit | Ref(first)
	if cut {
		r |= refCut
	}
	return r
}

// Node returns the number of an inner reference's node.
func (r Ref) Node() int { return int(r & refNodeMask) }

// Cut reports whether a leaf's triangles may be cut out by their alpha.
func (r Ref) Cut() bool { return r&refCut != 0 }

// Row is four float32 of a table: one texel on the GPU.
type Row = [4]float32

// Mover is one moving part of an actor: a range of triangles in a frame of its
// own, with its own hierarchy. Movers that show one mesh at one scale share both.
//
// The mover's frame is the part's frame with the part's scale applied to the
// triangles, so that it moves as a rigid body.
type Mover struct {
	Actor *Actor // one of the scene's own, or a model
	Part  int    // into Actor.Parts
	model int    // into the scene's Models; -1 for its own actors
	// Copy is 0, or which of several of the part this is: each has the shape of a part of a
	// scan's window. See shapedMesh.
	Copy int
	// First and Count are its triangles, Root its hierarchy.
	First, Count int
	Root         Ref
	// Min and Max bound the triangles in the mover's frame, metres; those of a part with a Shape
	// at time 0. See Bounds.
	Min, Max mgl64.Vec3
	shape    *Shape
	// stretch is what was applied to the mesh, unstretch its inverse; rest is
	// the mover's frame in the actor's frame where no joints move it.
	stretch, unstretch mgl64.Mat3
	rest               spatial.Pose
}

// Geometry is a Scene made ready for finding ray hits: flat tables in the layout
// that the GPU reads (shaders/lib/scene.glsl), and the movers. The static actors
// are one set of triangles in the world frame: the map frame moved by Anchor.
// Every surface is seen from both sides.
//
// A Geometry is never changed: any goroutine may read it. Its slices belong to it.
type Geometry struct {
	Scene *Scene
	// Anchor is the world frame's origin in the map frame, metres.
	Anchor mgl64.Vec3
	// Nodes are all hierarchies' nodes, Static the root of the static actors',
	// 0 where there are none.
	Nodes  []BVHNode
	Static Ref
	// Planes has 3 rows a triangle: the plane (unit normal, offset) and the two
	// rows of barycentric coordinates of the slightly enlarged triangle.
	Planes []Row
	// Vertices has 3 rows a triangle: positions in metres, and the code of the vertex's colour,
	// 1 for opaque white.
	Vertices []Row
	// Attributes has 3 words of four a triangle: see shaders/lib/scene.glsl.
	Attributes [][4]uint32
	// StaticCount is how many triangles, from 0, are static actors'.
	StaticCount int
	// Movers are the moving parts of the scene's own actors, and then those of its models.
	Movers []Mover
	own    int    // how many of Movers are the scene's own actors'
	models []span // the movers of each of the scene's models
	// slotRows is the most movers of a model. See Rows.
	slotRows int
	shaped   []shapedMesh
	// FromCache is true where the tables were read from the on-disk cache.
	FromCache bool
	// CacheErr says why the cache could not be read or written, for a log line;
	// the world is complete all the same.
	CacheErr error
}

// span is a run of movers.
type span struct{ first, count int }

// Rows returns how many rows the tables of a capture may have, one for each moving part that may
// be there. The first are those of Movers that the scene's own actors have, in order. Behind them
// each slot has as many rows as the model with the most movers. The actor in the slot has those
// from the first on.
func (g *Geometry) Rows() int { return g.slotRow(g.Scene.Slots) }

// ModelMovers returns the first and the number of a model's movers.
func (g *Geometry) ModelMovers(model int) (first, count int) {
	return g.models[model].first, g.models[model].count
}

// slotRow returns a slot's first row.
func (g *Geometry) slotRow(slot int) int { return g.own + slot*g.slotRows }

// Triangles returns the number of triangles in the tables; a mesh that several
// movers share counts once. Each copy of a Shape's mesh counts.
func (g *Geometry) Triangles() int { return len(g.Planes) / 3 }

// FromMap returns a pose of the map frame in the world frame.
func (g *Geometry) FromMap(p spatial.Pose) spatial.Pose {
	p.Position = p.Position.Sub(g.Anchor)
	return p
}

// Grain returns how far apart the numbers of the world frame are at a point of the map, metres. It
// is that of the axis where they are coarsest. Shapes, ranges and pictures are no finer than that there.
func (g *Geometry) Grain(p mgl64.Vec3) float64 {
	p = p.Sub(g.Anchor)
	far := float32(max(math.Abs(p[0]), math.Abs(p[1]), math.Abs(p[2])))
	return float64(math.Nextafter32(far, math.MaxFloat32) - far)
}

// BuildOptions says how a Geometry is built; the zero value is usable.
type BuildOptions struct {
	// Workers is how many goroutines build; 0 means GOMAXPROCS.
	Workers int
	// CacheDir is the folder of the on-disk cache (see CacheDir), empty for none.
	CacheDir string
	// Memory is what the world's tables are taken from; they are never given back. (optional;
	// nil for no limit)
	Memory *memory.Budget
}

// A triangle of the static world, or of a copy of a shape, takes buildBytes while the tables are made and keptBytes
// from then on. They were measured as the heap's growth with cities of 500,000 and 2,000,000
// triangles, and rounded up.
const (
	buildBytes = 560
	keptBytes  = 210
)

// BuildMemory is how many bytes of its budget Build wants for so many triangles that stand.
func BuildMemory(triangles int64) int64 { return buildBytes * triangles }

// Build makes a scene's Geometry: it flattens the static actors, builds the
// hierarchies, or reads all that from the cache. It ends early with ctx's error.
// Errors: ErrEmptyScene, ErrVertex, ErrIndex, ErrTooLarge, memory.ErrExceeded. A cache that cannot
// be read or written costs time, never the build.
func Build(ctx context.Context, s *Scene, opts BuildOptions) (*Geometry, error) {
	n := s.countedTriangles()
	if n > MaxTriangles {
		return nil, fmt.Errorf("build world of scene %q: %w: %d triangles, at most %d are possible", s.Name, ErrTooLarge, n, MaxTriangles)
	}
	if err := opts.Memory.Take(fmt.Sprintf("a world of %d triangles", n), BuildMemory(n)); err != nil {
		return nil, fmt.Errorf("build world of scene %q: %w", s.Name, err)
	}
	w, err := build(ctx, s, opts)
	if err != nil {
		opts.Memory.Give(BuildMemory(n))
		return nil, fmt.Errorf("build world of scene %q: %w", s.Name, err)
	}
	opts.Memory.Give((buildBytes - keptBytes) * n)
	return w, nil
}

// countedTriangles counts what never moves, as often as it is placed, and the copies of shapes.
func (s *Scene) countedTriangles() int64 {
	sum := int64(0)
	shapes := map[*Shape]bool{}
	for at, a := range slices.Concat(s.Actors, s.Models) {
		for i := range a.Parts {
			if shape := a.Parts[i].Shape; shape != nil && !shapes[shape] {
				shapes[shape] = true
				sum += shapeCopies * int64(len(shape.mesh.Indices)/3)
			}
		}
		if at >= len(s.Actors) || !a.Static() {
			continue
		}
		for i := range a.Parts {
			if mesh := a.Parts[i].Mesh; mesh >= 0 && mesh < len(s.Meshes) {
				sum += int64(s.Meshes[mesh].Triangles())
			}
		}
	}
	return sum
}

// builder makes a Geometry's tables, set after set.
type builder struct {
	ctx      context.Context
	scene    *Scene
	workers  int
	geometry *Geometry
	// occlusion is each mesh's, nil for those without.
	occlusion [][]uint8
	// stackSize is the constant, except in tests.
	stackSize int
}

func build(ctx context.Context, s *Scene, opts BuildOptions) (*Geometry, error) {
	g := &Geometry{Scene: s, Anchor: anchor(s)}
	b := &builder{ctx: ctx, scene: s, workers: opts.Workers, geometry: g, stackSize: stackSize}
	if b.workers <= 0 {
		b.workers = runtime.GOMAXPROCS(0)
	}
	var key [32]byte
	if opts.CacheDir != "" {
		key = b.cacheKey()
		err := b.load(opts.CacheDir, key)
		if err == nil {
			now := time.Now()
			g.CacheErr = os.Chtimes(cachePath(opts.CacheDir, key), now, now)
			return g, nil
		}
		if !errors.Is(err, os.ErrNotExist) {
			g.CacheErr = err
		}
	}
	movers, err := b.build()
	if err != nil {
		return nil, err
	}
	if g.Triangles() == 0 {
		return nil, fmt.Errorf("%w: %d actors, %d meshes", ErrEmptyScene, len(s.Actors), len(s.Meshes))
	}
	if opts.CacheDir != "" {
		if err := b.save(opts.CacheDir, key, movers); err != nil {
			g.CacheErr = errors.Join(g.CacheErr, err)
		}
	}
	return g, b.setMovers(movers)
}

// build makes the tables and returns all movers, those without triangles too.
func (b *builder) build() ([]Mover, error) {
	for i := range b.scene.Meshes {
		if err := b.scene.checkMesh(&b.scene.Meshes[i]); err != nil {
			return nil, err
		}
	}
	b.occlusion = make([][]uint8, len(b.scene.Meshes))
	if b.scene.Occlusion {
		b.each(len(b.occlusion), func(i int) { b.occlusion[i] = b.scene.Meshes[i].occlusion() })
	}
	static, err := b.staticParts()
	if err != nil {
		return nil, err
	}
	set, err := b.flatten(static)
	if err != nil {
		return nil, err
	}
	if b.geometry.Static, err = b.addSet(set); err != nil {
		return nil, err
	}
	b.geometry.StaticCount = b.geometry.Triangles()
	movers, err := b.listMovers()
	if err != nil {
		return nil, err
	}
	return movers, b.addMovers(movers)
}

// anchor returns the world frame's origin: the map's own unless the actors stand far from it, then
// the middle of their poses in whole metres. What moves may come from anywhere, and counts only
// where nothing stands. Without any actor the ego counts.
func anchor(s *Scene) mgl64.Vec3 {
	poses := noBounds()
	for _, static := range []bool{true, false} {
		for _, a := range s.Actors {
			if a.Static() != static {
				continue
			}
			pose := a.poseAt(0).Mat4()
			for i := range a.Parts {
				poses.add(mgl64.TransformCoordinate(mgl64.Vec3{}, pose.Mul4(a.Parts[i].Local)))
			}
		}
		if !poses.empty() {
			break
		}
	}
	if poses.empty() {
		poses.add(s.Ego.Position)
	}
	mid := poses.low.Add(poses.high).Mul(0.5)
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
		pose := b.geometry.FromMap(a.Pose).Mat4()
		for i := range a.Parts {
			m, err := b.part(a, i)
			if err != nil {
				return nil, err
			}
			parts = append(parts, placement{
				actor: a, mesh: m, matrix: pose.Mul4(a.Parts[i].Local), label: label(a, a.Parts[i].Tag), hidden: b.occlusion[a.Parts[i].Mesh],
			})
		}
	}
	return parts, nil
}

// meshKey names the triangles that movers share.
type meshKey struct {
	mesh    int
	stretch mgl64.Mat3
	shape   *Shape
	copy    int
}

func (m *Mover) meshKey() meshKey {
	return meshKey{m.Actor.Parts[m.Part].Mesh, m.stretch, m.shape, m.Copy}
}

// listMovers returns the moving parts, and those of models, without their triangles.
func (b *builder) listMovers() ([]Mover, error) {
	var movers []Mover
	for at, a := range slices.Concat(b.scene.Actors, b.scene.Models) {
		model := at - len(b.scene.Actors)
		if model < 0 && a.Static() {
			continue
		}
		for i := range a.Parts {
			if _, err := b.part(a, i); err != nil {
				return nil, err
			}
			m := Mover{Actor: a, Part: i, model: max(model, -1), shape: a.Parts[i].Shape}
			m.stretch, m.unstretch = fixedStretch(a.Parts[i].At(0).Mat3())
			m.rest, _, _ = rigidPart(m.place(a.Parts[m.Part].At(0)))
			movers = append(movers, m)
			for m.shape != nil && m.Copy < shapeCopies-1 {
				m.Copy++
				movers = append(movers, m)
			}
		}
	}
	return movers, nil
}

// addMovers adds the movers' triangles, each mesh once per scale.
func (b *builder) addMovers(movers []Mover) error {
	made := map[meshKey]*Mover{}
	for i := range movers {
		m := &movers[i]
		key := m.meshKey()
		if like := made[key]; like != nil {
			m.First, m.Count, m.Root, m.Min, m.Max = like.First, like.Count, like.Root, like.Min, like.Max
			continue
		}
		made[key] = m
		mesh := &b.scene.Meshes[key.mesh]
		if m.Copy > 0 { // copy 0 comes right before it
			b.addCopy(m, &movers[i-1])
			continue
		}
		if m.shape != nil {
			mesh = m.shape.meshAt(mesh, 0)
		}
		if err := b.addMoverMesh(m, mesh); err != nil {
			return err
		}
		if total := b.geometry.Triangles() + (shapeCopies-1)*m.Count; m.shape != nil && total > MaxTriangles {
			return fmt.Errorf("%w: %d triangles, at most %d are possible", ErrTooLarge, total, MaxTriangles)
		}
	}
	return nil
}

// setMovers gives the world the movers that have triangles.
func (b *builder) setMovers(movers []Mover) error {
	g := b.geometry
	g.models = make([]span, len(b.scene.Models))
	for _, m := range movers {
		if m.Count == 0 {
			continue
		}
		g.Movers = append(g.Movers, m)
		if m.model < 0 {
			g.own++
			continue
		}
		of := &g.models[m.model]
		if of.count++; of.count == 1 {
			of.first = len(g.Movers) - 1
		}
		g.slotRows = max(g.slotRows, of.count)
	}
	g.listShaped()
	if rows := g.Rows(); rows > maxMovers {
		return fmt.Errorf("%w: %d moving parts, at most %d are possible: %d of the scene's own actors, and %d slots of %d",
			ErrTooLarge, rows, maxMovers, g.own, g.Scene.Slots, g.slotRows)
	}
	return nil
}

// maxMovers is how many moving parts the per-capture tables can number.
const maxMovers = 1 << 16

func (b *builder) addMoverMesh(m *Mover, mesh *Mesh) error {
	hidden := b.occlusion[m.Actor.Parts[m.Part].Mesh]
	set, err := b.flatten([]placement{{actor: m.Actor, mesh: mesh, matrix: m.stretch.Mat4(), shaped: m.shape != nil, hidden: hidden}})
	if err != nil {
		return err
	}
	m.First = b.geometry.Triangles()
	if m.Root, err = b.addSet(set); err != nil {
		return err
	}
	m.Count = b.geometry.Triangles() - m.First
	box := noBounds()
	for _, v := range set.vertices {
		box.add(vec64(v))
	}
	m.Min, m.Max = box.low, box.high
	return nil
}

// addSet builds a set's hierarchy and appends its tables in the leaves' order.
func (b *builder) addSet(set *soup) (Ref, error) {
	n := set.triangles()
	if n == 0 {
		return 0, b.ctx.Err()
	}
	g := b.geometry
	if total := g.Triangles() + n; total > MaxTriangles {
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

// addHierarchy puts prims in the order of a hierarchy over them and appends its nodes. It takes
// the best one, or a balanced one where a search of that would need too high a stack.
func (b *builder) addHierarchy(set *soup, prims []prim) (Ref, error) {
	g := b.geometry
	for _, balanced := range []bool{false, true} {
		tree, err := buildTree(b.ctx, prims, b.workers, balanced)
		if err != nil {
			return 0, err
		}
		c := collapser{tree: tree, prims: prims, cut: set.cut, nodes: g.Nodes, baseTriangle: g.Triangles()}
		root, stack := c.collapse(0)
		if stack <= b.stackSize {
			g.Nodes = c.nodes
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
	g, n := b.geometry, len(prims)
	base := 3 * g.Triangles()
	g.Planes = append(g.Planes, make([]Row, 3*n)...)
	g.Vertices = append(g.Vertices, make([]Row, 3*n)...)
	g.Attributes = append(g.Attributes, make([][4]uint32, 3*n)...)
	b.parallel(n, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			from, to := 3*int(prims[i].index), base+3*i
			v := set.vertices[from : from+3]
			copy(g.Vertices[to:to+3], v)
			copy(g.Attributes[to:to+3], set.attributes[from:from+3])
			g.Planes[to], g.Planes[to+1], g.Planes[to+2], _ = planeRows(v[0], v[1], v[2], enlargement(extent(v)))
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
	if err := errors.Join(append(errs, b.ctx.Err())...); err != nil {
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

// maxCoordinate is how far from the anchor a vertex may lie, metres: beyond it
// float32 coordinates are coarser than 8 mm.
const maxCoordinate = 65536

// soup is a set of triangles in one frame, before and after they are put in
// the order of a hierarchy.
type soup struct {
	vertices   []Row       // 3 a triangle
	attributes [][4]uint32 // 3 a triangle
	cut        []bool      // 1 a triangle: its material may be cut out
}

// newSoup returns an empty soup with room for n triangles.
func newSoup(n int) *soup {
	return &soup{
		vertices:   make([]Row, 0, 3*n),
		attributes: make([][4]uint32, 0, 3*n),
		cut:        make([]bool, 0, n),
	}
}

func (s *soup) triangles() int { return len(s.vertices) / 3 }

// placement is one part of an actor on its way into a soup.
type placement struct {
	actor  *Actor
	mesh   *Mesh
	matrix mgl64.Mat4 // mesh to the soup's frame
	label  uint32     // instance id | tag << 16
	shaped bool       // a Shape moves the vertices
	hidden []uint8    // the mesh's occlusion, nil for none
}

// labelMask is what the labels of pictures and clouds have of an id.
const labelMask = 0xffff

// LabelOf returns what the labels of pictures and clouds have of an actor's id: its lowest 16 bits.
func LabelOf(id uint32) uint32 { return id & labelMask }

func label(a *Actor, tag Tag) uint32 { return LabelOf(a.ID) | uint32(tag)<<16 }

// checkMesh returns an error for indices that point to nothing and positions
// that are no numbers.
func (s *Scene) checkMesh(m *Mesh) error {
	if len(m.Normals) != len(m.Positions) || (m.UVs != nil && len(m.UVs) != len(m.Positions)) ||
		(m.Colors != nil && len(m.Colors) != len(m.Positions)) {
		return fmt.Errorf("%w: mesh %q has %d positions, %d normals, %d texture coordinates and %d colours",
			ErrIndex, m.Name, len(m.Positions), len(m.Normals), len(m.UVs), len(m.Colors))
	}
	if err := m.checkShape(); err != nil {
		return err
	}
	for i, p := range m.Positions {
		for _, x := range p {
			if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
				return fmt.Errorf("%w: mesh %q, vertex %d is %v", ErrVertex, m.Name, i, p)
			}
		}
	}
	for _, i := range m.Indices {
		if int(i) >= len(m.Positions) {
			return fmt.Errorf("%w: mesh %q names vertex %d of %d", ErrIndex, m.Name, i, len(m.Positions))
		}
	}
	for _, g := range m.Groups {
		if g.First < 0 || g.Count < 0 || g.First+g.Count > len(m.Indices) || g.First%3 != 0 || g.Count%3 != 0 {
			return fmt.Errorf("%w: mesh %q, group of indices %d to %d of %d", ErrIndex, m.Name, g.First, g.First+g.Count, len(m.Indices))
		}
		if g.Material < 0 || g.Material >= len(s.Materials) {
			return fmt.Errorf("%w: mesh %q names material %d of %d", ErrIndex, m.Name, g.Material, len(s.Materials))
		}
	}
	return nil
}

// cuts returns, per material, whether its alpha may cut it out.
func (s *Scene) cuts() []bool {
	cuts := make([]bool, len(s.Materials))
	for i := range s.Materials {
		cuts[i] = s.Materials[i].cutoff() != 0
	}
	return cuts
}

// flatten writes the triangles of the placements that have an area into a soup.
func (s *Scene) flatten(ctx context.Context, parts []placement) (*soup, error) {
	n := 0
	for i := range parts {
		for _, g := range parts[i].mesh.Groups {
			n += g.Count / 3
		}
	}
	out := newSoup(n)
	cuts := s.cuts()
	var corners cornerBuffer
	for i := range parts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := corners.place(&parts[i]); err != nil {
			return nil, err
		}
		corners.emit(out, &parts[i], cuts)
	}
	return out, nil
}

// cornerBuffer holds one mesh's vertices placed in a soup's frame.
type cornerBuffer struct {
	positions []Row
	words     [][4]uint32
}

// place transforms the mesh's vertices in float64 and rounds once.
func (b *cornerBuffer) place(p *placement) error {
	m := p.mesh
	b.positions, b.words = b.positions[:0], b.words[:0]
	normals := normalMatrix(p.matrix.Mat3())
	for i, v := range m.Positions {
		at := mgl64.TransformCoordinate(wide(v), p.matrix)
		for _, x := range at {
			if !(math.Abs(x) <= maxCoordinate) {
				return fmt.Errorf("%w: actor %q, mesh %q, vertex %d lies at %s: more than %d m from the scene's centre",
					ErrVertex, p.actor.Name, m.Name, i, fault.Place(at), maxCoordinate)
			}
		}
		n := m.Normals[i]
		w := [4]uint32{encodeNormal(normals.Mul3x1(wide(n)))}
		if m.UVs != nil {
			w[1], w[2] = math.Float32bits(m.UVs[i][0]), math.Float32bits(m.UVs[i][1])
		}
		color := float32(1)
		if m.Colors != nil {
			color = encodeColor(m.Colors[i])
		}
		b.positions = append(b.positions, Row{float32(at[0]), float32(at[1]), float32(at[2]), color})
		b.words = append(b.words, w)
	}
	return nil
}

// emit appends the mesh's triangles; a mirroring matrix turns them round, so
// that front faces stay counter-clockwise.
func (b *cornerBuffer) emit(out *soup, p *placement, cuts []bool) {
	mirrored := p.matrix.Mat3().Det() < 0
	for _, g := range p.mesh.Groups {
		for t := g.First; t < g.First+g.Count; t += 3 {
			i, j, k := p.mesh.Indices[t], p.mesh.Indices[t+1], p.mesh.Indices[t+2]
			if mirrored {
				j, k = k, j
			}
			if !p.shaped && !hasArea(b.positions[i], b.positions[j], b.positions[k]) {
				continue
			}
			w0, w1, w2 := b.words[i], b.words[j], b.words[k]
			w0[3], w1[3] = uint32(g.Material), p.label
			if p.shaped { // reshaped finds the mesh's vertices by it
				w1[3] = uint32(t)
			}
			if p.hidden != nil {
				w2[3] = uint32(p.hidden[i]) | uint32(p.hidden[j])<<8 | uint32(p.hidden[k])<<16
			}
			out.vertices = append(out.vertices, b.positions[i], b.positions[j], b.positions[k])
			out.attributes = append(out.attributes, w0, w1, w2)
			out.cut = append(out.cut, cuts[g.Material])
		}
	}
}

func vec64(r Row) mgl64.Vec3 { return mgl64.Vec3{float64(r[0]), float64(r[1]), float64(r[2])} }

// hasArea tells triangles from lines and points: those are never hit.
func hasArea(a, b, c Row) bool {
	p := vec64(a)
	e1, e2 := vec64(b).Sub(p), vec64(c).Sub(p)
	n := e1.Cross(e2)
	long := max(e1.LenSqr(), e2.LenSqr())
	return n.LenSqr() > 1e-18*long*long && long > 0
}

// normalMatrix carries normals through a linear map of any scale: its
// cofactors, turned round for a mirror.
func normalMatrix(m mgl64.Mat3) mgl64.Mat3 {
	x, y, z := m.Row(0), m.Row(1), m.Row(2)
	side := 1.0
	if m.Det() < 0 {
		side = -1
	}
	return mgl64.Mat3FromRows(y.Cross(z).Mul(side), z.Cross(x).Mul(side), x.Cross(y).Mul(side))
}

// encodeNormal packs a direction as an octahedral code of two 16-bit signed normalised numbers.
// The source is Cigolle et al., A Survey of Efficient Representations for Independent Unit
// Vectors, JCGT 2014.
func encodeNormal(n mgl64.Vec3) uint32 {
	l := math.Abs(n[0]) + math.Abs(n[1]) + math.Abs(n[2])
	if !(l > 0) || math.IsInf(l, 0) {
		n, l = mgl64.Vec3{0, 0, 1}, 1
	}
	x, y := n[0]/l, n[1]/l
	if n[2] < 0 {
		x, y = math.Copysign(1-math.Abs(y), x), math.Copysign(1-math.Abs(x), y)
	}
	return uint32(uint16(int16(math.Round(x*32767)))) | uint32(uint16(int16(math.Round(y*32767))))<<16
}

// encodeColor packs a vertex's colour as the bits of a normal float32, opaque white as 1. The
// colours' square roots have 8 bits each: what is dark has finer steps, as eyes want. Alpha has
// 127 steps. See vertexColor of shaders/lib/scene.glsl.
func encodeColor(c mgl32.Vec4) float32 {
	if c == (mgl32.Vec4{1, 1, 1, 1}) {
		return 1
	}
	var rgb uint32
	for i := range 3 {
		rgb |= uint32(math.Round(255*math.Sqrt(unit(c[i])))) << (8 * i)
	}
	alpha := uint32(math.Round(126 * unit(c[3])))
	return math.Float32frombits(1<<30 | alpha<<23 | rgb&0x7fffff | rgb>>23<<31)
}

// unit brings a number into 0..1; NaN is 0.
func unit(x float32) float64 {
	if !(x > 0) {
		return 0
	}
	return math.Min(float64(x), 1)
}

// each calls f for every i below n, on the builder's workers, and waits. It leaves some out where
// the builder's context has ended.
func (b *builder) each(n int, f func(i int)) {
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(b.workers, n) {
		group.Go(func() {
			for i := next.Add(1) - 1; i < int64(n) && b.ctx.Err() == nil; i = next.Add(1) - 1 {
				f(int(i))
			}
		})
	}
	group.Wait()
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
