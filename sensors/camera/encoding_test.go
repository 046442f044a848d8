//go:build cgo

package camera_test

import (
	"bytes"
	"image"
	"image/jpeg"
	"image/png"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/sensors/sample"
)

// TestEncodingsHoldTheSamePixels compares the forms of one picture; the width
// leaves rows that don't fill whole words.
func TestEncodingsHoldTheSamePixels(t *testing.T) {
	for _, width := range []int{33, 34, 35, 36} {
		const height = 27
		form := func(more ...any) map[string]any { return size(width, height, more...) }
		r := newRig(t, scenetest.Soup(4, 3000, false), nil,
			mounted{camera.RGB, forward(1), form()},
			mounted{camera.RGB, forward(1), form("encoding", "bgr8")},
			mounted{camera.Semantic, forward(1), form()},
			mounted{camera.Semantic, forward(1), form("output", "palette")},
			mounted{camera.Instance, forward(1), form()},
			mounted{camera.Instance, forward(1), form("encoding", "32SC1")},
			mounted{camera.Semantic, forward(1), form("output", "palette_bgra8")},
		)
		r.fire(0)
		rgb, bgr, tags, palette, ids, wide := r.picture(0), r.picture(1), r.picture(2), r.picture(3), r.picture(4), r.picture(5)
		for i, want := range []struct {
			encoding string
			bytes    int
		}{{"rgb8", 3}, {"bgr8", 3}, {"mono8", 1}, {"rgb8", 3}, {"16UC1", 2}, {"32SC1", 4}, {"bgra8", 4}} {
			m := r.picture(i)
			assert.Equal(t, want.encoding, m.Encoding)
			assert.Equal(t, (width*want.bytes+3)/4*4, m.Step)
			assert.Len(t, m.Data, m.Step*height)
		}
		kinds := map[scene.Tag]bool{}
		for v := range height {
			for u := range width {
				p, q := pixelAt(rgb, u, v), pixelAt(bgr, u, v)
				require.Equal(t, p, [3]int{q[2], q[1], q[0]}, "pixel %d, %d of %d columns", u, v, width)
				tag := scene.Tag(at(tags, u, v, 1)[0])
				kinds[tag] = true
				c := tag.Color()
				require.Equal(t, [3]int{int(c.R), int(c.G), int(c.B)}, pixelAt(palette, u, v), "%v", tag)
				require.Equal(t, []byte{c.B, c.G, c.R, 255}, at(r.picture(6), u, v, 4), "%v", tag)
				require.Equal(t, append(append([]byte{}, at(ids, u, v, 2)...), 0, 0), at(wide, u, v, 4))
			}
		}
		assert.Greater(t, len(kinds), 4, "several classes are in sight")
	}
}

func decode(t *testing.T, m *sample.CompressedImage) image.Image {
	t.Helper()
	read := png.Decode
	if m.Format == "jpeg" {
		read = jpeg.Decode
	}
	img, err := read(bytes.NewReader(m.Data))
	require.NoError(t, err)
	return img
}

func TestPNGIsLossless(t *testing.T) {
	for _, c := range []struct {
		definition *sensors.Definition
		attributes map[string]any
		bytes      int
	}{
		{camera.RGB, size(33, 20, "compressed", "png"), 3},
		{camera.RGB, size(33, 20, "compressed", "png", "encoding", "bgr8"), 3},
		{camera.Semantic, size(33, 20, "compressed", "png"), 1},
		{camera.Semantic, size(33, 20, "compressed", "png", "output", "palette"), 3},
		{camera.Instance, size(33, 20, "compressed", "png"), 2},
	} {
		r := newRig(t, scenetest.Soup(4, 3000, false), nil, mounted{c.definition, forward(1), c.attributes})
		r.fire(0)
		r.fire(second)
		raw, packed := r.picture(0), last[*sample.CompressedImage](r, 0, camera.OutputCompressed)
		assert.Equal(t, raw.Header, packed.Header)
		assert.Equal(t, "png", packed.Format)
		img := decode(t, packed)
		require.Equal(t, image.Rect(0, 0, 33, 20), img.Bounds())
		for v := range 20 {
			for u := range 33 {
				red, green, blue, _ := img.At(u, v).RGBA()
				p := at(raw, u, v, c.bytes)
				var want [3]uint32
				switch {
				case c.bytes == 2:
					want[0] = uint32(p[0]) | uint32(p[1])<<8
					want[1], want[2] = want[0], want[0]
				case c.bytes == 1:
					want = [3]uint32{uint32(p[0]) * 0x101, uint32(p[0]) * 0x101, uint32(p[0]) * 0x101}
				default:
					want = [3]uint32{uint32(p[0]) * 0x101, uint32(p[1]) * 0x101, uint32(p[2]) * 0x101}
					if raw.Encoding == sample.EncodingBGR8 {
						want[0], want[2] = want[2], want[0]
					}
				}
				require.Equal(t, want, [3]uint32{red, green, blue}, "%s, pixel %d, %d", raw.Encoding, u, v)
			}
		}
	}
}

