package lidar_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/lidar"
	"github.com/raybridge/raybridge/simtime"
)

// phi is the standard normal distribution.
func phi(x float64) float64 { return 0.5 * math.Erfc(-x/math.Sqrt2) }

// The share of the sub-rays on one side of an edge is that of a Gaussian beam, Phi(d / sigma), within the largest and the mean square
// errors of physics.md over all edges. An edge that a sub-ray is behind has the ray at the rim behind it that is nearest to its direction.
func TestSubRaysAreAGaussianBeam(t *testing.T) {
	for n, bound := range map[int]struct{ largest, rms float64 }{7: {0.214, 0.053}, 19: {0.116, 0.028}, 37: {0.067, 0.019}} {
		rays, rim := lidar.SubRays(lidar.Beam{Rays: n})
		require.Len(t, rays, n+rim)
		require.Equal(t, [2]float64{}, rays[0], "the centre is the first")
		var largest, square float64
		edges := 0
		for degree := range 360 {
			sin, cos := math.Sincos(float64(degree) * math.Pi / 180)
			behind := func(list [][2]float64, d float64) (count int) {
				for _, r := range list {
					if r[0]*cos+r[1]*sin > d {
						count++
					}
				}
				return count
			}
			for d := -3.0; d <= 3; d += 0.02 {
				count := behind(rays[:n], d)
				e := math.Abs(float64(count)/float64(n) - phi(-d))
				largest, square, edges = max(largest, e), square+e*e, edges+1
				if nearest := (degree + 45) / 90 % rim; d > 0 && count > 0 {
					require.Positive(t, behind(rays[n+nearest:n+nearest+1], d-1e-9))
				}
			}
		}
		assert.Less(t, largest, bound.largest, "%d sub-rays", n)
		assert.Less(t, math.Sqrt(square/float64(edges)), bound.rms, "%d sub-rays", n)
	}
}

// tableOfDirections is a firing table of azimuths and elevations in degrees.
func tableOfDirections(t *testing.T, directions [][2]float64) *lidar.FiringTable {
	t.Helper()
	var text strings.Builder
	text.WriteString("time,azimuth,elevation\n")
	for i, d := range directions {
		fmt.Fprintf(&text, "%.4f,%v,%v\n", float64(i)/1e4, d[0], d[1])
	}
	table, err := lidar.ParseFirings(strings.NewReader(text.String()))
	require.NoError(t, err)
	require.NoError(t, lidar.CloseFirings(table, 0))
	return table
}

// Neighbours are near in angle, in each direction that has some, whatever their places in the table: also beyond behind. Far
// ones are none, and neither are those within a beam's rings.
func TestNeighboursAreNearByAngle(t *testing.T) {
	const width = 0.2 * math.Pi / 180
	var grid [][2]float64
	for elevation := range 5 {
		for azimuth := range 5 {
			grid = append(grid, [2]float64{math.Remainder(180+0.2*float64(azimuth-2), 360), -10 + 0.3*float64(elevation)})
		}
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(grid), func(i, j int) { grid[i], grid[j] = grid[j], grid[i] })
	rows, open := lidar.NeighboursOf(tableOfDirections(t, grid), [2]float64{width, width}, 0.5)
	for i, of := range rows {
		for _, k := range of {
			x := math.Remainder(grid[k][0]-grid[i][0], 360) * math.Cos(grid[i][1]*math.Pi/180)
			require.Less(t, math.Hypot(x, grid[k][1]-grid[i][1]), 0.6)
			require.NotEqual(t, i, int(k))
		}
		sides := 0
		for _, border := range []bool{math.Abs(math.Remainder(grid[i][0]-180, 360)) > 0.3, math.Abs(grid[i][1]+9.4) > 0.5} {
			if border {
				sides++
			}
		}
		require.Equal(t, sides, open[i], "firing at %v", grid[i])
		if middle := math.Abs(grid[i][0]) > 179.9 && math.Abs(grid[i][1]+9.4) < 0.1; middle {
			require.Len(t, of, 8)
			for _, k := range of { // the eight around it
				assert.LessOrEqual(t, math.Abs(math.Remainder(grid[k][0]-grid[i][0], 360)), 0.41)
				assert.LessOrEqual(t, math.Abs(grid[k][1]-grid[i][1]), 0.31)
			}
		}
	}
	alone, open := lidar.NeighboursOf(tableOfDirections(t, [][2]float64{{0, 0}, {1, 0}, {0, 1}, {0, 89.999}, {90, 89.999}}), [2]float64{width, width}, 0)
	assert.Equal(t, [][]uint32{nil, nil, nil, {4}, {3}}, alone, "near the zenith all azimuths are near")
	assert.Equal(t, []int{4, 4, 4, 3, 3}, open)
	var line [][2]float64
	for i := range 21 {
		line = append(line, [2]float64{0.05 * float64(i), 0})
	}
	rows, open = lidar.NeighboursOf(tableOfDirections(t, line), [2]float64{width, width}, 0.7) // rings of 0.14 degrees
	assert.ElementsMatch(t, []uint32{7, 13}, rows[10])
	assert.Equal(t, []int{2, 3}, []int{open[10], open[1]}, "one in the rings doesn't tell")
}

