package dispatch

import (
	"context"
	"errors"

	"github.com/raybridge/raybridge/flow"
)

// Publish sends a message at once on the caller's goroutine, by the same rules as a queued one.
// It is refused while paused or closed, a panic becomes a *flow.PanicError, and it is counted. It
// doesn't wait for queued messages, so it is for topics that are only used this way, with data
// that is quick to send. The publisher gets ctx; Close waits for it, but doesn't end ctx.
func (t *Topic[T]) Publish(ctx context.Context, data T) error {
	return t.publishTask(ctx, data, Task{})
}

// publishTask is Publish with a token and a callback: the token is exclusive
// while the publisher runs, and the callback runs before the return.
func (t *Topic[T]) publishTask(ctx context.Context, data T, task Task) error {
	task.Token = t.tokenOr(task.Token)
	if err := t.beginPublish(task); err != nil {
		t.callBack(task.Done, err)
		return err
	}
	err := errGoexit
	defer func() { t.endPublish(task, err) }()
	err = t.publishSafely(ctx, data)
	return err
}

// beginPublish admits a message that is published at once, or counts it as
// dropped.
func (t *topic) beginPublish(task Task) error {
	d := t.d
	d.mu.Lock()
	defer d.mu.Unlock()
	err := t.refusal()
	if err == nil && task.Token != nil {
		if err = t.acquireToken(task); err == nil && (t.closed || d.closed) { // during a wait for it
			d.freeToken(task.Token)
			err = flow.ErrClosed
		}
	}
	if err != nil {
		t.drops.Add(flow.CauseOf(err), 1)
		return err
	}
	t.accepted++
	t.running++
	d.outstanding++
	return nil
}

// endPublish counts the result, frees the token and runs the callback, in this
// order (law D4).
func (t *topic) endPublish(task Task, err error) {
	d := t.d
	d.mu.Lock()
	t.countResult(err)
	if task.Token != nil {
		d.freeToken(task.Token)
	}
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		t.running--
		d.outstanding--
		d.settle()
		d.mu.Unlock()
	}()
	if err != nil {
		defer t.logFailure(err) // also if the callback ends the goroutine
	}
	t.callBack(task.Done, err)
}

var errGoexit error = &flow.PanicError{Value: "runtime.Goexit"}

func (t *Topic[T]) publishSafely(ctx context.Context, data T) (err error) {
	defer flow.Recover(&err)
	return t.publishFunc(ctx, data)
}

// logFailure logs a publisher's error. The end of the
// context at Close is not a failure worth a line, nor is what the topic expects.
func (t *topic) logFailure(err error) {
	if !errors.Is(err, context.Canceled) && !t.expects(err) {
		t.log.failed(err)
	}
}

// expects asks TopicConfig.Expected; the error is unexpected if that panics, which is
// logged as a callback's panic.
func (t *topic) expects(err error) bool {
	if t.cfg.Expected == nil {
		return false
	}
	var panicked error
	defer func() {
		if panicked != nil {
			t.callbackLog.failed(panicked)
		}
	}()
	defer flow.Recover(&panicked)
	return t.cfg.Expected(err)
}
