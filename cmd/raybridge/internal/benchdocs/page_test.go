package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/bench"
)

func figure(name, title, unit string, runs ...float64) bench.Figure {
	return bench.Figure{Result: bench.Result{Name: name, Case: title, Unit: unit, Runs: runs}, Machine: bench.Machine{
		CPU: "Abacus", Cores: 2, Flags: "avx2", Device: "beads (256 bits); 4.5; surfaceless", GoVersion: "go1.26", Commit: "12345678", Date: "2026-11-25",
		LoadBefore: 0.1, LoadAfter: 1.5,
	}}
}

const twoParts = `# Page
By hand, <!-- = a.rays VLP16 -->9 M rays/s<!-- . -->, <!-- = a.rays:b.rays VLP16 -->1<!-- . -->, <!-- = c.ms VLP16 -->7 ms<!-- . -->.

<!-- figures: one -->
old
<!-- end -->
<!-- figures: two -->
kept
<!-- end -->
`

// TestWrite: one part changes, with the figures that are repeated, and all else stays.
func TestWrite(t *testing.T) {
	p := part{name: "one", tables: [][]column{
		{{"rays", "a.rays", ""}, {"times b", "a.rays", "b.rays"}}, {{"memory", "memory", ""}}, {{"absent", "absent", ""}},
	}, chart: "images/one.png"}
	figures := []bench.Figure{
		figure("a.rays", "VLP16", "rays/s", 4_310_000, 4_460_000, 4_259_000), figure("b.rays", "VLP16", "rays/s", 4_310_000, 2_230_000, 4_259_000),
		figure("a.rays", "HDL64", "rays/s", 12_345_678), figure("memory", "all", "bytes", 340_400_000),
	}
	want := `# Page
By hand, <!-- = a.rays VLP16 -->4.31 M rays/s<!-- . -->, <!-- = a.rays:b.rays VLP16 -->1<!-- . -->, <!-- = c.ms VLP16 -->7 ms<!-- . -->.

<!-- figures: one -->

Measured 2026-11-25 of commit 12345678 with go1.26, n = 1 to 3. Machine: 2 cores of Abacus with avx2. Device: beads (256 bits). Load: 0.10 before, 1.50 after.

| case | rays | times b |
|---|---|---|
| ` + "`VLP16`" + ` | 4.31 M rays/s (4.26 to 4.46) | 1 (1 to 2) |
| ` + "`HDL64`" + ` | 12.3 M rays/s | - |

| case | memory |
|---|---|
| ` + "`all`" + ` | 340 MB |

![one: the medians and what was fitted to them](images/one.png)

<!-- end -->
<!-- figures: two -->
kept
<!-- end -->
`
	got, err := p.write(twoParts, figures)
	require.NoError(t, err)
	assert.Equal(t, want, got)
	again, err := p.write(got, figures)
	require.NoError(t, err)
	assert.Equal(t, want, again, "the same figures, the same bytes")

	_, err = p.write(twoParts, figures[3:3])
	assert.ErrorContains(t, err, "measured none of the figures of one")
	_, err = p.write(strings.ReplaceAll(twoParts, "<!-- end -->\n", ""), figures)
	assert.ErrorIs(t, err, errPage)
	_, err = (&part{name: "three"}).write(twoParts, figures)
	assert.ErrorIs(t, err, errPage)
	assert.ErrorContains(t, err, "figures: three")
}

func TestBusyMachineIsSaid(t *testing.T) {
	f := figure("a", "b", "s", 1)
	f.Machine.LoadBefore = 3
	assert.Contains(t, measured([]bench.Figure{figure("a", "c", "s", 1), f}), "Load: 3.00 before, 1.50 after. **Other programs were running.**")
}

func TestEachDeviceIsSaid(t *testing.T) {
	f := figure("a", "b", "s", 1)
	f.Machine.Device = "host device, avx2; 4.5"
	assert.Contains(t, measured([]bench.Figure{figure("a", "c", "s", 1), f, f}), "Device: beads (256 bits); host device, avx2. ")
}

func TestCell(t *testing.T) {
	for _, k := range []struct {
		unit string
		runs []float64
		want string
	}{
		{"ns", []float64{174.4}, "174 ns"},
		{"ns", []float64{3600, 3500, 3704}, "3.6 µs (3.5 to 3.7)"},
		{"ns", []float64{450_000}, "450 µs"},
		{"µs", []float64{0.2612}, "0.261 µs"},
		{"µs", []float64{5500}, "5.5 ms"},
		{"ms", []float64{0}, "0 ms"},
		{"ms", []float64{99.96}, "100 ms"},
		{"µs", []float64{-7.61}, "-7.61 µs"},
		{"messages/s", []float64{1611, 1592, 1642.4}, "1,610 messages/s (1,590 to 1,640)"},
		{"frames/s", []float64{-1234567}, "-1,230,000 frames/s"},
		{"bytes/s", []float64{6.04e9}, "6.04 GB/s"},
		{"bytes/s", []float64{1.2e5}, "0.12 MB/s"},
		{"", []float64{1.66, 1.64, 1.89}, "1.66 (1.64 to 1.89)"},
		{"allocations", []float64{1.24e-6}, "0.00000124 allocations"},
	} {
		assert.Equal(t, k.want, cell(k.runs, k.unit))
	}
}

