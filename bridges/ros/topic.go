package ros

import (
	"regexp"
	"strings"
)

// topicName is a fully qualified topic of ROS 2 (design.ros2.org, topic and
// service names): tokens of letters, digits and underscores that don't begin
// with a digit, each after a slash.
var topicName = regexp.MustCompile(`^(/[A-Za-z_][A-Za-z0-9_]*)+$`)

// ValidTopic reports whether ROS 2 allows name as a fully qualified topic. Doubled
// underscores are reserved.
func ValidTopic(name string) bool {
	return topicName.MatchString(name) && !strings.Contains(name, "__")
}
