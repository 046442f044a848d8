package ranging_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/ranging"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/sensors/sensortest"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

type thing struct {
	typeID  string
	tag     scene.Tag
	x, y, z float64 // the middle of a cube of 1 m
}

func cubes(things ...thing) *scene.Scene {
	b := scenetest.NewBuilder("things")
	for _, k := range append(things, thing{"static.far", scene.TagStatic, 500, 0, 0}) {
		p := scenetest.At(k.x, k.y, k.z, k.tag)
		p.TypeID = k.typeID
		b.Put(k.typeID, scenetest.Box(1, 1, 1), scenetest.Matte(k.typeID, 1, 1, 1), p)
	}
	return b.Scene
}

func look(t *testing.T, s *scene.Scene, attributes map[string]any) *sample.Obstacle {
	t.Helper()
	return lookFrom(t, s, 0, attributes)
}

// lookFrom fires a sensor at a height of the ego once.
func lookFrom(t *testing.T, s *scene.Scene, height float64, attributes map[string]any) *sample.Obstacle {
	t.Helper()
	h := sensortest.New(t, ranging.ObstacleDefinition, sensortest.Options{Scene: s, Attributes: attributes, Mount: spatial.FromRPY(mgl64.Vec3{0, 0, height}, 0, 0, 0)})
	h.Fire(100_000_000)
	if len(h.Messages["obstacle"]) == 0 {
		return nil
	}
	return sensortest.Last[*sample.Obstacle](h, "obstacle")
}

func TestObstacleWhatIsInTheWay(t *testing.T) {
	post := thing{"static.post", scene.TagPole, 3.5, 0, 0}
	car := thing{"vehicle.car", scene.TagCar, 4.5, 0.9, 0}
	for name, c := range map[string]struct {
		attributes map[string]any
		things     []thing
		want       string
		distance   float64
	}{
		// The ball's front is half a metre ahead of its middle.
		"a face ahead":            {nil, []thing{post}, "static.post", 3 - 0.5},
		"the nearer of two":       {nil, []thing{car, post}, "static.post", 2.5},
		"beside the way":          {nil, []thing{{"static.post", scene.TagPole, 3.5, 1.1, 0}}, "", 0},
		"beyond the distance":     {nil, []thing{{"static.post", scene.TagPole, 6.1, 0, 0}}, "", 0},
		"just within":             {nil, []thing{{"static.post", scene.TagPole, 5.9, 0, 0}}, "static.post", 4.9},
		"at its side":             {nil, []thing{{"static.post", scene.TagPole, 3.5, 0.75, 0}}, "static.post", 3 - math.Sqrt(0.25-0.25*0.25)},
		"vehicles alone":          {map[string]any{"only_dynamics": true}, []thing{car, {"static.post", scene.TagPole, 2, -0.99, 0}}, "vehicle.car", 4 - 0.3},
		"a vehicle behind a wall": {map[string]any{"only_dynamics": true}, []thing{car, {"static.wall", scene.TagWall, 2.2, 0.4, 0}}, "vehicle.car", 4 - 0.3},
		"a wall alone":            {map[string]any{"only_dynamics": true}, []thing{post}, "", 0},
		"further":                 {map[string]any{"distance": 20.0}, []thing{{"static.post", scene.TagPole, 15, 0, 0}}, "static.post", 14},
		"a ray alone":             {map[string]any{"hit_radius": 0.0}, []thing{post}, "static.post", 3},
		"touching already":        {nil, []thing{{"static.post", scene.TagPole, 0.8, 0, 0}}, "static.post", 0},
		"nothing":                 {nil, nil, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			m := look(t, cubes(c.things...), c.attributes)
			if c.want == "" {
				assert.Nil(t, m)
				return
			}
			require.NotNil(t, m)
			assert.Equal(t, c.want, m.OtherType)
			assert.Equal(t, scene.EgoTypeID, m.ActorType)
			assert.InDelta(t, c.distance, m.Distance, 1e-6)
		})
	}
}

