package deps_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"math/bits"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var arrowsOf = flag.String("arrows", "pipeline", "the package whose files TestArrowsBack lists with -v")

// cut holds packages that were cut into files on purpose. An arrow leads from a file to one that declares
// what it uses. In the order of files that has the fewest, arrows back are those to a file that comes later.
var cut = map[string]struct {
	back            int    // arrows back
	root            string // the type that everything hangs on
	fields, methods int    // of the root, exported or not
}{
	"pipeline": {back: 10, root: "Pipeline", fields: 35, methods: 40},
}

// TestArrowsBack: the files of a package build on each other in one direction, except for a few arrows, and no
// type holds everything. This lists them for any package:
//
//	go test -v -run TestArrowsBack ./internal/deps -arrows scene
func TestArrowsBack(t *testing.T) {
	for folder, limit := range cut {
		f := readFiles(t, folder)
		order := f.order()
		if back := f.back(order); len(back) > limit.back {
			t.Errorf("%s: %d arrows back between its files, the limit is %d:\n%s", folder, len(back), limit.back, strings.Join(back, "\n"))
		}
		fields, methods := f.sizeOf(limit.root)
		if fields > limit.fields || methods > limit.methods {
			t.Errorf("%s.%s has %d fields and %d methods, the limits are %d and %d: give what belongs together a type of its own",
				folder, limit.root, fields, methods, limit.fields, limit.methods)
		}
		t.Logf("%s.%s has %d fields and %d methods", folder, limit.root, fields, methods)
	}
	if testing.Verbose() {
		f := readFiles(t, *arrowsOf)
		order := f.order()
		back := f.back(order)
		var names []string
		for _, i := range order {
			names = append(names, f.names[i])
		}
		t.Logf("%s: %d files with %d arrows, %d of them back; the files in order:\n%s\narrows back:\n%s", *arrowsOf,
			len(f.names), f.count(), len(back), strings.Join(names, " "), strings.Join(back, "\n"))
	}
}

// fileArrows is what the files of one package use of each other.
type fileArrows struct {
	names []string
	pkg   *types.Package
	// uses are the names that file i uses of file j.
	uses []map[int]map[string]bool
}

// readFiles reads the product's files of a folder. Types are those of the package itself and of the few others
// that hold them: what all other packages declare stays unknown, and no arrow leads there.
func readFiles(t *testing.T, folder string) *fileArrows {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("../..", folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	set := token.NewFileSet()
	f := &fileArrows{}
	at := map[string]int{}
	var parsed []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		at[path] = len(f.names)
		f.names = append(f.names, strings.TrimSuffix(filepath.Base(path), ".go"))
		parsed = append(parsed, file)
	}
	if parsed == nil {
		t.Fatalf("no Go files in %s", folder)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{}}
	config := types.Config{Importer: &holders{source: importer.ForCompiler(set, "source", nil)}, Error: func(error) {}, FakeImportC: true}
	f.pkg, _ = config.Check(folder, set, parsed, info) // of names of other packages there are errors
	f.uses = make([]map[int]map[string]bool, len(f.names))
	for i := range f.uses {
		f.uses[i] = map[int]map[string]bool{}
	}
	for ident, object := range info.Uses {
		if object.Pkg() != f.pkg {
			continue
		}
		from, declared := at[set.Position(ident.Pos()).Filename], set.Position(object.Pos()).Filename
		to, ok := at[declared]
		if !ok || from == to || !f.shared(object) {
			continue
		}
		if f.uses[from][to] == nil {
			f.uses[from][to] = map[string]bool{}
		}
		f.uses[from][to][object.Name()] = true
	}
	return f
}

// shared reports whether other files can use an object: it is the package's, a field or a method.
func (f *fileArrows) shared(object types.Object) bool {
	if object.Parent() == f.pkg.Scope() {
		return true
	}
	switch object := object.(type) {
	case *types.Var:
		return object.IsField()
	case *types.Func:
		return object.Signature().Recv() != nil
	}
	return false
}

