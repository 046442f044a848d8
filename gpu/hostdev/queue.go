//go:build cgo

package hostdev

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/raybridge/raybridge/kernels"
)

// queue carries out commands in their order on a goroutine of its own, which stop ends.
type queue struct {
	pool *kernels.Pool

	mu      sync.Mutex
	arrived sync.Cond
	settled sync.Cond
	list    []*command // guarded by mu
	head    int        // of list: those before are carried out; guarded by mu
	spare   []*command // carried out, to be used again; guarded by mu
	busy    bool       // a command is carried out; guarded by mu
	ending  bool       // guarded by mu
	errs    []error    // of works, not yet asked for; guarded by mu

	ended  chan struct{}
	failed bool // a work has failed since the last fence; the goroutine's
}

// command is one of the queue. One of work, to, fence, query and do is set.
type command struct {
	work  *kernels.Work
	to    *storage // written at a place: with size bytes of from, or with data
	place int
	from  *storage
	start int // in from
	size  int
	fence *fence
	query *query
	do    func()
	// What is kept from one use to the next.
	data  []byte
	uses  []use      // of a work, for those that wait
	taken []*command // the clears and draws that work does as well
	own   *kernels.Work
}

// use is a memory that a command reads or writes.
type use struct {
	of     *storage
	writes bool
}

// fence is signalled by the queue's goroutine.
type fence struct{ state atomic.Int32 }

// States of a fence.
const (
	pending = iota
	signaled
	spoiled
)

// query is stamped by the queue's goroutine.
type query struct{ ns atomic.Int64 }

func newQueue(pool *kernels.Pool) *queue {
	q := &queue{pool: pool, ended: make(chan struct{})}
	q.arrived.L, q.settled.L = &q.mu, &q.mu
	go q.serve()
	return q
}

// fresh returns an empty command with a work to fill in.
func (q *queue) fresh() (*command, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if n := len(q.spare); n > 0 {
		c := q.spare[n-1]
		q.spare = q.spare[:n-1]
		return c, nil
	}
	own, err := kernels.NewWork()
	if err != nil {
		return nil, err
	}
	return &command{own: own}, nil
}

// add appends commands.
func (q *queue) add(list ...*command) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.head > 0 && len(q.list)+len(list) > cap(q.list) {
		q.list = slices.Delete(q.list, 0, q.head)
		q.head = 0
	}
	q.list = append(q.list, list...)
	q.arrived.Signal()
}

// idle reports whether everything is done.
func (q *queue) idle() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.head == len(q.list) && !q.busy
}

// wait returns when everything is done.
func (q *queue) wait() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.head < len(q.list) || q.busy {
		q.settled.Wait()
	}
}

// takeErrors returns the errors since the last call.
func (q *queue) takeErrors() []error {
	q.mu.Lock()
	defer q.mu.Unlock()
	errs := q.errs
	q.errs = nil
	return errs
}

// stop carries out what is left and ends the goroutine.
func (q *queue) stop() {
	q.mu.Lock()
	q.ending = true
	q.arrived.Signal()
	q.mu.Unlock()
	<-q.ended
	for _, c := range q.spare {
		c.own.Close()
	}
}

func (q *queue) serve() {
	defer close(q.ended)
	var c *command
	for {
		if c = q.next(c); c == nil {
			return
		}
		q.carryOut(c)
	}
}

// next takes back what was carried out and waits for the next command; nil at the end.
func (q *queue) next(done *command) *command {
	q.mu.Lock()
	defer q.mu.Unlock()
	if done != nil {
		q.spare = append(q.spare, done.taken...)
		q.spare = append(q.spare, done)
		for _, c := range append(done.taken, done) {
			c.own.Reset()
			*c = command{own: c.own, data: c.data[:0], uses: c.uses[:0], taken: c.taken[:0]}
		}
	}
	q.busy = false
	for q.head == len(q.list) {
		q.list, q.head = q.list[:0], 0
		q.settled.Broadcast()
		if q.ending {
			return nil
		}
		q.arrived.Wait()
	}
	c := q.list[q.head]
	q.head++
	q.busy = true
	return c
}

func (q *queue) carryOut(c *command) {
	var err error
	switch {
	case c.work != nil:
		err = q.pool.Run(c.work)
	case c.to != nil:
		data := c.data
		if c.from != nil {
			data = c.from.Bytes()[c.start : c.start+c.size]
		}
		c.to.replace(c.place, data)
	case c.do != nil:
		c.do()
	case c.query != nil:
		c.query.ns.Store(time.Since(epoch).Nanoseconds())
	case c.fence != nil:
		state := int32(signaled)
		if q.failed {
			state = spoiled
		}
		q.failed = false
		c.fence.state.Store(state)
	}
	if err != nil {
		q.failed = true
		q.mu.Lock()
		q.errs = append(q.errs, err)
		q.mu.Unlock()
	}
}

// epoch is where the device's clock begins, one ns after 0: a query of 0 has no stamp.
var epoch = time.Now().Add(-1)
