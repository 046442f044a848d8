package ros1_test

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bluenviron/goroslib/v2/pkg/apislave"
	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/bridges/ros1"
	"github.com/stretchr/testify/require"
)

// peer is a master, a node that subscribes to all that is published and one that publishes
// (talker), without any code of the bridge's. It asks with goroslib's calls and speaks TCPROS
// by hand.
type peer struct {
	master *testMaster
	talker *talker // nil while it doesn't run; the test's goroutine's
	bridgetest.Gate
	wg sync.WaitGroup

	mu     sync.Mutex
	alive  bool
	life   int
	conns  map[net.Conn]bool
	ready  map[string]string // the publisher's URI by topic
	counts map[string]int
	// received is told of each message, on the connection's goroutine; it may be nil.
	received func(topic string, data []byte)
}

var _ bridgetest.Sender = (*peer)(nil)

func newPeer(t *testing.T) *peer {
	p := &peer{master: newMaster(t), conns: map[net.Conn]bool{}, ready: map[string]string{}, counts: map[string]int{}}
	p.master.published = p.follow
	t.Cleanup(func() { p.Kill(t); p.wg.Wait() })
	return p
}

func (p *peer) Connection() string {
	return p.master.address() + "?messages=4096&bytes=8388608&retry=50ms&host=127.0.0.1"
}

func (p *peer) Start(t *testing.T) {
	p.mu.Lock()
	p.alive = true
	p.life++
	p.mu.Unlock()
	p.master.start(t)
	p.talker = startTalker(t, p.master)
}

func (p *peer) Kill(t *testing.T) {
	p.mu.Lock()
	p.alive = false
	for conn := range p.conns {
		_ = conn.(*net.TCPConn).SetLinger(0)
		_ = conn.Close()
	}
	p.mu.Unlock()
	p.Resume(t)
	p.master.kill()
	if p.talker != nil {
		p.talker.kill()
		p.talker = nil
	}
}

func (p *peer) Ready(topic string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ready[topic] != ""
}

func (p *peer) Received() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.counts)
}

// follow receives a topic from a node for as long as both live.
func (p *peer) follow(topic, uri string) {
	p.mu.Lock()
	life := p.life
	p.wg.Add(1)
	p.mu.Unlock()
	defer p.wg.Done()
	for p.lives(life) && p.master.publishes(topic, uri) {
		_ = p.receive(topic, uri, life)
		p.mu.Lock()
		if p.ready[topic] == uri {
			delete(p.ready, topic)
		}
		p.mu.Unlock()
		time.Sleep(5 * time.Millisecond)
	}
}

func (p *peer) lives(life int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.alive && p.life == life
}

func (p *peer) receive(topic, uri string, life int) error {
	conn, err := dialTopic(topic, uri)
	if err != nil {
		return err
	}
	defer conn.Close()
	p.mu.Lock()
	if !p.alive || p.life != life {
		p.mu.Unlock()
		return errors.New("killed")
	}
	p.conns[conn] = true
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.conns, conn)
	}()
	in := gated{&p.Gate, conn}
	header, err := subscribeTo(conn, in, topic, "*", "*")
	if err != nil || header["topic"] != topic {
		return fmt.Errorf("%v: %w", header, err)
	}
	p.mu.Lock()
	p.ready[topic] = uri
	p.mu.Unlock()
	for {
		data, err := readFrame(in)
		if err != nil {
			return err
		}
		p.mu.Lock()
		p.counts[topic]++
		received := p.received
		p.mu.Unlock()
		if received != nil {
			received(topic, data)
		}
	}
}

// dialTopic asks a node for a topic and connects to where it says.
func dialTopic(topic, uri string) (net.Conn, error) {
	u, err := url.Parse(uri)
	if err != nil {
		return nil, err
	}
	answer, err := node(u.Host).RequestTopic(topic, [][]any{{"UDPROS", "x"}, {"TCPROS"}})
	if err != nil {
		return nil, err
	}
	if len(answer) != 3 || answer[0] != "TCPROS" {
		return nil, fmt.Errorf("answered %v", answer)
	}
	return net.DialTimeout("tcp", net.JoinHostPort(answer[1].(string), strconv.Itoa(answer[2].(int))), 10*time.Second)
}

