//go:build cgo

package pipeline_test

import (
	"context"
	"fmt"
	"time"

	"github.com/raybridge/raybridge/gpu/eglctx"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/all"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// A program of your own: a scene, a camera and a lidar, and typed messages.
func Example() {
	ctx := context.Background()
	p, err := pipeline.New(ctx, pipeline.Config{
		Scene: scenetest.MovingWall(20, 1), Open: eglctx.Open(eglctx.Options{}), Sensors: all.Registry(),
	})
	must(err)
	camera, err := p.AddSensor(sensors.Config{
		ID: "sensor.camera.rgb", Name: "front", Rate: simtime.Hz(5), Pose: sensors.Pose{Z: 1.5},
		Attributes: map[string]any{"image_size_x": 320, "image_size_y": 240},
	})
	must(err)
	lidar, err := p.AddSensor(sensors.Config{
		ID: "sensor.lidar.ray_cast", Name: "roof", Rate: simtime.Hz(5), Pose: sensors.Pose{Z: 2},
		Attributes: map[string]any{"preset": "VelodyneVLP16"},
	})
	must(err)
	_, err = pipeline.Listen(camera, "image", func(_ sensors.Tick, m *sample.Image) {
		fmt.Printf("%s: %dx%d at %v\n", m.FrameID, m.Width, m.Height, time.Duration(m.Stamp))
	})
	must(err)
	_, err = pipeline.Listen(lidar, "points", func(_ sensors.Tick, m *sample.PointCloud) {
		fmt.Printf("%s: scan from %v, hits: %v\n", m.FrameID, time.Duration(m.Stamp), len(m.Points) > 1000)
	})
	must(err)
	must(p.Run(ctx, 400*time.Millisecond))
	must(p.Close(ctx))
	// Output:
	// front_optical: 320x240 at 200ms
	// roof: scan from 0s, hits: true
	// front_optical: 320x240 at 400ms
	// roof: scan from 200ms, hits: true
}
