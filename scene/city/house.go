package city

import (
	"math"
	"math/rand/v2"

	"github.com/raybridge/raybridge/scene"
)

// groundUse is what a house's ground floor is.
type groundUse int

const (
	flats groundUse = iota
	shops
	lobby
)

// roofForm is how a house ends.
type roofForm int

const (
	flatRoof roofForm = iota
	mansardRoof
	pitchedRoof // a gable along the street; hipped where the plot has a cut corner
)

// openings is how the windows of a house are proportioned, metres.
type openings struct {
	bay    float64 // wanted distance from window to window
	ratio  float64 // a window's part of its bay
	sill   float64 // above the floor
	height float64
	recess float64 // of the panes behind the wall
}

// houseLook is the architecture of a house.
type houseLook struct {
	wall, base, trim, frame, roof, door material
	panes                               material
	painting                            painting
	openings                            openings
	groundHeight, storeyHeight          float64
	storeys                             int // above the ground floor
	ground                              groundUse
	form                                roofForm
	parapet                             float64
	balconies                           float64 // the share of bays that have one
	cornice                             float64 // how far it stands out; 0 for none
	shutters                            bool
	fins                                bool // office mullions
}

// storeyLimits bounds the storeys above the ground floor.
type storeyLimits struct{ lo, hi int }

func (l storeyLimits) draw(rng *rand.Rand) int { return l.lo + rng.IntN(l.hi-l.lo+1) }

// brickTownhouse is a brick house with stone sills.
func brickTownhouse(rng *rand.Rand, n storeyLimits) houseLook {
	l := houseLook{
		wall: pick(rng, brickRed, brickBrown, brickOrange, brickBuff, brickGrey, brickWhite),
		trim: pick(rng, trimStone, trimWhite), frame: pick(rng, trimWhite, trimWhite, trimDark),
		roof: pick(rng, slate, tilesRed, tilesBrown), door: pick(rng, doorRed, doorGreen, doorBlue),
		panes: paneClassic, openings: openings{bay: 2.7, ratio: 0.42, sill: 0.85, height: 1.75, recess: 0.16},
		groundHeight: 3.9, storeyHeight: 3.2, storeys: n.draw(rng), form: pick(rng, pitchedRoof, flatRoof, mansardRoof),
		parapet: 0.9, cornice: 0.3,
	}
	l.base = l.wall
	return l
}

// stuccoHouse is a plastered house in a light colour, with a stone base.
func stuccoHouse(rng *rand.Rand, n storeyLimits) houseLook {
	return houseLook{
		wall: pick(rng, plasterWhite, plasterCream, plasterYellow, plasterPink, plasterBlue, plasterGreen, plasterTerracotta),
		base: pick(rng, ashlarSand, ashlarGrey, plasterGrey),
		trim: pick(rng, trimWhite, trimWhite, trimStone), frame: pick(rng, trimWhite, trimBrown),
		roof: pick(rng, tilesRed, slate, tilesBrown), door: pick(rng, doorWood, doorGreen, doorBlue),
		panes: paneClassic, openings: openings{bay: 2.9, ratio: 0.4, sill: 0.7, height: 2.0, recess: 0.2},
		groundHeight: 4.2, storeyHeight: 3.4, storeys: n.draw(rng), form: pick(rng, mansardRoof, mansardRoof, pitchedRoof, flatRoof),
		parapet: 0.8, balconies: pick(rng, 0, 0.2, 0.45), cornice: 0.45, shutters: chance(rng, 0.4),
	}
}

// modernHouse is a block of flats with wide windows and balconies.
func modernHouse(rng *rand.Rand, n storeyLimits) houseLook {
	l := houseLook{
		wall: pick(rng, concreteLight, plasterWhite, plasterGrey, brickWhite, plasterTerracotta),
		base: pick(rng, concreteGrey, claddingDark, brickGrey), trim: pick(rng, trimWhite, trimDark), frame: trimDark,
		roof: roofGravel, door: doorWood, panes: paneModern,
		openings:     openings{bay: 3.5, ratio: 0.6, sill: 0.55, height: 1.95, recess: 0.12},
		groundHeight: 3.8, storeyHeight: 3.05, storeys: n.draw(rng), parapet: 0.6, balconies: pick(rng, 0.3, 0.5, 0.7),
	}
	return l
}

