package fault

import (
	"bytes"
	"slices"
	"strings"
)

// Kind is what a file is that was brought where another was wanted, with its article. "" is one that
// isn't known.
type Kind string

// The kinds that people bring.
const (
	OpenDRIVE     Kind = "an OpenDRIVE map"
	OpenStreetMap Kind = "a map of OpenStreetMap or Lanelet2"
	SUMO          Kind = "a file of SUMO"
	OpenSCENARIO  Kind = "an OpenSCENARIO file"
	OSI           Kind = "a trace of OSI"
	Table         Kind = "a table"
	GLTF          Kind = "a glTF scene"
	USD           Kind = "a USD file"
	FBX           Kind = "an FBX file"
	OBJ           Kind = "an OBJ file"
	COLLADA       Kind = "a COLLADA file"
	Blend         Kind = "a Blender file"
	STL           Kind = "an STL file"
	PLY           Kind = "a PLY file"
	Max           Kind = "a 3ds Max file"
	Unreal        Kind = "a map of Unreal Engine"
	Unity         Kind = "a scene of Unity"
	SDF           Kind = "a world of Gazebo"
	URDF          Kind = "a robot of URDF"
	Points        Kind = "a cloud of points"
	Recording     Kind = "a recording"
	Python        Kind = "a Python program"
	YAML          Kind = "YAML"
	Archive       Kind = "an archive"
)

// signs are how a kind is known: by the ending of a name, or by what its content begins with. XML may
// have a declaration and comments before its mark.
var signs = []struct {
	kind    Kind
	endings []string
	marks   []string
}{
	{OpenDRIVE, []string{".xodr"}, []string{"<OpenDRIVE"}},
	{OpenStreetMap, []string{".osm", ".osm.pbf"}, []string{"<osm"}},
	{SUMO, []string{".net.xml", ".rou.xml", ".fcd.xml", ".sumocfg"}, []string{"<net ", "<routes", "<fcd-export", "<sumoConfiguration", "<configuration"}},
	{OpenSCENARIO, []string{".xosc"}, []string{"<OpenSCENARIO"}},
	{OSI, []string{".osi", ".osi.gz"}, nil},
	{Table, []string{".csv", ".tsv", ".xlsx"}, nil},
	{GLTF, []string{".gltf", ".glb"}, []string{"glTF"}},
	{USD, []string{".usd", ".usda", ".usdc", ".usdz"}, []string{"#usda", "PXR-USDC"}},
	{FBX, []string{".fbx"}, []string{"Kaydara FBX"}},
	{OBJ, []string{".obj"}, nil},
	{COLLADA, []string{".dae"}, []string{"<COLLADA"}},
	{Blend, []string{".blend"}, []string{"BLENDER"}},
	{STL, []string{".stl"}, nil},
	{PLY, []string{".ply"}, []string{"ply\n", "ply\r"}},
	{Max, []string{".max", ".3ds"}, nil},
	{Unreal, []string{".umap", ".uasset", ".pak"}, nil},
	{Unity, []string{".unity", ".prefab", ".unitypackage"}, nil},
	{SDF, []string{".sdf", ".world"}, []string{"<sdf"}},
	{URDF, []string{".urdf", ".xacro"}, []string{"<robot"}},
	{Points, []string{".pcd", ".las", ".laz", ".e57"}, nil},
	{Recording, []string{".mcap", ".bag", ".db3", ".record"}, []string{"\x89MCAP", "#ROSBAG", "SQLite format 3"}},
	{Python, []string{".py"}, nil},
	{YAML, []string{".yaml", ".yml"}, nil},
	{Archive, []string{".zip", ".gz", ".tar", ".7z", ".rar"}, []string{"PK\x03\x04"}},
}

// takers are what takes a file of a kind.
var takers = map[Kind]string{
	GLTF: "--scene takes it", YAML: "--config and --rig take it", Recording: "raybridge replay sends it",
	OpenSCENARIO: "let esmini play it, with --world osi:udp:", OSI: "--world osi:FILE takes it",
	SUMO:  "name the .sumocfg that it belongs to by --world sumo:FILE.sumocfg",
	Table: "--world csv:FILE takes it, if it describes moving actors", Archive: "unpack it and name the file in it",
}

// Taker returns what takes a file of the kind, for the end of an error, or "" where nothing does.
func (k Kind) Taker() string { return takers[k] }

// sniffed is how many bytes of a content are looked at. XML's comments may fill some.
const sniffed = 4 << 10

// KindOf returns what a file is by its name, or else by its content, of which the beginning is enough
// and which may be nil.
func KindOf(name string, content []byte) Kind {
	name = strings.ToLower(name)
	content = bytes.TrimLeft(bytes.TrimPrefix(content[:min(len(content), sniffed)], []byte("\ufeff")), " \t\r\n")
	xml := bytes.HasPrefix(content, []byte("<"))
	marked := func(mark string) bool {
		return bytes.HasPrefix(content, []byte(mark)) || xml && mark[0] == '<' && bytes.Contains(content, []byte(mark))
	}
	for _, s := range signs {
		if slices.ContainsFunc(s.endings, func(ending string) bool { return strings.HasSuffix(name, ending) }) {
			return s.kind
		}
	}
	for _, s := range signs {
		if slices.ContainsFunc(s.marks, marked) {
			return s.kind
		}
	}
	return ""
}
