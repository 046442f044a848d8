// Package rostree sets messages from self-describing encodings (JSON, BSON, CBOR), whose
// objects have their members in any order, and some or none of a message's fields.
//
// Nothing is built between the data and the message: a [Decoder] visits the message's
// fields and looks for each in the data, at first behind the one before, where it mostly
// is. So a message whose members lie in the definition's order is read in one pass, and
// what a decoder needs besides the message is nothing. Out of order, a field costs one
// pass over its object at most.
//
// Members that aren't fields are ignored, fields that aren't members become zero, and so
// do those that are null, but for floats: JSON has null for their NaN. Of members of the
// same name, one counts.
package rostree

import (
	"errors"
	"fmt"
	"io"
)

// Errors of the decoders.
var (
	// ErrTruncated says that the data ends inside a value.
	ErrTruncated = fmt.Errorf("data is too short: %w", io.ErrUnexpectedEOF)
	// ErrMalformed says that the data isn't of its encoding, or that something follows.
	ErrMalformed = errors.New("data is malformed")
	// ErrDepth says that values lie in each other more than MaxDepth deep.
	ErrDepth = errors.New("values lie in each other too deep")
	// ErrType says that a member isn't of its field's type.
	ErrType = errors.New("value is of another type than the field")
	// ErrRange says that a number is beyond its field's type, or that an array of fixed
	// size has another.
	ErrRange = errors.New("value is out of the field's range")
	// ErrTooLarge says that an array has so many elements of so few bytes each that they
	// would take a large multiple of the data's size.
	ErrTooLarge = errors.New("elements would take far more memory than the data")
)

// MaxDepth is how deep values may lie in each other where a decoder ignores them.
const MaxDepth = 64

// Value is the place of a value in the data.
type Value struct {
	Pos int
	// Kind is what the syntax must know besides, such as a type that stands before the
	// value's name.
	Kind byte
}

// Cursor is a place between the members of an object, or the elements of an array.
type Cursor struct {
	Pos int
	// N and Kind are the syntax's own.
	N    int
	Kind byte
}

// Syntax reads values of one encoding. Whoever has read a member's or an element's value
// sets the cursor's Pos to its end. What is returned as bytes is good until the next call.
type Syntax interface {
	// Object enters an object, Member steps to its next member, whose value begins at the
	// cursor then. Without more, the cursor is behind the object.
	Object(v Value) (Cursor, error)
	Member(c *Cursor) (name []byte, v Value, more bool, err error)
	// Array and Element do the same for an array.
	Array(v Value) (Cursor, error)
	Element(c *Cursor) (v Value, more bool, err error)
	// Skip returns the end of a value of any type.
	Skip(v Value) (end int, err error)
	// Null reports whether a value is null, and its end if it is.
	Null(v Value) (end int, null bool)
	Bool(v Value) (b bool, end int, err error)
	// Integer reads a number without a fraction.
	Integer(v Value) (n Integer, end int, err error)
	// Float reads a number, to the nearest of a float of so many bits.
	Float(v Value, bits int) (f float64, end int, err error)
	// Text reads a string as valid UTF-8.
	Text(v Value) (text []byte, end int, err error)
	// Bytes appends what the encoding has for uint8[], unless it is an array of numbers:
	// ok is false then.
	Bytes(dst []byte, v Value) (data []byte, end int, ok bool, err error)
}
