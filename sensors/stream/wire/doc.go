// Package wire has the bytes of sensor data: a serializer and a data object for each
// sample. The layouts are fixed and little-endian; docs/stream-protocol.md has them as
// tables, package schema as the list that the code is generated from.
//
// # Usage
//
// [Append] makes the message of a sample:
//
//	b, err := wire.Append(dst, wire.Envelope{Type: id, PublishNs: now}, image)
//
// A receiver opens it. The data object reads straight from the received bytes; only
// strings are copied, when they are asked for:
//
//	v, err := wire.OpenImage(b)
//	draw(v.Width(), v.Height(), v.Data(), v.Pose())
//
// [Open] reads the header alone, of messages of any kind, and [Decode] makes an
// independent sample.
//
// # Types from outside
//
// Any type that appends itself to bytes is carried, see [Foreign]. Nothing is
// registered: the receiver knows the type by its sensor's number, and reads
// [Message.Body].
//
// # Concurrency
//
// Data objects are plain values over bytes that nobody changes meanwhile. Any
// goroutine may read them, as long as their owner lends the bytes.
//
// # Failure
//
// Every count and offset is checked when a message is opened, against the bytes that
// are there: what isn't a message gives an error of this package, never a panic, and
// no claimed length makes anything allocate.
//
// # Machines
//
// Messages may lie at any address, and machines of either byte order and word size read and
// write the same bytes. Where a list can't be read as it lies, on a big-endian machine or
// at an odd address, its accessor returns a decoded copy. A number that an int of 32 bits
// doesn't hold is ErrSize there.
package wire

//go:generate go run github.com/raybridge/raybridge/internal/gen stream ../../../docs/stream-protocol.md
