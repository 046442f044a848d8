//go:build cgo && linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// smallSetRig is a rig of which many key frames are soon made.
const smallSetRig = `sensors:
  - {id: sensor.camera.rgb, name: front, rate: 10, image_size_x: 64, image_size_y: 48, pose: {x: 1.5, z: 1.6}}
  - {id: sensor.lidar.ray_cast, name: roof, rate: 10, channels: 8, columns: 90, rolling: false, lower_fov: -15, upper_fov: 5, pose: {z: 1.9}}
`

// TestDatasetThroughANight: a set of many key frames is written, is right, and is read by Python.
func TestDatasetThroughANight(t *testing.T) {
	text := os.Getenv("KEYFRAMES")
	if text == "" {
		t.Skip("takes minutes; runs with KEYFRAMES=20000, how many are written, as in make nightly")
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err)
	dir := t.TempDir()
	rig := write(t, dir, "rig.yaml", smallSetRig)
	// The first key frame is that of the sensors' first firing.
	o := execute(t, command(t, "run", "--scene", "city", "--rig", rig, "--duration", fmt.Sprintf("%dms", 100*n), "--out", dir,
		"--bridge", "nuscenes:set?keyframes=10&scene=60s", "--quiet"))
	require.Equal(t, exitDone, o.code, o.err)
	o = execute(t, command(t, "dataset", "check", filepath.Join(dir, "set")))
	require.Equal(t, exitDone, o.code, "%s\n%s", o.out, o.err)
	out, err := python(t, ".", "-c", "import sys, raybridge as rb; data = rb.Dataset(sys.argv[1]); print(len(data), len(data[-1]['LIDAR_TOP'].points()) > 0)",
		filepath.Join(dir, "set")).CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Equal(t, fmt.Sprintf("%d True\n", n), string(out))
}
