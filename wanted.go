package raybridge

import (
	"slices"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/config"
)

// Wants lists the sensors that the bridges of a run want. Open adds those that the rig hasn't got, for these bridges alone.
func Wants(run *config.Config, registry *bridges.Registry) (list []bridges.Want) {
	for _, b := range run.Bridges {
		list = slices.Concat(list, infoOf(registry, b.Type).Wants)
	}
	return list
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
