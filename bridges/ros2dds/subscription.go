//go:build cgo && ros2dds

package ros2dds

import (
	"fmt"

	"github.com/raybridge/raybridge/bridges/internal/cdr"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/bridges/ros2dds/internal/cyclone"
)

// subscription is one topic that is read. It has a reader with each connection.
type subscription struct {
	endpoint
	instance *instance
	typeName string // ROS 2's
	inbox    ros.Inbox
	decoder  cdr.Decoder // the reading goroutine's
}

// receive decodes and delivers a message, on the reading goroutine.
func (s *subscription) receive(data []byte, _ cyclone.Origin) {
	message := s.inbox.New()
	err := s.decoder.Decode(data, message)
	if err == nil {
		err = s.inbox.Deliver(message)
	}
	if err != nil {
		s.instance.malformed(fmt.Errorf("topic %s: %w", s.name, err))
	}
}
