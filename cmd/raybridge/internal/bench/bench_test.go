package bench_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/bench"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// soup is a source of random triangles, moving ones among them.
func soup(sized bool) bench.Source {
	return bench.Source{Name: "soup", Sized: sized, Load: func(_ context.Context, triangles int) (*scene.Scene, error) {
		return scenetest.Soup(3, min(triangles, 600), true), nil
	}}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		runs []float64
		want float64
	}{
		{[]float64{7}, 7},
		{[]float64{9, 1}, 5},
		{[]float64{5, 1, 100}, 5},
		{[]float64{4, 1, 100, 2}, 3},
	} {
		r := bench.Result{Runs: c.runs}
		assert.Equal(t, c.want, r.Median(), "%v", c.runs)
	}
	none := bench.Result{}
	assert.True(t, math.IsNaN(none.Median()))
}

// figures reads what a report writes as JSON, which is the same each time.
func figures(t *testing.T, r *bench.Report) []bench.Figure {
	t.Helper()
	var b, again bytes.Buffer
	require.NoError(t, r.WriteJSON(&b))
	require.NoError(t, r.WriteJSON(&again))
	assert.Equal(t, b.String(), again.String())
	path := filepath.Join(t.TempDir(), "figures.json")
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o600))
	list, err := bench.ReadFigures(path)
	require.NoError(t, err)
	return list
}

// TestJSON: other programs read these keys.
func TestJSON(t *testing.T) {
	r := &bench.Report{
		Machine: bench.Machine{CPU: "Abacus 2", Cores: 2, Flags: "avx2", Device: "beads", GoVersion: "go1.26", Commit: "12345678+", Date: "2026-11-25", LoadAfter: 1},
		Results: []bench.Result{{Name: "bvh.load_s", Case: "city", Unit: "s", Runs: []float64{3, 1, 2}, Note: "warm"}},
	}
	var b bytes.Buffer
	require.NoError(t, r.WriteJSON(&b))
	assert.JSONEq(t, `[{"name": "bvh.load_s", "case": "city", "unit": "s", "value": 2, "runs": [3, 1, 2], "note": "warm", "machine": {
		"cpu": "Abacus 2", "cores": 2, "flags": "avx2", "device": "beads", "platform": "", "go": "go1.26", "commit": "12345678+",
		"date": "2026-11-25", "load_before": 0, "load_after": 1}}]`, b.String())
	_, err := bench.ReadFigures(filepath.Join(t.TempDir(), "absent.json"))
	assert.ErrorContains(t, err, "read figures")
}

func TestReport(t *testing.T) {
	r := &bench.Report{
		Machine: bench.Machine{CPU: "Abacus 2", Cores: 2, Platform: "linux/amd64", GoVersion: "go1.26", LoadBefore: 3, LoadAfter: 2.5},
		Scenes:  []string{"city: 5 triangles"},
		Results: []bench.Result{
			{Name: "lidar.rays_per_s", Case: "VelodyneVLP16", Unit: "rays/s", Runs: []float64{3_000_000, 1_234_567.8, 4_000_000}, Note: "28800 rays a scan"},
			{Name: "bvh.load_s", Case: "city_1000000", Unit: "s", Runs: []float64{0.25}},
		},
	}
	assert.Equal(t, []bench.Figure{
		{Result: r.Results[0], Value: 3_000_000, Machine: r.Machine}, {Result: r.Results[1], Value: 0.25, Machine: r.Machine},
	}, figures(t, r))

	var b strings.Builder
	require.NoError(t, r.WriteText(&b))
	for _, want := range []string{
		"2 cores of Abacus 2", "go1.26 linux/amd64", "3.00 before, 2.50 after: other programs were running", "city: 5 triangles",
		"3,000,000", "1,234,568", "4,000,000", "28800 rays a scan", "0.25",
	} {
		assert.Contains(t, b.String(), want)
	}
	assert.NotContains(t, b.String(), "device", "no sensor was measured")
}

// TestProcessor: CPUs of one model name are told apart, as virtual machines have them.
func TestProcessor(t *testing.T) {
	for _, k := range []struct {
		cpuinfo, cpu, flags string
		threads             int
	}{
		{`processor	: 0
vendor_id	: GenuineIntel
cpu family	: 6
model		: 207
model name	: Intel(R) Xeon(R) Processor
stepping	: 2
siblings	: 2
cpu cores	: 1
flags		: fpu avx f16c avx2 avx512f fma avx512vl

processor	: 1
cpu family	: 6
model		: 143
model name	: Another
flags		: fpu
`, "Intel(R) Xeon(R) Processor (family 6, model 207)", "avx avx2 fma avx512f avx512vl", 2},
		{"model name\t: AMD EPYC\ncpu family\t: 25\nmodel\t\t: 17\n", "AMD EPYC (family 25, model 17)", "", 0},
		{"processor\t: 0\nFeatures\t: fp asimd sve\nCPU implementer\t: 0x41\nCPU part\t: 0xd40\n", "implementer 0x41, part 0xd40", "asimd sve", 0},
		{"model name : Abacus\n", "Abacus", "", 0},
		{"", "", "", 0},
		{"siblings\t: 16\ncpu cores\t: 16\n", "", "", 1},
	} {
		var m bench.Machine
		bench.Processor(&m, strings.NewReader(k.cpuinfo))
		assert.Equal(t, bench.Machine{CPU: k.cpu, Flags: k.flags, ThreadsPerCore: k.threads}, m)
	}
}

