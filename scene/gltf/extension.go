package gltf

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/qmuntal/gltf"
)

const (
	extMeshQuantization = "KHR_mesh_quantization"
	extTextureTransform = "KHR_texture_transform"
	extEmissiveStrength = "KHR_materials_emissive_strength"
	extUnlit            = "KHR_materials_unlit"
	extAnimationPointer = "KHR_animation_pointer"
	extInstancing       = "EXT_mesh_gpu_instancing"
	extDraco            = "KHR_draco_mesh_compression"
	extWebP             = "EXT_texture_webp"
)

var supportedExtensions = []string{extEmissiveStrength, extUnlit, extMeshQuantization, extTextureTransform, extInstancing, extWebP}

// viewCompressions are those that the loader cannot undo. A file that has its data uncompressed,
// too, loads.
var viewCompressions = []string{"EXT_meshopt_compression", "KHR_meshopt_compression"}

// extensionAmong returns the first of the names that an object has, or "".
func extensionAmong(all gltf.Extensions, names []string) string {
	for _, name := range names {
		if _, ok := all[name]; ok {
			return name
		}
	}
	return ""
}

// shapeless are extensions of nodes, meshes and primitives that change nobody's shape or place.
var shapeless = []string{
	"KHR_lights_punctual", "EXT_lights_ies", "KHR_materials_variants", "KHR_xmp", "KHR_xmp_json_ld",
	"KHR_node_hoverability", "KHR_node_selectability", "KHR_physics_rigid_bodies", "KHR_audio_emitter",
	"MSFT_audio_emitter", "MSFT_lod", "MSFT_physics", "OMI_physics_body", "OMI_physics_shape", "OMI_collider", "OMI_spawn_point",
	"EXT_mesh_features", "EXT_instance_features", "EXT_structural_metadata", "EXT_feature_metadata", "EXT_mesh_manifold",
	"FB_ngon_encoding", "FB_geometry_metadata", "CESIUM_primitive_outline", "AGI_articulations", "MOZ_hubs_components",
}

// placing are extensions of the document itself that change where everything is.
var placing = []string{"CESIUM_RTC"}

// checkExtensions refuses a file whose shapes need what the loader hasn't. It warns of what else
// the file would like.
func (l *loader) checkExtensions() error {
	shapes := l.shapeExtensions()
	var need []string
	for _, name := range l.doc.ExtensionsRequired {
		switch {
		case slices.Contains(supportedExtensions, name), givesPictures(name): // warnOfSkipped tells of these
		case shapes[name]:
			need = append(need, cut(name))
		default:
			l.warn("", "extension %s is required, but holds no shapes: it is left out", cut(name))
		}
	}
	if need != nil {
		return within("extensionsRequired", faultf(ErrUnsupported,
			"%s is not supported: export the model without it", strings.Join(need, ", ")))
	}
	for _, name := range l.doc.ExtensionsUsed {
		if !slices.Contains(supportedExtensions, name) && !givesPictures(name) && !slices.Contains(l.doc.ExtensionsRequired, name) {
			l.warn("", "extension %s is not supported and left out", cut(name))
		}
	}
	return nil
}

// shapeExtensions returns the extensions that shapes or their places may depend on. They stand
// where the file has these, and aren't known to hold something else.
func (l *loader) shapeExtensions() map[string]bool {
	found := map[string]bool{}
	note := func(of gltf.Extensions) {
		for name := range of {
			found[name] = !slices.Contains(shapeless, name)
		}
	}
	for _, name := range placing {
		found[name] = true
	}
	for _, b := range l.doc.Buffers {
		note(b.Extensions)
	}
	for _, v := range l.doc.BufferViews {
		note(v.Extensions)
	}
	for _, a := range l.doc.Accessors {
		note(a.Extensions)
	}
	for _, m := range l.doc.Meshes {
		note(m.Extensions)
		for _, p := range m.Primitives {
			note(p.Extensions)
		}
	}
	for _, n := range l.doc.Nodes {
		note(n.Extensions)
	}
	for _, s := range l.doc.Skins {
		note(s.Extensions)
	}
	return found
}

// extension decodes an extension's object into dst, checked by schema, and
// reports whether it is there.
func extension(all gltf.Extensions, name string, schema check, dst any) (bool, error) {
	v, ok := all[name]
	if !ok {
		return false, nil
	}
	place := "extensions." + name
	// A registered extension comes decoded, any other as its JSON.
	data, err := json.Marshal(v)
	if err != nil {
		return false, within(place, invalid("%w", err))
	}
	var tree any
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.UseNumber()
	if err := d.Decode(&tree); err != nil {
		return false, within(place, invalid("%w", err))
	}
	if err := schema(&tree, new(fractions)); err != nil {
		return false, within(place, err)
	}
	if data, err = json.Marshal(tree); err == nil {
		err = json.Unmarshal(data, dst)
	}
	if err != nil {
		return false, within(place, invalid("%w", err))
	}
	return true, nil
}
