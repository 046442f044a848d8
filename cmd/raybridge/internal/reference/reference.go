// Package reference writes the pages docs/config.md, docs/sensors.md and docs/rigs.md
// from what the program itself knows: the types that configurations are read into,
// the registry of sensors, and the tables of other simulators' rigs. A test holds the
// pages in the repository beside them, and writes them with its flag -update.
package reference

import (
	"fmt"
	"strings"
)

//go:generate go test -run TestPagesAreInStep . -update

// page is a Markdown page under construction.
type page struct{ strings.Builder }

// notice begins every page that is written here.
const notice = "<!-- Written by `make generate`: change the Go sources that it describes instead. -->\n"

func (p *page) printf(format string, args ...any) { fmt.Fprintf(p, format, args...) }

// table writes a table; no rows, no table.
func (p *page) table(head []string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	p.row(head)
	p.WriteString(strings.Repeat("|---", len(head)) + "|\n")
	for _, r := range rows {
		p.row(r)
	}
	p.WriteString("\n")
}

func (p *page) row(cells []string) {
	for _, c := range cells {
		p.WriteString("| " + strings.ReplaceAll(c, "|", `\|`) + " ")
	}
	p.WriteString("|\n")
}

// code sets text as code, nothing as nothing.
func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

// codes sets each of a list as code.
func codes(list []string) string {
	set := make([]string, len(list))
	for i, s := range list {
		set[i] = code(s)
	}
	return strings.Join(set, ", ")
}
