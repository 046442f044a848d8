package transport

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/raybridge/raybridge/flow"
)

// TCP makes connections of protocols that send frames over plain TCP. The zero value of
// a field but Size stands for its default.
type TCP struct {
	// Size returns how many bytes a frame has that begins with head, as far as head tells. If
	// it is more than len(head), Size is asked again once so many have arrived. It begins with
	// an empty head. A head that isn't a frame's wraps ErrProtocol.
	Size func(head []byte) (int, error)
	// Limit is the size of the largest frame that is read, bytes; default 64 MiB. A
	// larger one is ErrProtocol and flow.ErrTooLarge.
	Limit int
	// FrameTimeout is how long a frame may take from its first byte to its last; default
	// 10 s. There is no limit on the time between frames.
	FrameTimeout time.Duration
}

const (
	// socketBuffer is the size of the system's buffers of a connection.
	socketBuffer = 1 << 20
	// readAhead is how much memory a frame is given before its bytes have arrived,
	// whatever its head says.
	readAhead = 1 << 20
)

// Dial connects to HOST:PORT, with TCP_NODELAY, buffers of 1 MiB and keep-alive: a peer
// whose machine is gone is noticed within half a minute.
func (t TCP) Dial(ctx context.Context, address string) (FrameConn, error) {
	dialer := net.Dialer{
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3},
		Control:         limitUnacknowledged,
	}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	if c, ok := conn.(*net.TCPConn); ok {
		if err := errors.Join(c.SetNoDelay(true), c.SetReadBuffer(socketBuffer), c.SetWriteBuffer(socketBuffer)); err != nil {
			_ = conn.Close()
			return nil, fmt.Errorf("set up the connection: %w", err)
		}
	}
	return t.Conn(conn), nil
}

// Conn makes a FrameConn of a connection, which is its own from then on.
func (t TCP) Conn(conn net.Conn) FrameConn {
	t.Limit = cmp.Or(max(t.Limit, 0), 64<<20)
	t.FrameTimeout = cmp.Or(max(t.FrameTimeout, 0), 10*time.Second)
	return &tcpConn{Conn: conn, tcp: t, reader: bufio.NewReaderSize(conn, 64<<10)}
}

type tcpConn struct {
	net.Conn
	tcp    TCP
	reader *bufio.Reader
	frame  []byte // the last frame that was read
}

// Write sends a frame in one piece.
func (c *tcpConn) Write(_ context.Context, frame []byte) error {
	_, err := c.Conn.Write(frame)
	return err
}

// CloseWrite tells the peer that nothing follows.
func (c *tcpConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// Read returns the next frame. The end of the connection between two frames is io.EOF.
func (c *tcpConn) Read(context.Context) ([]byte, error) {
	if _, err := c.reader.Peek(1); err != nil {
		return nil, err
	}
	// Setting a deadline fails on a connection that has ended, as reading does then; what
	// was read ahead is good still.
	_ = c.SetReadDeadline(time.Now().Add(c.tcp.FrameTimeout))
	c.frame = c.frame[:0]
	for {
		size, err := c.tcp.Size(c.frame)
		switch {
		case err != nil:
			return nil, err
		case size > c.tcp.Limit:
			return nil, fmt.Errorf("%w: %w: a frame of %d bytes, the limit is %d", ErrProtocol, flow.ErrTooLarge, size, c.tcp.Limit)
		case size <= len(c.frame):
			_ = c.SetReadDeadline(time.Time{})
			return c.frame, nil
		}
		if err := c.fill(size); err != nil {
			return nil, err
		}
	}
}

// fill reads until the frame has so many bytes. Memory grows as they arrive.
func (c *tcpConn) fill(size int) error {
	for len(c.frame) < size {
		n := len(c.frame)
		next := min(size, max(n+readAhead, cap(c.frame)))
		if next > cap(c.frame) {
			grown := make([]byte, n, min(max(next, 2*cap(c.frame)), max(size, readAhead)))
			copy(grown, c.frame)
			c.frame = grown
		}
		c.frame = c.frame[:next]
		got, err := io.ReadFull(c.reader, c.frame[n:])
		c.frame = c.frame[:n+got]
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return fmt.Errorf("read a frame of %d bytes, of which %d have come: %w", size, len(c.frame), err)
		}
	}
	return nil
}
