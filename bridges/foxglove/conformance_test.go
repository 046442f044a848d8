package foxglove_test

import (
	"testing"

	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/foxglove"
)

func TestMessagesAboveTheLimit(t *testing.T) {
	bridgetest.TooLarge(t, bridgetest.Suite{
		Factory: foxglove.Limited(bridgetest.Limit),
		Peer:    func(t *testing.T) bridgetest.Peer { return newViewer(t) },
	})
}

func TestConformance(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	bridgetest.Run(t, bridgetest.Suite{
		Factory: foxglove.Factory{},
		BadConnections: []string{
			"localhost:8765:1", "127.0.0.1:65536", "?messages=0", "?bytes=x", "?clients=0", "?policy=block",
			"?origins=", "?origins=a,[", "?cert=a.pem", "?key=a.pem", "?cert=&key=",
		},
		Peer: func(t *testing.T) bridgetest.Peer { return newViewer(t) },
	})
}
