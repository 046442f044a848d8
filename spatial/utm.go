package spatial

import (
	"fmt"
	"math"
	"math/cmplx"
	"slices"
	"strconv"
	"strings"

	"github.com/go-gl/mathgl/mgl64"
)

// UTM's constants (DMA TM 8358.2, section 2-2): the scale on the central meridian
// and the false coordinates, metres.
const (
	utmScale           = 0.9996
	utmFalseEasting    = 500_000
	utmFalseNorthSouth = 10_000_000 // in the southern hemisphere
)

// UTMZone is one of the sixty zones of the Universal Transverse Mercator projection, on WGS84.
// Its zero value stands for none.
//
// ETRS89 is taken for WGS84: their ellipsoids differ by 0.1 mm. Coordinates of a map in ETRS89
// give latitudes and longitudes in ETRS89. They are less than a metre from WGS84's, since
// Europe drifts by 2.5 cm a year.
type UTMZone struct {
	Number int // 1..60
	// South zones count northing from 10,000 km south of the equator.
	South bool
}

// UTMZoneOf returns the zone of a place (DMA TM 8358.2, section 2-1). Zone 32 is wider at the
// coast of Norway, and Svalbard has only the zones 31, 33, 35 and 37.
func UTMZoneOf(p Geodetic) UTMZone {
	east := math.Mod(math.Mod(p.Longitude+180, 360)+360, 360)
	zone := UTMZone{Number: min(int(east/6)+1, 60), South: p.Latitude < 0}
	switch longitude := east - 180; {
	case p.Latitude >= 56 && p.Latitude < 64 && longitude >= 3 && longitude < 12:
		zone.Number = 32
	case p.Latitude >= 72 && p.Latitude <= 84 && longitude >= 0 && longitude < 42:
		zone.Number = 31 + 2*int((longitude+3)/12)
	}
	return zone
}

// utmForms says how a zone is written, for errors.
const utmForms = "want a zone of UTM: utm32n, utm56s, EPSG:32632 or another of EPSG:326.., 327.. and 258.., or its PROJ text +proj=utm +zone=32"

// ParseUTMZone reads a zone: utm32n or utm56s, its EPSG code with or without EPSG: before it, or
// PROJ's text +proj=utm +zone=32. The codes are 32601 to 32660 and 32701 to 32760 of WGS84, and
// 25828 to 25838 of ETRS89.
func ParseUTMZone(text string) (UTMZone, error) {
	word := strings.ToLower(strings.TrimSpace(text))
	if strings.HasPrefix(word, "+") {
		return parsePROJ(text, strings.Fields(word))
	}
	zone := UTMZone{}
	if digits, ok := strings.CutPrefix(word, "utm"); ok {
		north, isNorth := strings.CutSuffix(digits, "n")
		south, isSouth := strings.CutSuffix(digits, "s")
		if !isNorth {
			north = south
		}
		if isNorth || isSouth {
			zone = UTMZone{Number: number(north), South: isSouth}
		}
	} else {
		zone = epsgZone(number(strings.TrimPrefix(word, "epsg:")))
	}
	if zone.Number < 1 || zone.Number > 60 {
		return UTMZone{}, fmt.Errorf("projection %q: %s", text, utmForms)
	}
	return zone, nil
}

// number reads digits alone; all else is -1.
func number(digits string) int {
	n, err := strconv.ParseUint(digits, 10, 16)
	if err != nil {
		return -1
	}
	return int(n)
}

// epsgZone is the zone that an EPSG code stands for, the zero value if none.
func epsgZone(code int) UTMZone {
	zone := code % 100
	switch code / 100 {
	case 326:
		return UTMZone{Number: zone}
	case 327:
		return UTMZone{Number: zone, South: true}
	case 258:
		if zone >= 28 && zone <= 38 {
			return UTMZone{Number: zone}
		}
	}
	return UTMZone{}
}

// parsePROJ reads the words of a PROJ text. It refuses those that it doesn't know, since they
// might move the map.
func parsePROJ(text string, words []string) (zone UTMZone, err error) {
	var projection string
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		known := true
		switch key {
		case "+proj":
			projection = value
		case "+zone":
			zone.Number = number(value)
		case "+south":
			zone.South = true
		case "+ellps", "+datum":
			known = slices.Contains([]string{"wgs84", "grs80", "etrs89"}, value)
		case "+units":
			known = value == "m"
		case "+towgs84":
			known = strings.Trim(value, "0.,") == ""
		case "+lat_0", "+lon_0", "+no_defs", "+wktext", "+type", "+vunits", "+geoidgrids": // of no meaning to easting and northing
		default:
			known = false
		}
		if !known {
			return UTMZone{}, fmt.Errorf("projection %q: %s isn't understood: %s", text, word, utmForms)
		}
	}
	if projection != "utm" || zone.Number < 1 || zone.Number > 60 {
		return UTMZone{}, fmt.Errorf("projection %q: %s", text, utmForms)
	}
	return zone, nil
}

// UnmarshalText is ParseUTMZone.
func (z *UTMZone) UnmarshalText(text []byte) (err error) {
	*z, err = ParseUTMZone(string(text))
	return err
}

// String returns the zone as ParseUTMZone reads it, such as utm32n.
func (z UTMZone) String() string {
	if z.South {
		return fmt.Sprintf("utm%ds", z.Number)
	}
	return fmt.Sprintf("utm%dn", z.Number)
}

