package city

import (
	"fmt"
	"math"

	"github.com/go-gl/mathgl/mgl32"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/world"
)

// The pictures are painted in tones near white where a material's base colour
// is to tint them.

func paintAsphalt(c *canvas) {
	c.each(wholePicture, func(x, y int, t *rgb) {
		v := 0.46 + 0.08*(c.noise.octaves(x, y, 7, 4)-0.5) + 0.05*(c.noise.at(x, y, 2)-0.5)
		v += 0.16 * (c.rng.Float32() - 0.5)
		if c.rng.Float32() < 0.02 { // pale stones
			v += 0.16
		}
		*t = rgb{v, v, v * 1.01}
	})
	for range 5 {
		c.crack(c.rng.IntN(pictureSize), c.rng.IntN(pictureSize))
	}
}

// crack draws a dark wandering line from (x, y).
func (c *canvas) crack(x0, y0 int) {
	x, y := float64(x0), float64(y0)
	a := between(c.rng, 0, 2*math.Pi)
	for range 40 + c.rng.IntN(120) {
		a += between(c.rng, -0.5, 0.5)
		s, co := math.Sincos(a)
		x, y = x+co, y+s
		t := c.at(int(math.Floor(x)), int(math.Floor(y)))
		*t = t.times(0.72)
	}
}

func paintPaving(c *canvas) {
	const slab = 64
	for row := range pictureSize / slab {
		for col := range pictureSize / slab {
			x := col*slab + row%2*slab/2
			tone := 0.78 + 0.1*(c.rng.Float32()-0.5)
			c.slab(pixels{x, row * slab, x + slab, (row + 1) * slab}, grey(tone), 2)
		}
	}
	c.weather(0.10)
}

// slab paints one stone with its joint, lit from above.
func (c *canvas) slab(p pixels, color rgb, joint int) {
	c.each(p, func(x, y int, t *rgb) {
		dx, dy := min(x-p.x0, p.x1-1-x), min(y-p.y0, p.y1-1-y)
		k := 1 + 0.08*(c.rng.Float32()-0.5)
		switch {
		case dx < joint || dy < joint:
			k *= 0.72
		case y-p.y0 == joint:
			k *= 1.08
		case p.y1-1-y == joint || x-p.x0 == joint:
			k *= 0.93
		}
		*t = color.times(k)
	})
}

// weather darkens and lightens the picture in clouds by up to depth.
func (c *canvas) weather(depth float32) {
	c.each(wholePicture, func(x, y int, t *rgb) {
		*t = t.times(1 + 2*depth*(c.noise.octaves(x, y, 7, 3)-0.5))
	})
}

func paintGravel(c *canvas) {
	c.each(wholePicture, func(x, y int, t *rgb) {
		v := 0.66 + 0.35*(c.noise.at(x, y, 3)-0.5) + 0.25*(c.noise.at(x, y, 2)-0.5)
		*t = grey(v + 0.12*(c.rng.Float32()-0.5))
	})
}

func paintGrass(c *canvas) {
	c.each(wholePicture, func(x, y int, t *rgb) {
		v := 0.62 + 0.22*(c.noise.octaves(x, y, 6, 3)-0.5)
		*t = rgb{v, v, v * 0.8}
	})
	for range 9000 { // blades
		x, y := c.rng.IntN(pictureSize), c.rng.IntN(pictureSize)
		k := 0.75 + 0.6*c.rng.Float32()
		for i := range 5 + c.rng.IntN(5) {
			t := c.at(x+i*c.rng.IntN(2), y-i)
			*t = t.mixed(rgb{0.66 * k, 0.68 * k, 0.42 * k}, 0.5)
		}
	}
}

func paintLeaves(c *canvas) {
	c.each(wholePicture, func(x, y int, t *rgb) {
		*t = grey(0.42 + 0.3*c.noise.octaves(x, y, 6, 4))
	})
	for range 5200 {
		x, y := c.rng.IntN(pictureSize), c.rng.IntN(pictureSize)
		c.leaf(x, y, 4+c.rng.IntN(5))
	}
}

// leaf paints a small rounded leaf, paler at its upper edge.
func (c *canvas) leaf(x0, y0, r int) {
	tone := 0.55 + 0.45*c.rng.Float32()
	squash := 1 + c.rng.IntN(2)
	for y := -r; y <= r; y++ {
		for x := -r; x <= r; x++ {
			if x*x*squash+y*y*(3-squash) > r*r {
				continue
			}
			k := tone * (1 - 0.25*float32(y+r)/float32(2*r))
			*c.at(x0+x, y0+y) = rgb{k, k, k * 0.92}
		}
	}
}

func paintBrick(c *canvas) {
	const courses, across = 26, 8
	c.fill(wholePicture, grey(0.86))
	for row := range courses {
		y0, y1 := row*pictureSize/courses, (row+1)*pictureSize/courses
		for col := range across {
			w := pictureSize / across
			x := col*w + row%2*w/2
			tone := 0.74 + 0.22*(c.rng.Float32()-0.5)
			warm := 0.06 * (c.rng.Float32() - 0.5)
			color := rgb{tone + warm, tone, tone - warm}
			c.each(pixels{x + 2, y0 + 2, x + w, y1}, func(_, y int, t *rgb) {
				k := 1 + 0.14*(c.rng.Float32()-0.5)
				if y == y1-1 {
					k *= 0.8
				}
				*t = color.times(k)
			})
		}
	}
	c.weather(0.08)
}

