//go:build cgo && linux

package main

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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
