//go:build cgo && linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/sweep"
	"github.com/raybridge/raybridge/internal/doc"
)

// sweepFile writes a sweep of a small drive, and returns it.
func sweepFile(t *testing.T, keys string) string {
	t.Helper()
	dir := t.TempDir()
	sceneFile(t, dir)
	write(t, dir, "drive.yaml", `duration: 100ms
scene: {file: wall.gltf}
ego: {waypoints: [{x: -15, y: -15}, {x: 5, y: -15}, {x: 5, y: 15}, {x: -15, y: 15}]}
sensors:
  - {id: sensor.camera.rgb, name: eye, rate: 20, image_size_x: 64, image_size_y: 48, pose: {z: 1.5}}
  - {id: sensor.lidar.ray_cast, name: roof, rate: 20, channels: 8, points_per_second: 20000, noise_stddev: 0.01, pose: {z: 2}}
bridges: [{type: mcap, connection: recording}]
`)
	return write(t, dir, "sweep.yaml", "sweep: {base: drive.yaml, device: host, "+keys+"}\n")
}

// sweepState is what sweep status says of a folder.
func sweepState(t *testing.T, dir string) (st sweep.State) {
	t.Helper()
	o := call(t, "sweep", "status", dir, "--json")
	require.Equal(t, exitDone, o.code, o.err)
	require.NoError(t, json.Unmarshal([]byte(o.out), &st))
	return st
}

// compared reads all files of a sweep's results that have to be equal.
func compared(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(filepath.Join(dir, "cases"), func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name() == "timing.json" || e.Name() == "log.txt" {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		files[name] = string(data)
		return err
	}))
	table, err := os.ReadFile(filepath.Join(dir, sweep.ResultsFile))
	require.NoError(t, err)
	files[sweep.ResultsFile] = string(table)
	return files
}

// sweepProcess is a process that runs a sweep.
func sweepProcess(t *testing.T, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	c := command(t, append([]string{"sweep", "run"}, args...)...)
	var said bytes.Buffer
	c.Stderr = &said
	require.NoError(t, c.Start())
	t.Cleanup(func() { _ = c.Process.Kill() }) // it has ended, unless the test failed
	return c, &said
}

