package scene

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"unsafe"

	"github.com/go-gl/mathgl/mgl32"
	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/shaders"
	"github.com/raybridge/raybridge/simtime"
)

// Skin binds a mesh's vertices to nodes (glTF 2.0, section 3.7.3).
type Skin struct {
	// Joints are nodes of the asset, which Mesh.Joints names by their places here.
	Joints []int
	// Bind leads from the mesh's frame to each joint's: the inverse bind matrices.
	Bind []mgl64.Mat4
}

// MorphTarget is what a mesh's vertices move by at weight 1 (glTF 2.0, section 3.7.2.2). Both
// lists have the length of Mesh.Positions; Normals may be nil.
type MorphTarget struct {
	Positions, Normals []mgl32.Vec3
}

// Shape says how a part's vertices move in its frame: by the joints of a skin, by morph targets,
// or by both. It never changes: any goroutine may ask it. Movers of one shape, mesh and scale
// share their triangles, because all of them look alike at a time.
type Shape struct {
	mesh    *Mesh
	joints  []jointChain
	weights []morphWeight
	// limbs bounds what follows each joint, all vertices where there is no skin. reach is how far
	// each target moves a vertex along an axis, at most.
	limbs []bounds64
	reach []float64
	still bool // nothing animates it
}

// jointChain is a node with those above it, from the node up, and its bind matrix.
type jointChain struct {
	nodes []joint
	bind  mgl64.Mat4
}

// morphWeight is the weight of a target, and what animates it.
type morphWeight struct {
	value float64
	clips []clip
}

// newShape returns how a node's mesh moves; nil where it keeps its shape.
func newShape(g *graph, node int) *Shape {
	n := &g.asset.Nodes[node]
	s := &Shape{mesh: &g.asset.Meshes[n.Mesh], still: true}
	if n.Skin != nil && len(s.mesh.Joints) > 0 {
		for k, j := range n.Skin.Joints {
			c := jointChain{bind: n.Skin.Bind[k]}
			for i := j; i >= 0; i = g.asset.Nodes[i].Parent {
				c.nodes = append(c.nodes, joint{local: g.asset.Nodes[i].Local, clips: g.channels[i]})
				s.still = s.still && len(g.channels[i]) == 0
			}
			s.joints = append(s.joints, c)
		}
	}
	moves := len(s.joints) > 0
	for k := range s.mesh.Targets {
		w := morphWeight{}
		if k < len(n.Weights) {
			w.value = n.Weights[k]
		}
		for _, c := range g.weights[node] {
			if c.channel.Target == k {
				w.clips = append(w.clips, c)
			}
		}
		s.still = s.still && len(w.clips) == 0
		moves = moves || w.value != 0 || len(w.clips) > 0
		s.weights = append(s.weights, w)
	}
	if !moves {
		return nil
	}
	key := measureKey{s.mesh, len(s.joints)}
	like := g.measured[key]
	if like == nil {
		s.measure()
		g.measured[key], like = s, s
	}
	s.limbs, s.reach = like.limbs, like.reach
	return s
}

// clips are all that animate it.
func (s *Shape) clips() (list []clip) {
	for i := range s.joints {
		for k := range s.joints[i].nodes {
			list = append(list, s.joints[i].nodes[k].clips...)
		}
	}
	for i := range s.weights {
		list = append(list, s.weights[i].clips...)
	}
	return list
}

// measureKey is what limbs and reach follow from.
type measureKey struct {
	mesh   *Mesh
	joints int
}

// measure fills limbs and reach, which shapes of one mesh share.
func (s *Shape) measure() {
	for range max(len(s.joints), 1) {
		s.limbs = append(s.limbs, noBounds())
	}
	per := s.mesh.influences()
	for i := range s.mesh.Positions {
		p := wide(s.mesh.Positions[i])
		if len(s.joints) == 0 {
			s.limbs[0].add(p)
			continue
		}
		bound := false
		for k := per * i; k < per*(i+1); k++ {
			if s.mesh.Weights[k] > 0 {
				s.limbs[s.mesh.Joints[k]].add(p)
				bound = true
			}
		}
		if !bound {
			s.limbs[s.mesh.Joints[per*i]].add(p)
		}
	}
	for k := range s.mesh.Targets {
		most := 0.0
		for _, d := range s.mesh.Targets[k].Positions {
			for _, x := range d {
				most = max(most, math.Abs(float64(x)))
			}
		}
		s.reach = append(s.reach, most)
	}
}

