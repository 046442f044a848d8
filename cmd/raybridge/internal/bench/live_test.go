//go:build cgo

package bench_test

import (
	"context"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/raybridge/raybridge/cmd/raybridge/internal/bench"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) { gputest.Main(m) }

// config measures a small scene as shortly as can be.
func config(t *testing.T, cases ...string) bench.Config {
	t.Helper()
	dump, err := bench.NewDump(t.TempDir())
	require.NoError(t, err)
	return bench.Config{Source: soup(true), GL: gputest.Thread(t), Runs: 1, RunTime: 1, Cases: cases, Dump: dump}
}

// array reads one of the dump's arrays.
func array[T float32 | uint32 | uint16 | uint8](t *testing.T, c bench.Config, name string) []T {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(c.Dump.Dir(), name))
	require.NoError(t, err)
	var size T
	out := make([]T, len(data)/binary.Size(size))
	_, err = binary.Decode(data, binary.LittleEndian, out)
	require.NoError(t, err)
	return out
}

// vectors reads triples of numbers.
func vectors(numbers []float32) []mgl64.Vec3 {
	out := make([]mgl64.Vec3, len(numbers)/3)
	for i := range out {
		out[i] = mgl64.Vec3{float64(numbers[3*i]), float64(numbers[3*i+1]), float64(numbers[3*i+2])}
	}
	return out
}

func TestLidarMeasuresWhatItDumps(t *testing.T) {
	const second = "uniform_1800x64"
	c := config(t, "VelodyneVLP16", second)
	var r bench.Report
	require.NoError(t, bench.Lidar(context.Background(), c, &r))
	require.NoError(t, c.Dump.Close())

	list := figures(t, &r)
	require.GreaterOrEqual(t, len(list), 2)
	for i, name := range []string{"VelodyneVLP16", second} {
		assert.Equal(t, "lidar.rays_per_s", list[i].Name)
		assert.Equal(t, name, list[i].Case)
		assert.Equal(t, "rays/s", list[i].Unit)
		assert.Greater(t, list[i].Value, 1000.0)
	}
	assert.Len(t, array[float32](t, c, "ranges.f32"), 28_800)
	checkScan(t, c, "", 37)
	assert.Len(t, array[float32](t, c, "ranges_"+second+".f32"), 115_200)
	checkScan(t, c, "_"+second, 149)
	checkReadme(t, c)
}

// checkScan holds a sample of a dumped scan beside a float64 tracer of the scene,
// and beside the dumped triangles, which anybody else would use.
func checkScan(t *testing.T, c bench.Config, suffix string, stride int) {
	t.Helper()
	s := scenetest.Soup(3, 600, true)
	tracer := scenetest.NewTracer(s, nil)
	soup := &dumpedTriangles{
		corners:   vectors(array[float32](t, c, "triangles.f32")),
		instances: array[uint32](t, c, "triangle_instances.u32"), tags: array[uint8](t, c, "triangle_tags.u8"),
	}
	require.Len(t, soup.corners, 3*600)
	for i, moves := range array[uint8](t, c, "triangle_movers.u8") {
		assert.Equal(t, scene.Tag(soup.tags[i]) == scene.TagCar || scene.Tag(soup.tags[i]) == scene.TagPedestrian, moves == 1, "triangle %d", i)
	}
	rays, limits := vectors(array[float32](t, c, "rays"+suffix+".f32")), array[float32](t, c, "limits"+suffix+".f32")
	ranges, instances, tags := array[float32](t, c, "ranges"+suffix+".f32"), array[uint32](t, c, "instances"+suffix+".u32"), array[uint8](t, c, "tags"+suffix+".u8")
	var byTracer scenetest.Agreement
	hits, equal, checked := 0, 0, 0
	for i := 0; i < len(ranges); i += stride {
		origin, direction, got := rays[2*i], rays[2*i+1], float64(ranges[i])
		lo, hi := float64(limits[2*i]), float64(limits[2*i+1])
		byTracer.Add(tracer, origin, direction, lo, hi, 0, got)
		checked++
		want, triangle := soup.nearest(origin, direction, lo, hi)
		if math.IsInf(want, 1) != math.IsInf(got, 1) || (!math.IsInf(want, 1) && math.Abs(want-got) > scenetest.Tolerance(want)) {
			continue // by an edge; the tracer says which are
		}
		equal++
		if math.IsInf(got, 1) {
			assert.Zero(t, instances[i])
			assert.Zero(t, tags[i])
			continue
		}
		hits++
		assert.Equal(t, soup.instances[triangle], instances[i], "ray %d", i)
		assert.Equal(t, soup.tags[triangle], tags[i], "ray %d", i)
	}
	assert.Greater(t, hits, 50)
	assert.Zero(t, byTracer.Wrong, byTracer.String())
	assert.GreaterOrEqual(t, byTracer.Share(), 0.99, byTracer.String())
	assert.GreaterOrEqual(t, float64(equal), 0.99*float64(checked))
}