// subscribeTo exchanges headers.
func subscribeTo(out io.Writer, in io.Reader, topic, typ, md5 string) (map[string]string, error) {
	return exchange(out, in, "callerid=/test", "topic="+topic, "type="+typ, "md5sum="+md5, "tcp_nodelay=1")
}

func exchange(out io.Writer, in io.Reader, fields ...string) (map[string]string, error) {
	if _, err := out.Write(header(fields...)); err != nil {
		return nil, err
	}
	block, err := readFrame(in)
	if err != nil {
		return nil, err
	}
	return headerFields(block), nil
}

// headerFields are those of a connection header.
func headerFields(block []byte) map[string]string {
	got := map[string]string{}
	for len(block) >= 4 {
		n := binary.LittleEndian.Uint32(block)
		name, value, _ := strings.Cut(string(block[4:4+n]), "=")
		block = block[4+n:]
		got[name] = value
	}
	return got
}

func header(fields ...string) []byte {
	var body []byte
	for _, f := range fields {
		body = binary.LittleEndian.AppendUint32(body, uint32(len(f)))
		body = append(body, f...)
	}
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(body))), body...)
}

func readFrame(in io.Reader) ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(in, length[:]); err != nil {
		return nil, err
	}
	data := make([]byte, binary.LittleEndian.Uint32(length[:]))
	_, err := io.ReadFull(in, data)
	return data, err
}

// Rubbish is what the ports must survive.
func (p *peer) Rubbish(t *testing.T) {
	for _, uri := range p.master.uris() {
		api := mustHost(t, uri)
		var tcpros string
		p.master.mu.Lock()
		topics := maps.Clone(p.master.pubs)
		p.master.mu.Unlock()
		for topic := range topics {
			conn, err := dialTopic(topic, uri)
			require.NoError(t, err)
			tcpros = conn.RemoteAddr().String()
			require.NoError(t, conn.Close())
			break
		}
		require.NotEmpty(t, tcpros)
		for _, rubbish := range tcprosRubbish() {
			send(t, tcpros, rubbish)
		}
		for _, rubbish := range xmlrpcRubbish() {
			send(t, api, rubbish)
		}
	}
}

func tcprosRubbish() [][]byte {
	return [][]byte{
		{}, {0}, {0, 0, 0, 0}, {0xff, 0xff, 0xff, 0xff}, []byte("GET / HTTP/1.1\r\n\r\n"),
		{8, 0, 0, 0, 200, 0, 0, 0, 'a', '=', 'b', 'c'}, {5, 0, 0, 0, 1, 0, 0, 0, 'x'},
		header("callerid=/x"), header("topic=/nowhere", "md5sum=*"), header("service=/nowhere", "md5sum=*"),
		header("topic=/topic", "md5sum=0123", "type=*"), header("topic=/topic", "md5sum=*", "type=*", "=", "a=")[:20],
		append(header("topic=/topic", "md5sum=*", "type=*"), make([]byte, 4096)...),
	}
}

