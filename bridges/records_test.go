package bridges_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
)

// image is a row of lines; the suite publishes pictures where it stalls a peer, and large
// records fill what waits for it.
var image = bridges.Write("image", func(b []byte, topic string, m *sample.Image) []byte {
	return fmt.Appendf(b, "%d\t%s\t%x\n", m.Stamp, topic, m.Data)
})

func TestConformanceOfFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	bridgetest.Run(t, bridgetest.Suite{
		Factory:        bridges.NewFile("lines", "writes lines", image),
		Connection:     "drive.tsv",
		BadConnections: []string{""},
		Count: func(t *testing.T, outDir string) map[string]int {
			text, err := os.ReadFile(filepath.Join(outDir, "drive.tsv"))
			require.NoError(t, err)
			counts := map[string]int{}
			for line := range strings.Lines(string(text)) {
				counts[strings.Split(line, "\t")[1]]++
			}
			return counts
		},
	})
}

func TestConformanceOfServers(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	s := &servers{Factory: bridges.NewServer("lines", "serves lines", "127.0.0.1:7000", image)}
	bridgetest.Run(t, bridgetest.Suite{
		Factory:        s,
		BadConnections: []string{"nowhere", "127.0.0.1:99999", "0?clients=0", "0?policy=newest", "0?color=red"},
		Peer: func(t *testing.T) bridgetest.Peer {
			p := newLinePeer(t, "?messages=4096&bytes=8388608")
			p.connect = func() (net.Conn, error) { return net.DialTimeout("tcp", p.address, time.Second) }
			p.ready = s.receives
			return p
		},
	})
}

func TestConformanceOfClients(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	bridgetest.Run(t, bridgetest.Suite{
		Factory:        bridges.NewClient("lines", "sends lines", 7000, image),
		BadConnections: []string{"", ":7000", "localhost:http", "localhost?messages=0", "localhost?retry=0s"},
		Peer: func(t *testing.T) bridgetest.Peer {
			p := newLinePeer(t, "?messages=4096&bytes=8388608&retry=50ms")
			p.listens = true
			p.ready = func(string) bool { return p.conn != nil }
			return p
		},
	})
}

// Without clients nothing is encoded.
func TestUnheardRecordsAreNotMade(t *testing.T) {
	row := bridges.Write("speed", func([]byte, string, *sample.Speed) []byte { panic("nobody reads it") })
	b, err := bridges.MustRegistry(bridges.NewServer("speeds", "serves speeds", "127.0.0.1:0", row)).Open("speeds:", bridges.Env{})
	require.NoError(t, err)
	publish, err := bridges.AddPublisher[*sample.Speed](b, bridges.Topic{Name: "/speed"})
	require.NoError(t, err)
	require.NoError(t, b.Connect(t.Context()))
	assert.ErrorIs(t, publish(t.Context(), &sample.Speed{}), flow.ErrNotConnected)
	require.NoError(t, b.Close(t.Context()))
}

// A client of a server that has a topic already, and one that is there before a topic.
func TestServedRecords(t *testing.T) {
	factory := bridges.NewServer("lines", "serves lines", "127.0.0.1:0", image)
	b, err := bridges.MustRegistry(factory).Open("lines:", bridges.Env{})
	require.NoError(t, err)
	latched := bridges.Topic{Name: "/kept", QoS: flow.QoS{Durability: flow.TransientLocal}}
	kept, err := bridges.AddPublisher[*sample.Image](b, latched)
	require.NoError(t, err)
	require.NoError(t, b.Connect(t.Context()))
	t.Cleanup(func() { assert.NoError(t, b.Close(t.Context())) })
	require.NoError(t, kept(t.Context(), &sample.Image{Data: []byte{1}}))
	conn, err := net.Dial("tcp", b.Endpoints()[0].Address)
	require.NoError(t, err)
	defer conn.Close()
	lines := bufio.NewScanner(conn)
	require.True(t, lines.Scan())
	assert.Equal(t, "0\t/kept\t01", lines.Text(), "the last message of a latched topic is for those who come later")
	later, err := bridges.AddPublisher[*sample.Image](b, bridges.Topic{Name: "/later"})
	require.NoError(t, err)
	require.NoError(t, later(t.Context(), &sample.Image{Data: []byte{2}}))
	require.True(t, lines.Scan())
	assert.Equal(t, "0\t/later\t02", lines.Text(), "a topic that is added reaches clients that are there")
}

