//go:build cgo

package lidar_test

import (
	"log/slog"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/city"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors/lidar"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/sensors/sensortest"
	"github.com/raybridge/raybridge/spatial"
)

// clearAir is the extinction of clear air, 1/m, as docs/lidars.md has it.
const clearAir = 1e-4

// plate is a wall across the sensor's view at a distance.
func plate(distance float64, tag scene.Tag, change func(*scene.Material)) *scene.Scene {
	b := scenetest.NewBuilder("plate")
	m := scenetest.Matte("plate", 0.5, 0.5, 0.5)
	change(&m)
	b.Put("plate", scenetest.Box(1, 40, 40), m, scenetest.At(distance+0.5, 0, 0, tag))
	return b.Scene
}

func reflecting(rho float32) func(*scene.Material) {
	return func(m *scene.Material) { m.Reflectance = rho }
}

// shots fires n times straight ahead, at the scan's end.
func shots(t *testing.T, s *scene.Scene, n int, attributes map[string]any) []sample.Point {
	t.Helper()
	rays := make([]lidar.Ray, n)
	for i := range rays {
		rays[i] = lidar.Ray{Direction: mgl64.Vec3{1, 0, 0}, TimeNs: int64(i) * 1000, MaxM: 1000}
	}
	return ranged(t, s, rays, attributes)
}

// ranged fires rays with intensity: range_corrected.
func ranged(t *testing.T, s *scene.Scene, rays []lidar.Ray, attributes map[string]any) []sample.Point {
	t.Helper()
	o := sensortest.Options{Scene: s, Mount: spatial.Identity(), Seed: 3, GL: gputest.Thread(t), Attributes: map[string]any{
		"firing_table": tableOf(t, rays), "firing_period": 0.1, "intensity": "range_corrected", "rolling": false,
	}}
	maps.Copy(o.Attributes, attributes)
	h := sensortest.New(t, lidar.RayCastDefinition, o)
	h.Fire(scanPeriod)
	return sensortest.Last[*sample.PointCloud](h, "points").Points
}

// sharp is a receiver without noise.
func sharp(more map[string]any) map[string]any {
	a := map[string]any{"detection": "sharp", "range_noise": 0.0}
	maps.Copy(a, more)
	return a
}

// A Lambertian plane reads 100 rho cos(incidence), whatever the range is.
func TestALambertianPlaneReadsItsReflectance(t *testing.T) {
	const rho = 0.277 // of roads
	var rays []lidar.Ray
	for i := range 800 {
		down := mgl64.DegToRad(2 + float64(i)/10)
		rays = append(rays, lidar.Ray{Direction: mgl64.Vec3{math.Cos(down), 0, -math.Sin(down)}, TimeNs: int64(i) * 1000, MaxM: 500})
	}
	b := scenetest.NewBuilder("ground")
	b.Put("ground", scenetest.Plane(400, 8), scenetest.Matte("grey", 0.5, 0.5, 0.5), scenetest.At(0, 0, -2, scene.TagRoads))
	points := ranged(t, b.Scene, rays, sharp(map[string]any{"r10": 1000}))
	require.Len(t, points, len(rays))
	for i := range points {
		p, cosine := &points[i], -rays[i].Direction[2]
		require.InEpsilon(t, 100*rho*cosine, p.Intensity, 1e-5)
		require.InEpsilon(t, 2/cosine, p.Distance, 1e-5)
	}
}

