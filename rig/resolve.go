package rig

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/raybridge/raybridge/internal/closest"
	"github.com/raybridge/raybridge/internal/doc"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/spatial"
)

// Sensor is one sensor of a resolved rig.
type Sensor struct {
	Spec  sensors.Spec
	Topic string // absolute, without a trailing slash
	// Topics are the absolute topics of single outputs, by the output's name; the
	// others begin with Topic.
	Topics map[string]string
	Rate   string // Hz, as simtime.ParseRate reads it
	Always bool
	// Relative is the mounting pose in Spec.ParentFrame.
	Relative spatial.Pose

	entry *Entry
}

// Fault places an error: at one of the sensor's own keys ("rate", "topic",
// "topics.image") in its file, or where the sensor begins if the key is "" or isn't
// written; where topics doesn't have an output, topic is meant. The result wraps
// err; it is a *doc.Error if the sensor came from a file.
func (s *Sensor) Fault(key string, err error) error {
	if strings.HasPrefix(key, topicsKey+".") && s.entry.own[key] == nil {
		key = "topic"
	}
	return s.entry.fault(key, err)
}

// fault places an error at one of the entry's own keys.
func (e *Entry) fault(key string, err error) error {
	if at := e.own[key]; at != nil {
		return at.Errorf("%w", err)
	}
	if key != "" {
		err = fmt.Errorf("%s: %w", key, err)
	}
	return e.errorf("%w", err)
}

// Resolve checks the rig against the registry and works out frames, mounts,
// topics and settings. Every error names its place in the file where there is one.
func (r *Rig) Resolve(registry *sensors.Registry) ([]Sensor, error) {
	resolved := make([]Sensor, len(r.Sensors))
	names := map[string]bool{}
	for i := range r.Sensors {
		e := &r.Sensors[i]
		if e.Name == "" || strings.ContainsAny(e.Name, " /\t\n") {
			return nil, e.errorf("%w: %q, need a word without spaces and slashes", ErrName, e.Name)
		}
		if names[e.Name] {
			return nil, e.errorf("%w: two sensors are named %q", ErrName, e.Name)
		}
		names[e.Name] = true
		s, err := e.resolve(registry)
		if err != nil {
			return nil, err
		}
		resolved[i] = s
	}
	return resolved, r.mount(resolved)
}

// DropUnknown leaves out the attributes that the registry's types don't have, with a
// notice for each.
func (r *Rig) DropUnknown(registry *sensors.Registry) {
	for i := range r.Sensors {
		e := &r.Sensors[i]
		d, err := registry.Get(e.ID)
		if err != nil {
			continue // Resolve says so
		}
		var kept []Attribute
		for _, a := range e.Attributes {
			if slices.Contains(d.AttributeNames(), a.Name) {
				kept = append(kept, a)
				continue
			}
			r.Notices = append(r.Notices, noticeOf(e.misplaced(a, d.NewSettings().Set(a.Name, a.Value)), true))
		}
		e.Attributes = kept
	}
}

// noteInert notes the attributes whose value differs from the default and that change
// nothing: they have the name of another program's. Those of a sensor that have one
// reason are in one notice, at the place of the first.
func (r *Rig) noteInert(registry *sensors.Registry) {
	for i := range r.Sensors {
		e := &r.Sensors[i]
		d, err := registry.Get(e.ID)
		if err != nil {
			continue // Resolve says so
		}
		names, first := map[string][]string{}, []Attribute(nil) // by reason, and one for each
		var reasons []string
		for _, a := range e.Attributes {
			why := inert(d, a)
			if why == "" {
				continue
			}
			if names[why] == nil {
				reasons, first = append(reasons, why), append(first, a)
			}
			names[why] = append(names[why], a.Name)
		}
		for k, why := range reasons {
			verb := "change"
			if len(names[why]) == 1 {
				verb = "changes"
			}
			text := fmt.Errorf("%s %s nothing: %s", strings.Join(names[why], ", "), verb, why)
			r.Notices = append(r.Notices, noticeOf(e.misplaced(first[k], text), true))
		}
	}
}

// inert says why an attribute's value changes nothing, "" if it may.
func inert(d *sensors.Definition, a Attribute) string {
	at := slices.IndexFunc(d.Attributes, func(x sensors.Attribute) bool { return x.Name == a.Name })
	if at < 0 || d.Attributes[at].Inert == "" {
		return ""
	}
	v, err := d.Attributes[at].Parse(a.Value)
	if err != nil || reflect.DeepEqual(v, d.Attributes[at].Default) {
		return ""
	}
	return d.Attributes[at].Inert
}

// misplaced places an error at an attribute's value.
func (e *Entry) misplaced(a Attribute, err error) error {
	if a.place == nil {
		return e.errorf("%w", err)
	}
	return a.place.Errorf("%w", err)
}

