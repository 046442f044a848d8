package shaders

// Slots of the cameras' own samplers.
const (
	SlotFrames       = SlotSensor + iota // the scene's frames before the camera, or the sun
	SlotVisible                          // what each pixel sees
	SlotStaticShadow                     // depth of the static world from the sun
	SlotMoverShadow                      // depth of the movers from the sun
	SlotPalette                          // colours of the semantic tags
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

// SlotLens is the uniform block that lib/lens.glsl declares.
const SlotLens = 1

// CameraTrace traces what each pixel of a distorted camera sees, and writes what
// CameraIDs writes. LENS is one of lib/lens.glsl's. An invocation traces TracedRays
// pixels, two by two.
var CameraTrace = Entry{
	Name:    "camera.trace",
	Compute: "camera_trace.comp",
	Bindings: append(SceneTables(),
		Binding{"Lens", "", SlotLens, KindUniform},
		Binding{"Pass", "", 0, KindUniform},
		Binding{"seen", "uimage2D", 0, KindImage},
	),
	Workgroup: [3]int{8, 8, 1},
	Constants: []Define{Int("LENS", 1)},
}

// CameraShade turns what a camera sees into its pictures, each in a buffer of
// packed pixels, row 0 the top; camera_shade.comp lists the constants that say which.
// SURFACE_TEXTURES and EMISSION_TEXTURES are for scenes that have such, LENS is as
// for CameraTrace and 0 for a pinhole, and GRADED allows for lib/grade.glsl. A
// picture of light alone may have SAMPLES x SAMPLES seen points a pixel.
var CameraShade = Entry{
	Name:    "camera.shade",
	Compute: "camera_shade.comp",
	Bindings: append(stillTables(),
		Binding{"frames", "samplerBuffer", SlotFrames, KindSampler},
		Binding{"visible", "usampler2D", SlotVisible, KindSampler},
		Binding{"staticShadow", "sampler2D", SlotStaticShadow, KindSampler},
		Binding{"moverShadow", "sampler2DShadow", SlotMoverShadow, KindSampler},
		Binding{"palette", "samplerBuffer", SlotPalette, KindSampler},
		Binding{"View", "", 0, KindUniform},
		Binding{"Lens", "", SlotLens, KindUniform},
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
		Flag("SURFACE_TEXTURES", true), Flag("EMISSION_TEXTURES", true), Int("SAMPLES", 1),
		Int("LENS", 0), Flag("GRADED", false),
	},
}