// stoneHouse is a bank or a department store in ashlar.
func stoneHouse(rng *rand.Rand, n storeyLimits) houseLook {
	wall := pick(rng, ashlarSand, ashlarGrey)
	return houseLook{
		wall: wall, base: wall, trim: trimStone, frame: pick(rng, trimDark, trimGreen), roof: pick(rng, copper, slate, zinc),
		door: doorWood, panes: paneClassic,
		openings:     openings{bay: 3.2, ratio: 0.44, sill: 0.5, height: 2.5, recess: 0.32},
		groundHeight: 4.8, storeyHeight: 3.8, storeys: n.draw(rng), form: pick(rng, mansardRoof, flatRoof), parapet: 1.1, cornice: 0.6,
	}
}

// office is a house with bands of glass.
func office(rng *rand.Rand, n storeyLimits) houseLook {
	return houseLook{
		wall: pick(rng, claddingDark, claddingBlue, concreteLight, concreteGrey, brickRed),
		base: pick(rng, claddingDark, concreteGrey), trim: pick(rng, trimDark, trimWhite), frame: trimDark,
		roof: roofGravel, door: doorBlue, panes: paneModern, painting: paintedOffice,
		openings:     openings{bay: 3.0, ratio: 0.9, sill: 0.75, height: 2.35, recess: 0.1},
		groundHeight: 4.6, storeyHeight: 3.7, storeys: n.draw(rng), ground: lobby, parapet: 1.0, fins: true,
	}
}

// house is one building of the town.
type house struct {
	plot  plot
	look  houseLook
	seed  uint64
	index int
}

// drawHouse chooses the architecture of a plot's house.
func drawHouse(rng *rand.Rand, p plot, index int, seed uint64) *house {
	limits := storeyLimits{2, 4}
	if p.corner {
		limits = storeyLimits{3, 5}
	}
	var l houseLook
	switch v := rng.Float64(); {
	case v < 0.34:
		l = brickTownhouse(rng, limits)
	case v < 0.7:
		l = stuccoHouse(rng, limits)
	case v < 0.86:
		l = modernHouse(rng, storeyLimits{limits.lo, limits.hi + 1})
	case v < 0.95:
		l = stoneHouse(rng, limits)
	default:
		l = office(rng, storeyLimits{limits.lo + 1, limits.hi + 1})
	}
	if l.ground == flats && chance(rng, 0.6) {
		l.ground = shops
	}
	return &house{plot: p, look: l, seed: seed, index: index}
}

// wallHeight is where the walls end and the roof begins, above the pavement.
func (h *house) wallHeight() float64 {
	return h.look.groundHeight + float64(h.look.storeys)*h.look.storeyHeight
}

// details returns the house's levels of detail. 0 has painted windows, 1 windows as geometry
// towards the street, 2 frames, sills and shop fittings, 3 everything.
func (h *house) details() []detail {
	return levels([]float64{0, 0.22, 1.3, 4}, func(level int) *model {
		return single("house", h.build(level), scene.TagBuilding)
	})
}

// build makes the house's shape in the frame of the map.
func (h *house) build(level int) *shape {
	s := newShape()
	n := len(h.plot.outline)
	for i, a := range h.plot.outline {
		b := h.plot.outline[(i+1)%n]
		f := facade{
			s: s, h: h, level: level, front: h.plot.fronts[i],
			width: b.Sub(a).Len(), rng: stream(h.seed, "facade", h.index, i),
		}
		restore := s.in(along(a, b, kerbHeight))
		f.build()
		restore()
	}
	r := roof{s: s, h: h, level: level, rng: stream(h.seed, "roof", h.index), z: kerbHeight + h.wallHeight()}
	r.build()
	return s
}

// facade builds one wall of a house, seen from outside. x runs to the right from 0 to width, z
// up from the pavement. The wall's face is at y = 0, inside at y > 0.
type facade struct {
	s     *shape
	h     *house
	rng   *rand.Rand
	width float64
	level int
	front frontage
}

// margin is the least wall to both sides of the windows.
const margin = 0.45

func (f *facade) build() {
	l := &f.h.look
	top := f.h.wallHeight()
	if l.form == flatRoof {
		top += l.parapet
	}
	level := f.level
	switch f.front {
	case partyWall:
		f.s.wallQuad(l.wall, 0, rect{0, 0, f.width, top})
		return
	case courtFront:
		level -= 2 // the street comes first
	}
	if level < 1 || f.width < 2.2 {
		f.painted(top)
		return
	}
	f.groundFloor()
	f.storeys(top)
	if f.front == streetFront {
		f.mouldings(top, level)
	}
}

// bays returns how many windows fit side by side and their distance.
func (f *facade) bays() (int, float64) {
	n := max(1, int((f.width-2*margin)/f.h.look.openings.bay+0.25))
	return n, (f.width - 2*margin) / float64(n)
}

