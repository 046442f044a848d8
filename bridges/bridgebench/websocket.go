package bridgebench

import (
	"bufio"
	"context"
	"crypto/sha1"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
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
	select {
	case c.more <- struct{}{}:
	default:
	}
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

// read throws a connection's messages away and counts them.
func (c *counter) read(ctx context.Context, conn *websocket.Conn) {
	for {
		_, r, err := conn.Reader(ctx)
		if err != nil || discard(r) != nil {
			return
		}
		c.add(1)
	}
}

// chunks are what discard reads into: large, so that reading costs little.
var chunks = sync.Pool{New: func() any { b := make([]byte, 1<<20); return &b }}

// discard reads to the end.
func discard(r io.Reader) error {
	chunk := chunks.Get().(*[]byte)
	defer chunks.Put(chunk)
	for {
		if _, err := r.Read(*chunk); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}

// wsServer is a WebSocket server that gives each connection to a function.
type wsServer struct {
	server  *http.Server
	address string
	running sync.WaitGroup
	cancel  context.CancelFunc
}

func serveWS(ctx context.Context, handle func(ctx context.Context, conn *websocket.Conn)) (*wsServer, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &wsServer{address: l.Addr().String()}
	ctx, s.cancel = context.WithCancel(ctx)
	s.server = &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled})
		if err != nil {
			return
		}
		conn.SetReadLimit(limit)
		s.running.Add(1)
		defer s.running.Done()
		handle(ctx, conn)
		_ = conn.CloseNow() // it has served
	})}
	s.running.Go(func() { _ = s.server.Serve(l) }) // ends with close
	return s, nil
}

func (s *wsServer) close() error {
	s.cancel()
	err := s.server.Close()
	s.running.Wait()
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

// plainWS writes one buffer again and again into a WebSocket.
type plainWS struct {
	conn    *websocket.Conn
	typ     websocket.MessageType
	data    []byte
	arrived *counter
	unit    int64 // what arrived counts for one message
	sent    int64
	ended   func() error
}

func (p *plainWS) size() int64 { return int64(len(p.data)) }

func (p *plainWS) send(ctx context.Context, messages int) error {
	for range messages {
		if err := p.conn.Write(ctx, p.typ, p.data); err != nil {
			return err
		}
	}
	p.sent += int64(messages) * p.unit
	return p.arrived.await(ctx, p.sent)
}

func (p *plainWS) close() error { return errors.Join(p.conn.CloseNow(), p.ended()) }

// plainServer writes from a server to a client, as servers of viewers do.
func plainServer(ctx context.Context, data []byte) (way, error) {
	conns := make(chan *websocket.Conn, 1)
	s, err := serveWS(ctx, func(ctx context.Context, conn *websocket.Conn) {
		conns <- conn
		<-conn.CloseRead(ctx).Done()
	})
	if err != nil {
		return nil, err
	}
	client, err := dialWS(ctx, "ws://"+s.address)
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	arrived := newCounter()
	s.running.Go(func() { arrived.read(ctx, client) })
	return &plainWS{conn: <-conns, typ: websocket.MessageBinary, data: data, arrived: &arrived, unit: 1, ended: func() error {
		return errors.Join(ignoreClosed(client.CloseNow()), s.close())
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
	return &plainWS{
		conn: client, typ: websocket.MessageBinary, data: data, arrived: &sink.bytes, unit: int64(len(data)) + maskedHeader, ended: sink.close,
	}, nil
}

// ignoreClosed leaves out that the other side closed first.
func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
