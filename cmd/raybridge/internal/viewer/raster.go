package viewer

import (
	"image"
	"image/color"
	"math"
)

// raster draws points, lines and triangles with a depth buffer. Depths are
// given so that larger is nearer: 1/z in a perspective, the height from above.
type raster struct {
	img           *image.RGBA
	width, height int
	depth         []float32
}

// vertex is a place on the picture, in pixels from its top-left corner.
type vertex struct{ x, y, depth float64 }

// begin starts a new picture on img, filled with a colour.
func (r *raster) begin(img *image.RGBA, background color.RGBA) {
	r.img, r.width, r.height = img, img.Rect.Dx(), img.Rect.Dy()
	if n := r.width * r.height; cap(r.depth) < n {
		r.depth = make([]float32, n)
	} else {
		r.depth = r.depth[:n]
	}
	for i := range r.depth {
		r.depth[i] = -math.MaxFloat32
	}
	fill(img, img.Rect, background)
}

// splat draws a square of size pixels.
func (r *raster) splat(v vertex, size int, c color.RGBA) {
	x0, y0 := int(math.Floor(v.x))-size/2, int(math.Floor(v.y))-size/2
	x1, y1 := min(x0+size, r.width), min(y0+size, r.height)
	x0, y0 = max(x0, 0), max(y0, 0)
	d := float32(v.depth)
	for y := y0; y < y1; y++ {
		for x := x0; x < x1; x++ {
			if i := y*r.width + x; d > r.depth[i] {
				r.depth[i] = d
				pix := r.img.Pix[y*r.img.Stride+4*x:]
				pix[0], pix[1], pix[2], pix[3] = c.R, c.G, c.B, 255
			}
		}
	}
}

// line mixes a line into what lies behind it; alpha is of 255. It leaves the
// depth as it is.
func (r *raster) line(a, b vertex, c color.RGBA, alpha uint32) {
	a, b, visible := r.clip(a, b)
	if !visible {
		return
	}
	steps := int(math.Max(math.Abs(b.x-a.x), math.Abs(b.y-a.y))) + 1
	for k := 0; k <= steps; k++ {
		t := float64(k) / float64(steps)
		x, y := int(a.x+(b.x-a.x)*t), int(a.y+(b.y-a.y)*t)
		if x < 0 || y < 0 || x >= r.width || y >= r.height {
			continue
		}
		if float32(a.depth+(b.depth-a.depth)*t) >= r.depth[y*r.width+x] {
			blend(r.img.Pix[y*r.img.Stride+4*x:][:4], c, alpha)
		}
	}
}

// clip cuts a line to the picture (Liang and Barsky, 1984).
func (r *raster) clip(a, b vertex) (from, to vertex, visible bool) {
	t0, t1 := 0.0, 1.0
	dx, dy := b.x-a.x, b.y-a.y
	for _, edge := range [4][2]float64{
		{-dx, a.x}, {dx, float64(r.width) - 1 - a.x}, {-dy, a.y}, {dy, float64(r.height) - 1 - a.y},
	} {
		p, q := edge[0], edge[1]
		switch {
		case p == 0 && q < 0:
			return a, b, false
		case p < 0:
			t0 = max(t0, q/p)
		case p > 0:
			t1 = min(t1, q/p)
		}
	}
	if !(t0 <= t1) {
		return a, b, false
	}
	at := func(t float64) vertex { return vertex{a.x + dx*t, a.y + dy*t, a.depth + (b.depth-a.depth)*t} }
	return at(t0), at(t1), true
}

// triangle fills a triangle, whichever way round its corners are.
func (r *raster) triangle(a, b, c vertex, fill color.RGBA) {
	area := (b.x-a.x)*(c.y-a.y) - (b.y-a.y)*(c.x-a.x)
	if area == 0 {
		return
	}
	x0, x1 := span(a.x, b.x, c.x, r.width)
	y0, y1 := span(a.y, b.y, c.y, r.height)
	for y := y0; y < y1; y++ {
		for x := x0; x < x1; x++ {
			px, py := float64(x)+0.5, float64(y)+0.5
			u := ((b.x-px)*(c.y-py) - (b.y-py)*(c.x-px)) / area
			v := ((c.x-px)*(a.y-py) - (c.y-py)*(a.x-px)) / area
			w := 1 - u - v
			if u < 0 || v < 0 || w < 0 {
				continue
			}
			r.splat(vertex{float64(x), float64(y), u*a.depth + v*b.depth + w*c.depth}, 1, fill)
		}
	}
}

// span is the range of pixels that three coordinates reach, cut to the picture.
func span(a, b, c float64, size int) (from, to int) {
	low, high := min(a, b, c), max(a, b, c)
	limit := float64(size)
	return int(max(0, min(limit, math.Floor(low)))), int(max(0, min(limit, math.Ceil(high))))
}
