//go:build cgo

package hostdev

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/kernels"
)

// figures are a measurement that gives times, and counts its calls.
type figures struct {
	took  []time.Duration
	err   error
	calls int
}

func (f *figures) choice(dir string, isas ...string) *choice {
	return &choice{isas: isas, dir: dir, machine: "model name: Abacus\nthreads: 2\n", build: "1", measure: func(rivals []string) ([]time.Duration, error) {
		f.calls++
		return f.took[:len(rivals)], f.err
	}}
}

// The figures decide where there are two wide instruction sets. Elsewhere nothing is measured.
func TestFiguresDecide(t *testing.T) {
	for name, test := range map[string]struct {
		isas  []string
		took  []time.Duration
		err   error
		want  string
		calls int
	}{
		"wide":   {[]string{"avx512", "avx2", "sse2"}, []time.Duration{3, 4, 1}, nil, "avx512", 1},
		"narrow": {[]string{"avx512", "avx2", "sse2"}, []time.Duration{4, 3, 1}, nil, "avx2", 1},
		"equal":  {[]string{"avx512", "avx2", "sse2"}, []time.Duration{3, 3, 1}, nil, "avx512", 1},
		"failed": {[]string{"avx512", "avx2", "sse2"}, []time.Duration{4, 3, 1}, errors.New("no memory"), "avx512", 1},
		"avx2":   {[]string{"avx2", "sse2"}, []time.Duration{4, 3}, nil, "avx2", 0},
		"neon":   {[]string{"neon"}, nil, nil, "neon", 0},
	} {
		t.Run(name, func(t *testing.T) {
			f, dir := figures{took: test.took, err: test.err}, t.TempDir()
			assert.Equal(t, test.want, f.choice(dir, test.isas...).fastest())
			assert.Equal(t, test.calls, f.calls)
			files, err := os.ReadDir(dir)
			require.NoError(t, err)
			assert.Equal(t, test.calls == 1 && test.err == nil, len(files) == 1, "what was measured is kept")
		})
	}
}

// A kept choice is taken. Another machine or build, and a file that isn't whole, measure again.
func TestTheChoiceIsKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made")
	f := figures{took: []time.Duration{4, 3}}
	fresh := func() *choice { return f.choice(dir, "avx512", "avx2", "sse2") }
	measures := func(want int, c *choice) {
		t.Helper()
		f.calls = 0
		assert.Equal(t, "avx2", c.fastest())
		assert.Equal(t, want, f.calls)
	}
	measures(1, fresh())
	measures(0, fresh())
	path := fresh().path()
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, broken := range [][]byte{nil, whole[:len(whole)-1], whole[1:], slices.Concat(whole, whole), bytes.Replace(whole, []byte("avx2"), []byte("sse2"), 1)} {
		require.NoError(t, os.WriteFile(path, broken, 0o600))
		measures(1, fresh())
		measures(0, fresh())
	}
	newer, other, unknown := fresh(), fresh(), fresh()
	newer.build, other.machine, unknown.machine = "2", "model name: Abacus\nthreads: 3\n", ""
	for range 2 {
		measures(1, unknown)
	}
	for _, c := range []*choice{newer, other} {
		measures(1, c)
		measures(0, c)
	}
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, files, 2, "a file for each machine that is known")
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.Mkdir(path, 0o700)) // neither read nor written
	measures(1, fresh())
	blocked := f.choice(filepath.Join(other.path(), "raybridge"), "avx512", "avx2", "sse2")
	measures(1, blocked)
	measures(1, f.choice("", "avx512", "avx2", "sse2"))
}

// The probe's lidar sees the ground, and the same bits with every instruction set.
func TestTheProbeGivesTheSameBits(t *testing.T) {
	p, err := newProbe(kernels.ISAs(), 2)
	defer p.close()
	require.NoError(t, err)
	var want []byte
	for i, isa := range kernels.ISAs() {
		clear(p.points.Bytes())
		require.NoError(t, p.scan(i))
		if want == nil {
			want = bytes.Clone(p.points.Bytes())
			returns := 0
			for at := 0; at < len(want); at += 48 {
				returns += int(want[at+34] & 1)
			}
			assert.Greater(t, returns, len(want)/48/2)
		}
		assert.True(t, bytes.Equal(want, p.points.Bytes()), isa)
	}
}

// A process measures once: what it has chosen isn't written again elsewhere.
func TestAProcessChoosesOnce(t *testing.T) {
	isa, dir := fastestISA(""), t.TempDir()
	assert.Contains(t, kernels.ISAs(), isa)
	for _, name := range []string{"", "auto"} {
		thread, err := gpu.Start(Open(Options{ISA: name, CacheDir: dir}))
		require.NoError(t, err)
		assert.Contains(t, thread.Info().Renderer, "host device, "+isa+", ")
		require.NoError(t, thread.Close())
	}
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, files)
}
