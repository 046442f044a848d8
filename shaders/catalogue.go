// Package shaders holds raybridge's GLSL sources and one typed catalogue of them. It says what
// each program is called, what it binds, how large its work groups are and which constants Go
// gives it.
//
// # Includes
//
// A source may say #include "lib/trace.glsl". Each file is taken in once, where it is first
// named, from the entry's own file system and else from this package. So sensors outside this
// repository include the same library. Included files start with a comment that says what they
// declare and need.
//
// # Constants
//
// Numbers that Go and GLSL must agree on are written in Go alone and reach the source as
// #define lines. They are the slots of the scene's tables (SLOT_NODES ...), the work-group size
// (LOCAL_SIZE_X, _Y, _Z), and each entry's own.
//
// # Adding a shader
//
// One file with a header comment, one Entry, one line in All. A test compiles
// every entry on a live context, and one compares its declared bindings with
// the source.
package shaders

// Entry describes one program: a compute shader, or a vertex and a fragment
// shader. Entries are values that nobody changes.
type Entry struct {
	// Name is unique in the catalogue: "scene.trace".
	Name string
	// Compute, Vertex and Fragment name the stages' files: Compute alone, or
	// the other two.
	Compute, Vertex, Fragment string
	// Bindings are all that the sources declare. The scene's tables come from
	// SceneTables.
	Bindings []Binding
	// Workgroup is the local size of a compute shader, as LOCAL_SIZE_X, _Y, _Z.
	Workgroup [3]int
	// Together is how the TracedRays rays of an invocation lie, of entries with the constant ALONE.
	// Where that is 1, an invocation traces one ray and the work group is larger by this block, so
	// that a group has the same rays either way. Sources have it as TOGETHER_X and TOGETHER_Y. Without it,
	// rays that lib/trace.glsl traces lie in a row.
	Together [3]int
	// Constants are the #defines that Go gives, with their default values.
	Constants []Define
	// Files are the texts of files that are not this package's own, by name (optional).
	// What is not in it is looked for in this package.
	Files map[string]string
}

// Kind is the GLSL interface of a Binding, numbered as gpu.BindingKind.
type Kind uint8

// The interfaces, with the GLSL that declares them.
const (
	KindUniform Kind = iota + 1 // uniform block (std140)
	KindStorage                 // buffer block (std430)
	KindSampler                 // sampler2D, samplerBuffer, ...
	KindImage                   // image2D, ...
)

// Binding is one layout(binding = Slot) of a source. Type is the GLSL type of
// samplers and images ("samplerBuffer"), empty for blocks; Name is the
// variable's or the block's name.
type Binding struct {
	Name string
	Type string
	Slot int
	Kind Kind
}

// Groups returns how many work groups cover x by y by z invocations.
func (e *Entry) Groups(x, y, z int) [3]int {
	n := [3]int{x, y, z}
	for i, size := range e.Workgroup {
		n[i] = max((n[i]+max(size, 1)-1)/max(size, 1), 1)
	}
	return n
}

// All returns the catalogue: every program of this package, in a fixed order.
func All() []*Entry {
	return []*Entry{
		&SceneTrace,
		&CameraIDs,
		&CameraTrace,
		&CameraShadow,
		&CameraSun,
		&CameraShade,
		&Lidar,
		&LidarEchoes,
		&Rays,
		&GroundTruthBounds,
		&GroundTruthSights,
	}
}

// TracedRays is how many rays an invocation traces, unless ALONE is 1: those of lib/trace.glsl's
// Rays. Groups is given the number of invocations that trace so many, whatever ALONE is.
const TracedRays = 4

// Alone is the constant with which an invocation traces one ray. It is for GPUs: lib/trace.glsl has
// the reason.
func Alone(v bool) Define { return Flag("ALONE", v) }

// row and square are how an invocation's rays lie.
var (
	row    = [3]int{TracedRays, 1, 1}
	square = [3]int{2, 2, 1}
)

// SceneTrace finds what listed rays hit: the ray caster on its own, for tests, benchmarks and
// tools. Rays are three vec4 each (origin and tmin; unit direction and tmax; time in seconds
// since the window's start). Hits are two, in the world frame: range or -1, barycentric u, v,
// integer triangle; normal, integer mover, -1 for none. An invocation traces TracedRays of
// them.
var SceneTrace = Entry{
	Name:    "scene.trace",
	Compute: "scene_trace.comp",
	Bindings: append(SceneTables(),
		Binding{"RayList", "", 0, KindStorage},
		Binding{"HitList", "", 1, KindStorage},
	),
	Workgroup: [3]int{8, 8, 1},
	Together:  row,
	Constants: []Define{Flag("OCCLUSION", false), Alone(false)},
}

