package stream

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/guard"
	"github.com/raybridge/raybridge/internal/protowalk"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/world"
)

// stepFailures are the errors of a step by their status in step.proto; nil for one of no kind.
var stepFailures = [...]error{
	1: world.ErrBusy, 2: world.ErrMode, 3: world.ErrTime, 4: world.ErrValue, 5: world.ErrUnknownActor,
	6: world.ErrDuplicate, 7: world.ErrFull, 8: ErrMalformed, 9: world.ErrEnded,
	10: world.ErrUnknownSignal,
}

// Flags of a State, and how many values it has at most.
const (
	stateVelocity = 1 << 0
	stateAngular  = 1 << 1
	stateJump     = 1 << 2
	stateLights   = 8 // the first bit of world.Lights
	maxValues     = 13
	poseValues    = 7
)

// maxEntries bounds each list of a step: an entry takes less room in a frame than in memory.
const maxEntries = 1 << 16

// stepRequest is a step as it is read. Its memory is used again, and belongs to one session.
type stepRequest struct {
	frame    world.Frame
	duration simtime.Stamp // 0 where the frame says until when
	to       string        // the sensor of the last frame that had one
	timed    bool          // it says until when
	resets   bool          // it is a reset, to this seed
	seed     uint64
	ego      world.State
	flags    uint64
	values   [maxValues]float64
	count    int       // of values
	joints   []float64 // of all states
	names    []string  // of these
}

// read takes a Step of step.proto apart. What it doesn't know it passes over. Errors wrap ErrMalformed
// or ErrTooLarge, or world.ErrValue for a long name. They are in a *world.ActorError where an entry of a list is at fault.
func (s *stepRequest) read(b []byte) error {
	f := &s.frame
	*f = world.Frame{Spawn: f.Spawn[:0], Remove: f.Remove[:0], Actors: f.Actors[:0], Signals: f.Signals[:0]}
	s.duration, s.timed, s.resets = 0, false, false
	s.joints, s.names = s.joints[:0], s.names[:0]
	w := over(b)
	for w.Next() {
		switch w.Field {
		case 1:
			f.Until, s.timed = simtime.Stamp(w.Fixed64()), true
		case 2:
			s.duration = simtime.Stamp(w.Fixed64())
		case 3:
			var spawn *world.Spawn
			if f.Spawn, spawn = entry(&w, f.Spawn, "spawn"); spawn != nil {
				err := s.spawn(spawn, w.Message())
				w.blame(err, "spawn", len(f.Spawn)-1, world.Ref{Name: spawn.Name})
			}
		case 4:
			var ref *world.Ref
			if f.Remove, ref = entry(&w, f.Remove, "remove"); ref != nil {
				a := world.Actor{Ref: *ref}
				err := s.actor(&a, w.Message(), true)
				*ref = a.Ref
				w.blame(err, "remove", len(f.Remove)-1, a.Ref)
			}
		case 5:
			var a *world.Actor
			if f.Actors, a = entry(&w, f.Actors, "actors"); a != nil {
				err := s.actor(a, w.Message(), false)
				w.blame(err, "actors", len(f.Actors)-1, a.Ref)
			}
		case 6:
			f.Complete = w.Varint() != 0
		case 7:
			f.Ego = &s.ego
			w.blame(s.state(&s.ego, w.Message()), "ego", 0, world.Ref{})
		case 8:
			if f.Wait = world.Wait(min(w.Varint(), math.MaxUint8)); f.Wait > world.None {
				w.Fail(fmt.Errorf("%w: wait %d", ErrMalformed, f.Wait))
			}
		case 9:
			var signal *world.Signal
			if f.Signals, signal = entry(&w, f.Signals, world.ListSignals); signal != nil {
				err := readSignal(signal, w.Message())
				w.blame(err, world.ListSignals, len(f.Signals)-1, signal.Ref)
			}
		case 10:
			f.To = w.name(s.to)
			s.to = f.To
		case 11:
			var err error
			f.Weather, err = readWeather(w.Message())
			w.Fail(err)
		case 15:
			s.resets, s.seed = true, w.Varint()
		}
	}
	if w.Err != nil {
		return w.Err
	}
	switch {
	case !s.resets:
	case s.timed, s.duration != 0, f.To != "", len(f.Spawn)+len(f.Remove)+len(f.Actors)+len(f.Signals) > 0, f.Complete, f.Ego != nil, f.Weather != nil, f.Wait != 0:
		return fmt.Errorf("%w: a reset has nothing else", ErrMalformed)
	default:
		return nil
	}
	ends := 0
	for _, has := range []bool{s.timed, s.duration != 0, f.To != ""} {
		if has {
			ends++
		}
	}
	if ends != 1 {
		return fmt.Errorf("%w: a step has until, a duration or the sensor to whose firing it goes, one of them", ErrMalformed)
	}
	return nil
}

