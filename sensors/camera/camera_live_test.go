//go:build cgo

package camera_test

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	_ "image/jpeg"
	_ "image/png"
	"maps"
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl32"
	"github.com/go-gl/mathgl/mgl64"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/sensors/sensortest"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) { gputest.Main(m) }

// newRig begins the cameras on the package's live context.
func newRig(tb testing.TB, s *scene.Scene, ego scene.Motion, list ...mounted) *rig {
	tb.Helper()
	return newRigOn(tb, gputest.Thread(tb), s, ego, list...)
}

// changedCommon has another value of each attribute that all cameras have.
var changedCommon = map[string]any{
	"image_size_x": 40, "image_size_y": 30, "fov": 70.0,
	"near_clip": 20.0, "far_clip": 8.0, "principal_point": "corner", "lens": "svl_fisheye", "shutter": "rolling",
	"calibration": "K: [40, 0, 24, 0, 40, 18, 0, 0, 1]\n", "fx": 40.0, "cx": 20.0, "cy": 12.0, "skew": 8.0,
	// Inert ones, which must change nothing:
	"lens_circle_falloff": 3.0, "lens_circle_multiplier": 3.0, "lens_k": 0.5, "lens_kcube": 0.5, "lens_x_size": 0.2, "lens_y_size": 0.2,
}

// changedLight has one of each that decides how light is shown.
var changedLight = map[string]any{
	"exposure_compensation": 1.5, "tone_curve": "none", "samples": 9, "motion_blur": 4, "exposure_time": 0.02, "shadows": "traced", "enable_postprocess_effects": false,
	"exposure_mode": "histogram", "iso": 500.0, "fstop": 2.8, "shutter_speed": 60.0, "calibration_constant": 12.0,
	"gamma": 2.6, "temp": 4500.0, "tint": 0.5, "slope": 0.7, "toe": 0.3, "shoulder": 0.5, "black_clip": 0.2, "white_clip": 0.3,
	// Inert ones:
	"exposure_min_bright": 1.0, "exposure_max_bright": 2.0, "exposure_speed_up": 9.0, "exposure_speed_down": 9.0,
	"bloom_intensity": 5.0, "lens_flare_intensity": 5.0, "min_fstop": 5.0, "focal_distance": 3.0, "blade_count": 8,
	"blur_amount": 5.0, "blur_radius": 5.0, "motion_blur_intensity": 1.0, "motion_blur_max_distortion": 1.0,
	"motion_blur_min_object_screen_size": 1.0, "chromatic_aberration_intensity": 5.0, "chromatic_aberration_offset": 50.0,
}

