//go:build cgo && linux

package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/dataset"
)

// setFormats are the bridges that write data sets.
var setFormats = []string{"nuscenes", "coco", "kitti"}

// pairRig is a small camera, and a lidar whose points are dense enough to hit what the camera sees.
const pairRig = `sensors:
  - {id: sensor.camera.rgb, name: front, rate: 10, image_size_x: 160, image_size_y: 90, fov: 90, pose: {x: 1.5, z: 1.6}}
  - {id: sensor.lidar.ray_cast, name: roof, rate: 10, preset: VelodyneVLP16, columns: 600, rolling: false, pose: {z: 1.9}}
`

// setRun are the arguments of a run that writes a small set of each format, which is named like it, into dir/out, with a key frame each
// 100 ms.
func setRun(t *testing.T, dir, duration string) (args []string) {
	t.Helper()
	args = []string{"--gpu", "host", "--scene", "city", "--step", "--rig", write(t, dir, "pair.yaml", pairRig), "--duration", duration}
	for _, format := range setFormats {
		args = append(args, "--bridge", format+":"+format+"?keyframes=10")
	}
	return args
}

// filesOf reads a folder.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		files[path[len(dir):]] = string(data)
		return err
	}))
	return files
}

// assertSameSets compares the files of two sets of a format, without printing pictures.
func assertSameSets(t *testing.T, want, got map[string]string, format string) {
	t.Helper()
	assert.Equal(t, slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got)), format)
	for name, text := range want {
		assert.True(t, got[name] == text, "%s: %s differs", format, name)
	}
}

// keyFrames counts the key frames that a set's journal has.
func keyFrames(set string) int {
	text, _ := os.ReadFile(filepath.Join(set, filepath.FromSlash(dataset.JournalFile)))
	return bytes.Count(text, []byte("\n{\"frame\":"))
}

// TestSetsOfAKilledRun: recover makes of them, byte for byte, those of a run of as many key frames.
func TestSetsOfAKilledRun(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	t.Parallel()
	dir := t.TempDir()
	s := start(t, dir, nil, setRun(t, dir, "1h")...)
	require.Eventually(t, func() bool {
		return !slices.ContainsFunc(setFormats, func(format string) bool { return keyFrames(filepath.Join(dir, "out", format)) < 2 })
	}, patience, time.Millisecond, "no key frames are written")
	require.NoError(t, s.Process.Signal(syscall.SIGKILL))
	_ = s.Wait()
	clean := map[int]string{} // folders of runs by how many key frames they have
	for _, format := range setFormats {
		killed := filepath.Join(dir, "out", format)
		n := keyFrames(killed)
		if format == "nuscenes" { // KITTI's loaders read what there is
			o := call(t, "dataset", "check", killed)
			assert.Equal(t, exitUsage, o.code)
			assert.Contains(t, o.err, "raybridge dataset recover "+killed)
		}
		o := call(t, "dataset", "recover", killed)
		require.Equal(t, exitDone, o.code, o.err)
		assert.Contains(t, o.out, fmt.Sprintf(": %d key frames", n))
		if clean[n] == "" {
			clean[n] = t.TempDir()
			o := start(t, clean[n], nil, setRun(t, clean[n], fmt.Sprintf("%dms", 100*n))...).finish(t)
			require.Equal(t, exitDone, o.code, o.err)
		}
		want := filesOf(t, filepath.Join(clean[n], "out", format))
		assertSameSets(t, want, filesOf(t, killed), format)
		o = call(t, "dataset", "recover", killed)
		require.Equal(t, exitDone, o.code, o.err)
		assertSameSets(t, want, filesOf(t, killed), format)
		o = call(t, "dataset", "check", killed)
		assert.Equal(t, exitDone, o.code, "%s\n%s", o.out, o.err)
	}
}

// TestSetsOnAFullDisk: where one disk is too small for the sets of a run, each is whole up to its last key frame.
func TestSetsOnAFullDisk(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	t.Parallel()
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	require.NoError(t, os.Mkdir(out, 0o755))
	if err := syscall.Mount("tmpfs", out, "tmpfs", 0, "size=2m"); err != nil {
		t.Skipf("needs the right to mount a small tmpfs: %v", err)
	}
	t.Cleanup(func() { assert.NoError(t, syscall.Unmount(out, 0)) })
	o := start(t, dir, nil, setRun(t, dir, "1h")...).finish(t)
	require.Equal(t, exitFailed, o.code, o.err)
	assert.Contains(t, o.err, "the disk is full")
	for _, format := range setFormats {
		set := filepath.Join(out, format)
		n := keyFrames(set)
		assert.Positive(t, n, format)
		o := call(t, "dataset", "check", set)
		assert.Equal(t, exitDone, o.code, "%s\n%s", o.out, o.err)
	}
	require.NoError(t, syscall.Mount("", out, "", syscall.MS_REMOUNT, "size=10m"))
	for _, format := range setFormats {
		set := filepath.Join(out, format)
		before := filesOf(t, set)
		o := call(t, "dataset", "recover", set)
		require.Equal(t, exitDone, o.code, o.err)
		assertSameSets(t, before, filesOf(t, set), format)
	}
}
