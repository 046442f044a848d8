package pipeline

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/spatial"
)

// wanted are the sensors that are wanted beside none.
func wanted(wants []bridges.Want) (list []sensors.Config) {
	for _, w := range wants {
		if w.Beside == "" && !slices.ContainsFunc(list, func(c sensors.Config) bool { return c.ID == w.Sensor }) {
			list = append(list, sensors.Config{
				ID: w.Sensor, Name: w.Name, Frame: spatial.FrameBaseLink, Topic: w.Topic, Attributes: w.Attributes, Wanted: true,
			})
		}
	}
	return list
}

// companions are the sensors that are wanted beside some, as far as there are none among all of a rig.
func companions(some, all []sensors.Config, registry *sensors.Registry, wants []bridges.Want) (list []sensors.Config) {
	for i := range some {
		for _, w := range wants {
			c, ok := companion(&some[i], w, registry)
			is := func(other sensors.Config) bool { return other.ID == c.ID && other.Beside == c.Beside }
			if ok && !slices.ContainsFunc(all, is) && !slices.ContainsFunc(list, is) {
				list = append(list, c)
			}
		}
	}
	return list
}

// sight are the attributes that a sensor has in common with the one that it is wanted beside.
var sight = []string{
	"image_size_x", "image_size_y", "fov", "near_clip", "far_clip", "principal_point",
	"lens", "distortion", "xi", "calibration", "camera", "fx", "fy", "cx", "cy", "skew", "alpha", "polynomial", "polynomial_type", "linear", "max_angle", "table",
	"shutter", "line_time", "readout", "exposure_time", "stamp",
}

// companion is the sensor that is wanted beside another, if that is of the type. It has the other's frame.
func companion(other *sensors.Config, w bridges.Want, registry *sensors.Registry) (c sensors.Config, ok bool) {
	spec, err := other.Resolve(registry)
	if err != nil || w.Beside == "" || spec.Definition.ID != w.Beside {
		return c, false // AddSensor tells of the error
	}
	own, err := registry.Get(w.Sensor)
	if err != nil {
		return c, false
	}
	c = sensors.Config{
		ID: w.Sensor, Name: other.Name + "." + w.Name, Wanted: true, Beside: other.Name, Rate: spec.Rate, AttachTo: other.AttachTo,
		Parent: other.Parent, Frame: cmp.Or(other.Frame, other.Name), FrameID: other.FrameID, Pose: other.Pose,
		Topic: cmp.Or(strings.TrimSuffix(other.Topic, "/"), other.Name) + "/" + w.Name, Attributes: maps.Clone(w.Attributes),
	}
	if c.Attributes == nil {
		c.Attributes = map[string]any{}
	}
	for _, name := range sight {
		theirs := spec.Definition.Attribute(name)
		if own.Attribute(name) == nil || theirs == nil {
			continue
		}
		if spec.Settings.IsSet(name) || !follows(name, spec.Settings) && !reflect.DeepEqual(own.Attribute(name).Default, theirs.Default) {
			c.Attributes[name] = spec.Settings.Value(name)
		}
	}
	if s := spec.Settings; s.IsSet("shutter_speed") && !s.IsSet("exposure_time") && s.Value("shutter") == "rolling" {
		c.Attributes["exposure_time"] = 1 / s.Value("shutter_speed").(float64)
	}
	return c, true
}

// follows reports whether an attribute of a camera that isn't set follows from others that are.
func follows(name string, of *sensors.Settings) bool {
	switch name {
	case "fov":
		return of.IsSet("calibration") || of.IsSet("fx")
	case "image_size_x", "image_size_y":
		return of.IsSet("calibration")
	}
	return false
}
