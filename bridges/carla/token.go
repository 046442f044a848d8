package carla

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
)

// TokenBytes is the size of a Token's wire form.
const TokenBytes = 24

// Values in a token.
const (
	protocolTCP = 1
	addressNone = 0
	addressIPv4 = 1
	addressIPv6 = 2
)

// ErrToken says that bytes are no stream token.
var ErrToken = errors.New("not a stream token")

// Token says where a stream is found, as CARLA's streaming::detail::token_data: a client
// that finds no address in it asks the host that it got the token from.
type Token struct {
	Stream uint32
	// Address is the server's; the zero address with a port stands for "the same host".
	Address netip.AddrPort
}

// AppendBinary appends the token's 24 bytes: stream id u32, port u16, protocol u8,
// address type u8, address in 16 bytes, of which IPv4 takes the first four. It never
// fails.
func (t Token) AppendBinary(dst []byte) ([]byte, error) {
	dst = binary.LittleEndian.AppendUint32(dst, t.Stream)
	dst = binary.LittleEndian.AppendUint16(dst, t.Address.Port())
	kind, address := byte(addressNone), [16]byte{}
	switch a := t.Address.Addr().Unmap(); {
	case a.Is4():
		kind = addressIPv4
		four := a.As4()
		copy(address[:], four[:])
	case a.Is6():
		kind, address = addressIPv6, a.As16()
	}
	return append(append(dst, protocolTCP, kind), address[:]...), nil
}

// ParseToken reads a token's 24 bytes. An error wraps ErrToken.
func ParseToken(b []byte) (Token, error) {
	if len(b) != TokenBytes {
		return Token{}, fmt.Errorf("%w: it has %d bytes, not %d", ErrToken, len(b), TokenBytes)
	}
	if b[6] != protocolTCP {
		return Token{}, fmt.Errorf("%w: protocol %d isn't TCP (%d)", ErrToken, b[6], protocolTCP)
	}
	var a netip.Addr
	switch b[7] {
	case addressNone:
	case addressIPv4:
		a = netip.AddrFrom4([4]byte(b[8:12]))
	case addressIPv6:
		a = netip.AddrFrom16([16]byte(b[8:24]))
	default:
		return Token{}, fmt.Errorf("%w: address type %d", ErrToken, b[7])
	}
	return Token{
		Stream:  binary.LittleEndian.Uint32(b),
		Address: netip.AddrPortFrom(a, binary.LittleEndian.Uint16(b[4:])),
	}, nil
}
