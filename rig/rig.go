// Package rig reads the list of sensors that a robot carries: raybridge's own YAML,
// the sensors of an SVL Simulator vehicle (JSON) and the objects.json of CARLA's ROS
// bridge. Which of them a file is shows in its text. It knows the form of the list;
// what the attributes of raybridge's sensors mean comes from a sensors.Registry.
//
// The parameters of SVL's and CARLA's sensors stand in one table each, with the
// defaults and ranges that they have there and the attributes that they become here;
// docs/rigs.md is written from it.
//
// # Frames
//
// Each sensor has a frame of its own, mounted in base_link or in another sensor's
// frame; no two sensors place one frame differently, so /tf is never contradictory.
// Its messages name that frame, or the one that frame_id gives: that one is a name
// only and places nothing, except that a camera's is the name of its optical frame.
package rig

import (
	"errors"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/raybridge/raybridge/internal/doc"
	"github.com/raybridge/raybridge/spatial"
)

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
	// ErrOutput: a topic is given for an output that the sensor doesn't have.
	ErrOutput = errors.New("unknown output")
)

// Pose is a mounting pose in the parent's frame: metres, no further away than the earth's
// poles are from the equator, and degrees applied
// yaw, pitch, roll (z-y'-x”), yaw counter-clockwise positive.
type Pose struct {
	X     float64 `yaml:"x" doc:"forward, metres" min:"-1e7" max:"1e7"`
	Y     float64 `yaml:"y" doc:"left, metres" min:"-1e7" max:"1e7"`
	Z     float64 `yaml:"z" doc:"up, metres" min:"-1e7" max:"1e7"`
	Roll  float64 `yaml:"roll" doc:"degrees about x"`
	Pitch float64 `yaml:"pitch" doc:"degrees about y, positive is nose down"`
	Yaw   float64 `yaml:"yaw" doc:"degrees about z, positive is to the left"`
}

// Spatial returns the pose as a spatial.Pose.
func (p Pose) Spatial() spatial.Pose {
	return spatial.FromRPY(mgl64.Vec3{p.X, p.Y, p.Z}, p.Roll, p.Pitch, p.Yaw)
}

// Those who may drive the vehicle that carries a rig.
const (
	DriverExternal = "external"
	DriverKeys     = "keys"
)

// place is where something stands in a file.
type place interface {
	// Errorf makes an error there.
	Errorf(format string, args ...any) error
}

// Attribute is one sensor parameter as written, with its place.
type Attribute struct {
	Name  string
	Value any

	place place // of the value; nil in rigs that a program makes
}

// Topics are the topics of single outputs, by the output's name.
type Topics map[string]string

// Entry is one sensor of a rig, as written.
type Entry struct {
	ID      string `yaml:"id" doc:"type of the sensor, such as sensor.camera.rgb"`
	Name    string `yaml:"name" doc:"unique in the rig"`
	Parent  string `yaml:"parent" doc:"frame it is mounted in: base_link or another sensor's frame" default:"base_link"`
	Frame   string `yaml:"frame" doc:"name of its own frame" default:"its name"`
	FrameID string `yaml:"frame_id" doc:"frame that its messages name; a camera's is the name of its optical frame" default:"its own frame, of cameras with _optical"`
	Topic   string `yaml:"topic" doc:"start of its topics" default:"/ and its name"`
	Topics  Topics `yaml:"topics" doc:"whole topics of single outputs: docs/sensors.md names the outputs" default:"the start and the output's own end"`
	Rate    string `yaml:"rate" doc:"Hz, a decimal number or the quotient of two, such as 10/3" default:"the type's own"`
	Always  bool   `yaml:"always" doc:"compute it even if nobody listens"`
	Pose    Pose   `yaml:"pose" doc:"where it is mounted in the parent's frame"`
	// Attributes are the other keys: the parameters of the sensor's type.
	Attributes []Attribute

	place   place            // where it begins; nil in rigs that a program makes
	own     map[string]place // the values of the keys above; those of topics as topics.OUTPUT
	comment string           // what it came from, for WriteYAML
}

// DecodeYAML reads an entry: its own keys, and every other key as an attribute.
func (e *Entry) DecodeYAML(n doc.Node) error {
	entries, err := n.Entries()
	if err != nil {
		return err
	}
	e.place, e.own = n, map[string]place{}
	for _, x := range entries {
		if x.Key == topicsKey {
			e.own[topicsKey] = x.Value
			if err := e.decodeTopics(x.Value); err != nil {
				return err
			}
			continue
		}
		known, err := doc.DecodeKey(e, x)
		if err != nil {
			return err
		}
		if known {
			e.own[x.Key] = x.Value
			continue
		}
		v, err := x.Value.Value()
		if err != nil {
			return err
		}
		e.Attributes = append(e.Attributes, Attribute{Name: x.Key, Value: v, place: x.Value})
	}
	return nil
}

// topicsKey is the key of Entry.Topics.
const topicsKey = "topics"

func (e *Entry) decodeTopics(n doc.Node) error {
	entries, err := n.Entries()
	if err != nil {
		return err
	}
	e.Topics = Topics{}
	for _, x := range entries {
		v, err := x.Value.Value()
		if err != nil {
			return err
		}
		topic, ok := v.(string)
		if !ok {
			return x.Value.Errorf("%w: %v, need a topic", doc.ErrType, v)
		}
		e.Topics[x.Key] = topic
		e.own[topicsKey+"."+x.Key] = x.Value
	}
	return nil
}

// Rig is a list of sensors in the order they were written, which is the order
// they are served in.
type Rig struct {
	// Drivers are those who may drive the vehicle: the window's keys, if there is a
	// window, or else commands from outside. Empty leaves it to others.
	Drivers []string `yaml:"drivers" doc:"who may drive the vehicle: external (commands) or keys (those of a window, and if there is one before external)" enum:"external,keys" default:"as ego.driver says"`
	// ControlTopic is where commands for pedals and steering wheel come by; empty leaves
	// it to others.
	ControlTopic string  `yaml:"control_topic" doc:"topic of the commands of an external driver, as ego.commands.control" default:"as ego.commands.control says"`
	Sensors      []Entry `yaml:"sensors" doc:"the sensors"`
	// Notices are what reading the rig left to say: what was put up with, and what
	// has no counterpart here. They are in the order of the file.
	Notices []Notice

	file   string // what it was read from, as Notices name it
	origin string // what it was converted from, for WriteYAML; "" for our own
}
