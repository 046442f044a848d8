//go:build cgo

package camera_test

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// onBothDevices runs a test through OpenGL and on the host device.
func onBothDevices(t *testing.T, test func(t *testing.T, thread *gpu.Thread)) {
	t.Helper()
	t.Run("OpenGL", func(t *testing.T) { test(t, gputest.Thread(t)) })
	if os.Getenv("GL_DEVICE") != "host" {
		t.Run("host", func(t *testing.T) { test(t, hostThread(t, "", 2)) })
	}
}

// rolling are the attributes of a picture whose lines are so many microseconds apart, exposed for a millisecond.
func rolling(lineTime float64, more ...any) []any {
	return append([]any{"shutter", "rolling", "line_time", lineTime * 1e-6, "exposure_time", 1e-3}, more...)
}

// shutterAt is when a line of a picture with such attributes is seen that is due at a second.
func shutterAt(line, lines int, lineTime float64) float64 {
	return 1 - 1e-3 - lineTime*1e-6*float64(lines-1) + lineTime*1e-6*float64(line) + 0.5e-3
}

// edges returns where a thing with an id begins and ends in each line of a picture, between pixels; NaN where it isn't.
func edges(m *sample.Image, id byte, columns bool) (first, last []float64) {
	lines, length := m.Height, m.Width
	if columns {
		lines, length = m.Width, m.Height
	}
	for line := range lines {
		a, b := math.NaN(), math.NaN()
		for i := range length {
			u, v := i, line
			if columns {
				u, v = line, i
			}
			if at(m, u, v, 2)[0] == id {
				if math.IsNaN(a) {
					a = float64(i) - 0.5
				}
				b = float64(i) + 0.5
			}
		}
		first, last = append(first, a), append(last, b)
	}
	return first, last
}

// deviation is how far edges lie from where they should be, in the mean of 40 neighbouring lines: whole pixels
// round to a part of one then.
func deviation(t *testing.T, got []float64, want func(line int) float64) (worst float64) {
	t.Helper()
	const window = 40
	for first := 0; first+window <= len(got); first += window / 2 {
		sum, n := 0.0, 0
		for line := first; line < first+window; line++ {
			if !math.IsNaN(got[line]) {
				sum, n = sum+got[line]-want(line), n+1
			}
		}
		if n == window {
			worst = max(worst, math.Abs(sum/window))
		}
	}
	return worst
}

// second is the instant of these pictures: a tick before it is recorded too.
func (r *rig) fireAfterATick() {
	r.tb.Helper()
	r.fire(simtime.Stamp(second - 100_000_000))
	r.fire(simtime.Stamp(second))
}

