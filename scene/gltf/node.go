package gltf

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/qmuntal/gltf"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/scene"
)

// placement is where a document's node went in the asset.
type placement struct {
	node int // into asset.Nodes
	// sheared: node has a matrix whose axes aren't at right angles.
	sheared bool
	// parentMirrored and mirrored: whether the parent's and the node's own
	// frame is reflected (see mirror).
	parentMirrored, mirrored bool
	// inActor: the node or one above it is an actor.
	inActor bool
}

// readNodes fills asset.Nodes with the scene's nodes, parents first, and
// returns where the document's nodes went.
func (l *loader) readNodes() (map[int]placement, error) {
	roots, children, err := l.trees()
	if err != nil {
		return nil, err
	}
	placed := map[int]placement{}
	type visit struct {
		node   int
		parent placement
	}
	var stack []visit
	for _, root := range slices.Backward(roots) {
		stack = append(stack, visit{root, placement{node: -1}})
	}
	for len(stack) > 0 {
		if err := l.ctx.Err(); err != nil {
			return nil, err
		}
		v := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		here, err := l.readNode(v.node, v.parent)
		if err != nil {
			return nil, atItem("nodes", v.node, err)
		}
		placed[v.node] = here
		for _, child := range slices.Backward(children[v.node]) {
			stack = append(stack, visit{child, here})
		}
	}
	if left := len(l.doc.Nodes) - len(placed); left > 0 {
		l.warn("", "left out: %s that the scene that is loaded doesn't have", fault.Count(left, "node"))
	}
	return placed, nil
}

// placedAlready warns of a node that is named once more.
const placedAlready = "names a node that has its place already: it stays there"

// trees returns the scene's root nodes, and the children of each node. The nodes that the scene reaches must
// be trees (glTF 2.0, section 3.5.2), and are made such. A node stays with the first parent that has
// it, also where the scene names it as a root. A cycle is an error.
func (l *loader) trees() (roots []int, children [][]int, err error) {
	scene, listed, err := l.roots()
	if err != nil {
		return nil, nil, err
	}
	reached, err := l.reach(listed)
	if err != nil {
		return nil, nil, err
	}
	parents, children := slices.Repeat([]int{-1}, len(l.doc.Nodes)), make([][]int, len(l.doc.Nodes))
	for i, n := range l.doc.Nodes {
		if !reached[i] {
			continue
		}
		for c, child := range n.Children {
			if parents[child] >= 0 {
				l.warn(fmt.Sprintf("nodes[%d].children[%d]", i, c), placedAlready)
				continue
			}
			parents[child] = i
			children[i] = append(children[i], child)
		}
	}
	seen := map[int]bool{}
	for i, node := range listed {
		place := fmt.Sprintf("scenes[%d].nodes[%d]", scene, i)
		switch {
		case parents[node] >= 0:
			l.warn(place, "names a node that has a parent: it is placed there")
		case seen[node]:
			l.warn(place, placedAlready)
		default:
			seen[node] = true
			roots = append(roots, node)
		}
	}
	return roots, children, checkAcyclic(parents)
}

// reach returns which nodes lie below some, these included.
func (l *loader) reach(roots []int) ([]bool, error) {
	reached := make([]bool, len(l.doc.Nodes))
	next := slices.Clone(roots)
	for len(next) > 0 {
		i := next[len(next)-1]
		next = next[:len(next)-1]
		if reached[i] {
			continue
		}
		reached[i] = true
		for c, child := range l.doc.Nodes[i].Children {
			if err := checkIndex("nodes", child, len(reached)); err != nil {
				return nil, within(fmt.Sprintf("nodes[%d].children[%d]", i, c), err)
			}
			next = append(next, child)
		}
	}
	return reached, nil
}

// checkAcyclic follows each node's parents to a root. Every node is passed
// once: a second time it is known to be good, or on the way and so in a cycle.
func checkAcyclic(parents []int) error {
	const unknown, onTheWay, good = 0, 1, 2
	state := make([]uint8, len(parents))
	for i := range parents {
		n := i
		for ; n >= 0 && state[n] == unknown; n = parents[n] {
			state[n] = onTheWay
		}
		if n >= 0 && state[n] == onTheWay {
			return atItem("nodes", n, invalid("is its own ancestor"))
		}
		for n = i; n >= 0 && state[n] == onTheWay; n = parents[n] {
			state[n] = good
		}
	}
	return nil
}

