package city

import (
	"math"
	"math/rand/v2"
	"slices"
)

// frontage says what lies beyond an edge of a plot.
type frontage int

const (
	streetFront frontage = iota
	courtFront
	partyWall // another house
)

// plot is the ground of one house: a convex outline, counter-clockwise, and
// what lies beyond each of its edges (edge i runs from corner i to i+1).
type plot struct {
	outline []vec2
	fronts  []frontage
	corner  bool
}

// perimeterPlots divides the rim of a rectangle into houses depth metres deep,
// corner houses first; a few places along the sides stay open.
func perimeterPlots(rng *rand.Rand, r rect, depth float64) (houses, gaps []plot) {
	var wide, deep [4]float64 // corner houses, counter-clockwise from (x0, y0)
	for i := range wide {
		wide[i], deep[i] = depth+between(rng, 2, 6), depth+between(rng, 1, 4)
	}
	corners := r.corners()
	for i := range corners {
		houses = append(houses, cornerPlot(corners[i], i, wide[i], deep[i]))
	}
	for i := range corners {
		// Side i runs from corner i to corner i+1; along even sides a corner
		// house is wide, along odd ones deep.
		j := (i + 1) % 4
		from, to := wide[i], wide[j]
		if i%2 == 1 {
			from, to = deep[i], deep[j]
		}
		a, b := corners[i], corners[j]
		d := b.Sub(a)
		length := d.Len()
		d = d.Mul(1 / length)
		s := sideOf{origin: a, along: d, inwards: vec2{-d[1], d[0]}, depth: depth}
		row, open := s.divide(rng, from, length-to)
		houses, gaps = append(houses, row...), append(gaps, open...)
	}
	return houses, gaps
}

// cornerPlot is the plot at corner i of a block, its outer corner cut off.
func cornerPlot(c vec2, i int, wide, deep float64) plot {
	sx, sy := 1.0, 1.0
	if i == 1 || i == 2 {
		sx = -1
	}
	if i >= 2 {
		sy = -1
	}
	p := func(x, y float64) vec2 { return vec2{c[0] + sx*x, c[1] + sy*y} }
	// In the corner's own axes: the cut, the x side, then round the inner corner.
	outline := []vec2{p(0, chamfer), p(chamfer, 0), p(wide, 0), p(wide, deep), p(0, deep)}
	fronts := []frontage{streetFront, streetFront, partyWall, partyWall, streetFront}
	if sx*sy < 0 { // mirrored once: turn the way round
		outline = []vec2{outline[1], outline[0], outline[4], outline[3], outline[2]}
	}
	return plot{outline: outline, fronts: fronts, corner: true}
}

// sideOf is one side of a block, seen from its start.
type sideOf struct {
	origin         vec2
	along, inwards vec2
	depth          float64
}

func (s sideOf) plot(from, to float64) plot {
	p := func(x, y float64) vec2 { return s.origin.Add(s.along.Mul(x)).Add(s.inwards.Mul(y)) }
	return plot{
		outline: []vec2{p(from, 0), p(to, 0), p(to, s.depth), p(from, s.depth)},
		fronts:  []frontage{streetFront, partyWall, courtFront, partyWall},
	}
}

// divide cuts the stretch between two places of a side into plots.
func (s sideOf) divide(rng *rand.Rand, from, to float64) (houses, gaps []plot) {
	n := max(1, int(math.Round((to-from)/13)))
	cuts := make([]float64, n+1)
	for i := range cuts {
		cuts[i] = from + (to-from)*float64(i)/float64(n)
		if i > 0 && i < n {
			cuts[i] += between(rng, -2.2, 2.2)
		}
	}
	open := -1
	if n >= 3 && chance(rng, 0.22) {
		open = 1 + rng.IntN(n-2)
	}
	for i := range n {
		if p := s.plot(cuts[i], cuts[i+1]); i == open {
			gaps = append(gaps, p)
		} else {
			houses = append(houses, p)
		}
	}
	return houses, gaps
}

// freePlot is a plot with streets on all sides.
func freePlot(r rect) plot {
	c := r.corners()
	return plot{outline: c[:], fronts: []frontage{streetFront, streetFront, streetFront, streetFront}}
}

// cutPlot is freePlot with corner i cut off, as the kerb rounds it.
func cutPlot(r rect, i int) plot {
	p := freePlot(r)
	c := p.outline[i]
	before, after := p.outline[(i+3)%4].Sub(c).Normalize(), p.outline[(i+1)%4].Sub(c).Normalize()
	p.outline = slices.Replace(p.outline, i, i+1, c.Add(before.Mul(chamfer)), c.Add(after.Mul(chamfer)))
	p.fronts = append(p.fronts, streetFront)
	return p
}
