package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/raybridge/raybridge/dispatch"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/simtime"
	"github.com/stretchr/testify/require"
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
	stamp simtime.Stamp
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
		msg.state, msg.fate = ended, flow.ErrClosed
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
		if t.policy.Or(flow.Block) == flow.Block {
			msg.state = blocked
			t.blocked = append(t.blocked, msg)
			return
		}
		if t.policy == flow.DropNewest {
			m.end(msg, flow.ErrFull)
			return
		}
		oldest := slices.IndexFunc(t.lane.queue, func(other *modelMessage) bool { return other.topic == t })
		m.end(t.lane.queue[oldest], flow.ErrFull)
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
			if head.topic.gated && head.stamp > simtime.Stamp(m.released) {
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

func (m *model) release(stamp simtime.Stamp) {
	if stamp < simtime.Stamp(m.released) {
		for _, l := range m.lanes {
			for _, msg := range l.queue {
				msg.stamp = math.MinInt64
			}
		}
	}
	m.released = int64(stamp)
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
				m.end(msg, flow.ErrClosed)
			}
			return msg.topic == t
		})
	}
	for _, msg := range t.blocked {
		m.end(msg, flow.ErrClosed)
	}
	t.blocked = nil
}

// The system under test, driven by the same operations.

type verdict uint8

const (
	succeed verdict = iota
	fail
	panicNow
	goexit
	verdicts
)

var errVerdict = errors.New("verdict: fail")

type parcel struct {
	id    int
	stamp simtime.Stamp
	body  []byte // its length is its size; every byte is its id
}

func (p *parcel) CopyToCache(dst *parcel) {
	dst.id, dst.stamp, dst.body = p.id, p.stamp, append(dst.body[:0], p.body...)
}

func (p *parcel) CacheKey() uint64 { return uint64(len(p.body) % 2) }

func (p *parcel) SizeBytes() int64 { return int64(len(p.body)) }

func (p *parcel) Captured() simtime.Stamp { return p.stamp }

// observed is what the system did with one message.
type observed struct {
	started  bool
	returned bool
	taken    bool
	fates    []error
	verdict  chan verdict
}

type harness struct {
	mu       sync.Mutex
	messages []*observed
	d        *dispatch.Dispatcher
	topics   []*dispatch.Topic[*parcel]
}

