package readback_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/readback"
	"github.com/raybridge/raybridge/simtime"
)

// startFake opens a GL thread without a GPU and makes a source of the bytes.
// A program uses eglctx.Open instead of the fake. end closes
// both, and tells what an example forgot to close.
func startFake(contents ...byte) (thread *gpu.Thread, source *gpu.Buffer, end func()) {
	return startOn(gputest.NewFake(), contents...)
}

// startOn is startFake for a fake that was made before.
func startOn(fake *gputest.Fake, contents ...byte) (thread *gpu.Thread, source *gpu.Buffer, end func()) {
	thread, err := gpu.Start(fake.Open)
	if err != nil {
		panic(err)
	}
	onThread(thread, func(c *gpu.Ctx) (err error) {
		source, err = c.NewBuffer(gpu.BufferDesc{Label: "source", Size: len(contents), Data: contents})
		return err
	})
	return thread, source, func() {
		source.Close()
		for _, left := range thread.Live() {
			fmt.Println("not closed:", left)
		}
		if err := thread.Close(); err != nil {
			fmt.Println(err)
		}
	}
}

// onThread runs f on the GL thread and prints its error.
func onThread(thread *gpu.Thread, f func(c *gpu.Ctx) error) {
	if err := thread.Do(context.Background(), f); err != nil {
		fmt.Println(err)
	}
}

// closePool is for defer.
func closePool(pool interface{ Close() error }) { _ = pool.Close() }

// A frame loop: captures are started and polled on the GL thread, and completed
// on another goroutine, with the data that was given to them.
func ExamplePool() {
	type scan struct{ Frame string }
	thread, buffer, end := startFake(1, 2, 3, 4)
	defer end()

	pool, err := readback.New(readback.Config{Label: "lidar", MaxElements: 4},
		func(k *readback.Capture[scan, uint8], bytes readback.Lease[uint8], err error) {
			defer bytes.Release()
			if err != nil {
				fmt.Println(err)
				return
			}
			fmt.Println(k.Stamp(), k.Data.Frame, bytes.Slice())
		})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer closePool(pool)

	for tick := range int64(3) {
		onThread(thread, func(c *gpu.Ctx) error {
			pool.Poll(c)
			// ... dispatch what writes the buffer ...
			k, err := pool.Start(c, readback.Buffer(buffer), simtime.Stamp(tick*100))
			if err == nil {
				k.Data.Frame = "lidar_top"
			}
			return err
		})
		pool.Process()
	}
	onThread(thread, func(c *gpu.Ctx) error { pool.Poll(c); return nil })
	pool.Process()
	// Output:
	// 0 lidar_top [1 2 3 4]
	// 100 lidar_top [1 2 3 4]
	// 200 lidar_top [1 2 3 4]
}

// What a pool can't work with is said when it is made, by errors to test for.
func ExampleNew() {
	none := func(*readback.Capture[struct{}, uint8], readback.Lease[uint8], error) {}
	_, err := readback.New(readback.Config{Label: "camera"}, none)
	fmt.Println(errors.Is(err, readback.ErrSize), err)

	_, err = readback.New(readback.Config{Label: "camera", MaxElements: 640 * 480, Slots: -1}, none)
	fmt.Println(errors.Is(err, readback.ErrConfig), err)

	_, err = readback.New(readback.Config{Label: "names", MaxElements: 1},
		func(*readback.Capture[struct{}, string], readback.Lease[string], error) {})
	fmt.Println(errors.Is(err, readback.ErrElement), err)
	// Output:
	// true make readback pool "camera": size is out of range: 0 elements of 1 bytes
	// true make readback pool "camera": readback configuration is wrong: -1 slots, want 1 to 1024
	// true make readback pool "names": type is not a readback element: string: a string holds a pointer
}

// Point mirrors a GLSL struct { vec4 position; uint ring; float range; uvec2 cell; }.
type Point struct {
	Position readback.Vec4
	Ring     uint32
	Range    float32
	Cell     readback.UVec2
}

