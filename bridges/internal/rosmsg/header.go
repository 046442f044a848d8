package rosmsg

// Time is builtin_interfaces/Time: seconds and nanoseconds since the clock's
// epoch; Nanosec is below 1e9, also before the epoch.
type Time struct {
	Sec     int32
	Nanosec uint32
}

// TypeName returns "builtin_interfaces/msg/Time".
func (m *Time) TypeName() string { return "builtin_interfaces/msg/Time" }

// Fields visits the fields in order.
func (m *Time) Fields(v Visitor) {
	v.Int32("sec", &m.Sec)
	v.Uint32("nanosec", &m.Nanosec)
}

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

// Header is std_msgs/Header.
type Header struct {
	// Seq counts a topic's messages in ROS 1; ROS 2 hasn't got it.
	Seq     uint32
	Stamp   Time
	FrameID string
}

// TypeName returns "std_msgs/msg/Header".
func (m *Header) TypeName() string { return "std_msgs/msg/Header" }

// SeqVisitor is a Visitor that is shown Header's sequence number, before the stamp, as
// ROS 1's encodings have it.
type SeqVisitor interface {
	Visitor
	// HeaderSeq visits "seq".
	HeaderSeq(v *uint32)
}

// Fields visits the fields in order, Seq only with a SeqVisitor.
func (m *Header) Fields(v Visitor) {
	if s, ok := v.(SeqVisitor); ok {
		s.HeaderSeq(&m.Seq)
	}
	v.Message("stamp", &m.Stamp)
	v.String("frame_id", &m.FrameID)
}

// Clock is rosgraph_msgs/Clock.
type Clock struct {
	Clock Time
}

// TypeName returns "rosgraph_msgs/msg/Clock".
func (m *Clock) TypeName() string { return "rosgraph_msgs/msg/Clock" }

// Fields visits the fields in order.
func (m *Clock) Fields(v Visitor) { v.Message("clock", &m.Clock) }

// Duration is builtin_interfaces/Duration, a primitive in ROS 1: Nanosec is below 1e9,
// also where the duration is negative.
type Duration struct {
	Sec     int32
	Nanosec uint32
}

// TypeName returns "builtin_interfaces/msg/Duration".
func (m *Duration) TypeName() string { return "builtin_interfaces/msg/Duration" }

// Fields visits the fields in order.
func (m *Duration) Fields(v Visitor) {
	v.Int32("sec", &m.Sec)
	v.Uint32("nanosec", &m.Nanosec)
}

// ROS1Name returns "secs" and "nsecs".
func (m *Duration) ROS1Name(field string) string { return new(Time).ROS1Name(field) }