func TestGoResults(t *testing.T) {
	out := `goos: linux
BenchmarkSteps/empty-2         	   10000	    100000 ns/op	        30.00 p50-µs	       180.0 p99-µs
BenchmarkSteps/empty-2         	   10000	    110000 ns/op	        32.00 p50-µs	       190.0 p99-µs
BenchmarkBesideC/1MB-2   	 1	 1966000000 C-bytes/s
BenchmarkClock-2   	 5	 370.0 bridge-ns/msg	 98.50 %-of-bare	 12 B/op
PASS
ok  	github.com/raybridge/raybridge	2.0s
`
	assert.Equal(t, []bench.Result{
		{Name: "Steps.ns/op", Case: "empty", Unit: "ns", Runs: []float64{100000, 110000}},
		{Name: "Steps.p50-µs", Case: "empty", Unit: "µs", Runs: []float64{30, 32}},
		{Name: "Steps.p99-µs", Case: "empty", Unit: "µs", Runs: []float64{180, 190}},
		{Name: "BesideC.C-bytes/s", Case: "1MB", Unit: "bytes/s", Runs: []float64{1966000000}},
		{Name: "bridge-ns/msg", Case: "Clock", Unit: "ns", Runs: []float64{370}},
		{Name: "%-of-bare", Case: "Clock", Unit: "%", Runs: []float64{98.5}},
		{Name: "B/op", Case: "Clock", Runs: []float64{12}},
	}, goResults(out))
}

// TestThePageHasEveryPart: each part has its marks, and each repeated figure is one of a part.
func TestThePageHasEveryPart(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("../../../..", defaultPage))
	require.NoError(t, err)
	page, stated := string(text), map[string]bool{}
	for i := range parts {
		p := &parts[i]
		figures := []bench.Figure{figure(p.tables[0][0].figure, "some", "s", 1)}
		if over := p.tables[0][0].over; over != "" {
			figures = append(figures, figure(over, "some", "s", 1))
		}
		_, err := p.write(page, figures)
		assert.NoError(t, err, p.name)
		for _, table := range p.tables {
			for _, c := range table {
				stated[c.figure], stated[c.over] = true, true
			}
		}
	}
	assert.Equal(t, len(parts), strings.Count(page, "<!-- figures: "), "marks of parts")
	all := repeated.FindAllStringSubmatch(page, -1)
	assert.Greater(t, len(all), 20)
	for _, m := range all {
		name, over, _ := strings.Cut(m[1], ":")
		assert.True(t, stated[name], name)
		assert.True(t, stated[over] || over == "", over)
	}
}

// TestPass: a program that writes figures stands for raybridge.
func TestPass(t *testing.T) {
	dir := t.TempDir()
	program, page := filepath.Join(dir, "program"), filepath.Join(dir, "page.md")
	require.NoError(t, os.WriteFile(program, []byte(`#!/bin/sh
[ "$2" = world ] || { echo "no $2 today"; exit 1; }
while [ "$1" != --json ]; do shift; done
echo '[{"name": "world.go.step_ms", "case": "0_actors", "unit": "ms", "runs": [0.25], "machine": {"cores": 2, "load_before": -1}}]' > "$2"
`), 0o700))
	text := "<!-- figures: lidar -->\nkept\n<!-- end -->\n<!-- figures: world -->\nold\n<!-- end -->\n"
	require.NoError(t, os.WriteFile(page, []byte(text), 0o600))
	p := pass{program: program, page: page, out: filepath.Join(dir, "out"), quick: true, progress: &strings.Builder{}}
	err := p.run(t.Context(), []string{"lidar", "world"})
	assert.ErrorContains(t, err, "no lidar today", "what fails is told at the end")
	written, err := os.ReadFile(page)
	require.NoError(t, err)
	assert.Contains(t, string(written), "kept")
	assert.Contains(t, string(written), "| `0_actors` | 0.25 ms | - | - | - | - |")
	assert.NotContains(t, string(written), "of commit  with", "git tells the commit where the program doesn't")

	p.write = true
	require.NoError(t, os.WriteFile(page, []byte(text), 0o600))
	require.NoError(t, p.run(t.Context(), []string{"world"}))
	again, err := os.ReadFile(page)
	require.NoError(t, err)
	assert.Equal(t, string(written), string(again))

	assert.ErrorContains(t, p.run(t.Context(), []string{"word"}), "known are lidar")
	p.page = "./docs/benchmarks.md"
	assert.ErrorContains(t, p.run(t.Context(), nil), "give a copy")
}
