//go:build cgo && linux && peers

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// manyKinds has a sensor for each kind of message that comes by itself.
const manyKinds = `sensors:
  - {id: sensor.camera.rgb, name: rgb, topic: /rgb, rate: 10, image_size_x: 64, image_size_y: 48}
  - {id: sensor.camera.depth, name: depth, topic: /depth, rate: 10, image_size_x: 64, image_size_y: 48}
  - {id: sensor.camera.dvs, name: dvs, topic: /dvs, rate: 10, image_size_x: 64, image_size_y: 48}
  - {id: sensor.ground_truth.boxes_2d, name: boxes, topic: /boxes}
  - {id: sensor.ground_truth.boxes_3d, name: solids, topic: /solids}
  - {id: sensor.lidar.laser_scan, name: scan, topic: /scan}
  - {id: sensor.lidar.ray_cast, name: lidar, topic: /lidar, preset: VelodyneVLP16}
  - {id: sensor.other.can_bus, name: can, topic: /can}
  - {id: sensor.other.comfort, name: comfort, topic: /comfort}
  - {id: sensor.other.gnss, name: gnss, topic: /gnss}
  - {id: sensor.other.gps_odometry, name: gps, topic: /gps}
  - {id: sensor.other.imu, name: imu, topic: /imu}
  - {id: sensor.other.ins_status, name: ins, topic: /ins}
  - {id: sensor.other.lane_lines, name: lines, topic: /lines}
  - {id: sensor.other.odometry, name: odom, topic: /odom}
  - {id: sensor.other.radar, name: radar, topic: /radar}
  - {id: sensor.other.signals, name: signals, topic: /signals}
  - {id: sensor.other.speedometer, name: speed, topic: /speed}
  - {id: sensor.other.ultrasonic, name: ultrasonic, topic: /ultrasonic}
  - {id: sensor.other.vehicle_odometry, name: vehicle, topic: /vehicle}
  - {id: sensor.other.vehicle_state, name: state, topic: /state}
`

// TestPeerReadsAsThePageDoes: the page's modules read each message as Foxglove's packages do, by the definitions that come with
// the streams.
func TestPeerReadsAsThePageDoes(t *testing.T) {
	modules := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(modules, "package.json"), []byte(`{"type": "module"}`), 0o644))
	for _, name := range []string{"wire.js", "ros2msg.js", "cdr.js"} {
		text, err := os.ReadFile(filepath.Join("internal/page/assets", name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(modules, name), text, 0o644))
	}
	run := runWithPage(t, manyKinds, nil, "--scene", "city", "--step", "--paused", "--api", "0")
	said := bridgetest.StartProcess(t, bridgetest.Node("testdata/peers/page.mjs", modules, run.url)).Wait(t)
	t.Log(said)
	types := strings.Fields(said)
	for _, name := range []string{
		"nav_msgs/msg/Odometry", "raybridge_msgs/msg/Detections2D", "raybridge_msgs/msg/Detections3D", "raybridge_msgs/msg/LaneMarks", "raybridge_msgs/msg/Snapshot",
		"raybridge_msgs/msg/ViewCloud", "sensor_msgs/msg/CameraInfo", "sensor_msgs/msg/CompressedImage", "sensor_msgs/msg/Imu", "sensor_msgs/msg/LaserScan",
		"sensor_msgs/msg/NavSatFix", "tf2_msgs/msg/TFMessage",
	} {
		assert.Contains(t, types, name)
	}
	assert.GreaterOrEqual(t, len(types), 20, said)
}
