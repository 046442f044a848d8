// Package camera has the cameras: colour, depth, semantic and instance labels, surface normals,
// optical flow and events. They have CARLA's ids and look through pinholes and lenses that
// distort.
//
// # Pictures
//
// Lens says which point of the optical frame (z forward, x right, y down) appears at which
// pixel. Centres lie at integers, row 0 is the top. Every pixel sees what the ray through its
// centre meets first, from either side of a surface. Depth is planar (REP-118), with +Inf for
// the sky and beyond max_depth and -Inf before min_depth (REP-117). The sky has CARLA's tag 11,
// instance 0 and no normal (NaN). Rows are padded to whole words of four bytes, as
// sample.Image.Step says; Image.FovDeg is the field of view that K belongs to.
//
// Colour is sun light under a sky. It has Lambert and GGX surfaces (glTF 2.0's
// metallic-roughness), shadows, two hemispheres of ambient light, and the reflection of the
// sky. The scene's occlusion dims these two. lib/shade.glsl has the equations; radiance times the
// scene's exposure times 2^exposure_compensation goes through the tone curve
//
//	T(x) = x (2.51 x + 0.09) / (x (2.43 x + 0.59) + 0.14), at most 1,
//
// unless tone_curve says otherwise, and then through sRGB. A scene whose Light is the zero
// value is shown on a clear day.
//
// CARLA's attributes of colour keep their names and defaults. Its exposure_mode histogram
// adapts to the picture before. Here the scene's exposure stands for what it would find, so
// that a picture depends on its instant alone; in weather it is as much more as clouds take from the light. In manual the same exposure belongs to CARLA's
// default settings, and others multiply it as film does. temp and tint balance the white before
// the curve. slope, toe, shoulder, black_clip and white_clip replace the curve by Unreal
// Engine's where they aren't the defaults. gamma bends what is left by 2.2 / gamma before sRGB.
// enable_postprocess_effects: false shows radiance times exposure as it is, up to 1. Attributes
// that change nothing here say why (Attribute.Inert).
//
// # Lenses
//
// Lens.PlumbBob, Lens.SVL and Lens.SVLFisheye have the formulas. Every picture works through
// every lens and none is resampled: each pixel has its own ray. In pixels where a lens has no
// ray, colours are black, depth and normals NaN, tag and instance 0, depths in bytes black.
// Points beside and behind a fisheye have no planar depth above zero, so they read -Inf, as all
// points nearer than min_depth do. In SVL's greys, which are of distances, they have their
// distance. near_clip and far_clip are planar too, but of a fisheye's pixels distances.
//
// # Other simulators' encodings
//
// The attribute output writes what users of CARLA and SVL decode. CARLA's pixels are bgra8 with
// an alpha of 255. Depth is red + 256 green + 65536 blue of 2^24 - 1 for 1000 m (good to 60
// micrometres). The tag is in red, the instance in green and blue. SVL's depth is the tenth
// root of the distance's share of far_clip in a byte. Its labels are colours of classes, and of
// instances shades of them.
//
// JPEG has half the resolution in colours than in light at every jpeg_quality, where
// SVL's has all of it at 100.
//
// Each capture is published as an Image on /image_raw and a CameraInfo on /camera_info with one
// header. That has the tick's stamp, the sensor's frame with _optical appended, and as Pose
// that of the sensor's body frame. With compressed set, a CompressedImage follows on
// /image_raw/compressed, encoded on a goroutine of the camera's own.
//
// # Motion
//
// OpticalFlow compares where a point is with where it was at the sensor's firing before. DVS
// compares pictures, and publishes events in place of an Image. Both look back by what was
// recorded and rendered. So they see nothing move at their first firing, nor at the first after
// time went back.
//
// # How a picture is made
//
// Cameras of one pose, lens and size that are due at one instant share a visibility pass. Tick
// announces a capture, and the first Capture on the GL thread draws for all. The rasteriser
// writes the number of the triangle that covers each pixel's centre, and depth, reversed so
// that it is fine far away. Through a lens that distorts, a compute shader traces the ray of
// each pixel at the instant, and writes the same numbers. That is a few times the work of a
// pinhole. One compute dispatch then finds the exact hit of each pixel's ray with the plane of
// its triangle. It writes every picture that is due, packed as its message holds it: reading
// back is a plain copy. Textures are sampled trilinearly, at the level that the ray's analytic
// differentials ask for.
//
// Everything is computed before the camera, not in the map. The positions of the camera in the
// frames of the movers are taken in float64. So depth keeps its millimetres far from the map's
// origin.
//
// The shadows of the static world come from a map that is drawn once for a place. It is drawn
// again when the ego has moved by some 30 m. The shadows of the movers come from a small map,
// drawn for each instant. The place of the maps depends on the ego's position alone (law T5).
// With shadows traced, a compute shader sends a ray to the sun from each point that is seen, and
// no map is needed. docs/rendering.md says how exact both are.
//
// # Concurrency
//
// Capture and Poll run on the GL thread, Tick and Process on the pipeline's goroutines, as
// sensors.Capturer says. The state that the cameras of a pipeline share is in sensors.Shared and
// belongs to the GL thread, except announcements and counters, which have locks.
//
// # Failure
//
// A capture that finds no free slot or target is dropped before any work is done for it and
// counted as readback_full. One whose readback fails counts as readback_failed, and a picture
// that can't be compressed as convert_failed.
package camera
