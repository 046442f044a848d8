package reference

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/raybridge/raybridge/bridges/stream"
	"github.com/raybridge/raybridge/sensors"
)

// Definitions returns docs/raybridge-msgs.md: the messages that sensors' data goes in where ROS has
// none that holds it whole. The comments are those of the Go structures, read below root. It is
// here since only the test that writes the page has the sources.
func Definitions(types *sensors.Registry, root string) ([]byte, error) {
	texts, structures := map[string]string{}, map[string]reflect.Type{}
	for _, t := range published(types) {
		encoding, err := stream.EncodingOf(t)
		if err != nil {
			return nil, err
		}
		first := "MSG: " + strings.Replace(encoding.Schema.Name, "/msg/", "/", 1) + "\n"
		for _, part := range strings.Split(first+string(encoding.Schema.Data), strings.Repeat("=", 80)+"\n") {
			name, text, _ := strings.Cut(strings.TrimPrefix(part, "MSG: "), "\n")
			if name, ok := strings.CutPrefix(name, "raybridge_msgs/"); ok {
				texts[name] = strings.TrimSpace(text)
			}
		}
		addStructures(structures, t)
	}
	var p page
	p.WriteString(notice + `
# raybridge_msgs

These messages carry what ROS has no message for that holds it whole. They have the fields of the samples in Go, in
their order; the comments are the samples', and name fields as Go does. [messages.md](messages.md) has the bridges that send them.

`)
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		source, err := sourceOf(root, structures[name])
		if err != nil {
			return nil, err
		}
		p.printf("## raybridge_msgs/%s\n\n%s\n\n```\n", name, source.doc)
		for i, line := range strings.Split(texts[name], "\n") {
			for comment := range strings.Lines(source.fields[i]) {
				p.printf("# %s\n", strings.Join(wrap(comment, 100), "\n# "))
			}
			p.printf("%s\n", line)
		}
		p.WriteString("```\n\n")
	}
	return []byte(strings.TrimRight(p.String(), "\n") + "\n"), nil
}

// addStructures adds the structures that a type is made of, by their names.
func addStructures(all map[string]reflect.Type, t reflect.Type) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		addStructures(all, t.Elem())
	case reflect.Struct:
		all[t.Name()] = t
		for i := range t.NumField() {
			addStructures(all, t.Field(i).Type)
		}
	}
}

// source is what the source of a structure says of it and of each field, in lines.
type source struct {
	doc    string
	fields []string
}

// sourceOf reads the comments of a structure.
func sourceOf(root string, t reflect.Type) (s source, err error) {
	err = eachDeclaration(root, t, func(d *ast.GenDecl) {
		for _, spec := range d.Specs {
			declared, ok := spec.(*ast.TypeSpec)
			if !ok || declared.Name.Name != t.Name() {
				continue
			}
			s.doc = oneLine(d.Doc)
			for _, f := range declared.Type.(*ast.StructType).Fields.List {
				text := strings.TrimSpace(oneLine(f.Doc) + " " + oneLine(f.Comment))
				s.fields = append(s.fields, text)
				for range len(f.Names) - 1 {
					s.fields = append(s.fields, "")
				}
			}
		}
	})
	for i := 0; err == nil && i < t.NumField(); i++ {
		var values string
		values, err = valuesOf(root, t.Field(i).Type)
		s.fields[i] = strings.TrimSpace(s.fields[i] + "\n" + values)
	}
	return s, err
}

// valuesOf lists the constants of a type that counts from 0: "0 SignalRed, 1 SignalYellow".
func valuesOf(root string, t reflect.Type) (string, error) {
	if t.Kind() != reflect.Uint8 || t.PkgPath() == "" {
		return "", nil
	}
	var names []string
	err := eachDeclaration(root, t, func(d *ast.GenDecl) {
		of, ok := d.Specs[0].(*ast.ValueSpec)
		if !ok || d.Tok != token.CONST {
			return
		}
		if declared, ok := of.Type.(*ast.Ident); ok && declared.Name == t.Name() {
			for i, spec := range d.Specs {
				names = append(names, fmt.Sprint(i, " ", spec.(*ast.ValueSpec).Names[0]))
			}
		}
	})
	return strings.Join(names, ", "), err
}

// eachDeclaration calls see with the groups of declarations of a type's package.
func eachDeclaration(root string, t reflect.Type, see func(*ast.GenDecl)) error {
	_, folder, _ := strings.Cut(t.PkgPath(), "/raybridge/raybridge/")
	files, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
	if err != nil {
		return err
	}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range parsed.Decls {
			if d, ok := d.(*ast.GenDecl); ok && len(d.Specs) > 0 {
				see(d)
			}
		}
	}
	return nil
}

// oneLine is a comment's text without line breaks.
func oneLine(c *ast.CommentGroup) string { return strings.Join(strings.Fields(c.Text()), " ") }
