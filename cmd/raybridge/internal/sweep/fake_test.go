package sweep_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/sweep"
	"github.com/raybridge/raybridge/config"
	"github.com/raybridge/raybridge/internal/doc"
	"github.com/raybridge/raybridge/internal/fault"
)

// drive is a configuration of few keys: numbers, files, and one that sets two others.
type drive map[string]string

// bothKey sets ego.speed and scene.seed.
const bothKey = "both"

func (d drive) Copy() sweep.Configuration { return maps.Clone(d) }

func (d drive) Set(key, value string) error {
	if key == bothKey {
		d["ego.speed"], d["scene.seed"] = value, value
		return nil
	}
	if _, ok := d[key]; !ok {
		return &doc.Error{Path: key, Err: fmt.Errorf("%w, %s", doc.ErrUnknownKey, fault.Hint(key, slices.Sorted(maps.Keys(d))))}
	}
	if n, err := strconv.ParseFloat(value, 64); key == "ego.speed" && (err != nil || n > 100) {
		return &doc.Error{Path: key, Err: fmt.Errorf("%w: %s", doc.ErrRange, value)}
	}
	if _, err := strconv.ParseUint(value, 10, 64); strings.HasSuffix(key, "seed") && err != nil {
		return &doc.Error{Path: key, Err: fmt.Errorf("%w: %s", doc.ErrType, value)}
	}
	d[key] = strings.Trim(value, `"`)
	return nil
}

func (d drive) Leaves() (list []config.Leaf, err error) {
	for _, key := range slices.Sorted(maps.Keys(d)) {
		list = append(list, config.Leaf{Key: key, Value: d[key], Path: key == "scene.file"})
	}
	return list, nil
}

// readDrive reads lines KEY: VALUE.
func readDrive(path string, data []byte) (sweep.Configuration, error) {
	d := drive{"seed": "1", "duration": "0s", "scene.seed": "0", "ego.speed": "8", "scene.file": "", "world.source": ""}
	for line := range strings.Lines(string(data)) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && key != "#" {
			key = map[string]string{"file": "scene.file", "source": "world.source"}[key] + strings.TrimPrefix(strings.TrimPrefix(key, "file"), "source")
			value = strings.Trim(value, `'"`)
			if key == "scene.file" && !filepath.IsAbs(value) {
				value = filepath.Join(filepath.Dir(path), value)
			}
			d[key] = value
		}
	}
	return d, nil
}

const base = "duration: 100ms\n"

// folder writes files below a folder of the test's.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return dir
}

// planner makes plans of drives.
func planner() *sweep.Planner {
	return &sweep.Planner{Read: readDrive, Version: version, Class: class(), Device: "host"}
}

// planOf plans a sweep file of a folder.
func planOf(t *testing.T, dir, name string) (*sweep.Plan, error) {
	t.Helper()
	f, err := sweep.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return nil, err
	}
	return planner().Plan(t.Context(), f)
}

// planned is planOf of a text beside a base and other files.
func planned(t *testing.T, text string) (*sweep.Plan, error) {
	t.Helper()
	return planOf(t, folder(t, map[string]string{"drive.yaml": base, "sweep.yaml": text}), "sweep.yaml")
}