// The ground ends where rho h / R^3 is what 10 % at R10 returns: (rho h R10^2 / 0.1)^(1/3), except for the air.
func TestTheGroundEndsWhereItsEchoesAreTooWeak(t *testing.T) {
	for _, r10 := range []float64{40, 100, 200} {
		var rays []lidar.Ray
		for i := range 1200 { // 0.01 degrees apart
			down := mgl64.DegToRad(0.5 + float64(i)/100)
			rays = append(rays, lidar.Ray{Direction: mgl64.Vec3{math.Cos(down), 0, -math.Sin(down)}, TimeNs: int64(i) * 1000, MaxM: 500})
		}
		b := scenetest.NewBuilder("ground")
		b.Put("ground", scenetest.Plane(800, 8), scenetest.Matte("grey", 0.5, 0.5, 0.5), scenetest.At(0, 0, -2, scene.TagRoads))
		last := 0.0
		for _, p := range ranged(t, b.Scene, rays, sharp(map[string]any{"r10": r10})) {
			last = max(last, float64(p.Distance))
		}
		assert.InEpsilon(t, math.Cbrt(0.277*2*r10*r10/0.1), last, 0.02, "R10 %v m", r10)
	}
}

// The roads of the demo's city and of --scene plane are asphalt as the table of classes has it, at both wavelengths: they end where it does.
func TestTheRoadsOfShippedScenesEndAsAsphaltDoes(t *testing.T) {
	scenes := map[string]*scene.Scene{"plane": scene.Plane(mgl64.Vec3{})}
	if !testing.Short() { // it takes a second
		town, err := city.Generate(city.Options{Seed: 1, Triangles: city.MinTriangles, Cars: -1, Walkers: -1})
		require.NoError(t, err)
		scenes["city"] = town
	}
	var rays []lidar.Ray
	for i := range 1000 { // down the lane, 0.01 degrees apart
		down := mgl64.DegToRad(3 + float64(i)/100)
		rays = append(rays, lidar.Ray{Direction: mgl64.Vec3{math.Cos(down), 0, -math.Sin(down)}, TimeNs: int64(i) * 1000, MaxM: 500})
	}
	for name, s := range scenes {
		for wavelength, rho := range map[string]float64{"905": 0.277, "1550": 0.361} {
			o := sensortest.Options{Scene: s, Mount: spatial.FromRPY(mgl64.Vec3{0, 0, 2}, 0, 0, 0), Ego: scenetest.Linear{Start: s.Ego}, Seed: 3, GL: gputest.Thread(t)}
			o.Attributes = sharp(map[string]any{
				"firing_table": tableOf(t, rays), "firing_period": 0.1, "intensity": "range_corrected", "rolling": false, "r10": 40, "wavelength": wavelength,
			})
			h := sensortest.New(t, lidar.RayCastDefinition, o)
			h.Fire(scanPeriod)
			last := 0.0
			for _, p := range sensortest.Last[*sample.PointCloud](h, "points").Points {
				if p.Tag == uint8(scene.TagRoads) {
					last = max(last, float64(p.Distance))
				}
			}
			assert.InEpsilon(t, math.Cbrt(rho*2*40*40/0.1), last, 0.02, "%s, %s nm", name, wavelength)
		}
	}
}

// A plate is seen up to R10 sqrt(rho / 0.1), except for the air.
func TestThePlateThatIsSeenFarthest(t *testing.T) {
	const r10 = 60.0
	for _, rho := range []float64{0.02, 0.1, 0.8} {
		limit := r10 * math.Sqrt(rho/0.1)
		for range 20 {
			limit = r10 * math.Sqrt(rho/0.1*math.Exp(2*clearAir*(r10-limit)))
		}
		for share, want := range map[float64]int{0.999: 5, 1.001: 0} {
			got := shots(t, plate(limit*share, scene.TagBuilding, reflecting(float32(rho))), 5, sharp(map[string]any{"r10": r10}))
			assert.Len(t, got, want, "%v at %v m", rho, limit*share)
		}
	}
}

