package gltf

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/go-gl/mathgl/mgl32"
	"github.com/go-gl/mathgl/mgl64"
	"github.com/qmuntal/gltf"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/world"
)

// noMaterial stands for the specification's default material.
const noMaterial = -1

// uvMapping is how a material's textures are reached from a vertex.
type uvMapping struct {
	textured bool
	set      int // TEXCOORD_<set>
	// transform maps (u, v, 1) to the texture's coordinates (rows).
	transform [2][3]float64
}

var identityUV = [2][3]float64{{1, 0, 0}, {0, 1, 0}}

// material returns the asset's material for one of the document's.
func (l *loader) material(i int) (int, error) {
	if known, ok := l.materials[i]; ok {
		return known, nil
	}
	source := &gltf.Material{Name: "default"}
	if i != noMaterial {
		if err := checkIndex("materials", i, len(l.doc.Materials)); err != nil {
			return 0, err
		}
		source = l.doc.Materials[i]
	}
	m, uv, err := l.readMaterial(i, source)
	if err != nil {
		return 0, atItem("materials", i, err)
	}
	l.asset.Materials = append(l.asset.Materials, m)
	l.uvs = append(l.uvs, uv)
	l.materials[i] = len(l.asset.Materials) - 1
	return l.materials[i], nil
}

func (l *loader) readMaterial(i int, source *gltf.Material) (scene.Material, uvMapping, error) {
	m := scene.Material{
		Name: cmp.Or(source.Name, fmt.Sprintf("material_%d", i)), BaseColor: mgl32.Vec4{1, 1, 1, 1}, Metallic: 1, Roughness: 1,
		DoubleSided: source.DoubleSided, Reflectance: -1,
	}
	if pbr := source.PBRMetallicRoughness; pbr != nil {
		for c, v := range pbr.BaseColorFactorOrDefault() {
			m.BaseColor[c] = unit(v)
		}
		m.Metallic, m.Roughness = unit(pbr.MetallicFactorOrDefault()), unit(pbr.RoughnessFactorOrDefault())
	}
	switch source.AlphaMode {
	case gltf.AlphaMask:
		// Above 1 nothing is there, however far above.
		m.AlphaMode, m.AlphaCutoff = scene.AlphaMask, float32(mgl64.Clamp(source.AlphaCutoffOrDefault(), 0, 2))
	case gltf.AlphaBlend:
		m.AlphaMode = scene.AlphaBlend
	}
	if err := readEmission(&m, source); err != nil {
		return m, uvMapping{}, err
	}
	if _, m.Unlit = source.Extensions[extUnlit]; m.Unlit {
		m.Metallic, m.Roughness = 0, 1 // for sensors that ask for them
	}
	if err := readExtras(&m, source.Extras); err != nil {
		return m, uvMapping{}, within("extras", err)
	}
	uv, err := l.readTextures(&m, i, source)
	return m, uv, err
}

// unit brings a factor into 0..1, where the specification wants it.
func unit(v float64) float32 { return float32(mgl64.Clamp(v, 0, 1)) }

func readEmission(m *scene.Material, source *gltf.Material) error {
	var strength struct {
		EmissiveStrength *float64 `json:"emissiveStrength"`
	}
	schema := object(optional("emissiveStrength", number))
	if _, err := extension(source.Extensions, extEmissiveStrength, schema, &strength); err != nil {
		return err
	}
	factor := 1.0
	if s := strength.EmissiveStrength; s != nil {
		if *s < 0 || !finite(*s) {
			return within("extensions."+extEmissiveStrength+".emissiveStrength", invalid("%v is out of range: want 0 or more", *s))
		}
		factor = *s
	}
	for c, v := range source.EmissiveFactor {
		m.Emissive[c] = float32(mgl64.Clamp(v, 0, 1) * factor)
	}
	return nil
}

// readExtras reads what glTF has no property for.
func readExtras(m *scene.Material, extras any) error {
	all, _ := extras.(map[string]any)
	if v, ok := all["lidar_reflectance"]; ok {
		r, isNumber := v.(float64)
		if !isNumber || r < 0 || r > 1 {
			return within("lidar_reflectance", invalid("%v is out of range: want a number from 0 to 1", v))
		}
		m.Reflectance = float32(r)
	}
	if v, ok := all["retroreflective"]; ok {
		retro, isBool := v.(bool)
		if !isBool {
			return within("retroreflective", invalid("want true or false"))
		}
		m.Retro = retro
	}
	m.Paint = strings.Contains(strings.ToLower(m.Name), "paint")
	if v, ok := all["paint"]; ok {
		paint, isBool := v.(bool)
		if !isBool {
			return within("paint", invalid("want true or false"))
		}
		m.Paint = paint
	}
	return readLamps(m, all["lamps"])
}

