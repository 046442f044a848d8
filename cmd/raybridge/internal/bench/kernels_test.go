package bench

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
)

// TestStopwatch: the fake's clock ticks a microsecond at each query.
func TestStopwatch(t *testing.T) {
	fake := gputest.NewFake()
	watch := &stopwatch{names: map[gpu.Handle]string{}}
	thread, err := gpu.Start(watch.open(fake.Open))
	require.NoError(t, err)
	defer thread.Close()
	err = thread.Do(context.Background(), func(c *gpu.Ctx) error {
		entry, err := c.NewProgram(gpu.ProgramDesc{Label: "a scan", Compute: "void main() {}", Entry: "lidar.scan"})
		require.NoError(t, err)
		defer entry.Close()
		other, err := c.NewProgram(gpu.ProgramDesc{Label: "other", Compute: "void main() {}"})
		require.NoError(t, err)
		defer other.Close()
		from, err := c.NewBuffer(gpu.BufferDesc{Label: "from", Size: 16})
		require.NoError(t, err)
		defer from.Close()
		to, err := c.NewBuffer(gpu.BufferDesc{Label: "to", Size: 16, Usage: gpu.UsageReadback})
		require.NoError(t, err)
		defer to.Close()
		dispatch := func(p *gpu.Program) {
			require.NoError(t, c.Dispatch(&gpu.Dispatch{Program: p, Groups: [3]int{1, 1, 1}}))
		}
		for range 2 { // the second time queries are used again
			dispatch(entry)
			watch.running = true
			dispatch(entry)
			dispatch(other)
			dispatch(entry)
			require.NoError(t, c.CopyBuffer(to, from, 0, 0, 16))
			watch.running = false
			dispatch(other)
			require.NoError(t, c.Finish())
			got, err := watch.read()
			require.NoError(t, err)
			us := time.Microsecond
			assert.Equal(t, timing{1, map[string]lap{"lidar.scan": {2, 2 * us}, "other": {1, us}, copyLap: {1, us}}, 7 * us}, got)
			assert.Equal(t, 3*us, got.kernels())
		}
		assert.Len(t, watch.spare, 8)
		return nil
	})
	require.NoError(t, err)
}

func TestRowsOfKernels(t *testing.T) {
	ms := time.Millisecond
	k := kernelCase{named: named{"case"}, rays: 1000, traced: "camera.trace", rate: 30}
	var t2 timing
	t2.add(timing{1, map[string]lap{"camera.trace": {2, 4 * ms}, copyLap: {1, ms}}, 9 * ms})
	t2.add(timing{1, map[string]lap{"camera.trace": {2, 2 * ms}, "camera.shade": {1, 2 * ms}}, 5 * ms})
	got := map[string]float64{}
	for _, r := range k.rows([]timing{t2}) {
		require.Len(t, r.Runs, 1)
		got[r.Name+" "+r.Case] = r.Runs[0]
	}
	assert.Equal(t, map[string]float64{
		"kernel.ms case/camera.trace": 3, "kernel.ms case/camera.shade": 1, "kernel.ms case/copy": 0.5, "kernel.capture_ms case": 4,
		"kernel.readback_ms case": 7, "kernel.rays_per_s case": 2000 / 0.006, "kernel.busy_percent case": 12,
	}, got)
}

func TestShareOfPinnedCopies(t *testing.T) {
	ours := []Result{
		{Name: "readback.bytes_per_s", Case: "1MiB", Runs: []float64{1, 3}}, {Name: "readback.bytes_per_s", Case: "8MiB", Runs: []float64{9, 10}},
		{Name: "memcpy.bytes_per_s", Case: "8MiB", Runs: []float64{1, 1}},
	}
	rows := shareOfPinned(ours, []Result{{Name: "cuda.pinned_bytes_per_s", Case: "8MiB", Runs: []float64{10, 8}}})
	require.Len(t, rows, 1)
	assert.Equal(t, "8MiB", rows[0].Case)
	assert.Equal(t, []float64{90, 125}, rows[0].Runs)
	assert.Empty(t, shareOfPinned(ours, nil), "no libcuda, no figure")
}
