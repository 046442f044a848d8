package gltf

import (
	"bytes"

	"github.com/raybridge/raybridge/internal/fault"
)

const byBlender = "open it in Blender and export it as glTF 2.0 (.glb)"

// otherScenes are the kinds of scenes that aren't read, with what to do instead.
var otherScenes = map[fault.Kind]string{
	fault.OpenDRIVE:     "export the place as glTF 2.0 (.glb) where it was modelled, or give --scene plane",
	fault.OpenStreetMap: "make a model of the place in Blender and export it as glTF 2.0 (.glb), or give --scene plane",
	fault.USD:           byBlender,
	fault.FBX:           byBlender,
	fault.OBJ:           byBlender,
	fault.COLLADA:       byBlender,
	fault.Blend:         byBlender,
	fault.STL:           byBlender,
	fault.PLY:           byBlender,
	fault.Max:           "export it as glTF 2.0 (.glb) there",
	fault.Unreal:        "export it as glTF 2.0 (.glb) there, with the plugin glTF Exporter",
	fault.Unity:         "export it as glTF 2.0 (.glb) there, with UnityGLTF",
	fault.SDF:           "export its models as glTF 2.0 (.glb) and place them by scene.place",
}

// noScenes are the kinds that are no scene.
var noScenes = map[fault.Kind]string{
	fault.SUMO:         "give --scene plane --world sumo:FILE.sumocfg",
	fault.OpenSCENARIO: "let esmini play it, with --scene plane --world osi:udp:",
	fault.OSI:          "give --scene plane --world osi:FILE",
	fault.Table:        "give --scene plane --world csv:FILE, if it describes moving actors",
	fault.URDF:         "its sensors go into a rig, and --rig takes that",
	fault.Points:       "make a mesh of it and export that as glTF 2.0 (.glb)",
	fault.Recording:    "raybridge replay sends it",
	fault.YAML:         "give a configuration by --config, a rig by --rig",
	fault.Archive:      "unpack it and name the .gltf or .glb file",
}

// checkKind returns an error for what is not glTF by its first sign. It says what the file is, as far as name
// or content tell. An empty file passes, for the parser to say where it ends.
func checkKind(name string, data []byte) error {
	text := bytes.TrimLeft(bytes.TrimPrefix(data, []byte(byteOrderMark)), " \t\r\n")
	if bytes.HasPrefix(data, []byte(glbMagic)) || len(text) > 0 && (text[0] == '{' || text[0] == '[') {
		return nil
	}
	kind := fault.KindOf(name, data)
	if instead, ok := otherScenes[kind]; ok {
		return faultf(ErrUnsupported, "it is %s, which is not supported yet: %s", kind, instead)
	}
	if instead, ok := noScenes[kind]; ok {
		return faultf(ErrUnsupported, "it is %s, which is not a scene: %s", kind, instead)
	}
	if len(text) == 0 {
		return nil
	}
	return invalid("it begins with %q, not as glTF's JSON or a .glb file does", text[:min(len(text), 8)])
}
