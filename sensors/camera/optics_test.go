package camera_test

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	rigs "github.com/raybridge/raybridge/rig"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/sensors/sample"
)

// lensBy makes the lens that attributes of a colour camera ask for.
func lensBy(t *testing.T, attributes map[string]any) (camera.Lens, error) {
	t.Helper()
	set := camera.RGBDefinition.NewSettings()
	for name, value := range attributes {
		require.NoError(t, set.Set(name, value))
	}
	var o camera.RGB
	spec := &sensors.Spec{Definition: camera.RGBDefinition, Settings: set}
	make := sensors.Define(sensors.Definition{}, func(_ sensors.Spec, v camera.RGB) (sensors.Sensor, error) { o = v; return nil, nil })
	_, err := make.New(*spec)
	require.NoError(t, err)
	return camera.Optics{Width: o.Width, Height: o.Height, FOV: o.FOV, Model: o.Lens, Distortion: o.Distortion, Xi: o.Xi, Calibration: &o.Calibration}.Lens(spec)
}

// npyOf is numpy's file of the rays of a lens.
func npyOf(l camera.Lens) []byte {
	header := fmt.Sprintf("{'descr': '<f8', 'fortran_order': False, 'shape': (%d, %d, 3), }\n", l.Height, l.Width)
	out := append(binary.LittleEndian.AppendUint16([]byte("\x93NUMPY\x01\x00"), uint16(len(header))), header...)
	for _, d := range directions(l) {
		for _, x := range d {
			out = binary.LittleEndian.AppendUint64(out, math.Float64bits(x))
		}
	}
	return out
}

func TestAttributesMakeLenses(t *testing.T) {
	plain := lens(t, 64, 48, 90)
	wide := plain
	wide.Fx, wide.Fy, wide.Cx, wide.Cy, wide.Skew = 30, 31, 0, 20, 0.5
	rational := []float64{0.3, 0.05, 0.001, -0.001, 0.01, 0.6, 0.1, 0.02}
	prism := append(rational, 1e-3, 2e-3, 3e-3, 4e-3)
	fisheye := must(wide.Equidistant([4]float64{0.1, 0.02, 0.003, 0.0004}))
	for name, c := range map[string]struct {
		want camera.Lens
		of   map[string]any
	}{
		"pinhole":       {plain, map[string]any{}},
		"fov":           {lens(t, 64, 48, 60), map[string]any{"fov": 60.0}},
		"measured":      {wide, map[string]any{"fx": 30.0, "fy": 31.0, "cx": 0.0, "cy": 20.0, "skew": 0.5}},
		"plumb_bob":     {must(plain.PlumbBob(0.1, 0.2, 0.3, 0.4, 0)), map[string]any{"lens": "plumb_bob", "distortion": "0.1,0.2,0.3,0.4"}},
		"rational":      {must(plain.Rational(rational)), map[string]any{"lens": "rational", "distortion": rational}},
		"thin_prism":    {must(plain.Rational(prism)), map[string]any{"lens": "thin_prism", "distortion": prism}},
		"equidistant":   {must(plain.Equidistant([4]float64{})), map[string]any{"lens": "equidistant"}},
		"mei":           {must(plain.Mei(1.1, 0.1, 0.2, 0.3, 0.4)), map[string]any{"lens": "mei", "xi": 1.1, "distortion": "0.1,0.2,0.3,0.4"}},
		"double_sphere": {must(plain.DoubleSphere(-0.2, 0.6)), map[string]any{"lens": "double_sphere", "xi": -0.2, "alpha": 0.6}},
		"f_theta": {must(plain.FTheta(camera.FTheta{Polynomial: []float64{0, 0.02, 1e-4}, ToAngle: true, Linear: [3]float64{1.1, 0.1, 0.2}, MaxAngle: math.Pi / 2})),
			map[string]any{"lens": "f_theta", "polynomial": "0,0.02,1e-4", "linear": "1.1,0.1,0.2", "max_angle": 90.0}},
		"f_theta to pixels": {must(plain.FTheta(camera.FTheta{Polynomial: []float64{0, 30}})), map[string]any{"lens": "f_theta", "polynomial": "0,30", "polynomial_type": "angle-to-pixeldistance"}},
		"table":             {must(plain.Table(directions(fisheye))), map[string]any{"lens": "table", "table": base64.StdEncoding.EncodeToString(npyOf(fisheye))}},
	} {
		t.Run(name, func(t *testing.T) {
			c.of["image_size_x"], c.of["image_size_y"] = 64, 48
			l, err := lensBy(t, c.of)
			require.NoError(t, err)
			assert.True(t, c.want == l, "%v\n%v", c.want, l)
		})
	}
}