// influences returns how many joints a vertex may follow.
func (m *Mesh) influences() int {
	if len(m.Positions) == 0 {
		return 0
	}
	return len(m.Joints) / len(m.Positions)
}

// Joints appends to dst what leads from the mesh's frame to the part's at a time, for what follows
// each joint alone. That is the joint's matrix times its bind matrix.
func (s *Shape) Joints(dst []mgl64.Mat4, stamp simtime.Stamp) []mgl64.Mat4 {
	for i := range s.joints {
		c := &s.joints[i]
		m := mgl64.Ident4()
		for k := len(c.nodes) - 1; k >= 0; k-- {
			m = m.Mul4(c.nodes[k].at(stamp))
		}
		dst = append(dst, m.Mul4(c.bind))
	}
	return dst
}

// Weights appends to dst the weights of the mesh's targets at a time.
func (s *Shape) Weights(dst []float64, stamp simtime.Stamp) []float64 {
	for i := range s.weights {
		w := &s.weights[i]
		value := w.value
		for _, c := range w.clips {
			value = c.channel.sample(c.loop(stamp))[0]
		}
		dst = append(dst, value)
	}
	return dst
}

// bounds returns a box that holds all vertices at a time, in the part's frame. A vertex is a
// mean of the places that its joints alone would give it, so the box holds it.
func (s *Shape) bounds(stamp simtime.Stamp) bounds64 {
	grow := 0.0
	for k, w := range s.Weights(nil, stamp) {
		grow += math.Abs(w) * s.reach[k]
	}
	out := noBounds()
	joints := s.Joints(nil, stamp)
	for k := range s.limbs {
		limb := s.limbs[k]
		if limb.empty() {
			continue
		}
		for a := range 3 {
			limb.low[a], limb.high[a] = limb.low[a]-grow, limb.high[a]+grow
		}
		at := mgl64.Ident4()
		if len(joints) > 0 {
			at = joints[k]
		}
		out.addMapped(&limb, at)
	}
	return out
}

// poser computes a shape's vertices at times. It belongs to one goroutine at a time.
type poser struct {
	shape     *Shape
	joints    []mgl64.Mat4
	cofactors []mgl64.Mat3
	weights   []float64
	positions []mgl64.Vec3
	normals   []mgl64.Vec3
}

// pose computes all positions and normals of any length at a time, in the part's frame.
func (p *poser) pose(stamp simtime.Stamp) {
	m := p.shape.mesh
	p.joints, p.weights = p.shape.Joints(p.joints[:0], stamp), p.shape.Weights(p.weights[:0], stamp)
	p.positions, p.normals = p.positions[:0], p.normals[:0]
	for i := range m.Positions {
		p.positions, p.normals = append(p.positions, wide(m.Positions[i])), append(p.normals, wide(m.Normals[i]))
	}
	for k, w := range p.weights {
		if w == 0 {
			continue
		}
		t := &m.Targets[k]
		for i, d := range t.Positions {
			p.positions[i] = p.positions[i].Add(wide(d).Mul(w))
		}
		for i, d := range t.Normals {
			p.normals[i] = p.normals[i].Add(wide(d).Mul(w))
		}
	}
	if len(p.joints) == 0 {
		return
	}
	p.cofactors = p.cofactors[:0]
	for k := range p.joints {
		p.cofactors = append(p.cofactors, normalMatrix(p.joints[k].Mat3()))
	}
	per := m.influences()
	for i := range p.positions {
		p.positions[i], p.normals[i] = p.follow(p.positions[i], p.normals[i], m.Joints[per*i:per*(i+1)], m.Weights[per*i:per*(i+1)])
	}
}

