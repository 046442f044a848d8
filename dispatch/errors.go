package dispatch

import (
	"errors"

	"github.com/raybridge/raybridge/flow"
)

// Errors that a Done callback receives when its message was not sent, beside flow.ErrFull,
// flow.ErrPeerSlow and flow.ErrClosed. A publisher's own error reaches Done unchanged.
var (
	// ErrPaused says that the dispatcher was paused when the message was
	// offered.
	ErrPaused = flow.NewError(flow.CausePaused, "dispatcher is paused")
	// ErrTokenBusy says that another task with the same exclusive token was
	// queued or running.
	ErrTokenBusy = flow.NewError(flow.CauseTokenBusy, "exclusive token is in use")
	// ErrToken says that Task.Token can't be exclusive: it can't be compared (a slice, a map or
	// a function) or isn't equal to itself (NaN).
	ErrToken = errors.New("exclusive token is not comparable or not equal to itself")
	// ErrConfig says that NewTopic or NewSubscriber was given values that can't
	// work; Topic.Err has the details.
	ErrConfig = errors.New("invalid topic configuration")
)
