package city

import (
	"math"
	"math/rand/v2"

	"github.com/raybridge/raybridge/scene"
)

// parkPlan divides the ego's block: the park in the west, a square, and the
// town hall between two houses in the east.
type parkPlan struct {
	lots     rect
	green    rect // the park
	fountain vec2
	square   rect
}

const pathHalf = 1.6 // half the width of a park path

func planPark(b *block) parkPlan {
	l := b.lots
	p := parkPlan{lots: l, green: l, square: l}
	p.green.x1 = l.x1 - 29
	p.square.x0, p.square.x1 = p.green.x1, l.x1-17
	p.fountain = p.green.centre()
	return p
}

func (t *town) addPark(b *block) {
	p := planPark(b)
	rng := stream(t.seed, "park")
	t.addParkGround(p)
	t.addFountain(p.fountain)
	t.addParkEdges(p)
	t.addParkTrees(p, rng)
	t.addParkFurniture(p, rng)
	t.addPlayground(vec2{p.green.x0 + 9, p.green.y0 + 8})
	t.addSquare(p, rng)
	east := rect{p.square.x1, p.lots.y0, p.lots.x1, p.lots.y1}
	t.addTownHall(rect{east.x0, east.y0 + 13, east.x1, east.y1 - 13})
	south, north := rect{east.x0, east.y0, east.x1, east.y0 + 12.2}, rect{east.x0, east.y1 - 12.2, east.x1, east.y1}
	for i, p := range []plot{cutPlot(south, 1), cutPlot(north, 2)} {
		h := &house{plot: p, index: 1000000 + i, seed: t.seed}
		h.look = stuccoHouse(stream(t.seed, "park house look", i), storeyLimits{2, 3})
		h.look.ground = shops
		h.look.form = mansardRoof
		t.addHouse(h)
	}
}

// addParkGround lays the lawns in quarters between the paths.
func (t *town) addParkGround(p parkPlan) {
	s, paths := newShape(), newShape()
	g, f := p.green, p.fountain
	s.plate(lawn, cutPlot(rect{g.x0, g.y0, f[0] - pathHalf, f[1] - pathHalf}, 0).outline, groundLevel)
	s.plate(lawn, cutPlot(rect{g.x0, f[1] + pathHalf, f[0] - pathHalf, g.y1}, 3).outline, groundLevel)
	s.floorQuad(lawn, groundLevel, rect{f[0] + pathHalf, g.y0, g.x1, f[1] - pathHalf})
	s.floorQuad(lawn, groundLevel, rect{f[0] + pathHalf, f[1] + pathHalf, g.x1, g.y1})
	paths.floorQuad(gravelPath, groundLevel, rect{g.x0, f[1] - pathHalf, g.x1, f[1] + pathHalf})
	paths.floorQuad(gravelPath, groundLevel, rect{f[0] - pathHalf, g.y0, f[0] + pathHalf, f[1] - pathHalf})
	paths.floorQuad(gravelPath, groundLevel, rect{f[0] - pathHalf, f[1] + pathHalf, f[0] + pathHalf, g.y1})
	restore := paths.in(level0(at3(f, 0)))
	paths.disc(gravelPath, 28, groundLevel+0.01, 8)
	restore()
	t.add(object{typeID: "static.lawn", pose: standing(vec{}, 0), details: always(single("lawn", s, scene.TagTerrain))}, f)
	t.add(object{typeID: "static.path", pose: standing(vec{}, 0), details: always(single("path", paths, scene.TagGround))}, f)
}

// addFountain places a basin with water and a bowl on a pillar.
func (t *town) addFountain(at vec2) {
	s, pool := newShape(), newShape()
	s.turned(trimStone, 24, ring{0, 3.6}, ring{0.1, 3.6}, ring{0.12, 3.4}, ring{0.5, 3.4}, ring{0.52, 3.5}, ring{0.62, 3.5}, ring{0.62, 3.1}, ring{0.2, 3.0})
	s.turned(trimStone, 12, ring{0.2, 0.7}, ring{0.6, 0.5}, ring{0.8, 0.28}, ring{1.5, 0.24}, ring{1.7, 0.5}, ring{1.95, 1.3}, ring{2.02, 1.3}, ring{1.9, 1.1})
	s.turned(trimStone, 8, ring{1.9, 0.2}, ring{2.5, 0.16}, ring{2.6, 0.4}, ring{2.75, 0.6}, ring{2.8, 0.55}, ring{2.75, 0})
	pool.disc(water, 24, 0.5, 3.1)
	pool.disc(water, 12, 1.96, 1.12)
	m := &model{parts: []modelPart{{name: "stone", shape: s, tag: scene.TagStatic}, {name: "water", shape: pool, tag: scene.TagWater}}}
	t.add(object{typeID: "static.fountain", pose: standing(at3(at, groundLevel), 0), details: always(m)}, at)
}