func TestCalibrationsMakeLenses(t *testing.T) {
	const ros = "image_width: 64\nimage_height: 48\nK: [30, 0.5, 0, 0, 31, 20, 0, 0, 1]\ndistortion_model: equidistant\nD: [0.1, 0.02, 0.003, 0.0004]\n"
	l := lens(t, 64, 48, 90)
	l.Fx, l.Fy, l.Cx, l.Cy, l.Skew = 30, 31, 0, 20, 0.5
	of := must(l.Equidistant([4]float64{0.1, 0.02, 0.003, 0.0004}))
	got, err := lensBy(t, map[string]any{"calibration": ros})
	require.NoError(t, err)
	assert.True(t, of == got, "%v", got)
	got, err = lensBy(t, map[string]any{"calibration": ros, "image_size_x": 64, "image_size_y": 48})
	require.NoError(t, err)
	assert.True(t, of == got, "%v", got)

	const two = "cam0: {camera_model: pinhole, intrinsics: [9, 9, 9, 9], resolution: [64, 48]}\ncam1: {camera_model: pinhole, intrinsics: [30, 31, 0, 20], resolution: [64, 48]}\n"
	l.Skew = 0
	got, err = lensBy(t, map[string]any{"calibration": two, "camera": "cam1"})
	require.NoError(t, err)
	assert.True(t, l == got, "%v", got)
	for want, attributes := range map[string]map[string]any{
		"image_size_x is 65, and the calibration file is for a picture of 64x48": {"calibration": ros, "image_size_x": 65},
		"leave out fx":                        {"calibration": ros, "fx": 30.0},
		"leave out lens":                      {"calibration": ros, "lens": "pinhole"},
		"it has 2 cameras":                    {"calibration": two},
		`the path "front.yaml"`:               {"calibration": "front.yaml"},
		"has no picture's size":               {"calibration": "K: [30, 0, 20, 0, 30, 20, 0, 0, 1]\n"},
		"need a finite number":                {"calibration": strings.Replace(ros, "0.5", ".nan", 1)},
		"camera chooses one":                  {"camera": "cam0"},
		"alpha belongs to lens double_sphere": {"alpha": 0.5},
		"table belongs to lens table":         {"table": "rays.npy"},
		"lens table without a table":          {"lens": "table"},
		`table is the path "rays.npy"`:        {"lens": "table", "table": "rays.npy"},
		"the table has 64x48 rays":            {"lens": "table", "table": base64.StdEncoding.EncodeToString(npyOf(of))},
		"fov and fx say the same":             {"fov": 90.0, "fx": 30.0},
		"fy without fx":                       {"fy": 30.0},
		"has its own scale":                   {"lens": "f_theta", "fx": 30.0, "polynomial": "0,30"},
		"a table has its own":                 {"lens": "table", "skew": 30.0},
		"OpenCV's tilted model":               {"lens": "thin_prism", "distortion": make([]float64, 14)},
		"distortion has 5 numbers":            {"lens": "rational", "distortion": make([]float64, 5)},
		"linear has 2 numbers":                {"lens": "f_theta", "polynomial": "0,30", "linear": "1,0"},
		"polynomial of 0 numbers":             {"lens": "f_theta"},
	} {
		_, err := lensBy(t, attributes)
		require.ErrorIs(t, err, sensors.ErrValue, want)
		assert.ErrorContains(t, err, want)
	}
}

