package deps_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// unplain are words that have a plainer form: what to write in their place.
var unplain = []struct {
	found *regexp.Regexp
	write string
}{
	{regexp.MustCompile(`(?i)\banew\b`), "again"},
	{regexp.MustCompile(`(?i)\bwho(?:m)?ever\b`), "anyone who, or a noun"},
	{regexp.MustCompile(`(?i)\bis no(?:ne)?\b`), "is not a, or there is no"},
	{regexp.MustCompile(`(?i)\btherein\b`), "in it"},
	{regexp.MustCompile(`(?i)\b(?:goes|go|went|going) on(?:$|[ ,.;:)](?:$|[^a-z]|as|with|without|until|while|from|and|for|where|when|there|to\b))`), "continues"},
	{regexp.MustCompile(`(?i)\bbut for\b`), "except"},
	{regexp.MustCompile(`(?i)\bof one's own\b`), "of your own"},
}

// plain are phrases that have the words above and stay.
var plain = regexp.MustCompile(`(?i)\bthere is no(?:ne)?\b|\bis no longer\b`)

// A passage is a piece of prose: a paragraph, a comment, a message.
type passage struct {
	file string
	line int
	text string
}

func (p passage) String() string { return fmt.Sprintf("%s:%d", p.file, p.line) }

// TestProse reads documentation, comments, messages and help texts: they say what they say in
// plain words.
func TestProse(t *testing.T) {
	passages := prose(t)
	if len(passages) < 1000 {
		t.Fatalf("found %d passages: the test reads nothing", len(passages))
	}
	for _, p := range passages {
		for _, w := range unplain {
			if at := w.found.FindString(plain.ReplaceAllString(p.text, "")); at != "" {
				t.Errorf("%s: %q: write %s", p, at, w.write)
			}
		}
	}
}

// prose collects all passages of the module.
func prose(t *testing.T) (all []passage) {
	t.Helper()
	err := filepath.WalkDir("../..", func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && outside(entry.Name()):
			return filepath.SkipDir
		case entry.IsDir():
			return nil
		}
		name := strings.TrimPrefix(filepath.ToSlash(file), "../../")
		read := map[string]func(string, []byte) []passage{".md": ofPage, ".go": ofGo, ".glsl": ofLines, ".comp": ofLines, ".msg": ofLines}[path.Ext(name)]
		if read == nil || name == "NOTICE" {
			return nil
		}
		text, err := os.ReadFile(file)
		if err == nil && !generated.Match(text) {
			all = append(all, read(name, text)...)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var (
	fence  = regexp.MustCompile("^\\s*```")
	marker = regexp.MustCompile(`^\s*(?:[-*]|\d+\.|#+|>)\s+`)
)

// ofPage returns the paragraphs, list items and table cells of a Markdown page, without
// its programs.
func ofPage(file string, text []byte) (all []passage) {
	open, inFence := passage{file: file}, false
	end := func() {
		if strings.TrimSpace(open.text) != "" {
			all = append(all, open)
		}
		open = passage{file: file}
	}
	for i, line := range strings.Split(string(text), "\n") {
		switch {
		case fence.MatchString(line):
			end()
			inFence = !inFence
		case inFence:
		case strings.TrimSpace(line) == "":
			end()
		case strings.HasPrefix(strings.TrimSpace(line), "|"):
			end()
			for _, cell := range strings.Split(line, "|") {
				open = passage{file, i + 1, cell}
				end()
			}
		default:
			if marker.MatchString(line) {
				end()
				line = marker.ReplaceAllString(line, "")
			}
			if open.text == "" {
				open.line = i + 1
			}
			open.text += line + " "
		}
	}
	end()
	return all
}

// output begins what an example prints.
var output = regexp.MustCompile(`(?m)^(?:Unordered )?[Oo]utput:`)

// tag is a value of a field's tag, each a text of its own.
var tag = regexp.MustCompile(`\b(?:doc|want|inert):"((?:[^"\\]|\\.)*)"`)

// ofGo returns the comments and the messages of a Go file, without C programs. Texts of several
// lines in tests are data.
func ofGo(file string, text []byte) (all []passage) {
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, file, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil
	}
	programs := preambles(parsed)
	for _, group := range parsed.Comments {
		if programs[group] {
			continue
		}
		text := group.Text()
		if at := output.FindStringIndex(text); at != nil {
			text = text[:at[0]]
		}
		all = append(all, paragraphs(file, files.Position(group.Pos()).Line, text)...)
	}
	inTest := strings.HasSuffix(file, "_test.go")
	ast.Inspect(parsed, func(n ast.Node) bool {
		literal, ok := n.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return true
		}
		if values := tag.FindAllStringSubmatch(literal.Value, -1); values != nil {
			for _, value := range values {
				all = append(all, passage{file, files.Position(literal.Pos()).Line, value[1]})
			}
			return false
		}
		text, err := strconv.Unquote(literal.Value)
		data := strings.ContainsAny(text, "{\x00") || inTest && strings.Contains(text, "\n")
		if err == nil && !data && strings.Count(text, " ") >= 6 {
			all = append(all, paragraphs(file, files.Position(literal.Pos()).Line, text)...)
		}
		return true
	})
	return all
}

// preambles returns the comments of a file that are C programs.
func preambles(parsed *ast.File) map[*ast.CommentGroup]bool {
	programs := map[*ast.CommentGroup]bool{}
	for _, d := range parsed.Decls {
		if d, ok := d.(*ast.GenDecl); ok && d.Tok == token.IMPORT && d.Specs[0].(*ast.ImportSpec).Path.Value == `"C"` {
			programs[d.Doc] = true
		}
	}
	return programs
}

// ofLines returns the comments of a shader or a message file.
func ofLines(file string, text []byte) []passage {
	var comment strings.Builder
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		words, ok := strings.CutPrefix(line, "//")
		if !ok && path.Ext(file) == ".msg" {
			words, ok = strings.CutPrefix(line, "#")
		}
		if !ok {
			words = ""
		}
		comment.WriteString(words + "\n")
	}
	return paragraphs(file, 1, comment.String())
}

// paragraphs cuts text at empty lines, and leaves out what is indented: it is a program or
// a table. Four lines or more of up to three words each are a list.
func paragraphs(file string, line int, text string) (all []passage) {
	open, lines := passage{file: file}, 0
	for i, words := range strings.Split(text+"\n", "\n") {
		if strings.TrimSpace(words) == "" || strings.HasPrefix(words, "\t") || strings.HasPrefix(words, "   ") || marker.MatchString(words) {
			if open.text != "" && (lines < 4 || len(strings.Fields(open.text)) > 3*lines) {
				all = append(all, open)
			}
			open, lines = passage{file: file}, 0
			if !marker.MatchString(words) {
				continue
			}
			words = marker.ReplaceAllString(words, "")
		}
		if open.text == "" {
			open.line = line + i
		}
		open.text += words + " "
		lines++
	}
	return all
}
