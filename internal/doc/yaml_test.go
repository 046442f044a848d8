package doc_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/internal/doc"
)

type inner struct {
	Speed float64 `yaml:"speed" min:"0" max:"50"`
	Name  string  `yaml:"name"`
}

type document struct {
	Seed     uint64        `yaml:"seed"`
	Duration time.Duration `yaml:"duration"`
	On       bool          `yaml:"on_start"`
	Count    int           `yaml:"count" min:"1"`
	List     []inner       `yaml:"list"`
	Inner    *inner        `yaml:"inner"`
	Color    string        `yaml:"color" enum:"red,green"`
	Shade    string        `yaml:"shade" enum:"dark,light" case:"any"`
	Hidden   int
}

func decode(t *testing.T, text string) (document, error) {
	t.Helper()
	d := document{Count: 7}
	n, err := doc.ParseYAML("f.yaml", []byte(text))
	if err == nil {
		err = n.Decode(&d)
	}
	return d, err
}

func TestDecode(t *testing.T) {
	d, err := decode(t, "seed: 18446744073709551615\nduration: 2m30s\non_start: true\nlist:\n  - speed: 3\n    name: 42\n  - {name: b}\ninner: {speed: 1e1}\ncolor: red\n")
	require.NoError(t, err)
	assert.Equal(t, document{
		Seed: 1<<64 - 1, Duration: 150 * time.Second, On: true, Count: 7,
		List: []inner{{3, "42"}, {0, "b"}}, Inner: &inner{Speed: 10}, Color: "red",
	}, d)

	d, err = decode(t, "# nothing but a comment\n")
	require.NoError(t, err)
	assert.Equal(t, document{Count: 7}, d)

	d, err = decode(t, "shade: DarK")
	require.NoError(t, err)
	assert.Equal(t, "DarK", d.Shade)

	d, err = decode(t, "duration: 1.5")
	require.NoError(t, err)
	assert.Equal(t, 1500*time.Millisecond, d.Duration)
}

func TestFaultsNameTheirPlace(t *testing.T) {
	for _, c := range []struct {
		text, message string
		is            error
	}{
		{"sed: 1", "f.yaml:1:1: sed: unknown key, did you mean seed?", doc.ErrUnknownKey},
		{"list:\n  - name: a\n  - sped: 2", "f.yaml:3:5: list[1].sped: unknown key, did you mean speed?", doc.ErrUnknownKey},
		{"inner:\n  speed: 51", "f.yaml:2:10: inner.speed: out of range: 51, the range is 0 to 50", doc.ErrRange},
		{"count: 0", "f.yaml:1:8: count: out of range: 0, the range is 1 to inf", doc.ErrRange},
		{"count: 1.5", "f.yaml:1:8: count: wrong kind of value: 1.5, need a whole number", doc.ErrType},
		{"seed: -1", "f.yaml:1:7: seed: out of range: -1, need a number of at least 0", doc.ErrRange},
		{"seed: many", "f.yaml:1:7: seed: wrong kind of value: many, need a number", doc.ErrType},
		{"color: gren", `f.yaml:1:8: color: unknown value: "gren", did you mean green?`, doc.ErrValue},
		{"color: Red", `f.yaml:1:8: color: unknown value: "Red", did you mean red?`, doc.ErrValue},
		{"shade: Dakr", `f.yaml:1:8: shade: unknown value: "Dakr", did you mean dark?`, doc.ErrValue},
		{"color: 3", `f.yaml:1:8: color: unknown value: "3", known are red, green`, doc.ErrValue},
		{"list: 3", "f.yaml:1:7: list: wrong kind of value: need a list", doc.ErrType},
		{"duration: soon", `f.yaml:1:11: duration: wrong kind of value: "soon", need a duration such as 10s or 2m30s`, doc.ErrType},
		{"inner: {speed: .nan}", "f.yaml:1:16: inner.speed: out of range: NaN, the range is 0 to 50", doc.ErrRange},
	} {
		d, err := decode(t, c.text)
		require.ErrorIs(t, err, c.is, c.text)
		assert.Equal(t, c.message, err.Error(), c.text)
		assert.Equal(t, []any{7, "", ""}, []any{d.Count, d.Color, d.Shade}, "%s: what isn't good leaves the field as it was", c.text)
	}
}

// TestWindowsFiles: a byte-order mark and CRLF mean nothing.
func TestWindowsFiles(t *testing.T) {
	d, err := decode(t, "\ufeffseed: 7\r\ninner:\r\n  speed: 3\r\n")
	require.NoError(t, err)
	assert.EqualValues(t, 7, d.Seed)
	_, err = decode(t, "\ufeffseed: 7\r\ncolor: blue\r\n")
	assert.ErrorContains(t, err, "f.yaml:2:8: color: unknown value")
}

