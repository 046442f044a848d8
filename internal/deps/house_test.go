package deps_test

import (
	"bufio"
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// limits is how large the house may be. A change that makes it smaller lowers them in
// the same commit. A change that needs a room raises them, and says why.
var limits = struct {
	packages int // folders with Go files, generated ones and those of tests included
	files    int // hand-written Go files of the product
	small    int // packages of the product with fewer than smallLines hand-written lines
	declared map[string]int
	comments float64 // lines for each exported name, at least
	prose    int     // faults that TestProse finds
}{
	packages: 78,
	files:    492,
	small:    3,
	comments: 4.0,
	prose:    0,
	// How often a type of this name is declared. One concept has one declaration.
	declared: map[string]int{
		"Cause": 1, "Geodetic": 1, "Outcome": 1, "Policy": 1, "QoS": 1, "Rate": 1, "Stamp": 1,
	},
}

const smallLines = 150

// A room is what the test counts of one package.
type room struct {
	files, lines int
}

func TestTheHouseDoesNotGrow(t *testing.T) {
	rooms, declared := measure(t)
	files := 0
	var small []string
	for folder, r := range rooms {
		files += r.files
		if r.files > 0 && r.lines < smallLines {
			small = append(small, folder)
		}
	}
	slices.Sort(small)
	hold(t, "packages", len(rooms), limits.packages)
	hold(t, "hand-written product files", files, limits.files)
	hold(t, "packages of fewer than 150 lines", len(small), limits.small)
	if t.Failed() {
		t.Logf("small packages: %s", strings.Join(small, ", "))
	}
	for _, name := range slices.Sorted(maps.Keys(limits.declared)) {
		hold(t, "declarations of a type "+name, len(declared[name]), limits.declared[name])
		if len(declared[name]) > limits.declared[name] {
			t.Logf("%s: %s", name, strings.Join(declared[name], ", "))
		}
	}
}

// hold fails above the limit, and below it tells what the limit may be.
func hold(t *testing.T, what string, have, limit int) {
	t.Helper()
	switch {
	case have > limit:
		t.Errorf("%d %s, the limit is %d: use what is there, or raise the limit and say why in the commit", have, what, limit)
	case have < limit:
		t.Logf("%d %s, the limit is %d: lower it", have, what, limit)
	}
}

// measure walks the module. It returns its packages by folder, and where product code
// declares the types that limits names.
func measure(t *testing.T) (map[string]*room, map[string][]string) {
	t.Helper()
	rooms, declared := map[string]*room{}, map[string][]string{}
	err := filepath.WalkDir("../..", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if outside(entry.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(file, ".go") {
			return nil
		}
		file = strings.TrimPrefix(filepath.ToSlash(file), "../../")
		r := rooms[path.Dir(file)]
		if r == nil {
			r = &room{}
			rooms[path.Dir(file)] = r
		}
		if strings.HasSuffix(file, "_test.go") {
			return nil
		}
		return r.add(file, declared)
	})
	if err != nil {
		t.Fatal(err)
	}
	return rooms, declared
}

// add counts a product file. A generated one counts for nothing.
func (r *room) add(file string, declared map[string][]string) error {
	source, err := os.ReadFile(filepath.Join("../..", file))
	if err != nil {
		return err
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), file, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	if ast.IsGenerated(parsed) {
		return nil
	}
	r.files++
	for lines := bufio.NewScanner(bytes.NewReader(source)); lines.Scan(); {
		r.lines++
	}
	for _, d := range parsed.Decls {
		types, ok := d.(*ast.GenDecl)
		if !ok || types.Tok != token.TYPE {
			continue
		}
		for _, spec := range types.Specs {
			name := spec.(*ast.TypeSpec).Name.Name
			if _, ok := limits.declared[name]; ok {
				declared[name] = append(declared[name], file)
			}
		}
	}
	return nil
}

// outside reports whether a folder holds what the module doesn't build.
func outside(folder string) bool {
	return strings.HasPrefix(folder, ".") && folder != ".." || slices.Contains([]string{"testdata", "out", "bin", "node_modules"}, folder)
}
