package readback_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/readback"
)

// Point mirrors a GLSL struct { vec4 position; uint ring; float range; uvec2 cell; }.
type Point struct {
	Position readback.Vec4
	Ring     uint32
	Range    float32
	Cell     readback.UVec2
}

// startFake opens a GL thread without a GPU and makes a source of four bytes.
// A program uses eglctx.Open or glfwctx.Open instead of the fake.
func startFake(contents ...byte) (*gpu.Thread, *gpu.Buffer) {
	thread, err := gpu.Start(gputest.NewFake().Open)
	if err != nil {
		panic(err)
	}
	var buffer *gpu.Buffer
	onThread(thread, func(c *gpu.Ctx) (err error) {
		buffer, err = c.NewBuffer(gpu.BufferDesc{Label: "source", Size: len(contents), Data: contents})
		return err
	})
	return thread, buffer
}

func onThread(thread *gpu.Thread, f func(c *gpu.Ctx) error) {
	if err := thread.Do(context.Background(), f); err != nil {
		fmt.Println(err)
	}
}

// A frame loop: captures are started and polled on the GL thread, and completed
// on another goroutine, with the data that was given to them.
func ExamplePool() {
	type scan struct{ Frame string }
	thread, buffer := startFake(1, 2, 3, 4)
	defer func() { _ = thread.Close() }()
	defer buffer.Close()

	pool, err := readback.New(readback.Config{Label: "lidar", MaxElements: 4},
		func(k *readback.Capture[scan, uint8], bytes readback.Lease[uint8], err error) {
			defer bytes.Release()
			if err != nil {
				fmt.Println(err)
				return
			}
			fmt.Println(k.Sequence(), k.StampNs(), k.Data.Frame, bytes.Slice())
		})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = pool.Close() }()

	for tick := range int64(3) {
		onThread(thread, func(c *gpu.Ctx) error {
			pool.Poll(c)
			// ... dispatch what writes the buffer ...
			k, err := pool.Start(c, readback.Buffer(buffer), tick*100)
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
	// 0 0 lidar_top [1 2 3 4]
	// 1 100 lidar_top [1 2 3 4]
	// 2 200 lidar_top [1 2 3 4]
}

// Without room a capture is dropped; Begin says so before any work is done.
func ExamplePool_Begin() {
	thread, buffer := startFake(1, 2, 3, 4)
	defer func() { _ = thread.Close() }()
	defer buffer.Close()
	pool, _ := readback.New(readback.Config{Label: "camera", Slots: 1, MaxElements: 4},
		func(_ *readback.Capture[struct{}, uint8], l readback.Lease[uint8], _ error) { l.Release() })
	defer func() { _ = pool.Close() }()
	for range 2 {
		onThread(thread, func(c *gpu.Ctx) error {
			if err := pool.Begin(c); errors.Is(err, readback.ErrFull) {
				fmt.Println("skipped:", err)
				return nil
			}
			// ... dispatch ...
			_, err := pool.Start(c, readback.BufferRange(buffer, 0, 2), 0)
			return err
		})
	}
	stats := pool.Stats()
	fmt.Println(stats.Started, "started,", stats.Full, "full")
	// Output:
	// skipped: readback "camera": readback pool is full
	// 1 started, 1 full
}

// A goroutine of its own completes captures as soon as a poll found them.
func ExamplePool_Ready() {
	thread, buffer := startFake(7)
	defer func() { _ = thread.Close() }()
	defer buffer.Close()
	pool, _ := readback.New(readback.Config{MaxElements: 1},
		func(_ *readback.Capture[struct{}, uint8], l readback.Lease[uint8], err error) {
			fmt.Println(l.Slice(), err)
			l.Release()
		})
	go func() {
		for {
			select {
			case <-pool.Ready():
				pool.Process()
			case <-pool.Closed():
				return
			}
		}
	}()
	onThread(thread, func(c *gpu.Ctx) error {
		_, err := pool.Start(c, readback.Buffer(buffer), 0)
		pool.Poll(c)
		return err
	})
	_ = pool.Drain(context.Background())
	_ = pool.Close()
	// Output: [7] <nil>
}

// Drain lets what is under way arrive; Close fails the rest, in order.
func ExamplePool_Close() {
	thread, buffer := startFake(7)
	defer func() { _ = thread.Close() }()
	defer buffer.Close()
	pool, _ := readback.New(readback.Config{Label: "camera", MaxElements: 1},
		func(k *readback.Capture[struct{}, uint8], l readback.Lease[uint8], err error) {
			fmt.Println(k.Sequence(), l.Slice(), err)
			l.Release()
		})
	start := func(c *gpu.Ctx) error {
		_, err := pool.Start(c, readback.Buffer(buffer), 0)
		return err
	}
	onThread(thread, start)
	onThread(thread, func(c *gpu.Ctx) error { pool.Poll(c); return nil })
	fmt.Println("drained:", pool.Drain(context.Background()))

	onThread(thread, start)
	onThread(thread, start)
	_ = pool.Close()
	onThread(thread, start)
	// Output:
	// 0 [7] <nil>
	// drained: <nil>
	// 1 [] readback "camera": readback pool is closed
	// 2 [] readback "camera": readback pool is closed
	// readback "camera": readback pool is closed
}

// Completions up to an instant: what is stamped later waits.
func ExamplePool_ProcessThrough() {
	thread, buffer := startFake(7)
	defer func() { _ = thread.Close() }()
	defer buffer.Close()
	pool, _ := readback.New(readback.Config{MaxElements: 1},
		func(k *readback.Capture[struct{}, uint8], l readback.Lease[uint8], _ error) {
			fmt.Println(k.StampNs())
			l.Release()
		})
	defer func() { _ = pool.Close() }()
	onThread(thread, func(c *gpu.Ctx) error {
		for _, stamp := range []int64{10, 20, 30} {
			if _, err := pool.Start(c, readback.Buffer(buffer), stamp); err != nil {
				return err
			}
		}
		pool.Poll(c)
		return nil
	})
	fmt.Println(pool.ProcessThrough(20), "completed")
	fmt.Println(pool.Process(), "completed")
	// Output:
	// 10
	// 20
	// 2 completed
	// 30
	// 1 completed
}

// Where copies are issued after the fence, the next capture is written to a
// source that no copy waits for.
func ExamplePool_Holds() {
	thread, first := startFake(1)
	defer func() { _ = thread.Close() }()
	defer first.Close()
	pool, _ := readback.New(readback.Config{MaxElements: 1, CopyMode: readback.CopyAfterFence},
		func(_ *readback.Capture[struct{}, uint8], l readback.Lease[uint8], _ error) { l.Release() })
	defer func() { _ = pool.Close() }()
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

// Two holders of one capture's bytes: its slot is free when both have released.
func ExampleLease_Retain() {
	thread, buffer := startFake(1, 2)
	defer func() { _ = thread.Close() }()
	defer buffer.Close()
	var leases []readback.Lease[uint8]
	pool, _ := readback.New(readback.Config{MaxElements: 2},
		func(_ *readback.Capture[struct{}, uint8], l readback.Lease[uint8], _ error) {
			more, _ := l.Retain()
			leases = append(leases, l, more)
		})
	defer func() { _ = pool.Close() }()
	onThread(thread, func(c *gpu.Ctx) error {
		_, err := pool.Start(c, readback.Buffer(buffer), 0)
		pool.Poll(c)
		return err
	})
	pool.Process()
	for _, l := range leases {
		copied := l.AppendTo(nil) // safe to keep
		l.Release()
		fmt.Println(copied, l.Slice() == nil, pool.Stats().Held)
	}
	// Output:
	// [1 2] true 1
	// [1 2] true 0
}

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
	// type is no readback element: struct { Ring uint32; Label string }, field Label: a string holds a pointer
	// type is no readback element: struct { Ring uint32; Position readback.Vec4 }, field Position: a Vec4 at offset 4, but std430 puts it at multiples of 16: add a blank field before it
}

func ExampleProbe() {
	thread, buffer := startFake(0)
	defer func() { _ = thread.Close() }()
	defer buffer.Close()
	onThread(thread, func(c *gpu.Ctx) error {
		found := readback.Probe(c)
		fmt.Println(found.Mode, found.Measured)
		return nil
	})
	// Output: before fence false
}

// The pixels of one mipmap level.
func ExampleTextureLevel() {
	thread, buffer := startFake(0)
	defer func() { _ = thread.Close() }()
	defer buffer.Close()
	pool, _ := readback.New(readback.Config{Label: "camera", MaxElements: 2 * 1},
		func(_ *readback.Capture[struct{}, [4]uint8], pixels readback.Lease[[4]uint8], err error) {
			fmt.Println(pixels.Slice(), err)
			pixels.Release()
		})
	defer func() { _ = pool.Close() }()
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
		return nil
	})
	pool.Process()
	// Output: [[1 2 3 4] [5 6 7 8]] <nil>
}

func ExamplePool_Resize() {
	pool, _ := readback.New(readback.Config{Label: "camera", MaxElements: 640 * 480},
		func(_ *readback.Capture[struct{}, [4]uint8], l readback.Lease[[4]uint8], _ error) { l.Release() })
	defer func() { _ = pool.Close() }()
	fmt.Println(pool.Resize(1280*720), pool.MaxElements())
	fmt.Println(pool.Resize(0))
	// Output:
	// <nil> 921600
	// resize readback pool "camera": size is out of range: 0 elements of 4 bytes
}
