package wire

import (
	"encoding"
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
)

// Foreign is a message type from outside raybridge that says itself what its body is.
// AppendBinary appends the body in a fixed layout, without its length, and keeps no
// hold of anything; SchemaVersion is that layout's version. A type that embeds
// sample.Header gets a complete header; of others the stamp alone is sent.
type Foreign interface {
	encoding.BinaryAppender
	SchemaVersion() uint16
	// Stamp returns the capture time in simulation nanoseconds.
	Stamp() int64
}

// Envelope is what a message's sender knows beside the sample.
type Envelope struct {
	Type TypeID
	// PublishNs is when the message is handed over, simulation nanoseconds.
	PublishNs int64
}

// description is what is particular to one message.
type description struct {
	kind    Kind
	version uint16
	header  *sample.Header // nil without one
	stampNs int64
	body    int64 // bytes
}

// headed is any type that embeds a sample.Header.
type headed interface{ SampleHeader() *sample.Header }

func describeForeign(f Foreign) description {
	d := description{kind: KindForeign, version: f.SchemaVersion(), stampNs: f.Stamp()}
	if h, ok := f.(headed); ok {
		d.header = h.SampleHeader()
	}
	return d
}

func (d *description) bodyAt() int64 {
	if d.header == nil {
		return HeaderSize
	}
	return HeaderSize + padded(len(d.header.FrameID), 1)
}

// Size returns the length of a sample's message: so much room makes Append allocate
// nothing. For a Foreign, whose body's length nobody knows before, it is that of the
// header. A type without a serializer has 0.
func Size(msg any) int {
	d, ok := describe(msg)
	if !ok {
		f, ok := msg.(Foreign)
		if !ok {
			return 0
		}
		d = describeForeign(f)
	}
	return int(d.bodyAt() + d.body)
}

// Append appends the message of a pointer to a sample, or of a Foreign. A message
// that can't be made leaves dst as it was: ErrUnknownType, ErrSize, or an error of
// AppendBinary.
func Append(dst []byte, e Envelope, msg any) ([]byte, error) {
	d, ok := describe(msg)
	if !ok {
		f, ok := msg.(Foreign)
		if !ok {
			return dst, fmt.Errorf("%w: %T", ErrUnknownType, msg)
		}
		return appendForeign(dst, e, f)
	}
	at := d.bodyAt()
	if at+d.body > MaxSize {
		return dst, fmt.Errorf("%w: %T needs %d bytes, the most are %d", ErrSize, msg, at+d.body, MaxSize)
	}
	start := len(dst)
	all := slices.Grow(dst, int(at+d.body))[:start+int(at+d.body)]
	b := all[start:]
	clear(b[:at])
	if err := putHeader(b, &d, e, d.body); err != nil {
		return dst, err
	}
	if err := put(b[at:], msg); err != nil {
		return dst, err
	}
	return all, nil
}

func appendForeign(dst []byte, e Envelope, f Foreign) ([]byte, error) {
	d := describeForeign(f)
	start, at := len(dst), int(d.bodyAt())
	all := slices.Grow(dst, at)[:start+at]
	clear(all[start:])
	all, err := f.AppendBinary(all)
	if err != nil {
		return dst, fmt.Errorf("append %T: %w", f, err)
	}
	body := int64(len(all) - start - at)
	if body < 0 || int64(at)+body > MaxSize {
		return dst, fmt.Errorf("%w: %T appended %d bytes", ErrSize, f, body)
	}
	if err := putHeader(all[start:], &d, e, body); err != nil {
		return dst, err
	}
	return all, nil
}

// padded returns the length of n elements, up to the next multiple of 8.
func padded(n, size int) int64 { return (int64(n)*int64(size) + 7) &^ 7 }

// pad clears what follows a part of n bytes at o, and returns where the next begins.
func pad(b []byte, o int64, n int) (next int64) {
	next = o + padded(n, 1)
	clear(b[o+int64(n) : next])
	return next
}

func flag(v bool) byte {
	if v {
		return 1
	}
	return 0
}

func putVec3(b []byte, v *mgl64.Vec3) { putFloats64(b, v[:]) }

func putQuat(b []byte, q *mgl64.Quat) {
	putVec3(b, &q.V)
	le.PutUint64(b[24:], math.Float64bits(q.W))
}

func putPose(b []byte, p *spatial.Pose) {
	putVec3(b, &p.Position)
	putQuat(b[24:], &p.Orientation)
}

func putTwist(b []byte, t *spatial.Twist) {
	putVec3(b, &t.Linear)
	putVec3(b[24:], &t.Angular)
}

func putFloats32(b []byte, list []float32) {
	if native {
		copy(b, memory(list))
		return
	}
	for i, v := range list {
		le.PutUint32(b[4*i:], math.Float32bits(v))
	}
}

func putFloats64(b []byte, list []float64) {
	if native {
		copy(b, memory(list))
		return
	}
	for i, v := range list {
		le.PutUint64(b[8*i:], math.Float64bits(v))
	}
}

// putRecords writes records that lie in memory as they do on the wire.
func putRecords[T any](b []byte, list []T, put func([]byte, *T)) {
	if native {
		copy(b, memory(list))
		return
	}
	for i := range list {
		put(b[i*int(unsafe.Sizeof(list[i])):], &list[i])
	}
}

// texts is where the strings of records go.
type texts struct {
	all  []byte
	used int
}

// put writes a string's place into a record and the string behind all lists.
func (t *texts) put(b []byte, s string) {
	le.PutUint32(b, uint32(t.used))
	le.PutUint32(b[4:], uint32(len(s)))
	t.used += copy(t.all[t.used:], s)
}

// KindOf returns the kind of messages of a Go type, from a pointer to any value of it;
// false for a type that isn't a sample.
func KindOf(msg any) (Kind, bool) {
	d, ok := describe(msg)
	return d.kind, ok
}
