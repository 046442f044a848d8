package picture

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// ErrPacked is wrapped by the errors of JPEGEncoder.Append.
var ErrPacked = errors.New("picture can't be encoded")

// Packed is a picture of packed pixels that somebody else owns: they are only read.
type Packed struct {
	// Pixels holds Height rows, Stride bytes apart, of Width pixels of Size bytes.
	Pixels                      []byte
	Width, Height, Stride, Size int
	// Red, Green and Blue are the places of the colours in a pixel; a Size of 1 is
	// grey, and has none.
	Red, Green, Blue int
}

// JPEGEncoder writes baseline JPEG (ITU-T T.81) of packed 8-bit pixels, straight from where
// they lie. The standard library's encoder wants them in a picture of its own, and takes more
// than twice as long.
//
// Colours are Y'CbCr as JFIF 1.02 has it, with a chroma sample for each two by two pixels
// (4:2:0). Quantisation and Huffman tables are those of T.81's annex K. A quality from 1 to 100
// scales them as the Independent JPEG Group's library does it. So a quality means what it means
// elsewhere.
//
// It holds what encoding needs from one picture to the next. The zero value is ready.
// One goroutine at a time may use it.
type JPEGEncoder struct {
	quality int
	quant   [2][64]uint8   // in zigzag order, as it is written
	scale   [2][64]float32 // natural order: what turns a coefficient of transform into its level

	bits bitWriter
	last [3]int32 // DC levels of the components' blocks before

	block            block
	luma             [4]block
	chromaB, chromaR block
	edge             [16 * 16 * 4]byte // a unit that hangs over the picture's edge
	levels           [64]int32         // in zigzag order
}

// block is 8 x 8 samples or coefficients.
type block [64]float32

// Append appends the picture as a JPEG file of a quality from 1 to 100 to dst. Errors
// wrap ErrPacked. Once its tables are made and dst is large enough it allocates
// nothing.
func (e *JPEGEncoder) Append(dst []byte, p *Packed, quality int) ([]byte, error) {
	if err := p.check(); err != nil {
		return dst, err
	}
	if quality < 1 || quality > 100 {
		return dst, fmt.Errorf("%w: a quality of %d, it is 1 to 100", ErrPacked, quality)
	}
	e.setQuality(quality)
	e.last = [3]int32{}
	e.bits = bitWriter{out: e.appendHeader(dst, p)}
	if p.Size == 1 {
		e.scanGrey(p)
	} else {
		e.scanColor(p)
	}
	return append(e.bits.finish(), 0xff, 0xd9), nil // EOI
}

func (p *Packed) check() error {
	last := max(p.Red, p.Green, p.Blue)
	switch {
	case p.Width < 1 || p.Height < 1 || p.Width > 0xffff || p.Height > 0xffff:
		return fmt.Errorf("%w: %d x %d pixels, each side is 1 to 65535", ErrPacked, p.Width, p.Height)
	case p.Size < 1 || p.Size > 4 || (p.Size > 1 && (p.Size == 2 || last >= p.Size || min(p.Red, p.Green, p.Blue) < 0)):
		return fmt.Errorf("%w: pixels of %d bytes with colours at %d, %d, %d", ErrPacked, p.Size, p.Red, p.Green, p.Blue)
	case p.Stride < p.Width*p.Size || len(p.Pixels) < p.Stride*(p.Height-1)+p.Width*p.Size:
		return fmt.Errorf("%w: %d bytes in rows of %d for %d x %d pixels of %d", ErrPacked, len(p.Pixels), p.Stride, p.Width, p.Height, p.Size)
	}
	return nil
}

// setQuality makes the quantisation tables.
func (e *JPEGEncoder) setQuality(quality int) {
	if e.quality == quality {
		return
	}
	e.quality = quality
	percent := 200 - 2*quality
	if quality < 50 {
		percent = 5000 / quality
	}
	var natural [2][64]int
	for t := range natural {
		for i, q := range baseQuant[t] {
			natural[t][i] = min(max((q*percent+50)/100, 1), 255)
			// transform leaves out these factors of row and column.
			e.scale[t][i] = float32(1 / (8 * float64(natural[t][i]) * leftOut(i/8) * leftOut(i%8)))
		}
		for k, i := range zigzag {
			e.quant[t][k] = uint8(natural[t][i])
		}
	}
}

