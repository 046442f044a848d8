package geodesy

import (
	"math"

	"github.com/go-gl/mathgl/mgl64"
)

// UTM's constants (DMA TM 8358.2, section 2-2): the scale on the central meridian
// and the false coordinates, metres.
const (
	utmScale           = 0.9996
	utmFalseEasting    = 500_000
	utmFalseNorthSouth = 10_000_000 // in the southern hemisphere
)

// UTMZone is one of the sixty zones of the Universal Transverse Mercator projection.
type UTMZone struct {
	Number int // 1..60
	// South zones count northing from 10,000 km south of the equator.
	South bool
}

// UTMZoneOf returns the zone of a place by its longitude alone, without the
// exceptions around Norway and Svalbard.
func UTMZoneOf(p Position) UTMZone {
	east := math.Mod(math.Mod(p.Longitude+180, 360)+360, 360)
	return UTMZone{Number: min(int(east/6)+1, 60), South: p.Latitude < 0}
}

// Project returns a place's easting and northing in the zone, metres, also where
// the place lies beyond the zone's limits: a map that crosses them stays in one
// zone. Krüger's series to the fourth order (Karney, Transverse Mercator with an
// accuracy of a few nanometers, J. Geodesy 85, 2011, equations 7 to 11 and 35): exact to
// a micrometre in the zone.
func (z UTMZone) Project(p Position) (easting, northing float64) {
	sinLon, cosLon := math.Sincos(mgl64.DegToRad(p.Longitude - float64(6*z.Number-183)))
	tau := conformalTangent(mgl64.DegToRad(p.Latitude))
	xi := math.Atan2(tau, cosLon)
	eta := math.Asinh(sinLon / math.Hypot(tau, cosLon))
	x, y := eta, xi
	for j, alpha := range krueger {
		sin, cos := math.Sincos(2 * float64(j+1) * xi)
		x += alpha * cos * math.Sinh(2*float64(j+1)*eta)
		y += alpha * sin * math.Cosh(2*float64(j+1)*eta)
	}
	easting = utmFalseEasting + utmScale*rectifyingRadius*x
	northing = utmScale * rectifyingRadius * y
	if z.South {
		northing += utmFalseNorthSouth
	}
	return easting, northing
}

// conformalTangent returns the tangent of the conformal latitude of a latitude in
// radians.
func conformalTangent(latitude float64) float64 {
	e := math.Sqrt(eccentricity2)
	tau := math.Tan(latitude)
	sigma := math.Sinh(e * math.Atanh(e*math.Sin(latitude)))
	return tau*math.Hypot(1, sigma) - sigma*math.Hypot(1, tau)
}

const (
	third  = flattening / (2 - flattening) // third flattening
	third2 = third * third
	// rectifyingRadius times pi/2 is the length of a quarter meridian.
	rectifyingRadius = semiMajor / (1 + third) * (1 + third2/4 + third2*third2/64)
)

// krueger has the series' coefficients.
var krueger = [4]float64{
	third/2 - third2*2/3 + third2*third*5/16 + third2*third2*41/180,
	third2*13/48 - third2*third*3/5 + third2*third2*557/1440,
	third2*third*61/240 - third2*third2*103/140,
	third2 * third2 * 49561 / 161280,
}
