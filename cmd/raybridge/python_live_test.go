//go:build cgo && linux

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// python returns a command of a Python that has numpy, in a folder of the checkout. What it
// starts as raybridge is this program.
func python(t *testing.T, folder string, args ...string) *exec.Cmd {
	t.Helper()
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	needsOpenGL(t)
	self, err := os.Executable()
	require.NoError(t, err)
	sources, err := filepath.Abs("../../python")
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), interpreter(t), args...)
	cmd.Dir = filepath.Join("../..", folder)
	cmd.Env = append(os.Environ(), envProgram+"=1", "RAYBRIDGE_BINARY="+self, "PYTHONPATH="+sources, "PYTHONDONTWRITEBYTECODE=1")
	return cmd
}

// interpreter is the Python of PATH, or the system's if that one has numpy.
func interpreter(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		if exec.CommandContext(t.Context(), name, "-c", "import numpy").Run() == nil {
			return name
		}
	}
	absent(t, "no python3 with numpy: apt install python3-numpy")
	return ""
}

// absent skips a test, or fails it where what it needs has to be there.
func absent(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("REQUIRE_PYTHON") == "1" {
		t.Fatal(what)
	}
	t.Skip(what)
}

// The program measures with the package.
func TestPythonBench(t *testing.T) {
	t.Parallel()
	cmd := python(t, ".")
	at, err := filepath.Abs(cmd.Path)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "figures.json")
	self, err := os.Executable()
	require.NoError(t, err)
	measure := exec.CommandContext(t.Context(), self, "bench", "python", "--quick", "--runs", "1", "--gpu", "software", "--json", file)
	measure.Env = append(cmd.Env, "PATH="+filepath.Dir(at)+":"+os.Getenv("PATH"))
	out, err := measure.CombinedOutput()
	require.NoError(t, err, "%s", out)
	var figures []struct {
		Name, Case string
		Value      float64
	}
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &figures))
	require.Len(t, figures, 10, "%s", text)
	for _, f := range figures {
		assert.Positive(t, f.Value, f.Name)
	}
}

// The package's own tests, against this program.
func TestPythonPackage(t *testing.T) {
	t.Parallel()
	out, err := python(t, ".", "-W", "error::ResourceWarning", "-m", "unittest", "discover", "-v", "-s", "python/tests").CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Regexp(t, `Ran \d\d+ tests`, string(out))
}

// Types are checked as strictly as mypy does, for the oldest Python.
func TestPythonTypes(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	mypy, err := exec.LookPath("mypy")
	if err != nil {
		absent(t, "no mypy: apt install mypy")
	}
	examples, err := filepath.Glob("../../python/examples/*.py")
	require.NoError(t, err)
	// PyTorch, of which only an example has need, may be there or not.
	settings := filepath.Join(t.TempDir(), "mypy.ini")
	require.NoError(t, os.WriteFile(settings, []byte("[mypy]\n[mypy-torch.*]\nfollow_imports = skip\nignore_missing_imports = True\n"), 0o600))
	cmd := exec.CommandContext(t.Context(), mypy, append([]string{
		"--config-file", settings, "--python-version", "3.9", "--strict", "--cache-dir", t.TempDir(), "../../python/raybridge",
	}, examples...)...)
	cmd.Env = append(os.Environ(), "MYPYPATH=../../python")
	out, err := cmd.CombinedOutput()
	assert.NoError(t, err, "%s", out)
}