// casesOf lists the processes of a sweep's cases.
func casesOf(parent int) (pids []int) {
	children, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", parent))
	for _, file := range children {
		text, _ := os.ReadFile(file) // a thread that has ended has none
		for _, word := range strings.Fields(string(text)) {
			if pid, err := strconv.Atoi(word); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// TestSweepOfRealCases: 30 cases, of which one is killed every now and then, and the sweep itself once, give the bytes of a
// sweep that nobody disturbs. So do shares that know nothing of each other.
func TestSweepOfRealCases(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it runs 90 cases")
	}
	t.Parallel()
	file := sweepFile(t, "matrix: {ego.speed: [5, 10, 15], sensors.roof.range: [20, 40, 60, 80, 100]}, repeat: {seed: 2}, collect: [sensors.roof.points_mean, ego.distance]")
	dirs := t.TempDir()
	calm, killed, shared := filepath.Join(dirs, "calm"), filepath.Join(dirs, "killed"), filepath.Join(dirs, "shared")
	o := execute(t, command(t, "sweep", "run", file, "--out", calm, "--jobs", "2"))
	require.Equal(t, exitDone, o.code, o.err)
	assert.Contains(t, o.out, "30 of 30 cases done")

	first, _ := sweepProcess(t, file, "--out", killed, "--jobs", "2")
	require.Eventually(t, func() bool {
		_, err := os.Stat(filepath.Join(killed, "plan.json"))
		return err == nil
	}, patience, glance)
	kills := disturb(t, killed, first, func() bool { return sweepState(t, killed).Done >= 10 })
	require.NoError(t, first.Process.Kill())
	_ = first.Wait() // it was killed
	require.Less(t, sweepState(t, killed).Done, 30, "the sweep was done before it was killed")
	second, said := sweepProcess(t, file, "--out", killed, "--jobs", "2")
	ended := make(chan error)
	go func() { ended <- second.Wait() }()
	kills += disturb(t, killed, second, func() bool {
		select {
		case err := <-ended:
			require.NoError(t, err, said)
			return true
		default:
			return false
		}
	})
	assert.Positive(t, kills)
	assert.Contains(t, said.String(), "which has ended without giving it back")

	o = call(t, "sweep", "plan", file, "--out", shared)
	require.Equal(t, exitDone, o.code, o.err)
	for _, share := range []string{"1/2", "0/2"} {
		o = execute(t, command(t, "sweep", "run", "--out", shared, "--shard", share))
		require.Equal(t, exitDone, o.code, o.err)
		assert.Contains(t, o.out, "15 of 15 cases done")
	}
	o = call(t, "sweep", "merge", shared)
	require.Equal(t, exitDone, o.code, o.err)

	want := compared(t, calm)
	assert.Len(t, want, 1+30*4, "the table, and of each case the manifest, the summary and two files of the recording")
	for name, dir := range map[string]string{"killed": killed, "shared": shared} {
		assert.Equal(t, want, compared(t, dir), name)
		st := sweepState(t, dir)
		assert.Equal(t, []int{30, 0, 0, 0}, []int{st.Done, st.Failed, st.Running, len(st.Alarms)}, name)
	}
	o = call(t, "sweep", "verify", killed)
	require.Equal(t, exitDone, o.code, o.out)
	assert.Contains(t, o.out, "checked 30 of 30 results: 30 as they were")
}

// disturb kills a case of a sweep after every few results, until enough is true. No case is killed three times, which would be
// a failure for good. It returns how many were killed.
func disturb(t *testing.T, dir string, c *exec.Cmd, enough func() bool) (kills int) {
	t.Helper()
	const few, most = 4, 2
	killed := map[string]int{}
	deadline, next := time.Now().Add(5*patience), sweepState(t, dir).Done
	for !enough() {
		require.True(t, time.Now().Before(deadline), "the sweep stands still")
		time.Sleep(glance)
		done := sweepState(t, dir).Done
		if done < next {
			continue
		}
		for _, pid := range casesOf(c.Process.Pid) {
			if id := caseOf(dir, pid); id != "" && killed[id] < most && syscall.Kill(pid, syscall.SIGKILL) == nil {
				killed[id]++
				kills++
				next = done + few
				break
			}
		}
	}
	return kills
}

// caseOf is the id of the case that a process runs, by the attempt that it writes to, "" if it has ended meanwhile.
func caseOf(dir string, pid int) string {
	line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // of one that has ended there is none
	words := strings.Split(string(line), "\x00")
	at := slices.Index(words, "--summary")
	if at < 0 {
		return ""
	}
	var of sweep.Timing
	text, err := os.ReadFile(filepath.Join(dir, filepath.Dir(words[at+1]), "timing.json"))
	if err != nil || json.Unmarshal(text, &of) != nil {
		return ""
	}
	return of.ID
}

// TestSweepIsToldToEnd: within five seconds it has ended, with nothing half, and another run continues it.
func TestSweepIsToldToEnd(t *testing.T) {
	t.Parallel()
	file := sweepFile(t, "matrix: {duration: [100ms, 1h]}")
	out := filepath.Join(t.TempDir(), "out")
	c, said := sweepProcess(t, file, "--out", out, "--jobs", "2")
	require.Eventually(t, func() bool {
		_, err := os.Stat(filepath.Join(out, "plan.json"))
		return err == nil && sweepState(t, out).Done == 1 && len(casesOf(c.Process.Pid)) == 1
	}, patience, glance)
	cases := casesOf(c.Process.Pid)
	began := time.Now()
	require.NoError(t, c.Process.Signal(syscall.SIGTERM))
	_ = c.Wait() // the code says it
	assert.Less(t, time.Since(began), 5*time.Second)
	assert.Equal(t, exitIncomplete, c.ProcessState.ExitCode(), said)
	assert.Contains(t, said.String(), "1 of 2 cases are left: the run was told to end; run it again to continue")
	assert.ErrorIs(t, syscall.Kill(cases[0], 0), syscall.ESRCH, "the case runs")
	left, err := os.ReadDir(filepath.Join(out, "attempts"))
	require.NoError(t, err)
	assert.Empty(t, left)
	assert.Equal(t, 1, sweepState(t, out).Done)

	// A case that somebody else tells to end doesn't count, though it ends in order.
	c, said = sweepProcess(t, file, "--out", out)
	require.Eventually(t, func() bool { return len(casesOf(c.Process.Pid)) == 1 }, patience, glance)
	time.Sleep(time.Second) // else it has no handler for signals yet
	require.NoError(t, syscall.Kill(casesOf(c.Process.Pid)[0], syscall.SIGTERM))
	require.NoError(t, syscall.Kill(c.Process.Pid, 0))
	require.Eventually(t, func() bool { return len(casesOf(c.Process.Pid)) == 1 && sweepState(t, out).Running == 1 }, patience, glance)
	o := call(t, "sweep", "cancel", out)
	assert.Equal(t, "cancelled: 1 of 2 cases done, none running\n", o.out)
	_ = c.Wait() // the code says it
	assert.Equal(t, exitIncomplete, c.ProcessState.ExitCode())
	assert.Contains(t, said.String(), "the sweep was cancelled")
	o = execute(t, command(t, "sweep", "run", "--out", out, "--shard", "0/1"))
	assert.Equal(t, exitUsage, o.code)
	assert.Contains(t, o.err, "the sweep was cancelled: sweep run without --shard continues it")
}

// TestSweepCancelNamesWhatStillRuns: an attempt elsewhere that gives signs of life still runs, and one that doesn't was lost.
func TestSweepCancelNamesWhatStillRuns(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "out")
	o := call(t, "sweep", "plan", sweepFile(t, "matrix: {ego.speed: [5, 10]}"), "--out", out)
	require.Equal(t, exitDone, o.code, o.err)
	plan, err := os.ReadFile(filepath.Join(out, "plan.json"))
	require.NoError(t, err)
	var p sweep.Plan
	require.NoError(t, json.Unmarshal(plan, &p))
	attempt := filepath.Join(out, "attempts", "elsewhere-7-1")
	require.NoError(t, os.Mkdir(attempt, 0o755))
	write(t, attempt, "timing.json", `{"id": "`+p.Cases[0].ID+`", "host": "else\u001b[2Jwhere", "pid": 7}`)
	sign := write(t, attempt, "alive", "")

	o = call(t, "sweep", "cancel", out, "--wait", "1ms")
	assert.Equal(t, exitIncomplete, o.code)
	assert.Contains(t, o.err, `there still runs: case `+p.Cases[0].ID+` of process 7 on "else\x1b[2Jwhere"`)
	long := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(sign, long, long))
	o = call(t, "sweep", "cancel", out)
	assert.Equal(t, exitDone, o.code, o.err)
	assert.Equal(t, "cancelled: 0 of 2 cases done, none running, 1 lost\n", o.out)
	o = call(t, "sweep", "status", out)
	assert.Contains(t, o.out, "lost case")
	assert.Regexp(t, `1h0m\d+s ago`, o.out)
	assert.NotContains(t, o.out, "\x1b")
}

