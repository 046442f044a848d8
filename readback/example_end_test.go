package readback_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/readback"
)

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

// Closed tells other goroutines that no completion will run any more.
func ExamplePool_Closed() {
	_, _, end := startFake(0)
	defer end()
	pool, _ := readback.New(readback.Config{MaxElements: 1}, printStamp)
	go closePool(pool)
	<-pool.Closed()
	fmt.Println("closed")
	// Output: closed
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

func ExamplePool_MaxElements() {
	pool, _ := readback.New(readback.Config{MaxElements: 640 * 480}, printStamp)
	defer closePool(pool)
	fmt.Println(pool.MaxElements())
	_ = pool.Resize(1280 * 720)
	fmt.Println(pool.MaxElements())
	// Output:
	// 307200
	// 921600
}

func ExamplePool_Label() {
	pool, _ := readback.New(readback.Config{Label: "lidar_top", MaxElements: 1}, printStamp)
	defer closePool(pool)
	fmt.Println(pool.Label())
	// Output: lidar_top
}
