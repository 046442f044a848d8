//go:build cgo

package camera_test

import (
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl32"
	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/gpu/hostdev"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// fishes is a calibration file of an equidistant lens that sees 85 degrees from its axis.
const fishes = `image_width: 96
image_height: 72
K: [42, 0, 45.5, 0, 41.5, 37.25, 0, 0, 1]
distortion_model: equidistant
D: [-0.02, 0.003, 0, 0]
`

// TestCamerasOfOneCalibrationShareTheirPass: with one visibility pass for all four.
func TestCamerasOfOneCalibrationShareTheirPass(t *testing.T) {
	attributes := map[string]any{"calibration": fishes}
	r := newRig(t, scenetest.MovingWall(15, 4), nil,
		mounted{camera.RGBDefinition, forward(1), attributes}, mounted{camera.DepthDefinition, forward(1), attributes},
		mounted{camera.SemanticDefinition, forward(1), attributes}, mounted{camera.InstanceDefinition, forward(1), attributes})
	for k := range 3 {
		r.fire(simtime.Stamp(k) * simtime.Stamp(period))
		assert.EqualValues(t, k+1, camera.StatsOf(r.shared).Visibility)
	}
}

// TestTheStartSaysHowNearCameraInfoIs: of a lens that no model of ROS is, and of no other.
func TestTheStartSaysHowNearCameraInfoIs(t *testing.T) {
	mei := size(96, 72, "lens", "mei", "xi", 1.2, "distortion", "-0.05,0.01,0,0")
	r := newRig(t, scenetest.MovingWall(15, 0), nil, mounted{camera.DepthDefinition, forward(1), mei})
	assert.Regexp(t, `the model of OpenCV's that is nearest to the lens" camera=camera model=equidistant "pixels off"=0\.\d+\n`, r.log.String())
	r = newRig(t, scenetest.MovingWall(15, 0), nil, mounted{camera.DepthDefinition, forward(1), map[string]any{"calibration": fishes}})
	assert.NotContains(t, r.log.String(), "pixels off")
}

// TestRaysOfDevicesAreGos: each pixel's ray as a device has it, over the whole picture, found by depth in rooms whose
// walls are known. Each room gives a plane that the ray's point at z = 1 lies on; three turned rooms give the point.
func TestRaysOfDevicesAreGos(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	const side = 8.0
	b := scenetest.NewBuilder("room")
	b.Put("room", scenetest.Box(side, side, side), scenetest.Matte("wall", 1, 1, 1), scenetest.At(0, 0, 0, scene.TagWall))
	host, err := gpu.Start(hostdev.Open(hostdev.Options{}))
	require.NoError(t, err)
	t.Cleanup(func() { _ = host.Close() })
	rational := []float64{0.3, 0.05, 0.001, -0.001, 0.01, 0.6, 0.1, 0.02}
	fisheye, err := lensBy(t, map[string]any{"calibration": fishes})
	require.NoError(t, err)
	narrow := must(lens(t, 96, 72, 90).Rational(rational))
	for device, thread := range map[string]*gpu.Thread{"OpenGL": gputest.Thread(t), "host": host} {
		for name, c := range map[string]struct {
			lens       camera.Lens
			attributes map[string]any
		}{
			"wide":   {fisheye, map[string]any{"calibration": fishes}},
			"narrow": {narrow, size(96, 72, "lens", "rational", "distortion", rational)},
		} {
			t.Run(device+" "+name, func(t *testing.T) {
				mounts := []spatial.Pose{
					spatial.FromRPY(mgl64.Vec3{0.1, 0.2, 0}, 0, 0, 0), spatial.FromRPY(mgl64.Vec3{-0.3, 0, 0.1}, 20, 30, 40),
					spatial.FromRPY(mgl64.Vec3{0, 0.1, -0.2}, -50, 35, 100), spatial.FromRPY(mgl64.Vec3{0, 0.1, -0.2}, 10, -40, 200),
				}
				var list []mounted
				for _, m := range mounts {
					list = append(list, mounted{camera.DepthDefinition, m, c.attributes}, mounted{camera.NormalsDefinition, m, c.attributes})
				}
				r := newRigOn(t, thread, b.Scene, nil, list...)
				r.fire(0)
				worst, seen := 0.0, 0
				for v := range c.lens.Height {
					for u := range c.lens.Width {
						// Normal equations of n.(x, y, 1) = d / z in all rooms.
						var m mgl64.Mat2
						var right mgl64.Vec2
						for i, mount := range mounts {
							n, z := normalAt(r.picture(2*i+1), u, v), depthAt(r.picture(2*i), u, v)
							n, d := wallOf(mount.Compose(spatial.OpticalInBody()), n, side)
							row := mgl64.Vec2{n[0], n[1]}
							m = m.Add(row.OuterProd2(row))
							right = right.Add(row.Mul(d/z - n[2]))
						}
						p := m.Inv().Mul2x1(right)
						gotU, gotV, ok := c.lens.Project(mgl64.Vec3{p[0], p[1], 1})
						require.True(t, ok, "%d, %d: %v", u, v, p)
						worst = math.Max(worst, math.Hypot(gotU-float64(u), gotV-float64(v)))
						seen++
					}
				}
				t.Logf("%d rays, at most %.4f pixels off", seen, worst)
				assert.LessOrEqual(t, worst, 0.02)
			})
		}
	}
}

// TestSamplesAreBetweenTheEntriesOfATable: the 16 points of each pixel see the squares of a chessboard that the float64 lens sees there. The points that
// don't cover an area, and that over the edges' length is how far points are off in the mean.
func TestSamplesAreBetweenTheEntriesOfATable(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	const tile, half, distance, grid = 2.0, 8, 5.0, 4
	b := scenetest.NewBuilder("chessboard")
	b.Scene.Light = scene.Light{Exposure: 1}
	white := scenetest.Matte("white", 0, 0, 0)
	white.Emissive = mgl32.Vec3{1, 1, 1}
	for i := -half; i < half; i++ {
		for j := -half; j < half; j++ {
			if (i+j)&1 == 0 {
				pose := spatial.FromRPY(mgl64.Vec3{distance, tile * (float64(i) + 0.5), tile * (float64(j) + 0.5)}, 0, -90, 0)
				b.Put("tile", scenetest.Plane(tile, 1), white, scene.Placement{Pose: pose, Tag: scene.TagWall})
			}
		}
	}
	glows := func(ray mgl64.Vec3) bool {
		y, z := -ray[0]/ray[2]*distance/tile, -ray[1]/ray[2]*distance/tile
		return ray[2] > 0 && math.Abs(y) < half && math.Abs(z) < half && (int(math.Floor(y))+int(math.Floor(z)))&1 == 0
	}
	fisheye, err := lensBy(t, map[string]any{"calibration": fishes})
	require.NoError(t, err)
	numbers := []float64{-0.2, 0.05, 0.001, -0.001, 0.01, 0, 0, 0}
	for name, c := range map[string]struct {
		lens       camera.Lens
		attributes map[string]any
	}{
		"wide":   {fisheye, map[string]any{"calibration": fishes}},
		"narrow": {must(lens(t, 96, 72, 90).Rational(numbers)), size(96, 72, "lens", "rational", "distortion", numbers)},
	} {
		t.Run(name, func(t *testing.T) {
			c.attributes["samples"], c.attributes["enable_postprocess_effects"] = grid*grid, false
			onBothDevices(t, func(t *testing.T, thread *gpu.Thread) {
				r := newRigOn(t, thread, b.Scene, nil, mounted{camera.RGBDefinition, forward(0), c.attributes})
				defer r.end()
				r.fire(0)
				off, edges, before := 0.0, 0.0, 0.0
				for v := range c.lens.Height {
					for u := range c.lens.Width {
						want := 0.0
						for k := range grid * grid {
							x, y := (float64(k%grid)+0.5)/grid-0.5, (float64(k/grid)+0.5)/grid-0.5
							if glows(c.lens.Ray(float64(u)+x, float64(v)+y)) {
								want += 1. / (grid * grid)
							}
						}
						got := math.Round(float64(pixelAt(r.picture(0), u, v)[1])/255*grid*grid) / (grid * grid)
						off += math.Abs(got - want)
						if u > 0 {
							edges += math.Abs(want - before)
						}
						before = want
					}
				}
				t.Logf("%.1f pixels of edges, points are %.5f pixels off", edges, off/edges)
				assert.Greater(t, edges, 300.0)
				assert.Less(t, off/edges, 1e-3)
			})
		})
	}
}

// wallOf returns the wall of the room that has about a normal of the optical frame: exactly that, outwards, and how far
// the wall is.
func wallOf(optical spatial.Pose, about mgl64.Vec3, side float64) (normal mgl64.Vec3, distance float64) {
	in := optical.Rotate(about)
	axis := 0
	for i := range in {
		if math.Abs(in[i]) > math.Abs(in[axis]) {
			axis = i
		}
	}
	var out mgl64.Vec3
	out[axis] = -math.Copysign(1, in[axis])
	return optical.Inverse().Rotate(out), side/2 - out.Dot(optical.Position)
}

// TestALensThatFoldsIsBlackBeyond: a distortion that turns back within the picture isn't an error, by hand or in a calibration file.
// Nothing is seen twice: beyond the fold pixels see nothing, and the camera's start says from which angle.
func TestALensThatFoldsIsBlackBeyond(t *testing.T) {
	const file = "image_width: 96\nimage_height: 72\nK: [42, 0, 45.5, 0, 41.5, 37.25, 0, 0, 1]\n"
	b := scenetest.NewBuilder("room")
	glowing := scenetest.Matte("wall", 0, 0, 0)
	glowing.Emissive = mgl32.Vec3{0.2, 0.5, 0.1}
	room := b.Put("room", scenetest.Box(8, 8, 8), glowing, scenetest.At(0, 0, 0, scene.TagWall))
	for name, c := range map[string]struct {
		attributes map[string]any
		end        string // the angle at which a polynomial turns back, by hand
	}{
		"equidistant": {map[string]any{"calibration": file + "distortion_model: equidistant\nD: [-0.25, 0, 0, 0]\n"}, "66.16"},                    // 1 / sqrt(0.75) radians
		"plumb_bob":   {map[string]any{"calibration": file + "distortion_model: plumb_bob\nD: [-0.6, 0, 0, 0, 0]\n"}, "36.7"},                     // atan(1 / sqrt(1.8))
		"rational":    {map[string]any{"calibration": file + "distortion_model: rational_polynomial\nD: [-0.3, 0, 0, 0, 0, 0, 0, 0]\n"}, "46.51"}, // atan(1 / sqrt(0.9))
		"by hand":     {size(96, 72, "lens", "plumb_bob", "fx", 42, "distortion", "-0.6,0,0,0"), "36.7"},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := lensBy(t, c.attributes)
			require.NoError(t, err)
			onBothDevices(t, func(t *testing.T, thread *gpu.Thread) {
				r := newRigOn(t, thread, b.Scene, nil,
					mounted{camera.RGBDefinition, forward(0), c.attributes}, mounted{camera.DepthDefinition, forward(0), c.attributes}, mounted{camera.SemanticDefinition, forward(0), c.attributes},
					mounted{camera.InstanceDefinition, forward(0), c.attributes}, mounted{camera.NormalsDefinition, forward(0), c.attributes})
				defer r.end()
				assert.Contains(t, r.log.String(), "the lens ends within the picture")
				assert.Contains(t, r.log.String(), `"degrees from the axis"=`+c.end+"\n")
				r.fire(0)
				beyond := 0
				for v := range l.Height {
					for u := range l.Width {
						depth, normal := depthAt(r.picture(1), u, v), normalAt(r.picture(4), u, v)
						if !seesNothing(l.Ray(float64(u), float64(v))) {
							require.Equal(t, []any{byte(scene.TagWall), room.ID}, []any{at(r.picture(2), u, v, 1)[0], idAt(r.picture(3), u, v)})
							require.Positive(t, depth)
							require.NotZero(t, pixelAt(r.picture(0), u, v)[1])
							continue
						}
						beyond++
						require.Equal(t, []any{byte(0), uint32(0), [3]int{}}, []any{at(r.picture(2), u, v, 1)[0], idAt(r.picture(3), u, v), pixelAt(r.picture(0), u, v)})
						require.True(t, math.IsNaN(depth) && math.IsNaN(normal[0]), "%d, %d: %v %v", u, v, depth, normal)
					}
				}
				assert.True(t, beyond > 1000 && beyond < 6000, "%d pixels are beyond", beyond)
			})
		})
	}
}

