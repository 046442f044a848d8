package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/readback"
)

// captures has the GL thread issue the captures of instants, and looks after their readbacks. Any goroutine
// may use it.
type captures struct {
	gl     *gpu.Thread
	roster *roster
	fail   func(error)   // ends the run
	limit  time.Duration // for the device to come to rest

	wake    chan struct{}        // pinged when a capture may be ready
	issuing atomic.Int32         // instants handed to the GL thread and not yet issued
	polling atomic.Bool          // a look at the readbacks waits for its turn on the GL thread
	pollHop func(*gpu.Ctx) error // pollInTurn, made once
}

func newCaptures(gl *gpu.Thread, list *roster, timeout time.Duration, fail func(error)) *captures {
	c := &captures{gl: gl, roster: list, fail: fail, limit: max(settleLimit, 2*timeout), wake: make(chan struct{}, 1)}
	if timeout > readback.NoTimeout/2 {
		c.limit = readback.NoTimeout // for ever, as a capture may take
	}
	c.pollHop = c.pollInTurn
	return c
}

// settleLimit is how long the end of a run waits, at least, for the GL thread to have issued everything and for
// captures to come back.
const settleLimit = 10 * time.Second

// settle waits until the GL thread has done all that the loop gave it, so that
// nothing is captured after the run.
func (c *captures) settle() error {
	ctx, cancel := flow.WithPatience(context.Background(), c.limit)
	defer cancel()
	err := c.gl.Do(ctx, func(*gpu.Ctx) error { return nil })
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("end the run: the device has not come to rest within %v: %w", c.limit, context.Cause(ctx))
	}
	return nil // a lost context is told by Lost
}

// issuePatiently issues an instant's captures, see issue; where others keep the GL
// thread busy it waits, for what is stepped loses nothing.
func (c *captures) issuePatiently(ctx context.Context, i *instant, after func()) error {
	i.announce()
	for {
		err := c.issue(i, after)
		if !errors.Is(err, gpu.ErrBusy) {
			return err
		}
		select {
		case <-time.After(pollPause):
		case <-ctx.Done():
			return nil // the run has failed, and nobody waits for the instant
		}
	}
}

// errCapture is what a capture leaves that ended the GL thread's function; the
// log has its panic.
var errCapture = errors.New("the capture panicked")

// issue hands an instant's captures to the GL thread in one hop (law G2). after, if not nil, is
// called there when they are issued and must not wait. On an error nothing was handed over.
func (c *captures) issue(i *instant, after func()) error {
	i.issued = make(chan struct{})
	c.issuing.Add(1)
	err := c.gl.Go(func(ctx *gpu.Ctx) error {
		returned := false
		defer func() {
			if !returned {
				i.fail(errCapture)
			}
			c.issuing.Add(-1)
			close(i.issued)
			if after != nil {
				after()
			}
		}()
		c.capture(ctx, i)
		returned = true
		return nil
	})
	if err != nil {
		c.issuing.Add(-1)
	}
	return err
}

// capture issues an instant's captures, all in one submission to the GPU: the first poll of a new fence
// flushes. GL thread.
func (c *captures) capture(ctx *gpu.Ctx, i *instant) {
	i.tune()
	for k := range i.firings {
		f := &i.firings[k]
		if !f.sensor.gpu || f.err != nil {
			continue
		}
		if !f.sensor.users.Enter() { // it was ended before its turn came
			f.sensor.dropped(f.at, flow.CauseClosed)
			continue
		}
		f.captured, f.err = f.sensor.life.Load().Capture(ctx, f.at)
		f.sensor.users.Exit()
	}
	c.poll(ctx)
}

// poll moves all finished readbacks on. GL thread.
func (c *captures) poll(ctx *gpu.Ctx) {
	for _, s := range c.roster.list() {
		if s.gpu && s.users.Enter() {
			s.life.Load().Poll(ctx)
			s.users.Exit()
		}
	}
}

// pollPause is how long a completion waits before it asks the GL thread again
// for a fence that hasn't signalled.
const pollPause = 200 * time.Microsecond

// await waits until a capture may have become ready, and has the GL thread look after
// the readbacks. One such look waits for its turn at a time, for the GL thread may be busy with
// the next capture. A capture that this finds ready isn't kept waiting.
func (c *captures) await(ctx context.Context) error {
	if c.polling.CompareAndSwap(false, true) {
		err := c.gl.Go(c.pollHop)
		if err != nil {
			c.polling.Store(false)
		}
		if err != nil && !errors.Is(err, gpu.ErrBusy) {
			return err
		}
	}
	select {
	case <-c.wake:
	case <-time.After(pollPause):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// pollInTurn is await's look. GL thread.
func (c *captures) pollInTurn(ctx *gpu.Ctx) error {
	c.polling.Store(false)
	c.poll(ctx)
	return nil
}

// completed tells the completing goroutine that a capture may be ready. It never blocks.
func (c *captures) completed() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// complete publishes readbacks as they come back, until drain is closed
// and none is left, or ctx ends.
func (c *captures) complete(ctx context.Context, drain <-chan struct{}) {
	for {
		processed := 0
		for _, s := range c.roster.list() {
			if s.gpu && s.users.Enter() {
				processed += s.life.Load().Process(math.MaxInt64)
				s.users.Exit()
			}
		}
		if c.pending() == 0 {
			select {
			case <-drain:
				return
			case <-c.wake:
			case <-ctx.Done():
				return
			}
			continue
		}
		if processed == 0 && c.await(ctx) != nil {
			return
		}
	}
}

// pending counts the captures that were not yet published.
func (c *captures) pending() int {
	n := 0
	for _, s := range c.roster.list() {
		n += s.life.Load().Pending()
	}
	return n
}

// idle reports whether nothing is to be issued or published.
func (c *captures) idle() bool { return c.issuing.Load() == 0 && c.pending() == 0 }
