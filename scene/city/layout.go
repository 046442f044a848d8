package city

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/raybridge/raybridge/scene"
)

// The cross-section of a street, metres from its centre line.
const (
	laneCentre    = 1.6
	laneEdge      = 3.3 // between the lane and the parking bays
	parkingCentre = 4.4
	kerbLine      = 5.5
	furnitureLine = 6.2 // poles and trees stand here
	buildingLine  = 10.0
)

const (
	kerbHeight = 0.12
	kerbRadius = 10.0 // of a block's corners
	chamfer    = 4.0  // cut off a corner house

	// cornerReach is where a street's straight part begins, from the centre of
	// its crossing.
	cornerReach = kerbLine + kerbRadius

	crosswalkNear, crosswalkFar = cornerReach + 0.3, cornerReach + 3.5
	stopLine                    = crosswalkFar + 1.0
	parkingStart                = crosswalkFar + 5
)

// blockUse is what stands on a block.
type blockUse int

const (
	perimeterUse blockUse = iota // houses around a court
	towerUse                     // offices standing free
	parkUse                      // the park and the town hall: the ego's block
)

// block is what four streets enclose.
type block struct {
	column, row int
	use         blockUse
	kerbs       rect // along the kerbs
	lots        rect // along the building lines
}

// town is the plan that everything is placed by.
type town struct {
	seed    uint64
	size    int       // blocks across and down, odd
	xs, ys  []float64 // centre lines of the streets, ascending
	blocks  []block   // row by row
	objects []*object
	route   []vec2    // the ego's loop
	start   vec2      // where the ego starts
	models  []*object // of actors that may come
	marks   []scene.LaneMark
	lights  []light
	// library keeps the models that many objects share.
	library library
}

// newTown lays out size by size blocks around the park.
func newTown(seed uint64, size int) *town {
	t := &town{seed: seed, size: size, library: make(library)}
	t.xs = streetLines(stream(seed, "columns"), size, 100, vec2{80, 106})
	t.ys = streetLines(stream(seed, "rows"), size, 78, vec2{68, 86})
	for row := range size {
		for column := range size {
			t.blocks = append(t.blocks, t.newBlock(column, row))
		}
	}
	lane := t.parkBlock().laneWay()
	t.route, t.start = lane.points(), vec2{-egoStart, lane.outline.y1}
	return t
}

// streetLines returns the centre lines around size blocks, the middle one of
// the given pitch and centred on 0, the others between the limits. A larger
// town has the lines of a smaller one in its middle.
func streetLines(rng *rand.Rand, size int, middle float64, limits vec2) []float64 {
	lines := make([]float64, size+1)
	half := size / 2
	lines[half], lines[half+1] = -middle/2, middle/2
	for i := range half {
		lines[half-1-i] = lines[half-i] - math.Round(between(rng, limits[0], limits[1]))
		lines[half+2+i] = lines[half+1+i] + math.Round(between(rng, limits[0], limits[1]))
	}
	return lines
}

func (t *town) newBlock(column, row int) block {
	streets := rect{t.xs[column], t.ys[row], t.xs[column+1], t.ys[row+1]}
	b := block{column: column, row: row, kerbs: streets.inset(kerbLine), lots: streets.inset(buildingLine)}
	middle := t.size / 2
	far := max(abs(column-middle), abs(row-middle))
	tower := chance(stream(t.seed, "use", t.index(&b)), 0.2)
	switch {
	case far == 0:
		b.use = parkUse
	case far > 1 && tower, column == middle+1 && row == middle-1:
		b.use = towerUse
	}
	return b
}

func abs(i int) int { return max(i, -i) }

// index numbers the blocks, and the crossings at their south-west corners, by their place seen
// from the park. So a block has one number in towns of any size.
func (t *town) index(b *block) int { return t.gridIndex(b.column, b.row) }

func (t *town) gridIndex(column, row int) int {
	const reach = 64 // more than half the largest town
	m := t.size / 2
	return (row-m+reach)*2*reach + column - m + reach
}

func (t *town) parkBlock() *block { return &t.blocks[t.size*t.size/2] }

// distanceToPath returns how far p is from a closed polyline.
func distanceToPath(path []vec2, p vec2) float64 {
	best := math.Inf(1)
	for i, a := range path {
		ab := path[(i+1)%len(path)].Sub(a)
		k := 0.0
		if l := ab.Dot(ab); l > 0 {
			k = max(0, min(1, p.Sub(a).Dot(ab)/l))
		}
		best = min(best, p.Sub(a.Add(ab.Mul(k))).Len())
	}
	return best
}

// frontage says what lies beyond an edge of a plot.
type frontage int

const (
	streetFront frontage = iota
	courtFront
	partyWall // another house
)

// plot is the ground of one house. It is a convex outline, counter-clockwise, and what lies
// beyond each of its edges (edge i runs from corner i to i+1).
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
	farther := 1 + w.hidden
	details := levels([]float64{0.14 * farther, 0.4 * farther, 2.8 * farther, 15 * farther}, func(level int) *model {
		return t.library.model(modelKey{"tree", int(w.species), variant, level}, func() *model {
			return treeModel(t.seed, w.species, variant, level)
		})
	})
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
