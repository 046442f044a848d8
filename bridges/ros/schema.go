package ros

import (
	"embed"
	"fmt"
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
		lines, err := Lines(name, definition)
		if err != nil {
			return "", fmt.Errorf("schema of %s: %w", typeName, err)
		}
		for _, f := range fieldsOf(lines) {
			short := strings.Replace(f.Type, "/msg/", "/", 1)
			if f.Message && !seen[short] {
				seen[short] = true
				queue = append(queue, short)
			}
		}
	}
	return text.String(), nil
}

// Definition returns the .msg file of the message "pkg/Type", ours or one that was
// declared.
func Definition(name string) (string, error) {
	text, err := definitions.ReadFile("msg/" + name + ".msg")
	if err == nil {
		return string(text), nil
	}
	if d := declaredMessage(name); d != nil {
		return d.text, nil
	}
	return "", fmt.Errorf("read definition of %s: %w", name, err)
}

// shortName turns "pkg/msg/Type" into "pkg/Type".
func shortName(typeName string) (string, error) {
	pkg, name, ok := strings.Cut(typeName, "/msg/")
	if !ok || pkg == "" || name == "" {
		return "", fmt.Errorf("message type %q is not of the form package/msg/Type", typeName)
	}
	return pkg + "/" + name, nil
}