// readSignal reads a Signal.
func readSignal(to *world.Signal, b []byte) error {
	name := to.Name
	*to = world.Signal{}
	w := over(b)
	for w.Next() {
		switch w.Field {
		case 1:
			to.Handle = w.Fixed32()
		case 2:
			to.Name = w.name(name)
		case 3:
			if to.State = world.SignalState(min(w.Varint(), math.MaxUint8)); !to.State.Known() {
				w.Fail(fmt.Errorf("%w: %v", ErrMalformed, to.State))
			}
		}
	}
	return w.Err
}

// actor reads an Actor; without is one of which only the name counts.
func (s *stepRequest) actor(a *world.Actor, b []byte, without bool) error {
	name := a.Name
	*a = world.Actor{}
	w := s.begin(b)
	for w.Next() {
		switch w.Field {
		case 1, 2:
			s.part(&w)
		case 3:
			a.Handle = w.Fixed32()
		case 4:
			a.Name = w.name(name)
		case 5, 6:
			s.readJoints(&w, &a.State)
		}
	}
	if w.Err != nil || without {
		return w.Err
	}
	return s.fill(&a.State)
}

// state reads a State.
func (s *stepRequest) state(to *world.State, b []byte) error {
	*to = world.State{}
	w := s.begin(b)
	for w.Next() {
		switch w.Field {
		case 5, 6:
			s.readJoints(&w, to)
		default:
			s.part(&w)
		}
	}
	if w.Err != nil {
		return w.Err
	}
	return s.fill(to)
}

// readJoints reads some of a state's joints.
func (s *stepRequest) readJoints(w *walk, to *world.State) {
	if w.Field == 5 {
		at := len(s.joints)
		n := w.Doubles(nil, at)
		s.joints = slices.Grow(s.joints, n-at)[:n]
		w.Doubles(s.joints, at)
		to.Joints = s.joints[at-len(to.Joints) : n : n]
		return
	}
	at, before := len(s.names), ""
	switch {
	case at == maxEntries:
		w.Fail(fmt.Errorf("%w: more than %d names of joints", ErrTooLarge, maxEntries))
		return
	case at < cap(s.names):
		before = s.names[:at+1][at]
	}
	s.names = append(s.names, w.name(before))
	to.JointNames = s.names[at-len(to.JointNames) : at+1 : at+1]
}

// spawn reads a Spawn.
func (s *stepRequest) spawn(to *world.Spawn, b []byte) error {
	name, model := to.Name, to.Model
	*to = world.Spawn{}
	var state []byte
	w := s.begin(b)
	for w.Next() {
		switch w.Field {
		case 1:
			to.Name = w.name(name)
		case 2:
			to.Model = w.name(model)
		case 3:
			s.count = w.Doubles(s.values[:], s.count)
		case 4:
			if to.Reference = world.Reference(min(w.Varint(), math.MaxUint8)); to.Reference > world.FrontBumper {
				w.Fail(fmt.Errorf("%w: reference %d", ErrMalformed, to.Reference))
			}
		case 5:
			to.OnGround = w.Varint() != 0
		case 6:
			state = w.Message()
		case 7:
			var err error
			if to.Color, err = world.RGB(w.Varint()); err != nil {
				w.Fail(fmt.Errorf("%w: %w", ErrMalformed, err))
			}
		}
	}
	switch {
	case w.Err != nil:
		return w.Err
	case s.count != 0 && s.count != len(to.Size):
		return fmt.Errorf("%w: a size of %d numbers, it has %d", ErrMalformed, s.count, len(to.Size))
	}
	copy(to.Size[:], s.values[:s.count])
	return s.state(&to.State, state)
}