// dumpedTriangles finds hits by trying every triangle.
type dumpedTriangles struct {
	corners   []mgl64.Vec3
	instances []uint32
	tags      []uint8
}

// nearest returns the nearest hit's range and triangle, +Inf for none (Möller and
// Trumbore, Fast, Minimum Storage Ray/Triangle Intersection, 1997).
func (s *dumpedTriangles) nearest(origin, direction mgl64.Vec3, lo, hi float64) (t float64, triangle int) {
	t = math.Inf(1)
	for i := range len(s.corners) / 3 {
		a := s.corners[3*i]
		e1, e2 := s.corners[3*i+1].Sub(a), s.corners[3*i+2].Sub(a)
		p := direction.Cross(e2)
		det := e1.Dot(p)
		if det == 0 {
			continue
		}
		from := origin.Sub(a)
		q := from.Cross(e1)
		u, v, d := from.Dot(p)/det, direction.Dot(q)/det, e2.Dot(q)/det
		if u >= 0 && v >= 0 && u+v <= 1 && d > lo && d <= hi && d < t {
			t, triangle = d, i
		}
	}
	return t, triangle
}

func TestCameraMeasuresWhatItDumps(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	const name = "640x480_rgb_depth_semantic_instance"
	c := config(t, name, "640x480_rgb")
	var r bench.Report
	require.NoError(t, bench.Camera(context.Background(), c, &r))
	require.NoError(t, c.Dump.Close())
	list := figures(t, &r)
	require.GreaterOrEqual(t, len(list), 2)
	for i, want := range []string{name, "640x480_rgb"} {
		assert.Equal(t, "camera.frames_per_s", list[i].Name)
		assert.Equal(t, want, list[i].Case)
		assert.Equal(t, "frames/s", list[i].Unit)
		assert.Positive(t, list[i].Value)
	}

	const pixels = 640 * 480
	rays := vectors(array[float32](t, c, "rays_640x480.f32"))
	depth, tags := array[float32](t, c, "depth_640x480.f32"), array[uint8](t, c, "tags_640x480.u8")
	instances := array[uint16](t, c, "instances_640x480.u16")
	require.Len(t, rays, 2*pixels)
	require.Len(t, depth, pixels)
	require.Len(t, tags, pixels)
	require.Len(t, instances, pixels)
	require.Len(t, array[uint8](t, c, "rgb_640x480.u8"), 3*pixels)

	tracer := scenetest.NewTracer(scenetest.Soup(3, 600, true), nil)
	axis := mgl64.Vec3{1, 0, 0} // the ego of a soup looks along x
	var a scenetest.Agreement
	hits := 0
	for i := 0; i < pixels; i += 331 {
		along := float64(depth[i]) / rays[2*i+1].Dot(axis)
		if a.Add(tracer, rays[2*i], rays[2*i+1], 0.05, 1000, 0, along); math.IsInf(along, 1) {
			assert.Zero(t, instances[i])
			assert.EqualValues(t, scene.TagSky, tags[i])
			continue
		}
		hits++
	}
	assert.Greater(t, hits, 50)
	assert.Zero(t, a.Wrong, a.String())
	assert.GreaterOrEqual(t, a.Share(), 0.99, a.String())
	checkReadme(t, c)
}

// checkReadme says that README.txt names every file, with its true size.
func checkReadme(t *testing.T, c bench.Config) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(c.Dump.Dir(), "README.txt"))
	require.NoError(t, err)
	files, err := os.ReadDir(c.Dump.Dir())
	require.NoError(t, err)
	require.Greater(t, len(files), 5)
	for _, f := range files {
		if f.Name() != "README.txt" {
			assert.Contains(t, string(text), "\n"+f.Name()+" ")
		}
	}
	assert.Contains(t, string(text), "standing still at time 0")
	assert.False(t, strings.Contains(string(text), "%!"), "a format went wrong")
}

func TestSensorsStopWithTheirContext(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	c := config(t)
	c.Progress = cancelling{cancel} // when the first case begins
	var r bench.Report
	assert.ErrorIs(t, bench.Lidar(ended, c, &r), context.Canceled)
	assert.Empty(t, r.Results)
}

// cancelling ends a context at the first word.
type cancelling struct{ cancel context.CancelFunc }

func (c cancelling) Write(p []byte) (int, error) {
	c.cancel()
	return len(p), nil
}

// The load renders, too, and all of it ends with the bench.
func TestClockBesideACamera(t *testing.T) {
	c := config(t, "loaded", "loaded_1kHz")
	c.ClockTime = 50 * time.Millisecond
	var r bench.Report
	require.NoError(t, bench.Clock(context.Background(), c, &r))
	require.Len(t, r.Scenes, 1)
	require.NotEmpty(t, r.Results)
	if c.GL.Info().Software {
		assert.Contains(t, r.Results[0].Note, "a camera on the same cores: software")
	} else {
		assert.Contains(t, r.Results[0].Note, "the camera is the GPU's load")
	}
}

