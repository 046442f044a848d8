package shaders

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

// Records of the scene's tables, in texels.
const (
	NodeTexels      = 7
	TriangleTexels  = 3
	VertexTexels    = 3 // a triangle's three vertices
	AttributeTexels = 3 // a triangle's three vertices
	MaterialTexels  = 4
)

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
	}
}
