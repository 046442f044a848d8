package sensors

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/readback"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// RingSlots is how many captures of a Ring may be on their way back (law R4).
const RingSlots = 4

// ringTargets is how many captures the GPU may write before the first must have been copied.
// Copies after the fence need a source that stands still.
const ringTargets = 2

// Capture is what travels with one capture of a Ring, from its GPU work to its publication (law R3).
type Capture[D any] struct {
	At     Tick
	Header sample.Header
	Data   D // the sensor's own
}

// Ring brings the captures of one sensor from the GPU to its outputs: buffers that the GPU
// writes in turn, and a readback pool. Where the GPU's memory is the host's, it writes the pool's
// buffers, and nothing is copied. D is what travels with a capture, E the record that the GPU
// writes; see readback.Pool for what it may be.
//
// A sensor that embeds a Ring has Tick, Poll, Process, Pending and ReadbackStats of it. It calls
// Open and Make in its Begin, Take and Start in its Capture, and Close in its End. A capture for
// which there is no room is counted as readback_full and isn't made. One that doesn't come back
// is counted as readback_failed, one that Close finds under way as closed. Every other
// error is the caller's, and ends the run.
type Ring[D, E any] struct {
	env     *Env
	label   string
	pool    *readback.Pool[Capture[D], E] // nil before Make
	publish func(*Capture[D], readback.Lease[E])

	// Owned by the GL thread.
	records int // of a capture
	most    int // bytes that a shader can write of it
	targets [ringTargets]*gpu.Buffer
	next    int
	target  *gpu.Buffer // of the capture between Take and Start
	at      Tick        // its firing
}

// Open gives publish each capture that comes back, in Process: the lease ends when it
// returns, unless it retains it. Without a GL thread the error wraps a *gpu.UnsupportedError.
func (r *Ring[D, E]) Open(spec *Spec, env *Env, publish func(*Capture[D], readback.Lease[E])) error {
	r.env, r.label, r.publish = env, spec.Name, publish
	if env.GL == nil {
		return fmt.Errorf("begin %s: %w", spec.Name, &gpu.UnsupportedError{Feature: "OpenGL", Need: "a pipeline with a GL thread"})
	}
	return nil
}

// Make makes the pool and the buffers for captures of so many records. It fails with gpu.ErrLimit
// if the device's shaders can't write as much. GL thread.
func (r *Ring[D, E]) Make(c *gpu.Ctx, records int) (err error) {
	r.most = c.Info().Limits.MaxStorageBlockBytes
	if err := r.fits(records); err != nil {
		return err
	}
	r.pool, err = readback.New(readback.Config{
		Label: r.label, Slots: RingSlots, MaxElements: records, Timeout: r.env.DeviceTimeout,
		Notify: r.env.Completed,
	}, r.complete)
	if err != nil {
		return err
	}
	r.records = records
	if !c.Info().HostMemory {
		for i := range r.targets {
			if r.targets[i], err = r.buffer(c); err != nil {
				return err
			}
		}
	}
	return r.pool.Prepare(c)
}

// Resize lets captures have so many records from the next Take on. Those under way keep
// theirs. Its errors are those of Make. GL thread.
func (r *Ring[D, E]) Resize(records int) error {
	if err := r.fits(records); err != nil {
		return err
	}
	r.records = records
	return r.pool.Resize(records)
}

// fits reports whether a shader can write captures of so many records.
func (r *Ring[D, E]) fits(records int) error {
	var record E
	if bytes := records * int(unsafe.Sizeof(record)); bytes > r.most {
		return fmt.Errorf("%s: %w: %d bytes a capture, its storage blocks have at most %d", r.label, gpu.ErrLimit, bytes, r.most)
	}
	return nil
}

// buffer makes a target.
func (r *Ring[D, E]) buffer(c *gpu.Ctx) (*gpu.Buffer, error) {
	return c.NewBuffer(gpu.BufferDesc{Label: r.label + " records", Size: r.bytes()})
}

// bytes is the size of a target.
func (r *Ring[D, E]) bytes() int {
	var record E
	return r.records * int(unsafe.Sizeof(record))
}