// TestSyntaxErrors: each has the place where reading fails.
func TestYAMLSyntaxErrors(t *testing.T) {
	for text, message := range map[string]string{
		"a: [1":                   "f.yaml:1:5: not valid YAML: did not find expected ',' or ']'",
		"rules: [":                "f.yaml:1:8: not valid YAML: did not find expected node content",
		"a: 1\n  b: 2":            "f.yaml:2:4: not valid YAML: mapping values are not allowed in this context",
		"\ta: 1":                  "f.yaml:1:1: not valid YAML: a tab: indent with spaces",
		"a:\n\tb: 1":              "f.yaml:2:1: not valid YAML: a tab: indent with spaces",
		"a: 1\n---\nb: 2":         "f.yaml:2:1: not valid YAML: more than one document",
		"seed: 1\nseed: 2":        "f.yaml:2:1: seed: key given twice",
		"seed: 1\ncolor: @b":      "f.yaml:2:8: not valid YAML: found character that cannot start any token",
		"seed: 1\ncolor: 'b":      "f.yaml:2:8: not valid YAML: found unexpected end of stream",
		"seed: *b":                "f.yaml:1:8: not valid YAML: unknown anchor 'b' referenced",
		"seed: 1\ncolor: \"\\q\"": "f.yaml:2:9: not valid YAML: found unknown escape character",
		"list: [1, 2]]\nseed: 1":  "f.yaml:1:13: not valid YAML: did not find expected key",
		"inner: {speed: 1\nseed: 3\ncolor: red\n":        "f.yaml:1:16: not valid YAML: did not find expected ',' or '}'",
		"list:\n  - name: a\n    speed: 1\n   name: c\n": "f.yaml:4:4: not valid YAML: did not find expected '-' indicator",
		"seed: 1\ncolor: \x00":                           "f.yaml:2:8: not valid YAML: control characters are not allowed",
		"? [seed]\n: 1":                                  "f.yaml:1:3: not valid YAML: a key is a word, no list or mapping",
	} {
		_, err := decode(t, text)
		assert.EqualError(t, err, message, text)
		var e *doc.Error
		require.ErrorAs(t, err, &e, text)
	}
}

// TestAliases: an alias is what it stands for.
func TestAliases(t *testing.T) {
	d, err := decode(t, "inner: &x {speed: &s 3, name: &n b}\nlist: [*x, {speed: *s, name: *n}]\ncount: *s")
	require.NoError(t, err)
	assert.Equal(t, document{Count: 3, Inner: &inner{3, "b"}, List: []inner{{3, "b"}, {3, "b"}}}, d)
	_, err = decode(t, "inner: &x {speed: 60}\nlist: [*x]")
	assert.EqualError(t, err, "f.yaml:1:19: inner.speed: out of range: 60, the range is 0 to 50\nf.yaml:1:19: list[0].speed: out of range: 60, the range is 0 to 50")
}

// TestValue: what a document says without a structure for it.
func TestValue(t *testing.T) {
	for text, want := range map[string]any{
		"1": uint64(1), "-1": int64(-1), "18446744073709551615": uint64(1<<64 - 1), "1.5": 1.5, "1e3": 1000.0, "true": true, "~": nil, "": nil,
		"yes": "yes", "'1'": "1", "2001-02-03": "2001-02-03", "!!binary eA==": "eA==", "! 0": uint64(0), "<<": "<<",
		"[1, a]": []any{uint64(1), "a"}, "{a: {b: 2}}": map[string]any{"a": map[string]any{"b": uint64(2)}},
		"{a: b?c=d, e: f?, g: h?}": map[string]any{"a": "b?c=d", "e": "f?", "g": "h?"}, "{? a, ? b: 1}": map[string]any{"a": nil, "b": uint64(1)}, "[a?]": []any{"a?"},
		"\"?\\n??\"": "?\n??", "a?b?c?": "a?b?c?", "'?'": "?", "\ue000?x": "\ue000?x",
		"- &a 1\n- *a": []any{uint64(1), uint64(1)},
	} {
		n, err := doc.ParseYAML("f.yaml", []byte(text))
		require.NoError(t, err, text)
		got, err := n.Value()
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	_, err := decode(t, "color: "+strings.Repeat("x", 10_000))
	assert.Less(t, len(err.Error()), 1100)
	n, err := doc.ParseYAML("f.yaml", []byte("a: !!int b"))
	require.NoError(t, err)
	_, err = n.Value()
	assert.ErrorIs(t, err, doc.ErrType)
}

func TestSkipUnknown(t *testing.T) {
	n, err := doc.ParseYAML("f.yaml", []byte("sed: {a: 1}\nlist: [{speed: 1, sped: 2}]"))
	require.NoError(t, err)
	var d document
	require.NoError(t, n.SkipUnknown().Decode(&d))
	assert.Equal(t, document{List: []inner{{Speed: 1}}}, d)
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{"seed: 1", "list: [{speed: 1}]", "inner: *a", "a: &x {b: *x}", "? [1]: 2", "- 1", "! 0", "seed: ! 0", "list: [! 0]", "inner: ! 0"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var d document
		if n, err := doc.ParseYAML("f.yaml", data); err == nil {
			_ = n.Decode(&d)
		}
	})
}

