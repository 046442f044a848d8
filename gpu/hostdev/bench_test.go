//go:build cgo

package hostdev_test

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/gpu/hostdev"
	"github.com/raybridge/raybridge/scene/city"
	"github.com/raybridge/raybridge/sensors/lidar"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/sensors/sensortest"
	"github.com/raybridge/raybridge/shaders"
	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/weather"
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

// BenchmarkReceivers measures whole scans of a drive through the demo's city, ten a second, each with a receiver: nanoseconds of CPU time
// a firing, with all that the sensor does, and the shares of the firings whose beams needed rays at the rim, and all of them. These depend
// on the place, so that 200 scans are measured.
func BenchmarkReceivers(b *testing.B) {
	town, err := city.Generate(city.Options{Seed: 1, Triangles: 100_000})
	require.NoError(b, err)
	var w watcher
	thread, err := gpu.Start(w.watch(hostdev.Open(hostdev.Options{Threads: 2})))
	require.NoError(b, err)
	defer func() { require.NoError(b, thread.Close()) }()
	for _, preset := range []string{"VelodyneVLP16", "VelodyneVLS128"} {
		d, ok := lidar.Preset(preset)
		require.True(b, ok)
		rays := d.Rays(int64(period))
		table := filepath.Join(b.TempDir(), "firings.csv")
		require.NoError(b, os.WriteFile(table, []byte(firingTable(rays)), 0o600))
		for _, k := range []struct {
			name       string
			attributes map[string]any
		}{
			{"plain", map[string]any{"preset": preset}},
			{"firing_table", map[string]any{"firing_table": table, "firing_period": 0.1}},
			{"range_corrected", map[string]any{"preset": preset + "_real", "beam_divergence": 0.0}},
			{"beam_7", map[string]any{"preset": preset + "_real", "beam_rays": 7}},
			{"beam_19", map[string]any{"preset": preset + "_real"}},
			{"beam_37", map[string]any{"preset": preset + "_real", "beam_rays": 37}},
			{"beam_19_full", map[string]any{"preset": preset + "_real", "beam_pattern": "full"}},
		} {
			b.Run(preset+"/"+k.name, func(b *testing.B) {
				h := sensortest.New(b, lidar.RayCastDefinition, sensortest.Options{
					Scene: town, GL: thread, Mount: spatial.FromRPY(mgl64.Vec3{0, 0, 1.9}, 0, 0, 0), Ego: town.Route, Attributes: k.attributes,
				})
				defer h.End()
				at := period
				h.Fire(at)
				before := cpuSeconds(b)
				var counted, rims, alls float64
				for scan := 0; b.Loop(); scan++ {
					at += period
					h.Fire(at)
					clear(h.Messages) // memory that is kept would cost each scan new pages
					// Each tenth scan is counted, which adds less than 1 % to the time.
					if strings.HasPrefix(k.name, "beam") && scan%10 == 0 {
						rim, all := w.needs(b, thread, len(rays))
						counted, rims, alls = counted+1, rims+rim, alls+all
					}
				}
				b.ReportMetric(1e9*(cpuSeconds(b)-before)/float64(b.N)/float64(len(rays)), "cpu-ns/ray")
				if counted > 0 {
					b.ReportMetric(rims/counted, "rim-share")
					b.ReportMetric(alls/counted, "all-share")
				}
			})
		}
	}
}

// BenchmarkReceiversInWeather measures what fog, rain and snow add to lidars in the city: processor time a ray, as the median over
// pairs of scans, one dry and one in the weather.
func BenchmarkReceiversInWeather(b *testing.B) {
	town, err := city.Generate(city.Options{Seed: 1, Triangles: 100_000})
	require.NoError(b, err)
	thread, err := gpu.Start(hostdev.Open(hostdev.Options{Threads: 2}))
	require.NoError(b, err)
	defer func() { require.NoError(b, thread.Close()) }()
	falling := map[string]weather.State{ // thin leaves all returns, each of which is dimmed
		"fog": {Visibility: 100}, "rain": {Rain: 25, Wetness: 1}, "snow": {Snow: 1}, "thin": {Visibility: 290e3},
	}
	for _, preset := range []string{"VelodyneVLP16", "VelodyneVLS128"} {
		d, ok := lidar.Preset(preset)
		require.True(b, ok)
		kinds := map[string]map[string]any{
			"plain":           {"preset": preset},
			"range_corrected": {"preset": preset + "_real", "beam_divergence": 0.0},
			"beam_19":         {"preset": preset + "_real"},
		}
		for _, kind := range slices.Sorted(maps.Keys(kinds)) {
			for _, name := range slices.Sorted(maps.Keys(falling)) {
				b.Run(preset+"/"+kind+"/"+name, func(b *testing.B) {
					var pair [2]*sensortest.Harness
					for i, w := range []weather.State{{}, falling[name]} {
						pair[i] = sensortest.New(b, lidar.RayCastDefinition, sensortest.Options{
							Scene: town, GL: thread, Mount: spatial.FromRPY(mgl64.Vec3{0, 0, 1.9}, 0, 0, 0), Ego: town.Route, Attributes: kinds[kind], Weather: w,
						})
						defer pair[i].End()
						pair[i].Fire(period)
					}
					at := period
					var more []float64
					for b.Loop() {
						at += period
						var spent [2]float64
						for i, h := range pair {
							before := cpuSeconds(b)
							h.Fire(at)
							spent[i] = cpuSeconds(b) - before
						}
						more = append(more, spent[1]-spent[0])
					}
					slices.Sort(more)
					b.ReportMetric(1e9*more[len(more)/2]/float64(d.Columns*len(d.Lasers)), "cpu-ns/ray-more")
				})
			}
		}
	}
}

