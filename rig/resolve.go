package rig

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/raybridge/raybridge/internal/doc"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/spatial"
)

// Resolve checks the rig against the registry and works out frames, mounts,
// topics and settings. It goes on behind an error, and joins them. Every error names its place in the file where there is one.
func (r *Rig) Resolve(registry *sensors.Registry) ([]sensors.Spec, error) {
	resolved := make([]sensors.Spec, len(r.Sensors))
	names := map[string]bool{}
	var faults doc.Faults
	for i := range r.Sensors {
		e := &r.Sensors[i]
		named := true
		switch {
		case e.Name == "" || strings.ContainsAny(e.Name, " /\t\n"):
			faults.Add(faultf(e, "%w: %q, need a word without spaces and slashes", ErrName, e.Name))
			named = false
		case names[e.Name]:
			faults.Add(faultf(e, "%w: two sensors are named %q", ErrName, e.Name))
		}
		names[e.Name] = true
		s, err := e.Resolve(registry)
		if err == nil && named {
			err = errors.Join(nameFrames(s), nameTopics(s))
			resolved[i] = *s
		}
		if faults.Add(err) {
			break
		}
	}
	if err := faults.Err(); err != nil { // sensors that are mounted on others need those
		return nil, err
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
		for _, name := range e.Names() {
			if d.Attribute(name) == nil {
				r.Notices = append(r.Notices, noticeOf(e.Fault(name, d.NewSettings().Set(name, e.Attributes[name])), true))
				delete(e.Attributes, name)
			}
		}
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
		names := map[string][]string{} // by reason
		var reasons []string
		for _, name := range e.Names() {
			why := inert(d, name, e.Attributes[name])
			if why == "" {
				continue
			}
			if names[why] == nil {
				reasons = append(reasons, why)
			}
			names[why] = append(names[why], name)
		}
		for _, why := range reasons {
			verb := "change"
			if len(names[why]) == 1 {
				verb = "changes"
			}
			text := fmt.Errorf("%s %s nothing: %s", strings.Join(names[why], ", "), verb, why)
			r.Notices = append(r.Notices, noticeOf(e.Fault(names[why][0], text), true))
		}
	}
}

// inert says why an attribute's value changes nothing, "" if it may.
func inert(d *sensors.Definition, name string, value any) string {
	a := d.Attribute(name)
	if a == nil || a.Inert == "" {
		return ""
	}
	v, err := a.Parse(value)
	if err != nil || reflect.DeepEqual(v, a.Default) {
		return ""
	}
	return a.Inert
}

// faultf makes an error where a sensor begins.
func faultf(c *sensors.Config, format string, args ...any) error {
	return c.Fault("", fmt.Errorf(format, args...))
}

// nameFrames fills in the frames that aren't given and checks the others.
func nameFrames(s *sensors.Spec) error {
	if s.Frame == "" {
		s.Frame = s.Name
	}
	if s.FrameID == "" {
		s.FrameID = s.Frame
	}
	if s.ParentFrame == "" {
		s.ParentFrame = spatial.FrameBaseLink
	}
	for _, f := range []struct{ key, name string }{{"frame", s.Frame}, {"frame_id", s.FrameID}} {
		if strings.ContainsAny(f.name, " \t\n") || strings.HasPrefix(f.name, "/") {
			return s.Config.Fault(f.key, fmt.Errorf("%w %q, need a name without spaces and leading slash", ErrFrame, f.name))
		}
	}
	return nil
}

