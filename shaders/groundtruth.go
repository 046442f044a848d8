package shaders

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

// GroundTruthSights counts the points on actors that something else hides from a
// sensor: an invocation for each TracedRays of Sights, into the tallies of their actors.
var GroundTruthSights = Entry{
	Name:    "groundtruth.sights",
	Compute: "groundtruth_sights.comp",
	Bindings: append(SceneTables(),
		Binding{"Settings", "", 0, KindUniform},
		Binding{"Tallies", "", 0, KindStorage},
		Binding{"Sights", "", 1, KindStorage},
	),
	Workgroup: [3]int{64, 1, 1},
}