// roots returns the scene to load, and the nodes that it names. It is the default scene, or the
// first. Where the file has no scene, they are all nodes without parents.
func (l *loader) roots() (chosen int, nodes []int, err error) {
	if len(l.doc.Scenes) == 0 {
		return 0, l.parentless(), nil
	}
	if l.doc.Scene != nil {
		chosen = *l.doc.Scene
	}
	if err := checkIndex("scenes", chosen, len(l.doc.Scenes)); err != nil {
		return 0, nil, within("scene", err)
	}
	if others := len(l.doc.Scenes) - 1; others > 0 {
		l.warn("", "only scenes[%d] is loaded, %s left out", chosen, fault.Count(others, "other scene"))
	}
	nodes = l.doc.Scenes[chosen].Nodes
	for i, node := range nodes {
		if err := checkIndex("nodes", node, len(l.doc.Nodes)); err != nil {
			return 0, nil, within(fmt.Sprintf("scenes[%d].nodes[%d]", chosen, i), err)
		}
	}
	return chosen, nodes, nil
}

// parentless returns the nodes that are nobody's children.
func (l *loader) parentless() (nodes []int) {
	child := map[int]bool{}
	for _, n := range l.doc.Nodes {
		for _, c := range n.Children {
			child[c] = true
		}
	}
	for i := range l.doc.Nodes {
		if !child[i] {
			nodes = append(nodes, i)
		}
	}
	return nodes
}

// readNode appends one node to the asset.
func (l *loader) readNode(i int, parent placement) (placement, error) {
	source := l.doc.Nodes[i]
	here := placement{node: len(l.asset.Nodes), parentMirrored: parent.mirrored}
	n := scene.Node{Name: source.Name, Parent: parent.node, Mesh: noMesh}
	if source.Rotation == [4]float64{} {
		l.warn(fmt.Sprintf("nodes[%d]", i), "has a rotation of no length: it isn't turned")
		source.Rotation = gltf.DefaultRotation
	}
	var err error
	if n.Local, err = l.localTransform(source, &here); err != nil {
		return parent, err
	}
	if !finite(n.Local.Translation[:]...) {
		return parent, within("translation", invalid("%v is out of range", n.Local.Translation))
	}
	if err := l.label(&n, source); err != nil {
		return parent, err
	}
	n.Actor = n.Actor && !parent.inActor
	here.inActor = n.Actor || parent.inActor
	n.Name = cmp.Or(n.Name, fmt.Sprintf("node_%d", i))
	instanced, err := l.readInstances(i, source, n, here)
	if err != nil {
		return parent, err
	}
	if source.Mesh != nil && !instanced {
		key := meshKey{*source.Mesh, here.mirrored && source.Skin == nil} // joints place a skin's mesh, not the node
		if n.Mesh, err = l.nodeMesh(key); err != nil {
			return parent, err
		}
		n.Weights = source.Weights
		if n.Weights == nil {
			n.Weights = l.doc.Meshes[key.mesh].Weights
		}
		if source.Skin != nil && n.Mesh != noMesh {
			l.skinned = append(l.skinned, i)
		}
	}
	if !instanced {
		l.asset.Nodes = append(l.asset.Nodes, n)
	}
	return here, nil
}

// bytesPerNode is what a node and its name take in a scene.Asset, about.
const bytesPerNode = 192

var instancesSchema = object(required("attributes", mapOf(indexValue)))

