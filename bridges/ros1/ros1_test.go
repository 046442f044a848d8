package ros1_test

import (
	"testing"

	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/ros1"
)

func TestMessagesAboveTheLimit(t *testing.T) {
	bridgetest.TooLarge(t, bridgetest.Suite{
		Factory: ros1.Limited(bridgetest.Limit),
		Peer:    func(t *testing.T) bridgetest.Peer { return newPeer(t) },
	})
}

func TestConformance(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	bridgetest.Run(t, bridgetest.Suite{
		Factory: ros1.Factory{},
		BadConnections: []string{
			"host:port", "host:0", "host:70000", "::1", "?unknown=1", "?node=", "?node=a b", "?node=1a", "?host=a/b", "?host=a:1",
			"?retry=soon", "?retry=0s", "?messages=0", "?bytes=-1", "http://", "h/p",
		},
		Peer: func(t *testing.T) bridgetest.Peer { return newPeer(t) },
	})
}
