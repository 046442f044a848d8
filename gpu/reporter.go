package gpu

import (
	"fmt"
	"sync"
)

// reporter hands errors to a callback on a goroutine of its own, so that the
// callback can't hold up the GL thread (law G4).
type reporter struct {
	errs chan error
	done chan struct{}
	once sync.Once

	mu   sync.Mutex
	lost int // errors that found errs full; guarded by mu
}

// reportBacklog is how many errors may wait for a slow callback before the
// rest are only counted.
const reportBacklog = 64

func startReporter(f func(error)) *reporter {
	r := &reporter{errs: make(chan error, reportBacklog), done: make(chan struct{})}
	go r.run(f)
	return r
}

// run hands errors on until stop. Another goroutine takes over where f ends this one.
func (r *reporter) run(f func(error)) {
	ended := false
	defer func() {
		if ended {
			close(r.done)
		} else {
			go r.run(f)
		}
	}()
	for err := range r.errs {
		f(err)
		if n := r.takeLost(); n > 0 {
			f(fmt.Errorf("%d more errors of the gl thread were not reported", n))
		}
	}
	ended = true
}

// report never waits.
func (r *reporter) report(err error) {
	select {
	case r.errs <- err:
	default:
		r.mu.Lock()
		r.lost++
		r.mu.Unlock()
	}
}

func (r *reporter) takeLost() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.lost
	r.lost = 0
	return n
}

// stop ends the goroutine after it has handed over what is queued; report must
// not be called any more.
func (r *reporter) stop() {
	r.once.Do(func() { close(r.errs) })
	<-r.done
}