// readInstances appends a node n with EXT_mesh_gpu_instancing, and below it one for each place
// of its mesh. It returns false where the node has no such places, and appends nothing.
func (l *loader) readInstances(i int, source *gltf.Node, n scene.Node, here placement) (bool, error) {
	var instances struct {
		Attributes map[string]int `json:"attributes"`
	}
	found, err := extension(source.Extensions, extInstancing, instancesSchema, &instances)
	if err != nil || !found || source.Mesh == nil {
		return false, err
	}
	if source.Skin != nil {
		return false, invalid("has both %s and a skin", extInstancing)
	}
	places, err := l.instancePlaces(instances.Attributes)
	if err != nil {
		return false, within("extensions."+extInstancing, err)
	}
	l.asset.Nodes = append(l.asset.Nodes, n)
	for k, place := range places {
		one := placement{parentMirrored: here.mirrored, mirrored: here.mirrored != mirrors(place.Scale)}
		each := scene.Node{Name: fmt.Sprintf("%s_%d", n.Name, k), Parent: here.node, Local: one.unmirror(l.axes.trs(place))}
		if !finite(each.Local.Translation[:]...) {
			return false, within("extensions."+extInstancing+".attributes.TRANSLATION", invalid("element %d at %v is out of range", k, each.Local.Translation))
		}
		if each.Mesh, err = l.nodeMesh(meshKey{*source.Mesh, one.mirrored}); err != nil {
			return false, err
		}
		l.asset.Nodes = append(l.asset.Nodes, each)
	}
	return true, nil
}

// instancePlaces returns the transforms of EXT_mesh_gpu_instancing, in the file's axes.
func (l *loader) instancePlaces(attributes map[string]int) ([]scene.TRS, error) {
	var places []scene.TRS
	for _, a := range []struct {
		name string
		format
		set func(t *scene.TRS, v []float32) error
	}{
		{"TRANSLATION", format{typ: gltf.AccessorVec3}, func(t *scene.TRS, v []float32) error { t.Translation = vec3(v); return nil }},
		{"ROTATION", format{gltf.AccessorVec4, normalizedIntegers}, func(t *scene.TRS, v []float32) (err error) {
			t.Rotation, err = unitQuaternion([4]float64{float64(v[0]), float64(v[1]), float64(v[2]), float64(v[3])})
			return err
		}},
		{"SCALE", format{typ: gltf.AccessorVec3}, func(t *scene.TRS, v []float32) error { t.Scale = vec3(v); return nil }},
	} {
		accessor, ok := attributes[a.name]
		if !ok {
			continue
		}
		place := "attributes." + a.name
		values, err := l.floats(accessor, a.format)
		if err != nil {
			return nil, within(place, err)
		}
		width := a.typ.Components()
		count := len(values) / width
		if places == nil {
			if err := l.spend(2 * bytesPerNode * int64(count)); err != nil {
				return nil, within(place, err)
			}
			places = make([]scene.TRS, count)
			for k := range places {
				places[k] = scene.IdentityTRS()
			}
		}
		if count != len(places) {
			return nil, within(place, invalid("accessors[%d] has %d elements, another attribute has %d", accessor, count, len(places)))
		}
		for k := range places {
			if err := a.set(&places[k], values[width*k:width*(k+1)]); err != nil {
				return nil, within(place, invalid("element %d: %w", k, err))
			}
		}
	}
	if places == nil {
		return nil, within("attributes", invalid("has none of TRANSLATION, ROTATION and SCALE"))
	}
	return places, nil
}

// readSkins gives the nodes their skins, once all nodes that may be joints have their places.
func (l *loader) readSkins(placed map[int]placement) error {
	for _, i := range l.skinned {
		n := &l.asset.Nodes[placed[i].node]
		if len(l.asset.Meshes[n.Mesh].Joints) == 0 {
			l.warn(fmt.Sprintf("nodes[%d]", i), "has a skin, but its mesh has no JOINTS_0: it keeps its shape")
			continue
		}
		skin := *l.doc.Nodes[i].Skin
		if err := checkIndex("skins", skin, len(l.doc.Skins)); err != nil {
			return atItem("nodes", i, within("skin", err))
		}
		var err error
		if n.Skin, err = l.skin(l.doc.Skins[skin], placed); err != nil {
			return atItem("skins", skin, err)
		}
		for _, j := range l.asset.Meshes[n.Mesh].Joints {
			if int(j) >= len(n.Skin.Joints) {
				return atItem("nodes", i, within("skin", invalid("skins[%d] has %d joints, the mesh names joint %d", skin, len(n.Skin.Joints), j)))
			}
		}
	}
	return nil
}

