package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
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

// Follow steps the pipeline from frame to frame of a source. It returns nil when the source ends,
// the duration has passed, or ctx ends. Nobody else steps meanwhile: StepTo returns world.ErrBusy.
// A paused clock holds it up. Follow doesn't close the source.
func (p *Pipeline) Follow(ctx context.Context, w Following) error {
	select {
	case p.stepping.turn <- struct{}{}:
		defer func() { <-p.stepping.turn }()
	default:
		return fmt.Errorf("follow a world: %w", world.ErrBusy)
	}
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	default:
		return fmt.Errorf("follow a world: %w: a run is under way", world.ErrBusy)
	}
	p.moving.Lock()
	p.stepping.followed = w.Kind
	p.moving.Unlock()
	ego, start := p.egoNow(), p.simNs.Load()
	p.stepping.end, p.stepping.pace = math.MaxInt64, pace{time.Now(), start, w.Scale}
	p.stepping.follows.Store(true)
	if w.Duration > 0 {
		p.stepping.end = later(start, int64(w.Duration))
	}
	defer func() {
		p.stepping.follows.Store(false)
		p.stepping.pace = pace{}
	}()
	for ctx.Err() == nil && p.simNs.Load() < p.stepping.end {
		p.waiting.begin(awaited(w))
		f, err := w.Source.Next(ctx, ego)
		p.waiting.end()
		p.stepping.gaps.Store(w.Source.Gaps())
		switch {
		case errors.Is(err, io.EOF), err != nil && ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("world %s: %w", w.Kind, err)
		}
		result, err := p.stepBy(ctx, f, p.stepAlone)
		if err == nil {
			ego = result.Ego
			continue
		}
		if ctx.Err() != nil {
			return p.failed()
		}
		if source, ok := w.Source.(world.Refuser); ok && errors.As(err, new(*refusal)) {
			err = source.Refused(err)
			p.stepping.gaps.Store(w.Source.Gaps())
		}
		if err != nil {
			return fmt.Errorf("world %s: %w", w.Kind, err)
		}
	}
	return nil
}

// awaited says what a world's next frame comes from.
func awaited(w Following) string {
	if source, ok := w.Source.(interface{ Awaits() string }); ok {
		return source.Awaits()
	}
	return "the next frame of the world " + w.Kind
}

// refusal is the error of a frame of which nothing was applied.
type refusal struct{ error }

func (e *refusal) Unwrap() error { return e.error }

// pace is how fast simulated time may pass, from an instant of both clocks on. The zero pace has no limit.
type pace struct {
	begun time.Time
	start simtime.Stamp
	scale float64 // simulated seconds in one of the host's
}

// wait waits for the instant at which time may be t, or for ctx's end.
func (p *pace) wait(ctx context.Context, t simtime.Stamp) {
	if p.scale == 0 {
		return
	}
	d := time.Until(p.begun.Add(time.Duration(float64(t-p.start) / p.scale)))
	if d <= 0 {
		return
	}
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// stood makes up for a pause since a time: it isn't made good.
func (p *pace) stood(since time.Time) { p.begun = p.begun.Add(time.Since(since)) }
