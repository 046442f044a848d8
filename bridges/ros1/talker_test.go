package ros1_test

import (
	"encoding/binary"
	"io"
	"math"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/bluenviron/goroslib/v2/pkg/apislave"
	"github.com/stretchr/testify/require"
)

// vehicleControlMD5 is what rosmsg prints of lgsvl_msgs/VehicleControlData.
const vehicleControlMD5 = "d20f5929de67f38ac323dce02f59b3d4"

// talker is the peer's node that publishes: its API is goroslib's, TCPROS is by hand.
type talker struct {
	master   *testMaster
	api      *apislave.Server
	listener net.Listener
	wg       sync.WaitGroup

	mu     sync.Mutex
	topics map[string]bool     // guarded by mu: those that the master was told of
	conns  map[net.Conn]string // guarded by mu: subscribers, with their topics; "" before the header
	closed bool                // guarded by mu
}

func startTalker(t *testing.T, master *testMaster) *talker {
	t.Helper()
	k := &talker{master: master, topics: map[string]bool{}, conns: map[net.Conn]string{}}
	var err error
	k.listener, err = net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	k.api, err = apislave.NewServer("127.0.0.1:0", net.IPv4(127, 0, 0, 1), "", 5*time.Second)
	require.NoError(t, err)
	port := k.listener.Addr().(*net.TCPAddr).Port
	k.api.Serve(func(request apislave.Request) apislave.Response {
		if _, ok := request.(*apislave.RequestRequestTopic); ok {
			return apislave.ResponseRequestTopic{Code: 1, Protocol: []any{"TCPROS", "127.0.0.1", port}}
		}
		return apislave.ErrorRes{}
	})
	k.wg.Go(k.accept)
	return k
}

// kill ends the node without a word to the master.
func (k *talker) kill() {
	_ = k.listener.Close()
	k.mu.Lock()
	k.closed = true
	for conn := range k.conns {
		_ = conn.(*net.TCPConn).SetLinger(0)
		_ = conn.Close()
	}
	k.mu.Unlock()
	k.wg.Wait()
	k.api.Close()
}

func (k *talker) accept() {
	for {
		conn, err := k.listener.Accept()
		if err != nil {
			return
		}
		k.mu.Lock()
		if k.closed {
			_ = conn.Close()
		} else {
			k.conns[conn] = ""
			k.wg.Go(func() { k.serve(conn) })
		}
		k.mu.Unlock()
	}
}

// serve answers a subscriber's header and waits until the subscriber goes.
func (k *talker) serve(conn net.Conn) {
	defer func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		delete(k.conns, conn)
		_ = conn.Close()
	}()
	block, err := readFrame(conn)
	if err != nil {
		return
	}
	if _, err := conn.Write(header("callerid=/talker", "md5sum="+vehicleControlMD5, "type=lgsvl_msgs/VehicleControlData")); err != nil {
		return
	}
	k.mu.Lock()
	k.conns[conn] = headerFields(block)["topic"]
	k.mu.Unlock()
	_, _ = io.Copy(io.Discard, conn)
}

// talk tells the master of a topic, once.
func (k *talker) talk(topic string) {
	k.mu.Lock()
	known := k.topics[topic]
	k.topics[topic] = true
	k.mu.Unlock()
	if known {
		return
	}
	k.master.mu.Lock()
	defer k.master.mu.Unlock()
	k.master.nodes["/talker"] = k.api.URL() + "/"
	if k.master.pubs[topic] == nil {
		k.master.pubs[topic] = map[string]string{}
	}
	k.master.pubs[topic]["/talker"] = k.api.URL() + "/"
	k.master.tell(topic)
}

// send sends a message to those who have subscribed to a topic.
func (k *talker) send(topic string, message []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for conn, subscribed := range k.conns {
		if subscribed == topic {
			_, _ = conn.Write(append(binary.LittleEndian.AppendUint32(nil, uint32(len(message))), message...)) // or it has gone
		}
	}
}

// subscriptions returns how many have subscribed to a topic.
func (k *talker) subscriptions(topic string) int {
	k.talk(topic)
	k.mu.Lock()
	defer k.mu.Unlock()
	n := 0
	for _, subscribed := range k.conns {
		if subscribed == topic {
			n++
		}
	}
	return n
}

// Subscriptions tells the master of the topic if it doesn't know of it: before, nobody
// comes.
func (p *peer) Subscriptions(topic string) int {
	if p.talker == nil {
		return 0
	}
	return p.talker.subscriptions(topic)
}

// Send publishes an lgsvl_msgs/VehicleControlData: an empty header of 16 bytes, then numbers
// of which the first is the acceleration.
func (p *peer) Send(_ *testing.T, topic string, acceleration float64) {
	message := binary.LittleEndian.AppendUint32(make([]byte, 16), math.Float32bits(float32(acceleration)))
	p.talker.send(topic, append(message, make([]byte, 3*4+1)...))
}

// SendUnreadable sends a message that is too short.
func (p *peer) SendUnreadable(_ *testing.T, topic string) { p.talker.send(topic, make([]byte, 20)) }

// SendEmpty sends a message of no bytes.
func (p *peer) SendEmpty(_ *testing.T, topic string) { p.talker.send(topic, nil) }
