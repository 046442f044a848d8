package pipeline

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/doc"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/pipeline/carry"
	"github.com/raybridge/raybridge/rig"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// Sensor is one sensor of a pipeline. Its methods may be called from any goroutine.
type Sensor struct {
	p        *Pipeline
	spec     sensors.Spec
	owner    uint32
	rank     rank
	schedule *simtime.Schedule            // nil for a type that fires each frame
	life     atomic.Pointer[sensors.Life] // another one after Reset
	gpu      bool                         // it is a sensors.Capturer
	hearer   sensors.Hearer               // nil for one that isn't told
	env      *sensors.Env
	topics   carry.Topics // of env.Ports and env.Inlets, those that the settings leave
	heardBy  listeners
	users    *flow.Usage
	turn     chan struct{} // see takeTurn; nil where none is needed
	ending   ending
	tuning   tuning

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

// Rate returns how often the sensor fires, zero for one that fires each frame.
func (s *Sensor) Rate() simtime.Rate {
	if s.schedule == nil {
		return s.spec.Rate
	}
	return s.schedule.Rate()
}

// Mount returns the pose of the sensor's body frame in the frame of the actor that it
// rides on, the ego's base_link.
func (s *Sensor) Mount() spatial.Pose { return s.spec.Mount }

// Owner returns the id of the actor that the sensor rides on, scene.EgoID for the ego.
func (s *Sensor) Owner() uint32 { return s.owner }

// Outputs returns what the sensor publishes, in the definition's order.
func (s *Sensor) Outputs() []sensors.OutputSpec {
	var list []sensors.OutputSpec
	for _, o := range s.topics.Outlets {
		list = append(list, *o.Spec())
	}
	return list
}

// Topics returns the topics of Outputs.
func (s *Sensor) Topics() []string {
	var list []string
	for _, o := range s.topics.Outlets {
		list = append(list, o.Topic.Name)
	}
	return list
}

// AddSensor adds one sensor; any goroutine may call it at any time up to Close. In a pipeline
// that has started the sensor is begun before the call returns. It joins at the next instant,
// and fires first on its grid a whole period after that. Compiling its shaders takes the GL
// thread's time, in which a realtime run may drop captures, but holds up no loop. On an error,
// also of a bridge that refuses a topic now, nothing is added.
func (p *Pipeline) AddSensor(c sensors.Config) (*Sensor, error) {
	p.coming.RLock()
	defer p.coming.RUnlock()
	added, err := p.add([]sensors.Config{c}, c.AttachTo)
	if err != nil {
		return nil, err
	}
	return added[0], nil
}

// AddRig adds all sensors of a rig to the ego, as AddSensor does. On an error none is
// added.
func (p *Pipeline) AddRig(r *rig.Rig) ([]*Sensor, error) {
	p.coming.RLock()
	defer p.coming.RUnlock()
	return p.add(r.Sensors, scene.EgoID)
}

// CheckRig returns the topics of a rig's sensors in order, or the error for which
// AddRig would refuse it. It needs no pipeline and no OpenGL.
func CheckRig(r *rig.Rig, registry *sensors.Registry) (topics []string, err error) {
	bySensor, err := RigTopics(r, registry)
	return slices.Concat(bySensor...), err
}

// CheckRun is CheckRig of the rig of a run, which adds what publishes its frames and, with snapshots, the world's
// state. Their topics come first, and no sensor of the rig may have one of them.
func CheckRun(r *rig.Rig, registry *sensors.Registry, snapshots bool) (topics []string, err error) {
	added := []sensors.Config{transforms}
	if snapshots {
		added = append(added, snapshot)
	}
	var whole rig.Rig
	for _, c := range added {
		if len(registry.Match(c.ID)) > 0 && joins(&c, r.Sensors, func(s sensors.Config) (id, name string) { return s.ID, s.Name }) {
			whole.Sensors = append(whole.Sensors, c)
		}
	}
	whole.Sensors = append(whole.Sensors, r.Sensors...)
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

// rank is a sensor's place among those that fire at one instant, whenever they were added. The
// world's snapshot is ahead of all that is or can be derived from it. Then comes what fires
// each frame, then what has a rate. Within a rank they fire in the order they were added.
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

func newSensor(spec sensors.Spec) (*Sensor, error) {
	s := &Sensor{spec: spec, env: &sensors.Env{}, users: flow.NewUsage(), rank: rankOf(spec.Definition)}
	s.ending.init()
	if err := s.schedules(); err != nil {
		return nil, s.fault("rate", err)
	}
	if err := s.beBorn(); err != nil {
		return nil, err
	}
	sensor := s.life.Load().Sensor()
	s.gpu = s.life.Load().Capturer() != nil
	if _, ok := sensor.(sensors.PreTicker); !s.gpu && (ok || s.hearer != nil) {
		s.turn = make(chan struct{}, 1)
	}
	s.openTopics()
	return s, nil
}

// openTopics opens the outputs and inputs, and puts those on topics that the settings leave.
func (s *Sensor) openTopics() {
	d := s.spec.Definition
	s.topics.Sensor, s.topics.Type = s.spec.Name, d.ID
	for i := range d.Outputs {
		out := &d.Outputs[i]
		port := out.Open()
		port.Spec().QoS = s.spec.Config.QoS.Over(out.QoS)
		s.env.Ports = append(s.env.Ports, port)
		if s.publishes(out.Name) {
			s.topics.Outlets = append(s.topics.Outlets, carry.NewOutlet(port, bridges.Topic{
				Name: topicOf(&s.spec, out.Name, out.Suffix), Sensor: s.spec.Name, SensorType: d.ID,
				SensorNumber: d.Number, Output: i, QoS: port.Spec().QoS,
			}, s.sending))
		}
	}
	for i := range d.Inputs {
		in := &d.Inputs[i]
		input := in.Open()
		s.env.Inlets = append(s.env.Inlets, input)
		if topic, given := s.spec.Topics[in.Name]; !given || topic != "" {
			s.topics.Inlets = append(s.topics.Inlets, carry.NewInlet(topicOf(&s.spec, in.Name, in.Suffix), s.spec.Config.QoS.Over(in.QoS), input))
		}
	}
}

// publishes reports whether the settings leave the sensor an output.
func (s *Sensor) publishes(output string) bool {
	sel, ok := s.life.Load().Sensor().(sensors.Selective)
	return !ok || sel.Publishes(output)
}

// beBorn begins the sensor's life, with the settings of the rig.
func (s *Sensor) beBorn() error {
	life := sensors.NewLife(s.spec.Definition)
	if err := life.Set(s.spec); err != nil {
		return s.fault("", err)
	}
	s.hearer, _ = life.Sensor().(sensors.Hearer)
	s.life.Store(life)
	return nil
}

// fault places an error in the rig's file.
func (s *Sensor) fault(key string, err error) error { return s.spec.Config.Fault(key, err) }

// schedules makes the sensor's schedule.
func (s *Sensor) schedules() (err error) {
	if s.spec.Definition.EachFrame {
		return nil
	}
	// The first firing is a period after the start: a scan needs it, and every
	// sensor then has its rate times the duration messages.
	s.schedule, err = simtime.NewSchedule(s.spec.Rate, 1)
	return err
}

// join makes the sensor the pipeline's, on an actor.
func (s *Sensor) join(p *Pipeline, owner uint32) error {
	about, err := p.ownerOf(owner)
	if err == nil {
		err = s.life.Load().SetOwner(about)
	}
	if err != nil {
		return s.fault("", err)
	}
	if _, onGrid := p.config.Scene.Map.Grid(); !onGrid { // who stands outside of a grid may be told to come
		if err := s.spec.Config.Reaches(p.config.Sensors, p.config.Scene.Map, p.placeOf(owner)); err != nil {
			return err
		}
	}
	s.p, s.owner = p, owner
	*s.env = sensors.Env{
		GL: p.gl, World: p.world, Resident: p.resident, History: p.history, Scene: p.config.Scene, Owner: owner,
		Shared: &p.shared, Seed: seedOf(p.seed.Load(), s.spec.Name), Frames: func() []sample.Transform { return p.frames(owner) },
		Dropped: s.dropped, Completed: p.wakeCompletion, DeviceTimeout: p.config.DeviceTimeout, Map: p.config.Scene.Map,
		Log: p.log.With("sensor", s.spec.Name), Ports: s.env.Ports,
		Inlets: s.env.Inlets,
	}
	return nil
}

// placeOf is where an actor is, or where it begins, in the map frame.
func (p *Pipeline) placeOf(id uint32) mgl64.Vec3 {
	_, newest, _ := p.history.Span()
	if state, there := p.history.State(id, newest); there {
		return state.Pose.Position
	}
	if m, _ := p.history.Motion(id); m != nil {
		return m.PoseAt(0).Position
	}
	return p.config.Scene.Ego.Position
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

// seedOf derives a sensor's seed from the run's and its name, so that adding a
// sensor doesn't change the others' noise.
func seedOf(seed uint64, name string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // never fails
	return h.Sum64() ^ seed*0x9e3779b97f4a7c15
}

// listenedTo reports whether anybody would receive what the sensor computes.
func (s *Sensor) listenedTo() bool {
	return s.spec.Config.Always || s.spec.Definition.Acts || s.topics.Listening()
}

// begin makes what the sensor needs. It isn't given up half-way, when the GL thread may
// still be making what the sensor's end would delete: ctx counts before and after it.
func (s *Sensor) begin(ctx context.Context) error {
	err := ctx.Err()
	if err == nil {
		err = s.life.Load().Begin(context.WithoutCancel(ctx), s.env)
	}
	if err == nil {
		err = ctx.Err()
	}
	return wrap("begin sensor "+s.spec.Name, err)
}

// endLife ends what begin began. Its inputs have nobody then who takes messages.
func (s *Sensor) endLife() error {
	for _, in := range s.env.Inlets {
		in.Restart()
	}
	return wrap("end sensor "+s.spec.Name, s.life.Load().End())
}

// dropped counts a firing that the sensor lost; all its outputs lack it.
func (s *Sensor) dropped(at sensors.Tick, cause flow.Cause) {
	s.topics.Dropped(cause)
	if cause != flow.CauseNoReturn { // such a scan is published
		if b := s.p.barrier.Load(); b != nil {
			b.miss(s, at.Seq, cause)
		}
	}
	s.p.wakeCompletion()
}

// skip counts instants that were passed over. What is latched doesn't come by them.
func (s *Sensor) skip(n int) {
	for _, o := range s.topics.Outlets {
		if o.Spec().QoS.Durability != flow.TransientLocal {
			o.Dropped(flow.CauseSkipped, n)
		}
	}
}

// AddTransforms adds the sensor that publishes the rig's frames on /tf and
// /tf_static, unless the rig has one.
func (p *Pipeline) AddTransforms() error {
	return p.addOnce(transforms)
}

// What AddTransforms and AddSnapshot add.
var (
	transforms = sensors.Config{ID: transformID, Name: "tf", Frame: spatial.FrameBaseLink}
	snapshot   = sensors.Config{ID: snapshotID, Name: "snapshot", Topic: "/snapshot"}
)

// AddSnapshot adds the sensor that publishes the world's state on /snapshot, ahead of every
// frame's other data. It adds none if the rig has one or the registry doesn't know it.
func (p *Pipeline) AddSnapshot() error {
	if len(p.config.Sensors.Match(snapshotID)) == 0 {
		return nil
	}
	return p.addOnce(snapshot)
}

// Commands are the topics on which bridges receive what steers an ego that is a
// *scene.Driven; an empty one is not listened to.
type Commands struct {
	// Control takes pedals and a steering wheel, *sample.VehicleControl.
	Control string
	// Ackermann takes a speed and a steering angle, *sample.AckermannDrive.
	Ackermann string
	// Velocity takes velocities, *sample.VelocityCommand.
	Velocity string
}

// AddCommands adds the sensor that steers the ego by what comes in on the topics. It adds none
// if the rig has one, the ego is not a *scene.Driven, or there are no topics.
func (p *Pipeline) AddCommands(topics Commands) error {
	if _, ok := p.config.Ego.(*scene.Driven); !ok || topics == (Commands{}) {
		return nil
	}
	return p.addOnce(sensors.Config{ID: controlID, Name: "control", Frame: spatial.FrameBaseLink, Topics: map[string]string{
		"control": topics.Control, "ackermann": topics.Ackermann, "velocity": topics.Velocity,
	}})
}

// addOnce adds a sensor if it joins the others.
func (p *Pipeline) addOnce(c sensors.Config) error {
	p.change.Lock()
	members := p.members
	p.change.Unlock()
	if !joins(&c, members, func(s *Sensor) (id, name string) { return s.spec.Definition.ID, s.spec.Name }) {
		return nil
	}
	_, err := p.AddSensor(c)
	return err
}

// joins reports whether a sensor that a run adds comes beside others: not where one has its type.
// Its name gives way to theirs.
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

// The types of the sensors that AddTransforms, AddSnapshot and AddCommands add.
const (
	transformID = "sensor.other.transform"
	snapshotID  = "sensor.other.snapshot"
	controlID   = "sensor.other.control"
)

// Errors of sensors that come and go; callers test them with errors.Is.
var (
	// ErrNoSensor: no sensor of the pipeline has that name.
	ErrNoSensor = errors.New("no such sensor")
	// ErrMounted: other sensors are mounted in the sensor's frame.
	ErrMounted = errors.New("other sensors are mounted on it")
)

// live returns the sensors that the loops work with, in the order they were added.
// The slice is never changed.
func (p *Pipeline) live() []*Sensor {
	if list := p.roster.Load(); list != nil {
		return *list
	}
	return nil
}

// Sensors returns the sensors in the order they were added, without those that have
// ended. Any goroutine may call it, as Sensor and SensorsOf.
func (p *Pipeline) Sensors() []*Sensor { return slices.Clone(p.live()) }

// Sensor returns the sensor with a name. The error wraps ErrNoSensor and names the
// closest.
func (p *Pipeline) Sensor(name string) (*Sensor, error) {
	var names []string
	for _, s := range p.live() {
		if s.spec.Name == name {
			return s, nil
		}
		names = append(names, s.spec.Name)
	}
	return nil, fmt.Errorf("%w: %q, %s", ErrNoSensor, name, fault.Hint(name, names))
}

// SensorsOf returns the sensors whose type id or name matches a wildcard pattern
// ("sensor.camera.*", "front_*"; see path.Match), in the order they were added.
func (p *Pipeline) SensorsOf(pattern string) []*Sensor {
	var found []*Sensor
	for _, s := range p.live() {
		for _, name := range []string{s.spec.Definition.ID, s.spec.Name} {
			if ok, err := path.Match(pattern, name); err == nil && ok {
				found = append(found, s)
				break
			}
		}
	}
	return found
}

// add makes sensors of a rig's entries, on an actor; begun and joined if the pipeline
// has started.
func (p *Pipeline) add(entries []sensors.Config, attachTo uint32) ([]*Sensor, error) {
	added, started, err := p.enlist(entries, attachTo)
	if err != nil || !started {
		return added, err
	}
	// Not under change: what this takes must not hold up others that come and go.
	var begun error
	for _, s := range added {
		if begun = s.begin(context.Background()); begun != nil {
			break
		}
	}
	p.change.Lock()
	defer p.change.Unlock()
	if begun == nil && p.closed {
		begun = ErrClosed
	}
	if begun != nil {
		return nil, errors.Join(begun, p.strike(added))
	}
	p.refresh(added)
	return added, nil
}

// usual returns entries with what the run has for attributes that they leave out.
func (p *Pipeline) usual(entries []sensors.Config) []sensors.Config {
	if !p.config.InstanceCodes {
		return entries
	}
	entries = slices.Clone(entries)
	for i := range entries {
		c := &entries[i]
		spec, err := c.Resolve(p.config.Sensors)
		if err != nil || spec.Definition.ID != instanceID || spec.Settings.IsSet("output") || spec.Settings.IsSet("encoding") {
			continue
		}
		c.Attributes = maps.Clone(c.Attributes)
		if c.Attributes == nil {
			c.Attributes = map[string]any{}
		}
		c.Attributes["output"] = "carla"
	}
	return entries
}

// instanceID is the type of cameras of instances.
const instanceID = "sensor.camera.instance_segmentation"

// enlist makes sensors members, and lets bridges carry them; those of a pipeline that
// has not started join the roster at once.
func (p *Pipeline) enlist(entries []sensors.Config, attachTo uint32) (added []*Sensor, started bool, err error) {
	p.change.Lock()
	defer p.change.Unlock()
	if p.closed {
		return nil, false, ErrClosed
	}
	before := len(p.rig.Sensors)
	p.rig.Sensors = append(p.rig.Sensors, p.usual(entries)...)
	if added, err = p.resolve(before, attachTo); err != nil {
		p.rig.Sensors = p.rig.Sensors[:before]
		return nil, false, err
	}
	p.members = append(p.members[:len(p.members):len(p.members)], added...)
	if !p.started {
		p.refresh(added)
	}
	return added, p.started, nil
}

// resolve makes the sensors of the rig from the given entry on; change must be held.
func (p *Pipeline) resolve(from int, attachTo uint32) ([]*Sensor, error) {
	added, err := newSensors(&p.rig, p.config.Sensors, from)
	if err != nil {
		return nil, err
	}
	if err := checkTopics(slices.Concat(p.members, added)); err != nil {
		return nil, err
	}
	owners, err := p.owners(added, attachTo)
	if err != nil {
		return nil, err
	}
	for i, s := range added {
		if err := s.join(p, owners[i]); err != nil {
			return nil, err
		}
	}
	return added, p.bridges.Join(topicsOf(added))
}

// topicsOf are what bridges serve of sensors.
func topicsOf(list []*Sensor) (topics []*carry.Topics) {
	for _, s := range list {
		topics = append(topics, &s.topics)
	}
	return topics
}

// owners returns the actor that each added sensor rides on: the one that its parent
// rides on. change must be held.
func (p *Pipeline) owners(added []*Sensor, attachTo uint32) ([]uint32, error) {
	byFrame := map[string]uint32{spatial.FrameBaseLink: attachTo}
	for _, s := range p.members {
		if s.spec.BodyFrame() != spatial.FrameBaseLink {
			byFrame[s.spec.BodyFrame()] = s.owner
		}
	}
	parents := map[string]string{}
	for _, s := range added {
		if s.spec.BodyFrame() != spatial.FrameBaseLink {
			parents[s.spec.BodyFrame()] = s.spec.ParentFrame
		}
	}
	list := make([]uint32, len(added))
	for i, s := range added {
		parent := s.spec.ParentFrame
		for parents[parent] != "" { // the rig has no circles
			parent = parents[parent]
		}
		list[i] = byFrame[parent]
		if attachTo != scene.EgoID && list[i] != attachTo {
			return nil, s.fault("parent", fmt.Errorf("%w: %s is on actor %d, not on %d", rig.ErrParent, parent, list[i], attachTo))
		}
	}
	return list, nil
}

// refresh puts sensors that have become live into the roster, in the members' order;
// change must be held.
func (p *Pipeline) refresh(added []*Sensor) {
	live := p.live()
	list := make([]*Sensor, 0, len(live)+len(added))
	for _, s := range p.members {
		if slices.Contains(live, s) || slices.Contains(added, s) {
			list = append(list, s)
		}
	}
	p.roster.Store(&list)
}

// strike takes sensors out of the pipeline and ends them; change must be held, and
// nobody works with them.
func (p *Pipeline) strike(gone []*Sensor) error {
	p.members = slices.DeleteFunc(slices.Clone(p.members), func(s *Sensor) bool { return slices.Contains(gone, s) })
	live := slices.DeleteFunc(slices.Clone(p.live()), func(s *Sensor) bool { return slices.Contains(gone, s) })
	p.roster.Store(&live)
	p.rig.Sensors = slices.DeleteFunc(slices.Clone(p.rig.Sensors), func(e sensors.Config) bool {
		return slices.ContainsFunc(gone, func(s *Sensor) bool { return s.spec.Name == e.Name })
	})
	var errs []error
	for _, s := range gone {
		errs = append(errs, s.endLife())
		for _, in := range s.env.Inlets {
			in.Close()
		}
	}
	p.bridges.Leave(topicsOf(gone))
	return errors.Join(errs...)
}

// ownerOf describes an actor to the sensors on it. The error wraps scene.ErrNoActor or
// scene.ErrAbsent.
func (p *Pipeline) ownerOf(id uint32) (sensors.Owner, error) {
	a, err := p.Actor(id)
	if err != nil {
		return sensors.Owner{}, err
	}
	box, _ := p.history.Box(id)
	about := sensors.Owner{ID: id, TypeID: a.TypeID(), Box: box}
	if id == scene.EgoID {
		about.Vehicle, _ = p.config.Ego.(*scene.Driven)
	}
	return about, nil
}

// ending is the end of one sensor before its pipeline's.
type ending struct {
	once sync.Once
	done chan struct{} // closed when the sensor is gone
	err  error         // written before done is closed
}

func (e *ending) init() { e.done = make(chan struct{}) }

// Destroy ends the sensor, also during a run. Its listeners aren't called any more, and it
// fires no more. What it has captured goes to its bridges or counts as closed, and what they
// were given is sent. Then its objects on the GPU are given back, and its name and topics are
// free again. Its counts stay in the Summary. Destroy returns when all that has happened, or
// with the context's error when ctx ends before; it goes on then. Called within a listener's
// callback it doesn't wait, for it might wait for itself. Again it waits for the same end and
// returns the same.
//
// A sensor in whose frame others are mounted is not destroyed: the error wraps
// ErrMounted and names them. The end of the pipeline ends all sensors by itself.
func (s *Sensor) Destroy(ctx context.Context) error {
	if under, err := s.startEnding(); err != nil || !under || inCallback() {
		return err
	}
	select {
	case <-s.ending.done:
		return s.ending.err
	case <-ctx.Done():
		return fmt.Errorf("destroy sensor %s: %w", s.spec.Name, context.Cause(ctx))
	}
}

// startEnding begins the sensor's end, once, and reports whether it is under way or
// done; it is not where the pipeline was closed before.
func (s *Sensor) startEnding() (under bool, err error) {
	p := s.p
	p.change.Lock()
	defer p.change.Unlock()
	if s.users.Closing() {
		return true, nil
	}
	if p.closed {
		return false, nil
	}
	if on := p.mountedOn(s); len(on) > 0 {
		return false, fmt.Errorf("destroy sensor %s: %w: %s", s.spec.Name, ErrMounted, strings.Join(on, ", "))
	}
	p.letEnd(s)
	return true, nil
}

// letEnd ends a sensor on a goroutine of its own, for the caller may be one of those that it
// waits for. Close waits for the goroutine. change must be held.
func (p *Pipeline) letEnd(s *Sensor) {
	s.ending.once.Do(func() {
		s.topics.NoteListening()
		s.heardBy.close()
		gone := s.users.Close()
		p.endings.Go(func() {
			defer close(s.ending.done)
			<-gone
			s.ending.err = p.end(s)
		})
	})
}

// end ends a sensor that nobody works with.
func (p *Pipeline) end(s *Sensor) error {
	err := s.endLife()
	ctx, cancel := flow.WithPatience(context.Background(), deliveryLimit)
	defer cancel()
	s.topics.Disconnect(ctx)
	p.change.Lock()
	defer p.change.Unlock()
	p.former = p.former.With(s.rows(0), s.topics.InputRows())
	_ = p.strike([]*Sensor{s}) // its life has ended
	return err
}

// mountedOn names the sensors whose parent frame is a sensor's and no other's; change
// must be held.
func (p *Pipeline) mountedOn(s *Sensor) []string {
	frame := s.spec.BodyFrame()
	if frame == spatial.FrameBaseLink {
		return nil
	}
	var names []string
	for _, other := range p.members {
		switch {
		case other == s || other.users.Closing():
		case other.spec.BodyFrame() == frame:
			return nil // the frame stays
		case other.spec.ParentFrame == frame:
			names = append(names, other.spec.Name)
		}
	}
	return names
}

// orphan ends the sensors of an actor that is there no more.
func (p *Pipeline) orphan(id uint32) {
	p.change.Lock()
	defer p.change.Unlock()
	for _, s := range p.members {
		if s.owner == id && !s.users.Closing() && !p.closed {
			s.env.Log.Info("the actor that the sensor rode on is gone, and the sensor with it", "actor", id)
			p.letEnd(s)
		}
	}
}

// frames returns the fixed frames of the sensors on an actor, the same slice until
// sensors come or go. Any goroutine.
func (p *Pipeline) frames(owner uint32) []sample.Transform {
	f, roster := &p.fixed, p.roster.Load()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.roster != roster {
		f.roster, f.byOwner = roster, map[uint32][]sample.Transform{}
	}
	list, known := f.byOwner[owner]
	if !known {
		list = framesOf(p.live(), owner)
		f.byOwner[owner] = list
	}
	return list
}

// frameLists are the fixed frames of a roster.
type frameLists struct {
	mu      sync.Mutex
	roster  *[]*Sensor                    // guarded by mu
	byOwner map[uint32][]sample.Transform // guarded by mu
}

// framesOf returns the fixed frames of the sensors on an actor, parents first and each once.
// Sensors may share a frame, and one whose data is in no frame of its own may be named like one
// of REP-105's.
func framesOf(list []*Sensor, owner uint32) []sample.Transform {
	var open, within []sample.Transform
	for _, s := range list {
		if s.owner != owner {
			continue
		}
		open = append(open, sample.Transform{
			Header: sample.Header{FrameID: s.spec.ParentFrame}, ChildFrameID: s.spec.BodyFrame(), Relative: s.spec.Relative,
		})
		if f, ok := s.life.Load().Sensor().(sensors.Framer); ok {
			within = append(within, f.Frames()...)
		}
	}
	open = append(open, within...) // a name that both have is the sensor's that is mounted as it
	var frames []sample.Transform
	// These move or lie above the vehicle: no sensor is their parent.
	placed := map[string]bool{spatial.FrameBaseLink: true, spatial.FrameMap: true, spatial.FrameOdom: true}
	for grew := true; grew; {
		grew = false
		for i := range open {
			if f := &open[i]; !placed[f.ChildFrameID] && placed[f.FrameID] {
				placed[f.ChildFrameID], grew = true, true
				frames = append(frames, *f)
			}
		}
	}
	return frames
}
