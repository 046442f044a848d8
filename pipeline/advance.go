package pipeline

import (
	"context"
	"errors"
	"math"
	"sync"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/simtime"
)

// arrival says where advance has got to.
type arrival uint8

const (
	there     arrival = iota // at an instant at which something is due
	ended                    // at the run's end, or the caller ended it
	nowhere                  // paused or stepped meanwhile: try again
	elsewhere                // the clock has jumped
)

// advance waits for the next instant, at the latest until, and advances the clock
// to it. A realtime loop that is late goes on to where the clock is, but visits
// every instant of the steps that a paused clock was told to go. Frame loop.
func (p *Pipeline) advance(r *run, until int64) (t int64, reached arrival, err error) {
	due := p.nextInstant()
	t = min(due, until)
	if reached := p.await(r, t); reached != there {
		return t, reached, nil
	}
	if p.config.Mode == Realtime {
		if lag := p.clock.Lag(t); lag > int64(p.config.Step) {
			t = min(t+lag, until)
		}
	}
	if p.clock.Jumps() != p.jumps { // what looks like lateness is a jump nobody has told of yet
		return t, elsewhere, nil
	}
	err = p.clock.Advance(t)
	switch {
	case errors.Is(err, simtime.ErrAhead):
		return t, nowhere, nil
	case errors.Is(err, simtime.ErrBackward):
		p.jumps = unknownJumps
		return t, elsewhere, nil
	case err != nil:
		return t, ended, err
	case due > t:
		p.moveTo(t)
		return t, ended, nil
	}
	return t, there, nil
}

// await waits until the loop may advance to t.
func (p *Pipeline) await(r *run, t int64) arrival {
	err := p.clock.WaitUntil(r.line.context(), t)
	switch {
	case r.loop.Err() != nil:
		return ended
	case err != nil: // it jumped, which also ends the line's context
		return elsewhere
	default:
		return there
	}
}

// moveTo sets the frame loop's instant.
func (p *Pipeline) moveTo(t int64) {
	p.elapsed.simulate(t - p.simNs.Swap(t))
}

// unknownJumps is no number of jumps: the loop has to follow the clock in any case.
const unknownJumps = math.MaxUint64

// follow makes the loop begin where the clock is, if that has a time of its own:
// sensors first fire after it.
func (p *Pipeline) follow() {
	if now := p.clock.Now(); now != p.simNs.Load() {
		p.jumpTo(now, now+1)
	}
}

// realign goes on from where the clock has jumped to, and returns how far that is. Of a
// jump that the loop has followed already it may be told once more: what has fired there
// doesn't fire again. before is called ahead of anything else.
func (p *Pipeline) realign(r *run, before func()) int64 {
	r.line.renew()
	jumps := p.clock.Jumps()
	if jumps == p.jumps {
		return 0
	}
	before()
	from, now := p.simNs.Load(), p.clock.Now()
	p.jumpTo(now, now)
	p.jumps = jumps // of another jump meanwhile advance learns before anything fires
	return now - from
}

// jumpTo sets the loop's instant without simulating what lies between; schedules
// go on with their first instant from first on.
func (p *Pipeline) jumpTo(now, first int64) {
	p.simNs.Store(now)
	p.lastNs = now
	p.moveScene(now, (*scene.History).Jump)
	for _, s := range p.live() {
		if s.joined.Load() && s.schedule != nil {
			s.schedule.Realign(first)
		}
	}
	if p.clockDue != nil {
		p.clockDue.Realign(first)
	}
}

// later returns t moved by d, without overflow for a run without end.
func later(t, d int64) int64 {
	if t == math.MaxInt64 || (d > 0 && t > math.MaxInt64-d) {
		return math.MaxInt64
	}
	return t + d
}

// timeline ends a context when the clock jumps, however the loop is occupied then:
// a wait that began before the jump would be for an instant without meaning.
type timeline struct {
	parent      context.Context
	unsubscribe func()

	mu     sync.Mutex
	ctx    context.Context    // guarded by mu
	cancel context.CancelFunc // guarded by mu
}

func newTimeline(parent context.Context, clock *simtime.Clock) *timeline {
	l := &timeline{parent: parent}
	l.renew()
	l.unsubscribe = clock.Subscribe(func(c simtime.Change) {
		if c.Jump() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.cancel()
		}
	})
	return l
}

// renew begins a new stretch of time; whoever does it reads the clock afterwards.
func (l *timeline) renew() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cancel != nil {
		l.cancel()
	}
	l.ctx, l.cancel = context.WithCancel(l.parent)
}

func (l *timeline) context() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ctx
}

func (l *timeline) end() {
	l.unsubscribe()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cancel()
}
