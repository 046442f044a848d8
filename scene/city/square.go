package city

import (
	"math"
	"math/rand/v2"

	"github.com/raybridge/raybridge/scene"
)

// addPlayground places a slide, a swing and a sand pit.
func (t *town) addPlayground(at vec2) {
	t.put(prop{"playground", "static.playground", 0, 0.35, func(level int) *model {
		s := newShape()
		s.disc(gravelPath, 16, 0.015, 6)
		n := sidesOf(level)
		// The slide.
		for _, p := range [4]vec2{{-2, -0.5}, {-1, -0.5}, {-1, 0.5}, {-2, 0.5}} {
			s.pole(woodDark, n, at3(p, 0), at3(p, 2.6), [2]float64{0.06, 0.06})
		}
		s.boxAt(woodLight, rect{-2.05, -0.55, -0.95, 0.55}, 1.4, 1.48)
		s.face(canvasRed, vec{-2.2, -0.7, 2.5}, vec{-0.8, -0.7, 2.5}, vec{-1.5, 0, 3.1})
		s.face(canvasRed, vec{-0.8, 0.7, 2.5}, vec{-2.2, 0.7, 2.5}, vec{-1.5, 0, 3.1})
		s.face(canvasRed, vec{-0.8, -0.7, 2.5}, vec{-0.8, 0.7, 2.5}, vec{-1.5, 0, 3.1})
		s.face(canvasRed, vec{-2.2, 0.7, 2.5}, vec{-2.2, -0.7, 2.5}, vec{-1.5, 0, 3.1})
		s.face(paintYellow, vec{-0.95, -0.3, 1.45}, vec{1.6, -0.3, 0.3}, vec{1.6, 0.3, 0.3}, vec{-0.95, 0.3, 1.45})
		// The swing.
		for _, y := range []float64{1.6, 4.6} {
			s.pole(paintBlue, n, vec{0.4, y, 0}, vec{1, y, 2.4}, [2]float64{0.05, 0.05})
			s.pole(paintBlue, n, vec{1.6, y, 0}, vec{1, y, 2.4}, [2]float64{0.05, 0.05})
		}
		s.pole(paintBlue, n, vec{1, 1.5, 2.4}, vec{1, 4.7, 2.4}, [2]float64{0.05, 0.05})
		for _, y := range []float64{2.4, 3.8} {
			s.boxAt(plasticBlack, around(1, y, 0.15, 0.25), 0.5, 0.54)
			for _, o := range []float64{-0.22, 0.22} {
				s.pole(steel, 3, vec{1, y + o, 0.54}, vec{1, y + o, 2.4}, [2]float64{0.012, 0.012})
			}
		}
		return single("playground", s, scene.TagStatic)
	}}, at3(at, groundLevel), 0.4)
}

// addSquare fills the square before the town hall: market stalls, café tables
// under parasols, a kiosk and a statue.
func (t *town) addSquare(p parkPlan, rng *rand.Rand) {
	r := p.square
	cloths := []material{canvasRed, canvasGreen, canvasOrange, canvasBlue}
	for i := range 4 {
		y := r.y0 + 7 + float64(i)*5.2
		if i >= 2 {
			y = r.y1 - 7 - float64(i-2)*5.2
		}
		t.addStall(vec{r.x0 + 3.2, y, kerbHeight}, cloths[i])
		t.addBystander(vec{r.x0 + 5.4, y + between(rng, -0.8, 0.8), kerbHeight}, math.Pi+between(rng, -0.5, 0.5), rng)
	}
	for i := range 6 {
		x, y := r.x1-1.6-2.2*float64(i%2), r.y1-2.5-2.9*float64(i/2)
		t.put(tableProp(pick(rng, canvasCream, canvasCream, canvasRed)), vec{x, y, kerbHeight}, between(rng, 0, 1.5))
		t.put(tableProp(pick(rng, canvasGreen, canvasCream)), vec{x, r.y0 + 2.5 + 2.9*float64(i/2), kerbHeight}, between(rng, 0, 1.5))
	}
	t.put(kioskProp, vec{r.x0 + 2.2, p.lots.y1 - 2.6, kerbHeight}, math.Pi/2)
	t.addStatue(vec{(r.x0 + r.x1) / 2, p.fountain[1], kerbHeight})
	for _, y := range []float64{-6, 6} {
		t.put(parkLampProp, vec{(r.x0 + r.x1) / 2, p.fountain[1] + y, kerbHeight}, 0)
		t.put(planterProp, vec{r.x1 - 1, p.fountain[1] + y*0.55, kerbHeight}, 0)
		t.put(planterProp, vec{r.x0 + 0.8, p.fountain[1] + y*0.55, kerbHeight}, 0)
	}
}

