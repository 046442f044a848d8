package ros2dds

import (
	"errors"

	"github.com/raybridge/raybridge/bridges/ros2dds/internal/cyclone"
)

// Errors of this bridge, beside those of package bridges; test them with errors.Is. The
// first two are tried again.
var (
	// ErrSettings: Cyclone DDS can't read its settings, mostly those that the environment
	// variable CYCLONEDDS_URI names; the message says which element is wrong.
	ErrSettings = cyclone.ErrSettings
	// ErrDomain: the domain can't be joined with the settings that there are; the message
	// has the library's reason, such as an interface that doesn't exist.
	ErrDomain = cyclone.ErrDomain
	// ErrIncompatibleQoS: readers or writers of others don't match the bridge's, because
	// one side asks for more than the other offers. The connection goes on.
	ErrIncompatibleQoS = errors.New("incompatible quality of service")
)
