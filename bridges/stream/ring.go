package stream

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sync"

	"github.com/raybridge/raybridge/memory"
)

// Bounds of the memory that a client shares.
const (
	maxRing = 512 << 20
	// ringLeast is how long a message is at least that goes through the ring, bytes: shorter ones are
	// as quick over the socket.
	ringLeast = 16 << 10
	// ringAlign is where messages begin, at multiples of it.
	ringAlign = 64
)

// errNoRing is the error for a connection that can't have shared memory.
var errNoRing = errors.New("no shared memory")

// ring is memory that the server writes and one client on this machine reads. Each message in it is
// the client's until the client gives it back.
type ring struct {
	mu     sync.Mutex
	memory []byte            // guarded by mu: nil once it is closed
	free   []span            // guarded by mu: by offset, none beside another
	leased map[uint64]uint64 // guarded by mu: the ends of messages by their offsets
	file   *os.File          // guarded by mu: until it was sent; nil where nobody is sent it
	unmap  func([]byte) error
	budget *memory.Budget // of all clients, from which the memory was taken
}

type span struct{ begin, end uint64 }

func newRing(memory []byte, unmap func([]byte) error) *ring {
	return &ring{memory: memory, unmap: unmap, free: []span{{0, uint64(len(memory))}}, leased: map[uint64]uint64{}}
}

// place puts a frame's message into the memory, and appends the frame that says where it is. It
// returns nil for a frame that is sent as it is, for it is short or compressed, or the memory is
// full.
func (r *ring) place(dst, whole []byte) []byte {
	h := parseFrame(whole)
	if h.length < ringLeast || h.flags != 0 || h.stream == 0 {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	at, ok := r.takeLocked(uint64(h.length))
	if !ok {
		return nil
	}
	copy(r.memory[at:], whole[frameSize:])
	dst = append(dst, whole[:frameSize]...)
	dst = le.AppendUint64(le.AppendUint64(dst, at), uint64(h.length))
	h.length, h.plain, h.flags = 16, 16, frameRing
	h.put(dst)
	return dst
}

// takeLocked takes room for n bytes.
func (r *ring) takeLocked(n uint64) (at uint64, ok bool) {
	size := (n + ringAlign - 1) / ringAlign * ringAlign
	i := slices.IndexFunc(r.free, func(s span) bool { return s.end-s.begin >= size })
	if i < 0 || r.memory == nil {
		return 0, false
	}
	at = r.free[i].begin
	if r.free[i].begin += size; r.free[i].begin == r.free[i].end {
		r.free = slices.Delete(r.free, i, i+1)
	}
	r.leased[at] = at + size
	return at, true
}

// release takes back a message by where it begins. Errors wrap ErrMalformed.
func (r *ring) release(at uint64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	end, ok := r.leased[at]
	if !ok {
		return fmt.Errorf("%w: no message is at %d of the shared memory", ErrMalformed, at)
	}
	delete(r.leased, at)
	i, _ := slices.BinarySearchFunc(r.free, at, func(s span, at uint64) int {
		if s.begin < at {
			return -1
		}
		return 1
	})
	joinsNext := i < len(r.free) && r.free[i].begin == end
	switch joinsBefore := i > 0 && r.free[i-1].end == at; {
	case joinsBefore && joinsNext:
		r.free[i-1].end = r.free[i].end
		r.free = slices.Delete(r.free, i, i+1)
	case joinsBefore:
		r.free[i-1].end = end
	case joinsNext:
		r.free[i].begin = at
	default:
		r.free = slices.Insert(r.free, i, span{at, end})
	}
	return nil
}

// close gives the server's view of the memory up, and its share of the budget back. The client's view
// stays until the client unmaps it.
func (r *ring) close() error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.memory
	r.memory = nil
	r.budget.Give(int64(len(b)))
	if r.file != nil {
		_ = r.file.Close() // nothing was written to it
		r.file = nil
	}
	return r.unmap(b)
}

// share reads a frame about shared memory.
func (s *session) share(r io.Reader, h frame) error {
	if h.length > maxRequest {
		return s.bye(fmt.Errorf("%w: %d bytes about shared memory, the most are %d", ErrTooLarge, h.length, maxRequest))
	}
	if err := readInto(r, &s.drive.payload, int(h.length)); err != nil {
		return err
	}
	if h.control == controlRing {
		return s.openRing(s.drive.payload.Bytes())
	}
	return s.releaseRing(s.drive.payload.Bytes())
}

// openRing answers a client that asks for shared memory, before it has subscribed to anything.
func (s *session) openRing(payload []byte) error {
	f := fields{b: payload}
	size := f.u64()
	if err := f.end("request for shared memory"); err != nil {
		return s.bye(err)
	}
	if s.drive.counts = s.client.Counts(s.drive.counts); len(s.drive.counts) > 0 || s.ring != nil {
		return s.bye(fmt.Errorf("%w: shared memory is asked for once, before any stream", ErrMalformed))
	}
	local, made, err := shareWith(s.client.Conn(), size, s.server.port.memory)
	if err != nil {
		refusal := appendString(le.AppendUint16(nil, uint16(StatusTooLarge)), err.Error())
		return s.client.Post(appendControl(nil, controlRing, append(refusal, make([]byte, 12)...)))
	}
	s.server.mu.Lock()
	s.ring = made
	s.server.mu.Unlock()
	s.client.Do(func() error { return made.send(local, ringAnswer(size)) })
	return nil
}

// shareWith takes memory from a budget, for a connection.
func shareWith(conn net.Conn, size uint64, budget *memory.Budget) (*net.UnixConn, *ring, error) {
	local, err := localConn(conn)
	switch {
	case err != nil:
		return nil, nil, err
	case size < 1<<20 || size > maxRing:
		return nil, nil, fmt.Errorf("%w of %d bytes, the range is 1 MiB to %d MiB", errNoRing, size, maxRing>>20)
	}
	if err := budget.Take("the memory that a client shares", int64(size)); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", errNoRing, err)
	}
	made, err := newSharedRing(size)
	if err != nil {
		budget.Give(int64(size))
		return nil, nil, err
	}
	made.budget = budget
	return local, made, nil
}

// ringAnswer is the frame that comes with the memory's descriptor.
func ringAnswer(size uint64) []byte {
	payload := appendString(le.AppendUint16(nil, uint16(StatusOK)), "")
	return appendControl(nil, controlRing, le.AppendUint32(le.AppendUint64(payload, size), ringLeast))
}

// localConn returns the UNIX socket that a connection is.
func localConn(conn net.Conn) (*net.UnixConn, error) {
	for {
		switch c := conn.(type) {
		case *net.UnixConn:
			return c, nil
		case interface{ NetConn() net.Conn }:
			conn = c.NetConn()
		default:
			return nil, fmt.Errorf("%w: it needs a UNIX socket", errNoRing)
		}
	}
}

// releaseRing takes messages back that the client doesn't read any more.
func (s *session) releaseRing(payload []byte) error {
	if s.ring == nil || len(payload)%8 != 0 {
		return s.bye(fmt.Errorf("%w: %d bytes of places in shared memory", ErrMalformed, len(payload)))
	}
	for ; len(payload) > 0; payload = payload[8:] {
		if err := s.ring.release(le.Uint64(payload)); err != nil {
			return s.bye(err)
		}
	}
	return nil
}
