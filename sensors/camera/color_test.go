//go:build cgo

package camera_test

import (
	"fmt"
	"image"
	"image/color"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/go-gl/mathgl/mgl32"
	"github.com/go-gl/mathgl/mgl64"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/city"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/weather"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func vec64(v mgl32.Vec3) mgl64.Vec3 {
	return mgl64.Vec3{float64(v[0]), float64(v[1]), float64(v[2])}
}

func mix(a, b mgl64.Vec3, t float64) mgl64.Vec3 { return a.Mul(1 - t).Add(b.Mul(t)) }

func times(a, b mgl64.Vec3) mgl64.Vec3 { return mgl64.Vec3{a[0] * b[0], a[1] * b[1], a[2] * b[2]} }

func clamp(x, low, high float64) float64 { return max(low, min(high, x)) }

func smoothstep(a, b, x float64) float64 {
	t := clamp((x-a)/(b-a), 0, 1)
	return t * t * (3 - 2*t)
}

// lighting is lib/shade.glsl in float64, written from its description and from docs/weather.md; up is +z.
type lighting struct {
	toSun, sun, zenith, horizon, ground, around mgl64.Vec3
	weather.State
	camera.Outdoors
}

func lightingOf(l scene.Light) lighting {
	light := lighting{
		toSun: vec64(l.SunDirection).Normalize(), sun: vec64(l.SunColor),
		zenith: vec64(l.SkyZenith), horizon: vec64(l.SkyHorizon), ground: vec64(l.Ground), Outdoors: camera.Outdoors{Beyond: l.SunColor},
	}
	// The irradiance by the sky: bands of equal area on the disc below the hemisphere.
	const bands = 10_000
	var sky mgl64.Vec3
	for i := range bands {
		sky = sky.Add(light.gradient(math.Sqrt((float64(i) + 0.5) / bands)).Mul(1. / bands))
	}
	grey := sky.Dot(mgl64.Vec3{0.2126, 0.7152, 0.0722})
	light.around = mix(sky, mgl64.Vec3{grey, grey, grey}, 0.5)
	return light
}

// lightingIn is the lighting in a weather.
func lightingIn(l scene.Light, w weather.State) lighting {
	o := camera.OutdoorsOf(&l, float64(l.SunDirection.Normalize()[2]), w)
	light := lightingOf(o.Light)
	light.around, light.State, light.Outdoors = vec64(o.Around), w, o
	return light
}

func (l lighting) gradient(height float64) mgl64.Vec3 { return rising(l.horizon, l.zenith, height) }

// rising is a sky between its ends.
func rising(horizon, zenith mgl64.Vec3, height float64) mgl64.Vec3 {
	return mix(horizon, zenith, 1-math.Exp2(-4.5*max(height, 0)))
}

// behind is a light behind air that leaves a share of it, in a direction of some height.
func (l lighting) behind(c mgl64.Vec3, height, left float64) mgl64.Vec3 {
	return mix(rising(vec64(l.Air), vec64(l.AirAbove), height), c, left)
}

// beyondAll is a light above all air.
func (l lighting) beyondAll(c mgl64.Vec3, height float64) mgl64.Vec3 {
	return l.behind(c, height, math.Exp(-l.Depth/max(math.Abs(height), 1e-6)))
}

// covered is a surface under snow, and below the water that covers a share of it, wet.
func (l lighting) covered(m *scene.Material, n, eye mgl64.Vec3) (base mgl64.Vec3, metal, rough, wet float64) {
	snow := l.SnowCover() * smoothstep(0.64, 0.87, n[2])
	wet = l.Wetness * smoothstep(0.87, 0.97, n[2]) * (1 - snow)
	metal = float64(m.Metallic)
	passed := (1 - 0.066) * (1 - 0.472) * (1 - fresnel(math.Acos(clamp(n.Dot(eye), 1e-3, 1-1e-9)))) / (1 - 0.02)
	for i, dry := range vec64(m.BaseColor.Vec3()) {
		film := dry + (passed*dry/(1-0.472*dry)-dry)*wet*(1-metal)
		base[i] = film + (0.85-film)*snow
	}
	rough = float64(m.Roughness)
	return base, metal * (1 - snow), rough + (1-rough)*snow, wet
}

func (l lighting) sky(d mgl64.Vec3) mgl64.Vec3 {
	c := l.gradient(d[2])
	if d[2] < 0 {
		c = mix(l.horizon, l.ground, clamp(-10*d[2], 0, 1))
	}
	toward := max(d.Dot(l.toSun), 0)
	glow := 0.012*math.Pow(toward, 8) + 0.05*math.Pow(toward, 64) + 8*smoothstep(0.99996, 0.99998, toward)
	return l.beyondAll(c.Add(vec64(l.Beyond).Mul(glow)), d[2])
}

// dimmed is the same light where only a share of that of sky and ground arrives.
func (l lighting) dimmed(open float64) lighting {
	l.zenith, l.horizon, l.ground, l.around = l.zenith.Mul(open), l.horizon.Mul(open), l.ground.Mul(open), l.around.Mul(open)
	return l
}

// radiance is the light that a surface sends towards the eye under a fraction of
// the sun.
func (l lighting) radiance(m *scene.Material, n, eye mgl64.Vec3, sunlight float64) mgl64.Vec3 {
	base, metal, rough, wet := l.covered(m, n, eye)
	dry := clamp(rough, 0.06, 1)
	rough = dry + (0.08-dry)*wet
	diffuse := base.Mul(1 - metal)
	bare := mix(mgl64.Vec3{0.04, 0.04, 0.04}, base, metal)
	specular := mix(bare, mgl64.Vec3{0.02, 0.02, 0.02}, wet)
	half := l.toSun.Add(eye).Normalize()
	ne, ns, nh, eh := max(n.Dot(eye), 1e-3), max(n.Dot(l.toSun), 0), max(n.Dot(half), 0), max(eye.Dot(half), 0)
	a2 := math.Pow(rough, 4)
	d := a2 / (math.Pi * math.Pow(nh*nh*(a2-1)+1, 2))
	k := rough * rough / 2
	v := 1 / (4 * (ne*(1-k) + k) * (ns*(1-k) + k))
	schlick := specular.Add(mgl64.Vec3{1, 1, 1}.Sub(specular).Mul(math.Pow(1-eh, 5)))
	direct := times(diffuse.Mul(1/math.Pi).Add(schlick.Mul(min(d*v, 60))), l.sun).Mul(ns * sunlight)

	r := [4]float64{1 - dry, 0.0425 - 0.0275*dry, 1.04 - 0.572*dry, -0.04 + 0.022*dry}
	a := min(r[0]*r[0], math.Exp2(-9.28*ne))*r[0] + r[1]
	scale, bias := -1.04*a+r[2], 1.04*a+r[3]
	mirror := n.Mul(2 * n.Dot(eye)).Sub(eye)
	edge := 0.03 + 0.5*rough
	mirrored := mix(l.ground, l.beyondAll(l.gradient(mirror[2]), mirror[2]), smoothstep(-edge, edge, mirror[2]))
	ambient := times(diffuse, mix(l.ground, l.around, 0.5+0.5*n[2]))
	water := fresnel(math.Acos(min(ne, 1-1e-9)))
	gloss := mix(bare.Mul(scale).Add(mgl64.Vec3{bias, bias, bias}), mgl64.Vec3{water, water, water}, wet)
	return direct.Add(ambient).Add(times(gloss, mirrored)).Add(vec64(m.Emissive))
}

// TestSunAndShadeAreAsFarApartAsInAPhotograph holds a road, and a wall of the city that the
// sun meets at 45 degrees, beside themselves in the shade.
func TestSunAndShadeAreAsFarApartAsInAPhotograph(t *testing.T) {
	town, err := city.Generate(city.Options{})
	require.NoError(t, err)
	toSun := vec64(town.Light.SunDirection)
	wall := mgl64.Vec3{toSun[0] - toSun[1], toSun[1] + toSun[0], 0}.Normalize()
	grey := scenetest.Matte("grey", 0.3, 0.3, 0.3)
	for what, c := range map[string]struct {
		light  scene.Light
		normal mgl64.Vec3
	}{
		"road": {town.Light, mgl64.Vec3{0, 0, 1}}, "wall": {town.Light, wall},
		"road in a scene without light": {camera.Daylight, mgl64.Vec3{0, 0, 1}},
	} {
		light := lightingOf(c.light)
		luma := func(sun float64) float64 {
			return light.radiance(&grey, c.normal, c.normal, sun).Dot(mgl64.Vec3{0.2126, 0.7152, 0.0722})
		}
		assert.InDelta(t, 6, luma(1)/luma(0), 1.6, "how many times as bright the sun makes a %s", what)
		assert.Less(t, light.zenith[1], luma(1), "the sky above is darker than a sunlit %s", what)
	}
}

// shown is what a display shows of a radiance, 0..255.
func shown(c mgl64.Vec3, filmic bool) [3]float64 {
	var out [3]float64
	for i, x := range c {
		if filmic {
			x = x * (2.51*x + 0.09) / (x*(2.43*x+0.59) + 0.14)
		}
		x = clamp(x, 0, 1)
		if x <= 0.0031308 {
			x *= 12.92
		} else {
			x = 1.055*math.Pow(x, 1/2.4) - 0.055
		}
		out[i] = 255 * x
	}
	return out
}

func assertPixel(t *testing.T, want [3]float64, m *sample.Image, u, v int, within float64, what string) {
	t.Helper()
	got := pixelAt(m, u, v)
	for i := range want {
		assert.InDelta(t, want[i], float64(got[i]), within, "%s: pixel %d, %d is %v, want %.1f", what, u, v, got, want)
	}
}

func TestAGlowingPanelHasItsExactColor(t *testing.T) {
	for _, glow := range []mgl32.Vec3{{0, 0, 0}, {1, 1, 1}, {0.5, 0.18, 0.02}, {0.003, 0.0001, 0.75}, {4, 0.9, 0.3}} {
		b := scenetest.NewBuilder("panel")
		b.Scene.Light = scene.Light{Exposure: 0.8}
		m := scenetest.Matte("panel", 0, 0, 0)
		m.Emissive = glow
		b.Put("panel", scenetest.Box(1, 20, 20), m, scenetest.At(5, 0, 0, scene.TagStatic))
		r := newRig(t, b.Scene, nil,
			mounted{camera.RGBDefinition, forward(0), size(16, 12, "tone_curve", "none")},
			mounted{camera.RGBDefinition, forward(0), size(16, 12)},
			mounted{camera.RGBDefinition, forward(0), size(16, 12, "exposure_compensation", -2.5)},
			mounted{camera.RGBDefinition, forward(0), size(16, 12, "samples", 4)})
		r.fire(0)
		c := vec64(glow).Mul(0.8)
		assertPixel(t, shown(c, false), r.picture(0), 8, 6, 0.51, "linear")
		assertPixel(t, shown(c, true), r.picture(1), 8, 6, 0.51, "filmic")
		assertPixel(t, shown(c.Mul(math.Exp2(-2.5)), true), r.picture(2), 8, 6, 0.51, "compensated")
		assert.Equal(t, pixelAt(r.picture(1), 8, 6), pixelAt(r.picture(3), 8, 6))
	}
}

// TestShadingMatchesTheReference compares whole pictures of balls and of the sky
// with the shading equations in float64, in clear air, and in a weather also from above.
func TestShadingMatchesTheReference(t *testing.T) {
	above := spatial.FromRPY(mgl64.Vec3{1, 0, 4}, 0, 30, 0)
	behind, ahead := mgl32.Vec3{-0.8, 0.3, 0.5}, mgl32.Vec3{0.75, 0.25, 0.5}
	for _, c := range []struct {
		metallic, roughness float32
		weather             weather.State
		mount               spatial.Pose
		toSun               mgl32.Vec3
	}{
		{0, 1, weather.State{}, forward(0), behind},
		{0, 0.3, weather.State{}, forward(0), behind},
		{1, 0.5, weather.State{}, forward(0), behind},
		{1, 0.1, weather.State{}, forward(0), behind},
		{0.4, 0.7, weather.State{}, forward(0), behind},
		{0, 1, weather.State{Wetness: 1}, above, ahead},
		{1, 0.4, weather.State{Wetness: 0.6, Cloud: 0.3}, above, behind},
		{1, 0.1, weather.State{Snow: 0.6, Wetness: 0.8}, above, behind},
		{0.4, 0.7, weather.State{Visibility: 600, Wetness: 1}, above, behind},
		{0, 0.3, weather.State{Visibility: 3000}, forward(0), ahead},
		{0, 1, weather.State{Visibility: 10, Cloud: 0.5}, forward(0), behind},
	} {
		what := fmt.Sprintf("metallic %v, roughness %v, %+v", c.metallic, c.roughness, c.weather)
		b := scenetest.NewBuilder("ball")
		m := scenetest.Matte("ball", 0.7, 0.4, 0.1)
		m.Metallic, m.Roughness = c.metallic, c.roughness
		b.Put("ball", scenetest.Sphere(2, 100), m, scenetest.At(5, 0, 0, scene.TagStatic))
		b.Scene.Light.SunDirection = c.toSun.Normalize()
		stops := 0.0
		if c.toSun == ahead {
			stops = -2 // it is bright
		}
		r := rigIn(t, gputest.Thread(t), b.Scene, c.weather,
			mounted{camera.RGBDefinition, c.mount, size(96, 72, "exposure_mode", "manual", "exposure_compensation", stops)})
		r.fire(0)
		l, light := lens(t, 96, 72, 90), lightingIn(b.Scene.Light, c.weather)
		toMap, center := c.mount.Compose(spatial.OpticalInBody()), mgl64.Vec3{5, 0, 0}.Sub(c.mount.Position)
		var sum float64
		n, worst := 0, 0.0
		for v := range 72 {
			for u := range 96 {
				d := toMap.Rotate(l.Ray(float64(u), float64(v))).Normalize()
				along := center.Dot(d)
				under := along*along - center.Dot(center) + 4
				var want [3]float64
				switch {
				case d.Dot(light.toSun) > 0.9997:
					continue // the edge of the sun
				case under < -0.01:
					want = shown(light.sky(d).Mul(math.Exp2(stops)), true)
				case under > 0.3:
					away := along - math.Sqrt(under)
					normal := d.Mul(away).Sub(center).Normalize()
					if math.Abs(normal.Dot(light.toSun)) < 0.15 {
						continue // the edge of its own shadow is soft
					}
					color := light.behind(light.radiance(&m, normal, d.Mul(-1), 1), d[2], math.Exp(-c.weather.Extinction()*away))
					want = shown(color.Mul(math.Exp2(stops)), true)
				default:
					continue // the rim
				}
				got := pixelAt(r.picture(0), u, v)
				for i := range want {
					e := math.Abs(want[i] - float64(got[i]))
					sum, n, worst = sum+e, n+1, max(worst, e)
				}
			}
		}
		assert.Less(t, sum/float64(n), 0.6, "mean difference in levels, %s", what)
		assert.Less(t, worst, 4.0, "largest difference in levels, %s", what)
	}
}

// TestShadowsFallWhereTheSunSaysTheyDo looks down on a floor with a still and a
// moving block and compares points in and beside their shadows.
func TestShadowsFallWhereTheSunSaysTheyDo(t *testing.T) {
	b := scenetest.NewBuilder("shadows")
	floor := scenetest.Matte("floor", 0.5, 0.5, 0.5)
	b.Scene.Light.SunDirection = mgl32.Vec3{-1, 0, 1}.Normalize()
	b.Put("floor", scenetest.Plane(100, 4), floor, scenetest.At(0, 0, 0, scene.TagRoads))
	b.Put("still", scenetest.Box(1, 1, 4), floor, scenetest.At(3, -3, 2, scene.TagStatic))
	start := spatial.Identity()
	start.Position = mgl64.Vec3{3, 3, 2}
	b.Put("moving", scenetest.Box(1, 1, 4), floor, scene.Placement{
		Tag: scene.TagCar, Motion: scenetest.Linear{Start: start, Velocity: mgl64.Vec3{1.5, 0, 0}},
	})
	down := spatial.FromRPY(mgl64.Vec3{5, 0, 20}, 0, 90, 0)
	r := newRig(t, b.Scene, nil, mounted{camera.RGBDefinition, down, size(200, 200, "fov", 60)})
	l, light := lens(t, 200, 200, 60), lightingOf(b.Scene.Light)
	toOptical := down.Compose(spatial.OpticalInBody()).Inverse()
	for _, at := range []int64{0, second} {
		r.fire(simtime.Stamp(at))
		x := 3 + 1.5*float64(at)/1e9
		for _, c := range []struct {
			x, y float64
			sun  float64
		}{
			// The shadow of a block 4 m high reaches 4 m beyond it.
			{5, -3, 0}, {7.2, -3, 0}, {7.8, -3, 1}, {5, -3.7, 1}, {5, -2.3, 1}, {1.8, -3, 1},
			{x + 2, 3, 0}, {x + 4.2, 3, 0}, {x + 4.8, 3, 1}, {x + 2, 3.8, 1}, {x + 2, 2.2, 1}, {x - 1.2, 3, 1},
		} {
			p := mgl64.Vec3{c.x, c.y, 0}
			u, v, ok := l.Project(toOptical.Apply(p))
			require.True(t, ok)
			eye := down.Position.Sub(p).Normalize()
			want := shown(light.radiance(&floor, mgl64.Vec3{0, 0, 1}, eye, c.sun), true)
			assertPixel(t, want, r.picture(0), int(math.Round(u)), int(math.Round(v)), 2, "sunlight")
		}
	}
}

// TestOcclusionDarkensTheSkysLight looks down on a floor beside a wall, in the sun and in the
// wall's shadow.
func TestOcclusionDarkensTheSkysLight(t *testing.T) {
	floor := scenetest.Matte("floor", 0.5, 0.5, 0.5)
	down := spatial.FromRPY(mgl64.Vec3{1.4, 0, 2}, 0, 90, 0)
	toOptical := down.Compose(spatial.OpticalInBody()).Inverse()
	l := lens(t, 200, 200, 60)
	for _, c := range []struct {
		sun      mgl32.Vec3
		sunlight float64
	}{{mgl32.Vec3{-1, 0, 1}, 1}, {mgl32.Vec3{1, 0, 0.3}, 0}} {
		b := scenetest.NewBuilder("corner")
		b.Scene.Light.SunDirection, b.Scene.Occlusion = c.sun.Normalize(), true
		b.Put("corner", scenetest.Corner(4.4, 44), floor, scenetest.At(0, 0, 0, scene.TagStatic))
		// Traced: a map's shadow is soft for some centimetres at the foot of the wall.
		r := newRig(t, b.Scene, nil, mounted{camera.RGBDefinition, down, size(200, 200, "fov", 60, "shadows", "traced")})
		r.fire(0)
		light, darkest := lightingOf(b.Scene.Light), 0.0
		for i, v := range r.geometry.Vertices {
			p := mgl64.Vec3{float64(v[0]), float64(v[1]), float64(v[2])}
			if p[2] > 0 || p[0] > 2.15 || p[0] < 1 || math.Abs(p[1]) > 0.5 {
				continue
			}
			hidden := float64(r.geometry.Attributes[i/3*3+2][3]>>(8*(i%3))&255) / 255
			darkest = max(darkest, hidden)
			x, y, ok := l.Project(toOptical.Apply(p))
			require.True(t, ok)
			want := shown(light.dimmed(1-hidden).radiance(&floor, mgl64.Vec3{0, 0, 1}, down.Position.Sub(p).Normalize(), c.sunlight), true)
			assertPixel(t, want, r.picture(0), int(math.Round(x)), int(math.Round(y)), 2, "occlusion")
		}
		assert.Greater(t, darkest, 0.1)
	}
}

func TestASceneWithoutLightIsShownByDay(t *testing.T) {
	b := scenetest.NewBuilder("floor")
	b.Scene.Light = scene.Light{}
	b.Put("floor", scenetest.Plane(50, 1), scenetest.Matte("floor", 0.5, 0.5, 0.5), scenetest.At(0, 0, 0, scene.TagRoads))
	r := newRig(t, b.Scene, nil, mounted{camera.RGBDefinition, forward(1.5), size(32, 24)})
	r.fire(0)
	floor, sky := pixelAt(r.picture(0), 16, 22), pixelAt(r.picture(0), 16, 0)
	for i := range 3 {
		assert.Greater(t, floor[i], 120, "sunlit floor %v", floor)
	}
	assert.Greater(t, sky[2], sky[0]+20, "blue sky %v", sky)
}

func checker(size, cell int) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, size, size))
	for y := range size {
		for x := range size {
			c := color.NRGBA{A: 255}
			if (x/cell+y/cell)%2 == 0 {
				c = color.NRGBA{255, 255, 255, 255}
			}
			img.SetNRGBA(x, y, c)
		}
	}
	return img
}