func paintPlaster(c *canvas) {
	c.each(wholePicture, func(x, y int, t *rgb) {
		v := 0.88 + 0.09*(c.noise.octaves(x, y, 7, 2)-0.5) + 0.04*(c.rng.Float32()-0.5)
		*t = grey(v)
	})
	c.streaks(26, 0.035)
}

// streaks draws rain marks: narrow columns a little darker, fading downwards.
func (c *canvas) streaks(n int, depth float32) {
	for range n {
		x, y := c.rng.IntN(pictureSize), c.rng.IntN(pictureSize)
		length, width := 60+c.rng.IntN(200), 1+c.rng.IntN(5)
		for i := range length {
			fade := depth * float32(length-i) / float32(length)
			for k := range width {
				t := c.at(x+k, y+i)
				*t = t.times(1 - fade)
			}
		}
	}
}

func paintAshlar(c *canvas) {
	const high, wide = 64, 128
	for row := range pictureSize / high {
		for col := range pictureSize / wide {
			x := col*wide + row%2*wide/2
			tone := 0.82 + 0.08*(c.rng.Float32()-0.5)
			c.slab(pixels{x, row * high, x + wide, (row + 1) * high}, rgb{tone, tone, tone * 0.98}, 2)
		}
	}
	c.weather(0.09)
	c.streaks(20, 0.05)
}

func paintConcrete(c *canvas) {
	const high, wide = 256, 256
	for row := range pictureSize / high {
		for col := range pictureSize / wide {
			p := pixels{col * wide, row * high, (col + 1) * wide, (row + 1) * high}
			c.slab(p, grey(0.84+0.05*(c.rng.Float32()-0.5)), 2)
			for _, at := range [4][2]int{{40, 40}, {216, 40}, {40, 216}, {216, 216}} {
				c.fill(pixels{p.x0 + at[0], p.y0 + at[1], p.x0 + at[0] + 4, p.y0 + at[1] + 4}, grey(0.6))
			}
		}
	}
	c.weather(0.08)
	c.streaks(40, 0.05)
}

func paintRoofTiles(c *canvas) {
	const rows, cols = 16, 16
	h, w := pictureSize/rows, pictureSize/cols
	for row := range rows {
		for col := range cols {
			x, y := col*w+row%2*w/2, row*h
			tone := 0.76 + 0.16*(c.rng.Float32()-0.5)
			c.each(pixels{x, y, x + w, y + h}, func(px, py int, t *rgb) {
				k := 0.8 + 0.25*float32(py-y)/float32(h) // the lower edge lies on top
				if py-y < 4 {
					k *= 0.7
				}
				if px-x < 2 {
					k *= 0.75
				}
				*t = grey(tone * k * (1 + 0.06*(c.rng.Float32()-0.5)))
			})
		}
	}
	c.weather(0.1)
}

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

// The sign picture: shop names in the upper half, two columns of eight; road
// signs and other faces in the lower half, eight by four.
const (
	nameHeight = pictureSize / 16
	faceSize   = pictureSize / 8
)

// face numbers the square faces of the sign picture.
type face int

const (
	faceStop face = iota
	faceYield
	faceSpeed30
	faceSpeed50
	faceNoParking
	faceParking
	faceCrossing
	facePriority
	faceBus
	faceSchool
	faceClock
	facePosterA
	facePosterB
	facePosterC
	faceMeter
	faceTaxi
	faceHubcap
	faceStreetA // street names and number plates: four rows a face
	faceStreetB
	facePlateA
	facePlateB
	faceCrossed // no stopping
)

var shopNames = [16]struct {
	text         string
	board, paint uint32
}{
	{"CAFE ROMA", 0x4a2c20, 0xf2dcae}, {"BOOKS", 0x1f3a52, 0xf4ead2}, {"BAKERY", 0xe8d6b0, 0x6a3a1e},
	{"FLOWERS", 0x2e5a3c, 0xf6e8ee}, {"PHARMACY", 0xf2f4f0, 0x1e7a4a}, {"HOTEL STAR", 0x20242c, 0xe6c070},
	{"MARKET", 0xb8382c, 0xfff4e0}, {"TAILOR", 0x38424c, 0xe8e4da}, {"CINEMA", 0x6a1e2c, 0xffd860},
	{"CITY BANK", 0x1c3c6c, 0xf0f4f8}, {"PIZZERIA", 0xf4ecd8, 0xb02a20}, {"BIKE SHOP", 0x2a6a72, 0xf4f4ec},
	{"SALON", 0xe6c8d0, 0x5a2a4a}, {"OPTICIAN", 0xe8ecee, 0x24506e}, {"TOYS", 0xf0bc30, 0xa82c2c},
	{"RECORDS", 0x2a2a2c, 0xf08a3a},
}

func paintSigns(c *canvas) {
	c.fill(wholePicture, grey(0.8))
	for i, n := range shopNames {
		x, y := i%2*pictureSize/2, i/2*nameHeight
		p := pixels{x, y, x + pictureSize/2, y + nameHeight}
		c.fill(p, hex(n.board))
		c.text(p, n.text, hex(n.paint), 3)
	}
	for f, paint := range facePainters {
		if paint != nil {
			paint(c, facePixels(face(f)))
		}
	}
}

