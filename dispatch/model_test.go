package dispatch_test

import (
	"math"
	"slices"

	"github.com/raybridge/raybridge/dispatch"
)

// The reference: ordered topics on lanes, in plain single-threaded code. It says
// what must have become of every message after each operation.

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
	policy   dispatch.Policy
	depth    int
	maxBytes int64
	gated    bool
	lane     *modelLane
	closed   bool
	blocked  []*modelMessage
}

type modelLane struct {
	queue   []*modelMessage
	running *modelMessage
}

type model struct {
	topics   []*modelTopic
	lanes    []*modelLane
	tokens   map[int]bool
	paused   bool
	released int64
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
		if t.policy == dispatch.Block {
			msg.state = blocked
			t.blocked = append(t.blocked, msg)
			return
		}
		if t.policy == dispatch.DropNewest {
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
		if l.running != nil || len(l.queue) == 0 {
			continue
		}
		head := l.queue[0]
		if head.topic.gated && head.stamp > m.released {
			continue
		}
		l.running, l.queue = head, l.queue[1:]
		head.state = running
		t := head.topic
		for len(t.blocked) > 0 && t.hasRoom(t.blocked[0].bytes) {
			m.enqueue(t.blocked[0])
			t.blocked = t.blocked[1:]
		}
	}
}

func (m *model) finish(l *modelLane, fate error) {
	m.end(l.running, fate)
	l.running = nil
	m.advance()
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