// TestAPoleLeansUnderYaw: under a constant yaw rate each line sees the pole in another direction.
func TestAPoleLeansUnderYaw(t *testing.T) {
	const yaw, width, height, fov, lineTime = 1.5, 480, 480, 40.0, 80.0 // rad/s, microseconds
	b := scenetest.NewBuilder("pole")
	pole := b.Put("pole", scenetest.Box(0.4, 0.4, 60), scenetest.Matte("pole", 1, 1, 1), scene.Placement{
		Pose: spatial.FromRPY(mgl64.Vec3{20, 0, 0}, 0, 0, 0), Tag: scene.TagPole,
	})
	b.Put("floor", scenetest.Plane(4, 2), scenetest.Matte("floor", 1, 1, 1), scenetest.At(-30, 0, 0, scene.TagRoads))
	ego := scenetest.Linear{Start: spatial.FromRPY(mgl64.Vec3{}, 0, 0, mgl64.RadToDeg(-yaw)), YawRate: yaw} // ahead at a second
	onBothDevices(t, func(t *testing.T, thread *gpu.Thread) {
		straight := lens(t, width, height, fov)
		for _, c := range []distorted{
			{name: "pinhole", lens: straight},
			{"plumb_bob", must(straight.PlumbBob(-0.1, 0.02, 0, 0, 0)), []any{"lens", "plumb_bob", "distortion", "-0.1,0.02,0,0,0"}},
			{"equidistant", must(straight.Equidistant([4]float64{-0.05, 0.01, 0, 0})), []any{"lens", "equidistant", "distortion", "-0.05,0.01,0,0"}},
		} {
			for _, readout := range []string{"top_down", "bottom_up"} {
				r := newRigOn(t, thread, b.Scene, ego, mounted{camera.InstanceDefinition, forward(0), size(width, height, append(rolling(lineTime, "fov", fov, "readout", readout), c.attributes...)...)})
				r.fireAfterATick()
				first, last := edges(r.picture(0), byte(pole.ID), false)
				l := c.lens
				for side, got := range [][]float64{first, last} {
					want := func(row int) float64 {
						line := row
						if readout == "bottom_up" {
							line = height - 1 - row
						}
						turned := yaw * (shutterAt(line, height, lineTime) - 1)
						// The pole's front edge, seen by a camera that has turned by so much. The direction in which
						// a row looks up doesn't matter to a column of a pinhole, and is found for other lenses.
						x, y := 19.8, 0.2-0.4*float64(side)
						sin, cos := math.Sincos(-turned)
						x, y = cos*x-sin*y, sin*x+cos*y
						u := 0.0
						for slope, step := 0.0, 0; step < 50; step++ {
							var v float64
							u, v, _ = l.Project(mgl64.Vec3{-y / x, slope, 1})
							slope += (float64(row) - v) / l.Fy
						}
						return u
					}
					d := deviation(t, got, want)
					t.Logf("%s %s: %.3f px off", readout, c.name, d)
					assert.Less(t, d, 0.1, "%s, %s, edge %d", readout, c.name, side)
				}
				// It leans by omega times line time a line, in pixels at the axis.
				lean := (first[height/2+100] - first[height/2-100]) / 200 / l.Fx
				sign := map[string]float64{"top_down": 1, "bottom_up": -1}[readout]
				assert.InEpsilon(t, sign*yaw*lineTime*1e-6, lean, 0.1)
				r.end()
			}
		}
	})
}

// TestACarIsSheared: what drives past is seen farther on in each line, by rows and by columns.
func TestACarIsSheared(t *testing.T) {
	const speed, distance, width, height, lineTime = 15.0, 10.0, 400, 320, 100.0
	b := scenetest.NewBuilder("car")
	// It drives to the left, and is ahead at a second.
	start := spatial.FromRPY(mgl64.Vec3{distance + 1, -speed, 0}, 0, 0, 0)
	car := b.Put("car", scenetest.Box(2, 4, 8), scenetest.Matte("red", 1, 0, 0), scene.Placement{
		Pose: start, Tag: scene.TagCar, TypeID: "vehicle.sedan", Motion: scenetest.Linear{Start: start, Velocity: mgl64.Vec3{0, speed, 0}},
	})
	onBothDevices(t, func(t *testing.T, thread *gpu.Thread) {
		l := lens(t, width, height, 90)
		column := func(line int, y float64) float64 {
			return l.Cx - l.Fx*(y+speed*(shutterAt(line, height, lineTime)-1))/distance
		}
		r := newRigOn(t, thread, b.Scene, nil, mounted{camera.InstanceDefinition, forward(0), size(width, height, rolling(lineTime)...)},
			mounted{camera.DepthDefinition, forward(0), size(width, height, rolling(lineTime)...)},
			mounted{camera.InstanceDefinition, forward(0), size(width, height, rolling(lineTime, "readout", "left_right")...)},
			mounted{camera.InstanceDefinition, forward(0), size(width, height, rolling(lineTime, "readout", "right_left")...)})
		defer r.end()
		r.fireAfterATick()
		first, last := edges(r.picture(0), byte(car.ID), false)
		assert.Less(t, deviation(t, first, func(row int) float64 { return column(row, 2) }), 0.1)
		assert.Less(t, deviation(t, last, func(row int) float64 { return column(row, -2) }), 0.1)
		assert.InDelta(t, distance, depthAt(r.picture(1), width/2, height/2), 1e-3)
		// By columns the car is squeezed or stretched. Its edge is at the column that was read when it was there.
		for i, against := range []float64{1, -1} {
			a, _ := edges(r.picture(2+i), byte(car.ID), false)
			const row = height / 2
			seen := a[row] + 0.5
			line := seen
			if against < 0 {
				line = width - 1 - seen
			}
			then := 1 - 1e-3 - lineTime*1e-6*(width-1) + lineTime*1e-6*line + 0.5e-3
			assert.InDelta(t, l.Cx-l.Fx*(2+speed*(then-1))/distance, seen, 1, "readout %v", against)
		}
	})
}

