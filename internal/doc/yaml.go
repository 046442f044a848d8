package doc

import (
	"bytes"
	"cmp"
	"encoding"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/raybridge/raybridge/internal/fault"
)

// Error is a fault of a document at its place.
type Error struct {
	File         string // "" for a value that stands in none
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
	if b.Len() > 0 {
		b.WriteString(": ")
	}
	if e.Path != "" {
		b.WriteString(e.Path + ": ")
	}
	b.WriteString(clip(e.Err.Error()))
	return b.String()
}

// mostFaults is how many faults of a document are told at once.
const mostFaults = 20

// Faults collects errors, so that a reader goes on behind the first one. The zero value has none.
type Faults struct{ list []error }

// Add takes an error, and each of those that are joined in one; nil adds nothing. It reports whether
// there is no room for more.
func (f *Faults) Add(err error) (full bool) {
	if list := Joined(err); list != nil {
		f.list = append(f.list, list...)
	} else if err != nil {
		f.list = append(f.list, err)
	}
	if len(f.list) > mostFaults {
		f.list = f.list[:mostFaults]
	}
	return len(f.list) == mostFaults
}

// Err returns nil, the one error, or all of them joined, a line each.
func (f *Faults) Err() error {
	if len(f.list) == 1 {
		return f.list[0]
	}
	return errors.Join(f.list...)
}

// Joined returns the errors that errors.Join made one of, nil where it made none. An error that wraps several
// in a text of its own is one.
func Joined(err error) []error {
	wraps, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return nil
	}
	list := wraps.Unwrap()
	if joined := errors.Join(list...); joined == nil || joined.Error() != err.Error() {
		return nil
	}
	return list
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
	// errSyntax: the text is not YAML.
	errSyntax = errors.New("not valid YAML")
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
	// ErrValue: a text that isn't one of those allowed.
	ErrValue = errors.New("unknown value")
)

// Node is one value of a document with its place.
type Node struct {
	file string
	path string
	node *yaml.Node // nil for none
	lax  bool       // unknown keys are skipped
}

// decoder is implemented by types that read their own Node.
type decoder interface {
	DecodeYAML(Node) error
}

// Errorf makes an Error at the node's place.
func (n Node) Errorf(format string, args ...any) error {
	e := &Error{File: n.file, Path: n.path, Err: fmt.Errorf(format, args...)}
	if n.node != nil && n.file != "" {
		e.Line, e.Column = n.node.Line, n.node.Column
	}
	return e
}

// Beside returns a path that the node gives: a relative one is relative to the node's file.
func (n Node) Beside(path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(n.file), path)
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

// At returns the node as one that has another path, for errors.
func (n Node) At(path string) Node {
	n.path = path
	return n
}

// Below returns the mapping at a path that has the node as the value of its one key. With more keys that value is
// another such mapping.
func (n Node) Below(path string, keys ...string) Node {
	node := n.node
	for _, key := range slices.Backward(keys) {
		node = &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{{Kind: yaml.ScalarNode, Tag: "!!str", Value: key}, node}}
	}
	return Node{file: n.file, path: path, node: node, lax: n.lax}
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
			return nil, place.Errorf("%w: a key is a word, no list or mapping", errSyntax)
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
	return e.Place.Errorf("%w, %s", ErrUnknownKey, fault.Hint(e.Key, known))
}

// Decode fills the structure that target points to; keys that the document
// doesn't have keep the values they had.
func (n Node) Decode(target any) error {
	return n.decode(reflect.ValueOf(target).Elem(), "")
}

var durationType = reflect.TypeFor[time.Duration]()

// decodeDocuments fills v from the node. tag is the struct tag of the field v is, for
// its bounds.
func (n Node) decode(v reflect.Value, tag reflect.StructTag) error {
	if d, ok := v.Addr().Interface().(decoder); ok {
		return d.DecodeYAML(n)
	}
	if n.Null() {
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer:
		fresh := reflect.New(v.Type().Elem())
		if !v.IsNil() {
			fresh.Elem().Set(v.Elem()) // what it points to may be another structure's too
		}
		v.Set(fresh)
		return n.decode(fresh.Elem(), tag)
	case reflect.Struct:
		if _, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
			return n.decodeScalar(v, tag)
		}
		return n.decodeStruct(v)
	case reflect.Slice:
		return n.decodeSlice(v, tag)
	case reflect.Interface:
		value, err := n.Value()
		if err == nil {
			v.Set(reflect.ValueOf(value))
		}
		return err
	default:
		return n.decodeScalar(v, tag)
	}
}