func TestACheckerTurnsGreyTowardsTheHorizon(t *testing.T) {
	b := scenetest.NewBuilder("checker")
	plane := scenetest.Plane(2000, 1)
	for i := range plane.UVs {
		plane.UVs[i] = plane.UVs[i].Mul(500)
	}
	putTextured(b, "floor", plane, scene.Texture{Name: "checker", Image: checker(64, 32)}, scenetest.At(0, 0, 0, scene.TagRoads))
	r := newRig(t, b.Scene, nil, mounted{camera.RGBDefinition, spatial.FromRPY(mgl64.Vec3{0.9, 0.3, 1.5}, 0, 0, 0), size(320, 240, "tone_curve", "none")})
	r.fire(0)
	m := r.picture(0)
	spread := func(v int) (mean, deviation float64) {
		var sum, squares float64
		for u := range m.Width {
			x := float64(pixelAt(m, u, v)[0]) / 255
			if x <= 0.04045 {
				x /= 12.92
			} else {
				x = math.Pow((x+0.055)/1.055, 2.4)
			}
			sum, squares = sum+x, squares+x*x
		}
		mean = sum / float64(m.Width)
		return mean, math.Sqrt(max(squares/float64(m.Width)-mean*mean, 0))
	}
	_, near := spread(239)
	assert.Greater(t, near, 0.3, "black and white at the camera's feet")
	last := math.Inf(1)
	for _, v := range []int{239, 170, 140, 128} {
		mean, deviation := spread(v)
		assert.InDelta(t, 0.5, mean, 0.16, "row %d: the mean light of black and white", v)
		assert.LessOrEqual(t, deviation, last+0.02, "row %d: contrast falls towards the horizon", v)
		last = deviation
	}
	for v := 121; v <= 126; v++ {
		mean, deviation := spread(v)
		assert.InDelta(t, 0.5, mean, 0.02, "row %d is grey", v)
		assert.Less(t, deviation, 0.01, "row %d is even", v)
	}
}

