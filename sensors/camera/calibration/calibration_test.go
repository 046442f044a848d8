package calibration_test

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/internal/doc"
	"github.com/raybridge/raybridge/sensors/camera/calibration"
)

// The files are as the programs write them.
const (
	rosRight = `image_width: 1280
image_height: 720
camera_name: narrow_stereo/right
camera_matrix:
  rows: 3
  cols: 3
  data: [701.31552, 0., 640.98233, 0., 700.97412, 362.10571, 0., 0., 1.]
distortion_model: plumb_bob
distortion_coefficients:
  rows: 1
  cols: 5
  data: [-0.174318, 0.028153, 0.000214, -0.000512, 0.]
rectification_matrix:
  rows: 3
  cols: 3
  data: [0.99998, -0.00123, 0.00571, 0.00124, 0.99999, -0.00203, -0.00571, 0.00204, 0.99998]
projection_matrix:
  rows: 3
  cols: 4
  data: [689.1234567890123, 0., 637.5, -82.6951, 0., 689.1234567890123, 361.25, 0., 0., 0., 1., 0.]
`
	openCV = `%YAML:1.0
---
calibration_time: "Tue 04 Mar 2025 10:12:13 AM CET"
image_width: 1920
image_height: 1080
flags: 16384
camera_matrix: !!opencv-matrix
   rows: 3
   cols: 3
   dt: d
   data: [ 1.0531203347611502e+03, 0., 9.6123e+02, 0.,
       1.0529e+03, 5.4211e+02, 0., 0., 1. ]
distortion_coefficients: !!opencv-matrix
   rows: 8
   cols: 1
   dt: d
   data: [ 1.2, .4, -1e-4, 2.e-4, 1e-2, 1.5, 6e-1, 5e-2 ]
avg_reprojection_error: 2.1e-01
`
	openCVJSON = "{\n\t\"K\": {\"type_id\": \"opencv-matrix\", \"rows\": 3, \"cols\": 3, \"dt\": \"d\", \"data\": [500.0, 0.0, 320.0, 0.0, 501.0, 240.0, 0.0, 0.0, 1.0]},\n" +
		"\t\"D\": {\"type_id\": \"opencv-matrix\", \"rows\": 4, \"cols\": 1, \"dt\": \"d\", \"data\": [0.1, 0.01, -0.02, 0.003]},\n\t\"fisheye_model\": 1, \"image_size\": [640, 480]\n}\n"
	openCVXML = `<?xml version="1.0"?>
<opencv_storage>
<image_Width>640</image_Width>
<image_Height>480</image_Height>
<Camera_Matrix type_id="opencv-matrix">
  <rows>3</rows>
  <cols>3</cols>
  <dt>d</dt>
  <data>
    5.0e+02 1.5 3.195e+02 0. 5.0e+02
    2.395e+02 0. 0. 1.</data></Camera_Matrix>
<Distortion_Coefficients type_id="opencv-matrix">
  <rows>12</rows><cols>1</cols><dt>d</dt>
  <data>1 2 3 4 5 6 7 8 9 10 11 12</data></Distortion_Coefficients>
</opencv_storage>
`
	stereo = `%YAML:1.0
M1: !!opencv-matrix
   rows: 3
   cols: 3
   dt: d
   data: [ 1., 0., 2., 0., 3., 4., 0., 0., 1. ]
D1: !!opencv-matrix
   rows: 1
   cols: 5
   dt: d
   data: [ .1, 0., 0., 0., 0. ]
M2: !!opencv-matrix
   rows: 3
   cols: 3
   dt: d
   data: [ 5., 0., 6., 0., 7., 8., 0., 0., 1. ]
D2: !!opencv-matrix
   rows: 1
   cols: 5
   dt: d
   data: [ .2, 0., 0., 0., 0. ]
`
	kalibr = `cam0:
  cam_overlaps: [1]
  camera_model: pinhole
  distortion_coeffs: [-0.28, 0.074, 0.00019, 1.8e-05]
  distortion_model: radtan
  intrinsics: [458.654, 457.296, 367.215, 248.375]
  resolution: [752, 480]
  rostopic: /cam0/image_raw
cam1:
  T_cn_cnm1:
  - [0.99, 0.0, 0.0, -0.11]
  camera_model: omni
  distortion_coeffs: [-0.1, 0.02, 1e-3, -2e-3]
  distortion_model: radtan
  intrinsics: [1.2, 800.5, 801.5, 375.5, 239.5]
  resolution: [752, 480]
`
	driveWorks = `{"rig": {"sensors": [
	{"name": "camera:front:wide:120fov", "protocol": "camera.gmsl", "properties": {"Model": "ftheta", "width": "3848", "height": "2168",
		"cx": "1927.764404", "cy": "1096.686646", "polynomial": "0.0 5.35356812179089e-4 2.99266864e-10 0 0 0", "polynomial-type": "pixeldistance-to-angle",
		"linear-c": "0.9995", "linear-d": "1e-4", "linear-e": "-2e-4"}},
	{"name": "lidar", "properties": {}}]}}
`
	ncore = `{"resolution": [1920, 1080], "principal_point": [955.5, 539.2], "reference_poly": "ANGLE_TO_PIXELDIST",
"pixeldist_to_angle_poly": [0, 0.0011], "angle_to_pixeldist_poly": [0, 929.1, 0, 12.5], "max_angle": 1.22, "linear_cde": [1, 0, 0]}
`
)

