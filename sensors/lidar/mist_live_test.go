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
			require.InDelta(t, map[bool]float64{true: 0, false: 1}[want[i%len(want)]], points[i].CosIncidence, 1e-3, mode)
		}
	}
}

// fogPeak returns the peak of fog's echo before a target and its range: rho_eq = pi beta c tau / 2 over the square of that, of which the
// integral is over steps of the pulse's way. Pulses have 5 ns, and the overlap is from 2 to 6 m.
func fogPeak(visibility, target float64) (peak, at float64) {
	alpha := math.Log(20) / visibility
	for middle := 1.5; middle < 6; middle += 0.01 {
		sum := 0.0
		const steps = 400
		for i := range steps {
			u := (float64(i) + 0.5) / steps // of the pulse's way
			r := middle + 0.749*(1-2*u)
			if r > target {
				continue
			}
			sin := math.Sin(math.Pi * u)
			sum += sin * sin * math.Exp(-2*(alpha+clearAir)*r) * min(max((r-2)/4, 0), 1) / (r * r) * 2 * 0.749 / steps
		}
		if sum *= math.Pi * alpha / 18.8; sum > peak {
			peak, at = sum, middle
		}
	}
	return peak, at
}

// TestANearTargetCutsFogShort: before a black plate, fog returns what the air up to it does. There is no end to the sky.
func TestANearTargetCutsFogShort(t *testing.T) {
	for name, more := range map[string]map[string]any{
		"ray": nil, "adaptive": {"beam_divergence": 0.1}, "full": {"beam_divergence": 0.1, "beam_pattern": "full"},
	} {
		for _, distance := range []float64{2.5, 3, 3.5, 4, 9, math.Inf(1)} {
			s := plate(-50, scene.TagBuilding, reflecting(0))
			if !math.IsInf(distance, 1) {
				s = plate(distance, scene.TagBuilding, reflecting(0))
			}
			a := sharp(map[string]any{"r10": 2000})
			maps.Copy(a, more)
			points := pointsOf(fired(t, s, weather.State{Visibility: 100}, 1, a))
			require.Len(t, points, 1, "%s before %v m", name, distance)
			want, at := fogPeak(100, distance)
			assert.InDelta(t, at, points[0].Distance, 0.05, "%s before %v m", name, distance)
			r := float64(points[0].Distance)
			assert.InEpsilon(t, 100*want*r*r*math.Exp(2*clearAir*r), points[0].Intensity, 0.05, "%s before %v m", name, distance)
		}
	}
}

