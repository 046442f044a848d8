// Package osi drives a world by messages of ASAM OSI 3: GroundTruth, or SensorView, which has one inside. They
// come from a trace, from an MCAP file, or from esmini over UDP.
//
// Moving objects are actors. Their names are their ids, their poses those of the middle of their boxes.
// Stationary objects are boxes of the names static.ID, which stay until a message has others. Traffic
// lights are those of the scene that have a name of their source, or else their id. The
// messages are read by walking the wire. ASAM's numbers of fields stand in walk.go, light.go and environment.go, after the .proto files of
// https://github.com/OpenSimulationInterface/open-simulation-interface, versions 3.0 to 3.8.
package osi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/raybridge/raybridge/memory"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/world"
	"github.com/raybridge/raybridge/world/snapshot"
)

// Kind is osi:FILE and osi:udp:[HOST:]PORT. Errors name the message, and the byte of a trace where it
// begins. They wrap ErrDamaged, world.ErrValue, ErrTime, ErrDuplicate or ErrFull.
var Kind = world.Kind{
	Name: "osi", Form: "FILE.osi, FILE.osi.gz, FILE.mcap or udp:[HOST:]PORT",
	Doc:  "ASAM OSI 3 GroundTruth or SensorView: a trace, or esmini's datagrams",
	Open: open,
}

// mostMessage is how many bytes a message may have.
const mostMessage = 64 << 20

// longestProjection is how much of a projection's text is read, bytes.
const longestProjection = 1 << 10

// store has a message, which is taken from the run's memory.
type store struct {
	bytes  []byte
	memory *memory.Budget
}

// grow makes room for some bytes more.
func (s *store) grow(more int) error {
	if len(s.bytes)+more <= cap(s.bytes) {
		return nil
	}
	before := cap(s.bytes)
	room := min(max(len(s.bytes)+more, 2*before), mostMessage)
	if err := s.memory.Take("an OSI message", int64(room-before)); err != nil {
		return err
	}
	s.bytes = append(make([]byte, 0, room), s.bytes...)
	return nil
}

// free gives the memory back.
func (s *store) free() {
	s.memory.Give(int64(cap(s.bytes)))
	s.bytes = nil
}

// messages brings one message after the other.
type messages interface {
	// next returns the next message, until the following call. io.EOF is an end without fault.
	next(ctx context.Context) ([]byte, error)
	// place says where the last message was found.
	place() string
	// drop reports whether the source continues without the last message, which it counts as lost then.
	drop(cause error) bool
	gaps() int64
	io.Closer
}

// source makes frames of messages.
type source struct {
	messages
	theirs    bool
	warn      func(string, ...any)
	projected func(proj string)
	track     *snapshot.Track

	views  bool // the messages are SensorViews
	truth  groundTruth
	lights lights
	static []world.Spawn // what stands there, until a message has others
	stood  []world.Spawn // static before the last message, if that is renewed
	renews bool
	all    []world.Spawn
	astray drift
	host   uint64
	hosted bool // host is known
	ego    world.State
	name   []byte
	warned bool
	err    error // of the last message
}

func open(_ context.Context, address string, o world.Options) (world.Source, error) {
	if o.Warn == nil {
		o.Warn = func(string, ...any) {}
	}
	var m messages
	var err error
	if port, ok := strings.CutPrefix(address, "udp:"); ok {
		m, err = listen(port, o)
	} else {
		m, err = openFile(address, o)
	}
	if err != nil {
		return nil, err
	}
	return newSource(m, o), nil
}

func newSource(m messages, o world.Options) *source {
	return &source{messages: m, theirs: o.EgoTheirs, warn: o.Warn, projected: o.Projected, track: snapshot.NewTrack(o.Start), lights: lights{ask: o.Lights}}
}

// Next returns the frame that the next message ends.
func (s *source) Next(ctx context.Context, _ world.State) (*world.Frame, error) {
	for s.err == nil {
		message, err := s.next(ctx)
		if err != nil && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err == nil {
			frame, err := s.take(message)
			if frame != nil {
				return frame, nil
			}
			if err != nil {
				s.err = s.withdraw(err)
			}
			continue
		}
		if errors.Is(err, io.EOF) {
			err = s.track.End()
		}
		if err != nil && !errors.Is(err, io.EOF) {
			err = fmt.Errorf("%s: %w", s.place(), err)
		}
		s.err = err
	}
	return nil, s.err
}

// Refused takes back the frame of the last message.
func (s *source) Refused(err error) error {
	s.track.Refuse()
	return s.withdraw(err)
}