const hostileBytes = 1 << 20

// repeated is text of 1 MiB.
func repeated(s string) string { return strings.Repeat(s, hostileBytes/len(s)) }

// numbered is text of 1 MiB in which each piece has its number.
func numbered(format string) string {
	var b strings.Builder
	for i := 0; b.Len() < hostileBytes; i++ {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// laughs are aliases of aliases: ten of each of the level before.
func laughs(levels int) string {
	b := strings.Builder{}
	b.WriteString("l0: &l0 1\n")
	for i := range levels {
		fmt.Fprintf(&b, "l%d: &l%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*l%d,", i), 10), ","))
	}
	return b.String()
}

var hostile = map[string]string{
	"keys": numbered("k%d: 1\n"), "keys in braces": "{" + numbered("k%d: 1,") + "}", "equal keys": repeated("seed: 1\n"), "long key": "? " + repeated("k") + "\n: 1",
	"anchors": numbered("- &a%d 1\n"), "aliases": "l0: &a 1\nlist: [" + repeated("*a,") + "]", "laughs": laughs(50), "alias of the whole": "list: &a [" + repeated("*a,") + "]",
	"merge keys": "a: &a {b: 1}\n" + repeated("c: {<<: *a}\n"), "alias as key": "a: &a k\n" + repeated("*a : 1\n"),
	"brackets": repeated("["), "braces": repeated("{"), "keyed braces": repeated("{a: "), "dashes": repeated("- "), "question marks": repeat17("? "),
	"brackets in rows": strings.Repeat("[", 9_990) + repeated("a,\n"), "rows of brackets": repeated("- " + strings.Repeat("[", 99) + strings.Repeat("]", 99) + "\n"),
	"deep lines": repeated(strings.Repeat("- ", 1000) + "\n"), "stairs": stairs(1400), "row behind dashes": strings.Repeat("- ", 9_990) + "\n" + repeated("- a\n"),
	"comments": repeated("# c\n"), "comments of values": repeated("- a # c\n"), "comments in brackets": "[" + repeated("a, # c\n") + "]", "comments below": repeated("a:\n  - b\n# c\n\n"),
	"long text": "color: " + repeated("x"), "words": "color: " + repeated("x "), "lines": repeated("x\n"), "quoted": `color: "` + repeated(`\n`) + `"`, "open quotes": "color: '" + repeated("x\n"),
	"literal": "color: |\n" + repeated("  x\n"), "literals": repeated("- |\n"), "number": "count: " + repeated("9"), "fraction": "count: 0." + repeated("9"),
	"documents": repeated("---\n"), "directives": numbered("%%TAG !e%d! tag:\n") + "--- a\n", "tags": repeated("- !!str a\n"), "long tag": "- !<" + repeated("a") + "> b",
	"line ends": repeated("\r"), "blank": "a:" + repeated(" ") + "b", "tabs": repeated("\t"), "marks": repeated("\ufeff"), "zeros": repeated("\x00"),
	"wide": "\xff\xfe" + repeated("a\x00\n\x00"), "objects": "list: [" + repeated("{speed: 1, name: a},") + "]",
}

func repeat17(s string) string { return strings.Repeat(s, 1<<17) }

// TestHostile: 1 MiB of anything ends within a second of processor time, and says where the
// fault is. With the race detector, on a slow machine, the longest takes eleven. What takes a
// minute fails here: before, some of these took several.
func TestHostile(t *testing.T) {
	if testing.Short() {
		t.Skip("parses 40 MiB")
	}
	for name, text := range hostile {
		t.Run(name, func(t *testing.T) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			begun := processorTime(t)
			var d document
			n, err := doc.ParseYAML("f.yaml", []byte(text))
			if err == nil {
				_, _ = n.Value()
				err = n.Decode(&d)
			}
			used := processorTime(t) - begun
			t.Logf("%v: %.200v", used, err)
			assert.Less(t, used, time.Minute)
			if err != nil {
				var e *doc.Error
				require.True(t, errors.As(err, &e))
				assert.Positive(t, e.Line)
				assert.Positive(t, e.Column)
			}
		})
	}
}