func facePixels(f face) pixels {
	x, y := int(f)%8*faceSize, pictureSize/2+int(f)/8*faceSize
	return pixels{x, y, x + faceSize, y + faceSize}
}

// faceUVs returns the texture coordinates of the part of a face between the
// fractions a and b across and down, counter-clockwise from the bottom left.
func faceUVs(f face, a, b vec2) [4]vec2 {
	// Texels at the rim stay out: they mix with the neighbour's.
	p := facePixels(f).inset(1, 1)
	at := func(u, v float64) vec2 {
		return vec2{(float64(p.x0) + u*float64(p.width())) / pictureSize, (float64(p.y0) + v*float64(p.height())) / pictureSize}
	}
	return [4]vec2{at(a[0], b[1]), at(b[0], b[1]), at(b[0], a[1]), at(a[0], a[1])}
}

// nameUVs returns the texture coordinates of a shop's name board.
func nameUVs(i int) [4]vec2 {
	x, y := float64(i%2)/2, float64(i/2)/16
	return cellUVs(x, y, x+0.5, y+1.0/16)
}

// cellUVs returns the corners of a rectangle of a texture, counter-clockwise
// from the bottom left.
func cellUVs(u0, v0, u1, v1 float64) [4]vec2 {
	return [4]vec2{{u0, v1}, {u1, v1}, {u1, v0}, {u0, v0}}
}

var (
	signRed   = hex(0xc01c1c)
	signBlue  = hex(0x1c4ea0)
	signWhite = hex(0xf4f4f0)
	signInk   = hex(0x1a1a1c)
)

// facePainters paint the faces; they are indexed by face.
var facePainters = [...]func(*canvas, pixels){
	faceStop:      func(c *canvas, p pixels) { c.fill(p, signRed); c.text(p, "STOP", signWhite, 2) },
	faceYield:     paintYield,
	faceSpeed30:   func(c *canvas, p pixels) { paintLimit(c, p, "30") },
	faceSpeed50:   func(c *canvas, p pixels) { paintLimit(c, p, "50") },
	faceNoParking: func(c *canvas, p pixels) { paintProhibited(c, p, false) },
	faceParking:   func(c *canvas, p pixels) { c.fill(p, signBlue); c.text(p, "P", signWhite, 6) },
	faceCrossing:  paintCrossing,
	facePriority:  paintPriority,
	faceBus: func(c *canvas, p pixels) {
		c.fill(p, hex(0xf0c020))
		c.disc(p, 0.44, hex(0x1c7a44))
		c.text(p, "BUS", signWhite, 2)
	},
	faceSchool:  paintWarning,
	faceClock:   paintClock,
	facePosterA: func(c *canvas, p pixels) { paintPoster(c, p, 0x2a5a8a, "JAZZ") },
	facePosterB: func(c *canvas, p pixels) { paintPoster(c, p, 0xd86a2a, "OPERA") },
	facePosterC: func(c *canvas, p pixels) { paintPoster(c, p, 0x2a7a5a, "EXPO") },
	faceMeter:   func(c *canvas, p pixels) { c.fill(p, grey(0.3)); c.fill(p.inset(12, 20), hex(0xa8c8a0)) },
	faceTaxi:    func(c *canvas, p pixels) { c.fill(p, hex(0xf8e8a0)); c.text(p, "TAXI", signInk, 2) },
	faceHubcap:  paintHubcap,
	faceStreetA: func(c *canvas, p pixels) {
		paintRows(c, p, signBlue, signWhite, "ELM STREET", "MILL LANE", "PARK ROW", "RIVER WAY")
	},
	faceStreetB: func(c *canvas, p pixels) {
		paintRows(c, p, signBlue, signWhite, "HIGH ST", "STATION RD", "KING ST", "MARKET SQ")
	},
	facePlateA: func(c *canvas, p pixels) {
		paintRows(c, p, signWhite, signInk, "RB 482 K", "RB 107 T", "KX 935 A", "LM 270 E")
	},
	facePlateB: func(c *canvas, p pixels) {
		paintRows(c, p, signWhite, signInk, "RB 661 C", "HD 318 P", "WT 540 S", "AB 893 N")
	},
	faceCrossed: func(c *canvas, p pixels) { paintProhibited(c, p, true) },
}

// disc paints a disc around the middle of p; r is a fraction of p's width.
func (c *canvas) disc(p pixels, r float32, color rgb) { c.ring(p, r, 0, color) }

// ring paints between two radii around the middle of p.
func (c *canvas) ring(p pixels, outer, inner float32, color rgb) {
	w := float32(p.width())
	c.each(p, func(x, y int, t *rgb) {
		dx, dy := float32(x-p.x0)-w/2+0.5, float32(y-p.y0)-float32(p.height())/2+0.5
		if d := (dx*dx + dy*dy) / (w * w); d <= outer*outer && d >= inner*inner {
			*t = color
		}
	})
}

