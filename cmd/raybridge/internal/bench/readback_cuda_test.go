//go:build cgo && linux

package bench_test

import (
	"context"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/bench"
	"github.com/raybridge/raybridge/gpu/gputest"
)

// fakeCuda builds testdata/fake_cuda.c and returns its path. It skips where there is
// no C compiler: then the package was built elsewhere.
func fakeCuda(t *testing.T, flags ...string) string {
	t.Helper()
	compiler, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler to build a libcuda with: ", err)
	}
	path := filepath.Join(t.TempDir(), "libcuda.so.1")
	arguments := append([]string{"-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-o", path, "testdata/fake_cuda.c"}, flags...)
	out, err := exec.Command(compiler, arguments...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return path
}

// measureCuda returns the results and what was said.
func measureCuda(t *testing.T, library string, sizes ...int) (results []bench.Result, said string) {
	t.Helper()
	var progress strings.Builder
	c := bench.Config{Source: soup(true), Runs: 3, RunTime: 10 * time.Millisecond, Progress: &progress}
	results, err := bench.CudaResults(context.Background(), c, library, sizes...)
	require.NoError(t, err)
	return results, progress.String()
}

// calls counts the fake's calls by name.
func calls(t *testing.T, log string) map[string]int {
	t.Helper()
	text, err := os.ReadFile(log)
	require.NoError(t, err)
	counts := map[string]int{}
	for name := range strings.FieldsSeq(string(text)) {
		counts[name]++
	}
	return counts
}

// checkFreed says that all that was made is gone.
func checkFreed(t *testing.T, n map[string]int) {
	t.Helper()
	for made, freed := range map[string]string{
		"cuCtxCreate_v2": "cuCtxDestroy_v2", "cuStreamCreate": "cuStreamDestroy_v2",
		"cuMemAlloc_v2": "cuMemFree_v2", "cuMemHostAlloc": "cuMemFreeHost",
	} {
		assert.Equal(t, n[made], n[freed], made)
	}
}

func TestPinnedCopies(t *testing.T) {
	library, log := fakeCuda(t), filepath.Join(t.TempDir(), "log")
	t.Setenv("FAKE_CUDA_LOG", log)
	results, said := measureCuda(t, library, 64<<10, 1<<20, 1000)
	assert.Empty(t, said)
	require.Len(t, results, 3)
	for i, want := range []string{"64KiB", "1MiB", "1000B"} {
		r := &results[i]
		assert.Equal(t, "cuda.pinned_bytes_per_s", r.Name)
		assert.Equal(t, want, r.Case)
		assert.Equal(t, "bytes/s", r.Unit)
		assert.Contains(t, r.Note, "device 0, Abacus 1;")
		require.Len(t, r.Runs, 3)
		for _, rate := range r.Runs {
			assert.Greater(t, rate, 1e5)
			assert.False(t, math.IsInf(rate, 0))
		}
	}
	n := calls(t, log)
	assert.Equal(t, 1, n["cuInit"])
	assert.Equal(t, 3, n["cuMemAlloc_v2"])
	checkFreed(t, n)
}

// The GPU that sensors run on is measured, if the names tell which that is.
func TestPinnedCopiesOfTheGPUInUse(t *testing.T) {
	library := fakeCuda(t)
	for renderer, want := range map[string]string{
		"Abacus 2/PCIe/SSE2":   "device 1, Abacus 2;",
		"Abacus 1/PCIe/SSE2":   "device 0, Abacus 1;",
		"llvmpipe (LLVM 15.0)": "device 0, Abacus 1;",
	} {
		fake := gputest.NewFake()
		info := fake.Info()
		info.Renderer = renderer
		fake.SetInfo(info)
		c := bench.Config{Source: soup(true), Runs: 1, RunTime: 1, GL: fake.Start(t)}
		results, err := bench.CudaResults(context.Background(), c, library, 4096)
		require.NoError(t, err)
		require.Len(t, results, 1)
		assert.Contains(t, results[0].Note, want, renderer)
	}
}

