//go:build nonatsserver

package queue

import (
	"fmt"
	"log/slog"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/sweep"
)

// HasServer says whether this program has a NATS server.
const HasServer = false

// Server is NATS in this process. This program has none.
type Server struct {
	Own, Workers Access
	SecretFile   string
}

// Serve says that this program has no server.
func Serve(*sweep.Store, string, int, *slog.Logger) (*Server, error) {
	return nil, fmt.Errorf("%w, which would be a third of its size: use raybridge-ros2dds of the same package, or the package raybridge (\"make build\" builds one with it), or a server that is there by --nats", ErrNoServer)
}

// ForWorkers says that this program has no server.
func (*Server) ForWorkers() (Access, error) { return Access{}, ErrNoServer }

// Close does nothing.
func (*Server) Close(bool) error { return nil }
