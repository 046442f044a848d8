package camera

import (
	"math"

	"github.com/go-gl/mathgl/mgl32"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/weather"
)

// shown is how pictures of light show the weather.
var shown = sensors.Felt{
	Visibility: faded, Rain: faded, Snow: faded + ", white ground", Wetness: "darker ground that mirrors the sky", Cloud: "whiter light without shadows, dimmer in `exposure_mode` manual",
}

const faded = "distance fades"

// airDepth is how high the air stands that a weather fills, metres, which is assumed. Fog lies some hundred metres
// deep. At this depth it leaves no shadow in a visibility of 200 m.
const airDepth = 300.0

// snowAlbedo is that of fresh snow, from 0.8 to 0.9 (Wiscombe and Warren 1980).
const snowAlbedo = 0.85

// overcastHorizon is how bright an overcast sky's horizon is beside its mean, which is weighted by the cosine: a third
// of its zenith (Moon and Spencer 1942, the CIE's standard overcast sky).
const overcastHorizon = 3. / 7

// outdoors is a scene's light in a weather; in clear weather it is the scene's own.
type outdoors struct {
	weather weather.State
	light   scene.Light // at the ground; the sky is that above the air
	around  mgl32.Vec3  // as scene.Light's
	// beyond is the sun above the air. Air is what endless air shows towards the horizon, and airAbove upwards.
	beyond, air, airAbove mgl32.Vec3
	extinction, depth     float64 // per metre; and of the way straight up
	left                  float32 // share of the clear light that reaches the ground, which a meter finds
}

// felt tells whether pictures show a weather: they don't show wind, and nothing in the air that takes nothing.
func felt(w weather.State) bool {
	return w.Extinction() > 0 || w.Wetness > 0 || w.SnowCover() > 0 || w.Cloud > 0
}

// in returns the light in a weather. GL thread.
func (s *sunlight) in(w weather.State) *outdoors {
	if s.outdoors.weather != w {
		s.outdoors = outdoorsOf(&s.light, math.Max(s.toSun[2], 0), w)
	}
	return &s.outdoors
}

// outdoorsOf finds the light under a sun whose elevation has the sine height. No light is lost in the air: what it takes from the sun
// comes from the sky.
func outdoorsOf(l *scene.Light, height float64, w weather.State) outdoors {
	o := outdoors{weather: w, light: *l, extinction: w.Extinction()}
	o.depth = airDepth * o.extinction
	all, direct := cloudy(w.Cloud)
	o.left = all
	if height > 0 {
		o.beyond = l.SunColor.Mul(direct)
	}
	ofSun := func(c mgl32.Vec3) mgl32.Vec3 { return c.Mul(float32(height / math.Pi)) } // irradiance of the ground, over pi
	sun, sky := ofSun(l.SunColor), skyMean(l)
	full := sun.Add(sky).Mul(all)
	o.light.SunColor = o.beyond.Mul(float32(math.Exp(-o.depth / math.Max(height, 1e-6))))

	// Above the air: what the clouds leave of the clear sky, and theirs.
	clear := float32(1 - w.Cloud)
	horizon, zenith := overcast(full.Sub(ofSun(o.beyond)).Sub(sky.Mul(clear)))
	o.light.SkyHorizon = l.SkyHorizon.Mul(clear).Add(horizon)
	o.light.SkyZenith = l.SkyZenith.Mul(clear).Add(zenith)

	o.around = greyed(full.Sub(ofSun(o.light.SunColor))) // by what comes from the sky, below the air
	if o.depth > 0 {
		o.air, o.airAbove = o.filled(height)
	}
	o.light.Ground = l.Ground.Mul(all)
	snow := float32(w.SnowCover())
	o.light.Ground = o.light.Ground.Mul(1 - snow).Add(full.Mul(snow * snowAlbedo))
	return o
}

// cloudy returns what clouds that hide a share of the sky leave of all of the light on the ground, and of the sun's own
// (Kasten and Czeplak 1980, from ten years in Hamburg; without clouds their share of the sky's own light is left out).
func cloudy(share float64) (all, direct float32) {
	a := 1 - 0.75*math.Pow(share, 3.4)
	return float32(a), float32(a * (1 - share*share))
}

// overcast returns the ends of an overcast sky of a mean radiance.
func overcast(mean mgl32.Vec3) (horizon, zenith mgl32.Vec3) {
	return mean.Mul(overcastHorizon), mean.Mul((1 - overcastHorizon*horizonShare) / (1 - horizonShare))
}

// filled returns what endless air shows: it hands on all that it takes from the sun and from the sky above, so that no light is
// lost. Both are in proportion to the depth where that is small, and nothing is found as the difference of two lights.
func (o *outdoors) filled(height float64) (horizon, zenith mgl32.Vec3) {
	const steps = 64
	var low, high float64 // what is taken of a gradient's ends, weighted by the cosine
	for i := range steps {
		h := (float64(i) + 0.5) / steps
		weight, rise := -2*h/steps*math.Expm1(-o.depth/h), 1-math.Exp2(-4.5*h)
		low, high = low+weight*(1-rise), high+weight*rise
	}
	sun := -height / math.Pi * math.Expm1(-o.depth/math.Max(height, 1e-6))
	horizon, zenith = overcast(mgl32.Vec3{1, 1, 1})
	own := low*float64(horizon[0]) + high*float64(zenith[0]) // of air that shows 1 on average
	share := func(light mgl32.Vec3, taken float64) mgl32.Vec3 { return light.Mul(float32(taken / own)) }
	return overcast(share(o.beyond, sun).Add(share(o.light.SkyHorizon, low)).Add(share(o.light.SkyZenith, high)))
}

// airBlock is the part of camera_shade.comp's uniform block that is of the weather.
type airBlock struct {
	beyond, air, airAbove [4]float32
	// extinction is per metre, and depth of the way straight up, both as powers of two.
	extinction, depth, wetness, snow float32
}

func (o *outdoors) block() airBlock {
	b := airBlock{
		extinction: float32(o.extinction * math.Log2E), depth: float32(o.depth * math.Log2E),
		wetness: float32(o.weather.Wetness), snow: float32(o.weather.SnowCover()),
	}
	copy(b.beyond[:], o.beyond[:])
	copy(b.air[:], o.air[:])
	copy(b.airAbove[:], o.airAbove[:])
	return b
}
