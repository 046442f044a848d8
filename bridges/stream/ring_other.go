//go:build !linux

package stream

import (
	"fmt"
	"net"
)

// newSharedRing needs Linux.
func newSharedRing(uint64) (*ring, error) { return nil, fmt.Errorf("%w: it needs Linux", errNoRing) }

// send is never called.
func (r *ring) send(*net.UnixConn, []byte) error { return errNoRing }
