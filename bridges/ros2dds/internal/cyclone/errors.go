package cyclone

import "errors"

// Errors of this package.
var (
	// ErrTimeout: a writer's history was full for longer than it waits.
	ErrTimeout = errors.New("no room in the writer's history in time")
	// ErrSettings: the library can't read its settings, those of CYCLONEDDS_URI mostly.
	ErrSettings = errors.New("settings that Cyclone DDS refuses")
	// ErrDomain: the domain can't be joined with the settings: an interface that isn't
	// there, a port that can't be bound, no room for one more participant.
	ErrDomain = errors.New("can't take part in domain")
)
