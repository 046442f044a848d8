//go:build cgo

package lidar_test

import (
	"maps"
	"math"
	"slices"
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
	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/weather"
)

// fired fires n times straight ahead in a weather, with intensity: range_corrected.
func fired(t *testing.T, s *scene.Scene, w weather.State, n int, attributes map[string]any) *sensortest.Harness {
	t.Helper()
	rays := make([]lidar.Ray, n)
	for i := range rays {
		rays[i] = lidar.Ray{Direction: mgl64.Vec3{1, 0, 0}, TimeNs: int64(i) * 100, MaxM: 1000}
	}
	o := sensortest.Options{Scene: s, Mount: spatial.Identity(), Seed: 3, GL: gputest.Thread(t), Weather: w, Attributes: map[string]any{
		"firing_table": tableOf(t, rays), "firing_period": 0.1, "intensity": "range_corrected", "rolling": false, "intensity_code": "hesai",
	}}
	maps.Copy(o.Attributes, attributes)
	h := sensortest.New(t, lidar.RayCastDefinition, o)
	h.Fire(scanPeriod)
	return h
}

func pointsOf(h *sensortest.Harness) []sample.Point {
	return sensortest.Last[*sample.PointCloud](h, "points").Points
}

// TestWeatherTakesLight: exp(-2 alpha d) is left of a surface's echo. At the visibility that is 0.05 twice, and 100 m through 25 mm/h
// leave 0.575.
func TestWeatherTakesLight(t *testing.T) {
	for _, c := range []struct {
		weather        weather.State
		distance, want float64
	}{
		{weather.State{Visibility: 100}, 100, 0.0025},
		{weather.State{Visibility: 100}, 50, 0.05},
		{weather.State{Rain: 25}, 100, 0.575},
		{weather.State{Visibility: 1e9}, 100, 1},
	} {
		// A device that sees nothing of the air itself, and all of its plate.
		h := fired(t, plate(c.distance, scene.TagBuilding, reflecting(0.8)), c.weather, 5, sharp(map[string]any{"r10": 2000, "overlap_start": 99, "overlap_end": 100, "range": 200}))
		points := slices.DeleteFunc(pointsOf(h), func(p sample.Point) bool { return p.Tag == 0 })
		if c.distance < 99 {
			continue
		}
		require.NotEmpty(t, points)
		assert.InEpsilon(t, 80*c.want, points[0].Intensity, 0.01, "%+v", c)
	}
}

// TestFogIsSeen: a strongest echo in fog is fog's where it is stronger than the target's, at 3.7 m for an overlap of 2 to 6 m; 10 % are
// weaker from 18.7 m on in fog of 100 m. The first echo is fog's, and the last the target's, as long as this is seen.
func TestFogIsSeen(t *testing.T) {
	fog := weather.State{Visibility: 100}
	for distance, want := range map[float64]bool{18: false, 20: true} {
		points := pointsOf(fired(t, plate(distance, scene.TagBuilding, reflecting(0.1)), fog, 50, sharp(map[string]any{"r10": 100, "overlap_start": 2, "overlap_end": 6})))
		require.Len(t, points, 50)
		for _, p := range points {
			require.Equal(t, want, p.Tag == 0, "at %v m", distance)
			if want {
				require.InDelta(t, 3.7, p.Distance, 0.08)
				require.Zero(t, p.CosIncidence)
				require.Zero(t, p.Instance)
			}
		}
	}
	for mode, want := range map[string][]bool{"strongest": {true}, "first": {true}, "last": {false}, "dual": {true, false}} {
		h := fired(t, plate(30, scene.TagBuilding, reflecting(0.1)), fog, 20, sharp(map[string]any{"r10": 100, "beam_divergence": 3, "returns": mode}))
		points := pointsOf(h)
		require.Len(t, points, 20*len(want), mode)
		for i := range points {
			require.Equal(t, want[i%len(want)], points[i].Tag == 0, mode)
		}
	}
}