// TestSweepKeeps: a case keeps what is asked for. Sensors are heard, whether anything of them is kept or not.
func TestSweepKeeps(t *testing.T) {
	t.Parallel()
	file := sweepFile(t, "")
	bare := write(t, filepath.Dir(file), "bare.yaml", "duration: 100ms\nscene: {file: wall.gltf}\nego: {waypoints: [{x: -15, y: -15}, {x: 5, y: -15}, {x: 5, y: 15}, {x: -15, y: 15}]}\nsensors: [{id: sensor.lidar.ray_cast, name: roof, rate: 20, channels: 8, points_per_second: 20000, pose: {z: 2}}]\n")
	for name, c := range map[string]struct {
		base, keep string
		want       []string
	}{
		"summary":         {"drive.yaml", "[summary]", nil},
		"outputs":         {"drive.yaml", "[outputs]", []string{"recording"}},
		"a recorder":      {"drive.yaml", "[mcap]", []string{"case.mcap"}},
		"both":            {"drive.yaml", "[mcap, outputs]", []string{"case.mcap", "recording"}},
		"no bridge":       {filepath.Base(bare), "[outputs]", []string{"case.mcap"}},
		"nothing of that": {filepath.Base(bare), "[summary]", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := write(t, filepath.Dir(file), strings.ReplaceAll(name, " ", "-")+".yaml",
				"sweep: {base: "+c.base+", device: host, matrix: {ego.speed: [5]}, keep: "+c.keep+", collect: [sensors.roof.points_mean, ego.distance, min_ttc]}\n")
			out := filepath.Join(t.TempDir(), "out")
			o := execute(t, command(t, "sweep", "run", file, "--out", out))
			require.Equal(t, exitDone, o.code, o.err)
			outputs, err := filepath.Glob(filepath.Join(out, "cases/*/*/outputs/*"))
			require.NoError(t, err)
			var names []string
			for _, path := range outputs {
				names = append(names, filepath.Base(path))
			}
			assert.Equal(t, c.want, names)
			table, err := os.ReadFile(filepath.Join(out, sweep.ResultsFile))
			require.NoError(t, err)
			cells := strings.Split(strings.Split(string(table), "\n")[1], ",")
			points, err := strconv.ParseFloat(cells[4], 64)
			require.NoError(t, err)
			distance, err := strconv.ParseFloat(cells[5], 64)
			require.NoError(t, err)
			assert.Greater(t, points, 100.0)
			assert.InDelta(t, 0.5, distance, 0.01, "100 ms at 5 m/s")
			assert.Empty(t, cells[6])
		})
	}
}

