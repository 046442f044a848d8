package city

import (
	"math"
	"slices"

	"github.com/raybridge/raybridge/scene"
)

// carForm is a passenger car's shape: x forward from the middle of the car, on
// the ground, metres.
type carForm struct {
	typeID                string
	tag                   scene.Tag
	length, width, height float64
	axles                 [2]float64 // x of the rear and the front axle
	wheel                 float64    // radius
	deck                  []vec2     // x and z of the body's upper edge, rear to front
	cabin                 cabin
}

// cabin is what stands on the body: the glass and the roof.
type cabin struct {
	base, roof         [2]float64 // x of the rear and front ends at the belt and at the roof
	baseHalf, roofHalf float64    // half widths
	pillars            []float64  // where the side windows part, as fractions from the rear
}

var (
	sedan = carForm{
		typeID: "vehicle.sedan", tag: scene.TagCar, length: 4.62, width: 1.82, height: 1.44, axles: [2]float64{-1.36, 1.38}, wheel: 0.33,
		deck:  []vec2{{-2.31, 0.92}, {-2.1, 1.0}, {-1.5, 1.02}, {0.9, 0.96}, {1.7, 0.86}, {2.31, 0.68}},
		cabin: cabin{base: [2]float64{-1.75, 1.05}, roof: [2]float64{-0.95, 0.2}, baseHalf: 0.78, roofHalf: 0.58, pillars: []float64{0.22, 0.56}},
	}
	hatchback = carForm{
		typeID: "vehicle.hatchback", tag: scene.TagCar, length: 3.98, width: 1.76, height: 1.48, axles: [2]float64{-1.24, 1.26}, wheel: 0.31,
		deck:  []vec2{{-1.99, 0.84}, {-1.8, 0.98}, {0.9, 0.96}, {1.5, 0.86}, {1.99, 0.68}},
		cabin: cabin{base: [2]float64{-1.88, 1.05}, roof: [2]float64{-1.45, 0.25}, baseHalf: 0.76, roofHalf: 0.58, pillars: []float64{0.28, 0.58}},
	}
	offRoader = carForm{
		typeID: "vehicle.suv", tag: scene.TagCar, length: 4.7, width: 1.92, height: 1.74, axles: [2]float64{-1.38, 1.42}, wheel: 0.38,
		deck:  []vec2{{-2.35, 0.98}, {-2.2, 1.12}, {1.0, 1.1}, {1.8, 1.04}, {2.35, 0.86}},
		cabin: cabin{base: [2]float64{-2.24, 1.15}, roof: [2]float64{-1.95, 0.4}, baseHalf: 0.84, roofHalf: 0.68, pillars: []float64{0.3, 0.6}},
	}
	estate = carForm{
		typeID: "vehicle.wagon", tag: scene.TagCar, length: 4.7, width: 1.82, height: 1.5, axles: [2]float64{-1.38, 1.4}, wheel: 0.33,
		deck:  []vec2{{-2.35, 0.88}, {-2.15, 1.0}, {0.9, 0.97}, {1.75, 0.87}, {2.35, 0.68}},
		cabin: cabin{base: [2]float64{-2.22, 1.05}, roof: [2]float64{-1.8, 0.22}, baseHalf: 0.78, roofHalf: 0.6, pillars: []float64{0.3, 0.6}},
	}
)

// carDetail is how finely a vehicle is built.
type carDetail struct {
	arch    int // segments of a wheel arch
	wheel   int // sides of a wheel
	fitting bool
}

var carDetails = [3]carDetail{{0, 8, false}, {6, 12, true}, {12, 22, true}}

// build makes a car in one paint.
func (c *carForm) build(paint material, level int) *shape {
	d := carDetails[level]
	s := newShape()
	c.body(s, paint, d)
	c.cabinShell(s, paint)
	c.fittings(s, paint, d)
	for _, x := range c.axles {
		s.wheelPair(vec2{x, c.width/2 - 0.02}, c.wheel, d)
	}
	return s
}