// TestWhatMovesInItselfRolls: each row sees a panel where its joint, or the joint of its skin, has brought it by then. A skin is shown in
// steps of 12.5 ms.
func TestWhatMovesInItselfRolls(t *testing.T) {
	const speed, side, lineTime = 2.0, 80, 1000.0
	onBothDevices(t, func(t *testing.T, thread *gpu.Thread) {
		for name, c := range map[string]struct {
			bend func(*scene.Asset)
			off  float64 // metres
		}{
			"joint": {func(a *scene.Asset) {
				a.Nodes[0].Skin, a.Meshes[0].Joints, a.Meshes[0].Weights = nil, nil, nil
				for i := range a.Animations[0].Channels {
					a.Animations[0].Channels[i].Node = 0
				}
			}, 1e-3},
			"skin": {func(*scene.Asset) {}, speed * 0.0126},
		} {
			asset := door(false)
			c.bend(asset)
			b := scenetest.NewBuilder("door")
			place := scenetest.At(7, 0, 0, scene.TagPedestrian)
			place.Whole = true
			_, err := b.Scene.Add(asset, place)
			require.NoError(t, err)
			r := newRigOn(t, thread, b.Scene, nil, mounted{camera.DepthDefinition, forward(0), size(side, side, rolling(lineTime, "fov", 20)...)})
			r.fireAfterATick()
			for row := range side {
				assert.InDelta(t, 7-speed*shutterAt(row, side, lineTime), depthAt(r.picture(0), side/2, row), c.off, "%s, row %d", name, row)
			}
			r.end()
		}
	})
}

// passingCity are things of all kinds before an ego that drives and turns.
func movingStand(seed uint64) stand {
	s := still(scenetest.Soup(seed, 6000, true), forward(1), simtime.Stamp(second-100_000_000), simtime.Stamp(second))
	s.ego = scenetest.Linear{Start: spatial.FromRPY(mgl64.Vec3{-20, 13, 7}, 12, 20, 140), Velocity: mgl64.Vec3{10, 3, 0}, YawRate: 0.8}
	return s
}

// withoutFlow are the cameras that a rolling shutter is for.
func withoutFlow(list []mounted) (rest []mounted) {
	for _, m := range list {
		if m.definition != camera.OpticalFlowDefinition {
			rest = append(rest, m)
		}
	}
	return rest
}

// TestALineTimeOfZeroIsAGlobalShutter compares the pictures of lines that are all of one instant with those of a global shutter.
func TestALineTimeOfZeroIsAGlobalShutter(t *testing.T) {
	onBothDevices(t, func(t *testing.T, thread *gpu.Thread) {
		for seed := range uint64(2) {
			s := movingStand(seed)
			still := []any{"shutter", "rolling", "line_time", 0.0, "exposure_time", 1e-6}
			view := func(more ...any) map[string]any { return size(161, 121, more...) }
			rollingView := func(more ...any) map[string]any { return size(161, 121, append(more, still...)...) }
			want := s.show(t, thread, withoutFlow(everyForm(view)))
			list := withoutFlow(everyForm(rollingView))
			s.lens = still
			got := s.show(t, thread, list)
			for i := range list {
				// Rays and the rasteriser choose differently at edges.
				off := 0
				for v := range 121 {
					for u := range 161 {
						bytesOf := want[1][i].Step / 161
						a, b := at(got[1][i], u, v, bytesOf), at(want[1][i], u, v, bytesOf)
						most := 0.0
						for k := range a {
							most = max(most, math.Abs(float64(a[k])-float64(b[k])))
						}
						switch {
						case want[1][i].Encoding == sample.Encoding32FC1:
							x, y := float(a), float(b)
							if x != y && !(math.Abs(x-y) < 1e-3+1e-4*math.Abs(y)) {
								off++
							}
						case want[1][i].Encoding == sample.Encoding32FC3:
							if x, y := normalAt(got[1][i], u, v), normalAt(want[1][i], u, v); x.Sub(y).Len() > 1e-3 {
								off++
							}
						case most > 2 && !(list[i].definition == camera.DepthDefinition && most == 255):
							off++
						}
					}
				}
				assert.LessOrEqual(t, float64(off)/(161*121), 0.01, "soup %d: %s %v", seed, list[i].definition.ID, list[i].attributes)
			}
		}
	})
}