// putTextured puts a mesh that shows a texture as it is.
func putTextured(b *scenetest.Builder, name string, m scene.Mesh, t scene.Texture, p scene.Placement) {
	b.Scene.Light = scene.Light{Exposure: 1}
	material := scenetest.Matte(name, 0, 0, 0)
	material.Emissive, material.EmissiveTexture = mgl32.Vec3{1, 1, 1}, 0
	m.Groups = []scene.Group{{Count: len(m.Indices)}}
	asset := &scene.Asset{
		Name: name, Textures: []scene.Texture{t}, Materials: []scene.Material{material}, Meshes: []scene.Mesh{m},
		Nodes: []scene.Node{{Name: name, Parent: -1, Local: scene.IdentityTRS()}},
	}
	if _, err := b.Scene.Add(asset, p); err != nil {
		panic(err)
	}
}

func TestTexturesLieAsTheirCoordinatesSay(t *testing.T) {
	corners := [4]color.NRGBA{{255, 0, 0, 255}, {0, 255, 0, 255}, {0, 0, 255, 255}, {255, 255, 0, 255}}
	img := image.NewNRGBA(image.Rect(0, 0, 64, 64))
	for y := range 64 {
		for x := range 64 {
			img.SetNRGBA(x, y, corners[x/32+2*(y/32)])
		}
	}
	b := scenetest.NewBuilder("picture")
	// u runs along +x, v along +y; (0, 0) is the picture's top left (glTF 2.0,
	// section 3.8.3). Seen from above with +x up, +y is left.
	putTextured(b, "floor", scenetest.Plane(10, 3), scene.Texture{Name: "corners", Image: img}, scenetest.At(0, 0, 0, scene.TagRoads))
	r := newRig(t, b.Scene, nil, mounted{camera.RGBDefinition, spatial.FromRPY(mgl64.Vec3{0, 0, 5}, 0, 90, 0), size(100, 100, "tone_curve", "none")})
	r.fire(0)
	for i, px := range [][2]int{{75, 75}, {75, 25}, {25, 75}, {25, 25}} {
		c := corners[i]
		assert.Equal(t, [3]int{int(c.R), int(c.G), int(c.B)}, pixelAt(r.picture(0), px[0], px[1]), "texture quarter %d", i)
	}
}

