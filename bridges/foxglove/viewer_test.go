package foxglove_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/bridgetest"
)

// viewer is a client of the server, written after the protocol's specification alone. It
// subscribes to whatever is advertised, and comes again when it was disconnected.
type viewer struct {
	bridgetest.Gate
	port int

	mu       sync.Mutex
	cancel   context.CancelFunc // guarded by mu: nil while it doesn't run
	done     chan struct{}      // guarded by mu
	conn     *websocket.Conn    // guarded by mu: nil while disconnected
	ready    map[string]bool    // guarded by mu
	received map[string]int     // guarded by mu
	statuses []string           // guarded by mu
	channels []string           // guarded by mu: what it advertises on this connection
}

var _ bridgetest.Sender = (*viewer)(nil)

func newViewer(t *testing.T) *viewer {
	v := &viewer{port: bridgetest.FreePort(t), received: map[string]int{}}
	t.Cleanup(func() { v.Kill(t) })
	return v
}

func (v *viewer) address() string { return fmt.Sprintf("127.0.0.1:%d", v.port) }

func (v *viewer) Connection() string { return v.address() + "?messages=4096&bytes=8388608" }

func (v *viewer) Start(*testing.T) {
	v.mu.Lock()
	defer v.mu.Unlock()
	ctx, cancel := context.WithCancel(context.Background())
	v.cancel, v.done = cancel, make(chan struct{})
	go v.run(ctx, v.done)
}

func (v *viewer) run(ctx context.Context, done chan struct{}) {
	defer close(done)
	for ctx.Err() == nil {
		v.visit(ctx)
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// visit is one connection.
func (v *viewer) visit(ctx context.Context) {
	conn, _, err := websocket.Dial(ctx, "ws://"+v.address(), &websocket.DialOptions{Subprotocols: []string{"foxglove.sdk.v1"}}) //nolint:bodyclose // it is the connection
	if err != nil {
		return
	}
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(1 << 30)
	v.mu.Lock()
	v.conn, v.ready = conn, map[string]bool{}
	v.mu.Unlock()
	defer func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.conn, v.ready, v.channels = nil, nil, nil
	}()
	topics := map[uint32]string{}
	for {
		if v.Pass(ctx) != nil {
			return
		}
		kind, data, err := conn.Read(ctx)
		if err != nil {
			return
		}
		if kind == websocket.MessageBinary {
			v.count(topics, data)
		} else if err := v.answer(ctx, conn, topics, data); err != nil {
			return
		}
	}
}

func (v *viewer) count(topics map[uint32]string, data []byte) {
	if data[0] != 1 || len(data) < 13 {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.received[topics[binary.LittleEndian.Uint32(data[1:])]]++
}

// answer subscribes to what is advertised, under numbers of its own.
func (v *viewer) answer(ctx context.Context, conn *websocket.Conn, topics map[uint32]string, data []byte) error {
	var message struct {
		Op       string
		ID       string
		Message  string
		Channels []struct {
			ID    uint32
			Topic string
		}
	}
	if err := json.Unmarshal(data, &message); err != nil {
		return err
	}
	v.mu.Lock()
	switch message.Op {
	case "status":
		v.statuses = append(v.statuses, message.Message)
	case "parameterValues": // the answer to what was asked after the subscription
		v.ready[message.ID] = true
	}
	v.mu.Unlock()
	for _, c := range message.Channels {
		id := 1000 + c.ID
		topics[id] = c.Topic
		for _, request := range []string{
			fmt.Sprintf(`{"op":"subscribe","subscriptions":[{"id":%d,"channelId":%d}]}`, id, c.ID),
			fmt.Sprintf(`{"op":"getParameters","parameterNames":["/raybridge/version"],"id":%q}`, c.Topic),
		} {
			if err := conn.Write(ctx, websocket.MessageText, []byte(request)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (v *viewer) Kill(t *testing.T) {
	v.Resume(t)
	v.mu.Lock()
	cancel, done := v.cancel, v.done
	v.cancel = nil
	v.mu.Unlock()
	if cancel != nil {
		cancel()
		<-done
	}
}

// Rubbish sends frames that make no sense, and bytes that are no WebSocket's.
func (v *viewer) Rubbish(t *testing.T) {
	v.mu.Lock()
	conn := v.conn
	v.mu.Unlock()
	for _, text := range []string{"{", "[]", `{"op":"nothing"}`, `{"op":"subscribe","subscriptions":[{"id":1,"channelId":4000000000}]}`} {
		require.NoError(t, conn.Write(t.Context(), websocket.MessageText, []byte(text)))
	}
	for _, data := range []string{"", "\x01", "\x02\x00\x00\x00", "\x77rubbish", "\x02\x01\x00\x00\x00\x01\x00\x00\x00\xff\xff\xff\xff"} {
		require.NoError(t, conn.Write(t.Context(), websocket.MessageBinary, []byte(data)))
	}
	raw, err := net.Dial("tcp", v.address())
	require.NoError(t, err)
	_, err = raw.Write([]byte("\x00\xff rubbish \r\n\r\n"))
	assert.NoError(t, err)
	_ = raw.Close()
}

func (v *viewer) Ready(topic string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.ready[topic]
}

func (v *viewer) Received() map[string]int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return maps.Clone(v.received)
}

// Subscriptions reports whether the viewer could publish: a server says nothing of what it
// subscribes to.
func (v *viewer) Subscriptions(string) int {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.conn == nil {
		return 0
	}
	return 1
}

func (v *viewer) Send(t *testing.T, topic string, acceleration float64) {
	v.publish(t, topic, fmt.Sprintf(`{"acceleration_pct":%v}`, acceleration))
}

func (v *viewer) SendUnreadable(t *testing.T, topic string) {
	v.publish(t, topic, `{"acceleration_pct":"much"}`)
}

func (v *viewer) SendEmpty(t *testing.T, topic string) { v.publish(t, topic, "") }

// publish advertises a topic once on each connection, with the messages' type, and sends
// one in JSON. It does nothing while there is no connection; an error is that of one that
// ends.
func (v *viewer) publish(t *testing.T, topic, message string) {
	v.mu.Lock()
	conn, id := v.conn, slices.Index(v.channels, topic)
	advertise := conn != nil && id < 0
	if advertise {
		id = len(v.channels)
		v.channels = append(v.channels, topic)
	}
	v.mu.Unlock()
	if advertise {
		_ = conn.Write(t.Context(), websocket.MessageText, fmt.Appendf(nil,
			`{"op":"advertise","channels":[{"id":%d,"topic":%q,"encoding":"json","schemaName":"lgsvl_msgs/msg/VehicleControlData"}]}`, id, topic))
	}
	if conn != nil {
		_ = conn.Write(t.Context(), websocket.MessageBinary, append(binary.LittleEndian.AppendUint32([]byte{1}, uint32(id)), message...))
	}
}
