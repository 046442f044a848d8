// Package scene holds what sensors see: meshes, materials, labels, actors and
// their motion; it composes them into a World that is searched for ray hits
// and uploaded to the GPU.
//
// # Usage
//
// New and Add compose a Scene from assets. Build makes its World: flat tables in
// the layout that shaders/lib/scene.glsl describes, read from the on-disk cache
// where they were built before. World.Upload puts them on the GPU. While the
// simulation runs, the frame loop calls History.Record once a tick; each sensor
// has a Packer that says where the movers are at an instant (Places, for
// rasterising), or writes it over a scan's window (Motion, for tracing) into a
// CaptureTable.
//
// Actors may come and go while a run goes on: Scene.Reserve holds some back from the
// start, so that the World has room for them, History.Spawn and History.Remove make
// them present and absent from the next tick on. What asks for a time before that
// (a scan that began earlier) gets who was there then.
//
// # Frames
//
// Poses, motions and states are in the map frame, REP-103 axes, float64. The
// World's tables, places and motions are in the world frame: the map frame
// moved by World.Anchor, which is zero unless the scene lies far from the map's
// origin.
//
// # Concurrency
//
// One goroutine builds a Scene; afterwards nobody changes it. A World never
// changes. Motions are pure functions or, like Driven, guard themselves. History
// has one writer, the frame loop, which also spawns and removes, and any number of
// readers. A Packer belongs to one goroutine at a time. What takes a *gpu.Ctx runs on the GL thread (law G1).
//
// # Testing
//
// scene/scenetest has a float64 tracer that shares nothing with World, and
// scenes whose geometry is known.
package scene
