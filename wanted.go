package raybridge

import (
	"slices"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/config"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/spatial"
)

// Wanted lists the sensors that the bridges of a run want and its rig hasn't got. Open adds them,
// for these bridges alone. They have no frame of their own, so that the transforms of all others are what they would be without them.
func Wanted(run *config.Config, registry *bridges.Registry) (list []sensors.Config) {
	for _, b := range run.Bridges {
		for _, w := range infoOf(registry, b.Type).Wants {
			is := func(c sensors.Config) bool { return c.ID == w.Sensor }
			if !slices.ContainsFunc(run.Sensors, is) && !slices.ContainsFunc(list, is) {
				list = append(list, sensors.Config{ID: w.Sensor, Name: w.Name, Frame: spatial.FrameBaseLink, Topic: w.Topic})
			}
		}
	}
	return list
}

// unwanted are the topics of the wanted sensors that a bridge doesn't want. They may be large.
func unwanted(wanted []sensors.Config, info bridges.Info) (topics []string) {
	for _, c := range wanted {
		if !slices.ContainsFunc(info.Wants, func(w bridges.Want) bool { return w.Sensor == c.ID }) {
			topics = append(topics, c.Topic)
		}
	}
	return topics
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
