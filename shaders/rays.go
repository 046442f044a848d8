package shaders

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
}
