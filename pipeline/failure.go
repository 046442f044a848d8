package pipeline

import (
	"errors"
	"sync"
)

// failure is the error that ends a pipeline's runs, and what ends the run that is under way. Any goroutine may
// use it.
type failure struct {
	mu     sync.Mutex
	err    error       // guarded by mu: what failed first
	cancel func(error) // guarded by mu: ends the current run; nil between runs
	stop   func(error) // guarded by mu: ends its loop alone
	again  *rewind     // guarded by mu: what is to be done when it has ended; only while cancel isn't nil
}

// rewind is a Reset that the one who runs the pipeline makes.
type rewind struct {
	seed uint64
	done chan error
}

// fail ends the current run with err; the first one counts.
func (f *failure) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.err = err
	}
	if f.cancel != nil {
		f.cancel(err)
	}
}

// failed returns what fail was given first.
func (f *failure) failed() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// begin makes a run the current one: cancel ends it, stop its loop alone. After a failure there is none, and begin
// returns what failed.
func (f *failure) begin(cancel, stop func(error)) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.cancel, f.stop = cancel, stop
	}
	return f.err
}

// rewind has the run that is under way begin again; false where none is.
func (f *failure) rewind(again *rewind) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stop == nil {
		return false
	}
	f.again = again
	f.stop(errRewound)
	return true
}

// errRewound ends a run's loop for a Reset.
var errRewound = errors.New("the run begins again")

// end ends the current run, whose own error is err. It returns the failure that ended it, else that error. It
// returns the Reset that ended it, too.
func (f *failure) end(err error) (again *rewind, _ error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	again = f.again
	f.cancel, f.stop, f.again = nil, nil, nil
	if f.err != nil {
		return again, f.err
	}
	return again, err
}
