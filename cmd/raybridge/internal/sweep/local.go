package sweep

import (
	"context"
	"sync"
)

// Local is the engine of one machine: it runs so many cases at a time, without a server or a port.
type Local struct {
	ctx     context.Context
	worker  *Worker
	slots   chan struct{} // one for each process
	cases   chan struct{} // one for each case that hasn't ended
	ends    chan End
	running sync.WaitGroup
}

// NewLocal makes an engine of jobs processes at a time. When ctx ends, so do they; what they did doesn't count then. Close
// ends the engine.
func NewLocal(ctx context.Context, w *Worker, jobs int) *Local {
	return &Local{ctx: ctx, worker: w, slots: make(chan struct{}, jobs), cases: make(chan struct{}, 2*jobs+1), ends: make(chan End)}
}

// Offer implements Engine.
func (l *Local) Offer(ctx context.Context, c *Case, tries int) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-l.ctx.Done():
		return l.ctx.Err()
	case l.cases <- struct{}{}:
	}
	l.running.Go(func() {
		l.ends <- l.run(c, tries)
		<-l.cases
	})
	return nil
}

// run runs a case. It is checked while another's process runs, and the next one's process starts while its result is
// hashed and waits for the disk.
func (l *Local) run(c *Case, tries int) End {
	if err := l.worker.check(c); err != nil {
		return End{Case: c, Result: Hopeless, Err: err, Code: codeUsage}
	}
	select {
	case <-l.ctx.Done():
		return End{Case: c, Result: Returned}
	case l.slots <- struct{}{}:
	}
	r := l.worker.run(l.ctx, c, tries)
	<-l.slots
	return r.file()
}

// End implements Engine.
func (l *Local) End(ctx context.Context) (End, error) {
	select {
	case e := <-l.ends:
		return e, nil
	case <-ctx.Done():
		return End{}, ctx.Err()
	}
}

// Close waits until all processes have ended. Nobody may call Offer or End any longer; ends that nobody took are lost,
// though not their results.
func (l *Local) Close() {
	done := make(chan struct{})
	go func() {
		l.running.Wait()
		close(done)
	}()
	for {
		select {
		case <-l.ends:
		case <-done:
			return
		}
	}
}
