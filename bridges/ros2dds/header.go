package ros2dds

import "github.com/raybridge/raybridge/bridges/ros"

// header is what rmw_cyclonedds has before the fields of requests and replies, in the
// same encoding: the client, a number of 64 bits, and the request's number, of 64 bits
// too. A reply has those of its request.
type header [4]uint32

// headed is a request or reply with its header.
type headed struct {
	header
	body ros.Message
}

// TypeName returns the body's.
func (h *headed) TypeName() string { return h.body.TypeName() }

// Fields visits the header and the body's fields. Behind the header all alignments are
// as at the beginning.
func (h *headed) Fields(v ros.Visitor) {
	for n := range h.header {
		v.Uint32("header", &h.header[n])
	}
	v.Message("body", h.body) // a body without fields is a byte
}
