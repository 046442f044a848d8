//go:build cgo

package eglctx

import (
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