// fieldsOf has the fields of each structure's type that was asked for.
var fieldsOf sync.Map // of reflect.Type to []reflect.StructField

// Fields returns the keys of a structure's type in order. The caller doesn't change them.
func Fields(t reflect.Type) []reflect.StructField {
	if known, ok := fieldsOf.Load(t); ok {
		return known.([]reflect.StructField)
	}
	var fields []reflect.StructField
	for i := range t.NumField() {
		if f := t.Field(i); f.Tag.Get("yaml") != "" {
			fields = append(fields, f)
		}
	}
	fieldsOf.Store(t, fields)
	return fields
}

// Keys returns the names of the keys of a structure's type in order.
func Keys(t reflect.Type) (keys []string) {
	for _, f := range Fields(t) {
		keys = append(keys, f.Tag.Get("yaml"))
	}
	return keys
}

func (n Node) decodeStruct(v reflect.Value) error {
	entries, err := n.Entries()
	if err != nil {
		return err
	}
	fields := Fields(v.Type())
	var faults Faults
	for _, e := range entries {
		switch f := fieldOf(fields, e.Key); {
		case f != nil:
			err = e.Value.decode(v.FieldByIndex(f.Index), f.Tag)
		case n.lax:
			continue
		default:
			err = e.UnknownKey(Keys(v.Type()))
		}
		if faults.Add(err) {
			break
		}
	}
	return faults.Err()
}

func fieldOf(fields []reflect.StructField, key string) *reflect.StructField {
	for i := range fields {
		if fields[i].Tag.Get("yaml") == key {
			return &fields[i]
		}
	}
	return nil
}

func (n Node) decodeSlice(v reflect.Value, tag reflect.StructTag) error {
	items, err := n.Items()
	if err != nil {
		return err
	}
	list := reflect.MakeSlice(v.Type(), len(items), len(items))
	var faults Faults
	for i, item := range items {
		if faults.Add(item.decode(list.Index(i), tag)) {
			break
		}
	}
	v.Set(list)
	return faults.Err()
}

func (n Node) decodeScalar(v reflect.Value, tag reflect.StructTag) error {
	value, err := n.Value()
	if err != nil {
		return err
	}
	if v.Type() == durationType {
		return n.decodeDuration(v, value)
	}
	if text, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return n.decodeText(text, v, value, tag)
	}
	switch v.Kind() {
	case reflect.String:
		switch s := value.(type) {
		case string:
			return n.decodeWord(v, s, tag)
		case int64, uint64, float64:
			// A number where text is due keeps the document's spelling.
			return n.decodeWord(v, n.content().Value, tag)
		}
	case reflect.Bool:
		if b, ok := value.(bool); ok {
			v.SetBool(b)
			return nil
		}
	case reflect.Int, reflect.Int64, reflect.Uint64, reflect.Float64:
		return n.decodeNumber(v, value, tag)
	}
	return n.Errorf("%w: %v, need a %s", ErrType, value, v.Kind())
}

// decodeWord fills a text. One that isn't allowed leaves it as it was: a reader that goes on would tell of it twice.
func (n Node) decodeWord(v reflect.Value, text string, tag reflect.StructTag) error {
	names := strings.Split(tag.Get("enum"), ",")
	same := func(name string) bool {
		return name == text || tag.Get("case") == "any" && strings.EqualFold(name, text)
	}
	if tag.Get("enum") != "" && !slices.ContainsFunc(names, same) {
		return n.Errorf("%w: %q, %s", ErrValue, text, fault.Hint(text, names))
	}
	v.SetString(text)
	return nil
}

func (n Node) decodeDuration(v reflect.Value, value any) error {
	seconds, isNumber := floatOf(value)
	if text, isText := value.(string); isText {
		d, err := time.ParseDuration(text)
		if err != nil {
			return n.Errorf("%w: %q, need a duration such as 10s or 2m30s", ErrType, text)
		}
		if d >= 0 {
			v.SetInt(int64(d))
			return nil
		}
		seconds = d.Seconds()
	} else if !isNumber {
		return n.Errorf("%w: %v, need a duration such as 10s", ErrType, value)
	}
	if seconds < 0 || seconds > math.MaxInt64/2e9 || math.IsNaN(seconds) {
		return n.Errorf("%w: %v, a duration is not negative", ErrRange, value)
	}
	v.SetInt(int64(math.Round(seconds * 1e9)))
	return nil
}

