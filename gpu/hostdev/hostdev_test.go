//go:build cgo

package hostdev_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/hostdev"
	"github.com/raybridge/raybridge/kernels"
)

// start runs a thread on a host device, which has no object left in the end.
func start(t *testing.T, o hostdev.Options) *gpu.Thread {
	t.Helper()
	thread, err := gpu.Start(hostdev.Open(o))
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.Empty(t, thread.Live())
		assert.NoError(t, thread.Close())
	})
	return thread
}

func do(t *testing.T, thread *gpu.Thread, f func(*gpu.Ctx) error) {
	t.Helper()
	require.NoError(t, thread.Do(context.Background(), f))
}

// A copy of a buffer is there once the fence behind it has signalled, in the order of the
// commands. What was closed meanwhile is still copied.
func TestCommandsAreInOrder(t *testing.T) {
	thread := start(t, hostdev.Options{Threads: 2})
	var staging *gpu.Buffer
	var fence *gpu.Fence
	do(t, thread, func(c *gpu.Ctx) error {
		source, err := c.NewBuffer(gpu.BufferDesc{Label: "source", Size: 8, Data: []byte{1, 2, 3}})
		require.NoError(t, err)
		staging, err = c.NewBuffer(gpu.BufferDesc{Label: "staging", Size: 8, Usage: gpu.UsageReadback})
		require.NoError(t, err)
		for i := range byte(100) {
			require.NoError(t, c.WriteBuffer(source, 7, []byte{i}))
			require.NoError(t, c.CopyBuffer(staging, source, 0, 0, 8))
		}
		source.Close()
		fence, err = c.NewFence()
		return err
	})
	for signaled := false; !signaled; {
		do(t, thread, func(c *gpu.Ctx) error {
			signaled = c.PollFence(fence) == gpu.FenceSignaled
			return nil
		})
	}
	assert.Equal(t, []byte{1, 2, 3, 0, 0, 0, 0, 99}, staging.Bytes())
	staging.Close()
	fence.Close()
}

// A clear is seen by a copy and by the next region that is written over it.
func TestClearAndWrite(t *testing.T) {
	thread := start(t, hostdev.Options{})
	do(t, thread, func(c *gpu.Ctx) error {
		target, err := c.NewTexture(gpu.TextureDesc{Label: "target", Format: gpu.FormatRG32UI, Width: 3, Height: 2})
		require.NoError(t, err)
		defer target.Close()
		depth, err := c.NewTexture(gpu.TextureDesc{Label: "depth", Format: gpu.FormatDepth32F, Width: 3, Height: 2})
		require.NoError(t, err)
		defer depth.Close()
		frame, err := c.NewFramebuffer(gpu.FramebufferDesc{Label: "frame", Color: []*gpu.Texture{target}, Depth: depth})
		require.NoError(t, err)
		defer frame.Close()
		require.NoError(t, c.Clear(frame, gpu.ClearColor{Uint: [4]uint32{7, 8}}))
		require.NoError(t, c.WriteTexture(target, gpu.TextureRegion{X: 1, Y: 1, Width: 1, Height: 1}, gpu.BytesOf([]uint32{1, 2})))
		ids, far := make([]uint32, 12), make([]float32, 6)
		require.NoError(t, c.ReadTexture(target, 0, gpu.BytesOf(ids)))
		require.NoError(t, c.ReadTexture(depth, 0, gpu.BytesOf(far)))
		assert.Equal(t, []uint32{7, 8, 7, 8, 7, 8, 7, 8, 1, 2, 7, 8}, ids)
		assert.Equal(t, []float32{1, 1, 1, 1, 1, 1}, far)
		return nil
	})
}

// A shader that is not from the catalogue has no kernel, and the error says what it needs.
func TestOwnShadersNeedOpenGL(t *testing.T) {
	thread := start(t, hostdev.Options{})
	do(t, thread, func(c *gpu.Ctx) error {
		_, err := c.NewProgram(gpu.ProgramDesc{Label: "sensor.mine", Compute: "void main() {}"})
		require.ErrorIs(t, err, gpu.ErrNotSupported)
		assert.ErrorContains(t, err, `"sensor.mine"`)
		assert.ErrorContains(t, err, "needs OpenGL")
		return nil
	})
}

func TestOpenNamesWhatIsWrong(t *testing.T) {
	_, err := gpu.Start(hostdev.Open(hostdev.Options{ISA: "altivec"}))
	require.ErrorIs(t, err, kernels.ErrISA)
	assert.ErrorContains(t, err, hostdev.ISAs()[0])
	_, err = gpu.Start(hostdev.Open(hostdev.Options{Threads: -1}))
	require.Error(t, err)
	assert.False(t, errors.Is(err, gpu.ErrNotSupported))
}
