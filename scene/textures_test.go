package scene_test

import (
	"image"
	"image/color"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/scene"
)

func picture(w, h int, at func(x, y int) color.NRGBA) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(3, 5, 3+w, 5+h)) // an origin of its own
	for y := range h {
		for x := range w {
			img.SetNRGBA(3+x, 5+y, at(x, y))
		}
	}
	return img
}

func TestResampledAveragesInLinearLight(t *testing.T) {
	checker := picture(4, 4, func(x, y int) color.NRGBA {
		v := uint8(255 * ((x + y) % 2))
		return color.NRGBA{v, v, v, 100}
	})
	// Half of white is sRGB 188, but 128 as data.
	assert.Equal(t, []byte{188, 188, 188, 100}, scene.Resampled(checker, 1, true))
	assert.Equal(t, []byte{128, 128, 128, 100}, scene.Resampled(checker, 1, false))
	assert.Len(t, scene.Resampled(checker, 2, true), 16)

	flat := picture(3, 5, func(int, int) color.NRGBA { return color.NRGBA{10, 200, 90, 255} })
	for _, size := range []int{1, 2, 4, 8} {
		for i, v := range scene.Resampled(flat, size, true) {
			assert.InDelta(t, []byte{10, 200, 90, 255}[i%4], v, 1)
		}
	}
	rows := picture(2, 2, func(x, y int) color.NRGBA { return color.NRGBA{uint8(100 * x), uint8(100 * y), 0, 255} })
	assert.Equal(t, []byte{0, 0, 0, 255, 100, 0, 0, 255, 0, 100, 0, 255, 100, 100, 0, 255}, scene.Resampled(rows, 2, false))
}
