//go:build cgo

package camera_test

import (
	"bytes"
	"math"
	"os"
	"testing"

	"github.com/go-gl/mathgl/mgl32"
	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/gpu/hostdev"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/city"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/weather"
)

var inFog = weather.State{Visibility: 100}

// inLight are the attributes of a picture whose bytes are light.
func inLight(width, height int, more ...any) map[string]any {
	return size(width, height, append(more, "enable_postprocess_effects", false)...)
}

// onBoth runs a test on the package's live device and on the host device.
func onBoth(t *testing.T, test func(t *testing.T, thread *gpu.Thread)) {
	t.Run("live", func(t *testing.T) { test(t, gputest.Thread(t)) })
	if os.Getenv("GL_DEVICE") != "host" {
		t.Run("host", func(t *testing.T) { test(t, hostThread(t, "", 2)) })
	}
}

// rigIn is a rig of cameras at one place, in a weather from the start.
func rigIn(t *testing.T, thread *gpu.Thread, s *scene.Scene, w weather.State, list ...mounted) *rig {
	t.Helper()
	r := newRigOn(t, thread, s, nil, list...)
	require.NoError(t, r.history.Weather().Set(w))
	return r
}

// black takes all light.
func black() scene.Material {
	m := scenetest.Matte("black", 0, 0, 0)
	m.Metallic = 1
	return m
}

// TestABlackTargetFadesAsMORSays measures the definition of the meteorological optical range: at that distance a black
// target has 5 % of contrast with the horizon behind it. At half of it, it has 0.224, the root.
func TestABlackTargetFadesAsMORSays(t *testing.T) {
	onBoth(t, func(t *testing.T, thread *gpu.Thread) {
		const width, height, tall = 65, 49, 1.5
		distances := []float64{25, 50, 100, 200, 50}
		b := scenetest.NewBuilder("targets")
		b.Scene.Light.Exposure = 1.1
		for i, d := range distances {
			// Each some pixels wide, beside each other.
			y := d * (float64(i) - 1.5) / 4
			m := black()
			m.Unlit = i == 4 // it is shown as it is painted, behind the same air
			b.Put("target", scenetest.Box(0.1, d/8, d/8), m, scenetest.At(d+0.05, y, tall, scene.TagStatic))
		}
		r := rigIn(t, thread, b.Scene, inFog, mounted{camera.RGBDefinition, forward(tall), inLight(width, height)})
		r.fire(0)
		l := lens(t, width, height, 90)
		horizon := float64(pixelAt(r.picture(0), 1, 24)[1])
		require.Greater(t, horizon, 150.0)
		require.Less(t, horizon, 255.0)
		for i, d := range distances {
			u, v, ok := l.Project(mgl64.Vec3{-d * (float64(i) - 1.5) / 4, 0, d})
			require.True(t, ok)
			x := math.Round(u)
			away := d * l.Ray(x, 24).Len() // the target is a plane across the axis
			contrast := (horizon - float64(pixelAt(r.picture(0), int(x), int(math.Round(v)))[1])) / horizon
			assert.InDelta(t, math.Pow(0.05, away/100), contrast, 1/horizon, "at %v m", d)
			if i == 1 {
				assert.InDelta(t, 0.224, contrast, 0.01)
			}
		}
	})
}

