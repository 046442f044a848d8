package mcap

import (
	"reflect"
	"slices"
	"strings"

	"github.com/raybridge/raybridge/sensors/sample"
)

// lacking has the fields of ground truth that messages have no place for, by the message's
// type in ROS 2's words. A test holds it against what comes back from a recording.
var lacking = map[string]map[reflect.Type][]string{
	"vision_msgs/msg/Detection2DArray": {detections2D: {
		"Width", "Height", "Boxes.TypeID", "Boxes.Tag", "Boxes.Pixels", "Boxes.Occlusion", "Boxes.Truncation", "Boxes.Twist.Linear", "Boxes.Twist.Angular",
	}},
	"vision_msgs/msg/Detection3DArray": {detections3D: {
		"Boxes.TypeID", "Boxes.Tag", "Boxes.Occlusion", "Boxes.Twist.Linear", "Boxes.Twist.Angular", "Boxes.Acceleration",
	}},
	"lgsvl_msgs/msg/Detection2DArray": {detections2D: {"Width", "Height", "Boxes.TypeID", "Boxes.Tag", "Boxes.Pixels", "Boxes.Occlusion", "Boxes.Truncation"}},
	"lgsvl_msgs/msg/Detection3DArray": {detections3D: {"Boxes.TypeID", "Boxes.Tag", "Boxes.Occlusion", "Boxes.Acceleration"}},
	"foxglove.ImageAnnotations": {detections2D: {
		"Width", "Height", "Boxes.TypeID", "Boxes.Tag", "Boxes.Score", "Boxes.Pixels", "Boxes.Occlusion", "Boxes.Truncation", "Boxes.Twist.Linear", "Boxes.Twist.Angular",
	}},
	"foxglove.SceneUpdate": {detections3D: {
		"Boxes.Tag", "Boxes.Score", "Boxes.Occlusion", "Boxes.Twist.Linear", "Boxes.Twist.Angular", "Boxes.Acceleration",
	}},
	"sensor_msgs/msg/PointCloud2":           {reflect.TypeFor[*sample.Radar](): {"Detections.Instance", "Detections.Tag"}},
	"carla_msgs/msg/CarlaCollisionEvent":    {reflect.TypeFor[*sample.Collision](): {"Actor", "ActorType", "OtherType"}},
	"carla_msgs/msg/CarlaLaneInvasionEvent": {reflect.TypeFor[*sample.LaneInvasion](): {"Actor", "Marks.ID", "Marks.Color"}},
}

var (
	detections2D = reflect.TypeFor[*sample.Detections2D]()
	detections3D = reflect.TypeFor[*sample.Detections3D]()
)

// Lacks returns the fields of a sample of ground truth that a message of the named type has no
// place for. They are zero in what is read of it. The type is ROS 2's, ROS 1's or Foxglove's. A
// field of a list's items is named as in Boxes.Tag. Samples of other types, and their headers, aren't looked at.
func Lacks(messageType string, sampleType reflect.Type) []string {
	if space, name, ok := strings.Cut(messageType, "/"); ok && !strings.Contains(name, "/") {
		messageType = space + "/msg/" + name
	}
	return slices.Clone(lacking[messageType][sampleType])
}
