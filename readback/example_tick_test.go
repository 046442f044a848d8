package readback_test

import (
	"errors"
	"fmt"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/readback"
)

// printStamp is a completion that prints its capture's stamp.
func printStamp(k *readback.Capture[struct{}, uint8], l readback.Lease[uint8], err error) {
	fmt.Println("completed", k.StampNs(), err)
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
			_, err := pool.Start(c, readback.Buffer(buffer), tick)
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

// Start returns the capture, for the caller to fill in what belongs to it.
func ExamplePool_Start() {
	type pose struct{ X, Y float64 }
	thread, buffer, end := startFake(7)
	defer end()
	pool, _ := readback.New(readback.Config{MaxElements: 1},
		func(k *readback.Capture[pose, uint8], l readback.Lease[uint8], err error) {
			fmt.Println(k.StampNs(), k.Data, l.Slice(), err)
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
	pool, _ := readback.New(readback.Config{MaxElements: 1, Tick: func() int64 { return now }}, printStamp)
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
			if _, err := pool.Start(c, readback.Buffer(buffer), stamp); err != nil {
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
