package window

import (
	"testing"

	"github.com/jezek/xgb/xproto"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
)

func TestColors(t *testing.T) {
	from := []byte{0xff, 0x80, 0x01, 0xff, 0, 0, 0xff, 0x12}
	for name, c := range map[string]struct {
		masks     [3]uint32
		bigEndian bool
		want      []byte
	}{
		"24 bits":                   {[3]uint32{0xff0000, 0xff00, 0xff}, false, []byte{0x01, 0x80, 0xff, 0, 0xff, 0, 0, 0}},
		"red last":                  {[3]uint32{0xff, 0xff00, 0xff0000}, false, []byte{0xff, 0x80, 0x01, 0, 0, 0, 0xff, 0}},
		"big-endian":                {[3]uint32{0xff0000, 0xff00, 0xff}, true, []byte{0, 0xff, 0x80, 0x01, 0, 0, 0, 0xff}},
		"30 bits: 3ff, 202 and 004": {[3]uint32{0x3ff00000, 0xffc00, 0x3ff}, false, []byte{0x04, 0x08, 0xf8, 0x3f, 0xff, 0x03, 0, 0}},
	} {
		colors := newColors(c.masks, c.bigEndian)
		to := make([]byte, len(from))
		colors.convert(to, from)
		assert.Equal(t, c.want, to, name)
	}
}

func TestAScreenWithoutTrueColors(t *testing.T) {
	screen := &xproto.ScreenInfo{RootDepth: 8, RootVisual: 1, AllowedDepths: []xproto.DepthInfo{
		{Depth: 8, Visuals: []xproto.VisualInfo{{VisualId: 1, Class: xproto.VisualClassPseudoColor}}},
	}}
	_, err := trueColors(&xproto.SetupInfo{PixmapFormats: []xproto.Format{{Depth: 8, BitsPerPixel: 8}}}, screen)
	require.ErrorIs(t, err, gpu.ErrNotSupported)
	assert.ErrorContains(t, err, "depth is 8")
}
