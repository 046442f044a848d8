package city

import (
	"math"

	"github.com/raybridge/raybridge/scene"
)

// Models of street furniture stand at the origin, on the ground, with their
// front along +x, which points to the roadway.

// around makes a rectangle around (x, y).
func around(x, y, halfX, halfY float64) rect { return rect{x - halfX, y - halfY, x + halfX, y + halfY} }

// post adds a round upright pole.
func (s *shape) post(m material, sides int, height, radius float64) {
	s.turned(m, sides, ring{0, radius}, ring{height, radius * 0.85}, ring{height, 0})
}

// boxAt adds a box standing on z0 around (x, y).
func (s *shape) boxAt(m material, r rect, z0, z1 float64) {
	s.box(m, vec{r.x0, r.y0, z0}, vec{r.x1, r.y1, z1}, allSides)
}

func sidesOf(level int) int { return [3]int{5, 8, 12}[level] }

// streetLamp has its head over the roadway.
func streetLamp(level int) *model {
	s := newShape()
	n := sidesOf(level)
	s.turned(ironGreen, n, ring{0, 0.16}, ring{0.5, 0.14}, ring{0.6, 0.09}, ring{6.6, 0.06})
	s.pole(ironGreen, n, vec{0, 0, 6.6}, vec{0.5, 0, 7.25}, [2]float64{0.06, 0.045})
	s.pole(ironGreen, n, vec{0.5, 0, 7.25}, vec{1.6, 0, 7.4}, [2]float64{0.045, 0.04})
	s.boxAt(ironGreen, around(1.75, 0, 0.42, 0.14), 7.36, 7.48)
	s.box(lampGlow, vec{1.4, -0.11, 7.33}, vec{2.1, 0.11, 7.36}, bottom|uprights)
	return single("lamp", s, scene.TagPole)
}

// parkLamp is an old lantern.
func parkLamp(level int) *model {
	s := newShape()
	n := sidesOf(level)
	s.turned(ironDark, n, ring{0, 0.17}, ring{0.25, 0.15}, ring{0.35, 0.08}, ring{0.9, 0.075}, ring{1.0, 0.05}, ring{3.3, 0.04}, ring{3.4, 0.09})
	s.turned(lampGlow, 6, ring{3.4, 0.11}, ring{3.85, 0.19})
	s.turned(ironDark, 6, ring{3.85, 0.22}, ring{4.0, 0.12}, ring{4.15, 0})
	return single("lamp", s, scene.TagPole)
}

// bench looks along +x.
func bench(level int) *model {
	s := newShape()
	for _, y := range []float64{-0.7, 0.7} {
		s.boxAt(ironDark, around(-0.02, y, 0.24, 0.035), 0.36, 0.42)
		s.boxAt(ironDark, around(0.16, y, 0.035, 0.035), 0, 0.36)
		s.boxAt(ironDark, around(-0.22, y, 0.035, 0.035), 0, 0.85)
	}
	slats := [3]int{1, 3, 4}[level]
	w := 0.46 / float64(slats)
	for i := range slats {
		x := -0.22 + w*(float64(i)+0.5)
		s.boxAt(woodLight, around(x, 0, w*0.44, 0.85), 0.42, 0.455)
	}
	for i := range max(1, slats-1) {
		z := 0.56 + 0.17*float64(i)
		s.boxAt(woodLight, around(-0.17, 0, 0.018, 0.85), z, z+0.13)
	}
	return single("bench", s, scene.TagStatic)
}

func litterBin(level int) *model {
	s := newShape()
	s.turned(ironGreen, sidesOf(level)+2, ring{0, 0.2}, ring{0.8, 0.26}, ring{0.85, 0.27}, ring{0.86, 0.2}, ring{0.7, 0})
	s.post(ironGreen, 4, 0.3, 0.05)
	return single("bin", s, scene.TagStatic)
}

func hydrant(level int) *model {
	s := newShape()
	n := sidesOf(level) + 1
	s.turned(paintRed, n, ring{0, 0.18}, ring{0.08, 0.18}, ring{0.09, 0.12}, ring{0.55, 0.12}, ring{0.56, 0.15}, ring{0.62, 0.15}, ring{0.74, 0.08}, ring{0.8, 0.03}, ring{0.8, 0})
	s.pole(paintRed, n, vec{0, 0, 0.42}, vec{0, 0.2, 0.42}, [2]float64{0.06, 0.06})
	s.pole(paintRed, n, vec{0, 0, 0.42}, vec{0, -0.2, 0.42}, [2]float64{0.06, 0.06})
	s.pole(paintYellow, n, vec{0, 0, 0.4}, vec{0.22, 0, 0.4}, [2]float64{0.075, 0.075})
	return single("hydrant", s, scene.TagStatic)
}

