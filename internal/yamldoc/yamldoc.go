// Package yamldoc decodes YAML documents into Go structures and says of every
// fault where it lies: file, line, column and key path, and for an unknown key
// the closest known one. Parsing is go.yaml.in/yaml's; the walk from its tree to
// the structures is here, since the parser's own takes the square of a mapping's
// length. Aliases are read as what they stand for; merge keys are keys like others.
//
// Structures carry `yaml:"key"` tags; a field without one is not part of the
// document. Optional `min:""` and `max:""` tags bound numbers, and `enum:"a,b"`
// lists the only texts allowed, with `case:"any"` in any case of letters.
package yamldoc

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/raybridge/raybridge/internal/closest"
)

// Error is a fault of a document at its place.
type Error struct {
	File         string
	Line, Column int    // 1-based; 0 where the whole document is meant
	Path         string // "sensors[2].fov"
	Err          error
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", e.Line, e.Column)
	}
	b.WriteString(": ")
	if e.Path != "" {
		b.WriteString(e.Path + ": ")
	}
	b.WriteString(clip(e.Err.Error()))
	return b.String()
}

// clip cuts a message that quotes more of the document than anybody reads.
func clip(message string) string {
	const most = 1000
	if len(message) <= most {
		return message
	}
	return strings.ToValidUTF8(message[:most], "") + "..."
}

// Unwrap returns the fault itself.
func (e *Error) Unwrap() error { return e.Err }

// Faults of a document; callers test them with errors.Is.
var (
	// ErrSyntax: the text is not YAML.
	ErrSyntax = errors.New("not valid YAML")
	// ErrTooDeep: lists and mappings lie too deep in one another.
	ErrTooDeep = errors.New("nested too deeply")
	// ErrTooLarge: a key is too long, or aliases stand for too much.
	ErrTooLarge = errors.New("too large")
	// ErrUnknownKey: a key that the structure doesn't have.
	ErrUnknownKey = errors.New("unknown key")
	// ErrType: a value of another kind than the key takes.
	ErrType = errors.New("wrong kind of value")
	// ErrRange: a number outside the key's range.
	ErrRange = errors.New("out of range")
	// ErrValue: a text that is none of those allowed.
	ErrValue = errors.New("unknown value")
)

// Node is one value of a document with its place.
type Node struct {
	file string
	path string
	node *yaml.Node // nil for none
	lax  bool       // unknown keys are skipped
}

// Decoder is implemented by types that read their own Node.
type Decoder interface {
	DecodeYAML(Node) error
}

// Errorf makes an Error at the node's place.
func (n Node) Errorf(format string, args ...any) error {
	e := &Error{File: n.file, Path: n.path, Err: fmt.Errorf(format, args...)}
	if n.node != nil {
		e.Line, e.Column = n.node.Line, n.node.Column
	}
	return e
}

// SkipUnknown returns the node as one whose Decode leaves out keys that a structure doesn't
// have: for documents of other programs.
func (n Node) SkipUnknown() Node {
	n.lax = true
	return n
}

// child returns the node of a value within this one.
func (n Node) child(path string, value *yaml.Node) Node {
	return Node{file: n.file, path: path, node: value, lax: n.lax}
}

// content returns what the node or its alias is; nil for none.
func (n Node) content() *yaml.Node {
	if n.node != nil && n.node.Kind == yaml.AliasNode {
		return n.node.Alias
	}
	return n.node
}

// Null reports whether the node is absent, empty or null.
func (n Node) Null() bool {
	c := n.content()
	return c == nil || c.Kind == yaml.ScalarNode && c.ShortTag() == "!!null"
}

// Entry is one key of a mapping.
type Entry struct {
	Key   string
	Value Node
	// Place is the key's own node, for errors about the key.
	Place Node
}

// Entries returns a mapping's entries in the document's order.
func (n Node) Entries() ([]Entry, error) {
	m := n.content()
	if m == nil || m.Kind != yaml.MappingNode {
		if n.Null() {
			return nil, nil
		}
		return nil, n.Errorf("%w: need key: value pairs", ErrType)
	}
	var entries []Entry
	seen := map[string]bool{}
	for i := 0; i+1 < len(m.Content); i += 2 {
		place := n.child(n.path, m.Content[i])
		k := place.content()
		if k.Kind != yaml.ScalarNode {
			return nil, place.Errorf("%w: a key is a word, no list or mapping", ErrSyntax)
		}
		place.path = strings.TrimPrefix(n.path+"."+k.Value, ".")
		if seen[k.Value] {
			return nil, place.Errorf("key given twice")
		}
		seen[k.Value] = true
		entries = append(entries, Entry{k.Value, n.child(place.path, m.Content[i+1]), place})
	}
	return entries, nil
}

// Items returns a sequence's elements.
func (n Node) Items() ([]Node, error) {
	s := n.content()
	if s == nil || s.Kind != yaml.SequenceNode {
		if n.Null() {
			return nil, nil
		}
		return nil, n.Errorf("%w: need a list", ErrType)
	}
	items := make([]Node, len(s.Content))
	for i, v := range s.Content {
		items[i] = n.child(fmt.Sprintf("%s[%d]", n.path, i), v)
	}
	return items, nil
}

// Value returns the node as plain Go data: bool, int64 below 0, uint64, float64, string,
// []any, map[string]any or nil.
func (n Node) Value() (any, error) {
	c := n.content()
	if c == nil {
		return nil, nil
	}
	switch c.Kind {
	case yaml.SequenceNode:
		items, err := n.Items()
		if err != nil {
			return nil, err
		}
		list := make([]any, len(items))
		for i, item := range items {
			if list[i], err = item.Value(); err != nil {
				return nil, err
			}
		}
		return list, nil
	case yaml.MappingNode:
		entries, err := n.Entries()
		if err != nil {
			return nil, err
		}
		values := make(map[string]any, len(entries))
		for _, e := range entries {
			if values[e.Key], err = e.Value.Value(); err != nil {
				return nil, err
			}
		}
		return values, nil
	}
	return n.scalar(c)
}

// scalar returns a scalar as plain Go data. Dates are text.
func (n Node) scalar(c *yaml.Node) (any, error) {
	switch c.ShortTag() {
	case "!!bool", "!!int", "!!float", "!!null":
	default:
		return c.Value, nil
	}
	var v any
	if err := c.Decode(&v); err != nil {
		return nil, n.Errorf("%w: %s", ErrType, problem(err))
	}
	switch x := v.(type) {
	case int:
		return whole(int64(x)), nil
	case int64:
		return whole(x), nil
	}
	return v, nil
}

func whole(i int64) any {
	if i < 0 {
		return i
	}
	return uint64(i)
}

// UnknownKey is the error for a key that isn't among the known.
func (e Entry) UnknownKey(known []string) error {
	return e.Place.Errorf("%w, %s", ErrUnknownKey, closest.Hint(e.Key, known))
}

// Decode fills the structure that target points to; keys that the document
// doesn't have keep the values they had.
func (n Node) Decode(target any) error {
	return n.decode(reflect.ValueOf(target).Elem(), "")
}
