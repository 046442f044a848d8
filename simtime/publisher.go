package simtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/raybridge/raybridge/flow"
)

// MaxPublishRate is the highest rate of a ClockPublisher, in Hz.
const MaxPublishRate = 1000

// Errors of a ClockPublisher.
var (
	// ErrNoPublish says that it was given nothing to publish with.
	ErrNoPublish = errors.New("no publish function")
	// ErrNoClock says that it was given no clock.
	ErrNoClock = errors.New("no clock")
	// ErrRunning says that Run was called while it is running already.
	ErrRunning = errors.New("clock publisher is running already")
)

// ClockPublisherConfig configures a ClockPublisher.
type ClockPublisherConfig struct {
	// Rate is how often the clock is published, by the host's time, whatever the
	// time scale; at most MaxPublishRate. (optional; default 100 Hz)
	Rate Rate
	// Publish sends the clock message of a simulation time in nanoseconds. It is
	// called by one goroutine at a time, and should be quick: what it takes is
	// lateness of the next message.
	Publish func(ctx context.Context, stamp Stamp) error
	// Run calls Observe right before it calls Publish for a deadline, on the same goroutine. It
	// tells the deadline by the host's clock, and how long ago it was. It should be as quick.
	// (optional)
	Observe func(deadline time.Time, lateness time.Duration)
	// Run calls Miss when it leaves deadlines out because the next was already due, with their number,
	// on the same goroutine. It should be as quick. (optional)
	Miss func(n uint64)
	// OwnThread gives Run an OS thread of its own, named Clock, of higher priority where the
	// system allows it. The thread sleeps in the kernel: some 0.1 ms late instead of 1 ms. It
	// sleeps by real time, so it is not for testing/synctest bubbles, and Run ends up to 20 ms
	// after its context. With the privilege for it (CAP_SYS_NICE, RLIMIT_RTPRIO) that thread is
	// a real-time one on Linux, Publish included, so that has to be quick. See ReserveProcs,
	// too. (optional)
	OwnThread bool
	// Logger receives failures, paced by a flow.Journal. (optional; default
	// slog.Default)
	Logger *slog.Logger
}

// ClockPublisher publishes a Clock at a fixed rate of host time, on absolute deadlines. So its
// own run time and the system's lateness don't add up (law T3). While the clock is paused it
// continues with the same stamp. All methods may be called from any goroutine.
type ClockPublisher struct {
	clock *Clock
	cfg   ClockPublisherConfig

	publishing sync.Mutex // held during Publish, so that stamps come in order

	mu       sync.Mutex
	rate     Rate          // guarded by mu
	rateSet  chan struct{} // closed, and replaced, when rate changes; guarded by mu
	stats    ClockPublisherStats
	failures flow.Journal // guarded by mu: of lines about them

	running atomic.Bool
}

// ClockPublisherStats counts what a ClockPublisher did.
type ClockPublisherStats struct {
	// Published counts the messages sent without error, Failed the others.
	Published, Failed uint64
	// Missed counts the deadlines left out because the next was already due.
	Missed uint64
	// LastStamp is the simulation time last published, in nanoseconds.
	LastStamp Stamp
	// Lateness is how long after its deadline each message's publishing began,
	// in host time.
	Lateness flow.Latency
	// Scheduling says what the system granted Run's own thread: "real time",
	// "nice -11", "short slice" or "unchanged"; "" without one.
	Scheduling string
}

