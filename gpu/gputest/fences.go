package gputest

import (
	"fmt"
	"time"

	"github.com/raybridge/raybridge/gpu"
)

// FenceScript says how a fence answers its polls. The zero value signals at
// the first.
type FenceScript struct {
	Polls int  // polls that answer pending before it signals
	Hold  bool // pending until Signal or FailFence names it, maybe never
	Fail  bool // it fails instead of signalling
}

type fence struct {
	script FenceScript
	end    int // position in the command stream: what is before it is done once it signals
	polls  int
	number int
}

// SetFences gives the script of all fences made from now on.
func (f *Fake) SetFences(s FenceScript) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.script = s
}

// Fences returns how many fences were made so far. They are numbered from 0 in
// the order of their making.
func (f *Fake) Fences() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.fences)
}

// Signal lets fence n signal at its next poll, in any order; unlike a GPU's,
// an early fence does not signal with a later one.
func (f *Fake) Signal(n int) { f.setScript(n, FenceScript{}) }

// FailFence makes fence n fail at its next poll.
func (f *Fake) FailFence(n int) { f.setScript(n, FenceScript{Fail: true}) }

func (f *Fake) setScript(n int, s FenceScript) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fences[n].script = s
}

// CreateFence implements gpu.Driver.
func (f *Fake) CreateFence() (gpu.Handle, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	number := len(f.fences)
	if err := f.begin("CreateFence", " %d", number); err != nil {
		return 0, err
	}
	x := &fence{script: f.script, end: f.done + len(f.pending), number: number}
	f.fences = append(f.fences, x)
	return f.add(gpu.ObjectFence, &object{name: "fence", fence: x}), nil
}

// PollFence implements gpu.Driver.
func (f *Fake) PollFence(h gpu.Handle) gpu.FenceStatus {
	f.mu.Lock()
	defer f.mu.Unlock()
	x := f.find(gpu.ObjectFence, h).fence
	status := f.poll(x)
	if !f.quiet {
		f.log = append(f.log, fmt.Sprintf("PollFence %d = %v", x.number, status))
	}
	return status
}

func (f *Fake) poll(x *fence) gpu.FenceStatus {
	switch {
	case f.scripted("PollFence") != nil:
		return gpu.FenceFailed
	case x.script.Hold:
		return gpu.FencePending
	case x.polls < x.script.Polls:
		x.polls++
		return gpu.FencePending
	case x.script.Fail:
		return gpu.FenceFailed
	default:
		f.execute(x.end)
		return gpu.FenceSignaled
	}
}

// CreateQuery implements gpu.Driver.
func (f *Fake) CreateQuery() (gpu.Handle, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.begin("CreateQuery", ""); err != nil {
		return 0, err
	}
	return f.add(gpu.ObjectQuery, &object{name: "timestamp"}), nil
}

// tick is how far the fake GPU's clock goes from one timestamp to the next.
const tick = int64(time.Microsecond)

// Timestamp implements gpu.Driver. Each later timestamp is a microsecond later.
func (f *Fake) Timestamp(h gpu.Handle) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.begin("Timestamp", ""); err != nil {
		return err
	}
	q := f.find(gpu.ObjectQuery, h)
	q.stamped = false
	f.defers(func() {
		f.gpuNow += tick
		q.stamp, q.stamped = f.gpuNow, true
	})
	return nil
}

// QueryResult implements gpu.Driver.
func (f *Fake) QueryResult(h gpu.Handle) (ns int64, ready bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	q := f.find(gpu.ObjectQuery, h)
	if err := f.begin("QueryResult", " ready=%v", q.stamped); err != nil {
		return 0, false, err
	}
	return q.stamp, q.stamped, nil
}

// Clock implements gpu.Driver: the host's clock is the GPU's, counted from
// NewFake's call.
func (f *Fake) Clock() (gpuNs int64, host time.Time, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.begin("Clock", ""); err != nil {
		return 0, time.Time{}, err
	}
	return f.gpuNow, f.epoch.Add(time.Duration(f.gpuNow)), nil
}

// Delay wraps an opener so that each fence answers pending to its first polls,
// however fast the GPU is: software OpenGL never does so by itself.
func Delay(open gpu.Opener, polls int) gpu.Opener {
	return func() (*gpu.Context, error) {
		glctx, err := open()
		if err != nil {
			return nil, err
		}
		wrapped := *glctx
		wrapped.Driver = &delayed{Driver: glctx.Driver, polls: polls, left: make(map[gpu.Handle]int)}
		return &wrapped, nil
	}
}

// delayed is a driver with slow fences; on the GL thread only.
type delayed struct {
	gpu.Driver
	polls int
	left  map[gpu.Handle]int // polls of each fence that answer pending yet
}

func (d *delayed) CreateFence() (gpu.Handle, error) {
	h, err := d.Driver.CreateFence()
	if err == nil {
		d.left[h] = d.polls
	}
	return h, err
}

func (d *delayed) PollFence(h gpu.Handle) gpu.FenceStatus {
	if d.left[h] > 0 {
		d.left[h]--
		return gpu.FencePending
	}
	return d.Driver.PollFence(h)
}

func (d *delayed) Delete(kind gpu.ObjectKind, h gpu.Handle) {
	if kind == gpu.ObjectFence {
		delete(d.left, h)
	}
	d.Driver.Delete(kind, h)
}