// both runs a test on OpenGL and on the host device.
func both(t *testing.T, test func(t *testing.T, thread *gpu.Thread)) {
	t.Helper()
	for name, thread := range map[string]func(*testing.T) *gpu.Thread{
		"OpenGL": openGL, "host": func(t *testing.T) *gpu.Thread { return hostThread(t, "", 2) },
	} {
		t.Run(name, func(t *testing.T) { test(t, thread(t)) })
	}
}

// reference samples level 0 of a texture in float64, as OpenGL 4.5 (section 8.14.3) says. ok is
// false where another texel is so near that rounding decides.
func reference(x *scene.Texture, uv mgl64.Vec2) (light [3]float64, ok bool) {
	size := [2]int{x.Image.Rect.Dx(), x.Image.Rect.Dy()}
	fold := func(i, axis int) int {
		n := size[axis]
		switch [2]scene.Wrap{x.WrapS, x.WrapT}[axis] {
		case scene.WrapClamp:
			return min(max(i, 0), n-1)
		case scene.WrapMirror:
			if i = (i%(2*n) + 2*n) % (2 * n); i >= n {
				return 2*n - 1 - i
			}
			return i
		}
		return (i%n + n) % n
	}
	texel := func(i, j int) [3]float64 {
		c := x.Image.NRGBAAt(fold(i, 0), fold(j, 1))
		return [3]float64{linear(int(c.R)), linear(int(c.G)), linear(int(c.B))}
	}
	u, v := uv[0]*float64(size[0]), uv[1]*float64(size[1])
	if x.Magnify == scene.FilterNearest {
		near := math.Abs(u-math.Round(u)) < 1e-3 || math.Abs(v-math.Round(v)) < 1e-3
		return texel(int(math.Floor(u)), int(math.Floor(v))), !near
	}
	i, j := math.Floor(u-0.5), math.Floor(v-0.5)
	for k := range 4 {
		a, b := float64(k%2), float64(k/2)
		share := (1 - math.Abs(u-0.5-i-a)) * (1 - math.Abs(v-0.5-j-b))
		for c, l := range texel(int(i+a), int(j+b)) {
			light[c] += share * l
		}
	}
	return light, true
}