// TestSweepWarnsOfIdleKeys: without waypoints the ego has no speed of its own.
func TestSweepWarnsOfIdleKeys(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	sceneFile(t, dir)
	write(t, dir, "drive.yaml", "duration: 20ms\nscene: {file: wall.gltf}\nsensors: [{id: sensor.other.imu, name: imu, rate: 100}]\n")
	file := write(t, dir, "sweep.yaml", "sweep: {base: drive.yaml, device: host, matrix: {ego.speed: [5, 10], sensors.imu.rate: [50, 100]}}")
	o := execute(t, command(t, "sweep", "run", file, "--out", filepath.Join(dir, "out")))
	require.Equal(t, exitDone, o.code, o.err)
	assert.Contains(t, o.err, "warning: ego.speed changed nothing in what was kept: does it count in this drive?\n")
	assert.NotContains(t, o.err, "sensors.imu.rate changed nothing")
}

// TestSweepFails: cases that failed are listed with why, and tried again when that is asked for.
func TestSweepFails(t *testing.T) {
	t.Parallel()
	file := sweepFile(t, "list: [{ego.speed: 5}, {scene.file: no.gltf}]")
	o := call(t, "sweep", "run", file, "--out", t.TempDir())
	require.Equal(t, exitUsage, o.code)
	assert.Contains(t, o.err, "no.gltf: no such file")

	write(t, filepath.Dir(file), "no.gltf", "{}")
	out := filepath.Join(t.TempDir(), "out")
	o = execute(t, command(t, "sweep", "run", file, "--out", out))
	require.Equal(t, exitFailed, o.code, o.err)
	assert.Contains(t, o.err, "raybridge: 1 of 2 cases failed")
	st := sweepState(t, out)
	require.Len(t, st.Failures, 1)
	assert.Equal(t, []int{exitUsage, 1}, []int{st.Failures[0].Code, st.Failures[0].Attempts}, "wrong use isn't tried again")
	assert.Contains(t, o.out, st.Failures[0].ID)
	table, err := os.ReadFile(filepath.Join(out, sweep.ResultsFile))
	require.NoError(t, err)
	assert.Contains(t, string(table), ",failed")
	o = execute(t, command(t, "sweep", "run", file, "--out", out))
	require.Equal(t, exitFailed, o.code, o.err)
	assert.Equal(t, st.Failures, sweepState(t, out).Failures, "it wasn't run again")
	o = call(t, "sweep", "retry", out, "0123")
	assert.Equal(t, exitUsage, o.code)
	o = execute(t, command(t, "sweep", "retry", out))
	require.Equal(t, exitFailed, o.code, o.err)
	assert.Len(t, sweepState(t, out).Failures, 1)
}