// painted builds the wall as plain surfaces with windows painted on.
func (f *facade) painted(top float64) {
	l := &f.h.look
	n, _ := f.bays()
	face := painted(l.wall, l.painting)
	z := 0.0
	if f.front == streetFront && l.ground != flats {
		f.paintedShops()
		z = l.groundHeight
	}
	storeys := math.Round((f.h.wallHeight() - z) / l.storeyHeight)
	column, row := float64(f.rng.IntN(paneCells)), float64(f.rng.IntN(paneCells))
	wall := f.h.wallHeight()
	f.s.faceUV(face, [4]vec{{0, 0, z}, {f.width, 0, z}, {f.width, 0, wall}, {0, 0, wall}},
		cellUVs(column/paneCells, row/paneCells, (column+float64(n))/paneCells, (row+storeys)/paneCells))
	if top > wall {
		f.s.wallQuad(l.wall, 0, rect{0, wall, f.width, top})
	}
}

// paintedShops builds the ground floor as a row of shop windows and a board.
func (f *facade) paintedShops() {
	l := &f.h.look
	const board = 1.0
	n := math.Max(1, math.Round(f.width/3.6))
	row := float64(f.rng.IntN(shopCells)) / shopCells
	z := l.groundHeight - board
	f.s.faceUV(paneShop, [4]vec{{0, 0, 0}, {f.width, 0, 0}, {f.width, 0, z}, {0, 0, z}},
		cellUVs(0, row, n/shopCells, row+1.0/shopCells))
	f.s.wallQuad(l.trim, 0, rect{0, z, f.width, l.groundHeight})
}

// storeys builds the wall above the ground floor around its windows.
func (f *facade) storeys(top float64) {
	l := &f.h.look
	n, bay := f.bays()
	o := l.openings
	w := min(bay*o.ratio, bay-0.3)
	from := l.groundHeight
	for k := range l.storeys {
		floor := l.groundHeight + float64(k)*l.storeyHeight
		sill, head := floor+o.sill, min(floor+o.sill+o.height, floor+l.storeyHeight-0.25)
		f.s.wallQuad(l.wall, 0, rect{0, from, f.width, sill})
		x := 0.0
		for i := range n {
			x0 := margin + (float64(i)+0.5)*bay - w/2
			f.pier(x, x0, sill, head)
			x = x0 + w
			f.bay(rect{x0, sill, x, head}, floor, k)
		}
		f.pier(x, f.width, sill, head)
		from = head
	}
	f.s.wallQuad(l.wall, 0, rect{0, from, f.width, top})
}

// pier builds the wall between two windows. It runs a little into the bands above and below.
// They meet without vertices in common, and a ray along the joint must not slip through.
func (f *facade) pier(x0, x1, z0, z1 float64) {
	f.s.wallQuad(f.h.look.wall, 0, rect{x0, z0 - 0.005, x1, z1 + 0.005})
}

// bay builds the window in an opening and, by chance, a balcony before it.
func (f *facade) bay(r rect, floor float64, storey int) {
	l := &f.h.look
	balcony := f.front == streetFront && chance(f.rng, l.balconies) && !f.narrow()
	if balcony {
		f.balcony(rect{r.x0, floor, r.x1, r.y1})
	}
	f.window(r)
	if f.level >= 3 && f.front == streetFront && !balcony {
		f.windowDress(r, storey)
	}
}

// narrow reports a wall too short for balconies: the cut of a corner.
func (f *facade) narrow() bool { return f.width < 7 }

// mouldings adds the string course and the cornice.
func (f *facade) mouldings(top float64, level int) {
	l := &f.h.look
	f.ledge(l.trim, rect{0, l.groundHeight - 0.12, f.width, l.groundHeight + 0.14}, 0.1)
	if l.cornice > 0 {
		wall := f.h.wallHeight()
		f.ledge(l.trim, rect{0, wall - 0.5, f.width, wall - 0.22}, l.cornice*0.5)
		f.ledge(l.trim, rect{0, wall - 0.22, f.width, wall + 0.04}, l.cornice)
		if level >= 3 {
			f.brackets(wall - 0.5)
		}
	}
	if level >= 2 {
		for k := 1; k < l.storeys && l.painting == paintedHouse; k++ {
			z := l.groundHeight + float64(k)*l.storeyHeight
			f.ledge(l.trim, rect{0, z - 0.05, f.width, z + 0.07}, 0.05)
		}
		f.downpipe(top)
	}
	if l.fins {
		f.fins()
	}
}

// ledge adds a bar of rectangular section that stands out from the wall.
func (f *facade) ledge(m material, r rect, out float64) {
	f.s.box(m, vec{r.x0, -out, r.y0}, vec{r.x1, 0, r.y1}, allSides&^back)
}

