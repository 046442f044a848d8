//go:build cgo

package eglctx

// #include "egl.h"
import "C"

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/glcore"
)

// Options choose a device and how its context is made; the zero value is
// usable.
type Options struct {
	// Device is "" or "auto": the first hardware device that works, software
	// where there is none; "software"; or the number of a hardware device, as
	// Devices counts them.
	Device string
	// Debug asks for a debug context (KHR_debug): slower, for tests.
	Debug bool

	anyRenderer bool // software was not asked for: a hidden GPU is welcome
}

// Names of the software ways, as gpu.Info.Device has them.
const (
	surfacelessName    = "EGL surfaceless"
	softwareDeviceName = "EGL software device"
)

// Open returns an opener for gpu.Start. Its error is a *gpu.UnsupportedError
// that names what to install or which driver is too old, unless the device's
// name itself is wrong. Where software is chosen for want of a GPU,
// gpu.Info.Missing says so in one line.
func Open(opts Options) gpu.Opener {
	return func() (*gpu.Context, error) {
		devices, err := Devices()
		if err != nil {
			return nil, err
		}
		switch opts.Device {
		case "", "auto":
			return openAuto(devices, opts)
		case "software":
			return openSoftware(devices, opts)
		}
		n, err := strconv.Atoi(opts.Device)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("gpu %q: it is auto, software or the number of a device", opts.Device)
		}
		return openNumber(devices, n, opts)
	}
}

func openAuto(devices []Device, opts Options) (*gpu.Context, error) {
	var causes []error
	for _, d := range devices {
		if d.Software {
			continue
		}
		ctx, err := openDevice(d, opts)
		if err == nil {
			return ctx, nil
		}
		causes = append(causes, err)
	}
	opts.anyRenderer = true
	ctx, err := openSoftware(devices, opts)
	if err != nil {
		return nil, errors.Join(append([]error{err}, causes...)...)
	}
	if driver, ok := ctx.Driver.(*glcore.Driver); ok && driver.Info().Software {
		driver.AddMissing(softwareNote(causes))
	}
	return ctx, nil
}

// softwareNote is the line that says why there is no GPU.
func softwareNote(causes []error) string {
	if len(causes) == 0 {
		return "GPU: EGL lists no hardware device, OpenGL runs on the CPU"
	}
	return fmt.Sprintf("GPU: no hardware device could be opened (%v), OpenGL runs on the CPU", errors.Join(causes...))
}

func openNumber(devices []Device, n int, opts Options) (*gpu.Context, error) {
	hardware := 0
	for _, d := range devices {
		if d.Software {
			continue
		}
		if d.Number == n {
			return openDevice(d, opts)
		}
		hardware++
	}
	return nil, &gpu.UnsupportedError{
		Feature: fmt.Sprintf("EGL device %d", n),
		Need:    fmt.Sprintf("this machine has %d hardware devices, counted from 0; \"software\" always works", hardware),
	}
}

func openDevice(d Device, opts Options) (*gpu.Context, error) {
	return openDisplay(C.rbDeviceDisplay(d.handle), d.String(), opts)
}

// openSoftware prefers the surfaceless platform where there is no GPU: it is
// the older and more widely built one. Beside a GPU it would open that, so
// there the software device comes first.
func openSoftware(devices []Device, opts Options) (*gpu.Context, error) {
	ways := []func() (*gpu.Context, error){
		func() (*gpu.Context, error) { return openSurfaceless(opts) },
		func() (*gpu.Context, error) { return openSoftwareDevice(devices, opts) },
	}
	if len(devices) > 0 && !devices[0].Software {
		ways[0], ways[1] = ways[1], ways[0]
	}
	var causes []error
	for _, open := range ways {
		ctx, err := open()
		if err == nil {
			return ctx, nil
		}
		causes = append(causes, err)
	}
	return nil, errors.Join(causes...)
}

func openSurfaceless(opts Options) (*gpu.Context, error) {
	extensions, err := clientExtensions()
	if err != nil {
		return nil, err
	}
	if !extensions.has("EGL_MESA_platform_surfaceless") {
		return nil, &gpu.UnsupportedError{Feature: surfacelessName, Need: needDriver}
	}
	ctx, err := openDisplay(C.rbSurfacelessDisplay(), surfacelessName, opts)
	if err == nil && !opts.anyRenderer && !ctx.Driver.Info().Software {
		renderer := ctx.Driver.Info().Renderer
		return nil, errors.Join(&gpu.UnsupportedError{
			Feature: "software OpenGL",
			Need:    "Mesa's surfaceless platform opens " + renderer + " here; set LIBGL_ALWAYS_SOFTWARE=1",
		}, ctx.Close())
	}
	return ctx, err
}

func openSoftwareDevice(devices []Device, opts Options) (*gpu.Context, error) {
	for _, d := range devices {
		if d.Software {
			return openDisplay(C.rbDeviceDisplay(d.handle), softwareDeviceName, opts)
		}
	}
	return nil, &gpu.UnsupportedError{Feature: softwareDeviceName, Need: needDriver}
}
