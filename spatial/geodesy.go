package spatial

import (
	"math"

	"github.com/go-gl/mathgl/mgl64"
)

// WGS84's ellipsoid (NIMA TR8350.2, table 3.1): semi-major axis in metres, flattening.
const (
	semiMajor  = 6378137.0
	flattening = 1 / 298.257223563
	// eccentricity2 is the first eccentricity squared.
	eccentricity2 = flattening * (2 - flattening)
)

// Geodetic is a place in geodetic coordinates on WGS84. Latitude and Longitude are in degrees,
// positive to the north and east, Altitude in metres above the ellipsoid.
type Geodetic struct {
	Latitude, Longitude, Altitude float64
}

// ECEF returns the position in earth-centred, earth-fixed metres.
func (p Geodetic) ECEF() mgl64.Vec3 {
	sinLat, cosLat := math.Sincos(mgl64.DegToRad(p.Latitude))
	sinLon, cosLon := math.Sincos(mgl64.DegToRad(p.Longitude))
	_, n := RadiiOfCurvature(p.Latitude)
	return mgl64.Vec3{
		(n + p.Altitude) * cosLat * cosLon,
		(n + p.Altitude) * cosLat * sinLon,
		(n*(1-eccentricity2) + p.Altitude) * sinLat,
	}
}

// GeodeticFromECEF returns the geodetic coordinates of a point in earth-centred,
// earth-fixed metres. It iterates Bowring's formula (Survey Review 23, 1976), which
// converges to under 1e-9 degrees near the surface in a few steps.
func GeodeticFromECEF(p mgl64.Vec3) Geodetic {
	rho := math.Hypot(p[0], p[1])
	const ratio = 1 - flattening
	const second2 = eccentricity2 / (ratio * ratio)
	beta := math.Atan2(p[2], ratio*rho)
	var lat float64
	for range 5 {
		sinB, cosB := math.Sincos(beta)
		lat = math.Atan2(p[2]+second2*ratio*semiMajor*sinB*sinB*sinB, rho-eccentricity2*semiMajor*cosB*cosB*cosB)
		beta = math.Atan2(ratio*math.Sin(lat), math.Cos(lat))
	}
	sinLat, cosLat := math.Sincos(lat)
	latitude := mgl64.RadToDeg(lat)
	_, n := RadiiOfCurvature(latitude)
	return Geodetic{
		Latitude:  latitude,
		Longitude: mgl64.RadToDeg(math.Atan2(p[1], p[0])),
		// The projection on the normal stays exact at the poles, unlike rho/cos(lat).
		Altitude: rho*cosLat + p[2]*sinLat - semiMajor*semiMajor/n,
	}
}

// RadiiOfCurvature returns the ellipsoid's radii of curvature at a latitude in
// degrees, metres: along the meridian and across it (in the prime vertical).
func RadiiOfCurvature(latitude float64) (meridian, primeVertical float64) {
	sin := math.Sin(mgl64.DegToRad(latitude))
	w := 1 - eccentricity2*sin*sin
	primeVertical = semiMajor / math.Sqrt(w)
	return primeVertical * (1 - eccentricity2) / w, primeVertical
}

// TangentPlane is the east-north-up frame at a point of the earth: the map frame
// of REP-105, x east, y north, z up, metres.
type TangentPlane struct {
	origin mgl64.Vec3 // earth-centred, earth-fixed metres
	toECEF mgl64.Mat3 // columns: east, north, up
}

// NewTangentPlane returns the frame with its origin there.
func NewTangentPlane(origin Geodetic) TangentPlane {
	sinLat, cosLat := math.Sincos(mgl64.DegToRad(origin.Latitude))
	sinLon, cosLon := math.Sincos(mgl64.DegToRad(origin.Longitude))
	return TangentPlane{
		origin: origin.ECEF(),
		toECEF: mgl64.Mat3FromCols(
			mgl64.Vec3{-sinLon, cosLon, 0},
			mgl64.Vec3{-sinLat * cosLon, -sinLat * sinLon, cosLat},
			mgl64.Vec3{cosLat * cosLon, cosLat * sinLon, sinLat},
		),
	}
}

// Geodetic returns where a point of the frame is on the earth. The plane doesn't
// follow the earth's curvature: a kilometre away its z = 0 is 8 cm above it.
func (t TangentPlane) Geodetic(enu mgl64.Vec3) Geodetic {
	return GeodeticFromECEF(t.origin.Add(t.toECEF.Mul3x1(enu)))
}

// ENU returns where a place of the earth is in the frame; it undoes Geodetic.
func (t TangentPlane) ENU(p Geodetic) mgl64.Vec3 {
	return t.toECEF.Transpose().Mul3x1(p.ECEF().Sub(t.origin))
}