// A beam that can't be is refused by name.
func TestBadBeams(t *testing.T) {
	const real = "VelodyneVLP16_real"
	for want, attributes := range map[string]map[string]any{
		"beam_divergence":                   {"intensity": "range_corrected", "beam_divergence": 1570.8}, // 90 degrees
		"beam_rays":                         {"preset": real, "beam_rays": 38},
		"beam_rays is 20: want 7, 19 or 37": {"preset": real, "beam_rays": 20, "columns": 4},
		"r10":                               {"preset": real, "r10": 0},
		"set intensity: range_corrected, or leave beam_divergence out": {"beam_divergence": 3},
		"returns is that of a beam":                                    {"intensity": "range_corrected", "returns": "dual"},
		"beam_rays is that of a beam":                                  {"beam_rays": 7},
		"merge_distance is that of a beam":                             {"preset": real, "beam_divergence": 0, "merge_distance": 1},
		"pulse_width is that of intensity":                             {"pulse_width": 10},
		"with 3 points each (returns: triple) has 3072000 points, 140.6 MiB, and 2796202 at most are possible, 128.0 MiB": {
			"preset": "uniform", "channels": 32, "columns": 32000, "intensity": "range_corrected", "beam_divergence": 3, "returns": "triple",
		},
	} {
		_, err := newLidar(attributes)
		require.ErrorContains(t, err, want)
	}
	for _, plain := range []map[string]any{{}, {"intensity": "range_corrected"}, {"preset": real, "beam_divergence": 0}} {
		plain["returns"], plain["beam_rays"], plain["columns"] = "strongest", 19, 4
		_, err := newLidar(plain)
		require.NoError(t, err, "a default spelt out: %v", plain)
	}
	for _, preset := range lidar.Presets() {
		if strings.HasSuffix(preset, "_real") {
			_, err := newLidar(map[string]any{"preset": preset, "returns": "dual", "columns": 4})
			require.NoError(t, err, preset)
		}
	}
}

// Each figure of a real preset has a source, or says that it is assumed.
func TestRealPresetsHaveSources(t *testing.T) {
	var names []string
	for _, row := range lidar.RayCastDefinition.Devices.Rows {
		assert.NotContains(t, row, "", row[0])
		names = append(names, row[0])
	}
	for _, preset := range lidar.Presets() {
		assert.Equal(t, strings.HasSuffix(preset, "_real"), slices.Contains(names, preset), preset)
	}
	assert.Len(t, names, 11)
}

