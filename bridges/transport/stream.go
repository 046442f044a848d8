package transport

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/raybridge/raybridge/flow"
)

// Forms is how many forms a message can have.
const Forms = 3

// StreamConfig describes a stream.
type StreamConfig struct {
	// Name is for logs and statistics.
	Name string
	// Seal writes the message's sequence number into a frame, where the protocol has
	// one. It is called once for each form, before the message is shared, in the
	// order of the numbers. It may be nil.
	Seal func(frame []byte, sequence uint64)
	// Written is told of a message's length in its first form when the first client has it, before
	// Settled is told of the same. It doesn't block. It may be nil.
	Written func(bytes int)
	// Settled is told the fate of each message that Send took, once, by whichever
	// goroutine is the last to have it. It doesn't block. It may be nil.
	Settled func(Outcome)
	// Latched streams hand their last message to each client that subscribes; they take
	// messages without subscribers, too.
	Latched bool
	// Policy is what a client's full queue does with this stream's messages; nil is the
	// queue's own.
	Policy *flow.Policy
	// Pool bounds the memory that the stream keeps for later messages.
	Pool flow.PoolConfig
}

// Stream is one sequence of messages with those that receive it.
type Stream struct {
	server *Server
	config StreamConfig
	pool   *flow.Pool

	// list is the subscriptions, replaced under subscribing and read without it.
	subscribing sync.Mutex
	list        atomic.Pointer[[]*subscription]
	latched     [Forms]flow.Buffer // guarded by subscribing
	closed      bool               // guarded by subscribing: nothing is latched any more, nobody subscribes

	sending sync.Mutex      // held by Send: numbers rise in the order of the queues
	next    uint64          // guarded by sending
	full    []*subscription // guarded by sending: those that Send waits for
}

// NewStream adds a stream to the server.
func (s *Server) NewStream(config StreamConfig) *Stream {
	stream := &Stream{server: s, config: config, pool: flow.NewPool(config.Pool)}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streams = append(s.streams, stream)
	return stream
}

// Name returns the stream's name.
func (s *Stream) Name() string { return s.config.Name }

func (s *Stream) subscriptions() []*subscription {
	if p := s.list.Load(); p != nil {
		return *p
	}
	return nil
}

// Subscribers returns the number of clients that receive the stream. It takes no
// lock.
func (s *Stream) Subscribers() int { return len(s.subscriptions()) }

// PoolStats returns the counts of a stream's pool of buffers.
func (s *Stream) PoolStats() flow.PoolStats { return s.pool.Stats() }

// Wants reports whether a client subscribed with the form. It takes no lock.
func (s *Stream) Wants(form int) bool {
	for _, sub := range s.subscriptions() {
		if int(sub.form.Load()) == form {
			return true
		}
	}
	return false
}

// SetPolicy changes what the client's full queue does, for a protocol whose clients each
// have one stream.
func (c *Conn) SetPolicy(p flow.Policy) { c.queue.SetPolicy(p) }

// Subscribe sends the client the stream's messages from now on, in the given form; a latched
// stream sends its last one first. A client that subscribes already continues with the form it
// had. It reports whether the client is new to the stream.
func (s *Stream) Subscribe(c *Conn, form int) bool { return s.SubscribeWith(c, Receiver{Form: form}) }

// Receiver says how one client receives a stream.
type Receiver struct {
	// Form is the form of the messages. Those that don't have it are sent in form 0, or, where
	// Exact is set, passed over.
	Form  int
	Exact bool
	// Prefix appends what is written before a frame of so many bytes, for this client alone:
	// at most 32 bytes. It runs on the client's writing goroutine and isn't counted. It
	// may be nil.
	Prefix func(dst []byte, frame int) []byte
	// Place appends what is written in place of a frame, for this client alone: at most 32 bytes.
	// It has put the frame elsewhere then. With nil the frame itself is written. It runs on the
	// client's writing goroutine, and counts as the frame. It may be nil.
	Place func(dst, frame []byte) []byte
	// Strict drops what is queued when the subscription ends, for protocols that use the
	// prefix for something else then.
	Strict bool
	// Interval is the least time between two messages. Those between are passed over, except
	// the newest Backlog of them, which are queued one after the other when their time has
	// come.
	Interval time.Duration
	Backlog  int
	// Credits, if it isn't 0, is how many messages are queued before the client asks for more (Stream.Grant), and the
	// most that it may ask for. While it has none left, the newest message is held for it. It excludes Interval.
	Credits int
}

