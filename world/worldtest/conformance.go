// Package worldtest has the conformance suite of sources of worlds. A kind of sources runs it with one
// call. It plays the worlds that the suite makes up, as a file or as a fake of the program
// that the kind speaks to.
package worldtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/world"
)

// patience is what anything may take that happens at all.
const patience = 30 * time.Second

// Actor is somebody of a world that is played: a car on level ground.
type Actor struct {
	// ID is the actor's own, from 1 on. The kind makes a name of it.
	ID int
	// X, Y are of the point that the kind has poses of, metres. Yaw is in radians.
	X, Y, Yaw float64
}

// Instant is a moment of a world that is played.
type Instant struct {
	// At is in nanoseconds of the world's clock. It is a multiple of 100 ms.
	At     simtime.Stamp
	Actors []Actor
}

// End is how a world ends.
type End string

// The ends.
const (
	// Over: it ends as it should. A live one of a kind that knows no end falls silent.
	Over End = "over"
	// Silent: it says nothing more, and stays.
	Silent End = "silent"
	// Garbage: what it says next is not of its protocol or format.
	Garbage End = "garbage"
	// Dead: it breaks off in the middle of what it says next.
	Dead End = "dead"
)

// World is a world to play.
type World struct {
	Instants []Instant
	End      End
	// Delay is how long a live world waits before it begins.
	Delay time.Duration
}

// Harness tells the suite of a kind.
type Harness struct {
	Kind world.Kind
	// Live: worlds of this kind can be late and silent.
	Live bool
	// Endless: a world of this kind can't be seen to end, nor to be dead.
	Endless bool
	// Lossy: what a world of this kind says that is of no use is dropped, and counted as a gap.
	Lossy bool
	// OwnClock: the source decides on the times of its world, which can't go back.
	OwnClock bool
	// Play plays a world, until the test ends, and returns the address to open. A world that does not
	// notice when it is opened waits for that by itself.
	Play func(t *testing.T, w World) string
}

// Run runs the suite: it plays worlds and holds their frames against what pipeline.StepTo takes.
func Run(t *testing.T, h Harness) {
	t.Run("tells who comes, moves and leaves", h.comings)
	t.Run("brings 4,096 actors", h.crowd)
	t.Run("begins late", h.late)
	t.Run("is silent", h.silence)
	t.Run("tells garbage", h.garbage)
	t.Run("dies", h.death)
	t.Run("goes back in time", h.back)
	t.Run("ends with its context", h.cancelled)
}

// Frames returns all frames of a world, as deep copies, and the error after them. That is io.EOF at the end of
// a file, or why it can't be opened. The ego stands at the origin.
func Frames(t testing.TB, kind world.Kind, address string, o world.Options) (frames []world.Frame, err error) {
	ctx := context.Background()
	source, err := kind.Open(ctx, address, o)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err := source.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}()
	for {
		f, err := source.Next(ctx, still())
		if err != nil {
			return frames, err
		}
		c := *f
		c.Spawn, c.Actors, c.Signals = slices.Clone(f.Spawn), slices.Clone(f.Actors), slices.Clone(f.Signals)
		if f.Ego != nil {
			ego := *f.Ego
			c.Ego = &ego
		}
		frames = append(frames, c)
	}
}

// start is when worlds begin, in simulation time.
const start = simtime.Stamp(7 * time.Second)

// reader is an open source, and who has been spawned by its frames.
type reader struct {
	t     *testing.T
	ctx   context.Context
	h     Harness
	world World
	world.Source
	present map[string]bool
	until   simtime.Stamp
	next    int // the instant at the end of the next step, the first one for the first
}

