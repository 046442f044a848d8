package peers_test

import (
	"encoding/binary"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/raybridge/raybridge/bridges/bridgetest/peers"
)

// fake is what servers have in common.
type fake interface {
	Start() error
	Kill()
	Stall()
	Resume()
	Addr() string
	Accepted() int
	Received() map[string]int
	Log() []string
}

// talker is a fake of ops, with what a client sends to publish on topic /n.
type talker struct {
	server interface {
		fake
		Send(raw []byte)
	}
	advertise, publish []byte
}

func start[F fake](t *testing.T, s F) F {
	t.Helper()
	require.NoError(t, s.Start())
	t.Cleanup(s.Kill)
	return s
}

func dial(t *testing.T, s fake) net.Conn {
	t.Helper()
	var d net.Dialer
	conn, err := d.DialContext(t.Context(), "tcp", s.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// send writes frames one byte at a time.
func send(t *testing.T, conn net.Conn, frames ...[]byte) {
	t.Helper()
	for _, frame := range frames {
		for i := range frame {
			_, err := conn.Write(frame[i : i+1])
			require.NoError(t, err)
		}
	}
}

func field(b []byte, text string) []byte {
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(text))), text...)
}

// op is a frame by hand.
func op(code byte, first, second string) []byte { return field(field([]byte{code}, first), second) }

func eventually(t *testing.T, condition func() bool, about ...any) {
	t.Helper()
	require.Eventually(t, condition, time.Minute, time.Millisecond, about...)
}

func logged(s fake, text string) func() bool {
	return func() bool { return strings.Contains(strings.Join(s.Log(), "\n"), text) }
}

func talkers(t *testing.T) map[string]talker {
	return map[string]talker{
		"cyber": {peers.NewCyber(peers.CyberConfig{Pending: 100}), append(register(t, &durationpb.Duration{}), op(3, "/n", "google.protobuf.Duration")...), op(4, "/n", "\x08\x07")},
		"lgsvl": {peers.NewLGSVL(peers.LGSVLConfig{Pending: 100, Definition: definition}), op(2, "/n", "std_msgs/Int16"), op(3, "/n", "ab")},
	}
}

// A killed server comes back at its address with its counts, and a stalled one reads later.
func TestLife(t *testing.T) {
	for name, of := range talkers(t) {
		t.Run(name, func(t *testing.T) {
			s, advertise, publish := start(t, of.server), of.advertise, of.publish
			address := s.Addr()
			conn := dial(t, s)
			send(t, conn, advertise, publish)
			eventually(t, func() bool { return s.Received()["/n"] == 1 })
			s.Stall()
			send(t, conn, publish)
			s.Send(make([]byte, 200))
			eventually(t, logged(s, "pending size too large"))
			assert.Equal(t, 1, s.Received()["/n"])
			s.Resume()
			eventually(t, func() bool { return s.Received()["/n"] == 2 })

			s.Kill()
			_, err := conn.Read(make([]byte, 1))
			require.Error(t, err)
			require.NoError(t, s.Start())
			require.NoError(t, s.Start(), "it runs")
			assert.Equal(t, address, s.Addr())
			conn = dial(t, s)
			send(t, conn, publish)
			eventually(t, logged(s, "/n"), "nobody has advertised since")
			send(t, conn, advertise, publish)
			eventually(t, func() bool { return s.Received()["/n"] == 3 })
			assert.Equal(t, 2, s.Accepted())
			send(t, conn, []byte{9})
			_, err = conn.Read(make([]byte, 1))
			require.Error(t, err, "an unknown op disconnects")
			eventually(t, logged(s, "unknown op 9"))
		})
	}
}
