package stream

import (
	"bytes"
	"runtime"
	"strconv"
	"sync"
)

// callers is the set of goroutines that call a client's user. It tells whether a
// method of the client was called by one of its callbacks, which must not wait for
// itself. Goroutines have no identity that Go would tell, but for the number at the
// head of a stack trace; it is asked for when a goroutine begins and by Stop and Close,
// never for a message.
type callers struct {
	mu  sync.Mutex
	set map[uint64]*listener // guarded by mu
}

// enter adds the calling goroutine, which is the listener's or, with nil, that of the
// events, until the result is called.
func (c *callers) enter(l *listener) (leave func()) {
	id := goroutine()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.set == nil {
		c.set = map[uint64]*listener{}
	}
	c.set[id] = l
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.set, id)
	}
}

// inside reports whether the calling goroutine is in the set.
func (c *callers) inside() bool {
	id := goroutine()
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.set[id]
	return ok
}

// current returns the listener whose callback is calling, nil for none.
func (c *callers) current() *listener {
	id := goroutine()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.set[id]
}

// goroutine returns the number of the calling goroutine, which is never used again.
func goroutine() uint64 {
	var trace [64]byte
	head := bytes.TrimPrefix(trace[:runtime.Stack(trace[:], false)], []byte("goroutine "))
	number, _, _ := bytes.Cut(head, []byte(" "))
	id, err := strconv.ParseUint(string(number), 10, 64)
	if err != nil {
		panic("stream: a stack trace begins otherwise than expected: " + string(trace[:]))
	}
	return id
}
