package transport_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/bridges/transport"
)

// TestHeaders: the examples of RFC 6455, section 5.7, and the lengths' bounds.
func TestHeaders(t *testing.T) {
	assert.Equal(t, []byte{0x81, 0x05}, transport.AppendHeader(nil, transport.OpText, 5), `"Hello"`)
	assert.Equal(t, []byte{0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d}, transport.AppendMasked(nil, transport.OpText, 5, transport.MaskKey{0x37, 0xfa, 0x21, 0x3d}))
	assert.Equal(t, []byte{0x82, 0x7e, 0x01, 0x00}, transport.AppendHeader(nil, transport.OpBinary, 256))
	assert.Equal(t, []byte{0x82, 0x7f, 0, 0, 0, 0, 0, 1, 0, 0}, transport.AppendHeader(nil, transport.OpBinary, 65536))
	for size, want := range map[int]int{0: 2, 125: 2, 126: 4, 65535: 4, 65536: transport.MaxHeader} {
		assert.Len(t, transport.AppendHeader(nil, transport.OpPing, size), want, "%d bytes", size)
		assert.Len(t, transport.AppendMasked(nil, transport.OpPing, size, transport.MaskKey{}), want+4, "%d bytes", size)
	}
	assert.Equal(t, []byte("ab\x88\x00"), transport.AppendHeader([]byte("ab"), transport.OpClose, 0), "appended")
}

func TestIsClose(t *testing.T) {
	assert.True(t, transport.IsClose(transport.AppendHeader(nil, transport.OpClose, 2)))
	for _, frame := range [][]byte{nil, {0x08}, transport.AppendHeader(nil, transport.OpPing, 0)} {
		assert.False(t, transport.IsClose(frame), "%x", frame)
	}
	assert.False(t, transport.IsClose(bytes.Repeat([]byte{1}, 9)))
}
