//go:build cgo

package camera_test

import (
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl32"
	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors/camera"
)

// panel is a wall that glows in a colour, under an exposure of 0.8.
func panel(glow mgl32.Vec3) *scene.Scene {
	b := scenetest.NewBuilder("panel")
	b.Scene.Light = scene.Light{Exposure: 0.8}
	m := scenetest.Matte("panel", 0, 0, 0)
	m.Emissive = glow
	b.Put("panel", scenetest.Box(1, 20, 20), m, scenetest.At(5, 0, 0, scene.TagStatic))
	return b.Scene
}

func TestManualExposureIsThatOfTheFilm(t *testing.T) {
	glow := mgl64.Vec3{0.3, 0.12, 0.05}
	cases := []struct {
		gain       float64
		attributes []any
	}{
		{1, nil},
		{1, []any{"iso", 800, "fstop", 8}}, // a meter finds the exposure
		{1, []any{"exposure_mode", "manual"}},
		{2, []any{"exposure_mode", "manual", "iso", 200}},
		{0.25, []any{"exposure_mode", "manual", "fstop", 2.8}},
		{0.5, []any{"exposure_mode", "manual", "shutter_speed", 400}},
		{0.5, []any{"exposure_mode", "manual", "calibration_constant", 32}},
		{2 * 4 * 0.5 / 16, []any{"exposure_mode", "manual", "exposure_compensation", 1, "iso", 400, "shutter_speed", 400, "fstop", 5.6}},
	}
	var list []mounted
	for _, c := range cases {
		list = append(list, mounted{camera.RGB, forward(0), size(16, 12, c.attributes...)})
	}
	r := newRig(t, panel(mgl32.Vec3{0.3, 0.12, 0.05}), nil, list...)
	r.fire(0)
	for i, c := range cases {
		assertPixel(t, shown(glow.Mul(0.8*c.gain), true), r.picture(i), 8, 6, 0.51, "exposed")
	}
}

func TestWithoutPostProcessingThePictureIsLinear(t *testing.T) {
	r := newRig(t, panel(mgl32.Vec3{0.5, 0.1, 3}), nil,
		mounted{camera.RGB, forward(0), size(16, 12, "enable_postprocess_effects", false, "gamma", 3, "temp", 4000, "slope", 0.5)})
	r.fire(0)
	assertPixel(t, [3]float64{255 * 0.4, 255 * 0.08, 255}, r.picture(0), 8, 6, 0.51, "linear")
}

// TestTooMuchLightIsWhite has the greatest exposure that can be set.
func TestTooMuchLightIsWhite(t *testing.T) {
	most := []any{"exposure_mode", "manual", "exposure_compensation", 16.0, "iso", 1e6, "fstop", 0.1, "shutter_speed", 0.01, "calibration_constant", 1.0}
	for _, more := range [][]any{{}, {"tone_curve", "none"}, {"toe", 0.2}, {"enable_postprocess_effects", false}} {
		r := newRig(t, panel(mgl32.Vec3{5000, 5000, 5000}), nil, mounted{camera.RGB, forward(0), size(16, 12, append(more, most...)...)})
		r.fire(0)
		assert.Equal(t, [3]int{255, 255, 255}, pixelAt(r.picture(0), 8, 6), "%v", more)
	}
}

func TestGammaBendsTheDisplayed(t *testing.T) {
	r := newRig(t, panel(mgl32.Vec3{0.5, 0.1, 0.01}), nil,
		mounted{camera.RGB, forward(0), size(16, 12, "gamma", 2.75, "tone_curve", "none")})
	r.fire(0)
	bent := mgl64.Vec3{math.Pow(0.4, 0.8), math.Pow(0.08, 0.8), math.Pow(0.008, 0.8)}
	assertPixel(t, shown(bent, false), r.picture(0), 8, 6, 0.6, "gamma")
}