// NewClockPublisher returns a publisher of the clock. Start it with Run, or call
// Publish where the loop makes the time. Errors wrap ErrRate, ErrNoPublish or
// ErrNoClock.
func NewClockPublisher(clock *Clock, cfg ClockPublisherConfig) (*ClockPublisher, error) {
	if cfg.Rate.IsZero() {
		cfg.Rate = Hz(100)
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	if clock == nil {
		return nil, fmt.Errorf("make clock publisher: %w", ErrNoClock)
	}
	if cfg.Publish == nil {
		return nil, fmt.Errorf("make clock publisher: %w", ErrNoPublish)
	}
	if err := checkPublishRate(cfg.Rate); err != nil {
		return nil, fmt.Errorf("make clock publisher: %w", err)
	}
	return &ClockPublisher{
		clock: clock, cfg: cfg, rate: cfg.Rate,
		rateSet: make(chan struct{}),
	}, nil
}

func checkPublishRate(r Rate) error {
	if r.IsZero() || r.f.num > MaxPublishRate*r.f.den {
		return fmt.Errorf("%w: %s Hz is outside (0, %d]", ErrRate, r, MaxPublishRate)
	}
	return nil
}

// SetRate changes the rate; a running publisher starts the new grid at once.
// The error wraps ErrRate.
func (p *ClockPublisher) SetRate(r Rate) error {
	if err := checkPublishRate(r); err != nil {
		return fmt.Errorf("set clock rate: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rate = r
	close(p.rateSet)
	p.rateSet = make(chan struct{})
	return nil
}

// Run publishes until ctx ends, then returns nil. Its caller gives it a
// goroutine of its own. A failing Publish is counted and logged and doesn't end
// it. The error wraps ErrRunning: one Run at a time.
func (p *ClockPublisher) Run(ctx context.Context) error {
	if !p.running.CompareAndSwap(false, true) {
		return fmt.Errorf("run clock publisher: %w", ErrRunning)
	}
	defer p.running.Store(false)
	if p.cfg.OwnThread {
		granted, release := takeThread(threadName)
		defer release()
		p.grant(granted)
	}
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for ctx.Err() == nil {
		p.mu.Lock()
		rate, rateSet := p.rate, p.rateSet
		p.mu.Unlock()
		p.runAt(ctx, rate, rateSet, timer)
	}
	return nil
}

// scheduledAsBefore says that the system granted nothing.
const scheduledAsBefore = "unchanged"

func (p *ClockPublisher) grant(scheduling string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats.Scheduling = scheduling
}

// threadName is the name of the publisher's own thread.
const threadName = "Clock"

// threadSleep is the longest sleep that can't be interrupted.
const threadSleep = 20 * time.Millisecond

// runAt publishes at one rate until it changes or ctx ends. The k-th deadline is
// start + rate.At(k), never the last one plus a period.
func (p *ClockPublisher) runAt(ctx context.Context, rate Rate, rateSet <-chan struct{}, timer *time.Timer) {
	start := time.Now()
	for k := int64(0); ; {
		deadline := start.Add(time.Duration(rate.At(k)))
		if !p.waitUntil(ctx, deadline, rateSet, timer) {
			return
		}
		p.observe(deadline, time.Since(deadline))
		_ = p.Publish(ctx) // counted and logged
		k++
		if due := rate.IndexAt(Stamp(time.Since(start))); due > k {
			p.miss(uint64(due - k))
			k = due
		}
	}
}

// waitUntil waits until an instant of host time and reports true, or false if
// ctx ended or the rate was set before.
func (p *ClockPublisher) waitUntil(ctx context.Context, deadline time.Time, rateSet <-chan struct{}, timer *time.Timer) bool {
	ended := func() bool {
		select {
		case <-rateSet:
			return true
		default:
			return ctx.Err() != nil
		}
	}
	for !ended() {
		left := time.Until(deadline)
		switch {
		case left <= 0:
			return true
		case p.cfg.OwnThread && left <= threadSleep:
			sleepThread(deadline)
			continue
		case p.cfg.OwnThread:
			left -= threadSleep / 2
		}
		timer.Reset(left)
		select {
		case <-ctx.Done():
		case <-rateSet:
		case <-timer.C:
		}
	}
	return false
}

func (p *ClockPublisher) observe(deadline time.Time, lateness time.Duration) {
	if p.cfg.Observe != nil {
		p.cfg.Observe(deadline, lateness)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats.Lateness.Add(lateness)
}

func (p *ClockPublisher) miss(n uint64) {
	if p.cfg.Miss != nil {
		p.cfg.Miss(n)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats.Missed += n
}

// Publish publishes the clock's time now: what Run does at each deadline, and
// what a stepped loop does at the ticks it wants. It returns the publish
// function's error, or its panic as an error; both are counted and logged.
func (p *ClockPublisher) Publish(ctx context.Context) error {
	p.publishing.Lock()
	defer p.publishing.Unlock()
	stamp := p.clock.Now()
	err := p.publishSafely(ctx, stamp)
	if failures := p.count(stamp, err); failures > 0 {
		p.cfg.Logger.Warn("publish clock failed", "failures", failures, "err", err)
	}
	return err
}

// count counts a result and returns how many failures are to be logged now.
func (p *ClockPublisher) count(stamp Stamp, err error) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		p.stats.Published++
		p.stats.LastStamp = stamp
		return 0
	}
	p.stats.Failed++
	untold, now := p.failures.Tell(time.Now())
	if !now {
		return 0
	}
	return untold + 1
}

func (p *ClockPublisher) publishSafely(ctx context.Context, stamp Stamp) (err error) {
	defer flow.Recover(&err)
	return p.cfg.Publish(ctx, stamp)
}

// Stats returns what was done so far.
func (p *ClockPublisher) Stats() ClockPublisherStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stats
}