// spendChain spends what a joint takes in a scene.Shape, which keeps all nodes above it.
func (l *loader) spendChain(node int) error {
	const perNode = 160
	depth := int64(0)
	for i := node; i >= 0; i = l.asset.Nodes[i].Parent {
		depth++
	}
	return l.spend(perNode * depth)
}

// skin returns a skin in our axes, without reflections.
func (l *loader) skin(source *gltf.Skin, placed map[int]placement) (*scene.Skin, error) {
	var bind []float32
	if source.InverseBindMatrices != nil {
		var err error
		if bind, err = l.floats(*source.InverseBindMatrices, format{typ: gltf.AccessorMat4}); err != nil {
			return nil, within("inverseBindMatrices", err)
		}
		if len(bind) < 16*len(source.Joints) {
			return nil, within("inverseBindMatrices", invalid("accessors[%d] has %d elements, %d joints need as many", *source.InverseBindMatrices, len(bind)/16, len(source.Joints)))
		}
	}
	if err := l.spend(136 * int64(len(source.Joints))); err != nil {
		return nil, err
	}
	s := &scene.Skin{}
	for k, joint := range source.Joints {
		place := fmt.Sprintf("joints[%d]", k)
		if err := checkIndex("nodes", joint, len(l.doc.Nodes)); err != nil {
			return nil, within(place, err)
		}
		at, ok := placed[joint]
		if !ok {
			return nil, within(place, invalid("nodes[%d] is not in the scene that is loaded", joint))
		}
		if err := l.spendChain(at.node); err != nil {
			return nil, err
		}
		m := mgl64.Ident4()
		if bind != nil {
			for i, x := range bind[16*k : 16*k+16] {
				m[i] = float64(x)
			}
		}
		s.Joints, s.Bind = append(s.Joints, at.node), append(s.Bind, l.bindMatrix(m, at.mirrored))
	}
	return s, nil
}

// bindMatrix turns an inverse bind matrix into our axes. A joint that mirrors has its reflection
// here, since its node has none.
func (l *loader) bindMatrix(m mgl64.Mat4, mirrored bool) mgl64.Mat4 {
	out := l.axes.linear(m.Mat3(), placement{parentMirrored: mirrored}).Mat4()
	out.SetCol(3, mirror(mirrored, l.axes.point(m.Col(3).Vec3())).Vec4(1))
	return out
}

// nodeMesh places errors in the mesh itself, not in the node that uses it.
func (l *loader) nodeMesh(key meshKey) (int, error) {
	if err := checkIndex("meshes", key.mesh, len(l.doc.Meshes)); err != nil {
		return noMesh, within("mesh", err)
	}
	return l.mesh(key)
}

// label gives a node its tag, and its mesh's name if it has none.
func (l *loader) label(n *scene.Node, source *gltf.Node) error {
	extras := make([]map[string]any, 1, 2)
	extras[0], _ = source.Extras.(map[string]any)
	if source.Mesh != nil && *source.Mesh >= 0 && *source.Mesh < len(l.doc.Meshes) {
		mesh := l.doc.Meshes[*source.Mesh]
		n.Name = cmp.Or(n.Name, mesh.Name)
		ofMesh, _ := mesh.Extras.(map[string]any)
		extras = append(extras, ofMesh)
	}
	label, err := l.labels.Label(n.Name, extras...)
	if err != nil {
		return err
	}
	n.Tag, n.Actor = label.Tag, label.Actor
	return nil
}

// localTransform returns a node's transform in our axes and without reflections. It completes the
// node's placement.
func (l *loader) localTransform(n *gltf.Node, here *placement) (scene.TRS, error) {
	if n.Matrix != gltf.DefaultMatrix {
		t, err := l.decompose(n.Matrix, here)
		return t, within("matrix", err)
	}
	t := scene.TRS{Translation: n.Translation, Scale: n.Scale}
	var err error
	if t.Rotation, err = unitQuaternion(n.Rotation); err != nil {
		return t, within("rotation", err)
	}
	if !finite(n.Scale[:]...) {
		return t, within("scale", invalid("%v is out of range", n.Scale))
	}
	here.mirrored = here.parentMirrored != mirrors(t.Scale)
	return here.unmirror(l.axes.trs(t)), nil
}