// TestFlowThroughATable follows a wall that comes nearer, and a floor that stands still.
func TestFlowThroughATable(t *testing.T) {
	const distance, speed = 30.0, 8.0
	l, err := lensBy(t, map[string]any{"calibration": fishes})
	require.NoError(t, err)
	for name, c := range map[string]struct {
		lens       camera.Lens
		attributes map[string]any
	}{
		"wide":   {l, map[string]any{"calibration": fishes}},
		"narrow": {must(lens(t, 96, 72, 90).Rational([]float64{-0.2, 0.05, 0.001, -0.001, 0.01, 0, 0, 0})), size(96, 72, "lens", "rational", "distortion", "-0.2,0.05,0.001,-0.001,0.01,0,0,0")},
	} {
		r := newRig(t, scenetest.MovingWall(distance, speed), nil, mounted{camera.OpticalFlowDefinition, forward(1.5), c.attributes})
		for k := range int64(4) {
			r.fire(simtime.Stamp(k * second / 3))
		}
		m := r.picture(0)
		now := c.lens.Ray(50, 33)
		now = now.Mul((distance - speed) / now[2])
		u0, v0, _ := c.lens.Project(now.Add(mgl64.Vec3{0, 0, speed * 0.1}))
		got := flowAt(m, 50, 33)
		assert.InDelta(t, 50-u0, got[0]*float64(c.lens.Width), 2e-3, name)
		assert.InDelta(t, 33-v0, got[1]*float64(c.lens.Height), 2e-3, name)
		assert.Equal(t, mgl64.Vec2{}, flowAt(m, 45, 71), "%s: the floor stands still", name)
	}
}
