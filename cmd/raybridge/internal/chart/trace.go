package chart

import (
	"cmp"
	"math"
	"slices"
)

// point is a place in the units of the axes.
type point struct{ x, y float64 }

// box stands on zero between two X, or on the axis where that is logarithmic.
type box struct{ from, to, y float64 }

// trace is what can be drawn of a series: lines or boxes, the boxes by their X.
type trace struct {
	kind  Kind
	lines [][]point // without gaps
	boxes []box
}

// trace leaves out what has no place on the chart's axes.
func (c *Chart) trace(s *Series) trace {
	t := trace{kind: s.Kind}
	switch s.Kind {
	case Line:
		t.lines = c.lines(s)
	case Bars:
		t.boxes = c.bars(s)
	case Steps:
		t.boxes = c.classes(s)
	}
	return t
}

// lines splits a series at what can't be drawn.
func (c *Chart) lines(s *Series) [][]point {
	var lines [][]point
	var run []point
	for i, x := range s.X {
		if drawable(x, c.LogX) && drawable(s.Y[i], c.LogY) {
			run = append(run, point{x, s.Y[i]})
		} else if len(run) > 0 {
			lines, run = append(lines, run), nil
		}
	}
	if len(run) > 0 {
		lines = append(lines, run)
	}
	return lines
}

// ascending returns the points that have an X, by it.
func (c *Chart) ascending(s *Series) []point {
	var points []point
	for i, x := range s.X {
		if drawable(x, c.LogX) {
			points = append(points, point{x, s.Y[i]})
		}
	}
	slices.SortStableFunc(points, func(a, b point) int { return cmp.Compare(a.x, b.x) })
	return points
}

// bars are as wide as the middle distance of neighbours: frames come at times that
// are a little uneven.
func (c *Chart) bars(s *Series) []box {
	points := c.ascending(s)
	half := halfWidth(points, c.LogX)
	var boxes []box
	for _, p := range points {
		if !drawable(p.y, c.LogY) {
			continue
		}
		if c.LogX {
			boxes = append(boxes, box{p.x / half, p.x * half, p.y})
		} else {
			boxes = append(boxes, box{p.x - half, p.x + half, p.y})
		}
	}
	return boxes
}

// halfWidth returns half the median distance of neighbours; on a logarithmic axis
// the root of their median ratio.
func halfWidth(points []point, log bool) float64 {
	var apart []float64
	for i := 1; i < len(points); i++ {
		switch before, x := points[i-1].x, points[i].x; {
		case x == before:
		case log:
			apart = append(apart, min(x/before, 1e6))
		default:
			apart = append(apart, x-before)
		}
	}
	slices.Sort(apart)
	switch {
	case len(apart) == 0 && log:
		return 1.1
	case len(apart) == 0:
		return 0.5
	case log:
		return math.Sqrt(apart[len(apart)/2])
	}
	return apart[len(apart)/2] / 2
}

// classes go from each X to the next.
func (c *Chart) classes(s *Series) []box {
	points := c.ascending(s)
	var boxes []box
	for i, p := range points {
		if drawable(p.y, c.LogY) {
			boxes = append(boxes, box{p.x, c.upper(points, i), p.y})
		}
	}
	empty := func(b box) bool { return b.y == 0 }
	if slices.IndexFunc(boxes, func(b box) bool { return !empty(b) }) < 0 {
		return boxes
	}
	for empty(boxes[0]) {
		boxes = boxes[1:]
	}
	for empty(boxes[len(boxes)-1]) {
		boxes = boxes[:len(boxes)-1]
	}
	return boxes
}

// upper returns the upper edge of a class.
func (c *Chart) upper(points []point, i int) float64 {
	x := points[i].x
	switch last := i == len(points)-1; {
	case !last:
		return points[i+1].x
	case i == 0 && c.LogX:
		return x * 1.1
	case i == 0:
		return x + 1
	case c.LogX:
		return x * min(x/points[i-1].x, 1e6)
	}
	return 2*x - points[i-1].x
}

// extents returns what the traces cover.
func extents(traces []trace) (x, y extent) {
	for i := range traces {
		for _, run := range traces[i].lines {
			for _, p := range run {
				x.add(p.x)
				y.add(p.y)
			}
		}
		for _, b := range traces[i].boxes {
			x.add(b.from)
			x.add(b.to)
			y.add(b.y)
		}
	}
	return x, y
}

// boxed tells whether any of the traces has boxes.
func boxed(traces []trace) bool {
	return slices.ContainsFunc(traces, func(t trace) bool { return len(t.boxes) > 0 })
}
