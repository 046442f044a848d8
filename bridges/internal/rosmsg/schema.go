package rosmsg

import (
	"embed"
	"fmt"
	"regexp"
	"strings"
)

//go:embed msg srv
var definitions embed.FS

// separator stands between the definitions of a ros2msg schema (MCAP's registry
// of well-known schema encodings).
var separator = strings.Repeat("=", 80) + "\n"

// Schema returns the text that MCAP calls ros2msg for a message's full name: its
// definition, then that of each message it is made of, in the order of their
// first mention. It is an error if there is no definition.
func Schema(typeName string) (string, error) {
	root, err := shortName(typeName)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	queue := []string{root}
	seen := map[string]bool{root: true}
	for i := 0; i < len(queue); i++ {
		name := queue[i]
		definition, err := Definition(name)
		if err != nil {
			return "", fmt.Errorf("schema of %s: %w", typeName, err)
		}
		if i > 0 {
			text.WriteString(separator + "MSG: " + name + "\n")
		}
		text.WriteString(definition)
		for _, f := range parseFields(name, definition) {
			if strings.Contains(f.Type, "/") && !seen[f.Type] {
				seen[f.Type] = true
				queue = append(queue, f.Type)
			}
		}
	}
	return text.String(), nil
}

// Definition returns the .msg file of the message "pkg/Type", ours or one that was
// declared.
func Definition(name string) (string, error) {
	text, err := definitions.ReadFile("msg/" + name + ".msg")
	if err != nil {
		if text, ok := declaredDefinition(name); ok {
			return text, nil
		}
		return "", fmt.Errorf("read definition of %s: %w", name, err)
	}
	return string(text), nil
}

// shortName turns "pkg/msg/Type" into "pkg/Type".
func shortName(typeName string) (string, error) {
	pkg, name, ok := strings.Cut(typeName, "/msg/")
	if !ok || pkg == "" || name == "" {
		return "", fmt.Errorf("message type %q is not of the form package/msg/Type", typeName)
	}
	return pkg + "/" + name, nil
}

// field is one field of a definition.
type field struct {
	// Type is a primitive's name or "pkg/Type", without array brackets.
	Type string
	// Array is "" for a single value, "[]" for any number, "[N]" for N of them.
	Array string
	Name  string
}

var (
	fieldLine    = regexp.MustCompile(`^([A-Za-z][\w/]*)(\[\d*\])?\s+([a-z]\w*)(\s+\S+)?$`)
	constantLine = regexp.MustCompile(`^\w+\s+[A-Z]\w*\s*=`)
)

// parseFields reads the fields of the definition of message name ("pkg/Type").
// A type without a package is the message's own package's.
func parseFields(name, definition string) []field {
	pkg, _, _ := strings.Cut(name, "/")
	var fields []field
	for line := range strings.Lines(definition) {
		line = strings.TrimSpace(line)
		if line == "" || constantLine.MatchString(line) {
			continue
		}
		m := fieldLine.FindStringSubmatch(line)
		if m == nil {
			panic(fmt.Sprintf("rosmsg: %s: can't read the line %q", name, line))
		}
		typ := m[1]
		if typ[0] >= 'A' && typ[0] <= 'Z' {
			typ = pkg + "/" + typ
		}
		fields = append(fields, field{Type: typ, Array: m[2], Name: m[3]})
	}
	return fields
}
