package chart

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/raybridge/raybridge/internal/filefault"
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
		return filefault.Explain(err)
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
