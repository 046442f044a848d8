package yamldoc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

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

// Parse reads a document; file names it in errors. An empty document is an empty mapping. A
// byte-order mark before it is skipped. Errors are *Error.
func Parse(file string, data []byte) (Node, error) {
	text, mark := keepMarks(bytes.TrimPrefix(data, []byte("\ufeff")))
	root, err := parse(text)
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

// parse returns the document's content, nil for none. Errors are *Error.
func parse(text []byte) (*yaml.Node, error) {
	if at := tagLine(text); at >= 0 {
		return nil, faultAt(text, at, fmt.Errorf("%w: more than %d %%TAG directives", ErrSyntax, maxTagLines))
	}
	tree, _, err := decode(text, 2)
	switch {
	case err != nil:
		return nil, syntaxError(text, err)
	case len(tree) == 0:
		return nil, nil
	case len(tree) > 1:
		return nil, &Error{Line: tree[1].Line, Column: tree[1].Column, Err: fmt.Errorf("%w: more than one document", ErrSyntax)}
	}
	return tree[0].Content[0], nil
}

// decode returns the trees of the first documents of a text, most at most, and how many bytes
// the parser had read when it returned. A panic of the parser is an error.
func decode(text []byte, most int) (documents []*yaml.Node, read int, err error) {
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
	return faultAt(text, at, fmt.Errorf("%w: %s", ErrSyntax, what))
}

// longestSearched is the longest text in which wrongAt searches, bytes: each step parses it.
const longestSearched = 16 << 10

// wrongAt returns which byte of a text makes the parser see a problem: the last byte of the
// shortest beginning that has the same problem. In a long text it is where the parser stopped.
func wrongAt(text []byte, what string) int {
	same := func(length int) bool {
		_, _, err := decode(text[:length], 2)
		return err != nil && problem(err) == what
	}
	_, shortest, _ := decode(text, 2)
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
