package doc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/raybridge/raybridge/internal/fault"
)

// errJSONSyntax says that the text is not JSON. The other faults are those of YAML.
var errJSONSyntax = errors.New("not valid JSON")

// maxJSONDepth is how deep arrays and objects may lie in one another.
const maxJSONDepth = 100

// jsonSource is the text that nodes stand in.
type jsonSource struct {
	file string
	text []byte
}

// errorf makes an error at an offset of the text.
func (s *jsonSource) errorf(offset int, path, format string, args ...any) error {
	e := faultAt(s.text, offset, fmt.Errorf(format, args...))
	e.File, e.Path = s.file, path
	return e
}

// JSONNode is one value of a document with its place. The zero Node is absent.
type JSONNode struct {
	source *jsonSource
	offset int
	path   string
	// value is nil, bool, json.Number, string, []Node or []Entry.
	value any
}

// JSONEntry is one key of an object.
type JSONEntry struct {
	Key   string
	Value JSONNode
	// Place is the key's own node, for errors about the key.
	Place JSONNode
}

// ParseJSON reads a document of one value. commas has an error for each superfluous comma,
// which was left out.
func ParseJSON(file string, data []byte) (root JSONNode, commas []error, err error) {
	s := &jsonSource{file, bytes.TrimPrefix(data, []byte("\ufeff"))}
	clean := WithoutComments(s.text)
	commas = s.dropCommas(clean)
	r := jsonReader{source: s, clean: clean, decoder: json.NewDecoder(bytes.NewReader(clean))}
	r.decoder.UseNumber()
	if root, err = r.value("", 0); err != nil {
		return JSONNode{}, nil, err
	}
	if start, _, err := r.token(); err == nil {
		return JSONNode{}, nil, s.errorf(start, "", "%w: more than one value", errJSONSyntax)
	} else if !errors.Is(err, io.EOF) {
		return JSONNode{}, nil, err
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
func (s *jsonSource) dropCommas(clean []byte) (commas []error) {
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

// jsonReader builds nodes from tokens.
type jsonReader struct {
	source  *jsonSource
	clean   []byte // the source's text as the decoder has it
	decoder *json.Decoder
}

// token returns the next token and the offset that it begins at. At the end of the
// text the error is io.EOF.
func (r *jsonReader) token() (start int, token json.Token, err error) {
	next := r.skip(int(r.decoder.InputOffset()), " \t\r\n")
	start = r.skip(next, " \t\r\n,:")
	token, err = r.decoder.Token()
	var syntax *json.SyntaxError
	switch {
	case err == nil, errors.Is(err, io.EOF):
		return start, token, err
	case errors.As(err, &syntax): // whose offset is too small where it counts only some tokens
		return start, nil, r.source.errorf(max(next, int(syntax.Offset)), "", "%w: %w", errJSONSyntax, err)
	default:
		return start, nil, r.source.errorf(start, "", "%w: %w", errJSONSyntax, err)
	}
}

// skip returns the first offset from one on where none of some signs stands.
func (r *jsonReader) skip(offset int, signs string) int {
	for offset < len(r.clean) && strings.IndexByte(signs, r.clean[offset]) >= 0 {
		offset++
	}
	return offset
}

// inner is token where the document can't end.
func (r *jsonReader) inner() (start int, token json.Token, err error) {
	start, token, err = r.token()
	if errors.Is(err, io.EOF) {
		err = r.source.errorf(len(bytes.TrimRight(r.clean, " \t\r\n")), "", "%w: it ends early", errJSONSyntax)
	}
	return start, token, err
}

func (r *jsonReader) value(path string, depth int) (JSONNode, error) {
	start, token, err := r.inner()
	if err != nil {
		return JSONNode{}, err
	}
	n := JSONNode{source: r.source, offset: start, path: path, value: token}
	bracket, ok := token.(json.Delim)
	if !ok {
		return n, nil
	}
	if depth >= maxJSONDepth {
		return JSONNode{}, n.Errorf("%w: more than %d brackets in one another", errJSONSyntax, maxJSONDepth)
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

func (r *jsonReader) items(path string, depth int) ([]JSONNode, error) {
	list := []JSONNode{}
	for r.decoder.More() {
		n, err := r.value(fmt.Sprintf("%s[%d]", path, len(list)), depth+1)
		if err != nil {
			return nil, err
		}
		list = append(list, n)
	}
	return list, nil
}

func (r *jsonReader) entries(path string, depth int) ([]JSONEntry, error) {
	list := []JSONEntry{}
	seen := map[string]bool{}
	for r.decoder.More() {
		start, token, err := r.inner()
		if err != nil {
			return nil, err
		}
		key, _ := token.(string) // encoding/json has no other keys
		place := JSONNode{source: r.source, offset: start, path: strings.TrimPrefix(path+"."+key, "."), value: key}
		if seen[key] {
			return nil, place.Errorf("key given twice")
		}
		seen[key] = true
		value, err := r.value(place.path, depth+1)
		if err != nil {
			return nil, err
		}
		list = append(list, JSONEntry{key, value, place})
	}
	return list, nil
}

// Errorf makes an error at the node's place, a *Error.
func (n JSONNode) Errorf(format string, args ...any) error {
	if n.source == nil {
		return fmt.Errorf(format, args...)
	}
	return n.source.errorf(n.offset, n.path, format, args...)
}

// Null reports whether the node is absent or null.
func (n JSONNode) Null() bool { return n.value == nil }

// IsObject and IsArray tell what a node is.
func (n JSONNode) IsObject() bool { _, ok := n.value.([]JSONEntry); return ok }

// IsArray reports whether the node is an array.
func (n JSONNode) IsArray() bool { _, ok := n.value.([]JSONNode); return ok }

// Entries returns an object's entries in the document's order, none of null.
func (n JSONNode) Entries() ([]JSONEntry, error) {
	if list, ok := n.value.([]JSONEntry); ok || n.Null() {
		return list, nil
	}
	return nil, n.Errorf("%w: need an object, { ... }", ErrType)
}

// Items returns an array's elements, none of null.
func (n JSONNode) Items() ([]JSONNode, error) {
	if list, ok := n.value.([]JSONNode); ok || n.Null() {
		return list, nil
	}
	return nil, n.Errorf("%w: need an array, [ ... ]", ErrType)
}

// Get returns an object's entry, the zero Node where there is none.
func (n JSONNode) Get(key string) JSONNode {
	list, _ := n.value.([]JSONEntry)
	for _, e := range list {
		if e.Key == key {
			return e.Value
		}
	}
	return JSONNode{}
}

// Text returns a string.
func (n JSONNode) Text() (string, error) {
	if s, ok := n.value.(string); ok {
		return s, nil
	}
	return "", n.Errorf("%w: %s, need a text in quotes", ErrType, n)
}

// Bool returns true or false.
func (n JSONNode) Bool() (bool, error) {
	if b, ok := n.value.(bool); ok {
		return b, nil
	}
	return false, n.Errorf("%w: %s, need true or false", ErrType, n)
}

// Number returns a number.
func (n JSONNode) Number() (float64, error) {
	number, ok := n.value.(json.Number)
	if !ok {
		return 0, n.Errorf("%w: %s, need a number", ErrType, n)
	}
	f, err := number.Float64()
	if err != nil {
		return 0, n.Errorf("%w: %s is too large", ErrRange, n)
	}
	return f, nil
}

// String says what the node is, for messages.
func (n JSONNode) String() string {
	switch v := n.value.(type) {
	case nil:
		return "null"
	case string:
		return fmt.Sprintf("%q", v)
	case []JSONNode:
		return "an array"
	case []JSONEntry:
		return "an object"
	default:
		return fmt.Sprint(v)
	}
}

// UnknownKey is the error for a key that isn't among the known.
func (e JSONEntry) UnknownKey(known []string) error {
	return e.Place.Errorf("%w, %s", ErrUnknownKey, fault.Hint(e.Key, known))
}
