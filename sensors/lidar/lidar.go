// Package lidar is the lidars: sensor.lidar.ray_cast, sensor.lidar.ray_cast_semantic
// and sensor.lidar.laser_scan. Each scan is traced by one compute dispatch, a ray for
// each firing of each laser.
//
// # Geometry
//
// A device fires all its lasers once per column; columns follow one another clockwise seen from
// above, as spinning devices turn. A laser has its own elevation, azimuth offset, height and
// time within the column. Points are in the sensor's frame as it stood when they were fired, or
// with compensated: true as it stood at the scan's stamp. azimuth, elevation and distance are
// the firing's either way. A surface nearer than the shortest range hides what is behind it and
// reads -Inf (REP-117).
//
// # Firing tables
//
// With firing_table a scan has the rows of its window of a file: firings that follow one another in time, each
// with a direction of its own. They are traced in the order of their directions.
//
// # Presets
//
// Device presets have the firing tables of AWSIM's and RGL's, and begin straight
// ahead. Velodyne's that end in _real fire at the times of the devices' manuals, and turn on between two
// lasers of a column. Laser 94 of VelodyneVLS128 points 2.08 degrees up, as the device's does, where
// their table has 2.008. The offset between a device's mounting point and its optical
// centre is left to the rig. Presets with the names of SVL Simulator's templates have its elevations
// (SVLElevations), columns and ranges, and begin behind. Attributes that weren't set
// are the preset's own: neither loses returns. The near-field lasers of HesaiAT128E2X
// measure from 0.5 m in even columns and from 7.2 m in odd ones.
//
// The preset uniform is CARLA's model: channels from upper_fov to lower_fov, columns from
// points_per_second, drop-off by default. A message here is a whole scan, whose columns share
// the time since the last one. A world of CARLA that steps twice in a turn sends each half as
// it comes. All rays have times of their own unless rolling: false, which is CARLA's and SVL's
// way.
//
// # Time
//
// A scan due at t covers [t - 1/rate, t): its stamp is the first firing's time,
// point times are offsets from it. Sensor and objects are where they are at each
// ray's own time. With rolling: false all rays are of the instant t.
//
// # Intensity
//
// surface: diffuse surfaces give 100 * reflectance * cos(incidence) * T, where T is
// exp(-attenuation * range), retroreflectors 101 + 154 * reflectance * T. carla: T.
// svl: the metallic factor of a material that has a texture of them, of others the mean
// of the base colour's red, green and blue. The last two are 0 to 1
// (sample.PointCloud.UnitIntensity). sensor.lidar.ray_cast_semantic has none.
//
// range_corrected: docs/lidars.md has the signal, the threshold and what follows.
//
// # Weather
//
// docs/weather.md has what lidars lose in fog, rain and snow, and what they see of these.
//
// # Drop-off and noise
//
// In CARLA's order: a share dropoff_general_rate of the rays is never fired. A return
// whose T is at most dropoff_intensity_limit is kept with the probability
// 1 - zero + zero T / limit, zero being dropoff_zero_intensity. Noise moves a point
// along its ray and changes nothing else. The draws of a ray depend on the seed, the
// scan's number and the ray's, on nothing before them.
//
// # The planar lidar
//
// sensor.lidar.laser_scan is SVL's LaserScan and Lidar2D. Its parameters are, here and there:
// center_angle CenterAngle, range_min MinDistance, range MaxDistance, measurements_per_rotation
// MeasurementsPerRotation, forward_angle ForwardAngle, horizontal_fov HorizontalAngle.
// RotationFrequency is the rate, and rolling is false there: a scan of one instant, with a
// time_increment of 0. Its rays are SVL's, counter-clockwise, and angle_min is the first ray's
// angle, where SVL writes that of one step before it.
//
// # SVL's lidar
//
// The parameters of SVL's Lidar come to those of sensor.lidar.ray_cast so. elevations are
// VerticalRayAngles, or SVLElevations of LaserCount, FieldOfView and CenterAngle. columns are
// SVLColumns of MeasurementsPerRotation and HorizontalAngle. range_min is MinDistance, range
// MaxDistance, forward_angle ForwardAngle, horizontal_fov HorizontalAngle. The rate is
// RotationFrequency, rolling false, intensity and layout svl, and both drop-off rates 0.
// Compensated changes nothing in a scan of one instant.
//
// # Limits
//
// A scan has at most 2,796,202 points, that of its firings times the points of each; a rolling
// one takes less than 4.3 s.
//
// # Beams
//
// With intensity: range_corrected a beam has a width (beam_divergence) and a firing up to three points (returns):
// those of a firing stand side by side, the strongest first, and those without an echo last. docs/lidars.md has the
// rules. A ray without width has one return.
package lidar

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/memory"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// Scan has the options of lidars that publish clouds: CARLA's names and defaults, and what
// SVL's lidars have besides. Own are those of one kind.
type Scan[K any] struct {
	Preset            PresetName `attribute:"preset" default:"uniform" doc:"device whose lasers, columns and ranges are used, or uniform"`
	Channels          int        `attribute:"channels" default:"32" min:"1" max:"512" usual:"1 256" doc:"lasers of a uniform lidar"`
	Range             float64    `attribute:"range" live:"true" unit:"m" default:"10" min:"0.01" max:"2000" usual:"1 500" doc:"longest range; a preset has its own if this isn't set"`
	RangeMin          *float64   `attribute:"range_min" live:"true" unit:"m" max:"1000" usual:"0 10" doc:"shortest range, below which a surface isn't measured but still hides others; a preset has its own if this isn't set"`
	PointsPerSecond   int        `attribute:"points_per_second" default:"56000" min:"1" max:"1e9" usual:"1000 20000000" doc:"rays of all lasers of a uniform lidar in a second: a scan has points_per_second / (channels rotation_frequency) columns, rounded"`
	RotationFrequency float64    `attribute:"rotation_frequency" unit:"Hz" default:"10" min:"0.1" max:"1000" usual:"1 100" doc:"turns a second that points_per_second is shared by; how often a scan is made is the rate"`
	UpperFOV          *float64   `attribute:"upper_fov" unit:"deg" default:"10" min:"-90" max:"90" usual:"-45 90" doc:"elevation of a uniform lidar's first laser"`
	LowerFOV          *float64   `attribute:"lower_fov" unit:"deg" default:"-30" min:"-90" max:"90" usual:"-90 45" doc:"elevation of a uniform lidar's last laser"`
	HorizontalFOV     float64    `attribute:"horizontal_fov" unit:"deg" default:"360" min:"0.1" max:"360" usual:"5 360" doc:"horizontal field of view of a uniform lidar"`
	Elevations        []float64  `attribute:"elevations" unit:"deg" min:"-90" max:"90" doc:"elevation of each laser of a uniform lidar, up positive, in place of channels, upper_fov and lower_fov"`
	Columns           int        `attribute:"columns" max:"32768" doc:"firings of each laser in a scan; 0 means the device's, that of points_per_second for uniform"`
	ForwardAngle      float64    `attribute:"forward_angle" unit:"deg" min:"-360" max:"360" doc:"how far the scan is turned clockwise, seen from above"`
	Rolling           *bool      `attribute:"rolling" default:"true" doc:"each ray at its own time; otherwise all at the scan's end"`
	Compensated       bool       `attribute:"compensated" doc:"give a rolling scan's points in the sensor's frame at the stamp, not at each ray's time"`
	Organized         bool       `attribute:"organized" doc:"publish every ray, misses with NaN coordinates, as an image of rings by columns"`
	FiringTable       string     `attribute:"firing_table" path:"true" doc:"CSV file of a device of your own: a row is a firing, with time (s), azimuth and elevation (deg) and, where need be, ring, range_min and range_max (m). docs/lidars.md has the form"`
	FiringPeriod      float64    `attribute:"firing_period" unit:"s" max:"100000" doc:"after which the firing table begins again; 0 means from its first row to its last, and a mean step more"`
	Own               K
}

