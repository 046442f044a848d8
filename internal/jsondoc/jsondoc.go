// Package jsondoc reads JSON documents that people wrote by hand: every value keeps
// its place, for messages that name line and column, and a comma before a closing
// bracket or at the end, which many programs put up with, is put up with and told.
// Comments, // to the end of the line and /* to */, are put up with too.
// Tokens are encoding/json's; only their places and the tree are here.
package jsondoc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/raybridge/raybridge/internal/closest"
	"github.com/raybridge/raybridge/internal/yamldoc"
)

// ErrSyntax says that the text is not JSON. The other faults are yamldoc's.
var ErrSyntax = errors.New("not valid JSON")

// maxDepth is how deep arrays and objects may lie in one another.
const maxDepth = 100

// source is the text that nodes stand in.
type source struct {
	file string
	text []byte
}

// errorf makes an error at an offset of the text.
func (s *source) errorf(offset int, path, format string, args ...any) error {
	before := s.text[:min(max(offset, 0), len(s.text))]
	line := bytes.LastIndexByte(before, '\n') + 1
	return &yamldoc.Error{
		File: s.file, Path: path, Err: fmt.Errorf(format, args...),
		Line: bytes.Count(before, []byte{'\n'}) + 1, Column: utf8.RuneCount(before[line:]) + 1,
	}
}

// Node is one value of a document with its place. The zero Node is absent.
type Node struct {
	source *source
	offset int
	path   string
	// value is nil, bool, json.Number, string, []Node or []Entry.
	value any
}

// Entry is one key of an object.
type Entry struct {
	Key   string
	Value Node
	// Place is the key's own node, for errors about the key.
	Place Node
}

// Parse reads a document of one value. commas has an error for each superfluous comma,
// which was left out.
func Parse(file string, data []byte) (root Node, commas []error, err error) {
	s := &source{file, bytes.TrimPrefix(data, []byte("\ufeff"))}
	clean := WithoutComments(s.text)
	commas = s.dropCommas(clean)
	r := reader{source: s, clean: clean, decoder: json.NewDecoder(bytes.NewReader(clean))}
	r.decoder.UseNumber()
	if root, err = r.value("", 0); err != nil {
		return Node{}, nil, err
	}
	if start, _, err := r.token(); err == nil {
		return Node{}, nil, s.errorf(start, "", "%w: more than one value", ErrSyntax)
	} else if !errors.Is(err, io.EOF) {
		return Node{}, nil, err
	}
	return root, commas, nil
}

// WithoutComments returns a text with its comments blanked, so that all else stays where
// it was. One without an end goes to the end of the text.
func WithoutComments(text []byte) []byte {
	clean := bytes.Clone(text)
	for i := 0; i < len(clean); i++ {
		var end int
		switch rest := clean[i:]; {
		case clean[i] == '"':
			i += stringLength(rest) - 1
			continue
		case bytes.HasPrefix(rest, []byte("//")):
			end = bytes.IndexByte(rest, '\n')
		case bytes.HasPrefix(rest, []byte("/*")):
			if end = bytes.Index(rest[2:], []byte("*/")); end >= 0 {
				end += 4
			}
		default:
			continue
		}
		if end < 0 {
			end = len(clean) - i
		}
		for k := i; k < i+end; k++ {
			if clean[k] != '\n' {
				clean[k] = ' '
			}
		}
		i += end - 1
	}
	return clean
}

// stringLength is the length of the string that a text begins with, quotes included.
func stringLength(text []byte) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// dropCommas blanks the superfluous commas of the text without comments, and says where
// they were.
func (s *source) dropCommas(clean []byte) (commas []error) {
	inString, comma := false, -1 // comma is the last one that nothing has followed yet
	last := byte(0)              // what stood before that comma
	drop := func() {
		if comma >= 0 && !strings.ContainsRune("[{,:\x00", rune(last)) {
			clean[comma] = ' '
			commas = append(commas, s.errorf(comma, "", "superfluous comma"))
		}
	}
	for i := 0; i < len(clean); i++ {
		c := clean[i]
		switch {
		case inString && c == '\\':
			i++
			continue
		case c == '"':
			inString = !inString
		case inString || c == ' ' || c == '\t' || c == '\r' || c == '\n':
			continue
		case c == ',':
			comma = i
			continue
		case c == ']' || c == '}':
			drop()
		}
		comma, last = -1, c
	}
	drop()
	return commas
}

// reader builds nodes from tokens.
type reader struct {
	source  *source
	clean   []byte // the source's text as the decoder has it
	decoder *json.Decoder
}

// token returns the next token and the offset that it begins at. At the end of the
// text the error is io.EOF.
func (r *reader) token() (start int, token json.Token, err error) {
	next := r.skip(int(r.decoder.InputOffset()), " \t\r\n")
	start = r.skip(next, " \t\r\n,:")
	token, err = r.decoder.Token()
	var syntax *json.SyntaxError
	switch {
	case err == nil, errors.Is(err, io.EOF):
		return start, token, err
	case errors.As(err, &syntax): // whose offset is too small where it counts only some tokens
		return start, nil, r.source.errorf(max(next, int(syntax.Offset)), "", "%w: %w", ErrSyntax, err)
	default:
		return start, nil, r.source.errorf(start, "", "%w: %w", ErrSyntax, err)
	}
}