// readbackConfig measures a small scene as shortly as can be.
func readbackConfig(t *testing.T) bench.Config {
	t.Helper()
	return bench.Config{Source: soup(true), GL: gputest.Thread(t), Runs: 2, RunTime: 1}
}

// checkReadback says that the rows are there, with their units, and that values
// are what a measurement can give.
func checkReadback(t *testing.T, rows []bench.Result, name string) {
	t.Helper()
	units := map[string]string{}
	for i := range rows {
		r := &rows[i]
		assert.Equal(t, name, r.Case, r.Name)
		units[r.Name] = r.Unit
		switch r.Name {
		case "readback.dropped":
			assert.Zero(t, r.Median())
		case "readback.stage.copy_ms.p50", "readback.stage.copy_ms.p99":
			assert.GreaterOrEqual(t, r.Median(), 0.0)
		default:
			assert.Positive(t, r.Median(), r.Name)
		}
	}
	for want, unit := range map[string]string{
		"readback.blocking.frame_ms.p50": "ms", "readback.blocking.frame_ms.p99": "ms", "readback.blocking.frame_ms.max": "ms",
		"readback.async.frame_ms.p50": "ms", "readback.async.frame_ms.p99": "ms", "readback.async.frame_ms.max": "ms",
		"readback.blocking.captures_per_s": "captures/s", "readback.async.captures_per_s": "captures/s",
		"readback.async.ask_ms.p99": "ms", "readback.async.ask_ms.max": "ms",
		"readback.dropped": "captures", "readback.latency_ms.p50": "ms", "readback.latency_ms.p99": "ms",
		"readback.stage.hop_ms.p50": "ms", "readback.stage.fence_ms.p50": "ms", "readback.stage.copy_ms.p50": "ms",
		"readback.stage.hand_on_ms.p50": "ms", "readback.stage.queue_ms.p99": "ms", "readback.stage.convert_ms.p99": "ms",
	} {
		assert.Equal(t, unit, units[want], want)
	}
}

// The loops read back the same bytes, in order, however fast they are: refused
// says so.
func TestReadbackLoopsAgree(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	for _, name := range []string{"640x480", "VelodyneVLP16"} {
		t.Run(name, func(t *testing.T) {
			rows, charts, refused, err := bench.MeasureReadback(context.Background(), readbackConfig(t), name)
			require.NoError(t, err)
			require.NoError(t, refused)
			checkReadback(t, rows, name)
			assert.Len(t, charts, 3)
		})
	}
}

// A slow machine may refuse the asynchronous loop; all else is there, and said.
func TestReadback(t *testing.T) {
	c := readbackConfig(t)
	c.Cases = []string{"VelodyneVLP16"}
	var r bench.Report
	err := bench.Readback(context.Background(), c, &r)
	if err != nil {
		require.ErrorIs(t, err, bench.ErrRefused)
		require.NotErrorIs(t, err, bench.ErrWrongData)
		assert.Contains(t, r.Methods[len(r.Methods)-1], "left out")
	}
	names := map[string]bool{}
	for _, f := range figures(t, &r) {
		names[f.Name] = true
	}
	assert.True(t, names["readback.blocking.frame_ms.p50"])
	assert.Equal(t, err == nil, names["readback.async.frame_ms.p99"], "%v", err)
	assert.NotEmpty(t, r.Charts)
	assert.Len(t, r.Scenes, 1)
}

func TestReadbackOfBuffers(t *testing.T) {
	c := readbackConfig(t)
	c.RunTime = 10 * time.Millisecond
	rows, err := bench.MeasureBytes(context.Background(), &c)
	require.NoError(t, err)
	seen := map[string]int{}
	for i := range rows {
		r := &rows[i]
		assert.Positive(t, r.Median(), r.Name)
		seen[r.Name+" "+r.Case]++
		if strings.HasSuffix(r.Name, "bytes_per_s") {
			assert.Equal(t, "bytes/s", r.Unit)
			assert.Len(t, r.Runs, c.Runs)
		} else {
			assert.Equal(t, "readback.poll_us", r.Name)
			assert.Equal(t, "µs", r.Unit)
		}
	}
	for _, size := range []string{"64KiB", "1MiB", "8MiB", "32MiB"} {
		for _, name := range []string{"readback.bytes_per_s", "readback.copied_bytes_per_s", "memcpy.bytes_per_s"} {
			assert.Equal(t, 1, seen[name+" "+size], "%s of %s", name, size)
		}
	}
	// What is read back of a texture, and of a level, is held against what was put there.
	for name, size := range map[string]string{"readback.texture": "1280x720", "readback.texture_level": "320x180"} {
		assert.Equal(t, 1, seen[name+".bytes_per_s "+size], name)
		assert.Equal(t, 1, seen[name+".copied_bytes_per_s "+size], name)
	}
}