// decodeText fills what reads a number's or a text's spelling itself, such as a rate. With
// bounds in the tag it has to be a number within them, of which 0 gives v's zero value.
func (n Node) decodeText(text encoding.TextUnmarshaler, v reflect.Value, value any, tag reflect.StructTag) error {
	spelling := n.content().Value
	switch value.(type) {
	case string, int64, uint64, float64:
	default:
		return n.Errorf("%w: %v, need a number or a text", ErrType, value)
	}
	if tag.Get("min")+tag.Get("max") != "" {
		var f float64
		if err := n.decodeNumber(reflect.ValueOf(&f).Elem(), value, tag); err != nil {
			return err
		}
		if f == 0 {
			v.SetZero()
			return nil
		}
		spelling = strconv.FormatFloat(f, 'g', -1, 64)
	}
	if err := text.UnmarshalText([]byte(spelling)); err != nil {
		return n.Errorf("%w", err)
	}
	return nil
}

func (n Node) decodeNumber(v reflect.Value, value any, tag reflect.StructTag) error {
	f, ok := floatOf(value)
	if text, isText := value.(string); isText { // a number in quotes
		parsed, err := strconv.ParseFloat(text, 64)
		f, ok = parsed, err == nil
	}
	if !ok {
		return n.Errorf("%w: %v, need a number", ErrType, value)
	}
	low, lowText := bound(tag, "min", "-inf")
	high, highText := bound(tag, "max", "inf")
	if math.IsNaN(f) || math.IsInf(f, 0) || f < low || f > high {
		return n.Errorf("%w: %v, the range is %s to %s", ErrRange, value, lowText, highText)
	}
	if v.Kind() == reflect.Float64 {
		v.SetFloat(f)
		return nil
	}
	if f != math.Trunc(f) {
		return n.Errorf("%w: %v, need a whole number", ErrType, value)
	}
	if v.Kind() == reflect.Uint64 {
		if u, ok := value.(uint64); ok {
			v.SetUint(u)
			return nil
		}
		if f < 0 {
			return n.Errorf("%w: %v, need a number of at least 0", ErrRange, value)
		}
		v.SetUint(uint64(f))
		return nil
	}
	if math.Abs(f) > 1<<53 {
		return n.Errorf("%w: %v is too large", ErrRange, value)
	}
	v.SetInt(int64(f))
	return nil
}

// floatOf returns the number that a value is, if it is one.
func floatOf(value any) (f float64, ok bool) {
	switch x := value.(type) {
	case int64:
		return float64(x), true
	case uint64:
		return float64(x), true
	case float64:
		return x, true
	}
	return 0, false
}

// bound returns a bound that a tag has, and its text; none is for tags without it.
func bound(tag reflect.StructTag, key, none string) (f float64, text string) {
	text = cmp.Or(tag.Get(key), none)
	f, _ = strconv.ParseFloat(text, 64) // tags have numbers
	return f, text
}

// DecodeKey decodes one entry into the structure that target points to and reports whether the
// structure has that key. It is for mappings whose other keys the caller reads itself.
func DecodeKey(target any, e Entry) (known bool, err error) {
	v := reflect.ValueOf(target).Elem()
	f := fieldOf(Fields(v.Type()), e.Key)
	if f == nil {
		return false, nil
	}
	return true, e.Value.decode(v.FieldByIndex(f.Index), f.Tag)
}

// Limits of a document. The parser's work grows with the text's length within them.
const (
	// MaxDepth is how deep lists and mappings may lie in one another.
	MaxDepth = 100
	// MaxAliased is how many values all aliases of a document may stand for.
	MaxAliased = 100_000
	// MaxKey is the length of the longest key, bytes: it stands in the path of each error.
	MaxKey = 1024
	// maxTagLines is how many lines may begin with %TAG. The parser compares each with all others.
	maxTagLines = 100
)

var errDepth = fmt.Errorf("%w: more than %d lists and mappings in one another", ErrTooDeep, MaxDepth)

// ParseYAML reads a document; file names it in errors. An empty document is an empty mapping. A
// byte-order mark before it is skipped. Errors are *Error.
func ParseYAML(file string, data []byte) (Node, error) {
	text, mark := keepMarks(bytes.TrimPrefix(data, []byte("\ufeff")))
	root, err := parseYAML(text)
	if err == nil {
		err = check(root)
	}
	var placed *Error
	if errors.As(err, &placed) {
		placed.File = file
		return Node{}, placed
	}
	restoreMarks(root, mark)
	return Node{file: file, node: root}, nil
}

