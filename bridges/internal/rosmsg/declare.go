package rosmsg

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Definer is a Message that says its definition itself: one with constants, whose names
// and values count in ROS 1's sums. That of any other follows from its fields.
type Definer interface {
	Message
	// Definition is the message's .msg file as ROS 2 writes it, with or without
	// comments; bounds of arrays and strings are refused.
	Definition() string
}

// Errors of Declare.
var (
	// ErrDeclared: a message of that name is known with another definition.
	ErrDeclared = errors.New("the message is known with another definition")
	// ErrDefinition: the definition can't be used; the message says why.
	ErrDefinition = errors.New("bad message definition")
)

// declared has the definitions of messages from outside, by "pkg/Type". It only grows: a
// definition that is in it never changes.
var declared = struct {
	sync.Mutex
	text map[string]string // guarded by the mutex
}{text: map[string]string{}}

// Declare makes the definition of a message, and of those that it is made of, known to
// Definition and to all that builds on it: schemas, sums and hashes. m is an empty message
// that nothing else uses. Declaring one again changes nothing; one whose name has another
// definition is ErrDeclared, and the first stays. What ROS doesn't allow, and a definition
// whose fields aren't those that the message visits, is ErrDefinition. Any goroutine may
// call it.
func Declare(m Message) error { return declare(m, nil) }

// declare is Declare of a message inside of others.
func declare(m Message, within []string) error {
	name := m.TypeName()
	if slices.Contains(within, name) {
		return fmt.Errorf("%w: %s is made of itself", ErrDefinition, name)
	}
	o, err := outlineOf(m)
	if err != nil {
		return err
	}
	text := o.text()
	if d, ok := m.(Definer); ok {
		if text, err = o.tidy(d.Definition()); err != nil {
			return err
		}
	}
	for _, part := range o.parts {
		if err := declare(part, append(within, name)); err != nil {
			return err
		}
	}
	return o.keep(text)
}

// keep adds the message's definition, unless it has one. Of ours only the fields have to
// agree: their constants and default values stand.
func (o *outline) keep(text string) error {
	embedded, err := definitions.ReadFile("msg/" + o.short + ".msg")
	if err == nil {
		if !slices.Equal(parseFields(o.short, string(embedded)), o.fields) {
			return fmt.Errorf("%s: %w:\n%s", o.short, ErrDeclared, embedded)
		}
		return nil
	}
	declared.Lock()
	defer declared.Unlock()
	switch known, ok := declared.text[o.short]; {
	case !ok:
		if err := o.checkNew(); err != nil {
			return err
		}
		declared.text[o.short] = text
	case known != text:
		return fmt.Errorf("%s: %w:\n%s", o.short, ErrDeclared, known)
	}
	return nil
}

// checkNew refuses what encodings can't do with messages other than ours.
func (o *outline) checkNew() error {
	if len(o.fields) == 0 {
		return fmt.Errorf("%w: %s has no fields", ErrDefinition, o.short)
	}
	for _, f := range o.fields {
		if other := ROS1.FieldName(f.Name); other != f.Name {
			return fmt.Errorf("%w: field %q of %s: the encodings for ROS 1 would call it %q", ErrDefinition, f.Name, o.short, other)
		}
	}
	return nil
}

// declaredDefinition returns what Declare keeps of "pkg/Type".
func declaredDefinition(short string) (string, bool) {
	declared.Lock()
	defer declared.Unlock()
	text, ok := declared.text[short]
	return text, ok
}

var (
	fullName  = regexp.MustCompile(`^[a-z][a-z0-9_]*/msg/[A-Z][A-Za-z0-9]*$`)
	fieldName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	constant  = regexp.MustCompile(`^(\w+)\s+([A-Z][A-Z0-9_]*)\s*=\s*(\S+)$`)
)

// outline is a Visitor that notes a message's fields, and the messages in it.
type outline struct {
	short  string // "pkg/Type"
	fields []field
	parts  []Message
}