func TestConformance(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	manual := map[string]any{"exposure_mode": "manual", "iso": 150.0}
	pinhole := map[string]string{
		"distortion": "a pinhole has none; TestLensesShowAGridWhereTheyProjectIt has those that do",
		"xi":         "of a fisheye alone; as distortion",
		"fy":         "it goes with fx; TestAttributesMakeLenses has it, and those of single lenses",
		"alpha":      "as fy", "polynomial": "as fy", "polynomial_type": "as fy", "linear": "as fy", "max_angle": "as fy", "table": "as fy",
		"camera": "it chooses one of a calibration's; TestCalibrationsMakeLenses has it",
	}
	global := "of a rolling shutter alone; the tests of shutter_live_test.go have some"
	for _, name := range []string{"line_time", "readout", "stamp"} {
		pinhole[name] = global
	}
	and := func(a, b map[string]string) map[string]string {
		m := maps.Clone(a)
		maps.Copy(m, b)
		return m
	}
	without := func(more map[string]string) map[string]string { return and(pinhole, more) }
	unlit := without(map[string]string{"exposure_time": global})
	compared := without(map[string]string{"exposure_time": global, "shutter": "a rolling one is refused, as TestShutterErrors has it"})
	light := without(map[string]string{"shadows": "these are the same by both; TestTracedShadowsReachAnywhere has some that aren't"})
	both := func(a, b map[string]any) map[string]any {
		m := maps.Clone(a)
		maps.Copy(m, b)
		return m
	}
	quality := map[string]string{"jpeg_quality": "PNG has none; TestJPEGIsClose has it"}
	for _, c := range []struct {
		definition *sensors.Definition
		attributes map[string]any
		changed    map[string]any
		unchanging map[string]string
	}{
		{camera.RGBDefinition, both(manual, map[string]any{"compressed": "jpeg"}), both(changedLight, map[string]any{
			"encoding": "bgr8", "compressed": "png", "jpeg_quality": 20, "publish_raw": false,
		}), light},
		{camera.DepthDefinition, map[string]any{"output": "svl", "compressed": "png"}, map[string]any{
			"output": "carla", "min_depth": 5.0, "max_depth": 8.0, "compressed": "none", "publish_raw": false,
		}, and(unlit, quality)},
		{camera.SemanticDefinition, map[string]any{"compressed": "png"}, map[string]any{
			"output": "palette", "compressed": "none", "publish_raw": false,
		}, and(unlit, quality)},
		{camera.InstanceDefinition, map[string]any{"compressed": "png"}, map[string]any{
			"output": "carla", "compressed": "none", "publish_raw": false,
		}, and(unlit, map[string]string{
			"encoding":     "32SC1 has no compressed form, which this suite asks for; TestEncodingsHoldTheSamePixels has it",
			"jpeg_quality": quality["jpeg_quality"],
		})},
		{camera.NormalsDefinition, nil, nil, unlit},
		{camera.OpticalFlowDefinition, nil, nil, compared},
		{camera.DVSDefinition, manual, both(changedLight, map[string]any{
			"positive_threshold": 0.05, "negative_threshold": 0.05, "sigma_positive_threshold": 0.1, "sigma_negative_threshold": 0.1,
			"refractory_period_ns": 50_000_000, "use_log": false, "log_eps": 0.1,
		}), and(light, map[string]string{"shutter": compared["shutter"]})},
	} {
		t.Run(c.definition.ID, func(t *testing.T) {
			world := scenetest.MovingWall(15, 4)
			if c.definition == camera.DVSDefinition {
				world = passing() // some pixels get brighter, some darker
			}
			attributes := size(48, 36)
			for name, value := range c.attributes {
				attributes[name] = value
			}
			changed := map[string]any{}
			for name, value := range changedCommon {
				changed[name] = value
			}
			for name, value := range c.changed {
				changed[name] = value
			}
			var unfelt map[string]string
			if c.definition == camera.DVSDefinition {
				unfelt = map[string]string{"wetness": "this scene has no ground; TestWetGroundIsDarker has some"}
			}
			sensortest.Run(t, c.definition, sensortest.Suite{
				Options: sensortest.Options{
					Attributes: attributes, Mount: forward(1.2), Scene: world, GL: gputest.Thread(t),
				},
				Changed: changed, Unchanging: c.unchanging, Unfelt: unfelt,
			})
		})
	}
}

func TestDepthOfAFloorIsPlanar(t *testing.T) {
	const height = 1.6
	b := scenetest.NewBuilder("floor")
	b.Put("floor", scenetest.Plane(100, 10), scenetest.Matte("floor", 0.5, 0.5, 0.5), scenetest.At(0, 0, 0, scene.TagRoads))
	r := newRig(t, b.Scene, nil, mounted{camera.DepthDefinition, forward(height), size(64, 48, "fov", 70)})
	r.fire(0)
	m, l := r.picture(0), lens(t, 64, 48, 70)
	require.Equal(t, sample.Encoding32FC1, m.Encoding)
	seen := 0
	for v := range m.Height {
		for u := range m.Width {
			// The floor is y = height in the optical frame.
			want := height / l.Ray(float64(u), float64(v))[1]
			if want < 0 || want > 50 || math.Abs(want*l.Ray(float64(u), 0)[0]) > 50 {
				want = math.Inf(1)
			}
			if math.IsInf(want, 1) {
				assert.True(t, math.IsInf(depthAt(m, u, v), 1), "pixel %d, %d sees the sky", u, v)
				continue
			}
			seen++
			assert.InDelta(t, want, depthAt(m, u, v), 1e-3+1e-5*want, "pixel %d, %d", u, v)
		}
	}
	assert.Greater(t, seen, 64*20, "the floor fills the lower part")
	assert.True(t, math.IsInf(depthAt(m, 32, 0), 1), "row 0 is the top")
}

