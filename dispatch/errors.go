package dispatch

import (
	"context"
	"errors"
	"fmt"
)

// Errors that a Done callback receives when its message was not sent. A
// publisher's own error reaches Done unchanged.
var (
	// ErrPaused says that the dispatcher was paused when the message was
	// offered.
	ErrPaused = errors.New("dispatcher is paused")
	// ErrTokenBusy says that another task with the same exclusive token was
	// queued or running.
	ErrTokenBusy = errors.New("exclusive token is in use")
	// ErrFull says that the topic's queue had no room: the message was refused
	// (DropNewest, or Block at the end of its BlockLimit) or pushed out by a
	// younger one (DropOldest).
	ErrFull = errors.New("topic queue is full")
	// ErrClosed says that the dispatcher or the topic was closed, before or
	// while the message waited.
	ErrClosed = errors.New("dispatcher is closed")
	// ErrToken says that Task.Token can't be compared (a slice, a map or a
	// function) or isn't equal to itself (NaN), so that it can't be exclusive.
	ErrToken = errors.New("exclusive token is not comparable or not equal to itself")
	// ErrConfig says that NewTopic or NewSubscriber was given values that can't
	// work; Topic.Err has the details.
	ErrConfig = errors.New("invalid topic configuration")
)

// PanicError is what Done receives when the publisher, or one of the message's own
// methods, panicked or ended its goroutine (law D7).
type PanicError struct {
	// Value is the value given to panic; where the goroutine was ended by
	// runtime.Goexit it is the text "runtime.Goexit".
	Value any
	// Stack is the panicking goroutine's stack trace at the panic, as debug.Stack
	// formats it.
	Stack []byte
}

// Error names the panic's value; the stack is left to Stack.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Unwrap returns the panic's value where it was an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Cause names why a message was not sent, as statistics and summaries count it.
type Cause string

// The causes that this package and the errors of publishers know.
const (
	CausePaused        Cause = "paused"
	CauseTokenBusy     Cause = "token_busy"
	CauseQueueFull     Cause = "queue_full"
	CauseConvertFailed Cause = "convert_failed"
	CauseNotConnected  Cause = "not_connected"
	CausePeerSlow      Cause = "peer_slow"
	CauseWriteFailed   Cause = "write_failed"
	CauseClosed        Cause = "closed"
)

// dropCauser is what a publisher's error implements to be counted under its
// own cause. It is a plain string so that bridges need not import dispatch.
type dropCauser interface{ DropCause() string }

// causes are the causes of this package's own errors.
var causes = []struct {
	err   error
	cause Cause
}{
	{ErrFull, CauseQueueFull},
	{ErrPaused, CausePaused},
	{ErrTokenBusy, CauseTokenBusy},
	{ErrClosed, CauseClosed},
}

// CauseOf returns the cause under which err is counted: that of this package's
// errors, else what a `DropCause() string` method in the error's chain says,
// else CauseClosed for context.Canceled, since publishers' context ends with the
// dispatcher, else CauseConvertFailed. CauseOf(nil) is empty.
func CauseOf(err error) Cause {
	if err == nil {
		return ""
	}
	for _, known := range causes {
		if errors.Is(err, known.err) {
			return known.cause
		}
	}
	var named dropCauser
	switch {
	case errors.As(err, &named):
		return Cause(named.DropCause())
	case errors.Is(err, context.Canceled):
		return CauseClosed
	}
	return CauseConvertFailed
}
