package bench

import (
	"bufio"
	"context"
	"crypto/sha1"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	library "github.com/foxglove/mcap/go/mcap"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/apollo"
	"github.com/raybridge/raybridge/bridges/bridgetest/peers"
	"github.com/raybridge/raybridge/bridges/foxglove"
	"github.com/raybridge/raybridge/bridges/mcap"
	"github.com/raybridge/raybridge/bridges/ros2lgsvl"
	"github.com/raybridge/raybridge/bridges/rosbridge"
	"github.com/raybridge/raybridge/sensors/sample"
)

// limit is above every message of a contest.
const limit = 64 << 20

// counter counts messages, or bytes, that have arrived.
type counter struct {
	n    atomic.Int64
	more chan struct{} // has an element after some have come
}

func newCounter() counter { return counter{more: make(chan struct{}, 1)} }

func (c *counter) add(n int64) {
	c.n.Add(n)
	ping(c.more)
}

// await waits until so many have come.
func (c *counter) await(ctx context.Context, n int64) error {
	timeout := time.NewTimer(time.Minute)
	defer timeout.Stop()
	for c.n.Load() < n {
		select {
		case <-c.more:
		case <-ctx.Done():
			return ctx.Err()
		case <-timeout.C:
			return fmt.Errorf("%d of %d messages or bytes arrived within a minute", c.n.Load(), n)
		}
	}
	return nil
}

// messages waits until so many messages have come, which the counter counts.
func (c *counter) messages(ctx context.Context, n, _ int64) error { return c.await(ctx, n) }

// read throws a connection's messages away and counts them.
func (c *counter) read(ctx context.Context, conn *websocket.Conn) {
	for {
		_, r, err := conn.Reader(ctx)
		if err != nil || readAll(r) != nil {
			return
		}
		c.add(1)
	}
}

// chunks are what readAll reads into: large, so that reading costs little.
var chunks = sync.Pool{New: func() any { b := make([]byte, 1<<20); return &b }}

// readAll reads to the end.
func readAll(r io.Reader) error {
	chunk := chunks.Get().(*[]byte)
	defer chunks.Put(chunk)
	_, err := io.CopyBuffer(discarded{}, r, *chunk)
	return err
}

// dialWS connects to a server.
func dialWS(ctx context.Context, url string, subprotocols ...string) (*websocket.Conn, error) {
	conn, response, err := websocket.Dial(ctx, url, &websocket.DialOptions{CompressionMode: websocket.CompressionDisabled, Subprotocols: subprotocols})
	if err != nil {
		return nil, err
	}
	if response.Body != nil {
		_ = response.Body.Close() // of an upgraded connection there is none
	}
	conn.SetReadLimit(limit)
	return conn, nil
}

// plain writes one buffer again and again into a connection.
type plain struct {
	data    []byte
	write   func(ctx context.Context, data []byte) error
	arrived *counter
	unit    int64 // what arrived counts for one message
	sent    int64
	ended   func() error
}

func (p *plain) size() int64 { return int64(len(p.data)) }

func (p *plain) send(ctx context.Context, messages int) error {
	for range messages {
		if err := p.write(ctx, p.data); err != nil {
			return err
		}
	}
	p.sent += int64(messages) * p.unit
	return p.arrived.await(ctx, p.sent)
}

func (p *plain) close() error { return p.ended() }

// intoWS writes messages into a WebSocket.
func intoWS(conn *websocket.Conn) func(context.Context, []byte) error {
	return func(ctx context.Context, data []byte) error { return conn.Write(ctx, websocket.MessageBinary, data) }
}

// plainServer writes from a server to a client, as servers of viewers do.
func plainServer(ctx context.Context, data []byte) (way, error) {
	l, err := listen(ctx)
	if err != nil {
		return nil, err
	}
	conns := make(chan *websocket.Conn, 1)
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled})
		if err == nil {
			conns <- conn
			<-conn.CloseRead(ctx).Done()
		}
	})}
	var running sync.WaitGroup
	running.Go(func() { _ = server.Serve(l) }) // ends with Close
	ended := func() error {
		err := server.Close()
		running.Wait()
		return err
	}
	client, err := dialWS(ctx, "ws://"+l.Addr().String())
	if err != nil {
		return nil, errors.Join(err, ended())
	}
	arrived := newCounter()
	running.Go(func() { arrived.read(ctx, client) })
	conn := <-conns
	return &plain{data: data, write: intoWS(conn), arrived: &arrived, unit: 1, ended: func() error {
		return errors.Join(conn.CloseNow(), ignoreClosed(client.CloseNow()), ended())
	}}, nil
}

