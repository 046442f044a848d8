package lidar

import (
	"context"
	"fmt"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
)

// LaserScanID is the type id of the planar lidar.
const LaserScanID = "sensor.lidar.laser_scan"

// LaserScan describes sensor.lidar.laser_scan.
var LaserScan = &sensors.Definition{
	ID:     LaserScanID,
	Number: 22,
	Doc:    "planar lidar: ranges and intensities of one laser, counter-clockwise",
	Tags:   []string{"lidar", "gpu"},
	Attributes: []sensors.Attribute{
		{Name: "center_angle", Type: sensors.Float, Default: 0.0, Unit: "deg", Min: -45, Max: 45, UsualMin: -30, UsualMax: 30, Doc: "angle of the laser below the horizon"},
		{Name: "range_min", Type: sensors.Float, Default: 0.5, Unit: "m", Min: 0.01, Max: 1000, UsualMin: 0.01, UsualMax: 10, Doc: "shortest range; what is nearer reads -Inf"},
		{Name: "range", Type: sensors.Float, Default: 100.0, Unit: "m", Min: 0.01, Max: 2000, UsualMin: 1, UsualMax: 500, Doc: "longest range; what is farther reads +Inf"},
		{Name: "measurements_per_rotation", Type: sensors.Int, Default: int64(1500), Min: 18, Max: 6000, Doc: "rays of a whole turn; a scan has the share that its field of view is"},
		{Name: "forward_angle", Type: sensors.Float, Default: 0.0, Unit: "deg", Min: -360, Max: 360, Doc: "how far the scan is turned clockwise, seen from above"},
		{Name: "horizontal_fov", Type: sensors.Float, Default: 360.0, Unit: "deg", Min: 0, Max: 360, UsualMin: 5, UsualMax: 360, Doc: "horizontal field of view, centred at forward_angle"},
		{Name: "rolling", Type: sensors.Bool, Default: true, Doc: "each ray at its own time; otherwise all at the scan's end"},
		{Name: "intensity", Type: sensors.String, Default: string(surface), Restricted: true, Recommended: []string{string(surface), string(svl)},
			Doc: "0 to 255: surface, by reflectance, angle and range; svl, 255 times metallic or mean of the base colour"},
		{Name: "atmosphere_attenuation_rate", Type: sensors.Float, Default: 0.004, Unit: "1/m", Min: 0, Max: 1, UsualMin: 0, UsualMax: 0.2, Doc: "loss of intensity with the range"},
		{Name: "noise_stddev", Type: sensors.Float, Default: 0.0, Unit: "m", Min: 0, Max: 10, UsualMin: 0, UsualMax: 0.5, Doc: "white noise of the range"},
		{Name: "noise_seed", Type: sensors.Int, Default: int64(0), Min: 0, Max: 1 << 32, Doc: "seed of the noise; 0 means the run's"},
	},
	Outputs: []sensors.OutputSpec{
		sensors.Declare[sample.LaserScan](sensors.OutputSpec{
			Name: "scan", Suffix: "/scan", Doc: "sensor_msgs/LaserScan in the sensor's frame",
			QoS: flow.SensorDataQoS,
		}),
	},
	DefaultRate: "5",
	New: func(spec sensors.Spec) (sensors.Sensor, error) {
		return newPlanarLidar(spec)
	},
}

// planarLidar publishes scans of one laser as ranges.
type planarLidar struct {
	scanner
	out     *sensors.Output[*sample.LaserScan]
	scan    sample.LaserScan // Process's; reused: outputs copy what they keep
	toBytes float32          // what makes an intensity one of 0..255
}

var _ sensors.Capturer = (*planarLidar)(nil)

func newPlanarLidar(spec sensors.Spec) (*planarLidar, error) {
	settings := spec.Settings
	device, err := planarDevice(settings)
	if err != nil {
		return nil, err
	}
	s := &planarLidar{
		scanner: scanner{
			spec: spec, device: device, rolling: settings.Bool("rolling"),
			receiver: receiver{
				scale:       intensityScale(settings.String("intensity")),
				attenuation: settings.Float("atmosphere_attenuation_rate"),
				noise:       settings.Float("noise_stddev"),
				seed:        uint64(settings.Int("noise_seed")),
			},
		},
		toBytes: 1,
	}
	if s.receiver.scale == svl {
		s.toBytes = 255
	}
	first, step := -device.StartDeg, -device.StepDeg
	s.scan.AngleMin = float32(mgl64.DegToRad(first))
	s.scan.AngleMax = float32(mgl64.DegToRad(first + float64(device.Columns-1)*step))
	s.scan.AngleIncrement = float32(mgl64.DegToRad(step))
	s.scan.RangeMin, s.scan.RangeMax = float32(device.MinM), float32(device.MaxM)
	s.deliver = s.publish
	return s, s.checkPeriod()
}

// planarDevice is the one laser that turns counter-clockwise through the rays of
// SVL's: the last lies on the left edge of the field of view, the first one step
// from the right edge.
func planarDevice(s *sensors.Settings) (Device, error) {
	fov := s.Float("horizontal_fov")
	columns := SVLColumns(s.Int("measurements_per_rotation"), fov)
	if columns == 0 {
		return Device{}, fmt.Errorf("%w: horizontal_fov %v leaves none of %d measurements_per_rotation: raise one of them",
			sensors.ErrValue, fov, s.Int("measurements_per_rotation"))
	}
	step := fov / float64(columns)
	d := Device{
		Name: "planar", Lasers: []Laser{{ElevationDeg: -s.Float("center_angle")}}, Columns: columns,
		StartDeg: s.Float("forward_angle") + fov/2 - step, StepDeg: -step, MinM: s.Float("range_min"), MaxM: s.Float("range"),
	}
	return d, d.check()
}

// Begin opens the output and makes the GPU objects.
func (s *planarLidar) Begin(ctx context.Context, env *sensors.Env) (err error) {
	if s.out, err = sensors.OutputOf[*sample.LaserScan](env, "scan"); err != nil {
		return err
	}
	return s.begin(ctx, env)
}

// publish hands on the ranges of a scan.
func (s *planarLidar) publish(of scan, points []sample.Point) {
	m := &s.scan
	m.Header = of.header
	m.ScanTime, m.TimeIncrement = float32(float64(of.at.PeriodNs)/1e9), 0
	if s.rolling {
		m.TimeIncrement = float32(float64(s.periodNs()) / 1e9 / float64(len(points)))
	}
	m.Ranges, m.Intensities = m.Ranges[:0], m.Intensities[:0]
	returns := 0
	for i := range points {
		p := &points[i]
		m.Ranges = append(m.Ranges, p.Distance)
		m.Intensities = append(m.Intensities, s.toBytes*p.Intensity)
		if p.Return != sample.ReturnUnknown {
			returns++
		}
	}
	s.reportEmpty(returns)
	s.out.TryQueue(of.at, m)
}
