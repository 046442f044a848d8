package main

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// wallDistance is how far before the map's origin the wall of sceneFile stands,
// metres.
const wallDistance = 10

// wallColor is the wall's emission, linear; it reflects nothing.
var wallColor = [3]float64{0.5, 0.05, 0}

type object = map[string]any

// sceneFile writes the model that most tests run: a floor, and a glowing wall
// wallDistance ahead of the vehicle, which stands at the origin. It is written by
// hand: no glTF library takes part.
func sceneFile(t *testing.T, dir string) string {
	t.Helper()
	// ROS (x, y, z) is glTF (z, x, y).
	points := [][3]float32{
		{-30, 0, -30}, {-30, 0, 30}, {30, 0, 30}, {30, 0, -30},
		{-8, 0, wallDistance}, {8, 0, wallDistance}, {8, 6, wallDistance}, {-8, 6, wallDistance},
	}
	var bin bytes.Buffer
	require.NoError(t, binary.Write(&bin, binary.LittleEndian, points))
	require.NoError(t, binary.Write(&bin, binary.LittleEndian, []uint16{0, 1, 2, 0, 2, 3, 4, 6, 5, 4, 7, 6}))
	quad := func(offset int) object {
		return object{"bufferView": 1, "byteOffset": offset, "componentType": 5123, "count": 6, "type": "SCALAR"}
	}
	mesh := func(indices, material int) object {
		return object{"primitives": []object{{"attributes": object{"POSITION": 0}, "indices": indices, "material": material}}}
	}
	document := object{
		"asset": object{"version": "2.0"}, "scene": 0, "scenes": []object{{"nodes": []int{0, 1}}},
		"nodes":  []object{{"name": "road", "mesh": 0}, {"name": "building_wall", "mesh": 1}},
		"meshes": []object{mesh(1, 0), mesh(2, 1)},
		"materials": []object{
			{"name": "asphalt", "doubleSided": true, "pbrMetallicRoughness": object{"baseColorFactor": []float64{0.2, 0.2, 0.2, 1}, "metallicFactor": 0}},
			{"name": "glow", "doubleSided": true, "emissiveFactor": wallColor, "pbrMetallicRoughness": object{"baseColorFactor": []float64{0, 0, 0, 1}, "metallicFactor": 1, "roughnessFactor": 1}},
		},
		"accessors": []object{
			{"bufferView": 0, "componentType": 5126, "count": len(points), "type": "VEC3", "min": []float64{-30, 0, -30}, "max": []float64{30, 6, 30}},
			quad(0), quad(12),
		},
		"bufferViews": []object{{"buffer": 0, "byteLength": 12 * len(points)}, {"buffer": 0, "byteOffset": 12 * len(points), "byteLength": 24}},
		"buffers":     []object{{"byteLength": bin.Len(), "uri": "data:application/octet-stream;base64," + base64.StdEncoding.EncodeToString(bin.Bytes())}},
	}
	text, err := json.Marshal(document)
	require.NoError(t, err)
	path := filepath.Join(dir, "wall.gltf")
	require.NoError(t, os.WriteFile(path, text, 0o644))
	return path
}

// smallRig has every kind of sensor, small.
const smallRig = `sensors:
  - {id: sensor.camera.rgb, name: eye, image_size_x: 64, image_size_y: 48, fov: 60, compressed: png, tone_curve: none, pose: {z: 1.5}}
  - {id: sensor.camera.rgb, name: film, frame: eye, image_size_x: 64, image_size_y: 48, fov: 60, compressed: jpeg, jpeg_quality: 95, tone_curve: none, pose: {z: 1.5}}
  - {id: sensor.camera.depth, name: depth, frame: eye, image_size_x: 64, image_size_y: 48, fov: 60, pose: {z: 1.5}}
  - {id: sensor.camera.semantic_segmentation, name: tags, frame: eye, image_size_x: 64, image_size_y: 48, fov: 60, pose: {z: 1.5}}
  - {id: sensor.lidar.ray_cast, name: roof, preset: VelodyneVLP16, columns: 180, noise_stddev: 0.01, pose: {z: 2}}
  - {id: sensor.other.imu, name: imu, noise_accel_stddev_x: 0.1}
  - {id: sensor.other.gnss, name: gnss, rate: 13.4}
  - {id: sensor.other.odometry, name: odom, topic: /odom, frame: base_link}
`
