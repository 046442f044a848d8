//go:build cgo

package main

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// TestExampleWorkflow runs the workflow of docs/examples/ci as GitHub does: in a checkout that has a release's files,
// with the action of this repository. It passes, and fails where a rate is too low.
func TestExampleWorkflow(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	t.Parallel()
	needsOpenGL(t)
	for name, c := range map[string]struct {
		replace [2]string
		held    bool
	}{
		"as it is":   {held: true},
		"too slow":   {replace: [2]string{"/lidar/points=9.5", "/lidar/points=12"}},
		"other name": {replace: [2]string{"/lidar/points=9.5", "/lidar/pionts=9.5"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJob(t)
			require.NoError(t, os.CopyFS(j.dir, os.DirFS(filepath.Join("..", "..", "docs", "examples", "ci"))))
			j.release(t, filepath.Join(j.dir, "third_party", "raybridge"))
			var workflow struct {
				Jobs map[string]struct{ Steps []jobStep }
			}
			j.read(t, &workflow, filepath.Join(".github", "workflows", "sensors.yml"), c.replace)
			held := true
			for _, s := range workflow.Jobs["drive"].Steps {
				held = held && j.step(t, s, nil)
			}
			assert.Equal(t, c.held, held, j.log.String())
			page, err := os.ReadFile(j.files["GITHUB_STEP_SUMMARY"])
			require.NoError(t, err)
			assert.Contains(t, string(page), "| ", "the job's page has the table")
			assert.FileExists(t, filepath.Join(j.dir, "out", "drive.mcap"))
		})
	}
}

// TestActionOfFiles: the action takes a release's files from a folder, and refuses one that isn't what its sum says, and
// arguments that can't be told apart.
func TestActionOfFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	t.Parallel()
	needsOpenGL(t)
	good := `--rig "rig.yaml" --duration 200ms --bridge mcap:drive.mcap`
	for name, c := range map[string]struct {
		damaged bool
		run     string
		ok      bool
	}{
		"whole":             {run: good, ok: true},
		"damaged":           {damaged: true, run: good},
		"quote without end": {run: good + ` "--max-drops 0`},
		"wrong limit":       {run: good + " --max-drops many"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJob(t)
			require.NoError(t, os.CopyFS(j.dir, os.DirFS(filepath.Join("..", "..", "docs", "examples", "ci"))))
			archive := j.release(t, filepath.Join(j.dir, "files"))
			if c.damaged {
				require.NoError(t, os.WriteFile(archive, []byte("another"), 0o600))
			}
			text, err := os.ReadFile(filepath.Join("..", "..", "action.yml"))
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(j.dir, "action.yml"), text, 0o600))
			ok := j.step(t, jobStep{Uses: "./", With: map[string]string{"files": "files", "run": c.run}}, nil)
			assert.Equal(t, c.ok, ok, j.log.String())
		})
	}
}

// jobStep is a step of a workflow or of a composite action.
type jobStep struct {
	ID, Name, Run, Uses, If, Shell string
	With, Env                      map[string]string
}

// job is a checkout with what GitHub gives the steps of a job.
type job struct {
	dir   string
	files map[string]string // of its variables
	log   strings.Builder
}

func newJob(t *testing.T) *job {
	j := &job{dir: t.TempDir(), files: map[string]string{}}
	for _, name := range []string{"GITHUB_PATH", "GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"} {
		j.files[name] = filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(j.files[name], nil, 0o600))
	}
	j.files["RUNNER_TEMP"] = t.TempDir()
	return j
}

// release writes a tar.gz with this program and the action, as scripts/dist.sh does, and its sum. It returns the tar.gz.
func (j *job) release(t *testing.T, dir string) string {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	action, err := os.ReadFile(filepath.Join("..", "..", "action.yml"))
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(dir, 0o700))
	path := filepath.Join(dir, "raybridge-0.0.0-linux-amd64.tar.gz")
	file, err := os.Create(path)
	require.NoError(t, err)
	packed := gzip.NewWriter(file)
	archive := tar.NewWriter(packed)
	for _, f := range []struct {
		name, text string
		mode       int64
	}{
		{"action.yml", string(action), 0o644},
		{"bin/raybridge", fmt.Sprintf("#!/bin/sh\n%s=1 exec '%s' \"$@\"\n", envProgram, self), 0o755},
	} {
		require.NoError(t, archive.WriteHeader(&tar.Header{Name: "raybridge-0.0.0-linux-amd64/" + f.name, Mode: f.mode, Size: int64(len(f.text))}))
		_, err := archive.Write([]byte(f.text))
		require.NoError(t, err)
	}
	require.NoError(t, archive.Close())
	require.NoError(t, packed.Close())
	require.NoError(t, file.Close())
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "SHA256SUMS"), fmt.Appendf(nil, "%x  %s\n", sha256.Sum256(data), filepath.Base(path)), 0o600))
	return path
}

