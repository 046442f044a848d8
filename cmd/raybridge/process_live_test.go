//go:build cgo && linux

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The time that a process may take to do what a test waits for, on a machine
// that is busy otherwise, and how often the test looks.
const (
	patience = 60 * time.Second
	glance   = 20 * time.Millisecond
)

// started is a running process of the program that records the small rig.
type started struct {
	*exec.Cmd
	dir         string
	out, errOut bytes.Buffer
}

// start begins a run with more of an environment and further arguments; it records
// into dir/out.
func start(t *testing.T, dir string, environment []string, args ...string) *started {
	t.Helper()
	s := &started{dir: dir}
	s.Cmd = command(t, append([]string{
		"run", "--headless", "--scene", sceneFile(t, dir), "--rig", write(t, dir, "small.yaml", smallRig), "--out", filepath.Join(dir, "out"),
	}, args...)...)
	s.Env = append(s.Env, environment...)
	s.Stdout, s.Stderr = &s.out, &s.errOut
	require.NoError(t, s.Start())
	t.Cleanup(func() { _ = s.Process.Kill() }) // it has ended, unless the test failed
	return s
}

func (s *started) finish(t *testing.T) outcome {
	t.Helper()
	return finish(t, s.Cmd, &s.out, &s.errOut)
}

// TestCtrlCCompletesTheRecording ends runs without end.
func TestCtrlCCompletesTheRecording(t *testing.T) {
	t.Parallel()
	needsOpenGL(t)
	for name, c := range map[string]struct {
		signals []os.Signal
		args    []string
	}{
		"step":     {[]os.Signal{os.Interrupt}, []string{"--step"}},
		"realtime": {[]os.Signal{os.Interrupt}, []string{"--realtime"}},
		// Signals at once are one wish, such as timeout(1) has.
		"both": {[]os.Signal{syscall.SIGTERM, os.Interrupt}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, t.TempDir(), nil, append(c.args, "--bridge", "mcap:bag?chunk=50000", "--report")...)
			bag := filepath.Join(s.dir, "out/bag/bag_0.mcap")
			require.Eventually(t, func() bool {
				info, err := os.Stat(bag)
				return err == nil && info.Size() > 100_000
			}, patience, glance, "nothing is recorded")
			for _, signal := range c.signals {
				require.NoError(t, s.Process.Signal(signal))
			}
			o := s.finish(t)
			require.Equal(t, exitDone, o.code, o.err)
			counts := byTopic(readRecording(t, bag))
			assert.NotEmpty(t, counts["/roof/points"])
			assert.Greater(t, len(counts["/clock"]), len(counts["/roof/points"]))
			assert.FileExists(t, filepath.Join(s.dir, "out/bag/metadata.yaml"))
			assert.FileExists(t, filepath.Join(s.dir, "out/report.html"))
			assert.Contains(t, o.out, "/roof/points")
		})
	}
}

// pipe is a recording's file that takes no more than a reader reads.
type pipe struct {
	*os.File
	path string
}

func newPipe(t *testing.T, dir string) *pipe {
	t.Helper()
	path := filepath.Join(dir, "pipe.mcap")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	f, err := os.OpenFile(path, os.O_RDWR, 0) // for both, so that it waits for no writer
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	return &pipe{f, path}
}

// awaitFull waits until the pipe takes no more.
func (p *pipe) awaitFull(t *testing.T) {
	t.Helper()
	connection, err := p.SyscallConn()
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		var ready int
		var failed error
		err := connection.Control(func(fd uintptr) {
			var set syscall.FdSet
			width := 8 * int(unsafe.Sizeof(set.Bits[0]))
			set.Bits[int(fd)/width] |= 1 << (int(fd) % width)
			ready, failed = syscall.Select(int(fd)+1, nil, &set, nil, &syscall.Timeval{})
		})
		return err == nil && failed == nil && ready == 0
	}, patience, glance, "the pipe doesn't fill")
}

// TestASecondCtrlCEndsAtOnce has a run record into a pipe that nobody reads, so
// that the recording can't be completed.
func TestASecondCtrlCEndsAtOnce(t *testing.T) {
	t.Parallel()
	needsOpenGL(t)
	dir := t.TempDir()
	p := newPipe(t, dir)
	s := start(t, dir, nil, "--bridge", "mcap:"+p.path+"?chunk=4096&compression=none")
	p.awaitFull(t)
	ended := make(chan outcome, 1)
	go func() { ended <- s.finish(t) }()
	require.NoError(t, s.Process.Signal(os.Interrupt))
	ticker := time.NewTicker(glance)
	defer ticker.Stop()
	deadline := time.After(patience)
	for {
		select {
		case o := <-ended:
			assert.Equal(t, exitInterrupted, o.code, o.err)
			return
		case <-ticker.C:
			_ = s.Process.Signal(os.Interrupt) // a signal that is pending swallows another
		case <-deadline:
			t.Fatal("the second Ctrl-C doesn't end the program")
		}
	}
}

