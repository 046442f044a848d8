package gpu_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/memory"
)

// TestObjectsTakeMemory: buffers and textures are taken from the thread's budget before the
// driver makes them, and given back when they are closed, or with the thread.
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
	require.NoError(t, thread.Close())
	assert.Zero(t, budget.Held())
}
