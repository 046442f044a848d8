// Package lidar is the lidars: sensor.lidar.ray_cast, sensor.lidar.ray_cast_semantic
// and sensor.lidar.laser_scan. Each scan is traced by one compute dispatch, a ray for
// each firing of each laser.
//
// # Geometry
//
// A device fires all its lasers once per column; columns follow one another
// clockwise seen from above, as spinning devices turn. A laser has its own
// elevation, azimuth offset, height and time within the column. Points are in the
// sensor's frame as it stood when they were fired, or with compensated: true as it
// stood at the scan's stamp; azimuth, elevation and distance are the firing's either
// way. A surface nearer than the shortest range hides what is behind it and reads
// -Inf (REP-117).
//
// # Presets
//
// Device presets have the firing tables of AWSIM's and RGL's, and begin straight
// ahead. Laser 94 of VelodyneVLS128 points 2.08 degrees up, as the device's does, where
// their table has 2.008. The offset between a device's mounting point and its optical
// centre is left to the rig. Presets with the names of SVL Simulator's templates have its elevations
// (SVLElevations), columns and ranges, and begin behind. Attributes that weren't set
// are the preset's own: neither loses returns. The near-field lasers of HesaiAT128E2X
// measure from 0.5 m in even columns and from 7.2 m in odd ones.
//
// The preset uniform is CARLA's model: channels from upper_fov to lower_fov, columns
// from points_per_second, drop-off by default. A message here is a whole scan, whose
// columns share the time since the last one: a world of CARLA that steps twice in a
// turn sends each half as it comes. All rays have times of their own unless
// rolling: false, which is CARLA's and SVL's way.
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
// sensor.lidar.laser_scan is SVL's LaserScan and Lidar2D. Its parameters are, here and
// there: center_angle CenterAngle, range_min MinDistance, range MaxDistance,
// measurements_per_rotation MeasurementsPerRotation, forward_angle ForwardAngle,
// horizontal_fov HorizontalAngle; RotationFrequency is the rate, and rolling is false
// there: a scan of one instant, with a time_increment of 0. Its rays are SVL's,
// counter-clockwise, and angle_min is the first ray's angle, where SVL writes that of
// one step before it.
//
// # SVL's lidar
//
// The parameters of SVL's Lidar come to those of sensor.lidar.ray_cast so: elevations
// are VerticalRayAngles, or SVLElevations of LaserCount, FieldOfView and CenterAngle;
// columns are SVLColumns of MeasurementsPerRotation and HorizontalAngle; range_min is
// MinDistance, range MaxDistance, forward_angle ForwardAngle, horizontal_fov
// HorizontalAngle; the rate is RotationFrequency, rolling false, intensity and layout
// svl, and both drop-off rates 0. Compensated changes nothing in a scan of one instant.
//
// # Limits
//
// One return a ray; beams have no width. A scan has at most 2,796,202 rays; a rolling
// one takes less than 4.3 s.
package lidar

import (
	"context"
	"fmt"
	"math"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
)

// scanAttributes are what the definitions that publish clouds have in common:
// CARLA's names and defaults, and what SVL's lidars have besides.
func scanAttributes() []sensors.Attribute {
	return []sensors.Attribute{
		{Name: "preset", Type: sensors.String, Default: Uniform, Recommended: Presets(), Restricted: true, Doc: "device whose lasers, columns and ranges are used, or uniform"},
		{Name: "channels", Type: sensors.Int, Default: int64(32), Min: 1, Max: 512, UsualMin: 1, UsualMax: 256, Doc: "lasers of a uniform lidar"},
		{Name: "range", Type: sensors.Float, Default: 10.0, Unit: "m", Min: 0.01, Max: 2000, UsualMin: 1, UsualMax: 500, Doc: "longest range; a preset has its own where this isn't set"},
		{Name: "range_min", Type: sensors.Float, Default: 0.0, Unit: "m", Min: 0, Max: 1000, UsualMin: 0, UsualMax: 10, Doc: "shortest range, below which a surface hides what is behind it and isn't measured; a preset has its own where this isn't set"},
		{Name: "points_per_second", Type: sensors.Int, Default: int64(56000), Min: 1, Max: 1e9, UsualMin: 1000, UsualMax: 20_000_000, Doc: "rays of all lasers of a uniform lidar in a second: a scan has points_per_second / (channels rotation_frequency) columns, rounded"},
		{Name: "rotation_frequency", Type: sensors.Float, Default: 10.0, Unit: "Hz", Min: 0.1, Max: 1000, UsualMin: 1, UsualMax: 100, Doc: "turns a second that points_per_second is shared by; how often a scan is made is the rate"},
		{Name: "upper_fov", Type: sensors.Float, Default: 10.0, Unit: "deg", Min: -90, Max: 90, UsualMin: -45, UsualMax: 90, Doc: "elevation of a uniform lidar's first laser"},
		{Name: "lower_fov", Type: sensors.Float, Default: -30.0, Unit: "deg", Min: -90, Max: 90, UsualMin: -90, UsualMax: 45, Doc: "elevation of a uniform lidar's last laser"},
		{Name: "horizontal_fov", Type: sensors.Float, Default: 360.0, Unit: "deg", Min: 0.1, Max: 360, UsualMin: 5, UsualMax: 360, Doc: "horizontal field of view of a uniform lidar"},
		{Name: "elevations", Type: sensors.Floats, Default: []float64{}, Unit: "deg", Min: -90, Max: 90, Doc: "elevation of each laser of a uniform lidar, up positive, in place of channels, upper_fov and lower_fov"},
		{Name: "columns", Type: sensors.Int, Default: int64(0), Min: 0, Max: 32768, Doc: "firings of each laser in a scan; 0 means the device's, that of points_per_second for uniform"},
		{Name: "forward_angle", Type: sensors.Float, Default: 0.0, Unit: "deg", Min: -360, Max: 360, Doc: "how far the scan is turned clockwise, seen from above"},
		{Name: "rolling", Type: sensors.Bool, Default: true, Doc: "each ray at its own time; otherwise all at the scan's end"},
		{Name: "compensated", Type: sensors.Bool, Default: false, Doc: "give a rolling scan's points in the sensor's frame at the stamp, not at each ray's time"},
		{Name: "organized", Type: sensors.Bool, Default: false, Doc: "publish every ray, misses with NaN coordinates, as an image of rings by columns"},
	}
}

