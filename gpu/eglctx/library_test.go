//go:build cgo

package eglctx

import (
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
)

func TestAMissingLibraryNamesWhatToInstall(t *testing.T) {
	for library, cause := range map[string]string{
		"libEGL-of-nobody.so.1": "libEGL-of-nobody.so.1: cannot open shared object file", // there is none
		"libm.so.6":             "eglBindAPI",                                            // there is another
	} {
		err := load(library)
		require.ErrorIs(t, err, gpu.ErrNotSupported, library)
		for _, want := range []string{"no EGL", cause, "apt-get install libegl1 libgl1-mesa-dri", "dnf install", "pacman -S"} {
			assert.ErrorContains(t, err, want)
		}
	}
	// What failed took nothing from a library that is open.
	if loaded() == nil {
		_, err := Devices()
		assert.NoError(t, err)
	}
}

// TestAWrongNumberNamesTheDevices: those that can be taken, software ones not by number.
func TestAWrongNumberNamesTheDevices(t *testing.T) {
	software := Device{Number: -1, Software: true}
	for want, devices := range map[string][]Device{
		"no EGL device 17: this machine has no hardware device; take software": {software},
		"no EGL device 17: this machine has EGL device 0, NVIDIA H200, /dev/dri/card1; EGL device 1; take one of these numbers, or software": {
			{Number: 0, Renderer: "NVIDIA H200", File: "/dev/dri/card1"}, {Number: 1}, software,
		},
	} {
		_, err := openNumber(devices, 17, Options{})
		assert.EqualError(t, err, want)
		assert.ErrorIs(t, err, gpu.ErrNotSupported)
	}
}

// TestCausesAreToldOnOneLine: all of them, unless one already says what is needed.
func TestCausesAreToldOnOneLine(t *testing.T) {
	surfaceless, device := errors.New("EGL surfaceless: bad match"), errors.New("EGL lists no software device")
	err := unsupported(surfaceless, device)
	assert.ErrorIs(t, err, gpu.ErrNotSupported)
	assert.ErrorIs(t, err, surfaceless)
	assert.ErrorIs(t, err, device)
	assert.ErrorContains(t, err, "EGL surfaceless: bad match; EGL lists no software device")
	assert.NotContains(t, err.Error(), "\n")
	old := &gpu.UnsupportedError{Feature: "OpenGL 4.5", Need: "a newer driver"}
	assert.Equal(t, error(old), unsupported(surfaceless, old, device))
}

// TestEachUnusableGPUIsTold: an error names all of them, and says nothing else of hardware.
func TestEachUnusableGPUIsTold(t *testing.T) {
	old := &UnusableError{&gpu.UnsupportedError{Feature: "OpenGL 4.5 core", Need: "a newer driver"}}
	busy, full := &UnusableError{errors.New("EGL device 1: busy")}, &UnusableError{errors.New("EGL device 2: no room")}
	for want, causes := range map[string][]error{
		"no OpenGL 4.5 core: a newer driver":                                            {old},
		"no OpenGL 4.5 core: a newer driver; EGL device 1: busy":                        {old, busy},
		"EGL device 1: busy; EGL device 2: no room; no OpenGL 4.5 core: a newer driver": {busy, full, old},
		(&gpu.UnsupportedError{Feature: "OpenGL without a window", Need: needDriver, Err: errors.New("EGL device 1: busy; EGL device 2: no room")}).Error(): {
			busy, full,
		},
		(&gpu.UnsupportedError{Feature: "OpenGL without a window", Need: needDriver, Err: errors.New("EGL lists no hardware device")}).Error(): nil,
	} {
		err := noHardware(causes)
		require.EqualError(t, err, want)
		require.ErrorIs(t, err, gpu.ErrNotSupported)
		found := Unusable(err)
		require.Len(t, found, len(causes))
		for i := range found {
			assert.Same(t, causes[i], found[i])
		}
	}
}

// TestGPUsThatCannotBeOpenedArePassedOver: what opens instead says which they were, and why, once.
func TestGPUsThatCannotBeOpenedArePassedOver(t *testing.T) {
	runtime.LockOSThread() // a context is a thread's
	defer runtime.UnlockOSThread()
	software, err := openSoftware(nil, Options{})
	if errors.Is(err, gpu.ErrNotSupported) && os.Getenv("REQUIRE_GL") != "1" {
		t.Skipf("no live OpenGL: %v", err)
	}
	require.NoError(t, err)
	require.NoError(t, software.Close())
	ghosts := []Device{{Number: 0, Renderer: "Ghost"}, {Number: 1, Renderer: "Spectre"}} // EGL doesn't know their handles
	_, causes := openHardware(ghosts, Options{})
	require.Len(t, causes, 2)
	require.ErrorAs(t, causes[0], new(*UnusableError))
	require.ErrorContains(t, causes[0], "EGL device 0, Ghost: ")
	require.ErrorContains(t, causes[1], "EGL device 1, Spectre: ")
	c, err := openAuto(ghosts, Options{})
	require.NoError(t, err)
	info := c.Driver.Info()
	assert.Equal(t, []string{causes[0].Error(), causes[1].Error()}, info.PassedOver)
	assert.NotContains(t, strings.Join(info.Missing, "\n"), "Ghost", "it is told once")
	require.NoError(t, c.Close())
}
