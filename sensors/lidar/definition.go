package lidar

import (
	"fmt"

	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
)

// ID is the type id of the scanning lidar.
const ID = "sensor.lidar.ray_cast"

// RayCast describes sensor.lidar.ray_cast.
var RayCast = &sensors.Definition{
	ID:     ID,
	Number: 20,
	Doc:    "spinning lidar: range, intensity, ring and time of every return",
	Tags:   []string{"lidar", "gpu"},
	Attributes: []sensors.Attribute{
		{Name: "preset", Type: sensors.String, Default: "VelodyneVLP16", Recommended: Presets(), Restricted: true, Doc: "device whose firing table is used, or uniform"},
		{Name: "channels", Type: sensors.Int, Default: int64(32), Min: 1, Max: 512, Doc: "lasers of a uniform lidar"},
		{Name: "columns", Type: sensors.Int, Default: int64(0), Min: 0, Max: 8192, Doc: "firings of each laser in a scan; 0 means the device's, 1800 for uniform"},
		{Name: "upper_fov", Type: sensors.Float, Default: 15.0, Unit: "deg", Min: -90, Max: 90, Doc: "highest elevation of a uniform lidar"},
		{Name: "lower_fov", Type: sensors.Float, Default: -15.0, Unit: "deg", Min: -90, Max: 90, Doc: "lowest elevation of a uniform lidar"},
		{Name: "horizontal_fov", Type: sensors.Float, Default: 360.0, Unit: "deg", Min: 0.1, Max: 360, Doc: "horizontal field of view of a uniform lidar"},
		{Name: "range", Type: sensors.Float, Default: 0.0, Unit: "m", Min: 0, Max: 2000, Doc: "longest range; 0 means the device's"},
		{Name: "range_min", Type: sensors.Float, Default: 0.0, Unit: "m", Min: 0, Max: 100, Doc: "shortest range; 0 means the device's"},
		{Name: "rolling", Type: sensors.Bool, Default: true, Doc: "each ray at its own time; otherwise all at the scan's end"},
		{Name: "organized", Type: sensors.Bool, Default: false, Doc: "publish every ray, misses with NaN coordinates, as an image of rings by columns"},
		{Name: "layout", Type: sensors.String, Default: string(sample.LayoutXYZIRCAEDT), Restricted: true, Doc: "fields of the published points",
			Recommended: []string{string(sample.LayoutXYZIRCAEDT), string(sample.LayoutXYZIRT), string(sample.LayoutXYZI)}},
		{Name: "atmosphere_attenuation_rate", Type: sensors.Float, Default: 0.004, Unit: "1/m", Min: 0, Max: 1, Doc: "loss of intensity with the range"},
		{Name: "noise_stddev", Type: sensors.Float, Default: 0.0, Unit: "m", Min: 0, Max: 10, Doc: "white noise of the range"},
	},
	Outputs: []sensors.OutputSpec{
		sensors.Declare[sample.PointCloud](sensors.OutputSpec{
			Name: "points", Suffix: "/points", Doc: "sensor_msgs/PointCloud2 in the sensor's frame",
			QoS: sensors.QoS{Depth: 5},
		}),
	},
	DefaultRate: "10",
	New: func(spec sensors.Spec) (sensors.Sensor, error) {
		device, err := deviceOf(spec.Settings)
		if err != nil {
			return nil, err
		}
		return &lidar{spec: spec, device: device, rolling: spec.Settings.Bool("rolling"), organized: spec.Settings.Bool("organized")}, nil
	},
}

// uniformOnly are the attributes that a device's firing table decides.
var uniformOnly = []string{"channels", "upper_fov", "lower_fov", "horizontal_fov"}

// deviceOf makes the device that the settings describe.
func deviceOf(s *sensors.Settings) (Device, error) {
	d, err := unlimitedDevice(s)
	if err != nil {
		return Device{}, err
	}
	if columns := s.Int("columns"); columns > 0 {
		d.StepDeg *= float64(d.Columns) / float64(columns)
		d.Columns = columns
	}
	if r := s.Float("range"); r > 0 {
		d.limit(r)
	}
	if r := s.Float("range_min"); r > 0 {
		d.MinM = r
	}
	if d.MinM >= d.MaxM {
		return Device{}, fmt.Errorf("%w: range_min %v is not below range %v", sensors.ErrValue, d.MinM, d.MaxM)
	}
	return d, nil
}

// unlimitedDevice is the preset, or the uniform lidar of the settings, with its own
// columns and ranges.
func unlimitedDevice(s *sensors.Settings) (Device, error) {
	d, ok := Preset(s.String("preset"))
	if !ok {
		upper, lower := s.Float("upper_fov"), s.Float("lower_fov")
		if upper < lower {
			return Device{}, fmt.Errorf("%w: upper_fov %v is below lower_fov %v", sensors.ErrValue, upper, lower)
		}
		return UniformDevice(s.Int("channels"), uniformColumns, upper, lower, s.Float("horizontal_fov")), nil
	}
	for _, name := range uniformOnly {
		if s.IsSet(name) {
			return Device{}, fmt.Errorf("%w: %s shapes a uniform lidar, and preset %s has a firing table: set preset: uniform, or leave %s out",
				sensors.ErrValue, name, d.Name, name)
		}
	}
	return d, nil
}

// uniformColumns is the columns of a uniform lidar where none are given.
const uniformColumns = 1800

// limit bounds the range of all lasers, or widens that of the device.
func (d *Device) limit(maximum float64) {
	d.MaxM = maximum
	lasers := make([]Laser, len(d.Lasers))
	copy(lasers, d.Lasers)
	for i := range lasers {
		lasers[i].MaxM = min(lasers[i].MaxM, maximum)
	}
	d.Lasers = lasers
}