// addStall places a market stall, open towards +x.
func (t *town) addStall(at vec, cloth material) {
	t.put(prop{"stall", "static.market_stall", int(cloth), 0.3, func(level int) *model {
		s := newShape()
		for _, p := range [4]vec2{{-0.9, -1.4}, {0.9, -1.4}, {0.9, 1.4}, {-0.9, 1.4}} {
			s.pole(woodDark, 4, at3(p, 0), at3(p, 2.3), [2]float64{0.04, 0.04})
		}
		s.boxAt(woodLight, rect{-0.1, -1.4, 1.0, 1.4}, 0.8, 0.88)
		s.boxAt(canvasCream, rect{0.96, -1.38, 0.99, 1.38}, 0.1, 0.8)
		stripes := [3]int{2, 6, 10}[level]
		for i := range stripes {
			y0, y1 := -1.6+3.2*float64(i)/float64(stripes), -1.6+3.2*float64(i+1)/float64(stripes)
			m := cloth
			if i%2 == 1 {
				m = canvasCream
			}
			s.face(m, vec{-1.2, y0, 2.3}, vec{0, y0, 2.8}, vec{0, y1, 2.8}, vec{-1.2, y1, 2.3})
			s.face(m, vec{0, y0, 2.8}, vec{1.3, y0, 2.3}, vec{1.3, y1, 2.3}, vec{0, y1, 2.8})
			s.face(m, vec{1.3, y0, 2.1}, vec{1.3, y1, 2.1}, vec{1.3, y1, 2.3}, vec{1.3, y0, 2.3})
		}
		rng := stream(uint64(cloth), "goods")
		for i := range 6 {
			x, y := 0.2+0.5*float64(i%2), -0.95+0.95*float64(i/2)
			s.boxAt(woodDark, around(x, y, 0.22, 0.42), 0.88, 1.0)
			s.clump(pick(rng, flowerRed, flowerYellow, leafBright, canvasOrange), rng, clumpShape{vec{x, y, 1.0}, vec{0.2, 0.38, 0.13}, 0})
		}
		return single("stall", s, scene.TagStatic)
	}}, at, 0)
}

// addStatue places a figure on a pedestal, facing +x's opposite, the park.
func (t *town) addStatue(at vec) {
	t.put(prop{"statue", "static.statue", 0, 0.2, func(level int) *model {
		s := newShape()
		s.boxAt(trimStone, around(0, 0, 1.3, 1.3), 0, 0.35)
		s.boxAt(trimStone, around(0, 0, 0.75, 0.75), 0.35, 2.4)
		s.boxAt(trimStone, around(0, 0, 0.9, 0.9), 2.4, 2.6)
		n := sidesOf(level) + 1
		defer s.in(s.frame.moved(0, 0, 2.6))()
		s.turned(copper, n, ring{0, 0.55}, ring{0.9, 0.34}, ring{1.5, 0.42}, ring{1.75, 0.3}, ring{1.85, 0.1}, ring{1.95, 0.1})
		s.pole(copper, 5, vec{0.2, 0.3, 1.65}, vec{0.75, 0.4, 2.2}, [2]float64{0.1, 0.07})
		s.pole(copper, 5, vec{0, -0.35, 1.65}, vec{0.25, -0.4, 1.0}, [2]float64{0.1, 0.07})
		m := n
		s.turned(copper, m, ring{1.9, 0.1}, ring{2.05, 0.16}, ring{2.2, 0.15}, ring{2.3, 0})
		return single("statue", s, scene.TagStatic)
	}}, at, math.Pi)
}

// addTownHall places the town hall with its clock tower over the west front.
func (t *town) addTownHall(r rect) {
	look := stoneHouse(stream(t.seed, "town hall"), storeyLimits{2, 2})
	look.wall, look.base, look.roof, look.form, look.ground = ashlarSand, ashlarSand, copper, mansardRoof, flats
	h := &house{plot: freePlot(r), look: look, seed: t.seed, index: 2000000}
	details := make([]detail, 4)
	for level, base := range h.details() {
		details[level] = detail{weight: base.weight * 0.5, make: func() *model {
			m := base.make()
			m.parts[0].shape.clockTower(vec2{r.x0, r.centre()[1]}, level)
			m.parts[0].shape.portico(vec2{r.x0, r.centre()[1]}, level)
			return m
		}}
	}
	t.add(object{typeID: "static.building", pose: standing(vec{}, 0), details: details}, vec2{r.x0, r.y1})
}