// Persons and posts stand at random places within the ball's way, on a road that the ball reaches
// down to. It sees each, and no later than it touches the thing's upright middle line. A thing
// beside the way isn't seen.
func TestObstacleNeverUnseen(t *testing.T) {
	const distance, height = 12.0, 1.0
	random := rand.New(rand.NewPCG(1, 2))
	for name, size := range map[string]mgl64.Vec3{"walker.person": {0.3, 0.5, 1.8}, "static.post": {0.1, 0.1, 1.2}, "static.wire": {0.004, 0.004, 3}} {
		t.Run(name, func(t *testing.T) {
			for _, radius := range []float64{0.5, 2, 5, 10} {
				unseen := 0
				for range 25 {
					at := mgl64.Vec3{distance * random.Float64(), radius * (2.4*random.Float64() - 1.2), size[2] / 2}
					b := scenetest.NewBuilder("way")
					b.Put("road", scenetest.Box(200, 200, 2), scenetest.Matte("road", 1, 1, 1), scenetest.At(0, 0, -1, scene.TagRoads))
					place := scenetest.At(at[0], at[1], at[2], scene.TagPole)
					place.TypeID = name
					place.Pose.Orientation = mgl64.QuatRotate(math.Pi*random.Float64(), mgl64.Vec3{0, 0, 1})
					b.Put(name, scenetest.Box(size[0], size[1], size[2]), scenetest.Matte("thing", 1, 1, 1), place)
					m := lookFrom(t, b.Scene, height, map[string]any{"distance": distance, "hit_radius": radius})
					// The middle line's nearest point, and how near the thing's outermost one may be.
					z := min(max(height, 0), size[2])
					beside := math.Hypot(at[1], z-height)
					switch outer := math.Hypot(size[0], size[1]) / 2; {
					case math.Abs(at[1]) > radius+outer:
						assert.Nil(t, m, "beside the way of %v m at %v", radius, at)
					case beside > radius:
					case m == nil:
						unseen++
					default:
						require.Equal(t, name, m.OtherType)
						touched := max(at[0]-math.Sqrt(radius*radius-beside*beside), 0)
						assert.LessOrEqual(t, float64(m.Distance), touched+1e-3, "radius %v, at %v", radius, at)
						assert.GreaterOrEqual(t, float64(m.Distance), at[0]-outer-radius-1e-3)
					}
				}
				assert.Zero(t, unseen, "of 25 with a radius of %v m", radius)
			}
		})
	}
}

// TestObstacleIsWhoWasSpawned, by its own type, and then who took its slot.
func TestObstacleIsWhoWasSpawned(t *testing.T) {
	s := cubes(thing{"vehicle.car", scene.TagCar, 3.5, 0, 0})
	want := look(t, s, nil)
	require.NotNil(t, want)
	scenetest.Hold(s, "vehicle.*")
	h := sensortest.New(t, ranging.ObstacleDefinition, sensortest.Options{Scene: s})
	for k, typeID := range []string{"vehicle.red", "vehicle.blue"} {
		a, err := h.Env.History.SpawnActor(s.Models[0], scene.Actor{TypeID: typeID}, scene.Standing(scenetest.At(3.5, 0, 0, 0).Pose))
		require.NoError(t, err)
		h.Fire(simtime.Stamp(200_000_000*k + 100_000_000))
		got := sensortest.Last[*sample.Obstacle](h, "obstacle")
		assert.Equal(t, [2]any{a.ID, typeID}, [2]any{got.Other, got.OtherType})
		assert.Equal(t, want.Distance, got.Distance)
		require.Len(t, h.Messages["obstacle"], k+1)
		require.NoError(t, h.Env.History.Remove(a.ID))
		h.Fire(simtime.Stamp(200_000_000*k + 200_000_000))
		require.Len(t, h.Messages["obstacle"], k+1, "it is gone")
		for range 1 << 16 { // his label is no longer his id
			a, err := h.Env.History.Spawn("*", nil)
			require.NoError(t, err)
			require.NoError(t, h.Env.History.Remove(a.ID))
		}
	}
}

// TestObstacleDefaults are CARLA's.
func TestObstacleDefaults(t *testing.T) {
	o := sensors.DefaultsOf[ranging.Obstacle]()
	assert.Equal(t, []float64{5, 0.5}, []float64{o.Distance, *o.HitRadius})
	assert.Equal(t, []bool{false, false}, []bool{o.OnlyDynamics, o.DebugLinetrace})
}
