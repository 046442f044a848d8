package gpu_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
)

// TestLimitsOfTheDevice: a request beyond one of the device's limits is refused before the driver sees
// it, with both numbers. A request that just reaches the limit passes.
func TestLimitsOfTheDevice(t *testing.T) {
	texture := func(d gpu.TextureDesc) func(*gpu.Ctx, *objects) error {
		return func(c *gpu.Ctx, o *objects) error {
			d.Label, d.Format = "picture", gpu.FormatR32UI
			if d.Kind == gpu.TextureBuffer {
				d.Buffer = o.device
			}
			made, err := c.NewTexture(d)
			made.Close()
			return err
		}
	}
	dispatch := func(groups [3]int, bind gpu.Binding) func(*gpu.Ctx, *objects) error {
		return func(c *gpu.Ctx, o *objects) error {
			d := gpu.Dispatch{Program: o.program, Groups: groups}
			switch bind.Kind {
			case gpu.BindUniform, gpu.BindStorage:
				bind.Buffer = o.device
			case gpu.BindSampler, gpu.BindImage:
				bind.Texture = o.picture
			}
			if bind.Kind != 0 {
				d.Bind = []gpu.Binding{bind}
			}
			return c.Dispatch(&d)
		}
	}
	one := [3]int{1, 1, 1}
	for name, tt := range map[string]struct {
		fits, beyond func(*gpu.Ctx, *objects) error
		want         string
	}{
		"side": {texture(gpu.TextureDesc{Width: 8, Height: 1}), texture(gpu.TextureDesc{Width: 1, Height: 9}),
			`create texture "picture": more than this device can do: 1x9 pixels in 1 layers, its textures have at most 8 a side and 2 layers`},
		"layers": {texture(gpu.TextureDesc{Kind: gpu.Texture2DArray, Width: 1, Height: 1, Layers: 2}), texture(gpu.TextureDesc{Kind: gpu.Texture2DArray, Width: 1, Height: 1, Layers: 3}),
			"1x1 pixels in 3 layers"},
		"texels":         {nil, texture(gpu.TextureDesc{Kind: gpu.TextureBuffer}), "16 texels, its texture buffers have at most 15"},
		"uniform bytes":  {dispatch(one, gpu.Binding{Kind: gpu.BindUniform, Size: 32}), dispatch(one, gpu.Binding{Kind: gpu.BindUniform, Size: 33}), `dispatch "program": more than this device can do: 33 bytes of buffer "device", its uniform blocks have at most 32`},
		"storage bytes":  {dispatch(one, gpu.Binding{Kind: gpu.BindStorage, Size: 48}), dispatch(one, gpu.Binding{Kind: gpu.BindStorage}), `64 bytes of buffer "device", its storage blocks have at most 48`},
		"uniform slot":   {dispatch(one, gpu.Binding{Kind: gpu.BindUniform, Slot: 1, Size: 4}), dispatch(one, gpu.Binding{Kind: gpu.BindUniform, Slot: 2, Size: 4}), `"device" at uniform slot 2, it has 2`},
		"storage slot":   {dispatch(one, gpu.Binding{Kind: gpu.BindStorage, Slot: 2, Size: 4}), dispatch(one, gpu.Binding{Kind: gpu.BindStorage, Slot: 3, Size: 4}), "storage slot 3, it has 3"},
		"uniform offset": {dispatch(one, gpu.Binding{Kind: gpu.BindUniform, Offset: 16, Size: 4}), dispatch(one, gpu.Binding{Kind: gpu.BindUniform, Offset: 8, Size: 4}), `"device" at 8 bytes, its uniform blocks begin at multiples of 16`},
		"storage offset": {dispatch(one, gpu.Binding{Kind: gpu.BindStorage, Offset: 32, Size: 4}), dispatch(one, gpu.Binding{Kind: gpu.BindStorage, Offset: 16, Size: 4}), `"device" at 16 bytes, its storage blocks begin at multiples of 32`},
		"sampler slot":   {dispatch(one, gpu.Binding{Kind: gpu.BindSampler, Slot: 3}), dispatch(one, gpu.Binding{Kind: gpu.BindSampler, Slot: 4}), `"picture" at sampler slot 4, it has 4`},
		"image slot":     {dispatch(one, gpu.Binding{Kind: gpu.BindImage, Slot: 4}), dispatch(one, gpu.Binding{Kind: gpu.BindImage, Slot: -1}), "image slot -1, it has 5"},
		"groups":         {dispatch([3]int{5, 6, 7}, gpu.Binding{}), dispatch([3]int{5, 6, 8}, gpu.Binding{}), `dispatch "program": more than this device can do: [5 6 8] work groups, it takes at most [5 6 7]`},
	} {
		t.Run(name, func(t *testing.T) {
			fake := gputest.NewFake()
			info := fake.Info()
			l := &info.Limits
			l.MaxTextureSize, l.MaxTextureLayers, l.MaxTextureBufferTexels = 8, 2, 16
			l.MaxUniformBlockBytes, l.MaxStorageBlockBytes = 32, 48
			l.UniformSlots, l.StorageSlots, l.SamplerSlots, l.ImageSlots = 2, 3, 4, 5
			l.UniformAlignment, l.StorageAlignment = 16, 32
			l.MaxComputeGroups = [3]int{5, 6, 7}
			if name == "texels" {
				l.MaxTextureBufferTexels = 15
			}
			fake.SetInfo(info)
			thread := fake.Start(t)
			require.NoError(t, thread.Do(t.Context(), func(c *gpu.Ctx) error {
				o, err := newObjects(c)
				defer o.close()
				if tt.fits != nil {
					require.NoError(t, err)
					require.NoError(t, tt.fits(c, &o))
				}
				before := len(fake.Log())
				err = tt.beyond(c, &o)
				require.ErrorIs(t, err, gpu.ErrLimit)
				require.ErrorContains(t, err, tt.want)
				assert.Len(t, fake.Log(), before, "the driver saw it")
				return nil
			}))
		})
	}
}

// Each limit counts by itself: one that is lower, or an alignment that is coarser, is named.
func TestBelowNamesEachLimit(t *testing.T) {
	least := gpu.Guaranteed()
	assert.Empty(t, least.Below(&least))
	better := gpu.Guaranteed()
	better.MaxSamplers, better.StorageAlignment, better.MaxComputeGroupSize[2] = 32, 16, 1024
	assert.Empty(t, better.Below(&least))
	assert.Equal(t, []string{"MaxSamplers 16, not 32", "StorageAlignment 256, not 16", "MaxComputeGroupSize[2] 64, not 1024"}, least.Below(&better))
}