// nameTopics works out the start of the topics, and the topics of single outputs.
func nameTopics(s *sensors.Spec) error {
	written := s.Config.Topic
	if strings.TrimSuffix(written, "/") == "" {
		written = s.Config.Name
	}
	topic, err := absolute(written)
	if err != nil {
		return s.Config.Fault("topic", err)
	}
	s.Topic, s.Topics = topic, map[string]string{}
	var outputs, inputs []string
	for i := range s.Definition.Outputs {
		outputs = append(outputs, s.Definition.Outputs[i].Name)
	}
	for i := range s.Definition.Inputs {
		inputs = append(inputs, s.Definition.Inputs[i].Name)
	}
	outputs = append(outputs, inputs...)
	for _, output := range slices.Sorted(maps.Keys(s.Config.Topics)) { // of two faults always the same is told
		key := "topics." + output
		if !slices.Contains(outputs, output) {
			return s.Config.Fault(key, fmt.Errorf("%w %q of %s, %s", ErrOutput, output, s.Definition.ID, fault.Hint(output, outputs)))
		}
		if s.Config.Topics[output] == "" && slices.Contains(inputs, output) {
			s.Topics[output] = "" // it is not brought
			continue
		}
		if s.Topics[output], err = absolute(s.Config.Topics[output]); err != nil {
			return s.Config.Fault(key, err)
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
func (r *Rig) mount(resolved []sensors.Spec) error {
	byFrame := map[string]int{}
	var faults doc.Faults
	for i := range resolved {
		frame := resolved[i].Frame
		if frame == spatial.FrameBaseLink {
			continue // measures the vehicle itself
		}
		k, taken := byFrame[frame]
		if !taken {
			byFrame[frame] = i
			continue
		}
		if a, b := &resolved[k], &resolved[i]; a.Relative != b.Relative || a.ParentFrame != b.ParentFrame {
			faults.Add(b.Config.Fault("frame", fmt.Errorf("%w %q: sensor %s, which has the same, is mounted elsewhere", ErrFrame, frame, a.Name)))
		}
	}
mounts:
	for i := range resolved {
		pose, parent := resolved[i].Relative, resolved[i].ParentFrame
		depth := 0
		for ; parent != spatial.FrameBaseLink; depth++ {
			p, ok := byFrame[parent]
			if !ok {
				frames := append(slices.Sorted(maps.Keys(byFrame)), spatial.FrameBaseLink)
				faults.Add(faultf(&r.Sensors[i], "%w: %q is neither %s nor a sensor's frame, %s", ErrParent, parent, spatial.FrameBaseLink, fault.Hint(parent, frames)))
				continue mounts
			}
			if depth > len(resolved) {
				faults.Add(faultf(&r.Sensors[i], "%w: the parents of %q form a circle", ErrParent, resolved[i].Name))
				continue mounts
			}
			pose, parent = resolved[p].Relative.Compose(pose), resolved[p].ParentFrame
		}
		if depth > maxParents {
			faults.Add(faultf(&r.Sensors[i], "%w: %q has %d parents in a row, need at most %d", ErrParent, resolved[i].Name, depth, maxParents))
			continue mounts
		}
		resolved[i].Mount = pose
	}
	return faults.Err()
}

// topicPart is what ROS allows between two slashes of a topic, if it has no doubled
// underscores (design.ros2.org/articles/topic_and_service_names.html).
var topicPart = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// forbidden are the signs that become one underscore.
var forbidden = regexp.MustCompile(`[^A-Za-z0-9]+`)

// TopicName returns the topic that is published for a rig's: the same where ROS allows its
// name. In a part between slashes that ROS forbids, signs that are neither ASCII letters nor
// digits become an underscore. There is one for several, none at the part's ends. A part that
// then begins with a digit gets an n before it.
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
			r.noteTopic(e, "topics."+output, e.Topics[output])
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

func (r *Rig) noteTopic(e *sensors.Config, key, written string) {
	topic, err := absolute(written)
	if asked := "/" + strings.Trim(written, "/"); err == nil && topic != asked {
		r.Notices = append(r.Notices, noticeOf(e.Fault(key, fmt.Errorf("ROS forbids the topic %s, %s takes its place", asked, topic)), false))
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
func (r *Rig) noteAttributes(e *sensors.Config, d *sensors.Definition) {
	for _, name := range e.Names() {
		if a := d.Attribute(name); a != nil {
			if err := a.Unusual(e.Attributes[name]); err != nil {
				r.Notices = append(r.Notices, noticeOf(e.Fault(name, err), false))
			}
		}
	}
}

// How far from base_link, which is on the ground, sensors are usually mounted, metres.
const (
	usualReach  = 30.0
	usualDepth  = 0.5
	usualHeight = 30.0
	// Below leastHeight what looks around sees little but the ground.
	leastHeight = 0.03
)

// noteMount notes a sensor that is far from the vehicle, or in the ground below it.
func (r *Rig) noteMount(s *sensors.Spec) {
	at := s.Mount.Position
	var unusual []string
	if max(at.X(), -at.X()) > usualReach || max(at.Y(), -at.Y()) > usualReach {
		unusual = append(unusual, fmt.Sprintf("x %s m, y %s m from base_link: up to %v m are usual", fault.Number(at.X(), 4), fault.Number(at.Y(), 4), usualReach))
	}
	switch {
	case at.Z() < -usualDepth:
		unusual = append(unusual, fmt.Sprintf("%s m under the ground: 0 to %v m above it are usual", fault.Number(-at.Z(), 4), usualHeight))
	case at.Z() > usualHeight:
		unusual = append(unusual, fmt.Sprintf("%s m above the ground: 0 to %v m are usual", fault.Number(at.Z(), 4), usualHeight))
	}
	if s.Definition.Looks && at.Z() >= -usualDepth && at.Z() < leastHeight {
		if s.Config.Pose == (sensors.Pose{}) {
			r.Notices = append(r.Notices, noticeOf(s.Config.Fault("", fmt.Errorf("sensor %s has no pose, and looks from the ground at the origin of %s: mount it higher, such as with pose: {z: 1.6}", s.Name, s.ParentFrame)), false))
			return
		}
		unusual = append(unusual, fault.Number(at.Z(), 4)+" m above the ground, which is most of what it sees: mount it higher")
	}
	if unusual != nil {
		r.Notices = append(r.Notices, noticeOf(s.Config.Fault("pose", fmt.Errorf("sensor %s is mounted %s", s.Name, strings.Join(unusual, ", and "))), false))
	}
}

// Notice is something about a rig that its user should know and that is not an error.
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

// NoCounterpart notes that what stands at a place does nothing, and why.
func NoCounterpart(at sensors.Place, why string) Notice {
	return noticeOf(at.Errorf(noCounterpart+"%s", why), true)
}

// noticeOf turns an error into a notice at its place.
func noticeOf(err error, lost bool) Notice {
	n := Notice{Text: err.Error(), Lost: lost}
	var placed *doc.Error
	if errors.As(err, &placed) {
		n.File, n.Line, n.Column, n.Path, n.Text = placed.File, placed.Line, placed.Column, placed.Path, placed.Err.Error()
	}
	return n
}
