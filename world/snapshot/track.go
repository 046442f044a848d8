// Package snapshot makes the frames of worlds that are described by snapshots: lists of actors
// and poses at rising instants. Traces, logs and most traffic simulators are.
//
// Each snapshot ends a frame. The first one's is the first instant of the run. Whatever a sensor sees
// between two snapshots is on its way from one to the other:
//
//   - An actor comes at the instant of the first snapshot that has it. Nothing sees it before.
//   - It leaves at the instant of the next one that doesn't have it. It moves on at its velocity until then.
//   - The ego is where the snapshots have it. If the one before doesn't have it, it jumps there.
package snapshot

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/weather"
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
	// Weather is that of then; nil leaves it as it is. (optional)
	Weather *weather.State
	// Ego is the vehicle that carries the sensors, by its rear axle on the ground. (optional) Its velocity is
	// that of EgoPoint, which is told as seen from there.
	Ego      *world.State
	EgoPoint mgl64.Vec3
}

// Track makes a frame of each snapshot and the one before. One goroutine uses it. In a world whose
// actors stay it allocates nothing.
type Track struct {
	start       simtime.Stamp // of the simulation, at the first snapshot
	first, last simtime.Stamp // of the world's clock
	count       int64         // of snapshots
	tries       int64         // of Add
	actors      map[string]*actor
	frame       world.Frame
	ego         world.State
	led         bool     // the last frame moved the ego
	offered     bool     // the last frame may be refused, up to the next
	before      struct { // the last frame
		last simtime.Stamp
		led  bool
	}
}

// actor is somebody whom the last snapshot has.
type actor struct {
	world.Spawn       // as first told
	seen        int64 // the last try that has it
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

// Add returns the frame that ends at a snapshot. It may be read until the next call. It is nil for a
// snapshot of an instant that is told already, which does not count. Where an actor is at fault the error is a
// *world.ActorError with the index in the snapshot. Others wrap world.ErrTime or world.ErrFull.
// A snapshot with an error does not count.
func (t *Track) Add(s Snapshot) (*world.Frame, error) {
	t.accept()
	until, err := t.until(s.At)
	switch {
	case len(s.Actors) > Most:
		return nil, fmt.Errorf("%w: %d at once, the limit is %d", world.ErrFull, len(s.Actors), Most)
	case err != nil:
		return nil, err
	case t.count > 0 && s.At == t.last:
		return nil, nil
	}
	t.tries++
	t.frame = world.Frame{Until: until, AtEnd: true, Complete: true, Signals: s.Signals, Weather: s.Weather, Spawn: t.frame.Spawn[:0], Actors: t.frame.Actors[:0]}
	for i := range s.Actors {
		if err := t.put(&s.Actors[i]); err != nil {
			t.forget()
			return nil, &world.ActorError{List: "actors", Index: i, Actor: world.Ref{Name: s.Actors[i].Name}, Err: err}
		}
	}
	if t.count == 0 {
		t.first = s.At
	}
	t.before.last, t.before.led = t.last, t.led
	t.offered, t.last, t.count = true, s.At, t.count+1
	if s.Ego != nil {
		t.lead(&s, s.At-t.before.last)
	}
	t.led = s.Ego != nil
	return &t.frame, nil
}

// lead gives the frame the ego, so long after its last place.
func (t *Track) lead(s *Snapshot, step simtime.Stamp) {
	before := t.ego.Pose.Orientation
	t.ego = *s.Ego
	if t.frame.Ego = &t.ego; s.EgoPoint != (mgl64.Vec3{}) && s.Ego.VelocityKnown {
		spin := s.Ego.AngularVelocity
		if !s.Ego.AngularVelocityKnown && t.led {
			spin = world.SpinBetween(before, s.Ego.Pose.Orientation, step)
		}
		t.ego.Velocity = s.Ego.Velocity.Sub(spin.Cross(s.Ego.Pose.Rotate(s.EgoPoint)))
	}
	t.ego.Jump = t.ego.Jump || !t.led
}

// until returns the time of the simulation at an instant of the world's clock.
func (t *Track) until(at simtime.Stamp) (simtime.Stamp, error) {
	switch {
	case at > math.MaxInt64/2 || at < -math.MaxInt64/2:
		return 0, fmt.Errorf("%w: %s s is too far from 0", world.ErrTime, Seconds(at))
	case t.count == 0:
		return t.start, nil
	case at < t.last:
		return 0, fmt.Errorf("%w: it goes back from %s to %s s", world.ErrTime, Seconds(t.last), Seconds(at))
	}
	until := t.start + (at - t.first)
	if until < t.start {
		return 0, fmt.Errorf("%w: %s s is too far from the beginning", world.ErrTime, Seconds(at))
	}
	return until, nil
}

// put adds an actor to the frame.
func (t *Track) put(s *world.Spawn) error {
	a := t.actors[s.Name]
	switch {
	case a == nil:
		a = &actor{Spawn: *s}
		a.Name = strings.Clone(s.Name)
		t.actors[a.Name] = a
		t.frame.Spawn = append(t.frame.Spawn, a.Spawn)
	case a.seen == t.tries:
		return world.ErrDuplicate
	case a.Reference != s.Reference:
		return fmt.Errorf("%w: reference %v was %v before", world.ErrValue, s.Reference, a.Reference)
	case a.OnGround != s.OnGround && !s.State.HeightKnown:
		return fmt.Errorf("%w: %w", world.ErrValue, ErrHeight)
	default:
		a.OnGround = s.OnGround
		t.frame.Actors = append(t.frame.Actors, world.Actor{Ref: world.Ref{Name: a.Name}, State: s.State})
	}
	a.seen = t.tries
	return nil
}

// accept takes the last frame for applied: those whom it didn't have are gone.
func (t *Track) accept() {
	if t.offered && len(t.actors) > len(t.frame.Spawn)+len(t.frame.Actors) {
		for name, a := range t.actors {
			if a.seen != t.tries {
				delete(t.actors, name)
			}
		}
	}
	t.offered = false
}

// forget lets go of those who came with the snapshot at hand.
func (t *Track) forget() {
	for i := range t.frame.Spawn {
		delete(t.actors, t.frame.Spawn[i].Name)
	}
}

// Refuse takes back the last frame, of which nothing was applied. The next one continues from the one
// before.
func (t *Track) Refuse() {
	if t.offered {
		t.last, t.led, t.count, t.offered = t.before.last, t.before.led, t.count-1, false
		t.forget()
	}
}

// Continue takes an instant of the world's clock for the one of the last snapshot: that clock was set.
func (t *Track) Continue(at simtime.Stamp) {
	t.accept()
	t.first, t.last = t.first+(at-t.last), at
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
