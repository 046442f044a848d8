//go:build cgo && linux

package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/control"
	"github.com/raybridge/raybridge/cmd/raybridge/internal/judge"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/readback"
	"github.com/raybridge/raybridge/simtime"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// The time that a process may take to do what a test waits for, on a machine that is busy
// otherwise. Then how often the test looks.
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
		// As of a terminal that is closed.
		"hangup": {[]os.Signal{syscall.SIGHUP}, nil},
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
			endedInOrder(t, o, name == "realtime")
			counts := byTopic(readRecording(t, bag))
			assert.NotEmpty(t, counts["/roof/points"])
			assert.Greater(t, len(counts["/clock"]), len(counts["/roof/points"]))
			assert.FileExists(t, filepath.Join(s.dir, "out/bag/metadata.yaml"))
			assert.FileExists(t, filepath.Join(s.dir, "out/report.html"))
			assert.Contains(t, o.out, "/roof/points")
		})
	}
}

// TestNohupOutlivesTheTerminal: where SIGHUP is ignored as the run begins it stays so.
func TestNohupOutlivesTheTerminal(t *testing.T) {
	t.Parallel()
	needsOpenGL(t)
	dir := t.TempDir()
	c := command(t, "run", "--headless", "--scene", sceneFile(t, dir), "--rig", write(t, dir, "small.yaml", smallRig), "--out", filepath.Join(dir, "out"),
		"--realtime", "--bridge", "mcap:bag?chunk=50000")
	c.Args = append([]string{"nohup", c.Path}, c.Args[1:]...)
	var err error
	c.Path, err = exec.LookPath("nohup")
	require.NoError(t, err)
	s := &started{Cmd: c, dir: dir}
	s.Stdout, s.Stderr = &s.out, &s.errOut
	require.NoError(t, s.Start())
	t.Cleanup(func() { _ = s.Process.Kill() })
	bag := filepath.Join(dir, "out/bag/bag_0.mcap")
	size := func() int64 {
		info, err := os.Stat(bag)
		if err != nil {
			return 0
		}
		return info.Size()
	}
	require.Eventually(t, func() bool { return size() > 50_000 }, patience, glance, "nothing is recorded")
	require.NoError(t, s.Process.Signal(syscall.SIGHUP))
	later := size() + 200_000
	require.Eventually(t, func() bool { return size() > later }, patience, glance, "it doesn't go on")
	require.NoError(t, s.Process.Signal(os.Interrupt))
	o := s.finish(t)
	endedInOrder(t, o, true)
}

