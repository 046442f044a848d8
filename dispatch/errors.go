package dispatch

import (
	"errors"
	"fmt"

	"github.com/raybridge/raybridge/flow"
)

// Errors that a Done callback receives when its message was not sent. A
// publisher's own error reaches Done unchanged.
var (
	// ErrPaused says that the dispatcher was paused when the message was
	// offered.
	ErrPaused = flow.NewError(flow.CausePaused, "dispatcher is paused")
	// ErrTokenBusy says that another task with the same exclusive token was
	// queued or running.
	ErrTokenBusy = flow.NewError(flow.CauseTokenBusy, "exclusive token is in use")
	// ErrFull says that the topic's queue had no room. The message was refused (DropNewest)
	// or pushed out by a younger one (DropOldest).
	ErrFull = flow.NewError(flow.CauseQueueFull, "topic queue is full")
	// ErrSlow says that the topic's queue had no room up to the BlockLimit (Block).
	ErrSlow = flow.NewError(flow.CausePeerSlow, "topic queue was full for too long")
	// ErrClosed says that the dispatcher or the topic was closed, before or
	// while the message waited.
	ErrClosed = flow.NewError(flow.CauseClosed, "dispatcher is closed")
	// ErrToken says that Task.Token can't be exclusive: it can't be compared (a slice, a map or
	// a function) or isn't equal to itself (NaN).
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

// DropCause returns flow.CauseConvertFailed, whatever the panic's value was.
func (e *PanicError) DropCause() string { return string(flow.CauseConvertFailed) }
