//go:build cgo

package hostdev_test

import (
	"fmt"
	"math"
	"syscall"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/gpu/hostdev"
	"github.com/raybridge/raybridge/scene/city"
	"github.com/raybridge/raybridge/sensors/lidar"
	"github.com/raybridge/raybridge/shaders"
)

// scanTable is the table of lidar_scan.comp for a device.
func scanTable(d *lidar.Device) (table []uint32) {
	for i := range d.Lasers {
		l := &d.Lasers[i]
		up, along := math.Sincos(mgl64.DegToRad(l.ElevationDeg))
		sin, cos := math.Sincos(-mgl64.DegToRad(l.AzimuthOffsetDeg))
		far := d.MaxM
		if l.MaxM > 0 {
			far = l.MaxM
		}
		table = append(table, words(float32(along), float32(up), float32(cos), float32(sin), float32(l.HeightM))...)
		table = append(table, uint32(l.TimeNs), uint32(l.Ring), math.Float32bits(float32(far)), 0, 0, 0, 0)
	}
	for c := range d.Columns {
		sin, cos := math.Sincos(-mgl64.DegToRad(d.StartDeg + float64(c)*d.StepDeg))
		table = append(table, words(float32(cos), float32(sin))...)
		table = append(table, uint32(c*int(period)/d.Columns), 0)
	}
	return table
}

// BenchmarkLidar measures lidar.scan alone, all twelve words with noise and drop-off: rays a
// second of CPU time, which other programs don't lessen, times the threads.
func BenchmarkLidar(b *testing.B) {
	for _, triangles := range []int{100_000, 1_000_000} {
		town, err := city.Generate(city.Options{Seed: 1, Triangles: triangles})
		require.NoError(b, err)
		for _, isa := range hostdev.ISAs() {
			thread, err := gpu.Start(hostdev.Open(hostdev.Options{ISA: isa, Threads: 2}))
			require.NoError(b, err)
			w := newWorld(b, thread, town)
			for _, rolling := range []bool{false, true} {
				d, ok := lidar.Preset("VelodyneVLS128")
				require.True(b, ok)
				b.Run(fmt.Sprintf("%d_%s_rolling_%t", triangles, isa, rolling), func(b *testing.B) {
					benchmarkScan(b, w, &d, rolling)
				})
			}
			w.resident.Close()
			w.motion.Close()
			require.NoError(b, thread.Close())
		}
	}
}

func benchmarkScan(b *testing.B, w *loaded, d *lidar.Device, rolling bool) {
	rays := len(d.Lasers) * d.Columns
	uniform := append([]uint32{uint32(len(d.Lasers)), uint32(d.Columns), 1, 0, 5, 6, 0, 0}, words(0.004, 0.02, 0.01, 0.8, -0.5, 0.4, 0, 0)...)
	gputest.Do(b, w.thread, func(c *gpu.Ctx) error {
		source, err := shaders.Source(&shaders.Lidar, shaders.Flag("ROLLING", rolling))
		require.NoError(b, err)
		program, err := c.NewProgram(gpu.ProgramDesc(source))
		require.NoError(b, err)
		defer program.Close()
		table, set := scanTable(d), gpu.BytesOf(uniform)
		scan, err := c.NewBuffer(gpu.BufferDesc{Label: "scan", Size: 4 * len(table), Data: gpu.BytesOf(table)})
		require.NoError(b, err)
		defer scan.Close()
		view, err := c.NewTexture(gpu.TextureDesc{Label: "scan", Kind: gpu.TextureBuffer, Format: gpu.FormatRGBA32UI, Buffer: scan})
		require.NoError(b, err)
		defer view.Close()
		settings, err := c.NewBuffer(gpu.BufferDesc{Label: "settings", Size: len(set), Data: set})
		require.NoError(b, err)
		defer settings.Close()
		points, err := c.NewBuffer(gpu.BufferDesc{Label: "points", Size: 48 * rays})
		require.NoError(b, err)
		defer points.Close()
		bind := append(w.resident.Bindings(nil), w.motion.Binding(),
			gpu.Binding{Kind: gpu.BindSampler, Slot: shaders.SlotScan, Texture: view},
			gpu.Binding{Kind: gpu.BindUniform, Buffer: settings}, gpu.Binding{Kind: gpu.BindStorage, Buffer: points})
		fire := func() {
			require.NoError(b, c.Dispatch(&gpu.Dispatch{Program: program, Bind: bind, Groups: shaders.Lidar.Groups(d.Columns, len(d.Lasers), 1)}))
			require.NoError(b, c.Finish())
		}
		fire()
		before := cpuSeconds(b)
		for b.Loop() {
			fire()
		}
		b.ReportMetric(2*float64(b.N)*float64(rays)/(cpuSeconds(b)-before)/1e6, "Mrays/cpu-s")
		return nil
	})
}

func cpuSeconds(b *testing.B) float64 {
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
