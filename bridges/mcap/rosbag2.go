package mcap

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/flow"
)

// duration that rmw means by "not set", as rosbag2 writes it: the largest
// number of nanoseconds.
const unsetSeconds, unsetNanoseconds = 9223372036, 854775807

// qosProfile writes one offered QoS as rosbag2 does, as an item of a YAML list. Enums are by
// number (up to version 8) or by name (from version 9).
func qosProfile(q flow.QoS, metadata int) string {
	history, reliability, durability, liveliness := q.History.String(), q.Reliability.String(), q.Durability.String(), "automatic"
	if metadata < metadataJazzy {
		history = strconv.Itoa(int(q.History))
		reliability = strconv.Itoa(int(q.Reliability))
		durability = strconv.Itoa(int(q.Durability))
		liveliness = "1"
	}
	var s strings.Builder
	duration := func(name string, ns int64) {
		seconds, rest := ns/1e9, ns%1e9
		if ns == 0 {
			seconds, rest = unsetSeconds, unsetNanoseconds
		}
		fmt.Fprintf(&s, "  %s:\n    sec: %d\n    nsec: %d\n", name, seconds, rest)
	}
	fmt.Fprintf(&s, "- history: %s\n  depth: %d\n  reliability: %s\n  durability: %s\n", history, q.Depth, reliability, durability)
	duration("deadline", q.Deadline)
	duration("lifespan", 0)
	fmt.Fprintf(&s, "  liveliness: %s\n", liveliness)
	duration("liveliness_lease_duration", 0)
	s.WriteString("  avoid_ros_namespace_conventions: false")
	return s.String()
}

// bagTopic is a topic in metadata.yaml.
type bagTopic struct {
	name, wireType, encoding string
	hash                     string // of the type, as typeHash has it
	qos                      flow.QoS
	messages                 uint64
}

// typeHash returns the hash of a message type that is defined as we know it, "" of others.
func typeHash(name, encoding string, definition []byte) string {
	if known, err := ros.ROS2.Definition(name); err != nil || encoding != "ros2msg" || known != string(definition) {
		return ""
	}
	hash, err := ros.TypeHash(name)
	if err != nil {
		return ""
	}
	return hash
}

// bagFile is a file in metadata.yaml.
type bagFile struct {
	name       string // within the folder
	start, end uint64 // log times, nanoseconds
	messages   uint64
}

// bagMetadata is the content of a rosbag2 folder's metadata.yaml.
type bagMetadata struct {
	version int
	files   []bagFile // in their order, at least one
	topics  []bagTopic
}

// metadataFile is the name that rosbag2 looks for.
const metadataFile = "metadata.yaml"

// span returns the first and the last log time of all files and the number of their
// messages. Files without messages have no time.
func (m *bagMetadata) span() (start, end, messages uint64) {
	for _, f := range m.files {
		if f.messages > 0 && (messages == 0 || f.start < start) {
			start = f.start
		}
		end = max(end, f.end)
		messages += f.messages
	}
	return start, end, messages
}

// yaml writes metadata.yaml as rosbag2's metadata_io does for the version
// (rosbag2_storage/yaml.hpp).
func (m *bagMetadata) yaml() string {
	var s strings.Builder
	line := func(indent int, format string, args ...any) {
		s.WriteString(strings.Repeat("  ", indent))
		fmt.Fprintf(&s, format+"\n", args...)
	}
	start, end, messages := m.span()
	line(0, "rosbag2_bagfile_information:")
	line(1, "version: %d", m.version)
	line(1, "storage_identifier: mcap")
	line(1, "duration:\n    nanoseconds: %d", end-start)
	line(1, "starting_time:\n    nanoseconds_since_epoch: %d", start)
	line(1, "message_count: %d", messages)
	if len(m.topics) == 0 {
		line(1, "topics_with_message_count: []")
	} else {
		line(1, "topics_with_message_count:")
	}
	for _, t := range m.topics {
		t.yaml(line, m.version)
	}
	line(1, "compression_format: \"\"")
	line(1, "compression_mode: \"\"")
	line(1, "relative_file_paths:")
	for _, f := range m.files {
		line(2, "- %s", strconv.Quote(f.name))
	}
	line(1, "files:")
	for _, f := range m.files {
		line(2, "- path: %s", strconv.Quote(f.name))
		line(3, "starting_time:\n        nanoseconds_since_epoch: %d", f.start)
		line(3, "duration:\n        nanoseconds: %d", f.end-f.start)
		line(3, "message_count: %d", f.messages)
	}
	if m.version >= metadataJazzy {
		line(1, "custom_data: ~")
		line(1, "ros_distro: \"\"")
	}
	return s.String()
}

// yaml writes the topic as an item of topics_with_message_count; line writes one
// line with an indent.
func (t *bagTopic) yaml(line func(indent int, format string, args ...any), version int) {
	line(2, "- topic_metadata:")
	line(4, "name: %s", t.name)
	line(4, "type: %s", yamlString(t.wireType))
	line(4, "serialization_format: %s", yamlString(t.encoding))
	profile := qosProfile(t.qos, version)
	if version < metadataJazzy {
		line(4, "offered_qos_profiles: %s", strconv.Quote(profile))
	} else {
		line(4, "offered_qos_profiles:\n%s", indentLines(profile, 5))
	}
	line(4, "type_description_hash: %s", yamlString(t.hash))
	line(3, "message_count: %d", t.messages)
}

var plainYAML = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_/]*$`)

// yamlString quotes s where it could be read as something else.
func yamlString(s string) string {
	if plainYAML.MatchString(s) {
		return s
	}
	return strconv.Quote(s)
}

func indentLines(text string, indent int) string {
	prefix := strings.Repeat("  ", indent)
	return prefix + strings.ReplaceAll(text, "\n", "\n"+prefix)
}
