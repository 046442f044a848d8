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
	t.put(prop{"fence", "static.fence", int(length * 1000), 0.5, func(level int) *model {
		s := newShape()
		s.boxAt(trimStone, rect{0, -0.12, length, 0.12}, 0, 0.3)
		for _, z := range []float64{0.45, 1.15} {
			s.boxAt(ironDark, rect{0, -0.02, length, 0.02}, z, z+0.04)
		}
		n := int(length / [3]float64{0.6, 0.25, 0.13}[level])
		for i := range n + 1 {
			x := (length - 0.03) * float64(i) / float64(n)
			s.box(ironDark, vec{x, -0.012, 0.3}, vec{x + 0.025, 0.012, 1.3}, uprights)
		}
		return single("fence", s, scene.TagFence)
	}}, at3(a, groundLevel), math.Atan2(d[1], d[0]))
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
	t.put(prop{"flower_bed", "static.flower_bed", int(m), 0.35, func(level int) *model {
		s := newShape()
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
		return single("bed", s, scene.TagVegetation)
	}}, at3(at, groundLevel), 0)
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