// At R10 nine of ten shots see 10 %, and the range's deviation is k / sqrt(2 SNR). The threshold of 4.86
// is that of 160 bins with one false alarm in 10,000 shots.
func TestNineOfTenShotsSeeTheirRange(t *testing.T) {
	const n, r10, k, snr = 20_000, 60.0, 0.3, 4.86 + 1.2816
	points := shots(t, plate(r10, scene.TagBuilding, reflecting(0.1)), n, map[string]any{"r10": r10, "range": 120, "range_noise": k, "false_alarm_rate": 1e-4})
	var sum, square float64
	seen := 0
	for i := range points {
		if p := &points[i]; p.Tag != 0 {
			e := float64(p.Distance) - r10
			sum, square, seen = sum+e, square+e*e, seen+1
		}
	}
	assert.InDelta(t, 0.9*n, seen, 3*math.Sqrt(0.09*n)+5)
	sigma := k / math.Sqrt(2*snr)
	assert.InDelta(t, 0, sum/float64(seen), 4*sigma/math.Sqrt(float64(seen)))
	assert.InDelta(t, sigma, math.Sqrt(square/float64(seen)), 0.01*sigma+4*sigma/math.Sqrt(2*float64(seen)))
	near := shots(t, plate(r10/10, scene.TagBuilding, reflecting(0.1)), 2000, map[string]any{"r10": r10, "range": 120})
	assert.Len(t, near, 2000, "what is strong is always seen")
}

// A shot that sees nothing gives a point of noise now and then, at any range alike: the firing's only one, also of a beam.
func TestFalseAlarmsHaveTheirShare(t *testing.T) {
	const n = 30_000
	for _, c := range []struct {
		share  float64
		more   map[string]any
		number uint8
	}{
		{1e-4, nil, sample.ReturnStrongest},
		{0.02, nil, sample.ReturnStrongest},
		{0.02, map[string]any{"beam_divergence": 3, "returns": "first"}, sample.ReturnStrongest},
		{0.02, map[string]any{"beam_divergence": 3, "returns": "last"}, sample.ReturnLast},
		{0.02, map[string]any{"beam_divergence": 3, "returns": "dual"}, sample.ReturnOnly},
	} {
		a := map[string]any{"r10": 50, "range": 200, "false_alarm_rate": c.share}
		maps.Copy(a, c.more)
		points := shots(t, plate(900, scene.TagBuilding, reflecting(0)), n, a)
		assert.InDelta(t, c.share*n, len(points), 3*math.Sqrt(c.share*n)+1)
		threshold := math.Sqrt2 * math.Erfinv(1-2*c.share*0.7495/200) // one in so many of each 5 ns
		sum := 0.0
		for i := range points {
			p := &points[i]
			require.Zero(t, p.Tag)
			require.Zero(t, p.Instance)
			require.Zero(t, p.CosIncidence)
			require.Equal(t, c.number, p.Return)
			require.InDelta(t, p.Distance, p.X, 1e-3)
			if p.Intensity < 100 { // it is as strong as what is just seen
				weakest := float64(p.Intensity) * 50 * 50 / float64(p.Distance*p.Distance) * math.Exp(2*clearAir*50)
				require.InEpsilon(t, 10*threshold/(threshold+1.2816), weakest, 1e-3)
			}
			sum += float64(p.Distance)
		}
		if c.share > 0.01 {
			assert.InDelta(t, 100, sum/float64(len(points)), 4*200/math.Sqrt(12*c.share*n))
		}
	}
}

// Retroreflectors return pi R_A, at any angle, and have the upper part of the scales.
func TestRetroreflectorsByTheirCoefficient(t *testing.T) {
	retro := func(m *scene.Material) { m.Retro, m.Reflectance = true, 0.5 }
	code := func(name string, apparent float64) float64 {
		white := map[string]float64{"velodyne": 100, "livox": 150, "hesai": 100}[name]
		switch {
		case name == "hesai":
			return min(255, 100*apparent)
		case apparent > 1:
			return min(255, white+1+(254-white)*math.Log(apparent)/math.Log(500*math.Pi))
		default:
			return white * apparent
		}
	}
	for _, name := range []string{"velodyne", "livox", "hesai"} {
		for _, c := range []struct {
			tag    scene.Tag
			change func(*scene.Material)
			want   float64
		}{
			{scene.TagTrafficSign, retro, 0.5 + 250*math.Pi},
			{scene.TagCar, retro, 0.5 + 70*math.Pi},
			{scene.TagRoadLine, reflecting(0.65), 0.65 + 0.1*math.Pi},
			{scene.TagVegetation, reflecting(-1), 0.554},
			{scene.TagBuilding, reflecting(0.02), 0.02},
		} {
			points := shots(t, plate(20, c.tag, c.change), 3, sharp(map[string]any{"r10": 100, "intensity_code": name}))
			require.Len(t, points, 3)
			assert.InEpsilon(t, code(name, c.want), points[0].Intensity, 1e-4, "%s of %v", name, c.tag)
		}
	}
}