// BenchmarkSecondEchoes counts, of a scan of each _real preset in the demo's city, the firings of which returns: dual has two points, with
// adaptive beams and with full ones. The OS1 has its other number of columns, too. docs/lidars.md has the figures.
func BenchmarkSecondEchoes(b *testing.B) {
	town, err := city.Generate(city.Options{Seed: 1, Triangles: 100_000})
	require.NoError(b, err)
	thread, err := gpu.Start(hostdev.Open(hostdev.Options{Threads: 2}))
	require.NoError(b, err)
	defer func() { require.NoError(b, thread.Close()) }()
	kinds := []map[string]any{{"preset": "OusterOS1_64_real", "columns": 512}}
	for _, preset := range lidar.Presets() {
		if strings.HasSuffix(preset, "_real") {
			kinds = append(kinds, map[string]any{"preset": preset})
		}
	}
	for _, attributes := range kinds {
		b.Run(strings.TrimSuffix(fmt.Sprint(attributes["preset"], "/", attributes["columns"]), "/<nil>"), func(b *testing.B) {
			for b.Loop() {
				for _, pattern := range []string{"adaptive", "full"} {
					attributes["returns"], attributes["beam_pattern"] = "dual", pattern
					h := sensortest.New(b, lidar.RayCastDefinition, sensortest.Options{
						Scene: town, GL: thread, Mount: spatial.FromRPY(mgl64.Vec3{0, 0, 1.9}, 0, 0, 0), Ego: town.Route, Attributes: attributes,
					})
					h.Fire(period)
					pairs, points := 0, sensortest.Last[*sample.PointCloud](h, "points").Points
					for i := range points[1:] {
						if points[i].Ray == points[i+1].Ray {
							pairs++
						}
					}
					h.End()
					b.ReportMetric(float64(pairs), pattern+"-pairs")
				}
			}
		})
	}
}

// watcher is a driver that knows the buffer by which the steps of a sensor hand on.
type watcher struct {
	gpu.Driver
	steps gpu.Handle
}

func (w *watcher) watch(open gpu.Opener) gpu.Opener {
	return func() (*gpu.Context, error) {
		c, err := open()
		if err == nil {
			w.Driver, c.Driver = c.Driver, w
		}
		return c, err
	}
}

// CreateBuffer implements gpu.Driver.
func (w *watcher) CreateBuffer(d gpu.BufferDesc) (gpu.Handle, error) {
	h, err := w.Driver.CreateBuffer(d)
	if err == nil && strings.HasSuffix(d.Label, " steps") {
		w.steps = h
	}
	return h, err
}

// needs returns the shares of the firings of the last scan for which rays at the rim were traced, and all rays.
func (w *watcher) needs(b *testing.B, thread *gpu.Thread, firings int) (rim, all float64) {
	centers := make([]uint32, 8*firings)
	gputest.Do(b, thread, func(*gpu.Ctx) error { return w.ReadBuffer(w.steps, 0, gpu.BytesOf(centers)) })
	for i := range firings {
		if need := centers[8*i+7]; need > 0 {
			rim++
			all += float64(need - 1)
		}
	}
	return rim / float64(firings), all / float64(firings)
}

// firingTable writes rays as a table, each at a time of its own.
func firingTable(rays []lidar.Ray) string {
	slices.SortStableFunc(rays, func(a, b lidar.Ray) int { return cmp.Compare(a.TimeNs, b.TimeNs) })
	var text strings.Builder
	text.WriteString("time,azimuth,elevation,ring,range_max\n")
	last := int64(-1)
	for _, r := range rays {
		last = max(r.TimeNs, last+1)
		fmt.Fprintf(&text, "%.9f,%.6f,%.6f,%d,%v\n", float64(last)/1e9, mgl64.RadToDeg(math.Atan2(r.Direction[1], r.Direction[0])),
			mgl64.RadToDeg(math.Asin(r.Direction[2])), r.Ring, r.MaxM)
	}
	return text.String()
}