// begin begins to read a message with values.
func (s *stepRequest) begin(b []byte) walk {
	s.flags, s.count = 0, 0
	return over(b)
}

// part reads the field if it is one of a State. An Actor has them, too.
func (s *stepRequest) part(w *walk) {
	switch w.Field {
	case 1:
		s.flags = w.Varint()
	case 2:
		s.count = w.Doubles(s.values[:], s.count)
	}
}

// fill makes a state of the values.
func (s *stepRequest) fill(to *world.State) error {
	want, flags := poseValues, s.flags
	to.VelocityKnown, to.AngularVelocityKnown, to.Jump = flags&stateVelocity != 0, flags&stateAngular != 0, flags&stateJump != 0
	to.Lights = world.Lights(flags >> stateLights)
	for _, known := range [...]bool{to.VelocityKnown, to.AngularVelocityKnown} {
		if known {
			want += 3
		}
	}
	if s.count != want {
		return fmt.Errorf("%w: a state of flags %d has %d values, not %d", ErrMalformed, flags, want, s.count)
	}
	v := s.values[:want]
	copy(to.Pose.Position[:], v)
	copy(to.Pose.Orientation.V[:], v[3:])
	to.Pose.Orientation.W, v = v[6], v[poseValues:]
	if to.VelocityKnown {
		v = v[copy(to.Velocity[:], v):]
	}
	copy(to.AngularVelocity[:], v)
	return nil
}

// entry makes a list longer by one, in the memory that it has. The entry is what was there before.
func entry[T any](w *walk, list []T, what string) ([]T, *T) {
	if len(list) == maxEntries {
		w.Fail(fmt.Errorf("%w: more than %d entries of %s", ErrTooLarge, maxEntries, what))
		return list, nil
	}
	if len(list) < cap(list) {
		list = list[:len(list)+1]
	} else {
		var none T
		list = append(list, none)
	}
	return list, &list[len(list)-1]
}

// walk goes over the fields of a message of step.proto.
type walk struct{ protowalk.Walk }

func over(message []byte) walk { return walk{protowalk.Over(message, ErrMalformed)} }

// name returns the field as a name, which is before if it is the same. Names are short: they are kept
// for the steps that follow, and errors tell them again.
func (w *walk) name(before string) string {
	if len(w.Message()) > guard.NameBytes {
		w.Fail(fmt.Errorf("%w: a name has more than %d bytes", world.ErrValue, guard.NameBytes))
		return ""
	}
	return w.Text(before)
}

// blame keeps an error of an entry, with its place.
func (w *walk) blame(err error, list string, index int, who world.Ref) {
	if err != nil {
		w.Fail(&world.ActorError{List: list, Index: index, Actor: who, Err: err})
	}
}

// stepWriter appends messages of step.proto. Its memory is used again.
type stepWriter struct{ part []byte }

// result appends a StepResult: what the step brought, or why it was refused. One that was applied
// has both.
func (s *stepWriter) result(b []byte, r *world.StepResult, failure error) []byte {
	if failure != nil {
		s.part = appendFailure(s.part[:0], failure)
		b = appendBytes(b, 6, s.part)
		if !errors.Is(failure, world.ErrUnfinished) {
			return b
		}
	}
	b = appendFixed64(b, 1, uint64(r.Stamp))
	b = appendVarint(b, 2, r.Frame)
	if len(r.Spawned) > 0 {
		b = protowire.AppendVarint(protowire.AppendTag(b, 3, protowire.BytesType), uint64(4*len(r.Spawned)))
		for _, handle := range r.Spawned {
			b = protowire.AppendFixed32(b, handle)
		}
	}
	for _, model := range r.Boxed {
		b = appendText(b, 7, model)
	}
	for i := range r.Deliveries {
		d := &r.Deliveries[i]
		s.part = appendText(s.part[:0], 1, d.Sensor)
		s.part = appendVarint(s.part, 2, d.Seq)
		s.part = appendFixed64(s.part, 3, uint64(d.Due))
		s.part = appendVarint(s.part, 4, uint64(d.Messages))
		s.part = appendText(s.part, 5, string(d.Missing))
		s.part = appendVarint(appendVarint(s.part, 6, uint64(d.More)), 7, uint64(d.Lost))
		b = appendBytes(b, 4, s.part)
	}
	s.part = appendState(s.part[:0], &r.Ego)
	return appendBytes(b, 5, s.part)
}

