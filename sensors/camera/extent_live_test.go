//go:build cgo

package camera_test

import (
	"bytes"
	"fmt"
	"image"
	"testing"

	_ "image/jpeg"
	_ "image/png"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/sensors/sample"
)

// everyForm are cameras of all kinds, in all encodings and compressions.
func everyForm(view func(more ...any) map[string]any) []mounted {
	at := forward(1)
	return []mounted{
		{camera.RGB, at, view("compressed", "jpeg")},
		{camera.RGB, at, view("encoding", "bgr8", "compressed", "png")},
		{camera.RGB, at, view("encoding", "bgra8", "compressed", "jpeg")},
		{camera.Depth, at, view()},
		{camera.Depth, at, view("output", "carla", "compressed", "png")},
		{camera.Depth, at, view("output", "svl", "compressed", "jpeg")},
		{camera.Semantic, at, view("compressed", "png")},
		{camera.Semantic, at, view("output", "palette", "compressed", "jpeg")},
		{camera.Semantic, at, view("output", "palette_bgra8", "compressed", "png")},
		{camera.Semantic, at, view("output", "carla")},
		{camera.Semantic, at, view("output", "svl")},
		{camera.Instance, at, view("compressed", "png")},
		{camera.Instance, at, view("encoding", "32SC1")},
		{camera.Instance, at, view("output", "carla")},
		{camera.Instance, at, view("output", "svl", "compressed", "jpeg")},
		{camera.Normals, at, view()},
		{camera.OpticalFlow, at, view()},
	}
}

// TestPicturesOfAnyExtent are one pixel, some that fill no word, and as long as pictures
// may be, through a lens that is rasterised and one that is traced.
func TestPicturesOfAnyExtent(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	for _, side := range [][2]int{{1, 1}, {3, 2}, {16384, 1}, {1, 16384}} {
		for _, lens := range []string{"pinhole", "svl_fisheye"} {
			t.Run(fmt.Sprintf("%dx%d %s", side[0], side[1], lens), func(t *testing.T) {
				list := everyForm(func(more ...any) map[string]any { return size(side[0], side[1], append(more, "lens", lens)...) })
				r := newRig(t, scenetest.MovingWall(20, 1), nil, list...)
				r.fire(second)
				assert.Empty(t, r.drops)
				for i := range list {
					m := r.picture(i)
					assert.Equal(t, side, [2]int{m.Width, m.Height})
					assert.Len(t, m.Data, m.Step*m.Height)
					if list[i].attributes["compressed"] == nil {
						continue
					}
					c := last[*sample.CompressedImage](r, i, camera.OutputCompressed)
					got, format, err := image.Decode(bytes.NewReader(c.Data))
					require.NoError(t, err)
					assert.Equal(t, c.Format, format)
					assert.Equal(t, image.Pt(side[0], side[1]), got.Bounds().Size())
				}
			})
		}
	}
}
