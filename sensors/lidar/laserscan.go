package lidar

import (
	"context"
	"fmt"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// LaserScanID is the type id of the planar lidar.
const LaserScanID = "sensor.lidar.laser_scan"

// LaserScan are the options of sensor.lidar.laser_scan, the planar lidar.
type LaserScan struct {
	CenterAngle             float64        `attribute:"center_angle" unit:"deg" min:"-45" max:"45" usual:"-30 30" doc:"angle of the laser below the horizon"`
	RangeMin                float64        `attribute:"range_min" live:"true" unit:"m" default:"0.5" min:"0.01" max:"1000" usual:"0.01 10" doc:"shortest range; nearer hits read -Inf"`
	Range                   float64        `attribute:"range" live:"true" unit:"m" default:"100" min:"0.01" max:"2000" usual:"1 500" doc:"longest range; farther hits read +Inf"`
	MeasurementsPerRotation int            `attribute:"measurements_per_rotation" default:"1500" min:"18" max:"6000" doc:"rays of a whole turn; a scan has the share that its field of view is"`
	ForwardAngle            float64        `attribute:"forward_angle" unit:"deg" min:"-360" max:"360" doc:"how far the scan is turned clockwise, seen from above"`
	HorizontalFOV           *float64       `attribute:"horizontal_fov" unit:"deg" default:"360" max:"360" usual:"5 360" doc:"horizontal field of view, centred at forward_angle"`
	Rolling                 *bool          `attribute:"rolling" default:"true" doc:"each ray at its own time; otherwise all at the scan's end"`
	Intensity               IntensityScale `attribute:"intensity" default:"surface" enum:"surface,svl" doc:"0 to 255: surface, by reflectance, angle and range; svl, 255 times metallic or mean of the base colour"`
	Attenuation             *float64       `attribute:"atmosphere_attenuation_rate" unit:"1/m" default:"0.004" max:"1" usual:"0 0.2" doc:"loss of intensity with the range"`
	NoiseStddev             float64        `attribute:"noise_stddev" live:"true" unit:"m" max:"10" usual:"0 0.5" doc:"white noise of the range"`
	NoiseSeed               uint64         `attribute:"noise_seed" max:"4294967296" doc:"seed of the noise; 0 means the run's"`
}

// LaserScanDefinition describes sensor.lidar.laser_scan.
var LaserScanDefinition = sensors.Define(sensors.Definition{
	ID:     LaserScanID,
	Looks:  true,
	Number: 22,
	Doc:    "planar lidar: ranges and intensities of one laser, counter-clockwise",
	Tags:   []string{"lidar", "gpu"},
	Outputs: sensors.OneOutput[sample.LaserScan](sensors.OutputSpec{
		Name: "scan", Suffix: "/scan", Doc: "sensor_msgs/LaserScan in the sensor's frame",
		QoS: flow.SensorDataQoS,
	}),
	Rate:    simtime.Hz(5),
	Weather: thinned,
}, newPlanarLidar)

// planarLidar publishes scans of one laser as ranges.
type planarLidar struct {
	scanner
	out     *sensors.Output[*sample.LaserScan]
	scan    sample.LaserScan // Process's; reused: outputs copy what they keep
	toBytes float32          // what makes an intensity one of 0..255
}

var _ sensors.Capturer = (*planarLidar)(nil)

func newPlanarLidar(spec sensors.Spec, o LaserScan) (sensors.Sensor, error) {
	device, err := o.device()
	if err != nil {
		return nil, err
	}
	s := &planarLidar{
		scanner: scanner{
			device: device, rolling: *o.Rolling,
			receiver: receiver{
				scale:       o.Intensity,
				attenuation: *o.Attenuation,
				noise:       o.NoiseStddev,
				seed:        o.NoiseSeed,
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
	return s, s.build(spec, s.publish)
}

// device is the one laser that turns counter-clockwise through the rays of SVL's. The last lies
// on the left edge of the field of view, the first one step from the right edge.
func (o *LaserScan) device() (Device, error) {
	fov := *o.HorizontalFOV
	columns := SVLColumns(o.MeasurementsPerRotation, fov)
	if columns == 0 {
		return Device{}, fmt.Errorf("%w: horizontal_fov %v leaves none of %d measurements_per_rotation: raise one of them",
			sensors.ErrValue, fov, o.MeasurementsPerRotation)
	}
	step := fov / float64(columns)
	d := Device{
		Name: "planar", Lasers: []Laser{{ElevationDeg: -o.CenterAngle}}, Columns: columns,
		StartDeg: o.ForwardAngle + fov/2 - step, StepDeg: -step, MinM: o.RangeMin, MaxM: o.Range,
	}
	return d, d.check()
}

// Begin opens the output and makes the GPU objects.
func (s *planarLidar) Begin(ctx context.Context, env *sensors.Env) (err error) {
	if s.out, err = sensors.OutputOf[*sample.LaserScan](env, "scan"); err != nil {
		return err
	}
	return s.Sensor.Begin(ctx, env)
}

// Tune takes over ranges, noise and the scan's length. GL thread.
func (s *planarLidar) Tune(fresh sensors.Sensor) error {
	f := fresh.(*planarLidar)
	f.out, f.warned = s.out, s.warned
	s.TakeOver(f.Sensor)
	return nil
}

// publish hands on the ranges of a scan.
func (s *planarLidar) publish(at sensors.Tick, header sample.Header, points []sample.Point, in air) {
	m := &s.scan
	m.Header = header
	m.RangeMin, m.RangeMax = float32(s.device.MinM), float32(s.device.MaxM)
	m.ScanTime, m.TimeIncrement = float32(float64(at.PeriodNs)/1e9), 0
	if s.rolling {
		m.TimeIncrement = float32(float64(s.periodNs) / 1e9 / float64(len(points)))
	}
	m.Ranges, m.Intensities = m.Ranges[:0], m.Intensities[:0]
	dimmer, returns := s.receiver.dimmer(in), 0
	for i := range points {
		p := &points[i]
		m.Ranges = append(m.Ranges, p.Distance)
		m.Intensities = append(m.Intensities, s.toBytes*dimmer.intensity(p))
		if p.Return != sample.ReturnUnknown {
			returns++
		}
	}
	s.reportEmpty(at, returns)
	s.out.TryQueue(at, m)
}