// Structs without pointers and hidden padding can be views of what a shader
// wrote, when their vectors stand where std430 puts them.
func ExampleCheckElement() {
	fmt.Println(readback.CheckElement[Point]())
	fmt.Println(readback.CheckElement[struct {
		Ring  uint32
		Label string
	}]())
	fmt.Println(readback.CheckElement[struct {
		Ring     uint32
		Position readback.Vec4
	}]())
	// Output:
	// <nil>
	// type is not a readback element: struct { Ring uint32; Label string }, field Label: a string holds a pointer
	// type is not a readback element: struct { Ring uint32; Position readback.Vec4 }, field Position: a Vec4 at offset 4, but std430 puts it at multiples of 16: add a blank field before it
}

// What CopyAuto goes by. A fake is too fast to be measured, so that the answer
// follows from its not being a software driver.
func ExampleProbe() {
	thread, _, end := startFake(0)
	defer end()
	onThread(thread, func(c *gpu.Ctx) error {
		found := readback.Probe(c)
		fmt.Println("copy", found.Mode, "- measured:", found.Measured)
		return nil
	})
	// Output: copy before fence - measured: false
}

// The first capture settles when copies are issued; until then it is open.
func ExamplePool_CopyMode() {
	thread, _, end := startFake(0)
	defer end()
	complete := func(_ *readback.Capture[struct{}, uint8], l readback.Lease[uint8], _ error) { l.Release() }
	for _, mode := range []readback.CopyMode{readback.CopyAuto, readback.CopyAfterFence} {
		pool, _ := readback.New(readback.Config{MaxElements: 1, CopyMode: mode}, complete)
		fmt.Print(pool.CopyMode())
		onThread(thread, pool.Prepare)
		fmt.Println(" ->", pool.CopyMode())
		closePool(pool)
	}
	// Output:
	// auto -> before fence
	// after fence -> after fence
}

// printStamp is a completion that prints its capture's stamp.
func printStamp(k *readback.Capture[struct{}, uint8], l readback.Lease[uint8], err error) {
	fmt.Println("completed", k.Stamp(), err)
	l.Release()
}

// Prepare makes the staging buffers ahead of the first capture.
func ExamplePool_Prepare() {
	thread, _, end := startFake(0)
	defer end()
	pool, _ := readback.New(readback.Config{Label: "camera", Slots: 2, MaxElements: 4}, printStamp)
	onThread(thread, func(c *gpu.Ctx) error { return pool.Prepare(c) })
	fmt.Println(thread.Live())
	closePool(pool)
	// Output: [buffer "camera" buffer "camera" buffer "source" query "timestamp" query "timestamp" query "timestamp" query "timestamp"]
}

// Without room a capture is dropped; Begin says so before any work is done.
func ExamplePool_Begin() {
	thread, buffer, end := startFake(1, 2, 3, 4)
	defer end()
	pool, _ := readback.New(readback.Config{Label: "camera", Slots: 1, MaxElements: 4}, printStamp)
	for tick := range int64(2) {
		onThread(thread, func(c *gpu.Ctx) error {
			if err := pool.Begin(c); errors.Is(err, readback.ErrFull) {
				fmt.Println("skipped:", err)
				return nil
			}
			// ... dispatch ...
			_, err := pool.Start(c, readback.Buffer(buffer), simtime.Stamp(tick))
			return err
		})
	}
	closePool(pool)
	stats := pool.Stats()
	fmt.Println(stats.Started, "started,", stats.Full, "full")
	// Output:
	// skipped: readback "camera": readback pool is full
	// completed 0 readback "camera": readback pool is closed
	// 1 started, 1 full
}