func (h Harness) open(t *testing.T, w World) *reader {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	source, err := h.Kind.Open(ctx, h.Play(t, w), world.Options{Start: start})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() {
		if err := source.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return &reader{t: t, ctx: ctx, h: h, world: w, Source: source, present: map[string]bool{}, until: start - 1}
}

// still is an ego that stands at the origin.
func still() world.State { return world.State{Pose: spatial.Identity()} }

// frames reads so many frames and checks each.
func (r *reader) frames(n int) {
	r.t.Helper()
	for range n {
		f, err := r.Next(r.ctx, still())
		if err != nil {
			r.t.Fatalf("frame %d: %v", r.next, err)
		}
		if err := r.check(f); err != nil {
			r.t.Fatalf("frame %d: %v", r.next, err)
		}
		r.next++
	}
}

// check applies a frame as a pipeline does.
func (r *reader) check(f *world.Frame) error {
	told := r.world.Instants[r.next]
	if f.Until <= r.until {
		return fmt.Errorf("it ends at %d, which is not after %d", f.Until, r.until)
	}
	if want := start + told.At - r.world.Instants[0].At; !r.h.OwnClock && f.Until != want {
		return fmt.Errorf("it ends at %d, want %d", f.Until, want)
	}
	r.until = f.Until
	for _, ref := range f.Remove {
		if !r.present[ref.Name] {
			return fmt.Errorf("it removes %v, who is not there", ref)
		}
		delete(r.present, ref.Name)
	}
	for _, s := range f.Spawn {
		if s.Name == "" || s.Model == "" || r.present[s.Name] {
			return fmt.Errorf("it spawns %q of model %q, who has no name or model, or is there", s.Name, s.Model)
		}
		if err := usable(s.State); err != nil {
			return fmt.Errorf("it spawns %q: %w", s.Name, err)
		}
		r.present[s.Name] = true
	}
	listed := map[string]bool{}
	for _, s := range f.Spawn {
		listed[s.Name] = f.AtEnd
	}
	for _, a := range f.Actors {
		if !r.present[a.Name] || listed[a.Name] {
			return fmt.Errorf("it moves %v, who is not there, or is listed before", a.Ref)
		}
		if err := usable(a.State); err != nil {
			return fmt.Errorf("it moves %v: %w", a.Ref, err)
		}
		listed[a.Name] = true
	}
	if f.Complete {
		r.present = listed
	}
	if len(r.present) != len(told.Actors) {
		return fmt.Errorf("%d are there, want %d", len(r.present), len(told.Actors))
	}
	for _, want := range told.Actors {
		if !hasActor(f, want) {
			return fmt.Errorf("nobody comes or moves to where actor %d is, %+v", want.ID, want)
		}
	}
	return nil
}

// usable says what StepTo would refuse.
func usable(s world.State) error {
	for _, v := range []float64{s.Pose.Position.Len(), s.Velocity.Len(), s.AngularVelocity.Len(), s.Pose.Orientation.Len()} {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return world.ErrValue
		}
	}
	if s.Pose.Orientation.Len() < 0.5 {
		return fmt.Errorf("%w: orientation of length %v", world.ErrValue, s.Pose.Orientation.Len())
	}
	return nil
}

// hasActor reports whether a frame has somebody where an actor is at its end, whatever the name and the height.
func hasActor(f *world.Frame, want Actor) bool {
	for i := range f.Actors {
		if want.is(&f.Actors[i].State) {
			return true
		}
	}
	for i := range f.Spawn {
		if f.AtEnd && want.is(&f.Spawn[i].State) {
			return true
		}
	}
	return false
}

// is reports whether a state is where the actor is.
func (a *Actor) is(s *world.State) bool {
	const near = 1e-6
	if at := s.Pose.Position; math.Abs(at[0]-a.X) > near || math.Abs(at[1]-a.Y) > near {
		return false
	}
	forward := s.Pose.Rotate(mgl64.Vec3{1, 0, 0})
	return math.Hypot(forward[0]-math.Cos(a.Yaw), forward[1]-math.Sin(a.Yaw)) < near
}

// fails reads on and returns the error, which is not the end of a world that ends.
func (r *reader) fails() error {
	r.t.Helper()
	f, err := r.Next(r.ctx, still())
	switch {
	case err == nil:
		r.t.Fatalf("frame %d: it has %d actors, want an error", r.next, len(f.Actors))
	case errors.Is(err, io.EOF) || errors.Is(err, r.ctx.Err()):
		r.t.Fatalf("frame %d: %v, want an error that says what is wrong", r.next, err)
	}
	return err
}