// TestWhatShinesFadesAlongTheRay has walls that shine at three distances, in the dark. Each pixel keeps
// exp(-extinction d) of that light, where d is its own distance, also in the corners.
func TestWhatShinesFadesAlongTheRay(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	onBoth(t, func(t *testing.T, thread *gpu.Thread) {
		const width, height = 64, 48
		b := scenetest.NewBuilder("walls")
		b.Scene.Light = scene.Light{Exposure: 1}
		lit := black()
		lit.Emissive = mgl32.Vec3{1, 0.9, 0.8}
		b.Put("far", scenetest.Box(0.2, 2000, 2000), lit, scenetest.At(60.1, 0, 0, scene.TagStatic))
		b.Put("middle", scenetest.Box(0.2, 60, 60), lit, scenetest.At(30.1, 40, 40, scene.TagStatic))
		b.Put("near", scenetest.Box(0.2, 20, 20), lit, scenetest.At(8.1, -13, -13, scene.TagStatic))
		for name, lensOf := range map[string]distorted{
			"pinhole":     {lens: lens(t, width, height, 90)},
			"rolling":     {lens: lens(t, width, height, 90), attributes: []any{"shutter", "rolling", "line_time", 1e-4}},
			"plumb_bob":   distortedLens(t, width, height, "plumb_bob barrel"),
			"svl_fisheye": distortedLens(t, width, height, "svl_fisheye wide"),
		} {
			r := rigIn(t, thread, b.Scene, inFog,
				mounted{camera.RGBDefinition, spatial.Identity(), inLight(width, height, lensOf.attributes...)},
				mounted{camera.DepthDefinition, spatial.Identity(), size(width, height, lensOf.attributes...)})
			r.fire(simtime.Stamp(second))
			found := map[float64]int{}
			for v := range height {
				for u := range width {
					z, ray := depthAt(r.picture(1), u, v), lensOf.lens.Ray(float64(u), float64(v))
					if math.IsNaN(z) || math.IsInf(z, 0) || math.Abs(z-math.Round(z)) > 1e-3 {
						continue // a wall's side
					}
					found[math.Round(z)]++
					left := math.Exp(-math.Log(20) / 100 * math.Round(z) * ray.Len() / ray[2])
					for i, glow := range lit.Emissive {
						if got := float64(pixelAt(r.picture(0), u, v)[i]); math.Abs(got-255*float64(glow)*left) > 0.6 {
							assert.InDelta(t, 255*float64(glow)*left, got, 0.6, "%s: pixel %d, %d, %v m", name, u, v, z)
						}
					}
				}
			}
			assert.Len(t, found, 3, "%s: walls that are seen: %v", name, found)
			r.end()
		}
	})
}

// distortedLens is one of distortedLenses.
func distortedLens(t *testing.T, width, height int, name string) distorted {
	t.Helper()
	for _, d := range distortedLenses(t, width, height) {
		if d.name == name {
			return d
		}
	}
	t.Fatalf("no lens %q", name)
	return distorted{}
}

// TestWetGroundIsDarker measures the albedo of wet planes from above, under a sun whose mirror image is out of sight. The
// table is Lekner's and Dorf's.
func TestWetGroundIsDarker(t *testing.T) {
	onBoth(t, func(t *testing.T, thread *gpu.Thread) {
		table := [][2]float64{{0.10, 0.052}, {0.20, 0.109}, {0.30, 0.172}, {0.50, 0.323}, {0.80, 0.634}}
		b := scenetest.NewBuilder("wet")
		toSun := mgl64.Vec3{0.6, 0, 0.8}
		b.Scene.Light = scene.Light{SunDirection: mgl32.Vec3{0.6, 0, 0.8}, SunColor: mgl32.Vec3{1, 1, 1}, Exposure: math.Pi / 0.8}
		for i, row := range table {
			a := float32(row[0])
			b.Put("strip", scenetest.Plane(1, 1), scenetest.Matte("grey", a, a, a), scenetest.At(0, float64(i)-2, 0, scene.TagRoads))
		}
		b.Put("wall", scenetest.Box(0.02, 0.4, 0.4), scenetest.Matte("wall", 0.5, 0.5, 0.5), scenetest.At(-0.6, 0, 0.2, scene.TagWall))
		down := spatial.FromRPY(mgl64.Vec3{0, 0, 10}, 0, 90, 0)
		aside := spatial.FromRPY(mgl64.Vec3{3, 0, 0.2}, 0, 0, 180)
		r := rigIn(t, thread, b.Scene, weather.State{Wetness: 1},
			mounted{camera.RGBDefinition, down, inLight(96, 96, "fov", 30)},
			mounted{camera.RGBDefinition, down, inLight(96, 96, "fov", 30, "exposure_compensation", 2)},
			mounted{camera.RGBDefinition, aside, inLight(32, 24, "fov", 20)})
		r.fire(0)
		wall := pixelAt(r.picture(2), 16, 11)
		l := lens(t, 96, 96, 30)
		toOptical := down.Compose(spatial.OpticalInBody()).Inverse()
		for i, row := range table {
			u, v, ok := l.Project(toOptical.Apply(mgl64.Vec3{0, float64(i) - 2, 0}))
			require.True(t, ok)
			of := func(k int, scale float64) float64 {
				return float64(pixelAt(r.picture(k), int(math.Round(u)), int(math.Round(v)))[1]) / 255 / scale
			}
			got := of(1, 4)
			if row[1] > 0.2 {
				got = of(0, 1)
			}
			assert.InDelta(t, row[1], got, 0.003, "albedo %v when wet", row[0])
		}
		facing := 0.5 * toSun[0] / toSun[2] * 255 // of a dry wall, in the planes' measure
		assert.InDelta(t, facing, float64(wall[1]), 6, "a wall stays dry, and has a little gloss: %v", wall)
	})
}