// deckAt returns the height of the body's upper edge.
func (c *carForm) deckAt(x float64) float64 {
	for i := 1; i < len(c.deck); i++ {
		if a, b := c.deck[i-1], c.deck[i]; x <= b[0] {
			return a[1] + (b[1]-a[1])*max(0, (x-a[0])/(b[0]-a[0]))
		}
	}
	return c.deck[len(c.deck)-1][1]
}

// halfWidth returns half the body's width: rounded towards the ends.
func (c *carForm) halfWidth(x float64) float64 {
	k := max(0, math.Abs(x)/(c.length/2)-0.7) / 0.3
	return c.width / 2 * (1 - 0.16*k*k)
}

// clearance is the height of the sills.
const clearance = 0.24

// stations returns where the body's cross-sections stand and the height of its
// lower edge there: raised over the wheels.
func (c *carForm) stations(arch int) []vec2 {
	half := c.length / 2
	out := []vec2{{-half, clearance + 0.14}, {-half + 0.07, clearance + 0.04}, {half - 0.1, clearance + 0.04}, {half, clearance + 0.14}}
	for _, p := range c.deck[1 : len(c.deck)-1] {
		out = append(out, vec2{p[0], clearance})
	}
	r := c.wheel + 0.06
	for _, axle := range c.axles {
		for k := range arch + 1 {
			sn, co := math.Sincos(math.Pi * float64(k) / float64(max(arch, 1)))
			out = append(out, vec2{axle - r*co, max(clearance, c.wheel+r*sn-0.02)})
		}
	}
	slices.SortFunc(out, func(a, b vec2) int { return int(math.Copysign(1, a[0]-b[0])) })
	inArch := func(x float64) float64 {
		z := clearance
		for _, axle := range c.axles {
			if d := math.Abs(x - axle); d < r && arch > 0 {
				z = max(z, c.wheel+math.Sqrt(r*r-d*d)-0.02)
			}
		}
		return z
	}
	for i := range out {
		out[i][1] = max(out[i][1], inArch(out[i][0]))
	}
	return out
}

// section returns the body's outline at x, from the right sill over the deck
// to the left sill.
func (c *carForm) section(x, low float64) []vec {
	w, top := c.halfWidth(x), c.deckAt(x)
	mid := max(0.5, low+0.02)
	high := max(mid+0.02, top-0.16)
	tuck := 0.05 * min(1, (mid-low)/0.26) // less where a wheel arch cuts in
	right := []vec{{x, -w + tuck, low}, {x, -w, mid}, {x, -w * 0.985, high}, {x, -w * 0.9, top}, {x, -w * 0.45, top + 0.025}}
	out := slices.Clone(right)
	for i := len(right) - 1; i >= 0; i-- {
		out = append(out, vec{right[i][0], -right[i][1], right[i][2]})
	}
	return out
}

// body builds the painted lower body, the dark wheel houses and the floor.
func (c *carForm) body(s *shape, paint material, d carDetail) {
	stations := c.stations(d.arch)
	sections := make([][]vec, len(stations))
	for i, p := range stations {
		sections[i] = c.section(p[0], p[1])
	}
	s.loft(paint, sections, false, 40*math.Pi/180)
	last := len(sections) - 1
	s.cap(paint, sections[0], false)
	s.cap(paint, sections[last], true)
	floor := c.width/2 - 0.3
	c.underside(s)
	for i := 1; i < len(stations) && d.arch > 0; i++ {
		a, b := stations[i-1], stations[i]
		for _, side := range []float64{-1, 1} {
			ya, yb := side*(c.halfWidth(a[0])-0.05), side*(c.halfWidth(b[0])-0.05)
			outerA, outerB := vec{a[0], ya, a[1]}, vec{b[0], yb, b[1]}
			innerA, innerB := vec{a[0], side * floor, a[1]}, vec{b[0], side * floor, b[1]}
			if side < 0 {
				s.patch(carTrim, innerA, innerB, outerB, outerA)
			} else {
				s.patch(carTrim, outerA, outerB, innerB, innerA)
			}
		}
	}
}