// A material file gives classes and materials what they return, at each wavelength, before the scene does. The defaults of classes
// stand behind the scene.
func TestAMaterialFileGivesReflectances(t *testing.T) {
	file := filepath.Join(t.TempDir(), "materials.yaml")
	require.NoError(t, os.WriteFile(file, []byte(strings.TrimSpace(`
classes:
  building: {reflectance_905: 0.11, reflectance_1550: 0.12}
  wall: {reflectance_1550: 0.13}
materials:
  brick: {reflectance_905: 0.21, reflectance_1550: 0.22}
  mirror: {reflectance_905: 0.31, retro: 2}
`)), 0o600))
	type kind int
	const (
		plain kind = iota
		paint
		asClass
	)
	for _, c := range []struct {
		name, wavelength string
		tag              scene.Tag
		own              float32
		kind             kind
		want             float64
	}{
		{"plain", "905", scene.TagBuilding, -1, plain, 0.11},
		{"plain", "905", scene.TagBuilding, 0.4, plain, 0.11},
		{"plain", "905", scene.TagBuilding, 0.4, paint, 0.11},
		{"plain", "905", scene.TagBuilding, 0.4, asClass, 0.11},
		{"plain", "1550", scene.TagBuilding, 0.4, plain, 0.12},
		{"plain", "905", scene.TagWall, 0.4, plain, 0.4}, // the file has its other wavelength alone
		{"plain", "905", scene.TagWall, 0.4, asClass, 0.35},
		{"plain", "905", scene.TagWall, -1, plain, 0.35},
		{"plain", "1550", scene.TagWall, 0.4, plain, 0.13},
		{"plain", "905", scene.TagWall, -1, paint, 0.5}, // its colour
		{"brick", "905", scene.TagBuilding, 0.4, plain, 0.21},
		{"brick", "905", scene.TagBuilding, 0.4, asClass, 0.21},
		{"brick", "1550", scene.TagBuilding, -1, plain, 0.22},
		{"mirror", "905", scene.TagBuilding, -1, plain, 0.31 + 2*math.Pi},
	} {
		s := plate(20, c.tag, func(m *scene.Material) {
			m.Name, m.Reflectance, m.Paint, m.ReflectsAsClass = c.name, c.own, c.kind == paint, c.kind == asClass
		})
		points := shots(t, s, 1, sharp(map[string]any{"materials": file, "wavelength": c.wavelength, "intensity_code": "hesai"}))
		require.Len(t, points, 1)
		assert.InEpsilon(t, min(100*c.want, 255), points[0].Intensity, 1e-4, "%+v", c)
	}
}

// A name that the scene doesn't have changes nothing, and the start says so with the name that was meant.
func TestAMaterialThatTheSceneLacks(t *testing.T) {
	file := filepath.Join(t.TempDir(), "materials.yaml")
	require.NoError(t, os.WriteFile(file, []byte("materials: {brik: {reflectance_905: 0.2}, brick: {reflectance_905: 0.2}}\n"), 0o600))
	var log strings.Builder
	lidar.WarnOfAbsent(settings(t, lidar.RayCastDefinition, sharp(map[string]any{"materials": file, "intensity": "range_corrected"})), slog.New(slog.NewTextHandler(&log, nil)),
		plate(20, scene.TagBuilding, func(m *scene.Material) { m.Name = "brick" }))
	assert.Equal(t, 1, strings.Count(log.String(), "level=WARN"))
	assert.Contains(t, log.String(), `material=brik hint="did you mean brick?"`)
}

