package readback_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/readback"
)

// instant is a driver whose commands cost nothing, so that what is measured is
// the pool; its fences all signal, or none.
type instant struct {
	gpu.Driver // panics on what the pool shouldn't call
	pending    bool
	next       gpu.Handle
	buffers    map[gpu.Handle][]byte
}

func (d *instant) Info() gpu.Info       { return gpu.Info{TimestampBits: 64} }
func (d *instant) Reset() error         { return nil }
func (d *instant) DebugErrors() []error { return nil }

func (d *instant) CreateBuffer(desc gpu.BufferDesc) (gpu.Handle, error) {
	d.next++
	d.buffers[d.next] = make([]byte, desc.Size)
	return d.next, nil
}

func (d *instant) MapBuffer(h gpu.Handle, _ int) ([]byte, error) { return d.buffers[h], nil }

func (d *instant) CopyBuffer(_, _ gpu.Handle, _, _, _ int) error { return nil }
func (d *instant) Barrier(gpu.BarrierBits) error                 { return nil }
func (d *instant) Flush() error                                  { return nil }

// CreateFence gives out a few handles in turn, as a driver's free list does.
func (d *instant) CreateFence() (gpu.Handle, error) {
	d.next = (d.next + 1) % 256
	return d.next + 1, nil
}

func (d *instant) PollFence(gpu.Handle) gpu.FenceStatus {
	if d.pending {
		return gpu.FencePending
	}
	return gpu.FenceSignaled
}

func (d *instant) CreateQuery() (gpu.Handle, error)                { d.next++; return d.next, nil }
func (d *instant) Timestamp(gpu.Handle) error                      { return nil }
func (d *instant) QueryResult(gpu.Handle) (int64, bool, error)     { return 0, true, nil }
func (d *instant) Clock() (gpuNs int64, host time.Time, err error) { return 0, time.Now(), nil }
func (d *instant) Delete(gpu.ObjectKind, gpu.Handle)               {}

// onInstant runs f on the GL thread of an instant driver, with a pool and a source.
func onInstant(t testing.TB, slots int, mode readback.CopyMode, f func(*gpu.Ctx, *instant, *readback.Pool[meta, uint32], readback.Source) error) {
	t.Helper()
	driver := &instant{buffers: map[gpu.Handle][]byte{}}
	thread, err := gpu.Start(func() (*gpu.Context, error) { return &gpu.Context{Driver: driver}, nil })
	require.NoError(t, err)
	defer func() { require.NoError(t, thread.Close()) }()
	pool, err := readback.New(readback.Config{Slots: slots, MaxElements: 16, CopyMode: mode},
		func(_ *readback.Capture[meta, uint32], l readback.Lease[uint32], _ error) { l.Release() })
	require.NoError(t, err)
	defer func() { require.NoError(t, pool.Close()) }()
	require.NoError(t, thread.Do(t.Context(), func(c *gpu.Ctx) error {
		src, err := c.NewBuffer(gpu.BufferDesc{Size: 64})
		if err != nil {
			return err
		}
		defer src.Close()
		return f(c, driver, pool, readback.Buffer(src))
	}))
}

// cycle is one capture from Begin to its completion. Completions belong to
// another goroutine; here that would only add its switches.
func cycle(c *gpu.Ctx, pool *readback.Pool[meta, uint32], src readback.Source) error {
	if err := pool.Begin(c); err != nil {
		return err
	}
	k, err := pool.Start(c, src, 1)
	if err != nil {
		return err
	}
	k.Data.id = 1
	if n := pool.Poll(c); n != 1 {
		return fmt.Errorf("poll made %d captures ready", n)
	}
	if n := pool.Process(); n != 1 {
		return fmt.Errorf("process completed %d captures", n)
	}
	return nil
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	if readback.Checking {
		t.Skip("checking builds lend copies")
	}
	for _, mode := range []readback.CopyMode{readback.CopyBeforeFence, readback.CopyAfterFence} {
		var allocs float64
		onInstant(t, 3, mode, func(c *gpu.Ctx, _ *instant, pool *readback.Pool[meta, uint32], src readback.Source) error {
			var failed error
			allocs = testing.AllocsPerRun(1000, func() {
				if err := cycle(c, pool, src); err != nil {
					failed = err
				}
			})
			return failed
		})
		require.Zero(t, allocs, "%v", mode)
	}
}

// A full pool is an answer, not an event.
func TestFullPoolAllocatesNothing(t *testing.T) {
	var allocs float64
	onInstant(t, 1, readback.CopyBeforeFence, func(c *gpu.Ctx, d *instant, pool *readback.Pool[meta, uint32], src readback.Source) error {
		d.pending = true
		if _, err := pool.Start(c, src, 0); err != nil {
			return err
		}
		allocs = testing.AllocsPerRun(100, func() {
			if _, err := pool.Start(c, src, 0); err == nil {
				t.Error("there was room")
			}
		})
		return nil
	})
	require.Zero(t, allocs)
}

func BenchmarkCapture(b *testing.B) {
	for _, mode := range []readback.CopyMode{readback.CopyBeforeFence, readback.CopyAfterFence} {
		b.Run(mode.String(), func(b *testing.B) {
			onInstant(b, 3, mode, func(c *gpu.Ctx, _ *instant, pool *readback.Pool[meta, uint32], src readback.Source) error {
				b.ReportAllocs()
				for b.Loop() {
					if err := cycle(c, pool, src); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
}

func BenchmarkPollPending(b *testing.B) {
	for _, pending := range []int{0, 1, 64} {
		for _, mode := range []readback.CopyMode{readback.CopyBeforeFence, readback.CopyAfterFence} {
			b.Run(fmt.Sprintf("%d/%v", pending, mode), func(b *testing.B) {
				onInstant(b, 64, mode, func(c *gpu.Ctx, d *instant, pool *readback.Pool[meta, uint32], src readback.Source) error {
					d.pending = true
					for range pending {
						if _, err := pool.Start(c, src, 0); err != nil {
							return err
						}
					}
					b.ReportAllocs()
					for b.Loop() {
						pool.Poll(c)
					}
					return nil
				})
			})
		}
	}
}