// drops waits until a source has dropped what it was told, and has no frame of it.
func (r *reader) drops() {
	r.t.Helper()
	for r.Gaps() == 0 && r.ctx.Err() == nil {
		ctx, cancel := context.WithTimeout(r.ctx, 50*time.Millisecond)
		f, err := r.Next(ctx, still())
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			r.t.Fatalf("frame %d: %v, %v, want none", r.next, f, err)
		}
	}
	if gaps := r.Gaps(); gaps != 1 {
		r.t.Errorf("%d gaps, want 1", gaps)
	}
}

// drive is a world of three cars and more, 100 ms from instant to instant.
func drive(instants int) World {
	w := World{End: Over}
	for k := range instants {
		x := float64(k)
		now := Instant{At: simtime.Stamp(k)*100_000_000 + 3_000_000_000, Actors: []Actor{
			{ID: 1, X: 10 + x, Y: 2}, {ID: 2, X: 50 - x, Y: -2, Yaw: math.Pi},
		}}
		if k >= 2 {
			now.Actors = append(now.Actors, Actor{ID: 3, X: 5, Y: 30 + x, Yaw: math.Pi / 2})
		}
		if k >= 3 {
			now.Actors = now.Actors[1:] // the first leaves
		}
		w.Instants = append(w.Instants, now)
	}
	return w
}

func (h Harness) comings(t *testing.T) {
	w := drive(6)
	r := h.open(t, w)
	r.frames(len(w.Instants))
	if r.Gaps() != 0 {
		t.Errorf("%d gaps, want none", r.Gaps())
	}
	if h.Endless {
		return
	}
	for range 2 {
		if f, err := r.Next(r.ctx, still()); !errors.Is(err, io.EOF) {
			t.Errorf("after the end: %v, %v, want io.EOF", f, err)
		}
	}
}

func (h Harness) crowd(t *testing.T) {
	w := World{End: Over}
	for k := range 3 {
		now := Instant{At: simtime.Stamp(k) * 100_000_000}
		for i := range 4096 {
			now.Actors = append(now.Actors, Actor{ID: i + 1, X: float64(10*(i%64)) + 0.5*float64(k), Y: float64(5 * (i / 64))})
		}
		w.Instants = append(w.Instants, now)
	}
	h.open(t, w).frames(3)
}

func (h Harness) late(t *testing.T) {
	if !h.Live {
		t.Skip("a file is there from the beginning")
	}
	w := drive(4)
	w.Delay = 200 * time.Millisecond
	h.open(t, w).frames(4)
}

func (h Harness) silence(t *testing.T) {
	if !h.Live {
		t.Skip("a file is not silent")
	}
	w := drive(3)
	w.End = Silent
	r := h.open(t, w)
	r.frames(3)
	ctx, cancel := context.WithTimeout(r.ctx, 50*time.Millisecond)
	defer cancel()
	if _, err := r.Next(ctx, still()); !errors.Is(err, context.DeadlineExceeded) || r.ctx.Err() != nil {
		t.Errorf("a silent world: %v, want the context's error in time", err)
	}
}

func (h Harness) garbage(t *testing.T) {
	w := drive(3)
	w.End = Garbage
	r := h.open(t, w)
	r.frames(3)
	if h.Lossy {
		r.drops()
		return
	}
	first := r.fails()
	if again := r.fails(); again.Error() != first.Error() {
		t.Errorf("then %v, want again %v", again, first)
	}
}

func (h Harness) death(t *testing.T) {
	if h.Endless {
		t.Skip("nobody can tell that a world of this kind is dead")
	}
	w := drive(3)
	w.End = Dead
	r := h.open(t, w)
	r.frames(3)
	_ = r.fails()
}

func (h Harness) back(t *testing.T) {
	if h.OwnClock {
		t.Skip("the source makes the time")
	}
	w := drive(4)
	w.Instants[3].At = w.Instants[1].At
	r := h.open(t, w)
	r.frames(3)
	if h.Lossy {
		r.drops()
		return
	}
	if err := r.fails(); !errors.Is(err, world.ErrTime) {
		t.Errorf("%v, want one that wraps world.ErrTime", err)
	}
}

func (h Harness) cancelled(t *testing.T) {
	r := h.open(t, drive(4))
	r.frames(1)
	ctx, cancel := context.WithCancel(r.ctx)
	cancel()
	if _, err := r.Next(ctx, still()); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled context: %v", err)
	}
	r.frames(1)
}
