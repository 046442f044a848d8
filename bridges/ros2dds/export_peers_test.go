//go:build cgo && peers && ros2dds

package ros2dds

import (
	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/ros"
)

// Publish opens a topic for messages that need no conversion.
func Publish(i bridges.Instance, info *bridges.PublishedTopic, typeName string) (ros.Send, error) {
	return i.(*instance).publish(info, typeName)
}
