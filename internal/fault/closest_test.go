package fault_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/internal/fault"
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
		assert.Equal(t, want, fault.Closest(name, known), "for %q", name)
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
		assert.Equal(t, want, fault.Closest(name, known), "for %q", name)
	}
	assert.Equal(t, "known are x, y, z", fault.Hint("q", []string{"x", "y", "z"}))
}

// TestNameOfABeginning: who writes the beginning of a name alone means that name, not
// another that a letter would make of it.
func TestNameOfABeginning(t *testing.T) {
	known := []string{"ros1", "ros2lgsvl", "ros2dds", "rosbridge", "foxglove", "drop_newest", "drop_oldest"}
	for name, want := range map[string]string{"ros2": "ros2dds", "ros": "ros1", "ROS": "ros1", "fox": "foxglove", "ros2d": "ros2dds", "drop": "", "ro": "", "ros1": "ros1", "roz1": "ros1"} {
		assert.Equal(t, want, fault.Closest(name, known), "for %q", name)
	}
}

func TestWant(t *testing.T) {
	assert.Equal(t, "want zstd, lz4 or none; did you mean zstd?", fault.Want("zst", "zstd", "lz4", "none"))
	assert.Equal(t, "want zstd, lz4 or none", fault.Want("quick", "zstd", "lz4", "none"))
	assert.Equal(t, "want on or off", fault.Want("yes", "on", "off"))
	assert.Equal(t, "want humble", fault.Want("rolling", "humble"))
}

func TestHintListsAllWhenNoneIsNear(t *testing.T) {
	assert.Equal(t, "known are fov, range", fault.Hint("temperature", []string{"fov", "range"}))
	assert.Equal(t, "did you mean fov?", fault.Hint("fvo", []string{"fov", "range"}))
}
