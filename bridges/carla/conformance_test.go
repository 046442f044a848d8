package carla_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/carla"
)

func TestConformance(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	s := &servers{streams: map[string]map[string]uint32{}}
	bridgetest.Run(t, bridgetest.Suite{
		Factory: s,
		BadConnections: []string{
			"nowhere", "127.0.0.1:99999", "127.0.0.1:http", "127.0.0.1:0?policy=newest", "127.0.0.1:0?clients=0",
			"?messages=-1", "?bytes=many", "?color=red",
		},
		Peer: func(t *testing.T) bridgetest.Peer { return newReceiver(t, s) },
	})
}

// servers is a factory that remembers which streams its instances have: CARLA's clients
// are told of them by its other protocol, RPC.
type servers struct {
	carla.Factory

	mu      sync.Mutex
	streams map[string]map[string]uint32 // guarded by mu: by address, then topic
}

func (s *servers) NewInstance(env bridges.Env) (bridges.Instance, error) {
	i, err := s.Factory.NewInstance(env)
	carla.OnOpened(i, func(o carla.Opened) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.streams[o.Address] == nil {
			s.streams[o.Address] = map[string]uint32{}
		}
		s.streams[o.Address][o.Topic] = o.ID
	})
	return i, err
}

// of returns the streams at an address.
func (s *servers) of(address string) map[string]uint32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.streams[address])
}

// receiver is CARLA's client: it has a connection for each stream that there is, and makes
// another one when the server ended it.
type receiver struct {
	bridgetest.Gate
	servers *servers
	address string

	mu       sync.Mutex
	cancel   context.CancelFunc  // guarded by mu: nil while it doesn't run
	wg       sync.WaitGroup      // of what runs
	conns    map[string]net.Conn // guarded by mu: by topic
	received map[string]int      // guarded by mu
}

func newReceiver(t *testing.T, s *servers) *receiver {
	r := &receiver{
		servers: s, address: fmt.Sprintf("127.0.0.1:%d", bridgetest.FreePort(t)),
		conns: map[string]net.Conn{}, received: map[string]int{},
	}
	t.Cleanup(func() { r.Kill(t) })
	return r
}

func (r *receiver) Connection() string { return r.address + "?messages=4096&bytes=8388608" }

func (r *receiver) Start(*testing.T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	r.wg.Go(func() {
		known := map[string]bool{}
		for pause(ctx, 2*time.Millisecond) {
			for topic, id := range r.servers.of(r.address) {
				if !known[topic] {
					known[topic] = true
					r.wg.Go(func() { r.keep(ctx, topic, id) })
				}
			}
		}
	})
}

// pause waits, and reports whether ctx hasn't ended.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// keep receives a stream until ctx ends.
func (r *receiver) keep(ctx context.Context, topic string, id uint32) {
	for ctx.Err() == nil {
		r.receive(ctx, topic, id)
		pause(ctx, 10*time.Millisecond)
	}
}

// receive is one connection.
func (r *receiver) receive(ctx context.Context, topic string, id uint32) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", r.address)
	if err != nil {
		return
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if _, err := conn.Write(binary.LittleEndian.AppendUint32(nil, id)); err != nil {
		return
	}
	r.hold(topic, conn)
	defer r.hold(topic, nil)
	in := bufio.NewReader(conn)
	for {
		var length [4]byte
		if _, err := io.ReadFull(in, length[:]); err != nil {
			return
		}
		if _, err := io.CopyN(io.Discard, in, int64(binary.LittleEndian.Uint32(length[:]))); err != nil {
			return
		}
		r.mu.Lock()
		r.received[topic]++
		r.mu.Unlock()
		if r.Pass(ctx) != nil {
			return
		}
	}
}

func (r *receiver) hold(topic string, conn net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if delete(r.conns, topic); conn != nil {
		r.conns[topic] = conn
	}
}

func (r *receiver) Kill(t *testing.T) {
	r.Resume(t)
	r.mu.Lock()
	cancel := r.cancel
	r.cancel = nil
	r.mu.Unlock()
	if cancel != nil {
		cancel()
		r.wg.Wait()
	}
}

// Rubbish sends more than a stream's id, less than that, and one that there isn't.
func (r *receiver) Rubbish(t *testing.T) {
	r.mu.Lock()
	for _, conn := range r.conns {
		_, err := conn.Write([]byte("and more"))
		assert.NoError(t, err)
	}
	r.mu.Unlock()
	for _, text := range []string{"", "\x01\x00", "GET / HTTP/1.1\r\n\r\n"} {
		conn, err := net.Dial("tcp", r.address)
		require.NoError(t, err)
		_, err = conn.Write([]byte(text))
		assert.NoError(t, err)
		_ = conn.Close()
	}
}

func (r *receiver) Ready(topic string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.conns[topic] != nil
}

func (r *receiver) Received() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.received)
}
