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
)

var supportedExtensions = []string{extEmissiveStrength, extUnlit, extMeshQuantization, extTextureTransform}

// checkExtensions refuses a file that needs what the loader hasn't, and warns
// of what it would like.
func (l *loader) checkExtensions() error {
	var need []string
	for _, name := range l.doc.ExtensionsRequired {
		if !slices.Contains(supportedExtensions, name) {
			need = append(need, cut(name))
		}
	}
	if need != nil {
		return within("extensionsRequired", faultf(ErrUnsupported,
			"%s is not supported: export the model without it", strings.Join(need, ", ")))
	}
	for _, name := range l.doc.ExtensionsUsed {
		if !slices.Contains(supportedExtensions, name) {
			l.warn("", "extension %s is not supported and left out", cut(name))
		}
	}
	return nil
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
	if err := schema(tree); err != nil {
		return false, within(place, err)
	}
	if err := json.Unmarshal(data, dst); err != nil {
		return false, within(place, invalid("%w", err))
	}
	return true, nil
}
