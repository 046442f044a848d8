package yamldoc_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/raybridge/raybridge/internal/yamldoc"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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
// fault is. What takes ten fails here: before, some of these took minutes.
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
			n, err := yamldoc.Parse("f.yaml", []byte(text))
			if err == nil {
				_, _ = n.Value()
				err = n.Decode(&d)
			}
			used := processorTime(t) - begun
			t.Logf("%v: %.200v", used, err)
			assert.Less(t, used, 10*time.Second)
			if err != nil {
				var e *yamldoc.Error
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
	_, err := yamldoc.Parse("f.yaml", []byte(laughs(4)))
	require.NoError(t, err)
	_, err = yamldoc.Parse("f.yaml", []byte(laughs(9)))
	require.ErrorIs(t, err, yamldoc.ErrTooLarge)
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
	const most = yamldoc.MaxDepth
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
			_, err := yamldoc.Parse("f.yaml", []byte(text(most)))
			require.NoError(t, err)
			for _, deep := range []int{most + 1, 1000, 5000} {
				_, err = yamldoc.Parse("f.yaml", []byte(text(deep)))
				require.ErrorIs(t, err, yamldoc.ErrTooDeep)
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
		_, err := yamldoc.Parse("f.yaml", []byte(text))
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
		_, err := yamldoc.Parse("f.yaml", []byte(text))
		require.NoError(t, err, text[:20])
	}
}
