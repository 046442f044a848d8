//go:build cgo

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// stereoRig has what COCO and KITTI know: two cameras side by side, and a lidar.
const stereoRig = `sensors:
  - {id: sensor.camera.rgb, name: left, rate: 4, pose: {x: 1.5, y: 0.25, z: 1.6}, image_size_x: 320, image_size_y: 180, fov: 80}
  - {id: sensor.camera.rgb, name: right, rate: 4, pose: {x: 1.5, y: -0.25, z: 1.6}, image_size_x: 320, image_size_y: 180, fov: 80}
  - {id: sensor.lidar.ray_cast, name: roof, preset: VelodyneVLP16, rate: 4, rolling: false, columns: 600, pose: {z: 2}}
`

// TestSetsOfCOCOAndKITTI records two runs of the town in both formats, and merges them: what reads sets with code of its own finds
// nothing wrong with any.
func TestSetsOfCOCOAndKITTI(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rig := write(t, dir, "rig.yaml", stereoRig)
	for _, seed := range []string{"1", "2"} {
		got := call(t, "run", "--gpu", "host", "--scene", "city", "--seed", seed, "--rig", rig, "--duration", "1s", "--out", dir,
			"--bridge", "kitti:kitti"+seed+"?keyframes=4", "--bridge", "coco:coco"+seed+"?keyframes=4")
		require.Equal(t, exitDone, got.code, got.err)
	}
	sets := func(format string) []string {
		return []string{filepath.Join(dir, format+"1"), filepath.Join(dir, format+"2")}
	}
	for _, format := range []string{"kitti", "coco"} {
		all := filepath.Join(dir, format)
		got := call(t, append([]string{"dataset", "merge", "-o", all, "--split", "train=1,val=1"}, sets(format)...)...)
		require.Zero(t, got.code, got.err)
		assert.Contains(t, got.out, "2 runs, 2 scenes, 8 key frames, train with 1 scene, val with 1 scene")
		for _, set := range append(sets(format), all) {
			got := call(t, "dataset", "check", "--strict", set)
			assert.Zero(t, got.code, got.out)
		}
	}
}

// TestRigsThatKITTICantWrite tells before a run begins what is wrong with its rig or with the folder.
func TestRigsThatKITTICantWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	written := cocoSet(t, dir, "aaa")
	lines := strings.SplitAfter(stereoRig, "\n")
	for name, c := range map[string]struct{ rig, bridge, want string }{
		"no lidar":     {lines[0] + lines[1], "kitti:set", "KITTI needs a lidar"},
		"no camera":    {lines[0] + lines[3], "kitti:set", "KITTI needs a camera"},
		"no picture":   {lines[0] + lines[3], "coco:set", "COCO needs a camera"},
		"distorted":    {lines[0] + strings.Replace(lines[1], "fov: 80", "fov: 80, lens: plumb_bob, distortion: [0.1, 0, 0, 0]", 1) + lines[3], "kitti:set", "camera left has the lens plumb_bob"},
		"rolling":      {lines[0] + lines[1] + strings.Replace(lines[3], "rolling: false", "rolling: true", 1), "kitti:set", "compensated"},
		"another set":  {stereoRig, "kitti:" + written, "append"},
		"no such type": {stereoRig, "kitti:set?map=" + write(t, dir, "map.yaml", "categories: [{tag: bus, category: Bus}]"), `unknown category "Bus"`},
	} {
		got := call(t, "run", "--gpu", "host", "--scene", "plane", "--rig", write(t, dir, strings.ReplaceAll(name, " ", "")+".yaml", c.rig),
			"--duration", "1s", "--out", filepath.Join(dir, "out"), "--bridge", c.bridge)
		assert.Equal(t, exitUsage, got.code, "%s: %s", name, got.err)
		assert.Contains(t, got.err, c.want, name)
	}
}
