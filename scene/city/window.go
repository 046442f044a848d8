package city

// window builds what lies in an opening of the wall: the reveal and the pane,
// and from level 2 on the sill, the lintel and the frame.
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
