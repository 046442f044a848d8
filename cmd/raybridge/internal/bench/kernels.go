// The time of each kernel is measured here, by the device's own clock.

package bench

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/camera"
	"github.com/raybridge/raybridge/sensors/groundtruth"
	"github.com/raybridge/raybridge/sensors/ranging"
	"github.com/raybridge/raybridge/shaders"
	"github.com/raybridge/raybridge/spatial"
)

// kernelCase is the sensors of which one capture is timed.
type kernelCase struct {
	named
	members []member
	// rays of a capture are traced by the entry traced; 0 where they aren't counted.
	rays   int
	traced string
	rate   int // captures a second that are wanted; 0 where none is
}

// The pictures whose kernels are timed, and how often a vehicle takes them.
const (
	hdWidth, hdHeight = 1920, 1080
	hdRate            = 30 // Hz
	hdCameras         = 6
)

// kernelCases run every entry of the catalogue that sensors use.
func kernelCases() []kernelCase {
	vls := presetCase("VelodyneVLS128")
	size := fmt.Sprintf("%dx%d", hdWidth, hdHeight)
	lens := cameras(hdWidth, hdHeight, camera.RGBDefinition)
	maps.Copy(lens[0].settings, map[string]any{"lens": "plumb_bob", "distortion": []float64{-0.25, 0.08, 0.002, -0.001, 0.01}, "shadows": "traced"})
	received := lidarMember("lidar", vls.settings)
	maps.Copy(received.settings, map[string]any{"intensity": "range_corrected", "r10": 106.0})
	delete(received.settings, "dropoff_zero_intensity") // of another receiver
	return []kernelCase{
		{named{vls.name}, []member{lidarMember("lidar", vls.settings)}, len(vls.device.Rays(period)), shaders.Lidar.Name, 0},
		{named{"received_" + vls.name}, []member{received}, len(vls.device.Rays(period)), shaders.LidarEchoes.Name, 0},
		{named{"traced_" + size}, lens, hdWidth * hdHeight, shaders.CameraTrace.Name, 0},
		{named{fmt.Sprintf("%d_cameras_%s_%dhz", hdCameras, size, hdRate)}, camerasAround(hdCameras), 0, "", hdRate},
		{named{"radar_and_boxes"}, []member{
			plainMember(ranging.RadarDefinition), plainMember(groundtruth.Boxes2DDefinition), plainMember(groundtruth.Boxes3DDefinition),
		}, 0, "", 0},
	}
}

// camerasAround returns colour cameras whose directions divide the full circle evenly.
func camerasAround(count int) (list []member) {
	for i := range count {
		m := cameras(hdWidth, hdHeight, camera.RGBDefinition)[0]
		m.name = fmt.Sprintf("camera%d", i)
		m.mount = spatial.FromRPY(mgl64.Vec3{1.4, 0, 1.55}, 0, 0, float64(360*i/count))
		list = append(list, m)
	}
	return list
}

// plainMember is a sensor as its defaults are, where the demo rig has its camera.
func plainMember(d *sensors.Definition) member {
	return member{name: d.ID, definition: d, mount: cameraMount}
}

var kernelMethod = strings.TrimSpace(`
kernels: milliseconds of the device's own clock, by timer queries around each dispatch and draw of one capture at a time. capture_ms
is the sum of a capture's kernels. readback_ms is from the beginning of the first to the end of the last copy to the host. busy_percent is the
share of the time that the kernels take at the case's rate.`)

// Kernels measures the time of each kernel and draw (kernel.ms), and of a whole capture, by the
// device's timer queries, on a device of its own. A device without timers has no figures, and the
// report says so. It appends to the report.
func Kernels(ctx context.Context, config Config, report *Report) (err error) {
	cfg, cases, err := begin(config, kernelCases())
	if err != nil {
		return err
	}
	watch := &stopwatch{names: map[gpu.Handle]string{}}
	if cfg.GL, err = gpu.Start(watch.open(cfg.Open)); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cfg.GL.Close()) }()
	info := cfg.GL.Info()
	report.Machine.Device = deviceLine(&info)
	if info.TimestampBits == 0 {
		report.explain(fmt.Sprintf("kernels: nothing was measured, %s has no timer queries.", info.Renderer))
		return nil
	}
	st, err := openStage(ctx, &cfg, bvhTriangles)
	if err != nil {
		return err
	}
	defer st.close()
	err = measureCases(&cfg, "kernels", cases, func(k kernelCase) error {
		rows, err := st.kernels(ctx, &k, watch)
		report.addFigures(rows)
		return err
	})
	if err == nil {
		report.addScene(st.describe())
		report.explain(kernelMethod)
	}
	return err
}

