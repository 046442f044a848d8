package bench

import (
	"bytes"
	_ "embed" // the page
	"encoding/xml"
	"errors"
	"fmt"
	"html/template"
	"os"
	"path/filepath"
	"strings"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/chart"
	"github.com/raybridge/raybridge/internal/fault"
)

var (
	// ErrFormat says that a file's name ends in none of .png, .svg and .html.
	ErrFormat = errors.New("unknown picture format")
	// ErrNoCharts says that a report without a chart was to become a picture. As an HTML
	// page it still has its table.
	ErrNoCharts = errors.New("no chart to draw")
)

// CheckPlot returns an error that wraps ErrFormat where WritePlot can't write a file of
// that name.
func CheckPlot(path string) error {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".png", ".svg", ".html":
		return nil
	}
	return fmt.Errorf("%w: %s: name it .png, .svg or .html", ErrFormat, path)
}

// WritePlot draws the charts, one over the other, into a file, in the format that the file's
// name ends in. That is PNG, SVG, or an HTML page that also has the figures. The file appears
// when it is whole: after an error, what was there before is still there. Errors wrap ErrFormat
// or ErrNoCharts, or are those of the file system. Equal reports give equal bytes.
func (r *Report) WritePlot(path string) error {
	if err := CheckPlot(path); err != nil {
		return err
	}
	html := strings.EqualFold(filepath.Ext(path), ".html")
	if len(r.Charts) == 0 && !html {
		return fmt.Errorf("draw %s: %w: what was measured has none; name the file .html to get the table alone", path, ErrNoCharts)
	}
	var data []byte
	var err error
	switch {
	case html:
		data, err = r.page()
	case strings.EqualFold(filepath.Ext(path), ".svg"):
		data = append([]byte(xml.Header), r.sheet().SVG()...)
	default:
		data, err = r.sheet().PNG()
	}
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

// pageTitle heads every page of charts.
const pageTitle = "raybridge bench"

//go:embed page.tmpl
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// page is the report as an HTML page.
func (r *Report) page() ([]byte, error) {
	data := struct {
		Title        string
		Lines, Notes []string
		SVG          template.HTML
		Table        [][]string
	}{Title: pageTitle, Lines: r.lines(), Table: r.table()}
	for _, method := range r.Methods {
		data.Notes = append(data.Notes, strings.ReplaceAll(method, "\n", " "))
	}
	if len(r.Charts) > 0 {
		data.SVG = template.HTML(r.sheet().Element("charts"))
	}
	var out bytes.Buffer
	err := pageTemplate.Execute(&out, data)
	return out.Bytes(), err
}

// sheet is the report's charts.
func (r *Report) sheet() *chart.Sheet {
	return &chart.Sheet{Title: pageTitle, Lines: r.lines(), Charts: r.Charts}
}

// lines say what the figures are of.
func (r *Report) lines() (list []string) {
	for _, row := range r.about() {
		list = append(list, row[0]+": "+row[1])
	}
	return list
}
