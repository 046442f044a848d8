//go:build cgo

package camera_test

import (
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl32"
	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/weather"
)

// skyThrough returns the irradiance of an upward surface by the sky that is drawn through a weather's air, over pi.
func skyThrough(o *camera.Outdoors) (sum mgl64.Vec3) {
	const bands = 20_000
	for i := range bands {
		h := math.Sqrt((float64(i) + 0.5) / bands) // bands of equal area on the disc below the hemisphere
		rise, left := 1-math.Exp2(-4.5*h), math.Exp(-o.Depth/h)
		above := mix(vec64(o.Light.SkyHorizon), vec64(o.Light.SkyZenith), rise)
		sum = sum.Add(mix(mix(vec64(o.Air), vec64(o.AirAbove), rise), above, left).Mul(1. / bands))
	}
	return sum
}

// TestWeatherLosesNoLight: what fog takes from the sun comes from the sky, and clouds leave what Kasten and Czeplak measured.
func TestWeatherLosesNoLight(t *testing.T) {
	low := camera.Daylight
	low.SunDirection = mgl32.Vec3{0, -0.98, 0.2}
	night := camera.Daylight
	night.SunColor = mgl32.Vec3{}
	for name, l := range map[string]scene.Light{"day": camera.Daylight, "evening": low, "night": night} {
		height := float64(l.SunDirection[2])
		clear := lightingOf(l)
		sun := clear.sun.Mul(height / math.Pi)
		full := skyThrough(&camera.Outdoors{Light: l}).Add(sun)
		for _, c := range []struct {
			weather.State
			all, direct float64 // of the light on the ground; and of the sun's, before the air
		}{
			{weather.State{Wetness: 1}, 1, 1},
			{weather.State{Visibility: 1e9}, 1, 1},
			{weather.State{Visibility: 2000}, 1, 1},
			{weather.State{Visibility: 100}, 1, 1},
			{weather.State{Visibility: 1}, 1, 1},
			{weather.State{Cloud: 0.5}, 0.929, 0.929 * 0.75},
			{weather.State{Cloud: 1}, 0.25, 0},
			{weather.State{Rain: 25, Cloud: 1}, 0.25, 0},
			{weather.State{Visibility: 100, Cloud: 1}, 0.25, 0},
		} {
			o := camera.OutdoorsOf(&l, height, c.State)
			left := vec64(o.Light.SunColor).Mul(height / math.Pi)
			got, want := skyThrough(&o).Add(left), full.Mul(c.all)
			assert.InDeltaSlice(t, want[:], got[:], 2e-3*(1+want.Len()), "%s, %+v", name, c.State)
			direct := sun.Mul(c.direct * math.Exp(-300/height*c.Extinction()))
			assert.InDeltaSlice(t, direct[:], left[:], 1e-3, "%s, %+v", name, c.State)
			around := o.Around.Dot(mgl32.Vec3{0.2126, 0.7152, 0.0722}) // what lights surfaces has the luminance of what is drawn
			assert.InDelta(t, skyThrough(&o).Dot(mgl64.Vec3{0.2126, 0.7152, 0.0722}), float64(around), 2e-3, "%s, %+v", name, c.State)
		}
	}
}

// TestCloudsWhitenTheLight: of an overcast sky each colour has the share that it has of all light, and the horizon is 3/7 of the mean.
func TestCloudsWhitenTheLight(t *testing.T) {
	l := camera.Daylight
	height := float64(l.SunDirection[2])
	o := camera.OutdoorsOf(&l, height, weather.State{Cloud: 1})
	saturation := func(c mgl32.Vec3) float32 {
		return (max(c[0], c[1], c[2]) - min(c[0], c[1], c[2])) / max(c[0], c[1], c[2])
	}
	assert.Greater(t, saturation(l.SkyZenith), float32(0.5))
	assert.Less(t, saturation(o.Light.SkyZenith), float32(0.1))
	mean := skyThrough(&o)
	assert.InDelta(t, 3./7, float64(o.Light.SkyHorizon[1])/mean[1], 1e-3)
	assert.Greater(t, o.Light.SkyZenith[1], 2*o.Light.SkyHorizon[1])
}

// TestThinAirShowsAsMuchLight: what endless air shows hardly depends on how thin it is, down to where it counts as none.
func TestThinAirShowsAsMuchLight(t *testing.T) {
	l := camera.Daylight
	height := float64(l.SunDirection[2])
	thin := camera.OutdoorsOf(&l, height, weather.State{Visibility: 299e3})
	assert.Greater(t, thin.Air[1], float32(0.1))
	found := 0
	for fall := 1e-300; fall < 0.1; fall *= 3 {
		for _, w := range []weather.State{{Rain: fall}, {Snow: fall}, {Visibility: 1 / fall}} {
			o := camera.OutdoorsOf(&l, height, w)
			if o.Depth > 0.03 {
				continue
			}
			if o.Depth == 0 {
				assert.Zero(t, o.Air, "%+v", w)
				continue
			}
			found++
			assert.InDeltaSlice(t, thin.Air[:], o.Air[:], 0.05, "%+v", w)
			assert.InDeltaSlice(t, thin.AirAbove[:], o.AirAbove[:], 0.05, "%+v", w)
		}
	}
	assert.Greater(t, found, 5)
}
