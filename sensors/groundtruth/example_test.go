package groundtruth_test

import (
	"fmt"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/groundtruth"
)

// The sensors know actors by their type ids and tags; a registry knows the sensors by
// theirs.
func Example() {
	registry := sensors.Must(sensors.NewRegistry(groundtruth.Boxes2DDefinition, groundtruth.Boxes3DDefinition))
	for _, d := range registry.Match("ground_truth") {
		fmt.Println(d.ID, d.Number)
	}
	fmt.Println(groundtruth.Label("vehicle.bus", scene.TagBus))
	fmt.Println(groundtruth.Label("prop.runner", scene.TagPedestrian))
	// Output:
	// sensor.ground_truth.boxes_2d 70
	// sensor.ground_truth.boxes_3d 71
	// SchoolBus true
	// Pedestrian true
}