// receiverAttributes are those of the receiver's model, CARLA's names and defaults.
func receiverAttributes() []sensors.Attribute {
	return []sensors.Attribute{
		{Name: "intensity", Type: sensors.String, Default: string(surface), Restricted: true, Doc: "scale of the intensity: surface, 0 to 255 by reflectance, angle and range; carla, exp(-attenuation range); svl, metallic or mean of the base colour, 0 to 1",
			Recommended: []string{string(surface), string(carla), string(svl)}},
		{Name: "atmosphere_attenuation_rate", Type: sensors.Float, Default: 0.004, Unit: "1/m", Min: 0, Max: 1, UsualMin: 0, UsualMax: 0.2, Doc: "loss of intensity with the range"},
		{Name: "dropoff_general_rate", Type: sensors.Float, Default: 0.45, Min: 0, Max: 1, Doc: "share of rays that are never fired; presets but uniform fire all where this isn't set"},
		{Name: "dropoff_intensity_limit", Type: sensors.Float, Default: 0.8, Min: 0, Max: 1, Doc: "exp(-attenuation range) up to which returns may be lost"},
		{Name: "dropoff_zero_intensity", Type: sensors.Float, Default: 0.4, Min: 0, Max: 1, Doc: "share of returns lost where no light comes back, falling to 0 at the limit; presets but uniform lose none where this isn't set"},
		{Name: "noise_stddev", Type: sensors.Float, Default: 0.0, Unit: "m", Min: 0, Max: 10, UsualMin: 0, UsualMax: 0.5, Doc: "white noise of the range: points move along their rays"},
		{Name: "noise_seed", Type: sensors.Int, Default: int64(0), Min: 0, Max: 1 << 32, Doc: "seed of noise and drop-off; 0 means the run's"},
	}
}

// layoutAttribute is how bridges write the points.
func layoutAttribute(layout sample.PointLayout) sensors.Attribute {
	a := sensors.Attribute{Name: "layout", Type: sensors.String, Default: string(layout), Restricted: true, Doc: "fields of the published points"}
	for _, known := range []sample.PointLayout{
		sample.LayoutXYZIRCAEDT, sample.LayoutXYZIRT, sample.LayoutXYZI, sample.LayoutSVL, sample.LayoutCARLA, sample.LayoutCARLASemantic,
	} {
		a.Recommended = append(a.Recommended, string(known))
	}
	return a
}

// uniformOnly are the attributes that a device decides itself.
var uniformOnly = []string{"channels", "upper_fov", "lower_fov", "horizontal_fov", "elevations", "points_per_second", "rotation_frequency"}

// deviceOf makes the device that the scan attributes describe.
func deviceOf(s *sensors.Settings) (Device, error) {
	d, own := Preset(s.String("preset"))
	if own {
		for _, name := range uniformOnly {
			if s.IsSet(name) {
				return Device{}, fmt.Errorf("%w: %s shapes a uniform lidar, and preset %s has lasers of its own: set preset: uniform, or leave %s out",
					sensors.ErrValue, name, d.Name, name)
			}
		}
		if columns := s.Int("columns"); columns > 0 {
			d.StepDeg *= float64(d.Columns) / float64(columns)
			d.Columns = columns
		}
	} else {
		var err error
		if d, err = uniformOf(s); err != nil {
			return Device{}, err
		}
	}
	d.StartDeg += s.Float("forward_angle")
	low, high := d.MinM, d.MaxM
	if !own || s.IsSet("range_min") {
		low = s.Float("range_min")
	}
	if !own || s.IsSet("range") {
		high = s.Float("range")
	}
	d.narrow(low, high)
	return d, d.check()
}

