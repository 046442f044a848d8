// Package rig reads the list of sensors that a robot carries. It reads raybridge's own YAML, the
// sensors of an SVL Simulator vehicle (JSON), and two forms of CARLA: its ROS bridge's
// objects.json, and the stack.json of its own ROS 2. The text of a file tells its form. The
// package knows the form of the list; the meaning of the attributes of raybridge's sensors comes
// from a sensors.Registry.
//
// SVL's and CARLA's sensors have a table of parameters each, with their defaults and ranges
// there and the attributes that they become here; docs/rigs.md is written from them.
//
// # Frames
//
// Each sensor has a frame of its own, mounted in base_link or in another sensor's frame. No two
// sensors place one frame differently, so /tf is never contradictory. Its messages name that
// frame, or the one that frame_id gives. That one is a name only and places nothing, except
// that a camera's is the name of its optical frame.
package rig

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/raybridge/raybridge/internal/doc"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/sensors"
)

// Errors of rigs; callers test them with errors.Is.
var (
	// ErrName: a sensor has no name, or two have the same.
	ErrName = errors.New("bad sensor name")
	// ErrFrame: a frame's name is not a name, or two sensors place it differently.
	ErrFrame = errors.New("bad frame")
	// ErrParent: a parent frame doesn't exist, or parents form a circle.
	ErrParent = errors.New("bad parent frame")
	// ErrTopic: a topic that no middleware could carry.
	ErrTopic = errors.New("bad topic")
	// ErrOutput: a topic is given for an output that the sensor doesn't have.
	ErrOutput = errors.New("unknown output")
)

// Those who may drive the vehicle that carries a rig.
const (
	DriverExternal = "external"
	DriverKeys     = "keys"
)

// Rig is a list of sensors in the order they were written, which is the order
// they are served in.
type Rig struct {
	// Drivers are those who may drive the vehicle: the window's keys, if there is a
	// window, or else commands from outside. Empty leaves it to others.
	Drivers []string `yaml:"drivers" doc:"who may drive the vehicle: external (commands) or keys (those of a window, and if there is one before external)" enum:"external,keys" default:"as ego.driver says"`
	// ControlTopic is where commands for pedals and steering wheel come by; empty leaves
	// it to others.
	ControlTopic string `yaml:"control_topic" doc:"topic of the commands of an external driver, as ego.commands.control" default:"as ego.commands.control says"`
	// Bridges send what the rig's devices send by themselves. The program that runs the rig decides whether they are opened.
	Bridges []Bridge         `yaml:"bridges" doc:"bridges for what devices send by themselves, such as a lidar's packets"`
	Sensors []sensors.Config `yaml:"sensors" doc:"the sensors"`
	// Notices are what reading the rig left to say: what was put up with, and what
	// has no counterpart here. They are in the order of the file.
	Notices []Notice

	file     string            // what it was read from, as Notices name it
	origin   string            // what it was converted from, for WriteYAML; "" for our own
	comments map[string]string // what each sensor came from, by its name, for WriteYAML
}

// Bridge is one for what a device of a rig sends by itself.
type Bridge struct {
	Type       string `yaml:"type" doc:"kind of the bridge: velodyne"`
	Connection string `yaml:"connection" doc:"what the bridge connects to; its form is the bridge's own"`

	place sensors.Place // nil if no file has it
}

// String is the bridge as --bridge takes it.
func (b Bridge) String() string { return b.Type + ":" + b.Connection }

// Fault returns an error of the bridge with its place in the rig's file, if it has one.
func (b Bridge) Fault(err error) error {
	if b.place == nil {
		return err
	}
	return b.place.Errorf("%w", err)
}

// DecodeYAML reads the bridge's keys.
func (b *Bridge) DecodeYAML(n doc.Node) error {
	entries, err := n.Entries()
	if err != nil {
		return err
	}
	b.place = n
	for _, e := range entries {
		known, err := doc.DecodeKey(b, e)
		if err != nil {
			return err
		}
		if !known {
			return e.UnknownKey(doc.Keys(reflect.TypeFor[Bridge]()))
		}
	}
	return nil
}

// Errors of files; callers test them with errors.Is.
var (
	// ErrTooLarge: the file is not a rig that anybody wrote.
	ErrTooLarge = errors.New("too large for a rig")
	// ErrFormat: the file isn't one of the rigs that are known.
	ErrFormat = errors.New("unknown kind of rig")
)

// maxSize is the size of the largest rig, bytes.
const maxSize = 4 << 20

// Reader reads rigs.
type Reader struct {
	// Lenient makes what another program's rig has beyond that program's tables a notice.
	// Unknown sensors, keys and parameters are left out, and values outside their range are
	// kept.
	Lenient bool
}

// Parse reads a rig from its text; file names it in errors.
func Parse(file string, data []byte) (*Rig, error) { return Reader{}.Parse(file, data) }

