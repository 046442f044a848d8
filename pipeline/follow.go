package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"sync/atomic"
	"time"

	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/world"
)

// Following says how a pipeline follows a world.
type Following struct {
	// Kind names the source's kind, for the summary.
	Kind   string
	Source world.Source
	// Duration ends it when so much simulated time has passed, also within a frame's step; 0 is
	// without end.
	Duration time.Duration
	// Scale is how many simulated seconds may pass in one of the host's; 0 sets no limit.
	Scale float64
}

// following is the source whose frames a pipeline follows, or followed last.
type following struct {
	kind   atomic.Pointer[string] // of the source, nil before the first
	active atomic.Bool            // it is being followed
	gaps   atomic.Int64           // of the source
	end    simtime.Stamp          // of the run; the one who follows uses it
}

// kindOf returns the kind of the source, "" before the first. Any goroutine.
func (f *following) kindOf() string {
	if kind := f.kind.Load(); kind != nil {
		return *kind
	}
	return ""
}

// busy says who steps. Any goroutine.
func (f *following) busy() error {
	if !f.active.Load() {
		return world.ErrBusy
	}
	return fmt.Errorf("%w: the world %s moves the actors and time", world.ErrBusy, f.kindOf())
}

// follow steps from frame to frame of a source.
func (s *stepper) follow(ctx context.Context, w Following) error {
	if !take(s.turn) {
		return fmt.Errorf("follow a world: %w", world.ErrBusy)
	}
	defer func() { <-s.turn }()
	if !take(s.runner.turn) {
		return fmt.Errorf("follow a world: %w: a run is under way", world.ErrBusy)
	}
	defer func() { <-s.runner.turn }()
	f := &s.following
	f.kind.Store(&w.Kind)
	start := s.loop.now.Load()
	f.end, s.loop.pace = math.MaxInt64, pace{time.Now(), start, w.Scale}
	f.active.Store(true)
	if w.Duration > 0 {
		f.end = later(start, int64(w.Duration))
	}
	defer func() {
		f.active.Store(false)
		s.loop.pace = pace{}
	}()
	ego := s.scenery.ego(start)
	for ctx.Err() == nil && s.loop.now.Load() < f.end {
		frame, err := s.next(ctx, &w, ego)
		switch {
		case errors.Is(err, io.EOF), err != nil && ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("world %s: %w", w.Kind, err)
		}
		result, err := s.stepBy(ctx, frame, s.alone)
		if err == nil {
			ego = result.Ego
			continue
		}
		if ctx.Err() != nil {
			return s.runner.failure.failed()
		}
		if err := s.refused(&w, err); err != nil {
			return fmt.Errorf("world %s: %w", w.Kind, err)
		}
	}
	return nil
}

// next waits for the source's next frame.
func (s *stepper) next(ctx context.Context, w *Following, ego world.State) (*world.Frame, error) {
	s.runner.waiting.await(awaited(w))
	defer s.runner.waiting.await("")
	f, err := w.Source.Next(ctx, ego)
	s.following.gaps.Store(w.Source.Gaps())
	return f, err
}

// refused tells a source of the error of a step. It returns nil if the frame was refused, and the source
// continues with the next one.
func (s *stepper) refused(w *Following, err error) error {
	source, ok := w.Source.(world.Refuser)
	if !ok || !errors.As(err, new(*refusal)) {
		return err
	}
	err = source.Refused(err)
	s.following.gaps.Store(w.Source.Gaps())
	return err
}

// awaited says what a world's next frame comes from.
func awaited(w *Following) string {
	if source, ok := w.Source.(interface{ Awaits() string }); ok {
		return source.Awaits()
	}
	return "the next frame of the world " + w.Kind
}

// refusal is the error of a frame of which nothing was applied.
type refusal struct{ error }

func (e *refusal) Unwrap() error { return e.error }
