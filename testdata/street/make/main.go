// Make writes the pieces of the street: small glTF files in the form in which Blender
// exports them, a file of binary data beside each, and the picture that all share.
// From the repository's root: go run ./testdata/street/make testdata/street
package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"image"
	"image/color"
	"image/png"
	"log"
	"math"
	"os"
	"path/filepath"
)

// Colours are blocks of 4x4 texels in a picture of 16x16, from the top left.
const (
	asphalt = iota
	white
	grass
	brick
	plaster
	slate
	glass
	wood
	leaf
	red
	yellow
	green
	black
	steel
	blue
	grey
)

var palette = [16]color.NRGBA{
	asphalt: {52, 54, 58, 255}, white: {235, 235, 230, 255}, grass: {96, 140, 72, 255}, brick: {150, 82, 64, 255},
	plaster: {214, 200, 172, 255}, slate: {78, 84, 96, 255}, glass: {140, 176, 196, 255}, wood: {134, 98, 62, 255},
	leaf: {58, 110, 52, 255}, red: {200, 40, 36, 255}, yellow: {240, 190, 40, 255}, green: {40, 170, 80, 255},
	black: {24, 24, 26, 255}, steel: {160, 164, 170, 255}, blue: {44, 88, 180, 255}, grey: {120, 120, 118, 255},
}

const texture = "colours.png"

// vec is in glTF's axes: x to the left, y up, z forward; metres.
type vec [3]float64

// mesh is made of flat faces.
type mesh struct {
	positions, normals []vec
	uvs                [][2]float64
	indices            []uint16
}

// face adds a convex polygon, counterclockwise as seen from outside.
func (m *mesh) face(colour int, corners []vec) {
	first := uint16(len(m.positions))
	var u, v vec
	for k := range u {
		u[k], v[k] = corners[1][k]-corners[0][k], corners[2][k]-corners[0][k]
	}
	normal := vec{u[1]*v[2] - u[2]*v[1], u[2]*v[0] - u[0]*v[2], u[0]*v[1] - u[1]*v[0]}
	length := math.Hypot(normal[0], math.Hypot(normal[1], normal[2]))
	for k := range normal {
		normal[k] /= length
	}
	for i, c := range corners {
		m.positions, m.normals = append(m.positions, c), append(m.normals, normal)
		m.uvs = append(m.uvs, [2]float64{(float64(colour%4) + 0.5) / 4, (float64(colour/4) + 0.5) / 4})
		if i >= 2 {
			m.indices = append(m.indices, first, first+uint16(i)-1, first+uint16(i))
		}
	}
}

// extrude adds a convex profile, given counterclockwise in the two axes that follow
// the axis, from lo to hi along that.
func (m *mesh) extrude(colour, axis int, lo, hi float64, profile [][2]float64) {
	at := func(p [2]float64, h float64) (v vec) {
		v[axis], v[(axis+1)%3], v[(axis+2)%3] = h, p[0], p[1]
		return v
	}
	n := len(profile)
	var top, bottom []vec
	for i, p := range profile {
		next := profile[(i+1)%n]
		m.face(colour, []vec{at(p, lo), at(next, lo), at(next, hi), at(p, hi)})
		top, bottom = append(top, at(p, hi)), append(bottom, at(profile[n-1-i], lo))
	}
	m.face(colour, top)
	m.face(colour, bottom)
}

// box adds a box along the axes.
func (m *mesh) box(colour int, lo, hi vec) {
	m.extrude(colour, 1, lo[1], hi[1], [][2]float64{{lo[2], lo[0]}, {hi[2], lo[0]}, {hi[2], hi[0]}, {lo[2], hi[0]}})
}

// cylinder adds a prism of ten sides around an axis through the origin.
func (m *mesh) cylinder(colour, axis int, lo, hi, radius float64) {
	const sides = 10
	var profile [][2]float64
	for i := range sides {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / sides)
		profile = append(profile, [2]float64{radius * cos, radius * sin})
	}
	m.extrude(colour, axis, lo, hi, profile)
}

// part is a node with a mesh of its own; the first of a piece is the root.
type part struct {
	suffix string
	at     vec
	mesh   mesh
}

func of(suffix string, at vec, build func(*mesh)) part {
	p := part{suffix: suffix, at: at}
	build(&p.mesh)
	return p
}

