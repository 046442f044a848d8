package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/eglctx"
)

// Environment of a test binary that is to be the program itself: with the test's
// own build tags and race detector, and without a second build.
const (
	envProgram = "RAYBRIDGE_TEST_PROGRAM"
	// envFileSize is the size in bytes at which files end as on a full disk.
	envFileSize = "RAYBRIDGE_TEST_FILE_SIZE"
)

func TestMain(m *testing.M) {
	if os.Getenv(envProgram) != "" {
		limitFileSize()
		main() // exits
	}
	os.Exit(testMain(m))
}

func testMain(m *testing.M) int {
	cache, err := os.MkdirTemp("", "raybridge-test-*")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(cache)
	// Built scenes go where they leave nothing behind; compiled shaders and packages,
	// which take long, stay where the driver and Go keep them.
	if dir, err := os.UserCacheDir(); err == nil {
		for name, place := range map[string]string{"MESA_SHADER_CACHE_DIR": dir, "GOCACHE": filepath.Join(dir, "go-build")} {
			if os.Getenv(name) == "" {
				os.Setenv(name, place)
			}
		}
	}
	os.Setenv("XDG_CACHE_HOME", cache)
	return m.Run()
}

// limitFileSize makes writes beyond a size fail.
func limitFileSize() {
	size, err := strconv.ParseUint(os.Getenv(envFileSize), 10, 64)
	if err != nil {
		return
	}
	signal.Ignore(syscall.SIGXFSZ)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: size, Max: size}); err != nil {
		fmt.Fprintln(os.Stderr, "limit the size of files:", err)
		os.Exit(exitFailed)
	}
}

// outcome is what one call of the program left.
type outcome struct {
	code     int
	out, err string
}

// call runs a command line in this process.
func call(t *testing.T, args ...string) outcome {
	t.Helper()
	out, errOut := newTranscript(), newTranscript() // the log of bridges is written beside what the command prints
	code := program(t.Context(), args, out, errOut)
	return outcome{code, out.String(), errOut.String()}
}

// command returns the program as a process of its own.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(os.Environ(), envProgram+"=1")
	return cmd
}

// finish waits for a process and returns what it left.
func finish(t *testing.T, cmd *exec.Cmd, out, errOut *bytes.Buffer) outcome {
	t.Helper()
	err := cmd.Wait()
	if exited := new(exec.ExitError); err != nil && !errors.As(err, &exited) {
		t.Fatal(err)
	}
	return outcome{cmd.ProcessState.ExitCode(), out.String(), errOut.String()}
}

// execute runs a process to its end.
func execute(t *testing.T, cmd *exec.Cmd) outcome {
	t.Helper()
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	require.NoError(t, cmd.Start())
	return finish(t, cmd, &out, &errOut)
}

var openGL = sync.OnceValue(func() error {
	thread, err := gpu.Start(eglctx.Open(eglctx.Options{}))
	if err != nil {
		return err
	}
	return thread.Close()
})

// needsOpenGL skips the test where there is none.
func needsOpenGL(t *testing.T) {
	t.Helper()
	if err := openGL(); err != nil {
		if os.Getenv("REQUIRE_GL") == "1" {
			t.Fatalf("no live OpenGL: %v", err)
		}
		t.Skipf("no live OpenGL: %v", err)
	}
}

// write writes a file into a folder and returns its path.
func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

// lastLine is what the program said last.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