// TestAFullDiskEndsTheRun fills a disk: one where files can't grow beyond a size,
// and, where the test may mount it, a small file system.
func TestAFullDiskEndsTheRun(t *testing.T) {
	t.Parallel()
	needsOpenGL(t)
	const size = 300_000
	full := func(t *testing.T, s *started, cause string) {
		t.Helper()
		o := s.finish(t)
		require.Equal(t, exitFailed, o.code, o.err)
		assert.Contains(t, o.err, "drive.mcap")
		assert.Contains(t, o.err, cause)
		info, err := os.Stat(filepath.Join(s.dir, "out/drive.mcap"))
		require.NoError(t, err)
		assert.LessOrEqual(t, info.Size(), int64(size))
		counts := byTopic(readRecording(t, filepath.Join(s.dir, "out/drive.mcap")))
		assert.NotEmpty(t, counts["/roof/points"])
		assert.NotEmpty(t, counts["/eye/image_raw"])
		text, err := os.ReadFile(filepath.Join(s.dir, "summary.json"))
		require.NoError(t, err)
		var summary struct {
			Bridges []struct {
				Status string
				Sent   int
				Drops  map[string]int
			}
		}
		require.NoError(t, json.Unmarshal(text, &summary))
		assert.Positive(t, summary.Bridges[0].Drops["write_failed"])
		assert.Equal(t, "unexpectedly_disconnected", summary.Bridges[0].Status)
		n := 0
		for _, list := range counts {
			n += len(list)
		}
		assert.Equal(t, summary.Bridges[0].Sent, n, "what counts as sent is what can be read")
	}
	args := func(dir string) []string {
		return []string{"--step", "--bridge", "mcap:drive.mcap?chunk=20000", "--summary", filepath.Join(dir, "summary.json"), "--duration", "1h"}
	}
	t.Run("file size", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		full(t, start(t, dir, []string{envFileSize + "=" + strconv.Itoa(size)}, args(dir)...), "file too large")
	})
	t.Run("file system", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		out := filepath.Join(dir, "out")
		require.NoError(t, os.Mkdir(out, 0o755))
		if err := syscall.Mount("tmpfs", out, "tmpfs", 0, "size="+strconv.Itoa(size/4096*4096)); err != nil {
			t.Skipf("needs the right to mount a small tmpfs: %v", err)
		}
		t.Cleanup(func() { assert.NoError(t, syscall.Unmount(out, 0)) })
		full(t, start(t, dir, nil, args(dir)...), "no space left on device")
	})
}

// TestWithoutOpenGL hides all drivers.
func TestWithoutOpenGL(t *testing.T) {
	t.Parallel()
	hidden := []string{"__EGL_VENDOR_LIBRARY_FILENAMES=/dev/null", "__EGL_VENDOR_LIBRARY_DIRS=/dev/null", "LIBGL_DRIVERS_PATH=/nonexistent", "GBM_BACKENDS_PATH=/nonexistent"}
	dir := t.TempDir()
	for _, args := range [][]string{
		{"run", "--headless", "--duration", "100ms", "--scene", sceneFile(t, dir), "--bridge", "mcap:a.mcap", "--out", filepath.Join(dir, "out")},
		{"gpu"},
	} {
		cmd := command(t, args...)
		cmd.Env = append(cmd.Env, hidden...)
		o := execute(t, cmd)
		require.Equal(t, exitNoOpenGL, o.code, "%v: %s", args, o.err)
		for _, want := range []string{"apt-get install", "dnf install", "pacman -S"} {
			assert.Contains(t, lastLine(o.err), want)
		}
	}
}

// TestAMissingDevice asks for a GPU that no machine has.
func TestAMissingDevice(t *testing.T) {
	t.Parallel()
	needsOpenGL(t)
	o := call(t, "run", "--headless", "--gpu", "99", "--bridge", "stream:127.0.0.1:0", "--duration", "100ms", "--scene", sceneFile(t, t.TempDir()))
	assert.Equal(t, exitNoOpenGL, o.code)
	assert.Contains(t, lastLine(o.err), "no EGL device 99: this machine has")
	o = call(t, "gpu")
	require.Equal(t, exitDone, o.code, o.err)
	for _, want := range []string{"vendor", "renderer", "version", "GLSL", "texture size", "missing"} {
		assert.Contains(t, o.out, want)
	}
}

// TestARecordingThatLostMessagesIsIncomplete has a realtime run drop what a
// pipe doesn't take in time.
func TestARecordingThatLostMessagesIsIncomplete(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	t.Parallel()
	needsOpenGL(t)
	dir := t.TempDir()
	p := newPipe(t, dir)
	write(t, dir, "imu.yaml", "sensors: [{id: sensor.other.imu, name: imu, rate: 1000}]")
	config := write(t, dir, "run.yaml", "rig: imu.yaml\nscene: {file: wall.gltf}\n")
	sceneFile(t, dir)
	s := &started{dir: dir, Cmd: command(t, "run", "--headless", "--realtime", "--config", config, "--duration", "1s",
		"--policy", "drop_newest", "--bridge", "mcap:"+p.path+"?chunk=4096&compression=none")}
	s.Stdout, s.Stderr = &s.out, &s.errOut
	require.NoError(t, s.Start())
	t.Cleanup(func() { _ = s.Process.Kill() }) // it has ended, unless the test failed
	ended := make(chan outcome, 1)
	go func() { ended <- s.finish(t) }()
	// 80 kB/s is a fifth of what a thousand messages a second are.
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	buffer := make([]byte, 4096)
	for {
		select {
		case <-ticker.C:
			require.NoError(t, p.SetReadDeadline(time.Now().Add(time.Millisecond)))
			_, _ = p.Read(buffer) // nothing, where nothing is there
		case o := <-ended:
			require.Equal(t, exitIncomplete, o.code, o.err)
			assert.Contains(t, o.out, "queue_full")
			assert.Contains(t, lastLine(o.err), "not everything was delivered")
			return
		}
	}
}