// TestFogNearTheThresholdHasGaps: the share of shots that see it is the normal distribution's at its signal-to-noise ratio, and it is where
// the overlap has it, within the range noise.
func TestFogNearTheThresholdHasGaps(t *testing.T) {
	const n = 20_000
	fog := weather.State{Visibility: 300}
	nothing := plate(900, scene.TagBuilding, reflecting(0))
	for _, r10 := range []float64{27, 30, 33} {
		points := pointsOf(fired(t, nothing, fog, n, map[string]any{"r10": r10, "false_alarm_rate": 0.0, "range": 120, "range_noise": 0.09}))
		// rho_eq = pi beta c tau / 2, over the range of the peak: its integral by steps of the pulse.
		alpha, ratio := math.Log(20)/300, 0.0
		for middle := 3.0; middle < 6; middle += 0.01 {
			sum := 0.0
			const steps = 400
			for i := range steps {
				u := (float64(i) + 0.5) / steps // of the pulse's way
				r := middle + 0.749*(1-2*u)
				sin := math.Sin(math.Pi * u)
				sum += sin * sin * math.Exp(-2*(alpha+clearAir)*r) * min(max((r-2)/4, 0), 1) / (r * r) * 2 * 0.749 / steps
			}
			ratio = max(ratio, math.Pi*alpha/18.8*sum)
		}
		snr := 6.142 * ratio / (0.1 * math.Exp(-2*clearAir*r10) / (r10 * r10))
		want := 0.5 * math.Erfc((4.8604-snr)/math.Sqrt2)
		assert.InDelta(t, want, float64(len(points))/n, 0.05*want+0.01, "R10 %v m, ratio %v", r10, snr)
		var sum float64
		for _, p := range points {
			sum += float64(p.Distance)
		}
		assert.InDelta(t, 3.85, sum/float64(len(points)), 0.1)
	}
}

// distribution is of the chance that the nearest seen drop or flake of a beam of 3 mrad is nearer than r: 1 - exp(-Lambda(r)), with Lambda by
// steps of 5 mm. kappa is the reflectance, sizes N0 and Lambda of the diameters.
func distribution(r, r10, alpha, kappa, n0, lambda float64) float64 {
	const step = 0.005
	sum := 0.0
	for at := 2.0 + step/2; at < r; at += step {
		w := 11 + 3*at
		share := math.Sqrt(0.1 * math.Exp(-2*clearAir*r10) / (r10 * r10) * at * at * math.Exp(2*alpha*at) / (kappa * min((at-2)/4, 1)))
		if share <= 1 {
			sum += step * math.Pi / 4 * w * w * 1e-6 * n0 / lambda * math.Exp(-lambda*w*share)
		}
	}
	return 1 - math.Exp(-sum)
}

// TestDropsAndFlakesAreDistributed: the nearest of each shot, by Kolmogorov and Smirnov, and how many shots see one.
func TestDropsAndFlakesAreDistributed(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	nothing := plate(900, scene.TagBuilding, reflecting(0))
	const n = 200_000
	for name, c := range map[string]struct {
		weather                       weather.State
		r10, alpha, kappa, n0, lambda float64
	}{
		"rain": {weather.State{Rain: 50}, 300, 4.29e-3 + clearAir, 0.005, 8000, 4.1 * math.Pow(50, -0.21)},
		"snow": {weather.State{Snow: 1}, 60, 3.04e-3 + clearAir, 0.9, 2500 / 2.15443, 2.29 / 2.15443},
	} {
		t.Run(name, func(t *testing.T) {
			points := pointsOf(fired(t, nothing, c.weather, n, sharp(map[string]any{
				"r10": c.r10, "beam_divergence": 3, "returns": "first", "range": 120, "merge_distance": 0.001,
			})))
			all := distribution(60, c.r10, c.alpha, c.kappa, c.n0, c.lambda)
			assert.InEpsilon(t, all, float64(len(points))/n, 0.05)
			ranges := make([]float64, len(points))
			for i := range points {
				require.Zero(t, points[i].Tag)
				ranges[i] = float64(points[i].Distance)
			}
			slices.Sort(ranges)
			var worst float64
			for k := 1; k < 200; k++ {
				i := k * len(ranges) / 200
				worst = max(worst, math.Abs(distribution(ranges[i], c.r10, c.alpha, c.kappa, c.n0, c.lambda)/all-float64(i)/float64(len(ranges))))
			}
			assert.Less(t, worst, 1.63/math.Sqrt(float64(len(ranges))))
			// None is weaker than 10 % at R10 in clear air.
			weakest := math.Inf(1)
			for i := range points {
				weakest = min(weakest, float64(points[i].Intensity)/float64(points[i].Distance*points[i].Distance)*c.r10*c.r10*math.Exp(2*clearAir*(c.r10-float64(points[i].Distance))))
			}
			assert.InDelta(t, 10, weakest, 0.1)
		})
	}
}