// maskedHeader is the length of the header of a client's frame of 64 KiB or more
// (RFC 6455, section 5.2).
const maskedHeader = 14

// acceptWS answers a client's handshake (RFC 6455, section 4.2.2).
func acceptWS(conn net.Conn) error {
	request, err := http.ReadRequest(bufio.NewReaderSize(conn, 4096))
	if err != nil {
		return err
	}
	sum := sha1.Sum([]byte(request.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	_, err = fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n",
		base64.StdEncoding.EncodeToString(sum[:]))
	return err
}

// plainClient writes from a client to a server that doesn't look at it, as clients of
// rosbridge do.
func plainClient(ctx context.Context, data []byte) (way, error) {
	sink, err := newTCPSink(ctx, acceptWS)
	if err != nil {
		return nil, err
	}
	client, err := dialWS(ctx, "ws://"+sink.address)
	if err != nil {
		return nil, errors.Join(err, sink.close())
	}
	return &plain{data: data, write: intoWS(client), arrived: &sink.bytes, unit: int64(len(data)) + maskedHeader, ended: func() error {
		return errors.Join(client.CloseNow(), sink.close())
	}}, nil
}

// ignoreClosed leaves out that the other side closed first.
func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// rosCloud is the size of the clouds that go over rosbridge, bytes.
const rosCloud = 1_500_000

// rosbridgeContests send clouds of 1.5 MB to a server that throws them away. For the comparison
// of BSON with JSON they send to one that takes each message apart, as servers do. What counts
// then is how many clouds get through.
func rosbridgeContests() []contest {
	return []contest{
		{
			named: named{"rosbridge_bson"}, beside: "a WebSocket client that writes one buffer again and again",
			bridge: func(ctx context.Context) (way, error) { return openRosbridge(ctx, "&bson=1") },
			plain:  func(ctx context.Context) (way, error) { return plainClient(ctx, make([]byte, rosCloud)) },
		},
		{
			named: named{"rosbridge_bson_over_json"}, beside: "the same bridge with JSON, to a server that decodes both", want: 4, perMessage: true,
			bridge: func(ctx context.Context) (way, error) { return openDecoded(ctx, true) },
			plain:  func(ctx context.Context) (way, error) { return openDecoded(ctx, false) },
		},
		{
			named: named{"rosbridge_json"}, beside: "the JSON encoder, while as much ready text is sent beside it", want: 0.9, perMessage: true,
			bridge: func(ctx context.Context) (way, error) { return openRosbridge(ctx, "") },
			plain:  func(ctx context.Context) (way, error) { return newEncoder(ctx, true) },
		},
		{
			named: named{"rosbridge_json_idle"}, beside: "the JSON encoder alone, on a machine that does nothing else", perMessage: true,
			bridge: func(ctx context.Context) (way, error) { return openRosbridge(ctx, "") },
			plain:  func(ctx context.Context) (way, error) { return newEncoder(ctx, false) },
		},
	}
}

func openRosbridge(ctx context.Context, options string) (way, error) {
	sink, err := newTCPSink(ctx, acceptWS)
	if err != nil {
		return nil, err
	}
	before := int64(0) // bytes of the advertisement and the first message
	arrived := func(ctx context.Context, n, size int64) (err error) {
		if n == 1 {
			before, err = sink.settled(ctx, size)
			return err
		}
		return sink.bytes.await(ctx, before+(n-1)*(size+maskedHeader))
	}
	bridge := connected{rosbridge.Factory{}, sink.address + "?messages=4" + options, 1}
	return sendTo(ctx, bridge, benchCloud(rosCloud), receiver{arrived, sink.close})
}

// openDecoded sends to a server that decodes every message.
func openDecoded(ctx context.Context, bson bool) (way, error) {
	arrived, options := newCounter(), ""
	if bson {
		options = "&bson=1"
	}
	s := peers.NewRosbridge(peers.RosbridgeConfig{
		BSONOnly: bson, Keep: 1, Published: func(string, peers.RosbridgeMessage) { arrived.add(1) },
	})
	if err := s.Start(); err != nil {
		return nil, err
	}
	ended := func() error {
		s.Kill()
		return nil
	}
	bridge := connected{rosbridge.Factory{}, s.Addr() + "?messages=4" + options, 1}
	return sendTo(ctx, bridge, benchCloud(rosCloud), receiver{arrived.messages, ended})
}

// encoder writes a message as JSON again and again, sample by sample. Beside it a plain writer
// sends a text of the same size for each, which was encoded before. The processors then have as
// much to do as with the bridge, but neither waits for the other.
type encoder struct {
	append func(dst []byte, cloud *sample.PointCloud) ([]byte, error)
	cloud  *sample.PointCloud
	text   []byte
	beside *plain // nil for an encoder alone
}

func newEncoder(ctx context.Context, beside bool) (*encoder, error) {
	e := &encoder{append: rosbridge.CloudEncoder(), cloud: benchCloud(rosCloud)}
	if err := e.encode(); err != nil || !beside {
		return e, err
	}
	var err error
	e.beside, err = plainTCP(ctx, make([]byte, len(e.text)))
	return e, err
}

func (e *encoder) encode() (err error) {
	e.text, err = e.append(e.text[:0], e.cloud)
	return err
}

func (e *encoder) size() int64 { return int64(len(e.text)) }

func (e *encoder) send(ctx context.Context, messages int) error {
	encoded := make(chan struct{}, messages)
	sent := make(chan error, 1)
	go func() {
		var err error
		for range encoded {
			if e.beside != nil && err == nil {
				err = e.beside.send(ctx, 1)
			}
		}
		sent <- err
	}()
	var err error
	for range messages {
		if err = e.encode(); err != nil {
			break
		}
		encoded <- struct{}{}
	}
	close(encoded)
	return errors.Join(err, <-sent)
}

func (e *encoder) close() error {
	if e.beside == nil {
		return nil
	}
	return e.beside.close()
}

// foxgloveContest sends pictures of 8.3 MB on four topics to one client.
func foxgloveContest() contest {
	return contest{
		named: named{"foxglove_4x8mb"}, beside: "a WebSocket server that writes one buffer again and again", want: 0.9,
		bridge: openFoxglove,
		plain: func(ctx context.Context) (way, error) {
			return plainServer(ctx, make([]byte, 4*1920*1080))
		},
	}
}

func openFoxglove(ctx context.Context) (way, error) {
	w, err := openBridge(ctx, connected{foxglove.Factory{}, "0?messages=8", 4}, benchImage(1920, 1080))
	if err != nil {
		return nil, err
	}
	conn, err := dialWS(ctx, "ws://"+w.bridge.Endpoints()[0].Address, "foxglove.sdk.v1")
	if err != nil {
		return nil, errors.Join(err, w.close())
	}
	viewer := &viewer{conn: conn, arrived: newCounter()}
	var running sync.WaitGroup
	reading, cancel := context.WithCancel(ctx)
	running.Go(func() { viewer.serve(reading) })
	return w.begin(ctx, receiver{viewer.arrived.messages, func() error {
		cancel()
		running.Wait()
		return ignoreClosed(conn.CloseNow())
	}})
}

// viewer is a client that subscribes to all that is advertised, and throws it away.
type viewer struct {
	conn    *websocket.Conn
	arrived counter
}

// serve answers advertisements until the connection ends; what can't be read ends it.
func (v *viewer) serve(ctx context.Context) {
	for {
		typ, r, err := v.conn.Reader(ctx)
		if err != nil {
			return
		}
		if typ != websocket.MessageText {
			if err := readAll(r); err != nil {
				return
			}
			v.arrived.add(1)
			continue
		}
		var m struct {
			Op       string    `json:"op"`
			Channels []channel `json:"channels"`
		}
		if json.NewDecoder(r).Decode(&m) != nil || m.Op == "advertise" && v.subscribe(ctx, m.Channels) != nil {
			return
		}
	}
}

// channel is one that a server advertises.
type channel struct {
	ID int `json:"id"`
}

// subscribe asks for channels, each by a subscription with the channel's own number.
func (v *viewer) subscribe(ctx context.Context, channels []channel) error {
	var list []map[string]int
	for _, c := range channels {
		list = append(list, map[string]int{"id": c.ID, "channelId": c.ID})
	}
	text, err := json.Marshal(map[string]any{"op": "subscribe", "subscriptions": list})
	if err != nil {
		return err
	}
	return v.conn.Write(ctx, websocket.MessageText, text)
}

// tcpCloud is the size of a scan of 128 x 1800 points of 32 bytes.
const tcpCloud = 128 * 1800 * 32

// tcpContests send clouds of 7.4 MB to a server that throws them away.
func tcpContests() []contest {
	of := func(name string, f bridges.Factory) contest {
		return contest{
			named: named{name}, beside: "a TCP connection into which one buffer is written again and again",
			bridge: func(ctx context.Context) (way, error) { return openTCP(ctx, f) },
			plain:  func(ctx context.Context) (way, error) { return plainTCP(ctx, make([]byte, tcpCloud)) },
		}
	}
	return []contest{of("cyber_cloud", apollo.Cyber{}), of("ros2lgsvl_cloud", ros2lgsvl.Factory{})}
}

// openTCP sends clouds through a bridge that dials a TCP server.
func openTCP(ctx context.Context, f bridges.Factory) (way, error) {
	sink, err := newTCPSink(ctx, nil)
	if err != nil {
		return nil, err
	}
	arrived := func(ctx context.Context, n, size int64) error { return sink.bytes.await(ctx, n*size) }
	return sendTo(ctx, connected{f, sink.address + "?messages=4", 1}, benchCloud(tcpCloud), receiver{arrived, sink.close})
}

// tcpSink is a server that reads, and counts bytes.
type tcpSink struct {
	address string
	// greet, where not nil, answers a client before its bytes count.
	greet    func(net.Conn) error
	bytes    counter
	listener net.Listener
	running  sync.WaitGroup
	ctx      context.Context // ends the connections
	cancel   context.CancelFunc
}

func newTCPSink(ctx context.Context, greet func(net.Conn) error) (*tcpSink, error) {
	l, err := listen(ctx)
	if err != nil {
		return nil, err
	}
	s := &tcpSink{address: l.Addr().String(), bytes: newCounter(), listener: l, greet: greet}
	s.ctx, s.cancel = context.WithCancel(ctx)
	s.running.Go(s.accept)
	return s, nil
}

// listen opens a free port of this machine.
func listen(ctx context.Context) (net.Listener, error) {
	var config net.ListenConfig
	return config.Listen(ctx, "tcp", "127.0.0.1:0")
}

func (s *tcpSink) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.running.Go(func() {
			defer conn.Close()
			defer context.AfterFunc(s.ctx, func() { _ = conn.Close() })()
			s.drain(conn)
		})
	}
}