// leftOut is the factor by which transform's coefficient k is too large.
func leftOut(k int) float64 {
	if k == 0 {
		return 1
	}
	return math.Sqrt2 * math.Cos(float64(k)*math.Pi/16)
}

// appendHeader appends all that comes before the scan's data (T.81, annex B).
func (e *JPEGEncoder) appendHeader(dst []byte, p *Packed) []byte {
	components := 3
	if p.Size == 1 {
		components = 1
	}
	tables := min(components, 2)
	dst = append(dst, 0xff, 0xd8) // SOI
	dst = append(dst, 0xff, 0xe0, 0, 16, 'J', 'F', 'I', 'F', 0, 1, 2, 0, 0, 1, 0, 1, 0, 0)
	for t := range tables {
		dst = append(dst, 0xff, 0xdb, 0, 67, byte(t)) // DQT
		dst = append(dst, e.quant[t][:]...)
	}
	dst = append(dst, 0xff, 0xc0, 0, byte(8+3*components), 8) // SOF0
	dst = binary.BigEndian.AppendUint16(dst, uint16(p.Height))
	dst = binary.BigEndian.AppendUint16(dst, uint16(p.Width))
	if components == 1 {
		dst = append(dst, 1, 1, 0x11, 0)
	} else {
		dst = append(dst, 3, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1)
	}
	for i := range huffmans[:2*tables] {
		h := &huffmans[i]
		dst = append(dst, 0xff, 0xc4, 0, byte(19+len(h.symbols)), h.id) // DHT
		dst = append(dst, h.lengths[:]...)
		dst = append(dst, h.symbols...)
	}
	dst = append(dst, 0xff, 0xda, 0, byte(6+2*components), byte(components)) // SOS
	for c := range components {
		dst = append(dst, byte(c+1), byte(min(c, 1)*0x11))
	}
	return append(dst, 0, 63, 0)
}

// unit returns the pixels of the side x side unit at (x, y) and their stride. The last row and
// column are repeated beyond the picture's edge.
func (e *JPEGEncoder) unit(p *Packed, x, y, side int) (pixels []byte, stride int) {
	if x+side <= p.Width && y+side <= p.Height {
		return p.Pixels[y*p.Stride+x*p.Size:], p.Stride
	}
	stride = side * p.Size
	for v := range side {
		row := p.Pixels[min(y+v, p.Height-1)*p.Stride:]
		for u := range side {
			at := min(x+u, p.Width-1) * p.Size
			copy(e.edge[v*stride+u*p.Size:], row[at:at+p.Size])
		}
	}
	return e.edge[:], stride
}

func (e *JPEGEncoder) scanGrey(p *Packed) {
	for y := 0; y < p.Height; y += 8 {
		for x := 0; x < p.Width; x += 8 {
			pixels, stride := e.unit(p, x, y, 8)
			for v := range 8 {
				row := pixels[v*stride:][:8]
				for u, grey := range row {
					e.block[8*v+u] = float32(int32(grey) - 128)
				}
			}
			e.write(&e.block, 0)
		}
	}
}

func (e *JPEGEncoder) scanColor(p *Packed) {
	for y := 0; y < p.Height; y += 16 {
		for x := 0; x < p.Width; x += 16 {
			pixels, stride := e.unit(p, x, y, 16)
			for v := 0; v < 16; v += 2 {
				e.convert(pixels[v*stride:], pixels[(v+1)*stride:], v, p)
			}
			for i := range e.luma {
				e.write(&e.luma[i], 0)
			}
			e.write(&e.chromaB, 1)
			e.write(&e.chromaR, 2)
		}
	}
}

// Weights of the colours in 1/65536 (JFIF 1.02): of luminance, and of both chroma.
const (
	lumaR, lumaG, lumaB = 19595, 38470, 7471
	blueR, blueG        = 11059, 21709 // taken from half the blue
	redG, redB          = 27439, 5329  // taken from half the red
)

