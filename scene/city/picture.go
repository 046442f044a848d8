package city

import (
	"crypto/sha256"
	"fmt"
	"image"
	"math/rand/v2"
	"sync"

	"github.com/raybridge/raybridge/scene"
)

// picture indexes the scene's Textures.
type picture int

// The pictures of the town, each pictureSize square and made to repeat.
const (
	picAsphalt picture = iota
	picPaving
	picBrick
	picPlaster
	picAshlar
	picConcrete
	picHousePanes
	picModernPanes
	picHouseWall
	picOfficeWall
	picShops
	picRoofTiles
	picGravel
	picGrass
	picLeaves
	picSigns
	pictures // how many there are

	noPicture picture = -1
)

// pictureSize is the width and height of every texture in texels.
const pictureSize = 512

var painters = [pictures]struct {
	name  string
	paint func(*canvas)
}{
	picAsphalt:     {"asphalt", paintAsphalt},
	picPaving:      {"paving", paintPaving},
	picBrick:       {"brick", paintBrick},
	picPlaster:     {"plaster", paintPlaster},
	picAshlar:      {"ashlar", paintAshlar},
	picConcrete:    {"concrete", paintConcrete},
	picHousePanes:  {"house_panes", paintHousePanes},
	picModernPanes: {"modern_panes", paintModernPanes},
	picHouseWall:   {"house_wall", paintHouseWall},
	picOfficeWall:  {"office_wall", paintOfficeWall},
	picShops:       {"shops", paintShops},
	picRoofTiles:   {"roof_tiles", paintRoofTiles},
	picGravel:      {"gravel", paintGravel},
	picGrass:       {"grass", paintGrass},
	picLeaves:      {"leaves", paintLeaves},
	picSigns:       {"signs", paintSigns},
}

// allPictures are those of the town, in their order.
func allPictures() []picture {
	list := make([]picture, pictures)
	for i := range list {
		list[i] = picture(i)
	}
	return list
}

// paintTextures returns the textures of some pictures in their order. Each picture has
// its own goroutine and its own stream of chance; all have ended on return.
func paintTextures(seed uint64, list []picture) []scene.Texture {
	out := make([]scene.Texture, len(list))
	var running sync.WaitGroup
	for i, p := range list {
		running.Go(func() {
			c := newCanvas(stream(seed, "texture", int(p)))
			painters[p].paint(c)
			out[i] = scene.Texture{Name: painters[p].name, Image: c.image()}
		})
	}
	running.Wait()
	return out
}

// paintVersion changes with whatever changes the pictures of an equal seed. A test tells when it has to.
const paintVersion = 1

// townTextures are those of the town in their order, from the cache where they were painted before.
func townTextures(seed uint64, dir string) []scene.Texture {
	if dir == "" {
		return paintTextures(seed, allPictures())
	}
	const size = 4 * pictureSize * pictureSize
	key := picturesKey(seed)
	pixels := make([]byte, int(pictures)*size)
	if err := scene.Kept(dir, key, pixels); err == nil {
		textures := make([]scene.Texture, pictures)
		for i := range textures {
			textures[i] = scene.Texture{Name: painters[i].name, Image: &image.NRGBA{
				Pix: pixels[i*size : (i+1)*size : (i+1)*size], Stride: 4 * pictureSize, Rect: image.Rect(0, 0, pictureSize, pictureSize),
			}}
		}
		return textures
	}
	textures := paintTextures(seed, allPictures())
	for i := range textures {
		copy(pixels[i*size:], textures[i].Image.Pix)
	}
	_ = scene.Keep(dir, key, pixels) // what isn't kept is painted again
	return textures
}

// picturesKey is the hash of what the town's pictures follow from.
func picturesKey(seed uint64) [32]byte {
	return sha256.Sum256(fmt.Appendf(nil, "city pictures %d, size %d, seed %d, fused %v", paintVersion, pictureSize, seed, fuses()))
}

// fused are factors whose product, less the third, is 0 unless the product isn't rounded.
var fused = [3]float32{1 + 1.0/4096, 1 + 1.0/4096, 1 + 1.0/2048}

// fuses reports whether this build multiplies and adds in one, which gives other pictures.
func fuses() bool { return fused[0]*fused[1]-fused[2] != 0 }

// rgb is an sRGB colour, 0..1.
type rgb [3]float32

