// Package city makes a procedural, seeded town for sensors to drive through:
// a grid of streets with kerbs and markings, perimeter blocks of houses and
// shops, a park, trees, street furniture, parked and moving cars, and people.
//
// # Layout
//
// The map frame is REP-103's (x east, y north, z up, metres); its origin lies
// in the middle of the park's block, on the level of the roadway. Traffic
// keeps right. Every block is circled clockwise, so the lane beside a block is
// that block's alone and no two loops ever cross. The ego circles the park.
//
// # Roads
//
// Scene.LaneMarks has what is painted along the streets, all of it white: the
// centre lines, broken and, before the stop lines, solid; the edges of the parking
// bays and of the streets' ends, solid; and the kerbs. Stop lines and crosswalks lie
// across and are none.
//
// Scene.Signals has two lights for each traffic light, one a head for vehicles. Green
// is 12 s, yellow 3 s, then all have red for 1 s; opposite arms show the same, and the
// crossings' cycles begin at different times, by the seed. The lamps are part of the
// static geometry: pictures show them as they are at time 0. The traffic drives in
// loops and heeds no light.
//
// # Reserve
//
// Some vehicles of each kind and some walkers are held in reserve, to be spawned while
// a run goes on (scene.History.Spawn). They come last in the list of actors, share
// their meshes with those who are there, and count into no budget.
//
// # Detail
//
// Options.Triangles is spent near the ego's route first: each building, tree
// and lamp has several levels of detail, the first of which may be "absent".
// Levels are bought in the order of distance times a weight of their kind,
// until the budget is reached. A larger budget also makes a larger town.
//
// # Determinism
//
// Equal options give equal scenes: all chance comes from PCG streams keyed by
// the seed and by what is drawn, no map is iterated, and the goroutines that
// paint textures each own one picture. Across processor architectures Go may
// fuse a multiply and an add (the language specification, "Floating-point
// operators") and math.Sin and its like may come from assembly, so the last
// bits of a coordinate may differ there; mesh vertices are therefore rounded
// to 1/4096 m, which hides all but a vanishing share of such differences.
// What is bought, and so the list of actors, depends on coordinates only
// through comparisons of rounded distances.
package city
