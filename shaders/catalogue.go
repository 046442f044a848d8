package shaders

import "io/fs"

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
	// Constants are the #defines that Go gives, with their default values.
	Constants []Define
	// Files holds the stages' files where they are not this package's own
	// (optional). What is not in it is looked for in this package.
	Files fs.FS
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
		&CameraShade,
		&Lidar,
		&Rays,
		&GroundTruthBounds,
		&GroundTruthSights,
	}
}

// TracedRays is how many rays an invocation traces together: those of
// lib/trace.glsl's Rays.
const TracedRays = 4

// SceneTrace finds what listed rays hit: the ray caster on its own, for tests,
// benchmarks and tools. Rays are three vec4 each (origin and tmin; unit
// direction and tmax; time in seconds since the window's start), hits two
// (range or -1, barycentric u, v, integer triangle; normal, integer mover, -1 for
// none), in the world frame. An invocation traces TracedRays of them.
var SceneTrace = Entry{
	Name:    "scene.trace",
	Compute: "scene_trace.comp",
	Bindings: append(SceneTables(),
		Binding{"RayList", "", 0, KindStorage},
		Binding{"HitList", "", 1, KindStorage},
	),
	Workgroup: [3]int{8, 8, 1},
	Constants: []Define{Flag("OCCLUSION", false)},
}