// TestAKnownPointLandsOnItsPixel puts squares of 0.02 pixels where lenses say
// that a pixel's centre looks: each is seen by its pixel and by no other.
func TestAKnownPointLandsOnItsPixel(t *testing.T) {
	mount := spatial.FromRPY(mgl64.Vec3{1.5, -0.7, 1.2}, 4, -7, 30)
	l := lens(t, 160, 120, 80)
	b := scenetest.NewBuilder("markers")
	want := map[[2]int]uint32{}
	toMap := mount.Compose(spatial.OpticalInBody())
	for i, px := range [][2]int{{0, 0}, {159, 0}, {0, 119}, {159, 119}, {80, 60}, {79, 59}, {17, 101}, {141, 33}, {3, 64}} {
		depth := 2 + 3*float64(i)
		side := 0.02 * depth / l.Fx
		p := unproject(l, float64(px[0]), float64(px[1]), depth)
		// A plane faces +z; the optical frame's -z looks back at the camera.
		pose := toMap.Compose(spatial.Pose{Position: p, Orientation: mgl64.QuatIdent()})
		a := b.Put("marker", scenetest.Plane(side, 1), scenetest.Matte("marker", 1, 1, 1), scene.Placement{Pose: pose, Tag: scene.TagPole})
		want[px] = a.ID
	}
	r := newRig(t, b.Scene, nil, mounted{camera.InstanceDefinition, mount, size(160, 120, "fov", 80)})
	r.fire(0)
	m := r.picture(0)
	got := map[[2]int]uint32{}
	for v := range m.Height {
		for u := range m.Width {
			p := at(m, u, v, 2)
			if id := uint32(p[0]) | uint32(p[1])<<8; id != 0 {
				got[[2]int{u, v}] = id
			}
		}
	}
	assert.Equal(t, want, got)
}

func TestSphereDepthAndNormals(t *testing.T) {
	const radius, distance = 2.0, 6.0
	const rings = 128
	b := scenetest.NewBuilder("sphere")
	b.Put("ball", scenetest.Sphere(radius, rings), scenetest.Matte("ball", 1, 1, 1), scenetest.At(distance, 0, 0, scene.TagStatic))
	r := newRig(t, b.Scene, nil,
		mounted{camera.DepthDefinition, forward(0), size(120, 100, "fov", 60)},
		mounted{camera.NormalsDefinition, forward(0), size(120, 100, "fov", 60)})
	r.fire(0)
	depth, normals, l := r.picture(0), r.picture(1), lens(t, 120, 100, 60)
	sag := radius * (math.Pi / rings) * (math.Pi / rings) / 4
	hits := 0
	for v := range depth.Height {
		for u := range depth.Width {
			ray := l.Ray(float64(u), float64(v))
			d := ray.Normalize()
			// |t d - c|² = r² with c on the axis.
			along := distance * d[2]
			under := along*along - distance*distance + radius*radius
			if math.Abs(under) < 0.05 {
				continue // the rim: facets differ from the sphere
			}
			if under < 0 {
				assert.True(t, math.IsInf(depthAt(depth, u, v), 1))
				assert.True(t, math.IsNaN(normalAt(normals, u, v)[0]), "no surface, no normal")
				continue
			}
			hits++
			want := (along - math.Sqrt(under)) * d[2]
			n := ray.Mul(want).Sub(mgl64.Vec3{0, 0, distance}).Mul(1 / radius)
			slant := 1 / math.Abs(n.Dot(d))
			assert.InDelta(t, want, depthAt(depth, u, v), 1e-3+2*sag*slant, "pixel %d, %d", u, v)
			got := normalAt(normals, u, v)
			assert.InDelta(t, 1, got.Len(), 1e-4)
			assert.Greater(t, got.Dot(n), math.Cos(0.01*slant), "pixel %d, %d: normal %v, want %v", u, v, got, n)
		}
	}
	assert.Greater(t, hits, 2000)
}

func TestBoxNormalsAreInTheOpticalFrame(t *testing.T) {
	b := scenetest.NewBuilder("box")
	b.Put("box", scenetest.Box(2, 2, 2), scenetest.Matte("box", 1, 1, 1), scenetest.At(5, 0, 0, scene.TagStatic))
	// From above and the left: the front, the top and the left side are seen.
	mount := spatial.FromRPY(mgl64.Vec3{1, 4, 3}, 0, 35, -45)
	r := newRig(t, b.Scene, nil,
		mounted{camera.NormalsDefinition, mount, size(200, 150)},
		mounted{camera.NormalsDefinition, forward(0), size(64, 48)})
	r.fire(0)
	toOptical := mount.Compose(spatial.OpticalInBody()).Inverse()
	want := []mgl64.Vec3{{-1, 0, 0}, {0, 1, 0}, {0, 0, 1}}
	seen := [3]int{}
	m := r.picture(0)
	for v := range m.Height {
		for u := range m.Width {
			got := normalAt(m, u, v)
			if math.IsNaN(got[0]) {
				continue
			}
			for i, n := range want {
				if toOptical.Rotate(n).Sub(got).Len() < 1e-3 {
					seen[i]++
				}
			}
		}
	}
	for i, n := range seen {
		assert.Greater(t, n, 50, "pixels of the face along %v", want[i])
	}
	// Straight ahead, a wall's normal is -z: towards the camera.
	ahead := normalAt(r.picture(1), 32, 24)
	assert.InDeltaSlice(t, []float64{0, 0, -1}, ahead[:], 1e-3)
}