// triangle paints an isosceles triangle with its base at row y0 of p (as a
// fraction) and its tip at y1.
func (c *canvas) triangle(p pixels, y0, y1, half float32, color rgb) {
	w := float32(p.width())
	c.each(p, func(x, y int, t *rgb) {
		v := (float32(y-p.y0)/float32(p.height()) - y1) / (y0 - y1)
		u := float32(x-p.x0)/w - 0.5
		if v >= 0 && v <= 1 && u <= half*v && u >= -half*v {
			*t = color
		}
	})
}

func paintYield(c *canvas, p pixels) {
	c.fill(p, signRed)
	c.triangle(p, 0.16, 0.74, 0.32, signWhite)
}

func paintWarning(c *canvas, p pixels) {
	c.fill(p, signRed)
	c.triangle(p, 0.86, 0.26, 0.33, signWhite)
	c.fill(pixels{p.x0 + 29, p.y0 + 34, p.x0 + 35, p.y0 + 46}, signInk)
	c.fill(pixels{p.x0 + 29, p.y0 + 48, p.x0 + 35, p.y0 + 53}, signInk)
}

func paintLimit(c *canvas, p pixels, limit string) {
	c.fill(p, signRed)
	c.disc(p, 0.38, signWhite)
	c.text(p, limit, signInk, 3)
}

func paintProhibited(c *canvas, p pixels, twice bool) {
	c.fill(p, signRed)
	c.disc(p, 0.4, signBlue)
	c.each(p, func(x, y int, t *rgb) {
		u, v := x-p.x0, y-p.y0
		if d := u - v; d >= -5 && d <= 5 || twice && u+v >= 59 && u+v <= 68 {
			*t = signRed
		}
	})
}

func paintCrossing(c *canvas, p pixels) {
	c.fill(p, signBlue)
	c.triangle(p, 0.88, 0.1, 0.42, signWhite)
	c.fill(pixels{p.x0 + 29, p.y0 + 26, p.x0 + 34, p.y0 + 31}, signInk)
	c.fill(pixels{p.x0 + 28, p.y0 + 32, p.x0 + 35, p.y0 + 42}, signInk)
	c.fill(pixels{p.x0 + 25, p.y0 + 42, p.x0 + 29, p.y0 + 53}, signInk)
	c.fill(pixels{p.x0 + 34, p.y0 + 42, p.x0 + 38, p.y0 + 53}, signInk)
}

func paintPriority(c *canvas, p pixels) {
	c.fill(p, signWhite)
	c.fill(p.inset(10, 10), hex(0xf4c010))
}

func paintClock(c *canvas, p pixels) {
	c.fill(p, hex(0x2c4a3e))
	c.disc(p, 0.46, signWhite)
	c.fill(pixels{p.x0 + 31, p.y0 + 10, p.x0 + 34, p.y0 + 33}, signInk)
	c.fill(pixels{p.x0 + 31, p.y0 + 31, p.x0 + 48, p.y0 + 34}, signInk)
}

func paintPoster(c *canvas, p pixels, color uint32, word string) {
	base := hex(color)
	c.each(p, func(_, y int, t *rgb) { *t = base.mixed(hex(0xf4dca0), 0.7*float32(y-p.y0)/float32(p.height())) })
	q := pixels{p.x0 + 8, p.y0 + 14, p.x1 - 8, p.y0 + 50}
	c.ring(q, 0.34, 0.24, hex(0xf6ecd4))
	c.disc(q, 0.16, base.times(0.6))
	c.text(pixels{p.x0, p.y1 - 14, p.x1, p.y1 - 2}, word, signInk, 1)
	c.text(pixels{p.x0, p.y0 + 2, p.x1, p.y0 + 12}, word, signWhite, 1)
}

func paintHubcap(c *canvas, p pixels) {
	c.fill(p, grey(0.12))
	c.ring(p, 0.47, 0.38, grey(0.75))
	c.each(p, func(x, y int, t *rgb) {
		u, v := x-p.x0-31, y-p.y0-31
		if d := u*u + v*v; d < 26*26 && (u*u < 20 || v*v < 20 || (u-v)*(u-v) < 36 || (u+v)*(u+v) < 36) {
			*t = grey(0.7)
		}
	})
	c.disc(p, 0.1, grey(0.85))
}

// paintRows paints four lines of text, each in a quarter of p.
func paintRows(c *canvas, p pixels, ground, ink rgb, lines ...string) {
	h := p.height() / 4
	for i, line := range lines {
		q := pixels{p.x0, p.y0 + i*h, p.x1, p.y0 + (i+1)*h}
		c.fill(q, ground)
		c.fill(pixels{q.x0, q.y1 - 1, q.x1, q.y1}, ink)
		c.text(q, line, ink, 1)
	}
}

// material indexes palette, and so the scene's Materials.
type material int

