//go:build cgo

package pipeline_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/logging"
	"github.com/raybridge/raybridge/bridges/mcap"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/rig"
	"github.com/raybridge/raybridge/sensors/all"
)

// TestSoak runs the whole pipeline for the wall time that the variable SOAK
// names, one half of it stepped, the other in real time, and watches memory,
// goroutines and rates. Without SOAK it runs two seconds, too short to judge
// memory.
func TestSoak(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	duration, judge := 2*time.Second, false
	if text := os.Getenv("SOAK"); text != "" {
		var err error
		duration, err = time.ParseDuration(text)
		require.NoError(t, err)
		judge = duration >= 30*time.Second
	}
	t.Run("stepped", func(t *testing.T) { soakStepped(t, &soak{judge: judge}, duration/2) })
	t.Run("realtime", func(t *testing.T) { soakRealtime(t, &soak{judge: judge}, duration/2) })
}

// fileSeconds is how much simulated time goes into one of the soak's recordings.
// An MCAP file's index stays in memory until the file is closed, some 4 kB for
// each simulated second: what a file may keep is far below what memory may vary.
const fileSeconds = 50

// soakStepped records one file after the other through one pipeline, as fast as
// the machine can.
func soakStepped(t *testing.T, s *soak, duration time.Duration) {
	recorder := &rotating{dir: t.TempDir()}
	p := newPipeline(t, pipeline.Config{Sensors: all.Registry(), Bridges: bridges.MustRegistry(recorder)})
	addSoaked(t, p)
	require.NoError(t, p.AddBridge(t.Context(), pipeline.BridgeConfig{Spec: "mcap:" + recorder.next()}))
	begun := time.Now()
	for second := 1; time.Since(begun) < duration; second++ {
		require.NoError(t, p.Run(t.Context(), time.Second))
		warming := time.Since(begun) < duration/5
		// Early in a file, so that what it comes to keep until its end shows.
		if warming && second%fileSeconds == fileSeconds/5 || !warming && !s.isWarm {
			s.warmUp(t)
		}
		if second%fileSeconds == 0 {
			if !warming {
				s.look(t)
			}
			recorder.rotate(t)
		}
	}
	s.look(t)
	summary := p.Summary()
	t.Logf("%v simulated s in %.3g s: %v", summary.SimS, summary.WallS, s)
	for _, row := range summary.Sensors {
		if row.Topic == "/tf_static" || row.Idle {
			continue
		}
		assert.InDelta(t, row.RateWantedHz*summary.SimS, float64(row.Messages), 1, "%s drifts", row.Topic)
		assert.Empty(t, row.Drops, row.Topic)
	}
}

// soakRealtime follows the host's clock in one long run after a short one, into
// a log that keeps nothing, and holds the published clock against its rate.
func soakRealtime(t *testing.T, s *soak, duration time.Duration) {
	dir, watch := t.TempDir(), &clockWatch{period: 10 * time.Millisecond}
	require.NoError(t, os.Symlink(os.DevNull, filepath.Join(dir, "soak.txt.gz")))
	p := newPipeline(t, pipeline.Config{
		Sensors: all.Registry(), Bridges: bridges.MustRegistry(logging.Factory{}, watch), OutDir: dir, Mode: pipeline.Realtime,
	})
	addSoaked(t, p)
	for _, spec := range []string{"logging:soak", "watch:clock"} {
		require.NoError(t, p.AddBridge(t.Context(), pipeline.BridgeConfig{Spec: spec}))
	}
	require.NoError(t, p.Run(t.Context(), duration/5))
	s.warmUp(t)
	watch.reset()
	length, begun := duration-duration/5, time.Now()
	require.NoError(t, p.Run(t.Context(), length))
	took := time.Since(begun)
	s.look(t)
	count, moved := watch.seen()
	t.Logf("%v: %d clocks, whose deadlines moved by %v; %v", length, count, moved, s)
	// One each period, one at the beginning and one that ends the run, which a busy
	// machine may end late. One that stands still misses some, but their grid stays
	// where it is.
	wanted := int(length / watch.period)
	assert.LessOrEqual(t, count, int(took/watch.period)+2, "the clock is published too often")
	if s.judge { // a second on a busy machine tells nothing
		assert.GreaterOrEqual(t, count, wanted*98/100-1, "the clock is published too seldom")
	}
	assert.Positive(t, count)
	assert.Less(t, moved.Abs(), watch.period/4, "the clock's deadlines drift")
	for _, row := range p.Summary().Sensors {
		if row.Topic != "/tf_static" && row.Topic != "/clock" && !row.Idle {
			assert.Positive(t, row.Messages, row.Topic)
			assert.LessOrEqual(t, float64(row.Messages), row.RateWantedHz*duration.Seconds()+3, "%s comes too often", row.Topic)
		}
	}
}

