//go:build cgo

package camera_test

import (
	"image"
	"math"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/go-gl/mathgl/mgl32"
	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/city"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// chalk whitens all surfaces and leaves the sun alone, so that what a pixel shows is the share
// of the sun that it gets. What is cut out stays so.
func chalk(s *scene.Scene) {
	s.Light = scene.Light{SunDirection: s.Light.SunDirection, SunColor: mgl32.Vec3{3, 3, 3}, Exposure: 0.9}
	for i := range s.Materials {
		m := &s.Materials[i]
		m.BaseColor = mgl32.Vec4{1, 1, 1, m.BaseColor[3]}
		m.Emissive, m.Lamps, m.Metallic, m.Roughness = mgl32.Vec3{}, 0, 0, 1
		m.MetalRoughTexture, m.EmissiveTexture = scene.NoTexture, scene.NoTexture
		if m.AlphaMode == scene.AlphaOpaque {
			m.BaseColorTexture = scene.NoTexture
		}
	}
	for i := range s.Meshes {
		s.Meshes[i].Colors = nil
	}
	for i := range s.Textures {
		white := image.NewNRGBA(s.Textures[i].Image.Rect)
		for k := range white.Pix {
			white.Pix[k] = 255
			if k%4 == 3 {
				white.Pix[k] = s.Textures[i].Image.Pix[k]
			}
		}
		s.Textures[i].Image = white
	}
}

// shadowView is what the demo's front camera sees of the sun at an instant. It has it three
// times: by shadow maps, by the product's rays, and by those of the float64 tracer.
type shadowView struct {
	rig    *rig
	lens   camera.Lens
	pose   spatial.Pose // of the optical frame
	tracer *scenetest.Tracer
	light  lighting
	stamp  simtime.Stamp
}

// wayToTheSun tells whether the sun reaches what the pixel sees; ok is false where it wouldn't if
// nothing stood in its way.
func (c *shadowView) wayToTheSun(u, v int) (reached, ok bool) {
	h, hit := c.tracer.Trace(c.pose.Position, c.pose.Rotate(c.lens.Ray(float64(u), float64(v))).Normalize(), near, far, c.stamp)
	if !hit || h.Normal.Dot(c.light.toSun) <= 0.02 {
		return false, false
	}
	_, blocked := c.tracer.Trace(h.Point.Add(h.Normal.Mul(1e-3)), c.light.toSun, 0, 1e5, c.stamp)
	return !blocked, true
}

// shadowCount counts the pixels that face the sun: those in its light and those in the shade.
// mapped and traced are how many differ in the picture by maps and in the traced one.
type shadowCount struct{ lit, shade, mapped, traced int }

// compare counts a pixel. A picture shows it lit if it has more than half of the sun.
func (c *shadowView) compare(n *shadowCount, u, v int) {
	want, ok := c.wayToTheSun(u, v)
	normal := normalAt(c.rig.picture(2), u, v)
	light := c.light
	light.toSun = c.pose.Inverse().Rotate(light.toSun)
	if !ok || !(normal.Dot(light.toSun) > 0.05) {
		return
	}
	white := scenetest.Matte("white", 1, 1, 1)
	all := clamp(0.9*light.radiance(&white, normal, c.lens.Ray(float64(u), float64(v)).Normalize().Mul(-1), 1)[1], 0, 1)
	lit := func(i int) bool { return float64(pixelAt(c.rig.picture(i), u, v)[1])/255 > all/2 }
	if want {
		n.lit++
	} else {
		n.shade++
	}
	if lit(0) != want {
		n.mapped++
	}
	if lit(1) != want {
		n.traced++
	}
}

// TestShadowsOfTheDemo measures the figures of docs/rendering.md: for 100 pixels in the
// shade, how many show what the tracer doesn't find.
func TestShadowsOfTheDemo(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	const width, height, fov, stride = 640, 480, 80.0, 6
	town, err := city.Generate(city.Options{Seed: 1})
	require.NoError(t, err)
	chalk(town)
	mount := spatial.FromRPY(mgl64.Vec3{1.4, 0, 1.55}, 0, 0, 0)
	view := func(more ...any) map[string]any {
		return size(width, height, append(more, "fov", fov)...)
	}
	c := shadowView{
		lens: lens(t, width, height, fov), tracer: scenetest.NewTracer(town, nil), light: lightingOf(town.Light),
		rig: newRig(t, town, town.Route,
			mounted{camera.RGBDefinition, mount, view("enable_postprocess_effects", false)},
			mounted{camera.RGBDefinition, mount, view("enable_postprocess_effects", false, "shadows", "traced")},
			mounted{camera.NormalsDefinition, mount, view()}),
	}
	var sum shadowCount
	for stamp := int64(0); stamp < 10*second; stamp += second {
		c.stamp = simtime.Stamp(stamp)
		c.rig.fire(c.stamp)
		c.pose = town.Route.PoseAt(c.stamp).Compose(mount).Compose(spatial.OpticalInBody())
		parts := make([]shadowCount, runtime.GOMAXPROCS(0))
		var wait sync.WaitGroup
		for w := range parts {
			wait.Go(func() {
				for v := w * stride; v < height; v += len(parts) * stride {
					for u := 0; u < width; u += stride {
						c.compare(&parts[w], u, v)
					}
				}
			})
		}
		wait.Wait()
		var n shadowCount
		for _, p := range parts {
			n = shadowCount{n.lit + p.lit, n.shade + p.shade, n.mapped + p.mapped, n.traced + p.traced}
		}
		t.Logf("%2d s: %d pixels lit, %d in the shade; %d differ by maps, %d traced", stamp/second, n.lit, n.shade, n.mapped, n.traced)
		sum = shadowCount{sum.lit + n.lit, sum.shade + n.shade, sum.mapped + n.mapped, sum.traced + n.traced}
	}
	share := func(differ int) float64 { return float64(differ) / float64(sum.shade) }
	t.Logf("%.2f %% by maps, %.3f %% traced", 100*share(sum.mapped), 100*share(sum.traced))
	assert.Greater(t, sum.shade, 15_000)
	assert.Less(t, share(sum.mapped), 0.03)
	assert.Less(t, share(sum.traced), 0.0002)
}

// TestTracedShadowsReachAnywhere looks down on two blocks half a kilometre from the ego, where
// no map is, through each lens and with several points a pixel.
func TestTracedShadowsReachAnywhere(t *testing.T) {
	const off = 500.0
	b := scenetest.NewBuilder("far")
	floor := scenetest.Matte("floor", 0.5, 0.5, 0.5)
	b.Scene.Light.SunDirection = mgl32.Vec3{-1, 0, 1}.Normalize()
	b.Put("floor", scenetest.Plane(100, 4), floor, scenetest.At(off, 0, 0, scene.TagRoads))
	b.Put("still", scenetest.Box(1, 1, 4), floor, scenetest.At(off+3, -3, 2, scene.TagStatic))
	start := spatial.FromRPY(mgl64.Vec3{off + 3, 3, 2}, 0, 0, 0)
	b.Put("moving", scenetest.Box(1, 1, 4), floor, scene.Placement{
		Tag: scene.TagCar, Motion: scenetest.Linear{Start: start, Velocity: mgl64.Vec3{1.5, 0, 0}},
	})
	down := spatial.FromRPY(mgl64.Vec3{off + 5, 0, 20}, 0, 90, 0)
	bent := func(name string, k ...float64) []any { return []any{"lens", name, "distortion", k} }
	for _, more := range [][]any{
		nil, {"samples", 4}, bent("plumb_bob", -0.1, 0.01, 0.001, 0.002), bent("svl", -0.05, 0, 0, 0), append(bent("svl_fisheye", 0.01, 0, 0, 0), "xi", 0.9),
	} {
		attributes := size(201, 201, append([]any{"fov", 60, "shadows", "traced"}, more...)...)
		r := newRig(t, b.Scene, nil, mounted{camera.RGBDefinition, down, attributes})
		r.fire(simtime.Stamp(second))
		l, light := lensOf(t, attributes), lightingOf(b.Scene.Light)
		toOptical := down.Compose(spatial.OpticalInBody()).Inverse()
		for _, p := range []struct{ x, y, sun float64 }{
			{5, -3, 0}, {7.2, -3, 0}, {7.8, -3, 1}, {5, -3.8, 1}, {5, -2.2, 1}, {1.2, -3, 1}, // a block 4 m high
			{6.5, 3, 0}, {8.7, 3, 0}, {9.3, 3, 1}, {6.5, 3.8, 1}, {6.5, 2.2, 1}, {3.3, 3, 1}, // it moved by 1.5 m
		} {
			at := mgl64.Vec3{off + p.x, p.y, 0}
			u, v, ok := l.Project(toOptical.Apply(at))
			require.True(t, ok)
			want := shown(light.radiance(&floor, mgl64.Vec3{0, 0, 1}, down.Position.Sub(at).Normalize(), p.sun), true)
			assertPixel(t, want, r.picture(0), int(math.Round(u)), int(math.Round(v)), 2, "sunlight")
		}
	}
}

// lensOf returns the lens that a camera's attributes make.
func lensOf(t *testing.T, attributes map[string]any) camera.Lens {
	t.Helper()
	l := lens(t, attributes["image_size_x"].(int), attributes["image_size_y"].(int), float64(attributes["fov"].(int)))
	k, _ := attributes["distortion"].([]float64)
	var err error
	switch attributes["lens"] {
	case "plumb_bob":
		l, err = l.PlumbBob(k[0], k[1], k[2], k[3], 0)
	case "svl":
		l, err = l.SVL([4]float64(k))
	case "svl_fisheye":
		l, err = l.SVLFisheye([4]float64(k), attributes["xi"].(float64))
	}
	require.NoError(t, err)
	return l
}

// TestTheShadeOfThePartlyThere has a pane whose alpha lets a part of the sun through.
func TestTheShadeOfThePartlyThere(t *testing.T) {
	b := scenetest.NewBuilder("pane")
	b.Scene.Light.SunDirection = mgl32.Vec3{-1, 0, 1}.Normalize()
	b.Put("floor", scenetest.Plane(100, 4), scenetest.Matte("floor", 0.5, 0.5, 0.5), scenetest.At(0, 0, 0, scene.TagRoads))
	glass := scenetest.Matte("glass", 1, 1, 1)
	glass.AlphaMode, glass.BaseColor[3] = scene.AlphaBlend, 0.3
	b.Put("pane", scenetest.Plane(8, 1), glass, scenetest.At(-5, 0, 5, scene.TagStatic))
	r := newRig(t, b.Scene, nil, mounted{camera.RGBDefinition, spatial.FromRPY(mgl64.Vec3{0, 0, 4}, 0, 90, 0), size(100, 100, "shadows", "traced")})
	r.fire(0)
	dark := 0
	for v := 10; v < 90; v++ {
		for u := 10; u < 90; u++ {
			if pixelAt(r.picture(0), u, v)[0] < 190 { // 216 in the sun, 166 in the shade
				dark++
			}
		}
	}
	assert.InDelta(t, 0.3*6400, dark, 150, "by lot, as the pane is")
}

// TestTracedShadowsNeedNoMaps counts the commands of an instant: one more dispatch a view, and no
// shadow is drawn.
func TestTracedShadowsNeedNoMaps(t *testing.T) {
	fake := gputest.NewFake()
	traced := size(48, 32, "shadows", "traced")
	list := []mounted{{camera.RGBDefinition, forward(1), traced}, {camera.RGBDefinition, forward(1), traced}, {camera.DepthDefinition, forward(1), size(48, 32)}}
	r := newRigOn(t, fake.Start(t), scenetest.MovingWall(20, 1), nil, list...)
	r.fire(0)
	log := commands(fake.Log())
	assert.NotContains(t, log, `Draw "camera.shadow"`)
	sun := slices.Index(log, `Dispatch "camera.sun"`)
	require.GreaterOrEqual(t, sun, 0, "%v", log)
	assert.NotContains(t, log[sun+1:], `Dispatch "camera.sun"`, "both cameras look from one view")
	assert.Less(t, slices.Index(log, `Draw "camera.ids"`), sun, "of what is seen")
	assert.Less(t, sun, slices.Index(log, `Dispatch "camera.shade"`))
}