// fresnel returns how much of unpolarized light water mirrors at an angle from its normal, by Snell's law.
func fresnel(angle float64) float64 {
	inside := math.Asin(math.Sin(angle) / 1.33)
	s := (math.Cos(angle) - 1.33*math.Cos(inside)) / (math.Cos(angle) + 1.33*math.Cos(inside))
	p := (1.33*math.Cos(angle) - math.Cos(inside)) / (1.33*math.Cos(angle) + math.Cos(inside))
	return (s*s + p*p) / 2
}

// TestWaterMirrorsTheSky looks at black ground under a white sky, from above to grazing.
func TestWaterMirrorsTheSky(t *testing.T) {
	assert.InDelta(t, 0.0201, fresnel(1e-9), 1e-4)
	assert.InDelta(t, 0.347, fresnel(80*math.Pi/180), 1e-3)
	onBoth(t, func(t *testing.T, thread *gpu.Thread) {
		b := scenetest.NewBuilder("water")
		white := mgl32.Vec3{1, 1, 1}
		b.Scene.Light = scene.Light{SkyZenith: white, SkyHorizon: white, Ground: white, Exposure: 1}
		b.Put("ground", scenetest.Plane(4000, 4), black(), scenetest.At(0, 0, 0, scene.TagRoads))
		at := spatial.FromRPY(mgl64.Vec3{0, 0, 2}, 0, 45, 0)
		view := inLight(24, 96, "fov", 26.0)
		r := rigIn(t, thread, b.Scene, weather.State{Wetness: 1}, mounted{camera.RGBDefinition, at, view})
		r.fire(0)
		l := lens(t, 24, 96, 26)
		angles := 0.
		for v := range 96 {
			ray := at.Compose(spatial.OpticalInBody()).Rotate(l.Ray(12, float64(v))).Normalize()
			if ray[2] > -0.02 {
				continue
			}
			angle := math.Acos(-ray[2])
			angles = max(angles, angle)
			assert.InDelta(t, 255*fresnel(angle), float64(pixelAt(r.picture(0), 12, v)[1]), 0.6, "%.1f degrees", angle*180/math.Pi)
		}
		assert.Greater(t, angles, 85*math.Pi/180)
	})
}

