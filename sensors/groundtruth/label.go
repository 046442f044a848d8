package groundtruth

import (
	"strings"

	"github.com/raybridge/raybridge/scene"
)

// labels are SVL's names for kinds of actors, by the beginning of a type id. The
// longest beginning holds.
var labels = map[string]string{
	"vehicle.ego":        "Sedan",
	"vehicle.sedan":      "Sedan",
	"vehicle.taxi":       "Sedan",
	"vehicle.wagon":      "Sedan",
	"vehicle.hatchback":  "Hatchback",
	"vehicle.suv":        "SUV",
	"vehicle.jeep":       "Jeep",
	"vehicle.van":        "BoxTruck",
	"vehicle.truck":      "BoxTruck",
	"vehicle.bus":        "SchoolBus",
	"vehicle.bicycle":    "Bicycle",
	"vehicle.motorcycle": "Motorcycle",
	"walker.":            "Pedestrian",
}

// tagLabels are the labels of actors whose type id says nothing, by their tag; these
// are the tags that make an actor count.
var tagLabels = map[scene.Tag]string{
	scene.TagPedestrian: "Pedestrian",
	scene.TagRider:      "Pedestrian",
	scene.TagCar:        "Sedan",
	scene.TagTruck:      "BoxTruck",
	scene.TagBus:        "SchoolBus",
	scene.TagTrain:      "Train",
	scene.TagMotorcycle: "Motorcycle",
	scene.TagBicycle:    "Bicycle",
}

// Label returns the class of an actor as SVL's users know it, by its type id or else its
// tag; ok is false for an actor that ground truth doesn't count.
func Label(typeID string, tag scene.Tag) (label string, ok bool) {
	longest := ""
	for prefix, l := range labels {
		if len(prefix) > len(longest) && strings.HasPrefix(typeID, prefix) {
			label, longest = l, prefix
		}
	}
	if longest != "" {
		return label, true
	}
	if label, ok = tagLabels[tag]; ok {
		return label, true
	}
	return "Sedan", strings.HasPrefix(typeID, "vehicle.")
}