// uniformOf is the lidar that the settings alone describe.
func uniformOf(s *sensors.Settings) (Device, error) {
	upper, lower, list := s.Float("upper_fov"), s.Float("lower_fov"), s.Floats("elevations")
	lasers := s.Int("channels")
	if len(list) > 0 {
		for _, name := range []string{"channels", "upper_fov", "lower_fov"} {
			if s.IsSet(name) {
				return Device{}, fmt.Errorf("%w: elevations are given, and %s too: leave one out", sensors.ErrValue, name)
			}
		}
		lasers = len(list)
	}
	if upper < lower {
		return Device{}, fmt.Errorf("%w: upper_fov %v is below lower_fov %v", sensors.ErrValue, upper, lower)
	}
	columns := s.Int("columns")
	if columns == 0 {
		columns = int(math.Round(float64(s.Int("points_per_second")) / (float64(lasers) * s.Float("rotation_frequency"))))
	}
	if columns == 0 {
		return Device{}, fmt.Errorf("%w: points_per_second %d leaves each of %d lasers no ray in a turn: raise it, or set columns",
			sensors.ErrValue, s.Int("points_per_second"), lasers)
	}
	d := UniformDevice(lasers, columns, upper, lower, s.Float("horizontal_fov"))
	for i, elevation := range list {
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

// RayCast describes sensor.lidar.ray_cast.
var RayCast = &sensors.Definition{
	ID:          ID,
	Number:      20,
	Doc:         "spinning lidar: range, intensity, ring and time of every return",
	Tags:        []string{"lidar", "gpu"},
	Attributes:  append(append(scanAttributes(), receiverAttributes()...), layoutAttribute(sample.LayoutXYZIRCAEDT)),
	Outputs:     []sensors.OutputSpec{pointsOutput()},
	DefaultRate: "10",
	New: func(spec sensors.Spec) (sensors.Sensor, error) {
		return newCloudLidar(spec, receiverOf(spec.Settings))
	},
}

// RayCastSemantic describes sensor.lidar.ray_cast_semantic.
var RayCastSemantic = &sensors.Definition{
	ID:          SemanticID,
	Number:      21,
	Doc:         "spinning lidar that tells the angle of incidence, the object and its semantic tag, exactly",
	Tags:        []string{"lidar", "semantic", "gpu"},
	Attributes:  append(scanAttributes(), layoutAttribute(sample.LayoutCARLASemantic)),
	Outputs:     []sensors.OutputSpec{pointsOutput()},
	DefaultRate: "10",
	New: func(spec sensors.Spec) (sensors.Sensor, error) {
		return newCloudLidar(spec, receiver{})
	},
}

func pointsOutput() sensors.OutputSpec {
	return sensors.Declare[sample.PointCloud](sensors.OutputSpec{
		Name: "points", Suffix: "/points", Doc: "sensor_msgs/PointCloud2 in the sensor's frame",
		QoS: flow.SensorDataQoS,
	})
}

// cloudLidar publishes scans as clouds.
type cloudLidar struct {
	scanner
	out   *sensors.Output[*sample.PointCloud]
	cloud sample.PointCloud // Process's; reused: outputs copy what they keep
}

var _ sensors.Capturer = (*cloudLidar)(nil)

func newCloudLidar(spec sensors.Spec, r receiver) (*cloudLidar, error) {
	device, err := deviceOf(spec.Settings)
	if err != nil {
		return nil, err
	}
	rolling := spec.Settings.Bool("rolling")
	s := &cloudLidar{
		scanner: scanner{
			spec: spec, device: device, receiver: r,
			rolling: rolling, compensated: rolling && spec.Settings.Bool("compensated"),
		},
		cloud: sample.PointCloud{
			Organized: spec.Settings.Bool("organized"), Rings: len(device.Lasers), Columns: device.Columns,
			HorizontalAngle: device.endRad(), UnitIntensity: r.scale == carla || r.scale == svl,
			Layout: sample.PointLayout(spec.Settings.String("layout")),
		},
	}
	s.deliver = s.publish
	return s, s.checkPeriod()
}

// Begin opens the output and makes the GPU objects.
func (s *cloudLidar) Begin(ctx context.Context, env *sensors.Env) (err error) {
	if s.out, err = sensors.OutputOf[*sample.PointCloud](env, "points"); err != nil {
		return err
	}
	return s.begin(ctx, env)
}

// publish hands on the cloud of a scan.
func (s *cloudLidar) publish(of scan, points []sample.Point) {
	m := &s.cloud
	m.Header = of.header
	var returns int
	if m.Organized {
		m.Points, returns = markMisses(m.Points[:0], points)
	} else {
		m.Points = keepReturns(m.Points[:0], points)
		returns = len(m.Points)
	}
	s.reportEmpty(returns)
	s.out.TryQueue(of.at, m)
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
