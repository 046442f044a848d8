package gnss

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

// tangentPlane is the east-north-up frame at a point of the ellipsoid: the map
// frame of REP-105.
type tangentPlane struct {
	origin mgl64.Vec3 // earth-centred, earth-fixed metres
	toECEF mgl64.Mat3 // columns: east, north, up
}

// newTangentPlane takes degrees and metres above the ellipsoid.
func newTangentPlane(latitude, longitude, altitude float64) tangentPlane {
	sinLat, cosLat := math.Sincos(mgl64.DegToRad(latitude))
	sinLon, cosLon := math.Sincos(mgl64.DegToRad(longitude))
	return tangentPlane{
		origin: ecef(latitude, longitude, altitude),
		toECEF: mgl64.Mat3FromCols(
			mgl64.Vec3{-sinLon, cosLon, 0},
			mgl64.Vec3{-sinLat * cosLon, -sinLat * sinLon, cosLat},
			mgl64.Vec3{cosLat * cosLon, cosLat * sinLon, sinLat},
		),
	}
}

// ecef converts geodetic degrees and metres to earth-centred metres.
func ecef(latitude, longitude, altitude float64) mgl64.Vec3 {
	sinLat, cosLat := math.Sincos(mgl64.DegToRad(latitude))
	sinLon, cosLon := math.Sincos(mgl64.DegToRad(longitude))
	n := semiMajor / math.Sqrt(1-eccentricity2*sinLat*sinLat)
	return mgl64.Vec3{
		(n + altitude) * cosLat * cosLon,
		(n + altitude) * cosLat * sinLon,
		(n*(1-eccentricity2) + altitude) * sinLat,
	}
}

// geodetic returns the latitude and longitude in degrees and the altitude in
// metres of a point in the tangent plane's east-north-up metres. It iterates
// Bowring's formula (Survey Review 23, 1976), which converges to under 1e-9
// degrees near the surface in a few steps.
func (t tangentPlane) geodetic(enu mgl64.Vec3) (latitude, longitude, altitude float64) {
	p := t.origin.Add(t.toECEF.Mul3x1(enu))
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
	n := semiMajor / math.Sqrt(1-eccentricity2*sinLat*sinLat)
	// The projection on the normal stays exact at the poles, unlike rho/cos(lat).
	altitude = rho*cosLat + p[2]*sinLat - semiMajor*semiMajor/n
	return mgl64.RadToDeg(lat), mgl64.RadToDeg(math.Atan2(p[1], p[0])), altitude
}