// centralMeridian is its longitude, degrees.
func (z UTMZone) centralMeridian() float64 { return float64(6*z.Number - 183) }

// Project returns a place's easting and northing in the zone, metres. It does so also where the
// place lies beyond the zone's limits: a map that crosses them stays in one zone. Krüger's
// series to the fourth order (Karney, Transverse Mercator with an accuracy of a few nanometers,
// J. Geodesy 85, 2011, equations 7 to 11 and 35): exact to a micrometre in the zone.
func (z UTMZone) Project(p Geodetic) (easting, northing float64) {
	sphere, _, _ := z.conformal(p)
	plane := sphere
	for j, alpha := range krueger {
		plane += complex(alpha, 0) * cmplx.Sin(complex(2*float64(j+1), 0)*sphere)
	}
	easting = utmFalseEasting + utmScale*rectifyingRadius*imag(plane)
	northing = utmScale * rectifyingRadius * real(plane)
	if z.South {
		northing += utmFalseNorthSouth
	}
	return easting, northing
}

// Unproject returns the place of an easting and a northing in the zone, metres, at height 0. It
// undoes Project (Karney 2011, equations 15 to 21 and 36).
func (z UTMZone) Unproject(easting, northing float64) Geodetic {
	if z.South {
		northing -= utmFalseNorthSouth
	}
	plane := complex(northing, easting-utmFalseEasting) / (utmScale * rectifyingRadius)
	sphere := plane
	for j, beta := range kruegerBack {
		sphere -= complex(beta, 0) * cmplx.Sin(complex(2*float64(j+1), 0)*plane)
	}
	sin, cos := math.Sincos(real(sphere))
	sinh := math.Sinh(imag(sphere))
	longitude := z.centralMeridian() + mgl64.RadToDeg(math.Atan2(sinh, cos))
	return Geodetic{
		Latitude:  mgl64.RadToDeg(geodeticLatitude(sin / math.Hypot(sinh, cos))),
		Longitude: math.Remainder(longitude, 360),
	}
}

// Convergence returns the angle at a place from true north to the grid's north, the direction of
// growing northing, radians. It is positive clockwise: east of the central meridian in the
// northern hemisphere (Karney 2011, equations 23 to 26).
func (z UTMZone) Convergence(p Geodetic) float64 {
	sphere, tau, lambda := z.conformal(p)
	turn := complex(1, 0)
	for j, alpha := range krueger {
		k := complex(2*float64(j+1), 0)
		turn += k * complex(alpha, 0) * cmplx.Cos(k*sphere)
	}
	sin, cos := math.Sincos(lambda)
	return math.Atan2(tau/math.Hypot(1, tau)*sin, cos) - cmplx.Phase(turn)
}

// conformal returns the place on the sphere's transverse Mercator projection, north + i east. It
// has the tangent of the conformal latitude and the longitude from the central meridian, radians,
// beside it.
func (z UTMZone) conformal(p Geodetic) (sphere complex128, tau, lambda float64) {
	lambda = mgl64.DegToRad(math.Remainder(p.Longitude-z.centralMeridian(), 360))
	sin, cos := math.Sincos(lambda)
	tau = conformalTangent(math.Tan(mgl64.DegToRad(p.Latitude)))
	return complex(math.Atan2(tau, cos), math.Asinh(sin/math.Hypot(tau, cos))), tau, lambda
}

// conformalTangent returns the tangent of the conformal latitude of a latitude whose tangent is tau.
func conformalTangent(tau float64) float64 {
	e := math.Sqrt(eccentricity2)
	sigma := math.Sinh(e * math.Atanh(e*tau/math.Hypot(1, tau)))
	return tau*math.Hypot(1, sigma) - sigma*math.Hypot(1, tau)
}

// geodeticLatitude returns the latitude, radians, of which conformalTangent is given. Newton's
// method doubles the digits in each round (Karney 2011, equations 19 to 21).
func geodeticLatitude(conformal float64) float64 {
	tau := conformal / (1 - eccentricity2)
	for range 5 {
		at := conformalTangent(tau)
		slope := (1 + (1-eccentricity2)*tau*tau) / ((1 - eccentricity2) * math.Hypot(1, tau))
		tau += (conformal - at) / math.Hypot(1, at) * slope
	}
	return math.Atan(tau)
}

const (
	third  = flattening / (2 - flattening) // third flattening
	third2 = third * third
	// rectifyingRadius times pi/2 is the length of a quarter meridian.
	rectifyingRadius = semiMajor / (1 + third) * (1 + third2/4 + third2*third2/64)
)

// krueger has the coefficients of the series from the sphere to the plane, kruegerBack of the way
// back.
var (
	krueger = [4]float64{
		third/2 - third2*2/3 + third2*third*5/16 + third2*third2*41/180,
		third2*13/48 - third2*third*3/5 + third2*third2*557/1440,
		third2*third*61/240 - third2*third2*103/140,
		third2 * third2 * 49561 / 161280,
	}
	kruegerBack = [4]float64{
		third/2 - third2*2/3 + third2*third*37/96 - third2*third2/360,
		third2/48 + third2*third/15 - third2*third2*437/1440,
		third2*third*17/480 - third2*third2*37/840,
		third2 * third2 * 4397 / 161280,
	}
)
