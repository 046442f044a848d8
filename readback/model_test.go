package readback_test

import (
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/readback"
	"github.com/raybridge/raybridge/simtime"
	"github.com/stretchr/testify/require"
)

var (
	modelSeed      = flag.Uint64("readback.seed", 0, "run this schedule of TestModel alone")
	modelSchedules = flag.Int("readback.schedules", 4000, "how many schedules TestModel runs")
)

// TestModel runs random schedules of requests, polls, resizes, losses and closing, and of
// fences that signal in any order, fail or never signal. A model says what must arrive when
// (laws R1, R2, R4, R5, R6).
func TestModel(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	if *modelSeed != 0 {
		runSchedule(t, *modelSeed)
		return
	}
	base := rand.Uint64()
	n := *modelSchedules
	switch {
	case testing.Short():
		n /= 10
	case readback.Checking:
		n /= 2 // the race detector is slow, and has TestConcurrentUse
	}
	for i := range n {
		seed := base + uint64(i)
		runSchedule(t, seed)
		if t.Failed() {
			t.Fatalf("schedule %d of %d; again with: go test ./readback -run TestModel -readback.seed=%d", i, n, seed)
		}
	}
}

func runSchedule(t *testing.T, seed uint64) {
	synctest.Test(t, func(t *testing.T) {
		m := newModel(t, rand.New(rand.NewPCG(seed, 0)))
		for range 40 + m.rand.IntN(100) {
			m.step()
		}
		m.end()
	})
}

const (
	modelTimeout = time.Second
	modelWords   = 8 // in each source
)

// modelStage is where a capture is.
type modelStage int

const (
	atSource modelStage = iota // its copy waits for a fence
	atCopy                     // its copy was issued
	atFailed                   // its copy failed
)

type modelCapture struct {
	id       int
	data     []uint32
	stage    modelStage
	fence    int
	fencedAt time.Time
	source   *modelSource
	outcome  error // sentinel
}

// modelSource is a buffer and how many captures hold it.
type modelSource struct {
	buffer *gpu.Buffer
	holds  int
	closed bool
}

// modelLease is a lease that the completion kept.
type modelLease struct {
	lease readback.Lease[uint32]
	owner int // capture id
	data  []uint32
}

// model is the expectation beside a rig.
type model struct {
	*rig
	t       *testing.T
	rand    *rand.Rand
	cfg     readback.Config
	room    int // elements a slot holds
	nextID  int
	sources []*modelSource

	flight []*modelCapture // not ready, oldest first
	ready  []*modelCapture
	stuck  []*modelCapture // timed out, fence not signalled
	fences map[int]gpu.FenceStatus
	leases []modelLease
	keep   bool // completions keep their lease
	panics bool // completions panic
	lost   bool
}

func newModel(t *testing.T, r *rand.Rand) *model {
	m := &model{t: t, rand: r, fences: map[int]gpu.FenceStatus{}}
	m.cfg = readback.Config{
		Slots:       1 + r.IntN(5),
		MaxElements: modelWords,
		Timeout:     modelTimeout,
		CopyMode:    readback.CopyBeforeFence + readback.CopyMode(r.IntN(2)),
		NoTimers:    r.IntN(2) == 0,
		OnError:     func(error) {},
	}
	m.room = m.cfg.MaxElements
	m.rig = newRig(t, m.cfg)
	m.rig.onDone = m.onCompletion
	m.fake.StopLog()
	m.pool.SetChecking(r.IntN(2) == 0)
	m.fake.SetFences(gputest.FenceScript{Hold: true})
	for range 3 {
		m.sources = append(m.sources, &modelSource{buffer: m.buffer(make([]uint32, modelWords)...)})
	}
	return m
}

func (m *model) onCompletion(k *readback.Capture[meta, uint32], l readback.Lease[uint32], err error) {
	switch {
	case m.panics:
		panic("scripted")
	case m.keep && err == nil:
		m.leases = append(m.leases, modelLease{l, k.Data.id, l.AppendTo(nil)})
	default:
		l.Release()
	}
}

