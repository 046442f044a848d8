package bridges_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
)

// slow is an instance whose Connect takes its time: until it is disconnected, or for a
// while.
type slow struct {
	begun, ended chan struct{}
	connected    atomic.Bool
}

func (s *slow) Info() bridges.Info {
	return bridges.Info{Name: "slow", Type: "slow", Kind: bridges.KindNetwork, Summary: "slow", Connection: "ANY"}
}
func (s *slow) Register(*bridges.Plugin) error                    { return nil }
func (s *slow) NewInstance(bridges.Env) (bridges.Instance, error) { return s, nil }

func (s *slow) Status() bridges.Status {
	if s.connected.Load() {
		return bridges.Connected
	}
	return bridges.Disconnected
}

func (s *slow) Connect(context.Context, string) error {
	close(s.begun)
	select {
	case <-s.ended:
	case <-time.After(200 * time.Millisecond):
	}
	s.connected.Store(true)
	return nil
}

func (s *slow) Disconnect(context.Context) error {
	s.connected.Store(false)
	close(s.ended)
	return nil
}

// A bridge that is closed while it connects isn't connected afterwards.
func TestCloseWhileConnecting(t *testing.T) {
	s := &slow{begun: make(chan struct{}), ended: make(chan struct{})}
	b, err := bridges.MustRegistry(s).Open("slow:", bridges.Env{})
	require.NoError(t, err)
	connected := make(chan error, 1)
	go func() { connected <- b.Connect(context.Background()) }()
	<-s.begun
	require.NoError(t, b.Close(context.Background()))
	require.NoError(t, <-connected)
	assert.Equal(t, bridges.Disconnected, b.Status())
	assert.ErrorIs(t, b.Connect(t.Context()), bridges.ErrClosed)
}

// Nor is one that is disconnected meanwhile.
func TestDisconnectWhileConnecting(t *testing.T) {
	s := &slow{begun: make(chan struct{}), ended: make(chan struct{})}
	b, err := bridges.MustRegistry(s).Open("slow:", bridges.Env{})
	require.NoError(t, err)
	connected := make(chan error, 1)
	go func() { connected <- b.Connect(context.Background()) }()
	<-s.begun
	require.NoError(t, b.Disconnect(t.Context()))
	require.NoError(t, <-connected)
	assert.Equal(t, bridges.Disconnected, b.Status())
}