func TestAMoverIsWhereItIsAtTheStamp(t *testing.T) {
	const distance, speed = 30.0, 8.0
	r := newRig(t, scenetest.MovingWall(distance, speed), nil,
		mounted{camera.DepthDefinition, forward(1.5), size(32, 24)},
		mounted{camera.SemanticDefinition, forward(1.5), size(32, 24)})
	for k := range int64(4) {
		stamp := k * second / 3
		r.fire(simtime.Stamp(stamp))
		want := distance - speed*float64(stamp)/1e9
		assert.InDelta(t, want, depthAt(r.picture(0), 16, 11), 1e-3, "at %d ns", stamp)
		assert.Equal(t, byte(scene.TagWall), at(r.picture(1), 16, 11, 1)[0])
		assert.Equal(t, byte(scene.TagSky), at(r.picture(1), 16, 0, 1)[0])
		assert.Equal(t, byte(scene.TagRoads), at(r.picture(1), 16, 23, 1)[0])
		assert.Equal(t, simtime.Stamp(stamp), r.picture(0).Stamp)
	}
}

func TestRangeLimitsFollowREP117(t *testing.T) {
	r := newRig(t, scenetest.MovingWall(10, 0), nil,
		mounted{camera.DepthDefinition, forward(1.5), size(32, 24, "max_depth", 9.9)},
		mounted{camera.DepthDefinition, forward(1.5), size(32, 24, "min_depth", 10.1)},
		mounted{camera.DepthDefinition, forward(1.5), size(32, 24, "far_clip", 9.5)},
		mounted{camera.DepthDefinition, forward(1.5), size(32, 24, "near_clip", 12, "far_clip", 20)})
	r.fire(0)
	assert.True(t, math.IsInf(depthAt(r.picture(0), 16, 11), 1), "too far is +Inf")
	assert.True(t, math.IsInf(depthAt(r.picture(1), 16, 11), -1), "too near is -Inf")
	assert.True(t, math.IsInf(depthAt(r.picture(2), 16, 11), 1), "beyond the far plane is nothing")
	assert.True(t, math.IsInf(depthAt(r.picture(3), 16, 11), 1), "before the near plane is nothing")
	assert.InDelta(t, 1.5/(5.5/16), depthAt(r.picture(0), 16, 17), 1e-3, "the floor is in range")
}