// addParkEdges encloses the park with hedges, and iron fences on the north
// side, leaving gates at the paths.
func (t *town) addParkEdges(p parkPlan) {
	g, f := p.green, p.fountain
	const piece, gate = 4.2, 2.6
	edge := func(a, b vec2, fence bool) {
		d := b.Sub(a)
		n := int(math.Round(d.Len() / piece))
		for i := range n {
			from, to := lerp2(a, b, float64(i)/float64(n)), lerp2(a, b, float64(i+1)/float64(n))
			if fence && i%2 == 0 {
				t.addFence(from, to)
			} else {
				t.addHedge(from, to)
			}
		}
	}
	in := g.inset(0.5)
	edge(vec2{in.x0 + chamfer, in.y1}, vec2{f[0] - gate, in.y1}, true)
	edge(vec2{f[0] + gate, in.y1}, vec2{in.x1, in.y1}, true)
	edge(vec2{in.x0 + chamfer, in.y0}, vec2{f[0] - gate, in.y0}, false)
	edge(vec2{f[0] + gate, in.y0}, vec2{in.x1, in.y0}, false)
	edge(vec2{in.x0, in.y0 + chamfer}, vec2{in.x0, f[1] - gate}, true)
	edge(vec2{in.x0, f[1] + gate}, vec2{in.x0, in.y1 - chamfer}, true)
	edge(vec2{in.x0, in.y0 + chamfer}, vec2{in.x0 + chamfer, in.y0}, true)
	edge(vec2{in.x0, in.y1 - chamfer}, vec2{in.x0 + chamfer, in.y1}, true)
}

func (t *town) addHedge(a, b vec2) { t.addHedgeAt(a, b, groundLevel) }

func (t *town) addHedgeAt(a, b vec2, z float64) {
	d := b.Sub(a)
	length := d.Len()
	t.put(prop{"hedge", "static.hedge", int(length * 1000), 0.5, func(level int) *model {
		return single("hedge", hedge(length, 1.0, leafDark, min(level+1, 3)), scene.TagVegetation)
	}}, at3(a, z), math.Atan2(d[1], d[0]))
}

// addFence places an iron fence on a low wall.
func (t *town) addFence(a, b vec2) {
	d := b.Sub(a)
	length := d.Len()
	t.put(prop{"fence", "static.fence", int(length * 1000), 0.5, solid("fence", scene.TagFence, func(s *shape, level int) {
		s.boxAt(trimStone, rect{0, -0.12, length, 0.12}, 0, 0.3)
		for _, z := range []float64{0.45, 1.15} {
			s.boxAt(ironDark, rect{0, -0.02, length, 0.02}, z, z+0.04)
		}
		n := int(length / [3]float64{0.6, 0.25, 0.13}[level])
		for i := range n + 1 {
			x := (length - 0.03) * float64(i) / float64(n)
			s.box(ironDark, vec{x, -0.012, 0.3}, vec{x + 0.025, 0.012, 1.3}, uprights)
		}
	})}, at3(a, groundLevel), math.Atan2(d[1], d[0]))
}

// addParkTrees plants trees in a loose grid on the lawns, and flower beds.
func (t *town) addParkTrees(p parkPlan, rng *rand.Rand) {
	g, f := p.green.inset(4), p.fountain
	for x := g.x0; x <= g.x1; x += 7.6 {
		for y := g.y0; y <= g.y1; y += 7.2 {
			q := vec2{x + between(rng, -1.6, 1.6), y + between(rng, -1.6, 1.6)}
			playground := q[0] < p.green.x0+17 && q[1] < p.green.y0+15
			if q.Sub(f).Len() < 11.5 || math.Abs(q[0]-f[0]) < 4.2 || math.Abs(q[1]-f[1]) < 4.2 || playground || chance(rng, 0.2) {
				continue
			}
			sp := pick(rng, plane, plane, lime, maple, cherry, spruce)
			t.addTree(q, treeWish{species: sp, size: between(rng, 0.8, 1.1), ground: groundLevel, rng: rng})
		}
	}
	for i := range 8 {
		s, c := math.Sincos(math.Pi/4*float64(i) + math.Pi/8)
		t.addFlowerBed(f.Add(vec2{9.6 * c, 9.6 * s}), i)
	}
}

