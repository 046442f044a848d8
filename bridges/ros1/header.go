package ros1

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/bluenviron/goroslib/v2/pkg/protocommon"

	"github.com/raybridge/raybridge/bridges"
)

// maxHeader is the length of a connection header that is still read, bytes: subscribers
// send the text of the definition with theirs.
const maxHeader = 256 << 10

// readHeader reads the header of a TCPROS connection (wiki.ros.org/ROS/TCPROS). What isn't
// one wraps bridges.ErrProtocol. It takes no more memory than the peer has sent.
func readHeader(r io.Reader) (protocommon.HeaderRaw, error) {
	var length [4]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint32(length[:])
	if n == 0 || n > maxHeader {
		return nil, fmt.Errorf("%w: %d bytes of TCPROS header are announced", bridges.ErrProtocol, n)
	}
	// goroslib reads the length with a single Read, which may be short, so it is given
	// the header as a whole.
	block := bytes.NewBuffer(append(make([]byte, 0, 512), length[:]...))
	if _, err := io.CopyN(block, r, int64(n)); err != nil {
		return nil, err
	}
	header, err := protocommon.HeaderRawDecode(block)
	if err != nil {
		return nil, fmt.Errorf("%w: TCPROS header: %w", bridges.ErrProtocol, err)
	}
	return header, nil
}

// encodeHeader returns a header with the fields of a structure of goroslib's prototcp.
func encodeHeader(fields protocommon.Header) []byte {
	var b bytes.Buffer
	if err := protocommon.HeaderEncode(&b, fields); err != nil {
		panic(fmt.Sprintf("ros1: encode %T: %v", fields, err)) // a buffer takes everything
	}
	return b.Bytes()
}

// matches reports whether a peer that asks for or offers a sum, or a type's name, means
// ours; "*" is any.
func matches(theirs, ours string) bool { return theirs == "*" || theirs == ours }
