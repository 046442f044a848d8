//go:build mutants

package shaders_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// hangs is how long a package's tests may take with a mutant: some never end.
const hangs = 5 * time.Minute

// judges are the packages whose tests see what a file of the shaders does, the quickest
// first. What is more than one package's is in lib.
var judges = map[string][]string{
	"camera_ids.frag":         {"sensors/camera"},
	"camera_ids.vert":         {"sensors/camera"},
	"camera_shade.comp":       {"sensors/camera"},
	"camera_shadow.frag":      {"sensors/camera"},
	"camera_shadow.vert":      {"sensors/camera"},
	"camera_sun.comp":         {"sensors/camera"},
	"camera_trace.comp":       {"sensors/camera"},
	"groundtruth_bounds.comp": {"sensors/groundtruth"},
	"groundtruth_sights.comp": {"sensors/groundtruth"},
	"lidar_echoes.comp":       {"sensors/lidar", "gpu/hostdev"},
	"lidar_scan.comp":         {"sensors/lidar"},
	"rays.comp":               {"sensors/compute", "sensors/ranging"},
	"scene_trace.comp":        {"scene"},
	"lib/beam.glsl":           {"sensors/lidar", "gpu/hostdev"},
	"lib/camera.glsl":         {"sensors/camera"},
	"lib/flow.glsl":           {"sensors/camera"},
	"lib/grade.glsl":          {"sensors/camera"},
	"lib/intensity.glsl":      {"sensors/lidar"},
	"lib/lens.glsl":           {"sensors/camera"},
	"lib/mist.glsl":           {"sensors/lidar", "gpu/hostdev"},
	"lib/motion.glsl":         {"scene", "sensors/lidar"},
	"lib/noise.glsl":          {"sensors/lidar"},
	"lib/reach.glsl":          {"sensors/camera"},
	"lib/scene.glsl":          {"scene", "sensors/lidar", "sensors/camera"},
	"lib/shade.glsl":          {"sensors/camera"},
	"lib/shutter.glsl":        {"sensors/camera"},
	"lib/sight.glsl":          {"sensors/camera"},
	"lib/tally.glsl":          {"sensors/groundtruth"},
	"lib/trace.glsl":          {"scene", "sensors/lidar", "sensors/groundtruth", "sensors/camera", "gpu/hostdev"},
}

// harmless are mutants that change nothing that can be seen, and why.
var harmless = map[string]string{
	"camera_shade.comp: #if SURFACE_TEXTURES -> #if 1":                               "it leaves out work: without a picture the numbers come back",
	"camera_shade.comp: #if EMISSION_TEXTURES -> #if 1":                              "it leaves out work: without a picture the number comes back",
	"lib/beam.glsl: } else if (s > c.second.s) { -> } else if (!(s > c.second.s)) {": "the second strongest is a point where the last is strongest, and then was strongest before",
	"scene_trace.comp: #if OCCLUSION -> #if 0":                                       "it leaves out a short cut: the nearest surface is one, too",
}

// mutant is one change of one line.
type mutant struct {
	file     string
	line     int
	from, to string // the line
}

// String names the mutant by its place.
func (m mutant) String() string {
	return fmt.Sprintf("%s:%d: %s", m.file, m.line, strings.TrimSpace(m.to))
}

// key is the mutant in harmless: lines move.
func (m mutant) key() string {
	return m.file + ": " + strings.TrimSpace(m.from) + " -> " + strings.TrimSpace(m.to)
}

var (
	directive   = regexp.MustCompile(`^(\s*#(?:if|elif)) .*$`)
	conditional = regexp.MustCompile(`\b(if|while) \(`)
	once        = regexp.MustCompile(`\bfor \((?:bool \w+ = ([^;]*))?; ([\w.]+); [\w.]+ = false\)`) // a branch
	loop        = regexp.MustCompile(`\bfor \([^;]*; ([^;]*);`)
	choice      = regexp.MustCompile(` \? `)
)

// mutantsOf returns what a file becomes. Each #if is not taken, and each that has an #else
// always is. Each condition of a branch, a loop and a choice is turned round.
func mutantsOf(file, text string) (list []mutant) {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		add := func(to string) { list = append(list, mutant{file, i + 1, line, to}) }
		code, _, _ := strings.Cut(line, "//")
		if m := directive.FindStringSubmatch(code); m != nil {
			add(m[1] + " 0")
			if hasElse(lines[i+1:]) {
				add(m[1] + " 1")
			}
			continue
		}
		if strings.HasPrefix(strings.TrimSpace(code), "#") {
			continue
		}
		for _, at := range conditional.FindAllStringIndex(code, -1) {
			if end := closing(line, at[1]); end > 0 {
				add(line[:at[1]] + "!(" + line[at[1]:end] + ")" + line[end:])
			}
		}
		for _, at := range once.FindAllStringSubmatchIndex(code, -1) {
			if at[2] < 0 {
				name := line[at[4]:at[5]]
				add(line[:at[4]-2] + name + " = !" + name + line[at[4]-2:])
				continue
			}
			add(line[:at[2]] + "!(" + line[at[2]:at[3]] + ")" + line[at[3]:])
		}
		for _, at := range loop.FindAllStringSubmatchIndex(code, -1) {
			if first := once.FindStringIndex(code[at[0]:]); first == nil || first[0] > 0 { // else it wouldn't end
				add(line[:at[2]] + "!(" + line[at[2]:at[3]] + ")" + line[at[3]:])
			}
		}
		for _, at := range choice.FindAllStringIndex(code, -1) {
			add(line[:at[0]] + " != true" + line[at[0]:]) // binds less than a comparison
		}
	}
	return list
}