// Where the GPU's memory is the host's, commands write what is lent, and nothing is copied.
func ExamplePool_Target() {
	fake := gputest.NewFake()
	info := fake.Info()
	info.HostMemory = true
	fake.SetInfo(info)
	thread, _, end := startOn(fake, 0)
	defer end()
	pool, err := readback.New(readback.Config{MaxElements: 3}, func(_ *readback.Capture[struct{}, uint8], l readback.Lease[uint8], _ error) {
		defer l.Release()
		fmt.Println(l.Slice())
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer closePool(pool)
	onThread(thread, func(c *gpu.Ctx) error {
		target, err := pool.Target(c)
		if err != nil {
			return err
		}
		// ... dispatch what writes the target; here the host does ...
		if err := c.WriteBuffer(target, 0, []byte{1, 2, 3}); err != nil {
			return err
		}
		if _, err := pool.Start(c, readback.Buffer(target), 0); err != nil {
			return err
		}
		pool.Poll(c)
		return nil
	})
	pool.Process()
	// Output: [1 2 3]
}

// Start returns the capture, for the caller to fill in what belongs to it.
func ExamplePool_Start() {
	type pose struct{ X, Y float64 }
	thread, buffer, end := startFake(7)
	defer end()
	pool, _ := readback.New(readback.Config{MaxElements: 1},
		func(k *readback.Capture[pose, uint8], l readback.Lease[uint8], err error) {
			fmt.Println(k.Stamp(), k.Data, l.Slice(), err)
			l.Release()
		})
	defer closePool(pool)
	onThread(thread, func(c *gpu.Ctx) error {
		k, err := pool.Start(c, readback.Buffer(buffer), 1_000_000)
		if err != nil {
			return err
		}
		k.Data = pose{X: 1, Y: 2}
		pool.Poll(c)
		return nil
	})
	pool.Process()
	// Output: 1000000 {1 2} [7] <nil>
}

// StartTick takes the stamp from the tick that is under way.
func ExamplePool_StartTick() {
	thread, buffer, end := startFake(7)
	defer end()
	now := int64(0)
	pool, _ := readback.New(readback.Config{MaxElements: 1, Tick: func() simtime.Stamp { return simtime.Stamp(now) }}, printStamp)
	defer closePool(pool)
	for range 2 {
		now += 10
		onThread(thread, func(c *gpu.Ctx) error {
			_, err := pool.StartTick(c, readback.Buffer(buffer))
			pool.Poll(c)
			return err
		})
		pool.Process()
	}
	// Output:
	// completed 10 <nil>
	// completed 20 <nil>
}

// Poll finds out what the GPU has finished; it completes nothing itself.
func ExamplePool_Poll() {
	thread, buffer, end := startFake(7)
	defer end()
	pool, _ := readback.New(readback.Config{MaxElements: 1}, printStamp)
	defer closePool(pool)
	onThread(thread, func(c *gpu.Ctx) error {
		fmt.Println("ready:", pool.Poll(c))
		for stamp := range int64(2) {
			if _, err := pool.Start(c, readback.Buffer(buffer), simtime.Stamp(stamp)); err != nil {
				return err
			}
		}
		fmt.Println("ready:", pool.Poll(c))
		return nil
	})
	pool.Process()
	// Output:
	// ready: 0
	// ready: 2
	// completed 0 <nil>
	// completed 1 <nil>
}

// Where copies are issued after the fence, the next capture is written to a
// source that no copy waits for.
func ExamplePool_Holds() {
	thread, first, end := startFake(1)
	defer end()
	pool, _ := readback.New(readback.Config{MaxElements: 1, CopyMode: readback.CopyAfterFence},
		func(_ *readback.Capture[struct{}, uint8], l readback.Lease[uint8], _ error) { l.Release() })
	defer closePool(pool)
	onThread(thread, func(c *gpu.Ctx) error {
		second, err := c.NewBuffer(gpu.BufferDesc{Label: "second", Size: 1})
		if err != nil {
			return err
		}
		defer second.Close()
		ring := []*gpu.Buffer{first, second}
		for range ring {
			for _, b := range ring {
				if pool.Holds(b) {
					continue
				}
				fmt.Println("write and read", b.Label())
				if _, err := pool.Start(c, readback.Buffer(b), 0); err != nil {
					return err
				}
				break
			}
		}
		pool.Poll(c)
		fmt.Println("held after the copies:", pool.Holds(first), pool.Holds(second))
		return nil
	})
	// Output:
	// write and read source
	// write and read second
	// held after the copies: false false
}

// startThree starts captures stamped 10, 20 and 30, and polls once.
func startThree(thread *gpu.Thread, pool *readback.Pool[struct{}, uint8], buffer *gpu.Buffer) {
	onThread(thread, func(c *gpu.Ctx) error {
		for _, stamp := range []int64{10, 20, 30} {
			if _, err := pool.Start(c, readback.Buffer(buffer), simtime.Stamp(stamp)); err != nil {
				return err
			}
		}
		pool.Poll(c)
		return nil
	})
}

// Process completes what polls have found, oldest first, on its caller's
// goroutine. A completion that panics costs its own capture alone.
func ExamplePool_Process() {
	thread, buffer, end := startFake(7)
	defer end()
	pool, _ := readback.New(readback.Config{MaxElements: 1, OnError: func(err error) {
		var p *flow.PanicError
		fmt.Println("panicked:", errors.As(err, &p), p.Value)
	}}, func(k *readback.Capture[struct{}, uint8], l readback.Lease[uint8], _ error) {
		if k.Stamp() == 20 {
			panic("not this one")
		}
		fmt.Println(k.Stamp())
		l.Release()
	})
	defer closePool(pool)
	startThree(thread, pool, buffer)
	fmt.Println(pool.Process(), "completed,", pool.Process(), "left")
	// Output:
	// 10
	// panicked: true not this one
	// 30
	// 3 completed, 0 left
}

// Completions up to an instant: what is stamped later waits.
func ExamplePool_ProcessThrough() {
	thread, buffer, end := startFake(7)
	defer end()
	pool, _ := readback.New(readback.Config{MaxElements: 1}, printStamp)
	defer closePool(pool)
	startThree(thread, pool, buffer)
	fmt.Println(pool.ProcessThrough(20), "of them")
	fmt.Println(pool.Process(), "of them")
	// Output:
	// completed 10 <nil>
	// completed 20 <nil>
	// 2 of them
	// completed 30 <nil>
	// 1 of them
}

// A goroutine of its own completes captures as soon as a poll found them.
func ExampleConfig_notify() {
	thread, buffer, end := startFake(7)
	defer end()
	ready := make(chan struct{}, 1) // one value however many became ready
	pool, _ := readback.New(readback.Config{MaxElements: 1, Notify: func() {
		select {
		case ready <- struct{}{}:
		default:
		}
	}}, printStamp)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for range ready {
			pool.Process()
		}
	}()
	startThree(thread, pool, buffer)
	_ = pool.Drain(context.Background())
	close(ready) // nobody polls any more
	<-ended
	closePool(pool)
	// Output:
	// completed 10 <nil>
	// completed 20 <nil>
	// completed 30 <nil>
}

// Pending counts what was started and not yet completed: while it isn't 0,
// somebody must go on polling.
func ExamplePool_Pending() {
	thread, buffer, end := startFake(7)
	defer end()
	pool, _ := readback.New(readback.Config{MaxElements: 1}, printStamp)
	defer closePool(pool)
	onThread(thread, func(c *gpu.Ctx) error {
		_, err := pool.Start(c, readback.Buffer(buffer), 10)
		return err
	})
	for pool.Pending() > 0 {
		onThread(thread, func(c *gpu.Ctx) error { pool.Poll(c); return nil })
		pool.Process()
	}
	fmt.Println(pool.Pending(), "pending")
	// Output:
	// completed 10 <nil>
	// 0 pending
}

// lend reads the buffer back through a pool of one slot and returns the lease of
// its bytes, which the caller releases.
func lend(thread *gpu.Thread, buffer *gpu.Buffer) (pool *readback.Pool[struct{}, uint8], lease readback.Lease[uint8]) {
	pool, err := readback.New(readback.Config{Slots: 1, MaxElements: buffer.Size()},
		func(_ *readback.Capture[struct{}, uint8], l readback.Lease[uint8], _ error) { lease = l })
	if err != nil {
		panic(err)
	}
	onThread(thread, func(c *gpu.Ctx) error {
		_, err := pool.Start(c, readback.Buffer(buffer), 0)
		pool.Poll(c)
		return err
	})
	pool.Process()
	return pool, lease
}

// Slice is the mapped memory itself: nothing is copied, and nothing is left of
// it after the release.
func ExampleLease_Slice() {
	thread, buffer, end := startFake(1, 2, 3)
	defer end()
	pool, lease := lend(thread, buffer)
	defer closePool(pool)
	sum := 0
	for _, v := range lease.Slice() {
		sum += int(v)
	}
	lease.Release()
	fmt.Println(sum, lease.Slice() == nil)
	// Output: 6 true
}

// AppendTo copies: what it returns is the caller's, and safe to keep.
func ExampleLease_AppendTo() {
	thread, buffer, end := startFake(1, 2, 3)
	defer end()
	pool, lease := lend(thread, buffer)
	defer closePool(pool)
	kept := lease.AppendTo(nil)
	lease.Release()
	fmt.Println(kept)
	// Output: [1 2 3]
}

// Two holders of one capture's bytes: its slot is free when both have released.
func ExampleLease_Retain() {
	thread, buffer, end := startFake(1, 2)
	defer end()
	pool, first := lend(thread, buffer)
	defer closePool(pool)
	second, ok := first.Retain()
	fmt.Println(ok)
	first.Release()
	fmt.Println(second.Slice(), "slots held:", pool.Stats().Held)
	second.Release()
	fmt.Println("slots held:", pool.Stats().Held)
	_, ok = second.Retain()
	fmt.Println(ok)
	// Output:
	// true
	// [1 2] slots held: 1
	// slots held: 0
	// false
}

// A slot is free for the next capture when its leases are released; releasing
// again does nothing.
func ExampleLease_Release() {
	thread, buffer, end := startFake(1, 2)
	defer end()
	pool, lease := lend(thread, buffer)
	defer closePool(pool)
	onThread(thread, pool.Begin)
	lease.Release()
	lease.Release()
	onThread(thread, pool.Begin)
	fmt.Println("slots held:", pool.Stats().Held)
	// Output:
	// readback "": readback pool is full
	// slots held: 0
}

// A whole buffer, as elements of a Go type: two uint16 in these four bytes.
func ExampleBuffer() {
	thread, buffer, end := startFake(1, 0, 2, 0)
	defer end()
	pool, _ := readback.New(readback.Config{Label: "ranges", MaxElements: 2},
		func(_ *readback.Capture[struct{}, uint16], ranges readback.Lease[uint16], err error) {
			fmt.Println(ranges.Slice(), err)
			ranges.Release()
		})
	defer closePool(pool)
	onThread(thread, func(c *gpu.Ctx) error {
		_, err := pool.Start(c, readback.Buffer(buffer), 0)
		pool.Poll(c)
		return err
	})
	pool.Process()
	// Output: [1 2] <nil>
}

// Part of a buffer: offset and size are bytes, and must lie in the buffer.
func ExampleBufferRange() {
	thread, buffer, end := startFake(10, 11, 12, 13, 14, 15)
	defer end()
	pool, _ := readback.New(readback.Config{Label: "ring", MaxElements: 6},
		func(_ *readback.Capture[struct{}, uint8], bytes readback.Lease[uint8], err error) {
			fmt.Println(bytes.Slice(), err)
			bytes.Release()
		})
	defer closePool(pool)
	onThread(thread, func(c *gpu.Ctx) error {
		_, err := pool.Start(c, readback.BufferRange(buffer, 2, 3), 0)
		pool.Poll(c)
		return err
	})
	pool.Process()
	onThread(thread, func(c *gpu.Ctx) error {
		_, err := pool.Start(c, readback.BufferRange(buffer, 4, 3), 0)
		fmt.Println(errors.Is(err, readback.ErrSize), err)
		return nil
	})
	// Output:
	// [12 13 14] <nil>
	// true start readback "ring": size is out of range: 3 bytes at 4 of buffer "source", which has 6
}

// A texture in its own format, one element a pixel, row 0 first.
func ExampleTexture() {
	thread, _, end := startFake(0)
	defer end()
	pool, _ := readback.New(readback.Config{Label: "camera", MaxElements: 2 * 2},
		func(_ *readback.Capture[struct{}, [4]uint8], pixels readback.Lease[[4]uint8], err error) {
			fmt.Println(pixels.Slice(), err)
			pixels.Release()
		})
	defer closePool(pool)
	onThread(thread, func(c *gpu.Ctx) error {
		picture, err := c.NewTexture(gpu.TextureDesc{Label: "picture", Format: gpu.FormatRGBA8, Width: 2, Height: 2})
		if err != nil {
			return err
		}
		defer picture.Close()
		rows := []byte{
			1, 1, 1, 255, 2, 2, 2, 255,
			3, 3, 3, 255, 4, 4, 4, 255,
		}
		if err := c.WriteTexture(picture, gpu.TextureRegion{}, rows); err != nil {
			return err
		}
		if _, err := pool.Start(c, readback.Texture(picture), 0); err != nil {
			return err
		}
		pool.Poll(c)
		return nil
	})
	pool.Process()
	// Output: [[1 1 1 255] [2 2 2 255] [3 3 3 255] [4 4 4 255]] <nil>
}

// The pixels of one mipmap level, in a format that may differ from the
// texture's. Integers don't convert into colours.
func ExampleTextureLevel() {
	thread, _, end := startFake(0)
	defer end()
	pool, _ := readback.New(readback.Config{Label: "camera", MaxElements: 2 * 1},
		func(_ *readback.Capture[struct{}, [4]uint8], pixels readback.Lease[[4]uint8], err error) {
			fmt.Println(pixels.Slice(), err)
			pixels.Release()
		})
	defer closePool(pool)
	onThread(thread, func(c *gpu.Ctx) error {
		picture, err := c.NewTexture(gpu.TextureDesc{Label: "picture", Format: gpu.FormatRGBA8, Width: 4, Height: 2, Levels: 2})
		if err != nil {
			return err
		}
		defer picture.Close()
		if err := c.WriteTexture(picture, gpu.TextureRegion{Level: 1}, []byte{1, 2, 3, 4, 5, 6, 7, 8}); err != nil {
			return err
		}
		if _, err := pool.Start(c, readback.TextureLevel(picture, 1, gpu.FormatRGBA8), 0); err != nil {
			return err
		}
		pool.Poll(c)
		_, err = pool.Start(c, readback.TextureLevel(picture, 1, gpu.FormatR32UI), 0)
		fmt.Println(errors.Is(err, readback.ErrSource), err)
		return nil
	})
	pool.Process()
	// Output:
	// true start readback "camera": source can't be read back: texture "picture" has format RGBA8, which doesn't convert to R32UI
	// [[1 2 3 4] [5 6 7 8]] <nil>
}

// readOnce reads the buffer back with the completion and returns the pool.
func readOnce[D any](complete func(*readback.Capture[D, uint8], readback.Lease[uint8], error), contents ...byte) *readback.Pool[D, uint8] {
	thread, buffer, end := startFake(contents...)
	defer end()
	pool, err := readback.New(readback.Config{MaxElements: len(contents)}, complete)
	if err != nil {
		panic(err)
	}
	defer closePool(pool)
	onThread(thread, func(c *gpu.Ctx) error {
		_, err := pool.Start(c, readback.Buffer(buffer), 1_500_000_000)
		pool.Poll(c)
		return err
	})
	pool.Process()
	return pool
}

// The stamp is simulation time, given to Start.
func ExampleCapture_Stamp() {
	readOnce(func(k *readback.Capture[struct{}, uint8], l readback.Lease[uint8], _ error) {
		fmt.Printf("%.1f s\n", float64(k.Stamp())/1e9)
		l.Release()
	}, 7)
	// Output: 1.5 s
}

// Times are when a capture passed its stages, on the host's clock, the GPU's
// own two included. The fake GPU needs a microsecond.
func ExampleCapture_Times() {
	readOnce(func(k *readback.Capture[struct{}, uint8], l readback.Lease[uint8], _ error) {
		at := k.Times()
		fmt.Println("on the GPU for", at.GPUEnd.Sub(at.GPUBegin))
		fmt.Println(at.FenceSeen.Before(at.Started), at.Ready.Before(at.FenceSeen), at.Completed.Before(at.Ready))
		l.Release()
	}, 7)
	// Output:
	// on the GPU for 1µs
	// false false false
}

// Every capture is counted once: completed, or failed by its cause.
func ExamplePool_Stats() {
	thread, buffer, end := startFake(7)
	defer end()
	pool, _ := readback.New(readback.Config{Slots: 3, MaxElements: 1},
		func(_ *readback.Capture[struct{}, uint8], l readback.Lease[uint8], _ error) { l.Release() })
	startThree(thread, pool, buffer)
	onThread(thread, func(c *gpu.Ctx) error {
		_, err := pool.Start(c, readback.Buffer(buffer), 40)
		return err
	})
	fmt.Println(pool.ProcessThrough(20), "processed")
	closePool(pool)
	s := pool.Stats()
	fmt.Println(s.Started, "started,", s.Completed, "completed,", s.Failed.Closed, "closed,", s.Full, "full")
	// Output:
	// readback "": readback pool is full
	// 2 processed
	// 3 started, 2 completed, 1 closed, 1 full
}

// release is a completion that does nothing else.
func release(_ *readback.Capture[struct{}, uint8], l readback.Lease[uint8], _ error) { l.Release() }

// The latencies of the completed captures, a distribution for each stage.
func ExampleStats() {
	gpuTime := readOnce(release, 7).Stats().GPU
	fmt.Println("half of them within", gpuTime.Quantile(0.5), "- 99 % within", gpuTime.Quantile(0.99))
	// Output: half of them within 1µs - 99 % within 1µs
}

// Drain waits for what is under way, as long as its context lets it, and needs
// somebody who polls.
func ExamplePool_Drain() {
	thread, buffer, end := startFake(7)
	defer end()
	pool, _ := readback.New(readback.Config{Label: "camera", MaxElements: 1}, printStamp)
	defer closePool(pool)
	onThread(thread, func(c *gpu.Ctx) error {
		_, err := pool.Start(c, readback.Buffer(buffer), 10)
		return err
	})
	hurry, cancel := context.WithCancel(context.Background())
	cancel()
	fmt.Println(pool.Drain(hurry)) // nobody has polled

	onThread(thread, func(c *gpu.Ctx) error { pool.Poll(c); return nil })
	fmt.Println(pool.Drain(context.Background()))
	// Output:
	// drain readback pool "camera" with 1 captures left: context canceled
	// completed 10 <nil>
	// <nil>
}

// Close fails the rest, in order.
func ExamplePool_Close() {
	thread, buffer, end := startFake(7)
	defer end()
	pool, _ := readback.New(readback.Config{Label: "camera", MaxElements: 1}, printStamp)
	startThree(thread, pool, buffer)
	fmt.Println(pool.Close())
	onThread(thread, func(c *gpu.Ctx) error {
		_, err := pool.Start(c, readback.Buffer(buffer), 40)
		fmt.Println(errors.Is(err, readback.ErrClosed))
		return nil
	})
	// Output:
	// completed 10 readback "camera": readback pool is closed
	// completed 20 readback "camera": readback pool is closed
	// completed 30 readback "camera": readback pool is closed
	// <nil>
	// true
}

// Resize is for later captures; the same size again changes nothing.
func ExamplePool_Resize() {
	thread, buffer, end := startFake(1, 2, 3)
	defer end()
	pool, _ := readback.New(readback.Config{Label: "camera", MaxElements: 2}, printStamp)
	defer closePool(pool)
	start := func(c *gpu.Ctx) error {
		_, err := pool.Start(c, readback.Buffer(buffer), 10)
		pool.Poll(c)
		return err
	}
	onThread(thread, start)
	fmt.Println(pool.Resize(3))
	onThread(thread, start)
	pool.Process()
	fmt.Println(pool.Resize(0))
	// Output:
	// start readback "camera": size is out of range: 3 elements, the pool's slots hold 2: Resize it
	// <nil>
	// completed 10 <nil>
	// resize readback pool "camera": size is out of range: 0 elements of 1 bytes
}