// TestRollingPicturesAgree holds the host device's rolling pictures against OpenGL's, of everything that moves and turns.
func TestRollingPicturesAgree(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	gl := openGL(t)
	host := hostThread(t, "", 2)
	for name, more := range map[string][]any{
		"rows": rolling(200), "columns": rolling(150, "readout", "right_left"),
		"fisheye": rolling(200, "lens", "svl_fisheye", "xi", 0.9, "readout", "bottom_up"),
	} {
		t.Run(name, func(t *testing.T) {
			s := movingStand(1)
			s.lens = more
			view := func(more ...any) map[string]any { return size(s.width, s.height, append(more, s.lens...)...) }
			list := withoutFlow(everyPicture(&s))
			list = append(list, mounted{camera.RGBDefinition, s.mount, view("shadows", "traced")}, mounted{camera.RGBDefinition, s.mount, view("motion_blur", 9)})
			want, got := s.show(t, gl, list), s.show(t, host, list)
			same := make([]bool, s.width*s.height)
			for i := range same {
				u, v := i%s.width, i/s.width
				same[i] = bytes.Equal(at(got[1][6], u, v, 1), at(want[1][6], u, v, 1)) && bytes.Equal(at(got[1][11], u, v, 2), at(want[1][11], u, v, 2))
			}
			for i := range list {
				kind := kindOf(&list[i])
				d := compare(kind, want[1][i].Encoding, got[1][i], want[1][i], same)
				most := map[string]float64{"light": 0.01, "label": 0.002, "number": 0.002, "code": 0.002, "grey": 0.002}[kind]
				assert.LessOrEqual(t, d.share(), most, "%s %v", list[i].definition.ID, list[i].attributes)
			}
		})
	}
}

// TestStampsOfARollingShutter: messages have the stamp that the attribute names, and the sensor's pose then.
func TestStampsOfARollingShutter(t *testing.T) {
	const height, lineTime, speed = 121, 100e-6, 10.0
	ego := scenetest.Linear{Start: spatial.Identity(), Velocity: mgl64.Vec3{speed, 0, 0}}
	start := second - int64(math.Round(lineTime*(height-1)*1e9)) - 2_000_000
	for rule, want := range map[string]int64{
		"first_row_start": start, "first_row_mid": start + 1_000_000, "mid_row_mid": start + 1_000_000 + 6_000_000,
	} {
		r := newRig(t, scenetest.MovingWall(20, 0), ego,
			mounted{camera.DepthDefinition, forward(1), size(160, height, "shutter", "rolling", "line_time", lineTime, "exposure_time", 2e-3, "stamp", rule)},
			mounted{camera.RGBDefinition, forward(1), size(160, height, "motion_blur", 4)})
		r.fireAfterATick()
		m, info := r.picture(0), last[*sample.CameraInfo](r, 0, camera.OutputInfo)
		assert.Equal(t, simtime.Stamp(want), m.Stamp, rule)
		assert.Equal(t, m.Stamp, info.Stamp)
		assert.InDelta(t, speed*float64(want)*1e-9, m.Pose.Position[0], 1e-9, "the pose is the stamp's")
		shutter := sample.Shutter{Readout: "top_down", LineTime: lineTime, ExposureTime: 2e-3, FirstNs: start - want}
		assert.Equal(t, shutter, m.Shutter)
		assert.Equal(t, shutter, info.Shutter)
		assert.Equal(t, simtime.Stamp(second), r.picture(1).Stamp, "a global shutter's is when it is due")
		assert.Zero(t, r.picture(1).Shutter)
		r.end()
	}
}

