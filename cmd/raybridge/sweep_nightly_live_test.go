//go:build cgo && linux

package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/sweep"
)

// nightCases is how many cases the long tests of sweeps have, by SWEEP, as make nightly sets it.
func nightCases(t *testing.T) int {
	t.Helper()
	text := os.Getenv("SWEEP")
	if text == "" {
		t.Skip("takes minutes; runs with SWEEP=200, the number of cases, as in make nightly")
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err)
	require.GreaterOrEqual(t, n, 40)
	return n
}

// TestSweepThroughANight: cases are killed at random and the sweep itself four times, its base is changed meanwhile,
// another version of the program comes along, and a result is damaged. In the end the bytes are those of an undisturbed sweep.
func TestSweepThroughANight(t *testing.T) {
	n := nightCases(t) / 10 * 10
	file := sweepFile(t, fmt.Sprintf("matrix: {sensors.roof.range: [30, 40, 50, 60, 70], ego.speed: [5, 10]}, repeat: {seed: %d}, collect: [sensors.roof.points_mean, ego.distance]", n/10))
	calm, out := filepath.Join(t.TempDir(), "calm"), filepath.Join(t.TempDir(), "out")
	o := execute(t, command(t, "sweep", "run", file, "--out", calm))
	require.Equal(t, exitDone, o.code, o.err)
	want := compared(t, calm)
	require.Len(t, want, 1+4*n)

	o = call(t, "sweep", "plan", file, "--out", out)
	require.Equal(t, exitDone, o.code, o.err)
	drive := filepath.Join(filepath.Dir(file), "drive.yaml")
	text, err := os.ReadFile(drive)
	require.NoError(t, err)
	const kills = 4
	for i := range kills {
		c, said := sweepProcess(t, "--out", out, "--jobs", "2")
		disturb(t, out, c, func() bool { return sweepState(t, out).Done >= (i+1)*n/(kills+1) })
		require.NoError(t, c.Process.Kill())
		_ = c.Wait() // it was killed
		require.Less(t, sweepState(t, out).Done, n, "the sweep was done before it was killed: %s", said)
		write(t, filepath.Dir(file), "drive.yaml", strings.Replace(string(text), "100ms", "200ms", 1))
	}
	o = execute(t, command(t, "sweep", "run", file, "--out", out))
	assert.Equal(t, exitUsage, o.code)
	assert.Contains(t, o.err, fmt.Sprintf("new: %d, no longer asked for: %d", n, n))
	assert.Contains(t, o.err, "has another plan of this sweep")
	refuseAnotherVersion(t, out)

	// No case was killed so often that it failed for good; retry runs what isn't done.
	o = execute(t, command(t, "sweep", "retry", out, "--jobs", "2"))
	require.Equal(t, exitDone, o.code, o.err)
	assert.Equal(t, want, compared(t, out))
	st := sweepState(t, out)
	assert.Equal(t, []int{n, 0, 0, 0}, []int{st.Done, st.Failed, st.Running, len(st.Alarms)})

	damaged := damage(t, out)
	o = call(t, "sweep", "verify", out)
	assert.Equal(t, exitFailed, o.code)
	assert.Contains(t, o.out, damaged)
	assert.Contains(t, o.out, fmt.Sprintf("checked %d of %d results: %d as they were", n, n, n-1))
	dir, _, _ := strings.Cut(damaged, "/outputs/")
	require.NoError(t, os.RemoveAll(dir))
	o = execute(t, command(t, "sweep", "run", "--out", out))
	require.Equal(t, exitDone, o.code, o.err)
	assert.Contains(t, o.out, fmt.Sprintf("1 of %d cases done", n))
	assert.Equal(t, want, compared(t, out))
}

// refuseAnotherVersion has another program work on a sweep: this one, with a byte behind its end.
func refuseAnotherVersion(t *testing.T, out string) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	from, err := os.Open(self)
	require.NoError(t, err)
	defer from.Close()
	other := filepath.Join(t.TempDir(), "raybridge")
	to, err := os.OpenFile(other, os.O_CREATE|os.O_WRONLY, 0o700)
	require.NoError(t, err)
	_, err = io.Copy(to, io.MultiReader(from, strings.NewReader("x")))
	require.NoError(t, err)
	require.NoError(t, to.Close())
	before := sweepState(t, out).Done
	for _, args := range [][]string{{"run", "--out", out}, {"run", "--out", out, "--shard", "0/1"}, {"verify", out, "--sample", "1%"}} {
		cmd := exec.CommandContext(t.Context(), other, append([]string{"sweep"}, args...)...)
		cmd.Env = append(os.Environ(), envProgram+"=1")
		o := execute(t, cmd)
		assert.Equal(t, exitUsage, o.code, args)
		assert.Contains(t, o.err, "another version than the plan's", args)
	}
	assert.Equal(t, before, sweepState(t, out).Done)
}

// damage changes a byte in the middle of a recording of a sweep's, and returns its name.
func damage(t *testing.T, out string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(out, "cases", "*", "*", "outputs", "recording", "*.mcap"))
	require.NoError(t, err)
	require.NotEmpty(t, names)
	name := names[len(names)/2]
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	data[len(data)/2] ^= 1
	require.NoError(t, os.WriteFile(name, data, 0o644))
	return name
}

// TestSweepFillsItsDisk: a sweep on a small disk ends with an error that says so, with whole results alone, and goes on
// after the disk was made larger. It mounts a tmpfs, for which it needs root.
func TestSweepFillsItsDisk(t *testing.T) {
	n := nightCases(t) / 10 * 10
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=1m"); err != nil {
		if os.Getenv("REQUIRE_MOUNT") == "1" {
			t.Fatalf("mount a tmpfs: %v: run it as root", err)
		}
		t.Skipf("NOT TESTED: a full disk: mount a tmpfs: %v: it needs root; REQUIRE_MOUNT=1 fails instead", err)
	}
	defer func() { require.NoError(t, syscall.Unmount(disk, 0)) }()
	file := sweepFile(t, fmt.Sprintf("matrix: {sensors.roof.range: [30, 40, 50, 60, 70], ego.speed: [5, 10]}, repeat: {seed: %d}", n/10))
	out, calm := filepath.Join(disk, "out"), filepath.Join(t.TempDir(), "calm")
	o := execute(t, command(t, "sweep", "run", file, "--out", out, "--jobs", "2"))
	require.Equal(t, exitIncomplete, o.code, o.err)
	assert.Contains(t, o.err, out+": the disk is full: make room, and run the command again")
	st := sweepState(t, out)
	assert.Positive(t, st.Done)
	assert.Less(t, st.Done, n)
	assert.Zero(t, st.Failed, "a full disk is not a fault of a case")
	left, err := os.ReadDir(filepath.Join(out, "attempts"))
	require.NoError(t, err)
	assert.Empty(t, left)
	o = call(t, "sweep", "verify", out)
	assert.Equal(t, exitDone, o.code, o.out)

	require.NoError(t, syscall.Mount("", disk, "", syscall.MS_REMOUNT, "size=1g"))
	o = execute(t, command(t, "sweep", "run", file, "--out", out, "--jobs", "2"))
	require.Equal(t, exitDone, o.code, o.err)
	o = execute(t, command(t, "sweep", "run", file, "--out", calm, "--jobs", "2"))
	require.Equal(t, exitDone, o.code, o.err)
	assert.Equal(t, compared(t, calm), compared(t, out))
	for _, name := range []string{sweep.TimingFile, sweep.ReportFile} {
		assert.FileExists(t, filepath.Join(out, name))
	}
}
