//go:build cgo

package groundtruth_test

import (
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
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/sensors/groundtruth"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/sensors/sensortest"
	"github.com/raybridge/raybridge/spatial"
)

const (
	cityWidth, cityHeight = 480, 270
	cityNs                = 2_000_000_000
)

var cityMount = spatial.FromRPY(mgl64.Vec3{1.2, 0, 1.6}, 0, 0, 12)

// bounds are the pixels that show an actor in an instance picture.
type bounds struct{ left, top, right, bottom, pixels int }

func boundsIn(m *sample.Image) map[uint32]*bounds {
	found := map[uint32]*bounds{}
	for v := range m.Height {
		for u := range m.Width {
			p := m.Data[v*m.Step+2*u:]
			id := uint32(p[0]) | uint32(p[1])<<8
			b := found[id]
			if b == nil {
				b = &bounds{u, v, u, v, 0}
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
	h := sensortest.New(t, groundtruth.Boxes2D, o)
	h.Fire(cityNs)
	m := sensortest.Last[*sample.Detections2D](h, groundtruth.OutputBoxes)
	o.Attributes = map[string]any{"image_size_x": cityWidth, "image_size_y": cityHeight, "fov": 90, "near_clip": 0.1}
	pictures := sensortest.New(t, camera.Instance, o)
	pictures.Fire(cityNs)
	want := boundsIn(sensortest.Last[*sample.Image](pictures, camera.OutputImage))

	require.Greater(t, len(m.Boxes), 5)
	reference := &reference{scene: town, history: h.Env.History, tracer: scenetest.NewTracer(town, h.Env.History.Pose)}
	last, compared, total := uint32(0), 0, 0.0
	for _, box := range m.Boxes {
		assert.Greater(t, box.ID, last, "by rising id")
		last = box.ID
		b := want[box.ID]
		require.NotNil(t, b, "actor %d", box.ID)
		assert.Equal(t, bounds{
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

// TestReservedActorsHaveNoBox spawns one between two firings.
func TestReservedActorsHaveNoBox(t *testing.T) {
	b := newTown()
	b.Put("floor", scenetest.Plane(60, 4), scenetest.Matte("grey", 0.5, 0.5, 0.5), scenetest.At(0, 0, -2, scene.TagRoads))
	b.Put("car", scenetest.Box(2, 2, 2), scenetest.Matte("red", 1, 0, 0), scene.Placement{TypeID: "vehicle.sedan", Tag: scene.TagCar, Reserved: true})
	h := sensortest.New(t, groundtruth.Boxes3D, sensortest.Options{Scene: b.Scene, GL: gputest.Thread(t)})
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
	for _, d := range groundtruth.Definitions() {
		h := sensortest.New(t, d, sensortest.Options{Scene: b.Scene, Owner: b.Scene.Actors[1].ID, GL: gputest.Thread(t)})
		h.Fire(100_000_000)
		assert.Empty(t, h.Messages[groundtruth.OutputBoxes], d.ID)
		_, err := h.Env.History.Spawn("vehicle.bus", scene.Standing(spatial.Identity()))
		require.NoError(t, err)
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
	for _, d := range groundtruth.Definitions() {
		b.Run(d.ID, func(b *testing.B) {
			h := sensortest.New(b, d, sensortest.Options{Scene: town, Ego: town.Route, Mount: cityMount, GL: gputest.Thread(b)})
			tNs := int64(0)
			h.Fire(tNs)
			for b.Loop() {
				tNs += 100_000_000
				h.Fire(tNs)
				clear(h.Messages)
			}
		})
	}
}