// processorTime is what this thread has used.
func processorTime(t *testing.T) time.Duration {
	const thread = 1 // RUSAGE_THREAD
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(thread, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestAliasesAreBounded: what they stand for is counted before it is read.
func TestAliasesAreBounded(t *testing.T) {
	_, err := doc.ParseYAML("f.yaml", []byte(laughs(4)))
	require.NoError(t, err)
	_, err = doc.ParseYAML("f.yaml", []byte(laughs(9)))
	require.ErrorIs(t, err, doc.ErrTooLarge)
	assert.ErrorContains(t, err, "aliases stand for more than 100000 values")
}

// stairs are n mappings in one another, a line each.
func stairs(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

// TestDepth: however it is written, 100 in one another are read and 101 are not, nor are so
// many that the parser gives up before.
func TestDepth(t *testing.T) {
	const most = doc.MaxDepth
	repeat := func(text string) func(int) string {
		return func(n int) string { return strings.Repeat(text, n) }
	}
	for name, text := range map[string]func(int) string{
		"brackets": func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) },
		"braces":   func(n int) string { return strings.Repeat("{a: ", n) + strings.Repeat("}", n) },
		"dashes":   repeat("- "), "question marks": repeat("? "), "lines": stairs,
		"alias": func(n int) string {
			half := n / 2
			return strings.Repeat("- ", half) + "&a\n" + strings.Repeat(" ", 2*half) + strings.Repeat("- ", n-half) + "1"
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := doc.ParseYAML("f.yaml", []byte(text(most)))
			require.NoError(t, err)
			for _, deep := range []int{most + 1, 1000, 5000} {
				_, err = doc.ParseYAML("f.yaml", []byte(text(deep)))
				require.ErrorIs(t, err, doc.ErrTooDeep)
			}
		})
	}
	for text, message := range map[string]string{
		"a: 1\nb: " + strings.Repeat("[", 100_000):    "f.yaml:2:103: nested too deeply: more than 100 lists and mappings in one another",
		"a: 1\nb: " + strings.Repeat("{x: ", 100_000): "f.yaml:2:400: nested too deeply: more than 100 lists and mappings in one another",
		strings.Repeat("- ", 50_000):                  "f.yaml:1:201: nested too deeply: more than 100 lists and mappings in one another",
		strings.Repeat("- ", 5000):                    "f.yaml:1:201: nested too deeply: more than 100 lists and mappings in one another",
		stairs(102):                                   "f.yaml:101:101: nested too deeply: more than 100 lists and mappings in one another",
		"a: &a [*a]":                                  "f.yaml:1:8: nested too deeply: more than 100 lists and mappings in one another",
		"a: &a {b: *a}":                               "f.yaml:1:11: nested too deeply: more than 100 lists and mappings in one another",
	} {
		_, err := doc.ParseYAML("f.yaml", []byte(text))
		assert.EqualError(t, err, message)
	}
}

// TestBreadthIsNoDepth: nor are brackets in text and in comments.
func TestBreadthIsNoDepth(t *testing.T) {
	for _, text := range []string{
		"# " + strings.Repeat("[", 500) + "\na: 1", `a: "` + strings.Repeat("[", 500) + `"`, "a: '" + strings.Repeat("{", 500) + "'",
		"a: |\n  " + strings.Repeat("- ", 500), "a: x" + strings.Repeat(" [", 500), strings.Repeat("- [[1]]\n", 500), strings.Repeat("- a: {b: 1}\n  c: 2\n", 500),
		"- a:\n" + strings.Repeat("    - x\n", 500),
	} {
		_, err := doc.ParseYAML("f.yaml", []byte(text))
		require.NoError(t, err, text[:20])
	}
}

// TestFaultsAreJoinedErrors: each of those that errors.Join made one of is a fault. An error that wraps others in a
// text of its own stays one, and loses none of its words.
func TestFaultsAreJoinedErrors(t *testing.T) {
	t.Parallel()
	a, b := errors.New("a"), errors.New("b")
	for _, k := range []struct {
		add  []error
		want []string
	}{
		{nil, nil},
		{[]error{nil, a}, []string{"a"}},
		{[]error{errors.Join(a, b), a}, []string{"a", "b", "a"}},
		{[]error{fmt.Errorf("key: %w: %w", a, b)}, []string{"key: a: b"}},
		{[]error{errors.Join(fmt.Errorf("%w of %w", a, b), b)}, []string{"a of b", "b"}},
	} {
		var faults doc.Faults
		for _, err := range k.add {
			faults.Add(err)
		}
		if k.want == nil {
			require.NoError(t, faults.Err())
			continue
		}
		require.EqualError(t, faults.Err(), strings.Join(k.want, "\n"))
		if len(k.want) > 1 {
			assert.Len(t, doc.Joined(faults.Err()), len(k.want))
		}
	}
}
