package dispatch

import (
	"context"
	"errors"
)

// Publish sends a message at once on the caller's goroutine, by the same rules
// as a queued one: it is refused while paused or closed, a panic becomes a
// *PanicError, and it is counted. It doesn't wait for queued messages, so it is
// for topics that are only used this way, with data that is quick to send.
func (t *Topic[T]) Publish(ctx context.Context, data T) error {
	d := t.d
	d.mu.Lock()
	err := t.refusal()
	if err != nil {
		t.drops.count(err)
		d.mu.Unlock()
		return err
	}
	t.accepted++
	t.running++
	d.outstanding++
	d.mu.Unlock()
	err = errGoexit
	defer func() {
		d.mu.Lock()
		t.countResult(err)
		t.running--
		d.outstanding--
		d.settle()
		d.mu.Unlock()
		if err != nil {
			t.logFailure(err)
		}
	}()
	err = t.publishSafely(ctx, data)
	return err
}

var errGoexit error = &PanicError{Value: "runtime.Goexit"}

func (t *Topic[T]) publishSafely(ctx context.Context, data T) (err error) {
	defer recoverTo(&err)
	return t.publishFunc(ctx, data)
}

// logFailure logs a publisher's error, at most once a second. The end of the
// context at Close is no failure worth a line.
func (t *topic) logFailure(err error) {
	if !errors.Is(err, context.Canceled) {
		t.log.failed(err)
	}
}