// Each attribute that isn't set says what the preset's receiver and beam have.
func TestARealPresetTellsWhatIsInForce(t *testing.T) {
	ouster := map[string]any{
		"intensity": "range_corrected", "r10": 40.0, "range_noise": 0.42, "intensity_code": "velodyne", "beam_divergence": 2.27,
		"beam_divergence_vertical": 2.27, "beam_definition": "fwhm", "atmosphere_attenuation_rate": 1e-4, "dropoff_zero_intensity": 0.0,
	}
	velodyne := map[string]any{
		"r10": 106.0, "beam_divergence": 3.0, "beam_divergence_vertical": 1.5, "beam_definition": "manual", "merge_distance": 1.0,
	}
	for _, c := range []struct{ attributes, want map[string]any }{
		{map[string]any{"preset": "OusterOS1_64_real"}, ouster},
		{map[string]any{"preset": "VelodyneVLS128_real"}, velodyne},
		{map[string]any{"preset": "VelodyneVLS128_real", "beam_divergence": 3}, velodyne},
		{map[string]any{"preset": "VelodyneVLS128_real", "beam_divergence": 2, "beam_divergence_vertical": 0},
			map[string]any{"beam_divergence": 2.0, "beam_divergence_vertical": 2.0, "beam_definition": "manual"}},
		{map[string]any{"intensity": "range_corrected", "r10": 70}, map[string]any{"atmosphere_attenuation_rate": 1e-4, "r10": 70.0}},
		{map[string]any{"preset": "OusterOS1_64"}, map[string]any{"atmosphere_attenuation_rate": 0.004}},
	} {
		s, err := newLidar(c.attributes)
		require.NoError(t, err)
		told := s.(sensors.Deriver).Derived()
		for name, want := range c.want {
			assert.Equal(t, want, told[name], "%v: %s", c.attributes, name)
		}
		for name, value := range told {
			assert.IsType(t, attribute(t, lidar.RayCastDefinition, name).Default, value, name)
		}
	}
}

// Attributes that New refuses aren't offered to a lidar that runs.
func TestLiveAttributesAreThoseThatCanBeSet(t *testing.T) {
	for _, c := range []struct {
		attributes map[string]any
		live       bool
	}{
		{nil, true},
		{map[string]any{"intensity": "range_corrected"}, false},
		{map[string]any{"preset": "OusterOS1_64_real"}, false},
		{map[string]any{"preset": "OusterOS1_64_real", "intensity": "surface"}, true},
	} {
		s := settings(t, lidar.RayCastDefinition, c.attributes)
		for _, name := range []string{"dropoff_zero_intensity", "dropoff_intensity_limit"} {
			assert.Equal(t, c.live, slices.Contains(s.Live(), name), "%v: %s", c.attributes, name)
			require.NoError(t, s.Set(name, 0.2))
			_, err := lidar.RayCastDefinition.New(sensors.Spec{Definition: lidar.RayCastDefinition, Settings: s, Rate: simtime.Hz(10)})
			assert.Equal(t, c.live, err == nil, "%v: %s", c.attributes, name)
		}
		assert.Contains(t, s.Live(), "range")
	}
}

// A lidar that comes by network can't open files, and its user is told of which attribute.
func TestFilesThatARequestNames(t *testing.T) {
	registry, err := sensors.NewRegistry(lidar.RayCastDefinition)
	require.NoError(t, err)
	for _, name := range []string{"firing_table", "materials"} {
		c := sensors.Config{ID: lidar.ID, Name: "roof", NoFiles: true, Attributes: map[string]any{name: "there.csv"}}
		_, err := c.Resolve(registry)
		require.ErrorContains(t, err, name+" names a file, and only the run's own rig may")
	}
}

// newLidar makes a lidar, or says why there is none.
func newLidar(attributes map[string]any) (sensors.Sensor, error) {
	settings := lidar.RayCastDefinition.NewSettings()
	for name, value := range attributes {
		if err := settings.Set(name, value); err != nil {
			return nil, err
		}
	}
	return lidar.RayCastDefinition.New(sensors.Spec{Definition: lidar.RayCastDefinition, Settings: settings, Rate: simtime.Hz(10)})
}