func (e *Entry) errorf(format string, args ...any) error {
	if e.place == nil {
		return fmt.Errorf("sensor %s: %w", e.Name, fmt.Errorf(format, args...))
	}
	return e.place.Errorf(format, args...)
}

func (e *Entry) resolve(registry *sensors.Registry) (Sensor, error) {
	d, err := registry.Get(e.ID)
	if err != nil {
		return Sensor{}, e.errorf("%w", err)
	}
	settings := d.NewSettings()
	for _, a := range e.Attributes {
		if err := settings.Set(a.Name, a.Value); err != nil {
			return Sensor{}, e.misplaced(a, err)
		}
	}
	s := Sensor{
		Spec: sensors.Spec{
			Definition: d, Name: e.Name, Frame: e.Frame, FrameID: e.FrameID, ParentFrame: e.Parent, Settings: settings,
		},
		Rate: e.Rate, Always: e.Always, Relative: e.Pose.Spatial(), entry: e,
	}
	if s.Rate == "" {
		s.Rate = d.DefaultRate
	}
	if err := s.nameFrames(); err != nil {
		return Sensor{}, err
	}
	return s, s.nameTopics()
}

// nameFrames fills in the frames that aren't given and checks the others.
func (s *Sensor) nameFrames() error {
	if s.Spec.Frame == "" {
		s.Spec.Frame = s.Spec.Name
	}
	if s.Spec.FrameID == "" {
		s.Spec.FrameID = s.Spec.Frame
	}
	if s.Spec.ParentFrame == "" {
		s.Spec.ParentFrame = spatial.FrameBaseLink
	}
	for _, f := range []struct{ key, name string }{{"frame", s.Spec.Frame}, {"frame_id", s.Spec.FrameID}} {
		if strings.ContainsAny(f.name, " \t\n") || strings.HasPrefix(f.name, "/") {
			return s.Fault(f.key, fmt.Errorf("%w %q, need a name without spaces and leading slash", ErrFrame, f.name))
		}
	}
	return nil
}

// nameTopics works out the start of the topics, and the topics of single outputs.
func (s *Sensor) nameTopics() error {
	written := s.entry.Topic
	if strings.TrimSuffix(written, "/") == "" {
		written = s.entry.Name
	}
	topic, err := absolute(written)
	if err != nil {
		return s.Fault("topic", err)
	}
	s.Topic, s.Topics = topic, map[string]string{}
	var outputs, inputs []string
	for i := range s.Spec.Definition.Outputs {
		outputs = append(outputs, s.Spec.Definition.Outputs[i].Name)
	}
	for i := range s.Spec.Definition.Inputs {
		inputs = append(inputs, s.Spec.Definition.Inputs[i].Name)
	}
	outputs = append(outputs, inputs...)
	for _, output := range slices.Sorted(maps.Keys(s.entry.Topics)) { // of two faults always the same is told
		key := topicsKey + "." + output
		if !slices.Contains(outputs, output) {
			return s.Fault(key, fmt.Errorf("%w %q of %s, %s", ErrOutput, output, s.Spec.Definition.ID, closest.Hint(output, outputs)))
		}
		if s.entry.Topics[output] == "" && slices.Contains(inputs, output) {
			s.Topics[output] = "" // it is not brought
			continue
		}
		if s.Topics[output], err = absolute(s.entry.Topics[output]); err != nil {
			return s.Fault(key, err)
		}
	}
	return nil
}

// absolute returns a topic with a leading slash and without a trailing one, by a name that
// ROS allows.
func absolute(topic string) (string, error) {
	t := "/" + strings.TrimPrefix(strings.TrimSuffix(topic, "/"), "/")
	if len(t) == 1 || strings.ContainsAny(t, " \t\n") || strings.Contains(t, "//") {
		return "", fmt.Errorf("%w %q, need names without spaces between single slashes", ErrTopic, topic)
	}
	return TopicName(t), nil
}

// maxParents is how many sensors may lie between a sensor and base_link.
const maxParents = 100

