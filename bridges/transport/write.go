package transport

import (
	"crypto/tls"
	"errors"
	"os"
	"time"

	"github.com/raybridge/raybridge/flow"
)

// write is the writing goroutine: control frames first, then messages, and a beat now
// and then.
func (c *Conn) write() {
	beat := time.NewTicker(c.server.config.Beat)
	defer beat.Stop()
	idle, due := true, false
	for {
		finished := c.queue.Finished() // before collect, which then finds all there will be
		c.collect()
		idle = idle && c.batched == 0 && len(c.scratch) == 0
		if due {
			c.scratch = c.session.Beat(c.scratch, idle)
			idle, due = true, false
		}
		if c.batched > 0 || len(c.scratch) > 0 {
			if err := c.flush(); err != nil {
				c.fail(err)
				return
			}
			select {
			case <-beat.C:
				due = true
			default:
			}
			continue
		}
		if finished {
			c.end()
			return
		}
		select {
		case <-c.queue.Ready():
		case <-beat.C:
			due = true
		}
	}
}

// collect takes what is to be written next.
func (c *Conn) collect() {
	c.mu.Lock()
	c.takeControl()
	c.mu.Unlock()
	total := len(c.scratch)
	for c.batched < maxBatch && total < batchBytes {
		d, ok := c.queue.Pop()
		if !ok {
			break
		}
		if d.subscription.unwanted() {
			d.subscription.drop(d.message, flow.CauseNotConnected)
			continue
		}
		c.batch[c.batched] = d
		c.batched++
		total += len(d.frame())
	}
}

// flush writes scratch and the batch, and counts each message of it.
func (c *Conn) flush() error {
	n := 0
	if len(c.scratch) > 0 {
		c.slices[0], n = c.scratch, 1
	}
	for i, d := range c.batch[:c.batched] {
		frame := d.frame()
		if prefix := d.subscription.receiver.Prefix; prefix != nil {
			c.slices[n] = prefix(c.prefix[i][:0], len(frame))
			n++
		}
		c.slices[n] = frame
		n++
	}
	err := c.writeSlices(c.slices[:n])
	clear(c.slices[:n])
	if err != nil {
		return err
	}
	for i, d := range c.batch[:c.batched] {
		d.deliver()
		c.batch[i] = delivery{}
	}
	c.batched, c.scratch = 0, c.scratch[:0]
	return nil
}

// chunk is how much is written under one deadline. TLS can't go on after a write that ran
// out of time, so it is given as much as one of its records holds.
func (c *Conn) chunk() int {
	if _, encrypted := c.conn.(*tls.Conn); encrypted {
		return 16 << 10
	}
	return chunk
}

// writeSlices writes all slices one after another, a chunk at a time.
func (c *Conn) writeSlices(slices [][]byte) error {
	chunk := c.chunk()
	for len(slices) > 0 {
		n, total := 0, 0
		for len(slices) > 0 && total < chunk {
			part := slices[0][:min(len(slices[0]), chunk-total)]
			c.list[n], n, total = part, n+1, total+len(part)
			if slices[0] = slices[0][len(part):]; len(slices[0]) == 0 {
				slices = slices[1:]
			}
		}
		c.vectors = c.list[:n]
		err := c.writeVectors()
		clear(c.list[:n])
		if err != nil {
			return err
		}
	}
	return nil
}

// writeVectors writes all of c.vectors.
func (c *Conn) writeVectors() error {
	for {
		if err := c.extendWrite(); err != nil {
			return err
		}
		n, err := c.vectors.WriteTo(c.conn)
		if err == nil || !c.patient(n, err) {
			return err
		}
	}
}

// patient reports whether a write that ran out of time goes on: the client has taken
// some of it, so it is slow and not stalled. While it is being disconnected it gets no
// more time.
func (c *Conn) patient(written int64, err error) bool {
	return written > 0 && errors.Is(err, os.ErrDeadlineExceeded) && !c.queue.Finished()
}

// fail ends the connection after a failed write: what was being written and what waits
// counts as dropped.
func (c *Conn) fail(err error) {
	cause := flow.CauseNotConnected
	switch {
	case c.server.ctx.Err() != nil:
		cause = flow.CauseClosed
	case errors.Is(err, os.ErrDeadlineExceeded):
		cause = flow.CausePeerSlow
		c.server.config.Log.Warn("stream client took nothing for too long, disconnected",
			"client", c.conn.RemoteAddr().String(), "limit", c.server.config.Stall)
	}
	c.finish(cause)
	c.mu.Lock()
	c.failed = err
	c.mu.Unlock()
	for i, d := range c.batch[:c.batched] {
		d.subscription.drop(d.message, cause)
		c.batch[i] = delivery{}
	}
	c.batched = 0
	c.queue.Close()
	_ = c.conn.Close()
}

// end says goodbye and leaves the client a moment to close its side.
func (c *Conn) end() {
	c.scratch = c.session.Goodbye(c.scratch[:0])
	now := time.Now()
	c.bound(now.Add(linger), now.Add(linger))
	if err := c.flush(); err != nil {
		_ = c.conn.Close()
		return
	}
	if half, ok := c.conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}
