package dispatch_test

import (
	"context"
	"math"
	"slices"

	"github.com/raybridge/raybridge/dispatch"
	"github.com/raybridge/raybridge/flow"
)

// The reference: topics on ordered and unordered lanes, in plain single-threaded
// code. It says what must have become of every message after each operation.

type state string

const (
	blocked state = "blocked" // its sender waits
	queued  state = "queued"
	running state = "running"
	ended   state = "ended"
)

type modelMessage struct {
	id    int
	topic *modelTopic
	token int // 0: none
	stamp int64
	bytes int64

	state state
	fate  error // of an ended one
}

type modelTopic struct {
	policy   flow.Policy
	depth    int
	maxBytes int64
	gated    bool
	lane     *modelLane
	closed   bool
	blocked  []*modelMessage
}

type modelLane struct {
	ordered bool
	queue   []*modelMessage
	running []*modelMessage
}

func (l *modelLane) free() bool { return !l.ordered || len(l.running) == 0 }

type model struct {
	topics   []*modelTopic
	lanes    []*modelLane
	tokens   map[int]bool
	paused   bool
	released int64
}

// idle tells whether all that was taken is resolved, so that a Drain returns.
func (m *model) idle() bool {
	return !slices.ContainsFunc(m.lanes, func(l *modelLane) bool { return len(l.queue)+len(l.running) > 0 })
}

func (m *model) end(msg *modelMessage, fate error) {
	msg.state, msg.fate = ended, fate
	delete(m.tokens, msg.token)
}

func (t *modelTopic) waiting() (n int, bytes int64) {
	for _, msg := range t.lane.queue {
		if msg.topic == t {
			n++
			bytes += msg.bytes
		}
	}
	return n, bytes
}

func (t *modelTopic) hasRoom(bytes int64) bool {
	n, held := t.waiting()
	return n == 0 || n < t.depth && held+bytes <= t.maxBytes
}

func (m *model) offer(msg *modelMessage) {
	t := msg.topic
	switch {
	case t.closed:
		msg.state, msg.fate = ended, dispatch.ErrClosed
		return
	case m.paused:
		msg.state, msg.fate = ended, dispatch.ErrPaused
		return
	case msg.token != 0 && m.tokens[msg.token]:
		msg.state, msg.fate = ended, dispatch.ErrTokenBusy
		return
	}
	if msg.token != 0 {
		m.tokens[msg.token] = true
	}
	for len(t.blocked) > 0 || !t.hasRoom(msg.bytes) {
		if t.policy == flow.Block {
			msg.state = blocked
			t.blocked = append(t.blocked, msg)
			return
		}
		if t.policy == flow.DropNewest {
			m.end(msg, dispatch.ErrFull)
			return
		}
		oldest := slices.IndexFunc(t.lane.queue, func(other *modelMessage) bool { return other.topic == t })
		m.end(t.lane.queue[oldest], dispatch.ErrFull)
		t.lane.queue = slices.Delete(t.lane.queue, oldest, oldest+1)
	}
	m.enqueue(msg)
	m.advance()
}

func (m *model) enqueue(msg *modelMessage) {
	msg.state = queued
	msg.topic.lane.queue = append(msg.topic.lane.queue, msg)
}

// advance starts what can start.
func (m *model) advance() {
	for _, l := range m.lanes {
		for l.free() && len(l.queue) > 0 {
			head := l.queue[0]
			if head.topic.gated && head.stamp > m.released {
				break
			}
			l.running, l.queue = append(l.running, head), l.queue[1:]
			head.state = running
			t := head.topic
			for len(t.blocked) > 0 && t.hasRoom(t.blocked[0].bytes) {
				m.enqueue(t.blocked[0])
				t.blocked = t.blocked[1:]
			}
		}
	}
}

// finish ends one of the lane's running messages.
func (m *model) finish(l *modelLane, i int, fate error) {
	m.end(l.running[i], fate)
	l.running = slices.Delete(l.running, i, i+1)
	m.advance()
}

// close ends all, as Dispatcher.Close does: publishers return their context's
// error.
func (m *model) close() {
	m.closeTopics(m.topics...)
	for _, l := range m.lanes {
		for len(l.running) > 0 {
			m.finish(l, 0, context.Canceled)
		}
	}
}

func (m *model) release(stamp int64) {
	if stamp < m.released {
		for _, l := range m.lanes {
			for _, msg := range l.queue {
				msg.stamp = math.MinInt64
			}
		}
	}
	m.released = stamp
	m.advance()
}

func (m *model) closeTopics(topics ...*modelTopic) {
	for _, t := range topics {
		m.discard(t)
	}
	m.advance()
}

func (m *model) discard(t *modelTopic) {
	t.closed = true
	for _, l := range m.lanes {
		l.queue = slices.DeleteFunc(l.queue, func(msg *modelMessage) bool {
			if msg.topic == t {
				m.end(msg, dispatch.ErrClosed)
			}
			return msg.topic == t
		})
	}
	for _, msg := range t.blocked {
		m.end(msg, dispatch.ErrClosed)
	}
	t.blocked = nil
}
