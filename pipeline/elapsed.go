package pipeline

import (
	"sync"
	"time"
)

// elapsed adds up what a pipeline has spent. Any goroutine may use it.
type elapsed struct {
	mu        sync.Mutex
	startup   time.Duration
	wall      time.Duration // in finished runs, drain included
	running   time.Time     // when the current run began; zero between runs
	simulated int64         // nanoseconds, jumps of the clock left out
}

// start adds the time since begun to the start-up.
func (e *elapsed) start(begun time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.startup += time.Since(begun)
}

// run says that a run begins now; the returned function, that it has ended.
func (e *elapsed) run() (end func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.running = time.Now()
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.wall += time.Since(e.running)
		e.running = time.Time{}
	}
}

// simulate adds simulated nanoseconds.
func (e *elapsed) simulate(ns int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.simulated += ns
}

// seconds returns what was spent up to now.
func (e *elapsed) seconds() (startup, wall, simulated float64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	spent := e.wall
	if !e.running.IsZero() {
		spent += time.Since(e.running)
	}
	return e.startup.Seconds(), spent.Seconds(), float64(e.simulated) / 1e9
}
