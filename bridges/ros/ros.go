// Package ros has ROS messages, and lets the bridges to ROS carry message types of your own.
//
// A message is written once, as a .msg file in folder msg. Its Go structure is generated;
// its method Fields visits the fields in the file's order. Every encoding (a [Visitor]: CDR,
// ROS 1, JSON, BSON, CBOR), every schema text, sum and hash follows from these two.
//
// The definitions are those of common_interfaces, geometry2 and rcl_interfaces as Humble to
// Rolling have them (Range as Humble has it). The definitions of vision_msgs 4, carla_msgs,
// lgsvl_msgs, ackermann_msgs and nmea_msgs are there, too. ROS 1's differ in names alone, see
// [Version], except those of vision_msgs: ROS 1's package of that name has other fields.
//
// # Messages of your own
//
// A message of your own is a Go structure that visits its fields. Its definition, ROS 1's
// md5 sum and ROS 2's type hash follow from that.
//
//	type Comfort struct {
//		Header ros.Header
//		Jerk   float64
//	}
//
//	func (m *Comfort) TypeName() string { return "comfort_msgs/msg/Comfort" }
//
//	func (m *Comfort) Fields(v ros.Visitor) {
//		v.Message("header", &m.Header)
//		v.Value("jerk", ros.Of(&m.Jerk))
//	}
//
// A conversion joins the message with the type that a sensor publishes, and Register tells
// bridges of it:
//
//	pub := ros.Publish(func(dst *Comfort, src *Measured) error { ... })
//	err := ros.Register(registry, pub, "mcap", "rosbridge", "ros1")
//
// A message has fields of all of ROS's types but wstring, alone or in arrays of any size or of a
// fixed one. A message with constants, with bounds, or with fields of the types byte and char
// also has a Definition, its .msg file (see [Definer]). Nothing here checks bounds, the receiver
// knows them. ROS 1 has neither bounds nor default values: its definition leaves them out. BSON
// has no integers beyond an int64's. If a field has another name in ROS 1 than in ROS 2, the
// message is a [Renamer].
package ros

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// Message is one ROS message structure.
type Message interface {
	// TypeName is the message's full name, such as "sensor_msgs/msg/Image".
	TypeName() string
	// Fields calls the visitor once for each field, in the definition's order.
	Fields(v Visitor)
}

// pointer is the pointer to a structure M which is a message.
type pointer[M any] interface {
	*M
	Message
}

// Visitor is given every field of a message with its name in ROS 2: an encoder
// reads the values, a decoder sets them. One visitor serves one message at a
// time.
type Visitor interface {
	// Value is a number or a bool; uint8 stands for char and byte too.
	Value(name string, v Ref)
	String(name string, v *string)
	// Bytes is an uint8[], large perhaps.
	Bytes(name string, v *Bytes)
	// Array is an array of primitives, of a fixed size or of any.
	Array(name string, v Array)
	// Message is a nested message.
	Message(name string, v Message)
	// Messages is an array of nested messages, of a fixed size or of any.
	Messages(name string, v Messages)
}

// Bytes is the content of an uint8[] field: bytes at hand, or a source that
// writes them where an encoder wants them.
type Bytes struct {
	// Data are the bytes if Source is nil. An encoder only reads them; a
	// decoder sets them to a copy of its own, reusing their capacity.
	Data []byte
	// Source makes the bytes; a decoder sets it to nil.
	Source BytesSource
}

// BytesSource writes the content of a field in place.
type BytesSource interface {
	// Size is the number of bytes that Put writes.
	Size() int
	// Put fills dst, which has Size bytes.
	Put(dst []byte)
}

// Len returns the number of bytes.
func (b *Bytes) Len() int {
	if b.Source != nil {
		return b.Source.Size()
	}
	return len(b.Data)
}

// Put writes the bytes to dst, which has Len bytes.
func (b *Bytes) Put(dst []byte) {
	if b.Source != nil {
		b.Source.Put(dst)
		return
	}
	copy(dst, b.Data)
}

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
	return dst.Stamp.Set(int64(src.Stamp))
}

// SampleHeader returns what a message's header says of a sample: stamp, frame, and the
// number where ROS 1 has one. A slash that begins ROS 1's frames is left out. Poses and
// frames of the world aren't known.
func SampleHeader(h *Header) sample.Header {
	return sample.Header{Stamp: simtime.Stamp(h.Stamp.Nanoseconds()), Seq: uint64(h.Seq), FrameID: strings.TrimPrefix(h.FrameID, "/")}
}
