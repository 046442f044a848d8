package wsframe_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/bridges/internal/wsframe"
)

// TestHeaders: the examples of RFC 6455, section 5.7, and the lengths' bounds.
func TestHeaders(t *testing.T) {
	assert.Equal(t, []byte{0x81, 0x05}, wsframe.AppendHeader(nil, wsframe.OpText, 5), `"Hello"`)
	assert.Equal(t, []byte{0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d}, wsframe.AppendMasked(nil, wsframe.OpText, 5, wsframe.Key{0x37, 0xfa, 0x21, 0x3d}))
	assert.Equal(t, []byte{0x82, 0x7e, 0x01, 0x00}, wsframe.AppendHeader(nil, wsframe.OpBinary, 256))
	assert.Equal(t, []byte{0x82, 0x7f, 0, 0, 0, 0, 0, 1, 0, 0}, wsframe.AppendHeader(nil, wsframe.OpBinary, 65536))
	for size, want := range map[int]int{0: 2, 125: 2, 126: 4, 65535: 4, 65536: wsframe.MaxHeader} {
		assert.Len(t, wsframe.AppendHeader(nil, wsframe.OpPing, size), want, "%d bytes", size)
		assert.Len(t, wsframe.AppendMasked(nil, wsframe.OpPing, size, wsframe.Key{}), want+4, "%d bytes", size)
	}
	assert.Equal(t, []byte("ab\x88\x00"), wsframe.AppendHeader([]byte("ab"), wsframe.OpClose, 0), "appended")
}

func TestIsClose(t *testing.T) {
	assert.True(t, wsframe.IsClose(wsframe.AppendHeader(nil, wsframe.OpClose, 2)))
	for _, frame := range [][]byte{nil, {0x08}, wsframe.AppendHeader(nil, wsframe.OpPing, 0)} {
		assert.False(t, wsframe.IsClose(frame), "%x", frame)
	}
	assert.False(t, wsframe.IsClose(bytes.Repeat([]byte{1}, 9)))
}