// endedInOrder requires that a run ended as it should. A recording in real time may lack what this machine had no time for.
func endedInOrder(t *testing.T, o outcome, realtime bool) {
	t.Helper()
	if realtime && o.code == exitIncomplete {
		require.Contains(t, o.out, "readback_full", o.err)
		return
	}
	require.Equal(t, exitDone, o.code, "%s%s", o.out, o.err)
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

// stopTime is how long a stopped run stands still: longer than a run in real time waits for the device, at a capture
// or at its end, so that a stepped run with such a limit loses something. STOP is another, and make nightly has it stand
// for longer than any limit of a peer.
func stopTime(t *testing.T) time.Duration {
	t.Helper()
	stop, err := time.ParseDuration(cmp.Or(os.Getenv("STOP"), "12s"))
	require.NoError(t, err)
	require.Greater(t, stop, 2*readback.DefaultTimeout)
	return stop
}

// TestAStoppedRunWritesTheSameBytes stops the program in several places, as a closed lid does.
func TestAStoppedRunWritesTheSameBytes(t *testing.T) {
	if testing.Short() {
		t.Skip("it stands still for seconds; runs without -short")
	}
	t.Parallel()
	needsOpenGL(t)
	stop := stopTime(t)
	// Costly pictures, so that one is under way whenever the program is stopped.
	const costly = "sensors: [{id: sensor.camera.rgb, name: eye, image_size_x: 640, image_size_y: 480, samples: 16}, {id: sensor.other.imu, name: imu}]"
	record := func(t *testing.T, dir string) (s *started, path string) {
		return start(t, dir, nil, "--gpu", "host", "--scene", "city", "--rig", write(t, dir, "costly.yaml", costly), "--step", "--duration", "600ms",
			"--summary", filepath.Join(dir, "run.json"), "--bridge", "mcap:drive.mcap?chunk=4096&compression=none"), filepath.Join(dir, "out/drive.mcap")
	}
	s, path := record(t, t.TempDir())
	require.Equal(t, exitDone, s.finish(t).code)
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	summary, err := judge.Read(filepath.Join(s.dir, "run.json"))
	require.NoError(t, err)
	places := []int64{-1, 0, 30, 60, 90} // percent of the recording; first while the run makes its scene
	runs, paths := make([]*started, len(places)), make([]string, len(places))
	for i, percent := range places {
		runs[i], paths[i] = record(t, t.TempDir())
		require.Eventually(t, func() bool {
			info, err := os.Stat(paths[i])
			return percent < 0 || err == nil && info.Size() >= int64(len(want))*percent/100
		}, patience, time.Millisecond)
		require.NoError(t, runs[i].Process.Signal(syscall.SIGSTOP))
	}
	time.Sleep(stop)
	for i, percent := range places {
		require.NoError(t, runs[i].Process.Signal(syscall.SIGCONT))
		o := runs[i].finish(t)
		assert.Equal(t, exitDone, o.code, o.err)
		got, err := os.ReadFile(paths[i])
		require.NoError(t, err)
		assert.True(t, bytes.Equal(want, got), "stopped at %d %%: %d bytes for %d: %s", percent, len(got), len(want), o.out)
		stopped, err := judge.Read(filepath.Join(runs[i].dir, "run.json"))
		require.NoError(t, err)
		assert.Empty(t, stopped.Lost, "stopped at %d %%", percent)
		assert.Equal(t, summary.Metrics, stopped.Metrics, "stopped at %d %%", percent)
	}
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

// TestADriverThatIsTooOld has Mesa say that it has OpenGL 4.4: the message names that and what to install.
func TestADriverThatIsTooOld(t *testing.T) {
	t.Parallel()
	needsOpenGL(t)
	for _, args := range [][]string{
		{"run", "--headless", "--gpu", "software", "--bridge", "stream:127.0.0.1:0", "--duration", "100ms", "--scene", sceneFile(t, t.TempDir())},
		{"gpu", "--gpu", "software"},
	} {
		cmd := command(t, args...)
		cmd.Env = append(cmd.Env, "MESA_GL_VERSION_OVERRIDE=4.4")
		o := execute(t, cmd)
		assert.Equal(t, exitNoOpenGL, o.code, o.err)
		assert.Regexp(t, `^raybridge: no OpenGL 4\.5 core: the driver ".+" offers version "4\.4 .*" only: install a newer one \(.*\) or choose another device$`, lastLine(o.err))
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

// firstLine keeps what a process writes, and tells its first line.
type firstLine struct {
	mu   sync.Mutex
	text bytes.Buffer
	line chan string // has room for it
	told bool
}

func (f *firstLine) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.text.Write(p)
	if line, _, whole := strings.Cut(f.text.String(), "\n"); whole && !f.told {
		f.told = true
		f.line <- line
	}
	return len(p), nil
}

// controlled is a run in a process of its own, and where it is controlled.
type controlled struct {
	*started
	url string
}

func startControlled(t *testing.T, args ...string) *controlled {
	t.Helper()
	dir := t.TempDir()
	c := &controlled{started: &started{dir: dir}}
	c.Cmd = command(t, append([]string{
		"run", "--headless", "--scene", sceneFile(t, dir), "--rig", write(t, dir, "small.yaml", smallRig),
		"--out", filepath.Join(dir, "out"), "--bridge", "mcap:bag?chunk=50000", "--control", "0",
	}, args...)...)
	stderr := &firstLine{line: make(chan string, 1)}
	c.Stdout, c.Stderr = &c.out, stderr
	require.NoError(t, c.Start())
	t.Cleanup(func() { _ = c.Process.Kill() }) // it has ended, unless the test failed
	select {
	case line := <-stderr.line:
		url, ok := strings.CutPrefix(line, "API on ")
		require.True(t, ok, line)
		c.url = url
	case <-time.After(patience):
		t.Fatal("it doesn't say where it listens")
	}
	return c
}

// ask sends one request and decodes the answer of one that was granted. Steps that take longer
// than a second are answered before they are done.
func (c *controlled) ask(t *testing.T, method, path, body string, answer any) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, c.url+path, strings.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	client := http.Client{Timeout: patience}
	response, err := client.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	require.Contains(t, []int{http.StatusOK, http.StatusAccepted}, response.StatusCode, "%s %s %s", method, path, body)
	require.NoError(t, json.NewDecoder(response.Body).Decode(answer))
}

func (c *controlled) time(t *testing.T, method, path, body string) control.Time {
	t.Helper()
	var now control.Time
	c.ask(t, method, path, body, &now)
	return now
}

// status returns the clock and the messages by topic.
func (c *controlled) status(t *testing.T) (now control.Time, messages map[string]int64) {
	t.Helper()
	var status struct {
		control.RunStatus
		Load *pipeline.Load `json:"load"`
	}
	c.ask(t, http.MethodGet, "/v1/status", "", &status)
	assert.Equal(t, 1, status.Schema, "the summary's keys are at the top")
	assert.NotNil(t, status.Load, "the dispatcher tells what it has to do")
	messages = map[string]int64{}
	for _, row := range status.Sensors {
		messages[row.Topic] = row.Messages
	}
	return status.Time, messages
}

// reaches waits until a topic has so many messages and returns all topics'.
func (c *controlled) reaches(t *testing.T, topic string, n int64) (messages map[string]int64) {
	t.Helper()
	require.Eventually(t, func() bool {
		_, messages = c.status(t)
		return messages[topic] >= n
	}, patience, glance, "%s does not come to %d messages", topic, n)
	return messages
}

// comesTo waits until a paused run has come to a time.
func (c *controlled) comesTo(t *testing.T, ns int64) {
	t.Helper()
	var now control.Time
	require.Eventually(t, func() bool {
		now, _ = c.status(t)
		return nanoseconds(now) >= ns
	}, patience, glance, "it does not come to %d ns", ns)
	assert.Equal(t, ns, nanoseconds(now))
	assert.True(t, now.Paused)
}

func nanoseconds(now control.Time) int64 { return now.Sec*1e9 + int64(now.Nanosec) }

// TestARunIsControlledByHTTP pauses, steps, scales and resumes runs of both modes,
// and ends one that runs and one that stands.
func TestARunIsControlledByHTTP(t *testing.T) {
	t.Parallel()
	needsOpenGL(t)
	for _, mode := range []string{"--realtime", "--step"} {
		t.Run(strings.Trim(mode, "-"), func(t *testing.T) {
			t.Parallel()
			c := startControlled(t, mode)
			c.reaches(t, "/eye/image_raw", 2)
			paused := c.time(t, http.MethodPost, "/v1/pause", "")
			assert.True(t, paused.Paused)
			assert.Equal(t, "engine", paused.Source)
			start := (nanoseconds(paused)/10_000_000 + 1) * 10_000_000 // on the grid of steps
			end := start + 500_000_000
			c.time(t, http.MethodPost, "/v1/step", "")
			c.comesTo(t, start)
			_, before := c.status(t)
			c.time(t, http.MethodPost, "/v1/step", `{"steps": 50}`)
			c.comesTo(t, end)
			after := c.reaches(t, "/imu/data", before["/imu/data"]+50)

			assert.InDelta(t, 0.5, c.time(t, http.MethodPut, "/v1/time/scale", `{"scale": 0.5}`).Scale, 0)
			if mode == "--realtime" {
				assert.False(t, c.time(t, http.MethodPost, "/v1/resume", "").Paused)
				c.reaches(t, "/imu/data", after["/imu/data"]+10)
			}
			require.NoError(t, c.Process.Signal(os.Interrupt))
			o := c.finish(t)
			endedInOrder(t, o, mode == "--realtime")

			recording := byTopic(readRecording(t, filepath.Join(c.dir, "out/bag/bag_0.mcap")))
			for topic, period := range map[string]int64{"/imu/data": 10_000_000, "/eye/image_raw": 100_000_000} {
				var stepped []int64
				for _, m := range recording[topic] {
					if m.stamp > simtime.Stamp(start) && m.stamp <= simtime.Stamp(end) {
						stepped = append(stepped, int64(m.stamp))
					}
				}
				if mode == "--step" {
					assert.Equal(t, simtime.Stamp(stepped[len(stepped)-1]), recording[topic][len(recording[topic])-1].stamp, "it stood there")
				}
				var want []int64
				for at := start/period*period + period; at <= end; at += period {
					want = append(want, at)
				}
				assert.Equal(t, want, stepped, topic)
			}
		})
	}
}

// TestAnSS2RunIsSetByHTTP, from before it begins.
func TestAnSS2RunIsSetByHTTP(t *testing.T) {
	t.Parallel()
	needsOpenGL(t)
	c := startControlled(t, "--time-source", "external")
	assert.Equal(t, "ss2", c.time(t, http.MethodPut, "/v1/time", `{"sec": 1000, "nanosec": 0}`).Source)
	c.reaches(t, "/eye/image_raw", 1) // due at the time that the run begins with
	for i, body := range []string{`{"sec": 1000, "nanosec": 100000000}`, `{"sec": 1000, "nanosec": 200000000}`, `{"sec": 1000, "nanosec": 300000000}`} {
		set := c.time(t, http.MethodPut, "/v1/time", body)
		assert.EqualValues(t, 1000_000_000_000+(i+1)*100_000_000, nanoseconds(set))
		c.reaches(t, "/eye/image_raw", int64(i+2))
	}
	require.NoError(t, c.Process.Signal(os.Interrupt))
	o := c.finish(t)
	require.Equal(t, exitDone, o.code, "%s%s", o.out, o.err)
	for _, m := range byTopic(readRecording(t, filepath.Join(c.dir, "out/bag/bag_0.mcap")))["/eye/image_raw"] {
		assert.Zero(t, m.stamp%100_000_000)
		assert.GreaterOrEqual(t, m.stamp, simtime.Stamp(1000_000_000_000))
	}
}

// TestARunsSensorsAreTunedByHTTP: the data has what was asked for from the next firing on, and the
// new rate after that.
func TestARunsSensorsAreTunedByHTTP(t *testing.T) {
	t.Parallel()
	needsOpenGL(t)
	c := startControlled(t, "--step", "--paused")
	step := func(to int64) {
		c.time(t, http.MethodPost, "/v1/step", `{"steps": 20}`)
		c.comesTo(t, to)
	}
	step(200_000_000)
	c.reaches(t, "/eye/image_raw", 2)
	c.time(t, http.MethodPut, "/v1/sensor", `{"sensor": "imu", "rate": "20", "attributes": {"noise_gyro_bias_z": 5}}`)
	c.time(t, http.MethodPut, "/v1/sensor", `{"sensor": "eye", "attributes": {"exposure_compensation": -6}}`)
	step(400_000_000)
	require.NoError(t, c.Process.Signal(os.Interrupt))
	o := c.finish(t)
	require.Equal(t, exitDone, o.code, "%s%s", o.out, o.err)
	recording := byTopic(readRecording(t, filepath.Join(c.dir, "out/bag/bag_0.mcap")))

	eye := recording["/eye/image_raw"]
	require.Len(t, eye, 4)
	var light [4]int
	for i := range eye {
		for _, b := range eye[i].image().data {
			light[i] += int(b)
		}
	}
	assert.Less(t, 4*light[2], light[1], "%v", light)
	assert.Less(t, 4*light[3], light[1], "%v", light)

	var stamps []simtime.Stamp
	for _, m := range recording["/imu/data"] {
		m.body.take(8*(4+9+2), 8) // the orientation, its covariance and the rates about x and y
		turn := math.Float64frombits(binary.LittleEndian.Uint64(m.body.take(8, 8)))
		assert.Equal(t, m.stamp > 200_000_000, turn > 4, "%d: %v rad/s", m.stamp, turn)
		if m.stamp > 190_000_000 {
			stamps = append(stamps, m.stamp/1_000_000)
		}
	}
	assert.Equal(t, []simtime.Stamp{200, 210, 250, 300, 350, 400}, stamps)
}

// TestARunWaitsForItsReceivers, then stands at its begin until it is resumed: nobody misses
// a message.
func TestARunWaitsForItsReceivers(t *testing.T) {
	t.Parallel()
	needsOpenGL(t)
	for mode, count := range map[string]string{"step": "20", "realtime": "1"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			run := startServing(t, t.TempDir(), "--"+mode, "--bridge", "stream:127.0.0.1:0?policy=block", "--duration", "200ms",
				"--wait-for", "/imu/data=2", "--paused", "--control", "0")
			said := run.errOut.await(t, "waiting for 2 receivers of /imu/data, 0 there")
			resume := regexp.MustCompile(`paused: resume with curl -X POST (\S+)`).FindStringSubmatch(said)
			require.NotNil(t, resume, said)
			address := endpoints(said, "stream")["all"][0]

			listen := []string{"listen", address, "/imu/data", "--json", "--count", count}
			first := begin(t, listen...)
			run.errOut.await(t, "waiting for 2 receivers of /imu/data, 1 there")
			second := begin(t, listen...)
			for _, l := range []*calling{first, second} {
				l.errOut.await(t, "connected")
			}
			control := &controlled{url: strings.TrimSuffix(resume[1], "/v1/resume")}
			now, _ := control.status(t)
			assert.True(t, now.Paused)
			assert.Zero(t, nanoseconds(now), "it stands at its begin")
			control.time(t, http.MethodPost, "/v1/resume", "")

			for _, l := range []*calling{first, second} {
				rows := l.summary(t).Streams
				require.Len(t, rows, 1)
				assert.Zero(t, rows[0].Missed)
			}
			o := run.end(t)
			assert.Equal(t, exitDone, o.code, o.err)
		})
	}
}

