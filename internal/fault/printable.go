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