func hex(v uint32) rgb {
	return rgb{float32(v>>16&255) / 255, float32(v>>8&255) / 255, float32(v&255) / 255}
}

func grey(v float32) rgb { return rgb{v, v, v} }

func (c rgb) times(k float32) rgb { return rgb{c[0] * k, c[1] * k, c[2] * k} }

func (c rgb) mixed(d rgb, t float32) rgb {
	return rgb{c[0] + (d[0]-c[0])*t, c[1] + (d[1]-c[1])*t, c[2] + (d[2]-c[2])*t}
}

// canvas is a picture being painted, row 0 on top. Texels outside it wrap.
type canvas struct {
	texels []rgb
	rng    *rand.Rand
	noise  *noise
}

func newCanvas(rng *rand.Rand) *canvas {
	return &canvas{texels: make([]rgb, pictureSize*pictureSize), rng: rng, noise: newNoise(rng)}
}

func (c *canvas) at(x, y int) *rgb {
	return &c.texels[(y&(pictureSize-1))*pictureSize+x&(pictureSize-1)]
}

// pixels is a rectangle of texels; x1 and y1 are outside.
type pixels struct{ x0, y0, x1, y1 int }

func (p pixels) inset(dx, dy int) pixels { return pixels{p.x0 + dx, p.y0 + dy, p.x1 - dx, p.y1 - dy} }

func (p pixels) width() int { return p.x1 - p.x0 }

func (p pixels) height() int { return p.y1 - p.y0 }

var wholePicture = pixels{0, 0, pictureSize, pictureSize}

func (c *canvas) fill(p pixels, color rgb) {
	c.each(p, func(_, _ int, t *rgb) { *t = color })
}

// each calls f for every texel of p, row by row.
func (c *canvas) each(p pixels, f func(x, y int, t *rgb)) {
	for y := p.y0; y < p.y1; y++ {
		for x := p.x0; x < p.x1; x++ {
			f(x, y, c.at(x, y))
		}
	}
}

func (c *canvas) image() *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, pictureSize, pictureSize))
	for i, t := range c.texels {
		for k, v := range t {
			img.Pix[4*i+k] = uint8(max(0, min(255, v*255+0.5)))
		}
		img.Pix[4*i+3] = 255
	}
	return img
}

// noise is value noise that repeats with the picture.
type noise struct{ lattice [1 << 16]float32 }

func newNoise(rng *rand.Rand) *noise {
	n := new(noise)
	for i := range n.lattice {
		n.lattice[i] = rng.Float32()
	}
	return n
}

// at returns the noise, 0..1, at a texel for cells of 2^shift texels.
func (n *noise) at(x, y, shift int) float32 {
	cells := pictureSize >> shift
	size := float32(int(1) << shift)
	ix, iy := x>>shift, y>>shift
	fx, fy := float32(x&(1<<shift-1))/size, float32(y&(1<<shift-1))/size
	fx, fy = fx*fx*(3-2*fx), fy*fy*(3-2*fy)
	value := func(i, j int) float32 {
		i, j = i&(cells-1), j&(cells-1)
		h := uint32(i)*0x9e3779b1 ^ uint32(j)*0x85ebca6b ^ uint32(shift)*0xc2b2ae35
		h ^= h >> 15
		return n.lattice[h*0x2c1b3c6d>>16]
	}
	a := value(ix, iy) + (value(ix+1, iy)-value(ix, iy))*fx
	b := value(ix, iy+1) + (value(ix+1, iy+1)-value(ix, iy+1))*fx
	return a + (b-a)*fy
}

// octaves sums noise from cells of 2^coarse down to 2^fine texels, each half
// as strong as the one before, scaled to 0..1.
func (n *noise) octaves(x, y, coarse, fine int) float32 {
	var sum, total float32
	weight := float32(1)
	for shift := coarse; shift >= fine; shift-- {
		sum += weight * n.at(x, y, shift)
		total += weight
		weight /= 2
	}
	return sum / total
}

// Letters are five texels wide and seven high; a row of a glyph is five bits,
// the leftmost the highest.
const (
	letterWide = 5
	letterHigh = 7
)

