//go:build cgo

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/sensors/all"
)

// small keeps the sensors of everySensor quick, by id; the others have their defaults.
var small = map[string]string{
	"sensor.lidar.ray_cast":          "preset: VelodyneVLP16, columns: 90, noise_stddev: 0.02, dropoff_general_rate: 0.3",
	"sensor.lidar.ray_cast_semantic": "range: 60, points_per_second: 20000",
	"sensor.lidar.laser_scan":        "measurements_per_rotation: 180",
	"sensor.other.ultrasonic":        "image_size_x: 40, image_size_y: 16",
	"sensor.other.imu":               "noise_accel_stddev_x: 0.1, noise_gyro_bias_z: 0.01, noise_gyro_bias_walk: 0.001",
	"sensor.other.gnss":              "noise_alt_stddev: 1",
	"sensor.ground_truth.boxes_2d":   "image_size_x: 160, image_size_y: 90",
	"sensor.camera.dvs":              "sigma_positive_threshold: 0.1",
	"sensor.other.safe_distance":     "safe_distance_front: 60, safe_distance_lateral: 60, safe_distance_back: 60",
	"sensor.other.obstacle":          "distance: 100, hit_radius: 3",
	"sensor.other.signals":           "max_distance: 300",
	"sensor.ground_truth.boxes_3d":   "max_distance: 200",
	"sensor.other.radar":             "points_per_second: 20000",
}

// everySensor is a configuration with one sensor of each type in the city.
func everySensor() string {
	var b strings.Builder
	b.WriteString("seed: 5\nscene: {city: true, triangles: 40000}\nsensors:\n")
	for _, id := range all.Registry().IDs() {
		name := "my_" + id[strings.LastIndexByte(id, '.')+1:] // /clock is the run's own
		attributes := small[id]
		if strings.HasPrefix(id, "sensor.camera.") {
			attributes = strings.TrimPrefix(attributes+", image_size_x: 64, image_size_y: 48", ", ")
		}
		if d, _ := all.Registry().Get(id); !d.EachFrame {
			attributes = strings.TrimPrefix(attributes+", rate: 10", ", ")
		}
		fmt.Fprintf(&b, "  - {%s}\n", strings.TrimPrefix(attributes+fmt.Sprintf(", id: %s, name: %s, pose: {x: 1, z: 1.7}", id, name), ", "))
	}
	return b.String()
}

// TestEverySensorGivesTheSameBytesOnAnyNumberOfWorkers records one sensor of each type
// with one processor and with several (law T5).
func TestEverySensorGivesTheSameBytesOnAnyNumberOfWorkers(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	needsOpenGL(t)
	config := filepath.Join(t.TempDir(), "every.yaml")
	require.NoError(t, os.WriteFile(config, []byte(everySensor()), 0o600))
	recorded := map[int]map[string][]byte{}
	for _, processors := range []int{1, 4} {
		before := runtime.GOMAXPROCS(processors)
		dir := t.TempDir()
		summary := filepath.Join(dir, "summary.json")
		o := call(t, "run", "--config", config, "--duration", "400ms", "--step", "--seed", "9",
			"--bridge", "mcap:drive.mcap", "--bridge", "logging:drive", "--out", dir, "--summary", summary)
		runtime.GOMAXPROCS(before)
		require.Equal(t, exitDone, o.code, "%s", o.err)
		recorded[processors] = map[string][]byte{}
		for _, pattern := range []string{"drive.mcap", "drive*.gz"} {
			files, err := filepath.Glob(filepath.Join(dir, pattern))
			require.NoError(t, err)
			require.NotEmpty(t, files, pattern)
			for _, file := range files {
				data, err := os.ReadFile(file)
				require.NoError(t, err)
				recorded[processors][filepath.Base(file)] = data
			}
		}
		sent := messagesByTopic(t, summary)
		for topic, n := range sent {
			switch topic {
			case "/my_collision", "/my_lane_invasion": // the ego keeps its lane
			case "/my_safe_distance": // a type of its own: streams carry it
			default:
				assert.Positive(t, n, "messages of %s", topic)
			}
		}
		assert.GreaterOrEqual(t, len(sent), len(all.Registry().IDs()))
	}
	for name, data := range recorded[1] {
		assert.True(t, string(data) == string(recorded[4][name]), "%s differs", name)
	}
}
