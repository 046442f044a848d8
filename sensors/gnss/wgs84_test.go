package gnss

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
)

func TestGeodeticRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 500 {
		lat, lon := rng.Float64()*178-89, rng.Float64()*360-180
		alt := rng.Float64()*9000 - 400
		plane := newTangentPlane(lat, lon, alt)
		gotLat, gotLon, gotAlt := plane.geodetic(mgl64.Vec3{})
		assert.InDelta(t, lat, gotLat, 1e-9)
		assert.InDelta(t, 0, math.Remainder(lon-gotLon, 360), 1e-9)
		assert.InDelta(t, alt, gotAlt, 1e-4)
	}
}

// A walk in the tangent plane and back by way of ECEF ends within a millimetre.
func TestThereAndBackUnderAMillimetre(t *testing.T) {
	plane := newTangentPlane(49.0, 8.4, 110)
	for _, p := range []mgl64.Vec3{{500, -200, 3}, {0, 1000, 0}, {-2500, 4000, 50}} {
		lat, lon, alt := plane.geodetic(p)
		back := plane.toECEF.Transpose().Mul3x1(ecef(lat, lon, alt).Sub(plane.origin))
		assert.Less(t, back.Sub(p).Len(), 1e-3)
	}
}

// At the equator a metre north changes the latitude by 1/M radians, a metre east
// the longitude by 1/a, with M = a(1-e²) the meridian's radius of curvature there.
func TestDegreesAgainstRadiiOfCurvature(t *testing.T) {
	plane := newTangentPlane(0, 0, 0)
	lat, lon, _ := plane.geodetic(mgl64.Vec3{0, 1, 0})
	assert.InDelta(t, mgl64.RadToDeg(1/(semiMajor*(1-eccentricity2))), lat, 1e-12)
	assert.InDelta(t, 0, lon, 1e-12)
	_, lon, _ = plane.geodetic(mgl64.Vec3{1, 0, 0})
	assert.InDelta(t, mgl64.RadToDeg(1/semiMajor), lon, 1e-12)
}