// outcomes are the lines of sweep run --json by their settings, and how many there are.
func outcomes(t *testing.T, text string) (of map[string]sweep.CaseOutcome, lines int) {
	t.Helper()
	of = map[string]sweep.CaseOutcome{}
	for d := json.NewDecoder(strings.NewReader(text)); d.More(); lines++ {
		var o sweep.CaseOutcome
		require.NoError(t, d.Decode(&o), text)
		of[fmt.Sprint(o.Settings)] = o
	}
	return of, lines
}

// TestSweepLeavesThePlanOfOthers: a plan with the same cases replaces that of a folder once nobody runs it; a share runs what is there.
func TestSweepLeavesThePlanOfOthers(t *testing.T) {
	t.Parallel()
	file := sweepFile(t, "matrix: {ego.speed: [5]}")
	out := filepath.Join(t.TempDir(), "out")
	o := call(t, "sweep", "plan", file, "--out", out)
	require.Equal(t, exitDone, o.code, o.err)
	plan := func() string {
		text, err := os.ReadFile(filepath.Join(out, "plan.json"))
		require.NoError(t, err)
		return string(text)
	}
	before := plan()
	drive := filepath.Join(filepath.Dir(file), "drive.yaml")
	text, err := os.ReadFile(drive)
	require.NoError(t, err)
	write(t, filepath.Dir(file), "drive.yaml", "# a comment\n"+string(text))
	lock := write(t, out, "lock", `{"host": "elsewhere", "pid": 7, "name": "elsewhere-7"}`)
	o = call(t, "sweep", "plan", file, "--out", out)
	assert.Equal(t, exitUsage, o.code)
	assert.Contains(t, o.err, out+" is locked by another sweep run: process 7 on elsewhere")
	o = execute(t, command(t, "sweep", "run", file, "--out", out, "--shard", "0/1"))
	assert.Equal(t, exitDone, o.code, o.err)
	assert.Equal(t, before, plan())
	require.NoError(t, os.Remove(lock))
	o = call(t, "sweep", "plan", file, "--out", out)
	require.Equal(t, exitDone, o.code, o.err)
	assert.NotEqual(t, before, plan())
	assert.NoFileExists(t, lock)
}

