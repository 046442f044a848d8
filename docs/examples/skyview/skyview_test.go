//go:build cgo

package skyview_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/docs/examples/skyview"
	"github.com/raybridge/raybridge/gpu/eglctx"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sensortest"
	"github.com/raybridge/raybridge/spatial"
)

func TestMain(m *testing.M) { gputest.Main(m) }

// wall stands along x at y = 5 and hides nearly half of the sky from its foot.
func wall() *scene.Scene {
	b := scenetest.NewBuilder("wall")
	b.Put("wall", scenetest.Box(400, 1, 200), scenetest.Matte("wall", 1, 1, 1), scenetest.At(0, 5.5, 0, scene.TagWall))
	b.Scene.Ego = spatial.Identity()
	return b.Scene
}

// A program with a sensor that raybridge doesn't know.
func Example() {
	ctx := context.Background()
	p, err := pipeline.New(ctx, pipeline.Config{
		Scene: wall(), Open: eglctx.Open(eglctx.Options{}), Sensors: sensors.Must(sensors.NewRegistry(skyview.Definition)),
	})
	must(err)
	s, err := p.AddSensor(sensors.Config{ID: "sensor.example.sky_view", Name: "roof", Pose: sensors.Pose{Z: 1.5}})
	must(err)
	_, err = pipeline.Listen(s, "sky_view", func(_ sensors.Tick, m *skyview.SkyView) {
		fmt.Printf("%v: %.2f of the sky\n", time.Duration(m.Stamp), m.Share)
	})
	must(err)
	must(p.Run(ctx, 200*time.Millisecond))
	must(p.Close(ctx))
	// Output:
	// 100ms: 0.52 of the sky
	// 200ms: 0.52 of the sky
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func TestConformance(t *testing.T) {
	sensortest.Run(t, skyview.Definition, sensortest.Suite{
		Options: sensortest.Options{Scene: wall(), GL: gputest.Thread(t)},
		Changed: map[string]any{"rays": 300},
	})
}

// TestShortEnough keeps what docs/adding-a-sensor.md says of its length.
func TestShortEnough(t *testing.T) {
	text, err := os.ReadFile("skyview.go")
	require.NoError(t, err)
	assert.LessOrEqual(t, bytes.Count(text, []byte("\n")), 80)
}