func xmlrpcRubbish() [][]byte {
	post := func(body string) []byte {
		return fmt.Appendf(nil, "POST /RPC2 HTTP/1.1\r\nHost: x\r\nContent-Type: text/xml\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	}
	return [][]byte{
		{0, 1, 2, 3}, []byte("GET / HTTP/1.0\r\n\r\n"), post("nothing"), post("<a><b>"),
		post("<methodCall><methodName></methodName></methodCall>"),
		post("<methodCall><methodName>shutDown</methodName></methodCall>"),
		post("<methodCall><methodName>requestTopic</methodName><params><param><value><int>x</int></value></param></params></methodCall>"),
		post("<methodCall><methodName>requestTopic</methodName></methodCall>"),
		post("<methodCall><methodName>publisherUpdate</methodName><params><param><value>/m</value></param></params></methodCall>"),
		[]byte("POST /RPC2 HTTP/1.1\r\nHost: x\r\nContent-Length: 99999\r\n\r\n<methodCall>"),
		[]byte("POST /RPC2 HTTP/1.1\r\nHost: x\r\nContent-Length: 999999999\r\n\r\n"),
	}
}

// send connects, says something and goes without waiting for an answer.
func send(t *testing.T, address string, data []byte) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	_, _ = conn.Write(data)
	require.NoError(t, conn.Close())
}

func mustHost(t *testing.T, uri string) string {
	t.Helper()
	u, err := url.Parse(uri)
	require.NoError(t, err)
	return u.Host
}

type gated struct {
	gate *bridgetest.Gate
	conn net.Conn
}

func (g gated) Read(b []byte) (int, error) {
	_ = g.gate.Pass(context.Background())
	return g.conn.Read(b[:min(len(b), 64<<10)])
}

// raw is a ROS message as a sample of its own, which the bridge of openRaw publishes
// without a conversion.
type raw struct{ message ros.Message }

// openBridge returns a bridge that isn't connected. Its topics of *raw have the types that
// types tells.
func openBridge(t *testing.T, connection string, types map[string]string) *bridges.Bridge {
	t.Helper()
	registry, err := bridges.NewRegistry(ros1.Factory{})
	require.NoError(t, err)
	plugin, err := registry.Plugin("ros1")
	require.NoError(t, err)
	require.NoError(t, bridges.RegPublisher(plugin, "any", func(i bridges.Instance, topic *bridges.PublishedTopic) (bridges.Publisher[*raw], error) {
		send, err := ros1.OpenTopic(i, topic, types[topic.Name])
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, m *raw) error { return send(ctx, m.message, 0) }, nil
	}))
	b, err := registry.Open("ros1:"+connection, bridges.Env{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close(context.Background())) })
	return b
}

// plain returns a message as testdata/peers/plain.py prints it.
func plain(m ros.Message) any {
	p := &plainVisitor{names: ros.ROS1.Names(m), values: map[string]any{}}
	m.Fields(p)
	return p.values
}

type plainVisitor struct {
	names  ros.Names
	values map[string]any
}

var _ ros.SeqVisitor = (*plainVisitor)(nil)

func (p *plainVisitor) set(name string, v any) { p.values[p.names.Of(name)] = v }

func bits(v float64) any {
	if math.IsNaN(v) {
		return map[string]any{"bits": "nan"}
	}
	return map[string]any{"bits": fmt.Sprintf("%016x", math.Float64bits(v))}
}

func each[T any](list []T, value func(T) any) any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = value(v)
	}
	return out
}

func (p *plainVisitor) HeaderSeq(v *uint32) { p.set("seq", float64(*v)) }

func (p *plainVisitor) Value(name string, v ros.Ref) {
	switch v.Kind() {
	case ros.KindBool:
		p.set(name, v.Bool())
	case ros.KindFloat32, ros.KindFloat64:
		p.set(name, bits(v.Float()))
	case ros.KindUint64:
		p.set(name, float64(v.Uint()))
	default:
		p.set(name, float64(v.Int()))
	}
}

func (p *plainVisitor) String(name string, v *string) { p.set(name, *v) }

func (p *plainVisitor) Message(name string, v ros.Message) { p.set(name, plain(v)) }

func (p *plainVisitor) Bytes(name string, v *ros.Bytes) {
	data := make([]byte, v.Len())
	v.Put(data)
	p.set(name, map[string]any{"base64": base64.StdEncoding.EncodeToString(data)})
}

func (p *plainVisitor) Array(name string, v ros.Array) {
	switch v.Kind() {
	case ros.KindInt32:
		p.set(name, each(ros.Elements[int32](v), func(n int32) any { return float64(n) }))
	case ros.KindFloat32:
		p.set(name, each(ros.Elements[float32](v), func(f float32) any { return bits(float64(f)) }))
	case ros.KindFloat64:
		p.set(name, each(ros.Elements[float64](v), bits))
	default:
		panic("no type of the bridge has an array of " + v.Kind().String())
	}
}

func (p *plainVisitor) Messages(name string, v ros.Messages) {
	list := make([]any, v.Len())
	for i := range list {
		list[i] = plain(v.At(i))
	}
	p.set(name, list)
}

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