// TestCutOutMaterialsAreAbsentWhereTheirAlphaSays puts a panel, of which a half is
// cut out, before a wall: what is behind is seen through it, and lit through it.
func TestCutOutMaterialsAreAbsentWhereTheirAlphaSays(t *testing.T) {
	for _, moving := range []bool{false, true} {
		img := image.NewNRGBA(image.Rect(0, 0, 32, 32))
		for y := range 32 {
			for x := range 32 {
				img.SetNRGBA(x, y, color.NRGBA{255, 255, 255, uint8(255 * (x / 16))})
			}
		}
		b := scenetest.NewBuilder("panel")
		b.Scene.Light.SunDirection = mgl32.Vec3{-1, 0, 0.2}.Normalize()
		b.Put("wall", scenetest.Box(1, 40, 40), scenetest.Matte("wall", 0.5, 0.5, 0.5), scenetest.At(10.5, 0, 0, scene.TagWall))
		// The plane's +x, along which u grows, is turned to the left (+y).
		panel := scenetest.Plane(4, 2)
		for i := range panel.Positions {
			p := panel.Positions[i]
			panel.Positions[i], panel.Normals[i] = mgl32.Vec3{0, p[0], p[1]}, mgl32.Vec3{-1, 0, 0}
		}
		panel.Groups = []scene.Group{{Count: len(panel.Indices)}}
		m := scenetest.Matte("panel", 1, 1, 1)
		m.BaseColorTexture, m.AlphaMode, m.AlphaCutoff = 0, scene.AlphaMask, 0.5
		asset := &scene.Asset{
			Name: "panel", Textures: []scene.Texture{{Name: "half", Image: img, Sampler: scene.Sampler{WrapS: scene.WrapClamp, WrapT: scene.WrapClamp}}},
			Materials: []scene.Material{m}, Meshes: []scene.Mesh{panel},
			Nodes: []scene.Node{{Name: "panel", Parent: -1, Local: scene.IdentityTRS()}},
		}
		place := scenetest.At(5, 0, 0, scene.TagFence)
		if moving {
			place.Motion = scenetest.Linear{Start: place.Pose}
		}
		_, err := b.Scene.Add(asset, place)
		assert.NoError(t, err)

		high := spatial.FromRPY(mgl64.Vec3{0, 0, 6}, 0, 0, 0)
		r := newRig(t, b.Scene, nil,
			mounted{camera.DepthDefinition, forward(0), size(80, 80)},
			mounted{camera.SemanticDefinition, forward(0), size(80, 80)},
			mounted{camera.RGBDefinition, high, size(80, 80)},
			mounted{camera.RGBDefinition, high, size(80, 80, "shadows", "traced")})
		r.fire(0)
		// u below 0.5 is right of the middle.
		for u := 26; u < 54; u++ {
			depth, tag := 10.0, scene.TagWall
			if u < 40 {
				depth, tag = 5, scene.TagFence
			}
			if u == 39 || u == 40 {
				continue // the edge
			}
			assert.InDelta(t, depth, depthAt(r.picture(0), u, 40), 1e-3, "column %d, moving %v", u, moving)
			assert.Equal(t, byte(tag), at(r.picture(1), u, 40, 1)[0], "column %d, moving %v", u, moving)
		}
		// The panel's shadow on the wall lies 1 m lower; the sun comes through
		// where it is cut out. Pixel (40 - 4y, 40 + 4(6 - z)) sees (10, y, z).
		for _, i := range []int{2, 3} {
			shade := pixelAt(r.picture(i), 40-4*1, 40+4*7)
			lit := pixelAt(r.picture(i), 40+4*1, 40+4*7)
			open := pixelAt(r.picture(i), 40+4*4, 40+4*7)
			assert.Greater(t, lit[0], shade[0]+30, "light falls through the cut-out half, moving %v", moving)
			assert.InDelta(t, open[0], lit[0], 3, "as beside the panel, moving %v", moving)
		}
	}
}

// everyForm are cameras of all kinds, in all encodings and compressions.
func everyForm(view func(more ...any) map[string]any) []mounted {
	at := forward(1)
	return []mounted{
		{camera.RGBDefinition, at, view("compressed", "jpeg")},
		{camera.RGBDefinition, at, view("encoding", "bgr8", "compressed", "png")},
		{camera.RGBDefinition, at, view("encoding", "bgra8", "compressed", "jpeg")},
		{camera.DepthDefinition, at, view()},
		{camera.DepthDefinition, at, view("output", "carla", "compressed", "png")},
		{camera.DepthDefinition, at, view("output", "svl", "compressed", "jpeg")},
		{camera.SemanticDefinition, at, view("compressed", "png")},
		{camera.SemanticDefinition, at, view("output", "palette", "compressed", "jpeg")},
		{camera.SemanticDefinition, at, view("output", "palette_bgra8", "compressed", "png")},
		{camera.SemanticDefinition, at, view("output", "carla")},
		{camera.SemanticDefinition, at, view("output", "svl")},
		{camera.InstanceDefinition, at, view("compressed", "png")},
		{camera.InstanceDefinition, at, view("encoding", "32SC1")},
		{camera.InstanceDefinition, at, view("output", "carla")},
		{camera.InstanceDefinition, at, view("output", "svl", "compressed", "jpeg")},
		{camera.NormalsDefinition, at, view()},
		{camera.OpticalFlowDefinition, at, view()},
	}
}

