package readback_test

import (
	"bytes"
	"errors"
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/readback"
)

// sourceElements is how many uint16 the slots of the fuzzed pools hold.
const sourceElements = 512

// captureSource reads one source back on the GL thread of a fake; nobody else
// is needed to complete it.
func captureSource(t *testing.T, mode readback.CopyMode, source func(c *gpu.Ctx) (readback.Source, func(), error)) (data []byte, err error) {
	t.Helper()
	fake := gputest.NewFake()
	fake.StopLog()
	thread, err := gpu.Start(fake.Open)
	require.NoError(t, err)
	defer func() { require.NoError(t, thread.Close()) }()
	completed := 0
	pool, err := readback.New(readback.Config{Slots: 1, MaxElements: sourceElements, CopyMode: mode},
		func(_ *readback.Capture[struct{}, [2]uint8], l readback.Lease[[2]uint8], err error) {
			defer l.Release()
			completed++
			require.NoError(t, err)
			for _, e := range l.Slice() {
				data = append(data, e[:]...)
			}
		})
	require.NoError(t, err)
	defer func() { require.NoError(t, pool.Close()) }()
	ready := 0
	err = thread.Do(t.Context(), func(c *gpu.Ctx) error {
		src, done, err := source(c)
		if err != nil {
			return err
		}
		defer done()
		if _, err := pool.Start(c, src, 0); err != nil {
			return err
		}
		ready = pool.Poll(c)
		return nil
	})
	require.Equal(t, ready, pool.Process())
	require.Equal(t, err == nil, completed == 1)
	return data, err
}

// FuzzBufferRange holds the checks of a range against arithmetic that doesn't overflow. What
// lies in the buffer comes back as it is, all else is ErrSize.
func FuzzBufferRange(f *testing.F) {
	f.Add(uint16(64), int64(0), int64(64), false)
	f.Add(uint16(64), int64(62), int64(2), true)
	f.Add(uint16(64), int64(-2), int64(4), false)
	f.Add(uint16(64), int64(2), int64(math.MaxInt64), false)
	f.Add(uint16(64), int64(math.MaxInt64), int64(math.MaxInt64), true)
	f.Add(uint16(64), int64(math.MinInt64), int64(math.MinInt64), true)
	f.Add(uint16(64), int64(8), int64(-8), false)
	f.Add(uint16(4096), int64(0), int64(4096), false)
	f.Add(uint16(9), int64(3), int64(5), false)
	f.Fuzz(func(t *testing.T, room uint16, offset, size int64, after bool) {
		if room == 0 || int64(int(offset)) != offset || int64(int(size)) != size {
			t.Skip("no buffer, or no int of this machine")
		}
		contents := make([]byte, room)
		for i := range contents {
			contents[i] = byte(i * 7)
		}
		mode := readback.CopyBeforeFence
		if after {
			mode = readback.CopyAfterFence
		}
		data, err := captureSource(t, mode, func(c *gpu.Ctx) (readback.Source, func(), error) {
			b, err := c.NewBuffer(gpu.BufferDesc{Label: "source", Size: len(contents), Data: contents})
			if err != nil {
				return readback.Source{}, nil, err
			}
			return readback.BufferRange(b, int(offset), int(size)), b.Close, nil
		})
		end := new(big.Int).Add(big.NewInt(offset), big.NewInt(size))
		inside := offset >= 0 && size > 0 && end.Cmp(big.NewInt(int64(room))) <= 0
		if !inside || size%2 != 0 || size/2 > sourceElements {
			require.ErrorIs(t, err, readback.ErrSize)
			return
		}
		require.NoError(t, err)
		require.Equal(t, contents[offset:offset+size], data)
	})
}