func parse(t *testing.T, text, choice string) *calibration.Camera {
	t.Helper()
	c, err := calibration.Parse("file", []byte(text), choice)
	require.NoError(t, err)
	return c
}

func TestROSToTheDigit(t *testing.T) {
	c := parse(t, rosRight, "")
	assert.Equal(t, calibration.PlumbBob, c.Lens)
	assert.Equal(t, []int{1280, 720}, []int{c.Width, c.Height})
	assert.Equal(t, []float64{701.31552, 700.97412, 640.98233, 362.10571, 0}, []float64{c.FX, c.FY, c.CX, c.CY, c.Skew})
	assert.Equal(t, []float64{-0.174318, 0.028153, 0.000214, -0.000512, 0}, c.D)
	assert.Equal(t, "plumb_bob", c.Info.Model)
	assert.Equal(t, [9]float64{701.31552, 0, 640.98233, 0, 700.97412, 362.10571, 0, 0, 1}, c.Info.K)
	assert.Equal(t, &[12]float64{689.1234567890123, 0, 637.5, -82.6951, 0, 689.1234567890123, 361.25, 0, 0, 0, 1, 0}, c.Info.P)
	assert.Equal(t, -0.00571, c.Info.R[6])
	for model, lens := range map[string]string{"rational_polynomial": "rational", "equidistant": "equidistant", "fisheye": "equidistant"} {
		d := map[string]string{"rational": "1, 2, 3, 4, 5, 6, 7, 8", "equidistant": "1, 2, 3, 4"}[lens]
		text := strings.Replace(strings.Replace(rosRight, "plumb_bob", model, 1), "-0.174318, 0.028153, 0.000214, -0.000512, 0.", d, 1)
		assert.Equal(t, lens, parse(t, text, "").Lens, model)
	}
}

func TestOpenCV(t *testing.T) {
	c := parse(t, openCV, "")
	assert.Equal(t, calibration.Rational, c.Lens)
	assert.Equal(t, "rational_polynomial", c.Info.Model)
	assert.Equal(t, []float64{1.2, .4, -1e-4, 2e-4, 1e-2, 1.5, .6, .05}, c.D)
	assert.Equal(t, 1.0531203347611502e+03, c.FX)
	assert.Nil(t, c.Info.P)

	c = parse(t, openCVJSON, "")
	assert.Equal(t, calibration.Equidistant, c.Lens)
	assert.Equal(t, "equidistant", c.Info.Model)
	assert.Equal(t, []float64{640, 480, 500, 501, 320, 240}, []float64{float64(c.Width), float64(c.Height), c.FX, c.FY, c.CX, c.CY})

	c = parse(t, openCVXML, "")
	assert.Equal(t, calibration.ThinPrism, c.Lens)
	assert.Equal(t, []float64{500, 500, 319.5, 239.5, 1.5}, []float64{c.FX, c.FY, c.CX, c.CY, c.Skew})
	assert.Equal(t, 12., c.D[11])
	assert.Equal(t, 640, c.Width)

	c = parse(t, stereo, "2")
	assert.Equal(t, []float64{5, 7, 6, 8, .2}, []float64{c.FX, c.FY, c.CX, c.CY, c.D[0]})
	assert.Zero(t, c.Width)

	omni := parse(t, "xi: !!opencv-matrix\n   data: [ 1.25 ]\n"+one, "")
	assert.Equal(t, calibration.Mei, omni.Lens)
	assert.Equal(t, 1.25, omni.Xi)
	assert.Empty(t, omni.Info.Model, "ROS has no such model")
}

// one is a file of one camera.
const one = `K: !!opencv-matrix
   data: [ 1., 0., 2., 0., 3., 4., 0., 0., 1. ]
D: !!opencv-matrix
   data: [ .1, 0., 0., 0. ]
`