// mount composes each sensor's pose with its parents' up to base_link.
func (r *Rig) mount(resolved []Sensor) error {
	byFrame := map[string]int{}
	for i := range resolved {
		frame := resolved[i].Spec.Frame
		if frame == spatial.FrameBaseLink {
			continue // measures the vehicle itself
		}
		k, taken := byFrame[frame]
		if !taken {
			byFrame[frame] = i
			continue
		}
		if a, b := &resolved[k], &resolved[i]; a.Relative != b.Relative || a.Spec.ParentFrame != b.Spec.ParentFrame {
			return b.Fault("frame", fmt.Errorf("%w %q: sensor %s, which has the same, is mounted elsewhere", ErrFrame, frame, a.Spec.Name))
		}
	}
	for i := range resolved {
		pose, parent := resolved[i].Relative, resolved[i].Spec.ParentFrame
		depth := 0
		for ; parent != spatial.FrameBaseLink; depth++ {
			p, ok := byFrame[parent]
			if !ok {
				frames := append(slices.Sorted(maps.Keys(byFrame)), spatial.FrameBaseLink)
				return r.Sensors[i].errorf("%w: %q is neither %s nor a sensor's frame, %s", ErrParent, parent, spatial.FrameBaseLink, closest.Hint(parent, frames))
			}
			if depth > len(resolved) {
				return r.Sensors[i].errorf("%w: the parents of %q form a circle", ErrParent, resolved[i].Spec.Name)
			}
			pose, parent = resolved[p].Relative.Compose(pose), resolved[p].Spec.ParentFrame
		}
		if depth > maxParents {
			return r.Sensors[i].errorf("%w: %q has %d parents in a row, need at most %d", ErrParent, resolved[i].Spec.Name, depth, maxParents)
		}
		resolved[i].Spec.Mount = pose
	}
	return nil
}

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

// Note adds notices of what a rig may not mean. These are attributes that change nothing,
// topics that get another name, and values that are allowed and far from usual. The
// registry has the types.
func (r *Rig) Note(registry *sensors.Registry) {
	r.noteInert(registry)
	r.noteTopics()
	for i := range r.Sensors {
		if d, err := registry.Get(r.Sensors[i].ID); err == nil { // else Resolve says so
			r.noteAttributes(&r.Sensors[i], d)
		}
	}
	if list, err := r.Resolve(registry); err == nil {
		for i := range list {
			r.noteMount(&list[i])
		}
	}
}

// noteAttributes notes values outside their usual range.
func (r *Rig) noteAttributes(e *Entry, d *sensors.Definition) {
	for _, a := range e.Attributes {
		for k := range d.Attributes {
			if d.Attributes[k].Name != a.Name {
				continue
			}
			if err := d.Attributes[k].Unusual(a.Value); err != nil {
				r.Notices = append(r.Notices, noticeOf(e.misplaced(a, err), false))
			}
		}
	}
}

// How far from base_link, which is on the ground, sensors are usually mounted, metres.
const (
	usualReach  = 30.0
	usualDepth  = 0.5
	usualHeight = 30.0
)

// noteMount notes a sensor that is far from the vehicle, or in the ground below it.
func (r *Rig) noteMount(s *Sensor) {
	at := s.Spec.Mount.Position
	var unusual []string
	if max(at.X(), -at.X()) > usualReach || max(at.Y(), -at.Y()) > usualReach {
		unusual = append(unusual, fmt.Sprintf("x %.4g m, y %.4g m from base_link: up to %v m are usual", at.X(), at.Y(), usualReach))
	}
	switch {
	case at.Z() < -usualDepth:
		unusual = append(unusual, fmt.Sprintf("%.4g m under the ground: 0 to %v m above it are usual", -at.Z(), usualHeight))
	case at.Z() > usualHeight:
		unusual = append(unusual, fmt.Sprintf("%.4g m above the ground: 0 to %v m are usual", at.Z(), usualHeight))
	}
	if unusual != nil {
		r.Notices = append(r.Notices, noticeOf(s.entry.fault("pose", fmt.Errorf("sensor %s is mounted %s", s.Spec.Name, strings.Join(unusual, ", and "))), false))
	}
}

// Notice is something about a rig that its user should know and that is no error.
type Notice struct {
	// File, Line and Column are the place, 1-based; Path leads to it in the document.
	File         string
	Line, Column int
	Path         string
	// Text says what is so, as an error would.
	Text string
	// Lost: something in the file has no counterpart here and does nothing.
	// Otherwise it was understood, or put up with.
	Lost bool
}

// String returns the notice with its place: "rig.json:3:7: [2].params: ...".
func (n Notice) String() string {
	return (&doc.Error{File: n.File, Line: n.Line, Column: n.Column, Path: n.Path, Err: errors.New(n.Text)}).Error()
}

// brief returns the notice with its line alone, for comments in a file that says
// elsewhere which file is meant.
func (n Notice) brief() string {
	text := strings.TrimPrefix(n.Text, noCounterpart)
	if n.Line == 0 {
		return text
	}
	return fmt.Sprintf("line %d: %s", n.Line, text)
}

// noCounterpart begins the texts of what is lost.
const noCounterpart = "no counterpart: "

// noticeOf turns an error into a notice at its place.
func noticeOf(err error, lost bool) Notice {
	n := Notice{Text: err.Error(), Lost: lost}
	var placed *doc.Error
	if errors.As(err, &placed) {
		n.File, n.Line, n.Column, n.Path, n.Text = placed.File, placed.Line, placed.Column, placed.Path, placed.Err.Error()
	}
	return n
}
