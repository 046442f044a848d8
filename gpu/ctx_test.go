package gpu_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/memory"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// objects are one of each kind.
type objects struct {
	device, readback *gpu.Buffer
	picture, texels  *gpu.Texture
	program          *gpu.Program
	target           *gpu.Framebuffer
}

func newObjects(c *gpu.Ctx) (o objects, err error) {
	var errs [6]error
	o.device, errs[0] = c.NewBuffer(gpu.BufferDesc{Label: "device", Size: 64})
	o.readback, errs[1] = c.NewBuffer(gpu.BufferDesc{Label: "readback", Size: 64, Usage: gpu.UsageReadback})
	o.picture, errs[2] = c.NewTexture(gpu.TextureDesc{Label: "picture", Format: gpu.FormatR32UI, Width: 4, Height: 2, Levels: 2})
	o.texels, errs[3] = c.NewTexture(gpu.TextureDesc{Label: "texels", Kind: gpu.TextureBuffer, Format: gpu.FormatR32UI, Buffer: o.device})
	o.program, errs[4] = c.NewProgram(gpu.ProgramDesc{Label: "program", Compute: "void main() {}"})
	o.target, errs[5] = c.NewFramebuffer(gpu.FramebufferDesc{Label: "target", Color: []*gpu.Texture{o.picture}})
	return o, errors.Join(errs[:]...)
}

func (o *objects) close() {
	for _, x := range []interface{ Close() }{o.device, o.readback, o.picture, o.texels, o.program, o.target} {
		x.Close()
	}
}

func (o *objects) dispatch(c *gpu.Ctx, groups int, bind ...gpu.Binding) error {
	return c.Dispatch(&gpu.Dispatch{Program: o.program, Groups: [3]int{groups, 1, 1}, Bind: bind})
}

