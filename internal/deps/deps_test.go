// Package deps states which of raybridge's packages may import which: a
// statement of policy, not a description. A new arrow that fails here needs a
// reason; a new room needs a row in docs/architecture.md.
package deps_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/raybridge/raybridge/"

// policy has one line a room: what its own (non-test) files may import of this
// module. A room covers the folders below it that have no line of their own;
// "room/..." allows a room and all below it.
var policy = map[string][]string{
	".":                   {"world", "world/...", "bridges", "bridges/all", "config", "flow", "gpu", "gpu/eglctx", "gpu/hostdev", "internal/...", "memory", "pipeline", "pipeline/carry", "rig", "scene", "scene/...", "sensors", "sensors/all", "sensors/groundtruth", "sensors/sample", "simtime", "spatial", "weather"},
	"internal":            {"internal/..."},
	"internal/picture":    {"scene", "sensors/sample"},
	"internal/gen":        {"bridges/ros"},
	"flow":                {"internal/..."},
	"memory":              {},
	"spatial":             {},
	"weather":             {"internal/doc", "internal/fault", "simtime"},
	"sensors/sample":      {"simtime", "spatial", "world"},
	"shaders":             {},
	"gpu":                 {"flow"},
	"gpu/glcore":          {"gpu"},
	"gpu/eglctx":          {"gpu", "gpu/glcore"},
	"gpu/gputest":         {"gpu", "gpu/eglctx", "gpu/hostdev"},
	"gpu/hostdev":         {"gpu", "internal/fault", "kernels", "shaders"},
	"kernels":             {},
	"window":              {"gpu", "gpu/glcore"},
	"scene":               {"simtime", "spatial", "gpu", "shaders", "memory", "internal/...", "world", "weather"},
	"scene/gltf":          {"scene", "spatial", "memory", "internal/...", "world"},
	"scene/stage":         {"flow", "internal/fault", "scene", "simtime", "spatial", "world", "weather"},
	"scene/optics":        {"scene", "internal/..."},
	"scene/city":          {"scene", "simtime", "spatial", "world"},
	"scene/scenetest":     {"scene", "simtime", "spatial"},
	"readback":            {"gpu", "simtime", "flow"},
	"dispatch":            {"flow", "simtime"},
	"simtime":             {"flow"},
	"sensors":             {"flow", "gpu", "readback", "shaders", "scene", "simtime", "spatial", "sensors", "sensors/sample", "sensors/camera/calibration", "internal/...", "weather"},
	"sensors/compute":     {"flow", "gpu", "readback", "shaders", "scene", "sensors", "sensors/sample", "simtime", "spatial"},
	"sensors/lidar":       {"flow", "internal/fault", "memory", "scene", "scene/optics", "sensors", "sensors/compute", "sensors/sample", "shaders", "simtime", "weather"},
	"sensors/motion":      {"flow", "scene", "sensors", "sensors/sample", "simtime", "spatial"},
	"sensors/ranging":     {"flow", "scene", "sensors", "sensors/sample", "sensors/compute", "simtime", "spatial", "weather"},
	"sensors/groundtruth": {"flow", "gpu", "readback", "shaders", "scene", "simtime", "spatial", "sensors", "sensors/sample", "sensors/camera", "world", "weather"},
	"sensors/sensortest":  {"flow", "gpu", "gpu/gputest", "scene", "sensors", "sensors/sample", "simtime", "spatial", "weather"},
	"sensors/all":         {"sensors/..."},
	"bridges/transport":   {"flow", "internal/guard", "internal/fault"},
	"bridges":             {"world", "flow", "bridges/...", "memory", "sensors/sample", "simtime", "spatial", "internal/...", "weather"},
	"bridges/dataset":     {"bridges", "flow", "internal/...", "scene", "sensors/sample", "simtime", "spatial"},
	"bridges/nuscenes":    {"bridges", "bridges/dataset", "flow", "internal/...", "scene", "sensors/sample", "simtime", "spatial", "weather"},
	"bridges/coco":        {"bridges", "bridges/dataset", "flow", "internal/...", "scene", "sensors/sample", "simtime", "spatial"},
	"bridges/kitti":       {"bridges", "bridges/dataset", "flow", "internal/...", "scene", "sensors/sample", "simtime", "spatial"},
	"bridges/bridgetest":  {"flow", "bridges", "bridges/ros", "bridges/transport", "gpu", "gpu/gputest", "internal/...", "pipeline", "scene/scenetest", "sensors", "sensors/motion", "sensors/sample", "simtime", "spatial", "world"},
	"rig":                 {"sensors", "simtime", "spatial", "internal/..."},
	"world":               {"flow", "memory", "simtime", "spatial", "weather"},
	"world/snapshot":      {"world", "simtime", "weather"},
	"world/csv":           {"internal/fault", "simtime", "spatial", "world", "world/snapshot"},
	"world/osi":           {"flow", "memory", "internal/fault", "internal/protowalk", "simtime", "spatial", "world", "world/snapshot", "weather"},
	"world/worldtest":     {"simtime", "spatial", "world"},
	"config":              {"flow", "rig", "sensors", "internal/...", "simtime", "spatial", "weather"},
	"pipeline":            {"world", "flow", "gpu", "memory", "scene", "scene/stage", "sensors", "sensors/sample", "readback", "dispatch", "simtime", "bridges", "config", "rig", "spatial", "pipeline/carry", "internal/...", "weather"},
	"pipeline/carry":      {"bridges", "dispatch", "flow", "sensors", "sensors/sample", "simtime", "internal/fault"},
	"cmd/raybridge":       {"..."},
	// It judges the sets that bridges write, and so shares no code with them.
	"cmd/raybridge/internal/dataset/check": {"spatial", "internal/fault", "cmd/raybridge/internal/chart", "cmd/raybridge/internal/dataset/check/..."},
	"world/sumo":                           {"memory", "world", "world/snapshot", "simtime", "spatial", "internal/..."},
	"docs":                                 {},
	"docs/examples":                        {"flow", "sensors", "sensors/compute", "sensors/sample", "shaders", "simtime"},
}