// Beyond a picture's edges it is repeated, is as its edge, or is mirrored, along each axis as the
// axis says. Between texels it is mixed in linear light, or the nearest alone is seen.
func TestTexturesWrapAsTheySay(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	const width, height = 200, 160
	rng := rand.New(rand.NewPCG(4, 4))
	img := image.NewNRGBA(image.Rect(0, 0, 6, 5))
	for i := range img.Pix {
		img.Pix[i] = byte(rng.IntN(256)) | 255*byte(i%4/3)
	}
	both(t, func(t *testing.T, thread *gpu.Thread) {
		for i := range 18 {
			texture := scene.Texture{Name: "steps", Image: img, Sampler: scene.Sampler{
				WrapS: scene.Wrap(i % 3), WrapT: scene.Wrap(i / 3 % 3), Magnify: []scene.Filter{scene.FilterLinear, scene.FilterNearest}[i/9],
			}}
			b := scenetest.NewBuilder("picture")
			plane := scenetest.Plane(10, 1)
			for i, uv := range plane.UVs {
				plane.UVs[i] = mgl32.Vec2{5*uv[0] - 2, 5*uv[1] - 2}
			}
			putTextured(b, "floor", plane, texture, scenetest.At(0, 0, 0, scene.TagRoads))
			// A larger picture beside it doesn't change it.
			putTextured(b, "far", scenetest.Plane(1, 1), scene.Texture{Name: "large", Image: image.NewNRGBA(image.Rect(0, 0, 40, 7))}, scenetest.At(50, 0, 0, scene.TagRoads))
			down := spatial.FromRPY(mgl64.Vec3{0, 0, 5}, 0, 90, 0)
			r := newRigOn(t, thread, b.Scene, nil, mounted{camera.RGBDefinition, down, size(width, height, "tone_curve", "none")})
			r.fire(0)
			l, compared := lens(t, width, height, 90), 0
			for v := range height {
				for u := range width {
					at := down.Compose(spatial.OpticalInBody()).Apply(unproject(l, float64(u), float64(v), 5))
					want, ok := reference(&texture, mgl64.Vec2{at[0]/2 + 0.5, at[1]/2 + 0.5})
					if !ok {
						continue
					}
					compared++
					got := pixelAt(r.picture(0), u, v)
					for c := range 3 {
						require.InDelta(t, encoded(want[c]), float64(got[c]), 1.01, "%+v at %.3f, %.3f", texture.Sampler, at[0], at[1])
					}
				}
			}
			assert.Greater(t, compared, width*height*9/10)
			r.end()
		}
	})
}

// A fine checker whose texels are 1.74 to a pixel: of its mipmaps all but the first are grey. Each
// filter shows what OpenGL 4.5 (section 8.14.2) says.
func TestTexturesMinifyAsTheySay(t *testing.T) {
	const width, level = 64, 0.8
	img := image.NewNRGBA(image.Rect(0, 0, 64, 64))
	for i := range 64 * 64 {
		v := uint8(255 * ((i + i/64) % 2))
		img.SetNRGBA(i%64, i/64, color.NRGBA{v, v, v, 255})
	}
	both(t, func(t *testing.T, thread *gpu.Thread) {
		for filter, want := range map[scene.Filter]func(light float64) bool{
			scene.FilterNearest:              func(x float64) bool { return x < 1e-3 || x > 1-1e-3 },
			scene.FilterNearestMipmapNearest: func(x float64) bool { return math.Abs(x-0.5) < 0.01 },
			scene.FilterLinearMipmapNearest:  func(x float64) bool { return math.Abs(x-0.5) < 0.01 },
			scene.FilterNearestMipmapLinear: func(x float64) bool {
				return math.Abs(x-level/2) < 0.01 || math.Abs(x-(1-level/2)) < 0.01
			},
			scene.FilterTrilinear: func(x float64) bool { return x > level/2-0.01 && x < 1-level/2+0.01 },
			scene.FilterLinear:    func(float64) bool { return true },
		} {
			b := scenetest.NewBuilder("checker")
			plane := scenetest.Plane(40, 1)
			for i, uv := range plane.UVs { // a texel is 1 cm
				plane.UVs[i] = uv.Mul(40 / 0.64)
			}
			sampler := scene.Sampler{Magnify: scene.FilterNearest, Minify: filter}
			putTextured(b, "floor", plane, scene.Texture{Name: "checker", Image: img, Sampler: sampler}, scenetest.At(0, 0, 0, scene.TagRoads))
			// 90 degrees are 2 z / width metres a pixel.
			high := spatial.FromRPY(mgl64.Vec3{0.003, 0.004, 0.01 * math.Exp2(level) * width / 2}, 0, 90, 0)
			r := newRigOn(t, thread, b.Scene, nil, mounted{camera.RGBDefinition, high, size(width, width, "tone_curve", "none")})
			r.fire(0)
			least, most := 1.0, 0.0
			for i := range width * width {
				light := linear(pixelAt(r.picture(0), i%width, i/width)[0])
				least, most = min(least, light), max(most, light)
				require.True(t, want(light), "filter %d at pixel %d: light %.3f", filter, i, light)
			}
			if filter == scene.FilterLinear {
				assert.Less(t, least, 0.05)
				assert.Greater(t, most, 0.95, "level 0 alone")
			}
			r.end()
		}
	})
}

