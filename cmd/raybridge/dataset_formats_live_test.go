//go:build cgo

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// streetRig is a camera and a lidar that sees one instant, so that all labels must fit.
const streetRig = `
sensors:
  - {id: sensor.camera.rgb, name: front, rate: 10, image_size_x: 480, image_size_y: 160, fov: 90, pose: {x: 1.4, z: 1.55}}
  - {id: sensor.lidar.ray_cast, name: roof, rate: 10, preset: VLP-16, rolling: false, pose: {x: 0.9, z: 1.9}}
`

// TestSetOfNuScenesVehicle writes two key frames of the rig in the documentation, which has all of nuScenes's sensors.
func TestSetOfNuScenesVehicle(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some seconds")
	}
	t.Parallel()
	dir := t.TempDir()
	o := call(t, "run", "--gpu", "host", "--headless", "--step", "--rig", filepath.Join("..", "..", "docs", "examples", "nuscenes.yaml"), "--duration", "250ms", "--out", dir,
		"--bridge", "nuscenes:set?keyframes=10")
	require.Equal(t, exitDone, o.code, o.err)
	o = call(t, "dataset", "check", "--strict", filepath.Join(dir, "set"))
	assert.Equal(t, exitDone, o.code, "%s\n%s", o.out, o.err)
	set := readNuScenes(t, os.DirFS(filepath.Join(dir, "set")))
	require.Len(t, set.samples, 2)
	for _, sample := range set.samples {
		assert.Len(t, set.data[sample.Token], 12, "a lidar, six cameras and five radars")
	}
}

// TestSetsOfOneDrive writes one drive through the city as nuScenes, COCO and KITTI. All pass the check, and nuScenes says what KITTI says.
func TestSetsOfOneDrive(t *testing.T) {
	needsOpenGL(t)
	if testing.Short() {
		t.Skip("it takes some seconds")
	}
	dir := t.TempDir()
	o := call(t, "run", "--headless", "--step", "--rig", write(t, dir, "street.yaml", streetRig), "--duration", "2s", "--out", dir,
		"--bridge", "nuscenes:nuscenes?keyframes=5", "--bridge", "coco:coco?keyframes=5", "--bridge", "kitti:kitti?keyframes=5")
	require.Equal(t, exitDone, o.code, o.err)
	for _, format := range []string{"nuscenes", "coco", "kitti"} {
		o := call(t, "dataset", "check", "--strict", filepath.Join(dir, format))
		assert.Equal(t, exitDone, o.code, "%s\n%s", o.out, o.err)
	}
	frames := readNuScenes(t, os.DirFS(filepath.Join(dir, "nuscenes"))).frames(t)
	assert.GreaterOrEqual(t, len(frames), 9)
	assert.Greater(t, assertKITTI(t, os.DirFS(filepath.Join(dir, "kitti")), frames), 50)
}
