// Package protowalk reads messages of protobuf field by field. It makes no object of a message and uses no
// reflection. So what reads thousands of actors in each step, or a trace of gigabytes, allocates nothing.
//
// A reader goes over a message, takes from the fields that it knows what they should have, and passes over
// the others:
//
//	m := protowalk.Over(bytes, ErrDamaged)
//	for m.Next() {
//		switch m.Field {
//		case 1:
//			id = m.Varint()
//		case 2:
//			m.Within("position", position(m.Message()))
//		}
//	}
//	return m.Err
//
// The wire format is that of protobuf.dev/programming-guides/encoding.
package protowalk

import (
	"encoding/binary"
	"fmt"
	"math"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// Walk is a walk over the fields of one message. It belongs to one goroutine. It only reads the message,
// and what it returns of it shares its memory.
type Walk struct {
	// Field is the number of the field that Next found. Before Next it is 0.
	Field protowire.Number
	// Err is the first error. It ends the walk.
	Err error

	rest    []byte
	kind    protowire.Type
	bits    uint64 // the value of a field that is a number
	bytes   []byte // the content of one that has a length
	damaged error  // what errors wrap
}

// Over begins a walk over a message. Its own errors wrap damaged.
func Over(message []byte, damaged error) Walk {
	return Walk{rest: message, damaged: damaged}
}

// Next goes to the next field. It is false at the message's end and after an error.
func (w *Walk) Next() bool {
	if len(w.rest) == 0 || w.Err != nil {
		return false
	}
	field, kind, n := protowire.Number(w.rest[0]>>3), protowire.Type(w.rest[0]&7), 1
	if field == 0 || field >= 16 { // it is wrong, or has more than a byte
		field, kind, n = protowire.ConsumeTag(w.rest)
	}
	if n < 0 {
		return w.cut("after", n)
	}
	w.Field, w.kind, w.rest = field, kind, w.rest[n:]
	switch kind {
	case protowire.VarintType:
		w.bits, n = protowire.ConsumeVarint(w.rest)
	case protowire.Fixed64Type:
		w.bits, n = protowire.ConsumeFixed64(w.rest)
	case protowire.Fixed32Type:
		var bits uint32
		bits, n = protowire.ConsumeFixed32(w.rest)
		w.bits = uint64(bits)
	case protowire.BytesType:
		w.bytes, n = protowire.ConsumeBytes(w.rest)
	default:
		n = protowire.ConsumeFieldValue(field, kind, w.rest)
	}
	if n < 0 {
		return w.cut("in", n)
	}
	w.rest = w.rest[n:]
	return true
}

// cut ends the walk in or after a field.
func (w *Walk) cut(where string, n int) bool {
	w.Fail(fmt.Errorf("%w: %s field %d: %w", w.damaged, where, w.Field, protowire.ParseError(n)))
	return false
}

// Fail keeps an error, if it is not nil and the first one.
func (w *Walk) Fail(err error) {
	if w.Err == nil {
		w.Err = err
	}
}

// Within keeps the error of a part of the message, and names the part. It may be nil.
func (w *Walk) Within(part string, err error) {
	if err != nil {
		w.Fail(fmt.Errorf("%s: %w", part, err))
	}
}

// number returns the field's value if it has the wire type.
func (w *Walk) number(kind protowire.Type) uint64 {
	if w.kind != kind {
		w.other(kind)
		return 0
	}
	return w.bits
}

// other fails because the field has another wire type.
func (w *Walk) other(want protowire.Type) {
	w.Fail(fmt.Errorf("%w: field %d has wire type %d, want %d", w.damaged, w.Field, w.kind, want))
}

// Varint returns the field as an integer, a bool or a value of an enumeration. A field of another wire
// type is an error, and gives 0. That holds for the other methods, too.
func (w *Walk) Varint() uint64 { return w.number(protowire.VarintType) }

// Fixed64 returns the field as a fixed64 or an sfixed64.
func (w *Walk) Fixed64() uint64 { return w.number(protowire.Fixed64Type) }

// Fixed32 returns the field as a fixed32.
func (w *Walk) Fixed32() uint32 { return uint32(w.number(protowire.Fixed32Type)) }

// Double returns the field as a double.
func (w *Walk) Double() float64 { return math.Float64frombits(w.Fixed64()) }

// Message returns the content of a field that is a message, bytes or a packed list.
func (w *Walk) Message() []byte {
	if w.kind != protowire.BytesType {
		w.other(protowire.BytesType)
		return nil
	}
	return w.bytes
}

// Text returns the field as a string. That is before if it is the same, so that a name that comes in
// each message costs no memory.
func (w *Walk) Text(before string) string {
	switch b := w.Message(); {
	case string(b) == before:
		return before
	case !utf8.Valid(b):
		w.Fail(fmt.Errorf("%w: field %d is not UTF-8", w.damaged, w.Field))
		return ""
	default:
		return string(b)
	}
}

// Doubles puts the doubles of the field, packed ones or a single one, into values from values[n] on. It
// returns how many there are then. Those for which there is no room are only counted.
func (w *Walk) Doubles(values []float64, n int) int {
	switch {
	case w.kind == protowire.BytesType && len(w.bytes)%8 == 0:
		for b := w.bytes; len(b) > 0; b = b[8:] {
			if n < len(values) {
				values[n] = math.Float64frombits(binary.LittleEndian.Uint64(b))
			}
			n++
		}
		return n
	case w.kind == protowire.Fixed64Type:
		if n < len(values) {
			values[n] = math.Float64frombits(w.bits)
		}
		return n + 1
	}
	w.Fail(fmt.Errorf("%w: field %d has no doubles", w.damaged, w.Field))
	return n
}