// withdraw takes back what the last message said. A file's fault ends the run, with its place. In a live world
// the message is dropped.
func (s *source) withdraw(err error) error {
	err = fmt.Errorf("%s: %w", s.place(), err)
	if !s.drop(err) {
		return err
	}
	if s.renews {
		s.static, s.stood, s.renews = s.stood, s.static, false
	}
	if errors.Is(err, world.ErrTime) && s.truth.timed && s.astray.isAnotherClock(s.truth.at) {
		s.track.Continue(s.truth.at)
		s.warn("the sender's clock was set: the run continues from there", "seconds", snapshot.Seconds(s.truth.at))
	}
	return nil
}

// drift tells a sender whose clock was set from messages that are astray.
type drift struct {
	last  simtime.Stamp
	count int // of messages in a row that fit to each other
}

// Bounds of drift.
const (
	driftMessages = 3
	driftStep     = 10 * simtime.Stamp(1e9)
)

// isAnotherClock is told the times of messages that don't fit to the run's, until some in a row fit to each
// other.
func (d *drift) isAnotherClock(at simtime.Stamp) bool {
	if d.count > 0 && at > d.last && at-d.last < driftStep {
		d.count++
	} else {
		d.count = 1
	}
	d.last = at
	if d.count < driftMessages {
		return false
	}
	d.count = 0
	return true
}

// take returns the frame that a message ends. It is nil where there is no step.
func (s *source) take(message []byte) (*world.Frame, error) {
	s.renews = false
	views := s.views || isView(message)
	if views {
		if has, err := s.truth.readView(message); err != nil || !has {
			return nil, err
		}
	} else if err := s.truth.read(message); err != nil {
		return nil, err
	}
	host, hosted := s.host, s.hosted
	if len(s.truth.projection) > 0 && s.projected != nil {
		proj, _, _ := strings.Cut(string(s.truth.projection[:min(len(s.truth.projection), longestProjection)]), ";")
		s.projected(proj) // esmini puts an offset behind a semicolon
		s.projected = nil
	}
	if s.truth.hosted {
		host, hosted = s.truth.host, true
	}
	if len(s.truth.static) > 0 {
		s.keepStatic()
	}
	if err := s.lights.take(s.truth.lights, s.warn); err != nil {
		return nil, err
	}
	told := snapshot.Snapshot{At: s.truth.at, Signals: s.lights.shown, Weather: s.truth.weather}
	s.all = append(s.all[:0], s.static...)
	for i := range s.truth.moving {
		o := &s.truth.moving[i]
		if !hosted || o.id != host {
			s.all = append(s.all, world.Spawn{Name: s.nameOf("", o.id), Model: o.model(), Size: o.size, Reference: world.BoxCentre, Color: o.color, State: o.state()})
			continue
		}
		if s.theirs {
			s.ego, told.EgoPoint = o.ego()
			told.Ego = &s.ego
		}
	}
	told.Actors = s.all
	frame, err := s.track.Add(told)
	if err == nil {
		s.views, s.host, s.hosted = views, host, hosted
		s.warnOfHost(told.Ego != nil)
	}
	return frame, err
}

// warnOfHost warns once that the vehicle with the sensors is not where the user may look for it.
func (s *source) warnOfHost(led bool) {
	switch {
	case s.warned:
	case s.theirs && !led:
		s.warned = true
		s.warn("the OSI messages have no host vehicle: the vehicle with the sensors stays with us")
	case !s.theirs && s.hosted:
		s.warned = true
		s.warn("the host vehicle of the OSI messages is left out: with ego: theirs it moves the vehicle with the sensors")
	}
}

// keepStatic keeps the stationary objects of the last message.
func (s *source) keepStatic() {
	s.static, s.stood, s.renews = s.stood[:0], s.static, true
	for i := range s.truth.static {
		o := &s.truth.static[i]
		s.static = append(s.static, world.Spawn{Name: s.nameOf("static.", o.id), Model: box, Size: o.size, Reference: world.BoxCentre, Color: o.color, State: world.State{Pose: o.pose()}})
	}
}

// nameOf returns the name of an object. It makes none for one that is there.
func (s *source) nameOf(kind string, id uint64) string {
	s.name = strconv.AppendUint(append(s.name[:0], kind...), id, 10)
	return s.track.Name(s.name)
}

// Awaits says what the next frame comes from.
func (s *source) Awaits() string {
	if r, ok := s.messages.(*receiver); ok {
		return fmt.Sprintf("an OSI message at udp:%s: start the sender, such as esmini", r.conn.LocalAddr())
	}
	return "the next message of a file of OSI"
}

// Gaps returns how many messages are known to have been lost.
func (s *source) Gaps() int64 { return s.gaps() }