func TestMachineName(t *testing.T) {
	assert.Equal(t, "2 cores of AMD EPYC (family 25, model 17)", (&bench.Machine{Cores: 2, CPU: "AMD EPYC (family 25, model 17)"}).Name())
	assert.Equal(t, "2 cores of Abacus", (&bench.Machine{Cores: 2, ThreadsPerCore: 1, CPU: "Abacus"}).Name())
	assert.Equal(t, "4 threads of 2 cores of Abacus", (&bench.Machine{Cores: 4, ThreadsPerCore: 2, CPU: "Abacus"}).Name())
	assert.Equal(t, "1 thread of 1 core of Abacus", (&bench.Machine{Cores: 1, ThreadsPerCore: 2, CPU: "Abacus"}).Name())
	assert.Equal(t, "1 core of Abacus", (&bench.Machine{Cores: 1, CPU: "Abacus"}).Name())
	assert.Equal(t, "4 cores of an unknown CPU", (&bench.Machine{Cores: 4, Flags: "avx2"}).Name())
}

func TestThisMachineHasCores(t *testing.T) {
	m := bench.ThisMachine()
	assert.Positive(t, m.Cores)
	assert.True(t, strings.HasPrefix(m.GoVersion, "go") || strings.HasPrefix(m.GoVersion, "devel"), m.GoVersion)
}

func TestBVH(t *testing.T) {
	for _, c := range []struct {
		sized     bool
		triangles int
		want      string
	}{{true, 0, "soup_1000000"}, {true, 500, "soup_500"}, {false, 0, "soup_600"}} {
		var r bench.Report
		require.NoError(t, bench.BVH(context.Background(), bench.Config{Source: soup(c.sized), Triangles: c.triangles, Runs: 2}, &r))
		require.GreaterOrEqual(t, len(r.Results), 2)
		for i, name := range []string{"bvh.build_s", "bvh.load_s"} {
			f := &r.Results[i]
			assert.Equal(t, name, f.Name)
			assert.Equal(t, c.want, f.Case)
			assert.Equal(t, "s", f.Unit)
			assert.Len(t, f.Runs, 2)
			assert.Positive(t, f.Median())
		}
		for _, f := range r.Results[2:] {
			assert.Equal(t, "memory.rss_bytes", f.Name)
			assert.Greater(t, f.Median(), 1e6)
		}
		assert.Len(t, r.Scenes, 1)
	}
}

func TestBadConfigurations(t *testing.T) {
	var r bench.Report
	assert.ErrorIs(t, bench.BVH(context.Background(), bench.Config{Source: soup(true), Runs: -1}, &r), bench.ErrConfig)
	assert.ErrorIs(t, bench.Lidar(context.Background(), bench.Config{Source: soup(true), Triangles: -1}, &r), bench.ErrConfig)
	assert.ErrorIs(t, bench.Camera(context.Background(), bench.Config{Source: soup(true), RunTime: -1}, &r), bench.ErrConfig)

	for _, measure := range []func(context.Context, bench.Config, *bench.Report) error{bench.Lidar, bench.Camera} {
		err := measure(context.Background(), bench.Config{Source: soup(true), Cases: []string{"VelodyneVLP61"}}, &r)
		assert.ErrorIs(t, err, bench.ErrConfig)
		assert.ErrorContains(t, err, "VelodyneVLP61")
		assert.ErrorContains(t, err, "no case")
	}

	broken := errors.New("no such file")
	source := bench.Source{Name: "x.glb", Load: func(context.Context, int) (*scene.Scene, error) { return nil, broken }}
	assert.ErrorIs(t, bench.BVH(context.Background(), bench.Config{Source: source}, &r), broken)
	empty := bench.Source{Name: "empty", Load: func(context.Context, int) (*scene.Scene, error) { return scene.New("empty"), nil }}
	assert.ErrorIs(t, bench.BVH(context.Background(), bench.Config{Source: empty}, &r), scene.ErrEmptyScene)

	ended, cancel := context.WithCancel(context.Background())
	cancel()
	assert.ErrorIs(t, bench.BVH(ended, bench.Config{Source: soup(true)}, &r), context.Canceled)
	assert.Empty(t, r.Results)
}

func TestDumpNeedsAFolder(t *testing.T) {
	_, err := bench.NewDump("bench_test.go/dump")
	assert.Error(t, err)
}

func TestFigureOfACaseIsListedOnce(t *testing.T) {
	var r bench.Report
	bench.AddFigures(&r, []bench.Result{{Name: "memcpy.bytes_per_s", Case: "8MiB", Runs: []float64{1}}})
	bench.AddFigures(&r, []bench.Result{
		{Name: "memcpy.bytes_per_s", Case: "8MiB", Runs: []float64{2}}, {Name: "memcpy.bytes_per_s", Case: "1MiB", Runs: []float64{3}},
	})
	require.Len(t, r.Results, 2)
	assert.Equal(t, []float64{1}, r.Results[0].Runs)
	assert.Equal(t, "1MiB", r.Results[1].Case)
}

func TestStream(t *testing.T) {
	var r bench.Report
	require.NoError(t, bench.Stream(t.Context(), bench.Config{Quick: true, Runs: 1}, &r))
	var names []string
	for _, f := range figures(t, &r) {
		names = append(names, f.Name)
		assert.Equal(t, "1920x1080_rgba", f.Case)
		if f.Name != "stream.allocs_per_frame" {
			assert.Positive(t, f.Value, f.Name)
		}
	}
	assert.Equal(t, []string{
		"stream.frames_per_s", "stream.bytes_per_s", "tcp.bytes_per_s", "tcp_small_buffer.bytes_per_s",
		"stream.ratio", "stream.small_buffer_ratio", "stream.allocs_per_frame",
	}, names)
	assert.Len(t, r.Methods, 1)
	err := bench.Stream(t.Context(), bench.Config{Cases: []string{"8k"}}, &r)
	assert.ErrorIs(t, err, bench.ErrConfig)
	assert.ErrorContains(t, err, "known are 1920x1080_rgba, 640x480_rgba")
}
