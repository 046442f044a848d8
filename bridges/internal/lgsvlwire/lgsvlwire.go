// Package lgsvlwire has messages as SVL Simulator's ROS 2 bridge writes them, and
// ros2-lgsvl-bridge reads them: not CDR, but fields in the order of the definition,
// little-endian, without alignment. A string is its length as uint32 and its bytes; every
// array, also of fixed size, is its length as uint32 and its elements; a time is int32
// seconds and uint32 nanoseconds; a header has no seq.
package lgsvlwire

import (
	"github.com/raybridge/raybridge/bridges/internal/packed"
	"github.com/raybridge/raybridge/bridges/ros"
)

var format = packed.Format{CountedArrays: true}

// Errors of Decode.
var (
	// ErrTruncated: the data ends inside a field.
	ErrTruncated = packed.ErrTruncated
	// ErrMalformed: bytes are left over, or an array of fixed size has another length.
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

// Decoder decodes messages. The zero value is ready; one goroutine uses it at a time.
// What it sets holds no reference to the data, and never takes more memory than a small
// multiple of the data's size.
type Decoder struct{ packed packed.Decoder }

// Decode sets m from data, all of it. On an error m is set in part.
func (d *Decoder) Decode(data []byte, m ros.Message) error {
	d.packed.Format = format
	return d.packed.Decode(data, m)
}
