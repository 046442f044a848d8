// Package snapshot makes the frames of worlds that are told as snapshots: who is there, and where, at rising
// instants. Traces, logs and most traffic simulators are told so.
//
// A frame ends at a snapshot, so that whatever a sensor sees between two snapshots is on its way from one to the
// other:
//
//   - An actor of the first snapshot is spawned by the first frame, where the first snapshot has it.
//   - An actor that comes later is there for the whole step at whose end it is told of. If its velocity is known it
//     comes in with it, in a straight line. Otherwise it stands.
//   - An actor that the snapshot at the end of a step doesn't have is gone for the whole step.
package snapshot

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/world"
)

// Most is how many actors a snapshot may have. Their labels in pictures have 16 bits.
const Most = 1 << 16

// ErrHeight says that an actor stands on the ground at one instant and has a height at another.
var ErrHeight = errors.New("its height is known at some instants and not at others")

// errShort: there is nothing to move between.
var errShort = errors.New("the world has fewer than two instants: want two or more, to move between")

// Snapshot is who is there at an instant. Its lists stay the caller's.
type Snapshot struct {
	// At is the instant in nanoseconds of the world's own clock, between -2^62 and 2^62.
	At simtime.Stamp
	// Actors are there, each with its name and its state at that instant. What else is told of an
	// actor counts in the snapshot that has it first, and its reference may not change.
	Actors []world.Spawn
	// Signals are what traffic lights show then. (optional)
	Signals []world.Signal
	// Ego is the vehicle that carries the sensors, by its rear axle on the ground. (optional)
	Ego *world.State
}

// Track makes a frame of each snapshot and the one before. One goroutine uses it. In a world whose
// actors stay it allocates nothing.
type Track struct {
	start       simtime.Stamp // of the simulation, at the first snapshot
	first, last simtime.Stamp // of the world's clock
	count       int64         // of snapshots
	actors      map[string]*actor
	frame       world.Frame
	ego         world.State
	led         bool // the last frame moved the ego
}

// actor is somebody whom the last snapshot has.
type actor struct {
	world.Spawn       // as first told
	seen        int64 // the last snapshot that has it, counted from 1
}

// NewTrack returns a track whose first snapshot is at a time of the simulation.
func NewTrack(start simtime.Stamp) *Track {
	return &Track{start: start, actors: map[string]*actor{}}
}

// Name returns the name of an actor as a string. It makes none for an actor that is there already.
func (t *Track) Name(name []byte) string {
	if a := t.actors[string(name)]; a != nil {
		return a.Spawn.Name
	}
	return string(name)
}

// Add returns the frame that ends at a snapshot. It may be read until the next call. It is nil where
// there is no step. That is for the first snapshot, and for one of an instant that is told already,
// which does not count. Where an actor is at fault the error is a *world.ActorError with the index in the
// snapshot. Others wrap world.ErrTime or world.ErrFull. After an error the track is of no use.
func (t *Track) Add(s Snapshot) (*world.Frame, error) {
	switch {
	case len(s.Actors) > Most:
		return nil, fmt.Errorf("%w: %d at once, the limit is %d", world.ErrFull, len(s.Actors), Most)
	case s.At > math.MaxInt64/2 || s.At < -math.MaxInt64/2:
		return nil, fmt.Errorf("%w: %s s is too far from 0", world.ErrTime, Seconds(s.At))
	case t.count == 0:
		t.first, t.last = s.At, s.At
	case s.At < t.last:
		return nil, fmt.Errorf("%w: it goes back from %s to %s s", world.ErrTime, Seconds(t.last), Seconds(s.At))
	case s.At == t.last:
		return nil, nil
	}
	until := t.start + (s.At - t.first)
	if until < t.start {
		return nil, fmt.Errorf("%w: %s s is too far from the beginning", world.ErrTime, Seconds(s.At))
	}
	t.count++
	t.frame = world.Frame{Until: until, Complete: true, Signals: s.Signals, Spawn: t.frame.Spawn[:0], Actors: t.frame.Actors[:0]}
	for i := range s.Actors {
		if err := t.put(&s.Actors[i], s.At-t.last); err != nil {
			return nil, &world.ActorError{List: "actors", Index: i, Actor: world.Ref{Name: s.Actors[i].Name}, Err: err}
		}
	}
	if len(t.actors) > len(s.Actors) {
		for name, a := range t.actors {
			if a.seen != t.count {
				delete(t.actors, name)
			}
		}
	}
	t.last = s.At
	if t.count == 1 {
		return nil, nil
	}
	if s.Ego != nil {
		t.ego = *s.Ego
		t.ego.Jump = !t.led
		t.frame.Ego = &t.ego
	}
	t.led = s.Ego != nil
	return &t.frame, nil
}

// put adds an actor to the frame, whose step takes so long.
func (t *Track) put(s *world.Spawn, step simtime.Stamp) error {
	a := t.actors[s.Name]
	switch {
	case a == nil:
		a = &actor{Spawn: *s}
		a.Name = strings.Clone(s.Name)
		t.actors[a.Name] = a
		if t.count > 1 {
			if s.State.VelocityKnown {
				back := s.State.Velocity.Mul(float64(step) * 1e-9)
				a.State.Pose.Position = s.State.Pose.Position.Sub(back)
			}
			t.frame.Spawn = append(t.frame.Spawn, a.Spawn)
		}
	case a.seen == t.count:
		return world.ErrDuplicate
	case a.Reference != s.Reference:
		return fmt.Errorf("%w: reference %v was %v before", world.ErrValue, s.Reference, a.Reference)
	case a.OnGround != s.OnGround:
		return fmt.Errorf("%w: %w", world.ErrValue, ErrHeight)
	case t.count == 2:
		t.frame.Spawn = append(t.frame.Spawn, a.Spawn)
	}
	a.seen = t.count
	if t.count > 1 {
		t.frame.Actors = append(t.frame.Actors, world.Actor{Ref: world.Ref{Name: a.Name}, State: s.State})
	}
	return nil
}

// End returns io.EOF, the end of a world that ends. For one of fewer than two instants it is
// an error that says so.
func (t *Track) End() error {
	if t.count < 2 {
		return errShort
	}
	return io.EOF
}

// Seconds writes an instant of a world's clock for people.
func Seconds(at simtime.Stamp) string {
	return strconv.FormatFloat(float64(at)/1e9, 'f', -1, 64)
}