// A picture of one metal and one roughness is as good as the numbers that it multiplies.
func TestPicturesOfMetalAndRoughness(t *testing.T) {
	render := func(m scene.Material, textures ...scene.Texture) *sample.Image {
		b := scenetest.NewBuilder("ball")
		mesh := scenetest.Sphere(1, 32)
		mesh.Groups = []scene.Group{{Count: len(mesh.Indices)}}
		_, err := b.Scene.Add(&scene.Asset{
			Name: "ball", Textures: textures, Materials: []scene.Material{m}, Meshes: []scene.Mesh{mesh},
			Nodes: []scene.Node{{Name: "ball", Parent: -1, Local: scene.IdentityTRS()}},
		}, scenetest.At(3, 0, 1, scene.TagCar))
		require.NoError(t, err)
		r := newRig(t, b.Scene, nil, mounted{camera.RGBDefinition, forward(1), size(64, 64)})
		r.fire(0)
		return r.picture(0)
	}
	painted := scenetest.Matte("painted", 0.8, 0.3, 0.1)
	painted.Metallic, painted.Roughness = 0.6, 0.4
	want := render(painted)
	picture := image.NewNRGBA(image.Rect(0, 0, 4, 4))
	for i := range 16 {
		copy(picture.Pix[4*i:], []byte{9, 102, 153, 255}) // roughness 0.4 in green, metallic 0.6 in blue
	}
	painted.Metallic, painted.Roughness, painted.MetalRoughTexture = 1, 1, 0
	got := render(painted, scene.Texture{Name: "metal and roughness", Image: picture})
	for v := range 64 {
		for u := range 64 {
			w := pixelAt(want, u, v)
			assertPixel(t, [3]float64{float64(w[0]), float64(w[1]), float64(w[2])}, got, u, v, 1.01, "ball")
		}
	}
}

// panel is a wall that glows in a colour, under an exposure of 0.8.
func panel(glow mgl32.Vec3) *scene.Scene {
	b := scenetest.NewBuilder("panel")
	b.Scene.Light = scene.Light{Exposure: 0.8}
	m := scenetest.Matte("panel", 0, 0, 0)
	m.Emissive = glow
	b.Put("panel", scenetest.Box(1, 20, 20), m, scenetest.At(5, 0, 0, scene.TagStatic))
	return b.Scene
}

func TestManualExposureIsThatOfTheFilm(t *testing.T) {
	glow := mgl64.Vec3{0.3, 0.12, 0.05}
	cases := []struct {
		gain       float64
		attributes []any
	}{
		{1, nil},
		{1, []any{"iso", 800, "fstop", 8}}, // a meter finds the exposure
		{1, []any{"exposure_mode", "manual"}},
		{2, []any{"exposure_mode", "manual", "iso", 200}},
		{0.25, []any{"exposure_mode", "manual", "fstop", 2.8}},
		{0.5, []any{"exposure_mode", "manual", "shutter_speed", 400}},
		{0.5, []any{"exposure_mode", "manual", "calibration_constant", 32}},
		{2 * 4 * 0.5 / 16, []any{"exposure_mode", "manual", "exposure_compensation", 1, "iso", 400, "shutter_speed", 400, "fstop", 5.6}},
	}
	var list []mounted
	for _, c := range cases {
		list = append(list, mounted{camera.RGBDefinition, forward(0), size(16, 12, c.attributes...)})
	}
	r := newRig(t, panel(mgl32.Vec3{0.3, 0.12, 0.05}), nil, list...)
	r.fire(0)
	for i, c := range cases {
		assertPixel(t, shown(glow.Mul(0.8*c.gain), true), r.picture(i), 8, 6, 0.51, "exposed")
	}
}

func TestWithoutPostProcessingThePictureIsLinear(t *testing.T) {
	r := newRig(t, panel(mgl32.Vec3{0.5, 0.1, 3}), nil,
		mounted{camera.RGBDefinition, forward(0), size(16, 12, "enable_postprocess_effects", false, "gamma", 3, "temp", 4000, "slope", 0.5)})
	r.fire(0)
	assertPixel(t, [3]float64{255 * 0.4, 255 * 0.08, 255}, r.picture(0), 8, 6, 0.51, "linear")
}

// TestTooMuchLightIsWhite has the greatest exposure that can be set.
func TestTooMuchLightIsWhite(t *testing.T) {
	most := []any{"exposure_mode", "manual", "exposure_compensation", 16.0, "iso", 1e6, "fstop", 0.1, "shutter_speed", 0.01, "calibration_constant", 1.0}
	for _, more := range [][]any{{}, {"tone_curve", "none"}, {"toe", 0.2}, {"enable_postprocess_effects", false}} {
		r := newRig(t, panel(mgl32.Vec3{5000, 5000, 5000}), nil, mounted{camera.RGBDefinition, forward(0), size(16, 12, append(more, most...)...)})
		r.fire(0)
		assert.Equal(t, [3]int{255, 255, 255}, pixelAt(r.picture(0), 8, 6), "%v", more)
	}
}

func TestGammaBendsTheDisplayed(t *testing.T) {
	r := newRig(t, panel(mgl32.Vec3{0.5, 0.1, 0.01}), nil,
		mounted{camera.RGBDefinition, forward(0), size(16, 12, "gamma", 2.75, "tone_curve", "none")})
	r.fire(0)
	bent := mgl64.Vec3{math.Pow(0.4, 0.8), math.Pow(0.08, 0.8), math.Pow(0.008, 0.8)}
	assertPixel(t, shown(bent, false), r.picture(0), 8, 6, 0.6, "gamma")
}

// unreal is Unreal Engine's film curve in float64, from its description: a line of
// log10 between two sigmoids that continue it.
func unreal(x, slope, toe, shoulder, blackClip, whiteClip float64) float64 {
	toeScale, shoulderScale := 1+blackClip-toe, 1+whiteClip-shoulder
	var toeMatch float64
	if toe > 0.8 {
		toeMatch = (1-toe-0.18)/slope + math.Log10(0.18)
	} else {
		bt := (0.18+blackClip)/toeScale - 1
		toeMatch = math.Log10(0.18) - 0.5*math.Log((1+bt)/(1-bt))*(toeScale/slope)
	}
	straightMatch := (1-toe)/slope - toeMatch
	shoulderMatch := shoulder/slope - straightMatch
	log := math.Log10(x)
	straight := slope * (log + straightMatch)
	low, high := straight, straight
	if log < toeMatch {
		low = -blackClip + 2*toeScale/(1+math.Exp(-2*slope/toeScale*(log-toeMatch)))
	}
	if log > shoulderMatch {
		high = 1 + whiteClip - 2*shoulderScale/(1+math.Exp(2*slope/shoulderScale*(log-shoulderMatch)))
	}
	s := clamp((log-toeMatch)/(shoulderMatch-toeMatch), 0, 1)
	if shoulderMatch < toeMatch {
		s = 1 - s
	}
	return clamp(low+(high-low)*(3-2*s)*s*s, 0, 1)
}

