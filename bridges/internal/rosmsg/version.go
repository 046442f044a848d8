package rosmsg

import "errors"

// Version is the ROS whose names and rules an encoding follows.
type Version uint8

// Versions.
const (
	// ROS2 has the names of the definitions. It is the zero value.
	ROS2 Version = iota
	// ROS1 has secs and nsecs in a time, whose seconds are unsigned, a sequence number
	// in a header, and D, K, R and P in a CameraInfo.
	ROS1
)

// ErrBeforeEpoch says that a message has a time before the epoch, which ROS 1 can't express.
// Encoders write the time 0 in its stead, and say so.
var ErrBeforeEpoch = errors.New("time is before the epoch, which ROS 1 can't express")

// FieldName returns the name that a version has for a field with the given name in
// ROS 2. The fields that ROS 1 calls otherwise have names of their own, so that it
// doesn't matter which message they are in.
func (version Version) FieldName(name string) string {
	if version == ROS2 {
		return name
	}
	return otherName(name)
}

func otherName(name string) string {
	switch name {
	case "sec":
		return "secs"
	case "nanosec":
		return "nsecs"
	case "d":
		return "D"
	case "k":
		return "K"
	case "r":
		return "R"
	case "p":
		return "P"
	}
	return name
}

// SameField reports whether name is what any version calls the field with the given
// name in ROS 2.
func SameField(name []byte, field string) bool {
	return string(name) == field || string(name) == otherName(field)
}
