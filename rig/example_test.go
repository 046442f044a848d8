package rig_test

import (
	"fmt"
	"os"

	"github.com/raybridge/raybridge/rig"
)

// An SVL sensor becomes ours; what was said of it stands in the comments.
func ExampleRig_WriteYAML() {
	r, err := rig.Parse("scanner.json", []byte(`{
		"type": "LaserScan", "name": "Front Scanner",
		"params": {"RotationFrequency": 10, "HorizontalAngle": 180, "Topic": "/scan", "Frame": "scanner",},
		"transform": {"x": 0.5, "y": 0.3, "z": 2, "yaw": 30}
	}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := r.WriteYAML(os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// # Converted from the sensors of an SVL vehicle. The vehicle's origin is base_link; axes are
	// # REP-103's: x forward, y left, z up.
	// #
	// # Accepted with changes (lines of the original file):
	// #   line 3: superfluous comma
	//
	// sensors:
	//   # Lidar2D "Front Scanner"
	//   - id: sensor.lidar.laser_scan
	//     name: Front_Scanner
	//     frame: scanner
	//     topics: {scan: /scan}
	//     rate: 10
	//     pose: {x: 2, y: -0.5, z: 0.3, yaw: -30}
	//     center_angle: 0
	//     range_min: 0.5
	//     range: 100
	//     measurements_per_rotation: 1500
	//     forward_angle: 0
	//     horizontal_fov: 180
	//     rolling: false
	//     intensity: svl
}

// A rig names a fault by its place, and what was meant.
func ExampleParse_fault() {
	_, err := rig.Parse("vehicle.json", []byte("[\n {\"type\": \"Lidar\", \"params\": {\"LaserCont\": 16}}\n]"))
	fmt.Println(err)
	r, err := rig.Reader{Lenient: true}.Parse("vehicle.json", []byte("[\n {\"type\": \"Lidar\", \"params\": {\"LaserCont\": 16}}\n]"))
	fmt.Println(len(r.Sensors), r.Notices[0], err)
	// Output:
	// vehicle.json:2:31: [0].params.LaserCont: unknown key, did you mean LaserCount?
	// 1 vehicle.json:2:31: [0].params.LaserCont: unknown key, did you mean LaserCount? <nil>
}