// used is how many slots are taken: by captures in flight, ready or stuck, and
// by captures whose lease is out.
func (m *model) used() int {
	taken := map[int]bool{}
	for _, k := range slices.Concat(m.flight, m.ready, m.stuck) {
		taken[k.id] = true
	}
	for _, l := range m.leases {
		taken[l.owner] = true
	}
	return len(taken)
}

func (m *model) expectLoss() int {
	n := len(m.flight)
	for _, k := range m.flight {
		k.outcome = gpu.ErrContextLost
	}
	m.ready = append(m.ready, m.flight...)
	m.flight, m.stuck = nil, nil
	for _, s := range m.sources {
		s.holds = 0
	}
	return n
}

// expectPoll says what a poll makes of the captures in flight; nextFence is the
// number of the first fence that it makes.
func (m *model) expectPoll(nextFence int) (ready int) {
	m.stuck = slices.DeleteFunc(m.stuck, func(k *modelCapture) bool {
		free := m.fences[k.fence] != gpu.FencePending
		if free && k.stage == atSource {
			k.source.holds--
		}
		return free
	})
	for {
		for _, k := range m.flight {
			if k.stage != atSource {
				continue
			}
			status := m.fences[k.fence]
			if status == gpu.FencePending {
				break
			}
			k.source.holds--
			switch {
			case status == gpu.FenceFailed:
				k.stage, k.outcome = atFailed, readback.ErrFence
			case k.source.closed:
				k.stage, k.outcome = atFailed, readback.ErrSource
			default:
				k.stage, k.fence, k.fencedAt = atCopy, nextFence, time.Now()
				nextFence++
			}
		}
		if len(m.flight) == 0 || !m.expectHead() {
			return ready
		}
		m.ready = append(m.ready, m.flight[0])
		m.flight = m.flight[1:]
		ready++
	}
}

// expectHead reports whether the oldest capture in flight is finished.
func (m *model) expectHead() bool {
	k := m.flight[0]
	if k.stage == atFailed {
		return true
	}
	status := gpu.FencePending
	if k.stage == atCopy {
		status = m.fences[k.fence]
	}
	switch {
	case status == gpu.FenceFailed:
		k.outcome = readback.ErrFence
	case status == gpu.FenceSignaled:
	case time.Since(k.fencedAt) >= modelTimeout:
		k.outcome = readback.ErrTimeout
		m.stuck = append(m.stuck, k)
	default:
		return false
	}
	return true
}

// expectArrivals compares what the completions saw with captures (R1, R2).
func (m *model) expectArrivals(want []*modelCapture) {
	require.Len(m.t, m.got, len(want))
	for i, k := range want {
		got := m.got[i]
		require.Equal(m.t, k.id, got.id)
		require.EqualValues(m.t, simtime.Stamp(k.id), got.stamp)
		if k.outcome == nil {
			require.NoError(m.t, got.err)
			require.Equal(m.t, k.data, got.data, "bytes of capture %d", k.id)
		} else {
			require.ErrorIs(m.t, got.err, k.outcome)
			require.Empty(m.t, got.data)
		}
	}
}

func (m *model) compare() {
	require.Equal(m.t, len(m.flight)+len(m.ready), m.pool.Pending())
	for _, l := range m.leases {
		require.Equal(m.t, l.data, l.lease.Slice(), "a lent slot was written (R5)")
	}
	for _, s := range m.sources {
		require.Equal(m.t, s.holds > 0, m.pool.Holds(s.buffer), "hold of a source")
	}
	s := m.pool.Stats()
	require.Equal(m.t, len(m.flight), s.InFlight)
	require.Equal(m.t, len(m.ready), s.Ready)
	require.Equal(m.t, len(m.stuck), s.Stuck)
	require.Equal(m.t, s.Started, s.Completed+failed(s.Failed)+uint64(s.InFlight+s.Ready))
}

// drain lets all fences signal and polls beside a Drain until it returns, with
// everything completed in order (R6).
func (m *model) drain() {
	m.got, m.keep, m.panics = nil, false, false
	m.fake.SetFences(gputest.FenceScript{})
	fences := m.fake.Fences()
	for n := range fences {
		if m.fences[n] == gpu.FencePending {
			m.fake.Signal(n)
			m.fences[n] = gpu.FenceSignaled
		}
	}
	// The fences of copies that are issued from now on signal at once.
	for n := range len(m.flight) {
		m.fences[fences+n] = gpu.FenceSignaled
	}
	drained := make(chan error, 1)
	go func() { drained <- m.pool.Drain(m.t.Context()) }()
	synctest.Wait()
	m.stepPoll()
	require.NoError(m.t, <-drained)
	require.Empty(m.t, m.flight)
	m.expectArrivals(m.ready)
	m.ready = nil
	m.compare()
}