// follow returns the mean of where joints bring a vertex and its normal, by their weights. One
// without weights follows the first.
func (p *poser) follow(at, normal mgl64.Vec3, joints []uint16, weights []float32) (mgl64.Vec3, mgl64.Vec3) {
	var position, turned mgl64.Vec3
	sum := 0.0
	for k, j := range joints {
		w := float64(weights[k])
		if !(w > 0) {
			continue
		}
		m, n := &p.joints[j], &p.cofactors[j]
		for a := range 3 {
			position[a] += w * (m[a]*at[0] + m[a+4]*at[1] + m[a+8]*at[2] + m[a+12])
			turned[a] += w * (n[a]*normal[0] + n[a+3]*normal[1] + n[a+6]*normal[2])
		}
		sum += w
	}
	if sum == 0 {
		return mgl64.TransformCoordinate(at, p.joints[joints[0]]), p.cofactors[joints[0]].Mul3x1(normal)
	}
	return position.Mul(1 / sum), turned
}

func wide(v mgl32.Vec3) mgl64.Vec3 {
	return mgl64.Vec3{float64(v[0]), float64(v[1]), float64(v[2])}
}

// checkShape reports a mesh whose joints, weights and targets don't fit its vertices.
func (m *Mesh) checkShape() error {
	n := len(m.Positions)
	if len(m.Weights) != len(m.Joints) || n == 0 && len(m.Joints) > 0 || n > 0 && len(m.Joints)%n != 0 {
		return fmt.Errorf("%w: mesh %q has %d positions, %d joints and %d weights", ErrIndex, m.Name, n, len(m.Joints), len(m.Weights))
	}
	for k, t := range m.Targets {
		if len(t.Positions) != n || t.Normals != nil && len(t.Normals) != n {
			return fmt.Errorf("%w: mesh %q, target %d has %d positions and %d normals for %d vertices", ErrIndex, m.Name, k, len(t.Positions), len(t.Normals), n)
		}
	}
	return nil
}

// check reports a node's skin that names what isn't there.
func (s *Skin) check(a *Asset, mesh int) error {
	if len(s.Bind) != len(s.Joints) {
		return fmt.Errorf("%w: a skin has %d joints and %d bind matrices", ErrIndex, len(s.Joints), len(s.Bind))
	}
	for _, j := range s.Joints {
		if j < 0 || j >= len(a.Nodes) {
			return fmt.Errorf("%w: a skin names node %d of %d", ErrIndex, j, len(a.Nodes))
		}
	}
	if mesh < 0 {
		return nil
	}
	for _, j := range a.Meshes[mesh].Joints {
		if int(j) >= len(s.Joints) {
			return fmt.Errorf("%w: mesh %q names joint %d of %d", ErrIndex, a.Meshes[mesh].Name, j, len(s.Joints))
		}
	}
	return nil
}

// A shape's triangles are there several times in the world's tables. The first copy is for
// captures of an instant. The next are for parts of a scan's window, each as it is in its middle.
// The last is for where the vertices were at a camera's firing before.
const (
	shapeCopies  = 10
	previousCopy = shapeCopies - 1
	// shapeStepNs is how long a part of a window is at most, unless the window is too long for
	// the copies. What moves at 2 m/s against its frame is off by 12 mm then.
	shapeStepNs = 12_500_000
)

// during returns when a copy of a shape's triangles is there in a window, and the time whose
// shape it has. It returns false where the window has no use for it.
func during(part int, startNs, endNs simtime.Stamp) (s stay, at simtime.Stamp, ok bool) {
	if startNs == endNs {
		return always, startNs, part == 0
	}
	n := min((endNs-startNs+shapeStepNs-1)/shapeStepNs, previousCopy-1)
	i := simtime.Stamp(part - 1)
	if i < 0 || i >= n {
		return stay{}, 0, false
	}
	edge := func(k simtime.Stamp) simtime.Stamp { return startNs + (endNs-startNs)*k/n }
	s = stay{edge(i), edge(i + 1)}
	at = (s.from + s.until) / 2
	if i == 0 {
		s.from = always.from
	}
	if i == n-1 {
		s.until = always.until
	}
	return s, at, true
}