// What can't be right is refused with the object's name before the driver sees it.
func TestMisuseIsRefused(t *testing.T) {
	tests := map[string]struct {
		f    func(*gpu.Ctx, *objects) error
		want string
	}{
		"empty buffer": {func(c *gpu.Ctx, _ *objects) error {
			_, err := c.NewBuffer(gpu.BufferDesc{Label: "none"})
			return err
		}, `create buffer "none": size 0`},
		"more data than buffer": {func(c *gpu.Ctx, _ *objects) error {
			_, err := c.NewBuffer(gpu.BufferDesc{Label: "small", Size: 1, Data: []byte{1, 2}})
			return err
		}, `create buffer "small": size 1 with 2 bytes`},
		"write beyond": {func(c *gpu.Ctx, o *objects) error { return c.WriteBuffer(o.device, 60, make([]byte, 5)) },
			`write 5 bytes at 60 of buffer "device": beyond its 64 bytes`},
		"write before": {func(c *gpu.Ctx, o *objects) error { return c.WriteBuffer(o.device, -1, make([]byte, 5)) }, "at -1"},
		"write readback": {func(c *gpu.Ctx, o *objects) error { return c.WriteBuffer(o.readback, 0, make([]byte, 5)) },
			`buffer "readback": a readback buffer is written by copies only`},
		"read beyond": {func(c *gpu.Ctx, o *objects) error { return c.ReadBuffer(o.device, 1, make([]byte, 64)) }, "beyond"},
		"copy beyond": {func(c *gpu.Ctx, o *objects) error { return c.CopyBuffer(o.readback, o.device, 32, 0, 33) },
			`copy 33 bytes from "device" at 0 to "readback" at 32`},
		"texture without size": {func(c *gpu.Ctx, _ *objects) error {
			_, err := c.NewTexture(gpu.TextureDesc{Label: "flat", Format: gpu.FormatR8, Width: 4})
			return err
		}, `create texture "flat": size 4x0`},
		"texture without format": {func(c *gpu.Ctx, _ *objects) error {
			_, err := c.NewTexture(gpu.TextureDesc{Label: "x", Width: 4, Height: 4})
			return err
		}, "unknown format"},
		"too many levels": {func(c *gpu.Ctx, _ *objects) error {
			_, err := c.NewTexture(gpu.TextureDesc{Label: "x", Format: gpu.FormatR8, Width: 4, Height: 4, Levels: 4})
			return err
		}, "4 mipmap levels are more than 4x4 has"},
		"array without layers": {func(c *gpu.Ctx, _ *objects) error {
			_, err := c.NewTexture(gpu.TextureDesc{Label: "x", Kind: gpu.Texture2DArray, Format: gpu.FormatR8, Width: 4, Height: 4})
			return err
		}, "an array needs at least 1"},
		"view of nothing": {func(c *gpu.Ctx, _ *objects) error {
			_, err := c.NewTexture(gpu.TextureDesc{Label: "x", Kind: gpu.TextureBuffer, Format: gpu.FormatR8})
			return err
		}, "a texture buffer needs a buffer"},
		"write overflowing": {func(c *gpu.Ctx, o *objects) error { return c.WriteBuffer(o.device, math.MaxInt, make([]byte, 5)) }, "beyond"},
		"read overflowing":  {func(c *gpu.Ctx, o *objects) error { return c.ReadBuffer(o.device, math.MaxInt, make([]byte, 5)) }, "beyond"},
		"copy overflowing": {func(c *gpu.Ctx, o *objects) error {
			return c.CopyBuffer(o.readback, o.device, 1, 1, math.MaxInt)
		}, "out of range"},
		"copy of a negative size": {func(c *gpu.Ctx, o *objects) error {
			return c.CopyBuffer(o.readback, o.device, 8, 8, -8)
		}, "out of range"},
		"texture copy overflowing": {func(c *gpu.Ctx, o *objects) error {
			return c.CopyTextureToBuffer(o.picture, 0, gpu.FormatR32UI, o.readback, math.MaxInt-3)
		}, "beyond"},
		"binding overflowing": {func(c *gpu.Ctx, o *objects) error {
			return o.dispatch(c, 1, gpu.Binding{Kind: gpu.BindStorage, Buffer: o.device, Offset: math.MaxInt, Size: math.MaxInt})
		}, "beyond its 64 bytes"},
		"texture whose bytes overflow": {func(c *gpu.Ctx, _ *objects) error {
			_, err := c.NewTexture(gpu.TextureDesc{Label: "vast", Format: gpu.FormatRGBA32F, Width: math.MaxInt32, Height: math.MaxInt32})
			return err
		}, `create texture "vast": 2147483647x2147483647 pixels`},
		"region overflowing": {func(c *gpu.Ctx, o *objects) error {
			return c.WriteTexture(o.picture, gpu.TextureRegion{X: math.MaxInt, Width: 1, Height: 1}, make([]byte, 4))
		}, `write texture "picture": region`},
		"region outside": {func(c *gpu.Ctx, o *objects) error {
			return c.WriteTexture(o.picture, gpu.TextureRegion{X: 3, Width: 2, Height: 1}, make([]byte, 8))
		}, `write texture "picture": region`},
		"region's data": {func(c *gpu.Ctx, o *objects) error {
			return c.WriteTexture(o.picture, gpu.TextureRegion{Level: 1}, make([]byte, 32))
		}, "32 bytes for 2x1 pixels: need 8"},
		"level": {func(c *gpu.Ctx, o *objects) error { return c.ReadTexture(o.picture, 2, make([]byte, 4)) }, "read level 2"},
		"texture copy beyond": {func(c *gpu.Ctx, o *objects) error {
			return c.CopyTextureToBuffer(o.picture, 0, gpu.FormatR32UI, o.readback, 36)
		}, `copy level 0 of texture "picture" (32 bytes) to buffer "readback" at 36: beyond`},
		"texture copy between pixels": {func(c *gpu.Ctx, o *objects) error {
			return c.CopyTextureToBuffer(o.picture, 0, gpu.FormatR32UI, o.readback, 2)
		}, "offset 2 is not a multiple of a R32UI pixel's 4 bytes"},
		"program of all shaders": {func(c *gpu.Ctx, _ *objects) error {
			_, err := c.NewProgram(gpu.ProgramDesc{Label: "all", Compute: "a", Vertex: "b", Fragment: "c"})
			return err
		}, `create program "all"`},
		"program of half": {func(c *gpu.Ctx, _ *objects) error {
			_, err := c.NewProgram(gpu.ProgramDesc{Label: "half", Vertex: "b"})
			return err
		}, `create program "half"`},
		"framebuffer of nothing": {func(c *gpu.Ctx, _ *objects) error {
			_, err := c.NewFramebuffer(gpu.FramebufferDesc{Label: "none"})
			return err
		}, `create framebuffer "none": it has no attachment`},
		"clear values":   {func(c *gpu.Ctx, o *objects) error { return c.Clear(o.target) }, "0 values for 1 colour"},
		"no work groups": {func(c *gpu.Ctx, o *objects) error { return o.dispatch(c, 0) }, `dispatch "program": [0 1 1] work groups`},
		"binding of nothing": {func(c *gpu.Ctx, o *objects) error {
			return o.dispatch(c, 1, gpu.Binding{Kind: gpu.BindStorage, Slot: 3})
		}, "storage binding of slot 3"},
		"buffer as sampler": {func(c *gpu.Ctx, o *objects) error {
			return o.dispatch(c, 1, gpu.Binding{Kind: gpu.BindSampler, Buffer: o.device})
		}, "sampler binding of slot 0"},
		"binding beyond": {func(c *gpu.Ctx, o *objects) error {
			return o.dispatch(c, 1, gpu.Binding{Kind: gpu.BindUniform, Slot: 1, Buffer: o.device, Offset: 64})
		}, `slot 1: 0 bytes at 64 of buffer "device"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			fake := gputest.NewFake()
			thread := fake.Start(t)
			require.NoError(t, thread.Do(t.Context(), func(c *gpu.Ctx) error {
				o, err := newObjects(c)
				if err != nil {
					return err
				}
				defer o.close()
				before := len(fake.Log())
				require.ErrorContains(t, tt.f(c, &o), tt.want)
				assert.Len(t, fake.Log(), before, "the driver saw it")
				return nil
			}))
		})
	}
}

func TestClosedObjectsAreRefused(t *testing.T) {
	thread := gputest.NewFake().Start(t)
	require.NoError(t, thread.Do(t.Context(), func(c *gpu.Ctx) error {
		o, err := newObjects(c)
		if err != nil {
			return err
		}
		fence, err := c.NewFence()
		if err != nil {
			return err
		}
		live, err := c.NewBuffer(gpu.BufferDesc{Label: "live", Size: 64})
		if err != nil {
			return err
		}
		defer live.Close()
		fence.Close()
		o.close()
		_, viewErr := c.NewTexture(gpu.TextureDesc{Label: "v", Kind: gpu.TextureBuffer, Format: gpu.FormatR32UI, Buffer: o.device})
		_, targetErr := c.NewFramebuffer(gpu.FramebufferDesc{Label: "t", Color: []*gpu.Texture{o.picture}})
		for i, err := range []error{
			c.CopyBuffer(live, o.device, 0, 0, 4), c.CopyBuffer(o.readback, live, 0, 0, 4),
			c.CopyTextureToBuffer(o.picture, 0, gpu.FormatR32UI, live, 0), c.ReadTexture(o.picture, 0, make([]byte, 32)),
			c.Clear(o.target, gpu.ClearColor{}), o.dispatch(c, 1), viewErr, targetErr,
		} {
			assert.ErrorIs(t, err, gpu.ErrObjectClosed, i)
		}
		assert.Equal(t, gpu.FenceFailed, c.PollFence(fence))
		assert.Nil(t, o.readback.Bytes())
		return nil
	}))
}

func TestQueriesNeedTimestamps(t *testing.T) {
	fake := gputest.NewFake()
	info := fake.Info()
	info.TimestampBits = 0
	fake.SetInfo(info)
	thread := fake.Start(t)
	assert.Equal(t, info, thread.Info())
	require.ErrorIs(t, thread.Do(t.Context(), func(c *gpu.Ctx) error {
		_, err := c.NewQuery()
		return err
	}), gpu.ErrNotSupported)
}

// GL 4.5 core, section 7.13.2: copies of buffers need BUFFER_UPDATE. Image stores read by
// glGetTextureImage into a pack buffer need TEXTURE_UPDATE and PIXEL_BUFFER, and FRAMEBUFFER
// where a driver reads through one.
func TestBarrierFor(t *testing.T) {
	assert.Equal(t, gpu.BarrierBufferUpdate, gpu.BarrierFor(gpu.SourceBuffer))
	assert.Equal(t, gpu.BarrierTextureUpdate|gpu.BarrierPixelBuffer|gpu.BarrierFramebuffer, gpu.BarrierFor(gpu.SourceTexture))
	assert.Zero(t, gpu.BarrierFor(0))
}

func TestNames(t *testing.T) {
	assert.Equal(t, "buffer update|framebuffer", (gpu.BarrierBufferUpdate | gpu.BarrierFramebuffer).String())
	assert.Equal(t, "command", gpu.BarrierCommand.String())
	assert.Equal(t, "none", gpu.BarrierBits(0).String())
	assert.Equal(t, "DEPTH32F", gpu.FormatDepth32F.String())
	assert.Equal(t, "200", gpu.Format(200).String())
	assert.Equal(t, "image", gpu.BindImage.String())
	assert.Equal(t, "query", gpu.ObjectQuery.String())
	assert.Equal(t, "failed", gpu.FenceFailed.String())
}

// The class names the golden files and the floors of benchmarks.
func TestClass(t *testing.T) {
	for want, info := range map[string]gpu.Info{
		"host": {Device: gpu.HostDevice, Software: true}, "software": {Vendor: "Mesa", Software: true}, "gpu:nvidia": {Vendor: "NVIDIA"},
	} {
		assert.Equal(t, want, info.Class())
	}
}

func TestLevelBytes(t *testing.T) {
	d := gpu.TextureDesc{Kind: gpu.Texture2DArray, Format: gpu.FormatRGBA16F, Width: 5, Height: 3, Layers: 4, Levels: 3}
	assert.Equal(t, 5*3*4*8, d.LevelBytes(0, d.Format))
	assert.Equal(t, 2*1*4*8, d.LevelBytes(1, d.Format))
	assert.Equal(t, 1*1*4*1, d.LevelBytes(2, gpu.FormatR8))
	assert.Zero(t, d.LevelBytes(3, d.Format))
	assert.Zero(t, d.LevelBytes(-1, d.Format))
}

func ExampleThread() {
	thread, err := gpu.Start(gputest.NewFake().Open) // or eglctx.Open(...)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer thread.Close()
	err = thread.Do(context.Background(), func(c *gpu.Ctx) error {
		points, err := c.NewBuffer(gpu.BufferDesc{Label: "points", Size: 4, Data: []byte{1, 2, 3, 4}})
		if err != nil {
			return err
		}
		defer points.Close() // deleted at the thread's next entry
		var got [4]byte
		if err := c.ReadBuffer(points, 0, got[:]); err != nil {
			return err
		}
		fmt.Println(got)
		return nil
	})
	fmt.Println(err)
	// Output:
	// [1 2 3 4]
	// <nil>
}

// The bytes are the values' own memory, so that what the GPU writes there is read as values.
func TestBytesOfAreTheValuesOwn(t *testing.T) {
	values := []uint32{0x04030201, 8}
	bytes := gpu.BytesOf(values)
	assert.Equal(t, []byte{1, 2, 3, 4, 8, 0, 0, 0}, bytes)
	bytes[7] = 1
	assert.EqualValues(t, 1<<24|8, values[1])
	assert.Empty(t, gpu.BytesOf([]uint32{}))
}

// Mapped memory ends with its thread: a holder of the buffer is told, rather than read memory
// that is gone.
func TestMappedMemoryEndsWithItsThread(t *testing.T) {
	thread, err := gpu.Start(gputest.NewFake().Open)
	require.NoError(t, err)
	var b *gpu.Buffer
	require.NoError(t, thread.Do(t.Context(), func(c *gpu.Ctx) (err error) {
		b, err = c.NewBuffer(gpu.BufferDesc{Label: "readback", Size: 64, Usage: gpu.UsageReadback})
		return err
	}))
	assert.Len(t, b.Bytes(), 64)
	require.NoError(t, thread.Close())
	assert.Nil(t, b.Bytes())
	b.Close()
}

// TestNilObjectsClose: what a failed start hasn't made is closed with the rest.
func TestNilObjectsClose(t *testing.T) {
	for _, x := range []interface{ Close() }{
		(*gpu.Buffer)(nil), (*gpu.Texture)(nil), (*gpu.Program)(nil), (*gpu.Framebuffer)(nil), (*gpu.Fence)(nil), (*gpu.Query)(nil),
	} {
		assert.NotPanics(t, x.Close, "%T", x)
	}
}

// TestObjectsTakeMemory: buffers and textures are taken from the thread's budget before the
// driver makes them. They are given back when they are closed, or with the thread.
func TestObjectsTakeMemory(t *testing.T) {
	budget := memory.New(1000)
	fake := gputest.NewFake()
	thread, err := gpu.Config{Memory: budget}.Start(fake.Open)
	require.NoError(t, err)
	texture := gpu.TextureDesc{Label: "picture", Kind: gpu.Texture2D, Format: gpu.FormatRGBA8, Width: 8, Height: 8, Levels: 2}
	require.NoError(t, thread.Do(t.Context(), func(c *gpu.Ctx) error {
		buffer, err := c.NewBuffer(gpu.BufferDesc{Label: "points", Size: 600})
		require.NoError(t, err)
		assert.EqualValues(t, 600, budget.Held())
		made, err := c.NewTexture(texture)
		require.NoError(t, err)
		assert.EqualValues(t, 600+4*(8*8+4*4), budget.Held())
		assert.Equal(t, budget.Held(), thread.MemoryBytes())
		made.Close()
		assert.EqualValues(t, 600, budget.Held())

		_, err = c.NewBuffer(gpu.BufferDesc{Label: "more", Size: 401})
		require.ErrorIs(t, err, memory.ErrExceeded)
		assert.EqualError(t, err, `create buffer: not enough memory: buffer "more" needs 401 B beside 600 B that are held, the limit is 1000 B`)
		texture.Width, texture.Height, texture.Levels = 16384, 16384, 1
		_, err = c.NewTexture(texture)
		require.ErrorIs(t, err, memory.ErrExceeded)
		assert.ErrorContains(t, err, `texture "picture" of 16384x16384 pixels needs 1.0 GiB`)
		assert.EqualValues(t, 600, budget.Held(), "what is refused takes nothing")

		fake.Fail("CreateBuffer", errors.New("no"))
		_, err = c.NewBuffer(gpu.BufferDesc{Label: "other", Size: 100})
		require.Error(t, err)
		assert.EqualValues(t, 600, budget.Held(), "nor what the driver doesn't make")
		buffer.Close()
		buffer.Close()
		assert.Zero(t, budget.Held())
		_, err = c.NewBuffer(gpu.BufferDesc{Label: "left open", Size: 1000})
		return err
	}))
	assert.EqualValues(t, 1000, thread.MemoryBytes())
	require.NoError(t, thread.Close())
	assert.Zero(t, budget.Held())
	assert.Zero(t, thread.MemoryBytes())
}
