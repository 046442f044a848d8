package city

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
