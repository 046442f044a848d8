package pipeline

import (
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/raybridge/raybridge/rig"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// SensorConfig is one sensor to be added by a program. Only ID and Name are needed.
type SensorConfig struct {
	ID, Name string
	// Parent is the frame it is mounted in (base_link or another sensor's),
	// Frame its own frame, FrameID the one that its messages name where that isn't
	// its own, Topic the start of its topics.
	Parent, Frame, FrameID, Topic string
	// Topics are the topics of single outputs by the output's name.
	Topics map[string]string
	// Rate is the rate in Hz as a decimal number; empty means the type's default.
	Rate string
	// Pose is where it is mounted in the parent's frame: metres and degrees.
	Pose rig.Pose
	// Always computes it even if nobody listens.
	Always bool
	// Attributes are the type's parameters by name.
	Attributes map[string]any
}

// Sensor is one sensor of a pipeline. Its methods may be called from any goroutine.
type Sensor struct {
	p        *Pipeline
	spec     sensors.Spec
	relative spatial.Pose
	always   bool
	schedule *simtime.Schedule
	sensor   sensors.Sensor
	capturer sensors.Capturer // nil for a sensor that needs no GPU
	env      *sensors.Env
	ports    []sensors.Port // of env.Ports those that the settings leave
	topics   []string       // of ports
	outputs  []int          // of ports, their places in the definition
	stats    []*outputStats // of ports
	sinks    []*bridgeSink  // of the first output, one a bridge
	begun    atomic.Bool
	// fault places an error in the rig's file.
	fault func(key string, err error) error

	seq uint64 // frame loop's: of the next firing
}

// Name returns the sensor's name in the rig.
func (s *Sensor) Name() string { return s.spec.Name }

// FrameID returns the name of the sensor's body frame.
func (s *Sensor) FrameID() string { return s.spec.BodyFrame() }

// TypeID returns the id of the sensor's type.
func (s *Sensor) TypeID() string { return s.spec.Definition.ID }

// RateHz returns the rate at which the sensor fires.
func (s *Sensor) RateHz() float64 { return s.spec.RateHz }

// Mount returns the pose of the sensor's body frame in base_link.
func (s *Sensor) Mount() spatial.Pose { return s.spec.Mount }

// Outputs returns what the sensor publishes, in the definition's order.
func (s *Sensor) Outputs() []sensors.OutputSpec {
	var list []sensors.OutputSpec
	for _, port := range s.ports {
		list = append(list, *port.Spec())
	}
	return list
}

// Topics returns the topics of Outputs.
func (s *Sensor) Topics() []string { return append([]string(nil), s.topics...) }

// AddSensor adds one sensor.
func (p *Pipeline) AddSensor(c SensorConfig) (*Sensor, error) {
	entry := rig.Entry{ID: c.ID, Name: c.Name, Parent: c.Parent, Frame: c.Frame, FrameID: c.FrameID, Topic: c.Topic, Topics: c.Topics,
		Rate: c.Rate, Always: c.Always, Pose: c.Pose}
	for _, name := range slices.Sorted(maps.Keys(c.Attributes)) { // of two faults always the same is told
		entry.Attributes = append(entry.Attributes, rig.Attribute{Name: name, Value: c.Attributes[name]})
	}
	p.rig.Sensors = append(p.rig.Sensors, entry)
	added, err := p.resolve(len(p.rig.Sensors) - 1)
	if err != nil {
		p.rig.Sensors = p.rig.Sensors[:len(p.rig.Sensors)-1]
		return nil, err
	}
	return added[0], nil
}

// AddRig adds all sensors of a rig. On an error none is added.
func (p *Pipeline) AddRig(r *rig.Rig) ([]*Sensor, error) {
	before := len(p.rig.Sensors)
	p.rig.Sensors = append(p.rig.Sensors, r.Sensors...)
	added, err := p.resolve(before)
	if err != nil {
		p.rig.Sensors = p.rig.Sensors[:before]
		return nil, err
	}
	return added, nil
}

// resolve makes the sensors of the rig from the given one on.
func (p *Pipeline) resolve(from int) ([]*Sensor, error) {
	if p.started {
		return nil, ErrStarted
	}
	added, err := newSensors(&p.rig, p.config.Sensors, from)
	if err != nil {
		return nil, err
	}
	if err := checkTopics(append(p.sensors[:len(p.sensors):len(p.sensors)], added...)); err != nil {
		return nil, err
	}
	var made carriage
	for _, s := range added {
		s.join(p)
		for _, b := range p.bridges {
			if err := b.carry(s, &made); err != nil {
				made.close()
				return nil, err
			}
		}
	}
	made.connect()
	p.sensors = append(p.sensors, added...)
	return added, nil
}

// CheckRig returns the topics of a rig's sensors in order, or the error for which
// AddRig would refuse it. It needs no pipeline and no OpenGL.
func CheckRig(r *rig.Rig, registry *sensors.Registry) (topics []string, err error) {
	list, err := newSensors(r, registry, 0)
	if err != nil {
		return nil, err
	}
	for _, s := range list {
		topics = append(topics, s.topics...)
	}
	return topics, checkTopics(list)
}

// newSensors makes the sensors of a rig from the given one on; they belong to no
// pipeline yet.
func newSensors(r *rig.Rig, registry *sensors.Registry, from int) ([]*Sensor, error) {
	resolved, err := r.Resolve(registry)
	if err != nil {
		return nil, err
	}
	var list []*Sensor
	for i := range resolved[from:] {
		s, err := newSensor(&resolved[from+i])
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

func newSensor(r *rig.Sensor) (*Sensor, error) {
	rate, err := simtime.ParseRate(r.Rate)
	if err != nil {
		return nil, r.Fault("rate", err)
	}
	spec := r.Spec
	spec.RateHz = rate.Float64()
	// The first firing is a period after the start: a scan needs it, and every
	// sensor then has its rate times the duration messages.
	schedule, err := simtime.NewSchedule(rate, 1)
	if err != nil {
		return nil, r.Fault("rate", err)
	}
	sensor, err := spec.Definition.New(spec)
	if err != nil {
		return nil, r.Fault("", err)
	}
	s := &Sensor{
		spec: spec, relative: r.Relative, always: r.Always, schedule: schedule, sensor: sensor,
		env: &sensors.Env{}, fault: r.Fault,
	}
	s.capturer, _ = sensor.(sensors.Capturer)
	for i := range spec.Definition.Outputs {
		out := &spec.Definition.Outputs[i]
		port := out.Open()
		s.env.Ports = append(s.env.Ports, port)
		if sel, ok := sensor.(sensors.Selective); ok && !sel.Publishes(out.Name) {
			continue
		}
		s.ports = append(s.ports, port)
		s.outputs = append(s.outputs, i)
		s.topics = append(s.topics, topicOf(r, out))
		s.stats = append(s.stats, newOutputStats())
	}
	return s, nil
}

// join makes the sensor the pipeline's.
func (s *Sensor) join(p *Pipeline) {
	s.p = p
	*s.env = sensors.Env{
		GL: p.gl, World: p.world, Resident: p.resident, History: p.history, Scene: p.config.Scene, Owner: scene.EgoID,
		Shared: &p.shared, Seed: seedOf(p.config.Seed, s.spec.Name), Frames: p.frames,
		Dropped: s.dropped, Completed: p.wakeCompletion, Origin: p.config.Scene.Origin,
		Log: p.log.With("sensor", s.spec.Name), Ports: s.env.Ports,
	}
}

// topicOf is the topic that the rig gives an output, or else the sensor's topic with
// the output's suffix; "//x" is /x itself.
func topicOf(r *rig.Sensor, out *sensors.OutputSpec) string {
	if topic := r.Topics[out.Name]; topic != "" {
		return topic
	}
	if absolute, ok := strings.CutPrefix(out.Suffix, "//"); ok {
		return "/" + absolute
	}
	return r.Topic + out.Suffix
}

// checkTopics refuses two outputs on one topic.
func checkTopics(list []*Sensor) error {
	owner := map[string]string{clockTopic: "the pipeline's clock"}
	for _, s := range list {
		for i, topic := range s.topics {
			if other, taken := owner[topic]; taken {
				return s.fault("topics."+s.ports[i].Spec().Name, fmt.Errorf("%w: %s of sensor %s, and of this one as %v", ErrTopic, topic, other, s.ports[i].Spec().Type))
			}
			owner[topic] = s.spec.Name
		}
	}
	return nil
}

// seedOf derives a sensor's seed from the run's and its name, so that adding a
// sensor doesn't change the others' noise.
func seedOf(seed uint64, name string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // never fails
	return h.Sum64() ^ seed*0x9e3779b97f4a7c15
}

// heard reports whether anybody would receive what the sensor computes.
func (s *Sensor) heard() bool {
	if s.always {
		return true
	}
	for _, port := range s.ports {
		if port.Listening() {
			return true
		}
	}
	return false
}

func (s *Sensor) begin(ctx context.Context) error {
	if err := s.sensor.Begin(ctx, s.env); err != nil {
		return fmt.Errorf("begin sensor %s: %w", s.spec.Name, err)
	}
	s.begun.Store(true)
	return nil
}

// dropped counts captures that the sensor lost; all its outputs lack them.
func (s *Sensor) dropped(cause string, n int) {
	for _, stats := range s.stats {
		stats.dropped(cause, n)
	}
	s.p.wakeCompletion()
}

// skip counts instants that were passed over. What is latched doesn't come by them.
func (s *Sensor) skip(n int) {
	for i, stats := range s.stats {
		if !s.ports[i].Spec().QoS.TransientLocal {
			stats.dropped(sensors.CauseSkipped, n)
		}
	}
}

// Listen calls call with every message of one output of a sensor until stop is
// called, on the goroutine that publishes it; a call under way when stop returns
// still comes to its end. M is the output's message type, a
// pointer; the message must not be changed and may be read until call returns.
// An error says which outputs and types there are.
func Listen[M any](s *Sensor, output string, call func(at sensors.Tick, message M)) (stop func(), err error) {
	var known []string
	for i, port := range s.ports {
		spec := port.Spec()
		known = append(known, fmt.Sprintf("%s (%v)", spec.Name, spec.Type))
		if spec.Name != output {
			continue
		}
		if spec.Type != reflect.TypeFor[M]() {
			break
		}
		stats := s.stats[i]
		return port.Connect(&listener{
			call:  func(at sensors.Tick, m any) { call(at, m.(M)) },
			stats: stats, receiver: stats.receiver(),
		}), nil
	}
	return nil, fmt.Errorf("%w: %s of sensor %s as %v; it has %s", ErrOutput, output, s.spec.Name, reflect.TypeFor[M](), strings.Join(known, ", "))
}

// AddTransforms adds the sensor that publishes the rig's frames on /tf and
// /tf_static, unless the rig has one.
func (p *Pipeline) AddTransforms() error {
	for _, s := range p.sensors {
		if s.spec.Definition.ID == transformID {
			return nil
		}
	}
	name := "tf"
	for slices.ContainsFunc(p.sensors, func(s *Sensor) bool { return s.spec.Name == name }) {
		name += "_"
	}
	_, err := p.AddSensor(SensorConfig{ID: transformID, Name: name, Frame: rig.BaseFrame})
	return err
}

// transformID is the type of the sensor that publishes frames.
const transformID = "sensor.other.transform"