// TestPicturesOfAnyExtent are one pixel, some that fill no word, and as long as pictures may
// be. They go through a lens that is rasterised and one that is traced.
func TestPicturesOfAnyExtent(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	for _, side := range [][2]int{{1, 1}, {3, 2}, {16384, 1}, {1, 16384}} {
		for _, lens := range []string{"pinhole", "svl_fisheye"} {
			t.Run(fmt.Sprintf("%dx%d %s", side[0], side[1], lens), func(t *testing.T) {
				list := everyForm(func(more ...any) map[string]any { return size(side[0], side[1], append(more, "lens", lens)...) })
				r := newRig(t, scenetest.MovingWall(20, 1), nil, list...)
				r.fire(simtime.Stamp(second))
				assert.Empty(t, r.drops)
				for i := range list {
					m := r.picture(i)
					assert.Equal(t, side, [2]int{m.Width, m.Height})
					assert.Len(t, m.Data, m.Step*m.Height)
					if list[i].attributes["compressed"] == nil {
						continue
					}
					c := last[*sample.CompressedImage](r, i, camera.OutputCompressed)
					got, format, err := image.Decode(bytes.NewReader(c.Data))
					require.NoError(t, err)
					assert.Equal(t, c.Format, format)
					assert.Equal(t, image.Pt(side[0], side[1]), got.Bounds().Size())
				}
			})
		}
	}
}

// TestAGPUMakesEachPictureByItself: where compilers contract arithmetic, what else is due must not choose
// the program of a picture. The pictures are those of software, which makes them together, and of a camera
// that has no other beside it.
func TestAGPUMakesEachPictureByItself(t *testing.T) {
	list := []mounted{{camera.RGBDefinition, forward(1), size(48, 32)}, {camera.DepthDefinition, forward(1), size(48, 32)},
		{camera.InstanceDefinition, forward(1), size(48, 32)}, {camera.NormalsDefinition, forward(1), size(48, 32)}}
	r, apart := newRig(t, scenetest.MovingWall(20, 1), nil, list...), newRigOn(t, gputest.AsGPU(t), scenetest.MovingWall(20, 1), nil, list...)
	r.fire(0)
	apart.fire(0)
	assert.Equal(t, camera.Stats{Visibility: 1, Shades: dispatches(t, 1, 4), StaticShadows: 1}, camera.StatsOf(r.shared))
	assert.Equal(t, camera.Stats{Visibility: 1, Shades: 4, StaticShadows: 1}, camera.StatsOf(apart.shared))
	for i := range list {
		alone := newRig(t, scenetest.MovingWall(20, 1), nil, list[i])
		alone.fire(0)
		assert.Equal(t, r.picture(i).Data, alone.picture(0).Data, list[i].definition.ID)
		if gputest.Thread(t).Info().Device != gpu.HostDevice { // whose pictures differ from OpenGL's by a level
			assert.Equal(t, r.picture(i).Data, apart.picture(i).Data, list[i].definition.ID)
		}
	}
}

// dispatches is how many make the test's pictures on the device at hand: together, or on a GPU apart.
func dispatches(t *testing.T, together, apart int64) int64 {
	if info := gputest.Thread(t).Info(); info.GPU() {
		return apart
	}
	return together
}

func TestCamerasOfOneViewShareAPass(t *testing.T) {
	view := size(48, 32)
	aside := spatial.FromRPY(mgl64.Vec3{0, 1, 1}, 0, 0, 90)
	r := newRig(t, scenetest.MovingWall(20, 1), nil,
		mounted{camera.RGBDefinition, forward(1), view},
		mounted{camera.DepthDefinition, forward(1), view},
		mounted{camera.SemanticDefinition, forward(1), view},
		mounted{camera.InstanceDefinition, forward(1), view},
		mounted{camera.NormalsDefinition, forward(1), view},
		mounted{camera.DepthDefinition, aside, view},
		mounted{camera.RGBDefinition, forward(1), size(48, 32, "exposure_compensation", -1.0)},
		mounted{camera.DepthDefinition, forward(1), size(48, 32, "fov", 60)},
	)
	assert.Equal(t, camera.Stats{}, camera.StatsOf(r.shared))
	r.fire(0)
	// Three views; the second colour camera of one has a dispatch of its own.
	assert.Equal(t, camera.Stats{Visibility: 3, Shades: dispatches(t, 4, 8), StaticShadows: 1}, camera.StatsOf(r.shared))
	r.fire(simtime.Stamp(second))
	assert.Equal(t, camera.Stats{Visibility: 6, Shades: dispatches(t, 8, 16), StaticShadows: 1}, camera.StatsOf(r.shared))
	for i := range r.cameras {
		assert.Len(t, r.messages[i][camera.OutputImage], 2)
	}
	assert.NotEqual(t, r.picture(0).Data, r.picture(6).Data)
	assert.Empty(t, r.drops)
}

