package pipeline

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/pipeline/carry"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// Sensor is one sensor of a pipeline. Its methods may be called from any goroutine.
type Sensor struct {
	spec     sensors.Spec
	serial   uint64 // among all sensors of the pipeline
	owner    uint32
	rank     rank
	schedule *simtime.Schedule            // nil for a type that fires each frame
	life     atomic.Pointer[sensors.Life] // another one after Reset
	reads    reads
	gpu      bool           // it is a sensors.Capturer
	hearer   sensors.Hearer // nil for one that isn't told
	env      *sensors.Env
	topics   carry.Topics // of env.Ports and env.Inlets, those that the settings leave
	heardBy  listeners
	points   points
	source   *bridges.Source // of topics; bridges keep it longer than the sensor
	users    *flow.Usage
	turn     chan struct{} // see takeTurn; nil where none is needed
	ending   ending
	tuning   tuning
	barrier  *atomic.Pointer[barrier] // the roster's
	destroy  func(*Sensor) error      // begins its end

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
	if err := s.makeLife(); err != nil {
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

// Definition returns the sensor's type.
func (s *Sensor) Definition() *sensors.Definition { return s.spec.Definition }

// Mounting returns the frame that the sensor is mounted in, its own, and its place in the first.
func (s *Sensor) Mounting() (parent, frame string, at sensors.Pose) {
	return s.spec.ParentFrame, s.spec.BodyFrame(), s.spec.Config.Pose
}

// openTopics opens the outputs and inputs, and puts those on topics that the settings leave.
func (s *Sensor) openTopics() {
	d := s.spec.Definition
	s.topics.Sensor, s.topics.Type = s.spec.Name, d.ID
	settings := s.spec.Settings
	config := s.spec.Config
	s.source = &bridges.Source{Mount: s.spec.Mount, Rate: s.Rate(), Wanted: config.Wanted, Beside: config.Beside, Attribute: func(name string) (any, bool) {
		if d.Attribute(name) == nil {
			return nil, false
		}
		return settings.Value(name), true
	}}
	for i := range d.Outputs {
		out := &d.Outputs[i]
		port := out.Open()
		port.Spec().QoS = s.spec.Config.QoS.Over(out.QoS)
		port.Observe(s.points.see)
		s.env.Ports = append(s.env.Ports, port)
		if s.publishes(out.Name) {
			s.topics.Outlets = append(s.topics.Outlets, carry.NewOutlet(port, bridges.Topic{
				Name: topicOf(&s.spec, out.Name, out.Suffix), Sensor: s.spec.Name, SensorType: d.ID,
				SensorNumber: d.Number, Output: i, Source: s.source, QoS: port.Spec().QoS,
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

// makeLife begins the sensor's life, with the settings of the rig.
func (s *Sensor) makeLife() error {
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

// endLife ends what begin began. After that nobody reads its inputs.
func (s *Sensor) endLife() error {
	for _, in := range s.env.Inlets {
		in.Restart()
	}
	life := s.life.Load()
	err := life.End()
	s.reads.ended(life)
	return wrap("end sensor "+s.spec.Name, err)
}

// dropped counts a firing that the sensor lost; all its outputs lack it.
func (s *Sensor) dropped(at sensors.Tick, cause flow.Cause) {
	s.topics.Dropped(cause)
	if cause != flow.CauseNoReturn { // such a scan is published
		s.barrier.Load().miss(s, at.Seq, cause)
	}
	s.env.Completed()
}

// sending is the sensor's carry.Account: the present barrier's, if there is one.
func (s *Sensor) sending(seq uint64) (arrived func(flow.Cause)) {
	return s.barrier.Load().sending(s, seq)
}

// skip counts instants that were passed over. They bring no latched message.
func (s *Sensor) skip(n int) {
	for _, o := range s.topics.Outlets {
		if o.Spec().QoS.Durability != flow.TransientLocal {
			o.Dropped(flow.CauseSkipped, n)
		}
	}
}

// firstAfter returns the first instant of the sensor's grid that is a whole period
// after t, or more.
func (s *Sensor) firstAfter(t simtime.Stamp) simtime.Stamp {
	rate := s.schedule.Rate()
	k := rate.IndexAt(t)
	if rate.At(k) < t {
		k++
	}
	return rate.At(k + 1)
}

// tell tells a sensor that wants to know it whether anybody listens, when that changes.
func (s *Sensor) tell(ctx context.Context, listening bool) error {
	if s.hearer == nil || s.heard == listening || !s.users.Begin() {
		return nil
	}
	defer s.users.Exit()
	if err := s.takeTurn(ctx); err != nil {
		return err
	}
	defer s.giveTurn()
	s.heard = listening
	s.hearer.Heard(listening)
	return nil
}

// takeTurn waits until the sensor's firing before has ticked. One that works before the scene
// moves, or is told of its listeners, isn't called from two goroutines at once. The loop does
// run ahead of what is published. It fails when ctx ends.
func (s *Sensor) takeTurn(ctx context.Context) error {
	if s.turn == nil {
		return nil
	}
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *Sensor) giveTurn() {
	if s.turn != nil {
		<-s.turn
	}
}

// rows are the rows of the sensor's topics after so many seconds.
func (s *Sensor) rows(seconds float64) []carry.SensorSummary {
	var list []carry.SensorSummary
	for _, o := range s.topics.Outlets {
		row := o.Row(seconds)
		// A latched message comes once, and again where it changes.
		if s.spec.Definition.Outputs[o.Topic.Output].QoS.Durability != flow.TransientLocal {
			row.RateWantedHz = s.Rate().Float64()
		}
		list = append(list, row)
	}
	return list
}

// Drops counts the sensor's lost messages by cause, over its outputs: of those
// that share a capture, the one that lost most.
func (s *Sensor) Drops() flow.Drops { return s.topics.Drops() }

// ending is the end of one sensor before its pipeline's.
type ending struct {
	once sync.Once
	done chan struct{} // closed when the sensor is gone
	err  error         // written before done is closed
}

func (e *ending) init() { e.done = make(chan struct{}) }

// Destroy begins the sensor's end, also during a run. Its listeners aren't called any more, and it
// fires no more. Its captures go to its bridges or count as closed, and bridges send what they
// were given. Then its objects on the GPU are given back, and its name and topics are
// free again. Its counts stay in the Summary. Destroy waits for none of that, so that callbacks
// may call it; Wait does. Destroying again does nothing.
//
// A sensor in whose frame others are mounted is not destroyed: the error wraps
// ErrMounted and names them. The end of the pipeline ends all sensors by itself.
func (s *Sensor) Destroy() error { return s.destroy(s) }

// Wait waits until the sensor is gone, after Destroy of it or of its actor, and returns what went
// wrong with its end. It returns the context's error when ctx ends before, and at once for a sensor
// that nobody has destroyed. A callback must not call it: it might wait for itself.
func (s *Sensor) Wait(ctx context.Context) error {
	if !s.users.Closing() {
		return nil
	}
	select {
	case <-s.ending.done:
		return s.ending.err
	case <-ctx.Done():
		return fmt.Errorf("wait for the end of sensor %s: %w", s.spec.Name, context.Cause(ctx))
	}
}
