package groundtruth_test

import (
	"slices"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/city"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/groundtruth"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/sensors/sensortest"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// egoMass is the mass of the default ego: 107 kg/m³ of its box.
const egoMass = 107 * 4.9 * 1.9 * 1.5

// obstacles has a road, a wall that stands 10 m ahead of the rear axle, and the crown of a
// tree above the way.
func obstacles() *scenetest.Builder {
	b := scenetest.NewBuilder("collisions")
	b.Put("road", scenetest.Plane(200, 2), scenetest.Matte("road", 1, 1, 1), scenetest.At(0, 0, 0.2, scene.TagRoads))
	wall := scenetest.At(10.5, 0, 1, scene.TagWall)
	wall.TypeID = "static.wall"
	b.Put("wall", scenetest.Box(1, 20, 2), scenetest.Matte("wall", 1, 1, 1), wall)
	crown := scenetest.At(4, 0, 5, scene.TagVegetation)
	b.Put("crown", scenetest.Sphere(3, 16), scenetest.Matte("crown", 0, 1, 0), crown)
	return b
}

func fire(t *testing.T, s *scene.Scene, ego scene.Motion, ticks int64) []*sample.Collision {
	t.Helper()
	h := sensortest.New(t, groundtruth.CollisionDefinition, sensortest.Options{Scene: s, Ego: ego})
	for k := range ticks {
		h.Fire(simtime.Stamp(k * 10_000_000))
	}
	var list []*sample.Collision
	for _, m := range h.Messages["collision"] {
		list = append(list, m.(*sample.Collision))
	}
	return list
}

// TestCollisionDrivingIntoAWall: the front is 3.8 m ahead of the rear axle. So at 10 m/s it
// reaches the wall's face at x = 10 after 0.62 s; the tree above isn't touched.
func TestCollisionDrivingIntoAWall(t *testing.T) {
	events := fire(t, obstacles().Scene, scenetest.Linear{Start: spatial.Identity(), Velocity: mgl64.Vec3{10, 0, 0}}, 66)
	require.NotEmpty(t, events)
	first := events[0]
	assert.InDelta(t, 0.62, float64(first.Stamp)*1e-9, 0.0101)
	assert.Equal(t, "static.wall", first.OtherType)
	assert.Equal(t, scene.EgoTypeID, first.ActorType)
	assert.InDelta(t, -10*egoMass, first.NormalImpulse[0], 1e-6*egoMass)
	assert.InDelta(t, 0, first.NormalImpulse[1], 1e-9)
	for i := 1; i < len(events); i++ {
		assert.Greater(t, events[i].Stamp, events[i-1].Stamp, "one event a frame")
	}
}

// TestCollisionWithWhatMovesInItself: a joint brings a wall from 6 m to the standing ego's front,
// 3.8 m ahead, at 4 m/s.
func TestCollisionWithWhatMovesInItself(t *testing.T) {
	wall := scenetest.Box(1, 20, 2)
	for range wall.Positions {
		wall.Joints, wall.Weights = append(wall.Joints, 0), append(wall.Weights, 1)
	}
	wall.Groups = []scene.Group{{Count: len(wall.Indices)}}
	asset := &scene.Asset{
		Name: "gate", Materials: []scene.Material{scenetest.Matte("gate", 1, 1, 1)}, Meshes: []scene.Mesh{wall},
		Nodes: []scene.Node{
			{Name: "gate", Parent: -1, Local: scene.IdentityTRS(), Skin: &scene.Skin{Joints: []int{1}, Bind: []mgl64.Mat4{mgl64.Ident4()}}},
			{Name: "joint", Parent: -1, Mesh: -1, Local: scene.IdentityTRS()},
		},
		Animations: []scene.Animation{{DurationNs: 1e9, Channels: []scene.Channel{
			{Node: 1, Path: scene.PathTranslation, TimesNs: []int64{0, 1e9}, Values: []float64{0, 0, 0, -4, 0, 0}},
		}}},
	}
	b := scenetest.NewBuilder("gate")
	at := scenetest.At(6.5, 0, 1, scene.TagWall)
	at.TypeID, at.Whole = "static.gate", true
	_, err := b.Scene.Add(asset, at)
	require.NoError(t, err)
	events := fire(t, b.Scene, nil, 60)
	require.NotEmpty(t, events)
	assert.InDelta(t, 0.55, float64(events[0].Stamp)*1e-9, 0.0101)
	assert.Equal(t, "static.gate", events[0].OtherType)
}

// TestCollisionBeingHitFromTheSide: a car of 1 m³ comes from the left at 4 m/s. Two bodies
// that stay together share the momentum of the one.
func TestCollisionBeingHitFromTheSide(t *testing.T) {
	b := obstacles()
	start := spatial.Identity()
	start.Position = mgl64.Vec3{1.35, 2, 0.75}
	b.Put("car", scenetest.Box(1, 1, 1), scenetest.Matte("car", 1, 0, 0), scene.Placement{
		TypeID: "vehicle.cart", Tag: scene.TagCar,
		Motion: scenetest.Linear{Start: start, Velocity: mgl64.Vec3{0, -4, 0}},
	})
	events := fire(t, b.Scene, nil, 20)
	require.NotEmpty(t, events)
	assert.Equal(t, "vehicle.cart", events[0].OtherType)
	assert.InDelta(t, 0.1375, float64(events[0].Stamp)*1e-9, 0.0101, "0.55 m at 4 m/s")
	want := 4 / (1/egoMass + 1/107.0)
	assert.InDelta(t, -want, events[0].NormalImpulse[1], 1e-6*want)
}

// TestCollisionTheEgoIsTouchedToo: by a sensor on another car, into whose tail the ego drives at
// 5 m/s; the ego has no triangles. Both feel the same.
func TestCollisionTheEgoIsTouchedToo(t *testing.T) {
	b := obstacles()
	start := spatial.Identity()
	start.Position = mgl64.Vec3{6.3, 0, 0.75}
	place := scene.Placement{TypeID: "vehicle.cart", Tag: scene.TagCar, Motion: scenetest.Linear{Start: start}}
	cart := b.Put("cart", scenetest.Box(2, 1, 1), scenetest.Matte("cart", 1, 0, 0), place)
	ego := scenetest.Linear{Start: spatial.Identity(), Velocity: mgl64.Vec3{5, 0, 0}}
	h := sensortest.New(t, groundtruth.CollisionDefinition, sensortest.Options{Scene: b.Scene, Ego: ego, Owner: cart.ID})
	for k := range int64(40) {
		h.Fire(simtime.Stamp(k * 10_000_000))
	}
	require.NotEmpty(t, h.Messages["collision"])
	first := h.Messages["collision"][0].(*sample.Collision)
	assert.InDelta(t, 0.3, float64(first.Stamp)*1e-9, 0.0101, "1.5 m at 5 m/s")
	assert.Equal(t, []uint32{cart.ID, scene.EgoID}, []uint32{first.Actor, first.Other})
	assert.Equal(t, []string{"vehicle.cart", scene.EgoTypeID}, []string{first.ActorType, first.OtherType})
	felt := fire(t, b.Scene, ego, 40)[0]
	assert.Equal(t, cart.ID, felt.Other)
	assert.InDelta(t, 5/(1/egoMass+1/(2*107.0)), first.NormalImpulse[0], 1e-6*egoMass)
	negative := felt.NormalImpulse.Mul(-1)
	assert.InDeltaSlice(t, first.NormalImpulse[:], negative[:], 1e-6*egoMass)
}

// TestCollisionAModelIsNotTouched, only who has its shape.
func TestCollisionAModelIsNotTouched(t *testing.T) {
	b := obstacles()
	start := spatial.Identity()
	start.Position = mgl64.Vec3{2, 0, 0.75}
	b.Put("held", scenetest.Box(1, 1, 1), scenetest.Matte("held", 1, 0, 0), scene.Placement{
		TypeID: "vehicle.cart", Tag: scene.TagCar, Pose: start, Reserved: true,
	})
	h := sensortest.New(t, groundtruth.CollisionDefinition, sensortest.Options{Scene: b.Scene})
	h.Fire(10_000_000)
	assert.Empty(t, h.Messages["collision"])
	held, err := h.Env.History.Spawn("vehicle.cart", nil)
	require.NoError(t, err)
	h.Fire(20_000_000)
	assert.Len(t, h.Messages["collision"], 1)
	require.NoError(t, h.Env.History.Remove(held.ID))
	h.Fire(30_000_000)
	assert.Len(t, h.Messages["collision"], 1)
}

// TestCollisionWithWhoWasSpawned is one with a box of its own size, again and again: each has an
// id of its own.
func TestCollisionWithWhoWasSpawned(t *testing.T) {
	b := obstacles()
	unit := b.Put("unit", scenetest.Box(1, 1, 1), scenetest.Matte("unit", 1, 0, 0), scene.Placement{
		TypeID: "any", Tag: scene.TagCar, Reserved: true,
	})
	b.Scene.Reserve(unit, 1)
	sized := func(x float64) []scene.Part {
		parts := slices.Clone(unit.Parts)
		parts[0].Joints = func(simtime.Stamp) mgl64.Mat4 { return mgl64.Translate3D(0, 0, 0.5).Mul4(mgl64.Scale3D(x, 1, 1)) }
		return parts
	}
	standing := func(x float64) scene.Motion { return scene.Standing(scenetest.At(x, 0, 0, 0).Pose) }
	// The ego's front is 3.8 m ahead.
	for name, c := range map[string]struct {
		at, length float64
		touches    bool
	}{
		"short": {4.6, 1.5, false},
		"long":  {4.6, 1.7, true},
	} {
		t.Run(name, func(t *testing.T) {
			h := sensortest.New(t, groundtruth.CollisionDefinition, sensortest.Options{Scene: b.Scene})
			last := uint32(0)
			for k := range 300 {
				car, err := h.Env.History.SpawnActor(unit, scene.Actor{TypeID: "vehicle.own", Parts: sized(c.length)}, standing(c.at))
				require.NoError(t, err)
				h.Fire(simtime.Stamp(20_000_000*k + 10_000_000))
				require.Equal(t, c.touches, len(h.Messages["collision"]) == k+1, "car %d", k)
				if c.touches {
					m := sensortest.Last[*sample.Collision](h, "collision")
					require.Equal(t, [2]any{car.ID, "vehicle.own"}, [2]any{m.Other, m.OtherType})
					require.Greater(t, m.Other, last)
					last = m.Other
				}
				require.NoError(t, h.Env.History.Remove(car.ID))
				h.Fire(simtime.Stamp(20_000_000*k + 20_000_000))
			}
		})
	}
}

func TestCollisionSeveralAtOnceAndLeaving(t *testing.T) {
	b := obstacles()
	for i, name := range []string{"post", "bollard"} {
		post := scenetest.At(3.7, float64(i)*1.2-0.6, 0.5, scene.TagPole)
		post.TypeID = "static." + name
		b.Put(name, scenetest.Box(0.1, 0.1, 1), scenetest.Matte(name, 1, 1, 1), post)
	}
	events := fire(t, b.Scene, scenetest.Linear{Start: spatial.Identity(), Velocity: mgl64.Vec3{-2, 0, 0}}, 20)
	byFrame := map[uint64][]string{}
	for _, e := range events {
		byFrame[e.Frame] = append(byFrame[e.Frame], e.OtherType)
		assert.Zero(t, e.NormalImpulse, "they part")
	}
	assert.Equal(t, []string{"static.post", "static.bollard"}, byFrame[0])
	assert.Empty(t, byFrame[19], "after 0.38 m they are 0.28 m ahead of the front")
}

// BenchmarkCollision is one look around the ego in the default city: the sensor does it at
// every instant.
func BenchmarkCollision(b *testing.B) {
	town, err := city.Generate(city.Options{})
	require.NoError(b, err)
	h := sensortest.New(b, groundtruth.CollisionDefinition, sensortest.Options{Scene: town, Ego: town.Route})
	b.ReportAllocs()
	h.Fire(10_000_000)
	for seq := uint64(1); b.Loop(); seq++ {
		require.NoError(b, h.Sensor.Tick(sensors.Tick{Due: 10_000_000, Seq: seq, Frame: seq}))
	}
}
