package report

import (
	"image"
	"image/color"
	"image/draw"
	"math"
	"slices"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/picture"
	"github.com/raybridge/raybridge/sensors/sample"
)

const (
	topSize   = 900  // pixels
	topRange  = 50.0 // metres to the edge
	ringStep  = 10.0 // metres
	rowHeight = 12   // pixels of a laser in the range view, at most
)

var (
	background = color.NRGBA{16, 18, 22, 255}
	gridColor  = color.NRGBA{52, 58, 68, 255}
)

// returns counts the points that hit something.
func returns(m *sample.PointCloud) int {
	n := 0
	for i := range m.Points {
		if m.Points[i].Return != sample.ReturnUnknown {
			n++
		}
	}
	return n
}

// drawTop shows a cloud from above, the sensor in the middle looking up the page;
// colour is height.
func drawTop(m *sample.PointCloud) image.Image {
	out := image.NewNRGBA(image.Rect(0, 0, topSize, topSize))
	draw.Draw(out, out.Bounds(), image.NewUniform(background), image.Point{}, draw.Src)
	scale := topSize / (2 * topRange)
	for r := ringStep; r <= topRange*math.Sqrt2; r += ringStep {
		for a := 0.0; a < 2*math.Pi; a += 1 / (r * scale) {
			out.SetNRGBA(int(topSize/2+r*scale*math.Cos(a)), int(topSize/2+r*scale*math.Sin(a)), gridColor)
		}
	}
	lo, hi := heights(m)
	for i := range m.Points {
		p := &m.Points[i]
		if p.Return == sample.ReturnUnknown {
			continue
		}
		x := int(topSize/2 - float64(p.Y)*scale)
		y := int(topSize/2 - float64(p.X)*scale)
		c := color.NRGBA(picture.HeightRamp.At((float64(p.Z) - lo) / (hi - lo)))
		out.SetNRGBA(x, y, c)
		out.SetNRGBA(x+1, y, c)
		out.SetNRGBA(x, y+1, c)
		out.SetNRGBA(x+1, y+1, c)
	}
	for d := -4; d <= 4; d++ { // the sensor
		out.SetNRGBA(topSize/2+d, topSize/2, color.NRGBA{255, 255, 255, 255})
		out.SetNRGBA(topSize/2, topSize/2+d, color.NRGBA{255, 255, 255, 255})
	}
	return out
}

// heights returns the 2nd and 98th percentile of the points' heights.
func heights(m *sample.PointCloud) (lo, hi float64) {
	var z []float32
	for i := range m.Points {
		if m.Points[i].Return != sample.ReturnUnknown {
			z = append(z, m.Points[i].Z)
		}
	}
	if len(z) == 0 {
		return 0, 1
	}
	slices.Sort(z)
	lo, hi = float64(z[len(z)*2/100]), float64(z[len(z)*98/100])
	return lo, max(hi, lo+0.1)
}

// nearest and farthest are the ends of the range view's scale, metres.
const nearest, farthest = 1.0, 100.0

// rangeColor shows a distance on a logarithmic scale, near bright.
func rangeColor(r float64) color.NRGBA {
	return color.NRGBA(picture.DepthRamp.At(math.Log(max(r, nearest)/nearest) / math.Log(farthest/nearest)))
}

// drawRanges shows a cloud as the device sees it: a row for each laser, sorted
// by elevation, and a column for each firing.
func drawRanges(m *sample.PointCloud) image.Image {
	elevation := make([]float32, m.Rings)
	for i := range m.Points {
		elevation[int(m.Points[i].Ray)%m.Rings] = m.Points[i].Elevation
	}
	order := make([]int, m.Rings)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case elevation[a] > elevation[b]:
			return -1
		case elevation[a] < elevation[b]:
			return 1
		}
		return 0
	})
	row := make([]int, m.Rings)
	for r, laser := range order {
		row[laser] = r
	}
	height := max(1, min(rowHeight, 600/max(m.Rings, 1)))
	out := image.NewNRGBA(image.Rect(0, 0, m.Columns, m.Rings*height))
	draw.Draw(out, out.Bounds(), image.NewUniform(background), image.Point{}, draw.Src)
	for i := range m.Points {
		p := &m.Points[i]
		if p.Return == sample.ReturnUnknown {
			continue
		}
		c := rangeColor(float64(p.Distance))
		// Columns turn clockwise from straight ahead: the middle of the picture is ahead.
		x := (int(p.Ray)/m.Rings + m.Columns/2) % m.Columns
		for y := range height {
			out.SetNRGBA(x, row[int(p.Ray)%m.Rings]*height+y, c)
		}
	}
	return out
}
