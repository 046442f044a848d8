package stream

import (
	"fmt"
	"math"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// TypeID is what made a stream's messages: the number of the sensor's type, and which of its
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

// MaxSize is the length of the longest message with its envelope, bytes.
const MaxSize = 256 << 20

// The envelope, as docs/stream-protocol.md has it: a fixed part and the frame id. Behind it
// and CDR's header of four bytes is a multiple of 8, so that CDR's numbers are aligned.
const (
	envelopeSize = 92
	flagHeaded   = 1 << 0

	offSequence = 0
	offFrame    = 8
	offCapture  = 16
	offPublish  = 24
	offPose     = 32
	offFlags    = 88
	offFrameID  = 90
)

// Message is a message in the bytes that it came in: its envelope, and what the stream's
// schema describes.
type Message struct {
	b    []byte
	body int
}

// openMessage checks a message's envelope. Errors wrap ErrMalformed.
func openMessage(b []byte) (Message, error) {
	if len(b) < envelopeSize {
		return Message{}, fmt.Errorf("%w: a message of %d bytes, its envelope has %d", ErrMalformed, len(b), envelopeSize)
	}
	body := envelopeSize + padded(int(le.Uint16(b[offFrameID:])))
	if len(b) < body {
		return Message{}, fmt.Errorf("%w: a message of %d bytes, envelope and frame id have %d", ErrMalformed, len(b), body)
	}
	return Message{b: b[:len(b):len(b)], body: body}, nil
}

// padded returns the length of n bytes up to the next multiple of 8.
func padded(n int) int { return (n + 7) &^ 7 }

// Bytes returns the envelope and the body.
func (m Message) Bytes() []byte { return m.b }

// Body returns the encoded message.
func (m Message) Body() []byte { return m.b[m.body:] }

// Sequence returns the number of the sensor's capture, from 0; a gap means that
// captures are missing, wherever they were lost.
func (m Message) Sequence() uint64 { return le.Uint64(m.b[offSequence:]) }

// Frame returns the number of the world's frame.
func (m Message) Frame() uint64 { return le.Uint64(m.b[offFrame:]) }

// Stamp returns when the data was true.
func (m Message) Stamp() simtime.Stamp { return simtime.Stamp(le.Uint64(m.b[offCapture:])) }

// Logged returns when the data was handed over, in simulation time.
func (m Message) Logged() simtime.Stamp { return simtime.Stamp(le.Uint64(m.b[offPublish:])) }

// Pose returns where the sensor was at the capture time, in the map frame.
func (m Message) Pose() spatial.Pose {
	var v [7]float64
	for i := range v {
		v[i] = math.Float64frombits(le.Uint64(m.b[offPose+8*i:]))
	}
	return spatial.Pose{Position: mgl64.Vec3(v[:3]), Orientation: mgl64.Quat{V: mgl64.Vec3(v[3:6]), W: v[6]}}
}

// FrameID names the data's coordinate frame.
func (m Message) FrameID() string { return string(m.frameID()) }

func (m Message) frameID() []byte { return m.b[envelopeSize:][:le.Uint16(m.b[offFrameID:])] }

// Header returns the sample's header.
func (m Message) Header() (h sample.Header) {
	m.copyHeader(&h)
	return h
}

// copyHeader sets a header, and allocates only for another frame id than it had.
func (m Message) copyHeader(h *sample.Header) {
	h.Stamp, h.Seq, h.Frame, h.Pose = m.Stamp(), m.Sequence(), m.Frame(), m.Pose()
	if id := m.frameID(); h.FrameID != string(id) {
		h.FrameID = string(id)
	}
}

// appendEnvelope appends the envelope of a sample's message. Errors wrap ErrTooLarge.
func appendEnvelope(dst []byte, publishNs int64, msg simtime.Stamped) ([]byte, error) {
	var fixed [envelopeSize]byte
	b := fixed[:]
	le.PutUint64(b[offCapture:], uint64(msg.Captured()))
	le.PutUint64(b[offPublish:], uint64(publishNs))
	headed, ok := msg.(interface{ SampleHeader() *sample.Header })
	if !ok {
		return append(dst, b...), nil
	}
	h := headed.SampleHeader()
	if len(h.FrameID) > math.MaxUint16 {
		return dst, fmt.Errorf("%w: a frame id of %d bytes, the most are %d", ErrTooLarge, len(h.FrameID), math.MaxUint16)
	}
	le.PutUint64(b[offSequence:], h.Seq)
	le.PutUint64(b[offFrame:], h.Frame)
	x, q := h.Pose.Position, h.Pose.Orientation
	for i, v := range [...]float64{x[0], x[1], x[2], q.V[0], q.V[1], q.V[2], q.W} {
		le.PutUint64(b[offPose+8*i:], math.Float64bits(v))
	}
	le.PutUint16(b[offFlags:], flagHeaded)
	le.PutUint16(b[offFrameID:], uint16(len(h.FrameID)))
	dst = append(append(dst, b...), h.FrameID...)
	return append(dst, make([]byte, padded(len(h.FrameID))-len(h.FrameID))...), nil
}
