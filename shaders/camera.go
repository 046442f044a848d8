package shaders

// Slots of the cameras' own samplers.
const (
	SlotFrames       = SlotSensor + iota // the scene's frames before the camera, or the sun
	SlotVisible                          // what each pixel sees
	SlotStaticShadow                     // depth of the static world from the sun
	SlotMoverShadow                      // depth of the movers from the sun
	SlotPalette                          // colour of each semantic tag
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

// CameraShade turns what a camera sees into its pictures, each in a buffer of
// packed pixels, row 0 the top. COLOR, DEPTH, TAGS or TAG_COLORS, INSTANCES or
// WIDE_INSTANCES, NORMALS, FLOW and LUMINANCE say which; SURFACE_TEXTURES and EMISSION_TEXTURES
// are for scenes that have such. COLOR or LUMINANCE alone may have SAMPLES x SAMPLES seen points
// a pixel.
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
		Flag("COLOR", true), Flag("DEPTH", true), Flag("TAGS", true), Flag("TAG_COLORS", false),
		Flag("INSTANCES", true), Flag("WIDE_INSTANCES", false), Flag("NORMALS", true), Flag("FLOW", true), Flag("LUMINANCE", true),
		Flag("SURFACE_TEXTURES", true), Flag("EMISSION_TEXTURES", true), Int("SAMPLES", 1),
	},
}