// Bounds returns a box that holds the mover's triangles at a time, in its frame, metres. Any
// goroutine may call it.
func (m *Mover) Bounds(stamp simtime.Stamp) (low, high mgl64.Vec3) {
	if m.shape == nil {
		return m.Min, m.Max
	}
	own, out := m.shape.bounds(stamp), noBounds()
	out.addMapped(&own, m.stretch.Mat4())
	return out.low, out.high
}

// Changes reports whether the mover's triangles change their shape.
func (m *Mover) Changes() bool { return m.shape != nil }

// shapedMesh is a shape's triangles in the world's tables: the first copy. The others follow, and
// so do their nodes.
type shapedMesh struct {
	shape           *Shape
	stretch         mgl64.Mat3
	triangle, count int
	node, nodeCount int
}

// meshAt returns a mesh of this shape as it is at a time.
func (s *Shape) meshAt(mesh *Mesh, stamp simtime.Stamp) *Mesh {
	p := poser{shape: s}
	p.pose(stamp)
	posed := *mesh
	posed.Positions, posed.Normals = make([]mgl32.Vec3, len(p.positions)), make([]mgl32.Vec3, len(p.normals))
	for i := range p.positions {
		for a := range 3 {
			posed.Positions[i][a], posed.Normals[i][a] = float32(p.positions[i][a]), float32(p.normals[i][a])
		}
	}
	return &posed
}

// Positions returns the vertices of the part's mesh at a time, in the part's frame, metres. The
// slice is the caller's. Any goroutine may call it.
func (p *Part) Positions(s *Scene, stamp simtime.Stamp) []mgl64.Vec3 {
	if p.Shape != nil {
		of := poser{shape: p.Shape}
		of.pose(stamp)
		return of.positions
	}
	out := make([]mgl64.Vec3, len(s.Meshes[p.Mesh].Positions))
	for i, v := range s.Meshes[p.Mesh].Positions {
		out[i] = wide(v)
	}
	return out
}

// addCopy adds the triangles and nodes of a mover's copy again, which are the last that were
// added.
func (b *builder) addCopy(m, last *Mover) {
	g := b.geometry
	m.First, m.Count, m.Min, m.Max = g.Triangles(), last.Count, last.Min, last.Max
	from := len(g.Nodes)
	if last.Count > 0 && last.Root&refLeaf == 0 {
		from = last.Root.Node()
	}
	nodes := len(g.Nodes) - from
	m.Root = last.Root.moved(nodes, m.Count)
	g.Nodes = moved(g.Nodes, g.Nodes[from:], nodes, m.Count)
	first := 3 * last.First
	g.Planes = append(g.Planes, g.Planes[first:first+3*m.Count]...)
	g.Vertices = append(g.Vertices, g.Vertices[first:first+3*m.Count]...)
	g.Attributes = append(g.Attributes, g.Attributes[first:first+3*m.Count]...)
}

// moved appends nodes to dst for tables that begin later by so many nodes and triangles.
func moved(dst, nodes []BVHNode, byNodes, byTriangles int) []BVHNode {
	for _, n := range nodes {
		for k, bits := range n[6] {
			n[6][k] = math.Float32frombits(uint32(Ref(math.Float32bits(bits)).moved(byNodes, byTriangles)))
		}
		dst = append(dst, n)
	}
	return dst
}

// listShaped finds the shaped meshes among the movers. A part's copies follow one another.
func (g *Geometry) listShaped() {
	made := map[meshKey]bool{}
	for i := range g.Movers {
		m := &g.Movers[i]
		key := m.meshKey()
		if m.shape == nil || m.Copy > 0 || made[key] {
			continue
		}
		made[key] = true
		s := shapedMesh{shape: m.shape, stretch: m.stretch, triangle: m.First, count: m.Count}
		if m.Root&refLeaf == 0 {
			s.node = m.Root.Node()
			s.nodeCount = g.Movers[i+1].Root.Node() - s.node
		}
		g.shaped = append(g.shaped, s)
	}
}

