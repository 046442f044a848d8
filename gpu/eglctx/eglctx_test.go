//go:build cgo

package eglctx_test

import (
	"errors"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/eglctx"
)

// start opens a context; the test skips where this machine has none, and fails
// with REQUIRE_GL=1.
func start(t *testing.T, opts eglctx.Options) *gpu.Thread {
	t.Helper()
	thread, err := gpu.Start(eglctx.Open(opts))
	if errors.Is(err, gpu.ErrNotSupported) && os.Getenv("REQUIRE_GL") != "1" {
		t.Skipf("no live OpenGL: %v", err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, thread.Close()) })
	return thread
}

func TestAutoTakesHardwareOrSaysWhyNot(t *testing.T) {
	info := start(t, eglctx.Options{}).Info()
	devices, err := eglctx.Devices()
	require.NoError(t, err)
	hardware := len(devices) > 0 && !devices[0].Software
	if hardware {
		assert.Contains(t, info.Device, "EGL device")
		return
	}
	assert.True(t, info.Software)
	assert.Contains(t, info.Missing, "GPU: EGL lists no hardware device, OpenGL runs on the CPU")
}

func TestHardwareIsHardwareOrAnError(t *testing.T) {
	start(t, eglctx.Options{})
	devices, err := eglctx.Devices()
	require.NoError(t, err)
	thread, err := gpu.Start(eglctx.Open(eglctx.Options{Device: "hardware"}))
	if err == nil {
		defer func() { assert.NoError(t, thread.Close()) }()
		assert.Contains(t, thread.Info().Device, "EGL device")
		return
	}
	require.ErrorIs(t, err, gpu.ErrNotSupported)
	if len(devices) == 0 || devices[0].Software { // else the devices themselves say what is wrong
		assert.ErrorContains(t, err, "EGL lists no hardware device")
	}
}

func TestSoftwareIsSoftware(t *testing.T) {
	info := start(t, eglctx.Options{Device: "software"}).Info()
	assert.True(t, info.Software, info.Renderer)
	for _, line := range info.Missing {
		assert.NotContains(t, line, "GPU:", "it was asked for")
	}
}

func TestDevicesAreNumbered(t *testing.T) {
	start(t, eglctx.Options{})
	devices, err := eglctx.Devices()
	require.NoError(t, err)
	hardware := 0
	for _, d := range devices {
		if d.Software {
			assert.Equal(t, -1, d.Number)
			assert.Contains(t, d.String(), "software")
			continue
		}
		assert.Equal(t, hardware, d.Number)
		hardware++
	}
}

func TestDeviceThatIsNotThere(t *testing.T) {
	start(t, eglctx.Options{})
	_, err := gpu.Start(eglctx.Open(eglctx.Options{Device: "63"}))
	require.ErrorIs(t, err, gpu.ErrNotSupported)
	assert.ErrorContains(t, err, "EGL device 63")
	for _, name := range []string{"fast", "-1", "0x1"} {
		_, err := gpu.Start(eglctx.Open(eglctx.Options{Device: name}))
		require.Error(t, err)
		assert.NotErrorIs(t, err, gpu.ErrNotSupported, "the name is wrong, not the machine")
		assert.ErrorContains(t, err, name)
	}
}

// Contexts of one process live side by side, each on its thread, and one's end
// leaves the others.
func TestContextsAreIndependent(t *testing.T) {
	start(t, eglctx.Options{})
	first := start(t, eglctx.Options{Debug: true})
	var others sync.WaitGroup
	for range 3 {
		others.Go(func() {
			thread, err := gpu.Start(eglctx.Open(eglctx.Options{}))
			if !assert.NoError(t, err) {
				return
			}
			assert.NoError(t, thread.Do(t.Context(), writeAndRead))
			assert.NoError(t, thread.Close())
		})
	}
	others.Wait()
	require.NoError(t, first.Do(t.Context(), writeAndRead))
}

func writeAndRead(c *gpu.Ctx) error {
	b, err := c.NewBuffer(gpu.BufferDesc{Label: "b", Size: 4, Data: []byte{1, 2, 3, 4}})
	if err != nil {
		return err
	}
	defer b.Close()
	var got [4]byte
	if err := c.ReadBuffer(b, 0, got[:]); err != nil {
		return err
	}
	if got != [4]byte{1, 2, 3, 4} {
		return errors.New("the buffer lost its contents")
	}
	return nil
}
