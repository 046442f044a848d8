package rig

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// topicPart is what ROS allows between two slashes of a topic, if it has no doubled
// underscores (design.ros2.org/articles/topic_and_service_names.html).
var topicPart = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// forbidden are the signs that become one underscore.
var forbidden = regexp.MustCompile(`[^A-Za-z0-9]+`)

// TopicName returns the topic that is published for a rig's: the same where ROS allows
// its name. In a part between slashes that ROS forbids, signs that are neither ASCII
// letters nor digits become an underscore: one for several, none at the part's ends. A
// part that then begins with a digit gets an n before it.
func TopicName(topic string) string {
	parts := strings.Split(topic, "/")
	for i, part := range parts {
		if part == "" || topicPart.MatchString(part) && !strings.Contains(part, "__") {
			continue
		}
		part = strings.Trim(forbidden.ReplaceAllString(part, "_"), "_")
		if part == "" || part[0] >= '0' && part[0] <= '9' {
			part = "n" + part
		}
		parts[i] = part
	}
	return strings.Join(parts, "/")
}

// noteTopics notes the topics whose names ROS forbids, with what is published in their
// place.
func (r *Rig) noteTopics() {
	r.Notices = append(r.Notices, r.ControlTopicNotice()...)
	for i := range r.Sensors {
		e := &r.Sensors[i]
		written, key := e.Topic, "topic"
		if strings.TrimSuffix(written, "/") == "" {
			written, key = e.Name, "name"
		}
		r.noteTopic(e, key, written)
		for _, output := range slices.Sorted(maps.Keys(e.Topics)) {
			r.noteTopic(e, topicsKey+"."+output, e.Topics[output])
		}
	}
}

// ControlTopicNotice says which topic takes the place of a ControlTopic that ROS forbids:
// a notice, or none.
func (r *Rig) ControlTopicNotice() []Notice {
	return TopicNotice(r.file, "control_topic", r.ControlTopic)
}

// TopicNotice says which topic takes the place of one that ROS forbids, and that stands at
// a path of a file: a notice, or none.
func TopicNotice(file, path, topic string) []Notice {
	allowed := TopicName(topic)
	if allowed == topic {
		return nil
	}
	return []Notice{{File: file, Path: path, Text: fmt.Sprintf("ROS forbids the topic %s, %s takes its place", topic, allowed)}}
}

func (r *Rig) noteTopic(e *Entry, key, written string) {
	topic, err := absolute(written)
	if asked := "/" + strings.Trim(written, "/"); err == nil && topic != asked {
		r.Notices = append(r.Notices, noticeOf(e.fault(key, fmt.Errorf("ROS forbids the topic %s, %s takes its place", asked, topic)), false))
	}
}
