//go:build cgo

package lidar_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/lidar"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/sensors/sensortest"
	"github.com/raybridge/raybridge/spatial"
)

// walls covers so much of a beam of 20 mrad with a wall each, from the left edge of the wall on, in deviations; the last wall is behind all of it.
func walls(edges map[float64]float64) *scene.Scene {
	const sigma = 20e-3 / 2.3548
	var list []panel
	for distance, edge := range edges {
		list = append(list, panel{distance: distance, left: edge * sigma * distance, right: -9, top: 9, bottom: -9})
	}
	return panels(list...)
}

// TestReturnTypesInFrontOfWalls: what the points of one firing are called in front of none to three walls, in each project's words, copied
// from these by hand.
func TestReturnTypesInFrontOfWalls(t *testing.T) {
	two := map[lidar.ReturnCodes][]uint8{"autoware": {3, 6}, "nebula": {9, 5}, "velodyne": {1, 2}}
	for name, c := range map[string]struct {
		walls        map[float64]float64 // left edges by distance
		dual, triple map[lidar.ReturnCodes][]uint8
	}{
		"none":                         {map[float64]float64{500: -5}, map[lidar.ReturnCodes][]uint8{"autoware": {}}, nil},
		"one":                          {map[float64]float64{10: 5}, map[lidar.ReturnCodes][]uint8{"autoware": {7}, "nebula": {6}, "velodyne": {3}}, nil},
		"two, the nearer is stronger":  {map[float64]float64{10: 0, 15: 5}, two, nil},
		"two, the farther is stronger": {map[float64]float64{10: -1.4, 12: 5}, map[lidar.ReturnCodes][]uint8{"autoware": {4, 5}, "nebula": {10, 4}, "velodyne": {2, 1}}, nil},
		"three, the middle is strongest": {
			map[float64]float64{10: -1.3, 11: 0.4, 14: 5}, two, map[lidar.ReturnCodes][]uint8{"autoware": {3, 6, 5}, "nebula": {3, 5, 4}},
		},
	} {
		s := walls(c.walls)
		for mode, tables := range map[sample.ReturnMode]map[lidar.ReturnCodes][]uint8{sample.DualReturns: c.dual, sample.TripleReturns: c.triple} {
			for codes, want := range tables {
				got := []uint8{}
				for _, p := range ranged(t, s, fan(1, 0), beamed(map[string]any{"beam_divergence": 20, "beam_rays": 37, "returns": string(mode), "return_codes": string(codes)})) {
					got = append(got, p.Return)
				}
				assert.Equal(t, want, got, "%s: returns: %s, return_codes: %s", name, mode, codes)
			}
		}
	}
}

// TestOrganizedReturns: an organized cloud has two points of each firing side by side, and NaN where there is no second echo.
func TestOrganizedReturns(t *testing.T) {
	const columns, rings = 90, 4
	h := sensortest.New(t, lidar.RayCastDefinition, sensortest.Options{
		Scene: walls(map[float64]float64{10: 0, 15: 300}), Mount: spatial.Identity(), Seed: 3, GL: gputest.Thread(t),
		Attributes: beamed(map[string]any{
			"intensity": "range_corrected", "channels": rings, "columns": columns, "upper_fov": 6, "lower_fov": -6, "horizontal_fov": 60, "range": 100,
			"returns": "dual", "organized": true, "rolling": false, "beam_divergence": 20,
		}),
	})
	h.Fire(scanPeriod)
	m := sensortest.Last[*sample.PointCloud](h, "points")
	assert.Equal(t, sample.DualReturns, m.Returns)
	assert.Equal(t, []int{rings, columns}, []int{m.Rings, m.Columns})
	require.True(t, m.IsWhole())
	pairs := 0
	for i := 0; i < len(m.Points); i += 2 {
		a, b := &m.Points[i], &m.Points[i+1]
		require.Equal(t, []uint32{uint32(i / 2), uint32(i / 2)}, []uint32{a.Ray, b.Ray})
		require.Equal(t, a.Ring, b.Ring)
		require.Equal(t, a.Azimuth, b.Azimuth)
		switch b.Return {
		case sample.ReturnUnknown:
			require.NotEqual(t, b.X, b.X, "not a number")
			require.Contains(t, []uint8{sample.ReturnOnly, sample.ReturnUnknown}, a.Return)
		default:
			require.Equal(t, a.Return == sample.ReturnStrongestFirst, b.Return == sample.ReturnWeakLast)
			require.Equal(t, a.Return == sample.ReturnStrongestLast, b.Return == sample.ReturnWeakFirst)
			require.Equal(t, a.Return == sample.ReturnStrongestFirst, a.Distance < b.Distance)
			pairs++
		}
	}
	assert.GreaterOrEqual(t, pairs, rings, "at the edge of the nearer wall")
}

// A buffer has room for so many points, not for so many firings: the error names both.
func TestScansWithTooManyPoints(t *testing.T) {
	_, err := lidar.DeviceOf(settings(t, lidar.RayCastDefinition, map[string]any{
		"preset": "VelodyneVLS128_real", "columns": 7282, "returns": "triple", "beam_divergence": 3,
	}))
	require.ErrorIs(t, err, sensors.ErrValue)
	require.ErrorContains(t, err, "932096 firings with 3 points each (returns: triple) has 2796288 points, 128.0 MiB, and 2796202 at most are possible, 128.0 MiB")
}
