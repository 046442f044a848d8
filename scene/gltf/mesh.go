package gltf

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/go-gl/mathgl/mgl32"
	"github.com/go-gl/mathgl/mgl64"
	"github.com/qmuntal/gltf"

	"github.com/raybridge/raybridge/scene"
)

// meshKey is a mesh of the document as it lies or reflected (see mirror).
type meshKey struct {
	mesh     int
	mirrored bool
}

// noMesh is the mesh of a node without triangles.
const noMesh = -1

// mesh returns the asset's mesh for one of the document's.
func (l *loader) mesh(key meshKey) (int, error) {
	if known, ok := l.meshes[key]; ok {
		return known, nil
	}
	if err := checkIndex("meshes", key.mesh, len(l.doc.Meshes)); err != nil {
		return noMesh, err
	}
	source := l.doc.Meshes[key.mesh]
	w := vertexWriter{loader: l, mirrored: key.mirrored}
	w.mesh.Flat = true
	w.mesh.Name = cmp.Or(source.Name, fmt.Sprintf("mesh_%d", key.mesh))
	if len(source.Primitives) == 0 {
		l.warn(fmt.Sprintf("meshes[%d]", key.mesh), "has no primitives and is left out")
	}
	for i, p := range source.Primitives {
		place := fmt.Sprintf("meshes[%d].primitives[%d]", key.mesh, i)
		if err := l.primitive(&w, place, p); err != nil {
			return noMesh, at(place, err)
		}
	}
	id := noMesh
	if len(w.mesh.Indices) > 0 {
		l.asset.Meshes = append(l.asset.Meshes, w.mesh)
		id = len(l.asset.Meshes) - 1
	}
	l.meshes[key] = id
	return id, nil
}

// primitive appends one primitive to a mesh, as one group.
func (l *loader) primitive(w *vertexWriter, place string, p *gltf.Primitive) error {
	if err := l.checkUncompressed(p); err != nil {
		return err
	}
	if _, ok := p.Attributes[gltf.POSITION]; !ok {
		l.warn(place, "has no POSITION and is left out")
		return nil
	}
	if l.isEmpty(p) {
		l.warn(place, "is empty and is left out")
		return nil
	}
	switch p.Mode {
	case gltf.PrimitiveTriangles, gltf.PrimitiveTriangleStrip, gltf.PrimitiveTriangleFan:
	default:
		l.warn(place, "is of points or lines, which sensors can't see, and is left out")
		return nil
	}
	m := noMaterial
	if p.Material != nil {
		m = *p.Material
	}
	material, err := l.material(m)
	if err != nil {
		return within("material", err)
	}
	source, err := l.readVertices(place, p, &l.uvs[material])
	if err != nil {
		return err
	}
	triangles, err := l.readTriangles(p, source.count())
	if err != nil {
		return err
	}
	return w.group(source, triangles, material)
}

// isEmpty reports whether a primitive has no vertices, or uses none.
func (l *loader) isEmpty(p *gltf.Primitive) bool {
	none := func(i int) bool { return i >= 0 && i < len(l.doc.Accessors) && l.doc.Accessors[i].Count == 0 }
	return none(p.Attributes[gltf.POSITION]) || p.Indices != nil && none(*p.Indices)
}

// checkUncompressed reports a primitive whose vertices Draco alone has: its accessors are not
// there, or empty, and would be read as zeros.
func (l *loader) checkUncompressed(p *gltf.Primitive) error {
	if _, draco := p.Extensions[extDraco]; !draco {
		return nil
	}
	_, plain := p.Attributes[gltf.POSITION]
	accessors := slices.Collect(maps.Values(p.Attributes))
	if p.Indices != nil {
		accessors = append(accessors, *p.Indices)
	}
	for _, i := range accessors {
		if checkIndex("accessors", i, len(l.doc.Accessors)) != nil {
			continue // its reader says so
		}
		a := l.doc.Accessors[i]
		plain = plain && (a.BufferView != nil || a.Sparse != nil)
	}
	if !plain {
		return within("extensions", faultf(ErrUnsupported, "is compressed by %s, which is not supported: export the model without it", extDraco))
	}
	return nil
}

