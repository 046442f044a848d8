package closest_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/internal/closest"
)

func TestName(t *testing.T) {
	known := []string{"image_size_x", "image_size_y", "fov", "range"}
	for name, want := range map[string]string{
		"image_size_z": "image_size_x",
		"FOV":          "fov",
		"rnage":        "range",
		"temperature":  "",
		"":             "",
	} {
		assert.Equal(t, want, closest.Name(name, known), "for %q", name)
	}
}

func TestNameOfShortNames(t *testing.T) {
	known := []string{"x", "y", "yaw", "hz", "qos"}
	for name, want := range map[string]string{
		"q":  "", // neither x, of which nothing is left, nor qos
		"X":  "x",
		"aw": "yaw",
		"kz": "hz",
		"ab": "",
		"os": "qos",
		"yx": "x", // one letter too many
		"":   "",
	} {
		assert.Equal(t, want, closest.Name(name, known), "for %q", name)
	}
	assert.Equal(t, "known are x, y, z", closest.Hint("q", []string{"x", "y", "z"}))
}

func TestHintListsAllWhenNoneIsNear(t *testing.T) {
	assert.Equal(t, "known are fov, range", closest.Hint("temperature", []string{"fov", "range"}))
	assert.Equal(t, "did you mean fov?", closest.Hint("fvo", []string{"fov", "range"}))
}