// letters holds the glyphs of A to Z.
var letters = [26][letterHigh]uint8{
	{0x0e, 0x11, 0x11, 0x1f, 0x11, 0x11, 0x11}, // A
	{0x1e, 0x11, 0x11, 0x1e, 0x11, 0x11, 0x1e},
	{0x0f, 0x10, 0x10, 0x10, 0x10, 0x10, 0x0f},
	{0x1e, 0x11, 0x11, 0x11, 0x11, 0x11, 0x1e},
	{0x1f, 0x10, 0x10, 0x1e, 0x10, 0x10, 0x1f},
	{0x1f, 0x10, 0x10, 0x1e, 0x10, 0x10, 0x10},
	{0x0f, 0x10, 0x10, 0x13, 0x11, 0x11, 0x0f},
	{0x11, 0x11, 0x11, 0x1f, 0x11, 0x11, 0x11},
	{0x0e, 0x04, 0x04, 0x04, 0x04, 0x04, 0x0e},
	{0x01, 0x01, 0x01, 0x01, 0x01, 0x11, 0x0e},
	{0x11, 0x12, 0x14, 0x18, 0x14, 0x12, 0x11},
	{0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x1f},
	{0x11, 0x1b, 0x15, 0x15, 0x11, 0x11, 0x11}, // M
	{0x11, 0x19, 0x19, 0x15, 0x13, 0x13, 0x11},
	{0x0e, 0x11, 0x11, 0x11, 0x11, 0x11, 0x0e},
	{0x1e, 0x11, 0x11, 0x1e, 0x10, 0x10, 0x10},
	{0x0e, 0x11, 0x11, 0x11, 0x15, 0x12, 0x0d},
	{0x1e, 0x11, 0x11, 0x1e, 0x14, 0x12, 0x11},
	{0x0f, 0x10, 0x10, 0x0e, 0x01, 0x01, 0x1e},
	{0x1f, 0x04, 0x04, 0x04, 0x04, 0x04, 0x04},
	{0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x0e},
	{0x11, 0x11, 0x11, 0x11, 0x0a, 0x0a, 0x04},
	{0x11, 0x11, 0x11, 0x15, 0x15, 0x1b, 0x11},
	{0x11, 0x11, 0x0a, 0x04, 0x0a, 0x11, 0x11},
	{0x11, 0x11, 0x0a, 0x04, 0x04, 0x04, 0x04},
	{0x1f, 0x01, 0x02, 0x04, 0x08, 0x10, 0x1f}, // Z
}

// digits holds the glyphs of 0 to 9.
var digits = [10][letterHigh]uint8{
	{0x0e, 0x11, 0x13, 0x15, 0x19, 0x11, 0x0e},
	{0x04, 0x0c, 0x04, 0x04, 0x04, 0x04, 0x0e},
	{0x0e, 0x11, 0x01, 0x06, 0x08, 0x10, 0x1f},
	{0x1e, 0x01, 0x01, 0x0e, 0x01, 0x01, 0x1e},
	{0x02, 0x06, 0x0a, 0x12, 0x1f, 0x02, 0x02},
	{0x1f, 0x10, 0x1e, 0x01, 0x01, 0x11, 0x0e},
	{0x0e, 0x10, 0x10, 0x1e, 0x11, 0x11, 0x0e},
	{0x1f, 0x01, 0x02, 0x04, 0x04, 0x08, 0x08},
	{0x0e, 0x11, 0x11, 0x0e, 0x11, 0x11, 0x0e},
	{0x0e, 0x11, 0x11, 0x0f, 0x01, 0x01, 0x0e},
}

// text paints capitals and digits in the middle of p, each texel of a glyph
// scale texels wide. Other characters are gaps.
func (c *canvas) text(p pixels, line string, ink rgb, scale int) {
	width := (len(line)*(letterWide+1) - 1) * scale
	x0 := p.x0 + (p.width()-width)/2
	y0 := p.y0 + (p.height()-letterHigh*scale)/2
	for i := range len(line) {
		glyph, ok := glyphOf(line[i])
		if !ok {
			continue
		}
		x := x0 + i*(letterWide+1)*scale
		for row, bits := range glyph {
			for col := range letterWide {
				if bits>>(letterWide-1-col)&1 == 1 {
					c.fill(pixels{x + col*scale, y0 + row*scale, x + (col+1)*scale, y0 + (row+1)*scale}, ink)
				}
			}
		}
	}
}

func glyphOf(b byte) ([letterHigh]uint8, bool) {
	switch {
	case b >= 'A' && b <= 'Z':
		return letters[b-'A'], true
	case b >= '0' && b <= '9':
		return digits[b-'0'], true
	}
	return [letterHigh]uint8{}, false
}
