package deps_test

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// judges are rooms that judge what others write, and share no code with them: a mistake in common code would pass. Nothing that they import, or
// that this imports, is among the writers, and neither the other way round. That holds for their tests, too.
var judges = map[string][]string{
	"cmd/raybridge/internal/dataset/check": {"bridges/dataset", "bridges/nuscenes", "bridges/coco", "bridges/kitti"},
}

func TestJudgesShareNoCode(t *testing.T) {
	for judge, writers := range judges {
		reached := map[string]string{}
		folders := below(t, judge)
		for _, folder := range folders {
			reach(t, folder, true, reached)
		}
		if len(folders) < 2 || reached["spatial"] == "" {
			t.Fatalf("%s has %q, which import %v: the walk is broken", judge, folders, reached)
		}
		for _, writer := range writers {
			for folder, from := range reached {
				if folder == writer || strings.HasPrefix(folder, writer+"/") {
					t.Errorf("%s imports %s, which %s must not reach", from, folder, judge)
				}
			}
			for _, folder := range below(t, writer) {
				of := map[string]string{}
				reach(t, folder, true, of)
				for imported, from := range of {
					if imported == judge || strings.HasPrefix(imported, judge+"/") {
						t.Errorf("%s imports %s, which %s must not reach", from, imported, writer)
					}
				}
			}
		}
	}
}

// below lists a folder with Go files and those in it.
func below(t *testing.T, folder string) (folders []string) {
	t.Helper()
	for _, pattern := range []string{"*.go", "*/*.go", "*/*/*.go"} {
		files, err := filepath.Glob(filepath.Join("../..", folder, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			name := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(file)), "../../")
			if len(folders) == 0 || folders[len(folders)-1] != name {
				folders = append(folders, name)
			}
		}
	}
	return folders
}

// reach adds all folders of the module that a folder's files import, directly or not, each with one that imports it.
func reach(t *testing.T, folder string, tests bool, reached map[string]string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("../..", folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !tests && strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range parsed.Imports {
			full, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if imported, ours := strings.CutPrefix(full, module); ours && reached[imported] == "" {
				reached[imported] = file
				reach(t, imported, false, reached)
			}
		}
	}
}