// Sampler slots of the scene's tables. lib/scene.glsl declares the tables at
// these slots and describes their layout; scene.Resident and the per-capture
// buffers bind them. Sensors use the slots from SlotSensor on for their own
// samplers; uniform, storage and image slots are all theirs.
const (
	SlotNodes         = iota // bounding volume hierarchies
	SlotTriangles            // planes and barycentric rows
	SlotVertices             // positions, three a triangle
	SlotAttributes           // normals, texture coordinates, labels
	SlotMaterials            // material table
	SlotColorTextures        // sRGB pictures
	SlotDataTextures         // linear pictures
	SlotMovers               // root, label and range of each mover
	SlotMotion               // per capture: keyframes and the movers' hierarchy
	SlotSensor               // the first that sensors may use, up to 15
)

// NodeTexels is how many texels a node of the scene's hierarchies has.
const NodeTexels = 7

// SceneTables returns the bindings that lib/scene.glsl declares.
func SceneTables() []Binding {
	return []Binding{
		{"nodes", "samplerBuffer", SlotNodes, KindSampler},
		{"triangles", "samplerBuffer", SlotTriangles, KindSampler},
		{"vertices", "samplerBuffer", SlotVertices, KindSampler},
		{"attributes", "usamplerBuffer", SlotAttributes, KindSampler},
		{"materials", "samplerBuffer", SlotMaterials, KindSampler},
		{"colorTextures", "sampler2DArray", SlotColorTextures, KindSampler},
		{"dataTextures", "sampler2DArray", SlotDataTextures, KindSampler},
		{"movers", "usamplerBuffer", SlotMovers, KindSampler},
		{"motion", "samplerBuffer", SlotMotion, KindSampler},
	}
}

func slotDefines() []Define {
	return []Define{
		Int("SLOT_NODES", SlotNodes),
		Int("SLOT_TRIANGLES", SlotTriangles),
		Int("SLOT_VERTICES", SlotVertices),
		Int("SLOT_ATTRIBUTES", SlotAttributes),
		Int("SLOT_MATERIALS", SlotMaterials),
		Int("SLOT_COLOR_TEXTURES", SlotColorTextures),
		Int("SLOT_DATA_TEXTURES", SlotDataTextures),
		Int("SLOT_MOVERS", SlotMovers),
		Int("SLOT_MOTION", SlotMotion),
		Int("SLOT_SENSOR", SlotSensor),
		Int("SLOT_SHUTTER", SlotShutter),
	}
}

// Slots of the cameras' own samplers.
const (
	SlotFrames       = SlotSensor + iota // the scene's frames before the camera, or the sun
	SlotVisible                          // what each pixel sees
	SlotStaticShadow                     // depth of the static world from the sun
	SlotMoverShadow                      // depth of the movers from the sun
	SlotPalette                          // colours of the semantic tags
	SlotSunlit                           // what the sun reaches of what each pixel sees
	SlotLensTable                        // the rays of a lens that has no formula here
)

// stillTables are the tables that lib/scene.glsl alone declares: cameras see one
// instant, and don't read keyframes.
func stillTables() []Binding { return SceneTables()[:SlotMotion:SlotMotion] }

// Records of the frames of the scene, in texels.
const (
	FrameTexels    = 6 // before a camera
	SunFrameTexels = 3 // before the sun
	// PreviousTexels follow all those before a camera, a frame's each: see
	// lib/flow.glsl.
	PreviousTexels = 3
)

// CameraIDs rasterises what each pixel of a camera sees: the number of the
// triangle plus one, and the frame it is in. CUT samples the alpha of cut-out
// materials.
var CameraIDs = Entry{
	Name:     "camera.ids",
	Vertex:   "camera_ids.vert",
	Fragment: "camera_ids.frag",
	Bindings: append(stillTables(),
		Binding{"frames", "samplerBuffer", SlotFrames, KindSampler},
		Binding{"Projection", "", 0, KindUniform},
	),
	Constants: []Define{Flag("CUT", false)},
}

// CameraShadow rasterises the depth of the scene as the sun sees it.
var CameraShadow = Entry{
	Name:     "camera.shadow",
	Vertex:   "camera_shadow.vert",
	Fragment: "camera_shadow.frag",
	Bindings: append(stillTables(),
		Binding{"sunFrames", "samplerBuffer", SlotFrames, KindSampler},
	),
	Constants: []Define{Flag("CUT", false)},
}

// Uniform blocks that lib/lens.glsl and lib/shutter.glsl declare.
const (
	SlotLens    = 1
	SlotShutter = 2
)

// lenses are those of lib/lens.glsl, beside the pinhole, which is 0.
const lenses = 4

