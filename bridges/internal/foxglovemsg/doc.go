// Package foxglovemsg makes the messages that Foxglove shows out of samples: those of
// Foxglove's own schemas, in protobuf, where there is one, and ROS 2 messages in CDR
// for the rest. Foxglove, and every reader of MCAP, takes both side by side.
//
// # Usage
//
// A bridge registers with the list of [Publications] instead of one of its own:
//
//	for _, pub := range foxglovemsg.Publications() {
//		err = errors.Join(err, pub.Register(plugin, pub.Type, open))
//	}
//
// open is told the [Schema] of a topic when its publisher is made, and returns a [Send]
// that is given each message to append to a buffer.
//
// # Schemas
//
// Folder foxglove has the .proto files: names, numbers and types are those of
// foxglove/foxglove-sdk's schemas/proto, the words are ours. Schema.Data of a protobuf
// message is a serialised FileDescriptorSet with all that the message's file imports,
// imports first.
//
// # Conversions
//
//	sample.PointCloud        foxglove.PointCloud         in its own point layout
//	sample.Image             foxglove.RawImage           encodings as they are; Foxglove shows all but 32SC1, 32FC2 and 32FC3
//	sample.CompressedImage   foxglove.CompressedImage
//	sample.CameraInfo        foxglove.CameraCalibration  "equidistant" is called "kannala_brandt"
//	sample.Transforms        foxglove.FrameTransforms
//	sample.LaserScan         foxglove.LaserScan
//	sample.GnssFix           foxglove.LocationFix        the status as metadata
//	sample.GpsOdometry       foxglove.LocationFix        with heading and velocity
//	sample.Odometry          foxglove.Odometry
//	sample.Detections3D      foxglove.SceneUpdate        a box and a text each; removes those of before
//	sample.Signals           foxglove.SceneUpdate        in the colour that the light shows
//	sample.Detections2D      foxglove.ImageAnnotations   a rectangle and a text each
//	Log                      foxglove.Log
//	all others of rossample.Standard                     ROS 2, in CDR with ros2msg
//
// A SceneUpdate stands for itself: it first deletes all older entities of its topic, so
// that a viewer that missed the one before, or jumped, shows no box twice and none too
// long. Its entities have no lifetime: they stay until the next update.
//
// # Memory
//
// Messages are made anew in the same memory; those with large data (PointCloud, RawImage,
// CompressedImage) are appended by hand, straight from the sample, and allocate nothing.
package foxglovemsg

//go:generate go run github.com/raybridge/raybridge/internal/gen protobuf . foxglove
