//go:build cgo

package eglctx

// #include "egl.h"
import "C"

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/glcore"
)

// Options choose a device and how its context is made; the zero value is
// usable.
type Options struct {
	// Device is "" or "auto", "hardware", "software", or the number of a hardware device, as Devices
	// counts them. Hardware is the first such device that works. Auto is that, or software where
	// no device does.
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
		case "hardware":
			ctx, causes := openHardware(devices, opts)
			if ctx == nil {
				return nil, noHardware(causes)
			}
			return ctx, nil
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

// noHardware is the error for a machine none of whose GPUs works. Unusable finds all causes in it.
func noHardware(causes []error) error {
	if len(causes) == 0 {
		return unsupported(errors.New("EGL lists no hardware device"))
	}
	return unsupported(inLine(causes))
}

// hardware returns the hardware devices, which are listed first, by their numbers.
func hardware(devices []Device) []Device {
	if n := slices.IndexFunc(devices, func(d Device) bool { return d.Software }); n >= 0 {
		return devices[:n]
	}
	return devices
}

// openHardware opens the first hardware device that works; nil with the causes where none does.
func openHardware(devices []Device, opts Options) (ctx *gpu.Context, causes []error) {
	for _, d := range hardware(devices) {
		ctx, err := openDevice(d, opts)
		if err == nil {
			passOver(ctx, causes)
			return ctx, nil
		}
		causes = append(causes, err)
	}
	return nil, causes
}

// passOver has a context tell of the GPUs that were tried before it.
func passOver(ctx *gpu.Context, causes []error) {
	if driver, ok := ctx.Driver.(*glcore.Driver); ok {
		for _, err := range causes {
			driver.PassOver(err)
		}
	}
}

func openAuto(devices []Device, opts Options) (*gpu.Context, error) {
	ctx, causes := openHardware(devices, opts)
	if ctx != nil {
		return ctx, nil
	}
	opts.anyRenderer = true
	ctx, err := openSoftware(devices, opts)
	if err != nil {
		return nil, inLine(append(causes, err))
	}
	passOver(ctx, causes)
	if driver, ok := ctx.Driver.(*glcore.Driver); ok && driver.Info().Software {
		driver.AddMissing(softwareNote(causes))
	}
	return ctx, nil
}

// softwareNote is the line that says that OpenGL has no GPU. The causes stand in gpu.Info.PassedOver.
func softwareNote(causes []error) string {
	if len(causes) == 0 {
		return "GPU: EGL lists no hardware device, OpenGL runs on the CPU"
	}
	return "GPU: no hardware device could be opened, OpenGL runs on the CPU"
}

func openNumber(devices []Device, n int, opts Options) (*gpu.Context, error) {
	list := hardware(devices)
	if n >= len(list) {
		return nil, noDevice(list, n)
	}
	ctx, err := openDevice(list[n], opts)
	if err != nil {
		return nil, unsupported(err)
	}
	return ctx, nil
}

// noDevice is the error for a number that no device has: it names those that there are.
func noDevice(hardware []Device, n int) error {
	need := "this machine has "
	for _, d := range hardware {
		need += d.String() + "; "
	}
	if len(hardware) == 0 {
		need += "no hardware device; take software"
	} else {
		need += "take one of these numbers, or software"
	}
	return &gpu.UnsupportedError{Feature: fmt.Sprintf("EGL device %d", n), Need: need}
}

// openDevice opens a GPU; its error is an *UnusableError.
func openDevice(d Device, opts Options) (*gpu.Context, error) {
	ctx, err := openDisplay(C.rbDeviceDisplay(d.handle), d.String(), opts)
	if err != nil {
		return nil, &UnusableError{err}
	}
	return ctx, nil
}

// openSoftware prefers the surfaceless platform where there is no GPU: it is
// the older and more widely built one. Beside a GPU it would open that, so
// there the software device comes first.
func openSoftware(devices []Device, opts Options) (*gpu.Context, error) {
	ways := []func([]Device, Options) (*gpu.Context, error){openSurfaceless, openSoftwareDevice}
	if len(hardware(devices)) > 0 {
		slices.Reverse(ways)
	}
	var causes []error
	for _, open := range ways {
		ctx, err := open(devices, opts)
		if err == nil {
			return ctx, nil
		}
		causes = append(causes, err)
	}
	return nil, unsupported(causes...)
}

func openSurfaceless(_ []Device, opts Options) (*gpu.Context, error) {
	extensions, err := clientExtensions()
	if err != nil {
		return nil, err
	}
	if !extensions.has("EGL_MESA_platform_surfaceless") {
		return nil, errors.New("EGL_MESA_platform_surfaceless is not there")
	}
	ctx, err := openDisplay(C.rbSurfacelessDisplay(), surfacelessName, opts)
	if err == nil && !opts.anyRenderer && !ctx.Driver.Info().Software {
		renderer := ctx.Driver.Info().Renderer
		return nil, errors.Join(
			fmt.Errorf("%s opens %s here, unless LIBGL_ALWAYS_SOFTWARE=1 is set", surfacelessName, renderer), ctx.Close())
	}
	return ctx, err
}

func openSoftwareDevice(devices []Device, opts Options) (*gpu.Context, error) {
	for _, d := range devices {
		if d.Software {
			return openDisplay(C.rbDeviceDisplay(d.handle), softwareDeviceName, opts)
		}
	}
	return nil, errors.New("EGL lists no software device")
}

// unsupported makes one error of all the ways that did not work. One that
// already says what is needed, such as a newer driver, speaks for all.
func unsupported(causes ...error) error {
	for _, err := range causes {
		if errors.Is(err, gpu.ErrNotSupported) {
			return err
		}
	}
	return &gpu.UnsupportedError{Feature: "OpenGL without a window", Need: needDriver, Err: inLine(causes)}
}

// inLine joins errors on one line.
func inLine(causes []error) error {
	joined := causes[0]
	for _, err := range causes[1:] {
		joined = fmt.Errorf("%w; %w", joined, err)
	}
	return joined
}