// FuzzTextureLevel holds the sizes of levels and the choice of formats against a reference. A
// level that is there comes back as it is, what can't be is ErrSize or ErrSource.
func FuzzTextureLevel(f *testing.F) {
	f.Add(uint8(8), uint8(4), uint8(0), uint8(2), uint8(gpu.FormatRGBA8), int64(1), uint8(gpu.FormatNone))
	f.Add(uint8(8), uint8(4), uint8(3), uint8(1), uint8(gpu.FormatR32UI), int64(0), uint8(gpu.FormatR32UI))
	f.Add(uint8(8), uint8(4), uint8(0), uint8(1), uint8(gpu.FormatRGBA8), int64(-1), uint8(gpu.FormatRGBA8))
	f.Add(uint8(8), uint8(4), uint8(0), uint8(1), uint8(gpu.FormatRGBA8), int64(math.MaxInt64), uint8(gpu.FormatRGBA8))
	f.Add(uint8(8), uint8(4), uint8(0), uint8(1), uint8(gpu.FormatRGBA8), int64(math.MinInt64), uint8(gpu.FormatRGBA8))
	f.Add(uint8(3), uint8(1), uint8(0), uint8(1), uint8(gpu.FormatR8), int64(0), uint8(gpu.FormatNone))
	f.Add(uint8(9), uint8(9), uint8(0), uint8(1), uint8(gpu.FormatDepth32F), int64(0), uint8(gpu.FormatR32F))
	f.Add(uint8(9), uint8(9), uint8(0), uint8(1), uint8(gpu.FormatRGBA8), int64(0), uint8(200))
	f.Fuzz(func(t *testing.T, width, height, layers, levels, own uint8, level int64, format uint8) {
		if int64(int(level)) != level {
			t.Skip("no int of this machine")
		}
		desc := gpu.TextureDesc{
			Label: "picture", Format: gpu.Format(own), Width: int(width % 65), Height: int(height % 65),
			Layers: int(layers % 4), Levels: int(levels % 8),
		}
		if desc.Layers > 0 {
			desc.Kind = gpu.Texture2DArray
		}
		var pixels []byte
		made := false
		data, err := captureSource(t, readback.CopyBeforeFence, func(c *gpu.Ctx) (readback.Source, func(), error) {
			texture, err := c.NewTexture(desc)
			if err != nil {
				return readback.Source{}, nil, err
			}
			made = true
			pixels, err = fillLevel(c, texture, level)
			return readback.TextureLevel(texture, int(level), gpu.Format(format)), texture.Close, err
		})
		if !made {
			require.Error(t, err)
			return
		}
		want := gpu.Format(format)
		if want == gpu.FormatNone {
			want = desc.Format
		}
		pixel := want.PixelBytes()
		switch same := pixel == desc.Format.PixelBytes(); {
		case kindOf(want) != kindOf(desc.Format):
			require.ErrorIs(t, err, readback.ErrSource)
		case level < 0 || level >= int64(max(desc.Levels, 1)) || pixel == 0:
			require.ErrorIs(t, err, readback.ErrSize)
		case same && (len(pixels)%2 != 0 || len(pixels)/2 > sourceElements):
			require.ErrorIs(t, err, readback.ErrSize)
		case !same:
			// The fake converts nothing: too large, or refused by it.
			require.True(t, errors.Is(err, readback.ErrSize) || errors.Is(err, readback.ErrSource), "%v", err)
		default:
			require.NoError(t, err)
			require.True(t, bytes.Equal(pixels, data))
		}
	})
}

// fillLevel writes all layers of a level and returns its bytes; nil where there
// is no such level.
func fillLevel(c *gpu.Ctx, texture *gpu.Texture, level int64) (all []byte, err error) {
	desc := texture.Desc()
	if level < 0 || level >= int64(desc.Levels) {
		return nil, nil
	}
	width, height := desc.Width, desc.Height
	for range level {
		width, height = max(width/2, 1), max(height/2, 1)
	}
	for layer := range max(desc.Layers, 1) {
		pixels := make([]byte, width*height*desc.Format.PixelBytes())
		for i := range pixels {
			pixels[i] = byte(i*3 + layer)
		}
		region := gpu.TextureRegion{Level: int(level), Layer: layer}
		if err := c.WriteTexture(texture, region, pixels); err != nil {
			return nil, err
		}
		all = append(all, pixels...)
	}
	return all, nil
}

// kindOf tells apart what OpenGL doesn't convert into each other.
func kindOf(f gpu.Format) string {
	switch {
	case f == gpu.FormatDepth32F:
		return "depth"
	case slices.Contains([]gpu.Format{gpu.FormatR32UI, gpu.FormatRG32UI, gpu.FormatRGBA32UI}, f):
		return "integers"
	default:
		return "colour"
	}
}