var pieces = map[string][]part{
	"base": {of("", vec{}, func(m *mesh) { m.box(grass, vec{-6, -0.2, -6}, vec{6, -0.02, 6}) })},
	"road_straight": {of("", vec{}, func(m *mesh) {
		m.box(asphalt, vec{-4, -0.2, -6}, vec{4, 0, 6})
		m.box(white, vec{-0.1, 0, -2}, vec{0.1, 0.01, 2})
	})},
	"building_A": {of("", vec{}, func(m *mesh) {
		m.box(plaster, vec{-4, 0, -4}, vec{4, 6, 4})
		m.box(wood, vec{-0.6, 0, 4}, vec{0.6, 2.2, 4.1})
		m.box(glass, vec{-3, 3.4, 4}, vec{-1.5, 4.8, 4.05})
		m.box(glass, vec{1.5, 3.4, 4}, vec{3, 4.8, 4.05})
	}), of("_roof", vec{0, 6, 0}, func(m *mesh) {
		m.extrude(slate, 2, -4.2, 4.2, [][2]float64{{-4.4, 0}, {4.4, 0}, {0, 2.6}})
	})},
	"building_B": {of("", vec{}, func(m *mesh) {
		m.box(brick, vec{-3.5, 0, -3.5}, vec{3.5, 12, 3.5})
		for floor := range 4 {
			y := 1.2 + 2.8*float64(floor)
			m.box(glass, vec{-2.8, y, 3.5}, vec{2.8, y + 1.4, 3.55})
		}
	}), of("_top", vec{1, 12, -0.5}, func(m *mesh) { m.box(grey, vec{-1.5, 0, -1.5}, vec{1.5, 1.8, 1.5}) })},
	"car_small": {of("", vec{}, func(m *mesh) {
		m.box(red, vec{-0.9, 0.3, -2.1}, vec{0.9, 0.95, 2.1})
		m.box(glass, vec{-0.75, 0.95, -1.3}, vec{0.75, 1.5, 0.8})
		m.box(white, vec{-0.7, 0.6, 2.1}, vec{0.7, 0.8, 2.15})
	}), wheel("front_left", 0.85, 1.3), wheel("front_right", -0.85, 1.3), wheel("rear_left", 0.85, -1.25), wheel("rear_right", -0.85, -1.25)},
	"trafficlight_A": {of("", vec{}, func(m *mesh) { m.cylinder(steel, 1, 0, 3.2, 0.09) }), of("_head", vec{0, 2.9, 0.2}, func(m *mesh) {
		m.box(black, vec{-0.18, -0.5, -0.12}, vec{0.18, 0.5, 0.12})
		m.box(red, vec{-0.1, 0.2, 0.12}, vec{0.1, 0.4, 0.14})
		m.box(yellow, vec{-0.1, -0.1, 0.12}, vec{0.1, 0.1, 0.14})
		m.box(green, vec{-0.1, -0.4, 0.12}, vec{0.1, -0.2, 0.14})
	})},
	"streetlight": {of("", vec{}, func(m *mesh) {
		m.cylinder(steel, 1, 0, 5.5, 0.1)
		m.box(steel, vec{-0.06, 5.4, 0}, vec{0.06, 5.52, 1.6})
		m.box(white, vec{-0.15, 5.3, 1.2}, vec{0.15, 5.4, 1.7})
	})},
	"bench": {of("", vec{}, func(m *mesh) {
		m.box(wood, vec{-0.9, 0.4, -0.25}, vec{0.9, 0.48, 0.25})
		m.box(wood, vec{-0.9, 0.48, -0.3}, vec{0.9, 0.95, -0.22})
		m.box(steel, vec{-0.8, 0, -0.2}, vec{-0.7, 0.4, 0.2})
		m.box(steel, vec{0.7, 0, -0.2}, vec{0.8, 0.4, 0.2})
	})},
	"bush": {of("", vec{}, func(m *mesh) {
		m.cylinder(leaf, 1, 0, 0.35, 0.45)
		m.cylinder(leaf, 1, 0.35, 0.75, 0.6)
		m.cylinder(leaf, 1, 0.75, 1.05, 0.35)
	})},
	"box_A":    {of("", vec{}, func(m *mesh) { m.box(wood, vec{-0.4, 0, -0.4}, vec{0.4, 0.7, 0.4}) })},
	"dumpster": {of("", vec{}, func(m *mesh) { m.box(green, vec{-1.1, 0.15, -0.6}, vec{1.1, 1.3, 0.6}) })},
	"firehydrant": {of("", vec{}, func(m *mesh) {
		m.cylinder(red, 1, 0, 0.75, 0.14)
		m.cylinder(red, 0, -0.25, 0.25, 0.07)
	})},
	"trash_A": {of("", vec{}, func(m *mesh) { m.cylinder(blue, 1, 0, 0.95, 0.3) })},
	"watertower": {of("", vec{}, func(m *mesh) {
		for _, x := range []float64{-1.4, 1.4} {
			for _, z := range []float64{-1.4, 1.4} {
				m.box(steel, vec{x - 0.12, 0, z - 0.12}, vec{x + 0.12, 6, z + 0.12})
			}
		}
		m.cylinder(wood, 1, 6, 9.5, 2.2)
	})},
}

