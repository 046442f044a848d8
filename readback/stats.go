package readback

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/gpu"
)

// Stats counts what a pool did since it was made. Started is always Completed plus all of
// Failed plus InFlight plus Ready, except while a completion is running.
type Stats struct {
	// Started: captures that Start returned. Completed: those that came back
	// with data; the others are in Failed.
	Started, Completed uint64
	Failed             Failures
	// Full: captures that were not made because of ErrFull. Refused: those that
	// were not made for any other reason; Start or Begin returned it.
	Full, Refused uint64
	// Panics of completions; their captures count as completed or failed.
	Panics uint64
	// InFlight: on the GPU. Ready: Poll found them finished, Process has not
	// taken them.
	InFlight, Ready int
	// Slots in all; Held: those in flight, ready or lent; Stuck: those out of
	// use after a timeout, until the GPU comes to their fence.
	Slots, Held, Stuck int
	// Latencies of completed captures. GPU: GPUBegin to GPUEnd. Fence: Started
	// to FenceSeen. Copy: FenceSeen to Ready. Queue: Ready to Completed. Total:
	// Started to Completed.
	GPU, Fence, Copy, Queue, Total flow.Latency
}

// Failures counts the captures that were completed with an error, by cause.
type Failures struct {
	Timeout, Fence, Source, ContextLost, Closed, Other uint64
}

// Stats returns the counts up to now, after Close too; none of a nil pool. Any goroutine.
func (p *Pool[D, E]) Stats() Stats {
	if p == nil {
		return Stats{}
	}
	held := 0
	for i := range p.slots {
		if !p.slots[i].memory.free() {
			held++
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.mu.stats
	s.InFlight = int(p.mu.tail - p.mu.pending)
	s.Ready = int(p.mu.pending - p.mu.head)
	s.Slots, s.Held, s.Stuck = len(p.slots), held, int(p.stuck.Load())
	return s
}

// count adds one completion.
func (s *Stats) count(err error, t *Times) {
	if err != nil {
		s.Failed.count(err)
		return
	}
	s.Completed++
	if !t.GPUBegin.IsZero() && !t.GPUEnd.IsZero() {
		s.GPU.Add(t.GPUEnd.Sub(t.GPUBegin))
	}
	s.Fence.Add(t.FenceSeen.Sub(t.Started))
	s.Copy.Add(t.Ready.Sub(t.FenceSeen))
	s.Queue.Add(t.Completed.Sub(t.Ready))
	s.Total.Add(t.Completed.Sub(t.Started))
}

func (f *Failures) count(err error) {
	switch {
	case errors.Is(err, gpu.ErrContextLost):
		f.ContextLost++
	case errors.Is(err, ErrClosed):
		f.Closed++
	case errors.Is(err, ErrTimeout):
		f.Timeout++
	case errors.Is(err, ErrFence):
		f.Fence++
	case errors.Is(err, ErrSource):
		f.Source++
	default:
		f.Other++
	}
}

// Errors of a Pool; callers test them with errors.Is. A lost context is
// gpu.ErrContextLost, here as everywhere.
var (
	// ErrFull: every slot is in flight, waits for Process, or is lent. The
	// capture is dropped and counted (law R4).
	ErrFull = errors.New("readback pool is full")
	// ErrClosed: the pool was closed, before the call or before the capture was completed.
	ErrClosed = errors.New("readback pool is closed")
	// ErrTimeout: the GPU did not reach the capture's fence within Config.Timeout.
	ErrTimeout = errors.New("gpu did not finish the capture in time")
	// ErrFence: the driver cannot tell any more whether the copy was made; its bytes are not to be trusted.
	ErrFence = errors.New("fence of the capture failed")
	// ErrElement: the element type can't be a view of GPU memory; see ElementError.
	ErrElement = errors.New("type is not a readback element")
	// ErrSize: a size or an offset is not positive, not whole elements, beyond
	// the source, or more than the pool's slots hold.
	ErrSize = errors.New("size is out of range")
	// ErrSource: the source is nil, closed, or can't be copied in the form that was asked for.
	ErrSource = errors.New("source can't be read back")
	// ErrConfig: New was given something that it can't work with.
	ErrConfig = errors.New("readback configuration is wrong")
)

// ElementError says which part of an element type can't be a view of GPU
// memory, and why. It is ErrElement to errors.Is.
type ElementError struct {
	Type   reflect.Type
	Field  string // path from Type, "Points[].Next"; empty for Type itself
	Reason string
}

func (e *ElementError) Error() string {
	name := e.Type.String()
	if e.Field != "" {
		name += ", field " + e.Field
	}
	return fmt.Sprintf("%v: %s: %s", ErrElement, name, e.Reason)
}

// Is makes every ElementError an ErrElement.
func (e *ElementError) Is(target error) bool { return target == ErrElement }