// CameraTrace traces what each pixel of a distorted camera sees, and writes what
// CameraIDs writes. LENS is one of lib/lens.glsl's. With ROLLING, which a pinhole needs, each
// pixel has a time of its own. An invocation traces TracedRays pixels, two by two.
var CameraTrace = Entry{
	Name:    "camera.trace",
	Compute: "camera_trace.comp",
	Bindings: append(SceneTables(),
		Binding{"Lens", "", SlotLens, KindUniform},
		Binding{"Shutter", "", SlotShutter, KindUniform},
		Binding{"lensTable", "sampler2D", SlotLensTable, KindSampler},
		Binding{"Pass", "", 0, KindUniform},
		Binding{"seen", "uimage2D", 0, KindImage},
	),
	Workgroup: [3]int{8, 8, 1},
	Together:  square,
	Constants: []Define{Int("LENS", 1).Within(0, lenses), Flag("ROLLING", false), Alone(false)},
}

// CameraSun traces a ray to the sun from what each pixel of a camera sees, and writes
// which of them arrive. LENS and ROLLING are as for CameraTrace. An invocation traces
// TracedRays pixels, two by two.
var CameraSun = Entry{
	Name:    "camera.sun",
	Compute: "camera_sun.comp",
	Bindings: append(SceneTables(),
		Binding{"frames", "samplerBuffer", SlotFrames, KindSampler},
		Binding{"visible", "usampler2D", SlotVisible, KindSampler},
		Binding{"Lens", "", SlotLens, KindUniform},
		Binding{"Shutter", "", SlotShutter, KindUniform},
		Binding{"lensTable", "sampler2D", SlotLensTable, KindSampler},
		Binding{"Sun", "", 0, KindUniform},
		Binding{"sunlit", "image2D", 0, KindImage},
	),
	Workgroup: [3]int{8, 8, 1},
	Together:  square,
	Constants: []Define{Int("LENS", 0).Within(0, lenses), Flag("ROLLING", false), Alone(false)},
}

// CameraShade turns what a camera sees into its pictures, each in a buffer of packed pixels,
// row 0 the top. camera_shade.comp lists the constants that say which. SURFACE_TEXTURES,
// EMISSION_TEXTURES, VERTEX_COLORS and LAMPS are for scenes that have such. LENS and ROLLING are as for
// CameraTrace; FLOW isn't ROLLING. GRADED allows for lib/grade.glsl, TRACED takes shadows from CameraSun, and WEATHER
// shows the air between, wet ground and snow.
// A picture of light alone may have GRID x GRID seen points a pixel.
var CameraShade = Entry{
	Name:    "camera.shade",
	Compute: "camera_shade.comp",
	Bindings: append(SceneTables(),
		Binding{"frames", "samplerBuffer", SlotFrames, KindSampler},
		Binding{"visible", "usampler2D", SlotVisible, KindSampler},
		Binding{"staticShadow", "sampler2D", SlotStaticShadow, KindSampler},
		Binding{"moverShadow", "sampler2DShadow", SlotMoverShadow, KindSampler},
		Binding{"palette", "samplerBuffer", SlotPalette, KindSampler},
		Binding{"sunlit", "sampler2D", SlotSunlit, KindSampler},
		Binding{"View", "", 0, KindUniform},
		Binding{"Lens", "", SlotLens, KindUniform},
		Binding{"Shutter", "", SlotShutter, KindUniform},
		Binding{"lensTable", "sampler2D", SlotLensTable, KindSampler},
		Binding{"Color", "", 0, KindStorage},
		Binding{"Depth", "", 1, KindStorage},
		Binding{"Tags", "", 2, KindStorage},
		Binding{"Instances", "", 3, KindStorage},
		Binding{"Normals", "", 4, KindStorage},
		Binding{"Flow", "", 5, KindStorage},
		Binding{"Luminance", "", 6, KindStorage},
	),
	Workgroup: [3]int{8, 8, 1}, // the shader counts on it
	Constants: []Define{
		Flag("COLOR", true), Flag("WIDE_COLOR", false), Flag("LUMINANCE", false),
		Flag("DEPTH", true), Flag("DEPTH_CODES", false), Flag("DEPTH_GREYS", false),
		Flag("TAGS", true), Flag("TAG_COLORS", false), Flag("WIDE_TAG_COLORS", false), Flag("WIDE_TAGS", false),
		Flag("INSTANCES", true), Flag("WIDE_INSTANCES", false), Flag("INSTANCE_CODES", false), Flag("INSTANCE_COLORS", false),
		Flag("NORMALS", true), Flag("FLOW", true),
		Flag("SURFACE_TEXTURES", true), Flag("EMISSION_TEXTURES", true), Flag("VERTEX_COLORS", true), Flag("LAMPS", true), Int("GRID", 1).Within(1, 4),
		Int("LENS", 0).Within(0, lenses), Flag("GRADED", false), Flag("TRACED", false), Flag("ROLLING", false),
		Flag("WEATHER", false),
	},
}