// PresetName is a name of Presets.
type PresetName string

// Values returns all of them.
func (PresetName) Values() []string { return Presets() }

// RayCast are the options of sensor.lidar.ray_cast, the scanning lidar.
type RayCast = Scan[Intensities]

// Intensities are what RayCast has of its own: the receiver's model, with CARLA's names and
// defaults, and how bridges write the points.
type Intensities struct {
	Intensity             IntensityScale     `attribute:"intensity" default:"surface" enum:"surface,carla,svl,range_corrected" doc:"scale of the intensity. surface is 0 to 255 by reflectance, angle and range. carla is exp(-attenuation range). svl is metallic or mean of the base colour, 0 to 1. range_corrected is the apparent reflectance, 0 to 255, of what is strong enough to be seen, and presets whose names end in _real have it if nothing else is set"`
	Attenuation           *float64           `attribute:"atmosphere_attenuation_rate" unit:"1/m" default:"0.004" max:"1" usual:"0 0.2" doc:"loss of intensity with the range. With range_corrected it is the air's extinction, of which light has the way there and back, and 0.0001 if it isn't set"`
	DropoffGeneralRate    *float64           `attribute:"dropoff_general_rate" live:"true" default:"0.45" max:"1" doc:"share of rays that are never fired; presets except uniform fire all if this isn't set"`
	DropoffIntensityLimit *float64           `attribute:"dropoff_intensity_limit" live:"true" default:"0.8" max:"1" doc:"exp(-attenuation range) up to which returns may be lost"`
	DropoffZeroIntensity  *float64           `attribute:"dropoff_zero_intensity" live:"true" default:"0.4" max:"1" doc:"share of returns lost where no light comes back, falling to 0 at the limit; presets except uniform lose none if this isn't set"`
	NoiseStddev           float64            `attribute:"noise_stddev" live:"true" unit:"m" max:"10" usual:"0 0.5" doc:"white noise of the range: points move along their rays"`
	NoiseSeed             uint64             `attribute:"noise_seed" max:"4294967296" doc:"seed of noise and drop-off; 0 means the run's"`
	Layout                sample.PointLayout `attribute:"layout" default:"xyzircaedt" doc:"fields of the published points"`
	ReturnCodes           ReturnCodes        `attribute:"return_codes" default:"autoware" enum:"autoware,nebula,velodyne" doc:"numbers of a point's return_type: those of autoware_point_types, of the driver Nebula, or of velodyne_decoder. docs/lidars.md has the tables"`
	Radiometry            Radiometry
	Beam                  Beam
}