// SubscribeWith is Subscribe for a client that receives the stream in a way of its own.
func (s *Stream) SubscribeWith(c *Conn, r Receiver) bool {
	if s.config.Latched { // no message may pass between the last one and the list
		s.sending.Lock()
		defer s.sending.Unlock()
	}
	s.subscribing.Lock()
	defer s.subscribing.Unlock()
	if s.closed {
		return false
	}
	old := s.subscriptions()
	for _, sub := range old {
		if sub.client == c {
			return false
		}
	}
	sub := &subscription{client: c, stream: s, receiver: r}
	sub.form.Store(int32(r.Form))
	switch {
	case r.Credits > 0:
		sub.credit = &credit{subscription: sub, left: r.Credits}
	case r.Interval > 0:
		sub.pace = &pace{subscription: sub}
	}
	if !c.add(sub) {
		return false
	}
	if !s.latched[0].IsZero() {
		sub.deliverLatched(&s.latched)
	}
	list := append(append(make([]*subscription, 0, len(old)+1), old...), sub)
	s.list.Store(&list)
	return true
}

// SetForm has a client that subscribed without an Interval sent another form from now on, of what waits for it too. Its
// credits and counts stay. It reports whether the client receives the stream.
func (s *Stream) SetForm(c *Conn, form int) bool {
	for _, sub := range s.subscriptions() {
		if sub.client == c {
			sub.form.Store(int32(form))
			return true
		}
	}
	return false
}

// Unsubscribe ends a client's subscription; what is queued for it may still arrive, unless
// the receiver is strict.
// It reports whether there was one.
func (s *Stream) Unsubscribe(c *Conn) bool {
	s.subscribing.Lock()
	defer s.subscribing.Unlock()
	var list []*subscription
	found := false
	for _, sub := range s.subscriptions() {
		if sub.client == c {
			c.forget(sub)
			sub.end()
			found = true
			continue
		}
		list = append(list, sub)
	}
	s.list.Store(&list)
	return found
}

// Send numbers the message, shares it between the subscribers' queues and returns;
// the message is the server's from then on. It waits only where the policy is block
// and a queue is full, for the limit or until ctx ends. An error says that the
// message was not taken, and then Settled isn't called: ErrNoSubscribers. A latched
// stream takes it for those to come.
// Any goroutine may send; each message has its place in the order of the others.
func (s *Stream) Send(ctx context.Context, m *Message) error {
	s.sending.Lock()
	defer s.sending.Unlock()
	subscriptions := s.subscriptions()
	if len(subscriptions) == 0 && !s.latches() {
		m.Discard()
		return ErrNoSubscribers
	}
	if s.config.Seal != nil {
		for i := range m.frames {
			if !m.frames[i].IsZero() {
				s.config.Seal(m.frames[i].Bytes(), s.next)
			}
		}
	}
	s.next++
	if s.config.Latched {
		s.latch(m)
	}
	m.written, m.settled = s.config.Written, s.config.Settled
	m.holders.Store(int32(len(subscriptions)) + 1)
	for _, sub := range subscriptions {
		if sub.admits(m) && !sub.offer(m) {
			s.full = append(s.full, sub)
		}
	}
	if len(s.full) > 0 {
		s.wait(ctx, m)
	}
	m.release()
	return nil
}

// wait offers the message to those whose queues were full, under one time limit for all;
// sending must be held.
func (s *Stream) wait(ctx context.Context, m *Message) {
	spent := time.Duration(0)
	for i, sub := range s.full {
		spent += sub.client.queue.Await(ctx, delivery{m, sub}, m.size(int(sub.form.Load())), spent)
		s.full[i] = nil
	}
	s.full = s.full[:0]
}

// latches reports whether messages are kept for those who subscribe later.
func (s *Stream) latches() bool {
	if !s.config.Latched {
		return false
	}
	s.subscribing.Lock()
	defer s.subscribing.Unlock()
	return !s.closed
}

// latch keeps the message for those who subscribe later.
func (s *Stream) latch(m *Message) {
	s.subscribing.Lock()
	defer s.subscribing.Unlock()
	if s.closed {
		return
	}
	for i := range s.latched {
		s.latched[i].Release()
		s.latched[i] = m.frames[i].Share()
	}
}

// Forget lets go of the last message of a latched stream: a client that subscribes from now on waits for the next one.
func (s *Stream) Forget() {
	s.subscribing.Lock()
	defer s.subscribing.Unlock()
	for i := range s.latched {
		s.latched[i].Release()
		s.latched[i] = flow.Buffer{}
	}
}