// The materials of the town. Those from firstWall to lastWall are walls that
// also exist with windows painted on them: see painted.
const (
	asphalt material = iota
	asphaltPatch
	asphaltOld
	paving
	pavingWarm
	kerbStone
	gravelPath
	soil
	lawn
	meadow
	field
	forest
	lineWhite
	ironCover
	water

	brickRed
	brickBrown
	brickOrange
	brickBuff
	brickGrey
	brickWhite
	plasterWhite
	plasterCream
	plasterYellow
	plasterPink
	plasterBlue
	plasterGreen
	plasterGrey
	plasterTerracotta
	ashlarSand
	ashlarGrey
	concreteGrey
	concreteLight
	claddingDark
	claddingBlue

	trimWhite
	trimStone
	trimDark
	trimGreen
	trimBrown
	paneClassic
	paneModern
	paneShop
	glassPlain
	doorRed
	doorGreen
	doorBlue
	doorWood

	tilesRed
	tilesBrown
	slate
	roofGravel
	roofTar
	zinc
	copper

	woodLight
	woodDark
	bark
	barkPale
	leafBright
	leafMid
	leafDark
	leafOlive
	leafYellow
	needles
	blossomPink
	blossomWhite
	flowerRed
	flowerYellow
	flowerViolet

	ironDark
	ironGreen
	steel
	aluminium
	paintRed
	paintYellow
	paintBlue
	plasticBlack
	plasticGreen
	canvasRed
	canvasGreen
	canvasBlue
	canvasCream
	canvasOrange

	signFace
	signBack
	shopSign
	licensePlate
	lampGlow
	lightRed
	lightAmber
	lightGreen
	walkersRed
	walkersGreen
	headLamp
	tailLamp
	indicatorLamp
	reverseLamp

	carWhite
	carBlack
	carSilver
	carGraphite
	carBlue
	carRed
	carGreen
	carBeige
	carYellow
	carOrange
	carSky
	carGlass
	carTrim
	tyre
	rim
	chrome

	skinLight
	skinMid
	skinDark
	hairBlack
	hairBrown
	hairBlond
	hairGrey
	clothWhite
	clothBlack
	clothRed
	clothBlue
	clothNavy
	clothGreen
	clothYellow
	clothGrey
	clothDenim
	clothBeige
	clothPurple
	clothTeal
	leather

	carLettering // white on vehicles, and what they carry

	namedMaterials // how many there are

	noMaterial material = -1

	firstWall  = brickRed
	lastWall   = claddingBlue
	firstPaint = carWhite
	lastPaint  = carSky
)

// painting is how windows are painted on a wall that has none as geometry.
type painting int

const (
	paintedHouse painting = iota
	paintedOffice
	paintings // how many there are
)

// painted returns the wall with windows painted on it, four bays by four
// storeys a tile.
func painted(wall material, p painting) material {
	return namedMaterials + (wall-firstWall)*material(paintings) + material(p)
}

// finish is how a surface meets light: what many materials share.
type finish struct {
	roughness, metallic float32
	reflectance         float32 // at 905 nm, 0..1
	asClass             bool    // scene.Material.ReflectsAsClass
}

// Reflectances are typical figures for near infrared: fresh asphalt 0.15,
// concrete 0.35, brick 0.4, leaves 0.5 and more, dark paint and rubber 0.05. If the table of package optics has
// the surface by its class, that holds for received light.
var (
	asphaltFinish = finish{0.95, 0, 0.16, true}
	tarFinish     = finish{0.95, 0, 0.16, false}
	stoneFinish   = finish{0.9, 0, 0.38, true}
	earthFinish   = finish{1, 0, 0.3, false}
	leafFinish    = finish{0.9, 0, 0.52, true}
	lineFinish    = finish{0.7, 0, 0.75, true}
	plasterFinish = finish{0.92, 0, 0.55, false}
	brickFinish   = finish{0.93, 0, 0.4, true}
	trimFinish    = finish{0.6, 0, 0.5, false}
	glassFinish   = finish{0.08, 0, 0.08, false}
	woodFinish    = finish{0.75, 0, 0.4, false}
	paintFinish   = finish{0.45, 0, 0.4, false}
	metalFinish   = finish{0.4, 0.8, 0.45, false}
	clothFinish   = finish{0.95, 0, 0.45, false}
	lampFinish    = finish{0.3, 0, 0.3, false}
	carFinish     = finish{0.28, 0.1, 0.35, false}
	darkFinish    = finish{0.8, 0, 0.06, false}
)

// surfaceLook is one entry of the palette.
type surfaceLook struct {
	name     string
	color    uint32 // sRGB, 0xRRGGBB
	finish   finish
	texture  picture
	tile     float64 // metres a texture repeat; 0 for untextured faces
	emissive float32 // times the colour
	retro    bool
	thin     bool // seen from both sides
	lamps    world.Lights
	paint    bool // an actor may have a colour of its own for it
}

// palette holds every material of the town. It is never written after start-up.
var palette = withPaintedWalls(namedPalette())

// withPaintedWalls appends what painted returns.
func withPaintedWalls(p []surfaceLook) []surfaceLook {
	pictures := [paintings]picture{picHouseWall, picOfficeWall}
	for w := firstWall; w <= lastWall; w++ {
		for k, pic := range pictures {
			look := p[w]
			look.name = fmt.Sprintf("%s_windows_%d", look.name, k)
			look.texture, look.tile = pic, 12
			look.finish.roughness = 0.7
			p = append(p, look)
		}
	}
	return p
}

// materials returns the palette as the scene's materials; texture indices are
// those of picture.
func materials() []scene.Material {
	out := make([]scene.Material, len(palette))
	for i := range palette {
		l := &palette[i]
		c := linear(l.color)
		m := scene.Material{
			Name: l.name, BaseColor: c.Vec4(1), BaseColorTexture: scene.NoTexture,
			Metallic: l.finish.metallic, Roughness: l.finish.roughness,
			MetalRoughTexture: scene.NoTexture, EmissiveTexture: scene.NoTexture,
			Emissive: c.Mul(l.emissive), Reflectance: l.finish.reflectance, ReflectsAsClass: l.finish.asClass, Retro: l.retro, DoubleSided: l.thin, Lamps: l.lamps, Paint: l.paint,
		}
		if l.texture != noPicture {
			m.BaseColorTexture = int(l.texture)
		}
		out[i] = m
	}
	return out
}