// ParseValue reads a value that stands in no file, such as that of a flag. Its faults name the path of the key that it
// is for. Errors are *Error.
func ParseValue(path, text string) (Node, error) {
	n, err := ParseYAML("", []byte(text))
	var placed *Error
	if errors.As(err, &placed) {
		placed.Line, placed.Column, placed.Path = 0, 0, path
		return Node{}, placed
	}
	return n.At(path), err
}

// keepMarks replaces the question marks within words, since the parser reads YAML 1.1, where
// they end a word in braces: {connection: run.mcap?split=1GB}. It returns what stands for
// them, a letter that the text doesn't have; 0 where it leaves the text as it is.
func keepMarks(text []byte) (kept []byte, mark rune) {
	within := func(i int) bool {
		return i > 0 && bytes.IndexByte([]byte(" \t\r\n[]{},?"), text[i-1]) < 0 && i+1 < len(text) && bytes.IndexByte([]byte(" \t\r\n"), text[i+1]) < 0
	}
	if !utf8.Valid(text) {
		return text, 0
	}
	const firstPrivate, lastPrivate = '\ue000', '\ue0ff' // Unicode's private use area
	for mark = firstPrivate; bytes.ContainsRune(text, mark); mark++ {
		if mark == lastPrivate {
			return text, 0
		}
	}
	kept = make([]byte, 0, len(text))
	for i, c := range text {
		if c == '?' && within(i) {
			kept = utf8.AppendRune(kept, mark)
		} else {
			kept = append(kept, c)
		}
	}
	return kept, mark
}

// restoreMarks gives all values their question marks again.
func restoreMarks(n *yaml.Node, mark rune) {
	if n == nil || mark == 0 {
		return
	}
	n.Value = strings.ReplaceAll(n.Value, string(mark), "?")
	for _, child := range n.Content { // an alias' value has its own place in the document
		restoreMarks(child, mark)
	}
}

// parseYAML returns the document's content, nil for none. Errors are *Error.
func parseYAML(text []byte) (*yaml.Node, error) {
	if at := tagLine(text); at >= 0 {
		return nil, faultAt(text, at, fmt.Errorf("%w: more than %d %%TAG directives", errSyntax, maxTagLines))
	}
	tree, _, err := decodeDocuments(text, 2)
	switch {
	case err != nil:
		return nil, syntaxError(text, err)
	case len(tree) == 0:
		return nil, nil
	case len(tree) > 1:
		return nil, &Error{Line: tree[1].Line, Column: tree[1].Column, Err: fmt.Errorf("%w: more than one document", errSyntax)}
	}
	return tree[0].Content[0], nil
}

// decodeDocuments returns the trees of the first documents of a text, most at most, and how many bytes
// the parser had read when it returned. A panic of the parser is an error.
func decodeDocuments(text []byte, most int) (documents []*yaml.Node, read int, err error) {
	r := &byteReader{text: text}
	defer func() {
		if p := recover(); p != nil {
			read, err = r.read, fmt.Errorf("%v", p)
		}
	}()
	for d := yaml.NewDecoder(r); len(documents) < most; {
		var n yaml.Node
		if err := d.Decode(&n); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, r.read, err
		}
		if len(n.Content) > 0 {
			documents = append(documents, &n)
		}
	}
	return documents, r.read, nil
}

// byteReader gives a text byte by byte, so that what was read of it tells how far a parser
// has come.
type byteReader struct {
	text []byte
	read int
}

func (r *byteReader) Read(p []byte) (int, error) {
	if r.read == len(r.text) {
		return 0, io.EOF
	}
	n := copy(p[:min(1, len(p))], r.text[r.read:])
	r.read += n
	return n, nil
}

// tagLine returns where the first %TAG directive is that is too many, -1 for none.
func tagLine(text []byte) int {
	for at, n := 0, 0; at < len(text); {
		if bytes.HasPrefix(text[at:], []byte("%TAG")) {
			if n++; n > maxTagLines {
				return at
			}
		}
		end := bytes.IndexAny(text[at:], "\r\n")
		if end < 0 {
			break
		}
		at += end + 1
	}
	return -1
}