func TestACameraWithoutListenersComputesNothing(t *testing.T) {
	r := newRig(t, scenetest.MovingWall(20, 1), nil,
		mounted{camera.RGBDefinition, forward(1), size(48, 32)}, mounted{camera.DepthDefinition, forward(1), size(48, 32)})
	r.deaf[0], r.deaf[1] = true, true
	r.fire(0)
	assert.Zero(t, camera.StatsOf(r.shared).Visibility)
	r.deaf[1] = false
	r.fire(simtime.Stamp(second))
	assert.EqualValues(t, 1, camera.StatsOf(r.shared).Visibility)
	assert.Empty(t, r.messages[0][camera.OutputImage])
	assert.Len(t, r.messages[1][camera.OutputImage], 1)
}

func TestCameraInfoHasTheImagesHeader(t *testing.T) {
	mount := spatial.FromRPY(mgl64.Vec3{1, 2, 3}, 0, 10, 20)
	s := scenetest.MovingWall(20, 1)
	ego := scenetest.Linear{Start: spatial.FromRPY(mgl64.Vec3{-3, 1, 0}, 0, 0, 15), Velocity: mgl64.Vec3{1, 0, 0}}
	r := newRig(t, s, ego, mounted{camera.RGBDefinition, mount, size(48, 32, "fov", 75, "principal_point", "corner")})
	r.fire(0)
	r.fire(simtime.Stamp(second))
	image, info := r.picture(0), last[*sample.CameraInfo](r, 0, camera.OutputInfo)
	assert.Equal(t, image.Header, info.Header)
	assert.Equal(t, simtime.Stamp(second), image.Stamp)
	assert.EqualValues(t, 1, image.Seq)
	assert.Equal(t, "camera_optical", image.FrameID)
	pose := ego.PoseAt(simtime.Stamp(second)).Compose(mount)
	assert.InDeltaSlice(t, pose.Position[:], image.Pose.Position[:], 1e-9, "the header's pose is the sensor's in the map frame")
	var want sample.CameraInfo
	lens(t, 48, 32, 75).Info(camera.CornerOrigin, &want)
	want.Header = info.Header
	assert.Equal(t, &want, info)
}

func TestCalibrationAloneNeedsNoPicture(t *testing.T) {
	r := newRig(t, scenetest.MovingWall(20, 1), nil, mounted{camera.DepthDefinition, forward(1), size(48, 32)})
	r.only = camera.OutputInfo
	r.fire(0)
	assert.Zero(t, camera.StatsOf(r.shared).Visibility)
	assert.Len(t, r.messages[0][camera.OutputInfo], 1)
	assert.Empty(t, r.messages[0][camera.OutputImage])
}

// TestACameraRidesOnAnotherActor has one look ahead from a car that drives sideways past
// the ego, towards a wall: drawn and traced.
func TestACameraRidesOnAnotherActor(t *testing.T) {
	const start, speed = 20.0, 10.0 // metres before the wall, m/s
	b := scenetest.NewBuilder("ride")
	b.Put("wall", scenetest.Box(60, 1, 40), scenetest.Matte("white", 0.8, 0.8, 0.8), scenetest.At(0, start+0.5, 0, scene.TagWall))
	left := spatial.FromRPY(mgl64.Vec3{3, 0, 0}, 0, 0, 90)
	car := b.Put("car", scenetest.Box(4, 2, 1), scenetest.Matte("black", 0.1, 0.1, 0.1), scene.Placement{
		TypeID: "vehicle.car", Tag: scene.TagCar, Motion: scenetest.Linear{Start: left, Velocity: mgl64.Vec3{0, speed, 0}},
	})
	for _, lens := range []string{"pinhole", "svl_fisheye"} {
		h := sensortest.New(t, camera.DepthDefinition, sensortest.Options{
			Scene: b.Scene, GL: gputest.Thread(t), Owner: car.ID, Mount: spatial.FromRPY(mgl64.Vec3{2.5, 0, 0}, 0, 0, 0), Attributes: size(33, 25, "lens", lens),
		})
		for k := range int64(4) {
			h.Fire(simtime.Stamp(k * period))
			m := sensortest.Last[*sample.Image](h, camera.OutputImage)
			along := speed * float64(k*period) / 1e9
			assert.InDelta(t, start-2.5-along, depthAt(m, 16, 12), 1e-3, lens)
			assert.InDelta(t, 3, m.Pose.Position[0], 1e-9)
			assert.InDelta(t, 2.5+along, m.Pose.Position[1], 1e-9)
		}
	}
}

