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
	"strings"
	"testing"
)

// kept are the exported names that nothing in the product or its examples uses, with the
// reason why they stay.
var kept = map[string]string{
	"Blocks":      "package cyclone: the tests of ros2dds ask the library what it still holds",
	"Cosine":      "a field of the layout that a shader writes",
	"DVS":         "the options of a type of camera, for programs: Sim.Add",
	"Dialects":    "package reference makes a page of them",
	"DueAt":       "programs that step by a barrier look ahead with it",
	"OpticalFlow": "the options of a type of camera, for programs: Sim.Add",
	"Rigs":        "go generate calls it by the tests of package reference",
	"Semantic":    "the options of a type of camera or lidar, for programs: Sim.Add",
	"SensorsOf":   "programs find their sensors by pattern",
	"XMLName":     "package xml sets it",
}

// exports collects what files declare and what they use. A name counts as used by any other
// mention of it: types aren't looked at.
type exports struct {
	declared map[string]string // the folder, by name
	used     map[string]int
}

// TestExportedNamesAreUsed: the product, an example or a page uses each exported name of the
// product. Constants stand for their group, which may have all values of a wire format.
func TestExportedNamesAreUsed(t *testing.T) {
	all := exports{map[string]string{}, map[string]int{}}
	err := filepath.WalkDir("../..", func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && outside(entry.Name()):
			return filepath.SkipDir
		case entry.IsDir():
			return nil
		}
		return all.read(strings.TrimPrefix(filepath.ToSlash(file), "../../"))
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(all.declared)) {
		reason, isKept := kept[name]
		switch used := all.used[name] > 0; {
		case !used && !isKept:
			t.Errorf("%s: nothing uses %s: delete it, or give the reason why it stays", all.declared[name], name)
		case used && isKept:
			t.Errorf("%s: %s is used: it needs no reason (%s)", all.declared[name], name, reason)
		}
	}
	for name := range kept {
		if all.declared[name] == "" {
			t.Errorf("%s is kept and is not declared", name)
		}
	}
}

var word = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)

// read adds one file.
func (e exports) read(file string) error {
	text, err := os.ReadFile(filepath.Join("../..", file))
	if err != nil {
		return err
	}
	switch {
	case path.Ext(file) == ".md":
		for i, block := range strings.Split(string(text), "```") {
			if i%2 == 1 {
				e.mention(block)
			}
		}
	case strings.HasSuffix(file, "_test.go"):
		e.examples(file, text)
	case path.Ext(file) == ".go":
		parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		e.add(parsed, path.Dir(file), generated.Match(text) || testSupport.MatchString(file))
	}
	return nil
}

// testSupport are packages for tests: their names are for tests, too.
var testSupport = regexp.MustCompile(`(^|/)[a-z0-9]*test(/|$)`)

func (e exports) mention(text string) {
	for _, name := range word.FindAllString(text, -1) {
		e.used[name]++
	}
}

// examples adds what the examples of a test file use, and those of its files that are
// examples as a whole.
func (e exports) examples(file string, text []byte) {
	if strings.HasPrefix(path.Base(file), "example") {
		e.mention(string(text))
		return
	}
	for _, part := range strings.Split(string(text), "\nfunc ") {
		if strings.HasPrefix(part, "Example") {
			body, _, _ := strings.Cut(part, "\n}\n")
			e.mention(body)
		}
	}
}

// add adds a product file. usesOnly leaves out what it declares.
func (e exports) add(file *ast.File, folder string, usesOnly bool) {
	declares := map[*ast.Ident]bool{}
	declare := func(needed bool, names ...*ast.Ident) {
		for _, name := range names {
			declares[name] = true
			if needed && name.IsExported() && !usesOnly {
				e.declared[name.Name] = folder
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			declare(n.Recv == nil || !standard[n.Name.Name], n.Name)
		case *ast.TypeSpec:
			declare(true, n.Name)
		case *ast.GenDecl:
			for _, spec := range n.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok {
					declare(n.Tok == token.VAR || len(n.Specs) == 1, v.Names...)
				}
			}
		case *ast.Field:
			declare(n.Tag == nil, n.Names...) // what has a tag is read by its name
		case *ast.Ident:
			if !declares[n] {
				e.used[n.Name]++
			}
		}
		return true
	})
}

// standard are methods that the standard library calls.
var standard = map[string]bool{"MarshalJSON": true, "UnmarshalJSON": true, "MarshalText": true, "Less": true, "Hijack": true, "String": true, "Error": true}