// unitQuaternion normalizes x, y, z, w.
func unitQuaternion(v [4]float64) (mgl64.Quat, error) {
	q := mgl64.Quat{W: v[3], V: mgl64.Vec3{v[0], v[1], v[2]}}
	n := q.Len() // of finite numbers: JSON and accessors hold no others
	if n < 1e-6 || n > 1e6 {
		return q, invalid("%v is not a unit quaternion", v)
	}
	if math.Abs(n-1) < 1e-15 {
		return q, nil
	}
	return q.Scale(1 / n), nil
}

// decompose splits a column-major matrix as localTransform wants it. A sheared one becomes the
// rotation that is nearest to it, after a stretch along axes of its own. So a little shear turns
// no actor. That is a polar decomposition, by way of the singular values.
func (l *loader) decompose(m [16]float64, here *placement) (t scene.TRS, err error) {
	if !finite(m[:]...) {
		return t, invalid("has a number that is out of range")
	}
	if m[3] != 0 || m[7] != 0 || m[11] != 0 || m[15] != 1 {
		return t, invalid("its last row is not 0 0 0 1")
	}
	file := mgl64.Mat4(m)
	here.mirrored = here.parentMirrored != (file.Mat3().Det() < 0)
	linear := l.axes.linear(file.Mat3(), *here)
	t, here.sheared = decomposeLinear(linear)
	if here.sheared {
		axes := principalAxes(linear)
		t, _ = decomposeLinear(withoutNoise(linear.Mul3(axes)))
		t.ScaleOrientation = mgl64.Mat4ToQuat(axes.Mat4()).Normalize()
		t.Rotation = t.Rotation.Mul(t.ScaleOrientation.Conjugate()).Normalize()
	}
	t.Translation = mirror(here.parentMirrored, l.axes.point(file.Col(3).Vec3()))
	return t, nil
}

// linear turns a linear map into our axes and takes the reflections out, on either side.
func (a *modelAxes) linear(m mgl64.Mat3, at placement) (out mgl64.Mat3) {
	for c := range 3 {
		axis := mgl64.Vec3{}
		axis[c] = 1
		out.SetCol(c, mirror(at.parentMirrored, a.Out(m.Mul3x1(a.In(mirror(at.mirrored, axis))))))
	}
	return out
}

// decomposeLinear returns rotation and scale of a matrix. It is sheared where its columns aren't
// at right angles.
func decomposeLinear(m mgl64.Mat3) (t scene.TRS, sheared bool) {
	columns := [3]mgl64.Vec3{m.Col(0), m.Col(1), m.Col(2)}
	for c := range columns {
		t.Scale[c] = columns[c].Len()
	}
	if columns[0].Cross(columns[1]).Dot(columns[2]) < 0 { // by rounding alone
		t.Scale[0], columns[0] = -t.Scale[0], columns[0].Mul(-1)
	}
	basis := orthonormal(columns)
	for c := range columns {
		if columns[c].Sub(basis[c].Mul(math.Abs(t.Scale[c]))).Len() > 1e-4*math.Abs(t.Scale[c]) {
			sheared = true
		}
	}
	t.Rotation = mgl64.Mat4ToQuat(mgl64.Mat4FromCols(
		basis[0].Vec4(0), basis[1].Vec4(0), basis[2].Vec4(0), mgl64.Vec4{0, 0, 0, 1})).Normalize()
	return t, sheared
}

// withoutNoise clears columns that are there by rounding alone.
func withoutNoise(m mgl64.Mat3) mgl64.Mat3 {
	longest := max(m.Col(0).Len(), m.Col(1).Len(), m.Col(2).Len())
	for c := range 3 {
		if m.Col(c).Len() < 1e-9*longest {
			m.SetCol(c, mgl64.Vec3{})
		}
	}
	return m
}

