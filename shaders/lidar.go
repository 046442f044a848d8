package shaders

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
	Constants: []Define{Int("SCALE", 1), Flag("RANDOM", true), Flag("ROLLING", true), Flag("COMPENSATED", false)},
}
