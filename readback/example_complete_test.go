package readback_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/readback"
)

// startThree starts captures stamped 10, 20 and 30, and polls once.
func startThree(thread *gpu.Thread, pool *readback.Pool[struct{}, uint8], buffer *gpu.Buffer) {
	onThread(thread, func(c *gpu.Ctx) error {
		for _, stamp := range []int64{10, 20, 30} {
			if _, err := pool.Start(c, readback.Buffer(buffer), stamp); err != nil {
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
		var p *readback.PanicError
		fmt.Println("panicked:", errors.As(err, &p), p.Value)
	}}, func(k *readback.Capture[struct{}, uint8], l readback.Lease[uint8], _ error) {
		if k.StampNs() == 20 {
			panic("not this one")
		}
		fmt.Println(k.StampNs())
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
func ExamplePool_Ready() {
	thread, buffer, end := startFake(7)
	defer end()
	pool, _ := readback.New(readback.Config{MaxElements: 1}, printStamp)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-pool.Ready():
				pool.Process()
			case <-pool.Closed():
				return
			}
		}
	}()
	startThree(thread, pool, buffer)
	_ = pool.Drain(context.Background())
	closePool(pool)
	<-ended
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