// foreign has the packages from outside that these rooms, or folders of one, alone
// may import. The benchmarks load libcuda.
var foreign = map[string][]string{
	"github.com/go-gl/gl":   {"gpu/glcore", "window"},
	"github.com/go-gl/glfw": {"window"},
	"github.com/prometheus": {"cmd/raybridge/internal/metrics"},
	"github.com/nats-io":    {"cmd/raybridge/internal/sweep/queue"},
	"C":                     {"gpu/eglctx", "gpu/glcore", "window", "cmd/raybridge/internal/bench", "bridges/ros2dds/internal/cyclone", "kernels"},
}

func TestImports(t *testing.T) {
	files := 0
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() && outside(name) {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		files++
		return checkFile(t, path)
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 100 {
		t.Fatalf("saw %d files: the walk is broken", files)
	}
}

func checkFile(t *testing.T, path string) error {
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, path, nil, parser.ImportsOnly|parser.ParseComments)
	if err != nil {
		return err
	}
	if !ast.IsGenerated(f) && !inOrder(files, f.Imports) {
		t.Errorf("%s: the imports of the standard library are not a group of their own before the others", path)
	}
	folder := filepath.ToSlash(filepath.Dir(strings.TrimPrefix(filepath.ToSlash(path), "../../")))
	room := roomOf(folder)
	if room == "" {
		t.Errorf("%s: folder %s is in no room of the policy", path, folder)
		return nil
	}
	for _, spec := range f.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return err
		}
		if ours, ok := strings.CutPrefix(imported, module); ok {
			if ours != folder && !allowed(policy[room], ours) {
				t.Errorf("%s imports %s: %s may import %v", path, ours, room, policy[room])
			}
			continue
		}
		for prefix, rooms := range foreign {
			if imported != prefix && !strings.HasPrefix(imported, prefix+"/") {
				continue
			}
			if !slices.Contains(rooms, room) && !slices.Contains(rooms, folder) {
				t.Errorf("%s imports %s: only %v may", path, imported, rooms)
			}
		}
	}
	return nil
}

// inOrder reports whether the imports of the standard library stand before the others, with an empty line
// between them.
func inOrder(files *token.FileSet, imports []*ast.ImportSpec) bool {
	others := 0 // the line of the last import that isn't the standard library's
	for i, spec := range imports {
		first, _, _ := strings.Cut(strings.Trim(spec.Path.Value, `"`), "/")
		line := files.Position(spec.Pos()).Line
		switch standard := !strings.Contains(first, "."); {
		case first == "C":
		case standard && others > 0:
			return false
		case !standard:
			if others == 0 && i > 0 && line == files.Position(imports[i-1].End()).Line+1 {
				return false
			}
			others = line
		}
	}
	return true
}

// roomOf returns the deepest room that holds the folder.
func roomOf(folder string) string {
	if folder == "." {
		return folder
	}
	for folder != "." && folder != "/" {
		if _, ok := policy[folder]; ok {
			return folder
		}
		folder = filepath.ToSlash(filepath.Dir(folder))
	}
	return ""
}

func allowed(patterns []string, imported string) bool {
	for _, p := range patterns {
		if p == "..." || p == imported {
			return true
		}
		if base, ok := strings.CutSuffix(p, "/..."); ok && (imported == base || strings.HasPrefix(imported, base+"/")) {
			return true
		}
	}
	return false
}

// TestArchitectureListsTheRooms: the table of docs/architecture.md has a row for each room
// of the policy, below the rows of the rooms that it may import.
func TestArchitectureListsTheRooms(t *testing.T) {
	page, err := os.ReadFile("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for line := range strings.Lines(string(page)) {
		if cell, ok := strings.CutPrefix(line, "| `"); ok {
			if room, _, ok := strings.Cut(cell, "/` | "); ok {
				rows = append(rows, room)
			}
		}
	}
	for i, room := range rows {
		for _, imported := range policy[room] {
			if slices.Index(rows, imported) > i {
				t.Errorf("docs/architecture.md: the row of %s stands below that of %s, which may import it", imported, room)
			}
		}
	}
	slices.Sort(rows)
	if rooms := slices.Sorted(maps.Keys(policy)); !slices.Equal(rooms, rows) {
		t.Errorf("docs/architecture.md has rows for %q, the policy has %q", rows, rooms)
	}
}
