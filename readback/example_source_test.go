package readback_test

import (
	"errors"
	"fmt"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/readback"
)

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