// outlineOf visits a message's fields.
func outlineOf(m Message) (*outline, error) {
	name := m.TypeName()
	short, err := shortName(name)
	if err != nil || !fullName.MatchString(name) {
		return nil, fmt.Errorf("%w: want a message type of the form package/msg/Type, not %q", ErrDefinition, name)
	}
	o := &outline{short: short}
	m.Fields(o)
	for i, f := range o.fields {
		twice := slices.ContainsFunc(o.fields[:i], func(g field) bool { return g.Name == f.Name })
		if !fieldName.MatchString(f.Name) || twice {
			return nil, fmt.Errorf("%w: field %q of %s: want lower case letters, digits and underscores, each name once", ErrDefinition, f.Name, name)
		}
	}
	return o, nil
}

// text writes the definition that the fields make.
func (o *outline) text() string {
	var text strings.Builder
	for _, f := range o.fields {
		text.WriteString(f.Type + f.Array + " " + f.Name + "\n")
	}
	return text.String()
}

// tidy returns a definition without comments and spare spaces; its fields must be o's.
func (o *outline) tidy(definition string) (string, error) {
	var text strings.Builder
	for line := range strings.Lines(definition) {
		line, _, _ = strings.Cut(line, "#")
		line = strings.Join(strings.Fields(line), " ")
		if m := constant.FindStringSubmatch(line); m != nil {
			line = m[1] + " " + m[2] + "=" + m[3]
		} else if line != "" && !fieldLine.MatchString(line) {
			return "", fmt.Errorf("%w: %s: can't read the line %q", ErrDefinition, o.short, line)
		}
		if line != "" {
			text.WriteString(line + "\n")
		}
	}
	said := parseFields(o.short, text.String())
	for i, f := range o.fields {
		if i >= len(said) || said[i] != f {
			return "", fmt.Errorf("%w: %s: the code visits %s%s %s as field %d, its definition doesn't", ErrDefinition, o.short, f.Type, f.Array, f.Name, i+1)
		}
	}
	if len(said) > len(o.fields) {
		f := said[len(o.fields)]
		return "", fmt.Errorf("%w: %s: the code doesn't visit %s%s %s", ErrDefinition, o.short, f.Type, f.Array, f.Name)
	}
	return text.String(), nil
}

func (o *outline) add(name, typ, array string) {
	o.fields = append(o.fields, field{Type: typ, Array: array, Name: name})
}

// part notes a message that the outlined one is made of.
func (o *outline) part(name string, m Message, array string) {
	o.add(name, strings.Replace(m.TypeName(), "/msg/", "/", 1), array)
	o.parts = append(o.parts, m)
}

// Those of a Visitor, see there.

func (o *outline) Bool(name string, _ *bool)       { o.add(name, "bool", "") }
func (o *outline) Int8(name string, _ *int8)       { o.add(name, "int8", "") }
func (o *outline) Uint8(name string, _ *uint8)     { o.add(name, "uint8", "") }
func (o *outline) Uint16(name string, _ *uint16)   { o.add(name, "uint16", "") }
func (o *outline) Int32(name string, _ *int32)     { o.add(name, "int32", "") }
func (o *outline) Uint32(name string, _ *uint32)   { o.add(name, "uint32", "") }
func (o *outline) Float32(name string, _ *float32) { o.add(name, "float32", "") }
func (o *outline) Float64(name string, _ *float64) { o.add(name, "float64", "") }
func (o *outline) String(name string, _ *string)   { o.add(name, "string", "") }
func (o *outline) Bytes(name string, _ *Bytes)     { o.add(name, "uint8", "[]") }
func (o *outline) Float64Array(name string, v []float64) {
	o.add(name, "float64", fmt.Sprintf("[%d]", len(v)))
}
func (o *outline) Float64Sequence(name string, _ *[]float64) { o.add(name, "float64", "[]") }
func (o *outline) Float32Sequence(name string, _ *[]float32) { o.add(name, "float32", "[]") }
func (o *outline) Int32Sequence(name string, _ *[]int32)     { o.add(name, "int32", "[]") }
func (o *outline) Message(name string, v Message)            { o.part(name, v, "") }

func (o *outline) Messages(name string, v Messages) {
	o.part(name, v.Append(), "[]")
	v.Clear()
}
