package ros

import (
	"embed"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

//go:generate go run github.com/raybridge/raybridge/internal/gen messages

//go:embed msg srv
var definitions embed.FS

// Field is one field of a message's definition.
type Field struct {
	// Type is a primitive's name, such as "uint32", or a message's full name, such as
	// "std_msgs/msg/Header"; without bounds and the brackets of an array.
	Type string
	// Message says that Type is a message's name.
	Message bool
	// Bound is N of a string<=N, 0 without.
	Bound int
	// Array is "" for a single value, "[]" for any number, "[N]" for N of them, "[<=N]" for
	// N at most.
	Array string
	Name  string
}

// Line is a field or a constant of a definition.
type Line struct {
	Field
	// Written is the type's name as the line has it: "Pose" for "geometry_msgs/msg/Pose"
	// perhaps. Empty is "pkg/Type".
	Written string
	// Constant says that the line is a constant.
	Constant bool
	// Value is a constant's value, or a field's default, as it is written; else empty.
	Value string
}

// String returns the line as a definition has it.
func (l Line) String() string {
	text := l.Written
	if text == "" {
		text = strings.Replace(l.Type, "/msg/", "/", 1)
	}
	if l.Bound > 0 {
		text += "<=" + strconv.Itoa(l.Bound)
	}
	text += l.Array + " " + l.Name
	switch {
	case l.Constant:
		return text + "=" + l.Value
	case l.Value != "":
		return text + " " + l.Value
	}
	return text
}

var (
	fieldLine    = regexp.MustCompile(`^([A-Za-z]\w*(?:/[A-Za-z]\w*)?)(?:<=(\d+))?(\[(?:<=)?\d*\])?\s+([A-Za-z]\w*)(?:\s+(\S.*))?$`)
	constantLine = regexp.MustCompile(`^([a-z]\w*)(?:<=(\d+))?\s+([A-Z]\w*)\s*=\s*(\S.*)$`)
)

// Lines reads the definition of the message "pkg/Type" (rosidl's .msg files, ROS 2
// "Interfaces"): its fields and constants in their order, without comments. A type without
// a package is the message's own package's.
func Lines(message, definition string) ([]Line, error) {
	var lines []Line
	for text := range strings.Lines(definition) {
		text, _, _ = strings.Cut(text, "#")
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		l, ok := parseLine(message, text)
		if !ok {
			return nil, fmt.Errorf("%w: %s: can't read the line %q", ErrDefinition, message, text)
		}
		lines = append(lines, l)
	}
	return lines, nil
}

func parseLine(message, text string) (Line, bool) {
	if m := constantLine.FindStringSubmatch(text); m != nil {
		bound, err := bound(m[2])
		return Line{Field: Field{Type: m[1], Bound: bound, Name: m[3]}, Constant: true, Value: m[4]}, err == nil
	}
	m := fieldLine.FindStringSubmatch(text)
	if m == nil {
		return Line{}, false
	}
	bound, err := bound(m[2])
	f := Field{Type: m[1], Bound: bound, Array: m[3], Name: m[4]}
	pkg, name, ok := strings.Cut(f.Type, "/")
	switch {
	case ok:
		f.Type, f.Message = pkg+"/msg/"+name, true
	case f.Type[0] >= 'A' && f.Type[0] <= 'Z':
		pkg, _, _ = strings.Cut(message, "/")
		f.Type, f.Message = pkg+"/msg/"+f.Type, true
	}
	return Line{Field: f, Written: m[1], Value: m[5]}, err == nil && (f.Bound == 0 || f.Type == KindString.String())
}

func bound(digits string) (int, error) {
	if digits == "" {
		return 0, nil
	}
	return strconv.Atoi(digits)
}

// Fields returns the fields of a message's definition in their order; its full name is
// of the form package/msg/Type. It is an error if there is no definition.
func Fields(typeName string) ([]Field, error) {
	name, err := shortName(typeName)
	if err != nil {
		return nil, err
	}
	definition, err := MessageFile(name)
	if err != nil {
		return nil, err
	}
	lines, err := Lines(name, definition)
	if err != nil {
		return nil, err
	}
	return fieldsOf(lines), nil
}

func fieldsOf(lines []Line) []Field {
	fields := make([]Field, 0, len(lines))
	for _, l := range lines {
		if !l.Constant {
			fields = append(fields, l.Field)
		}
	}
	return fields
}

// separator stands between the messages of a whole definition.
var separator = strings.Repeat("=", 80) + "\n"

// MessageFile returns the .msg file of the message "pkg/Type", without comments: ours or
// that of one that was declared.
func MessageFile(name string) (string, error) {
	text, err := definitions.ReadFile("msg/" + name + ".msg")
	if err == nil {
		return bare(string(text)), nil
	}
	if d := declaredMessage(name); d != nil {
		return d.text, nil
	}
	return "", fmt.Errorf("read definition of %s: %w", name, err)
}

// bare returns a definition without comments and empty lines.
func bare(definition string) string {
	var text strings.Builder
	for line := range strings.Lines(definition) {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line != "" {
			text.WriteString(line + "\n")
		}
	}
	return text.String()
}

// Definition returns the definition of a message, for its full name. It has those of all
// messages that it is made of, each once and without comments. It is an error if one of them
// isn't known.
//
// ROS 2's is the text that MCAP calls ros2msg: the parts follow in the order of their first
// mention. ROS 1's is what publishers send: a message comes before its parts.
func (version Version) Definition(typeName string) (string, error) {
	if version == ROS1 {
		return definition1(typeName)
	}
	root, err := shortName(typeName)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	queue := []string{root}
	for i := 0; i < len(queue); i++ {
		name := queue[i]
		definition, err := MessageFile(name)
		if err != nil {
			return "", fmt.Errorf("definition of %s: %w", typeName, err)
		}
		if i > 0 {
			text.WriteString(separator + "MSG: " + name + "\n")
		}
		text.WriteString(definition)
		lines, err := Lines(name, definition)
		if err != nil {
			return "", fmt.Errorf("definition of %s: %w", typeName, err)
		}
		for _, f := range fieldsOf(lines) {
			if short := strings.Replace(f.Type, "/msg/", "/", 1); f.Message && !slices.Contains(queue, short) {
				queue = append(queue, short)
			}
		}
	}
	return text.String(), nil
}

// shortName turns "pkg/msg/Type" into "pkg/Type".
func shortName(typeName string) (string, error) {
	pkg, name, ok := strings.Cut(typeName, "/msg/")
	if !ok || pkg == "" || name == "" {
		return "", fmt.Errorf("message type %q is not of the form package/msg/Type", typeName)
	}
	return pkg + "/" + name, nil
}

// Service is a type of service.
type Service struct {
	// Type is its full name, such as "std_srvs/srv/SetBool".
	Type string
	// NewRequest and NewResponse return empty messages.
	NewRequest, NewResponse func() Message
}

// ServiceDefinition returns the definitions of a service's request and response, for its
// full name, without comments.
func ServiceDefinition(typeName string) (request, response string, err error) {
	name := strings.Replace(typeName, "/srv/", "/", 1)
	text, err := definitions.ReadFile("srv/" + name + ".srv")
	if err != nil || name == typeName {
		return "", "", fmt.Errorf("service type %q is not known", typeName)
	}
	request, response, _ = strings.Cut(bare(string(text)), "---\n")
	return request, response, nil
}
