// Package chart draws the pictures of benchmarks: lines over time and histograms,
// as PNG, as SVG, or as a page that also has the figures.
package chart

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// ErrFormat says that a file's name ends in none of .png, .svg and .html.
var ErrFormat = errors.New("unknown picture format")

// Page is one file of charts, drawn one over the other.
type Page struct {
	// Title heads the page; Lines stand below it: the machine, the date.
	Title string
	Lines []string
	// Table, where not empty, follows the charts in an HTML page; its first row is the head.
	Table  [][]string
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
	// whose X are the lower edges of its classes.
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
	switch strings.ToLower(filepath.Ext(path)) {
	case ".png", ".svg", ".html":
		return nil
	}
	return fmt.Errorf("%w: %s: name it .png, .svg or .html", ErrFormat, path)
}

// Write draws a page into a file, in the format that the file's name ends in.
func Write(path string, page *Page) error {
	return CheckPath(path)
}
