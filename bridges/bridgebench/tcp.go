package bridgebench

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/cyber"
	"github.com/raybridge/raybridge/bridges/ros2lgsvl"
	"github.com/raybridge/raybridge/sensors/sample"
)

// tcpCloud is the size of a scan of 128 x 1800 points of 32 bytes.
const tcpCloud = 128 * 1800 * 32

// tcpContests send clouds of 7.4 MB to a server that throws them away.
func tcpContests() []Contest {
	contest := func(name string, f bridges.Factory) Contest {
		return Contest{
			Name: name, Plain: "a TCP connection into which one buffer is written again and again",
			bridge: func(ctx context.Context) (way, error) { return openTCP(ctx, f) },
			plain:  func(ctx context.Context) (way, error) { return newPlainTCP(ctx, make([]byte, tcpCloud)) },
		}
	}
	return []Contest{contest("cyber_cloud", cyber.Factory{}), contest("ros2lgsvl_cloud", ros2lgsvl.Factory{})}
}

// openTCP sends clouds through a bridge that dials a TCP server.
func openTCP(ctx context.Context, f bridges.Factory) (way, error) {
	sink, err := newTCPSink(ctx, nil)
	if err != nil {
		return nil, err
	}
	w, err := openBridge[*sample.PointCloud](ctx, connected{f, sink.address + "?messages=4", 1}, cloud(tcpCloud))
	if err != nil {
		return nil, errors.Join(err, sink.close())
	}
	w.ended = sink.close
	w.arrived = func(ctx context.Context, n int64) error { return sink.bytes.await(ctx, n*w.bytes) }
	return w.begin(ctx)
}

// tcpSink is a server that reads, and counts bytes.
type tcpSink struct {
	address string
	// greet, where not nil, answers a client before its bytes count.
	greet    func(net.Conn) error
	bytes    counter
	listener net.Listener
	running  sync.WaitGroup

	mu    sync.Mutex
	conns []net.Conn // guarded by mu
}

func newTCPSink(ctx context.Context, greet func(net.Conn) error) (*tcpSink, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &tcpSink{address: l.Addr().String(), bytes: newCounter(), listener: l, greet: greet}
	s.running.Go(s.accept)
	return s, nil
}

func (s *tcpSink) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.conns = append(s.conns, conn)
		s.mu.Unlock()
		s.running.Go(func() { s.drain(conn) })
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
	s.mu.Lock()
	for _, conn := range s.conns {
		_ = conn.Close() // the peer may have closed it
	}
	s.mu.Unlock()
	s.running.Wait()
	return err
}

// plainTCP writes one buffer again and again.
type plainTCP struct {
	sink *tcpSink
	conn net.Conn
	data []byte
	sent int64
}

func newPlainTCP(ctx context.Context, data []byte) (*plainTCP, error) {
	sink, err := newTCPSink(ctx, nil)
	if err != nil {
		return nil, err
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", sink.address)
	if err != nil {
		return nil, errors.Join(err, sink.close())
	}
	return &plainTCP{sink: sink, conn: conn, data: data}, nil
}

func (p *plainTCP) size() int64 { return int64(len(p.data)) }

func (p *plainTCP) send(ctx context.Context, messages int) error {
	for range messages {
		if _, err := p.conn.Write(p.data); err != nil {
			return err
		}
	}
	p.sent += int64(messages) * p.size()
	return p.sink.bytes.await(ctx, p.sent)
}

func (p *plainTCP) close() error { return errors.Join(p.conn.Close(), p.sink.close()) }
