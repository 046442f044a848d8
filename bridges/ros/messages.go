package ros

import (
	"github.com/raybridge/raybridge/bridges/internal/rosmsg"
	"github.com/raybridge/raybridge/bridges/internal/rossample"
	"github.com/raybridge/raybridge/sensors/sample"
)

// Standard messages, to be parts of your own.
type (
	// Time is builtin_interfaces/Time.
	Time = rosmsg.Time
	// Duration is builtin_interfaces/Duration.
	Duration = rosmsg.Duration
	// Header is std_msgs/Header.
	Header = rosmsg.Header
	// Point is geometry_msgs/Point.
	Point = rosmsg.Point
	// Vector3 is geometry_msgs/Vector3.
	Vector3 = rosmsg.Vector3
	// Quaternion is geometry_msgs/Quaternion.
	Quaternion = rosmsg.Quaternion
	// Pose is geometry_msgs/Pose.
	Pose = rosmsg.Pose
	// PoseWithCovariance is geometry_msgs/PoseWithCovariance.
	PoseWithCovariance = rosmsg.PoseWithCovariance
	// Twist is geometry_msgs/Twist.
	Twist = rosmsg.Twist
	// TwistWithCovariance is geometry_msgs/TwistWithCovariance.
	TwistWithCovariance = rosmsg.TwistWithCovariance
	// Transform is geometry_msgs/Transform.
	Transform = rosmsg.Transform
)

// SetHeader sets all of dst to a sample's header. A stamp whose seconds don't fit into 32
// bits is an error.
func SetHeader(dst *Header, src *sample.Header) error { return rossample.SetHeader(dst, src) }

// SampleHeader returns what a message's header says of a sample: stamp, frame, and the
// number where ROS 1 has one. Poses and frames of the world aren't known.
func SampleHeader(h *Header) sample.Header { return rossample.FromHeader(h) }
