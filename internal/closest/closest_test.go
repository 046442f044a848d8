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

func TestHintListsAllWhenNoneIsNear(t *testing.T) {
	assert.Equal(t, "known are fov, range", closest.Hint("temperature", []string{"fov", "range"}))
	assert.Equal(t, "did you mean fov?", closest.Hint("fvo", []string{"fov", "range"}))
}
