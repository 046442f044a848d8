// Whether a large rig keeps up with real time is measured here.

package bench

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/raybridge/raybridge"
	"github.com/raybridge/raybridge/config"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/sensors/lidar"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// vehicle is the sensors that are to keep up.
type vehicle struct {
	named
	cameras, width, height, rate int // rate in Hz
	lidars                       int
	preset                       lidar.PresetName
}

// newVehicle names a vehicle by its sensors.
func newVehicle(v vehicle) vehicle {
	v.name = fmt.Sprintf("%d_cameras_%dx%d_%dhz_and_%d_%s", v.cameras, v.width, v.height, v.rate, v.lidars, v.preset)
	return v
}

// vehicles lists the cases: one for GPUs, and one for machines without.
func vehicles() []vehicle {
	return []vehicle{
		newVehicle(vehicle{cameras: hdCameras, width: hdWidth, height: hdHeight, rate: hdRate, lidars: 4, preset: "VelodyneVLS128"}),
		newVehicle(vehicle{cameras: 1, width: 320, height: 240, rate: 10, lidars: 1, preset: "VelodyneVLP16"}),
	}
}

// Lengths of a run in real time.
const (
	realTime      = time.Minute
	quickRealTime = 2 * time.Second
)

var realtimeMethod = strings.TrimSpace(`
realtime: a run in real time in the city, whose traffic moves. The cameras take colour, the lidars all fields of rolling scans at 10 Hz. Each
message is handed to a listener in Go, which counts it. delivered_percent is that of the sensor that fared worst, of what was due.
latency_ms is from the beginning of a capture to its listener, of all sensors.`)

// RealTime measures whether vehicles keep up with real time: one with many sensors, which Quick leaves
// out, and one with few. Each makes one run. It appends to the report.
func RealTime(ctx context.Context, config Config, report *Report) error {
	cases := vehicles()
	if config.Quick && len(config.Cases) == 0 {
		cases = cases[1:]
	}
	b := caseBench[vehicle]{"realtime", cases, func(cfg *Config, v vehicle) ([]Result, error) {
		d, err := v.drive(ctx, cfg)
		if err != nil {
			return nil, err
		}
		report.Machine.Device = deviceOf(&d.summary)
		return d.rows(), nil
	}, realtimeMethod}
	return b.run(config, report)
}

// journey is a run in real time.
type journey struct {
	vehicle
	length  time.Duration
	riders  []*rider
	summary pipeline.Summary
}

// rider is one sensor of a journey.
type rider struct {
	rate float64         // Hz
	took []time.Duration // from the capture's beginning to the listener, by message; its listener's until the run has ended
}

// drive makes the run.
func (v *vehicle) drive(ctx context.Context, cfg *Config) (j *journey, err error) {
	j = &journey{vehicle: *v, length: cfg.ClockTime}
	if j.length == 0 {
		j.length = ifQuick(cfg.Quick, quickRealTime, realTime)
	}
	town, err := cfg.load(ctx, sensorTriangles)
	if err != nil {
		return nil, err
	}
	run := config.Default()
	run.Sensors, run.Bridges = nil, nil
	sim, err := raybridge.Open(ctx, raybridge.Config{Scene: town, Run: run, Open: cfg.Open, Realtime: true})
	if err != nil {
		return nil, err
	}
	if err := j.board(sim); err != nil {
		return nil, errors.Join(err, sim.Close(ctx))
	}
	err = sim.Run(ctx, j.length)
	err = errors.Join(err, sim.Close(context.WithoutCancel(ctx)))
	j.summary = sim.Summary()
	return j, err
}

// board adds the sensors and listens to them.
func (j *journey) board(sim *raybridge.Sim) error {
	for i := range j.cameras {
		err := ride[*sample.Image](j, sim, sensors.Config{
			Name: fmt.Sprintf("camera%d", i), Rate: simtime.Hz(int64(j.rate)), Pose: sensors.Pose{X: 1.4, Z: 1.55, Yaw: float64(360 * i / j.cameras)},
			Options: camera.RGB{Width: j.width, Height: j.height, FOV: cameraFov},
		})
		if err != nil {
			return err
		}
	}
	for i := range j.lidars {
		err := ride[*sample.PointCloud](j, sim, sensors.Config{
			Name: fmt.Sprintf("lidar%d", i), Rate: simtime.Hz(10), Pose: sensors.Pose{X: 0.9, Y: 0.3 * float64(i), Z: 1.9},
			Options: lidar.RayCast{Preset: j.preset},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// ride adds a sensor whose messages are counted.
func ride[M any](j *journey, sim *raybridge.Sim, c sensors.Config) error {
	s, err := sim.AddSensor(c)
	if err != nil {
		return err
	}
	for _, o := range s.Outputs() {
		if o.Type != reflect.TypeFor[M]() {
			continue
		}
		r := &rider{rate: c.Rate.Float64()}
		j.riders = append(j.riders, r)
		_, err = pipeline.Listen(s, o.Name, func(at sensors.Tick, _ M) { r.took = append(r.took, time.Since(at.Started)) })
	}
	return err
}

// rows are the figures of the run, which has ended.
func (j *journey) rows() []Result {
	worst := 100.0
	var took []time.Duration
	for _, r := range j.riders {
		worst = min(worst, 100*float64(len(r.took))/(r.rate*j.length.Seconds()))
		took = append(took, r.took...)
	}
	note := j.length.String()
	row := func(name, unit string, value float64) Result {
		return Result{"realtime." + name, j.name, unit, []float64{value}, note}
	}
	list := []Result{
		row("factor", "times real time", j.summary.RealTimeFactor), row("delivered_percent", "%", worst), row("lost", "messages", lost(&j.summary)),
	}
	if len(took) == 0 {
		return list
	}
	return slices.Concat(list, []Result{row("latency_ms.p50", "ms", percentile(took, 0.5)), row("latency_ms.p99", "ms", percentile(took, 0.99))})
}
