package ros1_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/bridgetest"
)

// peer is a master, a node that subscribes to all that is published and one that publishes
// (talker), without any code
// of the bridge's: it asks with goroslib's calls and speaks TCPROS by hand.
type peer struct {
	master *testMaster
	talker *talker // nil while it doesn't run; the test's goroutine's
	gate   gate
	wg     sync.WaitGroup

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

func (p *peer) Kill(*testing.T) {
	p.mu.Lock()
	p.alive = false
	for conn := range p.conns {
		_ = conn.(*net.TCPConn).SetLinger(0)
		_ = conn.Close()
	}
	p.mu.Unlock()
	p.gate.open()
	p.master.kill()
	if p.talker != nil {
		p.talker.kill()
		p.talker = nil
	}
}

func (p *peer) Stall(*testing.T)  { p.gate.shut() }
func (p *peer) Resume(*testing.T) { p.gate.open() }

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
	in := gated{&p.gate, conn}
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

// gate holds up readers.
type gate struct {
	mu     sync.Mutex
	closed chan struct{} // nil while it is open
}

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed == nil {
		g.closed = make(chan struct{})
	}
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed != nil {
		close(g.closed)
		g.closed = nil
	}
}

func (g *gate) pass() {
	g.mu.Lock()
	closed := g.closed
	g.mu.Unlock()
	if closed != nil {
		<-closed
	}
}

type gated struct {
	gate *gate
	conn net.Conn
}

func (g gated) Read(b []byte) (int, error) {
	g.gate.pass()
	return g.conn.Read(b[:min(len(b), 64<<10)])
}
