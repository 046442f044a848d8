package foxglove

import "github.com/raybridge/raybridge/bridges"

// Outstanding returns the number of buffers that are lent by the instance's server, 0
// while it doesn't listen.
func Outstanding(i bridges.Instance) int {
	if server, ok := i.(*instance).Serving(); ok {
		return server.Outstanding()
	}
	return 0
}

// Limited is the bridge with another limit of messages, bytes.
func Limited(limit int64) Factory { return Factory{limit: limit} }

// Keeping is the bridge that keeps so many bytes for a client.
func Keeping(kept int) Factory { return Factory{kept: kept} }