// TestBlurIsTheMeanOfManyPictures compares a blurred picture, linear, with the mean of global ones of the exposure's time.
func TestBlurIsTheMeanOfManyPictures(t *testing.T) {
	const speed, distance, exposure, pictures = 20.0, 10.0, 30e-3, 48
	b := scenetest.NewBuilder("bars")
	for i := range 5 {
		start := spatial.FromRPY(mgl64.Vec3{distance, 3*float64(i) - 6 - speed, 0}, 0, 0, 0)
		m := scenetest.Matte(fmt.Sprint("bar ", i), 0.2*float32(i+1), 0.5, 1-0.2*float32(i))
		m.Unlit = true
		b.Put(m.Name, scenetest.Box(0.1, 1.5, 6), m, scene.Placement{Pose: start, Tag: scene.TagCar, Motion: scenetest.Linear{Start: start, Velocity: mgl64.Vec3{0, speed, 0}}})
	}
	view := func(more ...any) map[string]any {
		return size(120, 90, append(more, "enable_postprocess_effects", false)...)
	}
	onBothDevices(t, func(t *testing.T, thread *gpu.Thread) {
		r := newRigOn(t, thread, b.Scene, nil, mounted{camera.RGBDefinition, forward(0), view("samples", 16)})
		mean := make([]float64, 120*90*3)
		for k := range pictures {
			r.fire(simtime.Stamp(float64(second) - exposure*1e9*(1-(float64(k)+0.5)/pictures)))
			for i := range mean {
				mean[i] += float64(r.picture(0).Data[i]) / pictures
			}
		}
		r.end()
		for _, n := range []int{4, 9, 16} {
			r := newRigOn(t, thread, b.Scene, nil, mounted{camera.RGBDefinition, forward(0), view("motion_blur", n, "exposure_time", exposure)})
			r.fireAfterATick()
			sum, worst := 0.0, 0.0
			for i := range mean {
				d := math.Abs(mean[i] - float64(r.picture(0).Data[i]))
				sum, worst = sum+d, max(worst, d)
			}
			// A point of a pixel is seen at one of n times: up to two of them, where two edges meet, are the wrong colour.
			assert.Less(t, worst, 2*255.0/float64(n)+2, "%d points", n)
			assert.Less(t, sum/float64(len(mean)), 12/float64(n)+0.5, "%d points", n)
			r.end()
		}
	})
}

// TestShutterErrors: what a shutter can't do is refused by name.
func TestShutterErrors(t *testing.T) {
	for _, c := range []struct {
		definition *sensors.Definition
		attributes []any
		want       string
	}{
		{camera.RGBDefinition, rolling(250), "a line_time of 0.00025 s makes a picture of 480 lines"},
		{camera.DepthDefinition, []any{"exposure_time", 0.2}, "an exposure of 0.2 s is longer than the period, 0.1 s"},
		{camera.RGBDefinition, []any{"motion_blur", 4, "shutter_speed", 5.0}, "an exposure of 0.2 s is longer than the period"},
		{camera.RGBDefinition, []any{"exposure_time", 0.01, "shutter_speed", 50.0}, "exposure_time is 0.01 s and shutter_speed 50 /s"},
		{camera.RGBDefinition, []any{"motion_blur", 5}, "motion_blur is 5, a square of points has 1, 4, 9 or 16"},
		{camera.RGBDefinition, []any{"motion_blur", 4, "samples", 9}, "motion_blur is 4 and samples 9"},
		{camera.OpticalFlowDefinition, rolling(10), "shutter is rolling, and a sensor.camera.optical_flow compares"},
		{camera.DVSDefinition, rolling(10), "shutter is rolling, and a sensor.camera.dvs compares"},
	} {
		settings := c.definition.NewSettings()
		for name, value := range size(640, 480, c.attributes...) {
			require.NoError(t, settings.Set(name, value))
		}
		_, err := c.definition.New(sensors.Spec{Definition: c.definition, Name: "camera", Settings: settings, Rate: simtime.Hz(10)})
		require.ErrorIs(t, err, sensors.ErrValue)
		assert.ErrorContains(t, err, c.want)
	}
}