// linear returns an sRGB colour (IEC 61966-2-1) as linear RGB.
func linear(rgb uint32) mgl32.Vec3 {
	var out mgl32.Vec3
	for i := range out {
		c := float64(rgb>>(16-8*i)&0xff) / 255
		if c <= 0.04045 {
			out[i] = float32(c / 12.92)
		} else {
			out[i] = float32(math.Pow((c+0.055)/1.055, 2.4))
		}
	}
	return out
}

// namedPalette returns the materials in the order of their constants.
func namedPalette() []surfaceLook {
	p := make([]surfaceLook, namedMaterials)
	for _, table := range [][]namedLook{groundLooks, wallLooks, facadeLooks, roofLooks, plantLooks, streetLooks, vehicleLooks, personLooks} {
		for _, l := range table {
			p[l.id] = l.surfaceLook
		}
	}
	for m := firstPaint; m <= lastPaint; m++ {
		p[m].paint = true
	}
	return p
}

type namedLook struct {
	id material
	surfaceLook
}

// look returns an untextured palette entry.
func look(id material, name string, color uint32, f finish) namedLook {
	return namedLook{id, surfaceLook{name: name, color: color, finish: f, texture: noPicture}}
}

// with returns the entry with a texture that repeats every tile metres.
func (l namedLook) with(p picture, tile float64) namedLook {
	l.texture, l.tile = p, tile
	return l
}

func (l namedLook) glowing(times float32) namedLook { l.emissive = times; return l }

// switched marks the material of lamps that are switched on and off.
func (l namedLook) switched(lamps world.Lights) namedLook { l.lamps = lamps; return l }

// sheet marks a material that thin things are made of: it is seen from both sides.
func (l namedLook) sheet() namedLook { l.thin = true; return l }

func (l namedLook) retroreflective() namedLook { l.retro = true; return l }

var groundLooks = []namedLook{
	look(asphalt, "asphalt", 0xb4b4b6, asphaltFinish).with(picAsphalt, 5),
	look(asphaltPatch, "asphalt_patch", 0x8e8e92, asphaltFinish).with(picAsphalt, 5),
	look(asphaltOld, "asphalt_old", 0xc6c4c0, asphaltFinish).with(picAsphalt, 5),
	look(paving, "paving", 0xd2cec6, stoneFinish).with(picPaving, 3),
	look(pavingWarm, "paving_warm", 0xd8c2a6, stoneFinish).with(picPaving, 3),
	look(kerbStone, "kerb", 0xb8b6b0, stoneFinish).with(picPlaster, 4),
	look(gravelPath, "gravel_path", 0xe6d2ac, earthFinish).with(picGravel, 2),
	look(soil, "soil", 0x6a5240, earthFinish).with(picGravel, 2),
	look(lawn, "lawn", 0xa4c46a, leafFinish).with(picGrass, 4),
	look(meadow, "meadow", 0xa6ba6c, leafFinish).with(picGrass, 40),
	look(field, "field", 0xdcc882, earthFinish).with(picGrass, 40),
	look(forest, "forest", 0x5c7a48, leafFinish).with(picLeaves, 40),
	look(lineWhite, "line_white", 0xe8e8e4, lineFinish),
	look(ironCover, "iron_cover", 0x4c4a48, finish{0.6, 0.6, 0.2, false}),
	look(water, "water", 0x2c5a62, finish{0.05, 0, 0.02, false}),
}

var wallLooks = []namedLook{
	look(brickRed, "brick_red", 0xb87462, brickFinish).with(picBrick, 2),
	look(brickBrown, "brick_brown", 0xa07c68, brickFinish).with(picBrick, 2),
	look(brickOrange, "brick_orange", 0xcc8e6c, brickFinish).with(picBrick, 2),
	look(brickBuff, "brick_buff", 0xdcbc8c, brickFinish).with(picBrick, 2),
	look(brickGrey, "brick_grey", 0x86827e, brickFinish).with(picBrick, 2),
	look(brickWhite, "brick_white", 0xe6e0d6, brickFinish).with(picBrick, 2),
	look(plasterWhite, "plaster_white", 0xf0ece2, plasterFinish).with(picPlaster, 4),
	look(plasterCream, "plaster_cream", 0xf2e2bc, plasterFinish).with(picPlaster, 4),
	look(plasterYellow, "plaster_yellow", 0xecc878, plasterFinish).with(picPlaster, 4),
	look(plasterPink, "plaster_pink", 0xe6b6a2, plasterFinish).with(picPlaster, 4),
	look(plasterBlue, "plaster_blue", 0xa6bece, plasterFinish).with(picPlaster, 4),
	look(plasterGreen, "plaster_green", 0xb4c8a4, plasterFinish).with(picPlaster, 4),
	look(plasterGrey, "plaster_grey", 0xc2c0bc, plasterFinish).with(picPlaster, 4),
	look(plasterTerracotta, "plaster_terracotta", 0xd29a78, plasterFinish).with(picPlaster, 4),
	look(ashlarSand, "ashlar_sand", 0xdcc8a0, stoneFinish).with(picAshlar, 4),
	look(ashlarGrey, "ashlar_grey", 0xc0bcb4, stoneFinish).with(picAshlar, 4),
	look(concreteGrey, "concrete_grey", 0xb2b0ac, stoneFinish).with(picConcrete, 6),
	look(concreteLight, "concrete_light", 0xdcdad4, stoneFinish).with(picConcrete, 6),
	look(claddingDark, "cladding_dark", 0x5a6068, finish{0.5, 0.3, 0.25, false}).with(picConcrete, 6),
	look(claddingBlue, "cladding_blue", 0x7e96a8, finish{0.5, 0.3, 0.3, false}).with(picConcrete, 6),
}

