package apollo_test

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/apollo"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/bridgetest/peers"
)

// server is the suite's peer.
type server struct{ *peers.Cyber }

// newServer returns a server that isn't started, at an address that stays its own.
func newServer(t *testing.T, config peers.CyberConfig) *server {
	t.Helper()
	s := &server{peers.NewCyber(config)}
	require.NoError(t, s.Cyber.Start())
	s.Cyber.Kill()
	t.Cleanup(s.Cyber.Kill)
	return s
}

func (s *server) Connection() string { return s.Addr() + "?retry=50ms&messages=4096&bytes=8388608" }
func (s *server) Start(t *testing.T) { require.NoError(t, s.Cyber.Start()) }
func (s *server) Kill(*testing.T)    { s.Cyber.Kill() }
func (s *server) Stall(*testing.T)   { s.Cyber.Stall() }
func (s *server) Resume(*testing.T)  { s.Cyber.Resume() }

// Rubbish is what a web server answers.
func (s *server) Rubbish(*testing.T) { s.Cyber.Send([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")) }

func (s *server) Ready(topic string) bool {
	_, ok := s.Writers()[topic]
	return ok
}

// Send publishes an apollo.control.ControlCommand whose field 3, the throttle in percent, is
// set.
func (s *server) Send(_ *testing.T, topic string, acceleration float64) {
	s.Publish(topic, binary.LittleEndian.AppendUint64([]byte{3<<3 | 1}, math.Float64bits(100*acceleration)))
}

func (s *server) SendUnreadable(_ *testing.T, topic string) { s.Publish(topic, []byte{0xff}) }

func (s *server) SendEmpty(_ *testing.T, topic string) { s.Publish(topic, nil) }

func TestMessagesAboveTheLimit(t *testing.T) {
	bridgetest.TooLarge(t, bridgetest.Suite{
		Factory: apollo.Limited(bridgetest.Limit),
		Peer:    func(t *testing.T) bridgetest.Peer { return newServer(t, peers.CyberConfig{}) },
	})
}

func TestConformance(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	bridgetest.Run(t, bridgetest.Suite{
		Factory: apollo.Cyber{},
		BadConnections: []string{
			"", "?apollo=7", "host:port", "::1", "host?apollo=6", "host?origin=here", "host?origin=91,0", "host?origin=1,2,3,4", "host?origin=NaN,0",
			"host?retry=never", "host?messages=0", "host?colour=red",
		},
		Peer: func(t *testing.T) bridgetest.Peer { return newServer(t, peers.CyberConfig{}) },
	})
}