// TestWeatherHasNoiseOfItsOwn: what a surface's echo draws is that of a dry run, two lidars at one place draw differently, and the
// same lidar draws the same when it runs again.
func TestWeatherHasNoiseOfItsOwn(t *testing.T) {
	wall := plate(15, scene.TagBuilding, reflecting(0.5))
	noisy := map[string]any{"r10": 100, "range_noise": 0.5, "beam_divergence": 3, "returns": "last", "overlap_end": 6}
	dry, snow := pointsOf(fired(t, wall, weather.State{}, 2000, noisy)), fired(t, wall, weather.State{Visibility: 299e3, Snow: 2}, 2000, noisy)
	same, solid := 0, 0
	for i, p := range pointsOf(snow) {
		if p.Tag != 0 {
			solid++
			if math.Abs(float64(p.Distance-dry[i].Distance)) < 0.02 { // weaker signals are noisier
				same++
			}
		}
	}
	assert.Greater(t, solid, 1900)
	assert.Greater(t, same, solid*9/10)
	first := map[string]any{"r10": 100, "beam_divergence": 3, "returns": "first"}
	again := pointsOf(fired(t, wall, weather.State{Snow: 2}, 2000, first))
	assert.Equal(t, again, pointsOf(fired(t, wall, weather.State{Snow: 2}, 2000, first)))
	first["noise_seed"] = 8
	assert.NotEqual(t, again, pointsOf(fired(t, wall, weather.State{Snow: 2}, 2000, first)))
}

// TestNoLimitToSightChangesNoByte, and a weather that goes leaves none behind.
func TestNoLimitToSightChangesNoByte(t *testing.T) {
	for name, more := range map[string]map[string]any{"ray": {}, "beam": {"beam_divergence": 3, "returns": "dual"}} {
		o := map[string]any{"r10": 100}
		maps.Copy(o, more)
		wall := plate(40, scene.TagBuilding, reflecting(0.3))
		dry := fired(t, wall, weather.State{}, 500, o)
		assert.Equal(t, pointsOf(dry), pointsOf(fired(t, wall, weather.State{Visibility: 1e9}, 500, o)), name)
		dry.Fire(2 * scanPeriod)
		want := pointsOf(dry)
		h := fired(t, wall, weather.State{Visibility: 50, Rain: 10}, 500, o)
		require.NoError(t, h.Env.History.Weather().Set(weather.State{}))
		h.Fire(2 * scanPeriod)
		assert.Equal(t, want, pointsOf(h), name)
	}
}

// TestWetAndSnowyGround holds the ground against Fresnel's formulas of water (n = 1.33) on what has 30 %, and snow's 0.9.
func TestWetAndSnowyGround(t *testing.T) {
	b := scenetest.NewBuilder("ground")
	m := scenetest.Matte("grey", 0.5, 0.5, 0.5)
	m.Reflectance = 0.3
	b.Put("ground", scenetest.Plane(400, 8), m, scenetest.At(0, 0, -2, scene.TagBuilding))
	var rays []lidar.Ray
	angles := []float64{5, 45, 70, 80, 85}
	for i, angle := range angles { // from the normal
		sin, cos := math.Sincos(mgl64.DegToRad(angle))
		rays = append(rays, lidar.Ray{Direction: mgl64.Vec3{sin, 0, -cos}, TimeNs: int64(i) * 1000, MaxM: 500})
	}
	read := func(w weather.State) (list []float64) {
		o := sensortest.Options{Scene: b.Scene, Mount: spatial.Identity(), Seed: 3, GL: gputest.Thread(t), Weather: w, Attributes: map[string]any{
			"firing_table": tableOf(t, rays), "firing_period": 0.1, "intensity": "range_corrected", "rolling": false,
			"r10": 1000, "detection": "sharp", "range_noise": 0.0, "overlap_start": 1.0, "overlap_end": 1.5,
		}}
		h := sensortest.New(t, lidar.RayCastDefinition, o)
		h.Fire(scanPeriod)
		for _, p := range pointsOf(h) {
			list = append(list, float64(p.Intensity))
		}
		return list
	}
	dry, wet, half, snowy := read(weather.State{}), read(weather.State{Wetness: 1}), read(weather.State{Wetness: 0.5}), read(weather.State{Snow: 1})
	require.Len(t, dry, len(angles))
	for i, want := range []float64{0.97, 0.95, 0.78, 0.48, 0.21} {
		assert.InDelta(t, want, wet[i]/dry[i], 0.01, "%v degrees", angles[i])
		assert.InDelta(t, 1-0.5*(1-want), half[i]/dry[i], 0.01, "%v degrees", angles[i])
	}
	assert.InDelta(t, 3, snowy[0]/dry[0], 0.1, "flakes take little on two metres")
}
