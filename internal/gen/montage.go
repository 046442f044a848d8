package main

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"html"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"image/png"
	"os"
	"regexp"
	"strings"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
)

// cell is where one of the report's figures goes. The figure is cropped about its
// middle to the cell's shape and then averaged or repeated to its size.
type cell struct {
	title  string // the figure's title starts with it
	place  image.Rectangle
	crop   image.Point // pixels of the figure that are shown; zero for all
	label  string      // written over it
	report int         // that has the figure
}

// cells are the camera's colours beside the lidar from above, and below them depth,
// labels and the lidar's ranges.
var cells = []cell{
	{title: "front ", place: image.Rect(0, 0, 640, 480)},
	{title: "lidar from above", place: image.Rect(648, 0, 1288, 480), crop: image.Pt(640, 480)},
	{title: "front_depth ", place: image.Rect(0, 488, 316, 725)},
	{title: "front_semantic ", place: image.Rect(324, 488, 640, 725)},
	{title: "lidar ranges", place: image.Rect(648, 488, 1288, 725)},
}

// cloudCells are two lidars from above, side by side.
var cloudCells = []cell{
	{title: "plain from above", place: image.Rect(0, 0, 640, 480), crop: image.Pt(640, 480)},
	{title: "real from above", place: image.Rect(648, 0, 1288, 480), crop: image.Pt(640, 480)},
}

const jpegQuality = 85

// lensCells are the pictures of docs/examples/lenses.yaml.
var lensCells = named(4, image.Pt(320, 240), "pinhole", "plumb_bob", "rational", "thin_prism", "equidistant", "mei", "f_theta", "double_sphere", "svl", "svl_fisheye", "table")

// shutterCells are those of docs/examples/shutter.
var shutterCells = named(3, image.Pt(400, 300), "global", "rolling", "motion_blur")

// named are cells of one size in rows, each with its camera's name.
func named(across int, size image.Point, cameras ...string) (list []cell) {
	for i, name := range cameras {
		at := image.Pt(i%across*(size.X+8), i/across*(size.Y+8))
		list = append(list, cell{title: name + " ", place: image.Rectangle{Max: size}.Add(at), label: name})
	}
	return list
}

// weatherCells are three runs of the city, in columns: what the front camera sees, and the lidar as seen from above.
var weatherCells = func() (list []cell) {
	size := image.Pt(424, 318)
	for i, label := range []string{"clear", "rain, 5 mm/h", "fog, 100 m"} {
		place := image.Rectangle{Max: size}.Add(image.Pt(i*(size.X+8), 0))
		list = append(list, cell{title: "front ", place: place, label: label, report: i})
		above := image.Rectangle{Max: image.Pt(size.X, size.X)}.Add(place.Min).Add(image.Pt(0, size.Y+8))
		list = append(list, cell{title: "lidar from above", place: above, report: i})
	}
	return list
}()

// montage makes the picture at the top of the README out of a run's report. It shows what the
// front camera and the lidar of the demo rig saw last. Its arguments are the report and the
// picture, REPORT.html and OUT.jpg. `make pictures` runs the demo for its first tenth of a
// second and then this.
func montage(args []string) error { return assemble("montage", cells, args) }

// clouds makes the picture of docs/lidars.md out of a report of docs/examples/real-lidar.yaml, as montage does.
func clouds(args []string) error { return assemble("clouds", cloudCells, args) }

// lenses makes a picture of docs/lenses.md out of a report of docs/examples/lenses.yaml, as montage does, and shutter one of
// docs/examples/shutter.
func lenses(args []string) error  { return assemble("lenses", lensCells, args) }
func shutter(args []string) error { return assemble("shutter", shutterCells, args) }

// weathers makes the picture of docs/weather.md out of the reports of three runs of the city, in clear weather, rain and fog.
func weathers(args []string) error { return assemble("weather", weatherCells, args) }

// assemble is a generator that puts the figures of reports into cells.
func assemble(name string, cells []cell, args []string) error {
	reports := 1
	for _, c := range cells {
		reports = max(reports, c.report+1)
	}
	if len(args) != reports+1 {
		return fmt.Errorf("usage: gen %s %sOUT.jpg", name, strings.Repeat("REPORT.html ", reports))
	}
	var figures []map[string]image.Image
	for _, report := range args[:reports] {
		page, err := os.ReadFile(report)
		if err != nil {
			return err
		}
		of, err := figuresOf(page)
		if err != nil {
			return fmt.Errorf("read %s: %w", report, err)
		}
		figures = append(figures, of)
	}
	out := args[reports]
	picture, err := compose(figures, cells)
	if err != nil {
		return err
	}
	var data bytes.Buffer
	if err := jpeg.Encode(&data, picture, &jpeg.Options{Quality: jpegQuality}); err != nil {
		return err
	}
	return os.WriteFile(out, data.Bytes(), 0o644)
}

