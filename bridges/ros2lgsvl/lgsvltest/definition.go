package lgsvltest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Definition is what a .msg file says (ROS 2 documentation, "Interface definition").
type Definition struct {
	// Name is "package/Name".
	Name   string
	Fields []Field
}

// Field is one member of a message.
type Field struct {
	Name string
	// Type is a primitive's name, or "" where Message is set.
	Type    string
	Message *Definition
	// Array is the number of elements of an array of fixed size, Sequence for those of
	// any size, Single for a value that is none.
	Array int
}

// Arrays that aren't of fixed size.
const (
	Single   = 0
	Sequence = -1
)

// ErrDefinition says that a .msg file can't be read.
var ErrDefinition = errors.New("bad message definition")

// sizes of primitives on the wire, bytes; a string's is that of its length.
var sizes = map[string]int{
	"bool": 1, "byte": 1, "char": 1, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4,
	"int64": 8, "uint64": 8, "float32": 4, "float64": 8, "string": 4,
}

// Load reads the definition of "package/Name" and all it is made of. text returns the
// content of a .msg file.
func Load(name string, text func(name string) (string, error)) (*Definition, error) {
	return load(name, text, nil)
}

func load(name string, text func(string) (string, error), within []string) (*Definition, error) {
	if len(within) > 32 {
		return nil, fmt.Errorf("%w: %s contains itself", ErrDefinition, within[0])
	}
	pkg, base, ok := strings.Cut(name, "/")
	if !ok || pkg == "" || base == "" || strings.Contains(base, "/") {
		return nil, fmt.Errorf("%w: type %q isn't package/Name", ErrDefinition, name)
	}
	content, err := text(name)
	if err != nil {
		return nil, err
	}
	d := &Definition{Name: name}
	for line := range strings.Lines(content) {
		f, typ, err := parseLine(line)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if typ == "" {
			continue
		}
		if _, primitive := sizes[typ]; primitive {
			f.Type = typ
		} else {
			if !strings.Contains(typ, "/") {
				typ = pkg + "/" + typ
			}
			if f.Message, err = load(typ, text, append(within, name)); err != nil {
				return nil, err
			}
		}
		d.Fields = append(d.Fields, f)
	}
	if len(d.Fields) == 0 { // as rosidl has it
		d.Fields = []Field{{Name: "structure_needs_at_least_one_member", Type: "uint8"}}
	}
	return d, nil
}

// parseLine reads a line: TYPE NAME [DEFAULT], TYPE NAME=CONSTANT, or nothing.
func parseLine(line string) (f Field, typ string, err error) {
	line, _, _ = strings.Cut(line, "#")
	words := strings.Fields(line)
	if len(words) == 0 {
		return f, "", nil
	}
	if len(words) < 2 {
		return f, "", fmt.Errorf("%w: line %q", ErrDefinition, line)
	}
	if name, _, constant := strings.Cut(strings.Join(words[1:], " "), "="); constant && strings.ToUpper(name) == name {
		return f, "", nil
	}
	f.Name = words[1]
	typ, bounds, isArray := strings.Cut(words[0], "[")
	typ, _, _ = strings.Cut(typ, "<=")
	if isArray {
		bounds, closed := strings.CutSuffix(bounds, "]")
		if !closed {
			return f, "", fmt.Errorf("%w: line %q", ErrDefinition, line)
		}
		f.Array = Sequence
		if bounds != "" && !strings.HasPrefix(bounds, "<=") {
			if f.Array, err = strconv.Atoi(bounds); err != nil || f.Array < 1 {
				return f, "", fmt.Errorf("%w: line %q", ErrDefinition, line)
			}
		}
	}
	return f, typ, nil
}
