package city

import "math"

// groundFloor builds the ground floor by its use.
func (f *facade) groundFloor() {
	l := &f.h.look
	if f.front != streetFront {
		f.s.faceUV(painted(l.wall, l.painting), [4]vec{{0, 0, 0}, {f.width, 0, 0}, {f.width, 0, l.groundHeight}, {0, 0, l.groundHeight}},
			cellUVs(0, 0, math.Round(f.width/3)/paneCells, 1.0/paneCells))
		return
	}
	switch l.ground {
	case shops:
		f.shopRow()
	case lobby:
		f.lobbyRow()
	default:
		f.flatsRow()
	}
}

// shopRow divides the front into shops five to nine metres wide.
func (f *facade) shopRow() {
	const pilaster = 0.4
	l := &f.h.look
	n := max(1, int(math.Round(f.width/7)))
	unit := (f.width - pilaster) / float64(n)
	for i := range n + 1 {
		x := float64(i) * unit
		f.s.box(l.base, vec{x, -0.06, 0}, vec{x + pilaster, 0.3, l.groundHeight - 1}, front|left|right)
	}
	f.s.wallQuad(l.base, 0, rect{0, l.groundHeight - 1, f.width, l.groundHeight})
	for i := range n {
		f.shop(rect{float64(i)*unit + pilaster, 0, float64(i+1) * unit, l.groundHeight - 1})
	}
}

// shop builds one shop front in an opening: glazing over a low wall, a door, a
// name board and, by chance, an awning.
func (f *facade) shop(r rect) {
	const depth, riser, door = 0.22, 0.45, 1.15
	l := &f.h.look
	s := f.s
	m := pick(f.rng, trimDark, trimGreen, trimBrown, trimWhite, doorRed, doorBlue)
	f.reveal(m, r, depth)
	doorAt := r.x0
	if chance(f.rng, 0.5) {
		doorAt = r.x1 - door
	}
	glass := rect{r.x0, riser, r.x1, r.y1}
	if doorAt == r.x0 {
		glass.x0 += door
	} else {
		glass.x1 -= door
	}
	s.box(m, vec{glass.x0, depth - 0.12, 0}, vec{glass.x1, depth, riser}, front|top|left|right)
	f.displays(m, glass, depth)
	f.shopDoor(m, rect{doorAt, 0, doorAt + door, r.y1}, depth)
	f.nameBoard(m, rect{r.x0 - 0.1, r.y1, r.x1 + 0.1, l.groundHeight - 0.2})
	if chance(f.rng, 0.55) {
		f.awning(pick(f.rng, canvasRed, canvasGreen, canvasBlue, canvasCream, canvasOrange), glass)
	}
}

// displays builds shop windows about two metres wide with posts between them.
func (f *facade) displays(m material, r rect, y float64) {
	n := max(1, int(math.Round(r.width()/2.2)))
	w := r.width() / float64(n)
	for i := range n {
		x := r.x0 + float64(i)*w
		u, v := float64(f.rng.IntN(shopCells))/shopCells, float64(f.rng.IntN(shopCells))/shopCells
		f.s.faceUV(paneShop, [4]vec{{x, y, r.y0}, {x + w, y, r.y0}, {x + w, y, r.y1}, {x, y, r.y1}},
			cellUVs(u, v, u+1.0/shopCells, v+1.0/shopCells))
		if i > 0 && f.level >= 2 {
			f.s.box(m, vec{x - 0.05, y - 0.08, r.y0}, vec{x + 0.05, y, r.y1}, front|left|right)
		}
	}
}

func (f *facade) shopDoor(m material, r rect, y float64) {
	f.s.wallQuad(m, y, rect{r.x0, 0, r.x1, r.y1})
	g := rect{r.x0 + 0.14, 0.3, r.x1 - 0.14, min(2.15, r.y1-0.3)}
	f.s.wallQuad(glassPlain, y-0.012, g)
	f.s.wallQuad(glassPlain, y-0.012, rect{g.x0, g.y1 + 0.12, g.x1, r.y1 - 0.1})
	if f.level >= 2 {
		f.s.box(steel, vec{g.x1 + 0.03, y - 0.07, 0.85}, vec{g.x1 + 0.07, y, 1.35}, allSides&^back)
	}
}

// nameBoard adds the board above a shop with the shop's name in its middle.
func (f *facade) nameBoard(m material, r rect) {
	f.ledge(m, r, 0.14)
	h := r.height() - 0.16
	w := min(8*h, r.width()-0.3)
	mid, z := (r.x0+r.x1)/2, (r.y0+r.y1)/2
	h = w / 8
	const y = -0.155
	f.s.faceUV(shopSign, [4]vec{{mid - w/2, y, z - h/2}, {mid + w/2, y, z - h/2}, {mid + w/2, y, z + h/2}, {mid - w/2, y, z + h/2}},
		nameUVs(f.rng.IntN(len(shopNames))))
	if f.level >= 2 && chance(f.rng, 0.5) { // a sign that hangs out over the pavement
		x := r.x0 + 0.4
		f.s.box(m, vec{x - 0.03, -0.85, r.y0 + 0.3}, vec{x + 0.03, -0.2, r.y0 + 0.9}, allSides)
	}
}