// lampNames are the lamps that a material's extras may name.
var lampNames = map[string]world.Lights{
	"head": world.LightHead, "brake": world.LightBrake, "left": world.LightLeft, "right": world.LightRight,
	"indicator": world.LightLeft | world.LightRight, "reverse": world.LightReverse,
	"red": world.LightRed, "yellow": world.LightYellow, "green": world.LightGreen,
}

// readLamps reads which lamps a material is: a list of names.
func readLamps(m *scene.Material, v any) error {
	if v == nil {
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		return within("lamps", invalid("want a list of lamps, such as [\"brake\"]"))
	}
	for _, x := range list {
		name, _ := x.(string)
		lamp, known := lampNames[name]
		if !known {
			return within("lamps", invalid("%v: %s", x, fault.Hint(name, slices.Sorted(maps.Keys(lampNames)))))
		}
		m.Lamps |= lamp
	}
	return nil
}

// readTextures reads a material's textures: base colour, emission, metallic-roughness. Vertices
// have the first one's texture coordinates, from which the others' follow.
func (l *loader) readTextures(m *scene.Material, i int, source *gltf.Material) (uvMapping, error) {
	var pbr gltf.PBRMetallicRoughness
	if source.PBRMetallicRoughness != nil {
		pbr = *source.PBRMetallicRoughness
	}
	var shared uvMapping
	for _, t := range []struct {
		place string
		info  *gltf.TextureInfo
		index *int
		own   *scene.UVTransform
	}{
		{"pbrMetallicRoughness.baseColorTexture", pbr.BaseColorTexture, &m.BaseColorTexture, nil},
		{"emissiveTexture", source.EmissiveTexture, &m.EmissiveTexture, &m.EmissiveUV},
		{"pbrMetallicRoughness.metallicRoughnessTexture", pbr.MetallicRoughnessTexture, &m.MetalRoughTexture, &m.MetalRoughUV},
	} {
		*t.index = scene.NoTexture
		if t.info == nil {
			continue
		}
		var err error
		if *t.index, err = l.texture(t.info.Index); err != nil {
			return shared, within(t.place, err)
		}
		if *t.index == scene.NoTexture {
			continue
		}
		uv, err := readUVMapping(t.info)
		switch {
		case err != nil:
			return shared, within(t.place, err)
		case !shared.textured:
			shared = uv
		case uv != shared:
			var ok bool
			if *t.own, ok = uv.after(&shared); !ok {
				l.warn(fmt.Sprintf("materials[%d].%s", i, t.place), "has its own texture coordinates: those of the material's first texture are used")
			}
		}
	}
	return shared, nil
}

func readUVMapping(info *gltf.TextureInfo) (uvMapping, error) {
	uv := uvMapping{textured: true, set: info.TexCoord, transform: identityUV}
	t := struct {
		Offset   [2]float64 `json:"offset"`
		Rotation float64    `json:"rotation"`
		Scale    [2]float64 `json:"scale"`
		TexCoord *int       `json:"texCoord"`
	}{Scale: [2]float64{1, 1}}
	schema := object(optional("offset", numbers(2)), optional("rotation", number),
		optional("scale", numbers(2)), optional("texCoord", indexValue))
	found, err := extension(info.Extensions, extTextureTransform, schema, &t)
	if err != nil || !found {
		return uv, err
	}
	if t.TexCoord != nil {
		uv.set = *t.TexCoord
	}
	// Scale, then turn counter-clockwise as seen in the picture (whose v
	// points down), then shift.
	sin, cos := math.Sincos(t.Rotation)
	uv.transform = [2][3]float64{
		{cos * t.Scale[0], sin * t.Scale[1], t.Offset[0]},
		{-sin * t.Scale[0], cos * t.Scale[1], t.Offset[1]},
	}
	return uv, nil
}

// after returns what leads from another mapping's coordinates to these. It returns false where
// nothing does: they are of another set, or the other mapping flattens them.
func (m *uvMapping) after(other *uvMapping) (t scene.UVTransform, ok bool) {
	a, b := m.transform, other.transform
	det := b[0][0]*b[1][1] - b[0][1]*b[1][0]
	if m.set != other.set || math.Abs(det) < 1e-12 {
		return t, false
	}
	for row := range 2 {
		u := (a[row][0]*b[1][1] - a[row][1]*b[1][0]) / det
		v := (a[row][1]*b[0][0] - a[row][0]*b[0][1]) / det
		shift := a[row][2] - u*b[0][2] - v*b[1][2]
		if !finite(u, v, shift) {
			return scene.UVTransform{}, false
		}
		t[row] = [3]float32{float32(u), float32(v), float32(shift)}
	}
	return t, true
}

// apply maps a vertex's coordinates to the texture's.
func (m *uvMapping) apply(u, v float32) mgl32.Vec2 {
	if m.transform == identityUV {
		return mgl32.Vec2{u, v}
	}
	var out mgl32.Vec2
	for row, t := range m.transform {
		out[row] = float32(t[0]*float64(u) + t[1]*float64(v) + t[2])
	}
	return out
}
