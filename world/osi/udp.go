package osi

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/world"
)

const (
	// header is how each datagram begins, little endian. An int32 counts the datagrams of a message from 1,
	// and is negative for the last one. A uint32 is the number of bytes that follow.
	header = 8
	// mostData is how many bytes follow at most.
	mostData = 8192
	// socketBuffer is asked for, since esmini doesn't wait. The system may give less.
	socketBuffer = 8 << 20
)

// receiver puts the messages together that esmini sends.
type receiver struct {
	address string
	conn    *net.UDPConn
	packet  [header + mostData + 1]byte // one more tells of what is too long
	parts
	count int64
	warn  func(string, ...any)
	told  bool // of gaps
	// dropped are messages that came whole, and drops keeps account of the lines about them.
	dropped int64
	drops   flow.Journal
}

// listen opens a port. The default host is this machine only.
func listen(address string, o world.Options) (*receiver, error) {
	if !strings.Contains(address, ":") {
		address = net.JoinHostPort("127.0.0.1", address)
	}
	_, port, err := net.SplitHostPort(address)
	if n, bad := strconv.Atoi(port); err != nil || bad != nil || n < 1 || n > math.MaxUint16 {
		return nil, fmt.Errorf("udp:%s: want udp:PORT or udp:HOST:PORT; esmini sends to 48198", address)
	}
	at, err := net.ResolveUDPAddr("udp", address)
	if err != nil {
		return nil, fault.Net(err)
	}
	conn, err := net.ListenUDP("udp", at)
	if err != nil {
		return nil, fault.Net(err)
	}
	if err := conn.SetReadBuffer(socketBuffer); err != nil {
		return nil, errors.Join(fault.Net(err), conn.Close())
	}
	return &receiver{address: address, conn: conn, warn: o.Warn, parts: parts{adrift: true, buffer: store{memory: o.Memory}}}, nil
}

func (r *receiver) next(ctx context.Context) ([]byte, error) {
	stop := context.AfterFunc(ctx, func() { _ = r.conn.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n, _, err := r.conn.ReadFromUDPAddrPort(r.packet[:])
		if errors.Is(err, os.ErrDeadlineExceeded) { // ctx has ended, or that of an earlier call
			err = r.conn.SetReadDeadline(time.Time{})
		}
		if err != nil {
			return nil, fault.Net(err)
		}
		message := r.add(r.packet[:n])
		if r.lost > 0 && !r.told {
			r.told = true
			r.warn("OSI messages are lost: the sender is faster than the run, or the socket's buffer is small: raise net.core.rmem_max")
		}
		if message != nil {
			r.count++
			return message, nil
		}
	}
}

// drop counts a message that came whole and is of no use. Anybody who reaches the port may send one.
func (r *receiver) drop(cause error) bool {
	r.dropped++
	if more, ok := r.drops.Tell(time.Now()); ok {
		r.warn("an OSI message is dropped", "cause", cause, "more", more)
	}
	return true
}

// parts is a message that is being put together.
type parts struct {
	buffer store
	open   bool  // buffer has all up to now
	adrift bool  // the message of the last datagram is lost, and counted
	last   int64 // the counter of the last datagram
	lost   int64
}

// add returns the message that a datagram completes. It drops a message of which one is
// missing. What is not esmini's is left out.
func (p *parts) add(packet []byte) []byte {
	if len(packet) < header || len(packet) > header+mostData || int(binary.LittleEndian.Uint32(packet[4:])) != len(packet)-header {
		return nil
	}
	counter := int64(int32(binary.LittleEndian.Uint32(packet)))
	number := max(counter, -counter)
	if number == 0 {
		return nil
	}
	if number == 1 {
		if p.open {
			p.lost++
		}
		p.buffer.bytes, p.open, p.adrift = p.buffer.bytes[:0], true, false
	} else if !p.open || number != p.last+1 {
		if p.open {
			p.lost++
			p.open, p.adrift = false, true
		}
		if !p.adrift || number < p.last { // it is of a further message
			p.lost++
			p.adrift = true
		}
	}
	p.last = number
	if !p.open {
		p.adrift = counter > 0
		return nil
	}
	if more := len(packet) - header; len(p.buffer.bytes)+more > mostMessage || p.buffer.grow(more) != nil { // it has no end
		p.buffer.free()
		p.open, p.adrift = false, counter > 0
		p.lost++
		return nil
	}
	p.buffer.bytes = append(p.buffer.bytes, packet[header:]...)
	if counter > 0 {
		return nil
	}
	p.open = false
	return p.buffer.bytes
}

func (r *receiver) place() string { return fmt.Sprintf("udp:%s: message %d", r.address, r.count) }
func (r *receiver) gaps() int64   { return r.lost + r.dropped }

// Close closes the port.
func (r *receiver) Close() error {
	r.buffer.free()
	return r.conn.Close()
}
