package pipeline

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/internal/doc"
	"github.com/raybridge/raybridge/pipeline/carry"
	"github.com/raybridge/raybridge/rig"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/spatial"
)

// CheckRig returns the topics of a rig's sensors in order, or the error for which
// AddRig would refuse it. It needs no pipeline and no OpenGL.
func CheckRig(r *rig.Rig, registry *sensors.Registry) (topics []string, err error) {
	bySensor, err := RigTopics(r, registry)
	return slices.Concat(bySensor...), err
}

// CheckRun is CheckRig of the rig of a run, which adds what publishes its frames, and what its bridges want. Their
// topics come first, and no sensor of the rig may have one of them.
func CheckRun(r *rig.Rig, registry *sensors.Registry, wants []bridges.Want) (topics []string, err error) {
	var whole rig.Rig
	for _, c := range append([]sensors.Config{transforms}, wanted(wants)...) {
		if joins(&c, r.Sensors, func(s sensors.Config) (id, name string) { return s.ID, s.Name }) {
			whole.Sensors = append(whole.Sensors, c)
		}
	}
	whole.Sensors = slices.Concat(whole.Sensors, companions(r.Sensors, r.Sensors, registry, wants), r.Sensors)
	return CheckRig(&whole, registry)
}

// RigTopics is CheckRig with a list of topics for each sensor.
func RigTopics(r *rig.Rig, registry *sensors.Registry) (bySensor [][]string, err error) {
	list, err := newSensors(r, registry, 0)
	if err != nil {
		return nil, err
	}
	for _, s := range list {
		bySensor = append(bySensor, s.Topics())
	}
	return bySensor, checkTopics(list)
}

// newSensors makes the sensors of a rig from the given one on; they belong to no
// pipeline yet.
func newSensors(r *rig.Rig, registry *sensors.Registry, from int) ([]*Sensor, error) {
	resolved, err := r.Resolve(registry)
	if err != nil {
		return nil, err
	}
	var list []*Sensor
	var faults doc.Faults
	for i := range resolved[from:] {
		s, err := newSensor(resolved[from+i])
		if faults.Add(err) {
			break
		}
		list = append(list, s)
	}
	return list, faults.Err()
}

// topicOf is the topic that the rig gives an output or an input by its name, or else the
// sensor's topic with the suffix. "//x" is /x itself.
func topicOf(r *sensors.Spec, name, suffix string) string {
	if topic := r.Topics[name]; topic != "" {
		return topic
	}
	if absolute, ok := strings.CutPrefix(suffix, "//"); ok {
		return "/" + absolute
	}
	return r.Topic + suffix
}

// checkTopics refuses two outputs on one topic.
func checkTopics(list []*Sensor) error {
	owner := map[string]string{carry.ClockTopic: "the pipeline's clock"}
	var faults doc.Faults
	for _, s := range list {
		for _, o := range s.topics.Outlets {
			topic := o.Topic.Name
			if other, taken := owner[topic]; taken {
				faults.Add(s.fault("topics."+o.Spec().Name, fmt.Errorf("%w: %s of sensor %s, and of this one as %v", ErrTopic, topic, other, o.Spec().Type)))
				break // the others are its companions
			}
			owner[topic] = s.spec.Name
		}
	}
	return faults.Err()
}

// withDefaults returns entries with a run's defaults for attributes that they leave out.
func withDefaults(entries []sensors.Config, registry *sensors.Registry, defaults []bridges.Default) []sensors.Config {
	entries = slices.Clone(entries)
	for i := range entries {
		for _, d := range defaults {
			entries[i] = withDefault(entries[i], registry, d)
		}
	}
	return entries
}

// withDefault returns an entry with a default, unless it sets the attribute or one that rules it out.
func withDefault(c sensors.Config, registry *sensors.Registry, d bridges.Default) sensors.Config {
	spec, err := c.Resolve(registry)
	if err != nil || spec.Definition.ID != d.Sensor || spec.Settings.IsSet(d.Attribute) || slices.ContainsFunc(d.Unless, spec.Settings.IsSet) {
		return c
	}
	c.Attributes = maps.Clone(c.Attributes)
	if c.Attributes == nil {
		c.Attributes = map[string]any{}
	}
	c.Attributes[d.Attribute] = d.Value
	return c
}

// transforms is what AddTransforms adds.
var transforms = sensors.Config{ID: transformID, Name: "tf", Frame: spatial.FrameBaseLink}

// The types of the sensors that AddTransforms and AddCommands add, and of the one that is ahead of
// every frame's other data.
const (
	transformID = "sensor.other.transform"
	controlID   = "sensor.other.control"
	snapshotID  = "sensor.other.snapshot"
)

// joins reports whether a sensor that a run adds comes beside others: not where one has its type. Its name gives way to theirs.
func joins[T any](c *sensors.Config, others []T, is func(T) (id, name string)) bool {
	named := map[string]bool{}
	for _, other := range others {
		id, name := is(other)
		if named[name] = true; id == c.ID {
			return false
		}
	}
	for named[c.Name] {
		c.Name += "_"
	}
	return true
}
