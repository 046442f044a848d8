package pipeline_test

import (
	"context"
	"fmt"
	"time"

	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/all"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// calendar is a source whose time begins at a date. The run moves it by Step; in a
// realtime run, which follows it, Now alone would do.
type calendar struct{ ns int64 }

func (c *calendar) Now() simtime.Stamp     { return simtime.Stamp(c.ns) }
func (c *calendar) SetScale(simtime.Scale) {}
func (c *calendar) Step(d int64)           { c.ns += d }

// A run whose time is a source of the program's own.
func Example_timeSource() {
	noon := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	ctx := context.Background()
	p, err := pipeline.New(ctx, pipeline.Config{
		Scene: scenetest.MovingWall(20, 1), Sensors: all.Registry(),
		Open:       gputest.NewFake().Open, // an IMU needs no GPU
		TimeSource: "calendar",
		TimeSources: map[string]func() simtime.Source{
			"calendar": func() simtime.Source { return &calendar{noon.UnixNano()} },
		},
	})
	must(err)
	imu, err := p.AddSensor(sensors.Config{ID: "sensor.other.imu", Name: "imu", Rate: simtime.Hz(20)})
	must(err)
	_, err = pipeline.Listen(imu, "imu", func(_ sensors.Tick, m *sample.Imu) {
		fmt.Println(time.Unix(0, int64(m.Stamp)).UTC().Format(time.DateTime + ".000"))
	})
	must(err)
	must(p.Run(ctx, 150*time.Millisecond))
	must(p.Close(ctx))
	// Output:
	// 2026-03-01 12:00:00.050
	// 2026-03-01 12:00:00.100
	// 2026-03-01 12:00:00.150
}
