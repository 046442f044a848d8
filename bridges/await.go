package bridges

import (
	"context"
	"fmt"
	"time"
)

// awaitPoll is how often Await looks at the status: instances tell nobody when it changes.
const awaitPoll = 2 * time.Millisecond

// Await waits until the bridge is Connected and returns nil, at once for a bridge to a file;
// it may be lost again by then. It ends early with an error that names the bridge and wraps
//
//   - ErrClosed when the bridge is closed,
//   - the instance's failure when it has given up (Failer), or what Connect returned,
//   - ErrNotConnected when nobody has called Connect, or Disconnect was called,
//   - ErrNotConnected, ctx.Err() and the last failed attempt (Diagnosis) when ctx ends.
//
// A peer that isn't there, or is lost, ends it only when the instance tries no more. The
// status is looked at every 2 ms. Any goroutine may call it, several at once too.
func (b *Bridge) Await(ctx context.Context) error {
	poll := time.NewTicker(awaitPoll)
	defer poll.Stop()
	for b.Status() != Connected {
		if err := b.hopeless(); err != nil {
			return b.failed("await", err)
		}
		select {
		case <-ctx.Done():
			if b.Status() == Connected {
				return nil
			}
			return b.failed("await", b.outwaited(ctx))
		case <-poll.C:
		}
	}
	return nil
}

// hopeless returns why the bridge won't be connected, nil while it may.
func (b *Bridge) hopeless() error {
	if b.closed.Load() {
		return ErrClosed
	}
	if err := b.failure(); err != nil {
		return err
	}
	if !b.connecting.TryLock() {
		return nil // it connects or disconnects at this moment
	}
	defer b.connecting.Unlock()
	switch {
	case b.wanted || b.Status() == Connected:
		return nil
	case b.refusal != nil:
		return b.refusal
	default:
		return fmt.Errorf("%w: call Connect first", ErrNotConnected)
	}
}

// outwaited is the error of a wait that its context ended.
func (b *Bridge) outwaited(ctx context.Context) error {
	if last := b.Diagnosis().LastError; last != nil {
		return fmt.Errorf("%w: %w; the last attempt: %w", ErrNotConnected, ctx.Err(), last)
	}
	return fmt.Errorf("%w: %w", ErrNotConnected, ctx.Err())
}
