package camera

import (
	"math"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/sensors"
)

// usual are CARLA's defaults of what shows light, at which it is shown by tone_curve and sRGB.
var usual = sensors.DefaultsOf[Light]()

// gain returns what the options multiply the scene's exposure by. In exposure_mode manual that
// is the light that the film gets, relative to CARLA's default settings, over the meter's
// calibration constant. The light is that of ISO 2720: iso times the time over the square of
// the f-number.
func (p *Light) gain() float64 {
	gain := math.Exp2(p.ExposureCompensation)
	if p.ExposureMode == "manual" {
		stop := p.FStop / usual.FStop
		gain *= p.ISO / usual.ISO * usual.ShutterSpeed / p.ShutterSpeed / (stop * stop) *
			usual.CalibrationConstant / p.CalibrationConstant
	}
	return gain
}

// film is the shape of Unreal Engine's film curve, by its names.
type film struct{ slope, toe, shoulder, blackClip, whiteClip float64 }

// grade is how light is shown where that differs from tone curve and sRGB.
type grade struct {
	linear            bool // neither curve nor sRGB
	gamma             float64
	temperature, tint float64
	film              film
	curve             bool // tone_curve is filmic
}

func (p *Light) grade() grade {
	return grade{
		linear: !*p.Postprocess, gamma: p.Gamma, temperature: p.Temperature, tint: p.Tint,
		film:  film{*p.Slope, *p.Toe, *p.Shoulder, p.BlackClip, *p.WhiteClip},
		curve: p.ToneCurve == "filmic",
	}
}

// usualGrade is that of CARLA's defaults; its film curve is close to the tone curve filmic.
var usualGrade = usual.grade()

// active reports whether light is shown otherwise than by tone curve and sRGB.
func (g *grade) active() bool {
	return g.linear || g.films() || g.balances() || g.gamma != usual.Gamma
}

// films reports whether the film curve is shown in place of the tone curve.
func (g *grade) films() bool { return g.curve && g.film != usualGrade.film }

func (g *grade) balances() bool { return g.temperature != usual.Temperature || g.tint != 0 }

// how returns the bits for the shader.
func (g *grade) how() (bits uint32) {
	if g.linear {
		return howLinear
	}
	if g.films() {
		bits |= howFilmCurve
	}
	return bits
}

// gradeBlock is lib/grade.glsl's Grade (std140).
type gradeBlock struct {
	balance                                    [3][4]float32
	slope, toe, shoulder, gamma                float32
	straight, toeEnd, shoulderStart, blackClip float32
	whiteClip                                  float32
	_                                          [3]float32
}

// block returns the numbers of the film curve (Unreal Engine's FilmToneMap, without the ACES
// colour space around it). It is a line of the given slope in log10 of light. Its ends are
// sigmoids, whose heights are 1 + black_clip - toe for the toe and 1 + white_clip - shoulder
// for the shoulder. The line is laid so that 0.18 stays 0.18.
func (g *grade) block() gradeBlock {
	const grey, least = 0.18, 1e-3
	f := g.film
	f.slope = max(f.slope, least)
	toe, shoulder := max(1+f.blackClip-f.toe, least), max(1+f.whiteClip-f.shoulder, least)
	toeEnd := math.Log10(grey)
	if f.toe > 0.8 {
		toeEnd += (1 - f.toe - grey) / f.slope
	} else {
		b := (grey+f.blackClip)/toe - 1
		toeEnd -= 0.5 * math.Log((1+b)/(1-b)) * toe / f.slope
	}
	straight := (1-f.toe)/f.slope - toeEnd
	b := gradeBlock{
		slope: float32(f.slope), toe: float32(toe), shoulder: float32(shoulder), gamma: float32(usual.Gamma / g.gamma),
		straight: float32(straight), toeEnd: float32(toeEnd), shoulderStart: float32(f.shoulder/f.slope - straight),
		blackClip: float32(f.blackClip), whiteClip: float32(f.whiteClip),
	}
	balance := mgl64.Ident3()
	if g.balances() && !g.linear {
		balance = whiteBalance(g.temperature, g.tint)
	}
	for i := range 3 {
		b.balance[i] = vec4of(balance.Row(i))
	}
	return b
}