// TestARigReadsItsCalibrations: relative to its own file, and says where an error is. CameraInfo has the file's numbers to
// the digit.
func TestARigReadsItsCalibrations(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	write("right.yaml", `image_width: 64
image_height: 48
camera_matrix: {rows: 3, cols: 3, data: [30.1234567890123, 0, 31.25, 0, 31.5, 22.125, 0, 0, 1]}
distortion_model: plumb_bob
distortion_coefficients: {rows: 1, cols: 5, data: [-0.1, 0.01, 0.001, -0.002, 0]}
rectification_matrix: {rows: 3, cols: 3, data: [1, 0, 0.01, 0, 1, 0, -0.01, 0, 1]}
projection_matrix: {rows: 3, cols: 4, data: [29.5, 0, 30.5, -14.75, 0, 29.5, 23.5, 0, 0, 0, 1, 0]}
`)
	write("bad.yaml", "K: [1, 2]\n")
	registry := sensors.Must(sensors.NewRegistry(camera.RGBDefinition, camera.DepthDefinition))
	resolve := func(text string) ([]sensors.Spec, error) {
		r, err := rigs.Parse(filepath.Join(folder, "rig.yaml"), []byte(text))
		require.NoError(t, err)
		return r.Resolve(registry)
	}
	list, err := resolve("sensors: [{id: sensor.camera.rgb, name: right, calibration: right.yaml, principal_point: corner}]\n")
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(folder, "right.yaml"), list[0].Config.Shown(camera.RGBDefinition.Attribute("calibration"), list[0].Settings.Value("calibration")))
	s, err := list[0].Definition.New(list[0])
	require.NoError(t, err)
	info := camera.InfoOf(s)
	want := &sample.CameraInfo{
		Width: 64, Height: 48, DistortionModel: "plumb_bob", D: []float64{-0.1, 0.01, 0.001, -0.002, 0},
		K: [9]float64{30.1234567890123, 0, 31.75, 0, 31.5, 22.625, 0, 0, 1}, R: [9]float64{1, 0, 0.01, 0, 1, 0, -0.01, 0, 1},
		P: [12]float64{29.5, 0, 31, -14.75, 0, 29.5, 24, 0, 0, 0, 1, 0},
	}
	assert.Equal(t, want, info)
	assert.Equal(t, int64(64), s.(sensors.Deriver).Derived()["image_size_x"])

	_, err = resolve("sensors:\n- id: sensor.camera.rgb\n  name: right\n  calibration: left.yaml\n")
	assert.ErrorContains(t, err, "rig.yaml:4:16: sensors[0].calibration: ")
	assert.ErrorContains(t, err, "left.yaml")
	list, err = resolve("sensors:\n- id: sensor.camera.rgb\n  name: right\n  calibration: bad.yaml\n")
	require.NoError(t, err)
	_, err = list[0].Definition.New(list[0])
	assert.ErrorContains(t, err, filepath.Join(folder, "bad.yaml")+":1:4: K: calibration can't be used: K has 2 numbers, need 9")

	write("long.yaml", "K: [1, 2]\n")
	require.NoError(t, os.Truncate(filepath.Join(folder, "long.yaml"), 64<<20+1))
	_, err = resolve("sensors:\n- id: sensor.camera.rgb\n  name: right\n  calibration: long.yaml\n")
	assert.ErrorContains(t, err, "rig.yaml:4:16: sensors[0].calibration: ")
	assert.ErrorContains(t, err, "long.yaml has more than 64 MiB")

	write("rays.npy", "\x93NUMPY\x01\x00")
	list, err = resolve("sensors:\n- {id: sensor.camera.rgb, name: right, lens: table, table: rays.npy}\n")
	require.NoError(t, err)
	_, err = list[0].Definition.New(list[0])
	assert.ErrorContains(t, err, filepath.Join(folder, "rays.npy")+": calibration can't be used: ")
}