func (h *harness) publish(ctx context.Context, p *parcel) error {
	h.mu.Lock()
	o := h.messages[p.id]
	o.started = true
	h.mu.Unlock()
	for _, b := range p.body {
		if b != byte(p.id) {
			return fmt.Errorf("message %d: copy was overwritten", p.id)
		}
	}
	select {
	case v := <-o.verdict:
		switch v {
		case fail:
			return errVerdict
		case panicNow:
			panic("verdict: panic")
		case goexit:
			runtime.Goexit()
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// offer offers a message on a goroutine of its own, since it may block.
func (h *harness) offer(topic int, msg *modelMessage, noisy bool) {
	o := &observed{verdict: make(chan verdict, 1)}
	h.messages = append(h.messages, o)
	p := &parcel{id: msg.id, stamp: msg.stamp, body: make([]byte, msg.bytes)}
	for i := range p.body {
		p.body[i] = byte(p.id)
	}
	task := dispatch.Task{Done: func(err error) {
		h.mu.Lock()
		o.fates = append(o.fates, err)
		h.mu.Unlock()
		if noisy {
			panic("callback")
		}
	}}
	if msg.token != 0 {
		task.Token = msg.token
	}
	go func() {
		taken := h.topics[topic].TryQueueTask(p, task)
		clear(p.body) // the buffer is the sender's again
		h.mu.Lock()
		o.returned, o.taken = true, taken
		h.mu.Unlock()
	}()
}

// check compares one message's reference with what was observed.
func (o *observed) check(msg *modelMessage) error {
	want := observed{
		started:  msg.state == running || msg.state == ended && o.started,
		returned: msg.state != blocked,
	}
	switch {
	case o.started != want.started:
		return fmt.Errorf("started is %v, state %s", o.started, msg.state)
	case o.returned != want.returned:
		return fmt.Errorf("returned is %v, state %s", o.returned, msg.state)
	case msg.state != ended && len(o.fates) > 0:
		return fmt.Errorf("called back with %v, state %s", o.fates, msg.state)
	case msg.state != ended:
		return nil
	case len(o.fates) != 1:
		return fmt.Errorf("called back %d times", len(o.fates))
	case !errors.Is(o.fates[0], msg.fate) && !(errors.Is(msg.fate, errPanic) && isPanic(o.fates[0])):
		return fmt.Errorf("called back with %q, want %q", o.fates[0].Error(), msg.fate.Error())
	}
	return nil
}

// errPanic stands in the reference for any *flow.PanicError.
var errPanic = errors.New("any flow.PanicError")

func isPanic(err error) bool {
	var p *flow.PanicError
	return errors.As(err, &p)
}

var fateOf = [verdicts]error{succeed: nil, fail: errVerdict, panicNow: errPanic, goexit: errPanic}

// schedule drives the system and the reference with the same random operations.
type schedule struct {
	rng *rand.Rand
	*harness
	*model
	offered []*modelMessage
	drains  []chan error // of Drains that have not returned
}

// runSchedule makes one random schedule and returns the first difference from the
// reference.
func runSchedule(rng *rand.Rand) error {
	s := &schedule{
		rng:     rng,
		harness: &harness{d: dispatch.New(dispatch.Config{Logger: quiet, MaxWorkers: 100, HoldLimit: 24 * time.Hour})},
		model:   &model{tokens: map[int]bool{}, released: math.MinInt64},
	}
	s.makeTopics()
	err := s.operate()
	if err == nil {
		err = s.end()
	}
	if err != nil { // let the bubble end
		_ = s.d.Close(context.Background())
	}
	return err
}

// makeTopics makes two topics on a shared lane, one with a lane of its own, and an
// unordered one.
func (s *schedule) makeTopics() {
	shared, sharedModel := dispatch.NewLane(s.d), &modelLane{ordered: true}
	s.lanes = append(s.lanes, sharedModel)
	for i := range 4 {
		t := &modelTopic{
			policy: flow.Policy(s.rng.IntN(int(flow.DropOldest) + 1)), depth: 1 + s.rng.IntN(4),
			maxBytes: int64(4 + s.rng.IntN(20)), gated: s.rng.IntN(3) == 0, lane: sharedModel,
		}
		cfg := dispatch.TopicConfig{Policy: t.policy, Depth: t.depth, MaxBytes: t.maxBytes, Gated: t.gated, Ordered: i < 3}
		if i < 2 {
			cfg.Lane = shared
		} else {
			t.lane = &modelLane{ordered: i == 2}
			s.lanes = append(s.lanes, t.lane)
		}
		s.model.topics = append(s.model.topics, t)
		s.harness.topics = append(s.harness.topics, dispatch.NewTopic(s.d, fmt.Sprint(i), s.publish, cfg))
	}
}

// operate makes up to 60 operations, so that the end comes at any moment.
func (s *schedule) operate() error {
	for op := range s.rng.IntN(61) {
		s.step()
		if err := s.settle(); err != nil {
			return fmt.Errorf("operation %d: %w", op, err)
		}
	}
	return nil
}

// step makes one operation on both.
func (s *schedule) step() {
	switch n := s.rng.IntN(1000); {
	case n < 540:
		i := s.rng.IntN(len(s.model.topics))
		msg := &modelMessage{
			id: len(s.offered), topic: s.model.topics[i], token: s.rng.IntN(4),
			stamp: simtime.Stamp(s.rng.IntN(20)), bytes: int64(s.rng.IntN(10)),
		}
		s.offered = append(s.offered, msg)
		s.model.offer(msg)
		s.harness.offer(i, msg, s.rng.IntN(8) == 0)
	case n < 840:
		if l := s.lanes[s.rng.IntN(len(s.lanes))]; len(l.running) > 0 {
			i, v := s.rng.IntN(len(l.running)), verdict(s.rng.IntN(int(verdicts)))
			s.messages[l.running[i].id].verdict <- v
			s.finish(l, i, fateOf[v])
		}
	case n < 890:
		stamp := int64(s.rng.IntN(20))
		s.release(simtime.Stamp(stamp))
		s.d.Release(simtime.Stamp(stamp))
	case n < 930:
		s.paused = true
		s.d.Pause()
	case n < 970:
		s.paused = false
		s.d.Resume()
	case n < 985:
		drained := make(chan error, 1)
		s.drains = append(s.drains, drained)
		go func() { drained <- s.d.Drain(context.Background()) }()
	case n < 995:
		i := s.rng.IntN(len(s.model.topics))
		s.closeTopics(s.model.topics[i])
		s.harness.topics[i].Close()
	default:
		s.model.close()
		_ = s.d.Close(context.Background()) // a wrong end of it shows in what follows
	}
}

// settle lets the bubble's time pass until no worker moves any more, and compares.
func (s *schedule) settle() error {
	time.Sleep(100 * time.Millisecond)
	synctest.Wait()
	for i, msg := range s.offered {
		if err := s.messages[i].check(msg); err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
	}
	idle := s.idle()
	for _, drained := range s.drains {
		select {
		case err := <-drained:
			if err != nil {
				return err
			}
			if !idle {
				return errors.New("drain returned too soon")
			}
		default:
			if idle {
				return errors.New("drain did not return")
			}
		}
	}
	if idle {
		s.drains = nil
	}
	return nil
}

// end drains or closes, and looks for anything lost.
func (s *schedule) end() error {
	if s.rng.IntN(2) == 0 {
		s.model.close()
	} else if err := s.drain(); err != nil {
		return err
	}
	if err := s.d.Close(context.Background()); err != nil {
		return err
	}
	if err := s.settle(); err != nil {
		return fmt.Errorf("end: %w", err)
	}
	return checkNothingLost(s.harness, s.model, s.offered)
}

// drain lets all that waits succeed.
func (s *schedule) drain() error {
	s.d.ReleaseAll()
	s.release(math.MaxInt64)
	for _, o := range s.messages {
		select {
		case o.verdict <- succeed:
		default: // has its verdict
		}
	}
	for !s.idle() {
		for _, l := range s.lanes {
			if len(l.running) > 0 {
				s.finish(l, 0, nil)
			}
		}
	}
	return s.d.Drain(context.Background())
}

func checkNothingLost(h *harness, m *model, messages []*modelMessage) error {
	if s := h.d.Stats(); s.Outstanding != 0 || s.Workers != 0 {
		return fmt.Errorf("end: %+v", s)
	}
	for i, topic := range h.topics {
		s := topic.Stats()
		if s.InFlight != 0 || s.Waiting != 0 || s.WaitingBytes != 0 || s.Blocked != 0 || s.Pool != (dispatch.PoolStats{}) {
			return fmt.Errorf("end: topic %d: %+v", i, s)
		}
		var offered, taken, sent uint64
		dropped := flow.Drops{}
		for id, msg := range messages {
			if msg.topic != m.topics[i] {
				continue
			}
			offered++
			if h.messages[id].taken {
				taken++
			}
			if msg.fate == nil {
				sent++
			} else {
				dropped[flow.CauseOf(h.messages[id].fates[0])]++
			}
		}
		if s.Queued != taken || s.Sent != sent || fmt.Sprint(s.Dropped) != fmt.Sprint(dropped) {
			return fmt.Errorf("end: topic %d: %d offered, %d taken, %d sent, dropped %v; counted %+v", i, offered, taken, sent, dropped, s)
		}
	}
	return nil
}

// TestAgainstModel holds the dispatcher against the reference over random
// schedules of offers, verdicts, pauses, clock ticks, panics, drains and closes.
func TestAgainstModel(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	seed := uint64(time.Now().UnixNano())
	for i := range uint64(modelSchedules) {
		synctest.Test(t, func(t *testing.T) {
			require.NoError(t, runSchedule(rand.New(rand.NewPCG(seed, i))), "seed %d, schedule %d", seed, i)
		})
	}
}