func TestLibcudaThatFails(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	for _, c := range []struct{ fail, want string }{
		{"cuInit:3", "cuInit returned CUresult 3\n"},
		{"cuDeviceGetCount:4", "cuDeviceGetCount returned CUresult 4\n"},
		{"cuDeviceGet:101", "cuDeviceGet returned CUresult 101\n"},
		{"cuDeviceGetName:101", "cuDeviceGetName returned CUresult 101\n"},
		{"cuCtxCreate_v2:2", "cuCtxCreate_v2 returned CUresult 2 CUDA_ERROR_OUT_OF_MEMORY\n"},
		{"cuStreamCreate:2", "cuStreamCreate returned CUresult 2 CUDA_ERROR_OUT_OF_MEMORY\n"},
		{"cuMemAlloc_v2:2", "64KiB: cuMemAlloc_v2 returned CUresult 2 CUDA_ERROR_OUT_OF_MEMORY\n"},
		{"cuMemHostAlloc:2:3", "64KiB: cuMemHostAlloc returned CUresult 2 CUDA_ERROR_OUT_OF_MEMORY\n"},
		{"cuMemcpyHtoD_v2:700", "64KiB: cuMemcpyHtoD_v2 returned CUresult 700\n"},
		{"cuMemcpyDtoHAsync_v2:700", "64KiB: cuMemcpyDtoHAsync_v2 returned CUresult 700\n"},
		{"cuMemcpyDtoHAsync_v2:700:20", "64KiB: cuMemcpyDtoHAsync_v2 returned CUresult 700\n"},
		{"cuMemFree_v2:1", "64KiB: cuMemFree_v2 returned CUresult 1\n"},
	} {
		t.Run(c.fail, func(t *testing.T) {
			library, log := fakeCuda(t), filepath.Join(t.TempDir(), "log")
			t.Setenv("FAKE_CUDA_LOG", log)
			t.Setenv("FAKE_CUDA_FAIL", c.fail)
			require.NoError(t, os.WriteFile(log, nil, 0o600))
			results, said := measureCuda(t, library, 64<<10)
			assert.Empty(t, results)
			assert.True(t, strings.HasSuffix(said, ": "+c.want), said)
			assert.Equal(t, 1, strings.Count(said, "\n"))
			if n := calls(t, log); !strings.HasPrefix(c.fail, "cuMemFree") {
				checkFreed(t, n)
			}
		})
	}
}

// What was measured before a failure stays.
func TestALargeSizeThatFails(t *testing.T) {
	library := fakeCuda(t)
	t.Setenv("FAKE_CUDA_FAIL", "cuMemAlloc_v2:2:2")
	results, said := measureCuda(t, library, 64<<10, 1<<20)
	require.Len(t, results, 1)
	assert.Equal(t, "64KiB", results[0].Case)
	assert.Contains(t, said, "1MiB: cuMemAlloc_v2")
}

func TestWrongBytesAreNoFigure(t *testing.T) {
	library := fakeCuda(t)
	t.Setenv("FAKE_CUDA_WRONG", "1")
	results, said := measureCuda(t, library, 64<<10)
	assert.Empty(t, results)
	assert.Contains(t, said, "other bytes")
}

func TestWithoutCuda(t *testing.T) {
	notALibrary := filepath.Join(t.TempDir(), "libcuda.so.1")
	require.NoError(t, os.WriteFile(notALibrary, []byte("text"), 0o600))
	library := fakeCuda(t)
	for name, c := range map[string]struct{ library, devices, want string }{
		"no library":  {"/nonexistent/libcuda.so.1", "2", "libcuda.so.1"},
		"no ELF file": {notALibrary, "2", notALibrary},
		"no device":   {library, "0", "no CUDA device"},
		"no driver":   {library, "-1", "no CUDA device"},
		"no function": {fakeCuda(t, "-DWITHOUT_STREAMS"), "2", "cuStreamCreate"},
	} {
		t.Setenv("FAKE_CUDA_DEVICES", c.devices)
		results, said := measureCuda(t, c.library, 64<<10)
		assert.Empty(t, results, name)
		assert.Contains(t, said, c.want, name)
	}
}

func TestCudaEndsWithItsContext(t *testing.T) {
	library, log := fakeCuda(t), filepath.Join(t.TempDir(), "log")
	t.Setenv("FAKE_CUDA_LOG", log)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	c := bench.Config{Source: soup(true), RunTime: time.Hour}
	results, err := bench.CudaResults(ended, c, library, 64<<10)
	assert.ErrorIs(t, err, context.Canceled)
	assert.Empty(t, results)
	checkFreed(t, calls(t, log))
}
