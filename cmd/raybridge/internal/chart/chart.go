// Package chart draws the pictures of benchmarks: lines over time, bars and
// histograms, as PNG, as SVG, or as a page that also has the figures.
//
// Charts stand one over the other, the left and right ends of their axes in one
// line. Those with the same Scale have the same ranges. Colours are those of Okabe
// and Ito (Color Universal Design, 2008), which people with any colour vision can
// tell apart; a name has one colour on the whole page, as far as they last.
//
// Values that aren't finite, or greater than 1e300, are left out, and so are those
// of zero or less on a logarithmic axis: a line has a gap there, a bar is missing.
// A linear Y axis begins at zero where no value is negative. Bars and classes that
// are narrower than a column of the picture are merged into columns, each as high
// as the highest in it, so that a spike among thousands of frames is seen.
//
// The same page gives the same bytes. Nothing here is safe for use of one Page by
// a goroutine while another changes it; different goroutines may write different
// files.
package chart

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/raybridge/raybridge/internal/fault"
)

var (
	// ErrFormat says that a file's name ends in none of .png, .svg and .html.
	ErrFormat = errors.New("unknown picture format")
	// ErrNoCharts says that a page without a chart was to become a picture. As an HTML
	// page it still has its table.
	ErrNoCharts = errors.New("no chart to draw")
	// ErrPage says that a page contradicts itself: a series has more X than Y, its kind
	// isn't known, or charts share a Scale but not whether it is logarithmic.
	ErrPage = errors.New("page can't be drawn")
)

// Page is one file of charts, drawn one over the other.
type Page struct {
	// Title heads the page; Lines stand below it: the machine, the date.
	Title string
	Lines []string
	// Table, where not empty, follows the charts in an HTML page; its first row is the head.
	Table [][]string
	// Notes are paragraphs below the table of an HTML page. (optional)
	Notes  []string
	Charts []Chart
}

// Chart is one pair of axes with what is drawn between them.
type Chart struct {
	Title string
	// X and Y label the axes, units included.
	X, Y string
	// LogX and LogY make an axis logarithmic; values of zero or less are then left out.
	LogX, LogY bool
	// Scale, where not empty, gives all charts of the page with the same Scale the
	// same ranges, so that they can be compared by eye.
	Scale  string
	Series []Series
	// Marks are horizontal lines with a label, such as a period or a limit.
	Marks []Mark
}

// Kind says how a series is drawn.
type Kind uint8

const (
	// Line joins the points.
	Line Kind = iota
	// Bars draws a bar from zero to Y at each X: one a frame.
	Bars
	// Steps fills the area below a step from each X to the next: a histogram,
	// whose X are the lower edges of its classes. The last class is as wide as the one
	// before it. Empty classes at either end don't widen the axis.
	Steps
)

// Series is a set of points with a name for the legend. X and Y have one length.
type Series struct {
	Name string
	Kind Kind
	X, Y []float64
}

// Mark is a horizontal line.
type Mark struct {
	Name string
	Y    float64
}

// CheckPath returns an error that wraps ErrFormat where Write can't write a file
// of that name.
func CheckPath(path string) error {
	_, err := formatOf(path)
	return err
}

// format draws a page.
type format func(*Page) ([]byte, error)

func formatOf(path string) (format, error) {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".png":
		return drawPNG, nil
	case ".svg":
		return drawSVG, nil
	case ".html":
		return drawHTML, nil
	}
	return nil, fmt.Errorf("%w: %s: name it .png, .svg or .html", ErrFormat, path)
}

// Write draws a page into a file, in the format that the file's name ends in. The
// file appears when it is whole: after an error whatever was there before is still
// there. It returns errors that wrap ErrFormat, ErrNoCharts or ErrPage, or that of
// the file system. The page isn't changed.
func Write(path string, page *Page) error {
	draw, err := formatOf(path)
	if err != nil {
		return err
	}
	checked, err := page.checked()
	if err != nil {
		return fmt.Errorf("draw %s: %w", path, err)
	}
	data, err := draw(checked)
	if err != nil {
		return fmt.Errorf("draw %s: %w", path, err)
	}
	if err := replace(path, data); err != nil {
		return fmt.Errorf("write picture: %w", err)
	}
	return nil
}

// replace writes a file beside the one of that name and puts it in its place.
func replace(path string, data []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".chart-*")
	if err != nil {
		return fault.File(err)
	}
	_, err = f.Write(data)
	// A temporary file is its owner's alone; a picture is for all to read.
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}

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
