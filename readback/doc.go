// Package readback copies GPU buffers and textures to host memory without waiting for the GPU.
// It hands them over in the order in which they were asked for.
//
// # Usage
//
// A Pool has a few slots: staging buffers that stay mapped, each with a fence. On the GL
// thread, Start issues a copy and returns the Capture, whose Data the caller fills in (pose,
// sequence). Poll, called once a tick, finds out which captures are finished. On another
// goroutine, Process calls the completion of each finished capture with a Lease of the mapped
// bytes:
//
//	pool, err := readback.New(readback.Config{Label: "lidar", MaxElements: points},
//		func(k *readback.Capture[Scan, Point], points readback.Lease[Point], err error) {
//			defer points.Release()
//			if err != nil {
//				return // counted in Stats
//			}
//			publish(k.Stamp(), k.Data, points.Slice())
//		})
//
//	// in each tick, on the GL thread
//	pool.Poll(c)
//	if pool.Begin(c) == nil { // optional: is there room, and when does the GPU begin
//		dispatch(c)
//		if k, err := pool.Start(c, readback.Buffer(buffer), tick.Due); err == nil {
//			k.Data = scan
//		}
//	}
//
//	// on a worker's goroutine, which Config.Notify may wake
//	pool.Process()
//
// The element type is checked once, in New: see CheckElement. Structs that mirror a GLSL struct
// use Vec2, Vec4 and their like, whose std430 place is checked too. The bytes of a Lease are
// the driver's. To keep them, copy them (Lease.AppendTo); to hand them on, retain them
// (Lease.Retain).
//
// The copy is issued in Start, or in Poll where the driver's copy call would wait for the drawing
// before it: CopyMode says what that asks of the source. If the GPU's memory is the host's,
// commands can write into the lent memory themselves, without a copy: see Pool.Target.
//
// # Concurrency
//
// Begin, Target, Start, StartTick, Poll, Prepare, Holds and Probe take a *gpu.Ctx or look at what it
// owns. They are called on the GL thread, never wait, and call no completion. Process, Drain
// and Close run completions and are called on any other goroutine. Only one of them runs
// completions at a time; the others leave them to it. A Lease may be used and released on any
// goroutine.
//
// The caller must poll: nothing becomes ready, and nothing times out, between two Polls. Drain
// ends only by its context when nobody polls. Pending tells whether there is a reason to
// continue.
//
// # Ordering
//
// Laws R1 and R2: completions come in the order of Start, one for each capture
// that Start returned. A capture that fails, or that the GPU finished before
// an older one, is completed in its turn. Law R3: the stamp is the
// caller's; the pool reads no simulation clock. Times are the host's, for
// measuring latencies only.
//
// A capture is ready in the first Poll after the GPU has passed the fence behind its copy and
// those of all older captures.
//
// # Failure
//
// A pool without a free slot answers ErrFull, and counts it (law R4). A slot is free again when
// the completion has returned and all leases are released. So a holder that forgets to release
// starves the pool. Captures fail with ErrTimeout (the slot stays out of use until the GPU
// comes to its fence), ErrFence, gpu.ErrContextLost or ErrClosed. They fail with ErrSource if
// the source was closed before its copy. A completion that panics loses its lease, and the next
// one runs. Close the pool before the gpu.Thread, and release leases before that, too: mapped
// memory ends with the context. Captures that are completed after the thread's end fail with
// gpu.ErrObjectClosed, and Slice of a lease is nil from then on. A slice that was taken before
// must not be read any more.
//
// A *gpu.Ctx that is dead or nil is gpu.ErrDeadCtx. After Close, Begin, Start,
// StartTick, Prepare and Resize answer ErrClosed, Poll and Process find nothing
// to do, and Drain and Close return at once.
//
// # Testing
//
// gputest.Fake has fences that follow a script, and reports writes to a source that a capture
// still needs. In builds with the race detector or the tag raybridge_checks a lease lends a
// copy that is overwritten at its release (law R5). So use after release shows.
package readback