// GroundTruthBounds finds the bounds of actors in what a camera's view sees: an
// invocation a pixel takes it into the tally of its actor. Places has, for each
// instance id, the place of its tally plus one, 0 for actors that nobody asks for.
var GroundTruthBounds = Entry{
	Name:    "groundtruth.bounds",
	Compute: "groundtruth_bounds.comp",
	Bindings: append(stillTables(),
		Binding{"visible", "usampler2D", SlotVisible, KindSampler},
		Binding{"Tallies", "", 0, KindStorage},
		Binding{"Places", "", 1, KindStorage},
	),
	Workgroup: [3]int{8, 8, 1},
}

// GroundTruthSights counts the points on actors that something else hides from a sensor. It has
// an invocation for each TracedRays of Sights, which adds to the tallies of their actors.
var GroundTruthSights = Entry{
	Name:    "groundtruth.sights",
	Compute: "groundtruth_sights.comp",
	Bindings: append(SceneTables(),
		Binding{"Settings", "", 0, KindUniform},
		Binding{"Tallies", "", 0, KindStorage},
		Binding{"Sights", "", 1, KindStorage},
	),
	Workgroup: [3]int{64, 1, 1},
	Together:  row,
	Constants: []Define{Alone(false)},
}

// SlotScan is the lidar's table of lasers and columns.
const SlotScan = SlotSensor

// Records of the scan table, in texels.
const (
	LaserTexels  = 3
	ColumnTexels = 1
)

// Lidar traces one scan: an invocation for each TracedRays neighbouring columns
// of each laser, which writes a sample.Point of twelve words for each.
var Lidar = Entry{
	Name:    "lidar.scan",
	Compute: "lidar_scan.comp",
	Bindings: append(SceneTables(),
		Binding{"scan", "usamplerBuffer", SlotScan, KindSampler},
		Binding{"Settings", "", 0, KindUniform},
		Binding{"Points", "", 0, KindStorage},
	),
	Workgroup: [3]int{8, 8, 1},
	Together:  row,
	Constants: []Define{Int("SCALE", 1).Within(0, 3), Flag("RANDOM", true), Flag("ROLLING", true), Flag("COMPENSATED", false), Alone(false)},
}

// FiringTexels is the size of a firing in the table of LidarEchoes, in texels.
const FiringTexels = 2

// NeighbourTexels is how many texels the table of LidarEchoes has of a firing's neighbours, with a beam. Four
// neighbours are one.
const NeighbourTexels = 2

// CenterBytes is the size of a Center of LidarEchoes: what the centre of a beam meets.
const CenterBytes = 32

// The steps of LidarEchoes (STEP): EchoRays alone where rays have no width, and else EchoCenters and then EchoBeams.
const (
	EchoRays    = iota
	EchoCenters // what the centre of each beam meets, in Centers
	EchoBeams   // the points: an invocation for each firing
)

// Classes is how many semantic tags the table of LidarEchoes has surfaces of.
const Classes = 32

// LidarEchoes traces the firings of a table, of which each says which sample.Point it writes: an
// invocation for each TracedRays of them. With beams that have a width it has two steps, and a firing up to three
// points, one after the other.
var LidarEchoes = Entry{
	Name:    "lidar.echoes",
	Compute: "lidar_echoes.comp",
	Bindings: append(SceneTables(),
		Binding{"scan", "usamplerBuffer", SlotScan, KindSampler},
		Binding{"Settings", "", 0, KindUniform},
		Binding{"Points", "", 0, KindStorage},
		Binding{"Centers", "", 1, KindStorage},
	),
	Workgroup: [3]int{64, 1, 1},
	Together:  row,
	Constants: []Define{
		Int("SCALE", 1).Within(0, 3), Flag("RANDOM", true), Flag("ROLLING", true), Flag("COMPENSATED", false), Flag("RADIOMETRY", false),
		Int("CLASSES", Classes).Within(Classes, Classes), Int("STEP", EchoRays).Within(EchoRays, EchoBeams), Alone(false),
	},
}

// RayTexels is the size of a ray in the table of Rays, in texels.
const RayTexels = 2

// Rays finds what a sensor's own rays hit: an invocation for each TracedRays of them.
var Rays = Entry{
	Name:    "sensor.rays",
	Compute: "rays.comp",
	Bindings: append(SceneTables(),
		Binding{"rays", "usamplerBuffer", SlotSensor, KindSampler},
		Binding{"Settings", "", 0, KindUniform},
		Binding{"Results", "", 0, KindStorage},
	),
	Workgroup: [3]int{64, 1, 1},
	Together:  row,
	Constants: []Define{Alone(false)},
}
