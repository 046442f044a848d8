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
