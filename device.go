package raybridge

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/eglctx"
	"github.com/raybridge/raybridge/gpu/hostdev"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
)

// device is what opens the device. A sensor with a shader of its own leaves out the host device.
func (c *Config) device(log *slog.Logger) (gpu.Opener, error) {
	at := slices.IndexFunc(c.Sensors, func(d *sensors.Definition) bool { return d.OpenGL })
	if at >= 0 && (c.GPU == "" || c.GPU == "auto") {
		log.Info("a sensor type has a shader of its own, so that OpenGL computes", "type", c.Sensors[at].ID)
		return eglctx.Open(eglctx.Options{}), nil
	}
	return Device(c.GPU, c.Host)
}

// Device returns what opens a device by its name. A number is that of a GPU that `raybridge gpu` lists. It is
// host for the host device, which needs no OpenGL, and software for OpenGL on the CPU. Auto or "" is the
// first GPU that works, else the host device, else software. The options are the host device's.
func Device(name string, host hostdev.Options) (gpu.Opener, error) {
	switch name {
	case "", "auto", gpu.HostDevice:
		if isas := hostdev.ISAs(); host.ISA != "" && host.ISA != "auto" && len(isas) > 0 && !slices.Contains(isas, host.ISA) {
			return nil, fmt.Errorf("host: instruction set %q: %s", host.ISA, fault.Want(host.ISA, append([]string{"auto"}, isas...)...))
		}
		if host.Threads < 0 {
			return nil, fmt.Errorf("host: %d threads: take 1 or more, or 0 for one each core", host.Threads)
		}
		if host.CacheDir == "" {
			host.CacheDir, _ = scene.CacheDir() // without one, each process measures
		}
		if name == gpu.HostDevice {
			return hostdev.Open(host), nil
		}
		return func() (*gpu.Context, error) { return openBest(host) }, nil
	case "software":
	default:
		if n, err := strconv.Atoi(name); err != nil || n < 0 {
			return nil, fmt.Errorf("%q isn't a number that raybridge gpu lists: %s", name, fault.Want(name, "auto", "software", "host"))
		}
	}
	host.CacheDir = "" // a GPU has no use for it
	if host != (hostdev.Options{}) {
		return nil, fmt.Errorf("%q: the instruction set and the threads are the host device's: take host", name)
	}
	return eglctx.Open(eglctx.Options{Device: name}), nil
}

// openBest opens a GPU, else the host device, else OpenGL on the CPU.
func openBest(host hostdev.Options) (*gpu.Context, error) {
	c, gpuErr := eglctx.Open(eglctx.Options{Device: "hardware"})()
	if gpuErr == nil {
		return c, nil
	}
	c, hostErr := hostdev.Open(host)()
	if hostErr == nil {
		passOver(c, gpuErr)
		return c, nil
	}
	c, err := eglctx.Open(eglctx.Options{})()
	if err != nil {
		return nil, errors.Join(err, hostErr)
	}
	return c, nil
}

// passOver has the host device say why no GPU computes. Each that is there and can't be used is worth
// a line of its own.
func passOver(c *gpu.Context, gpuErr error) {
	d, ok := c.Driver.(interface {
		AddMissing(line string)
		PassOver(err error)
	})
	if !ok {
		return
	}
	d.AddMissing("GPU: no hardware device could be opened, the host device computes on the CPU")
	for _, fault := range eglctx.Unusable(gpuErr) {
		d.PassOver(fault)
	}
}