func TestJPEGOfEveryPictureForTheEye(t *testing.T) {
	form := func(more ...any) map[string]any { return size(100, 75, append(more, "compressed", "jpeg")...) }
	r := newRig(t, scenetest.MovingWall(12, 0), nil,
		mounted{camera.RGB, forward(1), form("jpeg_quality", 95)},
		mounted{camera.RGB, forward(1), form("jpeg_quality", 95, "encoding", "bgr8")},
		mounted{camera.RGB, forward(1), form("jpeg_quality", 95, "encoding", "bgra8")},
		mounted{camera.Depth, forward(1), form("output", "svl", "jpeg_quality", 95)},
		mounted{camera.Semantic, forward(1), form("output", "svl")},
		mounted{camera.Semantic, forward(1), form("output", "palette")},
		mounted{camera.Instance, forward(1), form("output", "svl")})
	r.fire(0)
	for i := range r.cameras {
		raw, packed := r.picture(i), last[*sample.CompressedImage](r, i, camera.OutputCompressed)
		assert.Equal(t, "jpeg", packed.Format)
		img := decode(t, packed)
		bytes := raw.Step / 100
		for _, p := range [][2]int{{8, 8}, {50, 37}, {50, 68}, {20, 60}} { // away from the wall's edges
			red, green, blue, _ := img.At(p[0], p[1]).RGBA()
			c := at(raw, p[0], p[1], bytes)
			want := [3]byte{c[0], c[0], c[0]}
			if bytes > 1 {
				want = [3]byte{c[0], c[1], c[2]}
			}
			if raw.Encoding == sample.EncodingBGR8 || raw.Encoding == sample.EncodingBGRA8 {
				want[0], want[2] = want[2], want[0]
			}
			for k, got := range []uint32{red, green, blue} {
				assert.InDelta(t, want[k], got>>8, 8, "camera %d, pixel %v, %s", i, p, raw.Encoding)
			}
		}
	}
}

func TestJPEGIsClose(t *testing.T) {
	error := func(quality int) (mean float64, bytes int) {
		r := newRig(t, scenetest.MovingWall(12, 0), nil,
			mounted{camera.RGB, forward(1), size(96, 64, "compressed", "jpeg", "jpeg_quality", quality)})
		r.fire(0)
		packed := last[*sample.CompressedImage](r, 0, camera.OutputCompressed)
		assert.Equal(t, "jpeg", packed.Format)
		img := decode(t, packed)
		for v := range 64 {
			for u := range 96 {
				c, want := img.At(u, v), pixelAt(r.picture(0), u, v)
				red, green, blue, _ := c.RGBA()
				for i, got := range []uint32{red, green, blue} {
					d := float64(got)/257 - float64(want[i])
					mean += d * d / (96 * 64 * 3)
				}
			}
		}
		return mean, len(packed.Data)
	}
	good, large := error(95)
	poor, small := error(10)
	assert.Less(t, good, 4.0, "mean square difference in levels")
	assert.Less(t, good, poor)
	assert.Less(t, small, large)
}

func TestOnlyTheCompressedPictureOnRequest(t *testing.T) {
	r := newRig(t, scenetest.MovingWall(12, 0), nil,
		mounted{camera.RGB, forward(1), size(32, 32, "compressed", "jpeg", "publish_raw", false)})
	for k := range int64(5) {
		r.fire(k * second)
	}
	assert.Empty(t, r.messages[0][camera.OutputImage])
	require.Len(t, r.messages[0][camera.OutputCompressed], 5)
	for k, m := range r.messages[0][camera.OutputCompressed] {
		assert.Equal(t, int64(k)*second, m.(*sample.CompressedImage).StampNs, "in the order of capture")
	}
	assert.Len(t, r.messages[0][camera.OutputInfo], 5)
	assert.Empty(t, r.drops)
}
