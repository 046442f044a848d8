package rosbridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/bridgetest/peers"
	"github.com/raybridge/raybridge/bridges/rosbridge"
)

const limits = "messages=4096&bytes=8388608&retry=50ms"

var badConnections = []string{
	"", "robot:0", "robot?port=1", "robot?bson=maybe", "robot?ros=3", "robot?gps=gpx", "robot?subscribe=png", "http://robot",
	"listen=x", "listen=:1?bson=1", "listen=:1?cert=a", "listen=:1?cert=&key=", "listen=:1?clients=0", "listen=:1?origins=",
}

func TestClientConformance(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	for name, options := range map[string]string{"JSON": "", "BSON": "&bson=1"} {
		t.Run(name, func(t *testing.T) {
			bridgetest.Run(t, bridgetest.Suite{
				Factory: rosbridge.Factory{}, BadConnections: badConnections,
				Peer: func(t *testing.T) bridgetest.Peer { return newServerPeer(t, options) },
			})
		})
	}
}

func TestMessagesAboveTheLimit(t *testing.T) {
	for name, peer := range map[string]func(t *testing.T) bridgetest.Peer{
		"JSON":   func(t *testing.T) bridgetest.Peer { return newServerPeer(t, "") },
		"BSON":   func(t *testing.T) bridgetest.Peer { return newServerPeer(t, "&bson=1") },
		"server": newClientPeer,
	} {
		t.Run(name, func(t *testing.T) {
			bridgetest.TooLarge(t, bridgetest.Suite{Factory: rosbridge.Limited(bridgetest.Limit), Peer: peer})
		})
	}
}

func newServerPeer(t *testing.T, options string) *serverPeer {
	t.Helper()
	s := peers.NewRosbridge(peers.RosbridgeConfig{
		Address: fmt.Sprintf("127.0.0.1:%d", bridgetest.FreePort(t)), BSONOnly: options != "", Keep: 1,
	})
	t.Cleanup(s.Kill)
	return &serverPeer{s, options}
}

// serverPeer is a rosbridge server that the bridge dials.
type serverPeer struct {
	server  *peers.Rosbridge
	options string
}

func (p *serverPeer) Connection() string       { return p.server.Addr() + "?" + limits + p.options }
func (p *serverPeer) Start(t *testing.T)       { require.NoError(t, p.server.Start()) }
func (p *serverPeer) Kill(*testing.T)          { p.server.Kill() }
func (p *serverPeer) Stall(*testing.T)         { p.server.Stall() }
func (p *serverPeer) Resume(*testing.T)        { p.server.Resume() }
func (p *serverPeer) Rubbish(*testing.T)       { p.server.Rubbish() }
func (p *serverPeer) Received() map[string]int { return p.server.Received() }
func (p *serverPeer) Ready(topic string) bool {
	_, ok := p.server.Advertised()[topic]
	return ok
}

func (p *serverPeer) Subscriptions(topic string) int { return p.server.Subscriptions(topic) }

// Send publishes an lgsvl_msgs/VehicleControlData.
func (p *serverPeer) Send(_ *testing.T, topic string, acceleration float64) {
	p.server.Publish(topic, peers.Outgoing{Values: control(acceleration)})
}

func control(acceleration any) map[string]any {
	return map[string]any{"acceleration_pct": acceleration}
}

func (p *serverPeer) SendUnreadable(_ *testing.T, topic string) {
	p.server.Publish(topic, peers.Outgoing{Values: control("much")})
}

func TestServerConformance(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	bridgetest.Run(t, bridgetest.Suite{
		Factory: rosbridge.Factory{}, BadConnections: badConnections, Peer: newClientPeer,
	})
}

func newClientPeer(t *testing.T) bridgetest.Peer {
	t.Helper()
	p := &clientPeer{address: fmt.Sprintf("127.0.0.1:%d", bridgetest.FreePort(t)), received: map[string]int{}}
	t.Cleanup(func() { p.Kill(t) })
	return p
}

// clientPeer is a client of the server that the bridge is. It asks rosapi again and again for
// what the bridge publishes, and subscribes to all. It also asks for what the bridge subscribes
// to.
type clientPeer struct {
	address string
	cancel  context.CancelFunc // nil while it doesn't run
	done    chan struct{}
	gate    sync.RWMutex // held for writing while it is stalled

	mu       sync.Mutex
	conn     *websocket.Conn // guarded by mu: nil while there is none
	ready    map[string]bool // guarded by mu: what the bridge publishes, and whether it is subscribed to
	heard    []string        // guarded by mu: what the bridge subscribes to
	received map[string]int  // guarded by mu
}