// addSoaked adds the sensors; their messages are small beside what memory may
// vary, since how many wait for a bridge depends on the machine's mood.
func addSoaked(t *testing.T, p *pipeline.Pipeline) {
	t.Helper()
	small := map[string]any{"image_size_x": 160, "image_size_y": 120}
	for _, c := range []pipeline.SensorConfig{
		{ID: "sensor.camera.rgb", Name: "rgb", Attributes: small},
		{ID: "sensor.camera.depth", Name: "depth", Attributes: small},
		{ID: "sensor.lidar.ray_cast", Name: "lidar", Pose: rig.Pose{Z: 2}, Attributes: map[string]any{"preset": "VelodyneVLP16", "columns": 90}},
		{ID: "sensor.other.imu", Name: "imu"},
		{ID: "sensor.other.gnss", Name: "gnss"},
		{ID: "sensor.other.odometry", Name: "odom"},
	} {
		add(t, p, c)
	}
	require.NoError(t, p.AddTransforms())
}

// soak compares what the process uses with what it used when it was warm.
type soak struct {
	judge      bool
	isWarm     bool
	warm, most usage
}

// usage is the process's own figures.
type usage struct {
	resident   int64 // bytes
	heap       int64 // bytes of live Go objects, written or not
	goroutines int
}

// warmUp measures what later looks are compared with. The last of several calls
// counts: drivers give memory of their beginning back after a while.
func (s *soak) warmUp(t *testing.T) {
	t.Helper()
	s.warm, s.isWarm = measure(t), true
	s.most = s.warm
}

// look measures and requires that memory is within 2 % of what it was. What leaks
// without being written is not resident, but on the heap: it has the same room.
func (s *soak) look(t *testing.T) {
	t.Helper()
	now := measure(t)
	s.most = usage{max(s.most.resident, now.resident), max(s.most.heap, now.heap), max(s.most.goroutines, now.goroutines)}
	if !s.judge {
		return
	}
	room := s.warm.resident / 50
	require.LessOrEqual(t, now.resident-s.warm.resident, room, "resident memory grows: %v", s)
	require.LessOrEqual(t, now.heap-s.warm.heap, room, "the heap grows: %v", s)
	// The dispatcher's workers come and go.
	require.LessOrEqual(t, now.goroutines, s.warm.goroutines+runtime.GOMAXPROCS(0), "goroutines grow: %v", s)
}

func (s *soak) String() string {
	return fmt.Sprintf("resident %.1f MB when warm, at most %.1f MB then; heap %.1f, %.1f MB; goroutines %d, %d",
		float64(s.warm.resident)/1e6, float64(s.most.resident)/1e6, float64(s.warm.heap)/1e6, float64(s.most.heap)/1e6,
		s.warm.goroutines, s.most.goroutines)
}

// measure reads the figures after collections that give back what is free: how
// much the runtime and its pools keep in reserve varies more than what leaks.
func measure(t *testing.T) usage {
	t.Helper()
	runtime.GC()
	debug.FreeOSMemory()
	data, err := os.ReadFile("/proc/self/statm")
	require.NoError(t, err)
	pages, err := strconv.ParseInt(strings.Fields(string(data))[1], 10, 64)
	require.NoError(t, err)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return usage{resident: pages * int64(os.Getpagesize()), heap: int64(m.HeapAlloc), goroutines: runtime.NumGoroutine()}
}

// rotating is the bridge "mcap" whose recording goes on in another file.
type rotating struct {
	mcap.Factory
	dir      string
	files    int
	instance bridges.Instance
}

// NewInstance makes the only instance.
func (r *rotating) NewInstance(env bridges.Env) (i bridges.Instance, err error) {
	r.instance, err = r.Factory.NewInstance(env)
	return r.instance, err
}

// next names a file.
func (r *rotating) next() string {
	r.files++
	return filepath.Join(r.dir, fmt.Sprintf("soak%d.mcap", r.files))
}

// rotate goes on in the next file, while no run is under way, and removes the
// last one, which is complete.
func (r *rotating) rotate(t *testing.T) {
	t.Helper()
	last := filepath.Join(r.dir, fmt.Sprintf("soak%d.mcap", r.files))
	require.NoError(t, r.instance.Connect(t.Context(), r.next()))
	info, err := os.Stat(last)
	require.NoError(t, err)
	require.Positive(t, info.Size())
	require.NoError(t, os.Remove(last))
}

func TestCloseLeavesNoGoroutine(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 3 {
		p := newPipeline(t, pipeline.Config{Sensors: all.Registry()})
		s := add(t, p, pipeline.SensorConfig{ID: "sensor.lidar.ray_cast", Name: "lidar", Always: true})
		require.NotNil(t, s)
		require.NoError(t, p.Run(t.Context(), 300*time.Millisecond))
		require.NoError(t, p.Close(context.Background()))
	}
	// Eventually asks on a goroutine of its own.
	assert.Eventually(t, func() bool { return runtime.NumGoroutine() <= before+1 }, 5*time.Second, 10*time.Millisecond)
}
