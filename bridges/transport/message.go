package transport

import (
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/raybridge/raybridge/flow"
)

// causes are those of drops. A drop is counted by the number of its cause here.
var causes = [...]flow.Cause{causeSlow: flow.CausePeerSlow, flow.CauseNotConnected, flow.CauseClosed}

// causeSlow is the number of flow.CausePeerSlow.
const causeSlow = 0

// Outcome is what became of one message.
type Outcome struct {
	// Delivered is the number of clients it was written to, Dropped of those it
	// wasn't, Cause the last of their causes.
	Delivered, Dropped int
	Cause              flow.Cause
	// Bytes is the frame's length in the first form that the message has.
	Bytes int
}

// Message is one encoded message. Until it is sent it belongs to the goroutine that
// took it from its stream; then to the server.
type Message struct {
	stream  *Stream
	frames  [Forms]flow.Buffer
	written func(bytes int)
	settled func(Outcome)

	holders   atomic.Int32
	delivered atomic.Int32
	dropped   atomic.Int32
	cause     atomic.Uint32
}

var messages = sync.Pool{New: func() any { return new(Message) }}

// NewMessage returns an empty message, to be sent or discarded.
func (s *Stream) NewMessage() *Message {
	m := messages.Get().(*Message)
	m.stream = s
	return m
}

// Frame returns the buffer of a form, lent by the stream's pool at the first call. A
// block for so many bytes is asked for; Reset or Adopt sets the length.
func (m *Message) Frame(form, size int) *flow.Buffer {
	f := &m.frames[form]
	if f.IsZero() {
		*f = m.stream.pool.Get(size)
	}
	return f
}

// Discard gives up a message that isn't sent.
func (m *Message) Discard() {
	for i := range m.frames {
		m.frames[i].Release()
	}
	m.stream, m.written, m.settled = nil, nil, nil
	messages.Put(m)
}

// form returns the form that a client that wants so is sent.
func (m *Message) form(wanted int) *flow.Buffer {
	if m.frames[wanted].IsZero() {
		return &m.frames[0]
	}
	return &m.frames[wanted]
}

// has reports whether there is something for a client that receives a form, and none but that where exact is set.
func (m *Message) has(form int, exact bool) bool {
	if exact {
		return !m.frames[form].IsZero()
	}
	return !m.form(form).IsZero()
}

// length is that of the first form that there is.
func (m *Message) length() int {
	for i := range m.frames {
		if !m.frames[i].IsZero() {
			return m.frames[i].Len()
		}
	}
	return 0
}

func (m *Message) size(form int) int64 { return int64(m.form(form).Len()) }

// release gives up one holder's part; the last settles the message.
func (m *Message) release() {
	if m.holders.Add(-1) > 0 {
		return
	}
	outcome := Outcome{
		Delivered: int(m.delivered.Swap(0)), Dropped: int(m.dropped.Swap(0)),
		Cause: causes[m.cause.Swap(0)], Bytes: m.length(),
	}
	settled := m.settled
	m.Discard()
	if settled != nil {
		settled(outcome)
	}
}

// subscription is one client's part of a stream.
type subscription struct {
	client   *Conn
	stream   *Stream
	receiver Receiver
	form     atomic.Int32 // receiver's, until SetForm
	ended    atomic.Bool  // by Unsubscribe
	pace     *pace        // nil where messages needn't be held apart
	credit   *credit      // nil where the client needn't ask for messages

	offered atomic.Int64
	sent    atomic.Int64
	bytes   atomic.Int64
	dropped [len(causes)]atomic.Int64 // by the number of the cause
}

// delivery is a message on its way to one client.
type delivery struct {
	message      *Message
	subscription *subscription
}

// admits reports whether the message is to be queued now. A message without the form that
// the client wants isn't, nor one that comes too early.
func (s *subscription) admits(m *Message) bool {
	if !m.has(int(s.form.Load()), s.receiver.Exact) {
		m.release()
		return false
	}
	if s.credit != nil {
		return s.credit.admit(m)
	}
	return s.pace == nil || s.pace.admit(m)
}

// end notes that the client is sent no more.
func (s *subscription) end() {
	s.ended.Store(true)
	if s.pace != nil {
		s.pace.end()
	}
	if s.credit != nil {
		s.credit.end()
	}
}

// offer queues the message without waiting; false if it is to be waited for.
func (s *subscription) offer(m *Message) bool {
	s.offered.Add(1)
	if p := s.stream.config.Policy; p != nil {
		return s.client.queue.TryPushUnder(*p, delivery{m, s}, m.size(int(s.form.Load())))
	}
	return s.client.queue.TryPush(delivery{m, s}, m.size(int(s.form.Load())))
}

// unwanted reports whether what is queued for the subscription isn't written any more.
func (s *subscription) unwanted() bool { return s.receiver.Strict && s.ended.Load() }

// deliverLatched queues the last message of a latched stream, whose outcome is
// the subscription's alone.
func (s *subscription) deliverLatched(frames *[Forms]flow.Buffer) {
	m := s.stream.NewMessage()
	for i := range frames {
		m.frames[i] = frames[i].Share()
	}
	m.holders.Store(2)
	if s.admits(m) && !s.offer(m) {
		s.drop(m, flow.CausePeerSlow)
		if s.credit != nil {
			s.credit.giveBack()
		}
	}
	m.release()
}

