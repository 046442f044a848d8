//go:build cgo

package gputest_test

import (
	"bytes"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
)

func TestMain(m *testing.M) { gputest.Main(m) }

func TestThreadCopiesBuffers(t *testing.T) {
	thread := gputest.Thread(t)
	want := []byte("sixteen bytes ok")
	gputest.Do(t, thread, func(c *gpu.Ctx) error {
		src, err := c.NewBuffer(gpu.BufferDesc{Label: "source", Size: len(want), Data: want})
		if err != nil {
			return err
		}
		defer src.Close()
		dst, err := c.NewBuffer(gpu.BufferDesc{Label: "staging", Size: len(want), Usage: gpu.UsageReadback})
		if err != nil {
			return err
		}
		defer dst.Close()
		if err := c.CopyBuffer(dst, src, 0, 0, len(want)); err != nil {
			return err
		}
		if err := c.Finish(); err != nil {
			return err
		}
		if !bytes.Equal(dst.Bytes(), want) {
			t.Errorf("copied %q, want %q", dst.Bytes(), want)
		}
		return nil
	})
}

// again runs one test of this binary in another process and returns what it
// prints and whether it passes.
func again(t *testing.T, test string, env ...string) (out string, passes bool) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^"+test+"$", "-test.v")
	cmd.Env = append(os.Environ(), env...)
	text, err := cmd.CombinedOutput()
	return string(text), err == nil
}

func TestWithoutOpenGLTestsSkipOrFailAsToldAndSayWhy(t *testing.T) {
	const noDriver = "__EGL_VENDOR_LIBRARY_FILENAMES=/nonexistent.json"
	out, passes := again(t, "TestThreadCopiesBuffers", noDriver, "REQUIRE_GL=")
	if passes && !bytes.Contains([]byte(out), []byte("--- SKIP")) {
		t.Skip("this EGL finds its driver without the vendor files")
	}
	assert.True(t, passes, out)
	assert.Contains(t, out, "apt-get install")
	out, passes = again(t, "TestThreadCopiesBuffers", noDriver, "REQUIRE_GL=1")
	assert.False(t, passes, out)
	assert.Contains(t, out, "apt-get install")
}

// The test runs itself again in a process where it forgets a buffer.
func TestMainFailsForALeak(t *testing.T) {
	thread := gputest.Thread(t)
	if os.Getenv("FORGET") == "1" {
		gputest.Do(t, thread, func(c *gpu.Ctx) error {
			_, err := c.NewBuffer(gpu.BufferDesc{Label: "forgotten", Size: 16})
			return err
		})
		return
	}
	out, passes := again(t, "TestMainFailsForALeak", "FORGET=1")
	assert.False(t, passes)
	assert.Contains(t, out, `leak: buffer "forgotten" was not closed`)
}
