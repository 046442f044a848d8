// Package groundtruth has the sensors that know what others must find out: the boxes
// of vehicles and people, in a picture and in space, as SVL's ground-truth sensors
// publish them.
//
// # Who is counted
//
// Actors whose type id begins with vehicle. or walker., and those whose largest
// surface has the tag of a vehicle or a person; never the sensor's owner, and only
// while they are there. The ego has no surface: sensors on other actors don't see it.
// The label is SVL's (Label).
//
// # In a picture
//
// Boxes2D draws the view of a pinhole camera, and has the GPU take each pixel into the
// bounds of its actor: the box is tight around what can be seen, to the pixel. An
// actor without a pixel has no box. It shares the visibility pass with cameras of the
// same mount, lens and clipping.
//
// # In space
//
// Boxes3D publishes each actor's oriented box in the sensor's frame, whichever
// direction it is in. An actor whose every point is hidden is left out, unless the
// attribute hidden asks for all, as the objects of CARLA's ROS bridge are. What the
// owner hides counts as seen.
//
// # Occlusion and truncation
//
// Both are measured at samplePoints points of an actor's surface, which don't change
// and are spread evenly over its area. Of those whose surface faces the sensor,
// Truncation is the share that lies outside the picture (beside it, or beyond its
// clipping), and Occlusion the share of the others that a ray from the sensor does not
// reach because another actor is before them. What the actor itself hides counts as
// seen. An occlusion of one half comes out as 0.5 with a standard error of a few
// hundredths: some 40 to 130 of the points face a sensor.
//
// # Concurrency, failure
//
// As for cameras: Capture and Poll run on the GL thread, Process on the pipeline's
// goroutine. A capture without a free slot is dropped before any work, and counted.
package groundtruth
