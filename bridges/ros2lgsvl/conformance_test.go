package ros2lgsvl_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/bridgetest/peers"
	"github.com/raybridge/raybridge/bridges/ros2lgsvl"
)

// peer is the fake server as the suite wants it.
type peer struct{ *peers.LGSVL }

func newPeer(t *testing.T) bridgetest.Peer {
	t.Helper()
	p := peer{peers.NewLGSVL(peers.LGSVLConfig{})}
	require.NoError(t, p.LGSVL.Start()) // it has an address from now on
	p.LGSVL.Kill()
	t.Cleanup(p.LGSVL.Kill)
	return p
}

func (p peer) Connection() string { return p.Addr() + "?messages=4096&bytes=8388608&retry=50ms" }

func (p peer) Start(t *testing.T) {
	t.Helper()
	require.NoError(t, p.LGSVL.Start())
}

func (p peer) Kill(*testing.T)         { p.LGSVL.Kill() }
func (p peer) Stall(*testing.T)        { p.LGSVL.Stall() }
func (p peer) Resume(*testing.T)       { p.LGSVL.Resume() }
func (p peer) Rubbish(*testing.T)      { p.LGSVL.Send([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")) }
func (p peer) Ready(topic string) bool { return p.Publishing(topic) != "" }

func (p peer) Send(_ *testing.T, topic string, acceleration float64) {
	p.Publish(topic, peers.Value{"acceleration_pct": float32(acceleration)})
}

// SendUnreadable sends a message that is too short.
func (p peer) SendUnreadable(_ *testing.T, topic string) {
	if p.Subscriptions(topic) > 0 {
		p.LGSVL.Send(publishFrame(topic, "1234"))
	}
}

// SendEmpty sends a message of no bytes.
func (p peer) SendEmpty(_ *testing.T, topic string) {
	if p.Subscriptions(topic) > 0 {
		p.LGSVL.Send(publishFrame(topic, ""))
	}
}

func TestMessagesAboveTheLimit(t *testing.T) {
	bridgetest.TooLarge(t, bridgetest.Suite{Factory: ros2lgsvl.Limited(bridgetest.Limit), Peer: newPeer})
}

func TestConformance(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	bridgetest.Run(t, bridgetest.Suite{
		Factory: ros2lgsvl.Factory{}, Peer: newPeer,
		BadConnections: []string{
			"", ":9090", "::1", "localhost:0", "localhost:http", "ws://localhost:9090", "localhost?messages=0", "localhost?bytes=many",
			"localhost?retry=0s", "localhost?backoff=0.5", "localhost?attempts=-1", "localhost?policy=block", "localhost?retry=1s&retry=2s",
		},
	})
}