func appendFailure(b []byte, err error) []byte {
	for status, known := range stepFailures {
		if known != nil && errors.Is(err, known) {
			b = appendVarint(b, 1, uint64(status))
			break
		}
	}
	b = appendText(b, 2, err.Error())
	var actor *world.ActorError
	if errors.As(err, &actor) {
		b = appendText(b, 3, actor.List)
		b = appendVarint(b, 4, uint64(actor.Index))
		b = protowire.AppendFixed32(protowire.AppendTag(b, 5, protowire.Fixed32Type), actor.Actor.Handle)
		b = appendText(b, 6, actor.Actor.Name)
	}
	return appendVarint(b, 7, protowire.EncodeBool(errors.Is(err, world.ErrUnfinished)))
}

// step appends a Step.
func (s *stepWriter) step(b []byte, f *world.Frame) []byte {
	if f.To == "" {
		b = appendFixed64(b, 1, uint64(f.Until))
	}
	b = appendText(b, 10, f.To)
	for i := range f.Spawn {
		spawn := &f.Spawn[i]
		s.part = appendText(appendText(s.part[:0], 1, spawn.Name), 2, spawn.Model)
		s.part = appendDoubles(s.part, 3, spawn.Size[:])
		s.part = appendVarint(s.part, 4, uint64(spawn.Reference))
		s.part = appendVarint(s.part, 5, protowire.EncodeBool(spawn.OnGround))
		s.part = appendBytes(s.part, 6, appendState(nil, &spawn.State))
		if c := spawn.Color; c.Known {
			s.part = protowire.AppendTag(s.part, 7, protowire.VarintType)
			s.part = protowire.AppendVarint(s.part, uint64(c.R)<<16|uint64(c.G)<<8|uint64(c.B))
		}
		b = appendBytes(b, 3, s.part)
	}
	for _, ref := range f.Remove {
		s.part = appendRef(s.part[:0], ref)
		b = appendBytes(b, 4, s.part)
	}
	for i := range f.Actors {
		s.part = appendState(appendRef(s.part[:0], f.Actors[i].Ref), &f.Actors[i].State)
		b = appendBytes(b, 5, s.part)
	}
	b = appendVarint(b, 6, protowire.EncodeBool(f.Complete))
	if f.Ego != nil {
		s.part = appendState(s.part[:0], f.Ego)
		b = appendBytes(b, 7, s.part)
	}
	b = appendVarint(b, 8, uint64(f.Wait))
	for i := range f.Signals {
		signal := &f.Signals[i]
		s.part = protowire.AppendFixed32(protowire.AppendTag(s.part[:0], 1, protowire.Fixed32Type), signal.Handle)
		s.part = appendVarint(appendText(s.part, 2, signal.Name), 3, uint64(signal.State))
		b = appendBytes(b, 9, s.part)
	}
	if f.Weather != nil {
		s.part = appendWeather(s.part[:0], f.Weather)
		b = appendBytes(b, 11, s.part)
	}
	return b
}

// appendReset appends a Step that takes the run back.
func appendReset(b []byte, seed uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, 15, protowire.VarintType), seed)
}

func appendRef(b []byte, ref world.Ref) []byte {
	b = protowire.AppendFixed32(protowire.AppendTag(b, 3, protowire.Fixed32Type), ref.Handle)
	return appendText(b, 4, ref.Name)
}