// frame is what goes to the client.
func (d delivery) frame() []byte { return d.message.form(int(d.subscription.form.Load())).Bytes() }

// deliver counts the message as written.
func (d delivery) deliver() {
	n := d.message.size(int(d.subscription.form.Load()))
	d.subscription.sent.Add(1)
	d.subscription.bytes.Add(n)
	if d.message.delivered.Add(1) == 1 && d.message.written != nil {
		d.message.written(d.message.length())
	}
	d.message.release()
}

// drop counts the message as not written.
func (s *subscription) drop(m *Message, cause flow.Cause) {
	number := slices.Index(causes[:], cause)
	s.dropped[number].Add(1)
	m.cause.Store(uint32(number))
	m.dropped.Add(1)
	m.release()
}

// StreamCounts is what a client was sent of one stream: Offered = Sent + Dropped +
// what waits.
type StreamCounts struct {
	Stream        *Stream
	Offered, Sent int64
	Bytes         int64
	Dropped       int64
	Drops         flow.Drops // Dropped by cause; nil without any
}

func (s *subscription) counts() StreamCounts {
	d := StreamCounts{Stream: s.stream, Sent: s.sent.Load(), Bytes: s.bytes.Load()}
	for i := range s.dropped {
		if n := s.dropped[i].Load(); n > 0 {
			if d.Drops == nil {
				d.Drops = flow.Drops{}
			}
			d.Drops[causes[i]] = n
			d.Dropped += n
		}
	}
	d.Offered = s.offered.Load() // last: it is never less than the others' sum
	return d
}

// write is the writing goroutine: control frames first, then messages, and a beat now
// and then.
func (c *Conn) write() {
	beat := time.NewTicker(c.server.config.Beat)
	defer beat.Stop()
	idle, due := true, false
	for {
		finished := c.queue.Finished() // before collect, which then finds all there will be
		errand := c.collect()
		idle = idle && c.batched == 0 && len(c.scratch) == 0
		if due {
			c.scratch = c.session.Beat(c.scratch, idle)
			idle, due = true, false
		}
		if c.batched > 0 || len(c.scratch) > 0 || errand != nil {
			if err := c.flush(errand); err != nil {
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
func (c *Conn) collect() errand {
	c.mu.Lock()
	errand := c.takeControl()
	c.mu.Unlock()
	if errand != nil {
		return errand // messages come behind it
	}
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
	return nil
}

// flush writes scratch and the batch, and counts each message of it. An errand comes behind scratch,
// and then there is no batch.
func (c *Conn) flush(errand errand) error {
	n := 0
	if len(c.scratch) > 0 {
		c.slices[0], n = c.scratch, 1
	}
	for i, d := range c.batch[:c.batched] {
		frame := d.frame()
		if prefix := d.subscription.receiver.Prefix; prefix != nil {
			c.slices[n] = prefix(c.prefix[i][:0], len(frame))
			n++
		} else if place := d.subscription.receiver.Place; place != nil {
			if short := place(c.prefix[i][:0], frame); short != nil {
				frame = short
			}
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
	if errand == nil {
		return nil
	}
	now := time.Now()
	c.mu.Lock()
	err = c.conn.SetWriteDeadline(c.writeEnd(now, now))
	c.mu.Unlock()
	if err != nil {
		return err
	}
	return errand()
}

// chunk is how much is written under one deadline. TLS can't go on after a write that ran
// out of time, so it is given as much as one of its records holds.
func (c *Conn) chunk() int {
	if c.encrypted() {
		return 16 << 10
	}
	return chunk
}

func (c *Conn) encrypted() bool {
	_, is := c.conn.(*tls.Conn)
	return is
}

// stalled is the error of a client that took nothing for so long. It is os.ErrDeadlineExceeded to
// errors.Is.
type stalled time.Duration

func (s stalled) Error() string { return fmt.Sprintf("it took nothing for %v", time.Duration(s)) }

func (s stalled) Is(target error) bool { return target == os.ErrDeadlineExceeded }

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

// writeVectors writes all of c.vectors. The client is looked at several times within Stall, so
// that its time counts from when it last took something. A look that lasts longer than it should is
// this process's, which was stopped: the client's time stood still meanwhile.
func (c *Conn) writeVectors() error {
	begun := time.Now()
	moved := begun
	for {
		looked := time.Now()
		if err := c.extendWrite(begun, moved); err != nil {
			return err
		}
		n, err := c.vectors.WriteTo(c.conn)
		if n > 0 {
			moved = time.Now()
		} else if stood := time.Since(looked) - c.look(); stood > 0 && !c.encrypted() {
			begun, moved = begun.Add(stood), moved.Add(stood)
		}
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return err
		case c.writeTimedOut(begun, moved):
			return stalled(time.Since(moved).Round(100 * time.Millisecond))
		}
	}
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
	}
	c.mu.Lock()
	c.failed = err // before anybody finds the queue finished
	c.mu.Unlock()
	c.finish(cause)
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
	if err := c.flush(nil); err != nil {
		_ = c.conn.Close()
		return
	}
	if half, ok := c.conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}