// moved returns a reference to the same in tables that begin later; 0 stays.
func (r Ref) moved(nodes, triangles int) Ref {
	switch {
	case r == 0:
		return 0
	case r&refLeaf != 0:
		return r + Ref(triangles)
	}
	return r + Ref(nodes)
}

// reshaped is a shaped mesh with what it takes to compute its tables' rows again. It belongs to
// the GL thread.
type reshaped struct {
	shapedMesh
	poser   poser
	corners [][3]uint32 // the mesh's vertices of each triangle, in the tables' order
	// The time whose shape each copy has in the tables.
	stamps [shapeCopies]simtime.Stamp
	known  [shapeCopies]bool
	// The rows, as those of the first copy, and what they are made of.
	nodes       []BVHNode
	moved       []BVHNode // for another copy
	planes      []Row
	vertices    []Row
	attributes  [][4]uint32
	lows, highs [][3]float32 // of each triangle
	placed      []Row        // of each vertex
	words       []uint32     // of each vertex: its normal
}

func newReshaped(g *Geometry, s shapedMesh) *reshaped {
	r := &reshaped{shapedMesh: s, poser: poser{shape: s.shape}}
	first, end := 3*s.triangle, 3*(s.triangle+s.count)
	r.nodes = slices.Clone(g.Nodes[s.node : s.node+s.nodeCount])
	r.planes, r.vertices, r.attributes = make([]Row, 3*s.count), slices.Clone(g.Vertices[first:end]), slices.Clone(g.Attributes[first:end])
	r.corners = make([][3]uint32, s.count)
	for t := range r.corners {
		at := r.attributes[3*t+1][3]
		copy(r.corners[t][:], s.shape.mesh.Indices[at:at+3])
		if s.stretch.Det() < 0 { // as cornerBuffer.emit turns it
			r.corners[t][1], r.corners[t][2] = r.corners[t][2], r.corners[t][1]
		}
	}
	vertices := len(s.shape.mesh.Positions)
	r.lows, r.highs = make([][3]float32, s.count), make([][3]float32, s.count)
	r.placed, r.words = make([]Row, vertices), make([]uint32, vertices)
	return r
}

// Show brings all shapes into the tables as they are at an instant, for sensors that see one
// without a MotionTable. Commands that were issued before still see what was there. GL thread
// only.
func (r *Resident) Show(c *gpu.Ctx, p *Packer, stamp simtime.Stamp) error {
	return r.show(c, p, Window{StartNs: stamp, EndNs: stamp})
}

// show brings all shapes of a window into the tables, and who is in the slots.
func (r *Resident) show(c *gpu.Ctx, p *Packer, w Window) error {
	for k := range shapeCopies {
		if _, at, ok := during(k, w.StartNs, w.EndNs); ok {
			if err := r.showCopy(c, k, at); err != nil {
				return err
			}
		}
	}
	return r.writeOccupants(c, p, w)
}

// ShowPrevious brings all shapes into the tables as they were at an earlier instant, for
// lib/flow.glsl. What Show has brought stays. GL thread only.
func (r *Resident) ShowPrevious(c *gpu.Ctx, stamp simtime.Stamp) error {
	return r.showCopy(c, previousCopy, stamp)
}

// showCopy brings one copy of all shapes into the tables as it is at a time, unless it is that.
func (r *Resident) showCopy(c *gpu.Ctx, k int, at simtime.Stamp) error {
	for _, s := range r.shapes {
		at := at
		if s.shape.still {
			at = 0
		}
		if s.known[k] && s.stamps[k] == at {
			continue
		}
		s.compute(at)
		s.known[k] = false
		if err := r.write(c, s, k); err != nil {
			return fmt.Errorf("write the shape of mesh %q: %w", s.shape.mesh.Name, err)
		}
		s.known[k], s.stamps[k] = true, at
	}
	return nil
}

