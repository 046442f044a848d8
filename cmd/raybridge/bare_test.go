//go:build cgo && linux

package main

import (
	"bufio"
	"bytes"
	"debug/elf"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestWhatTheProgramNeeds builds the program as users do. With its window it is linked to
// libX11, without to libc and libm alone, and then it runs where there is nothing else.
func TestWhatTheProgramNeeds(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: linking the program takes seconds")
	}
	for name, c := range map[string]struct {
		tags string
		more []string
	}{
		"default":  {"", []string{"libX11"}},
		"nowindow": {"nowindow", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "raybridge")
			out, err := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=auto", "-tags", c.tags, "-o", path, ".").CombinedOutput()
			require.NoError(t, err, "%s", out)
			needed := neededBy(t, path)
			var names []string
			for _, library := range needed {
				name, _, _ := strings.Cut(library, ".so")
				if !slices.Contains(partsOfLibc, name) {
					names = append(names, name)
				}
			}
			assert.ElementsMatch(t, append([]string{"libc", "libm"}, c.more...), names)
			if c.more == nil && !t.Failed() {
				useBareMachine(t, newBareMachine(t, path, needed))
			}
		})
	}
}

// partsOfLibc come with it; glibc before 2.34 has them as libraries of their own.
var partsOfLibc = []string{"libdl", "libpthread", "librt", "ld-linux-x86-64", "ld-linux-aarch64"}

// neededBy returns the libraries that a program can't start without.
func neededBy(t *testing.T, path string) []string {
	t.Helper()
	file, err := elf.Open(path)
	require.NoError(t, err)
	defer file.Close()
	needed, err := file.ImportedLibraries()
	require.NoError(t, err)
	return needed
}

// useBareMachine runs what needs no OpenGL, the demo's rig on the host device too, and what says that it is
// missing.
func useBareMachine(t *testing.T, m bareMachine) {
	t.Helper()
	rig := m.file(t, "rig.yaml", []byte(smallRig))
	config := m.file(t, "run.yaml", []byte("scene: {city: true}\n"))
	data, err := os.ReadFile(replayable(t, "drive.mcap", true))
	require.NoError(t, err)
	drive, cut := m.file(t, "drive.mcap", data), m.file(t, "cut.mcap", data[:len(data)-100])
	server, built := serve(t, "127.0.0.1:0"), revision(t)
	add(t, server, "/speed", "speed")

	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"--help", exitDone, "Available Commands"},
		{"version", exitDone, built},
		{"--version", exitDone, built},
		{"listen " + server.Addr().String() + " --list", exitDone, "/speed"},
		{"replay " + drive + " --bridge mcap:copy.mcap --fast --out /out --summary /replay.json", exitDone, "/imu"},
		{"rig check " + rig, exitDone, "sensor"},
		{"config check " + config, exitDone, ""},
		{"mcap recover " + cut, exitDone, "not finished"},
		{"gpu --gpu auto", exitDone, "host device"},
		{"run --gpu auto --scene city --duration 2s --bridge mcap:x.mcap --out /out", exitDone, "on host device"},
		{"gpu --gpu software", exitNoOpenGL, "apt-get install libegl1 libgl1-mesa-dri"},
		{"run --gpu software --scene city --duration 1s --report", exitNoOpenGL, "apt-get install libegl1 libgl1-mesa-dri"},
		{"run --window --scene city", exitNoOpenGL, "without the tag nowindow"},
	} {
		o := m.execute(t, strings.Fields(c.args)...)
		assert.Equal(t, c.code, o.code, "%s: %s%s", c.args, o.out, o.err)
		assert.Contains(t, o.out+o.err, c.says, c.args)
		assert.NotContains(t, o.err, "panic", c.args)
	}
	var summary replaySummary
	data, err = os.ReadFile(filepath.Join(m.root, "replay.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &summary))
	assert.Contains(t, summary.Version, built)
}

// revision is what the program's version must tell of the checkout: its tag, else its
// commit. It is "dev" outside of a checkout, and in a linked worktree, where Go stamps
// nothing.
func revision(t *testing.T) string {
	t.Helper()
	if info, err := os.Stat("../../.git"); err != nil || !info.IsDir() {
		return "dev"
	}
	if tag, err := exec.CommandContext(t.Context(), "git", "describe", "--exact-match", "--tags", "--match", "v*").Output(); err == nil {
		return strings.TrimSpace(string(tag))
	}
	commit, err := exec.CommandContext(t.Context(), "git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return "dev"
	}
	return strings.TrimSpace(string(commit))
}

// bareMachine is a root file system with the program, the libraries that it needs and
// no others.
type bareMachine struct{ root string }

func newBareMachine(t *testing.T, program string, needed []string) bareMachine {
	t.Helper()
	m := bareMachine{t.TempDir()}
	copyTo := func(from, to string) {
		data, err := os.ReadFile(from)
		require.NoError(t, err)
		path := filepath.Join(m.root, to)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, data, 0o755))
	}
	copyTo(program, "raybridge")
	require.NoError(t, os.Mkdir(filepath.Join(m.root, "tmp"), 0o777))
	file, err := elf.Open(program)
	require.NoError(t, err)
	defer file.Close()
	interpreter, err := file.Section(".interp").Data()
	require.NoError(t, err)
	loader := string(bytes.TrimRight(interpreter, "\x00"))
	copyTo(loader, loader)
	for _, path := range loadedLibraries(t) {
		for _, name := range needed {
			if filepath.Base(path) == name {
				copyTo(path, filepath.Join("lib", name)) // the loader's own folder of last resort
			}
		}
	}
	return m
}

// loadedLibraries returns the paths of the files that this process is mapped from.
func loadedLibraries(t *testing.T) []string {
	t.Helper()
	maps, err := os.Open("/proc/self/maps")
	require.NoError(t, err)
	defer maps.Close()
	var paths []string
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		if i := strings.IndexByte(lines.Text(), '/'); i >= 0 {
			paths = append(paths, lines.Text()[i:])
		}
	}
	return paths
}

// file puts a file on the machine and returns its path there.
func (m bareMachine) file(t *testing.T, name string, data []byte) string {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(m.root, name), data, 0o644))
	return "/" + name
}

// execute runs the program on the machine. As somebody else than root it takes a user
// namespace; without one the test skips.
func (m bareMachine) execute(t *testing.T, args ...string) outcome {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/raybridge", args...)
	cmd.Dir, cmd.Env = "/", []string{"HOME=/tmp"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: m.root}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{Size: 1, HostID: os.Geteuid()}}
	}
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Start(); os.Geteuid() != 0 && os.IsPermission(err) {
		t.Skipf("another root needs root or user namespaces: %v", err)
	} else {
		require.NoError(t, err)
	}
	return finish(t, cmd, &out, &errOut)
}
