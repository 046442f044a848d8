package gltf

import (
	"fmt"
	"math"

	"github.com/go-gl/mathgl/mgl32"
	"github.com/go-gl/mathgl/mgl64"
	"github.com/qmuntal/gltf"

	"github.com/raybridge/raybridge/scene"
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
		Name: source.Name, BaseColor: mgl32.Vec4{1, 1, 1, 1}, Metallic: 1, Roughness: 1,
		DoubleSided: source.DoubleSided, Reflectance: -1,
	}
	if m.Name == "" {
		m.Name = fmt.Sprintf("material_%d", i)
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
		m.AlphaMode, m.AlphaCutoff = scene.AlphaBlend, 0.5
	}
	if err := readEmission(&m, source); err != nil {
		return m, uvMapping{}, err
	}
	if _, unlit := source.Extensions[extUnlit]; unlit {
		m.Metallic, m.Roughness = 0, 1
	}
	if err := readLidarExtras(&m, source.Extras); err != nil {
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

// readLidarExtras reads what glTF has no property for.
func readLidarExtras(m *scene.Material, extras any) error {
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
	return nil
}

// readTextures reads a material's textures. All share the first one's texture
// coordinates: base colour, emission, metallic-roughness.
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
	}{
		{"pbrMetallicRoughness.baseColorTexture", pbr.BaseColorTexture, &m.BaseColorTexture},
		{"emissiveTexture", source.EmissiveTexture, &m.EmissiveTexture},
		{"pbrMetallicRoughness.metallicRoughnessTexture", pbr.MetallicRoughnessTexture, &m.MetalRoughTexture},
	} {
		*t.index = scene.NoTexture
		if t.info == nil {
			continue
		}
		var err error
		if *t.index, err = l.texture(t.info.Index); err != nil {
			return shared, within(t.place, err)
		}
		uv, err := readUVMapping(t.info)
		switch {
		case err != nil:
			return shared, within(t.place, err)
		case !shared.textured:
			shared = uv
		case uv != shared:
			l.warn(fmt.Sprintf("materials[%d].%s", i, t.place), "has its own texture coordinates: those of the material's first texture are used")
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
