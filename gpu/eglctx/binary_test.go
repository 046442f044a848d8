//go:build cgo && linux

package eglctx_test

import (
	"debug/elf"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu/eglctx"
)

// headless builds testdata/headless, once.
var headless = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "headless")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "headless")
	out, err := exec.Command("go", "build", "-o", path, "./testdata/headless").CombinedOutput()
	if err != nil {
		return string(out), err
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if built {
		if path, err := headless(); err == nil {
			os.RemoveAll(filepath.Dir(path))
		}
	}
	os.Exit(code)
}

var built bool // headless has been called; by tests of this package, in sequence

func build(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: building a binary takes seconds")
	}
	if _, err := exec.LookPath("go"); err != nil && os.Getenv("REQUIRE_GL") != "1" {
		t.Skip("no Go to build a binary with: ", err)
	}
	built = true
	path, err := headless()
	require.NoError(t, err, path)
	return path
}

// run starts the binary in an environment without a display, changed as told.
func run(t *testing.T, path string, args []string, env ...string) (out string, exit int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "DISPLAY=") || strings.HasPrefix(v, "WAYLAND_DISPLAY=") || strings.HasPrefix(v, "XAUTHORITY=")
	}), env...)
	text, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		require.NoError(t, err)
	}
	return string(text), cmd.ProcessState.ExitCode()
}

// Other programs need no more than ours does: TestWhatTheProgramNeeds of
// cmd/raybridge reads its.
func TestImportingEglctxLinksNoLibrary(t *testing.T) {
	file, err := elf.Open(build(t))
	require.NoError(t, err)
	defer file.Close()
	needed, err := file.ImportedLibraries()
	require.NoError(t, err)
	for _, library := range needed {
		assert.True(t, strings.HasPrefix(library, "libc.") || strings.HasPrefix(library, "ld-linux"), "NEEDED %s", library)
	}
}

func TestWindowlessBinaryAsksNoXServer(t *testing.T) {
	path := build(t)
	start(t, eglctx.Options{}) // skips where there is no OpenGL
	// An X server on TCP display N listens on port 6000+N.
	server, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	calls := make(chan struct{}, 16)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := server.Accept()
			if err != nil {
				return
			}
			conn.Close()
			calls <- struct{}{}
		}
	}()
	display := "127.0.0.1:" + strconv.Itoa(server.Addr().(*net.TCPAddr).Port-6000)
	out, exit := run(t, path, nil, "DISPLAY="+display)
	server.Close()
	<-done
	assert.Zero(t, exit, out)
	require.Contains(t, out, "renderer: ")
	if !strings.Contains(out, "renderer: zink") { // Mesa's zink asks for a display on its own account
		assert.Empty(t, calls, "the binary connected to its DISPLAY")
	}
}

func TestMachineWithoutADriver(t *testing.T) {
	out, exit := run(t, build(t), nil, "__EGL_VENDOR_LIBRARY_FILENAMES=/nonexistent.json")
	assert.Equal(t, 3, exit, out)
	for _, want := range []string{"error: no ", "apt-get install", "dnf install", "pacman -S"} {
		assert.Contains(t, out, want)
	}
	assert.NotContains(t, out, "panic")
}

// Mesa can be told to pretend that it is older.
func TestDriverThatIsTooOld(t *testing.T) {
	path := build(t)
	start(t, eglctx.Options{})
	for _, version := range []string{"3.3", "4.4"} {
		out, exit := run(t, path, []string{"software"}, "MESA_GL_VERSION_OVERRIDE="+version)
		if exit == 0 {
			t.Skipf("the driver takes no MESA_GL_VERSION_OVERRIDE: %s", out)
		}
		assert.Equal(t, 3, exit, out)
		assert.Contains(t, out, "no OpenGL 4.5 core")
		assert.Contains(t, out, `offers version "`+version)
		assert.Contains(t, out, "install a newer one")
	}
}
