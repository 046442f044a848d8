package ros

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/raybridge/raybridge/sensors/sample"
)

// ErrStampRange says that a stamp's seconds don't fit into 32 bits.
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
func (m *Time) Nanoseconds() int64 { return int64(m.Sec)*1e9 + int64(m.Nanosec) }

// Header is std_msgs/Header. When and where data was taken. It is written by hand for Seq.
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