// brackets adds the consoles under a cornice.
func (f *facade) brackets(z float64) {
	n := int(f.width / 0.8)
	for i := range n {
		x := (float64(i) + 0.5) * f.width / float64(n)
		f.ledge(f.h.look.trim, rect{x - 0.09, z - 0.3, x + 0.09, z}, f.h.look.cornice*0.4)
	}
}

// downpipe adds a rain pipe at the right end of the wall.
func (f *facade) downpipe(top float64) {
	if f.narrow() || f.h.look.fins {
		return
	}
	defer f.s.in(f.s.frame.moved(f.width-0.2, -0.08, 0))()
	f.s.turned(zinc, 5, ring{0.1, 0.06}, ring{top - 0.6, 0.06})
}

// fins adds an office's upright bars.
func (f *facade) fins() {
	l := &f.h.look
	n, bay := f.bays()
	for i := range n + 1 {
		x := margin + float64(i)*bay
		f.s.box(l.trim, vec{x - 0.07, -0.22, l.groundHeight}, vec{x + 0.07, 0, f.h.wallHeight()}, left|right|front)
	}
}

// window builds what lies in an opening of the wall. That is the reveal and the pane, and from
// level 2 on the sill, the lintel and the frame.
func (f *facade) window(r rect) {
	l := &f.h.look
	f.reveal(l.wall, r, l.openings.recess)
	f.pane(r)
	if f.level < 2 {
		return
	}
	f.windowFrame(r)
	if l.painting == paintedOffice {
		return
	}
	f.ledge(l.trim, rect{r.x0 - 0.1, r.y0 - 0.1, r.x1 + 0.1, r.y0}, 0.12)
	f.ledge(l.trim, rect{r.x0 - 0.12, r.y1, r.x1 + 0.12, r.y1 + 0.2}, 0.05)
}

// reveal builds the four sides of an opening, depth metres inwards.
func (f *facade) reveal(m material, r rect, depth float64) {
	s := f.s
	s.face(m, vec{r.x0, 0, r.y0}, vec{r.x0, depth, r.y0}, vec{r.x0, depth, r.y1}, vec{r.x0, 0, r.y1})
	s.face(m, vec{r.x1, depth, r.y0}, vec{r.x1, 0, r.y0}, vec{r.x1, 0, r.y1}, vec{r.x1, depth, r.y1})
	s.face(m, vec{r.x0, depth, r.y1}, vec{r.x1, depth, r.y1}, vec{r.x1, 0, r.y1}, vec{r.x0, 0, r.y1})
	s.face(m, vec{r.x0, 0, r.y0}, vec{r.x1, 0, r.y0}, vec{r.x1, depth, r.y0}, vec{r.x0, depth, r.y0})
}

// pane builds the glass: one of the painted panes.
func (f *facade) pane(r rect) {
	y := f.h.look.openings.recess
	u, v := float64(f.rng.IntN(paneCells))/paneCells, float64(f.rng.IntN(paneCells))/paneCells
	f.s.faceUV(f.h.look.panes, [4]vec{{r.x0, y, r.y0}, {r.x1, y, r.y0}, {r.x1, y, r.y1}, {r.x0, y, r.y1}},
		cellUVs(u, v, u+1.0/paneCells, v+1.0/paneCells))
}

// windowFrame builds the bars around and across the pane.
func (f *facade) windowFrame(r rect) {
	const thick = 0.07
	y := f.h.look.openings.recess
	m := f.h.look.frame
	bar := func(b rect, faces sides) {
		f.s.box(m, vec{b.x0, y - 0.05, b.y0}, vec{b.x1, y, b.y1}, faces)
	}
	bar(rect{r.x0, r.y0, r.x0 + thick, r.y1}, front|right)
	bar(rect{r.x1 - thick, r.y0, r.x1, r.y1}, front|left)
	bar(rect{r.x0 + thick, r.y0, r.x1 - thick, r.y0 + thick}, front|top)
	bar(rect{r.x0 + thick, r.y1 - thick, r.x1 - thick, r.y1}, front|bottom)
	mid := (r.x0 + r.x1) / 2
	bar(rect{mid - 0.035, r.y0 + thick, mid + 0.035, r.y1 - thick}, front|left|right)
	if r.height() > 1.6 && f.h.look.panes == paneClassic {
		z := r.y1 - 0.3*r.height()
		bar(rect{r.x0 + thick, z - 0.03, r.x1 - thick, z + 0.03}, front|top|bottom)
	}
}