// whiteBalance returns the matrix on linear sRGB colours that makes white of what is white
// under a light of a temperature in kelvin. The light is daylight, and a black body below 4000
// K. Tint moves the light along its isotherm: above 0 it is greener, and the picture pinker.
// Colours adapt by Bradford's cone responses to sRGB's white, D65.
func whiteBalance(temperature, tint float64) mgl64.Mat3 {
	from := daylightLocus(temperature)
	body := blackBody(temperature, 0)
	if temperature < 4000 {
		from = body
	}
	from = from.Add(blackBody(temperature, tint).Sub(body))
	cones := bradford.Mul3x1(whiteOf(mgl64.Vec2{0.3127, 0.3290}))
	was := bradford.Mul3x1(whiteOf(from))
	adapt := mgl64.Diag3(mgl64.Vec3{cones[0] / was[0], cones[1] / was[1], cones[2] / was[2]})
	inXYZ := bradford.Inv().Mul3(adapt).Mul3(bradford)
	return srgbToXYZ.Inv().Mul3(inXYZ).Mul3(srgbToXYZ)
}

var (
	bradford = mgl64.Mat3FromRows(
		mgl64.Vec3{0.8951, 0.2664, -0.1614}, mgl64.Vec3{-0.7502, 1.7135, 0.0367}, mgl64.Vec3{0.0389, -0.0685, 1.0296})
	srgbToXYZ = mgl64.Mat3FromRows( // IEC 61966-2-1
		mgl64.Vec3{0.4124, 0.3576, 0.1805}, mgl64.Vec3{0.2126, 0.7152, 0.0722}, mgl64.Vec3{0.0193, 0.1192, 0.9505})
)

// whiteOf returns the XYZ colour of a chromaticity at Y = 1.
func whiteOf(xy mgl64.Vec2) mgl64.Vec3 {
	return mgl64.Vec3{xy[0] / xy[1], 1, (1 - xy[0] - xy[1]) / xy[1]}
}

// daylightLocus returns the chromaticity of the CIE's D illuminants (CIE 15), whose
// temperatures are by the radiation constant of their time.
func daylightLocus(kelvin float64) mgl64.Vec2 {
	t := kelvin * 1.4388 / 1.438
	x := 0.244063 + 0.09911e3/t + 2.9678e6/(t*t) - 4.6070e9/(t*t*t)
	if t > 7000 {
		x = 0.237040 + 0.24748e3/t + 1.9018e6/(t*t) - 2.0064e9/(t*t*t)
	}
	return mgl64.Vec2{x, -3*x*x + 2.87*x - 0.275}
}

// blackBody returns the chromaticity of a black body (M. Krystek, An algorithm to
// calculate correlated colour temperature, 1985), moved by tint / 20 across the locus
// in the CIE 1960 diagram.
func blackBody(kelvin, tint float64) mgl64.Vec2 {
	at := func(t float64) mgl64.Vec2 {
		return mgl64.Vec2{
			(0.860117757 + 1.54118254e-4*t + 1.28641212e-7*t*t) / (1 + 8.42420235e-4*t + 7.08145163e-7*t*t),
			(0.317398726 + 4.22806245e-5*t + 4.20481691e-8*t*t) / (1 - 2.89741816e-5*t + 1.61456053e-7*t*t),
		}
	}
	p := at(kelvin)
	along := at(kelvin + 1).Sub(at(kelvin - 1)).Normalize()
	p = p.Add(mgl64.Vec2{along[1], -along[0]}.Mul(0.05 * tint)) // the light is greener, so white is pinker
	k := 2*p[0] - 8*p[1] + 4
	return mgl64.Vec2{3 * p[0] / k, 2 * p[1] / k}
}
