package main

import (
	"os"
	"path/filepath"
	"slices"
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

// onMachine makes figures those of another machine.
func onMachine(cpu string, cores int, list ...bench.Figure) []bench.Figure {
	list = slices.Clone(list)
	for i := range list {
		list[i].Machine.CPU, list[i].Machine.Cores = cpu, cores
	}
	return list
}

const twoParts = `# Page
<!-- called Abacus: 2 cores of Abacus -->
<!-- called Slide Rule (8 cores): 8 cores of Rule (family 6, model 207) -->
By hand, <!-- = a.rays VLP16 @ Abacus -->9 M rays/s<!-- . -->, <!-- = a.rays:b.rays VLP16 @ Abacus -->1<!-- . -->, <!-- = c.ms VLP16 @ Abacus -->7 ms<!-- . -->,
<!-- = a.rays VLP16 @ Slide Rule (8 cores) -->-<!-- . -->, <!-- = a.rays VLP16 @ Nobody -->8 M rays/s<!-- . -->.

<!-- figures: one -->
<!-- machine: 2 cores of Abacus -->
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
<!-- called Abacus: 2 cores of Abacus -->
<!-- called Slide Rule (8 cores): 8 cores of Rule (family 6, model 207) -->
By hand, <!-- = a.rays VLP16 @ Abacus -->4.31 M rays/s<!-- . -->, <!-- = a.rays:b.rays VLP16 @ Abacus -->1<!-- . -->, <!-- = c.ms VLP16 @ Abacus -->7 ms<!-- . -->,
<!-- = a.rays VLP16 @ Slide Rule (8 cores) -->-<!-- . -->, <!-- = a.rays VLP16 @ Nobody -->8 M rays/s<!-- . -->.

<!-- figures: one -->
<!-- machine: 2 cores of Abacus -->

Measured 2026-11-25 of commit 12345678 with go1.26, n = 1 to 3. Machine: **2 cores of Abacus** with avx2. Device: beads (256 bits). Load: 0.10 before, 1.50 after.

| case | rays | times b |
|---|---|---|
| ` + "`VLP16`" + ` | 4.31 M rays/s (4.26 to 4.46) | 1 (1 to 2) |
| ` + "`HDL64`" + ` | 12.3 M rays/s | - |

| case | memory |
|---|---|
| ` + "`all`" + ` | 340 MB |

![one on 2 cores of Abacus: the medians and what was fitted to them](images/one-2-cores-of-abacus.png)

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

// TestMachinesStandBesideOneAnother: a measurement replaces what its own machine had, in its place.
func TestMachinesStandBesideOneAnother(t *testing.T) {
	p := part{name: "one", tables: [][]column{{{"rays", "a.rays", ""}}}}
	ours := figure("a.rays", "VLP16", "rays/s", 4_310_000)
	faster, fastest := ours, ours
	faster.Runs, fastest.Runs = []float64{5e6}, []float64{6e6}
	write := func(page string, figures []bench.Figure) string {
		page, err := p.write(page, figures)
		require.NoError(t, err)
		return page
	}
	const rule, newer = "Rule (family 6, model 207)", "Rule (family 6, model 173)"
	both := write(write(twoParts, []bench.Figure{ours}), onMachine(rule, 8, faster))
	assert.Contains(t, both, "@ Abacus -->4.31 M rays/s<")
	assert.Contains(t, both, "@ Slide Rule (8 cores) -->5 M rays/s<")
	assert.Contains(t, both, "@ Nobody -->8 M rays/s<", "a machine that the page doesn't know")
	inOrder(t, both, "Machine: **2 cores of Abacus**", "4.31 M rays/s |", "Machine: **8 cores of "+rule+"**", "| 5 M rays/s |", "<!-- end -->", "kept")

	for name, figures := range map[string][]bench.Figure{
		"another model of one name": onMachine(newer, 8, fastest), "fewer cores of one CPU": onMachine(rule, 4, fastest),
	} {
		page := write(both, figures)
		inOrder(t, page, "| 4.31 M rays/s |", "| 5 M rays/s |", figures[0].Machine.Name(), "| 6 M rays/s |", "<!-- end -->")
		assert.Contains(t, page, "@ Slide Rule (8 cores) -->5 M rays/s<", name)
	}

	again := write(both, []bench.Figure{fastest})
	inOrder(t, again, "**2 cores of Abacus**", "| 6 M rays/s |", "**8 cores of", "| 5 M rays/s |", "<!-- end -->")
	assert.NotContains(t, again, "4.31")
	assert.Equal(t, again, write(again, onMachine(rule, 8, faster)), "the same figures, the same bytes")
}

// inOrder fails unless the text has these parts, one behind the other.
func inOrder(t *testing.T, text string, parts ...string) {
	t.Helper()
	rest := text
	for _, part := range parts {
		_, after, found := strings.Cut(rest, part)
		require.True(t, found, "%q in its place in\n%s", part, text)
		rest = after
	}
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
	assert.Equal(t, strings.Count(page, "<!-- = "), len(all), "marks of figures")
	names := map[string]bool{}
	for _, m := range called.FindAllStringSubmatch(page, -1) {
		names[m[1]] = true
	}
	assert.Greater(t, len(names), 1)
	for _, m := range all {
		assert.True(t, names[m[3]], "the page says which machine it calls %s", m[3])
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
	p.quick = false
	assert.ErrorContains(t, p.run(t.Context(), []string{"world"}), "no machine's folder", "quick results are no others' results")
	p.quick = true
	require.NoError(t, os.WriteFile(page, []byte(text), 0o600))
	require.NoError(t, p.run(t.Context(), []string{"world"}))
	again, err := os.ReadFile(page)
	require.NoError(t, err)
	assert.Equal(t, string(written), string(again))

	assert.ErrorContains(t, p.run(t.Context(), []string{"word"}), "known are lidar")
	p.page = filepath.Join(dir, "none.md")
	assert.ErrorContains(t, p.run(t.Context(), []string{"world"}), "read the page: ")
	p.page = "./docs/benchmarks.md"
	assert.ErrorContains(t, p.run(t.Context(), nil), "give a copy")
}

// TestResultsOfSeveralMachines: each machine's results and chart lie beside the others', and -write has all.
func TestResultsOfSeveralMachines(t *testing.T) {
	dir := t.TempDir()
	program, page, out := filepath.Join(dir, "program"), filepath.Join(dir, "page.md"), filepath.Join(dir, "out")
	require.NoError(t, os.WriteFile(program, []byte(`#!/bin/sh
while [ "$1" != --json ]; do shift; done
echo '[{"name": "growth.rays", "case": "7200", "unit": "ms", "runs": [0.25], "machine": {"cpu": "Here", "cores": 2, "load_before": -1}}]' > "$2"
[ "$3" = --plot ] && echo here > "$4"
`), 0o700))
	empty := "<!-- figures: growth -->\n<!-- end -->\n<!-- figures: camera -->\n<!-- end -->\n"
	require.NoError(t, os.WriteFile(page, []byte(empty), 0o600))
	p := pass{program: program, page: page, out: out, quick: true, progress: &strings.Builder{}}
	out = p.results()
	require.NoError(t, p.run(t.Context(), []string{"growth"}))
	here, err := os.ReadFile(page)
	require.NoError(t, err)
	assert.Contains(t, string(here), "(images/growth-2-cores-of-here.png)")

	other := filepath.Join(out, "other")
	put := func(name, text string) {
		require.NoError(t, os.MkdirAll(other, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(other, name), []byte(text), 0o600))
	}
	put("growth.json", `[{"name": "growth.rays", "case": "7200", "unit": "ms", "runs": [0.5], "machine": {"cpu": "There (family 6)", "cores": 8, "load_before": -1}}]`)
	put("growth.png", "there\n")
	p.write = true
	require.NoError(t, p.run(t.Context(), []string{"growth"}))
	both, err := os.ReadFile(page)
	require.NoError(t, err)
	inOrder(t, string(both), "**2 cores of Here**", "0.25 ms", "**8 cores of There (family 6)**", "0.5 ms", "(images/growth-8-cores-of-there-family-6.png)", "<!-- end -->")
	for name, want := range map[string]string{"growth-2-cores-of-here.png": "here\n", "growth-8-cores-of-there-family-6.png": "there\n"} {
		chart, err := os.ReadFile(filepath.Join(dir, "images", name))
		require.NoError(t, err)
		assert.Equal(t, want, string(chart))
	}

	put("camera_avx2.json", "[]")
	assert.ErrorContains(t, p.run(t.Context(), []string{"camera"}), "camera.json", "half of a machine's results")
	put("camera.json", `[{"name": "camera.frames_per_s", "case": "640x480_rgb", "unit": "frames/s", "runs": [9], "machine": {"cores": 8}}]`)
	require.NoError(t, os.Remove(filepath.Join(other, "camera_avx2.json")))
	require.NoError(t, p.run(t.Context(), []string{"camera"}), "a CPU without AVX2")
	assert.ErrorContains(t, p.run(t.Context(), []string{"lidar"}), "no machine's folder")
}