// TestFogMergesWithANearTarget: both are one echo of their strengths' sum, at the mean of their ranges by strength.
func TestFogMergesWithANearTarget(t *testing.T) {
	const distance, rho, extinction = 3.6, 0.005, 0.0299573 + clearAir
	fog, at := fogPeak(100, distance)
	wall := rho * math.Exp(-2*extinction*distance) / (distance * distance)
	strength, r := fog+wall, (fog*at+wall*distance)/(fog+wall)
	for _, mode := range []string{"strongest", "dual"} {
		points := pointsOf(fired(t, plate(distance, scene.TagBuilding, reflecting(rho)), weather.State{Visibility: 100}, 1, sharp(map[string]any{
			"r10": 2000, "beam_divergence": 0.01, "returns": mode,
		})))
		require.Len(t, points, 1, mode)
		assert.InDelta(t, r, points[0].Distance, 0.03, mode)
		assert.InEpsilon(t, 100*strength*r*r*math.Exp(2*clearAir*r), points[0].Intensity, 0.03, mode)
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
		ratio, _ := fogPeak(300, math.Inf(1))
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

// nearest are the drops or flakes of a beam of 3 mrad: kappa is the reflectance, n0 and lambda are those of the diameters.
type nearest struct{ r10, alpha, kappa, n0, lambda float64 }

// chance is that of the nearest one that is seen to be nearer than r: 1 - exp(-Lambda(r)), with Lambda summed in steps of 5 mm up to
// 60 m, and its steps joined by lines.
func (c *nearest) chance() func(r float64) float64 {
	const from, step = 2.0, 0.005
	sums := []float64{0}
	for at := from + step/2; at < 60; at += step {
		w, sum := 11+3*at, sums[len(sums)-1]
		share := math.Sqrt(0.1 * math.Exp(-2*clearAir*c.r10) / (c.r10 * c.r10) * at * at * math.Exp(2*c.alpha*at) / (c.kappa * min((at-2)/4, 1)))
		if share <= 1 {
			sum += step * math.Pi / 4 * w * w * 1e-6 * c.n0 / c.lambda * math.Exp(-c.lambda*w*share)
		}
		sums = append(sums, sum)
	}
	return func(r float64) float64 {
		k, rest := math.Modf(min(max(r-from, 0)/step, float64(len(sums)-2)))
		return -math.Expm1(-(1-rest)*sums[int(k)] - rest*sums[int(k)+1])
	}
}

// TestDropsAndFlakesAreDistributed: the nearest of each shot, by Kolmogorov and Smirnov, and how many shots see one.
func TestDropsAndFlakesAreDistributed(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	nothing := plate(900, scene.TagBuilding, reflecting(0))
	const n = 130_000
	for name, c := range map[string]struct {
		weather weather.State
		nearest
	}{
		"rain": {weather.State{Rain: 200}, nearest{450, 10.27e-3 + clearAir, 0.005, 8000, 4.1 * math.Pow(200, -0.21)}},
		"snow": {weather.State{Snow: 1}, nearest{60, 3.04e-3 + clearAir, 0.9, 2500 / 2.15443, 2.29 / 2.15443}},
	} {
		t.Run(name, func(t *testing.T) {
			points := pointsOf(fired(t, nothing, c.weather, n, sharp(map[string]any{
				"r10": c.r10, "beam_divergence": 3, "returns": "first", "range": 120, "merge_distance": 0.001,
			})))
			chance := c.chance()
			all := chance(60)
			assert.InEpsilon(t, all, float64(len(points))/n, 0.05)
			ranges := make([]float64, len(points))
			for i := range points {
				require.Zero(t, points[i].Tag)
				ranges[i] = float64(points[i].Distance)
			}
			require.Greater(t, len(ranges), 100_000)
			slices.Sort(ranges)
			var worst float64
			for i, r := range ranges { // before and behind the step of each
				of := chance(r)/all - float64(i)/float64(len(ranges))
				worst = max(worst, of, 1/float64(len(ranges))-of)
			}
			t.Logf("%d drops or flakes, D sqrt(n) is %.2f", len(ranges), worst*math.Sqrt(float64(len(ranges))))
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

// TestFlakesHideWhatIsBehindThem: a wall's echo lacks the share of the beam that a flake covers, which the flake's own echo tells. Drops hide
// nothing. Shots see none, one or more flakes as often as Poisson has it.
func TestFlakesHideWhatIsBehindThem(t *testing.T) {
	const n, distance, kappa = 3000, 15.0, 0.9
	wall := plate(distance, scene.TagBuilding, reflecting(0.5))
	for _, pattern := range []string{"adaptive", "full"} {
		shots := func(w weather.State, r10 float64) (of [n][]sample.Point) {
			h := fired(t, wall, w, n, sharp(map[string]any{
				"r10": r10, "beam_divergence": 3, "beam_pattern": pattern, "returns": "dual", "merge_distance": 0.001,
			}))
			for _, p := range pointsOf(h) {
				of[p.Ray] = append(of[p.Ray], p)
			}
			return of
		}
		rain, drops := weather.State{Rain: 50}, 0
		for i, points := range shots(rain, 600) {
			require.InEpsilon(t, 50*math.Exp(-2*rain.Extinction()*distance), points[0].Intensity, 2e-4, "%s: firing %d", pattern, i)
			drops += len(points) - 1
		}
		assert.Greater(t, drops, n/20)

		snow, counts := weather.State{Snow: 1}, [3]float64{}
		for i, points := range shots(snow, 100) {
			left := 50 * math.Exp(-2*snow.Extinction()*distance)
			flakes, got := len(points)-1, math.NaN()
			for _, p := range points {
				r := float64(p.Distance)
				if p.Tag != 0 {
					got = float64(p.Intensity)
				} else { // the strongest of all flakes
					left *= 1 - float64(p.Intensity)/100/(kappa*math.Exp(-2*snow.Extinction()*r)*min((r-2)/4, 1))
				}
			}
			if got < left*(1-2e-4) {
				flakes++
			} else {
				require.InEpsilon(t, left, got, 2e-4, "%s: firing %d", pattern, i)
			}
			counts[flakes]++
		}
		flakes := nearest{100, snow.Extinction() + clearAir, kappa, 2500 / 2.15443, 2.29 / 2.15443}
		none := 1 - flakes.chance()(distance)
		mean := -math.Log(none)
		for k, share := range []float64{none, none * mean, 1 - none*(1+mean)} {
			assert.InDelta(t, n*share, counts[k], 3.5*math.Sqrt(n*share*(1-share))+0.01*n, "%s: shots with %d flakes, or more", pattern, k)
		}
	}
}

// TestRaysAndBeamsSeeOneWeather: a ray without width looks through the air as a beam of 3 mrad does, whose strongest echo is its only one.
func TestRaysAndBeamsSeeOneWeather(t *testing.T) {
	const n = 2000
	wall := plate(15, scene.TagBuilding, reflecting(0.02)) // near the threshold, as fog and flakes are
	strongest := func(more map[string]any) (of [n]sample.Point) {
		a := map[string]any{"r10": 30, "range": 120, "false_alarm_rate": 0.0, "range_noise": 0.3}
		maps.Copy(a, more)
		for _, p := range slices.Backward(pointsOf(fired(t, wall, weather.State{Visibility: 300, Snow: 1}, n, a))) {
			of[p.Ray] = p
		}
		return of
	}
	want, tags := strongest(nil), map[uint8]int{}
	for _, p := range want {
		if p.Distance > 0 {
			tags[p.Tag]++
		}
	}
	require.Greater(t, tags[0], n/20)
	require.Greater(t, tags[uint8(scene.TagBuilding)], n/20)
	for _, mode := range []string{"strongest", "dual"} {
		got := strongest(map[string]any{"beam_divergence": 3, "returns": mode, "merge_distance": 0.001})
		for i := range want {
			require.InDelta(t, want[i].Distance, got[i].Distance, 1e-3, "%s: firing %d", mode, i)
			require.InDelta(t, want[i].Intensity, got[i].Intensity, 1e-3*float64(1+want[i].Intensity), "%s: firing %d", mode, i)
			require.Equal(t, want[i].Tag, got[i].Tag, "%s: firing %d", mode, i)
			require.InDelta(t, want[i].CosIncidence, got[i].CosIncidence, 1e-3, "%s: firing %d", mode, i)
		}
	}
}

// TestFlakesMergeInEachMode: two flakes less than the pulse apart are one echo, also where no other echo is a point.
func TestFlakesMergeInEachMode(t *testing.T) {
	const n = 2000
	black := plate(15, scene.TagBuilding, reflecting(0))
	strongest := func(mode string, merge float64) (of [n]sample.Point) {
		points := pointsOf(fired(t, black, weather.State{Snow: 1}, n, sharp(map[string]any{
			"r10": 60, "beam_divergence": 3, "returns": mode, "merge_distance": merge,
		})))
		for _, p := range slices.Backward(points) {
			of[p.Ray] = p
		}
		return of
	}
	of := strongest("strongest", 0)
	for i, p := range strongest("dual", 0) {
		require.InDelta(t, of[i].Distance, p.Distance, 1e-5, "firing %d", i)
		require.InDelta(t, of[i].Intensity, p.Intensity, 1e-5*float64(1+p.Intensity), "firing %d", i)
	}
	merged := 0
	for i, apart := range strongest("strongest", 0.001) {
		if math.Abs(float64(apart.Distance-of[i].Distance)) > 1e-3 {
			merged++
		}
	}
	assert.Greater(t, merged, n/200)
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
	var rays []lidar.Ray
	angles := []float64{5, 45, 70, 80, 85}
	for i, angle := range angles { // from the normal
		sin, cos := math.Sincos(mgl64.DegToRad(angle))
		rays = append(rays, lidar.Ray{Direction: mgl64.Vec3{sin, 0, -cos}, TimeNs: int64(i) * 1000, MaxM: 500})
	}
	read := func(tag scene.Tag, w weather.State) (list []float64) {
		b := scenetest.NewBuilder("ground")
		m := scenetest.Matte("grey", 0.5, 0.5, 0.5)
		m.Reflectance = 0.3
		b.Put("ground", scenetest.Plane(400, 8), m, scenetest.At(0, 0, -2, tag))
		o := sensortest.Options{Scene: b.Scene, Mount: spatial.Identity(), Seed: 3, GL: gputest.Thread(t), Weather: w, Attributes: map[string]any{
			"firing_table": tableOf(t, rays), "firing_period": 0.1, "intensity": "range_corrected", "rolling": false,
			"r10": 1000, "detection": "sharp", "range_noise": 0.0, "overlap_start": 1.0, "overlap_end": 1.5, "intensity_code": "hesai",
		}}
		h := sensortest.New(t, lidar.RayCastDefinition, o)
		h.Fire(scanPeriod)
		for _, p := range pointsOf(h) {
			list = append(list, float64(p.Intensity))
		}
		return list
	}
	ground := scene.TagBuilding
	dry, wet, half, snowy := read(ground, weather.State{}), read(ground, weather.State{Wetness: 1}), read(ground, weather.State{Wetness: 0.5}), read(ground, weather.State{Snow: 1})
	require.Len(t, dry, len(angles))
	for i, want := range []float64{0.97, 0.95, 0.78, 0.48, 0.21} {
		assert.InDelta(t, want, wet[i]/dry[i], 0.01, "%v degrees", angles[i])
		assert.InDelta(t, 1-0.5*(1-want), half[i]/dry[i], 0.01, "%v degrees", angles[i])
	}
	assert.InDelta(t, 3, snowy[0]/dry[0], 0.1, "flakes take little on two metres")
	damp := read(scene.TagTerrain, weather.State{Wetness: 1})
	for i, dry := range read(scene.TagTerrain, weather.State{}) {
		assert.InDelta(t, 0.97, damp[i]/dry, 0.01, "soil has no film that mirrors at %v degrees", angles[i])
	}
	// The beads in a marking are blind under whichever covers more.
	for _, w := range []weather.State{{Wetness: 0.6, Snow: 0.2}, {Wetness: 0.2, Snow: 0.6}} {
		under := 0.3 * (1 - 0.03*w.Wetness)
		want := 100 * (math.Cos(mgl64.DegToRad(5))*(under+(0.9-under)*w.Snow) + 0.1*math.Pi*(1-0.6))
		assert.InEpsilon(t, want*math.Exp(-4*w.Extinction()), read(scene.TagRoadLine, w)[0], 0.01, "%+v", w)
	}
}