// windowDress adds shutters or a flower box.
func (f *facade) windowDress(r rect, storey int) {
	l := &f.h.look
	if l.shutters {
		m := pick(stream(f.h.seed, "shutters", f.h.index), trimGreen, trimBrown, trimDark, doorBlue)
		w := r.width()/2 - 0.04
		for _, x := range []float64{r.x0 - w - 0.03, r.x1 + 0.03} {
			f.shutter(m, rect{x, r.y0, x + w, r.y1})
		}
	}
	if storey < 3 && l.painting == paintedHouse && chance(f.rng, 0.3) {
		f.flowerBox(r)
	}
}

// shutter adds one wing with its slats.
func (f *facade) shutter(m material, r rect) {
	f.ledge(m, r, 0.05)
	const slats = 7
	for i := range slats {
		z := r.y0 + r.height()*(float64(i)+0.5)/slats
		f.s.box(m, vec{r.x0 + 0.05, -0.075, z - 0.03}, vec{r.x1 - 0.05, -0.05, z + 0.03}, front|top|bottom)
	}
}

// flowerBox adds a planted box on the sill.
func (f *facade) flowerBox(r rect) {
	f.s.box(woodDark, vec{r.x0, -0.32, r.y0 + 0.01}, vec{r.x1, -0.12, r.y0 + 0.2}, allSides)
	m := pick(f.rng, flowerRed, flowerYellow, flowerViolet, leafBright)
	n := int(r.width() / 0.22)
	for i := range n {
		x := r.x0 + (float64(i)+0.5)*r.width()/float64(n)
		h := between(f.rng, 0.28, 0.42)
		a := vec{x, -0.22, r.y0 + h}
		for _, e := range [4][2]vec{{{-0.13, -0.12, -0.15}, {0.13, -0.12, -0.15}}, {{0.13, -0.12, -0.15}, {0.13, 0.1, -0.15}},
			{{0.13, 0.1, -0.15}, {-0.13, 0.1, -0.15}}, {{-0.13, 0.1, -0.15}, {-0.13, -0.12, -0.15}}} {
			f.s.face(m, a.Add(e[0]), a.Add(e[1]), a)
		}
	}
}

// balcony adds a slab with a parapet before an opening r that reaches down to
// the floor.
func (f *facade) balcony(r rect) {
	const out = 1.1
	l := &f.h.look
	x0, x1 := max(0.05, r.x0-0.35), min(f.width-0.05, r.x1+0.35)
	f.s.box(l.trim, vec{x0, -out, r.y0 - 0.16}, vec{x1, 0, r.y0}, allSides&^back)
	if l.panes == paneModern {
		f.panels(rect{x0, r.y0, x1, r.y0 + 1}, out)
		return
	}
	f.railing(rect{x0, r.y0, x1, r.y0 + 0.95}, out)
}

// panels adds a solid balcony parapet with a rail on top.
func (f *facade) panels(r rect, out float64) {
	s, m := f.s, glassPlain
	if f.h.index%3 == 0 {
		m = f.h.look.trim
	}
	const t = 0.04
	s.box(m, vec{r.x0, -out, r.y0}, vec{r.x1, -out + t, r.y1}, allSides&^bottom)
	s.box(m, vec{r.x0, -out + t, r.y0}, vec{r.x0 + t, 0, r.y1}, left|right|top)
	s.box(m, vec{r.x1 - t, -out + t, r.y0}, vec{r.x1, 0, r.y1}, left|right|top)
	if f.level >= 2 {
		s.box(steel, vec{r.x0 - 0.02, -out - 0.02, r.y1}, vec{r.x1 + 0.02, -out + 0.06, r.y1 + 0.05}, allSides)
	}
}

// railing adds an iron railing: rails, and bars closer together the finer the
// level.
func (f *facade) railing(r rect, out float64) {
	s := f.s
	bars := func(from, to vec) {
		n := [4]int{2, 4, 12, 18}[f.level]
		for i := range n + 1 {
			p := from.Add(to.Sub(from).Mul(float64(i) / float64(n)))
			s.box(ironDark, vec{p[0] - 0.012, p[1] - 0.012, r.y0}, vec{p[0] + 0.012, p[1] + 0.012, r.y1}, uprights)
		}
	}
	y := -out + 0.05
	s.box(ironDark, vec{r.x0, y - 0.03, r.y1}, vec{r.x1, y + 0.03, r.y1 + 0.05}, allSides)
	s.box(ironDark, vec{r.x0, y, r.y1}, vec{r.x0 + 0.05, 0, r.y1 + 0.05}, left|right|top|bottom)
	s.box(ironDark, vec{r.x1 - 0.05, y, r.y1}, vec{r.x1, 0, r.y1 + 0.05}, left|right|top|bottom)
	bars(vec{r.x0 + 0.03, y, 0}, vec{r.x1 - 0.03, y, 0})
	if f.level >= 2 {
		bars(vec{r.x0 + 0.03, y, 0}, vec{r.x0 + 0.03, 0, 0})
		bars(vec{r.x1 - 0.03, y, 0}, vec{r.x1 - 0.03, 0, 0})
	}
}

