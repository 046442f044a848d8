// Package ros1 serialises messages as ROS 1 does (wiki.ros.org/msg, wiki.ros.org/ROS/Technical
// Overview). Package ros has the definitions and md5 sums.
//
// Serialisation is little-endian without alignment: a string and a sequence are their
// length as uint32 and their elements, an array of fixed size its elements, a time two
// uint32. Times before the epoch can't be expressed, see Encoder.Err.
package ros1

import (
	"github.com/raybridge/raybridge/bridges/internal/packed"
	"github.com/raybridge/raybridge/bridges/ros"
)

var format = packed.Format{ROS1: true}

// Errors of Decode.
var (
	// ErrTruncated: the data ends inside a field.
	ErrTruncated = packed.ErrTruncated
	// ErrMalformed: bytes are left over, or a time is after 2038.
	ErrMalformed = packed.ErrMalformed
)

// Encoder encodes messages. The zero value is ready; one goroutine uses it at a time.
// Encoding into a large enough buffer allocates nothing.
type Encoder struct {
	packed packed.Encoder
	sizer  packed.Sizer
}

// Size returns how many bytes Append appends for m, without writing them.
func (e *Encoder) Size(m ros.Message) int64 {
	e.sizer.Format = format
	return e.sizer.Size(m)
}

// Append appends m to dst and returns the result.
func (e *Encoder) Append(dst []byte, m ros.Message) []byte {
	e.packed.Format = format
	return e.packed.Append(dst, m)
}

// Err returns ros.ErrBeforeEpoch if the last message had such a time; it was written
// as 0, and the message isn't to be sent.
func (e *Encoder) Err() error { return e.packed.Err() }

// Decoder decodes messages. The zero value is ready; one goroutine uses it at a time.
// What it sets holds no reference to the data, and never takes more memory than a small
// multiple of the data's size.
type Decoder struct{ packed packed.Decoder }

// Decode sets m from data, all of it. On an error m is set in part.
func (d *Decoder) Decode(data []byte, m ros.Message) error {
	d.packed.Format = format
	return d.packed.Decode(data, m)
}