// TestSweepKeepsTerminalsSafe: what a case, a file of the folder or a user names reaches no terminal as it is.
func TestSweepKeepsTerminalsSafe(t *testing.T) {
	t.Parallel()
	const evil = "a\x1b[2Jb"
	file := sweepFile(t, "matrix: {ego.speed: [5]}")
	out := filepath.Join(t.TempDir(), "out")
	o := execute(t, command(t, "sweep", "run", file, "--out", out))
	require.Equal(t, exitDone, o.code, o.err)
	folders, err := filepath.Glob(filepath.Join(out, "cases", "*", "*"))
	require.NoError(t, err)
	require.Len(t, folders, 1)
	second := filepath.Join(t.TempDir(), "second")
	require.NoError(t, os.CopyFS(second, os.DirFS(out)))
	write(t, filepath.Join(folders[0], "outputs"), evil, "")
	require.NoError(t, os.MkdirAll(filepath.Join(out, "alarms", evil), 0o755))
	other := filepath.Join(second, "cases", filepath.Base(filepath.Dir(folders[0])), filepath.Base(folders[0]), "manifest.json")
	text, err := os.ReadFile(other)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(other, bytes.Replace(text, []byte("outputs/"), []byte("outputs/\\u001b[2J"), 1), 0o600))
	for args, want := range map[string]string{
		"status " + out:               "alarms/a\\x1b[2Jb",
		"verify " + out:               "outputs/a\\x1b[2Jb isn't in the manifest",
		"merge " + out + " " + second: "outputs/\\x1b[2J",
		"status " + out + evil:        "out" + "a\\x1b[2Jb",
	} {
		o := call(t, append([]string{"sweep"}, strings.Fields(args)...)...)
		assert.Contains(t, o.out+o.err, want, args)
		assert.NotContains(t, o.out+o.err, "\x1b", args)
	}
}

// TestSweepTellsPrograms: each case is told once, when it ends or at the beginning if it has ended before.
func TestSweepTellsPrograms(t *testing.T) {
	t.Parallel()
	file := sweepFile(t, "list: [{ego.speed: 5, seed: 7}, {ego.speed: 10}, {scene.file: no.gltf}]")
	write(t, filepath.Dir(file), "no.gltf", "{}")
	out := filepath.Join(t.TempDir(), "out")
	for _, before := range []bool{false, true} {
		o := execute(t, command(t, "sweep", "run", file, "--out", out, "--json"))
		require.Equal(t, exitFailed, o.code, o.err)
		of, lines := outcomes(t, o.out)
		require.Equal(t, 3, lines, o.out)
		done, failed := of["map[ego.speed:5 seed:7]"], of["map[scene.file:no.gltf]"]
		assert.Equal(t, []any{"done", uint64(7), before}, []any{done.State, done.Seed, done.Before})
		assert.FileExists(t, filepath.Join(done.Dir, "manifest.json"))
		assert.Contains(t, done.Metrics, "ego.distance")
		assert.Equal(t, []any{"failed", exitUsage, 1, before}, []any{failed.State, failed.Code, failed.Attempts, failed.Before})
		assert.Contains(t, failed.Reason, "no.gltf")
		assert.Empty(t, failed.Dir)
		assert.Contains(t, o.err, "table: ", "what is for people")
	}
	o := execute(t, command(t, "sweep", "run", "--out", out, "--json", "--shard", "1/2"))
	_, lines := outcomes(t, o.out)
	assert.Equal(t, 1, lines, "of the share alone: %s", o.out)
}

// TestSweepEndsWithItsInput: so a program takes it along, however it dies.
func TestSweepEndsWithItsInput(t *testing.T) {
	t.Parallel()
	file := sweepFile(t, "matrix: {duration: [1h]}")
	out := filepath.Join(t.TempDir(), "out")
	c := command(t, "sweep", "run", file, "--out", out, "--end-with-input")
	input, err := c.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	t.Cleanup(func() { _ = c.Process.Kill() }) // it has ended, unless the test failed
	require.Eventually(t, func() bool { return len(casesOf(c.Process.Pid)) == 1 }, patience, glance)
	require.NoError(t, input.Close())
	_ = c.Wait() // the code says it
	assert.Equal(t, exitIncomplete, c.ProcessState.ExitCode())
	assert.Zero(t, sweepState(t, out).Running)
}

func TestSweepSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "drive.yaml", "duration: 1s\nbridges: [{type: mcap, connection: a.mcap}]\n")
	write(t, dir, "live.yaml", "duration: 1s\nbridges: [{type: foxglove, connection: ''}]\n")
	write(t, dir, "away.yaml", "duration: 1s\nbridges: [{type: mcap, connection: ../a.mcap}]\n")
	write(t, dir, "ss2.yaml", "duration: 1s\ntime: {source: ss2}\nbridges: [{type: mcap, connection: a.mcap}]\n")
	write(t, dir, "own.yaml", "duration: 1s\nbridges: [{type: mcap, connection: ./case.mcap?compression=none}]\n")
	for text, want := range map[string]string{
		"base: drive.yaml, list: [{bridges: []}]":                                            "sweep.yaml:1:35: sweep.list[0].bridges: all cases have the base's bridges",
		"base: own.yaml, repeat: {seed: 2}, keep: [mcap]":                                    "own.yaml: bridges[0].connection: unknown value: ./case.mcap is what keep: mcap writes: give another name",
		"base: drive.yaml, list: [{bridges.mcap.connection: report.html/a}], keep: [report]": "sweep.yaml:1:60: sweep.list[0].bridges.mcap.connection: bridges[0].connection",
		"base: drive.yaml, matrix: {}":                                                       "the matrix has no key",
		"base: drive.yaml, matrix: {ego.sped: [1]}":                                          "sweep.yaml:1:36: sweep.matrix.ego.sped: unknown key, did you mean speed?",
		"base: drive.yaml, matrix: {sensors.lidr.range: [1]}":                                "did you mean lidar?",
		"base: drive.yaml, matrix: {sensors.lidar.rnge: [1]}":                                "did you mean range?",
		"base: drive.yaml, matrix: {sensors.lidar.range: [1, -4]}":                           "sweep.matrix.sensors.lidar.range[1]",
		"base: drive.yaml, matrix: {ego.speed: [1, fast]}":                                   "sweep.matrix.ego.speed[1]",
		"base: drive.yaml, matrix: {duration: [0]}":                                          "a case would never end",
		"base: drive.yaml, repeat: {seed: 2}, collect: [min_tcc]":                            "sweep.yaml:1:56: sweep.collect[0]: unknown value min_tcc: runs have no such metric, did you mean min_ttc?",
		"base: drive.yaml, repeat: {seed: 1000000000}":                                       "too many cases: 1000000000: give --yes if you mean it",
		"base: drve.yaml, repeat: {seed: 2}":                                                 "drve.yaml: no such file, did you mean",
		"base: live.yaml, repeat: {seed: 2}":                                                 "live.yaml:2:18: bridges[0].type: bridge foxglove: a case writes files, and talks to nobody",
		"base: away.yaml, repeat: {seed: 2}":                                                 "lies outside of the case's folder",
		"base: ss2.yaml, repeat: {seed: 2}":                                                  "a case isn't driven from outside",
		"base: drive.yaml, device: hots, repeat: {seed: 2}":                                  "hots",
		"base: drive.yaml, matrix: {rig: [none.yaml]}":                                       "none.yaml",
		"base: drive.yaml, matrix: {scene: [{file: drive.yaml}]}":                            "give scene.file as a key of its own",
		"base: drive.yaml, list: [{bridges.mcap.connection: /tmp/everywhere.mcap}]":          "lies outside of the case's folder",
	} {
		file := write(t, dir, "sweep.yaml", "sweep: {"+text+"}")
		o := call(t, "sweep", "plan", file)
		assert.Equal(t, exitUsage, o.code, text)
		assert.Contains(t, o.err, want, text)
	}
	for args, want := range map[string]string{
		"run " + dir + "/no.yaml":                 "no such file",
		"run --shard 3/3 --out " + dir:            "shares count from 0, the last one is 2/3",
		"run --shards 3 --out " + dir:             "--shards: give --shard auto, too",
		"run --shard 0/3 --extend --out " + dir:   "a share doesn't replace the plan",
		"run --jobs -1 --out " + dir:              "no sweep was planned there",
		"run " + dir + "/drive.yaml --out " + dir: "unknown key",
		"status " + dir:                           "no sweep was planned there",
		"status " + dir + "/nothing":              "no such file",
		"retry " + dir:                            "no sweep was planned there",
		"verify " + dir:                           "no sweep was planned there",
		"verify --sample 7 " + dir:                `--sample: "7" is not a share`,
		"merge " + dir:                            "no sweep was planned there",
		"cancel " + dir:                           "no sweep was planned there",
		"cancel":                                  "give the folder of a sweep",
	} {
		o := call(t, append([]string{"sweep"}, strings.Fields(args)...)...)
		assert.Equal(t, exitUsage, o.code, args)
		assert.Contains(t, o.err, want, args)
	}
}