// underside closes the body from below: level between the sills, rising to the
// bumpers.
func (c *carForm) underside(s *shape) {
	half := c.length / 2
	row := [4]vec2{{-half, clearance + 0.14}, {-half + 0.3, clearance}, {half - 0.3, clearance}, {half, clearance + 0.14}}
	for i := 1; i < len(row); i++ {
		a, b := row[i-1], row[i]
		w := c.halfWidth(half) - 0.05
		s.face(carTrim, vec{a[0], -w, a[1]}, vec{a[0], w, a[1]}, vec{b[0], w, b[1]}, vec{b[0], -w, b[1]})
	}
}

// cap closes a loft's end with strips between mirrored points; forward says
// that the end looks along +x.
func (s *shape) cap(m material, section []vec, forward bool) {
	n := len(section)
	for i := range n/2 - 1 {
		a, b, c, d := section[i], section[n-1-i], section[n-2-i], section[i+1]
		if forward {
			s.patch(m, a, b, c, d)
		} else {
			s.patch(m, d, c, b, a)
		}
	}
}

// cabinShell builds windscreen, windows, pillars and roof.
func (c *carForm) cabinShell(s *shape, paint material) {
	k := &c.cabin
	roofZ := c.height - 0.07
	corner := func(end int, side float64, up float64) vec {
		base := vec{k.base[end], side * k.baseHalf, c.deckAt(k.base[end]) - 0.02}
		roof := vec{k.roof[end], side * k.roofHalf, roofZ}
		return base.Add(roof.Sub(base).Mul(up))
	}
	s.face(carGlass, corner(1, -1, 0), corner(1, 1, 0), corner(1, 1, 1), corner(1, -1, 1))
	s.face(carGlass, corner(0, 1, 0), corner(0, -1, 0), corner(0, -1, 1), corner(0, 1, 1))
	for _, side := range []float64{-1, 1} {
		at := func(along, up float64) vec {
			p := corner(0, side, up)
			p = p.Add(corner(1, side, up).Sub(p).Mul(along))
			return p.Add(vec{0, side * 0.012, 0})
		}
		panel := func(m material, a, b vec2, out float64) {
			q := [4]vec{at(a[0], a[1]), at(b[0], a[1]), at(b[0], b[1]), at(a[0], b[1])}
			for i := range q {
				q[i][1] += side * out
			}
			if side < 0 {
				s.patch(m, q[0], q[1], q[2], q[3])
			} else {
				s.patch(m, q[3], q[2], q[1], q[0])
			}
		}
		panel(carGlass, vec2{0, 0}, vec2{1, 1}, 0)
		panel(paint, vec2{0, 0}, vec2{0.07, 1}, 0.006)
		panel(paint, vec2{0.95, 0}, vec2{1, 1}, 0.006)
		panel(paint, vec2{0, 0.9}, vec2{1, 1}, 0.006)
		for _, p := range k.pillars {
			panel(carTrim, vec2{p - 0.018, 0}, vec2{p + 0.018, 0.95}, 0.008)
		}
	}
	c.roofPanel(s, paint)
}

// roofPanel builds the rounded roof over the windows.
func (c *carForm) roofPanel(s *shape, paint material) {
	k := &c.cabin
	low := c.height - 0.07
	ring := func(in, z float64) [4]vec {
		x0, x1, y := k.roof[0]+in, k.roof[1]-in, k.roofHalf+0.02-in
		return [4]vec{{x0, -y, z}, {x1, -y, z}, {x1, y, z}, {x0, y, z}}
	}
	from := len(s.verts)
	a, b := ring(-0.03, low-0.01), ring(0.14, c.height)
	for i := range a {
		j := (i + 1) % 4
		s.patch(paint, a[i], a[j], b[j], b[i])
	}
	s.face(paint, b[:]...)
	s.smooth(from, 60*math.Pi/180)
}