// end drains where it may, closes, and gives everything back.
func (m *model) end() {
	if !m.lost && m.rand.IntN(2) == 0 {
		m.drain()
	}
	m.got, m.keep, m.panics = nil, false, m.rand.IntN(10) == 0
	rest := slices.Concat(m.ready, m.flight)
	for _, k := range rest {
		k.outcome = readback.ErrClosed
	}
	require.NoError(m.t, m.pool.Close())
	m.expectArrivals(rest)
	m.flight, m.ready = nil, nil
	stats := m.pool.Stats()
	require.Zero(m.t, stats.InFlight)
	require.Zero(m.t, stats.Ready)
	require.Equal(m.t, stats.Started, stats.Completed+failed(stats.Failed))
	for _, l := range m.leases {
		require.Equal(m.t, l.data, l.lease.Slice(), "closing took lent bytes")
	}
	for len(m.leases) > 0 {
		m.release(0)
	}
	err := m.thread.Do(m.t.Context(), func(c *gpu.Ctx) error {
		require.Zero(m.t, m.pool.Poll(c))
		_, err := m.pool.Start(c, readback.Buffer(m.sources[0].buffer), 0)
		return err
	})
	if !errors.Is(err, readback.ErrClosed) && !errors.Is(err, gpu.ErrContextLost) {
		m.t.Error(fmt.Errorf("start after close: %w", err))
	}
}

// step does one random thing and compares.
func (m *model) step() {
	switch n := m.rand.IntN(100); {
	case n < 28:
		m.stepStart()
	case n < 50:
		m.stepFence()
	case n < 70:
		m.stepPoll()
	case n < 82:
		m.stepProcess()
	case n < 90:
		m.stepLease()
	case n < 94:
		time.Sleep(time.Duration(m.rand.Int64N(int64(modelTimeout) * 2 / 3)))
	case n < 96:
		m.room = 1 + m.rand.IntN(modelWords)
		require.NoError(m.t, m.pool.Resize(m.room))
	case n < 97 && m.rand.IntN(4) == 0:
		m.fake.Lose()
		m.lost = true
	case n < 98:
		m.stepCloseSource()
	case n < 99:
		m.stepDrain()
	}
	m.compare()
}

func (m *model) stepStart() {
	at := slices.IndexFunc(m.sources, func(s *modelSource) bool { return s.holds == 0 && !s.closed })
	if at < 0 {
		return
	}
	src := m.sources[at]
	id := m.nextID
	m.nextID++
	offset := m.rand.IntN(modelWords)
	n := 1 + m.rand.IntN(modelWords-offset)
	contents := make([]byte, 0, 4*modelWords)
	var words []uint32
	for i := range uint32(modelWords) {
		words = append(words, uint32(id)<<8|i)
		contents = binary.LittleEndian.AppendUint32(contents, words[i])
	}
	fence := m.fake.Fences()
	err := m.thread.Do(m.t.Context(), func(c *gpu.Ctx) error {
		if m.rand.IntN(3) == 0 {
			if err := m.pool.Begin(c); err != nil {
				return err
			}
		}
		if err := c.WriteBuffer(src.buffer, 0, contents); err != nil {
			return err
		}
		k, err := m.pool.Start(c, readback.BufferRange(src.buffer, 4*offset, 4*n), simtime.Stamp(id))
		if err == nil {
			k.Data.id = id
		}
		return err
	})
	switch {
	case m.lost:
		require.ErrorIs(m.t, err, gpu.ErrContextLost)
	case m.used() >= m.cfg.Slots:
		require.ErrorIs(m.t, err, readback.ErrFull)
	case n > m.room:
		require.ErrorIs(m.t, err, readback.ErrSize)
	default:
		require.NoError(m.t, err)
		k := &modelCapture{id: id, data: words[offset : offset+n], fence: fence, fencedAt: time.Now(), source: src, stage: atCopy}
		if m.cfg.CopyMode == readback.CopyAfterFence {
			k.stage = atSource
			src.holds++
		}
		m.flight = append(m.flight, k)
	}
}