// Remove takes a stream from the server, and returns the clients that received it. Queued
// messages still arrive, but nothing that is sent from now on: Send returns ErrNoSubscribers.
func (s *Server) Remove(stream *Stream) []*Conn {
	s.mu.Lock()
	s.streams = slices.DeleteFunc(slices.Clone(s.streams), func(other *Stream) bool { return other == stream })
	s.mu.Unlock()
	stream.close()
	var clients []*Conn
	for _, sub := range stream.subscriptions() {
		clients = append(clients, sub.client)
		stream.Unsubscribe(sub.client)
	}
	return clients
}

// Drained reports whether every message that was sent has reached its clients or was dropped.
func (s *Stream) Drained() bool { return s.pool.Stats().Outstanding == 0 }

// close gives up what the stream holds. Nobody can subscribe any more.
func (s *Stream) close() {
	s.subscribing.Lock()
	defer s.subscribing.Unlock()
	s.closed = true
	for i := range s.latched {
		s.latched[i].Release()
	}
	s.pool.Close()
}

// pace holds a subscription's messages apart.
type pace struct {
	subscription *subscription
	ticking      sync.Mutex // held while a message that waited is queued; before mu

	mu      sync.Mutex
	last    time.Time   // guarded by mu: when a message was let through
	waiting []*Message  // guarded by mu: at most Receiver.Backlog, the oldest first
	timer   *time.Timer // guarded by mu: runs while something waits
	ended   bool        // guarded by mu
}

// admit reports whether a message goes into the client's queue at once. Otherwise it
// waits for its time, taking the place of the oldest that does, or is passed over.
func (p *pace) admit(m *Message) bool {
	now, r := time.Now(), &p.subscription.receiver
	p.mu.Lock()
	left := r.Interval - now.Sub(p.last)
	if len(p.waiting) == 0 && left <= 0 && !p.ended {
		p.last = now
		p.mu.Unlock()
		return true
	}
	if r.Backlog == 0 || p.ended {
		p.mu.Unlock()
		m.release()
		return false
	}
	waited := len(p.waiting) > 0
	var lost []*Message
	for len(p.waiting) >= r.Backlog || len(p.waiting) > 0 && !p.fits(m) {
		lost = append(lost, p.pop())
	}
	if p.fits(m) {
		p.subscription.client.paced.Add(p.size(m))
		p.waiting = append(p.waiting, m)
	} else {
		lost = append(lost, m)
	}
	switch {
	case len(p.waiting) == 0:
	case p.timer == nil:
		p.timer = time.AfterFunc(left, p.tick)
	case !waited:
		p.timer.Reset(left)
	}
	p.mu.Unlock()
	for _, m := range lost {
		p.subscription.lose(m, flow.CausePeerSlow)
	}
	return false
}

// size is what a message takes of what may wait for the client.
func (p *pace) size(m *Message) int64 { return m.size(p.subscription.receiver.Form) }

// fits reports whether a message may wait beside those that do. Those of all subscriptions
// together are bounded as the client's queue is; a message that is larger waits alone.
func (p *pace) fits(m *Message) bool {
	c := p.subscription.client
	waiting := c.paced.Load()
	return waiting == 0 || waiting+p.size(m) <= c.queue.MaxBytes()
}

// pop takes the oldest that waits; mu must be held.
func (p *pace) pop() *Message {
	m := p.waiting[0]
	n := copy(p.waiting, p.waiting[1:])
	p.waiting[n] = nil
	p.waiting = p.waiting[:n]
	p.subscription.client.paced.Add(-p.size(m))
	return m
}

// tick lets the oldest through.
func (p *pace) tick() {
	p.ticking.Lock()
	defer p.ticking.Unlock()
	p.mu.Lock()
	if p.ended || len(p.waiting) == 0 {
		p.mu.Unlock()
		return
	}
	m := p.pop()
	p.last = time.Now()
	if len(p.waiting) > 0 {
		p.timer.Reset(p.subscription.receiver.Interval)
	}
	p.mu.Unlock()
	if !p.subscription.offer(m) {
		p.subscription.drop(m, flow.CausePeerSlow) // a timer doesn't wait for room
	}
}

// end drops what waits; nothing is let through any more when it returns.
func (p *pace) end() {
	p.mu.Lock()
	p.ended = true
	if p.timer != nil {
		p.timer.Stop()
	}
	list := p.waiting
	p.waiting = nil
	for _, m := range list {
		p.subscription.client.paced.Add(-p.size(m))
	}
	p.mu.Unlock()
	p.ticking.Lock() // a tick that is under way ends first
	defer p.ticking.Unlock()
	for _, m := range list {
		p.subscription.lose(m, flow.CauseNotConnected)
	}
}

// lose counts a message as offered and dropped.
func (s *subscription) lose(m *Message, cause flow.Cause) {
	s.offered.Add(1)
	s.drop(m, cause)
}