func bollard(level int) *model {
	s := newShape()
	n := sidesOf(level) + 1
	if level == 0 {
		s.turned(ironDark, n, ring{0, 0.085}, ring{0.86, 0.08}, ring{0.96, 0})
	} else {
		s.turned(ironDark, n, ring{0, 0.085}, ring{0.78, 0.07}, ring{0.8, 0.09}, ring{0.86, 0.09}, ring{0.96, 0})
	}
	s.turned(signFace, n, ring{0.62, 0.087}, ring{0.7, 0.087})
	return single("bollard", s, scene.TagPole)
}

func postBox(level int) *model {
	s := newShape()
	s.turned(paintYellow, sidesOf(level)+4, ring{0, 0.3}, ring{0.12, 0.3}, ring{0.13, 0.26}, ring{1.25, 0.26}, ring{1.28, 0.31}, ring{1.36, 0.31}, ring{1.48, 0})
	s.box(plasticBlack, vec{0.22, -0.12, 1.05}, vec{0.27, 0.12, 1.1}, allSides)
	return single("post_box", s, scene.TagStatic)
}

func parkingMeter(level int) *model {
	s := newShape()
	s.post(ironDark, sidesOf(level), 1.15, 0.04)
	s.boxAt(paintBlue, around(0, 0, 0.11, 0.14), 1.1, 1.62)
	s.faceUV(shopSign, [4]vec{{-0.115, 0.1, 1.2}, {-0.115, -0.1, 1.2}, {-0.115, -0.1, 1.55}, {-0.115, 0.1, 1.55}}, faceUVs(faceMeter, vec2{}, vec2{1, 1}))
	return single("meter", s, scene.TagStatic)
}

func utilityBox(int) *model {
	s := newShape()
	s.boxAt(concreteGrey, around(0, 0, 0.24, 0.66), 0, 0.1)
	s.boxAt(plasterGrey, around(0, 0, 0.2, 0.6), 0.1, 1.2)
	s.boxAt(steel, around(0, 0, 0.23, 0.63), 1.2, 1.26)
	return single("cabinet", s, scene.TagStatic)
}

// planter is a concrete tub with a bush.
func planter(level int) *model {
	s := newShape()
	s.turned(concreteLight, sidesOf(level)+2, ring{0, 0.32}, ring{0.5, 0.45}, ring{0.55, 0.45}, ring{0.55, 0.38}, ring{0.45, 0})
	rng := stream(7, "planter")
	s.clump(leafMid, rng, clumpShape{vec{0, 0, 0.8}, vec{0.42, 0.42, 0.42}, min(level, 1)})
	s.clump(flowerRed, rng, clumpShape{vec{0.12, 0.1, 1.02}, vec{0.22, 0.22, 0.2}, 0})
	s.clump(flowerYellow, rng, clumpShape{vec{-0.15, -0.1, 1.0}, vec{0.2, 0.2, 0.18}, 0})
	return single("planter", s, scene.TagStatic)
}

// column is a round advertising pillar.
func column(level int) *model {
	s := newShape()
	n := 2*sidesOf(level) + 2
	s.turned(trimStone, n, ring{0, 0.72}, ring{0.4, 0.7}, ring{0.42, 0.64})
	s.turned(ironGreen, n, ring{2.8, 0.72}, ring{3.0, 0.78}, ring{3.1, 0.7}, ring{3.5, 0.2}, ring{3.7, 0})
	for i := range 6 {
		a, b := math.Pi*float64(i)/3, math.Pi*float64(i+1)/3
		for k := range 2 {
			c, d := a+(b-a)*float64(k)/2, a+(b-a)*float64(k+1)/2
			u := float64(k) / 2
			p := func(t, z float64) vec { return vec{0.645 * math.Cos(t), 0.645 * math.Sin(t), z} }
			s.faceUV(shopSign, [4]vec{p(c, 0.42), p(d, 0.42), p(d, 2.8), p(c, 2.8)},
				faceUVs(facePosterA+face(i%3), vec2{u, 0}, vec2{u + 0.5, 1}))
		}
	}
	return single("column", s, scene.TagStatic)
}