// convert fills in rows v and v + 1 of the luminance blocks, and row v/2 of the chrominance
// blocks. It takes them from two rows of 16 pixels.
func (e *JPEGEncoder) convert(upper, lower []byte, v int, p *Packed) {
	size, red, green, blue := p.Size, p.Red, p.Green, p.Blue
	upper, lower = upper[:16*size], lower[:16*size]
	at := (v & 7) * 8
	chroma := v / 2 * 8
	for half := range 2 {
		luma := &e.luma[v>>3<<1|half]
		first, second := luma[at:at+8:at+8], luma[at+8:at+16:at+16]
		for u := 0; u < 8; u += 2 {
			i := (8*half + u) * size
			a, b := upper[i:i+2*size], lower[i:i+2*size]
			r0, g0, b0 := int32(a[red]), int32(a[green]), int32(a[blue])
			r1, g1, b1 := int32(a[size+red]), int32(a[size+green]), int32(a[size+blue])
			r2, g2, b2 := int32(b[red]), int32(b[green]), int32(b[blue])
			r3, g3, b3 := int32(b[size+red]), int32(b[size+green]), int32(b[size+blue])
			first[u], first[u+1] = luminance(r0, g0, b0), luminance(r1, g1, b1)
			second[u], second[u+1] = luminance(r2, g2, b2), luminance(r3, g3, b3)
			r, g, b4 := r0+r1+r2+r3, g0+g1+g2+g3, b0+b1+b2+b3
			c := chroma + 4*half + u/2
			e.chromaB[c&63] = float32(32768*b4-blueR*r-blueG*g) * (1. / (4 * 65536))
			e.chromaR[c&63] = float32(32768*r-redG*g-redB*b4) * (1. / (4 * 65536))
		}
	}
}

// luminance returns Y' from -128 to 127.
func luminance(r, g, b int32) float32 {
	return float32((lumaR*r+lumaG*g+lumaB*b+32768)>>16 - 128)
}

// write transforms, quantises and codes a block of a component.
func (e *JPEGEncoder) write(b *block, component int) {
	transform(b)
	table := min(component, 1)
	scale, levels := &e.scale[table], &e.levels
	var there uint64 // bit k: level k isn't zero
	for k, i := range &zigzag {
		// The sum is above zero, where truncating is rounding down.
		level := int32(b[i&63]*scale[i&63]+16384.5) - 16384
		levels[k] = level
		if level != 0 {
			there |= 1 << k
		}
	}
	w := &e.bits
	w.reserve()
	dc, ac := &codes[2*table], &codes[2*table+1]
	difference := levels[0] - e.last[component]
	e.last[component] = levels[0]
	w.level(dc, 0, difference)
	before := 0
	for there &^= 1; there != 0; there &= there - 1 {
		k := bits.TrailingZeros64(there)
		run := k - before - 1
		for ; run > 15; run -= 16 {
			w.put(ac[0xf0]>>8, ac[0xf0]&0xff) // ZRL
		}
		w.level(ac, uint32(run), levels[k&63])
		before = k
	}
	if before < 63 {
		w.put(ac[0]>>8, ac[0]&0xff) // EOB
	}
}

// bitWriter writes a scan's entropy-coded data: bits from the highest on, with a zero
// after each byte of ones (T.81, F.1.2.3).
type bitWriter struct {
	out  []byte
	held uint64 // the bits that aren't out yet, from the highest on
	n    uint32 // how many
}

// blockBytes is more than a block can take: 64 codes of at most 16 and 11 bits, each
// byte of them followed by a zero.
const blockBytes = 512

// reserve makes room for a block.
func (w *bitWriter) reserve() { w.out = slices.Grow(w.out, blockBytes) }

// level codes a level after a run of zeros: a symbol of the run and the level's size,
// and the level's bits (T.81, F.1.2).
func (w *bitWriter) level(t *codeTable, run uint32, level int32) {
	sign := level >> 31
	size := uint32(bits.Len32(uint32(level^sign) - uint32(sign)))
	code := t[(run<<4|size)&0xff]
	value := uint32(level+sign) & (1<<size - 1)
	w.put(code>>8<<size|value, code&0xff+size)
}

