package velodyne

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/sensors/sample"
)

// sender sends the packets by UDP, at the device's pace.
type sender struct {
	transport.Client
	env       bridges.Env
	reception reception

	mu       sync.Mutex
	encoder  encoder // guarded by mu, as are packets and position
	packets  packets
	position bool // the connection has position packets
}

// reception is how the receivers of a sender took its scans. A socket that is open says nothing of that: UDP opens one to any host.
type reception struct {
	through atomic.Bool // a scan's last packet was sent, and none of it was refused
	refused atomic.Bool // a packet was
}

// note notes how a scan was sent, or what the socket told of it. The end of the connection tells nothing.
func (r *reception) note(err error) {
	switch {
	case err == nil:
		r.through.Store(true)
	case !errors.Is(err, net.ErrClosed) && !errors.Is(err, context.Canceled):
		r.refused.Store(true)
	}
}

// Reached reports whether a scan went through, or the sockets are or were open and nothing was refused.
func (s *sender) Reached() bool {
	return s.reception.through.Load() || !s.reception.refused.Load() && s.Client.Reached()
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
	s.encoder, s.position = encoder{}, c.position != ""
	s.mu.Unlock()
	s.Open(ctx, transport.ClientConfig{
		Dial:  func(ctx context.Context) (transport.FrameConn, error) { return s.dial(ctx, c) },
		Retry: c.retry, Queue: c.queue, Log: s.env.Log,
	})
	return nil
}

// publisher returns what queues the scans of a topic.
func (s *sender) publisher(topic *bridges.PublishedTopic) bridges.Publisher[*sample.PointCloud] {
	outlet := s.NewOutlet(&topic.Tally, topic.Policy)
	outlet.Header = frameHeader
	return func(ctx context.Context, m *sample.PointCloud) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.packets.reset()
		if err := s.encoder.scan(&s.packets, m); err != nil {
			return err
		}
		s.encoder.tell(s.env.Log)
		frame := outlet.Buffer(frameHeader + positionBytes + len(s.packets.data))
		b := binary.LittleEndian.AppendUint64(frame.Bytes()[:0], uint64(time.Since(began)))
		b = binary.LittleEndian.AppendUint32(b, pastHour(m.Stamp))
		b = binary.LittleEndian.AppendUint32(b, uint32(time.Duration(s.encoder.next-m.Stamp)/time.Microsecond))
		if s.position {
			b = appendPosition(b, m.Stamp, s.env.Map.Geodetic(m.Pose.Position))
		}
		frame.Adopt(append(b, s.packets.data...))
		return outlet.Send(ctx, frame)
	}
}

// began is what the times of frames count from.
var began = time.Now()

// A frame has, before the packets: when the scan came, nanoseconds; the scan's stamp and how long its turn takes,
// microseconds. They aren't sent. The position packet is the first, where the connection has one.
const (
	scanStampAt, turnAt = 8, 12
	frameHeader         = 16
)

// conn is the way to one receiver. A frame is the packets of a scan.
type conn struct {
	data      net.Conn
	position  net.Conn // nil: no position packets are sent
	reception *reception
	pace      pace
	received  [2048]byte
}

func (s *sender) dial(ctx context.Context, c connection) (*conn, error) {
	var dialer net.Dialer
	data, err := dialer.DialContext(ctx, "udp", c.data)
	if err != nil {
		return nil, err
	}
	way := &conn{data: data, reception: &s.reception}
	if c.position == "" {
		return way, nil
	}
	if way.position, err = dialer.DialContext(ctx, "udp", c.position); err != nil {
		return nil, errors.Join(err, data.Close())
	}
	return way, nil
}

// together is what is sent ahead of its time rather than waited for: shorter waits cost more than they give.
const together = time.Millisecond

// Write sends a scan's packets when they are due: as long after the scan came as they are after its
// stamp, or after the end of the scan before where that is still being sent. So they are a turn late, as the scan is. What
// is due already goes at once. A packet that begins with the columns of an earlier scan is due when the scan begins, however
// long ago that was.
func (c *conn) Write(ctx context.Context, frame []byte) error {
	err := c.send(ctx, frame)
	c.reception.note(err)
	return err
}

func (c *conn) send(ctx context.Context, frame []byte) error {
	came := began.Add(time.Duration(binary.LittleEndian.Uint64(frame)))
	scan, turn := binary.LittleEndian.Uint32(frame[scanStampAt:]), binary.LittleEndian.Uint32(frame[turnAt:])
	pacing := c.pace.begin(came, time.Duration(turn)*time.Microsecond)
	packets := frame[frameHeader:]
	if c.position != nil {
		_, _ = c.position.Write(packets[:positionBytes]) // few receivers listen for it
		packets = packets[positionBytes:]
	}
	for ; len(packets) > 0; packets = packets[dataBytes:] {
		packet := packets[:dataBytes]
		due := pacing.due(sinceScan(binary.LittleEndian.Uint32(packet[stampAt:]), scan, turn))
		if wait := time.Until(due); wait > together && !transport.Pause(ctx, wait) {
			return ctx.Err()
		}
		if _, err := c.data.Write(packet); err != nil {
			return err
		}
	}
	return nil
}

// pace is when the next scan may begin: where the one before ends. The zero value has none before.
type pace struct{ free time.Time }

// paced is a scan's turn on the wire.
type paced struct {
	begin      time.Time
	turn, took time.Duration // in the scan, and on the wire
}

// begin returns the turn of a scan that came at an instant. A scan that waits for those before it takes up to a tenth less,
// so that a run in real time catches up after a delay.
func (p *pace) begin(came time.Time, turn time.Duration) paced {
	late := max(0, p.free.Sub(came))
	s := paced{begin: came.Add(late), turn: turn, took: turn - min(late, turn/10)}
	p.free = s.begin.Add(s.took)
	return s
}

// due returns when what is so long after the scan's stamp goes.
func (s paced) due(offset time.Duration) time.Time {
	return s.begin.Add(offset * s.took / max(1, s.turn))
}

// sinceScan returns how long after a scan's stamp a packet begins, and 0 for one that begins outside of the scan's turn.
// All are microseconds, the stamps past the hour, which may end during the turn.
func sinceScan(packet, scan, turn uint32) time.Duration {
	const hour = uint32(time.Hour / time.Microsecond)
	passed := (packet + hour - scan) % hour
	if passed >= turn {
		return 0
	}
	return time.Duration(passed) * time.Microsecond
}

// Read waits for what the peer sends, which is nothing: its error tells of a peer that refuses packets.
func (c *conn) Read(context.Context) ([]byte, error) {
	n, err := c.data.Read(c.received[:])
	if err != nil {
		c.reception.note(err)
	}
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