// TestARunIsSteppedOverAUNIXSocket by the program itself, with a token, and ends in order.
func TestARunIsSteppedOverAUNIXSocket(t *testing.T) {
	needsOpenGL(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "api")
	t.Setenv(tokenVariable, aToken)
	t.Setenv(apiVariable, "unix:"+path)
	run := startServing(t, dir, "--step", "--paused", "--bridge", "stream:127.0.0.1:0", "--api", "unix:"+path, "--pprof")
	said := run.errOut.await(t, "paused: resume with raybridge ctl --api unix:"+path+" resume")
	assert.Contains(t, said, "API on unix:"+path)
	ctl := func(args ...string) (answer map[string]any) {
		o := call(t, append([]string{"ctl"}, args...)...)
		require.Equal(t, exitDone, o.code, o.err)
		require.NoError(t, json.Unmarshal([]byte(o.out), &answer))
		return answer
	}
	assert.EqualValues(t, 30_000_000, ctl("step", "3")["nanosec"])
	assert.NotEmpty(t, ctl("sensors")["sensors"])
	assert.Empty(t, ctl("actors")["actors"])
	assert.EqualValues(t, 30_000_000, ctl("status")["time"].(map[string]any)["nanosec"])
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}}
	for at, content := range map[string]string{"/metrics": "\nraybridge_frames_total 3\n", "/debug/pprof/goroutine?debug=1": "goroutine profile: total"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost"+at, nil)
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+aToken)
		response, err := client.Do(r)
		require.NoError(t, err)
		text, err := io.ReadAll(response.Body)
		require.NoError(t, errors.Join(err, response.Body.Close()))
		assert.Contains(t, string(text), content)
	}
	o := call(t, "ctl", "remove", "nobody")
	assert.Equal(t, exitFailed, o.code)
	assert.Contains(t, o.err, `remove[0] (actor "nobody"): no such actor`)
	t.Setenv(tokenVariable, "")
	o = call(t, "ctl", "pause")
	assert.Equal(t, exitFailed, o.code)
	assert.Contains(t, o.err, "the run asks for its token")
	run.interrupt()
	ended := run.end(t)
	assert.Equal(t, exitDone, ended.code, ended.err)
	_, err := os.Stat(path)
	require.ErrorIs(t, err, os.ErrNotExist)
}