// hasElse tells whether the block that lines begin in has another side.
func hasElse(lines []string) bool {
	depth := 0
	for _, line := range lines {
		switch word := strings.TrimSpace(line); {
		case strings.HasPrefix(word, "#if"):
			depth++
		case strings.HasPrefix(word, "#endif"):
			if depth--; depth < 0 {
				return false
			}
		case depth == 0 && (strings.HasPrefix(word, "#else") || strings.HasPrefix(word, "#elif")):
			return true
		}
	}
	return false
}

// closing returns where the parenthesis that is open at from closes, 0 if beyond the line.
func closing(line string, from int) int {
	depth := 0
	for i := from; i < len(line); i++ {
		switch line[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth < 0 {
				return i
			}
		}
	}
	return 0
}

// TestMutants changes the shaders in one place at a time and sees a test of theirs fail.
// It takes ten minutes on two cores; RAYBRIDGE_MUTANTS, a regular expression, picks some by their names.
func TestMutants(t *testing.T) {
	only := regexp.MustCompile(os.Getenv("RAYBRIDGE_MUTANTS"))
	tests := compile(t)
	var list []mutant
	texts := map[string]string{}
	err := fs.WalkDir(os.DirFS("."), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, ".go") {
			return err
		}
		text, err := os.ReadFile(path)
		texts[path] = string(text)
		require.NotEmpty(t, judges[path], "no package judges %s", path)
		list = append(list, mutantsOf(path, string(text))...)
		return err
	})
	require.NoError(t, err)
	t.Logf("%d mutants", len(list))
	judged := map[string]bool{}
	for _, m := range list {
		if !only.MatchString(m.String()) {
			continue
		}
		for _, p := range judges[m.file] {
			if !judged[p] {
				judged[p] = true
				require.Empty(t, tests.kill(t, p, mutate(t, texts, mutant{})), "%s fails without a mutant", p)
			}
		}
		t.Run(m.String(), func(t *testing.T) {
			dir, killed := mutate(t, texts, m), ""
			for _, p := range judges[m.file] {
				if killed = tests.kill(t, p, dir); killed != "" {
					break
				}
			}
			t.Logf("killed by %q", killed)
			if why, ok := harmless[m.key()]; ok {
				assert.Empty(t, killed, "listed as harmless: %s", why)
				return
			}
			assert.NotEmpty(t, killed, "no test fails")
		})
	}
}

// mutate writes the shaders with a mutant into a folder.
func mutate(t *testing.T, texts map[string]string, m mutant) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for path, text := range texts {
		if path == m.file {
			lines := strings.Split(text, "\n")
			lines[m.line-1] = m.to
			text = strings.Join(lines, "\n")
		}
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, path), []byte(text), 0o644))
	}
	return dir
}

// binaries are compiled tests, by package, that read the shaders from a folder.
type binaries map[string]string

// compile makes them. Their shaders package differs from ours by where it reads.
func compile(t *testing.T) binaries {
	t.Helper()
	dir := t.TempDir()
	source, err := os.ReadFile("source.go")
	require.NoError(t, err)
	const reads = "fs.ReadFile(embedded, file)"
	require.Equal(t, 1, strings.Count(string(source), reads))
	changed := strings.Replace(string(source), reads, `fs.ReadFile(os.DirFS(os.Getenv("RAYBRIDGE_SHADERS")), file)`, 1)
	changed = strings.Replace(changed, "import (", "import (\n\t\"os\"", 1)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "source.go"), []byte(changed), 0o644))
	here, err := filepath.Abs("source.go")
	require.NoError(t, err)
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{here: filepath.Join(dir, "source.go")}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o644))
	b := binaries{}
	for _, packages := range judges {
		for _, p := range packages {
			if b[p] != "" {
				continue
			}
			b[p] = filepath.Join(dir, strings.ReplaceAll(p, "/", "_")+".test")
			c := exec.CommandContext(t.Context(), "go", "test", "-c", "-overlay", filepath.Join(dir, "overlay.json"), "-o", b[p], "./"+p)
			c.Dir = ".."
			out, err := c.CombinedOutput()
			require.NoError(t, err, "%s", out)
		}
	}
	return b
}

var (
	begins = regexp.MustCompile(`^=== (?:RUN|CONT|NAME) +(\S+)`)
	fails  = regexp.MustCompile(`^\s+Error Trace:|--- FAIL: |^panic: `)
)

// kill runs a package's tests with the shaders of a folder, the quick ones before all, up to
// the first failure. It returns the test that failed, or nothing.
func (b binaries) kill(t *testing.T, p, dir string) (killer string) {
	t.Helper()
	if killer = b.fail(t, p, dir, "-test.short"); killer == "" {
		killer = b.fail(t, p, dir, "-test.short=false")
	}
	return killer
}

func (b binaries) fail(t *testing.T, p, dir, which string) (killer string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hangs)
	defer cancel()
	c := exec.CommandContext(ctx, b[p], "-test.v", "-test.failfast", which)
	c.Dir = filepath.Join("..", p)
	c.Env = append(os.Environ(), "RAYBRIDGE_SHADERS="+dir, "REQUIRE_GLSLANG=0") // a mutant is as valid as what it was
	out, err := c.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	name, lines := "", bufio.NewScanner(out)
	for lines.Scan() {
		if m := begins.FindStringSubmatch(lines.Text()); m != nil {
			name = m[1]
		}
		if fails.MatchString(lines.Text()) {
			killer = p + "." + name
			cancel() // one failure is enough, and others take long to print
			break
		}
	}
	_, _ = io.Copy(io.Discard, out)
	switch err := c.Wait(); {
	case killer != "" || err == nil:
		return killer
	case ctx.Err() != nil:
		return p + "." + name + " doesn't end"
	default:
		return p + "." + name + " crashes"
	}
}