// write replaces a copy's rows in the tables.
func (r *Resident) write(c *gpu.Ctx, s *reshaped, part int) error {
	row := 3 * (s.triangle + part*s.count)
	nodes := s.nodes
	if part > 0 {
		s.moved = moved(s.moved[:0], nodes, part*s.nodeCount, part*s.count)
		nodes = s.moved
	}
	for _, t := range []struct {
		slot, row int
		data      []byte
	}{
		{shaders.SlotTriangles, row, gpu.BytesOf(s.planes)},
		{shaders.SlotVertices, row, gpu.BytesOf(s.vertices)},
		{shaders.SlotAttributes, row, gpu.BytesOf(s.attributes)},
		{shaders.SlotNodes, shaders.NodeTexels * (s.node + part*s.nodeCount), gpu.BytesOf(nodes)},
	} {
		if len(t.data) == 0 {
			continue
		}
		if err := c.WriteBuffer(r.tables[t.slot], t.row*int(unsafe.Sizeof(Row{})), t.data); err != nil {
			return err
		}
	}
	return nil
}

// compute makes the tables' rows at a time, and the boxes of the hierarchy.
func (r *reshaped) compute(at simtime.Stamp) {
	r.poser.pose(at)
	linear := normalMatrix(r.stretch)
	for i := range r.poser.positions {
		p := r.stretch.Mul3x1(r.poser.positions[i])
		r.placed[i] = Row{float32(p[0]), float32(p[1]), float32(p[2])}
		r.words[i] = encodeNormal(linear.Mul3x1(r.poser.normals[i]))
	}
	workers := min(runtime.GOMAXPROCS(0), 1+r.count/2048)
	var group sync.WaitGroup
	for k := range workers {
		group.Go(func() { r.triangles(r.count*k/workers, r.count*(k+1)/workers) })
	}
	group.Wait()
	r.refit()
}

// triangles makes the rows of a range of triangles.
func (r *reshaped) triangles(lo, hi int) {
	for t := lo; t < hi; t++ {
		v := r.vertices[3*t : 3*t+3]
		for k, i := range r.corners[t] {
			color := v[k][3]
			v[k] = r.placed[i]
			v[k][3] = color
			r.attributes[3*t+k][0] = r.words[i]
		}
		if r.shape.mesh.Flat {
			e1, e2 := vec64(v[1]).Sub(vec64(v[0])), vec64(v[2]).Sub(vec64(v[0]))
			word := encodeNormal(e1.Cross(e2))
			for k := range 3 {
				r.attributes[3*t+k][0] = word
			}
		}
		margin := enlargement(extent(v))
		var corners [3]mgl64.Vec3
		r.planes[3*t], r.planes[3*t+1], r.planes[3*t+2], corners = planeRows(v[0], v[1], v[2], margin)
		r.lows[t], r.highs[t] = boxOf(&corners, margin)
	}
}

// refit gives the nodes the boxes of what is below them. Children come after their parents. The
// references are those of the first copy.
func (r *reshaped) refit() {
	for i := len(r.nodes) - 1; i >= 0; i-- {
		n := &r.nodes[i]
		for k := range 4 {
			ref := Ref(math.Float32bits(n[6][k]))
			if ref == 0 {
				continue
			}
			box := emptyBin
			if ref&refLeaf != 0 {
				first := int(ref&refFirstMask) - r.triangle
				for t := first; t <= first+int(ref>>refCountBit&3); t++ {
					box.add(&r.lows[t], &r.highs[t])
				}
			} else {
				child := &r.nodes[ref.Node()-r.node]
				for c := range 4 {
					lo := [3]float32{child[0][c], child[2][c], child[4][c]}
					hi := [3]float32{child[1][c], child[3][c], child[5][c]}
					box.add(&lo, &hi)
				}
			}
			for a := range 3 {
				n[2*a][k], n[2*a+1][k] = box.min[a], box.max[a]
			}
		}
	}
}
