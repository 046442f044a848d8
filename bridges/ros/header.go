package ros

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/raybridge/raybridge/sensors/sample"
)

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

// ErrStampRange: a stamp's seconds don't fit into 32 bits.
var ErrStampRange = errors.New("stamp outside of builtin_interfaces/Time")

// Set sets m to simulation nanoseconds, exactly, or fails with ErrStampRange.
func (m *Time) Set(ns int64) error {
	sec, nsec := ns/1e9, ns%1e9
	if nsec < 0 {
		sec, nsec = sec-1, nsec+1e9
	}
	if sec < math.MinInt32 || sec > math.MaxInt32 {
		return fmt.Errorf("stamp of %d ns: %w", ns, ErrStampRange)
	}
	*m = Time{Sec: int32(sec), Nanosec: uint32(nsec)}
	return nil
}

// Nanoseconds returns simulation nanoseconds, exactly.
func (m Time) Nanoseconds() int64 { return int64(m.Sec)*1e9 + int64(m.Nanosec) }

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

// SetHeader sets all of dst to a sample's header, or fails with ErrStampRange; ROS 1's seq
// begins again after 2^32 messages.
func SetHeader(dst *Header, src *sample.Header) error {
	dst.FrameID, dst.Seq = src.FrameID, uint32(src.Seq)
	return dst.Stamp.Set(src.StampNs)
}

// SampleHeader returns what a message's header says of a sample: stamp, frame, and the
// number where ROS 1 has one. A slash that begins ROS 1's frames is left out. Poses and
// frames of the world aren't known.
func SampleHeader(h *Header) sample.Header {
	return sample.Header{StampNs: h.Stamp.Nanoseconds(), Seq: uint64(h.Seq), FrameID: strings.TrimPrefix(h.FrameID, "/")}
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