// clockTower adds a tower whose west side stands out from the front at p.
func (s *shape) clockTower(p vec2, level int) {
	const half, shaft, belfry = 3.2, 23.0, 5.0
	defer s.in(level0(at3(p.Add(vec2{half - 0.6, 0}), kerbHeight)))()
	s.box(ashlarSand, vec{-half, -half, 0}, vec{half, half, shaft}, uprights)
	for _, z := range []float64{5, 14, shaft - 5.4, shaft} {
		s.boxAt(trimStone, around(0, 0, half+0.3, half+0.3), z-0.25, z+0.2)
	}
	for side := range 4 {
		restore := s.in(s.frame.turned(float64(side) * math.Pi / 2))
		// The clock, with the hands of the sign picture.
		f := frame{origin: vec{half + 0.12, 0, shaft - 2.7}, x: vec{0, 1, 0}, y: vec{0, 0, 1}, z: vec{1, 0, 0}}
		restoreClock := s.in(s.frameAt(f))
		s.turned(trimDark, 16, ring{-0.12, 2.0}, ring{0, 2.0}, ring{0, 1.8})
		s.discFace(shopSign, 20, 1.8, faceClock)
		restoreClock()
		s.slits(half, level)
		s.belfryArch(half-0.3, shaft, belfry)
		restore()
	}
	s.boxAt(trimStone, around(0, 0, half+0.1, half+0.1), shaft+belfry, shaft+belfry+0.5)
	top := shaft + belfry + 0.5
	s.turned(copper, 4, ring{top, half * 1.45}, ring{top + 3, half * 0.75}, ring{top + 8.5, 0})
	s.pole(paintYellow, 4, vec{0, 0, top + 8.3}, vec{0, 0, top + 10.2}, [2]float64{0.05, 0.03})
}

// slits adds narrow windows up a tower's side.
func (s *shape) slits(half float64, level int) {
	for _, z := range []float64{6.5, 10, 15} {
		uv := cellUVs(0, 0, 1.0/paneCells, 1.0/paneCells)
		s.faceUV(paneClassic, [4]vec{{half + 0.02, -0.45, z}, {half + 0.02, 0.45, z}, {half + 0.02, 0.45, z + 2}, {half + 0.02, -0.45, z + 2}}, uv)
		if level > 0 {
			s.boxAt(trimStone, rect{half, -0.65, half + 0.14, 0.65}, z+2, z+2.3)
			s.boxAt(trimStone, rect{half, -0.6, half + 0.18, 0.6}, z-0.2, z)
		}
	}
}

// belfryArch adds one open side of a belfry: two posts and a dark opening.
func (s *shape) belfryArch(half, z, height float64) {
	s.boxAt(ashlarSand, rect{half - 0.9, half - 0.9, half, half}, z, z+height)
	s.boxAt(trimDark, rect{half - 0.6, -half + 0.9, half - 0.5, half - 0.9}, z, z+height-0.8)
	s.boxAt(ashlarSand, rect{half - 0.5, -half + 0.9, half, half - 0.9}, z+height-0.8, z+height)
	s.boxAt(trimStone, rect{half - 0.3, -half + 0.9, half, half - 0.9}, z, z+1)
}

// portico adds steps, columns and a pediment before a west front at p.
func (s *shape) portico(p vec2, level int) {
	f := frame{origin: at3(p.Sub(vec2{0.6, 0}), kerbHeight), x: vec{0, -1, 0}, y: vec{1, 0, 0}, z: vec{0, 0, 1}}
	defer s.in(f)()
	const half, deep, high = 4.2, 2.6, 5.2
	for i := range 4 {
		k := float64(3-i) * 0.32
		s.boxAt(trimStone, rect{-half - k, -deep - k, half + k, 0}, 0.14*float64(i), 0.14*float64(i+1))
	}
	n := [4]int{6, 8, 12, 20}[level]
	for i := range 6 {
		x := -half + 0.5 + (2*half-1)*float64(i)/5
		restore := s.in(s.frame.moved(x, -deep+0.45, 0.56))
		s.turned(trimWhite, n, ring{0, 0.4}, ring{0.2, 0.4}, ring{0.25, 0.3}, ring{high - 0.3, 0.25}, ring{high - 0.2, 0.38}, ring{high, 0.38})
		restore()
	}
	z := 0.56 + high
	s.boxAt(trimStone, rect{-half, -deep, half, 0}, z, z+0.7)
	s.face(ashlarSand, vec{-half, -deep + 0.1, z + 0.7}, vec{half, -deep + 0.1, z + 0.7}, vec{0, -deep + 0.1, z + 2.3})
	s.face(copper, vec{-half - 0.2, -deep - 0.2, z + 0.65}, vec{0, -deep - 0.2, z + 2.4}, vec{0, 0, z + 2.4}, vec{-half - 0.2, 0, z + 0.65})
	s.face(copper, vec{0, -deep - 0.2, z + 2.4}, vec{half + 0.2, -deep - 0.2, z + 0.65}, vec{half + 0.2, 0, z + 0.65}, vec{0, 0, z + 2.4})
	s.wallQuad(doorWood, -0.05, rect{-1, 0.56, 1, 3.8})
}
