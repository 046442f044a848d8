// Package yamldoc decodes YAML documents into Go structures and says of every
// fault where it lies: file, line, column and key path, and for an unknown key
// the closest known one. Parsing is goccy/go-yaml's; only the walk from its
// tree to the structures is here.
//
// Structures carry `yaml:"key"` tags; a field without one is not part of the
// document. Optional `min:""` and `max:""` tags bound numbers, and `enum:"a,b"`
// lists the only texts allowed, with `case:"any"` in any case of letters.
package yamldoc

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"

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
	b.WriteString(e.Err.Error())
	return b.String()
}

// Unwrap returns the fault itself.
func (e *Error) Unwrap() error { return e.Err }

// Faults of a document; callers test them with errors.Is.
var (
	// ErrSyntax: the text is not YAML.
	ErrSyntax = errors.New("not valid YAML")
	// ErrTooDeep: lists and mappings lie too deep in one another.
	ErrTooDeep = errors.New("nested too deeply")
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
	node ast.Node
}

// Decoder is implemented by types that read their own Node.
type Decoder interface {
	DecodeYAML(Node) error
}

// Parse reads a document of one mapping. An empty document is an empty mapping. A
// byte-order mark before it is skipped.
func Parse(file string, data []byte) (Node, error) {
	tree, err := parse(bytes.TrimPrefix(data, []byte("\ufeff")))
	if err != nil {
		return Node{}, syntaxError(file, err)
	}
	if len(tree.Docs) > 1 {
		return Node{}, &Error{File: file, Err: fmt.Errorf("%w: more than one document", ErrSyntax)}
	}
	n := Node{file: file}
	if len(tree.Docs) == 1 {
		n.node = tree.Docs[0].Body
	}
	return n, nil
}

// parse turns a panic of the parser on hostile input into an error, and keeps from it what it
// would need minutes for.
func parse(data []byte) (tree *ast.File, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	tokens := lexer.Tokenize(string(data))
	if at := tooDeep(tokens); at != nil {
		return nil, &Error{Line: at.Line, Column: at.Column, Err: errDepth}
	}
	return parser.Parse(tokens, 0)
}

func syntaxError(file string, err error) error {
	var placed *Error
	if errors.As(err, &placed) {
		placed.File = file
		return placed
	}
	e := &Error{File: file, Err: fmt.Errorf("%w: %w", ErrSyntax, err)}
	var y yaml.Error
	if errors.As(err, &y) {
		e.Err = fmt.Errorf("%w: %s", ErrSyntax, y.GetMessage())
		if t := y.GetToken(); t != nil && t.Position != nil {
			e.Line, e.Column = t.Position.Line, t.Position.Column
		}
	}
	return e
}

// Errorf makes an Error at the node's place.
func (n Node) Errorf(format string, args ...any) error {
	e := &Error{File: n.file, Path: n.path, Err: fmt.Errorf(format, args...)}
	if n.node != nil {
		if t := n.node.GetToken(); t != nil && t.Position != nil {
			e.Line, e.Column = t.Position.Line, t.Position.Column
		}
	}
	return e
}

// Null reports whether the node is absent, empty or null.
func (n Node) Null() bool {
	if n.node == nil {
		return true
	}
	switch n.node.Type() {
	case ast.NullType, ast.CommentType, ast.CommentGroupType:
		return true
	}
	return false
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
	var values []*ast.MappingValueNode
	switch m := n.node.(type) {
	case *ast.MappingNode:
		values = m.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{m}
	default:
		if n.Null() {
			return nil, nil
		}
		return nil, n.Errorf("%w: need key: value pairs", ErrType)
	}
	var entries []Entry
	seen := map[string]bool{}
	for _, v := range values {
		key := ""
		if t := v.Key.GetToken(); t != nil {
			key = t.Value
		}
		path := strings.TrimPrefix(n.path+"."+key, ".")
		place := Node{n.file, path, v.Key}
		if seen[key] {
			return nil, place.Errorf("key given twice")
		}
		seen[key] = true
		entries = append(entries, Entry{key, Node{n.file, path, v.Value}, place})
	}
	return entries, nil
}

// Items returns a sequence's elements.
func (n Node) Items() ([]Node, error) {
	s, ok := n.node.(*ast.SequenceNode)
	if !ok {
		if n.Null() {
			return nil, nil
		}
		return nil, n.Errorf("%w: need a list", ErrType)
	}
	items := make([]Node, len(s.Values))
	for i, v := range s.Values {
		items[i] = Node{n.file, fmt.Sprintf("%s[%d]", n.path, i), v}
	}
	return items, nil
}

// Value returns the node as plain Go data: bool, int64, uint64, float64,
// string, []any, map[string]any or nil.
func (n Node) Value() (any, error) {
	if n.Null() {
		return nil, nil
	}
	var v any
	if err := yaml.NodeToValue(n.node, &v); err != nil {
		return nil, n.Errorf("%w: %v", ErrType, err)
	}
	return v, nil
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
