package safedistance_test

import (
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors/safedistance"
	"github.com/raybridge/raybridge/sensors/sensortest"
)

// street puts cars of 4 x 2 x 1.5 m around the ego, whose box is x -1.1 to 3.8 and
// y -0.95 to 0.95 in base_link.
func street(cars map[string]mgl64.Vec3) (*scene.Scene, map[uint32]string) {
	b := scenetest.NewBuilder("street")
	names := map[uint32]string{}
	for _, name := range []string{"ahead", "behind", "left", "right", "walker"} {
		at, ok := cars[name]
		if !ok {
			continue
		}
		p := scenetest.At(at[0], at[1], at[2], scene.TagCar)
		p.TypeID = "vehicle." + name
		if name == "walker" {
			p.TypeID, p.Tag = "walker.pedestrian.0001", scene.TagPedestrian
		}
		names[b.Put(name, scenetest.Box(4, 2, 1.5), scenetest.Matte(name, 1, 1, 1), p).ID] = name
	}
	if len(cars) == 0 {
		b.Put("floor", scenetest.Plane(10, 1), scenetest.Matte("floor", 1, 1, 1), scenetest.At(0, 0, 0, scene.TagRoads))
	}
	return b.Scene, names
}

func TestWhoIsTooClose(t *testing.T) {
	const near, far = -0.01, 0.01 // beside the trigger's face
	for name, c := range map[string]struct {
		attributes map[string]any
		cars       map[string]mgl64.Vec3
		want       []string
	}{
		"nobody": {nil, nil, nil},
		"just inside each side": {nil, map[string]mgl64.Vec3{
			"ahead":  {3.8 + 1 + 2 + near, 0, 0.75},
			"behind": {-1.1 - 0.5 - 2 - near, 0, 0.75},
			"left":   {1, 0.95 + 0.5 + 1 + near, 0.75},
			"right":  {1, -0.95 - 0.5 - 1 - near, 0.75},
		}, []string{"ahead", "behind", "left", "right"}},
		"just outside each side": {nil, map[string]mgl64.Vec3{
			"ahead":  {3.8 + 1 + 2 + far, 0, 0.75},
			"behind": {-1.1 - 0.5 - 2 - far, 0, 0.75},
			"left":   {1, 0.95 + 0.5 + 1 + far, 0.75},
			"right":  {1, -0.95 - 0.5 - 1 - far, 0.75},
		}, nil},
		"on a bridge above": {nil, map[string]mgl64.Vec3{"ahead": {1, 0, 1.5 + 0.75 + far}}, nil},
		"a walker":          {nil, map[string]mgl64.Vec3{"walker": {3, 0, 0.75}}, nil},
		"wider to the front": {
			map[string]any{"safe_distance_front": 20.0},
			map[string]mgl64.Vec3{"ahead": {3.8 + 20 + 2 + near, 0, 0.75}, "behind": {-4, 0, 0.75}},
			[]string{"ahead"},
		},
		"wider to the back and the sides": {
			map[string]any{"safe_distance_back": 7.0, "safe_distance_lateral": 9.0},
			map[string]mgl64.Vec3{"behind": {-1.1 - 7 - 2 - near, 0, 0.75}, "left": {1, 0.95 + 9 + 1 + near, 0.75}, "right": {1, -0.95 - 9 - 1 - far, 0.75}},
			[]string{"behind", "left"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, names := street(c.cars)
			h := sensortest.New(t, safedistance.Definition, sensortest.Options{Scene: s, Attributes: c.attributes})
			h.Fire(50_000_000)
			var got []string
			for _, m := range h.Messages["event"] {
				for _, id := range m.(*safedistance.Event).Actors {
					got = append(got, names[id])
				}
			}
			assert.Equal(t, c.want, got)
			assert.LessOrEqual(t, len(h.Messages["event"]), 1)
		})
	}
}

// TestDefaults are those of the tutorial, step 1.
func TestDefaults(t *testing.T) {
	s := safedistance.Definition.NewSettings()
	assert.Equal(t, []float64{1, 0.5, 0.5}, []float64{
		s.Float("safe_distance_front"), s.Float("safe_distance_back"), s.Float("safe_distance_lateral"),
	})
}

func TestConformance(t *testing.T) {
	s, _ := street(map[string]mgl64.Vec3{
		"ahead": {6.5, 0, 0.75}, "behind": {-4.5, 0, 0.75}, "left": {1, 3.2, 0.75},
	})
	sensortest.Run(t, safedistance.Definition, sensortest.Suite{
		Options: sensortest.Options{Scene: s},
		Changed: map[string]any{"safe_distance_front": 0.0, "safe_distance_back": 3.0, "safe_distance_lateral": 3.0},
	})
}
