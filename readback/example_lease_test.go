package readback_test

import (
	"fmt"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/readback"
)

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

func ExampleLease_Len() {
	thread, buffer, end := startFake(1, 2, 3)
	defer end()
	pool, lease := lend(thread, buffer)
	defer closePool(pool)
	fmt.Println(lease.Len())
	lease.Release()
	fmt.Println(lease.Len())
	// Output:
	// 3
	// 0
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

// CopyTo copies into memory that is there, as much as fits.
func ExampleLease_CopyTo() {
	thread, buffer, end := startFake(1, 2, 3)
	defer end()
	pool, lease := lend(thread, buffer)
	defer closePool(pool)
	var header [2]uint8
	n := lease.CopyTo(header[:])
	lease.Release()
	fmt.Println(n, header)
	// Output: 2 [1 2]
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