// TestDampGroundIsSharedOut between the film and the dry ground by wetness. All the light is that of a white sky.
func TestDampGroundIsSharedOut(t *testing.T) {
	const albedo, below = 0.3, 0.172 // Lekner's and Dorf's
	onBoth(t, func(t *testing.T, thread *gpu.Thread) {
		white := mgl32.Vec3{1, 1, 1}
		b := scenetest.NewBuilder("damp")
		b.Scene.Light = scene.Light{SunDirection: mgl32.Vec3{0, 0, 1}, SkyZenith: white, SkyHorizon: white, Ground: white, Exposure: 1}
		grey := scenetest.Matte("grey", albedo, albedo, albedo)
		b.Put("ground", scenetest.Plane(4000, 4), grey, scenetest.At(0, 0, 0, scene.TagRoads))
		at := spatial.FromRPY(mgl64.Vec3{0, 0, 2}, 0, 55, 0)
		l, sky, up := lens(t, 12, 96, 60), lightingOf(b.Scene.Light), mgl64.Vec3{0, 0, 1}
		for _, wetness := range []float64{0.25, 0.5, 1} {
			r := rigIn(t, thread, b.Scene, weather.State{Wetness: wetness}, mounted{camera.RGBDefinition, at, inLight(12, 96, "fov", 60.0)})
			r.fire(0)
			steepest := 0.
			for v := range 96 {
				ray := at.Compose(spatial.OpticalInBody()).Rotate(l.Ray(6, float64(v))).Normalize()
				angle := math.Acos(-ray[2])
				if !(angle < 88*math.Pi/180) {
					continue
				}
				steepest = max(steepest, angle)
				mirrored := fresnel(angle)
				dry, wet := sky.radiance(&grey, up, ray.Mul(-1), 0)[1], mirrored+(1-mirrored)/0.98*below
				assert.InDelta(t, 255*((1-wetness)*dry+wetness*wet), float64(pixelAt(r.picture(0), 6, v)[1]), 1, "wetness %v, %.1f degrees", wetness, angle*180/math.Pi)
			}
			assert.Greater(t, steepest, 80*math.Pi/180)
			r.end()
		}
	})
}

// TestWaterSoaksIntoPlantsAndSoil: no film stands on them, so that they only get darker, whatever the angle. All else mirrors.
func TestWaterSoaksIntoPlantsAndSoil(t *testing.T) {
	soaking := map[scene.Tag]bool{scene.TagVegetation: true, scene.TagTerrain: true}
	onBoth(t, func(t *testing.T, thread *gpu.Thread) {
		const size, wide, from = 64, 0.6, -3.3
		white := mgl32.Vec3{1, 1, 1}
		b := scenetest.NewBuilder("strips")
		b.Scene.Light = scene.Light{SunDirection: mgl32.Vec3{0, 0, 1}, SkyZenith: white, SkyHorizon: white, Ground: white, Exposure: 1}
		strips := []scene.Tag{
			scene.TagUnlabeled, scene.TagRoads, scene.TagTerrain, scene.TagSidewalks, scene.TagVegetation, scene.TagRoadLine,
			scene.TagVegetation, scene.TagGround, scene.TagTerrain, scene.TagWater, scene.TagCar,
		}
		grey, dark := scenetest.Matte("grey", 0.3, 0.3, 0.3), scenetest.Matte("dark", 0.172, 0.172, 0.172)
		for i, tag := range strips {
			b.Put("strip", scenetest.Box(80, wide, 0.2), grey, scenetest.At(30, from+wide*(float64(i)+0.5), -0.1, tag))
		}
		at := spatial.FromRPY(mgl64.Vec3{0, 0, 2}, 0, 20, 0)
		r := rigIn(t, thread, b.Scene, weather.State{Wetness: 1}, mounted{camera.RGBDefinition, at, inLight(size, size, "fov", 40.0)})
		r.fire(0)
		l, sky, up := lens(t, size, size, 40), lightingOf(b.Scene.Light), mgl64.Vec3{0, 0, 1}
		found := map[scene.Tag]int{}
		for v := range size {
			for u := range size {
				ray := at.Compose(spatial.OpticalInBody()).Rotate(l.Ray(float64(u), float64(v))).Normalize()
				away := 2 / -ray[2]
				if ray[2] >= 0 || away > 40 {
					continue
				}
				place, rest := math.Modf((ray[1]*away - from) / wide)
				if place < 0 || int(place) >= len(strips) || rest < 0.05 || rest > 0.95 {
					continue
				}
				tag, mirrored := strips[int(place)], fresnel(math.Acos(-ray[2]))
				want := mirrored + (1-mirrored)/0.98*0.172
				if soaking[tag] {
					want = sky.radiance(&dark, up, ray.Mul(-1), 0)[1]
				}
				found[tag]++
				if got := float64(pixelAt(r.picture(0), u, v)[1]); math.Abs(got-255*want) > 1 {
					assert.InDelta(t, 255*want, got, 1, "class %d at %.1f m", tag, away)
				}
			}
		}
		for _, tag := range strips {
			assert.Greater(t, found[tag], 20, "pixels of class %d", tag)
		}
	})
}

