package deps_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// kept are the exported names of internal/ and cmd/ that only their own package uses, and the
// methods and fields that nothing uses, with the reason why they stay. A package-level name has
// its folder before it. A folder alone stands for all names in it.
var kept = map[string]string{
	"Cosine":    "a field of the layout that a shader writes",
	"DueAt":     "programs that step by a barrier look ahead with it",
	"SensorsOf": "programs find their sensors by pattern",
	"Debugf":    "NATS's server logs by it",
	"Noticef":   "NATS's server logs by it",
	"Tracef":    "NATS's server logs by it",
	"Warnf":     "NATS's server logs by it",
	"XMLName":   "package xml sets it",

	"bridges/internal/rosbridgev2.AppendAdvertise":        "its tests compare the frames that it writes",
	"bridges/internal/rosbridgev2.AppendAdvertiseService": "its tests compare the frames that it writes",
	"bridges/internal/rosbridgev2.AppendSubscribe":        "its tests compare the frames that it writes",
	"bridges/internal/rosbridgev2.ParseRaw":               "its tests read frames with it",
	"bridges/internal/rossample":                          "bridges convert by its tables, its tests one by one",
	"cmd/raybridge/internal/control.NewHandler":           "its tests serve it without a listener",
	"cmd/raybridge/internal/reference.Rigs":               "go generate calls it by the package's tests",
	"cmd/raybridge/internal/reference.Lidars":             "go generate calls it by the package's tests",
	"cmd/raybridge/internal/reference.Weather":            "go generate calls it by the package's tests",
	"cmd/raybridge/internal/save.AppendPCD":               "its tests read what it writes",
	"cmd/raybridge/internal/save.AppendPLY":               "its tests read what it writes",
	"cmd/raybridge/internal/save.CloudPoints":             "its tests write single clouds",
	"cmd/raybridge/internal/save.ReportFile":              "its tests read the file of that name",
}

// named is a package-level name and the folder of its package.
type named struct{ folder, name string }

func (n named) String() string { return n.folder + "." + n.name }

// exports is what the module's files declare for others, and what they use of one another.
type exports struct {
	module   string
	declared map[named][]named // the others of its group for a constant, which stands for the group
	used     map[named]bool    // by a package in another folder, its tests too
	shown    map[string]bool   // words of pages and examples
	members  map[string]string // methods and fields: the folder by the name
	mentions map[string]int    // by product code, pages and examples
}

// TestExportedNamesAreUsed: others use each exported name: a package in another folder or its
// tests, a page, an example, or another exported declaration, of whose type or signature the
// name is a part. A constant stands for its group, which may have all values of a wire format. A
// sentinel may be for the package's own tests, which ask which error it is.
// In internal/ and cmd/ a name needs a reason otherwise. Elsewhere it may be for programs that
// embed raybridge: go test -v lists those. Methods and fields have to be mentioned anywhere:
// types aren't looked at.
func TestExportedNamesAreUsed(t *testing.T) {
	all := exports{"", map[named][]named{}, map[named]bool{}, map[string]bool{}, map[string]string{}, map[string]int{}}
	modfile, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	all.module = strings.Fields(string(modfile))[1]
	if err := filepath.WalkDir("../..", func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && outside(entry.Name()):
			return filepath.SkipDir
		case entry.IsDir():
			return nil
		}
		return all.read(strings.TrimPrefix(filepath.ToSlash(file), "../../"))
	}); err != nil {
		t.Fatal(err)
	}
	var forPrograms []string
	unused := map[string]bool{}
	for n, group := range all.declared {
		switch {
		case all.uses(n) || slices.ContainsFunc(group, all.uses):
		case !inside.MatchString(n.folder + "/"):
			forPrograms = append(forPrograms, n.String())
		case kept[n.folder] != "":
			unused[n.folder] = true
		default:
			unused[n.String()] = true
		}
	}
	for name, folder := range all.members {
		if all.mentions[name] == 0 {
			unused[name] = true
			if kept[name] == "" {
				t.Logf("%s has %s", folder, name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(unused)) {
		if kept[name] == "" {
			t.Errorf("nobody else uses %s: delete it, begin it with a small letter, or give the reason why it stays", name)
		}
	}
	for name, reason := range kept {
		if !unused[name] {
			t.Errorf("%s is used, or gone: it needs no reason (%s)", name, reason)
		}
	}
	slices.Sort(forPrograms)
	t.Logf("%d names that only their own package and its tests use:\n%s", len(forPrograms), strings.Join(forPrograms, "\n"))
}

var (
	word = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)
	// inside matches folders whose packages no other module can import.
	inside = regexp.MustCompile(`(^|/)internal/|^cmd/`)
	// testSupport matches packages for tests: their names are for tests, too.
	testSupport = regexp.MustCompile(`(^|/)[a-z0-9]*test(/|$)`)
)

func (e *exports) uses(n named) bool { return e.used[n] || e.shown[n.name] }

// read adds one file.
func (e *exports) read(file string) error {
	kind := path.Ext(file)
	if kind != ".md" && kind != ".go" {
		return nil
	}
	text, err := os.ReadFile(filepath.Join("../..", file))
	if err != nil {
		return err
	}
	if kind == ".md" {
		for i, block := range strings.Split(string(text), "```") {
			if i%2 == 1 {
				e.show(block)
			}
		}
		return nil
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	e.use(parsed, path.Dir(file))
	switch {
	case strings.HasSuffix(file, "_test.go"):
		e.examples(file, string(text))
	default:
		e.add(parsed, path.Dir(file), generated.Match(text) || testSupport.MatchString(file))
	}
	return nil
}

// show adds the words of a text that readers see.
func (e *exports) show(text string) {
	for _, name := range word.FindAllString(text, -1) {
		e.shown[name] = true
		e.mentions[name]++
	}
}

// examples adds what the examples of a test file use, and those of its files that are
// examples as a whole.
func (e *exports) examples(file, text string) {
	if strings.HasPrefix(path.Base(file), "example") {
		e.show(text)
		return
	}
	for _, part := range strings.Split(text, "\nfunc ") {
		if strings.HasPrefix(part, "Example") {
			body, _, _ := strings.Cut(part, "\n}\n")
			e.show(body)
		}
	}
}

// use adds what a file uses of packages in other folders.
func (e *exports) use(file *ast.File, folder string) {
	folders := map[string]string{} // by the name under which the file has the package
	for _, spec := range file.Imports {
		full, _ := strconv.Unquote(spec.Path.Value) // it was parsed
		from, ours := strings.CutPrefix(full+"/", e.module+"/")
		from = path.Clean(from)
		if !ours {
			continue
		}
		name := path.Base(full)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		folders[name] = from
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok {
				if from := folders[x.Name]; from != folder || strings.HasPrefix(s.Sel.Name, "Err") {
					e.used[named{from, s.Sel.Name}] = true
				}
			}
		}
		return true
	})
}

