package fault_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/internal/fault"
)

// TestPrintable quotes what isn't to reach a terminal, and nothing else.
func TestPrintable(t *testing.T) {
	for name, want := range map[string]string{
		"/lidar/points": "/lidar/points", "": "", "/a b": "/a b", "/größe": "/größe",
		"/a\x1b[2J": `"/a\x1b[2J"`, "/a\tb": `"/a\tb"`, "/a\nb": `"/a\nb"`, "/a\u202eb": `"/a\u202eb"`,
	} {
		assert.Equal(t, want, fault.Printable(name))
	}
}

// TestPrintableText keeps lines, tabs and spaces of all kinds, and writes out what isn't to reach a terminal.
func TestPrintableText(t *testing.T) {
	for text, want := range map[string]string{
		"one\n\ttwo\n": "one\n\ttwo\n", "45\u00a0%": "45\u00a0%", "größe": "größe", "": "",
		"a\x1b[2Jb\r\nc": "a\\x1b[2Jb\\r\nc", "a\u009b2Jb": "a\\u009b2Jb", "a\u202eb": "a\\u202eb", "a\xffb": "a\ufffdb",
	} {
		assert.Equal(t, want, fault.PrintableText(text))
	}
}
