package rosbridgev2

import (
	"crypto/rand"
	"crypto/subtle"
	"net"
	"sync"

	"github.com/raybridge/raybridge/bridges/transport"
)

// piece is how much of a frame is masked, and then written, at a time: it is in the
// processor's cache still when the system copies it.
const piece = 128 << 10

// frameConn is a connection on which two write: the WebSocket library control frames, one
// with each call of Write, and writeFrame messages between them. The library would copy a
// message once more, and write it 4 KiB at a time.
type frameConn struct {
	net.Conn
	batch *batchConn // below TLS; nil without

	mu      sync.Mutex
	closing bool   // guarded by mu: a close frame was sent, after which nothing may follow
	block   []byte // guarded by mu: a piece that is masked
	mask    []byte // guarded by mu: the key, again and again
}

// Write writes what the library has to say.
func (f *frameConn) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if transport.IsClose(p) {
		f.closing = true
	}
	return f.Conn.Write(p)
}

// writeFrame writes a message as one frame (RFC 6455, sections 5.2 and 5.3).
func (f *frameConn) writeFrame(opcode byte, data []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closing {
		return net.ErrClosed
	}
	if f.block == nil {
		f.block, f.mask = make([]byte, 0, piece), make([]byte, 4<<10)
	}
	var key transport.MaskKey
	if _, err := rand.Read(key[:]); err != nil {
		return err
	}
	for i := 0; i < min(len(data), len(f.mask)); i += len(key) {
		copy(f.mask[i:], key[:])
	}
	if f.batch != nil {
		f.batch.begin()
	}
	err := f.writeMasked(transport.AppendMasked(f.block[:0], opcode, len(data), key), data)
	if f.batch != nil {
		if flushed := f.batch.flush(); err == nil {
			err = flushed
		}
	}
	return err
}

// writeMasked writes a header and the data after it; mu must be held.
func (f *frameConn) writeMasked(block, data []byte) error {
	for {
		n := min(len(data), (cap(block)-len(block))&^3) // the key begins anew with each piece
		for at := 0; at < n; at += len(f.mask) {
			end := len(block)
			block = block[:end+min(n-at, len(f.mask))]
			subtle.XORBytes(block[end:], data[at:n], f.mask)
		}
		data = data[n:]
		if _, err := f.Conn.Write(block); err != nil || len(data) == 0 {
			return err
		}
		block = f.block[:0]
	}
}

// batchConn collects what TLS writes between begin and flush, record by record, to write it
// in large pieces. What another goroutine has to say goes with it, or at once when there is
// none.
type batchConn struct {
	net.Conn

	mu       sync.Mutex
	batching bool   // guarded by mu
	pending  []byte // guarded by mu
	err      error  // guarded by mu: a piece couldn't be written
}

func (b *batchConn) begin() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.batching = true
	if b.pending == nil {
		b.pending = make([]byte, 0, piece)
	}
}

// Write collects, or writes.
func (b *batchConn) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.batching {
		return b.Conn.Write(p)
	}
	if len(b.pending)+len(p) > cap(b.pending) {
		b.writePending()
	}
	if b.err != nil {
		return 0, b.err
	}
	if len(p) > cap(b.pending) {
		return b.Conn.Write(p)
	}
	b.pending = append(b.pending, p...)
	return len(p), nil
}

// writePending writes what is collected; mu must be held.
func (b *batchConn) writePending() {
	if len(b.pending) > 0 && b.err == nil {
		_, b.err = b.Conn.Write(b.pending)
	}
	b.pending = b.pending[:0]
}

// flush writes the rest.
func (b *batchConn) flush() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.batching = false
	b.writePending()
	return b.err
}