// RayCastSemantic are the options of sensor.lidar.ray_cast_semantic, the lidar that tells what
// it hit.
type RayCastSemantic = Scan[Semantics]

// Semantics are what RayCastSemantic has of its own: how bridges write the points.
type Semantics struct {
	Layout sample.PointLayout `attribute:"layout" default:"carla_semantic" doc:"fields of the published points"`
}

// uniformOnly are the attributes that a device decides itself.
var uniformOnly = []string{"channels", "upper_fov", "lower_fov", "horizontal_fov", "elevations", "points_per_second", "rotation_frequency"}

// deviceOnly are the attributes that a firing table takes the place of.
var deviceOnly = append([]string{"preset", "columns", "forward_angle", "organized"}, uniformOnly...)

// firings reads the table of the options' firings, nil for none. Ranges that rows don't have are the
// sensor's, and one that the sensor is given narrows those of the rows.
func (o *Scan[K]) firings(spec *sensors.Spec) (*firingTable, error) {
	given := spec.Settings
	if o.FiringTable == "" {
		if given.IsSet("firing_period") {
			return nil, fmt.Errorf("%w: firing_period is that of a firing table: set firing_table, or leave it out", sensors.ErrValue)
		}
		return nil, nil
	}
	for _, name := range deviceOnly {
		if given.IsSet(name) {
			return nil, fmt.Errorf("%w: the firing table has its own directions: leave %s out", sensors.ErrValue, name)
		}
	}
	t, err := readFirings(o.FiringTable, o.FiringPeriod)
	if err != nil {
		return nil, err
	}
	low, high := 0.0, o.Range
	if given.IsSet("range_min") {
		low = *o.RangeMin
	}
	if err := t.narrow(low, high, given.IsSet("range")); err != nil {
		return nil, err
	}
	return t, t.plan(spec.Rate.Period().Nanoseconds() + 1)
}