var facadeLooks = []namedLook{
	look(trimWhite, "trim_white", 0xeeeae2, trimFinish),
	look(trimStone, "trim_stone", 0xcabea8, stoneFinish),
	look(trimDark, "trim_dark", 0x3a3c40, trimFinish),
	look(trimGreen, "trim_green", 0x3c5c4a, trimFinish),
	look(trimBrown, "trim_brown", 0x6a4a34, woodFinish),
	look(paneClassic, "pane_classic", 0xffffff, finish{0.15, 0, 0.12, false}).with(picHousePanes, 1),
	look(paneModern, "pane_modern", 0xffffff, finish{0.1, 0, 0.1, false}).with(picModernPanes, 1),
	look(paneShop, "pane_shop", 0xffffff, finish{0.12, 0, 0.12, false}).with(picShops, 1),
	look(glassPlain, "glass", 0x9cbcc4, glassFinish),
	look(doorRed, "door_red", 0x8a2c26, trimFinish),
	look(doorGreen, "door_green", 0x24523c, trimFinish),
	look(doorBlue, "door_blue", 0x27446e, trimFinish),
	look(doorWood, "door_wood", 0x6e4a2c, woodFinish),
}

var roofLooks = []namedLook{
	look(tilesRed, "roof_tiles_red", 0xc26a4c, brickFinish).with(picRoofTiles, 3),
	look(tilesBrown, "roof_tiles_brown", 0x8e6654, brickFinish).with(picRoofTiles, 3),
	look(slate, "roof_slate", 0x767c86, stoneFinish).with(picRoofTiles, 3),
	look(roofGravel, "roof_gravel", 0xb8b0a4, stoneFinish).with(picGravel, 2),
	look(roofTar, "roof_tar", 0x6c6c6e, tarFinish).with(picAsphalt, 5),
	look(zinc, "zinc", 0x98a2a8, finish{0.45, 0.5, 0.35, false}).sheet(),
	look(copper, "copper", 0x7eb09a, finish{0.6, 0.3, 0.35, false}).sheet(),
}

var plantLooks = []namedLook{
	look(woodLight, "wood_light", 0xb48a5a, woodFinish),
	look(woodDark, "wood_dark", 0x7a5234, woodFinish),
	look(bark, "bark", 0x7c6650, woodFinish).with(picPlaster, 1),
	look(barkPale, "bark_pale", 0xa89c86, woodFinish).with(picPlaster, 1),
	look(leafBright, "leaf_bright", 0x9cc054, leafFinish).with(picLeaves, 2.5),
	look(leafMid, "leaf_mid", 0x7eaa4c, leafFinish).with(picLeaves, 2.5),
	look(leafDark, "leaf_dark", 0x5e8c46, leafFinish).with(picLeaves, 2.5),
	look(leafOlive, "leaf_olive", 0x98a456, leafFinish).with(picLeaves, 2.5),
	look(leafYellow, "leaf_yellow", 0xd0b048, leafFinish).with(picLeaves, 2.5),
	look(needles, "needles", 0x4e7654, leafFinish).with(picLeaves, 2.5),
	look(blossomPink, "blossom_pink", 0xf6a4bc, leafFinish).with(picGravel, 1.5),
	look(blossomWhite, "blossom_white", 0xffd8e2, leafFinish).with(picGravel, 1.5),
	look(flowerRed, "flower_red", 0xd04640, leafFinish).with(picLeaves, 1),
	look(flowerYellow, "flower_yellow", 0xf0c83c, leafFinish).with(picLeaves, 1),
	look(flowerViolet, "flower_violet", 0x9a64b4, leafFinish).with(picLeaves, 1),
}

// Lenses of traffic lights are dark while they are off.
const (
	signalRed   = 0x8a150d
	signalGreen = 0x128050
)