func TestKalibr(t *testing.T) {
	c := parse(t, kalibr, "cam0")
	assert.Equal(t, &calibration.Camera{
		Lens: calibration.PlumbBob, Width: 752, Height: 480, FX: 458.654, FY: 457.296, CX: 367.215, CY: 248.375,
		D: []float64{-0.28, 0.074, 0.00019, 1.8e-05},
	}, c)
	c = parse(t, kalibr, "cam1")
	assert.Equal(t, calibration.Mei, c.Lens)
	assert.Equal(t, []float64{1.2, 800.5, 801.5, 375.5, 239.5}, []float64{c.Xi, c.FX, c.FY, c.CX, c.CY})
	ds := "cam0:\n  camera_model: ds\n  distortion_model: none\n  distortion_coeffs: []\n  intrinsics: [-0.2, 0.55, 300, 301, 320, 240]\n"
	c = parse(t, ds, "")
	assert.Equal(t, calibration.DoubleSphere, c.Lens)
	assert.Equal(t, []float64{-0.2, 0.55, 300}, []float64{c.Xi, c.Alpha, c.FX})
}

func TestFTheta(t *testing.T) {
	c := parse(t, driveWorks, "")
	assert.Equal(t, &calibration.Camera{
		Lens: calibration.FTheta, Width: 3848, Height: 2168, CX: 1927.764404, CY: 1096.686646, ToAngle: true,
		Polynomial: []float64{0, 5.35356812179089e-4, 2.99266864e-10}, Linear: [3]float64{0.9995, 1e-4, -2e-4},
	}, c)
	c = parse(t, ncore, "")
	assert.Equal(t, &calibration.Camera{
		Lens: calibration.FTheta, Width: 1920, Height: 1080, CX: 955.5, CY: 539.2,
		Polynomial: []float64{0, 929.1, 0, 12.5}, Linear: [3]float64{1, 0, 0}, MaxAngle: 1.22,
	}, c)
}

