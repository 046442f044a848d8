// Package rig reads the list of sensors that a robot carries: raybridge's own
// YAML. It knows the form of the list; what the sensors' attributes mean comes
// from a sensors.Registry.
package rig

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/internal/yamldoc"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/spatial"
)

// BaseFrame is the frame of the ego that sensors are mounted in by default:
// the rear axle's centre on the ground (REP-105's base_link).
const BaseFrame = "base_link"

// Errors of rigs; callers test them with errors.Is.
var (
	// ErrName: a sensor has no name, or two have the same.
	ErrName = errors.New("bad sensor name")
	// ErrFrame: a frame's name is no name, or two sensors place it differently.
	ErrFrame = errors.New("bad frame")
	// ErrParent: a parent frame doesn't exist, or parents form a circle.
	ErrParent = errors.New("bad parent frame")
	// ErrTopic: a topic that no middleware could carry.
	ErrTopic = errors.New("bad topic")
)

// Pose is a mounting pose in the parent's frame: metres, and degrees applied
// yaw, pitch, roll (z-y'-x”), yaw counter-clockwise positive.
type Pose struct {
	X     float64 `yaml:"x" doc:"forward, metres"`
	Y     float64 `yaml:"y" doc:"left, metres"`
	Z     float64 `yaml:"z" doc:"up, metres"`
	Roll  float64 `yaml:"roll" doc:"degrees about x"`
	Pitch float64 `yaml:"pitch" doc:"degrees about y, positive is nose down"`
	Yaw   float64 `yaml:"yaw" doc:"degrees about z, positive is to the left"`
}

// Spatial returns the pose as a spatial.Pose.
func (p Pose) Spatial() spatial.Pose {
	return spatial.FromRPY(mgl64.Vec3{p.X, p.Y, p.Z}, p.Roll, p.Pitch, p.Yaw)
}

// Attribute is one sensor parameter as written, with its place.
type Attribute struct {
	Name  string
	Value any
	place yamldoc.Entry
}

// Entry is one sensor of a rig, as written.
type Entry struct {
	ID     string `yaml:"id" doc:"type of the sensor, such as sensor.camera.rgb"`
	Name   string `yaml:"name" doc:"unique in the rig"`
	Parent string `yaml:"parent" doc:"frame it is mounted in: base_link or another sensor's frame" default:"base_link"`
	Frame  string `yaml:"frame" doc:"name of its own frame" default:"its name"`
	Topic  string `yaml:"topic" doc:"start of its topics" default:"/ and its name"`
	Rate   string `yaml:"rate" doc:"Hz, a decimal number" default:"the type's own"`
	Always bool   `yaml:"always" doc:"compute it even if nobody listens"`
	Pose   Pose   `yaml:"pose" doc:"where it is mounted in the parent's frame"`
	// Attributes are the other keys: the parameters of the sensor's type.
	Attributes []Attribute

	place yamldoc.Node
	own   []yamldoc.Entry // the keys above, where they stand
}

// DecodeYAML reads an entry: its own keys, and every other key as an attribute.
func (e *Entry) DecodeYAML(n yamldoc.Node) error {
	entries, err := n.Entries()
	if err != nil {
		return err
	}
	for _, x := range entries {
		known, err := yamldoc.DecodeKey(e, x)
		if err != nil {
			return err
		}
		if known {
			e.own = append(e.own, x)
			continue
		}
		v, err := x.Value.Value()
		if err != nil {
			return err
		}
		e.Attributes = append(e.Attributes, Attribute{Name: x.Key, Value: v, place: x})
	}
	e.place = n
	return nil
}

// Rig is a list of sensors in the order they were written, which is the order
// they are served in.
type Rig struct {
	Sensors []Entry `yaml:"sensors" doc:"the sensors"`
}

// Read reads a rig file.
func Read(path string) (*Rig, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read rig: %w", err)
	}
	return Parse(path, data)
}

// Parse reads a rig from its text; file names it in errors.
func Parse(file string, data []byte) (*Rig, error) {
	n, err := yamldoc.Parse(file, data)
	if err != nil {
		return nil, err
	}
	var r Rig
	if err := n.Decode(&r); err != nil {
		return nil, err
	}
	return &r, nil
}

// Sensor is one sensor of a resolved rig.
type Sensor struct {
	Spec   sensors.Spec
	Topic  string // absolute, without a trailing slash
	Rate   string // decimal Hz
	Always bool
	// Relative is the mounting pose in Spec.ParentFrame.
	Relative spatial.Pose

	entry *Entry
}

// Fault places an error: at one of the sensor's own keys ("rate", "topic") in its
// file, or where the sensor begins if the key is "" or isn't written. The result
// wraps err; it is a *yamldoc.Error if the sensor came from a file.
func (s *Sensor) Fault(key string, err error) error {
	for _, x := range s.entry.own {
		if x.Key == key {
			return x.Value.Errorf("%w", err)
		}
	}
	if key != "" {
		err = fmt.Errorf("%s: %w", key, err)
	}
	return s.entry.errorf("%w", err)
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

func (e *Entry) errorf(format string, args ...any) error {
	if e.place == (yamldoc.Node{}) {
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
			if a.place.Key == "" {
				return Sensor{}, e.errorf("%w", err)
			}
			return Sensor{}, a.place.Value.Errorf("%w", err)
		}
	}
	s := Sensor{
		Spec: sensors.Spec{
			Definition: d, Name: e.Name, FrameID: e.Frame, ParentFrame: e.Parent, Settings: settings,
		},
		Topic: strings.TrimSuffix(e.Topic, "/"), Rate: e.Rate, Always: e.Always, Relative: e.Pose.Spatial(),
		entry: e,
	}
	if s.Spec.FrameID == "" {
		s.Spec.FrameID = e.Name
	}
	if strings.ContainsAny(s.Spec.FrameID, " \t\n") || strings.HasPrefix(s.Spec.FrameID, "/") {
		return Sensor{}, s.Fault("frame", fmt.Errorf("%w %q, need a name without spaces and leading slash", ErrFrame, s.Spec.FrameID))
	}
	if s.Spec.ParentFrame == "" {
		s.Spec.ParentFrame = BaseFrame
	}
	if s.Topic == "" {
		s.Topic = "/" + e.Name
	}
	if !strings.HasPrefix(s.Topic, "/") {
		s.Topic = "/" + s.Topic
	}
	if strings.ContainsAny(s.Topic, " \t\n") || strings.Contains(s.Topic, "//") {
		return Sensor{}, s.Fault("topic", fmt.Errorf("%w %q, need names without spaces between single slashes", ErrTopic, e.Topic))
	}
	if s.Rate == "" {
		s.Rate = d.DefaultRate
	}
	return s, nil
}

// mount composes each sensor's pose with its parents' up to base_link.
func (r *Rig) mount(resolved []Sensor) error {
	byFrame := map[string]int{}
	for i := range resolved {
		frame := resolved[i].Spec.FrameID
		if frame == BaseFrame {
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
		for depth := 0; parent != BaseFrame; depth++ {
			p, ok := byFrame[parent]
			if !ok {
				return r.Sensors[i].errorf("%w: %q is neither %s nor a sensor's frame", ErrParent, parent, BaseFrame)
			}
			if depth > len(resolved) {
				return r.Sensors[i].errorf("%w: the parents of %q form a circle", ErrParent, resolved[i].Spec.Name)
			}
			pose, parent = resolved[p].Relative.Compose(pose), resolved[p].Spec.ParentFrame
		}
		resolved[i].Spec.Mount = pose
	}
	return nil
}
