package deps_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// declaredOnce are types of concepts that many rooms speak of. Each has one declaration.
var declaredOnce = []string{"Cause", "Delivery", "Geodetic", "Latency", "Lights", "Origin", "Outcome", "PanicError", "Policy", "QoS", "Rate", "SignalState", "Stamp", "Stamped", "Status", "StepResult"}

func TestConceptsAreDeclaredOnce(t *testing.T) {
	declared := map[string][]string{}
	err := filepath.WalkDir("../..", func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && outside(entry.Name()):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go"):
			return nil
		}
		return addTypes(declared, file)
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range declaredOnce {
		if files := declared[name]; len(files) != 1 {
			t.Errorf("the type %s is declared in %q: use the one that is there", name, files)
		}
	}
}

// addTypes adds the types that a file declares, unless it is generated.
func addTypes(declared map[string][]string, file string) error {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil || ast.IsGenerated(parsed) {
		return err
	}
	for _, d := range parsed.Decls {
		types, ok := d.(*ast.GenDecl)
		if !ok || types.Tok != token.TYPE {
			continue
		}
		for _, spec := range types.Specs {
			name := spec.(*ast.TypeSpec).Name.Name
			declared[name] = append(declared[name], file)
		}
	}
	return nil
}

// outside reports whether a folder holds what the module doesn't build.
func outside(folder string) bool {
	return strings.HasPrefix(folder, ".") && folder != ".." || slices.Contains([]string{"testdata", "out", "bin", "node_modules"}, folder)
}
