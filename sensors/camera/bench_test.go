//go:build cgo

package camera_test

import (
	"cmp"
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/eglctx"
	"github.com/raybridge/raybridge/gpu/hostdev"
	"github.com/raybridge/raybridge/scene/city"
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/weather"
)

// benchmarkCapture makes colour, depth, semantic and instance pictures of the default city from
// the moving ego, one instant after the other. It measures from the announcement to the
// published messages. Nothing overlaps: the frame time is a latency too.
func benchmarkCapture(b *testing.B, width, height int, more ...any) {
	mount := spatial.FromRPY(mgl64.Vec3{1.2, 0, 1.6}, 0, 0, 0)
	attributes := size(width, height)
	benchmarkCameras(b,
		mounted{camera.RGBDefinition, mount, size(width, height, more...)}, mounted{camera.DepthDefinition, mount, attributes},
		mounted{camera.SemanticDefinition, mount, attributes}, mounted{camera.InstanceDefinition, mount, attributes})
}

// opener takes "host" and "host:avx2" beside what eglctx.Options has.
func opener(device string) gpu.Opener {
	if isa, ok := strings.CutPrefix(device, "host"); ok {
		return hostdev.Open(hostdev.Options{ISA: strings.TrimPrefix(isa, ":")})
	}
	return eglctx.Open(eglctx.Options{Device: device})
}

// spent returns the CPU time of the process, which a shared machine changes less than the clock.
func spent() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func benchmarkCameras(b *testing.B, list ...mounted) {
	thread, err := gpu.Start(opener(cmp.Or(os.Getenv("GL_DEVICE"), "host")))
	if errors.Is(err, gpu.ErrNotSupported) {
		b.Skip(err)
	}
	require.NoError(b, err)
	defer func() { require.NoError(b, thread.Close()) }()
	town, err := city.Generate(city.Options{})
	require.NoError(b, err)
	r := newRigOn(b, thread, town, town.Route, list...)
	defer r.end()
	r.forgetful = true
	stamp := int64(0)
	r.fire(simtime.Stamp(stamp))
	best, before := time.Hour, spent()
	b.ReportAllocs()
	for b.Loop() {
		stamp += 50_000_000
		start := time.Now()
		r.begin(simtime.Stamp(stamp))
		for r.poll(simtime.Stamp(stamp)) > 0 {
			time.Sleep(time.Millisecond) // the CPU is for the device
		}
		best = min(best, time.Since(start))
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "frames/s")
	b.ReportMetric(best.Seconds()*1e3, "best-ms")
	b.ReportMetric((spent()-before).Seconds()*1e3/float64(b.N), "cpu-ms/frame")
}

func BenchmarkCapture640x480(b *testing.B)  { benchmarkCapture(b, 640, 480) }
func BenchmarkCapture1280x720(b *testing.B) { benchmarkCapture(b, 1280, 720) }

// BenchmarkCaptureSmooth sees four points a pixel in the colour picture.
func BenchmarkCaptureSmooth640x480(b *testing.B) {
	benchmarkCapture(b, 640, 480, "samples", 4)
}

// BenchmarkCaptureTraced has traced shadows in the colour picture.
func BenchmarkCaptureTraced640x480(b *testing.B) { benchmarkCapture(b, 640, 480, "shadows", "traced") }

// What a rig of Autoware.Auto asks for: one colour camera, 1920 x 1080.
func benchmarkColor(b *testing.B, more ...any) {
	benchmarkCameras(b, mounted{camera.RGBDefinition, spatial.FromRPY(mgl64.Vec3{1.2, 0, 1.6}, 0, 0, 0), size(1920, 1080, append(more, "fov", 80)...)})
}

func BenchmarkColor1920x1080(b *testing.B) { benchmarkColor(b) }
func BenchmarkColorJPEG1920x1080(b *testing.B) {
	benchmarkColor(b, "compressed", "jpeg", "publish_raw", false)
}
func BenchmarkColorPlumbBob1920x1080(b *testing.B) {
	benchmarkColor(b, "lens", "plumb_bob", "distortion", "-0.2,0.05,0,0,0")
}

