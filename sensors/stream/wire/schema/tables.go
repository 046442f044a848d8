package schema

import (
	"fmt"
	"strings"
)

// Tables returns the layouts as Markdown.
func Tables() string {
	var b strings.Builder
	for _, m := range Messages {
		places, textAt, size := m.Layout()
		fmt.Fprintf(&b, "\n### %d: %s\n\n%s. Version %d, fixed part of %d bytes.\n", m.Kind, m.Name, capital(m.Doc), m.Version, size)
		if len(places) > 0 {
			b.WriteString("\n| offset | type | field | |\n|---|---|---|---|\n")
		}
		for _, p := range places {
			typ, doc := p.Type, p.Doc
			if p.Variable() {
				typ = "u32"
				if doc = "number of " + elements(p.Field); p.Doc != "" {
					doc += ": " + p.Doc
				}
			}
			fmt.Fprintf(&b, "| %d | %s | %s | %s |\n", p.Offset, typ, p.Name, doc)
		}
		if textAt >= 0 {
			fmt.Fprintf(&b, "| %d | u32 | - | number of bytes of text |\n", textAt)
		}
		if parts := partNames(m); len(parts) > 0 {
			fmt.Fprintf(&b, "\nThen %s.\n", strings.Join(parts, ", "))
		}
	}
	b.WriteString("\n## Records\n")
	for _, r := range Records {
		places, stride := r.Layout()
		fmt.Fprintf(&b, "\n### %s\n\n%d bytes each.\n\n| offset | type | field | |\n|---|---|---|---|\n", r.Name, stride)
		for _, p := range places {
			typ := p.Type
			if typ == String {
				typ = "text"
			}
			fmt.Fprintf(&b, "| %d | %s | %s | %s |\n", p.Offset, typ, p.Name, p.Doc)
		}
	}
	return b.String()
}

// elements says what a variable field counts.
func elements(f Field) string {
	if e := f.Element(); e != U8 {
		return e
	}
	return "bytes"
}

func partNames(m *Message) []string {
	var parts []string
	for _, f := range m.Fields {
		if f.Variable() {
			parts = append(parts, f.Name)
		}
	}
	if m.HasText() {
		parts = append(parts, "the text")
	}
	return parts
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

const (
	begin = "<!-- The rest is generated from sensors/stream/wire/schema: make generate. -->\n"
)

// Insert returns the document with its tables as they are now.
func Insert(page []byte) ([]byte, error) {
	head, _, ok := strings.Cut(string(page), begin)
	if !ok {
		return nil, fmt.Errorf("insert layouts: the document lacks the line %q", begin)
	}
	return []byte(head + begin + Tables()), nil
}
