package dispatch

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"
)

// logPeriod is how often a topic logs one kind of failure at most.
const logPeriod = time.Second

// logSafely logs a line. A panic of the logger's handler goes no further (law D7);
// slog's default logger tells of it, if that is another one.
func logSafely(logger *slog.Logger, level slog.Level, message string, attrs ...any) {
	defer func() {
		if v := recover(); v != nil && logger != slog.Default() {
			logSafely(slog.Default(), slog.LevelError, "dispatch: the logger panicked",
				"panic", v, "line", message, "stack", string(debug.Stack()))
		}
	}()
	logger.Log(context.Background(), level, message, attrs...)
}

// failureLog logs one kind of failure of a topic: the first at once, and what
// follows once a period, with its number. Nothing is kept back for longer.
type failureLog struct {
	logger  *slog.Logger
	level   slog.Level
	message string
	topic   string

	mu      sync.Mutex
	last    time.Time   // of the last line; guarded by mu
	pending int         // failures since; guarded by mu
	err     error       // the youngest of them; guarded by mu
	timer   *time.Timer // flushes at the period's end; guarded by mu
	armed   bool        // guarded by mu
	closed  bool        // failures are logged at once; guarded by mu
}

func (l *failureLog) failed(err error) {
	l.mu.Lock()
	l.pending++
	l.err = err
	wait := logPeriod - time.Since(l.last)
	switch {
	case l.last.IsZero() || wait <= 0 || l.closed:
		l.mu.Unlock()
		l.flush()
		return
	case l.armed:
	case l.timer == nil:
		l.armed = true
		l.timer = time.AfterFunc(wait, l.flush)
	default:
		l.armed = true
		l.timer.Reset(wait)
	}
	l.mu.Unlock()
}

// flush logs the failures that were kept back. No lock is held while logging,
// since the logger may publish.
func (l *failureLog) flush() {
	l.mu.Lock()
	pending, err := l.pending, l.err
	l.pending, l.err, l.armed = 0, nil, false
	l.last = time.Now()
	if l.timer != nil {
		l.timer.Stop()
	}
	l.mu.Unlock()
	if pending == 0 {
		return
	}
	attrs := []any{"topic", l.topic, "failures", pending, "err", err}
	var panicked *PanicError
	if errors.As(err, &panicked) {
		attrs = append(attrs, "stack", string(panicked.Stack))
	}
	logSafely(l.logger, l.level, l.message, attrs...)
}

// close logs what was kept back and keeps nothing back any more.
func (l *failureLog) close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.flush()
}

// logBlocked logs that callers have to wait (law D6), k's first, with what makes them.
// d.mu must be held; it is released while logging, since the logger may publish.
func (t *topic) logBlocked(k *task) {
	d := t.d
	attrs := []any{
		"topic", t.name, "waiting", t.queued, "bytes", t.bytes, "depth", t.cfg.Depth, "max_bytes", t.cfg.MaxBytes,
		"publish_time", time.Duration(t.cost), "running", t.running, "workers", d.workers, "max_workers", d.maxWorkers(),
	}
	d.mu.Unlock()
	returned := false
	defer func() {
		d.mu.Lock()
		if !returned {
			t.abort(k, admission{evicted: &taskList{}})
		}
	}()
	logSafely(d.cfg.Logger, slog.LevelWarn, "queue is full, the sender waits: lower the sensors' rates or choose a dropping policy", attrs...)
	returned = true
}
