package city

import (
	"math"

	"github.com/raybridge/raybridge/scene"
)

// hoop adds a wheel or another ring of rod in a plane of constant y: size.r is
// the ring's radius, size.z the rod's.
func (s *shape) hoop(m material, c vec, size ring, n int) {
	in, out, thick := size.r-size.z, size.r+size.z, size.z
	for i := range n {
		a, b := 2*math.Pi*float64(i)/float64(n), 2*math.Pi*float64((i+1)%n)/float64(n)
		p := func(t, r, y float64) vec { return vec{c[0] + r*math.Cos(t), c[1] + y, c[2] + r*math.Sin(t)} }
		s.face(m, p(a, in, -thick), p(a, out, -thick), p(b, out, -thick), p(b, in, -thick))
		s.face(m, p(b, in, thick), p(b, out, thick), p(a, out, thick), p(a, in, thick))
		s.face(m, p(a, out, -thick), p(a, out, thick), p(b, out, thick), p(b, out, -thick))
		s.face(m, p(a, in, thick), p(a, in, -thick), p(b, in, -thick), p(b, in, thick))
	}
}

// bicycle stands upright, its front along +x.
func bicycle(paint material, level int) *model {
	s := newShape()
	n := [3]int{8, 14, 24}[level]
	rear, front := vec{-0.52, 0, 0.34}, vec{0.54, 0, 0.34}
	crank, seat, head := vec{-0.08, 0, 0.3}, vec{-0.22, 0, 0.82}, vec{0.38, 0, 0.86}
	for _, c := range []vec{rear, front} {
		s.hoop(tyre, c, ring{0.018, 0.33}, n)
		if level > 0 {
			for i := range 6 {
				sn, co := math.Sincos(math.Pi * float64(i) / 6)
				d := vec{0.31 * co, 0, 0.31 * sn}
				s.pole(steel, 3, c.Sub(d), c.Add(d), [2]float64{0.004, 0.004})
			}
		}
	}
	rods := [][2]vec{{rear, crank}, {rear, seat}, {crank, seat}, {crank, head}, {seat, head}, {front, vec{0.36, 0, 0.95}}}
	for _, r := range rods {
		s.pole(paint, max(3, sidesOf(level)-3), r[0], r[1], [2]float64{0.018, 0.018})
	}
	s.pole(steel, 4, seat, vec{-0.25, 0, 0.95}, [2]float64{0.014, 0.014})
	s.boxAt(plasticBlack, around(-0.25, 0, 0.13, 0.07), 0.95, 1.0)
	s.pole(steel, 4, vec{0.36, -0.26, 1.0}, vec{0.36, 0.26, 1.0}, [2]float64{0.014, 0.014})
	s.pole(plasticBlack, 4, vec{-0.08, -0.14, 0.2}, vec{-0.08, 0.14, 0.4}, [2]float64{0.02, 0.02})
	return single("bicycle", s, scene.TagBicycle)
}

// bikeStand is a row of steel hoops.
func bikeStand(level int) *model {
	s := newShape()
	for i := range 3 {
		y := float64(i-1) * 0.9
		for _, x := range []float64{-0.35, 0.35} {
			s.pole(steel, sidesOf(level)-1, vec{x, y, 0}, vec{x, y, 0.75}, [2]float64{0.025, 0.025})
		}
		s.pole(steel, sidesOf(level)-1, vec{-0.37, y, 0.76}, vec{0.37, y, 0.76}, [2]float64{0.025, 0.025})
	}
	return single("stand", s, scene.TagPole)
}

// motorcycle stands upright, its front along +x.
func motorcycle(paint material, level int) *model {
	s := newShape()
	n := [3]int{8, 12, 20}[level]
	for _, x := range []float64{-0.68, 0.68} {
		s.hoop(tyre, vec{x, 0, 0.31}, ring{0.06, 0.26}, n)
		s.boxAt(steel, around(x, 0, 0.05, 0.09), 0.26, 0.36)
	}
	s.boxAt(carTrim, around(0, 0, 0.28, 0.16), 0.25, 0.58)
	s.loft(paint, [][]vec{tankSection(-0.05, 0.12, 0.62, 0.8), tankSection(0.12, 0.17, 0.6, 0.92), tankSection(0.42, 0.1, 0.64, 0.86)}, true, 1)
	s.cap(paint, tankSection(-0.05, 0.12, 0.62, 0.8), false)
	s.cap(paint, tankSection(0.42, 0.1, 0.64, 0.86), true)
	s.boxAt(plasticBlack, around(-0.38, 0, 0.34, 0.13), 0.7, 0.8)
	s.pole(chrome, 5, vec{0.68, 0.07, 0.31}, vec{0.42, 0.07, 0.98}, [2]float64{0.03, 0.03})
	s.pole(chrome, 5, vec{0.68, -0.07, 0.31}, vec{0.42, -0.07, 0.98}, [2]float64{0.03, 0.03})
	s.pole(plasticBlack, 5, vec{0.38, -0.36, 1.02}, vec{0.38, 0.36, 1.02}, [2]float64{0.018, 0.018})
	s.boxAt(headLamp, around(0.54, 0, 0.06, 0.08), 0.8, 0.95)
	s.boxAt(tailLamp, around(-0.76, 0, 0.03, 0.06), 0.68, 0.74)
	s.pole(chrome, 6, vec{-0.1, -0.16, 0.3}, vec{-0.8, -0.18, 0.36}, [2]float64{0.05, 0.06})
	return single("motorcycle", s, scene.TagMotorcycle)
}

// tankSection is a hexagon across x.
func tankSection(x, half, low, high float64) []vec {
	mid := low + 0.5*(high-low)
	return []vec{{x, -half * 0.6, low}, {x, -half, mid}, {x, -half * 0.5, high}, {x, half * 0.5, high}, {x, half, mid}, {x, half * 0.6, low}}
}