// TestFogHasNoShadows compares the floor in the shade of a block with that in the sun. Under clouds a camera that meters shows the
// sunlit floor as in clear air.
func TestFogHasNoShadows(t *testing.T) {
	onBoth(t, func(t *testing.T, thread *gpu.Thread) {
		b := scenetest.NewBuilder("shadow")
		b.Scene.Light.SunDirection, b.Scene.Light.Exposure = mgl32.Vec3{-1, 0, 1}.Normalize(), 0.5
		b.Put("floor", scenetest.Plane(100, 4), scenetest.Matte("floor", 0.5, 0.5, 0.5), scenetest.At(0, 0, 0, scene.TagRoads))
		b.Put("block", scenetest.Box(1, 1, 4), scenetest.Matte("block", 0.5, 0.5, 0.5), scenetest.At(0, 0, 2, scene.TagStatic))
		down := spatial.FromRPY(mgl64.Vec3{2, 0, 8}, 0, 90, 0)
		toOptical, l := down.Compose(spatial.OpticalInBody()).Inverse(), lens(t, 96, 96, 90)
		toSun := b.Scene.Light.SunDirection[2]
		for _, c := range []struct {
			weather.State
			share float64 // of the sun that is left
		}{
			{weather.State{}, 1},
			{weather.State{Visibility: 3000}, math.Exp(-math.Log(20) / 3000 * 300 / float64(toSun))},
			{weather.State{Visibility: 200}, 0},
			{inFog, 0},
			{weather.State{Cloud: 0.5}, 0.75 * (1 - 0.75*math.Pow(0.5, 3.4))},
			{weather.State{Cloud: 1}, 0},
		} {
			r := rigIn(t, thread, b.Scene, c.State,
				mounted{camera.RGBDefinition, down, inLight(96, 96, "exposure_mode", "manual")}, mounted{camera.RGBDefinition, down, inLight(96, 96)})
			r.fire(0)
			level := func(k int, y float64) float64 {
				u, v, ok := l.Project(toOptical.Apply(mgl64.Vec3{2.2, y, 0}))
				require.True(t, ok)
				return float64(pixelAt(r.picture(k), int(math.Round(u)), int(math.Round(v)))[1])
			}
			lit, shade := level(0, 3), level(0, 0)
			light := lightingOf(b.Scene.Light)
			floor := scenetest.Matte("floor", 0.5, 0.5, 0.5)
			up := mgl64.Vec3{0, 0, 1}
			sun := 255 * 0.5 * (light.radiance(&floor, up, up, 1)[1] - light.radiance(&floor, up, up, 0)[1])
			left := math.Pow(0.05, 8/max(c.Visibility, 1e-9))
			if c.Visibility == 0 {
				left = 1
			}
			assert.InDelta(t, sun*c.share*left, lit-shade, 2.5, "%+v: %v in the sun, %v in the shade", c.State, lit, shade)
			if c.Visibility == 0 {
				assert.InDelta(t, 255*0.5*light.radiance(&floor, up, up, 1)[1], level(1, 3), 2.5, "a meter's exposure in %+v", c.State)
			}
			r.end()
		}
	})
}

