package picture

import (
	"image/color"
	"math"
)

// Ramp is a scale of colours for a value from 0 to 1.
type Ramp [256]color.RGBA

// newRamp spreads colours evenly and mixes between them.
func newRamp(stops ...color.RGBA) *Ramp {
	var r Ramp
	for i := range r {
		at := float64(i) / 255 * float64(len(stops)-1)
		k := min(int(at), len(stops)-2)
		a, b, t := stops[k], stops[k+1], at-float64(k)
		mix := func(x, y uint8) uint8 { return uint8(math.Round(float64(x)*(1-t) + float64(y)*t)) }
		r[i] = color.RGBA{mix(a.R, b.R), mix(a.G, b.G), mix(a.B, b.B), 255}
	}
	return &r
}

// At returns the colour of a value; values beyond the ends have the ends'.
func (r *Ramp) At(value float64) color.RGBA {
	return r[max(0, min(255, int(value*256)))]
}

// Scales for clouds and depth.
var (
	// HeightRamp goes from the ground's blue to the roofs' red.
	HeightRamp = newRamp(
		color.RGBA{0x34, 0x4b, 0xb8, 255}, color.RGBA{0x2c, 0x8f, 0xdd, 255}, color.RGBA{0x2c, 0xc6, 0xb8, 255},
		color.RGBA{0x8a, 0xd9, 0x4e, 255}, color.RGBA{0xf3, 0xd0, 0x3c, 255}, color.RGBA{0xf0, 0x7b, 0x32, 255},
		color.RGBA{0xdc, 0x3f, 0x48, 255},
	)
	// IntensityRamp goes from dull to bright.
	IntensityRamp = newRamp(
		color.RGBA{0x46, 0x32, 0x8c, 255}, color.RGBA{0x8c, 0x36, 0x97, 255}, color.RGBA{0xd0, 0x47, 0x77, 255},
		color.RGBA{0xf3, 0x82, 0x53, 255}, color.RGBA{0xfb, 0xcf, 0x62, 255}, color.RGBA{0xfd, 0xfb, 0xd6, 255},
	)
	// DepthRamp goes from near, warm and bright, to far, dark.
	DepthRamp = newRamp(
		color.RGBA{0xfd, 0xee, 0xa8, 255}, color.RGBA{0xf6, 0xb0, 0x5b, 255}, color.RGBA{0xe0, 0x6a, 0x5c, 255},
		color.RGBA{0x9b, 0x45, 0x86, 255}, color.RGBA{0x51, 0x38, 0x86, 255}, color.RGBA{0x1c, 0x23, 0x4d, 255},
	)
)

// IDColor gives neighbouring ids hues far apart (the golden ratio's multiples,
// which spread evenly for any count); 0 is black.
func IDColor(id uint32) color.RGBA {
	if id == 0 {
		return color.RGBA{A: 255}
	}
	rgb := hue(math.Mod(float64(id)*0.6180339887498949, 1))
	value := 0.65 + 0.35*math.Mod(float64(id)*0.7548776662466927, 1)
	for i, x := range rgb {
		rgb[i] = value * (0.15 + 0.85*x) * 255
	}
	return color.RGBA{uint8(rgb[0]), uint8(rgb[1]), uint8(rgb[2]), 255}
}

// hue returns the pure colour of a place on the colour wheel, 0..1 from red over green.
func hue(turn float64) [3]float64 {
	h := 6 * turn
	rgb := [3]float64{math.Abs(h-3) - 1, 2 - math.Abs(h-2), 2 - math.Abs(h-4)}
	for i, x := range rgb {
		rgb[i] = max(0, min(1, x))
	}
	return rgb
}