func TestFilmCurveIsUnreals(t *testing.T) {
	assert.InDelta(t, 0.18, unreal(0.18, 0.88, 0.55, 0.26, 0, 0.04), 1e-12, "middle grey stays")
	curves := [][5]float64{
		{0.9, 0.55, 0.26, 0, 0.04}, {0.88, 0.2, 0.26, 0, 0.04}, {0.88, 0.85, 0.26, 0, 0.04},
		{0.88, 0.55, 0.7, 0, 0.04}, {0.7, 0.5, 0.4, 0.1, 0.2},
	}
	var list []mounted
	for _, c := range curves {
		list = append(list, mounted{camera.RGBDefinition, forward(0), size(16, 12,
			"slope", c[0], "toe", c[1], "shoulder", c[2], "black_clip", c[3], "white_clip", c[4])})
	}
	for _, x := range []float64{0.002, 0.05, 0.18, 0.6, 2, 9} {
		g := float32(x / 0.8)
		r := newRig(t, panel(mgl32.Vec3{g, g, g}), nil, list...)
		r.fire(0)
		for i, c := range curves {
			y := unreal(x, c[0], c[1], c[2], c[3], c[4])
			assertPixel(t, shown(mgl64.Vec3{y, y, y}, false), r.picture(i), 8, 6, 0.7, "film")
		}
	}
}

// TestWhiteBalanceMakesTheLightWhite shows a panel in the colour of a light, as the
// CIE tabulates it, to a camera that is set to that light.
func TestWhiteBalanceMakesTheLightWhite(t *testing.T) {
	toRGB := mgl64.Mat3FromRows(
		mgl64.Vec3{3.2406, -1.5372, -0.4986}, mgl64.Vec3{-0.9689, 1.8758, 0.0415}, mgl64.Vec3{0.0557, -0.2040, 1.0570})
	colorOf := func(x, y float64) mgl32.Vec3 {
		c := toRGB.Mul3x1(mgl64.Vec3{x / y, 1, (1 - x - y) / y}).Mul(0.4)
		return mgl32.Vec3{float32(c[0]), float32(c[1]), float32(c[2])}
	}
	for kelvin, xy := range map[float64][2]float64{
		5003: {0.34567, 0.35850}, 5503: {0.33242, 0.34743}, 7504: {0.29902, 0.31485}, // D50, D55, D75
		2856: {0.44757, 0.40745}, // A
	} {
		r := newRig(t, panel(colorOf(xy[0], xy[1])), nil,
			mounted{camera.RGBDefinition, forward(0), size(16, 12, "temp", kelvin, "tone_curve", "none")},
			mounted{camera.RGBDefinition, forward(0), size(16, 12, "temp", kelvin, "tone_curve", "none", "tint", 0.1)},
			mounted{camera.RGBDefinition, forward(0), size(16, 12, "tone_curve", "none")})
		r.fire(0)
		white, pink, plain := pixelAt(r.picture(0), 8, 6), pixelAt(r.picture(1), 8, 6), pixelAt(r.picture(2), 8, 6)
		spread := func(p [3]int) int { return max(p[0], p[1], p[2]) - min(p[0], p[1], p[2]) }
		assert.LessOrEqual(t, spread(white), 2, "%v K: %v", kelvin, white)
		assert.Greater(t, spread(plain), 10, "%v K: %v", kelvin, plain)
		assert.Greater(t, pink[0]-pink[1], 2, "tint: %v", pink)
		assert.Greater(t, pink[2]-pink[1], 2, "tint: %v", pink)
	}
}

// A panel 10 m wide, 5 m before the camera, whose left corners have one colour and whose right
// ones another, over a base colour. Unlit, it is shown as it is painted, whatever the exposure.
func TestVerticesHaveColors(t *testing.T) {
	left, right, base := mgl32.Vec4{1, 0.25, 0, 1}, mgl32.Vec4{0, 0.25, 1, 1}, mgl32.Vec4{0.5, 1, 0.25, 1}
	for _, moving := range []bool{false, true} {
		b := scenetest.NewBuilder("panel")
		wall := scene.Mesh{
			Name: "panel", Positions: []mgl32.Vec3{{0, 5, -5}, {0, -5, -5}, {0, -5, 5}, {0, 5, 5}}, Normals: slices.Repeat([]mgl32.Vec3{{-1, 0, 0}}, 4),
			Colors: []mgl32.Vec4{left, right, right, left}, Indices: []uint32{0, 1, 2, 0, 2, 3},
		}
		m := scenetest.Matte("panel", base[0], base[1], base[2])
		m.Unlit = true
		place := scenetest.At(5, 0, 0, scene.TagStatic)
		if moving {
			place.Motion = scenetest.Linear{Start: place.Pose}
		}
		b.Put("panel", wall, m, place)
		// Beside it, a lit one of the colours' product, and one whose vertices have it.
		grey := func(c float32) mgl32.Vec4 { return mgl32.Vec4{c, c, c, 1} }
		both := scenetest.Box(1, 1, 1)
		b.Put("painted", both, scenetest.Matte("painted", 0.36, 0.36, 0.36), scenetest.At(3, -20, 0, scene.TagStatic))
		both.Colors = slices.Repeat([]mgl32.Vec4{grey(0.36)}, len(both.Positions))
		b.Put("colored", both, scenetest.Matte("white", 1, 1, 1), scenetest.At(3, 20, 0, scene.TagStatic))
		aside := func(y float64) spatial.Pose { return spatial.FromRPY(mgl64.Vec3{0, y, 0}, 0, 0, 0) }
		r := newRig(t, b.Scene, nil,
			mounted{camera.RGBDefinition, forward(0), size(20, 20)},
			mounted{camera.RGBDefinition, forward(0), size(20, 20, "exposure_compensation", 3, "samples", 4)},
			mounted{camera.RGBDefinition, aside(-20), size(8, 8)}, mounted{camera.RGBDefinition, aside(20), size(8, 8)})
		r.fire(0)
		for u := range 20 {
			f := (float32(u) + 0.5) / 20
			color := left.Mul(1 - f).Add(right.Mul(f))
			want := shown(times(vec64(color.Vec3()), vec64(base.Vec3())), false)
			assertPixel(t, want, r.picture(0), u, 7, 1.01, "unlit")
			assertPixel(t, want, r.picture(1), u, 7, 2, "overexposed")
		}
		painted, colored := pixelAt(r.picture(2), 4, 4), pixelAt(r.picture(3), 4, 4)
		assert.InDelta(t, painted[0], colored[0], 1.01)
		assert.Greater(t, painted[0], 20)
	}
}