// TestCtrlCEndsARunThatHasNotBegun: one that waits for its receivers, and one that is
// paused.
func TestCtrlCEndsARunThatHasNotBegun(t *testing.T) {
	t.Parallel()
	needsOpenGL(t)
	for _, c := range []struct {
		told string
		args []string
	}{
		{"waiting for 1 receiver of stream, 0 there", []string{"--wait-for", "stream"}},
		{"paused: resume with", []string{"--paused", "--control", "0"}},
	} {
		for _, mode := range []string{"--step", "--realtime"} {
			t.Run(c.args[0]+mode, func(t *testing.T) {
				t.Parallel()
				run := startServing(t, t.TempDir(), append(c.args, mode, "--bridge", "stream:127.0.0.1:0")...)
				run.errOut.await(t, c.told)
				run.interrupt()
				o := run.end(t)
				assert.Equal(t, exitDone, o.code, o.err)
				assert.Contains(t, o.out, "0.00 s simulated")
			})
		}
	}
}

// TestReplayToAProgramThatReadsNothing ends by an interrupt all the same.
func TestReplayToAProgramThatReadsNothing(t *testing.T) {
	t.Parallel()
	cmd := command(t, "replay", replayable(t, "drive.mcap", false), "--stdout", "--fast", "--loop", "--quiet")
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	cmd.Stdout = w
	require.NoError(t, cmd.Start())
	require.NoError(t, w.Close())
	require.Eventually(t, func() bool {
		n, err := unix.IoctlGetInt(int(r.Fd()), unix.TIOCINQ)
		require.NoError(t, err)
		return n > 60_000 // the pipe is full
	}, patience, glance)
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		assert.NoError(t, err)
	case <-time.After(patience):
		t.Error("it is deaf while it waits for the program")
	}
}