// device makes the device that the options describe. given tells which attributes are set.
func (o *Scan[K]) device(given *sensors.Settings) (Device, error) {
	d, own := Preset(string(o.Preset))
	if own {
		for _, name := range uniformOnly {
			if given.IsSet(name) {
				return Device{}, fmt.Errorf("%w: %s shapes a uniform lidar, and preset %s has lasers of its own: set preset: uniform, or leave %s out",
					sensors.ErrValue, name, d.Name, name)
			}
		}
		if o.Columns > 0 {
			d.StepDeg *= float64(d.Columns) / float64(o.Columns)
			d.Columns = o.Columns
		}
	} else {
		var err error
		if d, err = o.uniform(given); err != nil {
			return Device{}, err
		}
	}
	d.StartDeg += o.ForwardAngle
	low, high := d.MinM, d.MaxM
	if !own || given.IsSet("range_min") {
		low = *o.RangeMin
	}
	if !own || given.IsSet("range") {
		high = o.Range
	}
	d.narrow(low, high)
	return d, d.check()
}

// uniform is the lidar that the options alone describe.
func (o *Scan[K]) uniform(given *sensors.Settings) (Device, error) {
	upper, lower, lasers := *o.UpperFOV, *o.LowerFOV, o.Channels
	if len(o.Elevations) > 0 {
		for _, name := range []string{"channels", "upper_fov", "lower_fov"} {
			if given.IsSet(name) {
				return Device{}, fmt.Errorf("%w: elevations are given, and %s too: leave one out", sensors.ErrValue, name)
			}
		}
		lasers = len(o.Elevations)
	}
	if upper < lower {
		return Device{}, fmt.Errorf("%w: upper_fov %v is below lower_fov %v", sensors.ErrValue, upper, lower)
	}
	columns := o.Columns
	if columns == 0 {
		columns = int(math.Round(float64(o.PointsPerSecond) / (float64(lasers) * o.RotationFrequency)))
	}
	if columns == 0 {
		return Device{}, fmt.Errorf("%w: points_per_second %d leaves each of %d lasers no ray in a turn: raise it, or set columns",
			sensors.ErrValue, o.PointsPerSecond, lasers)
	}
	d := UniformDevice(lasers, columns, upper, lower, o.HorizontalFOV)
	for i, elevation := range o.Elevations {
		d.Lasers[i].ElevationDeg = elevation
	}
	return d, nil
}

// ID is the type id of the scanning lidar, SemanticID that of the one that tells what
// it hit.
const (
	ID         = "sensor.lidar.ray_cast"
	SemanticID = "sensor.lidar.ray_cast_semantic"
)

// RayCastDefinition describes sensor.lidar.ray_cast.
var RayCastDefinition = sensors.Define(sensors.Definition{
	ID:      ID,
	Looks:   true,
	Number:  20,
	Doc:     "spinning lidar: range, intensity, ring and time of every return",
	Tags:    []string{"lidar", "gpu"},
	Outputs: pointsOutput(),
	Rate:    simtime.Hz(10),
	Weather: received,
	Refuses: refusedOf,
	Devices: realPresets(),
}, func(spec sensors.Spec, o RayCast) (sensors.Sensor, error) {
	light, err := o.Own.radiometry(o.Preset, spec.Settings)
	if err != nil {
		return nil, err
	}
	s, err := newCloudLidar(spec, o, o.Own.receiver(o.Preset == Uniform && o.FiringTable == "", spec.Settings, light), o.Own.Layout)
	if err != nil {
		return nil, err
	}
	if light != nil {
		s.cloud.IntensityCode = string(light.IntensityCode)
	}
	if b := s.receiver.beam(); b != nil {
		s.cloud.Returns = b.Returns
	}
	if s.codes, err = o.Own.ReturnCodes.numbers(s.cloud.Returns); err != nil {
		return nil, err
	}
	return s, nil
})

// RayCastSemanticDefinition describes sensor.lidar.ray_cast_semantic.
var RayCastSemanticDefinition = sensors.Define(sensors.Definition{
	ID:      SemanticID,
	Looks:   true,
	Number:  21,
	Doc:     "spinning lidar that tells the angle of incidence, the object and its semantic tag, exactly",
	Tags:    []string{"lidar", "semantic", "gpu"},
	Outputs: pointsOutput(),
	Rate:    simtime.Hz(10),
	Weather: thinned,
}, func(spec sensors.Spec, o RayCastSemantic) (sensors.Sensor, error) {
	return newCloudLidar(spec, o, receiver{}, o.Own.Layout)
})

func pointsOutput() []sensors.OutputSpec {
	return sensors.OneOutput[sample.PointCloud](sensors.OutputSpec{
		Name: "points", Suffix: "/points", Doc: "sensor_msgs/PointCloud2 in the sensor's frame",
		QoS: flow.SensorDataQoS,
	})
}