// TestEqualIDsGiveEqualBytes: runs of bases of other names have equal ids, and equal bytes, also of recordings.
func TestEqualIDsGiveEqualBytes(t *testing.T) {
	t.Parallel()
	dir := filepath.Dir(sweepFile(t, "repeat: {seed: 2}"))
	base, err := os.ReadFile(filepath.Join(dir, "drive.yaml"))
	require.NoError(t, err)
	write(t, dir, "city.yaml", string(base))
	var first map[string]string
	for _, name := range []string{"drive.yaml", "city.yaml"} {
		file := write(t, dir, "one.yaml", "sweep: {base: "+name+", device: host, list: [{seed: 1}]}\n")
		out := t.TempDir()
		o := execute(t, command(t, "sweep", "run", file, "--out", out))
		require.Equal(t, exitDone, o.code, o.err)
		files := compared(t, out)
		require.Len(t, files, 5, "table, manifest, summary, recording and its metadata")
		if first == nil {
			first = files
		}
		for name := range first {
			assert.True(t, first[name] == files[name], name)
		}
	}
}

// TestExamplesOfSweeps have so many cases.
func TestExamplesOfSweeps(t *testing.T) {
	t.Parallel()
	for name, cases := range map[string]int{"sweep.yaml": 24, "sweep-visibility.yaml": 12} {
		o := call(t, "sweep", "plan", "../../docs/examples/"+name, "--json")
		require.Equal(t, exitDone, o.code, o.err)
		var p sweep.Plan
		require.NoError(t, json.Unmarshal([]byte(o.out), &p))
		assert.Len(t, p.Cases, cases)
		assert.Equal(t, "host", p.Device)
	}
}

// TestKubernetesJobsArguments: the arguments of deploy's manifest run all cases, with the index that Kubernetes gives each pod.
func TestKubernetesJobsArguments(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it runs as many processes as the manifest has shares")
	}
	t.Parallel()
	const manifest = "../../deploy/kubernetes/sweep.yaml"
	text, err := os.ReadFile(manifest)
	require.NoError(t, err)
	root, err := doc.ParseYAML(manifest, text)
	require.NoError(t, err)
	value, err := root.Value()
	require.NoError(t, err)
	spec := value.(map[string]any)["spec"].(map[string]any)
	pod := spec["template"].(map[string]any)["spec"].(map[string]any)
	container := pod["containers"].([]any)[0].(map[string]any)
	out := filepath.Join(t.TempDir(), "out")
	var args []string
	for _, word := range container["args"].([]any) {
		if word == container["volumeMounts"].([]any)[0].(map[string]any)["mountPath"] {
			word = out
		}
		args = append(args, word.(string))
	}

	o := call(t, "sweep", "plan", sweepFile(t, "matrix: {ego.speed: [5, 10, 15]}, repeat: {seed: 3}"), "--out", out)
	require.Equal(t, exitDone, o.code, o.err)
	shares := spec["completions"].(uint64)
	for index := range shares {
		pod := command(t, args...)
		pod.Env = append(pod.Env, fmt.Sprint("JOB_COMPLETION_INDEX=", index))
		o = execute(t, pod)
		require.Equal(t, exitDone, o.code, o.err)
		assert.Contains(t, o.err, fmt.Sprintf("share %d/%d, by a Kubernetes Indexed Job", index, shares))
	}
	assert.Equal(t, 9, sweepState(t, out).Done)
}
