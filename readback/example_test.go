package readback_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/readback"
)

// startFake opens a GL thread without a GPU and makes a source of the bytes.
// A program uses eglctx.Open instead of the fake. end closes
// both, and tells what an example forgot to close.
func startFake(contents ...byte) (thread *gpu.Thread, source *gpu.Buffer, end func()) {
	thread, err := gpu.Start(gputest.NewFake().Open)
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
			fmt.Println(k.Sequence(), k.StampNs(), k.Data.Frame, bytes.Slice())
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
	// true make readback pool "names": type is no readback element: string: a string holds a pointer
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
	// type is no readback element: struct { Ring uint32; Label string }, field Label: a string holds a pointer
	// type is no readback element: struct { Ring uint32; Position readback.Vec4 }, field Position: a Vec4 at offset 4, but std430 puts it at multiples of 16: add a blank field before it
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