// embedded is a figure of the report: a data URL and its title.
var embedded = regexp.MustCompile(`src="data:image/png;base64,([^"]+)" alt="([^"]*)"`)

// figuresOf returns a report's figures by their titles; of those with one title, the last.
func figuresOf(page []byte) (map[string]image.Image, error) {
	figures := map[string]image.Image{}
	for _, m := range embedded.FindAllSubmatch(page, -1) {
		title := html.UnescapeString(string(m[2]))
		data, err := base64.StdEncoding.DecodeString(html.UnescapeString(string(m[1])))
		if err != nil {
			return nil, fmt.Errorf("figure %q: %w", title, err)
		}
		if figures[title], err = png.Decode(bytes.NewReader(data)); err != nil {
			return nil, fmt.Errorf("figure %q: %w", title, err)
		}
	}
	if len(figures) == 0 {
		return nil, errors.New("it has no figures")
	}
	return figures, nil
}

// compose puts the figures of each report into their cells.
func compose(figures []map[string]image.Image, cells []cell) (image.Image, error) {
	var whole image.Rectangle
	for _, c := range cells {
		whole = whole.Union(c.place)
	}
	out := image.NewRGBA(whole)
	draw.Draw(out, whole, image.NewUniform(color.White), image.Point{}, draw.Src)
	for _, c := range cells {
		figure, err := find(figures[c.report], c.title)
		if err != nil {
			return nil, err
		}
		fit(out, c.place, figure, middle(figure.Bounds(), c.crop))
		if err := letter(out, c.place, c.label); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// letter puts a label into a place's upper left corner, on a ground of its own.
func letter(out *image.RGBA, place image.Rectangle, label string) error {
	if label == "" {
		return nil
	}
	bold, err := opentype.Parse(gobold.TTF)
	if err != nil {
		return err
	}
	const size = 15 // pixels
	face, err := opentype.NewFace(bold, &opentype.FaceOptions{Size: size, DPI: 72})
	if err != nil {
		return err
	}
	pen := font.Drawer{Dst: out, Src: image.White, Face: face, Dot: fixed.P(place.Min.X+6, place.Min.Y+size)}
	ground := image.Rectangle{Max: image.Pt(pen.MeasureString(label).Ceil()+12, size+6)}.Add(place.Min)
	draw.Draw(out, ground, image.NewUniform(color.RGBA{A: 160}), image.Point{}, draw.Over)
	pen.DrawString(label)
	return nil
}

func find(figures map[string]image.Image, title string) (image.Image, error) {
	for name, figure := range figures {
		if strings.HasPrefix(name, title) {
			return figure, nil
		}
	}
	return nil, fmt.Errorf("the report has no figure %q", title)
}

// middle returns a rectangle of a size about the middle of another.
func middle(whole image.Rectangle, size image.Point) image.Rectangle {
	if size == (image.Point{}) {
		return whole
	}
	center := whole.Min.Add(whole.Max).Div(2)
	return image.Rectangle{Max: size}.Add(center).Sub(size.Div(2))
}

// fit draws a part of a picture into a place of another size. Each pixel is the mean of those
// that it covers, at least one.
func fit(dst *image.RGBA, place image.Rectangle, src image.Image, part image.Rectangle) {
	for y := range place.Dy() {
		y0, y1 := span(y, place.Dy(), part.Dy())
		for x := range place.Dx() {
			x0, x1 := span(x, place.Dx(), part.Dx())
			covered := image.Rect(x0, y0, x1, y1).Add(part.Min)
			dst.SetRGBA(place.Min.X+x, place.Min.Y+y, mean(src, covered))
		}
	}
}

// span returns the source pixels that pixel i of n covers out of m.
func span(i, n, m int) (from, to int) {
	from = i * m / n
	return from, max(from+1, (i+1)*m/n)
}

func mean(src image.Image, r image.Rectangle) color.RGBA {
	var sum [3]uint32
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			red, green, blue, _ := src.At(x, y).RGBA()
			sum[0], sum[1], sum[2] = sum[0]+red>>8, sum[1]+green>>8, sum[2]+blue>>8
		}
	}
	n := uint32(r.Dx() * r.Dy())
	return color.RGBA{uint8(sum[0] / n), uint8(sum[1] / n), uint8(sum[2] / n), 255}
}