// put appends the low n bits of code, at most 27.
func (w *bitWriter) put(code, n uint32) {
	w.n += n
	w.held |= uint64(code) << (64 - w.n)
	if w.n >= 32 {
		w.flush(uint32(w.held >> 32))
		w.held <<= 32
		w.n -= 32
	}
}

// flush appends four bytes.
func (w *bitWriter) flush(word uint32) {
	if full := ^word; (full-0x01010101)&^full&0x80808080 == 0 { // no byte is 0xff
		w.out = binary.BigEndian.AppendUint32(w.out, word)
		return
	}
	for shift := 24; shift >= 0; shift -= 8 {
		w.byte(byte(word >> shift))
	}
}

func (w *bitWriter) byte(b byte) {
	w.out = append(w.out, b)
	if b == 0xff {
		w.out = append(w.out, 0)
	}
}

// finish fills the last byte with ones and returns all.
func (w *bitWriter) finish() []byte {
	w.put(0x7f, 7)
	for ; w.n >= 8; w.n -= 8 {
		w.byte(byte(w.held >> 56))
		w.held <<= 8
	}
	return w.out
}

// zigzag is the natural index of each coefficient in the order of transmission
// (T.81, figure A.6).
var zigzag = [64]uint8{
	0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5,
	12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7, 14, 21, 28,
	35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
	58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
}

// baseQuant are the quantisation tables of luminance and chrominance in natural
// order (T.81, tables K.1 and K.2).
var baseQuant = [2][64]int{
	{
		16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55,
		14, 13, 16, 24, 40, 57, 69, 56, 14, 17, 22, 29, 51, 87, 80, 62,
		18, 22, 37, 56, 68, 109, 103, 77, 24, 35, 55, 64, 81, 104, 113, 92,
		49, 64, 78, 87, 103, 121, 120, 101, 72, 92, 95, 98, 112, 100, 103, 99,
	},
	{
		17, 18, 24, 47, 99, 99, 99, 99, 18, 21, 26, 66, 99, 99, 99, 99,
		24, 26, 56, 99, 99, 99, 99, 99, 47, 66, 99, 99, 99, 99, 99, 99,
		99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99,
		99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99,
	},
}

// huffman is one table as T.81 lists it: how many codes have each length from 1 to
// 16, and their symbols.
type huffman struct {
	id      byte // class << 4 | destination, as in DHT
	lengths [16]uint8
	symbols string
}

// The tables of T.81, K.3.3: DC and AC of luminance, then of chrominance.
var huffmans = [4]huffman{
	{0x00, [16]uint8{0, 1, 5, 1, 1, 1, 1, 1, 1}, "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b"},
	{0x10, [16]uint8{0, 2, 1, 3, 3, 2, 4, 3, 5, 5, 4, 4, 0, 0, 1, 125}, "" +
		"\x01\x02\x03\x00\x04\x11\x05\x12\x21\x31\x41\x06\x13\x51\x61\x07\x22\x71\x14\x32\x81\x91\xa1\x08\x23\x42\xb1\xc1\x15\x52\xd1\xf0" +
		"\x24\x33\x62\x72\x82\x09\x0a\x16\x17\x18\x19\x1a\x25\x26\x27\x28\x29\x2a\x34\x35\x36\x37\x38\x39\x3a\x43\x44\x45\x46\x47\x48\x49" +
		"\x4a\x53\x54\x55\x56\x57\x58\x59\x5a\x63\x64\x65\x66\x67\x68\x69\x6a\x73\x74\x75\x76\x77\x78\x79\x7a\x83\x84\x85\x86\x87\x88\x89" +
		"\x8a\x92\x93\x94\x95\x96\x97\x98\x99\x9a\xa2\xa3\xa4\xa5\xa6\xa7\xa8\xa9\xaa\xb2\xb3\xb4\xb5\xb6\xb7\xb8\xb9\xba\xc2\xc3\xc4\xc5" +
		"\xc6\xc7\xc8\xc9\xca\xd2\xd3\xd4\xd5\xd6\xd7\xd8\xd9\xda\xe1\xe2\xe3\xe4\xe5\xe6\xe7\xe8\xe9\xea\xf1\xf2\xf3\xf4\xf5\xf6\xf7\xf8" +
		"\xf9\xfa"},
	{0x01, [16]uint8{0, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1}, "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b"},
	{0x11, [16]uint8{0, 2, 1, 2, 4, 4, 3, 4, 7, 5, 4, 4, 0, 1, 2, 119}, "" +
		"\x00\x01\x02\x03\x11\x04\x05\x21\x31\x06\x12\x41\x51\x07\x61\x71\x13\x22\x32\x81\x08\x14\x42\x91\xa1\xb1\xc1\x09\x23\x33\x52\xf0" +
		"\x15\x62\x72\xd1\x0a\x16\x24\x34\xe1\x25\xf1\x17\x18\x19\x1a\x26\x27\x28\x29\x2a\x35\x36\x37\x38\x39\x3a\x43\x44\x45\x46\x47\x48" +
		"\x49\x4a\x53\x54\x55\x56\x57\x58\x59\x5a\x63\x64\x65\x66\x67\x68\x69\x6a\x73\x74\x75\x76\x77\x78\x79\x7a\x82\x83\x84\x85\x86\x87" +
		"\x88\x89\x8a\x92\x93\x94\x95\x96\x97\x98\x99\x9a\xa2\xa3\xa4\xa5\xa6\xa7\xa8\xa9\xaa\xb2\xb3\xb4\xb5\xb6\xb7\xb8\xb9\xba\xc2\xc3" +
		"\xc4\xc5\xc6\xc7\xc8\xc9\xca\xd2\xd3\xd4\xd5\xd6\xd7\xd8\xd9\xda\xe2\xe3\xe4\xe5\xe6\xe7\xe8\xe9\xea\xf2\xf3\xf4\xf5\xf6\xf7\xf8" +
		"\xf9\xfa"},
}