func wheel(name string, x, z float64) part {
	return of("_wheel_"+name, vec{x, 0.33, z}, func(m *mesh) { m.cylinder(black, 0, -0.12, 0.12, 0.33) })
}

type object = map[string]any

// accessors collects a file's data and what its JSON says of it.
type accessors struct {
	data             bytes.Buffer
	accessors, views []object
}

func (a *accessors) add(kind string, component, count int, values any) int {
	start := a.data.Len()
	must(binary.Write(&a.data, binary.LittleEndian, values))
	a.views = append(a.views, object{"buffer": 0, "byteOffset": start, "byteLength": a.data.Len() - start})
	for a.data.Len()%4 != 0 {
		a.data.WriteByte(0)
	}
	a.accessors = append(a.accessors, object{"bufferView": len(a.views) - 1, "componentType": component, "count": count, "type": kind})
	return len(a.accessors) - 1
}

func (a *accessors) vectors(list []vec) int {
	values := make([][3]float32, len(list))
	for i, v := range list {
		values[i] = [3]float32{float32(v[0]), float32(v[1]), float32(v[2])}
	}
	return a.add("VEC3", 5126, len(list), values)
}

// bound notes an accessor's bounds, which those of positions need.
func (a *accessors) bound(accessor int, list []vec) {
	lo, hi := list[0], list[0]
	for _, v := range list {
		for k := range v {
			lo[k], hi[k] = min(lo[k], v[k]), max(hi[k], v[k])
		}
	}
	a.accessors[accessor]["min"], a.accessors[accessor]["max"] = lo, hi
}

func write(dir, name string, parts []part) {
	const floats, shorts = 5126, 5123
	var a accessors
	var meshes, nodes []object
	var children []int
	for _, p := range append(parts[1:len(parts):len(parts)], parts[0]) { // the root comes last
		position := a.vectors(p.mesh.positions)
		a.bound(position, p.mesh.positions)
		uvs := make([][2]float32, len(p.mesh.uvs))
		for i, uv := range p.mesh.uvs {
			uvs[i] = [2]float32{float32(uv[0]), float32(uv[1])}
		}
		uv := a.add("VEC2", floats, len(uvs), uvs)
		normal := a.vectors(p.mesh.normals)
		indices := a.add("SCALAR", shorts, len(p.mesh.indices), p.mesh.indices)
		meshes = append(meshes, object{"primitives": []object{{
			"attributes": object{"POSITION": position, "TEXCOORD_0": uv, "NORMAL": normal}, "indices": indices, "material": 0,
		}}})
		node := object{"name": name + p.suffix, "mesh": len(meshes) - 1}
		if p.at != (vec{}) {
			node["translation"] = p.at
		}
		if p.suffix == "" && len(children) > 0 {
			node["children"] = children
		}
		children = append(children, len(nodes))
		nodes = append(nodes, node)
	}
	text, err := json.MarshalIndent(object{
		"asset": object{"version": "2.0", "generator": "raybridge testdata/street/make"},
		"scene": 0, "scenes": []object{{"nodes": []int{len(nodes) - 1}}}, "nodes": nodes, "meshes": meshes,
		"materials": []object{{"name": "colours", "pbrMetallicRoughness": object{
			"baseColorTexture": object{"index": 0}, "metallicFactor": 0, "roughnessFactor": 0.6,
		}}},
		"textures": []object{{"source": 0}}, "images": []object{{"uri": texture, "mimeType": "image/png"}},
		"buffers":   []object{{"uri": name + ".bin", "byteLength": a.data.Len()}},
		"accessors": a.accessors, "bufferViews": a.views,
	}, "", " ")
	must(err)
	must(os.WriteFile(filepath.Join(dir, name+".gltf"), append(text, '\n'), 0o644))
	must(os.WriteFile(filepath.Join(dir, name+".bin"), a.data.Bytes(), 0o644))
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: go run ./testdata/street/make DIR")
	}
	dir := os.Args[1]
	picture := image.NewNRGBA(image.Rect(0, 0, 16, 16))
	for y := range 16 {
		for x := range 16 {
			picture.SetNRGBA(x, y, palette[y/4*4+x/4])
		}
	}
	var out bytes.Buffer
	must(png.Encode(&out, picture))
	must(os.WriteFile(filepath.Join(dir, texture), out.Bytes(), 0o644))
	for name, parts := range pieces {
		write(dir, name, parts)
	}
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