// BenchmarkLens640x480 has a lens of the table beside the one with a formula that sees the same.
func BenchmarkLens640x480(b *testing.B) {
	for _, lens := range []string{"svl_fisheye", "mei"} {
		b.Run(lens, func(b *testing.B) {
			benchmarkCameras(b, mounted{camera.RGBDefinition, spatial.FromRPY(mgl64.Vec3{1.2, 0, 1.6}, 0, 0, 0), size(640, 480, "lens", lens, "xi", 1.2, "fov", 80)})
		})
	}
}

// BenchmarkShutter640x480 has rolling shutters and blur beside what they are measured by.
func BenchmarkShutter640x480(b *testing.B) {
	bent := []any{"lens", "plumb_bob", "distortion", "-0.2,0.05,0,0,0"}
	rolls := []any{"shutter", "rolling", "line_time", 4e-5}
	with := func(lists ...[]any) (all []any) { return append(all, slices.Concat(lists...)...) }
	for _, k := range []struct {
		name string
		more []any
	}{
		{"pinhole", nil}, {"rolling", rolls},
		{"plumb_bob", bent}, {"rolling_plumb_bob", with(bent, rolls)},
		{"samples_4", []any{"samples", 4}}, {"blur_4", []any{"motion_blur", 4}},
		{"samples_4_plumb_bob", with(bent, []any{"samples", 4})}, {"blur_4_plumb_bob", with(bent, []any{"motion_blur", 4})},
		{"rolling_samples_4", with(rolls, []any{"samples", 4})}, {"rolling_blur_4", with(rolls, []any{"motion_blur", 4})},
	} {
		b.Run(k.name, func(b *testing.B) {
			benchmarkCameras(b, mounted{camera.RGBDefinition, spatial.FromRPY(mgl64.Vec3{1.2, 0, 1.6}, 0, 0, 0), size(640, 480, with(k.more, []any{"fov", 80})...)})
		})
	}
}

// BenchmarkWeather640x480 says what weathers cost a pixel of the city, by the CPU time that frames take beyond those of clear air. All
// are drawn in turn at each instant, so that what else the machine does falls on each.
func BenchmarkWeather640x480(b *testing.B) {
	thread, err := gpu.Start(opener(cmp.Or(os.Getenv("GL_DEVICE"), "host")))
	if errors.Is(err, gpu.ErrNotSupported) {
		b.Skip(err)
	}
	require.NoError(b, err)
	defer func() { require.NoError(b, thread.Close()) }()
	town, err := city.Generate(city.Options{})
	require.NoError(b, err)
	r := newRigOn(b, thread, town, town.Route, mounted{camera.RGBDefinition, spatial.FromRPY(mgl64.Vec3{1.2, 0, 1.6}, 0, 0, 0), size(640, 480, "fov", 80)})
	defer r.end()
	r.forgetful = true
	weathers := []struct {
		name string
		weather.State
		spent []float64
	}{{name: "clear"}, {name: "fog", State: weather.State{Visibility: 100}}, {name: "wet", State: weather.State{Wetness: 1}}, {name: "rain", State: weather.State{Rain: 5, Wetness: 0.45, Cloud: 1}}, {name: "snow", State: weather.State{Snow: 1, Cloud: 1}}}
	stamp := int64(0)
	frame := func(w weather.State) float64 {
		require.NoError(b, r.history.Weather().Set(w))
		stamp++
		before := spent()
		r.begin(simtime.Stamp(stamp))
		for r.poll(simtime.Stamp(stamp)) > 0 {
			time.Sleep(time.Millisecond)
		}
		return float64((spent() - before).Nanoseconds()) / (640 * 480)
	}
	for _, w := range weathers {
		frame(w.State) // its program
	}
	for b.Loop() {
		stamp += 50_000_000
		for i := range weathers {
			weathers[i].spent = append(weathers[i].spent, frame(weathers[i].State))
		}
	}
	for i := range weathers {
		more := make([]float64, len(weathers[i].spent))
		for k := range more {
			more[k] = weathers[i].spent[k] - weathers[0].spent[k]
		}
		slices.Sort(more)
		if i > 0 {
			b.ReportMetric(more[len(more)/2], weathers[i].name+"-ns/pixel")
		}
	}
	slices.Sort(weathers[0].spent)
	b.ReportMetric(weathers[0].spent[len(weathers[0].spent)/2], "clear-ns/pixel")
	b.ReportMetric(0, "ns/op")
}