// Read reads a rig file, whichever kind it is.
func (r Reader) Read(path string) (*Rig, error) {
	data, err := fault.ReadUpTo(path, maxSize)
	if err != nil {
		return nil, fmt.Errorf("read rig: %w", err)
	}
	return r.Parse(path, data)
}

// Parse reads a rig from its text; file names it in errors. What begins as JSON is
// another program's, or our YAML in JSON's form; everything else is our YAML. Errors
// are *doc.Error where they have a place. With an error comes what could be read of our YAML, for
// callers that look for further faults, else nil.
func (r Reader) Parse(file string, data []byte) (*Rig, error) {
	rig, err := r.parse(file, data)
	if err == nil {
		return rig, nil
	}
	kind := fault.KindOf(file, data)
	instead := kind.Taker()
	switch {
	case kind == "" || kind == fault.YAML:
		return rig, err
	case instead == "" || kind == fault.Table:
		instead = "write the sensors as YAML, whose keys docs/sensors.md has, or as CARLA's objects.json"
	}
	return nil, &doc.Error{File: file, Err: fmt.Errorf("%w: it is %s: %s", ErrFormat, kind, instead)}
}

func (r Reader) parse(file string, data []byte) (*Rig, error) {
	if len(data) > maxSize {
		return nil, &doc.Error{File: file, Err: fmt.Errorf("%w: more than %d MiB", ErrTooLarge, maxSize>>20)}
	}
	if !looksLikeJSON(data) {
		return parseYAML(file, data)
	}
	root, commas, err := doc.ParseJSON(file, data)
	if err != nil {
		return nil, err
	}
	kind, list, err := recognise(root)
	if err != nil {
		return nil, err
	}
	f := newForeignReader(r.Lenient, kind)
	for _, c := range commas {
		f.note(c)
	}
	var rig *Rig
	switch kind {
	case svlName:
		rig, err = readSVL(list, f)
	case carlaName:
		rig, err = readCARLA(root, list, f)
	default:
		return parseYAML(file, data)
	}
	if err := f.failed(err); err != nil {
		return nil, err
	}
	slices.SortStableFunc(rig.Notices, func(a, b Notice) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	rig.file = file
	return rig, nil
}

// parseYAML reads our own form.
func parseYAML(file string, data []byte) (*Rig, error) {
	n, err := doc.ParseYAML(file, data)
	if err != nil {
		return nil, err
	}
	rig := &Rig{file: file}
	return rig, n.Decode(rig)
}

// looksLikeJSON tells JSON from the YAML that people write by its first two signs outside of
// comments. They begin an array, or an object whose first key is in quotes.
func looksLikeJSON(data []byte) bool {
	data = doc.WithoutComments(bytes.TrimPrefix(data, []byte("\ufeff")))
	data = bytes.TrimLeft(data, " \t\r\n")
	if len(data) == 0 || data[0] != '{' && data[0] != '[' {
		return false
	}
	inner := bytes.TrimLeft(data[1:], " \t\r\n")
	return data[0] == '[' || len(inner) == 0 || inner[0] == '"' || inner[0] == '}'
}

// Names of the dialects.
const (
	svlName   = "SVL"
	carlaName = "CARLA"
)

// recognise tells by its shape whose rig a document is, "" for our own, and returns
// the list of what is in it.
func recognise(root doc.JSONNode) (kind string, list []doc.JSONNode, err error) {
	switch {
	case root.IsArray():
		list, err = root.Items()
		kind = svlName
	case isVehicle(root):
		kind = carlaName
	case !root.Get("objects").Null():
		list, err = root.Get("objects").Items()
		kind = carlaName
	case root.Get("sensors").IsArray():
		list, err = root.Get("sensors").Items()
		switch {
		case slices.ContainsFunc(list, isCARLA):
			return carlaName, list, err
		case len(list) == 0 || list[0].Get("type").Null():
		default:
			kind = svlName
		}
	case !root.Get("type").Null():
		kind, list = svlName, []doc.JSONNode{root}
	default:
		err = root.Errorf("%w: want our list of sensors, SVL's sensors, each with a type, or CARLA's objects or vehicle", ErrFormat)
	}
	if err != nil || kind != svlName {
		return kind, list, err
	}
	for _, n := range list {
		if isCARLA(n) {
			return "", nil, n.Errorf("%w: %s is CARLA's, whose rigs have a list of objects, or one vehicle's in a list of sensors", ErrFormat, n.Get("type"))
		}
	}
	return kind, list, nil
}

// isCARLA tells by its type that a sensor is CARLA's.
func isCARLA(n doc.JSONNode) bool {
	t, err := n.Get("type").Text()
	return err == nil && strings.HasPrefix(t, "sensor.")
}