func TestPythonExamples(t *testing.T) {
	t.Parallel()
	saved := t.TempDir()
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"ego_loop.py":               {[]string{"12"}, `1.2 s: \d.\d m/s, brightness \d+\n$`},
		"planner.py":                {[]string{"12"}, `1.2 s: at 12.0, \d.\d\d; the car's rear is \d+.\d m ahead\n$`},
		"gym_env.py":                {[]string{"12"}, `gap 1\d.\d m, reward -\d.\d, brightness \d+\n$`},
		"carla_tutorial.py":         {[]string{"4", saved}, `^3 pictures and scans in .*, 10 vehicles came, 0 are left\n$`},
		"carla_synchronous_mode.py": {[]string{"12"}, `^12 frames, the last at 0.400000000 s, brightness \d+\n$`},
		"carla_events.py": {[]string{"75"}, `^(\d.\d\d s: crossed 1 lane marks\n)+\d.\d\d s: collision with truck \(vehicle.truck\) at 38.737\d+, -9.142\d+\n` +
			`(\d.\d\d s: crossed \d lane marks\n)*3.80 s: touched\n$`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := python(t, ".", append([]string{filepath.Join("python/examples", name)}, c.args...)...).CombinedOutput()
			require.NoError(t, err, "%s", out)
			assert.Regexp(t, c.want, string(out))
		})
	}
}

// blocks are those of a language in a page of docs.
func blocks(t *testing.T, name, language string) []string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("../../docs", name))
	require.NoError(t, err)
	var list []string
	for _, found := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```").FindAllStringSubmatch(string(page), -1) {
		list = append(list, found[1])
	}
	require.NotEmpty(t, list)
	return list
}

// What docs/python.md shows runs as it stands.
func TestPythonPagePrograms(t *testing.T) {
	t.Parallel()
	for _, block := range blocks(t, "python.md", "python") {
		out, err := python(t, ".", "-c", block).CombinedOutput()
		require.NoError(t, err, "%s\n%s", block, out)
		assert.NotEmpty(t, out)
	}
}

// The commands of docs/python.md make a wheel, install and run it, with this program in it.
func TestPythonPageCommands(t *testing.T) {
	t.Parallel()
	here, err := filepath.Abs("../..")
	require.NoError(t, err)
	self, err := os.Executable()
	require.NoError(t, err)
	base := python(t, ".", "-c", "")
	if exec.CommandContext(t.Context(), "/usr/bin/python3", "-c", "import ensurepip, numpy").Run() != nil {
		absent(t, "no venv: apt install python3-venv python3-numpy")
	}
	folder := t.TempDir()
	script := strings.NewReplacer(
		"make build-portable\n", "", "scripts/", here+"/scripts/", "bin/raybridge-portable", self, "python3 -m venv", "/usr/bin/python3 -m venv",
		"raybridge demo", "raybridge demo --duration 100ms --gpu software",
	).Replace(blocks(t, "python.md", "sh")[0])
	run := exec.CommandContext(t.Context(), "bash", "-euxc", script+"\nout/venv/bin/python -c 'import raybridge as rb; print(rb.__file__, rb.binary())'")
	run.Dir = folder
	for _, variable := range base.Env {
		if !strings.HasPrefix(variable, "RAYBRIDGE_BINARY=") && !strings.HasPrefix(variable, "PYTHONPATH=") {
			run.Env = append(run.Env, variable)
		}
	}
	out, err := run.CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Contains(t, string(out), "out/demo/recording is a rosbag2")
	assert.FileExists(t, filepath.Join(folder, "out/demo/report.html"))
	assert.Regexp(t, regexp.QuoteMeta(folder)+`/out/venv/lib/python3\.\d+/site-packages/raybridge/__init__.py `+
		regexp.QuoteMeta(folder)+"/out/venv/bin/raybridge\n", string(out), "the wheel's package finds the wheel's program")

	wheels, err := filepath.Glob(filepath.Join(folder, "out/wheels/*"))
	require.NoError(t, err)
	require.Len(t, wheels, 1)
	assert.Regexp(t, `raybridge-0\.2\.0-py3-none-(manylinux_2_\d+|linux)_\w+\.whl$`, wheels[0])
	pure := exec.CommandContext(t.Context(), interpreter(t), filepath.Join(here, "scripts/wheel.py"), "--out", folder)
	told, err := pure.Output()
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(folder, "raybridge-0.2.0-py3-none-any.whl")+"\n", string(told))
}