// awning adds a sloping cloth with a valance over a shop window; from level 2
// on it is striped.
func (f *facade) awning(m material, r rect) {
	const out, drop, valance = 1.25, 0.55, 0.22
	z := r.y1 - 0.02
	stripes := 1
	if f.level >= 2 {
		stripes = max(1, int(r.width()/0.45))
	}
	w := r.width() / float64(stripes)
	for i := range stripes {
		x0 := r.x0 + float64(i)*w
		cloth := m
		if i%2 == 1 {
			cloth = canvasCream
		}
		a, b := vec{x0, -0.02, z}, vec{x0 + w, -0.02, z}
		c, d := vec{x0 + w, -out, z - drop}, vec{x0, -out, z - drop}
		f.s.face(cloth, d, c, b, a)
		down := vec{0, 0, -valance}
		f.s.face(cloth, d.Add(down), c.Add(down), c, d)
	}
	f.s.face(m, vec{r.x0, -out, z - drop}, vec{r.x0, -0.02, z}, vec{r.x0, -0.02, z - drop})
	f.s.face(m, vec{r.x1, -0.02, z}, vec{r.x1, -out, z - drop}, vec{r.x1, -0.02, z - drop})
}

// lobbyRow builds an office's ground floor: tall glass, posts, a canopy.
func (f *facade) lobbyRow() {
	const depth = 0.5
	l := &f.h.look
	n, bay := f.bays()
	top := l.groundHeight - 0.7
	f.s.wallQuad(l.base, 0, rect{0, top, f.width, l.groundHeight})
	x := 0.0
	for i := range n {
		x0 := margin + float64(i)*bay + 0.2
		f.s.wallQuad(l.base, 0, rect{x, 0, x0, top})
		x = x0 + bay - 0.4
		r := rect{x0, 0.02, x, top}
		f.reveal(l.base, r, depth)
		f.displays(l.trim, rect{x0, 0.02, x, top}, depth)
	}
	f.s.wallQuad(l.base, 0, rect{x, 0, f.width, top})
	if !f.narrow() {
		mid := margin + (float64(n/2)+0.5)*bay
		f.s.box(l.trim, vec{mid - 2.2, -1.6, 3.0}, vec{mid + 2.2, 0, 3.2}, allSides&^back)
	}
}

// flatsRow builds a ground floor with windows and one door.
func (f *facade) flatsRow() {
	l := &f.h.look
	n, bay := f.bays()
	o := l.openings
	w := min(bay*o.ratio, bay-0.3)
	const sill = 1.15
	head := min(sill+o.height, l.groundHeight-0.5)
	doorBay := f.rng.IntN(n)
	f.s.wallQuad(l.base, 0, rect{0, head, f.width, l.groundHeight})
	x := 0.0
	for i := range n {
		x0 := margin + (float64(i)+0.5)*bay - w/2
		f.s.wallQuad(l.base, 0, rect{x, 0, x0, head + 0.005})
		x = x0 + w
		if i == doorBay {
			f.door(rect{x0, 0, x, head})
			continue
		}
		f.s.wallQuad(l.base, 0, rect{x0, 0, x, sill})
		f.window(rect{x0, sill, x, head})
	}
	f.s.wallQuad(l.base, 0, rect{x, 0, f.width, head + 0.005})
	doorMid := margin + (float64(doorBay)+0.5)*bay
	f.ledge(trimStone, rect{0, 0, doorMid - w/2 - 0.15, 0.5}, 0.05)
	f.ledge(trimStone, rect{doorMid + w/2 + 0.15, 0, f.width, 0.5}, 0.05)
}

// door builds a house's door behind one step, with a light above it.
func (f *facade) door(r rect) {
	const depth = 0.3
	l := &f.h.look
	f.reveal(l.trim, r, depth)
	z := r.y1 - 0.5
	f.s.wallQuad(l.door, depth, rect{r.x0, 0, r.x1, z})
	f.s.wallQuad(glassPlain, depth, rect{r.x0, z, r.x1, r.y1})
	f.s.box(trimStone, vec{r.x0 - 0.15, -0.3, 0}, vec{r.x1 + 0.15, 0, 0.14}, allSides&^back)
	if f.level >= 2 {
		f.ledge(l.trim, rect{r.x0 - 0.2, r.y1, r.x1 + 0.2, r.y1 + 0.22}, 0.2)
		for _, p := range []rect{{r.x0 + 0.15, 0.25, r.x1 - 0.15, 0.9}, {r.x0 + 0.15, 1.05, r.x1 - 0.15, z - 0.15}} {
			f.s.box(l.door, vec{p.x0, depth - 0.03, p.y0}, vec{p.x1, depth, p.y1}, allSides&^back)
		}
	}
}