// add adds what a product file declares, or only mentions.
func (e *exports) add(file *ast.File, folder string, mentionsOnly bool) {
	declares := map[*ast.Ident]bool{}
	member := func(needed bool, names ...*ast.Ident) {
		for _, name := range names {
			declares[name] = true
			if needed && name.IsExported() && !mentionsOnly {
				e.members[name.Name] = folder
			}
		}
	}
	for _, d := range file.Decls {
		if mentionsOnly || file.Name.Name == "main" {
			break
		}
		e.declare(d, folder)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			member(n.Recv != nil && !standard[n.Name.Name], n.Name)
		case *ast.Field:
			member(n.Tag == nil, n.Names...) // what has a tag is read by its name
		case *ast.Ident:
			if !declares[n] {
				e.mentions[n.Name]++
			}
		}
		return true
	})
}

// declare adds the package-level names of a declaration, and uses those that the types and
// signatures of exported ones are made of.
func (e *exports) declare(d ast.Decl, folder string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if !d.Name.IsExported() {
			return
		}
		if d.Recv == nil {
			e.declared[named{folder, d.Name.Name}] = nil
		}
		e.part(d.Type, folder)
	case *ast.GenDecl:
		var group []named
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				if spec.Name.IsExported() {
					e.declared[named{folder, spec.Name.Name}] = nil
					e.part(spec.Type, folder)
				}
			case *ast.ValueSpec:
				for _, name := range spec.Names {
					if name.IsExported() {
						group = append(group, named{folder, name.Name})
					}
				}
				if spec.Type != nil {
					e.part(spec.Type, folder)
				}
			}
		}
		for _, n := range group {
			e.declared[n] = nil
			if d.Tok == token.CONST {
				e.declared[n] = group
			}
		}
	}
}

// part uses the package's own types in an expression of a type.
func (e *exports) part(typ ast.Expr, folder string) {
	ast.Inspect(typ, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			return false // of another package
		case *ast.StructType:
			for _, f := range n.Fields.List {
				if len(f.Names) == 0 || slices.ContainsFunc(f.Names, (*ast.Ident).IsExported) {
					e.part(f.Type, folder)
				}
			}
			return false
		case *ast.Ident:
			if n.IsExported() {
				e.used[named{folder, n.Name}] = true
			}
		}
		return true
	})
}

// standard are methods that the standard library calls.
var standard = map[string]bool{"MarshalJSON": true, "UnmarshalJSON": true, "MarshalText": true, "Less": true, "Hijack": true, "String": true, "Error": true}
