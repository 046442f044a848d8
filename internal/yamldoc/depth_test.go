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

// TestDepth: however it is written, 100 in one another are read and 101 are not. The deepest
// of these would take the parser minutes.
func TestDepth(t *testing.T) {
	const most = yamldoc.MaxDepth
	repeat := func(text string) func(int) string {
		return func(n int) string { return strings.Repeat(text, n) }
	}
	brackets := func(n int) string { return strings.Repeat("[", n-1) + strings.Repeat("]", n-1) } // the document's own column is one
	for name, c := range map[string]struct {
		text  func(int) string
		valid bool
	}{
		"brackets": {brackets, true}, "open brackets": {func(n int) string { return strings.Repeat("[", n-1) }, false},
		"braces": {func(n int) string { return strings.Repeat("{a: ", n-1) + strings.Repeat("}", n-1) }, true},
		"dashes": {repeat("- "), true}, "lines": {stairs, true},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := yamldoc.Parse("f.yaml", []byte(c.text(most)))
			require.NotErrorIs(t, err, yamldoc.ErrTooDeep)
			if c.valid {
				require.NoError(t, err)
			}
			require.NoError(t, yamldoc.CheckDepth([]byte(c.text(most))))
			deep := most + 1
			for range 2 {
				_, err = yamldoc.Parse("f.yaml", []byte(c.text(deep)))
				require.ErrorIs(t, err, yamldoc.ErrTooDeep)
				require.ErrorIs(t, yamldoc.CheckDepth([]byte(c.text(deep))), yamldoc.ErrTooDeep)
				deep = 1000
			}
		})
	}
	_, err := yamldoc.Parse("f.yaml", []byte("a: 1\nb: "+strings.Repeat("[", 100_000)))
	assert.EqualError(t, err, "f.yaml:2:103: nested too deeply: more than 100 lists and mappings in one another")
	assert.EqualError(t, yamldoc.CheckDepth([]byte(strings.Repeat("- ", 50_000))),
		"line 1, column 201: nested too deeply: more than 100 lists and mappings in one another")
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