func (t *town) addFlowerBed(at vec2, i int) {
	m := [3]material{flowerRed, flowerYellow, flowerViolet}[i%3]
	t.put(prop{"flower_bed", "static.flower_bed", int(m), 0.35, solid("bed", scene.TagVegetation, func(s *shape, level int) {
		s.turned(trimStone, 10, ring{0, 1.3}, ring{0.16, 1.3}, ring{0.16, 1.15}, ring{0.1, 0})
		rng := stream(uint64(m), "bed")
		for k := range [3]int{5, 12, 26}[level] {
			sn, c := math.Sincos(float64(k) * 2.4)
			r := 1.05 * math.Sqrt((float64(k)+0.3)/float64([3]int{5, 12, 26}[level]))
			look := m
			if k%4 == 3 {
				look = leafBright
			}
			s.clump(look, rng, clumpShape{vec{r * c, r * sn, 0.2}, vec{0.34, 0.34, 0.22}, 0})
		}
	})}, at3(at, groundLevel), 0)
}

// addParkFurniture lines the paths with benches, lanterns and bins, and lets
// people stand about.
func (t *town) addParkFurniture(p parkPlan, rng *rand.Rand) {
	g, f := p.green, p.fountain
	for _, side := range []float64{-1, 1} {
		for x := g.x0 + 6; x < g.x1-3; x += 6.5 {
			if math.Abs(x-f[0]) < 10 {
				continue
			}
			t.put(benchProp, vec{x, f[1] + side*(pathHalf+0.5), groundLevel}, -side*math.Pi/2)
			t.put(parkLampProp, vec{x + 3.2, f[1] - side*(pathHalf+0.3), groundLevel}, 0)
		}
		for y := g.y0 + 5; y < g.y1-3; y += 7 {
			if math.Abs(y-f[1]) < 10 {
				continue
			}
			t.put(benchProp, vec{f[0] + side*(pathHalf+0.5), y, groundLevel}, (1+side)*math.Pi/2)
			t.put(parkLampProp, vec{f[0] - side*(pathHalf+0.3), y + 3.4, groundLevel}, 0)
		}
	}
	for i := range 6 {
		s, c := math.Sincos(math.Pi/3*float64(i) + 0.5)
		q := at3(f.Add(vec2{7.2 * c, 7.2 * s}), groundLevel)
		if i%2 == 0 {
			t.put(benchProp, q, math.Atan2(-s, -c))
		} else {
			t.put(binProp, q, 0)
		}
		t.addBystander(at3(f.Add(vec2{4.4 * c, 4.4 * s}), groundLevel), between(rng, 0, 6.28), rng)
	}
}

// addPlayground places a slide, a swing and a sand pit.
func (t *town) addPlayground(at vec2) {
	t.put(prop{"playground", "static.playground", 0, 0.35, solid("playground", scene.TagStatic, func(s *shape, level int) {
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
	})}, at3(at, groundLevel), 0.4)
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
	t.put(prop{"stall", "static.market_stall", int(cloth), 0.3, solid("stall", scene.TagStatic, func(s *shape, level int) {
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
	})}, at, 0)
}

