package pipeline

import (
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/rig"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
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
	// Rate is the rate in Hz as a decimal number; empty means the type's default, and
	// is all that a type takes that fires each frame.
	Rate string
	// Pose is where it is mounted in the parent's frame: metres and degrees.
	Pose rig.Pose
	// AttachTo is the id of the actor that it rides on; 0 is the ego. Parent's
	// base_link is that actor's own frame then, and a Parent that is another sensor's
	// frame has to be on the same actor, which need not be said again.
	AttachTo uint32
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
	owner    uint32
	always   bool
	rank     rank
	schedule *simtime.Schedule // nil for a type that fires each frame
	life     *sensors.Life
	gpu      bool           // it is a sensors.Capturer
	hearer   sensors.Hearer // nil for one that isn't told
	env      *sensors.Env
	ports    []sensors.Port // of env.Ports those that the settings leave
	topics   []string       // of ports
	outputs  []int          // of ports, their places in the definition
	stats    []*outputStats // of ports
	inlets   []sensors.Inlet
	takers   []*inlet // through which bridges bring inlets their messages
	carried  carriage // what bridges carry of it
	heardBy  listeners
	users    usage
	turn     chan struct{} // see takeTurn; nil where none is needed
	ending   ending
	// fault places an error in the rig's file.
	fault func(key string, err error) error

	joined atomic.Bool // the frame loop has let its schedule run
	// The frame loop's own.
	seq   uint64 // of the next firing
	heard bool   // what hearer was told
}

// Name returns the sensor's name in the rig.
func (s *Sensor) Name() string { return s.spec.Name }

// FrameID returns the name of the sensor's body frame.
func (s *Sensor) FrameID() string { return s.spec.BodyFrame() }

// TypeID returns the id of the sensor's type.
func (s *Sensor) TypeID() string { return s.spec.Definition.ID }

// RateHz returns the rate at which the sensor fires, 0 for one that fires each frame.
func (s *Sensor) RateHz() float64 { return s.spec.RateHz }

// Mount returns the pose of the sensor's body frame in the frame of the actor that it
// rides on, the ego's base_link.
func (s *Sensor) Mount() spatial.Pose { return s.spec.Mount }

// Owner returns the id of the actor that the sensor rides on, scene.EgoID for the ego.
func (s *Sensor) Owner() uint32 { return s.owner }

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

// AddSensor adds one sensor; any goroutine may call it at any time up to Close. In a
// pipeline that has started the sensor is begun before the call returns, joins at the
// next instant, and fires first on its grid a whole period after that. Compiling its
// shaders takes the GL thread's time, in which a realtime run may drop captures, but
// holds up no loop. On an error, also of a bridge that refuses a topic now, nothing is
// added.
func (p *Pipeline) AddSensor(c SensorConfig) (*Sensor, error) {
	entry := rig.Entry{ID: c.ID, Name: c.Name, Parent: c.Parent, Frame: c.Frame, FrameID: c.FrameID, Topic: c.Topic, Topics: c.Topics,
		Rate: c.Rate, Always: c.Always, Pose: c.Pose}
	for _, name := range slices.Sorted(maps.Keys(c.Attributes)) { // of two faults always the same is told
		entry.Attributes = append(entry.Attributes, rig.Attribute{Name: name, Value: c.Attributes[name]})
	}
	added, err := p.add([]rig.Entry{entry}, c.AttachTo)
	if err != nil {
		return nil, err
	}
	return added[0], nil
}

// AddRig adds all sensors of a rig to the ego, as AddSensor does. On an error none is
// added.
func (p *Pipeline) AddRig(r *rig.Rig) ([]*Sensor, error) { return p.add(r.Sensors, scene.EgoID) }

// CheckRig returns the topics of a rig's sensors in order, or the error for which
// AddRig would refuse it. It needs no pipeline and no OpenGL.
func CheckRig(r *rig.Rig, registry *sensors.Registry) (topics []string, err error) {
	bySensor, err := RigTopics(r, registry)
	return slices.Concat(bySensor...), err
}

