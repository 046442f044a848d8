package raybridge

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/config"
	"github.com/raybridge/raybridge/sensors"
	sensorsall "github.com/raybridge/raybridge/sensors/all"
	"github.com/raybridge/raybridge/spatial"
)

// Wanted lists the sensors that the bridges of a run want and its rig hasn't got. Open adds them,
// for these bridges alone. They have no frame of their own, so that the transforms of all others are what they would be without them.
func Wanted(run *config.Config, registry *bridges.Registry) (list []sensors.Config) {
	add := func(c sensors.Config, among []sensors.Config) {
		is := func(other sensors.Config) bool { return other.ID == c.ID && other.Beside == c.Beside }
		if !slices.ContainsFunc(among, is) && !slices.ContainsFunc(list, is) {
			list = append(list, c)
		}
	}
	for _, b := range run.Bridges {
		for _, w := range infoOf(registry, b.Type).Wants {
			if w.Beside == "" {
				add(sensors.Config{ID: w.Sensor, Name: w.Name, Frame: spatial.FrameBaseLink, Topic: w.Topic, Attributes: w.Attributes}, run.Sensors)
				continue
			}
			for i := range run.Sensors {
				if c, ok := wantedBeside(&run.Sensors[i], w); ok {
					add(c, nil)
				}
			}
		}
	}
	return list
}

// sight are the attributes that a sensor has in common with the one that it is wanted beside.
var sight = []string{"image_size_x", "image_size_y", "fov", "near_clip", "far_clip", "principal_point", "lens", "distortion", "xi"}

// wantedBeside is the sensor that a bridge wants beside another, if that is of the type. It has the other's frame.
func wantedBeside(other *sensors.Config, w bridges.Want) (c sensors.Config, ok bool) {
	spec, err := other.Resolve(sensorsall.Registry())
	if err != nil || spec.Definition.ID != w.Beside {
		return c, false // AddRig tells of an error
	}
	own, err := sensorsall.Registry().Get(w.Sensor)
	if err != nil {
		return c, false
	}
	c = sensors.Config{
		ID: w.Sensor, Name: other.Name + "." + w.Name, Beside: other.Name, Rate: spec.Rate, AttachTo: other.AttachTo,
		Parent: other.Parent, Frame: cmp.Or(other.Frame, other.Name), FrameID: other.FrameID, Pose: other.Pose,
		Topic: cmp.Or(strings.TrimSuffix(other.Topic, "/"), other.Name) + "/" + w.Name, Attributes: maps.Clone(w.Attributes),
	}
	if c.Attributes == nil {
		c.Attributes = map[string]any{}
	}
	for _, name := range sight {
		if own.Attribute(name) != nil && spec.Definition.Attribute(name) != nil {
			c.Attributes[name] = spec.Settings.Value(name)
		}
	}
	return c, true
}

// addWanted adds the sensors that bridges want. without returns the topics of those that a bridge doesn't want: they may be large.
func (s *Sim) addWanted(run *config.Config, registry *bridges.Registry) (without func(bridges.Info) []string, err error) {
	wanted := Wanted(run, registry)
	topics := make([][]string, len(wanted))
	for i, c := range wanted {
		if c.Beside == "" {
			topics[i], err = []string{c.Topic}, s.AddOnce(c)
		} else if added, addErr := s.AddSensor(c); addErr == nil {
			topics[i] = added.Topics()
		} else {
			err = addErr
		}
		if err != nil {
			return nil, err
		}
	}
	return func(info bridges.Info) (list []string) {
		for i, c := range wanted {
			if !slices.ContainsFunc(info.Wants, func(w bridges.Want) bool { return w.Sensor == c.ID }) {
				list = append(list, topics[i]...)
			}
		}
		return list
	}, nil
}

// defaults are those that the bridges of a run have for its sensors.
func defaults(run *config.Config, registry *bridges.Registry) (list []bridges.Default) {
	for _, b := range run.Bridges {
		list = append(list, infoOf(registry, b.Type).Defaults...)
	}
	return list
}

// infoOf is what a bridge says of itself, nothing for a name that no bridge has: AddBridge tells of it.
func infoOf(registry *bridges.Registry, name string) bridges.Info {
	plugin, err := registry.Plugin(name)
	if err != nil {
		return bridges.Info{}
	}
	return plugin.Info()
}