// unreal is Unreal Engine's film curve in float64, from its description: a line of
// log10 between two sigmoids that continue it.
func unreal(x, slope, toe, shoulder, blackClip, whiteClip float64) float64 {
	toeScale, shoulderScale := 1+blackClip-toe, 1+whiteClip-shoulder
	var toeMatch float64
	if toe > 0.8 {
		toeMatch = (1-toe-0.18)/slope + math.Log10(0.18)
	} else {
		bt := (0.18+blackClip)/toeScale - 1
		toeMatch = math.Log10(0.18) - 0.5*math.Log((1+bt)/(1-bt))*(toeScale/slope)
	}
	straightMatch := (1-toe)/slope - toeMatch
	shoulderMatch := shoulder/slope - straightMatch
	log := math.Log10(x)
	straight := slope * (log + straightMatch)
	low, high := straight, straight
	if log < toeMatch {
		low = -blackClip + 2*toeScale/(1+math.Exp(-2*slope/toeScale*(log-toeMatch)))
	}
	if log > shoulderMatch {
		high = 1 + whiteClip - 2*shoulderScale/(1+math.Exp(2*slope/shoulderScale*(log-shoulderMatch)))
	}
	s := clamp((log-toeMatch)/(shoulderMatch-toeMatch), 0, 1)
	if shoulderMatch < toeMatch {
		s = 1 - s
	}
	return clamp(low+(high-low)*(3-2*s)*s*s, 0, 1)
}

func TestFilmCurveIsUnreals(t *testing.T) {
	assert.InDelta(t, 0.18, unreal(0.18, 0.88, 0.55, 0.26, 0, 0.04), 1e-12, "middle grey stays")
	curves := [][5]float64{
		{0.9, 0.55, 0.26, 0, 0.04}, {0.88, 0.2, 0.26, 0, 0.04}, {0.88, 0.85, 0.26, 0, 0.04},
		{0.88, 0.55, 0.7, 0, 0.04}, {0.7, 0.5, 0.4, 0.1, 0.2},
	}
	var list []mounted
	for _, c := range curves {
		list = append(list, mounted{camera.RGB, forward(0), size(16, 12,
			"slope", c[0], "toe", c[1], "shoulder", c[2], "black_clip", c[3], "white_clip", c[4])})
	}
	for _, x := range []float64{0.002, 0.05, 0.18, 0.6, 2, 9} {
		g := float32(x / 0.8)
		r := newRig(t, panel(mgl32.Vec3{g, g, g}), nil, list...)
		r.fire(0)
		for i, c := range curves {
			y := unreal(x, c[0], c[1], c[2], c[3], c[4])
			assertPixel(t, shown(mgl64.Vec3{y, y, y}, false), r.picture(i), 8, 6, 0.7, "film")
		}
	}
}

// TestWhiteBalanceMakesTheLightWhite shows a panel in the colour of a light, as the
// CIE tabulates it, to a camera that is set to that light.
func TestWhiteBalanceMakesTheLightWhite(t *testing.T) {
	toRGB := mgl64.Mat3FromRows(
		mgl64.Vec3{3.2406, -1.5372, -0.4986}, mgl64.Vec3{-0.9689, 1.8758, 0.0415}, mgl64.Vec3{0.0557, -0.2040, 1.0570})
	colorOf := func(x, y float64) mgl32.Vec3 {
		c := toRGB.Mul3x1(mgl64.Vec3{x / y, 1, (1 - x - y) / y}).Mul(0.4)
		return mgl32.Vec3{float32(c[0]), float32(c[1]), float32(c[2])}
	}
	for kelvin, xy := range map[float64][2]float64{
		5003: {0.34567, 0.35850}, 5503: {0.33242, 0.34743}, 7504: {0.29902, 0.31485}, // D50, D55, D75
		2856: {0.44757, 0.40745}, // A
	} {
		r := newRig(t, panel(colorOf(xy[0], xy[1])), nil,
			mounted{camera.RGB, forward(0), size(16, 12, "temp", kelvin, "tone_curve", "none")},
			mounted{camera.RGB, forward(0), size(16, 12, "temp", kelvin, "tone_curve", "none", "tint", 0.1)},
			mounted{camera.RGB, forward(0), size(16, 12, "tone_curve", "none")})
		r.fire(0)
		white, pink, plain := pixelAt(r.picture(0), 8, 6), pixelAt(r.picture(1), 8, 6), pixelAt(r.picture(2), 8, 6)
		spread := func(p [3]int) int { return max(p[0], p[1], p[2]) - min(p[0], p[1], p[2]) }
		assert.LessOrEqual(t, spread(white), 2, "%v K: %v", kelvin, white)
		assert.Greater(t, spread(plain), 10, "%v K: %v", kelvin, plain)
		assert.Greater(t, pink[0]-pink[1], 2, "tint: %v", pink)
		assert.Greater(t, pink[2]-pink[1], 2, "tint: %v", pink)
	}
}