// addStatue places a figure on a pedestal, facing +x's opposite, the park.
func (t *town) addStatue(at vec) {
	t.put(prop{"statue", "static.statue", 0, 0.2, solid("statue", scene.TagStatic, func(s *shape, level int) {
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
	})}, at, math.Pi)
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

// species is a kind of tree.
type species int

const (
	lime     species = iota // round, for streets
	plane                   // broad, for parks
	poplar                  // tall and narrow
	spruce                  // a conifer
	cherry                  // small, in blossom
	maple                   // yellow
	allTrees int     = iota
)

// variantsPerSpecies is how many different trees of a kind there are.
const variantsPerSpecies = 3

// treeModel builds one variant of a tree at a level of detail, 0 to 3.
func treeModel(seed uint64, sp species, variant, level int) *model {
	rng := stream(seed, "tree", int(sp), variant)
	s := newShape()
	if sp == spruce {
		buildSpruce(s, rng, level)
	} else {
		buildLeafTree(s, rng, sp, level)
	}
	return single("tree", s, scene.TagVegetation)
}

// crownForm is a leaf tree's proportions, metres.
type crownForm struct {
	trunk, radius, height float64 // the trunk's height to the crown; the crown's half width and height
	light, dark, bark     material
}

var crownForms = [allTrees]crownForm{
	lime:   {2.3, 2.4, 5.8, leafBright, leafMid, bark},
	plane:  {2.8, 3.5, 6.8, leafMid, leafDark, barkPale},
	poplar: {2.6, 1.35, 11, leafOlive, leafDark, barkPale},
	cherry: {2.2, 2.0, 3.6, blossomWhite, blossomPink, bark},
	maple:  {2.3, 2.4, 5.3, leafYellow, leafOlive, bark},
}

// treeDetail is how finely a leaf tree is built. It has the sides of the trunk, how often the
// crown's faces are split, and how many tufts of leaves are on it.
type treeDetail struct{ sides, splits, tufts int }

var treeDetails = [4]treeDetail{{4, 0, 20}, {4, 1, 70}, {6, 2, 104}, {9, 3, 380}}

func buildLeafTree(s *shape, rng *rand.Rand, sp species, level int) {
	f, d := crownForms[sp], treeDetails[level]
	lean := vec{between(rng, -0.3, 0.3), between(rng, -0.3, 0.3), 0}
	fork := lean.Mul(0.4).Add(vec{0, 0, f.trunk * 0.9})
	thick := 0.045*f.radius + 0.05
	s.limb(f.bark, d.sides, []vec{{0, 0, -0.05}, {0, 0, 0.3}, fork, lean.Add(vec{0, 0, f.trunk + f.height*0.4})},
		[]float64{1.9 * thick, 1.15 * thick, 0.85 * thick, 0.3 * thick})
	centre := lean.Add(vec{0, 0, f.trunk + f.height/2})
	lobes := drawBulges(rng, 3.4)
	at := func(d vec) vec {
		out := d.Normalize()
		k := d.Len() * lobes.at(out, 0.26)
		if out[2] < -0.3 {
			k *= 1 + 0.45*(out[2]+0.3) // flatter below
		}
		return centre.Add(vec{out[0] * f.radius * k, out[1] * f.radius * k, out[2] * f.height / 2 * k})
	}
	from := len(s.verts)
	for _, t := range split(icosahedron(), d.splits) {
		m := f.dark
		if t[0].Add(t[1]).Add(t[2])[2] > 0.1 {
			m = f.light
		}
		s.face(m, at(t[0]), at(t[1]), at(t[2]))
	}
	s.smooth(from, math.Pi/2)
	if level > 0 {
		for i := range 5 { // branches
			sn, c := math.Sincos(2.4*float64(i) + lobes.phase[2])
			s.pole(f.bark, 3, fork, at(vec{0.75 * c, 0.75 * sn, -0.55}), [2]float64{0.45 * thick, 0.2 * thick})
		}
	}
	size := f.radius * min(0.34, 1.9/math.Sqrt(float64(d.tufts)))
	for i := range d.tufts {
		z := 1 - (2*float64(i)+1)/float64(d.tufts)
		sn, c := math.Sincos(2.4*float64(i) + between(rng, -0.4, 0.4))
		flat := math.Sqrt(1 - z*z)
		out := vec{flat * c, flat * sn, z}
		m := f.dark
		if z > between(rng, -0.5, 0.4) {
			m = f.light
		}
		s.tuft(m, rng, at(out.Mul(0.93)), out.Mul(size*between(rng, 0.8, 1.5)))
	}
}

// tuft adds a bunch of leaves at a place in a crown, as large as out is long. It is an uneven
// pyramid that leans, lit like the crown.
func (s *shape) tuft(m material, rng *rand.Rand, at, out vec) {
	size := out.Len()
	out = out.Mul(1 / size)
	aim := vec{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64() - 0.4}
	side := aim.Sub(out.Mul(aim.Dot(out))).Normalize()
	across := out.Cross(side)
	tip := at.Add(out.Mul(size * between(rng, 0.4, 0.75))).Add(side.Mul(size * between(rng, 0.5, 1)))
	var foot [5]vec
	turn := between(rng, 0, 2*math.Pi)
	for i := range foot {
		sn, co := math.Sincos(turn + 2*math.Pi*float64(i)/float64(len(foot)))
		r := size * between(rng, 0.7, 1.3)
		foot[i] = at.Add(side.Mul(r * co)).Add(across.Mul(r * sn)).Sub(out.Mul(0.25 * size))
	}
	from := len(s.verts)
	for i := range foot {
		s.face(m, foot[i], foot[(i+1)%len(foot)], tip)
	}
	s.smooth(from, math.Pi/2)
	for i := from; i < len(s.verts); i++ {
		v := &s.verts[i]
		if n := v.n.Add(s.frame.direction(out).Mul(0.5)); n.Dot(v.n) > 0.6 {
			v.n = n.Normalize()
		}
	}
}

// bulges are waves over the directions from a middle.
type bulges struct {
	waves [4]vec
	phase [4]float64
}

// drawBulges draws bulges with about so many radians of a wave to a radius.
func drawBulges(rng *rand.Rand, number float64) bulges {
	var b bulges
	for i := range b.waves {
		b.waves[i] = vec{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}.Normalize().Mul(between(rng, 0.6*number, 1.4*number))
		b.phase[i] = between(rng, 0, 2*math.Pi)
	}
	return b
}

// at returns a factor about 1 on the way out in direction d.
func (b *bulges) at(d vec, depth float64) float64 {
	k := 1.0
	for i, w := range b.waves {
		k += depth / 2 * math.Sin(w.Dot(d)+b.phase[i])
	}
	return k
}

// clumpShape is where a leaf mass is, its half sizes and fineness.
type clumpShape struct {
	centre, radii vec
	splits        int
}

// clump adds a leaf mass: an uneven faceted ellipsoid, flatter below.
func (s *shape) clump(m material, rng *rand.Rand, c clumpShape) {
	bulges := drawBulges(rng, 3.25)
	at := func(d vec) vec {
		k, low := bulges.at(d, 0.11), 1.0
		if d[2] < -0.3 {
			low = 0.82
		}
		return vec{d[0] * c.radii[0] * k, d[1] * c.radii[1] * k, d[2] * c.radii[2] * k * low}.Add(c.centre)
	}
	for _, t := range split(icosahedron(), c.splits) {
		s.face(m, at(t[0]), at(t[1]), at(t[2]))
	}
}

// buildSpruce builds whorls of drooping branches.
func buildSpruce(s *shape, rng *rand.Rand, level int) {
	tiers, branches := [4]int{4, 7, 11, 18}[level], [4]int{5, 7, 9, 16}[level]
	height := between(rng, 7, 10)
	s.pole(bark, 5, vec{}, vec{0, 0, height * 0.8}, [2]float64{0.2, 0.05})
	for i := range tiers {
		k := float64(i) / float64(tiers)
		z, r := 0.9+k*(height-0.9), 2.4*math.Pow(1-k, 0.85)+0.2
		s.whorl(rng, vec{z, r, (height - 0.9) / float64(tiers) * 1.7}, branches)
	}
}

// whorl adds one tier of branches, each a roof of needles that is lower at its sides. dim is the
// height of its tips above the ground, its radius and its own height.
func (s *shape) whorl(rng *rand.Rand, dim vec, branches int) {
	turn := between(rng, 0, 2*math.Pi)
	top := vec{0, 0, dim[0] + dim[2]}
	at := func(i, r, z float64) vec {
		sn, c := math.Sincos(turn + 2*math.Pi*i/float64(branches))
		return vec{r * c, r * sn, z}
	}
	for i := range branches {
		k := float64(i)
		r := dim[1] * between(rng, 0.82, 1.12)
		tip := at(k, r, dim[0]-0.1*r)
		left, right := at(k+0.55, 0.55*r, dim[0]+0.2*dim[2]), at(k-0.55, 0.55*r, dim[0]+0.2*dim[2])
		s.face(needles, tip, left, top)
		s.face(needles, right, tip, top)
		s.face(needles, left, tip, right)
	}
}

// hedge builds a clipped hedge along x.
func hedge(length, height float64, m material, level int) *shape {
	s := newShape()
	rng := stream(uint64(length*100), "hedge")
	n := max(1, int(length/[4]float64{4, 1.2, 0.8, 0.4}[level]))
	const half = 0.42
	section := func(i int) []vec {
		x := length * float64(i) / float64(n)
		j := func() float64 { return between(rng, -0.05, 0.05) }
		return []vec{{x, -half + j(), 0}, {x, -half + j(), height * 0.8}, {x, -half*0.7 + j(), height + j()},
			{x, half*0.7 + j(), height + j()}, {x, half + j(), height * 0.8}, {x, half + j(), 0}}
	}
	sections := make([][]vec, n+1)
	for i := range sections {
		sections[i] = section(i)
	}
	s.loft(m, sections, false, 0)
	s.cap(m, sections[0], false)
	s.cap(m, sections[n], true)
	return s
}