// skip returns the first offset from one on where none of some signs stands.
func (r *reader) skip(offset int, signs string) int {
	for offset < len(r.clean) && strings.IndexByte(signs, r.clean[offset]) >= 0 {
		offset++
	}
	return offset
}

// inner is token where the document can't end.
func (r *reader) inner() (start int, token json.Token, err error) {
	start, token, err = r.token()
	if errors.Is(err, io.EOF) {
		err = r.source.errorf(len(bytes.TrimRight(r.clean, " \t\r\n")), "", "%w: it ends early", ErrSyntax)
	}
	return start, token, err
}

func (r *reader) value(path string, depth int) (Node, error) {
	start, token, err := r.inner()
	if err != nil {
		return Node{}, err
	}
	n := Node{source: r.source, offset: start, path: path, value: token}
	bracket, ok := token.(json.Delim)
	if !ok {
		return n, nil
	}
	if depth >= maxDepth {
		return Node{}, n.Errorf("%w: more than %d brackets in one another", ErrSyntax, maxDepth)
	}
	if bracket == '[' {
		n.value, err = r.items(path, depth)
	} else {
		n.value, err = r.entries(path, depth)
	}
	if err == nil {
		_, _, err = r.inner() // the closing bracket
	}
	return n, err
}

func (r *reader) items(path string, depth int) ([]Node, error) {
	list := []Node{}
	for r.decoder.More() {
		n, err := r.value(fmt.Sprintf("%s[%d]", path, len(list)), depth+1)
		if err != nil {
			return nil, err
		}
		list = append(list, n)
	}
	return list, nil
}

func (r *reader) entries(path string, depth int) ([]Entry, error) {
	list := []Entry{}
	seen := map[string]bool{}
	for r.decoder.More() {
		start, token, err := r.inner()
		if err != nil {
			return nil, err
		}
		key, _ := token.(string) // encoding/json has no other keys
		place := Node{source: r.source, offset: start, path: strings.TrimPrefix(path+"."+key, "."), value: key}
		if seen[key] {
			return nil, place.Errorf("key given twice")
		}
		seen[key] = true
		value, err := r.value(place.path, depth+1)
		if err != nil {
			return nil, err
		}
		list = append(list, Entry{key, value, place})
	}
	return list, nil
}

// Errorf makes an error at the node's place, a *yamldoc.Error.
func (n Node) Errorf(format string, args ...any) error {
	if n.source == nil {
		return fmt.Errorf(format, args...)
	}
	return n.source.errorf(n.offset, n.path, format, args...)
}

// Null reports whether the node is absent or null.
func (n Node) Null() bool { return n.value == nil }

// IsObject and IsArray tell what a node is.
func (n Node) IsObject() bool { _, ok := n.value.([]Entry); return ok }

// IsArray reports whether the node is an array.
func (n Node) IsArray() bool { _, ok := n.value.([]Node); return ok }

// Entries returns an object's entries in the document's order, none of null.
func (n Node) Entries() ([]Entry, error) {
	if list, ok := n.value.([]Entry); ok || n.Null() {
		return list, nil
	}
	return nil, n.Errorf("%w: need an object, { ... }", yamldoc.ErrType)
}

// Items returns an array's elements, none of null.
func (n Node) Items() ([]Node, error) {
	if list, ok := n.value.([]Node); ok || n.Null() {
		return list, nil
	}
	return nil, n.Errorf("%w: need an array, [ ... ]", yamldoc.ErrType)
}

// Get returns an object's entry, the zero Node where there is none.
func (n Node) Get(key string) Node {
	list, _ := n.value.([]Entry)
	for _, e := range list {
		if e.Key == key {
			return e.Value
		}
	}
	return Node{}
}

// Text returns a string.
func (n Node) Text() (string, error) {
	if s, ok := n.value.(string); ok {
		return s, nil
	}
	return "", n.Errorf("%w: %s, need a text in quotes", yamldoc.ErrType, n)
}

// Bool returns true or false.
func (n Node) Bool() (bool, error) {
	if b, ok := n.value.(bool); ok {
		return b, nil
	}
	return false, n.Errorf("%w: %s, need true or false", yamldoc.ErrType, n)
}

// Number returns a number.
func (n Node) Number() (float64, error) {
	number, ok := n.value.(json.Number)
	if !ok {
		return 0, n.Errorf("%w: %s, need a number", yamldoc.ErrType, n)
	}
	f, err := number.Float64()
	if err != nil {
		return 0, n.Errorf("%w: %s is too large", yamldoc.ErrRange, n)
	}
	return f, nil
}

// String says what the node is, for messages.
func (n Node) String() string {
	switch v := n.value.(type) {
	case nil:
		return "null"
	case string:
		return fmt.Sprintf("%q", v)
	case []Node:
		return "an array"
	case []Entry:
		return "an object"
	default:
		return fmt.Sprint(v)
	}
}

// UnknownKey is the error for a key that isn't among the known.
func (e Entry) UnknownKey(known []string) error {
	return e.Place.Errorf("%w, %s", yamldoc.ErrUnknownKey, closest.Hint(e.Key, known))
}
