package dataset

import (
	"fmt"
	"slices"
	"strings"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// message is a sample of a sensor.
type message interface {
	simtime.Stamped
	SampleHeader() *sample.Header
}

// role is what a topic's messages are in a key frame.
type role uint8

const (
	roleNone role = iota
	roleImage
	roleInfo
	roleInstances
	roleSemantics
	roleBoxes
	roleCloud
	roleRadar
	roleSnapshot
)

// input is a topic of the run.
type input struct {
	topic *bridges.PublishedTopic
	role  role
	of    string // the name of the sensor that the messages are of, or beside

	// Guarded by the instance's lock.
	used bool          // the present rig has the sensor
	gone bool          // it was withdrawn
	seen bool          // since time went back
	last simtime.Stamp // of the last message
}

// newInput tells what a topic is. Sensors on other actors than the ego are none of a set's.
func newInput(topic *bridges.PublishedTopic) *input {
	in := &input{topic: topic, of: topic.Sensor}
	source := topic.Source
	switch image := strings.HasSuffix(topic.GoType().String(), ".Image"); {
	case topic.SensorType == typeSnapshot:
		in.role, in.used = roleSnapshot, true
	case source == nil || source.Owner != 0:
	case source.Beside != "":
		in.of = source.Beside
		in.role = companions[topic.SensorType]
		if in.role != roleBoxes && !image {
			in.role = roleNone
		}
	case topic.SensorType == typeCamera && image:
		in.role = roleImage
	case topic.SensorType == typeCamera && strings.HasSuffix(topic.GoType().String(), ".CameraInfo"):
		in.role = roleInfo
	case topic.SensorType == typeRadar:
		in.role = roleRadar
	case strings.HasPrefix(topic.SensorType, typesLidar) && strings.HasSuffix(topic.GoType().String(), ".PointCloud"):
		in.role = roleCloud
	}
	return in
}

// companions are the roles of what a format wants beside cameras, by the sensors' types.
var companions = map[string]role{typeInstances: roleInstances, typeSemantics: roleSemantics, typeBoxes: roleBoxes}

// modalities are those of the roles that a sensor is known by.
var modalities = map[role]Modality{roleImage: Camera, roleInfo: Camera, roleCloud: Lidar, roleRadar: Radar}

// rig returns the sensors of some inputs that the format has channels for, in the order of the inputs. Errors wrap ErrRig.
func (r *recording) rig(inputs []*input) ([]*Sensor, error) {
	var list []*Sensor
	pictured := map[string]bool{}
	for _, in := range inputs {
		pictured[in.of] = pictured[in.of] || in.role == roleImage
		modality, ok := modalities[in.role]
		if !ok || slices.ContainsFunc(list, func(s *Sensor) bool { return s.Name == in.of }) {
			continue
		}
		source := in.topic.Source
		list = append(list, &Sensor{
			Name: in.of, Type: in.topic.SensorType, Modality: modality, Mount: source.Mount, Rate: source.Rate, Attribute: source.Attribute,
		})
	}
	if err := r.instance.format.Channels(list, r.assignments, r.all); err != nil {
		return nil, err
	}
	r.out = nil
	var taken []*Sensor
	for _, s := range list {
		if s.Channel == "" {
			r.out = append(r.out, s.Name)
			continue
		}
		if err := r.check(s); err != nil {
			return nil, err
		}
		taken = append(taken, s)
	}
	if n := slices.IndexFunc(taken, func(s *Sensor) bool { return s.Modality == Camera && !pictured[s.Name] }); n >= 0 {
		return nil, fmt.Errorf("%w: %s publishes no plain pictures: set its attribute publish_raw: true", ErrRig, taken[n].Name)
	}
	return taken, nil
}

// incomplete returns what a sensor lacks of what its part of a key frame consists of, "" for nothing. A camera's calibration and what is
// wanted beside it come one by one.
func (r *recording) incomplete(s *Sensor, inputs []*input) string {
	has := func(as role) bool {
		return slices.ContainsFunc(inputs, func(in *input) bool { return in.of == s.Name && in.role == as })
	}
	if s.Modality != Camera {
		return ""
	}
	if !has(roleInfo) {
		return "camera_info"
	}
	for _, w := range r.instance.format.Info().Wants {
		if w.Beside == typeCamera && !has(companions[w.Sensor]) {
			return w.Sensor
		}
	}
	return ""
}

// check refuses a sensor that can't be part of key frames.
func (r *recording) check(s *Sensor) error {
	is := func(attribute string) bool {
		value, ok := s.Attribute(attribute)
		on, _ := value.(bool)
		return ok && on
	}
	switch {
	case s.Rate.Float64() < r.keys.Float64():
		return fmt.Errorf("%w: %s fires %v times a second, and there are %v key frames: give it a higher rate, or the bridge a lower one by keyframes=", ErrRig, s.Name, s.Rate, r.keys)
	case s.Modality == Lidar && is("rolling") && !is("compensated"):
		return fmt.Errorf("%w: the points of %s aren't of one instant: set the lidar's attribute compensated: true, or rolling: false", ErrRig, s.Name)
	}
	return nil
}

// Pinhole returns an error that wraps ErrRig for a camera whose lens distorts, for formats that have no distortion.
func Pinhole(s *Sensor) error {
	if lens, ok := s.Attribute("lens"); ok && lens != "pinhole" {
		return fmt.Errorf("%w: camera %s has the lens %v, and the format has no distortion: set its attribute lens: pinhole, or choose another camera by the "+
			"option map", ErrRig, s.Name, lens)
	}
	return nil
}
