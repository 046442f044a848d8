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
	"slices"
	"strconv"
	"strings"
	"testing"
)

// longest is how many words a sentence may have.
const longest = 25

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

// TestProse reads documentation, comments, messages and help texts. A sentence has at most
// 25 words and says what it says in plain ones.
func TestProse(t *testing.T) {
	passages := prose(t)
	if len(passages) < 1000 {
		t.Fatalf("found %d passages: the test reads nothing", len(passages))
	}
	faults := 0
	for _, p := range passages {
		for _, s := range sentences(p.text) {
			if n := len(strings.Fields(s)); n > longest {
				faults++
				t.Logf("%s: %d words: %.120s", p, n, s)
			}
		}
		for _, w := range unplain {
			if at := w.found.FindString(plain.ReplaceAllString(p.text, "")); at != "" {
				faults++
				t.Logf("%s: %q: write %s", p, at, w.write)
			}
		}
	}
	hold(t, "sentences of over 25 words, and words that have a plainer form", faults, limits.prose)
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

var (
	code = regexp.MustCompile("`[^`]*`|\\]\\([^)]*\\)|https?://\\S+")
	// A sentence ends with a stop before a space or the end of the passage. A colon and a
	// semicolon end none.
	stop = regexp.MustCompile(`[.!?](?:[)"*]*)(?:\s+|$)`)
	// These stops end no sentence.
	short = regexp.MustCompile(`\b(?:e\.g|i\.e|etc|cf|vs|No|Fig|Sec|p)\.$`)
)

// sentences cuts a passage into its sentences. A piece of code counts as one word.
func sentences(text string) (all []string) {
	text = strings.NewReplacer("**", "", "[", "", "]", "").Replace(code.ReplaceAllString(text, "code"))
	for from := 0; from < len(text); {
		at := stop.FindStringIndex(text[from:])
		if at == nil {
			return append(all, text[from:])
		}
		end := from + at[1]
		for short.MatchString(strings.TrimSpace(text[from:end])) {
			next := stop.FindStringIndex(text[end:])
			if next == nil {
				end = len(text)
				break
			}
			end += next[1]
		}
		all = append(all, strings.TrimSpace(text[from:end]))
		from = end
	}
	return all
}

func TestSentences(t *testing.T) {
	for text, want := range map[string][]string{
		"One. Two, e.g. a dog. Three":      {"One.", "Two, e.g. a dog.", "Three"},
		"It is at `a.b. c` (see x). Then.": {"It is at code (see x).", "Then."},
		"A fact; another: a third.":        {"A fact; another: a third."},
		"Version 1.2 of a.md is there.":    {"Version 1.2 of a.md is there."},
	} {
		if have := sentences(text); !slices.Equal(have, want) {
			t.Errorf("%q: %q, want %q", text, have, want)
		}
	}
}
