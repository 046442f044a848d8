//go:build cgo

package gputest_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
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

// TestAnotherDriverThanTheOneAskedForFails: what is to run on zink must not pass on llvmpipe.
func TestAnotherDriverThanTheOneAskedForFails(t *testing.T) {
	gputest.Thread(t) // skips where there is no OpenGL
	if os.Getenv("GL_DEVICE") == "host" {
		t.Skip("the host device asks Mesa for nothing")
	}
	out, passes := again(t, "TestThreadCopiesBuffers", "REQUIRE_GL=1", "GALLIUM_DRIVER=nonsense")
	assert.False(t, passes, out)
}

// again runs one test of this binary in another process and returns what it
// prints and whether it passes. -test.short stands for itself.
func again(t *testing.T, test string, env ...string) (out string, passes bool) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	args := []string{"-test.run=^" + test + "$", "-test.v"}
	if len(env) > 0 && env[0] == "-test.short" {
		args, env = append(args, env[0]), env[1:]
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(os.Environ(), env...)
	text, err := cmd.CombinedOutput()
	return string(text), err == nil
}

func TestWithoutOpenGLTestsSkipOrFailAsToldAndSayWhy(t *testing.T) {
	const noDriver = "__EGL_VENDOR_LIBRARY_FILENAMES=/nonexistent.json"
	out, passes := again(t, "TestThreadCopiesBuffers", noDriver, "REQUIRE_GL=", "GL_DEVICE=")
	if passes && !bytes.Contains([]byte(out), []byte("--- SKIP")) {
		t.Skip("this EGL finds its driver without the vendor files")
	}
	assert.True(t, passes, out)
	assert.Contains(t, out, "apt-get install")
	out, passes = again(t, "TestThreadCopiesBuffers", noDriver, "REQUIRE_GL=1", "GL_DEVICE=")
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

// TestLiveProgramsPassTheValidators: with REQUIRE_GLSLANG=1 the device refuses what a lax driver takes.
func TestLiveProgramsPassTheValidators(t *testing.T) {
	gputest.Thread(t) // skips, or fails, where there is no OpenGL
	gputest.Validators(t)
	for _, requires := range []string{"0", "1"} {
		t.Setenv("REQUIRE_GLSLANG", requires)
		thread, err := gpu.Start(gputest.Opener())
		require.NoError(t, err)
		taken := 0
		gputest.Do(t, thread, func(c *gpu.Ctx) error {
			for name, l := range lax {
				p, err := c.NewProgram(gpu.ProgramDesc{Label: name, Compute: version + l.source})
				if err == nil {
					taken++
					p.Close()
				}
			}
			return nil
		})
		thread.DebugErrors() // of those that a stricter driver doesn't take
		if requires == "1" {
			assert.Zero(t, taken)
		} else if thread.Info().Software {
			assert.Positive(t, taken)
		}
		require.NoError(t, thread.Close())
	}
}

// The tests below run this one in a process of its own.
func TestValidateOnce(t *testing.T) {
	gputest.Validators(t)
	require.NoError(t, gputest.Validate(gpu.ProgramDesc{Compute: version + one + "void main() {}\n"}))
}

func TestWithoutValidatorsTestsSkipOrFailAsToldAndSayWhy(t *testing.T) {
	for _, tt := range []struct {
		requires, result string
		passes           bool
	}{{"0", "--- SKIP", true}, {"1", "--- FAIL", false}} {
		out, passes := again(t, "TestValidateOnce", "PATH=/nonexistent", "REQUIRE_GLSLANG="+tt.requires)
		assert.Equal(t, tt.passes, passes, out)
		assert.Contains(t, out, tt.result)
		assert.Contains(t, out, "apt-get install glslang-tools spirv-tools")
	}
}

// TestShortRunsValidateChangedSources: one that passed isn't compiled again, other than in full runs.
func TestShortRunsValidateChangedSources(t *testing.T) {
	gputest.Validators(t)
	real, err := exec.LookPath("glslangValidator")
	require.NoError(t, err)
	cache, dir := "XDG_CACHE_HOME="+t.TempDir(), t.TempDir()
	broken := "#!/bin/sh\n[ \"$1\" = --version ] && exec " + real + " --version\nexit 1\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "glslangValidator"), []byte(broken), 0o755))
	path := "PATH=" + dir + string(os.PathListSeparator) + os.Getenv("PATH")
	out, passes := again(t, "TestValidateOnce", "-test.short", cache, path)
	assert.False(t, passes, out)
	out, passes = again(t, "TestValidateOnce", cache)
	assert.True(t, passes, out)
	out, passes = again(t, "TestValidateOnce", "-test.short", cache, path)
	assert.True(t, passes, out)
	out, passes = again(t, "TestValidateOnce", cache, path)
	assert.False(t, passes, out)
}