func (p *clientPeer) Connection() string { return "listen=" + p.address + "?" + limits }

func (p *clientPeer) Start(*testing.T) {
	var ctx context.Context
	ctx, p.cancel = context.WithCancel(context.Background())
	p.done = make(chan struct{})
	go func() {
		defer close(p.done)
		for ctx.Err() == nil {
			p.visit(ctx)
			select {
			case <-time.After(20 * time.Millisecond):
			case <-ctx.Done():
			}
		}
	}()
}

func (p *clientPeer) Kill(*testing.T) {
	if p.cancel != nil {
		p.cancel()
		<-p.done
		p.cancel = nil
	}
}

func (p *clientPeer) Stall(*testing.T)  { p.gate.Lock() }
func (p *clientPeer) Resume(*testing.T) { p.gate.Unlock() }

func (p *clientPeer) Rubbish(*testing.T) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, frame := range []string{"}", "[]", `{"op":7}`, `{"op":"subscribe"}`, `{"op":"dance"}`, "\x00"} {
		_ = p.conn.Write(context.Background(), websocket.MessageText, []byte(frame))
		_ = p.conn.Write(context.Background(), websocket.MessageBinary, []byte(frame))
	}
}

func (p *clientPeer) Subscriptions(topic string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if slices.Contains(p.heard, topic) {
		return 1
	}
	return 0
}

func (p *clientPeer) Send(t *testing.T, topic string, acceleration float64) {
	p.publish(t, topic, control(acceleration))
}

func (p *clientPeer) SendUnreadable(t *testing.T, topic string) { p.publish(t, topic, control("much")) }

// publish does nothing while there is no connection. An error is that of one that ends.
func (p *clientPeer) publish(t *testing.T, topic string, message map[string]any) {
	p.mu.Lock()
	conn := p.conn
	p.mu.Unlock()
	if conn == nil {
		return
	}
	data, err := json.Marshal(map[string]any{"op": "publish", "topic": topic, "msg": message})
	require.NoError(t, err)
	_ = conn.Write(t.Context(), websocket.MessageText, data)
}

func (p *clientPeer) Ready(topic string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ready[topic]
}

func (p *clientPeer) Received() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.received)
}

// visit is one connection.
func (p *clientPeer) visit(ctx context.Context) {
	conn, _, err := websocket.Dial(ctx, "ws://"+p.address, nil) //nolint:bodyclose // the library closes it
	if err != nil {
		return
	}
	conn.SetReadLimit(-1)
	defer func() { _ = conn.CloseNow() }()
	p.mu.Lock()
	p.conn, p.ready = conn, map[string]bool{}
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		p.conn, p.ready, p.heard = nil, nil, nil
		p.mu.Unlock()
	}()
	send := func(frame map[string]any) {
		data, _ := json.Marshal(frame)
		_ = conn.Write(ctx, websocket.MessageText, data)
	}
	send(question)
	for {
		p.gate.RLock()
		_, frame, err := conn.Read(ctx)
		p.gate.RUnlock()
		if err != nil {
			return
		}
		var in struct {
			Op, Topic string
			Values    json.RawMessage
		}
		if json.Unmarshal(frame, &in) != nil {
			continue
		}
		switch in.Op {
		case "publish":
			p.mu.Lock()
			p.received[in.Topic]++
			p.mu.Unlock()
		case "service_response":
			p.ask(send, in.Values)
		}
	}
}

// question asks what the bridge publishes and subscribes to.
var question = map[string]any{"op": "call_service", "service": "/rosapi/node_details", "args": map[string]any{"node": "/raybridge"}}

// ask subscribes to the topics that are new, and asks again. Those of the answer before
// are being sent: frames are worked off in their order.
func (p *clientPeer) ask(send func(map[string]any), values json.RawMessage) {
	var answer struct{ Publishing, Subscribing []string }
	_ = json.Unmarshal(values, &answer)
	p.mu.Lock()
	var fresh []string
	p.heard = answer.Subscribing
	for _, topic := range answer.Publishing {
		if subscribed, ok := p.ready[topic]; !ok {
			p.ready[topic] = false
			fresh = append(fresh, topic)
		} else if !subscribed {
			p.ready[topic] = true
		}
	}
	p.mu.Unlock()
	for _, topic := range fresh {
		send(map[string]any{"op": "subscribe", "topic": topic})
	}
	if len(fresh) == 0 {
		time.Sleep(2 * time.Millisecond)
	}
	send(question)
}