// appendState appends the fields of a State, which an Actor has, too.
func appendState(b []byte, s *world.State) []byte {
	x, q, v, w := s.Pose.Position, s.Pose.Orientation, s.Velocity, s.AngularVelocity
	values := [maxValues]float64{x[0], x[1], x[2], q.V[0], q.V[1], q.V[2], q.W}
	n, flags := poseValues, uint64(s.Lights)<<stateLights
	if s.VelocityKnown {
		flags |= stateVelocity
		n += copy(values[n:], v[:])
	}
	if s.AngularVelocityKnown {
		flags |= stateAngular
		n += copy(values[n:], w[:])
	}
	if s.Jump {
		flags |= stateJump
	}
	b = appendDoubles(appendVarint(b, 1, flags), 2, values[:n])
	if len(s.Joints) > 0 {
		b = appendDoubles(b, 5, s.Joints)
	}
	for _, name := range s.JointNames {
		b = protowire.AppendString(protowire.AppendTag(b, 6, protowire.BytesType), name)
	}
	return b
}

func appendDoubles(b []byte, field protowire.Number, values []float64) []byte {
	b = protowire.AppendVarint(protowire.AppendTag(b, field, protowire.BytesType), uint64(8*len(values)))
	for _, v := range values {
		b = protowire.AppendFixed64(b, math.Float64bits(v))
	}
	return b
}

func appendVarint(b []byte, field protowire.Number, v uint64) []byte {
	if v == 0 {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
}

func appendFixed64(b []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(b, field, protowire.Fixed64Type), v)
}

func appendBytes(b []byte, field protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), v)
}

func appendText(b []byte, field protowire.Number, v string) []byte {
	if v == "" {
		return b
	}
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), v)
}

// readStepResult is the inverse of stepWriter.result. The error is the step's, with its kind and
// the server's text, or wraps ErrMalformed.
func readStepResult(b []byte) (r world.StepResult, err error) {
	var s stepRequest
	var failure error
	w := over(b)
	for w.Next() {
		switch w.Field {
		case 1:
			r.Stamp = simtime.Stamp(w.Fixed64())
		case 2:
			r.Frame = w.Varint()
		case 3:
			for list := w.Message(); len(list) >= 4; list = list[4:] {
				r.Spawned = append(r.Spawned, le.Uint32(list))
			}
		case 4:
			r.Deliveries = append(r.Deliveries, readDelivery(&w))
		case 5:
			w.blame(s.state(&r.Ego, w.Message()), "ego", 0, world.Ref{})
		case 6:
			failure = readFailure(w.Message())
		case 7:
			r.Boxed = append(r.Boxed, w.Text(""))
		}
	}
	w.Fail(failure)
	return r, w.Err
}

func readDelivery(outer *walk) (d world.Delivery) {
	w := over(outer.Message())
	for w.Next() {
		switch w.Field {
		case 1:
			d.Sensor = w.Text("")
		case 2:
			d.Seq = w.Varint()
		case 3:
			d.Due = simtime.Stamp(w.Fixed64())
		case 4:
			d.Messages = int(w.Varint())
		case 5:
			d.Missing = flow.Cause(w.Text(""))
		case 6:
			d.More = int(w.Varint())
		case 7:
			d.Lost = int(w.Varint())
		}
	}
	outer.Fail(w.Err)
	return d
}

// stepError is why a server refused a step or did not end it, in its words.
type stepError struct {
	text string
	kind error
}

func (e *stepError) Error() string { return e.text }

func (e *stepError) Unwrap() error { return e.kind }

func readFailure(b []byte) error {
	var status uint64
	var applied bool
	var e stepError
	var actor world.ActorError
	w := over(b)
	for w.Next() {
		switch w.Field {
		case 1:
			status = w.Varint()
		case 2:
			e.text = w.Text("")
		case 3:
			actor.List = w.Text("")
		case 4:
			actor.Index = int(w.Varint())
		case 5:
			actor.Actor.Handle = w.Fixed32()
		case 6:
			actor.Actor.Name = w.Text("")
		case 7:
			applied = w.Varint() != 0
		}
	}
	if w.Err != nil {
		return w.Err
	}
	if e.text == "" {
		e.text = "the step failed, and the server doesn't say why"
	}
	if status < uint64(len(stepFailures)) {
		e.kind = stepFailures[status]
	}
	if actor.List != "" {
		actor.Err, e.kind = e.kind, &actor
	}
	if applied {
		e.kind = errors.Join(world.ErrUnfinished, e.kind)
	}
	return &e
}
