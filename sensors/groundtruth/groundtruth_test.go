//go:build cgo

package groundtruth_test

import (
	"maps"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/city"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/sensors/groundtruth"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/sensors/sensortest"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

func TestMain(m *testing.M) { gputest.Main(m) }

// town is a scene under construction. Everything in it is grey.
type town struct{ *scenetest.Builder }

func newTown() town { return town{scenetest.NewBuilder("town")} }

// car puts a box of 2 m whose middle is at a place, and returns its id.
func (t town) car(x, y, z float64) uint32 {
	return t.box("vehicle.sedan", mgl64.Vec3{2, 2, 2}, x, y, z)
}

// wall puts a box that is nobody.
func (t town) wall(size mgl64.Vec3, x, y, z float64) { t.box("static.wall", size, x, y, z) }

func (t town) box(typeID string, size mgl64.Vec3, x, y, z float64) uint32 {
	p := scenetest.At(x, y, z, scene.TagWall)
	p.TypeID = typeID
	if typeID == "vehicle.sedan" {
		p.Tag = scene.TagCar
	}
	return t.Put(typeID, scenetest.Box(size[0], size[1], size[2]), scenetest.Matte("grey", 0.5, 0.5, 0.5), p).ID
}

// boxes2D fires a sensor of 200 x 150 pixels and 90 degrees, whose focal length is
// 100 pixels, once.
func boxes2D(t *testing.T, o sensortest.Options, more ...any) *sample.Detections2D {
	t.Helper()
	o.GL = gputest.Thread(t)
	o.Attributes = map[string]any{"image_size_x": 200, "image_size_y": 150, "fov": 90}
	for i := 0; i < len(more); i += 2 {
		o.Attributes[more[i].(string)] = more[i+1]
	}
	h := sensortest.New(t, groundtruth.Boxes2DDefinition, o)
	h.Fire(100_000_000)
	return sensortest.Last[*sample.Detections2D](h, groundtruth.OutputBoxes)
}

func boxes3D(t *testing.T, o sensortest.Options, more ...any) *sample.Detections3D {
	t.Helper()
	o.GL, o.Attributes = gputest.Thread(t), map[string]any{}
	for i := 0; i < len(more); i += 2 {
		o.Attributes[more[i].(string)] = more[i+1]
	}
	h := sensortest.New(t, groundtruth.Boxes3DDefinition, o)
	h.Fire(100_000_000)
	return sensortest.Last[*sample.Detections3D](h, groundtruth.OutputBoxes)
}

func TestTheBoxOfACubeIsTightToThePixel(t *testing.T) {
	b := newTown()
	id := b.car(10, 0, 0) // its front is 9 m away, from -1 to 1 m
	m := boxes2D(t, sensortest.Options{Scene: b.Scene})
	require.Len(t, m.Boxes, 1)
	// Pixel u's centre looks at (u - 99.5) / 100 m at 1 m: from 88.4 to 110.6, and
	// down from 63.4 to 85.6.
	assert.Equal(t, sample.Box2D{
		ID: id, TypeID: "vehicle.sedan", Label: "Sedan", Tag: uint8(scene.TagCar), Score: 1,
		CenterX: 100, CenterY: 75, Width: 22, Height: 22, Pixels: 22 * 22,
	}, m.Boxes[0])
	assert.Equal(t, [2]int{200, 150}, [2]int{m.Width, m.Height})
	assert.Equal(t, "under_test", m.FrameID)
	assert.EqualValues(t, simtime.Stamp(100_000_000), m.Stamp)
}

// TestTheBoxThroughALens: it holds the pixels whose rays meet the cube, and counts them, far beside the axis too.
func TestTheBoxThroughALens(t *testing.T) {
	at := mgl64.Vec3{0.5, 5, 0.5} // 84 degrees to the left
	b := newTown()
	b.Put("car", scenetest.Box(2, 2, 2), scenetest.Matte("grey", 0.5, 0.5, 0.5), scene.Placement{Pose: spatial.FromRPY(at, 0, 0, 0), Tag: scene.TagCar, TypeID: "vehicle.sedan"})
	lens, err := camera.NewLens(200, 150, 126)
	require.NoError(t, err)
	lens, err = lens.Equidistant([4]float64{0.05, -0.01})
	require.NoError(t, err)
	m := boxes2D(t, sensortest.Options{Scene: b.Scene}, "fov", 126.0, "lens", "equidistant", "distortion", []float64{0.05, -0.01, 0, 0})
	require.Len(t, m.Boxes, 1)
	left, top, right, bottom, pixels := 200, 150, 0, 0, 0
	for v := range 150 {
		for u := range 200 {
			ray := spatial.OpticalInBody().Rotate(lens.Ray(float64(u), float64(v)))
			near, far := 0.0, math.Inf(1)
			for axis := range 3 {
				a, b := (at[axis]-1)/ray[axis], (at[axis]+1)/ray[axis]
				near, far = max(near, min(a, b)), min(far, max(a, b))
			}
			if near < far {
				left, top, right, bottom, pixels = min(left, u), min(top, v), max(right, u+1), max(bottom, v+1), pixels+1
			}
		}
	}
	require.Greater(t, pixels, 100)
	box := m.Boxes[0]
	assert.Equal(t, []float32{float32(left), float32(top), float32(right), float32(bottom)},
		[]float32{box.CenterX - box.Width/2, box.CenterY - box.Height/2, box.CenterX + box.Width/2, box.CenterY + box.Height/2})
	assert.InDelta(t, pixels, box.Pixels, 2)
}

// A cube crosses the picture to the left while its lines are read, so its box is wider by what it moved meanwhile.
func TestTheBoxOfWhatARollingShutterSees(t *testing.T) {
	const speed, lineTime = 20.0, 200e-6
	b := newTown()
	start := spatial.FromRPY(mgl64.Vec3{10, -speed / 10, 0}, 0, 0, 0) // ahead at 100 ms
	car := b.Put("car", scenetest.Box(2, 2, 2), scenetest.Matte("grey", 0.5, 0.5, 0.5), scene.Placement{
		Pose: start, Tag: scene.TagCar, TypeID: "vehicle.sedan", Motion: scenetest.Linear{Start: start, Velocity: mgl64.Vec3{0, speed, 0}},
	})
	m := boxes2D(t, sensortest.Options{Scene: b.Scene}, "shutter", "rolling", "line_time", lineTime, "exposure_time", 1e-3, "stamp", "mid_row_mid")
	require.Len(t, m.Boxes, 1)
	// Its front is 9 m away: 22.2 pixels wide, in the 22 rows 64 to 85 of 150. A row is read 200 microseconds after
	// the one before, in which the cube goes 4 mm, 0.0444 pixels.
	const row = speed * lineTime * 100 / 9
	left := 99.5 - 100.0/9 - row*(85-149) + speed*0.5e-3*100/9
	right := 99.5 + 100.0/9 - row*(64-149) + speed*0.5e-3*100/9
	assert.Equal(t, car.ID, m.Boxes[0].ID)
	assert.InDelta(t, math.Ceil(left), m.Boxes[0].CenterX-m.Boxes[0].Width/2, 1e-3)
	assert.InDelta(t, math.Floor(right)+1, m.Boxes[0].CenterX+m.Boxes[0].Width/2, 1e-3)
	assert.EqualValues(t, 100_000_000-500_000-149*100_000, m.Stamp)
	assert.InDelta(t, 75, m.Boxes[0].CenterY, 1e-3)
}

// A joint makes a cube twice as wide and lifts it by 1 m within 100 ms. It has the box that is
// seen then. Its box in space holds all that the clip makes of it.
func TestTheBoxOfWhatMovesInItself(t *testing.T) {
	cube := scenetest.Box(2, 2, 2)
	for range cube.Positions {
		cube.Joints, cube.Weights = append(cube.Joints, 0), append(cube.Weights, 1)
	}
	cube.Groups = []scene.Group{{Count: len(cube.Indices)}}
	keys := []int64{0, 1e8, 4e9}
	asset := &scene.Asset{
		Name: "cube", Materials: []scene.Material{scenetest.Matte("grey", 0.5, 0.5, 0.5)}, Meshes: []scene.Mesh{cube},
		Nodes: []scene.Node{
			{Name: "cube", Parent: -1, Local: scene.IdentityTRS(), Skin: &scene.Skin{Joints: []int{1}, Bind: []mgl64.Mat4{mgl64.Ident4()}}},
			{Name: "joint", Parent: -1, Mesh: -1, Local: scene.IdentityTRS()},
		},
		Animations: []scene.Animation{{DurationNs: 4e9, Channels: []scene.Channel{
			{Node: 1, Path: scene.PathScale, TimesNs: keys, Values: []float64{1, 1, 1, 1, 2, 1, 1, 2, 1}},
			{Node: 1, Path: scene.PathTranslation, TimesNs: keys, Values: []float64{0, 0, 0, 0, 0, 1, 0, 0, 1}},
		}}},
	}
	b := newTown()
	p := scenetest.At(10, 0, 0, scene.TagCar)
	p.TypeID, p.Whole = "vehicle.sedan", true
	_, err := b.Scene.Add(asset, p)
	require.NoError(t, err)
	m := boxes2D(t, sensortest.Options{Scene: b.Scene})
	require.Len(t, m.Boxes, 1)
	// Its front is 9 m away, from -2 to 2 m and up to 2 m.
	got := m.Boxes[0]
	assert.Equal(t, []float32{100, 64, 44, 22}, []float32{got.CenterX, got.CenterY, got.Width, got.Height})
	space := boxes3D(t, sensortest.Options{Scene: b.Scene})
	require.Len(t, space.Boxes, 1)
	assert.InDeltaSlice(t, []float64{2, 4, 3}, space.Boxes[0].Size[:], 1e-6)
}

func TestAWallBeforeHalfACube(t *testing.T) {
	b := newTown()
	b.car(10, 0, 0)
	b.wall(mgl64.Vec3{0.1, 10, 10}, 5, 5, 0) // its edge is straight ahead
	o := sensortest.Options{Scene: b.Scene}
	m := boxes2D(t, o)
	require.Len(t, m.Boxes, 1)
	assert.Equal(t, []float32{105.5, 11, 22, 242}, []float32{m.Boxes[0].CenterX, m.Boxes[0].Width, m.Boxes[0].Height, float32(m.Boxes[0].Pixels)})
	assert.InDelta(t, 0.5, m.Boxes[0].Occlusion, 0.05)
	assert.Zero(t, m.Boxes[0].Truncation)

	space := boxes3D(t, o)
	require.Len(t, space.Boxes, 1)
	assert.Equal(t, m.Boxes[0].Occlusion, space.Boxes[0].Occlusion, "the same points")
}

// TestHiddenActorsCount: those behind a wall have a box only where hidden asks for them.
func TestHiddenActorsCount(t *testing.T) {
	b := newTown()
	id := b.car(10, 0, 0)
	b.wall(mgl64.Vec3{0.1, 10, 10}, 5, 0, 0)
	o := sensortest.Options{Scene: b.Scene}
	assert.Empty(t, boxes3D(t, o).Boxes)
	all := boxes3D(t, o, "hidden", true).Boxes
	require.Len(t, all, 1)
	assert.Equal(t, id, all[0].ID)
	assert.EqualValues(t, 1, all[0].Occlusion)
	assert.Equal(t, mgl64.Vec3{10, 0, 0}, all[0].Pose.Position)
}

// TestOcclusionFollowsTheShadowOfAnEdge moves a wall's edge across a cube's front.
func TestOcclusionFollowsTheShadowOfAnEdge(t *testing.T) {
	worst := 0.0
	for k := range 10 {
		edge := 0.055 * float64(k) // of the wall, at 5.05 m; the front is at 9 m
		b := newTown()
		b.car(10, 0, 0)
		b.wall(mgl64.Vec3{0.1, 10, 10}, 5, 5+edge, 0)
		m := boxes3D(t, sensortest.Options{Scene: b.Scene})
		require.Len(t, m.Boxes, 1)
		want := (1 - edge*9/5.05) / 2
		worst = max(worst, math.Abs(float64(m.Boxes[0].Occlusion)-want))
	}
	assert.Less(t, worst, 0.05, "of 43 points on the front")
}

func TestHalfACubeOutsideThePicture(t *testing.T) {
	b := newTown()
	b.car(10, -9, 0) // the picture's right edge is at y = -9 at the front, which is half outside
	b.wall(mgl64.Vec3{0.1, 0.1, 30}, 2, -2.2, 0)
	m := boxes2D(t, sensortest.Options{Scene: b.Scene})
	require.Len(t, m.Boxes, 1)
	box := m.Boxes[0]
	assert.EqualValues(t, 200, box.CenterX+box.Width/2, "up to the last column")
	// The front and the side at y = -8 face the sensor, 4 m² each.
	assert.InDelta(t, 0.25, box.Truncation, 0.05)
	assert.Zero(t, box.Occlusion, "what is outside the picture hides nothing in it")
}

func TestWhatTouchesOneColumnIsNotLost(t *testing.T) {
	// Thin plates 9 m away, of which the outermost pixels alone see something: their
	// centres look 8.955 m aside.
	for name, c := range map[string]struct {
		y, left float64
	}{"last": {-9.9, 199}, "first": {9.9, 0}} {
		b := newTown()
		b.box("walker.pedestrian.0001", mgl64.Vec3{1e-3, 2, 2}, 9, c.y, 0)
		m := boxes2D(t, sensortest.Options{Scene: b.Scene})
		require.Len(t, m.Boxes, 1, name)
		assert.EqualValues(t, 1, m.Boxes[0].Width, name)
		assert.EqualValues(t, c.left+0.5, m.Boxes[0].CenterX, name)
		assert.Equal(t, "Pedestrian", m.Boxes[0].Label)
		assert.Greater(t, m.Boxes[0].Truncation, float32(0.9))
	}
}

func TestWhoIsLeftOut(t *testing.T) {
	b := newTown()
	near, far := b.car(20, 5, 0), b.car(83, 60, 0)
	b.car(20, -5, 0) // behind the wall
	b.wall(mgl64.Vec3{0.1, 6, 6}, 15, -4, 0)
	behind := b.car(-20, 0, 0)
	ids := func(boxes []sample.Box2D) (list []uint32) {
		for i := range boxes {
			list = append(list, boxes[i].ID)
		}
		return list
	}
	in := func(boxes []sample.Box3D) (list []uint32) {
		for i := range boxes {
			list = append(list, boxes[i].ID)
		}
		return list
	}
	o := sensortest.Options{Scene: b.Scene}
	// The far one's middle is 102.4 m away.
	assert.Equal(t, []uint32{near, far}, ids(boxes2D(t, o, "detection_range", 103).Boxes))
	assert.Equal(t, []uint32{near}, ids(boxes2D(t, o, "detection_range", 102).Boxes))
	assert.Empty(t, boxes2D(t, o, "detection_range", 15).Boxes, "an empty list is published")
	assert.Empty(t, boxes2D(t, o, "far_clip", 18).Boxes)
	assert.Equal(t, []uint32{near, far, behind}, in(boxes3D(t, o, "max_distance", 103).Boxes))
	assert.Equal(t, []uint32{near, behind}, in(boxes3D(t, o).Boxes))
}

func TestABoxInSpaceIsInTheSensorsFrame(t *testing.T) {
	b := newTown()
	motion := scenetest.Linear{Start: spatial.FromRPY(mgl64.Vec3{12, 3, 1}, 0, 0, 40), Velocity: mgl64.Vec3{3, -2, 0.5}, YawRate: 0.6}
	size := mgl64.Vec3{4, 1.8, 1.5}
	mesh := scenetest.Box(size[0], size[1], size[2])
	for i := range mesh.Positions {
		mesh.Positions[i][2] += 0.75 // it stands on its origin
	}
	b.Put("car", mesh, scenetest.Matte("grey", 0.5, 0.5, 0.5), scene.Placement{Motion: motion, TypeID: "vehicle.suv", Tag: scene.TagCar})
	ego := scenetest.Linear{Start: spatial.FromRPY(mgl64.Vec3{-2, 1, 0}, 0, 0, -25), Velocity: mgl64.Vec3{7, 1, 0}, YawRate: 0.2}
	mount := spatial.FromRPY(mgl64.Vec3{1, 0, 1.5}, 2, 5, 30)
	o := sensortest.Options{Scene: b.Scene, Ego: ego, Mount: mount}
	m := boxes3D(t, o)
	require.Len(t, m.Boxes, 1)
	got := m.Boxes[0]

	const at = 100_000_000
	sensor := ego.PoseAt(at).Compose(mount).Inverse()
	car := motion.PoseAt(at)
	assertNear := func(want, got mgl64.Vec3, what string) {
		t.Helper()
		assert.InDelta(t, 0, want.Sub(got).Len(), 1e-6, "%s: %v, want %v", what, got, want)
	}
	assertNear(sensor.Apply(car.Apply(mgl64.Vec3{0, 0, 0.75})), got.Pose.Position, "centre")
	assertNear(sensor.Rotate(car.Rotate(mgl64.Vec3{1, 0, 0})), got.Pose.Rotate(mgl64.Vec3{1, 0, 0}), "ahead")
	assertNear(size, got.Size, "size")
	assertNear(sensor.Rotate(motion.Velocity), got.Twist.Linear, "velocity")
	assertNear(sensor.Rotate(mgl64.Vec3{0, 0, motion.YawRate}), got.Twist.Angular, "angular velocity")
	assert.Zero(t, got.Occlusion)
	assert.Equal(t, "SUV", got.Label)

	flat := boxes2D(t, o)
	require.Len(t, flat.Boxes, 1)
	assert.Equal(t, got.Twist, flat.Boxes[0].Twist)
}

// TestACarThatCarriesTheSensor has it inside its own box, which hides nothing in
// space and counts nowhere.
func TestACarThatCarriesTheSensor(t *testing.T) {
	b := newTown()
	own, other := b.car(0, 0, 0), b.car(10, 0, 0)
	o := sensortest.Options{Scene: b.Scene, Owner: own}
	m := boxes3D(t, o)
	require.Len(t, m.Boxes, 1)
	assert.Equal(t, other, m.Boxes[0].ID)
	assert.Zero(t, m.Boxes[0].Occlusion)
	assert.Empty(t, boxes2D(t, o).Boxes, "a picture shows the box from inside")
	near := boxes2D(t, o, "near_clip", 1.5)
	require.Len(t, near.Boxes, 1)
	assert.Equal(t, other, near.Boxes[0].ID)
	assert.Zero(t, near.Boxes[0].Occlusion)
}

// ofLenses are attributes that single lenses have, which package camera tests.
var ofLenses = map[string]string{
	"lens": "without numbers its boxes are the same here; the calibration has some", "distortion": "of lenses", "xi": "of lenses", "fy": "it goes with fx", "alpha": "of lenses", "polynomial": "of lenses", "polynomial_type": "of lenses",
	"linear": "of lenses", "max_angle": "of lenses", "table": "of lenses", "camera": "it goes with a calibration",
}

func TestConformanceOfBoxes(t *testing.T) {
	world := func() *scene.Scene {
		b := newTown()
		b.car(12, 2, 0)
		b.car(25, -4, 0)
		b.wall(mgl64.Vec3{0.1, 1, 2}, 8, 0.75, 0)
		b.wall(mgl64.Vec3{0.1, 10, 10}, -8, 0, 0)
		b.car(-20, 0, 0) // behind the wall
		return b.Scene
	}
	for _, c := range []struct {
		definition *sensors.Definition
		attributes map[string]any
		changed    map[string]any
	}{
		{groundtruth.Boxes2DDefinition, map[string]any{"image_size_x": 64, "image_size_y": 48}, map[string]any{
			"image_size_x": 40, "image_size_y": 30, "fov": 60.0, "near_clip": 14.0, "far_clip": 15.0, "detection_range": 20.0, "shutter": "rolling",
			"calibration": "K: [40, 0, 24, 0, 40, 18, 0, 0, 1]\nD: [0.5, 0, 0, 0]\ndistortion_model: equidistant\n", "fx": 40.0, "cx": 20.0, "cy": 12.0, "skew": 8.0,
		}},
		{groundtruth.Boxes3DDefinition, nil, map[string]any{"max_distance": 20.0, "hidden": true}},
	} {
		unchanging := maps.Clone(ofLenses)
		for _, name := range []string{"line_time", "readout", "exposure_time", "stamp"} {
			unchanging[name] = "of a rolling shutter alone: TestTheBoxOfWhatARollingShutterSees"
		}
		t.Run(c.definition.ID, func(t *testing.T) {
			sensortest.Run(t, c.definition, sensortest.Suite{
				Options: sensortest.Options{Attributes: c.attributes, Scene: world(), GL: gputest.Thread(t)},
				Changed: c.changed, Unchanging: unchanging,
			})
		})
	}
}

func TestDefaultsAreSVLs(t *testing.T) {
	flat, space := groundtruth.Boxes2DDefinition, groundtruth.Boxes3DDefinition
	s, o := flat.NewSettings(), sensors.DefaultsOf[groundtruth.Boxes2D]()
	assert.Equal(t, [2]int{1920, 1080}, [2]int{o.Width, o.Height})
	vertical := 2 * math.Atan(math.Tan(o.FOV*math.Pi/360)*1080/1920) * 180 / math.Pi
	assert.InDelta(t, 60, vertical, 1e-5)
	assert.Equal(t, [3]float64{0.1, 2000, 100}, [3]float64{o.NearClip, o.FarClip, o.DetectionRange})
	assert.Equal(t, 100.0, space.NewSettings().Value("max_distance"))
	assert.Equal(t, [2]float64{1, 1000}, [2]float64{space.Attributes[0].Min, space.Attributes[0].Max})
	assert.Equal(t, [2]string{"10", "10"}, [2]string{flat.Rate.String(), space.Rate.String()})
	assert.Equal(t, [2]uint16{70, 71}, [2]uint16{flat.Number, space.Number})

	require.NoError(t, s.Set("far_clip", 1))
	require.NoError(t, s.Set("near_clip", 2))
	_, err := flat.New(sensors.Spec{Definition: flat, Settings: s})
	require.ErrorIs(t, err, sensors.ErrValue)
}

const (
	cityWidth, cityHeight = 480, 270
	cityNs                = 2_000_000_000
)

var cityMount = spatial.FromRPY(mgl64.Vec3{1.2, 0, 1.6}, 0, 0, 12)

// extent is the pixels that show an actor in an instance picture.
type extent struct{ left, top, right, bottom, pixels int }

func extentIn(m *sample.Image) map[uint32]*extent {
	found := map[uint32]*extent{}
	for v := range m.Height {
		for u := range m.Width {
			p := m.Data[v*m.Step+2*u:]
			id := uint32(p[0]) | uint32(p[1])<<8
			b := found[id]
			if b == nil {
				b = &extent{u, v, u, v, 0}
				found[id] = b
			}
			b.left, b.right, b.top, b.bottom = min(b.left, u), max(b.right, u), min(b.top, v), max(b.bottom, v)
			b.pixels++
		}
	}
	return found
}

// TestBoxesOfACity holds the boxes against the instance camera's picture, and the
// occlusions against a ray caster that shares nothing with the sensor.
func TestBoxesOfACity(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	town, err := city.Generate(city.Options{Triangles: 60_000, Seed: 3})
	require.NoError(t, err)
	o := sensortest.Options{
		Scene: town, Ego: town.Route, Mount: cityMount, GL: gputest.Thread(t), StepNs: 50_000_000,
		Attributes: map[string]any{"image_size_x": cityWidth, "image_size_y": cityHeight, "fov": 90, "near_clip": 0.1, "detection_range": 120},
	}
	h := sensortest.New(t, groundtruth.Boxes2DDefinition, o)
	h.Fire(cityNs)
	m := sensortest.Last[*sample.Detections2D](h, groundtruth.OutputBoxes)
	o.Attributes = map[string]any{"image_size_x": cityWidth, "image_size_y": cityHeight, "fov": 90, "near_clip": 0.1}
	pictures := sensortest.New(t, camera.InstanceDefinition, o)
	pictures.Fire(cityNs)
	want := extentIn(sensortest.Last[*sample.Image](pictures, camera.OutputImage))

	require.Greater(t, len(m.Boxes), 5)
	reference := &reference{scene: town, history: h.Env.History, tracer: scenetest.NewTracer(town, h.Env.History.Pose)}
	last, compared, total := uint32(0), 0, 0.0
	for _, box := range m.Boxes {
		assert.Greater(t, box.ID, last, "by rising id")
		last = box.ID
		b := want[box.ID]
		require.NotNil(t, b, "actor %d", box.ID)
		assert.Equal(t, extent{
			int(box.CenterX - box.Width/2), int(box.CenterY - box.Height/2),
			int(box.CenterX+box.Width/2) - 1, int(box.CenterY+box.Height/2) - 1, int(box.Pixels),
		}, *b, "actor %d", box.ID)
		if box.Pixels > 30 && box.Truncation < 0.5 {
			occlusion := reference.occlusion(town.Actor(box.ID), m.Pose)
			assert.InDelta(t, occlusion, box.Occlusion, 0.15, "actor %d of %d pixels", box.ID, box.Pixels)
			compared++
			total += math.Abs(occlusion - float64(box.Occlusion))
		}
	}
	require.Greater(t, compared, 3)
	assert.Less(t, total/float64(compared), 0.05)
}

// reference estimates occlusions in float64.
type reference struct {
	scene   *scene.Scene
	history *scene.History
	tracer  *scenetest.Tracer
}

// occlusion asks for 1500 random points of an actor's surface.
func (r *reference) occlusion(a *scene.Actor, sensor spatial.Pose) float64 {
	lens, _ := camera.NewLens(cityWidth, cityHeight, 90)
	toOptical := sensor.Compose(spatial.OpticalInBody()).Inverse()
	at, _ := r.history.Pose(a.ID, cityNs)
	type triangle struct{ a, e1, e2 mgl64.Vec3 }
	var list []triangle
	var areas []float64
	total := 0.0
	for i := range a.Parts {
		p := &a.Parts[i]
		local := p.Local
		if p.Joints != nil {
			local = p.Joints(cityNs)
		}
		mesh := &r.scene.Meshes[p.Mesh]
		place := at.Mat4().Mul4(local)
		corner := func(k int) mgl64.Vec3 {
			v := mesh.Positions[mesh.Indices[k]]
			return place.Mul4x1(mgl64.Vec4{float64(v[0]), float64(v[1]), float64(v[2]), 1}).Vec3()
		}
		for k := 0; k+2 < len(mesh.Indices); k += 3 {
			c := corner(k)
			tr := triangle{c, corner(k + 1).Sub(c), corner(k + 2).Sub(c)}
			total += tr.e1.Cross(tr.e2).Len()
			list, areas = append(list, tr), append(areas, total)
		}
	}
	random := rand.New(rand.NewPCG(7, uint64(a.ID)))
	asked, hidden := 0, 0
	for range 1500 {
		pick, k := random.Float64()*total, 0
		for areas[k] < pick {
			k++
		}
		u, v := random.Float64(), random.Float64()
		if u+v > 1 {
			u, v = 1-u, 1-v
		}
		point := list[k].a.Add(list[k].e1.Mul(u)).Add(list[k].e2.Mul(v))
		way := point.Sub(sensor.Position)
		x, y, ok := lens.Project(toOptical.Apply(point))
		if list[k].e1.Cross(list[k].e2).Dot(way) >= 0 || !ok || !lens.Contains(x, y) {
			continue
		}
		asked++
		hit, found := r.tracer.Trace(sensor.Position, way.Normalize(), 0.1, way.Len()-2e-3, cityNs)
		if found && hit.Actor != a {
			hidden++
		}
	}
	return float64(hidden) / float64(max(asked, 1))
}

// TestModelsHaveNoBox spawns one between two firings.
func TestModelsHaveNoBox(t *testing.T) {
	b := newTown()
	b.Put("floor", scenetest.Plane(60, 4), scenetest.Matte("grey", 0.5, 0.5, 0.5), scenetest.At(0, 0, -2, scene.TagRoads))
	b.Put("car", scenetest.Box(2, 2, 2), scenetest.Matte("red", 1, 0, 0), scene.Placement{TypeID: "vehicle.sedan", Tag: scene.TagCar, Reserved: true})
	h := sensortest.New(t, groundtruth.Boxes3DDefinition, sensortest.Options{Scene: b.Scene, GL: gputest.Thread(t)})
	h.Fire(100_000_000)
	assert.Empty(t, sensortest.Last[*sample.Detections3D](h, groundtruth.OutputBoxes).Boxes)
	car, err := h.Env.History.Spawn("vehicle.*", scene.Standing(spatial.FromRPY(mgl64.Vec3{5, 0, 0}, 0, 0, 0)))
	require.NoError(t, err)
	h.Fire(200_000_000)
	boxes := sensortest.Last[*sample.Detections3D](h, groundtruth.OutputBoxes).Boxes
	require.Len(t, boxes, 1)
	assert.Equal(t, car.ID, boxes[0].ID)
}

func TestAnOwnerThatIsNotThereSeesNothing(t *testing.T) {
	b := newTown()
	b.car(10, 0, 0)
	b.Put("bus", scenetest.Box(2, 2, 2), scenetest.Matte("red", 1, 0, 0), scene.Placement{TypeID: "vehicle.bus", Tag: scene.TagBus, Reserved: true})
	for _, d := range definitions {
		h := sensortest.New(t, d, sensortest.Options{Scene: b.Scene, Owner: 2, GL: gputest.Thread(t)})
		h.Fire(100_000_000)
		assert.Empty(t, h.Messages[groundtruth.OutputBoxes], d.ID)
		bus, err := h.Env.History.Spawn("vehicle.bus", scene.Standing(spatial.Identity()))
		require.NoError(t, err)
		require.Equal(t, h.Env.Owner, bus.ID)
		h.Fire(200_000_000)
		assert.Len(t, h.Messages[groundtruth.OutputBoxes], 1, d.ID)
		assert.Empty(t, h.Drops, d.ID)
	}
}

// BenchmarkBoxes makes the boxes of the default city at SVL's size, in a picture and in
// space, from the capture to the published message.
func BenchmarkBoxes(b *testing.B) {
	town, err := city.Generate(city.Options{})
	require.NoError(b, err)
	for _, d := range definitions {
		b.Run(d.ID, func(b *testing.B) {
			h := sensortest.New(b, d, sensortest.Options{Scene: town, Ego: town.Route, Mount: cityMount, GL: gputest.Thread(b)})
			stamp := int64(0)
			h.Fire(simtime.Stamp(stamp))
			for b.Loop() {
				stamp += 100_000_000
				h.Fire(simtime.Stamp(stamp))
				clear(h.Messages)
			}
		})
	}
}

// TestWhoWasSpawnedHasTheSameBoxes as one who was there from the start, with another id. Some are
// partly hidden, one by another and one by a wall.
func TestWhoWasSpawnedHasTheSameBoxes(t *testing.T) {
	b := newTown()
	b.wall(mgl64.Vec3{0.5, 3, 5}, 6, 4, 0)
	for i, c := range []struct {
		typeID string
		tag    scene.Tag
		x, y   float64
	}{{"vehicle.sedan", scene.TagCar, 10, 0}, {"vehicle.bus", scene.TagBus, 14, 2}, {"walker.x", scene.TagPedestrian, 13, 4.6}, {"vehicle.sedan", scene.TagCar, 12, -5}} {
		p := scenetest.At(c.x, c.y, 0, c.tag)
		p.TypeID, p.Name = c.typeID, string(rune('a'+i))
		p.Motion = scenetest.Linear{Start: p.Pose, Velocity: mgl64.Vec3{1, float64(i) - 1, 0}, YawRate: 1}
		b.Put(p.Name, scenetest.Box(2, 2, 2), scenetest.Matte("grey", 0.5, 0.5, 0.5), p)
	}
	want2D, want3D := boxes2D(t, sensortest.Options{Scene: b.Scene}), boxes3D(t, sensortest.Options{Scene: b.Scene})
	require.Len(t, want2D.Boxes, 4)
	require.Len(t, want3D.Boxes, 4)
	spawn := scenetest.Hold(b.Scene, "*[^l]") // not the wall
	require.Len(t, b.Scene.Actors, 1)
	for _, d := range definitions {
		t.Run(d.ID, func(t *testing.T) {
			attributes := map[string]any{}
			if d == groundtruth.Boxes2DDefinition {
				attributes = map[string]any{"image_size_x": 200, "image_size_y": 150, "fov": 90}
			}
			h := sensortest.New(t, d, sensortest.Options{Scene: b.Scene, GL: gputest.Thread(t), Attributes: attributes})
			// In the second round they take the slots of those before.
			for round := range uint32(3) {
				came := spawn(h.Env.History)
				if round == 0 { // all are where they would have been
					h.Fire(100_000_000)
				} else {
					for _, a := range came {
						m, _ := h.Env.History.Motion(a.ID)
						require.NoError(t, h.Env.History.SetMotion(a.ID, shifted{m, simtime.Stamp(round) * 200_000_000}))
					}
					h.Fire(simtime.Stamp(round)*200_000_000 + 100_000_000)
				}
				switch m := h.Messages[groundtruth.OutputBoxes][2*round].(type) {
				case *sample.Detections2D:
					require.Len(t, m.Boxes, 4, "round %d", round)
					for i, want := range want2D.Boxes {
						got := m.Boxes[i]
						assert.Equal(t, 2+4*round+uint32(i), got.ID)
						assert.InDelta(t, want.Occlusion, got.Occlusion, 0.03)
						assert.InDelta(t, want.Truncation, got.Truncation, 0.03)
						got.ID, got.Occlusion, got.Truncation = want.ID, want.Occlusion, want.Truncation
						assert.Equal(t, want, got, "round %d", round)
					}
				case *sample.Detections3D:
					require.Len(t, m.Boxes, 4, "round %d", round)
					for i, want := range want3D.Boxes {
						got := m.Boxes[i]
						assert.Equal(t, 2+4*round+uint32(i), got.ID)
						assert.InDelta(t, want.Occlusion, got.Occlusion, 0.03)
						got.ID, got.Occlusion = want.ID, want.Occlusion
						assert.InDeltaSlice(t, want.Twist.Linear[:], got.Twist.Linear[:], 1e-6)
						assert.InDeltaSlice(t, want.Acceleration[:], got.Acceleration[:], 1e-3)
						assert.InDeltaSlice(t, want.Pose.Position[:], got.Pose.Position[:], 1e-9)
						got.Twist, got.Acceleration, got.Pose = want.Twist, want.Acceleration, want.Pose
						assert.Equal(t, want, got, "round %d", round)
					}
				}
				for _, a := range came {
					require.NoError(t, h.Env.History.Remove(a.ID))
				}
				h.Fire(simtime.Stamp(round+1) * 200_000_000)
				assert.Empty(t, boxesOf(h.Messages[groundtruth.OutputBoxes][2*round+1]), "they have left")
			}
		})
	}
}

// boxesOf returns whose boxes a message has.
func boxesOf(message any) (ids []uint32) {
	switch m := message.(type) {
	case *sample.Detections2D:
		for i := range m.Boxes {
			ids = append(ids, m.Boxes[i].ID)
		}
	case *sample.Detections3D:
		for i := range m.Boxes {
			ids = append(ids, m.Boxes[i].ID)
		}
	}
	return ids
}

// shifted is a motion that begins later.
type shifted struct {
	scene.Motion
	by simtime.Stamp
}

func (s shifted) PoseAt(stamp simtime.Stamp) spatial.Pose { return s.Motion.PoseAt(stamp - s.by) }

// TestBoxesOfPartsOfOnesOwn are those of the analytic box: constant joints make a unit cube as
// large as it says. Its tag and its type are its own too.
func TestBoxesOfPartsOfOnesOwn(t *testing.T) {
	b := newTown()
	b.car(30, 20, 0)
	unit := b.Put("unit", scenetest.Box(1, 1, 1), scenetest.Matte("grey", 0.5, 0.5, 0.5), scene.Placement{TypeID: "any", Tag: scene.TagCar, Reserved: true})
	size, middle := mgl64.Vec3{6, 3, 2}, mgl64.Vec3{1, 0.5, 0.25}
	parts := []scene.Part{unit.Parts[0]}
	parts[0].Tag = scene.TagBus
	parts[0].Joints = func(simtime.Stamp) mgl64.Mat4 {
		return mgl64.Translate3D(middle[0], middle[1], middle[2]).Mul4(mgl64.Scale3D(size[0], size[1], size[2]))
	}
	fire := func(d *sensors.Definition, attributes map[string]any) any {
		h := sensortest.New(t, d, sensortest.Options{Scene: b.Scene, GL: gputest.Thread(t), Attributes: attributes})
		bus, err := h.Env.History.SpawnActor(unit, scene.Actor{TypeID: "vehicle.bus", Parts: parts}, scene.Standing(scenetest.At(12, 0, 0, 0).Pose))
		require.NoError(t, err)
		require.EqualValues(t, 2, bus.ID)
		h.Fire(100_000_000)
		return h.Messages[groundtruth.OutputBoxes][0]
	}
	three := fire(groundtruth.Boxes3DDefinition, nil).(*sample.Detections3D)
	require.Len(t, three.Boxes, 2)
	got := three.Boxes[1]
	assert.Equal(t, [4]any{uint32(2), "vehicle.bus", "SchoolBus", uint8(scene.TagBus)}, [4]any{got.ID, got.TypeID, got.Label, got.Tag})
	assert.InDeltaSlice(t, size[:], got.Size[:], 1e-9)
	assert.InDeltaSlice(t, []float64{13, 0.5, 0.25}, got.Pose.Position[:], 1e-9)
	assert.Zero(t, got.Occlusion)

	two := fire(groundtruth.Boxes2DDefinition, map[string]any{"image_size_x": 200, "image_size_y": 150, "fov": 90}).(*sample.Detections2D)
	require.NotEmpty(t, two.Boxes)
	box := two.Boxes[len(two.Boxes)-1]
	assert.Equal(t, [3]any{uint32(2), "SchoolBus", uint8(scene.TagBus)}, [3]any{box.ID, box.Label, box.Tag})
	// Its front is 10 m away, y from -1 to 2 m (to the left), z from -0.75 to 1.25 m. Pixel u looks
	// at (u - 99.5) / 100: across from 80 to 109, and down from 62 to 81.
	assert.Equal(t, [4]float32{95, 72, 30, 20}, [4]float32{float32(box.CenterX), float32(box.CenterY), float32(box.Width), float32(box.Height)})
	assert.EqualValues(t, 30*20, box.Pixels)
	assert.Zero(t, box.Occlusion)
}

// TestASensorOnTheRoad has SVL's place for ground truth, the vehicle's origin. The road lies as high as
// that, or its lines lie a little higher. It hides nothing, walls and cars do, and from above it hides
// what is under it.
func TestASensorOnTheRoad(t *testing.T) {
	for _, height := range []float64{0, 0.005} { // of the road
		b := newTown()
		p := scenetest.At(0, 0, height, scene.TagRoads)
		b.Put("static.road", scenetest.Plane(200, 20), scenetest.Matte("grey", 0.5, 0.5, 0.5), p)
		free, shadowed, behind := b.car(20, 0, 1), b.car(40, 2.5, 1), b.car(-30, 0, 1)
		b.car(0, 30, 1)
		b.wall(mgl64.Vec3{10, 1, 8}, 0, 20, 4) // before the last one
		under := b.car(10, -20, -3)
		seen := func(z float64) (ids []uint32) {
			o := sensortest.Options{Scene: b.Scene, Mount: spatial.FromRPY(mgl64.Vec3{0, 0, z}, 0, 0, 0)}
			for _, box := range boxes3D(t, o).Boxes {
				ids = append(ids, box.ID)
				assert.Equal(t, box.ID == shadowed, box.Occlusion > 0, "road at %v m, sensor at %v m, actor %d: %v", height, z, box.ID, box.Occlusion)
			}
			return ids
		}
		assert.Equal(t, []uint32{free, shadowed, behind, under}, seen(0))
		assert.Equal(t, []uint32{free, shadowed, behind, under}, seen(0.05))
		assert.Equal(t, []uint32{free, shadowed, behind}, seen(0.2))

		two := boxes2D(t, sensortest.Options{Scene: b.Scene})
		require.NotEmpty(t, two.Boxes)
		assert.Equal(t, free, two.Boxes[0].ID)
		assert.Zero(t, two.Boxes[0].Occlusion)
	}
}

// TestOcclusionOfPartsOfOnesOwn is that of a mesh of their size. A wall hides half of a long box's
// side, and the box's front is free. So it is for a wedge, whose slope stands elsewhere
// once it is drawn out.
func TestOcclusionOfPartsOfOnesOwn(t *testing.T) {
	size := mgl64.Vec3{12, 2, 3}
	wedge := func(x, y, z float64) scene.Mesh { // its top's edge is over its front
		m := scenetest.Box(x, y, z)
		for i, p := range m.Positions {
			if p[0] < 0 && p[2] > 0 {
				m.Positions[i][2] = -p[2]
			}
		}
		return m
	}
	for name, mesh := range map[string]func(x, y, z float64) scene.Mesh{"box": scenetest.Box, "wedge": wedge} {
		for _, yaw := range []float64{80, 60, 20} {
			pose := scenetest.At(20, 0, 0, 0).Pose
			pose.Orientation = mgl64.QuatRotate(mgl64.DegToRad(yaw), mgl64.Vec3{0, 0, 1})
			grey := scenetest.Matte("grey", 0.5, 0.5, 0.5)
			fixed, own := newTown(), newTown()
			fixed.Put("bus", mesh(size[0], size[1], size[2]), grey, scene.Placement{TypeID: "vehicle.bus", Tag: scene.TagBus, Pose: pose})
			unit := own.Put("unit", mesh(1, 1, 1), grey, scene.Placement{TypeID: "any", Tag: scene.TagBus, Reserved: true})
			for _, b := range []town{fixed, own} {
				b.wall(mgl64.Vec3{0.1, 10, 10}, 10, 5, 0) // its edge is straight ahead
			}
			parts := []scene.Part{unit.Parts[0]}
			parts[0].Joints = func(simtime.Stamp) mgl64.Mat4 { return mgl64.Scale3D(size[0], size[1], size[2]) }
			h := sensortest.New(t, groundtruth.Boxes3DDefinition, sensortest.Options{Scene: own.Scene, GL: gputest.Thread(t), Attributes: map[string]any{"hidden": true}})
			_, err := h.Env.History.SpawnActor(unit, scene.Actor{TypeID: "vehicle.bus", Parts: parts}, scene.Standing(pose))
			require.NoError(t, err)
			h.Fire(100_000_000)
			got := sensortest.Last[*sample.Detections3D](h, groundtruth.OutputBoxes)
			want := boxes3D(t, sensortest.Options{Scene: fixed.Scene}, "hidden", true)
			require.Len(t, want.Boxes, 1)
			require.Len(t, got.Boxes, 1)
			assert.InDelta(t, want.Boxes[0].Occlusion, got.Boxes[0].Occlusion, 0.04, "%s, yaw %v", name, yaw)
		}
	}
}
