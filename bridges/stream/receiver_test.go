package stream_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/bridgetest"
)

// receiver is a client of the test's own making, after docs/stream-protocol.md. It wants
// everything, shows that it is alive, and comes again when it was disconnected.
type receiver struct {
	bridgetest.Gate
	address string

	mu       sync.Mutex
	cancel   context.CancelFunc // guarded by mu: nil while it doesn't run
	done     chan struct{}      // guarded by mu
	conn     net.Conn           // guarded by mu: nil while disconnected
	ready    map[string]bool    // guarded by mu
	received map[string]int     // guarded by mu
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{address: fmt.Sprintf("127.0.0.1:%d", bridgetest.FreePort(t)), received: map[string]int{}}
	t.Cleanup(func() { r.Kill(t) })
	return r
}

func (r *receiver) Connection() string { return r.address + "?messages=4096&bytes=8388608" }

func (r *receiver) Start(*testing.T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel, r.done = cancel, make(chan struct{})
	go r.run(ctx, r.done)
}

func (r *receiver) run(ctx context.Context, done chan struct{}) {
	defer close(done)
	for ctx.Err() == nil {
		r.visit(ctx)
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// What the client sends: the hello of version 2, without options, that wants all streams;
// and a sign of life.
const (
	hello = "RBSTREAM\x02\x00\x00\x00\x05\x00\x00\x00" + "\x01\x00" + "\x01\x00*"
	alive = "\x00\x00\x00\x00" + "\x00\x00\x00\x01" + "\x00\x00\x00\x00" + "\x00\x00\x00\x00"
)

// visit is one connection.
func (r *receiver) visit(ctx context.Context) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", r.address)
	if err != nil {
		return
	}
	defer conn.Close()
	living, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if _, err := io.WriteString(conn, hello); err != nil {
		return
	}
	r.hold(conn)
	defer r.hold(nil)
	go func() {
		beat := time.NewTicker(time.Second)
		defer beat.Stop()
		for {
			select {
			case <-beat.C:
				_, _ = io.WriteString(conn, alive)
			case <-living.Done():
				return
			}
		}
	}()
	_ = r.read(ctx, bufio.NewReader(conn))
}

func (r *receiver) hold(conn net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.conn, r.ready = conn, map[string]bool{}
}

// read takes the greeting and frames, until the connection ends.
func (r *receiver) read(ctx context.Context, in io.Reader) error {
	greeting := make([]byte, 16)
	if _, err := io.ReadFull(in, greeting); err != nil {
		return err
	}
	if string(greeting[:12]) != "RBSTREAM\x02\x00\x00\x00" { // version 2, status 0
		return errors.New("refused")
	}
	rest := make([]byte, binary.LittleEndian.Uint32(greeting[12:]))
	if _, err := io.ReadFull(in, rest); err != nil {
		return err
	}
	topics := map[uint16]string{}
	rest = rest[2+2+4+4+8:] // no reason, flags, length, beat, instance
	n := int(binary.LittleEndian.Uint16(rest))
	rest = rest[2:]
	for range n {
		rest = r.row(topics, rest)
	}
	for {
		if err := r.frame(topics, in); err != nil {
			return err
		}
		if err := r.Pass(ctx); err != nil {
			return err
		}
	}
}

// frame takes one frame: a message, a new stream, or what doesn't matter here.
func (r *receiver) frame(topics map[uint16]string, in io.Reader) error {
	head := make([]byte, 16)
	if _, err := io.ReadFull(in, head); err != nil {
		return err
	}
	payload := make([]byte, binary.LittleEndian.Uint32(head))
	if _, err := io.ReadFull(in, payload); err != nil {
		return err
	}
	switch id := binary.LittleEndian.Uint16(head[4:]); {
	case id == 0 && head[7] == 2:
		r.row(topics, payload)
	case id != 0:
		r.mu.Lock()
		defer r.mu.Unlock()
		r.received[topics[id]]++
	}
	return nil
}

// row reads a stream's description and returns what follows it.
func (r *receiver) row(topics map[uint16]string, b []byte) []byte {
	id := binary.LittleEndian.Uint16(b)
	b = b[2+2+4:]
	for i := range 6 {
		n := int(binary.LittleEndian.Uint16(b))
		if i == 0 {
			topics[id] = string(b[2 : 2+n])
		}
		b = b[2+n:]
	}
	b = b[4+binary.LittleEndian.Uint32(b):]
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ready[topics[id]] = true
	return b
}

func (r *receiver) Kill(t *testing.T) {
	r.Resume(t)
	r.mu.Lock()
	cancel, done := r.cancel, r.done
	r.cancel = nil
	r.mu.Unlock()
	if cancel != nil {
		cancel()
		<-done
	}
}

// Rubbish sends a frame that isn't one on the connection, and greetings that aren't.
func (r *receiver) Rubbish(t *testing.T) {
	r.mu.Lock()
	conn := r.conn
	r.mu.Unlock()
	_, err := io.WriteString(conn, "\xff\xff\xff\xff and much that makes no sense")
	require.NoError(t, err)
	for _, text := range []string{"", "RBSTREAM", "GET / HTTP/1.1\r\n\r\n", "RBSTREAM\x02\x00\x00\x00\xff\xff\xff\xff"} {
		conn, err := net.Dial("tcp", r.address)
		require.NoError(t, err)
		_, err = io.WriteString(conn, text)
		assert.NoError(t, err)
		_ = conn.Close()
	}
}

func (r *receiver) Ready(topic string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ready[topic]
}

func (r *receiver) Received() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.received)
}
