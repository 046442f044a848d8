package readback_test

import (
	"fmt"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/readback"
)

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
func ExampleCapture_StampNs() {
	readOnce(func(k *readback.Capture[struct{}, uint8], l readback.Lease[uint8], _ error) {
		fmt.Printf("%.1f s\n", float64(k.StampNs())/1e9)
		l.Release()
	}, 7)
	// Output: 1.5 s
}

// Captures are numbered in the order of their Start, which is that of their completions.
func ExampleCapture_Sequence() {
	thread, buffer, end := startFake(7)
	defer end()
	pool, _ := readback.New(readback.Config{MaxElements: 1},
		func(k *readback.Capture[struct{}, uint8], l readback.Lease[uint8], _ error) {
			fmt.Println(k.Sequence(), k.StampNs())
			l.Release()
		})
	defer closePool(pool)
	startThree(thread, pool, buffer)
	pool.Process()
	// Output:
	// 0 10
	// 1 20
	// 2 30
}

// Elements is how many were asked for, also where the capture failed.
func ExampleCapture_Elements() {
	readOnce(func(k *readback.Capture[struct{}, uint8], l readback.Lease[uint8], _ error) {
		fmt.Println(k.Elements(), l.Len())
		l.Release()
	}, 7, 8, 9)
	// Output: 3 3
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

func ExampleFailures_Sum() {
	failed := readback.Failures{Timeout: 2, Closed: 1}
	fmt.Println(failed.Sum())
	// Output: 3
}

// release is a completion that does nothing else.
func release(_ *readback.Capture[struct{}, uint8], l readback.Lease[uint8], _ error) { l.Release() }

// The latencies of the completed captures, a distribution for each stage.
func ExampleLatency_Mean() {
	gpuTime := readOnce(release, 7).Stats().GPU
	fmt.Println(gpuTime.Count, gpuTime.Mean(), gpuTime.Max)
	// Output: 1 1µs 1µs
}

func ExampleLatency_Quantile() {
	gpuTime := readOnce(release, 7).Stats().GPU
	fmt.Println("half of them within", gpuTime.Quantile(0.5), "- 99 % within", gpuTime.Quantile(0.99))
	// Output: half of them within 1µs - 99 % within 1µs
}

// The buckets of a histogram, shortest durations first.
func ExampleLatency_Buckets() {
	gpuTime := readOnce(release, 7).Stats().GPU
	for longest, count := range gpuTime.Buckets() {
		fmt.Println(count, "of at most", longest)
	}
	// Output: 1 of at most 1.023µs
}
