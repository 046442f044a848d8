package spatial

import (
	"errors"
	"fmt"
	"math"

	"github.com/go-gl/mathgl/mgl64"
)

// MapFrame is where the map frame lies on the earth. All that converts between the map and the
// earth asks it.
//
// Its zero value lies nowhere: Known is false, its UTM coordinates are the map's own, and
// Geodetic counts from 0° N 0° E.
type MapFrame struct {
	plane TangentPlane // of a map that is one
	zone  UTMZone      // of a map on a grid, or of the plane's origin
	grid  bool
	shift mgl64.Vec3 // easting, northing and height of the origin of a map on a grid
}

// TangentMap returns the map that is the tangent plane at a place: x points east, y north and z
// up there (REP-105).
func TangentMap(origin Geodetic) MapFrame {
	return MapFrame{plane: NewTangentPlane(origin), zone: UTMZoneOf(origin)}
}

// GridMap returns the map whose coordinates are those of a zone of UTM: x is easting, y northing,
// z the height above the ellipsoid, metres. A metre of the map is one of the grid, 0.9996 to 1.001
// of one on the ground.
func GridMap(zone UTMZone) MapFrame { return MapFrame{zone: zone, grid: true} }

// At returns the map with its origin at a place, and its axes along the grid's as they were. One
// that isn't on a grid becomes the tangent plane there.
func (m MapFrame) At(origin Geodetic) MapFrame {
	if !m.grid {
		return TangentMap(origin)
	}
	easting, northing := m.zone.Project(origin)
	m.shift = mgl64.Vec3{easting, northing, origin.Altitude}
	return m
}

// Known reports whether the map lies anywhere.
func (m MapFrame) Known() bool { return m.zone.Number != 0 }

// Grid returns the zone whose grid the map's axes follow, and false for a tangent plane.
func (m MapFrame) Grid() (zone UTMZone, ok bool) { return m.zone, m.grid }

// Geodetic returns where a point of the map is on the earth.
func (m MapFrame) Geodetic(p mgl64.Vec3) Geodetic {
	switch {
	case m.grid:
		p = p.Add(m.shift)
		place := m.zone.Unproject(p[0], p[1])
		place.Altitude = p[2]
		return place
	case !m.Known():
		return TangentMap(Geodetic{}).Geodetic(p)
	default:
		return m.plane.Geodetic(p)
	}
}

// UTM returns a point's easting, northing and height above the ellipsoid, metres. They are in the
// map's zone, or that of its origin, also where the point lies beyond it.
func (m MapFrame) UTM(p mgl64.Vec3) mgl64.Vec3 {
	if m.grid || !m.Known() {
		return p.Add(m.shift)
	}
	place := m.plane.Geodetic(p)
	easting, northing := m.zone.Project(place)
	return mgl64.Vec3{easting, northing, place.Altitude}
}

// FromUTM undoes UTM.
func (m MapFrame) FromUTM(p mgl64.Vec3) mgl64.Vec3 {
	if m.grid || !m.Known() {
		return p.Sub(m.shift)
	}
	place := m.zone.Unproject(p[0], p[1])
	place.Altitude = p[2]
	return m.plane.ENU(place)
}

// ToUTM returns the turn, about z, from the map's axes to those of the grid in which UTM counts,
// at a point of the map. It turns vectors and orientations. Lengths stay: a velocity is in metres
// of the map.
func (m MapFrame) ToUTM(p mgl64.Vec3) mgl64.Quat {
	if m.grid || !m.Known() {
		return mgl64.QuatIdent()
	}
	place := m.plane.Geodetic(p)
	north := NewTangentPlane(place).toECEF.Transpose().Mul3x1(m.plane.toECEF.Col(1)) // the map's y there
	return turned(m.zone.Convergence(place) - math.Atan2(north[0], north[1]))
}

// ToENU returns the turn, about z, from the map's axes to true east, north and up at a point of
// the map. A tangent plane's axes count as those everywhere.
func (m MapFrame) ToENU(p mgl64.Vec3) mgl64.Quat {
	if !m.grid {
		return mgl64.QuatIdent()
	}
	return turned(-m.zone.Convergence(m.Geodetic(p)))
}

// turned is a turn about z, radians.
func turned(angle float64) mgl64.Quat { return mgl64.QuatRotate(angle, mgl64.Vec3{0, 0, 1}) }

// Reach of a map, metres.
const (
	// planeReach is how far a tangent plane is used: its ground is 785 m above the earth there.
	planeReach = 100_000
	// Eastings that lie in a zone or near it, and northings up to 84° N and down to 80° S.
	leastEasting, mostEasting = 100_000, 900_000
	leastSouth, mostNorth     = 1_100_000, 9_350_000
)

// ErrBeyondMap says that a point is so far out that its position on the earth isn't what is meant.
var ErrBeyondMap = errors.New("no place on the earth")

// Covers returns nil if a point lies where the map does: up to 100 km from a tangent plane's
// origin, or in a grid's zone. Else it returns an ErrBeyondMap that says what to write in a
// run's file.
func (m MapFrame) Covers(p mgl64.Vec3) error {
	if !m.grid {
		if far := math.Hypot(p[0], p[1]); far > planeReach {
			return fmt.Errorf("%w: (%.0f, %.0f) is %.0f km from the map's origin, and without scene.projection the map is flat, for 100 km: "+
				"if these are UTM's coordinates, give scene.projection their zone, such as utm32n or EPSG:32632", ErrBeyondMap, p[0], p[1], far/1000)
		}
		return nil
	}
	at, low, high := p.Add(m.shift), 0.0, float64(mostNorth)
	if m.zone.South {
		low, high = leastSouth, utmFalseNorthSouth
	}
	if at[0] < leastEasting || at[0] > mostEasting || at[1] < low || at[1] > high {
		return fmt.Errorf("%w: easting %.0f, northing %.0f is not in the zone of scene.projection, %v: "+
			"put the scene and the vehicle at the zone's coordinates (scene.offset, ego.pose), or give scene.origin the place of the map's origin", ErrBeyondMap, at[0], at[1], m.zone)
	}
	return nil
}
