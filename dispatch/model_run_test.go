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

	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/dispatch"
)

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
	stamp int64
	body  []byte // its length is its size; every byte is its id
}

func (p *parcel) CopyToCache(dst *parcel) {
	dst.id, dst.stamp, dst.body = p.id, p.stamp, append(dst.body[:0], p.body...)
}
func (p *parcel) CacheKey() uint64 { return uint64(len(p.body) % 2) }
func (p *parcel) SizeBytes() int64 { return int64(len(p.body)) }
func (p *parcel) Stamp() int64     { return p.stamp }

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

// errPanic stands in the reference for any *PanicError.
var errPanic = errors.New("any PanicError")

func isPanic(err error) bool {
	var p *dispatch.PanicError
	return errors.As(err, &p)
}

var fateOf = [verdicts]error{succeed: nil, fail: errVerdict, panicNow: errPanic, goexit: errPanic}

// run makes one random schedule and returns the first difference from the
// reference.
func runSchedule(rng *rand.Rand) error {
	h := &harness{d: dispatch.New(dispatch.Config{Logger: quiet, MaxWorkers: 4, HoldLimit: 24 * time.Hour})}
	m := &model{tokens: map[int]bool{}, released: math.MinInt64}
	shared, sharedModel := dispatch.NewLane(h.d), &modelLane{}
	m.lanes = append(m.lanes, sharedModel)
	for i := range 4 {
		t := &modelTopic{
			policy: dispatch.Policy(rng.IntN(3)), depth: 1 + rng.IntN(4),
			maxBytes: int64(4 + rng.IntN(20)), gated: rng.IntN(3) == 0, lane: sharedModel,
		}
		cfg := dispatch.TopicConfig{Policy: t.policy, Depth: t.depth, MaxBytes: t.maxBytes, Gated: t.gated, Ordered: true}
		if i < 2 {
			cfg.Lane = shared
		} else {
			t.lane = &modelLane{}
			m.lanes = append(m.lanes, t.lane)
		}
		m.topics = append(m.topics, t)
		h.topics = append(h.topics, dispatch.NewTopic(h.d, fmt.Sprint(i), h.publish, cfg))
	}
	messages, err := randomOperations(rng, h, m)
	if err == nil {
		err = endSchedule(rng, h, m, messages)
	}
	if err != nil { // let the bubble end
		_ = h.d.Close(context.Background())
	}
	return err
}

func randomOperations(rng *rand.Rand, h *harness, m *model) (messages []*modelMessage, err error) {
	for op := range 60 {
		switch n := rng.IntN(100); {
		case n < 55:
			i := rng.IntN(len(m.topics))
			msg := &modelMessage{
				id: len(messages), topic: m.topics[i], token: rng.IntN(4),
				stamp: int64(rng.IntN(20)), bytes: int64(rng.IntN(10)),
			}
			messages = append(messages, msg)
			m.offer(msg)
			h.offer(i, msg, rng.IntN(8) == 0)
		case n < 85:
			l := m.lanes[rng.IntN(len(m.lanes))]
			if l.running != nil {
				v := verdict(rng.IntN(int(verdicts)))
				h.messages[l.running.id].verdict <- v
				m.finish(l, fateOf[v])
			}
		case n < 90:
			stamp := int64(rng.IntN(20))
			m.release(stamp)
			h.d.Release(stamp)
		case n < 94:
			m.paused = true
			h.d.Pause()
		case n < 99:
			m.paused = false
			h.d.Resume()
		default:
			i := rng.IntN(len(m.topics))
			m.closeTopics(m.topics[i])
			h.topics[i].Close()
		}
		if err := settleAndCheck(h, messages); err != nil {
			return nil, fmt.Errorf("operation %d: %w", op, err)
		}
	}
	return messages, nil
}

// settleAndCheck lets the bubble's time pass until no worker moves any more.
func settleAndCheck(h *harness, messages []*modelMessage) error {
	time.Sleep(20 * time.Millisecond)
	synctest.Wait()
	for i, msg := range messages {
		if err := h.messages[i].check(msg); err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
	}
	return nil
}

// endSchedule drains or closes, and looks for anything lost.
func endSchedule(rng *rand.Rand, h *harness, m *model, messages []*modelMessage) error {
	if rng.IntN(2) == 0 {
		m.closeTopics(m.topics...)
		for _, l := range m.lanes {
			if l.running != nil {
				m.finish(l, context.Canceled)
			}
		}
	} else {
		h.d.ReleaseAll()
		m.release(math.MaxInt64)
		for _, o := range h.messages {
			select {
			case o.verdict <- succeed:
			default: // has its verdict
			}
		}
		for slices.ContainsFunc(m.lanes, func(l *modelLane) bool { return l.running != nil }) {
			for _, l := range m.lanes {
				if l.running != nil {
					m.finish(l, nil)
				}
			}
		}
		if err := h.d.Drain(context.Background()); err != nil {
			return err
		}
	}
	if err := h.d.Close(context.Background()); err != nil {
		return err
	}
	if err := settleAndCheck(h, messages); err != nil {
		return fmt.Errorf("end: %w", err)
	}
	return checkNothingLost(h, m, messages)
}

func checkNothingLost(h *harness, m *model, messages []*modelMessage) error {
	if s := h.d.Stats(); s.Outstanding != 0 || s.Workers != 0 {
		return fmt.Errorf("end: %+v", s)
	}
	for i, topic := range h.topics {
		s := topic.Stats()
		if s.InFlight != 0 || s.Waiting != 0 || s.WaitingBytes != 0 || s.Blocked != 0 || s.Pool.Lent != 0 {
			return fmt.Errorf("end: topic %d: %+v", i, s)
		}
		var offered, taken, sent uint64
		dropped := map[dispatch.Cause]uint64{}
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
				dropped[dispatch.CauseOf(h.messages[id].fates[0])]++
			}
		}
		if s.Queued != taken || s.Sent != sent || fmt.Sprint(s.Dropped) != fmt.Sprint(dropped) {
			return fmt.Errorf("end: topic %d: %d offered, %d taken, %d sent, dropped %v; counted %+v", i, offered, taken, sent, dropped, s)
		}
	}
	return nil
}

// TestAgainstModel holds the dispatcher against the reference over random
// schedules of offers, verdicts, pauses, clock ticks, panics and closes.
func TestAgainstModel(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	for i := range uint64(modelSchedules) {
		synctest.Test(t, func(t *testing.T) {
			require.NoError(t, runSchedule(rand.New(rand.NewPCG(seed, i))), "seed %d, schedule %d", seed, i)
		})
	}
}
