//go:build cgo

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestForeignRigsRun runs every rig of another simulator as it is, and finds its
// topics under the names that it gives them.
func TestForeignRigsRun(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	t.Parallel()
	needsOpenGL(t)
	wanted := map[string][]string{
		"svl_vehicle.json": {
			"/points_raw", "/front/points", "/scan", "/camera/compressed", "/camera/info", "/depth/compressed", "/labels/compressed",
			"/instances/compressed", "/ultrasonic", "/gps", "/imu", "/imu_corrected", "/radar", "/boxes_2d", "/boxes_3d", "/can", "/odom", "/vehicle_odometry",
		},
		"carla_objects.json": {
			"/carla/ego_vehicle/front/image", "/carla/ego_vehicle/front/camera_info", "/carla/ego_vehicle/front/imu",
			"/carla/ego_vehicle/semantic/image", "/carla/ego_vehicle/instance/image", "/carla/ego_vehicle/depth/image",
			"/carla/ego_vehicle/lidar", "/carla/ego_vehicle/semantic_lidar", "/carla/ego_vehicle/gnss",
			"/carla/ego_vehicle/odometry", "/carla/ego_vehicle/speedometer", "/carla/ego_vehicle/objects", "/carla/objects",
		},
		"svl_lidar.json":         {"/points_raw"},
		"autoware_auto.json":     {"/test_velodyne_node_cloud_front", "/test_velodyne_node_cloud_rear", "/simulator/camera_node/image/compressed", "/imu_raw", "/nmea_sentence"},
		"objects.json":           {"/carla/ego_vehicle/rgb_front/image", "/carla/ego_vehicle/rgb_view/camera_info", "/carla/ego_vehicle/lidar", "/carla/ego_vehicle/imu"},
		"default.lidar.json":     {"/points_raw"},
		"VLS-128_FS1.lidar.json": {"/points_raw"},
	}
	scene := sceneFile(t, t.TempDir())
	for _, file := range foreignRigs(t) {
		dir := t.TempDir()
		summary := filepath.Join(dir, "summary.json")
		o := call(t, "run", "--headless", "--scene", scene, "--rig", file, "--duration", "250ms",
			"--bridge", "mcap:drive.mcap", "--out", dir, "--summary", summary)
		require.Equal(t, exitDone, o.code, "%s: %s", file, o.err)
		messages := messagesByTopic(t, summary)
		for _, topic := range append(wanted[filepath.Base(file)], "/tf", "/tf_static") {
			assert.Positive(t, messages[topic], "%s of %s", topic, file)
		}
	}
}

// messagesByTopic reads how many messages of each topic a run published.
func messagesByTopic(t *testing.T, summary string) map[string]int {
	t.Helper()
	data, err := os.ReadFile(summary)
	require.NoError(t, err)
	var run struct {
		Sensors []struct {
			Topic    string `json:"topic"`
			Messages int    `json:"messages"`
		} `json:"sensors"`
	}
	require.NoError(t, json.Unmarshal(data, &run))
	messages := map[string]int{}
	for _, s := range run.Sensors {
		messages[s.Topic] = s.Messages
	}
	return messages
}