// read reads a file of YAML below the checkout, with a text of it replaced.
func (j *job) read(t *testing.T, to any, path string, replace [2]string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(j.dir, path))
	require.NoError(t, err)
	text := string(data)
	if replace[0] != "" {
		require.Contains(t, text, replace[0])
		text = strings.ReplaceAll(text, replace[0], replace[1])
	}
	require.NoError(t, yaml.Unmarshal([]byte(text), to))
}

// expression is what GitHub replaces in an action's texts.
var expression = regexp.MustCompile(`\$\{\{ *([a-z_.]+) *\}\}`)

// step runs a step, with the values of an action's expressions, and reports whether it went well. Actions of others
// do nothing here: the checkout is there, and nobody wants the artifact.
func (j *job) step(t *testing.T, s jobStep, values map[string]string) bool {
	t.Helper()
	if strings.HasPrefix(s.Uses, "./") {
		return j.action(t, s)
	}
	if s.Run == "" || strings.Contains(s.If, "inputs.check != ''") && values["inputs.check"] == "" {
		require.True(t, s.Run != "" || strings.HasPrefix(s.Uses, "actions/"), "step %+v", s)
		return true
	}
	cmd := shell(t, j.dir, s.Run)
	path, err := os.ReadFile(j.files["GITHUB_PATH"])
	require.NoError(t, err)
	// Without a shell of its own, a step's pipes hide the exit code of all but their last command.
	cmd.Args = []string{"bash", "-e", "-c", s.Run}
	if s.Shell == "bash" {
		cmd.Args = []string{"bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", s.Run}
	}
	cmd.Env = append(os.Environ(), "PATH="+strings.ReplaceAll(string(path), "\n", ":")+os.Getenv("PATH"))
	for name, value := range j.files {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	for name, value := range s.Env {
		cmd.Env = append(cmd.Env, name+"="+expression.ReplaceAllStringFunc(value, func(e string) string {
			text, known := values[expression.FindStringSubmatch(e)[1]]
			require.True(t, known, "the expression %s", e)
			return text
		}))
	}
	out, err := cmd.CombinedOutput()
	fmt.Fprintf(&j.log, "%s\n%s%v\n", s.Run, out, err)
	return err == nil
}

// action runs a composite action of the checkout.
func (j *job) action(t *testing.T, s jobStep) bool {
	t.Helper()
	var action struct {
		Inputs map[string]struct {
			Default  string
			Required bool
		}
		Runs struct{ Steps []jobStep }
	}
	j.read(t, &action, filepath.Join(s.Uses, "action.yml"), [2]string{})
	values := map[string]string{"github.action_path": filepath.Join(j.dir, s.Uses)}
	for name, input := range action.Inputs {
		values["inputs."+name] = input.Default
		require.False(t, input.Required && s.With[name] == "", "the input %s is required", name)
	}
	for name, value := range s.With {
		require.Contains(t, action.Inputs, name)
		values["inputs."+name] = value
	}
	good := true
	for _, below := range action.Runs.Steps {
		if !good && !strings.Contains(below.If, "!cancelled()") {
			continue
		}
		good = j.step(t, below, values) && good
		j.outputs(t, below.ID, values)
	}
	return good
}

// outputs takes over what a step has written into GITHUB_OUTPUT.
func (j *job) outputs(t *testing.T, id string, values map[string]string) {
	t.Helper()
	written, err := os.ReadFile(j.files["GITHUB_OUTPUT"])
	require.NoError(t, err)
	for line := range strings.Lines(string(written)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && id != "" {
			values["steps."+id+".outputs."+name] = value
		}
	}
}