// Near by, the receiver doesn't see the whole beam. What the air takes is missing, too.
func TestOverlapAndAir(t *testing.T) {
	for distance, want := range map[float64]float64{0.8: 0, 1.5: 0.5, 3: 1} {
		points := shots(t, plate(distance, scene.TagBuilding, reflecting(0.5)), 1, sharp(map[string]any{"overlap_start": 1, "overlap_end": 2}))
		if want == 0 {
			assert.Empty(t, points)
			continue
		}
		require.Len(t, points, 1)
		assert.InEpsilon(t, 50*want, points[0].Intensity, 1e-3)
	}
	points := shots(t, plate(50, scene.TagBuilding, reflecting(0.5)), 1, sharp(map[string]any{"atmosphere_attenuation_rate": 0.005}))
	require.Len(t, points, 1)
	assert.InEpsilon(t, 50*math.Exp(-2*(0.005-clearAir)*50), points[0].Intensity, 1e-3)
}

// A preset's receiver is the device's: its R10, and what else the table has.
func TestRealPresetsEndAtTheirRange(t *testing.T) {
	for preset, r10 := range map[string]float64{"OusterOS1_64_real": 40, "VelodyneVLP16_real": 35} {
		for share, seen := range map[float64]bool{0.99: true, 1.01: false} {
			o := vlp16(t, sensortest.Options{
				Scene: plate(r10*share, scene.TagBuilding, reflecting(0.1)), Mount: spatial.Identity(),
				Attributes: map[string]any{"preset": preset, "detection": "sharp", "range_noise": 0.0, "organized": true},
			})
			h := sensortest.New(t, lidar.RayCastDefinition, o)
			h.Fire(scanPeriod)
			m := sensortest.Last[*sample.PointCloud](h, "points")
			returns := 0
			for i := range m.Points {
				require.EqualValues(t, i, m.Points[i].Ray)
				if m.Points[i].Return != sample.ReturnUnknown {
					returns++
				}
			}
			assert.Equal(t, seen, returns > 0, "%s at %v m", preset, r10*share)
		}
	}
}

// A cloud with a point for each ray tells what is nearer than the shortest range from what isn't there.
func TestAMissTellsNearFromFar(t *testing.T) {
	for name, more := range map[string]map[string]any{"ray": nil, "beam": {"beam_divergence": 3}} {
		for distance, sign := range map[float64]int{3: -1, -90: 1} {
			a := map[string]any{
				"preset": "uniform", "channels": 4, "horizontal_fov": 20.0, "columns": 10, "range": 60, "range_min": 8, "organized": true,
				"intensity": "range_corrected", "false_alarm_rate": 0.0,
			}
			maps.Copy(a, more)
			h := sensortest.New(t, lidar.RayCastDefinition, vlp16(t, sensortest.Options{
				Scene: plate(distance, scene.TagBuilding, reflecting(0.5)), Mount: spatial.Identity(), Attributes: a,
			}))
			h.Fire(scanPeriod)
			points := sensortest.Last[*sample.PointCloud](h, "points").Points
			require.Len(t, points, 40)
			for i := range points {
				require.True(t, math.IsInf(float64(points[i].Distance), sign), "%s, %v m: %v", name, distance, points[i].Distance)
			}
		}
	}
}

// Firings of a table without a threshold lose returns as CARLA's drop-off does: none above its limit, and below in proportion.
func TestDropOffOfAFiringTable(t *testing.T) {
	const n, zero, limit, rate = 20_000, 0.5, 0.8, 0.02
	for distance, want := range map[float64]float64{5: 1, 50: 1 - zero + zero*math.Exp(-rate*50)/limit} {
		points := shots(t, plate(distance, scene.TagBuilding, reflecting(0.5)), n, map[string]any{
			"intensity": "carla", "atmosphere_attenuation_rate": rate, "dropoff_zero_intensity": zero, "dropoff_intensity_limit": limit,
		})
		assert.InDelta(t, want*n, len(points), 4*math.Sqrt(n*want*(1-want)), "%v m", distance)
	}
}

