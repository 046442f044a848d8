package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// understood are methods that need no example: their names say what they do
// wherever they are, and programs mostly don't call them themselves.
var understood = map[string]bool{"String": true, "Error": true, "Unwrap": true, "Is": true, "IsZero": true}

// The packages that other programs embed are learnt from their examples: each
// exported function and method is used in one.
func TestExamplesShowEveryEntry(t *testing.T) {
	for _, name := range []string{"readback", "dispatch", "simtime"} {
		t.Run(name, func(t *testing.T) {
			entries, used := map[string]string{}, map[string]bool{}
			for path, file := range parseFolder(t, filepath.Join("..", name)) {
				if strings.HasSuffix(path, "_test.go") {
					collectUses(file, name, used)
				} else {
					collectEntries(file, entries)
				}
			}
			require.Greater(t, len(entries), 10)
			require.Greater(t, len(used), 10, "no examples were found")
			for _, entry := range slices.Sorted(maps.Keys(entries)) {
				assert.True(t, used[entries[entry]], "no example of %s uses %s", name, entry)
			}
		})
	}
}

// TestNamedExamplesExist: each example that the page of embedding names is there.
func TestNamedExamplesExist(t *testing.T) {
	there := map[string]bool{}
	for _, folder := range []string{"readback", "dispatch", "simtime"} {
		for _, file := range parseFolder(t, filepath.Join("..", folder)) {
			for _, d := range file.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && strings.HasPrefix(f.Name.Name, "Example") {
					there[strings.ReplaceAll(strings.TrimPrefix(f.Name.Name, "Example"), "_", ".")] = true
				}
			}
		}
	}
	page, err := os.ReadFile("embedding.md")
	require.NoError(t, err)
	lists := regexp.MustCompile(`(?s)\nExamples: (.*?)\.\s`).FindAllSubmatch(page, -1)
	require.Len(t, lists, 3, "readback, dispatch and simtime")
	for _, list := range lists {
		names := regexp.MustCompile("`([^`]+)`").FindAllSubmatch(list[1], -1)
		assert.NotEmpty(t, names)
		for _, name := range names {
			assert.True(t, there[string(name[1])], "no example of %s", name[1])
		}
	}
}

// parseFolder parses the Go files of a folder, whatever they are built for.
func parseFolder(t *testing.T, folder string) map[string]*ast.File {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
	require.NoError(t, err)
	files := map[string]*ast.File{}
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		files[path] = file
	}
	return files
}

// collectEntries adds the exported functions, and the exported methods of exported types, those
// of interfaces too. It has them by name how they are used, "New" for a function and ".Start"
// for a method.
func collectEntries(file *ast.File, entries map[string]string) {
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			switch name := d.Name.Name; {
			case !d.Name.IsExported():
			case d.Recv == nil:
				entries[name] = name
			case ast.IsExported(receiver(d.Recv.List[0].Type)) && needsExample(name):
				entries[receiver(d.Recv.List[0].Type)+"."+name] = "." + name
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if s, ok := s.(*ast.TypeSpec); ok && s.Name.IsExported() {
					collectInterface(s, entries)
				}
			}
		}
	}
}

// collectInterface adds the methods of a type, if it is an interface.
func collectInterface(s *ast.TypeSpec, entries map[string]string) {
	i, ok := s.Type.(*ast.InterfaceType)
	if !ok {
		return
	}
	for _, method := range i.Methods.List {
		for _, n := range method.Names {
			if n.IsExported() && needsExample(n.Name) {
				entries[s.Name.Name+"."+n.Name] = "." + n.Name
			}
		}
	}
}

func needsExample(method string) bool {
	return !understood[method] && !strings.HasPrefix(method, "Marshal") && !strings.HasPrefix(method, "Unmarshal")
}

// receiver returns the name of a receiver's type: Pool for *Pool[D, E].
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// collectUses adds what a file of examples uses. That is selectors of the package as functions,
// and all others as methods. It adds methods that types of the file have, since an interface is
// shown by implementing it. The whole file counts where it has an Example: what that calls
// stands beside it.
func collectUses(file *ast.File, name string, used map[string]bool) {
	if !hasExample(file) {
		return
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == name {
				used[n.Sel.Name] = true
			} else {
				used["."+n.Sel.Name] = true
			}
		case *ast.FuncDecl:
			if n.Recv != nil {
				used["."+n.Name.Name] = true
			}
		}
		return true
	})
}

func hasExample(file *ast.File) bool {
	return slices.ContainsFunc(file.Decls, func(d ast.Decl) bool {
		f, ok := d.(*ast.FuncDecl)
		return ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Example")
	})
}