// A pane 5 m before the camera and one 7 m before it, with a wall at 10 m. A pixel sees the first
// for the share of its alpha and the second for a share of the rest; depth, tag and colour agree.
func TestBlendedSurfacesAreThereByTheirShare(t *testing.T) {
	const first, second = 0.3, 0.6
	for _, moving := range []bool{false, true} {
		b := scenetest.NewBuilder("panes")
		b.Scene.Light = scene.Light{Exposure: 1}
		pane := func(name string, x float64, alpha float32, tag scene.Tag, glow mgl32.Vec3, vertices bool) {
			mesh := scenetest.Plane(40, 6)
			for i, p := range mesh.Positions {
				mesh.Positions[i], mesh.Normals[i] = mgl32.Vec3{0, p[0], p[1]}, mgl32.Vec3{-1, 0, 0}
			}
			m := scenetest.Matte(name, 0, 0, 0)
			m.Emissive, m.AlphaMode, m.BaseColor[3] = glow, scene.AlphaBlend, alpha
			if vertices {
				m.BaseColor[3] = 1
				mesh.Colors = slices.Repeat([]mgl32.Vec4{{1, 1, 1, alpha}}, len(mesh.Positions))
			}
			place := scenetest.At(x, 0, 0, tag)
			if moving {
				place.Motion = scenetest.Linear{Start: place.Pose}
			}
			b.Put(name, mesh, m, place)
		}
		pane("first", 5, first, scene.TagFence, mgl32.Vec3{1, 0, 0}, false)
		pane("second", 7, second, scene.TagOther, mgl32.Vec3{0, 1, 0}, true)
		wall := scenetest.Matte("wall", 0, 0, 0)
		wall.Emissive = mgl32.Vec3{0, 0, 1}
		b.Put("wall", scenetest.Box(1, 40, 40), wall, scenetest.At(10.5, 0, 0, scene.TagWall))
		r := newRig(t, b.Scene, nil,
			mounted{camera.DepthDefinition, forward(0), size(160, 120)}, mounted{camera.SemanticDefinition, forward(0), size(160, 120)},
			mounted{camera.RGBDefinition, forward(0), size(160, 120, "tone_curve", "none")},
			mounted{camera.RGBDefinition, forward(0), size(32, 24, "tone_curve", "none", "samples", 16)})
		r.fire(0)
		counts := map[scene.Tag]int{}
		for v := range 120 {
			for u := range 160 {
				tag := scene.Tag(at(r.picture(1), u, v, 1)[0])
				counts[tag]++
				want := map[scene.Tag]struct {
					depth float64
					color [3]int
				}{scene.TagFence: {5, [3]int{255, 0, 0}}, scene.TagOther: {7, [3]int{0, 255, 0}}, scene.TagWall: {10, [3]int{0, 0, 255}}}[tag]
				require.InDelta(t, want.depth, depthAt(r.picture(0), u, v), 1e-3)
				require.Equal(t, want.color, pixelAt(r.picture(2), u, v))
			}
		}
		const n = 160 * 120
		for tag, share := range map[scene.Tag]float64{scene.TagFence: first, scene.TagOther: (1 - first) * second, scene.TagWall: (1 - first) * (1 - second)} {
			assert.InDelta(t, share, float64(counts[tag])/n, 4*math.Sqrt(share*(1-share)/n), "%v, moving %v", tag, moving)
		}
		// The mean of the points of a pixel is the blend, in linear light.
		var mean [3]float64
		for v := range 24 {
			for u := range 32 {
				for i, x := range pixelAt(r.picture(3), u, v) {
					mean[i] += linear(x) / (32 * 24)
				}
			}
		}
		assert.InDeltaSlice(t, []float64{first, (1 - first) * second, (1 - first) * (1 - second)}, mean[:], 0.02)
		before := slices.Clone(r.picture(0).Data)
		r.fire(100_000_000)
		assert.Equal(t, before, r.picture(0).Data, "the lot is the same in each picture")
	}
}

// linear undoes sRGB's curve on a byte.
func linear(b int) float64 {
	x := float64(b) / 255
	if x <= 0.04045 {
		return x / 12.92
	}
	return math.Pow((x+0.055)/1.055, 2.4)
}

// A texture with a transform of its own is turned by 90 degrees, halved and shifted.
func TestATextureHasATransformOfItsOwn(t *testing.T) {
	corners := [4]color.NRGBA{{255, 0, 0, 255}, {0, 255, 0, 255}, {0, 0, 255, 255}, {255, 255, 0, 255}}
	img := image.NewNRGBA(image.Rect(0, 0, 64, 64))
	for y := range 64 {
		for x := range 64 {
			img.SetNRGBA(x, y, corners[x/32+2*(y/32)])
		}
	}
	b := scenetest.NewBuilder("picture")
	putTextured(b, "floor", scenetest.Plane(10, 3), scene.Texture{Name: "corners", Image: img}, scenetest.At(0, 0, 0, scene.TagRoads))
	b.Scene.Materials[0].EmissiveUV = scene.UVTransform{{0, 2, 0.5}, {-2, 0, 0.25}}
	r := newRig(t, b.Scene, nil, mounted{camera.RGBDefinition, spatial.FromRPY(mgl64.Vec3{0, 0, 5}, 0, 90, 0), size(100, 100, "tone_curve", "none")})
	r.fire(0)
	for _, u := range []float64{0.05, 0.3, 0.55, 0.8} { // u runs up the picture, v to its left
		for _, v := range []float64{0.1, 0.35, 0.6, 0.85} {
			x, y := math.Mod(2*v+0.5, 1), math.Mod(-2*u+0.25+2, 1)
			c := corners[int(2*x)+2*int(2*y)]
			assert.Equal(t, [3]int{int(c.R), int(c.G), int(c.B)}, pixelAt(r.picture(0), int(100-100*v), int(100-100*u)), "at %v, %v", u, v)
		}
	}
}

// encoded applies sRGB's curve to light, for bytes.
func encoded(x float64) float64 {
	if x <= 0.0031308 {
		return 255 * 12.92 * x
	}
	return 255 * (1.055*math.Pow(x, 1/2.4) - 0.055)
}