// holders imports the packages whose types hold those of the package that is read.
type holders struct{ source types.Importer }

func (h *holders) Import(path string) (*types.Package, error) {
	switch path {
	case "cmp", "iter", "maps", "slices", "sync", "sync/atomic":
		return h.source.Import(path)
	}
	unknown := types.NewPackage(path, path[strings.LastIndex(path, "/")+1:])
	unknown.MarkComplete()
	return unknown, nil
}

// count returns how many arrows there are.
func (f *fileArrows) count() (n int) {
	for _, to := range f.uses {
		n += len(to)
	}
	return n
}

// back returns the arrows back in an order of the files, one a line with what is used.
func (f *fileArrows) back(order []int) (list []string) {
	for place, to := range order {
		for _, from := range order[place+1:] {
			if used := f.uses[to][from]; used != nil {
				list = append(list, fmt.Sprintf("%s -> %s: %s", f.names[to], f.names[from], strings.Join(slices.Sorted(maps.Keys(used)), " ")))
			}
		}
	}
	return list
}

// order returns the order of the files with the fewest arrows back, what is built on first. Only files that reach
// each other have any, so that each such group is ordered by itself.
func (f *fileArrows) order() (order []int) {
	for _, group := range f.groups() {
		order = append(order, f.best(group)...)
	}
	return order
}

// groups returns the files that reach each other, what is built on first.
func (f *fileArrows) groups() (groups [][]int) {
	reach := make([][]bool, len(f.names))
	for i := range reach {
		reach[i] = make([]bool, len(f.names))
		for next := []int{i}; len(next) > 0; {
			at := next[0]
			next = next[1:]
			if !reach[i][at] {
				reach[i][at] = true
				next = append(next, slices.Collect(maps.Keys(f.uses[at]))...)
			}
		}
	}
	grouped := make([]bool, len(f.names))
	for i := range f.names {
		if grouped[i] {
			continue
		}
		var group []int
		for j := range f.names {
			if reach[i][j] && reach[j][i] {
				group, grouped[j] = append(group, j), true
			}
		}
		groups = append(groups, group)
	}
	below := func(group []int) (n int) {
		for _, there := range reach[group[0]] {
			if there {
				n++
			}
		}
		return n
	}
	slices.SortStableFunc(groups, func(a, b []int) int { return below(a) - below(b) })
	return groups
}

// best orders a group of files: exactly, by the least number of arrows back with which each set of them can
// come first.
func (f *fileArrows) best(group []int) []int {
	const most = 22 // files: sets of them fit into memory
	if len(group) > most {
		return group
	}
	to := make([]uint32, len(group)) // whom each uses
	for i, file := range group {
		for j, other := range group {
			if f.uses[file][other] != nil {
				to[i] |= 1 << j
			}
		}
	}
	cost, last := make([]uint16, 1<<len(group)), make([]uint8, 1<<len(group))
	for set := uint32(1); set < 1<<len(group); set++ {
		cost[set] = 1<<16 - 1
		for i := range group {
			if set&(1<<i) == 0 {
				continue
			}
			// Put last, it uses what is not in the set by arrows back.
			before := set &^ (1 << i)
			if c := cost[before] + uint16(bits.OnesCount32(to[i]&^set)); c < cost[set] {
				cost[set], last[set] = c, uint8(i)
			}
		}
	}
	order := make([]int, len(group))
	set := uint32(1)<<len(group) - 1
	for at := len(order) - 1; at >= 0; at-- {
		order[at] = group[last[set]]
		set &^= 1 << last[set]
	}
	return order
}

// sizeOf returns how many fields and methods a type has.
func (f *fileArrows) sizeOf(name string) (fields, methods int) {
	object, ok := f.pkg.Scope().Lookup(name).(*types.TypeName)
	if !ok {
		return 0, 0
	}
	named := object.Type().(*types.Named)
	return named.Underlying().(*types.Struct).NumFields(), named.NumMethods()
}
