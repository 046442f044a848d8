//go:build cgo

package camera_test

import (
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl32"
	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/city"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// attributesOf are the attributes of a picture through a lens.
func (d *distorted) attributesOf(width, height int, more ...any) map[string]any {
	return size(width, height, append(append([]any{}, d.attributes...), more...)...)
}

func seesNothing(ray mgl64.Vec3) bool { return math.IsNaN(ray[0]) }

func idAt(m *sample.Image, u, v int) uint32 {
	p := at(m, u, v, 2)
	return uint32(p[0]) | uint32(p[1])<<8
}

// TestLensesShowAGridWhereTheyProjectIt puts small balls at known points, also beside
// and behind the camera, and measures where on the picture their middles are. Readers of
// CameraInfo look for them there too.
func TestLensesShowAGridWhereTheyProjectIt(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	const width, height, distance, radius = 320, 240, 6.0, 0.15
	for _, c := range distortedLenses(t, width, height) {
		t.Run(c.name, func(t *testing.T) {
			b := scenetest.NewBuilder("grid")
			inMap := spatial.OpticalInBody()
			points := map[uint32]mgl64.Vec3{}
			for v := 20.0; v < height-10; v += 40 {
				for u := 20.0; u < width-10; u += 40 {
					ray, outwards := c.lens.Ray(u+0.3, v-0.2), 1.1
					if seesNothing(c.lens.Ray(c.lens.Cx+outwards*(u-c.lens.Cx), c.lens.Cy+outwards*(v-c.lens.Cy))) {
						continue // a ball at the rim is not a circle
					}
					p := ray.Normalize().Mul(distance)
					w := inMap.Rotate(p)
					a := b.Put("ball", scenetest.Sphere(radius, 16), scenetest.Matte("ball", 1, 1, 1), scenetest.At(w[0], w[1], w[2], scene.TagCar))
					points[a.ID] = p
				}
			}
			r := newRig(t, b.Scene, nil, mounted{camera.InstanceDefinition, spatial.Identity(), c.attributesOf(width, height)})
			r.fire(0)
			type middle struct{ u, v, n float64 }
			found := map[uint32]*middle{}
			for v := range height {
				for u := range width {
					id := idAt(r.picture(0), u, v)
					if id == 0 {
						continue
					}
					if found[id] == nil {
						found[id] = &middle{}
					}
					found[id].u += float64(u)
					found[id].v += float64(v)
					found[id].n++
				}
			}
			require.GreaterOrEqual(t, len(points), 10)
			info := last[*sample.CameraInfo](r, 0, camera.OutputInfo)
			worst, read := 0.0, 0.0
			for id, p := range points {
				m := found[id]
				require.NotNil(t, m, "the ball at %v is in sight", p)
				u, v := discCentre(p, radius, func(p mgl64.Vec3) (u, v float64) {
					u, v, ok := c.lens.Project(p)
					require.True(t, ok)
					return u, v
				})
				worst = max(worst, math.Hypot(m.u/m.n-u, m.v/m.n-v))
				u, v = discCentre(p, radius, func(p mgl64.Vec3) (u, v float64) { return readByOpenCV(t, info, p) })
				read = max(read, math.Hypot(m.u/m.n-u, m.v/m.n-v))
			}
			t.Logf("%d balls, at most %.3f pixels off, by CameraInfo %.3f", len(points), worst, read)
			assert.Less(t, worst, 0.3, "pixels off")
			assert.Less(t, read, 0.5, "pixels off where CameraInfo has it")
		})
	}
}

// discCentre returns the middle of the outline that a ball has on the picture: that of
// the polygon of points on its rim.
func discCentre(p mgl64.Vec3, radius float64, project func(mgl64.Vec3) (u, v float64)) (u, v float64) {
	side := p.Cross(mgl64.Vec3{0.3, 0.9, 0.1}).Normalize()
	up := p.Cross(side).Normalize()
	sin := radius / p.Len()
	var area, su, sv float64
	u0, v0 := 0., 0.
	for k := range 65 {
		s, c := math.Sincos(float64(k) * math.Pi / 32)
		rim := p.Mul(1 - sin*sin).Add(side.Mul(c).Add(up.Mul(s)).Mul(radius * math.Sqrt(1-sin*sin)))
		u1, v1 := project(rim)
		if k > 0 {
			cross := u0*v1 - u1*v0
			area, su, sv = area+cross/2, su+(u0+u1)*cross/6, sv+(v0+v1)*cross/6
		}
		u0, v0 = u1, v1
	}
	return su / area, sv / area
}

// TestDistortedPicturesAgreeWithAReferenceTracer casts the ray of each pixel in float64
// at triangles and movers.
func TestDistortedPicturesAgreeWithAReferenceTracer(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	const width, height, stamp = 160, 120, second
	s := scenetest.Soup(3, 5000, true)
	mount := spatial.FromRPY(mgl64.Vec3{-5, 3, 1}, 10, 15, 40)
	pose := s.Ego.Compose(mount).Compose(spatial.OpticalInBody())
	tracer := scenetest.NewTracer(s, nil)
	for _, c := range distortedLenses(t, width, height) {
		t.Run(c.name, func(t *testing.T) {
			attributes := c.attributesOf(width, height)
			r := newRig(t, s, nil,
				mounted{camera.InstanceDefinition, mount, attributes}, mounted{camera.SemanticDefinition, mount, attributes},
				mounted{camera.DepthDefinition, mount, attributes}, mounted{camera.NormalsDefinition, mount, attributes})
			r.fire(simtime.Stamp(stamp))
			assert.EqualValues(t, 1, camera.StatsOf(r.shared).Visibility, "cameras of one lens share its pass")
			labels, depths, seen := 0, 0, 0
			for v := range height {
				for u := range width {
					ray := c.lens.Ray(float64(u), float64(v))
					if seesNothing(ray) {
						require.Zero(t, idAt(r.picture(0), u, v))
						require.Zero(t, at(r.picture(1), u, v, 1)[0])
						require.True(t, math.IsNaN(depthAt(r.picture(2), u, v)))
						require.True(t, math.IsNaN(normalAt(r.picture(3), u, v)[0]))
						continue
					}
					seen++
					tag, id, want := scene.TagSky, uint32(0), math.Inf(1)
					h, ok := tracer.Trace(pose.Position, pose.Rotate(ray).Normalize(), 0.05*ray.Len(), 2000*ray.Len(), simtime.Stamp(stamp))
					if ok {
						tag, id, want = h.Tag(), h.Actor.ID, h.T/ray.Len()*ray[2]
					}
					if want < 0 {
						want = math.Inf(-1)
					}
					if idAt(r.picture(0), u, v) == id && at(r.picture(1), u, v, 1)[0] == byte(tag) {
						labels++
					}
					if got := depthAt(r.picture(2), u, v); got == want || math.Abs(got-want) < 1e-3+1e-5*want {
						depths++
					}
				}
			}
			assert.GreaterOrEqual(t, float64(labels), 0.999*float64(seen), "ids")
			assert.GreaterOrEqual(t, float64(depths), 0.999*float64(seen), "depths")
		})
	}
}

// TestAFloorIsFlatThroughEveryLens compares depth, distance, normals and colour of a
// floor below and a sky above with what each pixel's ray says.
func TestAFloorIsFlatThroughEveryLens(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	const width, height, above = 128, 96, 1.5
	b := scenetest.NewBuilder("floor")
	glowing := scenetest.Matte("floor", 0, 0, 0)
	glowing.Emissive = mgl32.Vec3{0.2, 0.5, 0.1}
	b.Scene.Light = scene.Light{Exposure: 1}
	b.Put("floor", scenetest.Plane(400, 4), glowing, scenetest.At(0, 0, 0, scene.TagRoads))
	mount := spatial.FromRPY(mgl64.Vec3{0, 0, above}, 0, 0, 0)
	for _, c := range distortedLenses(t, width, height) {
		t.Run(c.name, func(t *testing.T) {
			attributes := c.attributesOf(width, height)
			r := newRig(t, b.Scene, nil,
				mounted{camera.DepthDefinition, mount, attributes}, mounted{camera.NormalsDefinition, mount, attributes},
				mounted{camera.RGBDefinition, mount, c.attributesOf(width, height, "tone_curve", "none")},
				mounted{camera.DepthDefinition, mount, c.attributesOf(width, height, "output", "svl", "far_clip", 500)})
			r.fire(0)
			floor := shown(mgl64.Vec3{0.2, 0.5, 0.1}, false)
			for v := range height {
				for u := range width {
					ray := c.lens.Ray(float64(u), float64(v))
					got, level := depthAt(r.picture(0), u, v), float64(at(r.picture(3), u, v, 1)[0])
					switch {
					case seesNothing(ray):
						assert.True(t, math.IsNaN(got))
						assert.Equal(t, [3]int{}, pixelAt(r.picture(2), u, v), "black")
						assert.Zero(t, level)
					case ray[1] <= 0:
						assert.Equal(t, math.Inf(1), got)
						assert.Equal(t, 255., level)
					case ray[1] > 0.02*ray.Len():
						k := above / ray[1]
						if ray[2] < 0 {
							assert.Equal(t, math.Inf(-1), got, "behind")
						} else {
							assert.InDelta(t, k*ray[2], got, 1e-3+1e-5*got, "pixel %d, %d", u, v)
						}
						n := normalAt(r.picture(1), u, v)
						assert.InDeltaSlice(t, []float64{0, -1, 0}, n[:], 1e-4)
						assertPixel(t, floor, r.picture(2), u, v, 0.51, "floor")
						assert.InDelta(t, 255*math.Pow(k*ray.Len()/500, 0.1), level, 0.51)
					}
				}
			}
		})
	}
}

// TestTracingAgreesWithRasterising compares a pinhole with a lens that bends by less than a
// float can tell. It does so in a city, at an instant at which things move.
func TestTracingAgreesWithRasterising(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	town, err := city.Generate(city.Options{})
	require.NoError(t, err)
	mount := spatial.FromRPY(mgl64.Vec3{1.2, 0.3, 1.6}, 0, 2, 5)
	straight := distorted{attributes: []any{"lens", "plumb_bob", "distortion", []float64{1e-12, 0, 0, 0}}}
	pinhole, traced := size(320, 240), straight.attributesOf(320, 240)
	r := newRig(t, town, town.Route,
		mounted{camera.InstanceDefinition, mount, pinhole}, mounted{camera.SemanticDefinition, mount, pinhole}, mounted{camera.RGBDefinition, mount, pinhole},
		mounted{camera.InstanceDefinition, mount, traced}, mounted{camera.SemanticDefinition, mount, traced}, mounted{camera.RGBDefinition, mount, traced},
		mounted{camera.RGBDefinition, mount, straight.attributesOf(320, 240, "samples", 4)}, mounted{camera.RGBDefinition, mount, size(320, 240, "samples", 4)},
	)
	r.fire(simtime.Stamp(7 * second))
	assert.EqualValues(t, 4, camera.StatsOf(r.shared).Visibility, "two lenses, and both again with more points")
	equal, difference, smooth := 0, 0.0, 0.0
	for v := range 240 {
		for u := range 320 {
			if idAt(r.picture(0), u, v) == idAt(r.picture(3), u, v) && at(r.picture(1), u, v, 1)[0] == at(r.picture(4), u, v, 1)[0] {
				equal++
			}
			for i := range 3 {
				difference += math.Abs(float64(pixelAt(r.picture(2), u, v)[i]-pixelAt(r.picture(5), u, v)[i])) / (3 * 320 * 240)
				smooth += math.Abs(float64(pixelAt(r.picture(6), u, v)[i]-pixelAt(r.picture(7), u, v)[i])) / (3 * 320 * 240)
			}
		}
	}
	t.Logf("%d of %d ids differ; %.4f and %.4f levels", 320*240-equal, 320*240, difference, smooth)
	assert.GreaterOrEqual(t, float64(equal), 0.999*320*240)
	assert.Less(t, difference, 0.2, "levels of colour")
	assert.Less(t, smooth, 0.2, "levels of colour, smoothed")
}

func TestAMoverIsWhereItIsThroughALens(t *testing.T) {
	const distance, speed = 30.0, 8.0
	bent := distorted{attributes: []any{"lens", "svl_fisheye", "xi", 0.8}}
	r := newRig(t, scenetest.MovingWall(distance, speed), nil,
		mounted{camera.DepthDefinition, forward(1.5), bent.attributesOf(33, 25)},
		mounted{camera.OpticalFlowDefinition, forward(1.5), bent.attributesOf(33, 25)})
	for k := range int64(4) {
		stamp := k * second / 3
		r.fire(simtime.Stamp(stamp))
		assert.InDelta(t, distance-speed*float64(stamp)/1e9, depthAt(r.picture(0), 16, 12), 1e-3, "at %d ns", stamp)
	}
	m, l := r.picture(1), must(lens(t, 33, 25, 90).SVLFisheye([4]float64{}, 0.8))
	now := l.Ray(18, 12)
	now = now.Mul((distance - speed) / now[2])
	assertFlow(t, l, flowAt(m, 18, 12), now.Add(mgl64.Vec3{0, 0, speed * 0.1}), now)
	assert.Equal(t, mgl64.Vec2{}, flowAt(m, 16, 24), "the floor stands still")
}

// TestTheHorizonIsGreyThroughALens holds texture levels to the true rays' spread: a
// checker far away must neither flicker nor stay sharp.
func TestTheHorizonIsGreyThroughALens(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	for _, c := range []distorted{
		{name: "plumb_bob", attributes: []any{"lens", "plumb_bob", "distortion", []float64{-0.2, 0.03, 0.001, 0, 0}}},
		{name: "svl", attributes: []any{"lens", "svl", "distortion", []float64{-0.08, 0.01, 0, 0}}},
		{name: "svl_fisheye", attributes: []any{"lens", "svl_fisheye", "distortion", []float64{-0.05, 0, 0, 0}, "xi", 0.6}},
	} {
		b := scenetest.NewBuilder("checker")
		plane := scenetest.Plane(3000, 3)
		for i := range plane.UVs {
			plane.UVs[i] = plane.UVs[i].Mul(1500)
		}
		putTextured(b, "floor", plane, scene.Texture{Name: "checker", Image: checker(64, 32)}, scenetest.At(0, 0, 0, scene.TagRoads))
		r := newRig(t, b.Scene, nil, mounted{camera.RGBDefinition, spatial.FromRPY(mgl64.Vec3{0.9, 0.3, 1.5}, 0, 0, 0), c.attributesOf(320, 240, "tone_curve", "none")})
		r.fire(0)
		grey := shown(mgl64.Vec3{0.5, 0.5, 0.5}, false)
		worst, contrast := 0.0, 0.0
		for u := 140; u < 180; u++ {
			worst = max(worst, math.Abs(float64(pixelAt(r.picture(0), u, 123)[0])-grey[0]))
			contrast = max(contrast, math.Abs(float64(pixelAt(r.picture(0), u, 235)[0])-grey[0]))
		}
		assert.Less(t, worst, 6.0, "%s: the horizon is grey", c.name)
		assert.Greater(t, contrast, 60.0, "%s: black and white at the camera's feet", c.name)
	}
}

func TestImagesSayTheirFieldOfView(t *testing.T) {
	r := newRig(t, scenetest.MovingWall(10, 0), nil,
		mounted{camera.DepthDefinition, forward(1), size(32, 24, "fov", 70)},
		mounted{camera.RGBDefinition, forward(1), size(32, 24, "fov", 70, "lens", "plumb_bob", "distortion", "-0.1,0,0,0")})
	r.fire(0)
	assert.InDelta(t, 70, r.picture(0).FovDeg, 1e-9)
	assert.InDelta(t, 70, r.picture(1).FovDeg, 1e-9, "that of K")
	info := last[*sample.CameraInfo](r, 1, camera.OutputInfo)
	assert.Equal(t, []float64{-0.1, 0, 0, 0, 0}, info.D)
}

// TestACameraSaysThatItIsUncalibrated at its start, where no reader's model is near
// enough, and only there.
func TestACameraSaysThatItIsUncalibrated(t *testing.T) {
	short := size(192, 108, "lens", "svl", "distortion", "0.2,0.1,0,0")
	r := newRig(t, scenetest.MovingWall(10, 0), nil, mounted{camera.DepthDefinition, forward(1), short})
	assert.Contains(t, r.log.String(), "CameraInfo says uncalibrated")
	r.fire(0)
	assert.Zero(t, last[*sample.CameraInfo](r, 0, camera.OutputInfo).K[0])

	mild := size(192, 108, "lens", "svl", "distortion", "-0.1,0,0,0")
	r = newRig(t, scenetest.MovingWall(10, 0), nil, mounted{camera.DepthDefinition, forward(1), mild})
	assert.Empty(t, r.log.String())
}
