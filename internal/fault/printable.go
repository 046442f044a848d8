package fault

import (
	"strconv"
	"strings"
	"unicode"
)

// Printable is a name of a file's or a peer's making as people are shown it: quoted where a terminal would take some of it
// for a command, or a table for the end of a cell.
func Printable(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(name)
	}
	return name
}

// PrintableText is a text of several lines as people are shown it: what a terminal would take for a command is written as Go writes
// it in strings.
func PrintableText(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r == '\n' || r == '\t' || unicode.IsGraphic(r) {
			b.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRune(r)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}