// stepFence lets one of the fences that matter signal or fail, in any order.
func (m *model) stepFence() {
	var open []int
	for _, k := range slices.Concat(m.flight, m.stuck) {
		if k.stage != atFailed && m.fences[k.fence] == gpu.FencePending {
			open = append(open, k.fence)
		}
	}
	if len(open) == 0 {
		return
	}
	fence := open[m.rand.IntN(len(open))]
	if m.rand.IntN(2) == 0 {
		fence = slices.Min(open) // as a GPU does
	}
	if m.rand.IntN(12) == 0 {
		m.fake.FailFence(fence)
		m.fences[fence] = gpu.FenceFailed
		return
	}
	m.fake.Signal(fence)
	m.fences[fence] = gpu.FenceSignaled
}

func (m *model) stepPoll() {
	fences := m.fake.Fences()
	got := 0
	err := m.thread.Do(m.t.Context(), func(c *gpu.Ctx) error {
		got = m.pool.Poll(c)
		return nil
	})
	var want int
	if m.lost {
		require.ErrorIs(m.t, err, gpu.ErrContextLost)
		want = m.expectLoss()
	} else {
		require.NoError(m.t, err)
		want = m.expectPoll(fences)
	}
	require.Equal(m.t, want, got, "captures that a poll makes ready")
}

func (m *model) stepProcess() {
	m.keep, m.panics = m.rand.IntN(2) == 0, m.rand.IntN(10) == 0
	want := len(m.ready)
	m.got = nil
	if m.rand.IntN(3) == 0 && want > 0 {
		// Stamps are ids, so they grow.
		want = m.rand.IntN(want + 1)
		through := int64(m.ready[0].id) - 1
		if want > 0 {
			through = int64(m.ready[want-1].id)
		}
		require.Equal(m.t, want, m.pool.ProcessThrough(simtime.Stamp(through)))
	} else {
		require.Equal(m.t, want, m.pool.Process())
	}
	m.expectArrivals(m.ready[:want])
	m.ready = m.ready[want:]
}

// stepDrain drains with a context that ends soon: nobody polls meanwhile, so that
// what is ready completes and what is in flight stays (R6).
func (m *model) stepDrain() {
	m.got, m.keep, m.panics = nil, m.rand.IntN(2) == 0, false
	ctx, cancel := context.WithTimeout(m.t.Context(), time.Nanosecond)
	defer cancel()
	err := m.pool.Drain(ctx)
	if len(m.flight) > 0 {
		require.ErrorIs(m.t, err, context.DeadlineExceeded)
	} else {
		require.NoError(m.t, err)
	}
	m.expectArrivals(m.ready)
	m.ready = nil
}

func (m *model) stepLease() {
	if len(m.leases) == 0 {
		return
	}
	at := m.rand.IntN(len(m.leases))
	l := m.leases[at]
	if m.rand.IntN(4) == 0 {
		more, ok := l.lease.Retain()
		require.True(m.t, ok)
		m.leases = append(m.leases, modelLease{more, l.owner, l.data})
		return
	}
	m.release(at)
}

func (m *model) release(at int) {
	l := m.leases[at].lease
	m.leases = slices.Delete(m.leases, at, at+1)
	l.Release()
	l.Release() // does nothing
	require.Nil(m.t, l.Slice())
	_, ok := l.Retain()
	require.False(m.t, ok)
}

// stepCloseSource closes a source, maybe while a copy of it is to come, and
// makes another.
func (m *model) stepCloseSource() {
	if m.lost {
		return
	}
	at := m.rand.IntN(len(m.sources))
	m.sources[at].buffer.Close()
	m.sources[at].closed = true
	m.sources[at] = &modelSource{buffer: m.buffer(make([]uint32, modelWords)...)}
}

// failed counts the captures that failed, by whatever cause.
func failed(f readback.Failures) uint64 {
	return f.Timeout + f.Fence + f.Source + f.ContextLost + f.Closed + f.Other
}
