package gltf_test

import (
	"fmt"
	"image"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/memory"
	"github.com/raybridge/raybridge/scene/gltf"
)

// TestPicturesAreTakenFromTheBudget: before a picture is decoded, with what the decoder needs
// for it: a 16-bit PNG has 8 bytes a pixel beside the 4 that are kept.
func TestPicturesAreTakenFromTheBudget(t *testing.T) {
	const side = 2000
	area := image.Rect(0, 0, side, side)
	for name, c := range map[string]struct {
		picture image.Image
		peak    int64 // bytes a pixel
	}{
		"16 bit":   {image.NewNRGBA64(area), 8 + 4},
		"grey":     {image.NewGray(area), 1 + 4},
		"16 grey":  {image.NewGray16(area), 2 + 4},
		"8 bit":    {image.NewNRGBA(area), 4},
		"no alpha": {opaque(area), 4 + 4},
	} {
		t.Run(name, func(t *testing.T) {
			m := full()
			m.doc["images"].(list)[0].(object)["uri"] = "a.png"
			files := map[string][]byte{"m.gltf": m.json("a.bin"), "a.bin": m.bin, "a.png": pngOf(c.picture)}
			pixels := int64(side * side)
			budget := memory.New(pixels*c.peak - 1)
			_, err := loadFiles(files, gltf.Options{Memory: budget})
			require.ErrorIs(t, err, memory.ErrExceeded)
			assert.ErrorContains(t, err, fmt.Sprintf("picture of %dx%d pixels needs %s", side, side, memory.Size(pixels*c.peak)))

			budget = memory.New(pixels*c.peak + 10<<20)
			_, err = loadFiles(files, gltf.Options{Memory: budget})
			require.NoError(t, err)
			assert.InDelta(t, 4*pixels, budget.Held(), 1<<20, "what the asset keeps")
		})
	}
}

// opaque is a picture that PNG writes without alpha.
func opaque(area image.Rectangle) image.Image {
	picture := image.NewNRGBA(area)
	for i := range picture.Pix {
		picture.Pix[i] = 255
	}
	return picture
}
