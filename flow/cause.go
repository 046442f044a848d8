package flow

import (
	"context"
	"errors"
)

// Cause is why a message, or a sensor's firing, was lost, as summaries and tables count it.
type Cause string

// Causes of losses at a sensor.
const (
	// CauseReadbackFull: no slot was free when the capture was due.
	CauseReadbackFull Cause = "readback_full"
	// CauseReadbackFailed: the data didn't come back from the GPU.
	CauseReadbackFailed Cause = "readback_failed"
	// CauseSkipped: time had passed the instant before the loop came to it, so the
	// sensor fired for a later one only.
	CauseSkipped Cause = "skipped"
	// CauseNoReturn counts lidar scans that hit nothing; they are published, empty.
	CauseNoReturn Cause = "no_return"
	// CauseIdle: nobody listened, so that the sensor computed nothing. It is an answer to who
	// waits for a firing, and isn't counted.
	CauseIdle Cause = "idle"
)

// Causes of losses between a sensor and a receiver.
const (
	// CausePaused: the dispatcher was paused when the message was offered.
	CausePaused Cause = "paused"
	// CauseTokenBusy: another task with the same exclusive token was queued or running.
	CauseTokenBusy Cause = "token_busy"
	// CauseQueueFull: the topic's queue had no room.
	CauseQueueFull Cause = "queue_full"
	// CauseCallbackFailed: the listener's callback panicked.
	CauseCallbackFailed Cause = "callback_failed"
	// CauseConvertFailed: the message can't be expressed in the bridge's format.
	CauseConvertFailed Cause = "convert_failed"
	// CauseTooLarge: the message is above the protocol's limit.
	CauseTooLarge Cause = "too_large"
	// CauseNotConnected: there was no connection to send on, or it ended first.
	CauseNotConnected Cause = "not_connected"
	// CausePeerSlow: the peer didn't take its data in time.
	CausePeerSlow Cause = "peer_slow"
	// CauseWriteFailed: the file or the connection refused the data.
	CauseWriteFailed Cause = "write_failed"
	// CauseClosed: the sensor, the dispatcher or the bridge was closed first.
	CauseClosed Cause = "closed"
)

// Losses returns every cause that takes a message or a firing from somebody who was to have it. Of the other two, an
// empty scan is published, and nobody waits for an idle sensor.
func Losses() []Cause {
	return []Cause{
		CauseReadbackFull, CauseReadbackFailed, CauseSkipped,
		CausePaused, CauseTokenBusy, CauseQueueFull, CauseCallbackFailed, CauseConvertFailed, CauseTooLarge,
		CauseNotConnected, CausePeerSlow, CauseWriteFailed, CauseClosed,
	}
}

// sentinel is an error that is counted under a cause.
type sentinel struct {
	cause Cause
	text  string
}

func (e *sentinel) Error() string { return e.text }

// DropCause returns the cause under which the error is counted.
func (e *sentinel) DropCause() string { return string(e.cause) }

// NewError returns a sentinel error with that text. CauseOf counts it under cause, also
// where it is wrapped.
func NewError(cause Cause, text string) error { return &sentinel{cause, text} }

// Errors of messages that were not delivered. CauseOf counts each under the cause of its name.
var (
	// ErrFull: the queue had no room. The message was refused, or a younger one pushed it out.
	ErrFull = NewError(CauseQueueFull, "queue is full")
	// ErrTooLarge: the message is above the protocol's limit.
	ErrTooLarge = NewError(CauseTooLarge, "message too large for the protocol")
	// ErrNotConnected: there is no connection to send on.
	ErrNotConnected = NewError(CauseNotConnected, "not connected")
	// ErrPeerSlow: the peer didn't take its data in time, or a full queue had no room in time.
	ErrPeerSlow = NewError(CausePeerSlow, "peer too slow")
	// ErrWriteFailed: the file or the connection refused data. Data written before stays readable.
	ErrWriteFailed = NewError(CauseWriteFailed, "write failed")
	// ErrClosed: the queue, the dispatcher or the bridge was closed, before or while the message waited.
	ErrClosed = NewError(CauseClosed, "closed")
)

// precedence has the causes that win where an error wraps several, the strongest first. What
// ended a file or a connection explains what happened to its messages.
var precedence = [...]Cause{CauseWriteFailed, CauseClosed, CauseNotConnected, CausePeerSlow}

// CauseOf returns the cause under which an error is counted. A method `DropCause() string` of
// the error, or of one that it wraps, names it. Else it is CauseClosed for context.Canceled,
// since a sender's context ends with the dispatcher or the bridge. It is CausePeerSlow for
// context.DeadlineExceeded, and CauseConvertFailed for every other error. Of several causes
// write_failed wins, then closed, not_connected, peer_slow, then the first. CauseOf(nil) is
// empty. It does not allocate.
func CauseOf(err error) Cause {
	if err == nil {
		return ""
	}
	if cause := named(err); cause != "" {
		return cause
	}
	return CauseConvertFailed
}

// named returns the cause that err or what it wraps names, empty for none. An error that
// names its cause hides those that it wraps.
func named(err error) Cause {
	switch e := err.(type) { //nolint:errorlint // it walks the tree itself
	case interface{ DropCause() string }:
		return Cause(e.DropCause())
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			return named(inner)
		}
	case interface{ Unwrap() []error }:
		var strongest Cause
		for _, inner := range e.Unwrap() {
			strongest = stronger(strongest, named(inner))
		}
		return strongest
	}
	switch {
	case errors.Is(err, context.Canceled):
		return CauseClosed
	case errors.Is(err, context.DeadlineExceeded):
		return CausePeerSlow
	}
	return ""
}

// stronger returns the cause that wins by precedence, and the first among equals.
func stronger(first, second Cause) Cause {
	for _, cause := range precedence {
		if first == cause || second == cause {
			return cause
		}
	}
	if first == "" {
		return second
	}
	return first
}
