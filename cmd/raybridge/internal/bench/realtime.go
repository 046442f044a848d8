// Runs of a large rig in real time are measured here: they tell whether the machine keeps up.

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
		r, err := v.run(ctx, cfg)
		if err != nil {
			return nil, err
		}
		report.Machine.Device = deviceOf(&r.summary)
		return r.rows(), nil
	}, realtimeMethod}
	return b.run(config, report)
}

// realtimeRun is a run in real time.
type realtimeRun struct {
	vehicle
	length  time.Duration
	sensors []*received
	summary pipeline.Summary
}

// received is the messages of one sensor.
type received struct {
	rate float64 // Hz
	// latencies are from a capture's beginning to the listener, by message. They belong to the listener until
	// the run has ended.
	latencies []time.Duration
}

// run makes the run.
func (v *vehicle) run(ctx context.Context, cfg *Config) (r *realtimeRun, err error) {
	r = &realtimeRun{vehicle: *v, length: cfg.ClockTime}
	if r.length == 0 {
		r.length = ifQuick(cfg.Quick, quickRealTime, realTime)
	}
	city, err := cfg.load(ctx, sensorTriangles)
	if err != nil {
		return nil, err
	}
	settings := config.Default()
	settings.Sensors, settings.Bridges = nil, nil
	sim, err := raybridge.Open(ctx, raybridge.Config{Scene: city, Run: settings, Open: cfg.Open, Realtime: true})
	if err != nil {
		return nil, err
	}
	if err := r.addSensors(sim); err != nil {
		return nil, errors.Join(err, sim.Close(ctx))
	}
	err = sim.Run(ctx, r.length)
	err = errors.Join(err, sim.Close(context.WithoutCancel(ctx)))
	r.summary = sim.Summary()
	return r, err
}

// addSensors adds the vehicle's sensors and listens to them.
func (r *realtimeRun) addSensors(sim *raybridge.Sim) error {
	for i := range r.cameras {
		err := addSensor[*sample.Image](r, sim, sensors.Config{
			Name: fmt.Sprintf("camera%d", i), Rate: simtime.Hz(int64(r.rate)), Pose: sensors.Pose{X: 1.4, Z: 1.55, Yaw: float64(360 * i / r.cameras)},
			Options: camera.RGB{Width: r.width, Height: r.height, FOV: cameraFov},
		})
		if err != nil {
			return err
		}
	}
	for i := range r.lidars {
		err := addSensor[*sample.PointCloud](r, sim, sensors.Config{
			Name: fmt.Sprintf("lidar%d", i), Rate: simtime.Hz(10), Pose: sensors.Pose{X: 0.9, Y: 0.3 * float64(i), Z: 1.9},
			Options: lidar.RayCast{Preset: r.preset},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// addSensor adds a sensor and listens to its messages of one type.
func addSensor[M any](r *realtimeRun, sim *raybridge.Sim, c sensors.Config) error {
	s, err := sim.AddSensor(c)
	if err != nil {
		return err
	}
	for _, o := range s.Outputs() {
		if o.Type != reflect.TypeFor[M]() {
			continue
		}
		from := &received{rate: c.Rate.Float64()}
		r.sensors = append(r.sensors, from)
		_, err = pipeline.Listen(s, o.Name, func(at sensors.Tick, _ M) { from.latencies = append(from.latencies, time.Since(at.Started)) })
	}
	return err
}

// rows are the figures of the run, which has ended.
func (r *realtimeRun) rows() []Result {
	worst := 100.0
	var latencies []time.Duration
	for _, s := range r.sensors {
		worst = min(worst, 100*float64(len(s.latencies))/(s.rate*r.length.Seconds()))
		latencies = append(latencies, s.latencies...)
	}
	note := r.length.String()
	row := func(name, unit string, value float64) Result {
		return Result{"realtime." + name, r.name, unit, []float64{value}, note}
	}
	list := []Result{
		row("factor", "times real time", r.summary.RealTimeFactor), row("delivered_percent", "%", worst), row("lost", "messages", lost(&r.summary)),
	}
	if len(latencies) == 0 {
		return list
	}
	return slices.Concat(list, []Result{row("latency_ms.p50", "ms", percentile(latencies, 0.5)), row("latency_ms.p99", "ms", percentile(latencies, 0.99))})
}