func (s *tcpSink) drain(conn net.Conn) {
	if s.greet != nil && s.greet(conn) != nil {
		return
	}
	discardFrom(conn, func(n int) { s.bytes.add(int64(n)) })
}

// settled returns how many bytes have come, once it is at least so many and no more come.
func (s *tcpSink) settled(ctx context.Context, least int64) (int64, error) {
	if err := s.bytes.await(ctx, least); err != nil {
		return 0, err
	}
	for {
		n := s.bytes.n.Load()
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return 0, ctx.Err()
		}
		if s.bytes.n.Load() == n {
			return n, nil
		}
	}
}

func (s *tcpSink) close() error {
	err := s.listener.Close()
	s.cancel()
	s.running.Wait()
	return err
}

// plainTCP writes from a client to a server that doesn't look at it.
func plainTCP(ctx context.Context, data []byte) (*plain, error) {
	sink, err := newTCPSink(ctx, nil)
	if err != nil {
		return nil, err
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", sink.address)
	if err != nil {
		return nil, errors.Join(err, sink.close())
	}
	write := func(_ context.Context, data []byte) error {
		_, err := conn.Write(data)
		return err
	}
	return &plain{data: data, write: write, arrived: &sink.bytes, unit: int64(len(data)), ended: func() error {
		return errors.Join(conn.Close(), sink.close())
	}}, nil
}

// mcapContest records pictures to nowhere, with zstd, as the bridge does by default.
func mcapContest() contest {
	return contest{
		named: named{"mcap_1080p"}, beside: "the library's writer with the same options and as many bytes", want: 0.9,
		bridge: func(ctx context.Context) (way, error) {
			file := receiver{
				arrived: func(context.Context, int64, int64) error { return nil }, // when the publisher has returned
				ended:   func() error { return nil },
			}
			return sendTo(ctx, connected{mcap.Factory{Open: discard}, "a.mcap", 1}, benchImage(1920, 1080), file)
		},
		plain: func(context.Context) (way, error) { return newMcapWriter() },
	}
}

// mcapWriter is the library's own writer.
type mcapWriter struct {
	*library.Writer
	message library.Message
}

// newMcapWriter writes a picture's pixels, which are all of a message except its header.
func newMcapWriter() (*mcapWriter, error) {
	w, err := library.NewWriter(discarded{}, &library.WriterOptions{IncludeCRC: true, Chunked: true, Compression: library.CompressionZSTD, CompressionLevel: library.CompressionLevelFastest})
	if err != nil {
		return nil, err
	}
	err = errors.Join(w.WriteHeader(&library.Header{}), w.WriteChannel(&library.Channel{ID: 1, Topic: "/topic", MessageEncoding: "cdr"}))
	return &mcapWriter{w, library.Message{ChannelID: 1, Data: benchImage(1920, 1080).Data}}, err
}

func (m *mcapWriter) size() int64 { return int64(len(m.message.Data)) }

func (m *mcapWriter) send(ctx context.Context, messages int) error {
	for range messages {
		if err := m.WriteMessage(&m.message); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (m *mcapWriter) close() error { return m.Close() }
