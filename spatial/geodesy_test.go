package spatial_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/spatial"
)

// The examples of GeographicLib's CartConvert(1), which it gives to centimetres, not all of
// them rounded. They are 33.3° N 44.4° E 6000 m, also from the tangent plane at 33° N 44° E 20
// m.
func TestAgainstGeographicLib(t *testing.T) {
	place := spatial.Geodetic{Latitude: 33.3, Longitude: 44.4, Altitude: 6000}
	ecef := place.ECEF()
	assert.InDeltaSlice(t, []float64{3816209.60, 3737108.55, 3485109.57}, ecef[:], 0.01)
	plane := spatial.NewTangentPlane(spatial.Geodetic{Latitude: 33, Longitude: 44, Altitude: 20})
	enu := plane.ENU(place)
	assert.InDeltaSlice(t, []float64{37288.97, 33374.29, 5783.64}, enu[:], 0.01)
	back := plane.Geodetic(mgl64.Vec3{37288.97, 33374.29, 5783.64})
	assert.InDelta(t, place.Latitude, back.Latitude, 1e-7)
	assert.InDelta(t, place.Longitude, back.Longitude, 1e-7)
	assert.InDelta(t, place.Altitude, back.Altitude, 0.01)
}

func TestGeodeticRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 500 {
		want := spatial.Geodetic{
			Latitude: rng.Float64()*178 - 89, Longitude: rng.Float64()*360 - 180, Altitude: rng.Float64()*9000 - 400,
		}
		got := spatial.NewTangentPlane(want).Geodetic(mgl64.Vec3{})
		assert.InDelta(t, want.Latitude, got.Latitude, 1e-9)
		assert.InDelta(t, 0, math.Remainder(want.Longitude-got.Longitude, 360), 1e-9)
		assert.InDelta(t, want.Altitude, got.Altitude, 1e-4)
	}
}

func TestThereAndBackUnderAMillimetre(t *testing.T) {
	plane := spatial.NewTangentPlane(spatial.Geodetic{Latitude: 49.0, Longitude: 8.4, Altitude: 110})
	for _, p := range []mgl64.Vec3{{500, -200, 3}, {0, 1000, 0}, {-2500, 4000, 50}, {80_000, -60_000, 900}} {
		assert.Less(t, plane.ENU(plane.Geodetic(p)).Sub(p).Len(), 1e-3)
	}
}

// At the equator a metre north changes the latitude by 1/M radians, with M = a(1-e²) the
// meridian's radius of curvature there. A metre east changes the longitude by 1/a.
func TestDegreesAgainstRadiiOfCurvature(t *testing.T) {
	const semiMajor, eccentricity2 = 6378137.0, 0.00669437999014
	plane := spatial.NewTangentPlane(spatial.Geodetic{})
	north := plane.Geodetic(mgl64.Vec3{0, 1, 0})
	assert.InDelta(t, mgl64.RadToDeg(1/(semiMajor*(1-eccentricity2))), north.Latitude, 1e-12)
	assert.InDelta(t, 0, north.Longitude, 1e-12)
	east := plane.Geodetic(mgl64.Vec3{1, 0, 0})
	assert.InDelta(t, mgl64.RadToDeg(1/semiMajor), east.Longitude, 1e-12)

	meridian, primeVertical := spatial.RadiiOfCurvature(90)
	assert.InDelta(t, meridian, primeVertical, 1e-6, "the pole is round")
	assert.InDelta(t, 6399593.6258, primeVertical, 1e-3) // a²/b, TR8350.2 table 3.3
}

// Two points of Karney's test data for the transverse Mercator projection (TMcoords.dat,
// doi:10.5281/zenodo.32470), computed with 80 digits. They are latitude, longitude from the
// central meridian, easting and northing without false ones.
func TestUTMAgainstKarney(t *testing.T) {
	for _, c := range [][4]float64{
		{41.883357469578, 0.582386968573, 48319.9780433339987, 4636989.6238090794305},
		{29.524235381756, 2.523399708599, 244569.524213355782, 3268723.7586167129286},
	} {
		for _, east := range []float64{1, -1} {
			for _, north := range []float64{1, -1} {
				p := spatial.Geodetic{Latitude: north * c[0], Longitude: 9 + east*c[1]}
				zone := spatial.UTMZoneOf(p)
				assert.Equal(t, spatial.UTMZone{Number: 32, South: north < 0}, zone)
				easting, northing := zone.Project(p)
				if zone.South {
					northing -= 10_000_000
				}
				assert.InDelta(t, 500_000+east*c[2], easting, 1e-6)
				assert.InDelta(t, north*c[3], northing, 1e-6)
			}
		}
	}
}

