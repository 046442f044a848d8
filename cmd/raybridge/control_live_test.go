//go:build cgo && linux

package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/control"
)

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
		url, ok := strings.CutPrefix(line, "control on ")
		require.True(t, ok, line)
		c.url = url
	case <-time.After(patience):
		t.Fatal("it doesn't say where it listens")
	}
	return c
}

// ask sends one request and decodes the answer of one that was granted.
func (c *controlled) ask(t *testing.T, method, path, body string, answer any) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, c.url+path, strings.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	client := http.Client{Timeout: patience}
	response, err := client.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	require.Equal(t, http.StatusOK, response.StatusCode, "%s %s %s", method, path, body)
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
	var status runStatus
	c.ask(t, http.MethodGet, "/v1/status", "", &status)
	assert.Equal(t, 1, status.Schema, "the summary's keys are at the top")
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
			require.Equal(t, exitDone, o.code, "%s%s", o.out, o.err)

			recording := byTopic(readRecording(t, filepath.Join(c.dir, "out/bag/bag_0.mcap")))
			for topic, period := range map[string]int64{"/imu/data": 10_000_000, "/eye/image_raw": 100_000_000} {
				var stepped []int64
				for _, m := range recording[topic] {
					if m.stamp > start && m.stamp <= end {
						stepped = append(stepped, m.stamp)
					}
				}
				if mode == "--step" {
					assert.Equal(t, stepped[len(stepped)-1], recording[topic][len(recording[topic])-1].stamp, "it stood there")
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
		assert.GreaterOrEqual(t, m.stamp, int64(1000_000_000_000))
	}
}
