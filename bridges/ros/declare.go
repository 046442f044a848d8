package ros

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Definer is a Message that says its definition itself. It has constants, whose names and
// values count in ROS 1's sums, bounds, or fields of the types byte and char. That of any other
// follows from its fields.
type Definer interface {
	Message
	// Definition is the message's .msg file as ROS 2 writes it, with or without comments.
	Definition() string
}

// Errors of Declare.
var (
	// ErrDeclared: a message of that name is known with another definition.
	ErrDeclared = errors.New("the message is known with another definition")
	// ErrDefinition: the definition can't be used; the message says why.
	ErrDefinition = errors.New("bad message definition")
)

// declaration is what is known of a message from outside.
type declaration struct {
	text    string
	renamed map[string]string // the fields that ROS 1 has other names for
}

// declared has the messages from outside, by "pkg/Type". It only grows: a declaration that
// is in it never changes.
var declared = struct {
	sync.Mutex
	messages map[string]*declaration // guarded by the mutex
}{messages: map[string]*declaration{}}

// declaredMessage returns what Declare keeps of "pkg/Type", nil for nothing.
func declaredMessage(short string) *declaration {
	declared.Lock()
	defer declared.Unlock()
	return declared.messages[short]
}

// Declare makes the definition of a message, and of those that it is made of, known to
// Definition. So it is known to all that builds on it: schemas, sums and hashes. m is an empty
// message that nothing else uses. Declaring one again changes nothing; one whose name has
// another definition is ErrDeclared, and the first stays. What ROS doesn't allow, and a
// definition whose fields aren't those that the message visits, is ErrDefinition. Any goroutine
// may call it.
func Declare(m Message) error { return declare(m, nil) }

// declare is Declare of a message inside of others. The package's own messages are what their
// definitions say: their code is generated.
func declare(m Message, within []string) error {
	_, mirror := m.(interface{ mirrors() })
	if t := reflect.TypeOf(m); !mirror && t.Kind() == reflect.Pointer && t.Elem().PkgPath() == reflect.TypeFor[Time]().PkgPath() {
		return nil
	}
	name := m.TypeName()
	if slices.Contains(within, name) {
		return fmt.Errorf("%w: %s is made of itself", ErrDefinition, name)
	}
	o, err := outlineOf(m)
	if err != nil {
		return err
	}
	for _, part := range o.parts {
		if err := declare(part, append(within, name)); err != nil {
			return err
		}
	}
	return o.keep()
}

// keep adds the message's declaration, unless it has a definition. Of ours only the fields
// have to agree: their constants and default values stand.
func (o *outline) keep() error {
	embedded, err := definitions.ReadFile("msg/" + o.short + ".msg")
	if err == nil {
		lines, err := Lines(o.short, string(embedded))
		if err != nil {
			return err
		}
		if o.disagreement(fieldsOf(lines)) != nil {
			return fmt.Errorf("%s: %w:\n%s", o.short, ErrDeclared, bare(string(embedded)))
		}
		return nil
	}
	declared.Lock()
	defer declared.Unlock()
	known := declared.messages[o.short]
	if known == nil {
		declared.messages[o.short] = &o.declaration
		return nil
	}
	if known.text != o.text || !maps.Equal(known.renamed, o.renamed) {
		return fmt.Errorf("%s: %w:\n%s", o.short, ErrDeclared, known.text)
	}
	return nil
}

var (
	fullName  = regexp.MustCompile(`^[a-z][a-z0-9_]*/msg/[A-Z][A-Za-z0-9]*$`)
	fieldName = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)
	ros1Name  = regexp.MustCompile(`^[A-Za-z]\w*$`)
)

// outline is a Visitor that notes a message's fields, and the messages in it.
type outline struct {
	declaration
	short  string // "pkg/Type"
	fields []Field
	parts  []Message
}

// outlineOf visits a message's fields and makes its declaration.
func outlineOf(m Message) (*outline, error) {
	name := m.TypeName()
	short, err := shortName(name)
	if err != nil || !fullName.MatchString(name) {
		return nil, fmt.Errorf("%w: want a message type of the form package/msg/Type, not %q", ErrDefinition, name)
	}
	o := &outline{short: short}
	m.Fields(o)
	if err := o.checkFields(); err != nil {
		return nil, err
	}
	if r, ok := m.(Renamer); ok {
		if err := o.rename(r); err != nil {
			return nil, err
		}
	}
	return o, o.define(m)
}

