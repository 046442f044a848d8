// Package spatial is raybridge's geometry of frames, in float64. It has poses, twists and their
// composition, and conversions to the axes of other programs. It has the map frame's place on
// the earth (WGS84, its tangent plane, the UTM projection).
//
// # Our axes
//
// raybridge keeps to REP-103. Axes are right-handed, a body's x forward, y left and z up (FLU),
// the map's x east, y north and z up (ENU). Units are metres, radians, kilograms, seconds. A
// camera's optical frame has z forward, x right and y down. Frames are named as in REP-105.
//
// # Usage
//
// The method Out of [UnrealAxes] and the like converts from our axes to the named ones, In back:
//
//	location := spatial.UnrealAxes.Out(pose.Position)
//	rates := spatial.UnrealAxes.OutAxial(twist.Angular)
//	pose.Orientation = spatial.UnityAxes.InRotation(q)
//
// # Kinds of quantities
//
// Positions, velocities, accelerations and forces are vectors (Out, In). Angular velocities,
// torques and all cross products of two vectors are axial. Into axes of the other hand they turn
// the other way (OutAxial, InAxial). A rotation by a quaternion is converted as a whole, what it
// turns and what it is seen from (OutRotation, InRotation). If only the body's own axes have
// other names while the world's stay, it is its attitude ([AxesRotation.OutAttitude]). Sizes
// have no direction (OutSize, InSize).
//
// A zero never has a sign afterwards, whatever it had before.
//
// Everything here is a plain value: any goroutine may use it.
package spatial
