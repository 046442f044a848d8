package kitti

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
)

// pinhole is the calibration of a picture of 1242x375 pixels with a focal length of 700.
var pinhole = sample.CameraInfo{Width: 1242, Height: 375, P: [12]float64{700, 0, 620.5, 0, 0, 700, 187, 0, 0, 0, 1, 0}}

// read parses a file of calibrations: the keys in their order, and their numbers.
func read(t *testing.T, file []byte) (keys []string, rows map[string][]float64) {
	t.Helper()
	rows = map[string][]float64{}
	for line := range strings.Lines(string(file)) {
		key, rest, ok := strings.Cut(line, ": ")
		require.True(t, ok, line)
		keys = append(keys, key)
		for _, text := range strings.Split(strings.TrimSuffix(rest, "\n"), " ") {
			var v float64
			_, err := fmt.Sscanf(text, "%g", &v)
			require.NoError(t, err)
			rows[key] = append(rows[key], v)
		}
	}
	return keys, rows
}

// times multiplies a 3x4 or 3x3 matrix, row by row, by a point.
func times(m []float64, p mgl64.Vec3) (out mgl64.Vec3) {
	columns := len(m) / 3
	for r := range 3 {
		for c := range 3 {
			out[r] += m[columns*r+c] * p[c]
		}
		if columns == 4 {
			out[r] += m[4*r+3]
		}
	}
	return out
}

// TestCalibrationProjects follows a point of the world through the matrices of the files to pixels, and compares them
// with similar triangles.
func TestCalibrationProjects(t *testing.T) {
	left, right := camera(mgl64.Vec3{1.5, 0.27, 1.6}), camera(mgl64.Vec3{1.5, -0.27, 1.6})
	left.projection, right.projection = pinhole.P, pinhole.P
	lidar := spatial.FromRPY(mgl64.Vec3{0.5, 0.1, 1.9}, 0, 0, 40)
	c := calibrate(&left, &right, lidar)
	keys, rows := read(t, c.object())
	assert.Equal(t, []string{"P0", "P1", "P2", "P3", "R0_rect", "Tr_velo_to_cam", "Tr_imu_to_velo"}, keys)
	for _, point := range []mgl64.Vec3{{20, 0, 1}, {11.5, 4, 3}, {50, -12, 0}} { // in base_link
		scan := times(rows["Tr_imu_to_velo"], point)
		assert.Less(t, lidar.Apply(scan).Sub(point).Len(), 1e-9)
		seen := times(rows["R0_rect"], times(rows["Tr_velo_to_cam"], scan))
		for key, camera := range map[string]mgl64.Vec3{"P2": {1.5, 0.27, 1.6}, "P3": {1.5, -0.27, 1.6}} {
			pixel := times(rows[key], seen)
			ahead := point.Sub(camera)
			assert.InDelta(t, 620.5-700*ahead[1]/ahead[0], pixel[0]/pixel[2], 1e-6, key)
			assert.InDelta(t, 187-700*ahead[2]/ahead[0], pixel[1]/pixel[2], 1e-6, key)
		}
	}
	assert.InDelta(t, -700*0.54, rows["P3"][3], 1e-9, "-fx x baseline")
	assert.Equal(t, rows["P2"], rows["P0"])
	assert.True(t, strings.HasPrefix(string(c.object()), "P0: 7.000000000000e+02 0.000000000000e+00 6.205000000000e+02 0.0"))

	keys, rows = read(t, c.odometry())
	assert.Equal(t, []string{"P0", "P1", "P2", "P3", "Tr"}, keys)
	seen := times(rows["Tr"], lidar.Inverse().Apply(mgl64.Vec3{11.5, 0.27, 1.6}))
	assert.InDeltaSlice(t, []float64{0, 0, 10}, seen[:], 1e-9)
}

func TestWithoutASecondCamera(t *testing.T) {
	only := camera(mgl64.Vec3{1, 2, 3})
	only.projection = pinhole.P
	c := calibrate(&only, nil, spatial.Identity())
	for _, p := range c.projections {
		assert.Equal(t, matrix34(pinhole.P), p)
	}
}

func TestPoseLine(t *testing.T) {
	line := string(appendPose(nil, spatial.Pose{Position: mgl64.Vec3{1, -2, 0.5}, Orientation: mgl64.QuatIdent()}))
	assert.Equal(t, "1.000000000000e+00 0.000000000000e+00 0.000000000000e+00 1.000000000000e+00 "+
		"0.000000000000e+00 1.000000000000e+00 0.000000000000e+00 -2.000000000000e+00 "+
		"0.000000000000e+00 0.000000000000e+00 1.000000000000e+00 5.000000000000e-01\n", line)
}