// roof builds what lies on a house's walls, from height z above the map's zero.
type roof struct {
	s     *shape
	h     *house
	rng   *rand.Rand
	level int
	z     float64
}

func (r *roof) build() {
	outline := r.h.plot.outline
	switch {
	case r.h.look.form == mansardRoof:
		r.mansard(outline)
	case r.h.look.form == pitchedRoof && len(outline) == 4:
		r.gable(outline)
	case r.h.look.form == pitchedRoof:
		r.hipped(outline)
	default:
		r.flat(outline)
	}
}

// flat builds a deck behind a parapet, and what stands on it.
func (r *roof) flat(outline []vec2) {
	l := &r.h.look
	const thick, below = 0.3, 0.5
	top := r.z + l.parapet
	inner := insetPolygon(outline, thick)
	n := len(outline)
	for i := range outline {
		j := (i + 1) % n
		r.s.face(l.trim, at3(outline[i], top), at3(outline[j], top), at3(inner[j], top), at3(inner[i], top))
		r.s.face(l.wall, at3(inner[j], r.z-below), at3(inner[i], r.z-below), at3(inner[i], top), at3(inner[j], top))
	}
	r.s.plate(pick(r.rng, roofGravel, roofTar), inner, r.z-below)
	r.deck(inner, r.z-below)
}

// deck puts a stair head, ventilation and tanks on a flat roof.
func (r *roof) deck(outline []vec2, z float64) {
	core := insetPolygon(outline, 2)
	at := func() vec2 { // a place well inside the convex outline
		p := lerp2(core[0], core[len(core)/2], between(r.rng, 0.2, 0.8))
		return lerp2(p, core[1], between(r.rng, 0, 0.35))
	}
	yaw := math.Atan2(outline[1][1]-outline[0][1], outline[1][0]-outline[0][0])
	place := func(p vec2) func() { return r.s.in(level(at3(p, z), yaw)) }
	restore := place(at())
	r.s.box(r.h.look.wall, vec{-1.6, -1.3, 0}, vec{1.6, 1.3, 2.5}, standsOn&^top)
	r.s.box(r.h.look.trim, vec{-1.75, -1.45, 2.5}, vec{1.75, 1.45, 2.65}, allSides)
	restore()
	for range [4]int{1, 2, 4, 6}[r.level] {
		restore := place(at())
		r.unit()
		restore()
	}
	if r.h.index%5 == 2 && r.level > 0 {
		restore := place(at())
		r.waterTank()
		restore()
	}
}

// unit builds one air conditioner, duct or antenna.
func (r *roof) unit() {
	switch v := r.rng.IntN(4); {
	case v == 0 && r.level > 0:
		r.s.pole(steel, 4, vec{}, vec{0, 0, 3.5}, [2]float64{0.04, 0.03})
		for k := range 3 {
			y := 0.7 - 0.15*float64(k)
			r.s.pole(steel, 3, vec{0, -y, 2.4 + 0.4*float64(k)}, vec{0, y, 2.4 + 0.4*float64(k)}, [2]float64{0.015, 0.015})
		}
	case v == 1:
		r.s.box(aluminium, vec{-0.4, -1.6, 0.2}, vec{0.4, 1.6, 0.8}, allSides)
	default:
		r.s.box(steel, vec{-0.8, -0.6, 0.15}, vec{0.8, 0.6, 1.15}, allSides)
		if r.level >= 2 {
			defer r.s.in(r.s.frame.moved(0, 0, 1.15))()
			r.s.turned(plasticBlack, 10, ring{0, 0.45}, ring{0.1, 0.45}, ring{0.1, 0})
		}
	}
}

// waterTank builds a wooden tank on four legs.
func (r *roof) waterTank() {
	for _, p := range [4]vec2{{-1, -1}, {1, -1}, {1, 1}, {-1, 1}} {
		r.s.pole(ironDark, 4, at3(p, 0), at3(p, 1.6), [2]float64{0.09, 0.09})
	}
	defer r.s.in(r.s.frame.moved(0, 0, 1.6))()
	r.s.turned(woodDark, 12, ring{0, 0}, ring{0, 1.6}, ring{2.6, 1.5}, ring{2.6, 1.65}, ring{3.5, 0})
}