var streetLooks = []namedLook{
	look(ironDark, "iron_dark", 0x3c4044, metalFinish),
	look(ironGreen, "iron_green", 0x2c4a3e, paintFinish),
	look(steel, "steel", 0xa0a4a8, metalFinish),
	look(aluminium, "aluminium", 0xc8ccce, finish{0.35, 0.9, 0.6, false}),
	look(paintRed, "paint_red", 0xc82c22, paintFinish),
	look(paintYellow, "paint_yellow", 0xf0b81c, paintFinish).sheet(),
	look(paintBlue, "paint_blue", 0x2456a0, paintFinish),
	look(plasticBlack, "plastic_black", 0x222326, darkFinish).sheet(),
	look(plasticGreen, "plastic_green", 0x3c7a48, paintFinish),
	look(canvasRed, "canvas_red", 0xb83a34, clothFinish).sheet(),
	look(canvasGreen, "canvas_green", 0x3c7050, clothFinish).sheet(),
	look(canvasBlue, "canvas_blue", 0x34608e, clothFinish).sheet(),
	look(canvasCream, "canvas_cream", 0xf0e4c8, clothFinish).sheet(),
	look(canvasOrange, "canvas_orange", 0xe08a3a, clothFinish).sheet(),
	look(signFace, "sign_face", 0xffffff, finish{0.4, 0, 0.8, false}).with(picSigns, 1).retroreflective(),
	look(signBack, "sign_back", 0x9ea2a6, metalFinish),
	look(shopSign, "shop_sign", 0xffffff, paintFinish).with(picSigns, 1),
	look(licensePlate, "license_plate", 0xffffff, finish{0.4, 0, 0.8, false}).with(picSigns, 1).retroreflective(),
	look(lampGlow, "lamp_glow", 0xfff2d8, lampFinish).glowing(0.6),
	look(lightRed, "light_red", signalRed, lampFinish).switched(world.LightRed),
	look(lightAmber, "light_amber", 0x8a5a0c, lampFinish).switched(world.LightYellow),
	look(lightGreen, "light_green", signalGreen, lampFinish).switched(world.LightGreen),
	look(walkersRed, "walkers_red", signalRed, lampFinish).switched(world.LightYellow | world.LightGreen),
	look(walkersGreen, "walkers_green", signalGreen, lampFinish).switched(world.LightRed),
	look(headLamp, "head_lamp", 0xaab0b4, lampFinish).glowing(0.1).switched(world.LightHead), // in the sun it is darker than when it is on
	look(tailLamp, "tail_lamp", 0xb81418, lampFinish).glowing(0.35).switched(world.LightBrake),
	look(indicatorLamp, "indicator_lamp", 0xe88a1c, lampFinish).glowing(0.2).switched(world.LightLeft | world.LightRight),
	look(reverseLamp, "reverse_lamp", 0xa6a6a2, lampFinish).switched(world.LightReverse),
}

var vehicleLooks = []namedLook{
	look(carWhite, "car_white", 0xeeeeec, carFinish),
	look(carBlack, "car_black", 0x1c1d20, finish{0.25, 0.1, 0.08, false}),
	look(carSilver, "car_silver", 0xb6babf, finish{0.3, 0.5, 0.45, false}),
	look(carGraphite, "car_graphite", 0x54585e, finish{0.3, 0.4, 0.2, false}),
	look(carBlue, "car_blue", 0x24508e, carFinish),
	look(carRed, "car_red", 0xac2420, carFinish),
	look(carGreen, "car_green", 0x2c5844, carFinish),
	look(carBeige, "car_beige", 0xccb894, carFinish),
	look(carYellow, "car_yellow", 0xf2be24, carFinish),
	look(carOrange, "car_orange", 0xda6c26, carFinish),
	look(carSky, "car_sky", 0x7eb0d0, carFinish),
	look(carGlass, "car_glass", 0x26323a, glassFinish),
	look(carTrim, "car_trim", 0x2a2b2e, darkFinish),
	look(tyre, "tyre", 0x232323, darkFinish),
	look(rim, "rim", 0xd8dade, metalFinish).with(picSigns, 1),
	look(chrome, "chrome", 0xd4d8da, finish{0.15, 1, 0.6, false}),
	look(carLettering, "car_lettering", 0xeeeeec, carFinish),
}

var personLooks = []namedLook{
	look(skinLight, "skin_light", 0xe8b898, clothFinish),
	look(skinMid, "skin_mid", 0xc08a62, clothFinish),
	look(skinDark, "skin_dark", 0x7a4e34, clothFinish),
	look(hairBlack, "hair_black", 0x26201e, darkFinish),
	look(hairBrown, "hair_brown", 0x5a3c26, darkFinish),
	look(hairBlond, "hair_blond", 0xc89e5a, clothFinish),
	look(hairGrey, "hair_grey", 0xa6a29c, clothFinish),
	look(clothWhite, "cloth_white", 0xf0eee8, clothFinish),
	look(clothBlack, "cloth_black", 0x2c2c30, clothFinish),
	look(clothRed, "cloth_red", 0xc23a34, clothFinish),
	look(clothBlue, "cloth_blue", 0x3c74b8, clothFinish),
	look(clothNavy, "cloth_navy", 0x28344e, clothFinish),
	look(clothGreen, "cloth_green", 0x4c8a56, clothFinish),
	look(clothYellow, "cloth_yellow", 0xecc044, clothFinish),
	look(clothGrey, "cloth_grey", 0x8c8e92, clothFinish),
	look(clothDenim, "cloth_denim", 0x4a6488, clothFinish),
	look(clothBeige, "cloth_beige", 0xcdb896, clothFinish),
	look(clothPurple, "cloth_purple", 0x7c4c8c, clothFinish),
	look(clothTeal, "cloth_teal", 0x2c8a8c, clothFinish),
	look(leather, "leather", 0x4a3022, darkFinish),
}