// Take returns the buffer that the capture of a firing is to be written to, or nil where there
// is no room, which it counts. GL thread.
func (r *Ring[D, E]) Take(c *gpu.Ctx, at Tick) (*gpu.Buffer, error) {
	r.target, r.at = nil, at
	err := r.pool.Begin(c)
	if err == nil {
		r.target, err = r.pool.Target(c)
	}
	for i := 0; err == nil && r.target == nil && i < ringTargets; i++ {
		if !r.pool.Holds(r.targets[r.next]) {
			r.target, err = r.sized(c, r.next)
		}
		r.next = (r.next + 1) % ringTargets
	}
	if r.target == nil && (err == nil || errors.Is(err, readback.ErrFull)) {
		return nil, r.full()
	}
	return r.target, err
}

// sized returns a target that nothing is read from any more, in its present size.
func (r *Ring[D, E]) sized(c *gpu.Ctx, i int) (*gpu.Buffer, error) {
	if r.targets[i].Size() == r.bytes() {
		return r.targets[i], nil
	}
	b, err := r.buffer(c)
	if err != nil {
		return nil, err
	}
	r.targets[i].Close()
	r.targets[i] = b
	return b, nil
}

// full counts a capture for which there is no room.
func (r *Ring[D, E]) full() error {
	r.env.Dropped(r.at, flow.CauseReadbackFull)
	return nil
}

// Start reads back what the commands so far write to Take's buffer. issued is false where
// there is no room after all, which it counts. GL thread.
func (r *Ring[D, E]) Start(c *gpu.Ctx, k Capture[D]) (issued bool, err error) {
	return r.start(c, k, readback.Buffer(r.target))
}

// StartRange is Start for some of the buffer's records alone: so many from first on, at
// least one. The lease has these. GL thread.
func (r *Ring[D, E]) StartRange(c *gpu.Ctx, k Capture[D], first, records int) (issued bool, err error) {
	var record E
	size := int(unsafe.Sizeof(record))
	return r.start(c, k, readback.BufferRange(r.target, first*size, records*size))
}

func (r *Ring[D, E]) start(c *gpu.Ctx, k Capture[D], from readback.Source) (issued bool, err error) {
	started, err := r.pool.Start(c, from, r.at.Due)
	r.target = nil
	if errors.Is(err, readback.ErrFull) {
		return false, r.full()
	}
	if err != nil {
		return false, err
	}
	started.Data = k
	return true, nil
}

// Tick does nothing: most captures need no announcement.
func (r *Ring[D, E]) Tick(Tick) error { return nil }

// Poll moves finished readbacks on. GL thread.
func (r *Ring[D, E]) Poll(c *gpu.Ctx) { r.pool.Poll(c) }

// Process publishes the captures that have come back, up to the instant through, and returns
// how many.
func (r *Ring[D, E]) Process(through simtime.Stamp) int { return r.pool.ProcessThrough(through) }

// Pending returns how many captures are under way. Any goroutine.
func (r *Ring[D, E]) Pending() int {
	if r.pool == nil {
		return 0
	}
	return r.pool.Pending()
}

// ReadbackStats returns how the captures came back. Any goroutine.
func (r *Ring[D, E]) ReadbackStats() readback.Stats { return r.pool.Stats() }

// complete publishes one capture; it runs in Process.
func (r *Ring[D, E]) complete(k *readback.Capture[Capture[D], E], lease readback.Lease[E], err error) {
	defer lease.Release()
	switch {
	case errors.Is(err, readback.ErrClosed):
		r.env.Dropped(k.Data.At, flow.CauseClosed)
	case err != nil:
		r.env.Dropped(k.Data.At, flow.CauseReadbackFailed)
		r.env.Log.Warn("a capture was lost", "error", err)
	default:
		r.publish(&k.Data, lease)
	}
}

// Close counts the captures under way as lost, and gives everything back. A Ring that isn't
// made, or is closed, has nothing to close.
func (r *Ring[D, E]) Close() error {
	if r.pool == nil {
		return nil
	}
	err := r.pool.Close()
	for _, b := range r.targets {
		b.Close()
	}
	return err
}