// faultAt is a fault at a byte of the text.
func faultAt(text []byte, at int, err error) *Error {
	before := text[:min(at, len(text))]
	begin := bytes.LastIndexByte(before, '\n') + 1
	return &Error{
		Line: 1 + bytes.Count(before, []byte("\n")), Column: 1 + utf8.RuneCount(before[begin:]), Err: err,
	}
}

// whereAndWhat splits the parser's message. Its line is mostly that where the surrounding list
// or mapping begins, and it has no column.
var whereAndWhat = regexp.MustCompile(`(?s)^(?:yaml: )?(?:line \d+: )?(.*)$`)

func problem(err error) string { return whereAndWhat.FindStringSubmatch(err.Error())[1] }

// syntaxError gives an error of the parser its place.
func syntaxError(text []byte, err error) *Error {
	what := problem(err)
	if strings.HasPrefix(what, "exceeded max depth") {
		return faultAt(text, deepAt(text), errDepth)
	}
	at := wrongAt(text, what)
	if at < len(text) && text[at] == '\t' {
		what = "a tab: indent with spaces"
	}
	return faultAt(text, at, fmt.Errorf("%w: %s", errSyntax, what))
}

// longestSearched is the longest text in which wrongAt searches, bytes: each step parses it.
const longestSearched = 16 << 10

// wrongAt returns which byte of a text makes the parser see a problem: the last byte of the
// shortest beginning that has the same problem. In a long text it is where the parser stopped.
func wrongAt(text []byte, what string) int {
	same := func(length int) bool {
		_, _, err := decodeDocuments(text[:length], 2)
		return err != nil && problem(err) == what
	}
	_, shortest, _ := decodeDocuments(text, 2)
	if shortest > longestSearched {
		return shortest - 1
	}
	for range 16 { // lines: the parser may see the problem in a later one
		if shortest == 0 {
			break
		}
		end := bytes.LastIndexByte(text[:shortest-1], '\n') + 1
		if end == 0 || !same(end) {
			break
		}
		shortest = end
	}
	step := 1
	for shortest > step && same(shortest-step) {
		shortest -= step
		step *= 2
	}
	for ; step > 0; step /= 2 {
		if shortest > step && same(shortest-step) {
			shortest -= step
		}
	}
	return max(shortest-1, 0)
}

// deepAt returns where a text that the parser finds too deep for itself is too deep for us.
// Such texts are rows of brackets or dashes: deep indentation alone would make them longer
// than any that are read. Quotes and comments are not told apart.
func deepAt(text []byte) int {
	flow, block := 0, 0
	for i, c := range text {
		blank := i+1 == len(text) || text[i+1] == ' ' || text[i+1] == '\n'
		switch {
		case c == '[' || c == '{':
			flow++
		case c == ']' || c == '}':
			flow = max(flow-1, 0)
		case c == '\n' && flow == 0:
			block = 0
		case strings.IndexByte("-?:", c) >= 0 && blank && flow == 0:
			block++
		}
		if flow+block > MaxDepth {
			return i
		}
	}
	return len(text)
}

// check returns an *Error where a document is beyond the limits.
func check(root *yaml.Node) error {
	c := checker{}
	return c.node(root, 0, false)
}

// checker counts what aliases stand for.
type checker struct{ aliased int }

// node checks a value that lies in so many others. An alias that lies within what it stands
// for is too deep.
func (c *checker) node(n *yaml.Node, depth int, aliased bool) error {
	fault := func(err error) error { return &Error{Line: n.Line, Column: n.Column, Err: err} }
	if n == nil {
		return nil
	}
	if aliased {
		if c.aliased++; c.aliased > MaxAliased {
			return fault(fmt.Errorf("%w: aliases stand for more than %d values", ErrTooLarge, MaxAliased))
		}
	}
	switch n.Kind {
	case yaml.AliasNode:
		if depth >= MaxDepth {
			return fault(errDepth)
		}
		return c.node(n.Alias, depth, true)
	case yaml.ScalarNode:
		return nil
	}
	if depth++; depth > MaxDepth {
		return fault(errDepth)
	}
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 && len(child.Value) > MaxKey {
			return &Error{Line: child.Line, Column: child.Column, Err: fmt.Errorf("%w: key of %d bytes, need at most %d", ErrTooLarge, len(child.Value), MaxKey)}
		}
		if err := c.node(child, depth, aliased); err != nil {
			return err
		}
	}
	return nil
}
