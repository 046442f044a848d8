package transport

import "encoding/binary"

// Opcode is what a WebSocket frame holds (RFC 6455, section 5.2).
type Opcode byte

// Opcodes of frames.
const (
	OpText   = 1
	OpBinary = 2
	OpClose  = 8
	OpPing   = 9
)

const (
	final  = 0x80 // the frame ends its message
	masked = 0x80 // the payload is XORed with a key
)

// MaxHeader is the length of the longest header without a key, bytes.
const MaxHeader = 10

// MaskKey is what a client masks its payload with (RFC 6455, section 5.3).
type MaskKey [4]byte

// AppendHeader appends the header of a server's frame, which isn't masked, that is a whole
// message of size bytes.
func AppendHeader(dst []byte, opcode byte, size int) []byte {
	return appendHeader(dst, opcode, size, 0)
}

// AppendMasked appends the header of a client's frame that is a whole message of size bytes,
// masked with the key.
func AppendMasked(dst []byte, opcode byte, size int, key MaskKey) []byte {
	return append(appendHeader(dst, opcode, size, masked), key[:]...)
}

func appendHeader(dst []byte, opcode byte, size int, mask byte) []byte {
	dst = append(dst, final|opcode)
	switch {
	case size < 126:
		return append(dst, mask|byte(size))
	case size < 1<<16:
		return binary.BigEndian.AppendUint16(append(dst, mask|126), uint16(size))
	default:
		return binary.BigEndian.AppendUint64(append(dst, mask|127), uint64(size))
	}
}

// IsClose reports whether what is about to be written begins with a close frame.
func IsClose(data []byte) bool { return len(data) > 0 && data[0] == final|OpClose }
