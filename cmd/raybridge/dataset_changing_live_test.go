//go:build cgo && linux

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge"
	"github.com/raybridge/raybridge/config"
	"github.com/raybridge/raybridge/gpu/hostdev"
	"github.com/raybridge/raybridge/rig"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/simtime"
)

// TestSetsOfAChangingRig: a camera that comes during a run, its end and a reset each begin a scene. The sets pass the check.
func TestSetsOfAChangingRig(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some seconds")
	}
	t.Parallel()
	out := t.TempDir()
	pair, err := rig.Parse("pair.yaml", []byte(pairRig))
	require.NoError(t, err)
	run := config.Default()
	run.Scene.City = true
	run.Sensors = pair.Sensors
	for _, format := range setFormats {
		run.Bridges = append(run.Bridges, config.Bridge{Type: format, Connection: format + "?keyframes=10"})
	}
	s, err := raybridge.Open(t.Context(), raybridge.Config{Run: run, Open: hostdev.Open(hostdev.Options{}), OutDir: out})
	require.NoError(t, err)
	require.NoError(t, s.Step(t.Context(), 50))
	rear, err := s.AddSensor(sensors.Config{ID: "sensor.camera.rgb", Name: "rear", Rate: simtime.Hz(10), Pose: sensors.Pose{X: -1, Z: 1.6, Yaw: 180}, Attributes: map[string]any{
		"image_size_x": 96, "image_size_y": 64, "shutter": "rolling", "line_time": 1e-5, "shutter_speed": 1000,
	}})
	require.NoError(t, err)
	require.NoError(t, s.Step(t.Context(), 70))
	require.NoError(t, rear.Destroy())
	require.NoError(t, rear.Wait(t.Context()))
	require.NoError(t, s.Step(t.Context(), 50))
	_, err = s.Reset(t.Context(), 1)
	require.NoError(t, err)
	require.NoError(t, s.Step(t.Context(), 50))
	require.NoError(t, s.Close(t.Context()))
	for _, format := range setFormats {
		o := call(t, "dataset", "check", "--strict", filepath.Join(out, format))
		assert.Equal(t, exitDone, o.code, "%s\n%s", o.out, o.err)
	}
	text, err := os.ReadFile(filepath.Join(out, "nuscenes", "v1.0-trainval", "scene.json"))
	require.NoError(t, err)
	var scenes []map[string]any
	require.NoError(t, json.Unmarshal(text, &scenes))
	assert.Len(t, scenes, 4, "%v", scenes)
}
