package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
)

// Errors of this package; test them with errors.Is.
var (
	// ErrTruncated: the bytes end before the message does.
	ErrTruncated = errors.New("message is truncated")
	// ErrMagic: the bytes are no message.
	ErrMagic = errors.New("not a message")
	// ErrKind: the message is of another kind than it was opened as.
	ErrKind = errors.New("message of another kind")
	// ErrSchema: the message's layout has another version than this package knows.
	ErrSchema = errors.New("message of another schema version")
	// ErrSize: lengths in the message contradict each other, or a sample doesn't fit
	// the layout.
	ErrSize = errors.New("message of a wrong size")
	// ErrUnknownType: the Go type is neither a sample nor a Foreign.
	ErrUnknownType = errors.New("type has no serializer")
)

// Kind is which layout a message's body has.
type Kind uint16

// String returns the sample's name.
func (k Kind) String() string {
	if name, ok := kindNames[k]; ok {
		return name
	}
	return fmt.Sprintf("kind(%d)", uint16(k))
}

// Version returns the schema version that this package reads and writes, 0 for a kind
// without one.
func (k Kind) Version() uint16 { return kindVersions[k] }

// TypeID is what made a message: the number of the sensor's type, and which of its
// outputs.
type TypeID uint32

// NewTypeID returns the id of an output, 0..255, of the sensor type with that number.
func NewTypeID(number uint16, output int) TypeID {
	return TypeID(uint32(number)<<8 | uint32(uint8(output)))
}

// Number returns the sensor type's number; 0 stands for data of no sensor.
func (t TypeID) Number() uint16 { return uint16(t >> 8) }

// Output returns the output's place in the type's definition.
func (t TypeID) Output() int { return int(uint8(t)) }

const (
	magic = "RBMS"
	// HeaderSize is the length of a message's header without the frame id.
	HeaderSize = 112
	// MaxSize is the length of the longest message.
	MaxSize = 256 << 20

	flagHeaded = 1 << 0

	offType     = 4
	offKind     = 8
	offVersion  = 10
	offFlags    = 12
	offFrameID  = 14
	offSequence = 16
	offFrame    = 24
	offCapture  = 32
	offPublish  = 40
	offPose     = 48
	offBody     = 104
)

var le = binary.LittleEndian

// Message is a message's header, in the bytes it came in, and its body.
type Message struct {
	b    []byte
	body int
}

// Open checks a message's header; b is the message and nothing more.
func Open(b []byte) (Message, error) {
	if len(b) < HeaderSize {
		return Message{}, fmt.Errorf("%w: %d bytes, the header has %d", ErrTruncated, len(b), HeaderSize)
	}
	if string(b[:4]) != magic {
		return Message{}, fmt.Errorf("%w: it begins with %q, want %q", ErrMagic, b[:4], magic)
	}
	body := HeaderSize + int(padded(int(le.Uint16(b[offFrameID:])), 1))
	if len(b) < body {
		return Message{}, fmt.Errorf("%w: %d bytes, header and frame id have %d", ErrTruncated, len(b), body)
	}
	m := Message{b: b[:len(b):len(b)], body: body}
	switch claimed, have := le.Uint64(b[offBody:]), uint64(len(b)-body); {
	case claimed > have:
		return Message{}, fmt.Errorf("%w: the body has %d of %d bytes", ErrTruncated, have, claimed)
	case claimed < have:
		return Message{}, fmt.Errorf("%w: %d bytes follow the body", ErrSize, have-claimed)
	}
	return m, nil
}

// Bytes returns the whole message.
func (m Message) Bytes() []byte { return m.b }

// Body returns what follows the header, for kinds from outside.
func (m Message) Body() []byte { return m.b[m.body:] }

// Type returns what made the message.
func (m Message) Type() TypeID { return TypeID(le.Uint32(m.b[offType:])) }

// Kind returns the layout of the body.
func (m Message) Kind() Kind { return Kind(le.Uint16(m.b[offKind:])) }

// SchemaVersion returns the version of that layout.
func (m Message) SchemaVersion() uint16 { return le.Uint16(m.b[offVersion:]) }

// Headed reports whether the message has a sample's header: otherwise sequence,
// frame, pose and frame id are zero.
func (m Message) Headed() bool { return le.Uint16(m.b[offFlags:])&flagHeaded != 0 }

// Sequence returns the number of the sensor's capture, from 0; a gap means that
// captures are missing, wherever they were lost.
func (m Message) Sequence() uint64 { return le.Uint64(m.b[offSequence:]) }

// Frame returns the number of the world's frame.
func (m Message) Frame() uint64 { return le.Uint64(m.b[offFrame:]) }

// CaptureNs returns what the data's time is, simulation nanoseconds.
func (m Message) CaptureNs() int64 { return int64(le.Uint64(m.b[offCapture:])) }

// PublishNs returns when the data was handed over, simulation nanoseconds.
func (m Message) PublishNs() int64 { return int64(le.Uint64(m.b[offPublish:])) }

// Pose returns where the sensor was at the capture time, in the map frame.
func (m Message) Pose() spatial.Pose { return getPose(m.b[offPose:]) }

// FrameID names the data's coordinate frame.
func (m Message) FrameID() string { return string(m.frameID()) }

func (m Message) frameID() []byte {
	return m.b[HeaderSize:][:le.Uint16(m.b[offFrameID:])]
}

// Header returns the sample's header, independent of the bytes.
func (m Message) Header() (h sample.Header) {
	m.copyHeader(&h)
	return h
}

func (m Message) copyHeader(h *sample.Header) {
	h.StampNs, h.Seq, h.Frame, h.Pose = m.CaptureNs(), m.Sequence(), m.Frame(), m.Pose()
	keep(&h.FrameID, m.frameID())
}

// putHeader writes a header and frame id into b, which is zero.
func putHeader(b []byte, d *description, e Envelope, body int64) error {
	copy(b, magic)
	le.PutUint32(b[offType:], uint32(e.Type))
	le.PutUint16(b[offKind:], uint16(d.kind))
	le.PutUint16(b[offVersion:], d.version)
	le.PutUint64(b[offCapture:], uint64(d.stampNs))
	le.PutUint64(b[offPublish:], uint64(e.PublishNs))
	le.PutUint64(b[offBody:], uint64(body))
	h := d.header
	if h == nil {
		return nil
	}
	if len(h.FrameID) > math.MaxUint16 {
		return fmt.Errorf("%w: frame id of %d bytes", ErrSize, len(h.FrameID))
	}
	le.PutUint16(b[offFlags:], flagHeaded)
	le.PutUint16(b[offFrameID:], uint16(len(h.FrameID)))
	le.PutUint64(b[offSequence:], h.Seq)
	le.PutUint64(b[offFrame:], h.Frame)
	putPose(b[offPose:], &h.Pose)
	copy(b[HeaderSize:], h.FrameID)
	return nil
}