// checkFields refuses fields that ROS doesn't allow.
func (o *outline) checkFields() error {
	for i, f := range o.fields {
		twice := slices.ContainsFunc(o.fields[:i], func(g Field) bool { return g.Name == f.Name })
		if !fieldName.MatchString(f.Name) || twice {
			return fmt.Errorf("%w: field %q of %s: want lower case letters, digits and single underscores, each name once", ErrDefinition, f.Name, o.short)
		}
		if f.Array == "[0]" {
			return fmt.Errorf("%w: field %q of %s: an array of a fixed size has one element at least", ErrDefinition, f.Name, o.short)
		}
	}
	return nil
}

// rename notes what ROS 1 calls the fields. Decoders take both names of a field, so
// neither may be another's.
func (o *outline) rename(r Renamer) error {
	o.renamed = map[string]string{}
	for _, f := range o.fields {
		other := r.ROS1Name(f.Name)
		if other == f.Name {
			continue
		}
		taken := slices.ContainsFunc(o.fields, func(g Field) bool {
			return g.Name != f.Name && (g.Name == other || r.ROS1Name(g.Name) == other)
		})
		if !ros1Name.MatchString(other) || taken {
			return fmt.Errorf("%w: field %q of %s: %q in ROS 1 is not a name or another field's", ErrDefinition, f.Name, o.short, other)
		}
		o.renamed[f.Name] = other
	}
	return nil
}

// define sets the definition: the message's own, without comments and spare spaces, or
// what its fields make.
func (o *outline) define(m Message) error {
	lines := make([]Line, len(o.fields))
	for i, f := range o.fields {
		lines[i].Field = f
	}
	if d, ok := m.(Definer); ok {
		var err error
		if lines, err = Lines(o.short, d.Definition()); err != nil {
			return err
		}
		if err := o.disagreement(fieldsOf(lines)); err != nil {
			return err
		}
	}
	var text strings.Builder
	for _, l := range lines {
		text.WriteString(l.String() + "\n")
	}
	o.text = text.String()
	return nil
}

// disagreement says where the fields of a definition aren't those that the code visits.
// The code knows no bounds, and visits a byte or a char as the uint8 that it is.
func (o *outline) disagreement(said []Field) error {
	for i, f := range o.fields {
		if i >= len(said) || visited(said[i]) != f {
			return fmt.Errorf("%w: %s: the code visits %s as field %d, its definition doesn't", ErrDefinition, o.short, Line{Field: f}, i+1)
		}
	}
	if len(said) > len(o.fields) {
		return fmt.Errorf("%w: %s: the code doesn't visit %s", ErrDefinition, o.short, Line{Field: said[len(o.fields)]})
	}
	return nil
}

// visited returns a definition's field as a Visitor is shown it.
func visited(f Field) Field {
	if f.Type == "byte" || f.Type == "char" {
		f.Type = KindUint8.String()
	}
	if strings.HasPrefix(f.Array, "[<=") {
		f.Array = "[]"
	}
	f.Bound = 0
	return f
}

var _ Visitor = (*outline)(nil)

func (o *outline) add(name string, kind Kind, array string) {
	o.fields = append(o.fields, Field{Type: kind.String(), Array: array, Name: name})
}

// part notes a message that the outlined one is made of.
func (o *outline) part(name string, m Message, array string) {
	o.fields = append(o.fields, Field{Type: m.TypeName(), Message: true, Array: array, Name: name})
	o.parts = append(o.parts, m)
}

// Those of a Visitor, see there.

func (o *outline) Value(name string, v Ref) { o.add(name, v.Kind(), "") }

func (o *outline) String(name string, _ *string)  { o.add(name, KindString, "") }
func (o *outline) Bytes(name string, _ *Bytes)    { o.add(name, KindUint8, "[]") }
func (o *outline) Message(name string, v Message) { o.part(name, v, "") }

func (o *outline) Array(name string, v Array) {
	size, fixed := v.Fixed()
	o.add(name, v.Kind(), brackets(size, fixed))
}

func (o *outline) Messages(name string, v Messages) {
	array := brackets(v.Len(), v.Fixed())
	if v.Fixed() {
		if v.Len() > 0 {
			o.part(name, v.At(0), array)
		} else {
			o.fields = append(o.fields, Field{Type: v.ElementType(), Message: true, Array: array, Name: name})
		}
		return
	}
	o.part(name, v.Append(), array)
	v.Clear()
}

func brackets(size int, fixed bool) string {
	if fixed {
		return fmt.Sprintf("[%d]", size)
	}
	return "[]"
}
