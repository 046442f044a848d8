package gputest

import (
	"context"
	"crypto/sha256"
	_ "embed" // the limits
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/raybridge/raybridge/gpu"
)

// ErrNoValidator says that glslangValidator or spirv-val isn't installed.
var ErrNoValidator = errors.New("no GLSL validator: apt-get install glslang-tools spirv-tools, dnf install glslang spirv-tools, pacman -S glslang spirv-tools")

// guaranteed are glslangValidator's names for what every driver of OpenGL 4.5 has: the minimum values
// of GLSL 4.50, section 7.3 "Built-In Constants", and of OpenGL 4.5's tables 23.53 to 23.65, the lower
// one where these differ. The format has no comments.
//
//go:embed testdata/opengl-4.5.conf
var guaranteed []byte

// Validate compiles a program with Khronos's reference compiler under the limits that OpenGL 4.5
// guarantees, and validates the SPIR-V that comes out. It counts with Beyond what the compiler doesn't.
// So the program says nothing that only this machine's driver takes.
//
// Under -short, a source that passed before isn't compiled again: the user's cache folder has its hash.
// An error that wraps ErrNoValidator says that a tool isn't there.
func Validate(p gpu.ProgramDesc) error {
	tools, err := findTools()
	if err != nil {
		return err
	}
	key := sha256.Sum256(fmt.Append(nil, tools, guaranteed, "\x00", p.Compute, "\x00", p.Vertex, "\x00", p.Fragment))
	once, _ := verdicts.LoadOrStore(key, sync.OnceValue(func() error {
		if beyond := Beyond(p); len(beyond) > 0 {
			return errors.New(strings.Join(beyond, "\n"))
		}
		stamp := stampOf(key)
		if _, err := os.Stat(stamp); err == nil && testing.Short() {
			_ = os.Chtimes(stamp, time.Time{}, time.Now()) // without it, the stamp goes too early
			return nil
		}
		err := compile(p)
		if err == nil && stamp != "" {
			_ = os.WriteFile(stamp, nil, 0o644) // without it, the next run compiles again
		}
		return err
	}))
	if err := once.(func() error)(); err != nil {
		return fmt.Errorf("validate %q: %w", p.Label, err)
	}
	return nil
}

// Validators skips a test if one of Validate's tools isn't installed, or fails it if REQUIRE_GLSLANG=1.
func Validators(t testing.TB) {
	t.Helper()
	if _, err := findTools(); errors.Is(err, ErrNoValidator) && os.Getenv("REQUIRE_GLSLANG") != "1" {
		t.Skip(err)
	} else if err != nil {
		t.Fatalf("REQUIRE_GLSLANG=%s: %v", os.Getenv("REQUIRE_GLSLANG"), err)
	}
}

// verdicts are those of this process's programs, by the hash of all that they depend on: many tests
// make the same program.
var verdicts sync.Map

// findTools returns the versions of both tools.
var findTools = sync.OnceValues(func() (string, error) {
	var versions strings.Builder
	for _, tool := range []string{"glslangValidator", "spirv-val"} {
		out, err := command(".", tool, "--version")
		if errors.Is(err, exec.ErrNotFound) {
			return "", fmt.Errorf("%w: %w", ErrNoValidator, err)
		}
		if err != nil {
			return "", err
		}
		versions.WriteString(out)
	}
	return versions.String(), nil
})

// keepStamps is for how long sources are remembered that nobody compiles.
const keepStamps = 30 * 24 * time.Hour

// stampFolder makes the folder of the stamps and removes those that nobody used for long. It is "" if
// the user has no cache folder.
var stampFolder = sync.OnceValue(func() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	dir = filepath.Join(dir, "raybridge", "validated")
	if os.MkdirAll(dir, 0o755) != nil {
		return ""
	}
	stamps, _ := os.ReadDir(dir)
	for _, s := range stamps {
		if info, err := s.Info(); err == nil && time.Since(info.ModTime()) > keepStamps {
			_ = os.Remove(filepath.Join(dir, s.Name()))
		}
	}
	return dir
})

// stampOf is the empty file that says that a source passed, or "".
func stampOf(key [sha256.Size]byte) string {
	if dir := stampFolder(); dir != "" {
		return filepath.Join(dir, fmt.Sprintf("%x", key))
	}
	return ""
}

// compile runs the tools in a folder of their own, to which glslangValidator writes a file a stage.
func compile(p gpu.ProgramDesc) error {
	dir, err := os.MkdirTemp("", "raybridge-glsl")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	args := []string{"-G", "--target-env", "opengl", "limits.conf"}
	if err := os.WriteFile(filepath.Join(dir, "limits.conf"), guaranteed, 0o644); err != nil {
		return err
	}
	var stages []string
	for _, s := range []struct{ stage, source string }{{"comp", p.Compute}, {"vert", p.Vertex}, {"frag", p.Fragment}} {
		if s.source == "" {
			continue
		}
		stages, args = append(stages, s.stage), append(args, "main."+s.stage)
		if err := os.WriteFile(filepath.Join(dir, "main."+s.stage), []byte(s.source), 0o644); err != nil {
			return err
		}
	}
	if out, err := command(dir, "glslangValidator", args...); err != nil {
		return fmt.Errorf("glslangValidator: %w\n%s", err, out)
	}
	for _, stage := range stages {
		if out, err := command(dir, "spirv-val", "--target-env", "opengl4.5", stage+".spv"); err != nil {
			return fmt.Errorf("spirv-val: %w\n%s", err, out)
		}
	}
	return nil
}

// command runs a tool in a folder and returns what it prints.
func command(dir, tool string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, tool, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}
