package weather

import "math"

// threshold is the contrast at which an object is just seen, by which the World Meteorological Organization
// defines the meteorological optical range. (Older visibilities are those of 2 %.)
const threshold = 0.05

// Extinction returns what all of the weather takes from light, per metre. It is the same for eyes and for lidars
// at 905 and 1550 nm: drops are larger than the waves (Mie's theory gives fog 3 % more at 1550 nm). Haze's are not. It
// takes less from infrared light (Kruse 1962: at a visibility of 2 km 0.7 and 0.5 times as much at 905 and 1550 nm), which isn't simulated.
//
// Visibility is how far one sees all in all. So fog takes what is left after rain and snow. If these take more by
// themselves, theirs is the lower visibility, and holds.
func (s State) Extinction() float64 {
	return s.FogExtinction() + s.RainExtinction() + s.SnowExtinction()
}

// OpticalRange returns the meteorological optical range of all of the weather, metres; +Inf if nothing limits it.
func (s State) OpticalRange() float64 { return -math.Log(threshold) / s.Extinction() }

// pureAir is the visibility, metres, from which something in the air counts as nothing: the molecules of pure air by themselves
// leave 260 km at 550 nm (Rayleigh).
const pureAir = 300e3

// FogExtinction returns fog's and haze's share of Extinction: ln(20)/Visibility (Koschmieder 1924), less what rain and
// snow take. A Visibility of 300 km or more counts as none: air without anything in it has less.
func (s State) FogExtinction() float64 {
	if s.Visibility == 0 || s.Visibility >= pureAir {
		return 0
	}
	return max(0, -math.Log(threshold)/s.Visibility-s.RainExtinction()-s.SnowExtinction())
}

// lidarRatio is fog's extinction over its backscatter, sr, of droplets at 905 nm (O'Connor et al. 2004: 18.8 ± 0.8).
const lidarRatio = 18.8

// FogBackscatter returns what fog sends back to a lidar, per metre and steradian.
func (s State) FogBackscatter() float64 { return s.FogExtinction() / lidarRatio }

// RainExtinction returns rain's share of Extinction, that of RainDrops: 0.365e-3 Rain^0.63.
func (s State) RainExtinction() float64 { return s.RainDrops().extinction() }

// SnowExtinction returns the share of Extinction of falling snow, that of SnowFlakes: 3.0e-3 Snow^0.41.
func (s State) SnowExtinction() float64 { return s.SnowFlakes().extinction() }

// Sizes are how many particles of which size the air has: N0 exp(-Lambda D) for a diameter D in millimetres. N0 is per
// cubic metre and millimetre, Lambda per millimetre. Both are 0 if there are no particles.
type Sizes struct{ N0, Lambda float64 }

// RainDrops returns the sizes of rain's drops (Marshall and Palmer 1948). In drizzle real drops are smaller and more.
// Drops that let one see 300 km, which are those of less than 0.0033 mm/h, count as none.
func (s State) RainDrops() Sizes { return Sizes{8000, 4.1 * math.Pow(s.Rain, -0.21)}.orNone() }

// flakeWidth is how much wider a flake of snow of 0.1 g/cm³ is than the drop that it melts to: the cube root of 10.
var flakeWidth = math.Cbrt(10)

// SnowFlakes returns the sizes of snow's flakes, by their own diameters. Sekhon and Srivastava (1970) have them by those
// of the drops that they melt to. Flakes that let one see 300 km, which are those of less than 1e-6 mm/h, count as none.
func (s State) SnowFlakes() Sizes {
	return Sizes{2500 * math.Pow(s.Snow, -0.94) / flakeWidth, 2.29 * math.Pow(s.Snow, -0.45) / flakeWidth}.orNone()
}

// orNone returns no particles in place of those that take less from light than pure air, or that are none.
func (n Sizes) orNone() Sizes {
	if n.extinction() > -math.Log(threshold)/pureAir {
		return n
	}
	return Sizes{}
}

// Above returns how many particles of more than a diameter in millimetres a cubic metre has.
func (n Sizes) Above(diameter float64) float64 {
	if n.Lambda == 0 {
		return 0
	}
	return n.N0 / n.Lambda * math.Exp(-n.Lambda*diameter)
}

// extinction returns what the particles take from light, per metre. Each takes twice its cross-section, by its shadow and by
// diffraction (Q = 2), and the integral of π/2 D² N(D) is π N0/Lambda³, in mm² per m³.
func (n Sizes) extinction() float64 {
	if n.Lambda == 0 {
		return 0
	}
	return 1e-6 * math.Pi * n.N0 / (n.Lambda * n.Lambda * n.Lambda)
}

// closedDepth is the depth of a closed film of water, mm: beyond it the ground's own roughness is covered (Hahner et
// al. 2022).
const closedDepth = 1.2

// WaterDepth returns the depth of the water on flat ground, mm.
func (s State) WaterDepth() float64 { return closedDepth * s.Wetness }

// SnowCover returns the share of flat ground that lies under snow. It is all from 1 mm/h on, and in proportion
// below, which is assumed: a weather doesn't know for how long it has snowed. Snow that counts as none in the air covers nothing.
func (s State) SnowCover() float64 {
	if s.SnowExtinction() == 0 {
		return 0
	}
	return min(1, s.Snow)
}