func TestBadRadiometry(t *testing.T) {
	for _, c := range []struct {
		attributes map[string]any
		want       string
	}{
		{map[string]any{"detection": "sharp"}, "detection is that of intensity: range_corrected"},
		{map[string]any{"intensity": "range_corrected", "dropoff_zero_intensity": 0.1}, "leave dropoff_zero_intensity out"},
		{map[string]any{"intensity": "range_corrected", "overlap_start": 2, "overlap_end": 1}, "overlap_end 1 is below overlap_start 2"},
	} {
		_, err := lidar.RayCastDefinition.New(specOf(t, c.attributes))
		require.ErrorContains(t, err, c.want)
	}
	assert.ErrorContains(t, lidar.RayCastDefinition.NewSettings().Set("r10", 0), "r10 is 0, the range is 0.1 to 2000")
	_, err := lidar.RayCastDefinition.New(specOf(t, map[string]any{"intensity": "range_corrected", "materials": "absent.yaml"}))
	assert.ErrorIs(t, err, os.ErrNotExist)
}

func TestRadiometryConforms(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	file := filepath.Join(t.TempDir(), "materials.yaml")
	require.NoError(t, os.WriteFile(file, []byte("classes: {vegetation: {reflectance_905: 0.05}}\n"), 0o600))
	b := scenetest.NewBuilder("room")
	b.Put("room", scenetest.Box(30, 20, 8), scenetest.Matte("white", 0.7, 0.8, 0.9), scenetest.At(1, 2, 3, scene.TagVegetation))
	o := vlp16(t, sensortest.Options{Scene: b.Scene, Mount: mast})
	o.Attributes = map[string]any{"preset": "uniform", "range": 50, "intensity": "range_corrected", "r10": 10}
	const other = "it is that of every lidar: TestConformance"
	others := map[string]string{"dropoff_intensity_limit": "refused", "dropoff_zero_intensity": "refused"}
	for i := range lidar.RayCastDefinition.Attributes {
		others[lidar.RayCastDefinition.Attributes[i].Name] = other
	}
	changed := map[string]any{
		"r10": 6, "wavelength": "1550", "intensity_code": "livox", "detection": "sharp", "false_alarm_rate": 0.3, "range_noise": 0.5,
		"overlap_end": 8, "materials": file, "noise_stddev": 0.2, "atmosphere_attenuation_rate": 0.05, "noise_seed": 9,
		"range": 12, "dropoff_general_rate": 0.3, "pulse_width": 500, "beam_divergence": 50,
	}
	for name := range changed {
		delete(others, name)
	}
	beams := map[string]any{
		"beam_divergence_vertical": 5, "beam_definition": "1/e2", "beam_rays": 7, "beam_pattern": "full", "returns": "dual", "merge_distance": 30,
	}
	for name := range beams {
		others[name] = "refused without beam_divergence"
	}
	suite := sensortest.Suite{Options: o, Changed: changed, Unchanging: others}
	sensortest.Run(t, lidar.RayCastDefinition, suite)
	suite.Options.Attributes = maps.Clone(o.Attributes)
	suite.Options.Attributes["beam_divergence"], suite.Changed = 50, beams
	for i := range lidar.RayCastDefinition.Attributes {
		others[lidar.RayCastDefinition.Attributes[i].Name] = other
	}
	for name := range beams {
		delete(others, name)
	}
	sensortest.Run(t, lidar.RayCastDefinition, suite)
}

// withRadiometry adds the attributes that change nothing but with intensity: range_corrected.
func withRadiometry(unchanging map[string]string) map[string]string {
	for _, name := range []string{
		"r10", "wavelength", "intensity_code", "detection", "false_alarm_rate", "range_noise", "overlap_start", "overlap_end", "materials",
		"beam_divergence", "beam_divergence_vertical", "beam_definition", "beam_rays", "beam_pattern", "returns", "pulse_width", "merge_distance",
	} {
		unchanging[name] = "TestRadiometryConforms"
	}
	return unchanging
}
