package check

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"image"
	"image/color"
	"io/fs"
	"math"
	"slices"
	"strings"

	"golang.org/x/image/draw"
)

// mostPixels is as many as a picture that is drawn may have: a file of a few bytes can claim more than there is memory for.
const mostPixels = 1 << 27

// Draw returns a view's picture, at most so many pixels wide, with what is drawn over it: dots are warm where they are near, and segments have
// the colours of categoryColor. Errors are of the file and of package image.
func Draw(root fs.FS, v View, width int) (*image.RGBA, error) {
	data, err := fs.ReadFile(root, v.File)
	if err != nil {
		return nil, err
	}
	config, _, err := image.DecodeConfig(bytes.NewReader(data))
	if err == nil && config.Width > mostPixels/max(1, config.Height) {
		err = fmt.Errorf("%dx%d pixels are more than %d", config.Width, config.Height, mostPixels)
	}
	var picture image.Image
	if err == nil {
		picture, _, err = image.Decode(bytes.NewReader(data))
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", v.File, err)
	}
	size := picture.Bounds().Size()
	scale := min(1, float64(width)/float64(size.X))
	m := image.NewRGBA(image.Rect(0, 0, max(1, int(math.Round(scale*float64(size.X)))), max(1, int(math.Round(scale*float64(size.Y))))))
	draw.ApproxBiLinear.Scale(m, m.Rect, picture, picture.Bounds(), draw.Src, nil)
	// Lines and dots are as thick in relation to the picture as they are with 640 pixels.
	pen := max(1, float64(m.Rect.Dx())/640)
	dots := slices.Clone(v.Dots)
	slices.SortStableFunc(dots, func(a, b Dot) int { return -compare(a.Depth, b.Depth) }) // near ones over far ones
	for _, d := range dots {
		mark(m, scale*d.At[0], scale*d.At[1], 1.6*pen, depthColor(d.Depth))
	}
	for _, s := range v.Segments {
		line(m, [4]float64{scale * s.From[0], scale * s.From[1], scale * s.To[0], scale * s.To[1]}, pen, categoryColor(s.Category))
	}
	return m, nil
}

func compare(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	default:
		return 0
	}
}

// hues are the colours of what sets have most of, in degrees: the first word that a category's name has counts.
var hues = []struct {
	word string
	hue  float64
}{
	{"pedestrian", 120}, {"person", 120}, {"motorcycle", 30}, {"cycl", 60}, {"bus", 0}, {"truck", 280}, {"car", 190}, {"van", 225}, {"tram", 330}, {"train", 330},
	{"cone", 20}, {"barrier", 160}, {"light", 45}, {"sign", 255},
}

// categoryColor is a bright colour for a category, the same in all reports.
func categoryColor(category string) color.RGBA {
	for _, h := range hues {
		if strings.Contains(strings.ToLower(category), h.word) {
			return hue(h.hue, 1)
		}
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(category)) // never fails
	return hue(float64(h.Sum32()%360), 1)
}

// farthest is the depth from which on dots have one colour, metres.
const farthest = 60

// depthColor goes from red, near, over yellow and green to blue.
func depthColor(depth float64) color.RGBA { return hue(240*math.Sqrt(min(1, depth/farthest)), 0.85) }

// hue is a saturated colour by its angle in degrees.
func hue(degrees, value float64) color.RGBA {
	channel := func(shift float64) uint8 {
		k := math.Mod(shift+degrees/60, 6)
		return uint8(255 * value * (1 - 0.8*max(0, min(k, 4-k, 1))))
	}
	return color.RGBA{channel(5), channel(3), channel(1), 255}
}

// mark paints a square dot.
func mark(m *image.RGBA, x, y, side float64, c color.RGBA) {
	least := func(v float64) int { return int(math.Floor(v - side/2 + 0.5)) }
	n := max(1, int(math.Round(side)))
	for row := least(y); row < least(y)+n; row++ {
		for column := least(x); column < least(x)+n; column++ {
			if (image.Point{X: column, Y: row}).In(m.Rect) {
				m.SetRGBA(column, row, c)
			}
		}
	}
}

// line paints a segment x, y to x, y as thick as the pen.
func line(m *image.RGBA, s [4]float64, pen float64, c color.RGBA) {
	s, ok := clipped(s, float64(m.Rect.Dx()), float64(m.Rect.Dy()))
	if !ok {
		return
	}
	dx, dy := s[2]-s[0], s[3]-s[1]
	steps := max(1, math.Ceil(max(math.Abs(dx), math.Abs(dy))))
	for i := 0.0; i <= steps; i++ {
		mark(m, s[0]+dx*i/steps, s[1]+dy*i/steps, pen, c)
	}
}

// clipped is what of a segment lies in a picture (Liang and Barsky, 1984).
func clipped(s [4]float64, width, height float64) (in [4]float64, ok bool) {
	from, to := 0.0, 1.0
	dx, dy := s[2]-s[0], s[3]-s[1]
	for _, side := range [4][2]float64{{-dx, s[0]}, {dx, width - s[0]}, {-dy, s[1]}, {dy, height - s[1]}} {
		switch p, q := side[0], side[1]; {
		case p == 0 && q < 0:
			return in, false
		case p < 0:
			from = max(from, q/p)
		case p > 0:
			to = min(to, q/p)
		}
	}
	return [4]float64{s[0] + from*dx, s[1] + from*dy, s[0] + to*dx, s[1] + to*dy}, from <= to // false for NaN, too
}