// vertices are a primitive's attributes as the file has them.
type vertices struct {
	positions []float32   // 3 a vertex
	normals   []float32   // 3 a vertex, or nil
	uvs       []float32   // 2 a vertex, or nil
	colors    []float32   // 3 or 4 a vertex, or nil
	channels  int         // of a colour
	joints    [][]float32 // by set: 4 a vertex
	weights   [][]float32 // by set: 4 a vertex
	targets   []targetVertices
	mapping   *uvMapping
}

// targetVertices are what a morph target adds to vertices, as the file has it.
type targetVertices struct{ positions, normals []float32 } // 3 a vertex, or nil

func (v *vertices) count() int { return len(v.positions) / 3 }

func (v *vertices) position(i uint32) mgl64.Vec3 { return vec3(v.positions[3*i:]) }
func (v *vertices) normal(i uint32) mgl64.Vec3   { return vec3(v.normals[3*i:]) }

var white = mgl32.Vec4{1, 1, 1, 1}

// color returns a vertex's colour, each number from 0 to 1; white without one.
func (v *vertices) color(i uint32) mgl32.Vec4 {
	c := white
	if v.colors == nil {
		return c
	}
	for k, x := range v.colors[v.channels*int(i) : v.channels*(int(i)+1)] {
		c[k] = unit(float64(x))
	}
	return c
}

func vec3(v []float32) mgl64.Vec3 {
	return mgl64.Vec3{float64(v[0]), float64(v[1]), float64(v[2])}
}

func (l *loader) readVertices(place string, p *gltf.Primitive, mapping *uvMapping) (vertices, error) {
	v := vertices{mapping: mapping}
	var err error
	if v.positions, err = l.attribute(p, gltf.POSITION, format{gltf.AccessorVec3, anyIntegers}, 0); err != nil {
		return v, err
	}
	if v.normals, err = l.attribute(p, gltf.NORMAL, format{gltf.AccessorVec3, normalizedIntegers}, v.count()); err != nil {
		return v, err
	}
	if err := l.readInfluences(&v, p); err != nil {
		return v, err
	}
	if err := l.readTargets(&v, p); err != nil {
		return v, err
	}
	if v.colors, v.channels, err = l.readColors(p, v.count()); err != nil || !mapping.textured {
		return v, err
	}
	name := fmt.Sprintf("TEXCOORD_%d", mapping.set)
	if v.uvs, err = l.attribute(p, name, format{gltf.AccessorVec2, anyIntegers}, v.count()); err != nil {
		return v, err
	}
	if v.uvs == nil {
		l.warn(place, "has a texture but no %s: it takes the colour at the texture's origin", name)
	}
	return v, nil
}

// readInfluences reads the joints that vertices follow, and by how much.
func (l *loader) readInfluences(v *vertices, p *gltf.Primitive) error {
	for set := 0; ; set++ {
		joints, err := l.attribute(p, fmt.Sprintf("JOINTS_%d", set), format{gltf.AccessorVec4, anyIntegers}, v.count())
		if err != nil || joints == nil {
			return err
		}
		name := fmt.Sprintf("WEIGHTS_%d", set)
		weights, err := l.attribute(p, name, format{gltf.AccessorVec4, normalizedIntegers}, v.count())
		if err != nil {
			return err
		}
		if weights == nil {
			return within("attributes", invalid("has JOINTS_%d but no %s", set, name))
		}
		for i, j := range joints {
			if j < 0 || j > math.MaxUint16 || j != float32(int(j)) {
				return within(fmt.Sprintf("attributes.JOINTS_%d", set), invalid("element %d has %v where a joint's number must be", i/4, j))
			}
		}
		v.joints, v.weights = append(v.joints, joints), append(v.weights, weights)
	}
}

// readTargets reads a primitive's morph targets.
func (l *loader) readTargets(v *vertices, p *gltf.Primitive) error {
	for k, t := range p.Targets {
		place := fmt.Sprintf("targets[%d]", k)
		target := &gltf.Primitive{Attributes: t}
		positions, err := l.attribute(target, gltf.POSITION, format{gltf.AccessorVec3, anyIntegers}, v.count())
		if err != nil {
			return within(place, err)
		}
		normals, err := l.attribute(target, gltf.NORMAL, format{gltf.AccessorVec3, normalizedIntegers}, v.count())
		if err != nil {
			return within(place, err)
		}
		v.targets = append(v.targets, targetVertices{positions, normals})
	}
	return nil
}

