package pipeline

import (
	"log/slog"
	"sync"
	"time"
)

// waitTold is how long a run waits before it says for what.
const waitTold = 2 * time.Second

// waiting tells people what a run waits for from outside, such as the next frame of its world. It says so
// in the log after a while, and in the summary up to the end of the wait. Any goroutine may use it.
type waiting struct {
	log   *slog.Logger
	mu    sync.Mutex
	timer *time.Timer // guarded by mu: nil before the first wait
	what  string      // guarded by mu: "" for nothing
	told  bool        // guarded by mu: of this wait
	last  string      // guarded by mu: what the log told of last
}

// await says what the run waits for from now on, "" for nothing.
func (w *waiting) await(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.what, w.told = what, false
	switch {
	case w.timer != nil && what == "":
		w.timer.Stop()
	case w.timer != nil:
		w.timer.Reset(waitTold)
	case what != "":
		w.timer = time.AfterFunc(waitTold, w.tell)
	}
}

// tell tells of the wait that is under way. The log has it once, until something else is waited for.
func (w *waiting) tell() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.what == "" {
		return
	}
	w.told = true
	if w.what != w.last {
		w.last = w.what
		w.log.Warn("the run waits", "for", w.what)
	}
}

// text returns what has been waited for long enough to be told, "" for nothing.
func (w *waiting) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.told {
		return ""
	}
	return w.what
}
