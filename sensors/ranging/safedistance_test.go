package ranging_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	bridgesall "github.com/raybridge/raybridge/bridges/all"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/ranging"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/sensors/sensortest"
)

// street puts cars of 4 x 2 x 1.5 m around the ego. The ego's box is x -1.1 to 3.8 and y -0.95
// to 0.95 in base_link.
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

func TestSafeDistanceWhoIsTooClose(t *testing.T) {
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
			h := sensortest.New(t, ranging.SafeDistanceDefinition, sensortest.Options{Scene: s, Attributes: c.attributes})
			h.Fire(50_000_000)
			var got []string
			for _, m := range h.Messages["event"] {
				for _, id := range m.(*ranging.SafeDistanceEvent).Actors {
					got = append(got, names[id])
				}
			}
			assert.Equal(t, c.want, got)
			assert.LessOrEqual(t, len(h.Messages["event"]), 1)

			// Spawned ones count as those who are there from the start, while they are there.
			if len(c.cars) == 0 {
				return
			}
			spawn := scenetest.Hold(s, "*")
			h = sensortest.New(t, ranging.SafeDistanceDefinition, sensortest.Options{Scene: s, Attributes: c.attributes})
			h.Fire(50_000_000)
			assert.Empty(t, h.Messages["event"])
			came := spawn(h.Env.History)
			h.Fire(100_000_000)
			got = nil
			for _, m := range h.Messages["event"] {
				for _, id := range m.(*ranging.SafeDistanceEvent).Actors {
					got = append(got, came[id-1].Name)
				}
			}
			assert.Equal(t, c.want, got)
			for _, a := range came {
				require.NoError(t, h.Env.History.Remove(a.ID))
			}
			h.Fire(150_000_000)
			assert.LessOrEqual(t, len(h.Messages["event"]), 1)
		})
	}
}

// TestSafeDistanceDefaults are those of the tutorial, step 1.
func TestSafeDistanceDefaults(t *testing.T) {
	o := sensors.DefaultsOf[ranging.SafeDistance]()
	assert.Equal(t, []float64{1, 0.5, 0.5}, []float64{
		*o.Front, *o.Back, *o.Lateral,
	})
}

func TestSafeDistanceConformance(t *testing.T) {
	s, _ := street(map[string]mgl64.Vec3{
		"ahead": {6.5, 0, 0.75}, "behind": {-4.5, 0, 0.75}, "left": {1, 3.2, 0.75},
	})
	sensortest.Run(t, ranging.SafeDistanceDefinition, sensortest.Suite{
		Options: sensortest.Options{Scene: s},
		Changed: map[string]any{"safe_distance_front": 0.0, "safe_distance_back": 3.0, "safe_distance_lateral": 3.0},
	})
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// The logging bridge learns to write events: a pipeline that is given this registry as
// its Config.Bridges logs them.
func ExampleSafeDistanceEvent() {
	registry := bridgesall.Registry()
	plugin, err := registry.Plugin("logging")
	must(err)
	must(bridges.Codec[*ranging.SafeDistanceEvent]{
		Schema: bridges.Schema{Name: "SafeDistanceData"},
		Append: func(dst []byte, m *ranging.SafeDistanceEvent) ([]byte, error) {
			line, err := json.Marshal(map[string]any{"StampNs": m.Stamp, "Actors": m.Actors})
			return append(dst, line...), err
		},
	}.Register(plugin))

	// What a pipeline does with it.
	out, err := os.MkdirTemp("", "safedistance")
	must(err)
	defer func() { must(os.RemoveAll(out)) }()
	ctx := context.Background()
	bridge, err := registry.Open("logging:events", bridges.Env{OutDir: out})
	must(err)
	publish, err := bridges.AddPublisher[*ranging.SafeDistanceEvent](bridge, bridges.Topic{Name: "/safety"})
	must(err)
	must(bridge.Connect(ctx))
	must(publish(ctx, &ranging.SafeDistanceEvent{Header: sample.Header{Stamp: 50_000_000}, Actors: []uint32{7, 12}}))
	must(bridge.Close(ctx))

	file, err := os.Open(filepath.Join(out, "events.txt.gz"))
	must(err)
	defer file.Close()
	text, err := gzip.NewReader(file)
	must(err)
	lines, err := io.ReadAll(text)
	must(err)
	fmt.Print(string(lines))
	// Output:
	// SafeDistanceData /safety
	// {"Actors":[7,12],"StampNs":50000000}
}
