package gltf

import (
	"bytes"
	"slices"
	"strings"
)

// otherKind is a kind of file that people bring as a scene. It is found by the ending of a name, or by
// what stands at or near the beginning of the content.
type otherKind struct {
	is, instead string
	endings     []string
	marks       []string
	scene       bool // it is one, in a format that isn't read
}

const byBlender = "open it in Blender and export it as glTF 2.0 (.glb)"

// otherKinds are those of which the user can be told what to do.
var otherKinds = []otherKind{
	{"an OpenDRIVE map", "export the place as glTF 2.0 (.glb) where it was modelled, or give --scene plane", []string{".xodr"}, []string{"<OpenDRIVE"}, true},
	{"a map of OpenStreetMap or Lanelet2", "make a model of the place in Blender and export it as glTF 2.0 (.glb), or give --scene plane", []string{".osm", ".osm.pbf"}, []string{"<osm"}, true},
	{"a net of SUMO", "give --scene plane --world sumo:FILE.sumocfg", []string{".net.xml", ".rou.xml", ".sumocfg"}, []string{"<net ", "<sumoConfiguration"}, false},
	{"an OpenSCENARIO file", "let esmini play it, with --scene plane --world osi:udp:", []string{".xosc"}, []string{"<OpenSCENARIO"}, false},
	{"a trace of OSI", "give --scene plane --world osi:FILE", []string{".osi", ".osi.gz"}, nil, false},
	{"a table", "give --scene plane --world csv:FILE, if it tells who moves", []string{".csv"}, nil, false},
	{"a USD file", byBlender, []string{".usd", ".usda", ".usdc", ".usdz"}, []string{"#usda", "PXR-USDC"}, true},
	{"an FBX file", byBlender, []string{".fbx"}, []string{"Kaydara FBX"}, true},
	{"an OBJ file", byBlender, []string{".obj"}, nil, true},
	{"a COLLADA file", byBlender, []string{".dae"}, []string{"<COLLADA"}, true},
	{"a Blender file", byBlender, []string{".blend"}, []string{"BLENDER"}, true},
	{"an STL file", byBlender, []string{".stl"}, nil, true},
	{"a PLY file", byBlender, []string{".ply"}, []string{"ply\n", "ply\r"}, true},
	{"a 3ds Max file", "export it as glTF 2.0 (.glb) there", []string{".max", ".3ds"}, nil, true},
	{"a map of Unreal Engine", "export it as glTF 2.0 (.glb) there, with the plugin glTF Exporter", []string{".umap", ".uasset", ".pak"}, nil, true},
	{"a scene of Unity", "export it as glTF 2.0 (.glb) there, with UnityGLTF", []string{".unity", ".prefab", ".unitypackage"}, nil, true},
	{"a world of Gazebo", "export its models as glTF 2.0 (.glb) and place them by scene.place", []string{".sdf", ".world"}, []string{"<sdf"}, true},
	{"a robot of URDF", "its sensors go into a rig, and --rig takes that", []string{".urdf", ".xacro"}, []string{"<robot"}, false},
	{"a cloud of points", "make a mesh of it and export that as glTF 2.0 (.glb)", []string{".pcd", ".las", ".laz", ".e57"}, nil, false},
	{"a recording", "raybridge replay sends it", []string{".mcap", ".bag", ".db3"}, nil, false},
	{"YAML", "give a configuration by --config, a rig by --rig", []string{".yaml", ".yml"}, nil, false},
	{"an archive", "unpack it and name the .gltf or .glb file", []string{".zip", ".gz", ".tar", ".7z", ".rar"}, []string{"PK\x03\x04"}, false},
}

// sniffed is how many bytes of a file are looked at for marks. Comments may stand before them.
const sniffed = 4 << 10

// checkKind returns an error for what is not glTF by its first sign. It says what the file is, as far as name
// or content tell. An empty file passes, for the parser to say where it ends.
func checkKind(name string, data []byte) error {
	text := bytes.TrimLeft(bytes.TrimPrefix(data, []byte(byteOrderMark)), " \t\r\n")
	if bytes.HasPrefix(data, []byte(glbMagic)) || len(text) > 0 && (text[0] == '{' || text[0] == '[') {
		return nil
	}
	name, start := strings.ToLower(name), text[:min(len(text), sniffed)]
	ends := func(ending string) bool { return strings.HasSuffix(name, ending) }
	marked := func(mark string) bool {
		at := bytes.Index(start, []byte(mark))
		return at == 0 || at > 0 && mark[0] == '<'
	}
	i := slices.IndexFunc(otherKinds, func(k otherKind) bool { return slices.ContainsFunc(k.endings, ends) })
	if i < 0 {
		i = slices.IndexFunc(otherKinds, func(k otherKind) bool { return slices.ContainsFunc(k.marks, marked) })
	}
	switch {
	case i >= 0 && otherKinds[i].scene:
		return faultf(ErrUnsupported, "it is %s, which is not supported yet: %s", otherKinds[i].is, otherKinds[i].instead)
	case i >= 0:
		return faultf(ErrUnsupported, "it is %s, which is not a scene: %s", otherKinds[i].is, otherKinds[i].instead)
	case len(text) == 0:
		return nil
	}
	return invalid("it begins with %q, not as glTF's JSON or a .glb file does", text[:min(len(text), 8)])
}