// Cities as the Python package utm lists them in its tests, to the metre.
func TestUTMOfCities(t *testing.T) {
	for name, c := range map[string]struct {
		latitude, longitude, easting, northing float64
		zone                                   int
	}{
		"Aachen":     {50.77535, 6.08389, 294409, 5628898, 32},
		"New York":   {40.71435, -74.00597, 583960, 4507523, 18},
		"Wellington": {-41.28646, 174.77624, 313784, 5427057, 60},
		"Cape Town":  {-33.92487, 18.42406, 261878, 6243186, 34},
		"Mendoza":    {-32.89018, -68.84405, 514586, 6360877, 19},
		"Fairbanks":  {64.83778, -147.71639, 466013, 7190568, 6},
		"Ben Nevis":  {56.79680, -5.00601, 377486, 6296562, 30},
	} {
		p := spatial.Geodetic{Latitude: c.latitude, Longitude: c.longitude}
		zone := spatial.UTMZoneOf(p)
		assert.Equal(t, c.zone, zone.Number, name)
		easting, northing := zone.Project(p)
		assert.InDelta(t, c.easting, easting, 1, name)
		assert.InDelta(t, c.northing, northing, 1, name)
	}
}

func TestUTMZones(t *testing.T) {
	for longitude, zone := range map[float64]int{-180: 1, -174.001: 1, -174: 2, 0: 31, 5.999: 31, 6: 32, 179.999: 60, 180: 1, 186: 2, -190: 59} {
		assert.Equal(t, zone, spatial.UTMZoneOf(spatial.Geodetic{Longitude: longitude}).Number, "%v", longitude)
	}
	assert.False(t, spatial.UTMZoneOf(spatial.Geodetic{}).South, "the equator counts as north")
}

// snyder is the projection by the truncated series of Snyder (Map Projections: A Working
// Manual, USGS 1395, equations 8-9 to 8-15 and 3-21). It has the constants that SVL Simulator
// has: a = 6378137, e² = 0.00669438.
func snyder(p spatial.Geodetic, zone int) (easting, northing float64) {
	const a, e2, k0 = 6378137, 0.00669438, 0.9996
	phi, lambda := mgl64.DegToRad(p.Latitude), mgl64.DegToRad(p.Longitude-float64(6*zone-183))
	sin, cos := math.Sincos(phi)
	second := e2 / (1 - e2)
	n, t, c, A := a/math.Sqrt(1-e2*sin*sin), math.Pow(sin/cos, 2), second*cos*cos, lambda*cos
	m := a * ((1-e2/4-3*e2*e2/64-5*e2*e2*e2/256)*phi -
		(3*e2/8+3*e2*e2/32+45*e2*e2*e2/1024)*math.Sin(2*phi) +
		(15*e2*e2/256+45*e2*e2*e2/1024)*math.Sin(4*phi) - 35*e2*e2*e2/3072*math.Sin(6*phi))
	easting = 500_000 + k0*n*(A+(1-t+c)*math.Pow(A, 3)/6+(5-18*t+t*t+72*c-58*second)*math.Pow(A, 5)/120)
	northing = k0 * (m + n*sin/cos*(A*A/2+(5-t+9*c+4*c*c)*math.Pow(A, 4)/24+(61-58*t+t*t+600*c-330*second)*math.Pow(A, 6)/720))
	return easting, northing
}

func TestUTMAgainstSnyder(t *testing.T) {
	for latitude := 0.0; latitude <= 80; latitude += 7.3 {
		for longitude := 6.0; longitude < 12; longitude += 0.7 {
			p := spatial.Geodetic{Latitude: latitude, Longitude: longitude}
			wantE, wantN := snyder(p, 32)
			easting, northing := spatial.UTMZoneOf(p).Project(p)
			assert.InDelta(t, wantE, easting, 0.005)
			assert.InDelta(t, wantN, northing, 0.005)
		}
	}
}