// A model is neither seen nor does it throw a shadow. An actor of it that is spawned does both in
// the next picture, and neither in the one after its removal. The next one has another id.
func TestSpawnedActorIsInThePictureAtOnce(t *testing.T) {
	b := scenetest.NewBuilder("reserve")
	b.Put("floor", scenetest.Plane(60, 4), scenetest.Matte("grey", 0.5, 0.5, 0.5), scenetest.At(0, 0, 0, scene.TagRoads))
	b.Put("box", scenetest.Box(2, 2, 2), scenetest.Matte("red", 1, 0, 0), scene.Placement{TypeID: "vehicle.box", Tag: scene.TagCar, Reserved: true})
	down := spatial.FromRPY(mgl64.Vec3{0, 0, 12}, 0, 90, 0)
	r := newRig(t, b.Scene, nil, mounted{camera.InstanceDefinition, down, size(64, 64)}, mounted{camera.RGBDefinition, down, size(64, 64)})
	count := func(id uint32) (pixels int) {
		m := r.picture(0)
		for v := range 64 {
			for u := range 64 {
				if p := at(m, u, v, 2); uint32(p[0])|uint32(p[1])<<8 == id {
					pixels++
				}
			}
		}
		return pixels
	}
	fire := func(stamp simtime.Stamp) []byte {
		r.fire(stamp)
		return r.picture(1).Data
	}

	empty := fire(100e6)
	assert.Zero(t, count(2))
	turned := scene.Standing(spatial.FromRPY(mgl64.Vec3{0, 0, 2}, 0, 0, 30))
	box, err := r.history.Spawn("vehicle.*", turned)
	require.NoError(t, err)
	require.EqualValues(t, 2, box.ID)
	there := fire(200e6)
	seen := count(box.ID)
	assert.InDelta(t, 64*64*4/(18*18.), seen, 12, "a roof of 4 m² from 9 m above, where 18 m are in view")
	changed := 0
	for i := 0; i < len(empty); i += 3 {
		if string(empty[i:i+3]) != string(there[i:i+3]) {
			changed++
		}
	}
	assert.Greater(t, changed, seen+5, "its shadow beside it")
	require.NoError(t, r.history.Remove(box.ID))
	assert.Equal(t, empty, fire(300e6))
	assert.Zero(t, count(box.ID))
	other, err := r.history.Spawn("vehicle.*", turned)
	require.NoError(t, err)
	assert.Equal(t, there, fire(400e6), "it looks like the one before")
	assert.Zero(t, count(box.ID))
	assert.Equal(t, seen, count(other.ID))
}

// steered is an ego that somebody outside drives: where it is doesn't follow from time.
type steered struct{ pose spatial.Pose }

func (s *steered) PoseAt(simtime.Stamp) spatial.Pose { return s.pose }

// TestTimeIsSetToTheSame has the ego elsewhere when an instant comes again.
func TestTimeIsSetToTheSame(t *testing.T) {
	ego := &steered{spatial.Identity()}
	r := newRig(t, scenetest.MovingWall(20, 0), ego, mounted{camera.DepthDefinition, forward(1), size(16, 16)})
	r.fire(simtime.Stamp(second))
	before := depthAt(r.picture(0), 8, 4)
	ego.pose.Position = mgl64.Vec3{5, 0, 0}
	r.fire(simtime.Stamp(second))
	assert.InDelta(t, before-5, depthAt(r.picture(0), 8, 4), 1e-3)
	assert.EqualValues(t, 2, camera.StatsOf(r.shared).Visibility)
}

// TestTimeIsSetBackBeforeACapture has an instant come again whose capture was announced,
// and never made.
func TestTimeIsSetBackBeforeACapture(t *testing.T) {
	r := newRig(t, scenetest.MovingWall(20, 0), nil, mounted{camera.DepthDefinition, forward(1), size(16, 16)})
	require.NoError(t, r.cameras[0].Tick(sensors.Tick{Due: simtime.Stamp(3 * second)}))
	r.fire(simtime.Stamp(second))
	r.fire(simtime.Stamp(3 * second))
	assert.Len(t, r.messages[0][camera.OutputImage], 2)
	assert.EqualValues(t, 2, camera.StatsOf(r.shared).Shades, "once each")
	assert.Empty(t, r.drops)
}