// mansard builds a steep lower slope with dormers and a flat top.
func (r *roof) mansard(outline []vec2) {
	const rise, back = 2.7, 1.3
	l := &r.h.look
	eaves := insetPolygon(outline, -0.12)
	upper := insetPolygon(outline, back)
	n := len(outline)
	for i := range outline {
		j := (i + 1) % n
		if r.h.plot.fronts[i] == partyWall {
			r.fireWall(outline[i], outline[j], upper[i], upper[j], rise)
			continue
		}
		r.slope(l.roof, at3(eaves[i], r.z-0.02), at3(eaves[j], r.z-0.02), at3(upper[j], r.z+rise), at3(upper[i], r.z+rise))
		if r.level > 0 && r.h.plot.fronts[i] == streetFront {
			r.dormers(outline[i], outline[j], back/rise)
		}
	}
	r.s.plate(zinc, upper, r.z+rise)
	r.chimneys(upper, r.z+rise, 1.6)
}

// fireWall closes a mansard towards the neighbour.
func (r *roof) fireWall(a, b, ua, ub vec2, rise float64) {
	r.s.face(r.h.look.wall, at3(a, r.z), at3(b, r.z), at3(ub, r.z+rise), at3(ua, r.z+rise))
}

// slope adds a roof plane, textured along its lower edge and up the slope.
func (r *roof) slope(m material, a, b, c, d vec) {
	f := slopeFrame(a, b, d)
	inverse := func(p vec) vec {
		q := p.Sub(a)
		return vec{q.Dot(f.x), q.Dot(f.y), q.Dot(f.z)}
	}
	defer r.s.in(f)()
	r.s.face(m, inverse(a), inverse(b), inverse(c), inverse(d))
}

// slopeFrame is the frame at a with x to b and y up the slope towards d.
func slopeFrame(a, b, d vec) frame {
	x := b.Sub(a).Normalize()
	up := d.Sub(a)
	y := up.Sub(x.Mul(up.Dot(x))).Normalize()
	return frame{origin: a, x: x, y: y, z: x.Cross(y)}
}

// dormers adds windows that stand out of a mansard's slope; back is how far
// the slope recedes a metre of height.
func (r *roof) dormers(a, b vec2, back float64) {
	width := b.Sub(a).Len()
	n := int((width - 2) / (2 * r.h.look.openings.bay * 0.75))
	if n < 1 {
		return
	}
	defer r.s.in(along(a, b, r.z))()
	for i := range n {
		x := width * (float64(i) + 0.5) / float64(n)
		r.dormer(x, back)
	}
}

func (r *roof) dormer(x, back float64) {
	const half, sill, head = 0.6, 0.45, 2.05
	l := &r.h.look
	face := sill * back // where the front stands
	deep := head*back + 0.05
	u, v := float64(r.rng.IntN(paneCells))/paneCells, float64(r.rng.IntN(paneCells))/paneCells
	y := face - 0.02
	r.s.faceUV(paneClassic, [4]vec{{x - half, y, sill}, {x + half, y, sill}, {x + half, y, head}, {x - half, y, head}},
		cellUVs(u, v, u+1.0/paneCells, v+1.0/paneCells))
	r.s.face(l.trim, vec{x - half, deep, head}, vec{x - half, y, sill}, vec{x - half, y, head})
	r.s.face(l.trim, vec{x + half, y, sill}, vec{x + half, deep, head}, vec{x + half, y, head})
	// A small gable over the window.
	ridge := head + 0.5
	rd := ridge*back + 0.05
	e := 0.14
	r.s.face(l.trim, vec{x - half, y, head}, vec{x + half, y, head}, vec{x, y, ridge - 0.08})
	r.s.face(zinc, vec{x - half - e, y - e, head - 0.08}, vec{x, y - e, ridge}, vec{x, rd, ridge}, vec{x - half - e, deep, head - 0.08})
	r.s.face(zinc, vec{x, y - e, ridge}, vec{x + half + e, y - e, head - 0.08}, vec{x + half + e, deep, head - 0.08}, vec{x, rd, ridge})
	if r.level >= 2 {
		r.s.box(l.trim, vec{x - half - 0.08, y - 0.1, sill - 0.1}, vec{x + half + 0.08, y, sill}, allSides&^bottom)
	}
}

