package readback

import (
	"errors"
	"fmt"
	"iter"
	"math/bits"
	"reflect"
	"time"

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
	GPU, Fence, Copy, Queue, Total Latency
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
		s.GPU.add(t.GPUEnd.Sub(t.GPUBegin))
	}
	s.Fence.add(t.FenceSeen.Sub(t.Started))
	s.Copy.add(t.Ready.Sub(t.FenceSeen))
	s.Queue.add(t.Completed.Sub(t.Ready))
	s.Total.add(t.Completed.Sub(t.Started))
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

// Latency is a distribution of durations. A quantile is at most an eighth too
// long.
type Latency struct {
	Count      uint64
	Total, Max time.Duration
	buckets    [latencyBuckets]uint32
}

// Bucket i holds the durations whose bucketOf is i: 8 to an octave of nanoseconds, up to 2^37
// ns, over two minutes. The last one holds all longer ones, too.
const (
	latencyOctave  = 8
	latencyBuckets = 35 * latencyOctave
)

func bucketOf(d time.Duration) int {
	n := uint64(max(d, 0))
	if n < latencyOctave {
		return int(n)
	}
	shift := bits.Len64(n) - 4 // leaves 4 bits, the first of which is 1
	return min(shift*latencyOctave+int(n>>shift), latencyBuckets-1)
}

// bucketEnd returns the longest duration of a bucket.
func bucketEnd(i int) time.Duration {
	if i < 2*latencyOctave {
		return time.Duration(i)
	}
	shift := i/latencyOctave - 1
	return time.Duration((i%latencyOctave+latencyOctave+1)<<shift - 1)
}

func (l *Latency) add(d time.Duration) {
	l.Count++
	l.Total += d
	l.Max = max(l.Max, d)
	l.buckets[bucketOf(d)]++
}

// Quantile returns the duration that the fraction q, 0 to 1, of all durations
// don't exceed, 0 of no durations.
func (l *Latency) Quantile(q float64) time.Duration {
	if l.Count == 0 {
		return 0
	}
	rest := q * float64(l.Count)
	for i, n := range l.buckets[:latencyBuckets-1] {
		if rest -= float64(n); n > 0 && rest <= 0 {
			return min(bucketEnd(i), l.Max)
		}
	}
	return l.Max
}

// Buckets returns the distribution for a histogram: the longest duration of each
// bucket that holds some, shortest first, and how many it holds. The last bucket,
// of over two minutes, holds all that are longer, too. Buckets don't move, so that
// the counts of an earlier time can be subtracted.
func (l *Latency) Buckets() iter.Seq2[time.Duration, uint64] {
	return func(yield func(time.Duration, uint64) bool) {
		for i, n := range l.buckets {
			if n > 0 && !yield(bucketEnd(i), uint64(n)) {
				return
			}
		}
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

// PanicError is what a completion panicked with; it is handed to Config.OnError, and the pool
// continues.
type PanicError struct {
	Value any
	Stack []byte // of the goroutine that ran the completion
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("readback completion panicked: %v\n%s", e.Value, e.Stack)
}

// Unwrap returns the value that was panicked with where it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
