package yamldoc_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/internal/yamldoc"
)

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
