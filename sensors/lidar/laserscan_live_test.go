//go:build cgo

package lidar_test

import (
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors/lidar"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/sensors/sensortest"
	"github.com/raybridge/raybridge/simtime"
)

// boxRange is how far a box about the origin, of half extents h, is from a point
// inside it, and which wall is met.
func boxRange(h, from, direction mgl64.Vec3) (t float64, axis int) {
	t = math.Inf(1)
	for k := range 3 {
		if direction[k] == 0 {
			continue
		}
		if at := (math.Copysign(h[k], direction[k]) - from[k]) / direction[k]; at < t {
			t, axis = at, k
		}
	}
	return t, axis
}

// The ranges of a box room, ray by ray, in float64.
func TestLaserScanOfARoom(t *testing.T) {
	const low, top = 9.0, 16.0
	half := mgl64.Vec3{15, 8, 4}
	b := scenetest.NewBuilder("room")
	b.Put("room", scenetest.Box(2*half[0], 2*half[1], 2*half[2]), scenetest.Matte("grey", 0.5, 0.5, 0.5), scenetest.At(0, 0, 0, scene.TagBuilding))
	for _, c := range []struct {
		center, forward, horizontal float64
		perTurn, rays               int
	}{{0, 0, 360, 1500, 1500}, {-4, 30, 270, 720, 540}, {12, 200, 100, 1500, 416}} {
		h := sensortest.New(t, lidar.LaserScanDefinition, sensortest.Options{
			Scene: b.Scene, Mount: mast, GL: gputest.Thread(t), Attributes: map[string]any{
				"range_min": low, "range": top, "center_angle": c.center, "forward_angle": c.forward, "horizontal_fov": c.horizontal,
				"measurements_per_rotation": c.perTurn, "atmosphere_attenuation_rate": 0.0, "rolling": false,
			},
		})
		h.Fire(scanPeriod)
		m := sensortest.Last[*sample.LaserScan](h, "scan")
		require.Len(t, m.Ranges, c.rays)
		require.Len(t, m.Intensities, c.rays)
		assert.EqualValues(t, simtime.Stamp(scanPeriod), m.Stamp)
		step := c.horizontal / float64(c.rays)
		left := c.horizontal/2 - c.forward // SVL's (1 - start - 0.5) turns
		assert.Equal(t, float32(left*math.Pi/180), m.AngleMax)
		assert.Equal(t, float32(step*math.Pi/180), m.AngleIncrement)
		assert.Equal(t, float32((left-float64(c.rays-1)*step)*math.Pi/180), m.AngleMin)
		assert.Equal(t, [4]float32{low, top, 0.1, 0}, [4]float32{m.RangeMin, m.RangeMax, m.ScanTime, m.TimeIncrement})
		kinds := map[string]int{}
		for i, got := range m.Ranges {
			azimuth := (left - float64(c.rays-1-i)*step) * math.Pi / 180 // counter-clockwise
			up, along := math.Sincos(-c.center * math.Pi / 180)
			direction := mgl64.Vec3{along * math.Cos(azimuth), along * math.Sin(azimuth), up}
			want, axis := boxRange(half, mast.Position, direction)
			switch {
			case want < low-1e-4:
				kinds["near"]++
				require.True(t, math.IsInf(float64(got), -1), "ray %d of %v m reads %v", i, want, got)
				require.Zero(t, m.Intensities[i])
			case want > top+1e-4:
				kinds["far"]++
				require.True(t, math.IsInf(float64(got), 1), "ray %d of %v m reads %v", i, want, got)
				require.Zero(t, m.Intensities[i])
			case want > low+1e-4 && want < top-1e-4:
				kinds["measured"]++
				require.InDelta(t, want, got, scenetest.Tolerance(want), "ray %d", i)
				require.InDelta(t, 50*math.Abs(direction[axis]), m.Intensities[i], 0.01)
			}
		}
		assert.Positive(t, kinds["near"]*kinds["measured"], "%v", kinds)
	}
}

// A scan's rays are fired one after another unless it is told otherwise, as its message
// says.
func TestRollingLaserScan(t *testing.T) {
	const distance, speed = 30.0, 20.0
	h := sensortest.New(t, lidar.LaserScanDefinition, sensortest.Options{
		Scene: scenetest.MovingWall(distance, speed), Mount: mast, GL: gputest.Thread(t),
		Attributes: map[string]any{"horizontal_fov": 60, "measurements_per_rotation": 6000},
	})
	h.Fire(2 * scanPeriod)
	m := sensortest.Last[*sample.LaserScan](h, "scan")
	assert.EqualValues(t, simtime.Stamp(scanPeriod), m.Stamp)
	assert.InDelta(t, 0.1/1000, m.TimeIncrement, 1e-9)
	for i, r := range m.Ranges {
		at := float64(m.Stamp)/1e9 + float64(i)*float64(m.TimeIncrement)
		azimuth := float64(m.AngleMin) + float64(i)*float64(m.AngleIncrement)
		if y := float64(r) * math.Sin(azimuth); math.Abs(y) < 5 {
			require.InDelta(t, (distance-speed*at)/math.Cos(azimuth), r, 3e-3, "ray %d", i)
		}
	}
}

// SVL's intensity is 255 times what its clouds have.
func TestLaserScanIntensityOfSVL(t *testing.T) {
	b := scenetest.NewBuilder("room")
	b.Put("room", scenetest.Box(20, 20, 20), scenetest.Matte("tinted", 0.2, 0.5, 0.8), scenetest.At(0, 0, 0, scene.TagBuilding))
	h := sensortest.New(t, lidar.LaserScanDefinition, sensortest.Options{Scene: b.Scene, GL: gputest.Thread(t), Attributes: map[string]any{"intensity": "svl"}})
	h.Fire(scanPeriod)
	for _, got := range sensortest.Last[*sample.LaserScan](h, "scan").Intensities {
		require.InDelta(t, 127.5, got, 0.01)
	}
}
