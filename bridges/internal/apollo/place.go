package apollo

import (
	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/spatial"
)

// Map places the map frame on the earth. A nil *Map is a place that isn't known: the
// map frame's coordinates then stand for UTM's. Any goroutine may use it.
type Map struct {
	plane spatial.TangentPlane
	zone  spatial.UTMZone
}

// NewMap returns the place of a map with its origin there. Its zone is the origin's,
// also for what lies beyond, as in sample.GpsOdometry.
func NewMap(origin spatial.Geodetic) *Map {
	return &Map{plane: spatial.NewTangentPlane(origin), zone: spatial.UTMZoneOf(origin)}
}

// Mapped is an instance of a bridge that may know the map's place; nil is unknown. It is
// asked before each message, on any goroutine.
type Mapped interface{ Map() *Map }

// World returns the easting, northing and height above the ellipsoid of a point of the
// map frame, metres.
func (m *Map) World(p mgl64.Vec3) mgl64.Vec3 {
	if m == nil {
		return p
	}
	at := m.plane.Geodetic(p)
	easting, northing := m.zone.Project(at)
	return mgl64.Vec3{easting, northing, at.Altitude}
}

// Local is the inverse of World, to a micrometre within a hundred kilometres of the
// origin. The map's axes differ from UTM's by a few degrees and a scale near one, so each
// step of a fixed-point iteration takes off most of the error.
func (m *Map) Local(world mgl64.Vec3) mgl64.Vec3 {
	if m == nil {
		return world
	}
	p := world.Sub(m.World(mgl64.Vec3{}))
	for range 32 {
		rest := world.Sub(m.World(p))
		p = p.Add(rest)
		if rest.Dot(rest) < 1e-14 {
			break
		}
	}
	return p
}