// readColors reads a primitive's colours, if it has some, and says how many numbers one has.
func (l *loader) readColors(p *gltf.Primitive, want int) (colors []float32, channels int, err error) {
	f := format{gltf.AccessorVec4, normalizedIntegers}
	if i, ok := p.Attributes[gltf.COLOR_0]; ok && i >= 0 && i < len(l.doc.Accessors) && l.doc.Accessors[i].Type == gltf.AccessorVec3 {
		f.typ = gltf.AccessorVec3
	}
	colors, err = l.attribute(p, gltf.COLOR_0, f, want)
	return colors, f.typ.Components(), err
}

// attribute reads an attribute with the wanted count of elements (0 for any),
// or nothing where the primitive hasn't got it.
func (l *loader) attribute(p *gltf.Primitive, name string, f format, want int) ([]float32, error) {
	accessor, ok := p.Attributes[name]
	if !ok {
		return nil, nil
	}
	values, err := l.floats(accessor, f)
	if err == nil {
		if have := len(values) / f.typ.Components(); want != 0 && have != want {
			err = invalid("accessors[%d] has %d elements, POSITION has %d", accessor, have, want)
		}
	}
	return values, within("attributes."+name, err)
}

// readTriangles returns a primitive's triangles as vertex indices, three each.
func (l *loader) readTriangles(p *gltf.Primitive, vertexCount int) ([]uint32, error) {
	corners, err := l.readCorners(p, vertexCount)
	if err != nil {
		return nil, err
	}
	for i, v := range corners {
		if int64(v) >= int64(vertexCount) {
			return nil, within("indices", invalid("index %d, the %d. one, is out of range: POSITION has %d elements", v, i+1, vertexCount))
		}
	}
	if p.Mode == gltf.PrimitiveTriangles {
		if len(corners)%3 != 0 {
			return nil, invalid("has %d corners, which are no whole triangles", len(corners))
		}
		return corners, nil
	}
	if len(corners) < 3 {
		return nil, invalid("has %d corners, which are no triangle", len(corners))
	}
	if err := l.spend(int64(len(corners)) * 12); err != nil {
		return nil, err
	}
	if p.Mode == gltf.PrimitiveTriangleFan {
		return fanTriangles(corners), nil
	}
	return stripTriangles(corners), nil
}

// readCorners returns the indices, or all vertices in order where there are none.
func (l *loader) readCorners(p *gltf.Primitive, vertexCount int) ([]uint32, error) {
	if p.Indices != nil {
		corners, err := l.indices(*p.Indices)
		return corners, within("indices", err)
	}
	if err := l.spend(int64(vertexCount) * 4); err != nil {
		return nil, err
	}
	corners := make([]uint32, vertexCount)
	for i := range corners {
		corners[i] = uint32(i)
	}
	return corners, nil
}

// stripTriangles follows section 3.7.2.1: every second triangle is turned, so
// that all face the same way. Those that only join strips are left out.
func stripTriangles(corners []uint32) []uint32 {
	out := make([]uint32, 0, 3*(len(corners)-2))
	for i := range len(corners) - 2 {
		a, b, c := corners[i], corners[i+1+i%2], corners[i+2-i%2]
		if a != b && b != c && c != a {
			out = append(out, a, b, c)
		}
	}
	return out
}

// fanTriangles follows section 3.7.2.1.
func fanTriangles(corners []uint32) []uint32 {
	out := make([]uint32, 0, 3*(len(corners)-2))
	for i := range len(corners) - 2 {
		out = append(out, corners[i+1], corners[i+2], corners[0])
	}
	return out
}

// unset is a vertex that the mesh hasn't got yet.
const unset = ^uint32(0)

// vertexWriter appends primitives to a mesh in our axes, each with the
// vertices that it uses.
type vertexWriter struct {
	loader   *loader
	mirrored bool
	sets     int // of joints, 4 a vertex each
	mesh     scene.Mesh
}