// gable builds two slopes with the ridge along the street.
func (r *roof) gable(p []vec2) {
	l := &r.h.look
	f := along(p[0], p[1], r.z)
	w, d := p[1].Sub(p[0]).Len(), p[2].Sub(p[1]).Len()
	defer r.s.in(f)()
	rise := d * 0.36
	const eaves = 0.4
	drop := eaves * rise / (d / 2)
	ridge0, ridge1 := vec{-0.05, d / 2, rise}, vec{w + 0.05, d / 2, rise}
	r.slopeHere(l.roof, vec{-0.05, -eaves, -drop}, vec{w + 0.05, -eaves, -drop}, ridge1, ridge0)
	r.slopeHere(l.roof, vec{w + 0.05, d + eaves, -drop}, vec{-0.05, d + eaves, -drop}, ridge0, ridge1)
	// Undersides of the eaves, and the gable walls.
	r.s.face(l.trim, vec{0, -eaves, -drop}, vec{0, 0, 0}, vec{w, 0, 0}, vec{w, -eaves, -drop})
	r.s.face(l.wall, vec{w, 0, 0}, vec{w, d, 0}, vec{w, d / 2, rise - 0.04})
	r.s.face(l.wall, vec{0, d, 0}, vec{0, 0, 0}, vec{0, d / 2, rise - 0.04})
	if r.level > 0 {
		r.gutter(w, -eaves, -drop)
		r.skylights(w, d, rise)
	}
	r.chimneyHere(vec{between(r.rng, 0.15, 0.3) * w, d/2 + 0.3, rise - 0.7}, 1.9)
	if r.level > 1 || w > 11 {
		r.chimneyHere(vec{between(r.rng, 0.7, 0.85) * w, d/2 - 0.3, rise - 0.7}, 1.9)
	}
}

// slopeHere is slope in the coordinates of the current frame.
func (r *roof) slopeHere(m material, a, b, c, d vec) {
	f := r.s.frame
	restore := r.s.in(worldFrame())
	r.slope(m, f.point(a), f.point(b), f.point(c), f.point(d))
	restore()
}

func (r *roof) gutter(w, y, z float64) {
	r.s.box(zinc, vec{0, y - 0.12, z - 0.08}, vec{w, y, z + 0.04}, allSides)
}

// skylights adds flat windows to a gable's street slope.
func (r *roof) skylights(w, d, rise float64) {
	n := r.rng.IntN(3)
	slopeAngle := math.Atan2(rise, d/2)
	for i := range n {
		x := w * (float64(i) + 0.5) / float64(n)
		y := d / 4
		restore := r.s.in(r.s.frame.moved(x, y, y*rise/(d/2)).rolled(slopeAngle))
		r.s.box(trimDark, vec{-0.45, -0.6, 0}, vec{0.45, 0.6, 0.08}, standsOn&^top)
		r.s.floorQuad(glassPlain, 0.08, rect{-0.45, -0.6, 0.45, 0.6})
		restore()
	}
}

// hipped builds slopes on all sides up to a small deck.
func (r *roof) hipped(outline []vec2) {
	const back, rise = 4.2, 3.4
	l := &r.h.look
	eaves := insetPolygon(outline, -0.35)
	upper := insetPolygon(outline, back)
	for i := range outline {
		j := (i + 1) % len(outline)
		r.slope(l.roof, at3(eaves[i], r.z-0.25), at3(eaves[j], r.z-0.25), at3(upper[j], r.z+rise), at3(upper[i], r.z+rise))
		r.s.face(l.trim, at3(eaves[j], r.z-0.25), at3(eaves[i], r.z-0.25), at3(outline[i], r.z-0.1), at3(outline[j], r.z-0.1))
	}
	r.s.plate(zinc, upper, r.z+rise)
	r.chimneys(upper, r.z+rise, 1.2)
}

// chimneys puts one or two stacks on a roof's deck.
func (r *roof) chimneys(outline []vec2, z, height float64) {
	for i := range 1 + r.rng.IntN(2) {
		p := lerp2(outline[i], outline[(i+2)%len(outline)], between(r.rng, 0.1, 0.25))
		restore := r.s.in(level(at3(p, z-0.2), 0))
		r.chimneyHere(vec{}, height)
		restore()
	}
}

func (r *roof) chimneyHere(p vec, height float64) {
	defer r.s.in(r.s.frame.moved(p[0], p[1], p[2]))()
	r.s.box(pick(r.rng, brickRed, brickBrown), vec{-0.45, -0.35, 0}, vec{0.45, 0.35, height}, standsOn)
	r.s.box(trimStone, vec{-0.52, -0.42, height - 0.2}, vec{0.52, 0.42, height - 0.08}, allSides)
	if r.level == 0 {
		return
	}
	for _, x := range []float64{-0.22, 0.22} {
		r.s.box(tilesRed, vec{x - 0.1, -0.1, height}, vec{x + 0.1, 0.1, height + 0.35}, standsOn)
	}
}