// codeTable has for each symbol its code's length in the low byte and the code above.
type codeTable [256]uint32

// codes are the code tables of huffmans (T.81, annex C).
var codes = func() (all [4]codeTable) {
	for i := range huffmans {
		h, code, next := &huffmans[i], uint32(0), 0
		for n, count := range h.lengths {
			for range count {
				all[i][h.symbols[next]] = code<<8 | uint32(n+1)
				code++
				next++
			}
			code <<= 1
		}
	}
	return all
}()

// transform replaces a block by its discrete cosine transform, except for factors that
// quantisation makes good. Coefficient (i, j) is 8 leftOut(i) leftOut(j) times T.81's. The
// source is Arai, Agui and Nakajima, A Fast DCT-SQ Scheme for Images, 1988.
func transform(b *block) {
	for i := 0; i < 64; i += 8 {
		r := (*[8]float32)(b[i : i+8])
		r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7] = transform8(r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7])
	}
	for i := range 8 {
		b[i], b[i+8], b[i+16], b[i+24], b[i+32], b[i+40], b[i+48], b[i+56] =
			transform8(b[i], b[i+8], b[i+16], b[i+24], b[i+32], b[i+40], b[i+48], b[i+56])
	}
}

// transform8 transforms eight samples.
func transform8(x0, x1, x2, x3, x4, x5, x6, x7 float32) (y0, y1, y2, y3, y4, y5, y6, y7 float32) {
	const (
		c4       = 0.70710678 // cos(4π/16)
		c6       = 0.38268343
		c2LessC6 = 0.54119610
		c2AndC6  = 1.30656296
	)
	a0, a7 := x0+x7, x0-x7
	a1, a6 := x1+x6, x1-x6
	a2, a5 := x2+x5, x2-x5
	a3, a4 := x3+x4, x3-x4

	b0, b3 := a0+a3, a0-a3
	b1, b2 := a1+a2, a1-a2
	y0, y4 = b0+b1, b0-b1
	z := (b2 + b3) * c4
	y2, y6 = b3+z, b3-z

	d0, d1, d2 := a4+a5, a5+a6, a6+a7
	e5 := (d0 - d2) * c6
	e2 := c2LessC6*d0 + e5
	e4 := c2AndC6*d2 + e5
	e3 := d1 * c4
	f0, f1 := a7+e3, a7-e3
	return y0, f0 + e4, y2, f1 - e2, y4, f1 + e2, y6, f0 - e4
}