// bytesPerVertex is what a vertex takes in a scene.Mesh, without its colour.
const (
	bytesPerVertex = 12 + 12 + 8
	bytesPerColor  = 16
)

// group appends triangles with one material.
func (w *vertexWriter) group(v vertices, triangles []uint32, material int) error {
	if len(triangles) == 0 {
		return nil
	}
	perVertex := int64(bytesPerVertex)
	if v.colors != nil || w.mesh.Colors != nil {
		perVertex += bytesPerColor
	}
	perCorner := int64(4)
	if v.normals == nil {
		perCorner += perVertex
	}
	if err := w.loader.spend(perCorner*int64(len(triangles)) + perVertex*int64(min(v.count(), len(triangles)))); err != nil {
		return err
	}
	if err := w.prepareShape(&v, int64(len(triangles))); err != nil {
		return err
	}
	w.mesh.Flat = w.mesh.Flat && v.normals == nil
	if v.colors != nil && w.mesh.Colors == nil {
		if err := w.loader.spend(bytesPerColor * int64(len(w.mesh.Positions))); err != nil {
			return err
		}
		w.mesh.Colors = slices.Repeat([]mgl32.Vec4{white}, len(w.mesh.Positions))
	}
	if v.uvs != nil && w.mesh.UVs == nil {
		w.mesh.UVs = make([]mgl32.Vec2, len(w.mesh.Positions))
	}
	first := len(w.mesh.Indices)
	write := w.smooth
	if v.normals == nil {
		write = w.flat
	}
	if err := write(&v, triangles); err != nil {
		return err
	}
	w.mesh.Groups = append(w.mesh.Groups, scene.Group{First: first, Count: len(w.mesh.Indices) - first, Material: material})
	return nil
}

// prepareShape makes room for a primitive's influences and targets, at most vertices of them. All
// primitives of a mesh have equally many targets; those with fewer joints have weights of 0.
func (w *vertexWriter) prepareShape(v *vertices, vertices int64) error {
	have := len(w.mesh.Positions)
	switch {
	case have == 0:
		w.sets = len(v.joints)
		w.mesh.Targets = make([]scene.MorphTarget, len(v.targets))
	case len(v.targets) != len(w.mesh.Targets):
		return within("targets", invalid("has %d, the primitive before has %d", len(v.targets), len(w.mesh.Targets)))
	case len(v.joints) > w.sets:
		if err := w.widen(len(v.joints)); err != nil {
			return err
		}
	}
	return w.loader.spend(vertices * int64(24*w.sets+24*len(v.targets)))
}

// widen gives the vertices that are there more sets of joints, with weights of 0.
func (w *vertexWriter) widen(sets int) error {
	n := len(w.mesh.Positions)
	if err := w.loader.spend(int64(n) * int64(24*sets)); err != nil {
		return err
	}
	joints, weights := make([]uint16, 4*sets*n), make([]float32, 4*sets*n)
	for i := range n {
		copy(joints[4*sets*i:], w.mesh.Joints[4*w.sets*i:4*w.sets*(i+1)])
		copy(weights[4*sets*i:], w.mesh.Weights[4*w.sets*i:4*w.sets*(i+1)])
	}
	w.mesh.Joints, w.mesh.Weights, w.sets = joints, weights, sets
	return nil
}

// shape appends what moves the file's vertex i.
func (w *vertexWriter) shape(v *vertices, i uint32) error {
	for set := range w.sets {
		var joints [4]uint16
		var weights [4]float32
		if set < len(v.joints) {
			for k := range 4 {
				joints[k], weights[k] = uint16(v.joints[set][4*int(i)+k]), v.weights[set][4*int(i)+k]
			}
		}
		w.mesh.Joints, w.mesh.Weights = append(w.mesh.Joints, joints[:]...), append(w.mesh.Weights, weights[:]...)
	}
	for k, t := range v.targets {
		to := &w.mesh.Targets[k]
		var position, normal mgl64.Vec3
		if t.positions != nil {
			position = mirror(w.mirrored, w.loader.axes.point(vec3(t.positions[3*i:])))
		}
		if t.normals != nil {
			normal = mirror(w.mirrored, w.loader.axes.Out(vec3(t.normals[3*i:])))
		}
		if !finite(position[:]...) {
			return within(fmt.Sprintf("targets[%d].POSITION", k), invalid("element %d at %v is out of range", i, position))
		}
		to.Positions, to.Normals = append(to.Positions, vec32(position)), append(to.Normals, vec32(normal))
	}
	return nil
}

