package city

// shopCells is how many shop windows a picture holds across and down.
const shopCells = 2

// paintShops paints four shop windows: shelves, clothes, a café and groceries.
func paintShops(c *canvas) {
	const size = pictureSize / shopCells
	displays := [shopCells * shopCells]func(pixels){c.shelves, c.clothes, c.cafe, c.groceries}
	for i, display := range displays {
		x, y := i%shopCells*size, i/shopCells*size
		p := pixels{x, y, x + size, y + size}
		c.each(p, func(_, py int, t *rgb) {
			*t = rgb{0.34, 0.30, 0.25}.times(1.15 - 0.6*float32(py-y)/size)
		})
		display(p.inset(12, 12))
		c.mirror(p)
		frame := pick(c.rng, hex(0x2c2e32), hex(0x3a4a40), hex(0x4a3226), hex(0x2a3a52))
		c.frameOf(p, glazing{columns: 2, rows: 1, frame: frame, border: 10, bar: 6, transom: true})
	}
}

var goods = []rgb{hex(0xc8483c), hex(0xe0b040), hex(0x3c7ab0), hex(0x5a9a5c), hex(0xe8e0d0), hex(0x8a5a9a), hex(0xd88a4a), hex(0x406a78)}

// shelves paints boards with upright things on them.
func (c *canvas) shelves(p pixels) {
	const boards = 5
	for b := range boards {
		y1 := p.y0 + (b+1)*p.height()/boards
		c.fill(pixels{p.x0, y1 - 5, p.x1, y1}, hex(0x8a6a48))
		for x := p.x0 + 4; x < p.x1-10; {
			w, h := 4+c.rng.IntN(9), 18+c.rng.IntN(18)
			c.fill(pixels{x, y1 - 5 - h, x + w, y1 - 5}, pick(c.rng, goods...).times(0.6+0.4*c.rng.Float32()))
			x += w + c.rng.IntN(4)
		}
	}
}

// clothes paints three dressed figures before a pale backdrop.
func (c *canvas) clothes(p pixels) {
	c.fill(pixels{p.x0, p.y0 + 20, p.x1, p.y1 - 12}, hex(0xbcb2a2))
	for i := range 3 {
		c.figure(p.x0+38+i*78, p.y0+44, pick(c.rng, goods...), pick(c.rng, goods...).times(0.7))
	}
}

// figure paints a dummy in a jacket and a flared skirt, its head's top at (x, y).
func (c *canvas) figure(x, y int, jacket, skirt rgb) {
	c.disc(pixels{x - 12, y, x + 12, y + 24}, 0.5, hex(0xd8c4ae))
	c.fill(pixels{x - 4, y + 22, x + 4, y + 32}, hex(0xd8c4ae))
	c.fill(pixels{x - 3, y + 160, x + 3, y + 184}, hex(0x5a5048))
	for row := range 130 {
		half, color := 20-row/9, jacket
		if row > 52 {
			half, color = 10+row/7, skirt
		}
		if row < 8 {
			half -= 8 - row
		}
		c.fill(pixels{x - half, y + 30 + row, x + half, y + 31 + row}, color.times(1-0.2*float32(row%9)/9))
	}
}

// cafe paints warm lamps over tables.
func (c *canvas) cafe(p pixels) {
	for i := range 4 {
		cx, cy := p.x0+30+i*58, p.y0+70
		c.each(pixels{cx - 40, cy - 40, cx + 40, cy + 60}, func(x, y int, t *rgb) {
			d := float32((x-cx)*(x-cx)+(y-cy)*(y-cy)) / 500
			*t = t.mixed(hex(0xffc878), 0.8/(1+d))
		})
		c.fill(pixels{cx - 1, p.y0, cx + 1, cy - 8}, hex(0x202020))
		c.fill(pixels{cx - 20, p.y1 - 66, cx + 20, p.y1 - 60}, hex(0x8a6440)) // table
		c.fill(pixels{cx - 2, p.y1 - 60, cx + 2, p.y1 - 14}, hex(0x2a2420))
	}
}

// groceries paints slanted crates of fruit.
func (c *canvas) groceries(p pixels) {
	for row := range 3 {
		for col := range 5 {
			x, y := p.x0+col*p.width()/5, p.y0+76+row*50
			c.fill(pixels{x + 2, y, x + p.width()/5 - 2, y + 44}, hex(0x9a7a50))
			color := pick(c.rng, hex(0xd84a30), hex(0xe8a030), hex(0x6aaa40), hex(0xe8d050), hex(0x9a4a70))
			for range 60 {
				fx, fy := x+5+c.rng.IntN(p.width()/5-14), y+3+c.rng.IntN(28)
				c.fill(pixels{fx, fy, fx + 5, fy + 5}, color.times(0.7+0.4*c.rng.Float32()))
			}
		}
	}
}
