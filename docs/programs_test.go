// Package docs_test compiles the programs that the pages show, and looks for what
// they name.
package docs_test

import (
	"encoding/json"
	"fmt"
	"go/build"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/sensors/all"
)

// program is a code block that is a whole program.
var program = regexp.MustCompile("(?s)```go\n(package main\n.*?)```")

func TestProgramsCompile(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go tool to compile with: ", err)
	}
	here, err := os.Getwd()
	require.NoError(t, err)
	overlay := map[string]string{}
	var packages []string
	var ofEmbedding []string
	for page, least := range map[string]int{"../README.md": 1, "embedding.md": 5, "streams.md": 1, "world.md": 1} {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		blocks := program.FindAllStringSubmatch(string(text), -1)
		require.GreaterOrEqual(t, len(blocks), least, "programs of %s", page)
		for _, block := range blocks {
			// A folder that is only there for the compiler: the module's own.
			name := fmt.Sprintf("program%d", len(packages))
			source := filepath.Join(t.TempDir(), "main.go")
			require.NoError(t, os.WriteFile(source, []byte(block[1]), 0o600))
			overlay[filepath.Join(here, name, "main.go")] = source
			packages = append(packages, "./"+name)
			if page == "embedding.md" {
				ofEmbedding = append(ofEmbedding, name)
			}
		}
	}
	files, err := json.Marshal(map[string]any{"Replace": overlay})
	require.NoError(t, err)
	list := filepath.Join(t.TempDir(), "overlay.json")
	require.NoError(t, os.WriteFile(list, files, 0o600))
	programs := t.TempDir()
	out, err := exec.Command(goTool, append([]string{"build", "-overlay", list, "-o", programs}, packages...)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	if !build.Default.CgoEnabled {
		return // no device opens without it
	}
	for _, name := range ofEmbedding {
		runWithoutOpenGL(t, filepath.Join(programs, name))
	}
}

// runWithoutOpenGL: what shows how to embed runs where EGL finds no driver, as on servers.
func runWithoutOpenGL(t *testing.T, path string) {
	cmd := exec.CommandContext(t.Context(), path)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "__EGL_VENDOR_LIBRARY_FILENAMES="+os.DevNull, "__EGL_VENDOR_LIBRARY_DIRS="+t.TempDir())
	out, err := cmd.CombinedOutput()
	assert.NoError(t, err, "%s: %s", filepath.Base(path), out)
}

// fenced are a page's blocks of code, in which brackets are no links.
var fenced = regexp.MustCompile("(?ms)^```.*?^```")

// named are links and names of files in a page.
var named = regexp.MustCompile("\\]\\(([^)#:]+)(?:#[^)]*)?\\)|`([a-z0-9_/]+/[a-z0-9_]+\\.[a-z]+)`")

func TestNamedFilesExist(t *testing.T) {
	for page, folder := range map[string]string{
		"../README.md": "..", "../CONTRIBUTING.md": "..", "README.md": ".", "architecture.md": ".", "laws.md": ".", "rendering.md": ".", "start.md": ".", "time.md": ".", "api.md": ".",
		"embedding.md": ".", "adding-a-sensor.md": ".", "python.md": ".",
		"streams.md": ".", "carla-streams.md": ".", "logging.md": ".", "lenses.md": ".",
	} {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		found := named.FindAllStringSubmatch(fenced.ReplaceAllString(string(text), ""), -1)
		require.NotEmpty(t, found, page)
		for _, m := range found {
			// Links are relative to the page, names to the repository.
			path := filepath.Join(folder, m[1])
			if m[2] != "" {
				path = filepath.Join("..", m[2])
			}
			if strings.HasPrefix(m[2], "out/") || strings.HasPrefix(m[2], "bin/") {
				continue // what the program makes
			}
			_, err := os.Stat(path)
			assert.NoError(t, err, "named in %s", page)
		}
	}
}

// inCheckout are files of the repository in a command.
var inCheckout = regexp.MustCompile(`(?:^|[^\w/])((?:docs|cmd|testdata|python|scripts)/[\w./-]*\.\w+)`)

