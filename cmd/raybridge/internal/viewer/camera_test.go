package viewer

import (
	"image"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/sensors/sample"
)

func TestACamerasCaptionSaysHowItRolls(t *testing.T) {
	size := image.Rect(0, 0, 4, 3)
	c := camera{shown: &sample.Image{Encoding: sample.EncodingRGB8}, picture: image.NewRGBA(size), drawn: size}
	beside := image.Pt(-1, -1)
	assert.Equal(t, "4×3 rgb8", c.caption(beside))
	c.shown.Shutter = sample.Shutter{Readout: "left_right", LineTime: 1.25e-5}
	assert.Equal(t, "4×3 rgb8, rolling left_right, 12.5 µs a line", c.caption(beside))
}
