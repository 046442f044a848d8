package spatial_test

import (
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/spatial"
)

var aachen = spatial.Geodetic{Latitude: 50.77535, Longitude: 6.08389, Altitude: 170}

// yawOf is a turn's angle about z, degrees.
func yawOf(q mgl64.Quat) float64 {
	_, _, yaw := spatial.Pose{Orientation: q}.RPY()
	return yaw
}

// PROJ 9.1.1 has 450000, 5400000 of zone 32 at 48.751005508355° N, 8.319785298589° E.
func TestGridMapIsTheGrid(t *testing.T) {
	m := spatial.GridMap(spatial.UTMZone{Number: 32})
	p := mgl64.Vec3{450_000, 5_400_000, 100}
	place := m.Geodetic(p)
	assert.InDelta(t, 48.751005508355, place.Latitude, 1e-11)
	assert.InDelta(t, 8.319785298589, place.Longitude, 1e-11)
	assert.Equal(t, 100.0, place.Altitude)
	assert.Equal(t, p, m.UTM(p))
	assert.Equal(t, p, m.FromUTM(p))
	assert.Equal(t, mgl64.QuatIdent(), m.ToUTM(p))
	assert.True(t, m.Known())
}

func TestGridMapAtAPlace(t *testing.T) {
	zone := spatial.UTMZoneOf(aachen)
	m := spatial.GridMap(zone).At(aachen)
	easting, northing := zone.Project(aachen)
	assert.Equal(t, mgl64.Vec3{easting + 10, northing + 20, 173}, m.UTM(mgl64.Vec3{10, 20, 3}))
	origin := m.Geodetic(mgl64.Vec3{})
	assert.InDelta(t, aachen.Latitude, origin.Latitude, 1e-11)
	assert.InDelta(t, aachen.Longitude, origin.Longitude, 1e-11)
	assert.Equal(t, aachen.Altitude, origin.Altitude)
	assert.Less(t, m.FromUTM(m.UTM(mgl64.Vec3{10, 20, 3})).Sub(mgl64.Vec3{10, 20, 3}).Len(), 1e-8)
}

// On a grid the map's north is the grid's: true east is turned by the convergence, as PROJ has it.
func TestTrueEastOnAGrid(t *testing.T) {
	for _, g := range grids {
		m := spatial.GridMap(g.zone)
		assert.InDelta(t, -g.convergence, yawOf(m.ToENU(mgl64.Vec3{g.easting, g.northing, 0})), 1e-8, g.name)
	}
	assert.Equal(t, mgl64.QuatIdent(), spatial.TangentMap(aachen).ToENU(mgl64.Vec3{5000, 5000, 0}))
}

// At its origin a tangent plane's axes are true east and north: in the grid they are turned by the
// convergence. Elsewhere the turn is that of a way between two points in UTM.
func TestTangentMapInUTM(t *testing.T) {
	for _, g := range grids {
		place := spatial.Geodetic{Latitude: g.latitude, Longitude: g.longitude, Altitude: 40}
		m := spatial.TangentMap(place)
		if zone, _ := m.Grid(); zone == g.zone {
			assert.InDelta(t, g.convergence, yawOf(m.ToUTM(mgl64.Vec3{})), 1e-8, g.name)
			world := m.UTM(mgl64.Vec3{})
			assert.InDeltaSlice(t, []float64{g.easting, g.northing, 40}, world[:], 1e-5, g.name)
		}
		for _, p := range []mgl64.Vec3{{}, {3000, 0, 10}, {-20_000, 30_000, 500}} {
			way := m.UTM(p.Add(mgl64.Vec3{5, 0, 0})).Sub(m.UTM(p.Sub(mgl64.Vec3{5, 0, 0})))
			turn := yawOf(m.ToUTM(p))
			assert.InDelta(t, turn, mgl64.RadToDeg(math.Atan2(way[1], way[0])), 2e-3, "%s %v", g.name, p)
			assert.InDelta(t, 10, math.Hypot(way[0], way[1]), 0.02, "%s %v", g.name, p)
		}
	}
}

// It is exact to a micrometre over a hundred kilometres, at the edges of zones, too.
func TestFromUTMUndoesUTM(t *testing.T) {
	for _, origin := range []spatial.Geodetic{aachen, {Latitude: 48, Longitude: 11.9999}, {Latitude: -33.8568, Longitude: 151.2153, Altitude: 5}, {Latitude: 0.001, Longitude: 6}, {Latitude: 78, Longitude: 21}} {
		m := spatial.TangentMap(origin)
		for _, p := range []mgl64.Vec3{{}, {1, 2, 3}, {-70_000, 60_000, -300}, {80_000, 10_000, 900}} {
			assert.Less(t, m.FromUTM(m.UTM(p)).Sub(p).Len(), 1e-5, "%v %v", origin, p)
		}
	}
}

func TestUnknownMap(t *testing.T) {
	var m spatial.MapFrame
	p := mgl64.Vec3{1, 2, 3}
	assert.False(t, m.Known())
	assert.Equal(t, p, m.UTM(p))
	assert.Equal(t, p, m.FromUTM(p))
	assert.Equal(t, mgl64.QuatIdent(), m.ToUTM(p))
	assert.InDelta(t, 3, m.Geodetic(p).Altitude, 1e-6)
	assert.Equal(t, spatial.TangentMap(aachen), m.At(aachen))
}

func TestMapCovers(t *testing.T) {
	grid := func(number int, south bool) spatial.MapFrame {
		return spatial.GridMap(spatial.UTMZone{Number: number, South: south})
	}
	for name, c := range map[string]struct {
		m    spatial.MapFrame
		p    mgl64.Vec3
		want string // "" for none
	}{
		"a plane's origin":        {spatial.TangentMap(aachen), mgl64.Vec3{}, ""},
		"a plane of UTM":          {spatial.TangentMap(aachen), mgl64.Vec3{450_000, 5_400_000, 100}, "5419 km from the map's origin"},
		"a plane's edge":          {spatial.TangentMap(aachen), mgl64.Vec3{-70_000, 70_000, 0}, ""},
		"nowhere":                 {spatial.MapFrame{}, mgl64.Vec3{450_000, 5_400_000, 100}, "scene.projection"},
		"a grid":                  {grid(32, false), mgl64.Vec3{450_000, 5_400_000, 100}, ""},
		"a grid's own zero":       {grid(32, false), mgl64.Vec3{}, "easting 0, northing 0 is not in the zone of scene.projection, utm32n"},
		"swapped":                 {grid(32, false), mgl64.Vec3{5_400_000, 450_000, 0}, "scene.offset"},
		"south":                   {grid(56, true), mgl64.Vec3{334_900, 6_252_288, 0}, ""},
		"beyond the south pole":   {grid(56, true), mgl64.Vec3{334_900, 52_288, 0}, "utm56s"},
		"a grid at a place":       {grid(32, false).At(aachen), mgl64.Vec3{}, ""},
		"Norway's wide zone":      {grid(32, false), mgl64.Vec3{165_000, 6_700_000, 0}, ""},
		"in the neighbour's zone": {grid(32, false), mgl64.Vec3{850_000, 5_400_000, 0}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if err := c.m.Covers(c.p); c.want == "" {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, spatial.ErrBeyondMap)
				require.ErrorContains(t, err, c.want)
			}
		})
	}
}