// TestSnowLiesWhereItIsFlat covers red ground, and no wall.
func TestSnowLiesWhereItIsFlat(t *testing.T) {
	onBoth(t, func(t *testing.T, thread *gpu.Thread) {
		const width = 96
		red := scenetest.Matte("red", 0.6, 0, 0)
		b := scenetest.NewBuilder("snow")
		slopes := []float64{0, 20, 60, 90}
		for i, slope := range slopes {
			p := scenetest.At(4, 1.5-float64(i), 0, scene.TagGround)
			p.Pose.Orientation = spatial.FromRPY(mgl64.Vec3{}, 0, -slope, 0).Orientation // turns to the camera
			b.Put("slope", scenetest.Plane(0.8, 1), red, p)
		}
		at := spatial.FromRPY(mgl64.Vec3{0, 0, 3}, 0, 37, 0)
		for _, snow := range []float64{1, 0.5} {
			r := rigIn(t, thread, b.Scene, weather.State{Snow: snow}, mounted{camera.RGBDefinition, at, inLight(width, 72, "exposure_compensation", -1)})
			r.fire(0)
			l := lens(t, width, 72, 90)
			toOptical := at.Compose(spatial.OpticalInBody()).Inverse()
			for i, slope := range slopes {
				u, v, ok := l.Project(toOptical.Apply(mgl64.Vec3{4, 1.5 - float64(i), 0}))
				require.True(t, ok)
				p := pixelAt(r.picture(0), int(math.Round(u)), int(math.Round(v)))
				ratio := float64(p[1]) / float64(p[0]) // red ground has 0 under the sun, white snow 1
				want := snow * 0.85 / (snow*0.85 + (1-snow)*0.6)
				if slope > 50 {
					want = 0
				}
				assert.InDelta(t, want, ratio, 0.12, "a slope of %v degrees under snow %v is %v", slope, snow, p)
			}
			r.end()
		}
	})
}

// TestWeatherChangesLightAlone has pictures of all kinds in thick weather: those that show no light have the same bytes.
func TestWeatherChangesLightAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	storm := weather.State{Visibility: 50, Rain: 10, Snow: 0.3, Wetness: 0.7, Cloud: 0.6}
	onBoth(t, func(t *testing.T, thread *gpu.Thread) {
		s := still(scenetest.Soup(2, 300, true), spatial.FromRPY(mgl64.Vec3{-20, 13, 7}, 12, 20, 140), 0, simtime.Stamp(second/10))
		s.width, s.height = 48, 36
		var list []mounted
		for _, d := range []*sensors.Definition{
			camera.RGBDefinition, camera.DepthDefinition, camera.SemanticDefinition, camera.InstanceDefinition, camera.NormalsDefinition, camera.OpticalFlowDefinition,
		} {
			list = append(list, mounted{d, s.mount, size(s.width, s.height)})
		}
		in := func(w weather.State) album {
			s.begin = func(r *rig) { require.NoError(t, r.history.Weather().Set(w)) }
			return s.show(t, thread, list)
		}
		faint := weather.State{Visibility: 1e9, Rain: 1e-20, Snow: 1e-60, Wind: weather.Wind{X: 9}}
		dry, same, wet := in(weather.State{}), in(faint), in(storm)
		for k := range dry {
			for i := range list {
				light := list[i].definition == camera.RGBDefinition
				what := list[i].definition.ID
				assert.Equal(t, !light, bytes.Equal(dry[k][i].Data, wet[k][i].Data), what)
				assert.True(t, bytes.Equal(dry[k][i].Data, same[k][i].Data), "wind, and what takes no light, change nothing: %s", what)
			}
		}
	})
}

