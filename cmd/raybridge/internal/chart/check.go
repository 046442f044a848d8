package chart

import (
	"fmt"
	"strings"
	"unicode"
)

// longest is how much of a text is looked at: more never fits on a line.
const longest = 400 // runes

// checked returns a copy of the page whose texts can be drawn, or says what is wrong.
func (p *Page) checked() (*Page, error) {
	if p == nil {
		return nil, fmt.Errorf("%w: there is none", ErrPage)
	}
	out := &Page{Title: printable(p.Title), Lines: printables(p.Lines), Notes: printables(p.Notes)}
	for _, row := range p.Table {
		out.Table = append(out.Table, printables(row))
	}
	byScale := map[string]*Chart{}
	for i := range p.Charts {
		c := &p.Charts[i]
		if err := c.check(); err != nil {
			return nil, err
		}
		if c.Scale != "" {
			first, ok := byScale[c.Scale]
			if !ok {
				byScale[c.Scale] = c
			} else if first.LogX != c.LogX || first.LogY != c.LogY {
				return nil, fmt.Errorf("%w: charts %q and %q share scale %q: make both logarithmic, or none", ErrPage, first.Title, c.Title, c.Scale)
			}
		}
		out.Charts = append(out.Charts, c.printable())
	}
	return out, nil
}

func (c *Chart) check() error {
	for i := range c.Series {
		s := &c.Series[i]
		if len(s.X) != len(s.Y) {
			return fmt.Errorf("%w: chart %q: series %q has %d X and %d Y", ErrPage, c.Title, s.Name, len(s.X), len(s.Y))
		}
		if s.Kind > Steps {
			return fmt.Errorf("%w: chart %q: series %q has the unknown kind %d", ErrPage, c.Title, s.Name, s.Kind)
		}
	}
	return nil
}

// printable returns a copy that has its points in common with the original.
func (c *Chart) printable() Chart {
	out := *c
	out.Title, out.X, out.Y = line(c.Title), line(c.X), line(c.Y)
	out.Series, out.Marks = nil, nil
	for _, s := range c.Series {
		s.Name = line(s.Name)
		out.Series = append(out.Series, s)
	}
	for _, m := range c.Marks {
		m.Name = line(m.Name)
		out.Marks = append(out.Marks, m)
	}
	return out
}

// printable replaces what XML can't hold (XML 1.0, 2.2) and what breaks a line; Map
// itself replaces what isn't UTF-8.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\ufffe' || r == '\uffff' || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, text)
}

func printables(texts []string) []string {
	out := make([]string, len(texts))
	for i, t := range texts {
		out[i] = printable(t)
	}
	return out
}

// line is printable text for a single line.
func line(text string) string {
	text = printable(text)
	if runes := []rune(text); len(runes) > longest {
		text = string(runes[:longest]) + "…"
	}
	return text
}
