package ros

import (
	"errors"
	"regexp"
	"strings"
)

// Version is the ROS whose names and rules an encoding follows.
type Version uint8

// Versions.
const (
	// ROS2 has the names of the definitions. It is the zero value.
	ROS2 Version = iota
	// ROS1 has a sequence number in a header, unsigned seconds in a time, and other names
	// of some messages' fields, see [Renamer].
	ROS1
)

// TypeName returns the version's name of a type. In ROS 1 it is "sensor_msgs/Image" for
// "sensor_msgs/msg/Image" and "std_srvs/SetBool" for "std_srvs/srv/SetBool".
// "std_srvs/SetBoolRequest" is for "std_srvs/srv/SetBool_Request". In ROS 2 it is the full
// name.
func (version Version) TypeName(full string) string {
	if version == ROS2 {
		return full
	}
	for _, folder := range []string{"/msg/", "/srv/"} {
		if pkg, name, ok := strings.Cut(full, folder); ok {
			return pkg + "/" + strings.Replace(name, "_", "", 1)
		}
	}
	return full
}

// ErrBeforeEpoch says that a message has a time before the epoch, which ROS 1 can't express.
// Encoders write the time 0 in its stead, and say so.
var ErrBeforeEpoch = errors.New("time is before the epoch, which ROS 1 can't express")

// Renamer is a Message some of whose fields have other names in ROS 1, as CameraInfo's K.
type Renamer interface {
	Message
	// ROS1Name returns what ROS 1 calls the field with a name in ROS 2; it depends on
	// nothing but the name.
	ROS1Name(field string) string
}

// ours are the messages of this package that ROS 1 has other names in.
var ours = []Renamer{&Time{}, &Duration{}, &CameraInfo{}}

// ROS1Name returns "secs" and "nsecs".
func (m *Time) ROS1Name(field string) string {
	switch field {
	case "sec":
		return "secs"
	case "nanosec":
		return "nsecs"
	}
	return field
}

// ROS1Name returns "secs" and "nsecs".
func (m *Duration) ROS1Name(field string) string { return new(Time).ROS1Name(field) }

// ROS1Name returns "D", "K", "R" and "P".
func (m *CameraInfo) ROS1Name(field string) string {
	switch field {
	case "d":
		return "D"
	case "k":
		return "K"
	case "r":
		return "R"
	case "p":
		return "P"
	}
	return field
}

// nameInROS1 returns what ROS 1 calls a field of the message "pkg/Type", ours or one that was
// declared. Of messages that aren't known it is the field's own name.
func nameInROS1(message, field string) string {
	for _, m := range ours {
		if short, err := shortName(m.TypeName()); err == nil && short == message {
			return m.ROS1Name(field)
		}
	}
	if d := declaredMessage(message); d != nil && d.renamed[field] != "" {
		return d.renamed[field]
	}
	return field
}

// Names are those of one message's fields. The zero value has the names of ROS 2.
type Names struct{ renamer Renamer }

// Names returns the names that the version has in a message.
func (version Version) Names(m Message) Names {
	if version == ROS2 {
		return Names{}
	}
	r, _ := m.(Renamer)
	return Names{r}
}

// Of returns the name of the field that ROS 2 calls by a name.
func (n Names) Of(field string) string {
	if n.renamer == nil {
		return field
	}
	return n.renamer.ROS1Name(field)
}

// topicName is a fully qualified topic of ROS 2 (design.ros2.org, topic and service names). It
// has tokens of letters, digits and underscores that don't begin with a digit, each after a
// slash.
var topicName = regexp.MustCompile(`^(/[A-Za-z_][A-Za-z0-9_]*)+$`)

// ValidTopic reports whether ROS 2 allows name as a fully qualified topic. Doubled
// underscores are reserved.
func ValidTopic(name string) bool {
	return topicName.MatchString(name) && !strings.Contains(name, "__")
}
