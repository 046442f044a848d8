package city

import (
	"math"
	"math/rand/v2"

	"github.com/raybridge/raybridge/scene"
)

// groundLevel is the height of lawns and paths laid on a pavement.
const groundLevel = kerbHeight + 0.02

// addBlock places what stands inside a block's building lines.
func (t *town) addBlock(b *block) {
	switch rng := stream(t.seed, "block", t.index(b)); b.use {
	case parkUse:
		t.addPark(b)
	case towerUse:
		t.addTowers(b, rng)
	default:
		t.addPerimeter(b, rng)
	}
}

// addPerimeter places a block of houses around a court.
func (t *town) addPerimeter(b *block, rng *rand.Rand) {
	depth := between(rng, 12, 13.5)
	houses, gaps := perimeterPlots(rng, b.lots, depth)
	for i, p := range houses {
		t.addHouse(drawHouse(rng, p, t.index(b)*64+i, t.seed))
	}
	for _, g := range gaps {
		t.addGap(g)
	}
	court := b.lots.inset(depth + 1.5)
	s := newShape()
	s.floorQuad(lawn, groundLevel, court)
	t.add(object{typeID: "static.lawn", pose: standing(vec{}, 0), details: always(single("lawn", s, scene.TagTerrain))}, court.centre())
	for range 4 {
		p := vec2{between(rng, court.x0+2, court.x1-2), between(rng, court.y0+2, court.y1-2)}
		t.addTree(p, treeWish{species: lime, size: between(rng, 0.8, 1.3), ground: groundLevel, hidden: 3, rng: rng})
	}
}

// addHouse places a house. It is near where its closest corner is.
func (t *town) addHouse(h *house) {
	near, best := h.plot.outline[0], math.Inf(1)
	for i, p := range h.plot.outline {
		q := h.plot.outline[(i+1)%len(h.plot.outline)]
		for _, c := range []vec2{p, lerp2(p, q, 0.5)} {
			if d := distanceToPath(t.route, c); d < best {
				near, best = c, d
			}
		}
	}
	t.add(object{typeID: "static.building", pose: standing(vec{}, 0), details: h.details()}, near)
}

// addGap closes an open plot with a wall and plants a tree behind it.
func (t *town) addGap(p plot) {
	a, b := p.outline[0], p.outline[1]
	length := b.Sub(a).Len()
	s := newShape()
	restore := s.in(along(a, b, kerbHeight))
	gate := length / 2
	for _, r := range []rect{{0, 0.2, gate - 1.3, 0.5}, {gate + 1.3, 0.2, length, 0.5}} {
		s.boxAt(brickBuff, r, 0, 2.2)
		s.boxAt(trimStone, r.inset(-0.06), 2.2, 2.32)
	}
	s.boxAt(trimGreen, rect{gate - 1.3, 0.3, gate + 1.3, 0.36}, 0.1, 2.1)
	restore()
	s.plate(lawn, insetPolygon(p.outline, 0.6), groundLevel)
	mid := lerp2(p.outline[0], p.outline[2], 0.5)
	t.add(object{typeID: "static.wall", pose: standing(vec{}, 0), details: always(single("wall", s, scene.TagWall))}, lerp2(a, b, 0.5))
	rng := stream(t.seed, "gap", int(mid[0]*10), int(mid[1]*10))
	t.addTree(mid, treeWish{species: pick(rng, plane, cherry, maple), size: 1, ground: groundLevel, hidden: 1, rng: rng})
}

// addTowers places free-standing offices on a paved square.
func (t *town) addTowers(b *block, rng *rand.Rand) {
	mid := b.lots.centre()
	for i, c := range b.lots.corners() {
		q := lerp2(c, mid, 0.5)
		w, d := b.lots.width()/4-between(rng, 4, 6), b.lots.height()/4-between(rng, 3, 5)
		if i == 3 && chance(rng, 0.6) {
			t.addGrove(around(q[0], q[1], w, d), rng)
			continue
		}
		h := &house{plot: freePlot(around(q[0], q[1], w, d)), look: office(rng, storeyLimits{5, 13}), seed: t.seed, index: t.index(b)*64 + i}
		if chance(rng, 0.3) {
			h.look = modernHouse(rng, storeyLimits{6, 10})
		}
		t.addHouse(h)
	}
}

// addGrove plants trees on a lawn.
func (t *town) addGrove(r rect, rng *rand.Rand) {
	s := newShape()
	s.floorQuad(lawn, groundLevel, r)
	t.add(object{typeID: "static.lawn", pose: standing(vec{}, 0), details: always(single("lawn", s, scene.TagTerrain))}, r.centre())
	for range 6 {
		p := vec2{between(rng, r.x0+2, r.x1-2), between(rng, r.y0+2, r.y1-2)}
		t.addTree(p, treeWish{species: pick(rng, plane, lime, maple), size: between(rng, 0.8, 1.1), ground: groundLevel, hidden: 1, rng: rng})
	}
}

// treeWish says what tree to plant. hidden (0 or more) makes it count as
// farther away, by that factor and one.
type treeWish struct {
	species species
	size    float64
	ground  float64
	hidden  float64
	rng     *rand.Rand
}

// addTree plants a tree.
func (t *town) addTree(p vec2, w treeWish) {
	variant := w.rng.IntN(variantsPerSpecies)
	weights := [4]float64{0.14, 0.36, 2.5, 14}
	details := make([]detail, len(weights))
	for level, weight := range weights {
		details[level] = detail{weight: weight * (1 + w.hidden), make: func() *model {
			return t.library.model(modelKey{"tree", int(w.species), variant, level}, func() *model {
				return treeModel(t.seed, w.species, variant, level)
			})
		}}
	}
	t.add(object{typeID: "static.vegetation", pose: standing(at3(p, w.ground), between(w.rng, 0, 2*math.Pi)), size: w.size * between(w.rng, 0.88, 1.12), details: details}, p)
}

// modelKey names a model that many objects share.
type modelKey struct {
	kind                 string
	form, variant, level int
}

// library keeps models that were built once. It is only looked up, never
// walked, so its order does not matter.
type library map[modelKey]*model

func (l library) model(k modelKey, build func() *model) *model {
	m, ok := l[k]
	if !ok {
		m = build()
		l[k] = m
	}
	return m
}
