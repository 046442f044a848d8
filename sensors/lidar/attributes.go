package lidar

import (
	"fmt"
	"math"

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
