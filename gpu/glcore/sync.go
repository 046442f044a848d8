//go:build cgo

package glcore

import (
	"errors"
	"time"

	"github.com/go-gl/gl/v4.5-core/gl"

	"github.com/raybridge/raybridge/gpu"
)

// fences gives GL's sync pointers small handles; slots are used again, so that a
// capture allocates nothing.
type fences struct {
	slots []uintptr
	free  []gpu.Handle
}

func (f *fences) add(sync uintptr) gpu.Handle {
	if n := len(f.free); n > 0 {
		h := f.free[n-1]
		f.free = f.free[:n-1]
		f.slots[h-1] = sync
		return h
	}
	f.slots = append(f.slots, sync)
	return gpu.Handle(len(f.slots))
}

func (f *fences) delete(h gpu.Handle) {
	gl.DeleteSync(f.slots[h-1])
	f.slots[h-1] = 0
	f.free = append(f.free, h)
}

// CreateFence implements gpu.Driver.
func (d *Driver) CreateFence() (gpu.Handle, error) {
	d.zink.settle()
	sync := gl.FenceSync(gl.SYNC_GPU_COMMANDS_COMPLETE, 0)
	if sync == 0 {
		return 0, errors.Join(errors.New("glFenceSync returned none"), drainErrors())
	}
	return d.fences.add(sync), nil
}

// PollFence implements gpu.Driver.
func (d *Driver) PollFence(h gpu.Handle) gpu.FenceStatus {
	switch gl.ClientWaitSync(d.fences.slots[h-1], 0, 0) {
	case gl.ALREADY_SIGNALED, gl.CONDITION_SATISFIED:
		return gpu.FenceSignaled
	case gl.TIMEOUT_EXPIRED:
		return gpu.FencePending
	default:
		return gpu.FenceFailed
	}
}

// CreateQuery implements gpu.Driver.
func (d *Driver) CreateQuery() (gpu.Handle, error) {
	var q uint32
	gl.CreateQueries(gl.TIMESTAMP, 1, &q)
	return gpu.Handle(q), nil
}

// Timestamp implements gpu.Driver.
func (d *Driver) Timestamp(h gpu.Handle) error {
	gl.QueryCounter(uint32(h), gl.TIMESTAMP)
	return nil
}

// QueryResult implements gpu.Driver.
func (d *Driver) QueryResult(h gpu.Handle) (ns int64, ready bool, err error) {
	gl.GetQueryObjectiv(uint32(h), gl.QUERY_RESULT_AVAILABLE, &d.answer.available)
	if d.answer.available == gl.FALSE {
		return 0, false, nil
	}
	gl.GetQueryObjecti64v(uint32(h), gl.QUERY_RESULT, &d.answer.ns)
	return d.answer.ns, true, nil
}

// clockSamples is how often Clock asks: the answer with the shortest round
// trip bounds the offset best.
const clockSamples = 3

// Clock implements gpu.Driver.
func (d *Driver) Clock() (gpuNs int64, host time.Time, err error) {
	if d.info.TimestampBits == 0 {
		return 0, time.Time{}, &gpu.UnsupportedError{Feature: "GPU timestamps", Need: "a driver whose QUERY_COUNTER_BITS is not 0"}
	}
	best := time.Duration(-1)
	for range clockSamples {
		var ns int64
		before := time.Now()
		gl.GetInteger64v(gl.TIMESTAMP, &ns)
		if trip := time.Since(before); best < 0 || trip < best {
			best, gpuNs, host = trip, ns, before.Add(trip/2)
		}
	}
	return gpuNs, host, nil
}