// cloudLidar publishes scans as clouds.
type cloudLidar struct {
	scanner
	out   *sensors.Output[*sample.PointCloud]
	cloud sample.PointCloud // Process's; reused: outputs copy what they keep
	codes *returnNumbers    // of the points; nil where the device's own are these
}

var _ sensors.Capturer = (*cloudLidar)(nil)

func newCloudLidar[K any](spec sensors.Spec, o Scan[K], r receiver, layout sample.PointLayout) (*cloudLidar, error) {
	table, err := o.firings(&spec)
	if err != nil {
		return nil, err
	}
	var device Device
	if table != nil {
		device = table.device()
	} else if device, err = o.device(spec.Settings); err != nil {
		return nil, err
	}
	s := &cloudLidar{
		scanner: scanner{device: device, firings: table, receiver: r, rolling: *o.Rolling, compensated: *o.Rolling && o.Compensated},
		cloud: sample.PointCloud{
			Organized: o.Organized, Rings: len(device.Lasers), Columns: device.Columns,
			HorizontalAngle: device.endRad(), UnitIntensity: r.scale == carla || r.scale == svl,
			Layout: layout,
		},
	}
	return s, s.build(spec, s.publish)
}

// Begin opens the output and makes the GPU objects.
func (s *cloudLidar) Begin(ctx context.Context, env *sensors.Env) (err error) {
	if s.out, err = sensors.OutputOf[*sample.PointCloud](env, "points"); err != nil {
		return err
	}
	if light := s.receiver.radiometry; light != nil {
		light.warnOfAbsent(env.Log, env.Geometry.Scene)
	}
	if err := s.Sensor.Begin(ctx, env); err != nil {
		if errors.Is(err, memory.ErrExceeded) {
			err = fmt.Errorf("scans of %d points, %s each: %w", s.points(), sizeOf(s.points()), err)
		}
		return err
	}
	if err := s.hold(&s.scanner); err != nil {
		return errors.Join(err, s.End())
	}
	s.firstAhead()
	return nil
}

// Tune takes over ranges, noise and the scan's length. GL thread.
func (s *cloudLidar) Tune(fresh sensors.Sensor) error {
	f := fresh.(*cloudLidar)
	f.out, f.warned = s.out, s.warned
	if err := s.hold(&f.scanner); err != nil {
		return err
	}
	s.lister.wait()
	s.lister = f.lister // which End waits for
	s.TakeOver(f.Sensor)
	return nil
}

// publish hands on the cloud of a scan.
func (s *cloudLidar) publish(at sensors.Tick, header sample.Header, points []sample.Point, in air) {
	m := &s.cloud
	m.Header = header
	dimmer := s.receiver.dimmer(in)
	var returns int
	if m.Organized {
		m.Points, returns = markMisses(m.Points[:0], points)
		dimmer.dim(m.Points)
	} else {
		m.Points = slices.Grow(m.Points[:0], len(points))
		for part := range slices.Chunk(points, dimmedTogether) {
			first := len(m.Points)
			m.Points = keepReturns(m.Points, part)
			dimmer.dim(m.Points[first:])
		}
		returns = len(m.Points)
	}
	s.codes.number(m.Points)
	s.reportEmpty(at, returns)
	s.out.TryQueue(at, m)
}

// keepReturns appends the points that hit something, those that lie side by side at
// a time.
func keepReturns(dst, points []sample.Point) []sample.Point {
	if cap(dst) < len(points) {
		dst = make([]sample.Point, 0, len(points))
	}
	for i := 0; i < len(points); i++ {
		first := i
		for i < len(points) && points[i].Return != sample.ReturnUnknown {
			i++
		}
		dst = append(dst, points[first:i]...)
	}
	return dst
}

// markMisses appends all points, those that hit nothing with NaN coordinates
// (REP-117), and returns how many hit something.
func markMisses(dst, points []sample.Point) (all []sample.Point, returns int) {
	dst = append(dst, points...)
	nan := float32(math.NaN())
	returns = len(dst)
	for i := range dst {
		if dst[i].Return == sample.ReturnUnknown {
			dst[i].X, dst[i].Y, dst[i].Z = nan, nan, nan
			returns--
		}
	}
	return dst, returns
}