// smooth writes triangles with the file's normals, sharing vertices as it does.
func (w *vertexWriter) smooth(v *vertices, triangles []uint32) error {
	remap := w.loader.scratch(v.count())
	defer func() {
		for _, i := range triangles {
			remap[i] = unset
		}
	}()
	for t := 0; t < len(triangles); t += 3 {
		corners := triangles[t : t+3]
		for _, i := range corners {
			if remap[i] != unset {
				continue
			}
			normal := v.normal(i)
			if normal.LenSqr() == 0 {
				// Exporters leave it so where a triangle has no area.
				normal = faceNormal(v, corners)
			}
			remap[i] = uint32(len(w.mesh.Positions))
			if err := w.vertex(v, i, normal); err != nil {
				return err
			}
		}
		w.triangle(remap[corners[0]], remap[corners[1]], remap[corners[2]])
	}
	return nil
}

// flat writes triangles that share no vertices, with their own normals.
func (w *vertexWriter) flat(v *vertices, triangles []uint32) error {
	for t := 0; t < len(triangles); t += 3 {
		corners := triangles[t : t+3]
		normal := faceNormal(v, corners)
		at := uint32(len(w.mesh.Positions))
		for _, i := range corners {
			if err := w.vertex(v, i, normal); err != nil {
				return err
			}
		}
		w.triangle(at, at+1, at+2)
	}
	return nil
}

// faceNormal is the unit normal of a triangle in the file's axes, or any unit
// vector where it has no area.
func faceNormal(v *vertices, corners []uint32) mgl64.Vec3 {
	a := v.position(corners[0])
	n := v.position(corners[1]).Sub(a).Cross(v.position(corners[2]).Sub(a))
	if n.LenSqr() == 0 {
		return mgl64.Vec3{0, 1, 0}
	}
	return n
}

// vertex appends the file's vertex i with a normal of any length.
func (w *vertexWriter) vertex(v *vertices, i uint32, normal mgl64.Vec3) error {
	position := mirror(w.mirrored, w.loader.axes.point(v.position(i)))
	if !finite(position[:]...) {
		return within("attributes.POSITION", invalid("element %d at %v is out of range", i, position))
	}
	normal = mirror(w.mirrored, w.loader.axes.Out(normal.Normalize()))
	w.mesh.Positions = append(w.mesh.Positions, vec32(position))
	w.mesh.Normals = append(w.mesh.Normals, vec32(normal))
	if w.mesh.Colors != nil {
		w.mesh.Colors = append(w.mesh.Colors, v.color(i))
	}
	if err := w.shape(v, i); err != nil {
		return err
	}
	if w.mesh.UVs == nil {
		return nil
	}
	var uv mgl32.Vec2
	if v.uvs != nil {
		uv = v.mapping.apply(v.uvs[2*i], v.uvs[2*i+1])
		if !finite(float64(uv[0]), float64(uv[1])) {
			return within(fmt.Sprintf("attributes.TEXCOORD_%d", v.mapping.set), invalid("element %d is out of range once transformed", i))
		}
	}
	w.mesh.UVs = append(w.mesh.UVs, uv)
	return nil
}

// triangle appends one triangle; a reflection turns it round.
func (w *vertexWriter) triangle(a, b, c uint32) {
	if w.mirrored {
		b, c = c, b
	}
	w.mesh.Indices = append(w.mesh.Indices, a, b, c)
}

// scratch returns n unset entries.
func (l *loader) scratch(n int) []uint32 {
	for len(l.remap) < n {
		l.remap = append(l.remap, unset)
	}
	return l.remap[:n]
}

func vec32(v mgl64.Vec3) mgl32.Vec3 {
	return mgl32.Vec3{float32(v[0]), float32(v[1]), float32(v[2])}
}