// RigTopics is CheckRig with a list of topics for each sensor.
func RigTopics(r *rig.Rig, registry *sensors.Registry) (bySensor [][]string, err error) {
	list, err := newSensors(r, registry, 0)
	if err != nil {
		return nil, err
	}
	for _, s := range list {
		bySensor = append(bySensor, s.topics)
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
	for i := range resolved[from:] {
		s, err := newSensor(&resolved[from+i])
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

// rank is a sensor's place among those that fire at one instant, whenever they were
// added: the world's snapshot is ahead of all that is or can be derived from it, then
// comes what fires each frame, then what has a rate. Within a rank they fire in the
// order they were added.
type rank uint8

const (
	rankSnapshot rank = iota
	rankEachFrame
	rankScheduled
	ranks
)

func rankOf(d *sensors.Definition) rank {
	switch {
	case d.ID == snapshotID:
		return rankSnapshot
	case d.EachFrame:
		return rankEachFrame
	default:
		return rankScheduled
	}
}

func newSensor(r *rig.Sensor) (*Sensor, error) {
	s := &Sensor{
		spec: r.Spec, relative: r.Relative, always: r.Always, life: sensors.NewLife(r.Spec.Definition),
		env: &sensors.Env{}, fault: r.Fault, rank: rankOf(r.Spec.Definition),
	}
	s.users.init()
	s.ending.init()
	if err := s.setRate(r.Rate); err != nil {
		return nil, r.Fault("rate", err)
	}
	if err := s.life.Set(s.spec); err != nil {
		return nil, r.Fault("", err)
	}
	sensor := s.life.Sensor()
	s.gpu = s.life.Capturer() != nil
	s.hearer, _ = sensor.(sensors.Hearer)
	if _, ok := sensor.(sensors.PreTicker); !s.gpu && (ok || s.hearer != nil) {
		s.turn = make(chan struct{}, 1)
	}
	for i := range s.spec.Definition.Outputs {
		out := &s.spec.Definition.Outputs[i]
		port := out.Open()
		s.env.Ports = append(s.env.Ports, port)
		if sel, ok := sensor.(sensors.Selective); ok && !sel.Publishes(out.Name) {
			continue
		}
		s.ports = append(s.ports, port)
		s.outputs = append(s.outputs, i)
		s.topics = append(s.topics, topicOf(r, out.Name, out.Suffix))
		s.stats = append(s.stats, newOutputStats())
	}
	for i := range s.spec.Definition.Inputs {
		in := &s.spec.Definition.Inputs[i]
		opened := in.Open()
		s.inlets = append(s.inlets, opened)
		s.takers = append(s.takers, &inlet{topic: topicOf(r, in.Name, in.Suffix), typ: in.Type, qos: in.QoS, take: opened.Put})
	}
	return s, nil
}

// setRate makes the sensor's schedule.
func (s *Sensor) setRate(text string) error {
	if s.spec.Definition.EachFrame {
		if text != "" {
			return fmt.Errorf("%w: a %s fires each frame: leave the rate out", simtime.ErrRate, s.spec.Definition.ID)
		}
		return nil
	}
	rate, err := simtime.ParseRate(text)
	if err != nil {
		return err
	}
	s.spec.RateHz = rate.Float64()
	// The first firing is a period after the start: a scan needs it, and every
	// sensor then has its rate times the duration messages.
	s.schedule, err = simtime.NewSchedule(rate, 1)
	return err
}

// join makes the sensor the pipeline's, on an actor.
func (s *Sensor) join(p *Pipeline, owner uint32) error {
	about, err := p.ownerOf(owner)
	if err == nil {
		err = s.life.SetOwner(about)
	}
	if err != nil {
		return s.fault("", err)
	}
	s.p, s.owner = p, owner
	*s.env = sensors.Env{
		GL: p.gl, World: p.world, Resident: p.resident, History: p.history, Scene: p.config.Scene, Owner: owner,
		Shared: &p.shared, Seed: seedOf(p.config.Seed, s.spec.Name), Frames: func() []sample.Transform { return p.frames(owner) },
		Dropped: s.dropped, Completed: p.wakeCompletion, Origin: p.config.Scene.Origin,
		Log: p.log.With("sensor", s.spec.Name), Ports: s.env.Ports,
		Inlets: s.inlets,
	}
	return nil
}

// topicOf is the topic that the rig gives an output or an input by its name, or else the
// sensor's topic with the suffix; "//x" is /x itself.
func topicOf(r *rig.Sensor, name, suffix string) string {
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

// listenedTo reports whether anybody would receive what the sensor computes.
func (s *Sensor) listenedTo() bool {
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

// begin makes what the sensor needs. It isn't given up half-way, when the GL thread may
// still be making what the sensor's end would delete: ctx counts before and after it.
func (s *Sensor) begin(ctx context.Context) error {
	err := ctx.Err()
	if err == nil {
		err = s.life.Begin(context.WithoutCancel(ctx), s.env)
	}
	if err == nil {
		err = ctx.Err()
	}
	return wrap("begin sensor "+s.spec.Name, err)
}

// dropped counts captures that the sensor lost; all its outputs lack them.
func (s *Sensor) dropped(cause flow.Cause, n int) {
	for _, stats := range s.stats {
		stats.dropped(cause, n)
	}
	if b := s.p.barrier.Load(); b != nil {
		b.lost(s, cause, n)
	}
	s.p.wakeCompletion()
}

// skip counts instants that were passed over. What is latched doesn't come by them.
func (s *Sensor) skip(n int) {
	for i, stats := range s.stats {
		if s.ports[i].Spec().QoS.Durability != flow.TransientLocal {
			stats.dropped(flow.CauseSkipped, n)
		}
	}
}

// AddTransforms adds the sensor that publishes the rig's frames on /tf and
// /tf_static, unless the rig has one.
func (p *Pipeline) AddTransforms() error {
	return p.addOnce(SensorConfig{ID: transformID, Name: "tf", Frame: rig.BaseFrame})
}

// AddSnapshot adds the sensor that publishes the world's state on /snapshot, ahead of
// every frame's other data, unless the rig has one or the registry doesn't know it.
func (p *Pipeline) AddSnapshot() error {
	if len(p.config.Sensors.Match(snapshotID)) == 0 {
		return nil
	}
	return p.addOnce(SensorConfig{ID: snapshotID, Name: "snapshot", Topic: "/snapshot"})
}

// addOnce adds a sensor unless there is one of its type; its name gives way to others'.
func (p *Pipeline) addOnce(c SensorConfig) error {
	p.change.Lock()
	members := p.members
	p.change.Unlock()
	if slices.ContainsFunc(members, func(s *Sensor) bool { return s.spec.Definition.ID == c.ID }) {
		return nil
	}
	for slices.ContainsFunc(members, func(s *Sensor) bool { return s.spec.Name == c.Name }) {
		c.Name += "_"
	}
	_, err := p.AddSensor(c)
	return err
}

// The types of the sensors that AddTransforms and AddSnapshot add.
const (
	transformID = "sensor.other.transform"
	snapshotID  = "sensor.other.snapshot"
)