// deviceLine names a device in a report.
func deviceLine(info *gpu.Info) string {
	return strings.Join([]string{info.Renderer, info.Version, info.Device}, "; ")
}

// kernels times the captures of one case.
func (st *stage) kernels(ctx context.Context, k *kernelCase, watch *stopwatch) (rows []Result, err error) {
	r, err := st.rigUp(ctx, k.members, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	l := &frameLoop{rigged: r}
	r.reset(0)
	for range warmUp {
		if err := l.captureNow(ctx); err != nil {
			return nil, err
		}
	}
	var runs []timing
	for range st.cfg.Runs {
		var sum timing
		for begun := time.Now(); sum.captures == 0 || time.Since(begun) < st.cfg.RunTime/4; {
			one, err := watch.time(ctx, l)
			if err != nil {
				return nil, err
			}
			sum.add(one)
		}
		runs = append(runs, sum)
	}
	return k.rows(runs), nil
}

// rows are the figures of a case.
func (k *kernelCase) rows(runs []timing) (rows []Result) {
	row := func(name, of, unit, note string, value func(timing) float64) {
		rows = append(rows, Result{name, of, unit, each(runs, value), note})
	}
	for _, entry := range slices.Sorted(maps.Keys(runs[0].laps)) {
		calls := fmt.Sprintf("%d a capture", runs[0].laps[entry].calls/runs[0].captures)
		row("kernel.ms", k.name+"/"+entry, "ms", calls, func(t timing) float64 { return t.mean(t.laps[entry].took) })
	}
	row("kernel.capture_ms", k.name, "ms", "all kernels of a capture", func(t timing) float64 { return t.mean(t.kernels()) })
	row("kernel.readback_ms", k.name, "ms", "from the first kernel to the end of the last copy", func(t timing) float64 { return t.mean(t.span) })
	if k.rays > 0 {
		row("kernel.rays_per_s", k.name, "rays/s", fmt.Sprintf("%d rays a capture by %s alone", k.rays, k.traced), func(t timing) float64 {
			return float64(k.rays*t.captures) / t.laps[k.traced].took.Seconds()
		})
	}
	if k.rate > 0 {
		row("kernel.busy_percent", k.name, "%", fmt.Sprintf("%d captures a second", k.rate), func(t timing) float64 {
			return 100 * float64(k.rate) * t.mean(t.kernels()) / 1000
		})
	}
	return rows
}

// timing is what captures took on the device.
type timing struct {
	captures int
	laps     map[string]lap // by entry; copyLap for copies
	span     time.Duration  // from the first kernel to the end of the last copy
}

// copyLap is the lap of what brings data to the host.
const copyLap = "copy"

type lap struct {
	calls int
	took  time.Duration
}

func (t *timing) add(one timing) {
	if t.laps == nil {
		t.laps = map[string]lap{}
	}
	for entry, more := range one.laps {
		t.laps[entry] = lap{t.laps[entry].calls + more.calls, t.laps[entry].took + more.took}
	}
	t.captures, t.span = t.captures+one.captures, t.span+one.span
}

// mean is a time of all captures as milliseconds of one.
func (t *timing) mean(all time.Duration) float64 { return milliseconds(all) / float64(t.captures) }

// kernels is the time of all laps but copies.
func (t *timing) kernels() (sum time.Duration) {
	for entry, l := range t.laps {
		if entry != copyLap {
			sum += l.took
		}
	}
	return sum
}

// stopwatch is a driver that has the device note its time before and after each kernel and copy
// while it runs. It belongs to the GL thread. Its queries end with the context.
type stopwatch struct {
	gpu.Driver
	names   map[gpu.Handle]string // of programs: their entries, else their labels
	running bool
	noted   []noted
	spare   []gpu.Handle // queries
}

// noted is one kernel or copy and the queries around it.
type noted struct {
	entry      string
	begin, end gpu.Handle
}

// open wraps an opener so that the stopwatch stands before its driver.
func (w *stopwatch) open(open gpu.Opener) gpu.Opener {
	return func() (*gpu.Context, error) {
		opened, err := open()
		if err != nil {
			return nil, err
		}
		w.Driver = opened.Driver
		return &gpu.Context{Driver: w, Close: opened.Close}, nil
	}
}

// time makes one capture and returns what it took.
func (w *stopwatch) time(ctx context.Context, l *frameLoop) (t timing, err error) {
	run := func(running bool) error {
		return l.gl.Do(ctx, func(*gpu.Ctx) error {
			w.running = running
			return nil
		})
	}
	if err := run(true); err != nil {
		return t, err
	}
	if err := l.captureNow(ctx); err != nil {
		return t, err
	}
	err = l.gl.Do(ctx, func(*gpu.Ctx) (err error) {
		w.running = false
		t, err = w.read()
		return err
	})
	return t, err
}

// read returns the times since the last read. The device has finished.
func (w *stopwatch) read() (t timing, err error) {
	t = timing{captures: 1, laps: map[string]lap{}}
	var first, last int64
	for i, n := range w.noted {
		begin, err := w.result(n.begin)
		if err != nil {
			return t, err
		}
		end, err := w.result(n.end)
		if err != nil {
			return t, err
		}
		if i == 0 {
			first = begin
		}
		last = max(last, end)
		t.laps[n.entry] = lap{t.laps[n.entry].calls + 1, t.laps[n.entry].took + time.Duration(end-begin)}
		w.spare = append(w.spare, n.begin, n.end)
	}
	t.span, w.noted = time.Duration(last-first), w.noted[:0]
	return t, nil
}

func (w *stopwatch) result(query gpu.Handle) (ns int64, err error) {
	ns, ready, err := w.Driver.QueryResult(query)
	if err == nil && !ready {
		err = errors.New("a timer query isn't ready after glFinish")
	}
	return ns, err
}

// around issues a command between two queries.
func (w *stopwatch) around(entry string, command func() error) error {
	if !w.running {
		return command()
	}
	begin, err := w.note()
	if err != nil {
		return err
	}
	if err := command(); err != nil {
		return err
	}
	end, err := w.note()
	w.noted = append(w.noted, noted{entry, begin, end})
	return err
}

// note records the device's time in a query.
func (w *stopwatch) note() (query gpu.Handle, err error) {
	if n := len(w.spare); n > 0 {
		query, w.spare = w.spare[n-1], w.spare[:n-1]
	} else if query, err = w.Driver.CreateQuery(); err != nil {
		return 0, err
	}
	return query, w.Driver.Timestamp(query)
}

// CreateProgram implements gpu.Driver.
func (w *stopwatch) CreateProgram(desc gpu.ProgramDesc) (gpu.Handle, error) {
	h, err := w.Driver.CreateProgram(desc)
	if w.names[h] = desc.Entry; desc.Entry == "" {
		w.names[h] = desc.Label
	}
	return h, err
}

// Dispatch implements gpu.Driver.
func (w *stopwatch) Dispatch(program gpu.Handle, bind []gpu.BoundResource, groups [3]int) error {
	return w.around(w.names[program], func() error { return w.Driver.Dispatch(program, bind, groups) })
}

// Draw implements gpu.Driver.
func (w *stopwatch) Draw(program, framebuffer gpu.Handle, bind []gpu.BoundResource, draw *gpu.Draw) error {
	return w.around(w.names[program], func() error { return w.Driver.Draw(program, framebuffer, bind, draw) })
}

// CopyBuffer implements gpu.Driver.
func (w *stopwatch) CopyBuffer(dst, src gpu.Handle, dstOffset, srcOffset, size int) error {
	return w.around(copyLap, func() error { return w.Driver.CopyBuffer(dst, src, dstOffset, srcOffset, size) })
}

// CopyTextureToBuffer implements gpu.Driver.
func (w *stopwatch) CopyTextureToBuffer(src gpu.Handle, level int, format gpu.Format, dst gpu.Handle, dstOffset, size int) error {
	return w.around(copyLap, func() error { return w.Driver.CopyTextureToBuffer(src, level, format, dst, dstOffset, size) })
}
