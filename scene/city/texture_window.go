package city

// paneCells is how many panes (and painted bays) a picture holds across and down.
const paneCells = 4

// glazing says how a window is divided and framed.
type glazing struct {
	columns, rows int
	frame         rgb
	border, bar   int // texels
	transom       bool
}

func paintHousePanes(c *canvas) {
	const size = pictureSize / paneCells
	for i := range paneCells * paneCells {
		x, y := i%paneCells*size, i/paneCells*size
		g := glazing{columns: 2, rows: 1, frame: hex(0xece8de), border: 8, bar: 6, transom: i%2 == 0}
		if i%4 == 3 {
			g.rows = 2
		}
		c.window(pixels{x, y, x + size, y + size}, g, i)
	}
}

func paintModernPanes(c *canvas) {
	const size = pictureSize / paneCells
	for i := range paneCells * paneCells {
		x, y := i%paneCells*size, i/paneCells*size
		g := glazing{columns: 1 + i%2, rows: 1, frame: hex(0x33363a), border: 5, bar: 4}
		c.window(pixels{x, y, x + size, y + size}, g, i+5)
	}
}

// window paints one window: what is behind the glass, what the glass mirrors,
// and the frame. variant chooses what is behind.
func (c *canvas) window(p pixels, g glazing, variant int) {
	glass := p.inset(g.border, g.border)
	c.room(glass, variant)
	c.mirror(glass)
	c.frameOf(p, g)
}

// room paints what is seen through the glass.
func (c *canvas) room(p pixels, variant int) {
	dark := rgb{0.13, 0.14, 0.16}
	h, w := p.height(), p.width()
	c.each(p, func(_, y int, t *rgb) { *t = dark.times(1.25 - 0.6*float32(y-p.y0)/float32(h)) })
	cloth := pick(c.rng, hex(0xd8d0c0), hex(0xe6e2d8), hex(0xb8a890), hex(0xc8b4a0))
	switch variant % 6 {
	case 0, 3: // curtains to both sides
		side := w/5 + c.rng.IntN(w/8+1)
		c.folds(pixels{p.x0, p.y0, p.x0 + side, p.y1}, cloth)
		c.folds(pixels{p.x1 - side, p.y0, p.x1, p.y1}, cloth)
	case 1: // a blind half down
		down := h/4 + c.rng.IntN(h/2+1)
		c.each(pixels{p.x0, p.y0, p.x1, p.y0 + down}, func(_, y int, t *rgb) {
			*t = hex(0xd6d2c6).times(0.86 + 0.14*float32(y&3)/3)
		})
	case 2: // a lamp in the room
		c.each(p, func(x, y int, t *rgb) {
			dx, dy := float32(x-p.x0)/float32(w)-0.6, float32(y-p.y0)/float32(h)-0.3
			*t = t.mixed(hex(0xf0c070), 0.55/(1+14*(dx*dx+dy*dy)))
		})
	case 4: // net curtain
		c.folds(p, hex(0xaeb2b2))
	case 5: // plants on the sill
		for range 40 {
			x, y := p.x0+c.rng.IntN(max(1, w-4)), p.y1-2-c.rng.IntN(h/4+1)
			c.fill(pixels{x, y, x + 4, min(y+3, p.y1)}, rgb{0.2, 0.34 + 0.2*c.rng.Float32(), 0.16})
		}
	}
}

// folds paints hanging cloth.
func (c *canvas) folds(p pixels, cloth rgb) {
	period := 5 + c.rng.IntN(4)
	c.each(p, func(x, _ int, t *rgb) {
		k := float32((x-p.x0)%period) / float32(period)
		*t = cloth.times(0.66 + 0.26*k)
	})
}

// mirror adds the sky that the glass reflects: brightest on top, in clouds.
func (c *canvas) mirror(p pixels) {
	sky := hex(0x9ab8d0)
	h := float32(p.height())
	ox, oy := c.rng.IntN(pictureSize), c.rng.IntN(pictureSize)
	c.each(p, func(x, y int, t *rgb) {
		k := 1 - float32(y-p.y0)/h
		k = 0.16 + 0.38*k*k + 0.22*(c.noise.at(x+ox, y+oy, 5)-0.5)
		*t = t.mixed(sky, max(0, min(0.8, k)))
	})
}

func (c *canvas) frameOf(p pixels, g glazing) {
	bar := func(r pixels) {
		c.each(r, func(_, _ int, t *rgb) { *t = g.frame.times(0.97 + 0.06*c.rng.Float32()) })
		c.each(pixels{r.x0, r.y1 - 1, r.x1, r.y1}, func(_, _ int, t *rgb) { *t = g.frame.times(0.7) })
	}
	bar(pixels{p.x0, p.y0, p.x1, p.y0 + g.border})
	bar(pixels{p.x0, p.y1 - g.border, p.x1, p.y1})
	bar(pixels{p.x0, p.y0, p.x0 + g.border, p.y1})
	bar(pixels{p.x1 - g.border, p.y0, p.x1, p.y1})
	for i := 1; i < g.columns; i++ {
		x := p.x0 + p.width()*i/g.columns - g.bar/2
		bar(pixels{x, p.y0, x + g.bar, p.y1})
	}
	for i := 1; i < g.rows; i++ {
		y := p.y0 + p.height()*i/g.rows - g.bar/2
		bar(pixels{p.x0, y, p.x1, y + g.bar})
	}
	if g.transom {
		y := p.y0 + p.height()*3/10
		bar(pixels{p.x0, y, p.x1, y + g.bar})
	}
}

// paintHouseWall paints windows in a wall near white, four bays by four storeys.
func paintHouseWall(c *canvas) {
	paintPlaster(c)
	const size = pictureSize / paneCells
	for i := range paneCells * paneCells {
		x, y := i%paneCells*size, i/paneCells*size
		w := pixels{x + 38, y + 26, x + 90, y + 98}
		c.fill(pixels{w.x0 - 5, w.y0 - 6, w.x1 + 5, w.y0}, grey(0.97))     // lintel
		c.fill(pixels{w.x0 - 6, w.y1, w.x1 + 6, w.y1 + 5}, grey(0.97))     // sill
		c.fill(pixels{w.x0 - 6, w.y1 + 5, w.x1 + 6, w.y1 + 8}, grey(0.62)) // its shadow
		c.window(w, glazing{columns: 2, rows: 1, frame: hex(0xf4f0e8), border: 4, bar: 3, transom: true}, i)
		c.fill(pixels{w.x0, w.y0, w.x1, w.y0 + 4}, grey(0.35)) // the reveal's shadow
	}
}

// paintOfficeWall paints bands of glass between bands of wall near white.
func paintOfficeWall(c *canvas) {
	paintPlaster(c)
	const size = pictureSize / paneCells
	for i := range paneCells * paneCells {
		x, y := i%paneCells*size, i/paneCells*size
		w := pixels{x, y + 14, x + size, y + 96}
		c.window(w, glazing{columns: 2, rows: 1, frame: hex(0x4a5058), border: 3, bar: 3}, i+5)
		c.fill(pixels{w.x0, w.y0, w.x1, w.y0 + 5}, grey(0.3))
		c.fill(pixels{w.x0, w.y1, w.x1, w.y1 + 3}, grey(0.98))
		c.fill(pixels{w.x0, w.y1 + 3, w.x1, w.y1 + 5}, grey(0.65))
	}
}
