//go:build !linux

package stream

import (
	"fmt"
	"net"
)

// shareRing needs Linux.
func shareRing(*net.UnixConn, uint64) (*ring, error) {
	return nil, fmt.Errorf("%w: it needs Linux", errNoRing)
}