// A codec is a row, too, and its error drops the message alone: on every kind of bridge.
func TestRecordsOfACodec(t *testing.T) {
	odd := errors.New("odd")
	codec := bridges.Codec[*sample.Speed]{Schema: bridges.Schema{Name: "speed"}, Append: func(dst []byte, m *sample.Speed) ([]byte, error) {
		if m.MetresPerSecond < 0 {
			return nil, odd
		}
		return fmt.Appendf(dst, "%g\n", m.MetresPerSecond), nil
	}}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	dir, absolute := t.TempDir(), filepath.Join(t.TempDir(), "speed.txt")
	for connection, factory := range map[string]bridges.Factory{
		"speed.txt":              bridges.NewFile("speeds", "writes speeds", codec),
		absolute:                 bridges.NewFile("speeds", "writes speeds", codec),
		"127.0.0.1:0":            bridges.NewServer("speeds", "serves speeds", "127.0.0.1:0", codec),
		listener.Addr().String(): bridges.NewClient("speeds", "sends speeds", 7000, codec),
	} {
		b, err := bridges.MustRegistry(factory).Open("speeds:"+connection, bridges.Env{OutDir: dir})
		require.NoError(t, err)
		publish, err := bridges.AddPublisher[*sample.Speed](b, bridges.Topic{Name: "/speed", QoS: flow.QoS{Durability: flow.TransientLocal}})
		require.NoError(t, err)
		require.NoError(t, b.Connect(t.Context()))
		require.NoError(t, b.Await(t.Context()))
		require.ErrorIs(t, publish(t.Context(), &sample.Speed{MetresPerSecond: -1}), odd)
		require.NoError(t, publish(t.Context(), &sample.Speed{MetresPerSecond: 13.5}))
		var out io.ReadCloser
		switch b.Info().Kind {
		case bridges.KindFile:
			require.NoError(t, b.Close(t.Context()))
			path := filepath.Join(dir, connection)
			if connection == absolute {
				path = absolute
			}
			out, err = os.Open(path)
		default:
			if endpoints := b.Endpoints(); endpoints != nil {
				out, err = net.Dial("tcp", endpoints[0].Address)
			} else {
				out, err = listener.Accept()
			}
		}
		require.NoError(t, err)
		line, err := bufio.NewReader(out).ReadString('\n')
		require.NoError(t, err)
		assert.Equal(t, "13.5\n", line, connection)
		require.NoError(t, out.Close())
		assert.Equal(t, flow.Drops{flow.CauseConvertFailed: 1}, b.Statistics().Topics[0].Drops, connection)
		require.NoError(t, b.Close(t.Context()))
	}
}

// servers remembers the instances of a factory: a client of records isn't told when it is
// served.
type servers struct {
	bridges.Factory

	mu        sync.Mutex
	instances []bridges.Instance // guarded by mu
}

func (s *servers) NewInstance(env bridges.Env) (bridges.Instance, error) {
	i, err := s.Factory.NewInstance(env)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.instances = append(s.instances, i)
	return i, err
}

// receives reports whether the topic of an instance that is connected has a client.
func (s *servers) receives(topic string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range s.instances {
		if i.(bridges.Audience).Receivers(topic) > 0 {
			return true
		}
	}
	return false
}

// linePeer reads lines of a connection, and counts them by their second column. It dials by
// connect, or listens.
type linePeer struct {
	address, options string
	listens          bool
	connect          func() (net.Conn, error)
	ready            func(topic string) bool

	mu       sync.Mutex
	changed  *sync.Cond
	running  bool           // guarded by mu
	stalled  bool           // guarded by mu
	listener net.Listener   // guarded by mu
	conn     net.Conn       // guarded by mu
	received map[string]int // guarded by mu
	done     chan struct{}  // closed when the goroutine of the last Start has ended
}

func newLinePeer(t *testing.T, options string) *linePeer {
	p := &linePeer{address: fmt.Sprintf("127.0.0.1:%d", bridgetest.FreePort(t)), options: options, received: map[string]int{}}
	p.changed = sync.NewCond(&p.mu)
	t.Cleanup(func() { p.Kill(t) })
	return p
}

func (p *linePeer) Connection() string { return p.address + p.options }

func (p *linePeer) Start(t *testing.T) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running, p.done = true, make(chan struct{})
	if p.listens {
		listener, err := net.Listen("tcp", p.address)
		require.NoError(t, err)
		p.listener, p.connect = listener, listener.Accept
	}
	go p.run(p.done, p.connect)
}

func (p *linePeer) run(done chan struct{}, connect func() (net.Conn, error)) {
	defer close(done)
	for {
		conn, err := connect()
		p.mu.Lock()
		if p.conn = nil; err == nil {
			p.conn = conn
		}
		running := p.running
		p.mu.Unlock()
		switch {
		case err == nil && running:
			p.read(conn)
		case err == nil:
			_ = conn.Close()
		}
		if !running {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (p *linePeer) read(conn net.Conn) {
	lines := bufio.NewScanner(conn)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		p.mu.Lock()
		for p.stalled && p.running {
			p.changed.Wait()
		}
		p.received[strings.Split(lines.Text(), "\t")[1]]++
		p.mu.Unlock()
	}
	_ = conn.Close()
}

func (p *linePeer) Kill(*testing.T) {
	p.mu.Lock()
	running, done := p.running, p.done
	p.running, p.stalled = false, false
	p.changed.Broadcast()
	if p.conn != nil {
		_ = p.conn.Close()
	}
	if p.listener != nil {
		_ = p.listener.Close()
	}
	p.mu.Unlock()
	if running {
		<-done
	}
}

func (p *linePeer) stall(stalled bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stalled = stalled
	p.changed.Broadcast()
}

func (p *linePeer) Stall(*testing.T)  { p.stall(true) }
func (p *linePeer) Resume(*testing.T) { p.stall(false) }

func (p *linePeer) Rubbish(*testing.T) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conn != nil {
		_, _ = p.conn.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
	}
}

func (p *linePeer) Ready(topic string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ready(topic)
}

func (p *linePeer) Received() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.received)
}