// TestBadCalibrationsNameTheirPlace: and what to do.
func TestBadCalibrationsNameTheirPlace(t *testing.T) {
	replaced := func(text, old, new string) string {
		require.Contains(t, text, old)
		return strings.Replace(text, old, new, 1)
	}
	for name, c := range map[string]struct{ text, choice, want string }{
		"nan":             {replaced(rosRight, "-0.174318", ".nan"), "", "file:12:10: distortion_coefficients.data[0]: calibration can't be used: NaN, need a finite number"},
		"infinite":        {replaced(openCVXML, "1.5", "inf"), "", "file:9"},
		"a word":          {replaced(rosRight, "701.31552", "wide"), "", `"wide", need a number`},
		"tilted":          {replaced(openCVXML, "11 12<", "11 12 13 14<"), "", "14 numbers, OpenCV's tilted model"},
		"seven":           {replaced(openCV, ", 5e-2 ]", "]"), "", "has 7 numbers, need one of"},
		"a model":         {replaced(rosRight, "plumb_bob", "scaramuzza"), "", `distortion_model is "scaramuzza"`},
		"two of Kalibr's": {kalibr, "", "it has 2 cameras: choose one with camera: cam0, cam1"},
		"no such":         {kalibr, "cam3", `it has no camera "cam3"`},
		"two of OpenCV's": {stereo, "", "it has 2 cameras: choose one with camera: 1, 2"},
		"eucm":            {replaced(kalibr, "camera_model: pinhole", "camera_model: eucm"), "cam0", "camera_model eucm with distortion_model radtan"},
		"fov":             {replaced(kalibr, "distortion_model: radtan", "distortion_model: fov"), "cam0", "camera_model pinhole with distortion_model fov"},
		"no intrinsics":   {replaced(kalibr, "intrinsics", "intrinsic"), "cam0", "it has no intrinsics"},
		"upside down":     {replaced(rosRight, "700.97412", "-700"), "", "focal lengths of 701.31552 and -700 pixels"},
		"no K":            {"a: 1\n", "", "it has no camera matrix"},
		"a list":          {"[1, 2]\n", "", "it has no camera matrix"},
		"a homography":    {replaced(rosRight, "0., 0., 1.]\ndist", "0., 0., 2.]\ndist"), "", "need fx, skew, cx; 0, fy, cy; 0, 0, 1"},
		"half a pixel":    {replaced(rosRight, "1280", "1280.5"), "", "1280.5x720 pixels"},
		"P":               {replaced(rosRight, "-82.6951, ", ""), "", "projection_matrix has 11 numbers, need 12"},
		"another XML":     {"<svg></svg>", "", "its root is svg"},
		"cut XML":         {openCVXML[:300], "", "calibration can't be used"},
		"deep XML":        {"<opencv_storage>" + strings.Repeat("<a>", 200), "", "more than 100 elements"},
		"direction":       {replaced(driveWorks, "pixeldistance-to", "degrees-to"), "", "a polynomial of type"},
		"no centre":       {replaced(driveWorks, `"cx"`, `"cz"`), "", "no principal point"},
		"mei of NVIDIA's": {replaced(driveWorks, `"ftheta"`, `"pinhole"`), "", `a model "pinhole"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := calibration.Parse("file", []byte(c.text), c.choice)
			require.ErrorIs(t, err, calibration.ErrCalibration)
			assert.ErrorContains(t, err, c.want)
			var placed *doc.Error
			require.ErrorAs(t, err, &placed)
			assert.Equal(t, "file", placed.File)
		})
	}
	_, err := calibration.Parse("file", []byte("a: [1"), "")
	assert.ErrorContains(t, err, "file:")
}

// npy is what numpy.save writes.
func npy(descr string, shape string, words ...float64) []byte {
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, shape)
	header += strings.Repeat(" ", (64-(11+len(header))%64)%64) + "\n"
	out := binary.LittleEndian.AppendUint16([]byte("\x93NUMPY\x01\x00"), uint16(len(header)))
	out = append(out, header...)
	for _, w := range words {
		if descr == "<f4" {
			out = binary.LittleEndian.AppendUint32(out, math.Float32bits(float32(w)))
		} else {
			out = binary.LittleEndian.AppendUint64(out, math.Float64bits(w))
		}
	}
	return out
}

func TestRays(t *testing.T) {
	for _, form := range []string{"<f4", "<f8"} {
		data := npy(form, "(1, 2, 3)", 0, 0.5, 1, math.NaN(), 0, 0)
		for _, content := range [][]byte{data, []byte(base64.StdEncoding.EncodeToString(data))} {
			r, err := calibration.ParseRays("rays.npy", content)
			require.NoError(t, err)
			assert.Equal(t, []int{2, 1}, []int{r.Width, r.Height})
			assert.Equal(t, 0.5, r.Directions[0][1])
			assert.True(t, math.IsNaN(r.Directions[1][0]))
		}
	}
	for want, data := range map[string][]byte{
		"a table of rays: write": []byte("x"),
		"24 bytes follow":        npy("<f8", "(1, 2, 3)", 1, 2, 3),
		"an array of {'descr'":   npy("<i4", "(1, 2, 3)", 1),
		"(1, 2, 2)":              npy("<f8", "(1, 2, 2)", 1),
		"(99999, 2, 3)":          npy("<f8", "(99999, 2, 3)", 1),
		"ends within":            npy("<f8", "(1, 2, 3)")[:40],
		"illegal base64":         []byte("k05VTVBZ!"),
	} {
		_, err := calibration.ParseRays("rays.npy", data)
		require.ErrorIs(t, err, calibration.ErrCalibration)
		assert.ErrorContains(t, err, want)
		assert.ErrorContains(t, err, "rays.npy: ")
	}
}

// fuzz has any text make a camera, or an error.
func fuzz(f *testing.F, seeds ...string) {
	for _, s := range seeds {
		f.Add(s, "")
		f.Add(s, "cam0")
	}
	f.Fuzz(func(t *testing.T, text, choice string) {
		c, err := calibration.Parse("file", []byte(text), choice)
		if err != nil {
			return
		}
		for _, n := range append(append([]float64{c.FX, c.FY, c.CX, c.CY, c.Skew, c.Xi, c.Alpha, c.MaxAngle}, c.D...), c.Polynomial...) {
			require.False(t, math.IsNaN(n) || math.IsInf(n, 0))
		}
		require.True(t, c.Width >= 0 && c.Height >= 0 && (c.Width == 0) == (c.Height == 0))
	})
}

func FuzzROS(f *testing.F)    { fuzz(f, rosRight) }
func FuzzOpenCV(f *testing.F) { fuzz(f, openCV, openCVJSON, openCVXML, stereo) }
func FuzzKalibr(f *testing.F) { fuzz(f, kalibr) }
func FuzzFTheta(f *testing.F) { fuzz(f, driveWorks, ncore) }

func FuzzRays(f *testing.F) {
	f.Add(npy("<f8", "(1, 2, 3)", 1, 2, 3, 4, 5, 6))
	f.Add(npy("<f4", "(2, 1, 3)", 1, 2, 3, 4, 5, 6))
	f.Fuzz(func(t *testing.T, data []byte) {
		if r, err := calibration.ParseRays("file", data); err == nil {
			require.Len(t, r.Directions, r.Width*r.Height)
		}
	})
}