// busShelter is open towards +x.
func busShelter(level int) *model {
	s := newShape()
	s.boxAt(ironDark, around(-0.1, 0, 0.85, 2.3), 2.42, 2.54)
	for _, y := range []float64{-2.1, -0.7, 0.7, 2.1} {
		s.boxAt(ironDark, around(-0.8, y, 0.04, 0.04), 0, 2.42)
	}
	for _, y := range []float64{-2.1, 2.1} {
		s.boxAt(ironDark, around(0.55, y, 0.04, 0.04), 0, 2.42)
	}
	s.boxAt(glassPlain, around(-0.8, 0, 0.012, 2.06), 0.35, 1.1)
	s.boxAt(ironDark, around(-0.8, 0, 0.03, 2.1), 1.1, 1.16)
	s.boxAt(woodLight, around(-0.5, 0.3, 0.2, 1.3), 0.44, 0.5)
	for _, y := range []float64{-0.7, 1.3} {
		s.boxAt(ironDark, around(-0.5, y, 0.05, 0.05), 0, 0.44)
	}
	s.boxAt(trimDark, around(0, -2.1, 0.5, 0.06), 0.4, 2.2)
	for _, side := range []float64{-1, 1} {
		y := -2.1 + side*0.065
		p := [4]vec{{-0.42 * -side, y, 0.5}, {0.42 * -side, y, 0.5}, {0.42 * -side, y, 2.1}, {-0.42 * -side, y, 2.1}}
		s.faceUV(shopSign, p, faceUVs(facePosterA+face(level%3), vec2{}, vec2{1, 1}))
	}
	return single("shelter", s, scene.TagStatic)
}

// kiosk is a small newsstand.
func kiosk(level int) *model {
	s := newShape()
	s.boxAt(paintBlue, around(0, 0, 1.1, 1.6), 0, 0.9)
	s.boxAt(trimDark, around(0, 0, 1.02, 1.52), 0.9, 2.3)
	s.boxAt(paintBlue, around(0, 0, 1.35, 1.9), 2.3, 2.55)
	s.boxAt(zinc, around(0, 0, 0.9, 1.4), 2.55, 2.75)
	for i, y := range []float64{-1.1, 0, 1.1} {
		p := [4]vec{{1.03, y - 0.48, 0.95}, {1.03, y + 0.48, 0.95}, {1.03, y + 0.48, 2.2}, {1.03, y - 0.48, 2.2}}
		s.faceUV(paneShop, p, cellUVs(float64(i%2)/2, 0, float64(i%2)/2+0.5, 0.5))
	}
	s.faceUV(shopSign, [4]vec{{1.36, -0.9, 2.31}, {1.36, 0.9, 2.31}, {1.36, 0.9, 2.54}, {1.36, -0.9, 2.54}}, nameUVs(1))
	if level > 0 {
		s.face(canvasRed, vec{2.1, -1.6, 2.0}, vec{2.1, 1.6, 2.0}, vec{1.1, 1.6, 2.3}, vec{1.1, -1.6, 2.3})
	}
	return single("kiosk", s, scene.TagBuilding)
}

// cafeTable is a table with two chairs, and a parasol where cloth is not 0.
func cafeTable(cloth material, level int) *model {
	s := newShape()
	n := sidesOf(level) + 3
	s.turned(ironDark, 5, ring{0, 0.22}, ring{0.03, 0.2}, ring{0.05, 0.03}, ring{0.7, 0.03})
	s.turned(woodLight, n, ring{0.7, 0}, ring{0.7, 0.36}, ring{0.73, 0.36}, ring{0.73, 0})
	for _, side := range []float64{-1, 1} {
		restore := s.in(level0(vec{0, side * 0.72, 0}).turned(-side * math.Pi / 2))
		s.chair()
		restore()
	}
	if cloth != 0 {
		s.parasol(cloth, n)
	}
	return single("table", s, scene.TagStatic)
}

// chair looks along +x.
func (s *shape) chair() {
	s.boxAt(woodDark, around(0, 0, 0.2, 0.2), 0.43, 0.46)
	s.boxAt(woodDark, around(-0.19, 0, 0.015, 0.19), 0.6, 0.88)
	for _, p := range [4]vec2{{-0.18, -0.18}, {0.18, -0.18}, {0.18, 0.18}, {-0.18, 0.18}} {
		h := 0.43
		if p[0] < 0 {
			h = 0.85
		}
		s.box(ironDark, vec{p[0] - 0.015, p[1] - 0.015, 0}, vec{p[0] + 0.015, p[1] + 0.015, h}, uprights)
	}
}

func (s *shape) parasol(cloth material, n int) {
	s.post(woodDark, 5, 2.5, 0.025)
	rim, top := 1.5, vec{0, 0, 2.55}
	for i := range n {
		s0, c0 := math.Sincos(2 * math.Pi * float64(i) / float64(n))
		s1, c1 := math.Sincos(2 * math.Pi * float64(i+1) / float64(n))
		a, b := vec{rim * c0, rim * s0, 2.12}, vec{rim * c1, rim * s1, 2.12}
		s.face(cloth, a, b, top)
		down := vec{0, 0, -0.16}
		s.face(cloth, a.Add(down), b.Add(down), b, a)
	}
}
