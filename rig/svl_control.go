package rig

import "strings"

// control takes the topic of the first sensor that drives by commands.
func (r *svlReader) control(s *svlSensor) error {
	topic := strings.TrimSpace(s.made.text("Topic"))
	if s.kind.Driver != DriverExternal || topic == "" || r.rig.ControlTopic != "" {
		return nil
	}
	topic, err := absolute(topic)
	if err != nil {
		return s.node.Errorf("Topic: %w", err)
	}
	r.rig.ControlTopic = topic
	return nil
}