// TestWeatherChangesBetweenPictures sets it while cameras run. A picture has that of its instant as a whole, and a clear
// one the bytes of before.
func TestWeatherChangesBetweenPictures(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	onBoth(t, func(t *testing.T, thread *gpu.Thread) {
		list := []mounted{
			{camera.RGBDefinition, forward(1), size(48, 36)},
			{camera.RGBDefinition, forward(1), size(48, 36, "shutter", "rolling", "line_time", 1e-3)},
		}
		show := func(all ...weather.State) (pictures [][]byte) {
			r := newRigOn(t, thread, scenetest.MovingWall(20, 4), nil, list...)
			defer r.end()
			for i, w := range all {
				require.NoError(t, r.history.Weather().Set(w))
				r.fire(simtime.Stamp(int64(i+1) * second / 10))
				for k := range list {
					pictures = append(pictures, bytes.Clone(r.picture(k).Data))
				}
			}
			return pictures
		}
		none := weather.State{}
		changing, clear, foggy := show(none, inFog, none), show(none, none, none), show(inFog, inFog, inFog)
		for k := range 2 {
			assert.Equal(t, clear[k], changing[k])
			assert.Equal(t, foggy[2+k], changing[2+k])
			assert.NotEqual(t, clear[2+k], changing[2+k])
			assert.Equal(t, clear[4+k], changing[4+k])
		}
	})
}

// badWeathers are scenes in weathers that show all of it, in the ways that pictures of light are made.
func badWeathers(t *testing.T) (map[string]stand, func(s *stand) []mounted) {
	t.Helper()
	town, err := city.Generate(city.Options{Triangles: 40_000})
	require.NoError(t, err)
	list := map[string]stand{}
	add := func(name string, s stand, w weather.State) {
		s.width, s.height = 201, 151
		s.begin = func(r *rig) { require.NoError(t, r.history.Weather().Set(w)) }
		list[name] = s
	}
	add("rain", stand{scene: town, ego: town.Route, mount: forward(1.6), stamps: []simtime.Stamp{0}}, weather.State{Rain: 20, Wetness: 0.8, Cloud: 0.6})
	add("snow and fog", still(cutOuts(t), forward(1.6), 0), weather.State{Visibility: 30, Snow: 0.5, Wetness: 0.5})
	return list, func(s *stand) []mounted {
		var all []mounted
		for _, more := range [][]any{
			nil, {"samples", 4}, {"shadows", "traced"}, {"tone_curve", "none", "gamma", 2.6}, {"lens", "svl_fisheye", "xi", 0.9, "fov", 120},
			{"shutter", "rolling", "line_time", 1e-4},
		} {
			all = append(all, mounted{camera.RGBDefinition, s.mount, size(s.width, s.height, more...)})
		}
		return all
	}
}

// TestHostWeatherAgreesWithOpenGL holds the kernels' pictures in bad weather against the shader's.
func TestHostWeatherAgreesWithOpenGL(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	gl, host := openGL(t), hostThread(t, "", 2)
	stands, cameras := badWeathers(t)
	for name, s := range stands {
		list := cameras(&s)
		want, got := s.show(t, gl, list), s.show(t, host, list)
		for i := range list {
			d := compare("light", sample.EncodingRGB8, got[0][i], want[0][i], nil)
			t.Logf("%s %v: %.4f %% off, worst %d", name, list[i].attributes, 100*d.share(), d.worst)
			assert.LessOrEqual(t, d.share(), 0.005, "%s %v", name, list[i].attributes)
		}
	}
}

// TestHostWeatherIsTheSameBytes: any instruction set, and any number of threads.
func TestHostWeatherIsTheSameBytes(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	if os.Getenv("GL_DEVICE") == "host" {
		t.Skip("opens the host device itself; runs without GL_DEVICE=host")
	}
	stands, cameras := badWeathers(t)
	s := stands["snow and fog"]
	s.width, s.height = s.width/2, s.height/2
	list := cameras(&s)
	want := s.show(t, hostThread(t, hostdev.ISAs()[0], 1), list)
	for i, isa := range hostdev.ISAs() {
		got := s.show(t, hostThread(t, isa, i+1), list)
		for k := range list {
			assert.True(t, bytes.Equal(want[0][k].Data, got[0][k].Data), "%s: %v", isa, list[k].attributes)
		}
	}
}
