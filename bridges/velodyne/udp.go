package velodyne

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/sensors/sample"
)

// sender sends the packets by UDP, at the device's pace.
type sender struct {
	transport.Client
	env bridges.Env

	mu      sync.Mutex
	encoder encoder // guarded by mu, as is packets
	packets packets
}

// Check reads a connection string as Connect does.
func (s *sender) Check(connection string) error {
	_, err := parse(connection)
	return err
}

// Connect opens the sockets. There is nothing to wait for: UDP tells of a peer only when it
// refuses a packet.
func (s *sender) Connect(ctx context.Context, connection string) error {
	c, err := parse(connection)
	if err != nil {
		return err
	}
	if err := s.Disconnect(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	s.encoder = encoder{}
	s.mu.Unlock()
	s.Open(ctx, transport.ClientConfig{
		Dial:  func(ctx context.Context) (transport.FrameConn, error) { return dial(ctx, c) },
		Retry: c.retry, Queue: c.queue, Log: s.env.Log,
	})
	return nil
}

// publisher returns what queues the scans of a topic.
func (s *sender) publisher(topic *bridges.PublishedTopic) bridges.Publisher[*sample.PointCloud] {
	outlet := s.NewOutlet(&topic.Tally, topic.Policy)
	return func(ctx context.Context, m *sample.PointCloud) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.packets.reset()
		if err := s.encoder.scan(&s.packets, m); err != nil {
			return err
		}
		frame := outlet.Buffer(frameHeader + len(s.packets.data))
		b := binary.LittleEndian.AppendUint64(frame.Bytes()[:0], uint64(time.Since(began)))
		b = appendPosition(b, m.Stamp, s.env.Map.Geodetic(m.Pose.Position))
		frame.Adopt(append(b, s.packets.data...))
		return outlet.Send(ctx, frame)
	}
}

// began is what the times of frames count from.
var began = time.Now()

// frameHeader is what a frame has before the data packets: when the scan came, nanoseconds, and the
// position packet.
const frameHeader = 8 + positionBytes

// conn is the way to one receiver. A frame is the packets of a scan.
type conn struct {
	data     net.Conn
	position net.Conn // nil: no position packets are sent
	received [2048]byte
}

func dial(ctx context.Context, c connection) (*conn, error) {
	var dialer net.Dialer
	data, err := dialer.DialContext(ctx, "udp", c.data)
	if err != nil || c.position == "" {
		return &conn{data: data}, err
	}
	position, err := dialer.DialContext(ctx, "udp", c.position)
	if err != nil {
		return nil, errors.Join(err, data.Close())
	}
	return &conn{data: data, position: position}, nil
}

// together is what is sent ahead of its time rather than waited for: shorter waits cost more than they give.
const together = time.Millisecond

// Write sends a scan's packets when they are due: as long after the scan came as they are after its
// stamp. So they are a turn late, as the scan is. What is due already goes at once.
func (c *conn) Write(ctx context.Context, frame []byte) error {
	came := began.Add(time.Duration(binary.LittleEndian.Uint64(frame)))
	if c.position != nil {
		_, _ = c.position.Write(frame[8:frameHeader]) // few receivers listen for it
	}
	packets := frame[frameHeader:]
	first := binary.LittleEndian.Uint32(packets[stampAt:])
	for ; len(packets) > 0; packets = packets[dataBytes:] {
		packet := packets[:dataBytes]
		due := came.Add(since(first, binary.LittleEndian.Uint32(packet[stampAt:])))
		if wait := time.Until(due); wait > together && !transport.Pause(ctx, wait) {
			return ctx.Err()
		}
		if _, err := c.data.Write(packet); err != nil {
			return err
		}
	}
	return nil
}

// since returns the time from one stamp of packets to a later one, which the hour may have ended
// between.
func since(first, stamp uint32) time.Duration {
	passed := time.Duration(stamp)*time.Microsecond - time.Duration(first)*time.Microsecond
	if passed < 0 {
		passed += time.Hour
	}
	return passed
}

// Read waits for what the peer sends, which is nothing: its error tells of a peer that refuses packets.
func (c *conn) Read(context.Context) ([]byte, error) {
	n, err := c.data.Read(c.received[:])
	return c.received[:n], err
}

// Close closes the sockets, and ends Read.
func (c *conn) Close() error {
	err := c.data.Close()
	if c.position != nil {
		err = errors.Join(err, c.position.Close())
	}
	return err
}