// principalAxes returns a rotation whose columns m maps to vectors at right angles. They are
// the eigenvectors of the product of m transposed and m, by Jacobi's rotations (Golub and Van
// Loan, Matrix Computations, section 8.5).
func principalAxes(m mgl64.Mat3) mgl64.Mat3 {
	a, axes := m.Transpose().Mul3(m), mgl64.Ident3()
	for range 32 {
		p, q := 0, 1
		for _, pair := range [][2]int{{0, 2}, {1, 2}} {
			if math.Abs(a.At(pair[0], pair[1])) > math.Abs(a.At(p, q)) {
				p, q = pair[0], pair[1]
			}
		}
		if math.Abs(a.At(p, q)) < 1e-15*a.Trace() {
			break
		}
		sin, cos := math.Sincos(0.5 * math.Atan2(2*a.At(p, q), a.At(q, q)-a.At(p, p)))
		turn := mgl64.Ident3()
		turn.Set(p, p, cos)
		turn.Set(q, q, cos)
		turn.Set(p, q, sin)
		turn.Set(q, p, -sin)
		a, axes = turn.Transpose().Mul3(a).Mul3(turn), axes.Mul3(turn)
	}
	return axes
}

// orthonormal returns the right-handed basis along the columns, by Gram and
// Schmidt; columns of no length get the directions that are left.
func orthonormal(columns [3]mgl64.Vec3) [3]mgl64.Vec3 {
	var basis [3]mgl64.Vec3
	var have []int
	for c := range columns {
		v := columns[c]
		length := v.Len()
		for _, other := range have {
			v = v.Sub(basis[other].Mul(basis[other].Dot(v)))
		}
		if length == 0 || v.Len() < 1e-9*length {
			continue
		}
		basis[c] = v.Normalize()
		have = append(have, c)
	}
	switch len(have) {
	case 0:
		return [3]mgl64.Vec3{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}
	case 1:
		c := have[0]
		next := (c + 1) % 3
		basis[next] = anyPerpendicular(basis[c])
		basis[(c+2)%3] = basis[c].Cross(basis[next])
	case 2:
		c := 3 - have[0] - have[1]
		basis[c] = basis[(c+1)%3].Cross(basis[(c+2)%3])
	}
	return basis
}

func anyPerpendicular(v mgl64.Vec3) mgl64.Vec3 {
	axis := mgl64.Vec3{1, 0, 0}
	if math.Abs(v[0]) > 0.5 {
		axis = mgl64.Vec3{0, 1, 0}
	}
	return v.Cross(axis).Normalize()
}

// A node whose scale mirrors turns its meshes' triangles round (glTF 2.0, section 3.7.4). The
// asset has no such node. With R the reflection that swaps left and right, a transform T that
// mirrors is T = (T R) R, where T R doesn't. R passes to the meshes and the children of the node. A
// child's transform C then becomes R C, or R C R if it doesn't mirror back. On translation,
// rotation and scale this only changes signs.

// mirrors reports whether a scale turns triangles round.
func mirrors(scale mgl64.Vec3) bool { return scale[0]*scale[1]*scale[2] < 0 }

// mirror applies R to a vector where on is true.
func mirror(on bool, v mgl64.Vec3) mgl64.Vec3 {
	if on {
		v[1] = -v[1]
	}
	return v
}

// mirrorRotation is R Q R where on is true: the axis is reflected and the
// angle turned round.
func mirrorRotation(on bool, q mgl64.Quat) mgl64.Quat {
	if on {
		q.V[0], q.V[2] = -q.V[0], -q.V[2]
	}
	return q
}

// mirrorScale is S with R on either side where it is needed.
func (p *placement) mirrorScale(s mgl64.Vec3) mgl64.Vec3 {
	return mirror(p.parentMirrored != p.mirrored, s)
}

// unmirror takes the reflections out of a node's transform, in our axes.
func (p *placement) unmirror(t scene.TRS) scene.TRS {
	return scene.TRS{
		Translation: mirror(p.parentMirrored, t.Translation),
		Rotation:    mirrorRotation(p.parentMirrored, t.Rotation),
		Scale:       p.mirrorScale(t.Scale),
	}
}
