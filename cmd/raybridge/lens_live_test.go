//go:build cgo

package main

import (
	"encoding/binary"
	"image"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestACalibratedCameraIsCarriedAndShown: a camera with a file's lens and a rolling shutter, by a recording, a receiver and the report. Its
// CameraInfo has the file's numbers, and its stamps are the shutter's.
func TestACalibratedCameraIsCarriedAndShown(t *testing.T) {
	t.Parallel()
	needsOpenGL(t)
	dir := t.TempDir()
	write(t, dir, "wide.yaml", "image_width: 64\nimage_height: 48\nK: [30.125, 0, 31, 0, 30.25, 23, 0, 0, 1]\ndistortion_model: equidistant\nD: [0.0625, 0.01, 0, 0]\n"+
		"P: [28.5, 0, 32, -3.25, 0, 28.5, 24, 0, 0, 0, 1, 0]\n")
	rig := write(t, dir, "rig.yaml", `
sensors:
  - {id: sensor.camera.rgb, name: wide, pose: {z: 1.5}, calibration: wide.yaml, shutter: rolling, line_time: 1.0e-4, readout: bottom_up, exposure_time: 0.002}
`)
	out := filepath.Join(dir, "out")
	run := begin(t, "run", "--headless", "--realtime", "--scene", "plane", "--rig", rig, "--out", out, "--report", "--bridge", "mcap:drive.mcap", "--bridge", "stream:127.0.0.1:0")
	served := endpoints(run.errOut.await(t, "stream  "), "stream")["all"]
	require.NotEmpty(t, served)
	saved := filepath.Join(dir, "saved")
	c := begin(t, "listen", served[0], "--save", saved, "--count", "1")
	heard := c.end(t)
	require.Equal(t, exitDone, heard.code, heard.err)
	run.interrupt()
	ran := run.end(t)
	require.Contains(t, []int{exitDone, exitIncomplete}, ran.code, ran.err) // a busy machine loses firings of a run in real time

	info, err := os.ReadFile(newest(t, saved, "wide/camera_info*"))
	require.NoError(t, err)
	assert.Contains(t, string(info), `"equidistant"`)
	assert.Contains(t, string(info), "[0.0625,0.01,0,0]")
	picture, err := decodeFile(newest(t, saved, "wide/image_raw/*.png"))
	require.NoError(t, err)
	assert.Equal(t, image.Rect(0, 0, 64, 48), picture.Bounds())

	report, err := os.ReadFile(filepath.Join(out, "report.html"))
	require.NoError(t, err)
	assert.Contains(t, string(report), "64 × 48, rgb8, rolling bottom_up, 100 µs a line")

	infos := byTopic(readRecording(t, filepath.Join(out, "drive.mcap")))["/wide/camera_info"]
	require.NotEmpty(t, infos)
	for _, m := range infos {
		assert.Zero(t, (m.stamp+47*100_000+1_000_000)%100_000_000, "the middle of the exposure of the row that is read first")
		b := m.body
		assert.Equal(t, []uint32{48, 64}, []uint32{b.u32(), b.u32()})
		assert.Equal(t, "equidistant", b.text())
		numbers := func(n int) (list []float64) {
			for range n {
				list = append(list, math.Float64frombits(binary.LittleEndian.Uint64(b.take(8, 8))))
			}
			return list
		}
		assert.Equal(t, []float64{0.0625, 0.01, 0, 0}, numbers(int(b.u32())))
		assert.Equal(t, []float64{30.125, 0, 31, 0, 30.25, 23, 0, 0, 1}, numbers(9))
		assert.Equal(t, []float64{1, 0, 0, 0, 1, 0, 0, 0, 1}, numbers(9))
		assert.Equal(t, []float64{28.5, 0, 32, -3.25, 0, 28.5, 24, 0, 0, 0, 1, 0}, numbers(12), "the right camera of two")
	}
}