// TestCommandsNeedTheCheckoutAlone: files that the pages' commands and configurations name are in the repository,
// and none of them is beside it.
func TestCommandsNeedTheCheckoutAlone(t *testing.T) {
	pages, err := filepath.Glob("*.md")
	require.NoError(t, err)
	bridges, err := filepath.Glob("bridges/*.md")
	require.NoError(t, err)
	named := 0
	for _, page := range append(append(pages, bridges...), "../README.md") {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, block := range fenced.FindAllString(string(text), -1) {
			assert.NotContains(t, block, "../", "%s: nobody else has that", page)
			for _, m := range inCheckout.FindAllStringSubmatch(block, -1) {
				named++
				_, err := os.Stat(filepath.Join("..", m[1]))
				assert.NoError(t, err, "named in %s", page)
			}
		}
	}
	assert.Greater(t, named, 3)
}

// What a newcomer reads first is short.
func TestTheFirstPagesAreShort(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	assert.LessOrEqual(t, strings.Count(string(readme), "\n"), 120, "lines")
	architecture, err := os.ReadFile("architecture.md")
	require.NoError(t, err)
	assert.LessOrEqual(t, len(strings.Fields(string(architecture))), 2000, "words")
}

// Each page stands in the index.
func TestTheIndexHasEveryPage(t *testing.T) {
	index, err := os.ReadFile("README.md")
	require.NoError(t, err)
	for _, pattern := range []string{"*.md", "bridges/*.md"} {
		pages, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, pages)
		for _, page := range pages {
			if page != "README.md" {
				assert.Contains(t, string(index), "]("+page+")")
			}
		}
	}
}

// body is what stands between the braces of a program's main, or of an example.
var body = regexp.MustCompile("(?s)\nfunc (?:main|Example)\\(\\) {\n(.*?)(?:\t// Output:\n)?}\n")

// The README's program is short, and it is the example that the tests of the root run.
func TestTheFirstProgramIsAnExample(t *testing.T) {
	text, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	block := program.FindStringSubmatch(string(text))
	require.NotNil(t, block)
	shown := body.FindStringSubmatch(block[1])
	require.NotNil(t, shown)
	assert.LessOrEqual(t, strings.Count(shown[1], "\n"), 12)
	formatted, err := format.Source([]byte(block[1]))
	require.NoError(t, err)
	assert.Equal(t, string(formatted), block[1], "gofmt")
	example, err := os.ReadFile("../example_live_test.go")
	require.NoError(t, err)
	run := body.FindStringSubmatch(string(example))
	require.NotNil(t, run)
	assert.Equal(t, shown[1], run[1])
}

// piece is a code block that shows a part of a file.
var piece = regexp.MustCompile("(?s)```(?:go|glsl)\n(.*?)```")

// TestPiecesAreInTheSources keeps the pieces that a page shows as they are in the code.
func TestPiecesAreInTheSources(t *testing.T) {
	var sources strings.Builder
	for _, pattern := range []string{"../sensors/ranging/safedistance*.go", "../sensors/all/*.go", "examples/skyview/*"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, files, pattern)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			sources.Write(text)
		}
	}
	page, err := os.ReadFile("adding-a-sensor.md")
	require.NoError(t, err)
	pieces := piece.FindAllStringSubmatch(string(page), -1)
	require.GreaterOrEqual(t, len(pieces), 8)
	for _, p := range pieces {
		assert.Contains(t, sources.String(), strings.TrimRight(p[1], "\n"))
	}
}

// denied is a sentence that says of a sample that no sensor publishes it.
var denied = regexp.MustCompile("`(sample\\.\\w+)`[^.]*no sensor of raybridge publishes")

// TestPagesDenyNoSample: no page says that a sample has no sensor which has one.
func TestPagesDenyNoSample(t *testing.T) {
	published := map[string]string{}
	for _, d := range all.Definitions() {
		for _, out := range d.Outputs {
			published[strings.TrimPrefix(out.Type.String(), "*")] = d.ID
		}
	}
	require.Contains(t, published, "sample.Image")
	for _, pattern := range []string{"*.md", "bridges/*.md"} {
		pages, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, pages)
		for _, page := range pages {
			text, err := os.ReadFile(page)
			require.NoError(t, err)
			for _, found := range denied.FindAllStringSubmatch(string(text), -1) {
				assert.Empty(t, published[found[1]], "%s: %q", page, found[0])
			}
		}
	}
}
