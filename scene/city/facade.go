package city

import (
	"math"
	"math/rand/v2"
)

// facade builds one wall of a house, seen from outside: x to the right from 0
// to width, z up from the pavement, the wall's face at y = 0, inside at y > 0.
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

// pier builds the wall between two windows. It runs a little into the bands
// above and below: they meet without vertices in common, and a ray along the
// joint must not slip through.
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
