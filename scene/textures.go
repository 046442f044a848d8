package scene

import (
	"cmp"
	"image"
	"math"
	"math/bits"
	"runtime"
	"sync"
)

// maxPictureSize is the largest width and height of the pictures on the GPU.
const maxPictureSize = 1024

// footprintTexels is how many texels of the scene's own largest picture a lidar's beam covers, along each side.
const footprintTexels = 16

// pictures are the textures of one of the two arrays on the GPU: colours (sRGB) or data (linear).
// All layers have one square size, in whose corner a smaller picture lies.
type pictures struct {
	scene *Scene
	srgb  bool
	order []int       // texture of each layer
	layer map[int]int // of each texture
	size  int         // of the layers: a power of two, at most maxPictureSize
	own   int         // the size that the pictures of those would need who are there from the start
}

// pictures returns the pictures of both arrays, those that a material shows.
func (s *Scene) pictures() (colors, data *pictures) {
	colors = &pictures{scene: s, srgb: true, layer: map[int]int{}, size: 1}
	data = &pictures{scene: s, layer: map[int]int{}, size: 1}
	own := s.ownMaterials()
	for i := range s.Materials {
		m := &s.Materials[i]
		colors.put(m.BaseColorTexture, own[i])
		colors.put(m.EmissiveTexture, own[i])
		data.put(m.MetalRoughTexture, own[i])
	}
	return colors, data
}

// ownMaterials returns, per material, whether the scene's own actors show it. Those that may come
// have models.
func (s *Scene) ownMaterials() []bool {
	own, seen := make([]bool, len(s.Materials)), make([]bool, len(s.Meshes))
	for _, a := range s.Actors {
		for i := range a.Parts {
			mesh := a.Parts[i].Mesh
			if seen[mesh] {
				continue
			}
			seen[mesh] = true
			for _, g := range s.Meshes[mesh].Groups {
				own[g.Material] = true
			}
		}
	}
	return own
}

func (p *pictures) put(texture int, own bool) {
	if texture < 0 || texture >= len(p.scene.Textures) {
		return
	}
	img := p.scene.Textures[texture].Image
	if img == nil || img.Rect.Empty() {
		return
	}
	w, h := pictureSize(img)
	size := 1 << bits.Len(uint(max(w, h)-1))
	p.size = max(p.size, size)
	if own {
		p.own = max(p.own, size)
	}
	if _, known := p.layer[texture]; !known {
		p.layer[texture] = len(p.order)
		p.order = append(p.order, texture)
	}
}

// pictureSize returns the size of a picture on the GPU: its own, as far as maxPictureSize goes.
func pictureSize(img *image.NRGBA) (w, h int) {
	w, h = img.Rect.Dx(), img.Rect.Dy()
	if most := max(w, h); most > maxPictureSize {
		w, h = max(1, (w*maxPictureSize+most/2)/most), max(1, (h*maxPictureSize+most/2)/most)
	}
	return w, h
}

// records returns a row for each layer: the layer, the picture's width and height, and how it is
// sampled. See Picture of lib/scene.glsl.
func (p *pictures) records() (rows []Row) {
	beams := cmp.Or(p.own, p.size)
	for layer, texture := range p.order {
		t := &p.scene.Textures[texture]
		w, h := pictureSize(t.Image)
		last := bits.Len(uint(max(w, h))) - 1
		beam := min(max(0, last+bits.Len(footprintTexels)-bits.Len(uint(beams))), last)
		sampling := int(t.WrapS) | int(t.WrapT)<<2 | int(t.Magnify&FilterNearestMipmapLinear)<<4 | int(t.Minify)<<5 | beam<<8
		rows = append(rows, Row{float32(layer), float32(w), float32(h), float32(sampling)})
	}
	return rows
}

// record returns the place of a texture's record, where those of the array begin at first; NoTexture
// for a texture that isn't there.
func (p *pictures) record(texture, first int) float32 {
	if layer, ok := p.layer[texture]; ok {
		return float32(first + layer)
	}
	return NoTexture
}

// mipmap is one level of a picture: RGBA8 pixels, row 0 the picture's top row.
type mipmap struct {
	w, h   int
	pixels []byte
}

// layersAtOnce is how many layers are made at a time, at most: each takes up to 6 MB until it is written.
const layersAtOnce = 8

// eachLayer calls write with the levels of every layer as they lie there, in order. As many as
// there are processors are made at a time.
func (p *pictures) eachLayer(write func(layer int, levels []mipmap) error) error {
	made := make([][]mipmap, min(layersAtOnce, runtime.GOMAXPROCS(0)))
	for first := 0; first < len(p.order); first += len(made) {
		made = made[:min(len(made), len(p.order)-first)]
		var making sync.WaitGroup
		for i := range made {
			making.Go(func() { made[i] = p.mipmaps(first + i) })
		}
		making.Wait()
		for i, levels := range made {
			if err := write(first+i, levels); err != nil {
				return err
			}
		}
	}
	return nil
}

// mipmaps returns the levels of a layer as they lie there, from the largest to a single pixel.
func (p *pictures) mipmaps(layer int) (levels []mipmap) {
	for level, m := range p.shrunk(layer) {
		levels = append(levels, m.around(p.size>>level))
	}
	return levels
}

// shrunk returns the levels of a layer's picture.
func (p *pictures) shrunk(layer int) (levels []mipmap) {
	img := p.scene.Textures[p.order[layer]].Image
	w, h := pictureSize(img)
	next := mipmap{w, h, resampled(img, w, h, p.srgb)}
	for {
		levels = append(levels, next)
		if w == 1 && h == 1 {
			return levels
		}
		half := image.NRGBA{Pix: next.pixels, Stride: 4 * w, Rect: image.Rect(0, 0, w, h)}
		w, h = max(1, w/2), max(1, h/2)
		next = mipmap{w, h, resampled(&half, w, h, p.srgb)}
	}
}

// around returns the pixels of a level with its first column and row once more behind the last.
// They are left out where a layer, which has some size at that level, has no room for them. A
// bilinear tap of a picture that repeats then reads neighbours.
func (m *mipmap) around(size int) mipmap {
	out := mipmap{w: min(m.w+1, size), h: min(m.h+1, size)}
	if out.w == m.w && out.h == m.h {
		return *m
	}
	out.pixels = make([]byte, 0, 4*out.w*out.h)
	for y := range out.h {
		row := m.pixels[4*m.w*(y%m.h):][:4*m.w]
		out.pixels = append(out.pixels, row...)
		if out.w > m.w {
			out.pixels = append(out.pixels, row[:4]...)
		}
	}
	return out
}

// resampled returns the picture as w x h RGBA8 pixels, which are no more than it has. Each is the
// average of what it covers. Colours are averaged in linear light if srgb. The pixels may be the picture's own.
func resampled(img *image.NRGBA, w, h int, srgb bool) []byte {
	iw, ih := img.Rect.Dx(), img.Rect.Dy()
	if w == iw && h == ih && img.Stride == 4*w {
		return img.Pix[: 4*w*h : 4*w*h]
	}
	out := make([]byte, 0, 4*w*h)
	if w == iw && h == ih {
		for y := range h {
			out = append(out, img.Pix[img.PixOffset(img.Rect.Min.X, img.Rect.Min.Y+y):][:4*w]...)
		}
		return out
	}
	curve := linearCurve()
	if srgb {
		curve = srgbCurve()
	}
	if iw == 2*w && ih == 2*h {
		return curve.halved(out, img)
	}
	columns, rows := footprints(iw, w), footprints(ih, h)
	for _, fy := range rows {
		for _, fx := range columns {
			var sum [4]float32
			for _, j := range fy {
				line := img.Pix[img.PixOffset(img.Rect.Min.X, img.Rect.Min.Y+j.at):]
				for _, i := range fx {
					p, f := line[4*i.at:][:4], i.weight*j.weight
					sum[0] += f * curve.light[p[0]]
					sum[1] += f * curve.light[p[1]]
					sum[2] += f * curve.light[p[2]]
					sum[3] += f * float32(p[3])
				}
			}
			out = append(out, curve.code(sum[0]), curve.code(sum[1]), curve.code(sum[2]), byte(min(sum[3], 255)+0.5))
		}
	}
	return out
}

// halved appends the picture at half its width and height: what resampled gives, without its lists.
func (c *curve) halved(out []byte, img *image.NRGBA) []byte {
	for y := img.Rect.Min.Y; y < img.Rect.Max.Y; y += 2 {
		upper := img.Pix[img.PixOffset(img.Rect.Min.X, y):][:4*img.Rect.Dx()]
		lower := img.Pix[img.PixOffset(img.Rect.Min.X, y+1):][:len(upper)]
		for len(upper) >= 8 && len(lower) >= 8 {
			u, l := upper[:8], lower[:8]
			const f = 0.25
			out = append(out,
				c.code(f*c.light[u[0]]+f*c.light[u[4]]+f*c.light[l[0]]+f*c.light[l[4]]),
				c.code(f*c.light[u[1]]+f*c.light[u[5]]+f*c.light[l[1]]+f*c.light[l[5]]),
				c.code(f*c.light[u[2]]+f*c.light[u[6]]+f*c.light[l[2]]+f*c.light[l[6]]),
				byte(f*float32(u[3])+f*float32(u[7])+f*float32(l[3])+f*float32(l[7])+0.5))
			upper, lower = upper[8:], lower[8:]
		}
	}
	return out
}

// tap is one source pixel's share in a resampled one.
type tap struct {
	at     int
	weight float32
}

// footprints returns what each of size pixels covers of n source pixels.
func footprints(n, size int) [][]tap {
	all := make([][]tap, size)
	scale := float64(n) / float64(size)
	for i := range all {
		lo, hi := float64(i)*scale, float64(i+1)*scale
		for k := int(lo); k < n && float64(k) < hi; k++ {
			all[i] = append(all[i], tap{k, float32((min(hi, float64(k+1)) - max(lo, float64(k))) / scale)})
		}
	}
	return all
}

// curve leads from a byte to what is averaged, 0..1, and back to the nearest byte.
type curve struct {
	light [256]float32
	next  [256]float32         // the least light of the code behind each
	step  [curveSteps + 1]byte // the code of the least light of each step
}

const curveSteps = 4096

// code returns the byte of light from 0 on.
func (c *curve) code(light float32) byte {
	k := c.step[int(min(light, 1)*curveSteps)]
	for light >= c.next[k] {
		k++
	}
	return k
}

func newCurve(decode func(v float64) float64) *curve {
	c := &curve{}
	for i := range c.light {
		c.light[i] = float32(decode(float64(i) / 255))
		c.next[i] = float32(decode((float64(i) + 0.5) / 255))
	}
	c.next[255] = math.MaxFloat32
	for i, k := 0, byte(0); i <= curveSteps; i++ {
		for float32(i)/curveSteps >= c.next[k] {
			k++
		}
		c.step[i] = k
	}
	return c
}

var (
	linearCurve = sync.OnceValue(func() *curve { return newCurve(func(v float64) float64 { return v }) })
	srgbCurve   = sync.OnceValue(func() *curve { return newCurve(decodeSRGB) })
)

// decodeSRGB is the transfer function of sRGB (IEC 61966-2-1), from 0..1 to linear light.
func decodeSRGB(v float64) float64 {
	if v <= 0.04045 {
		return v / 12.92
	}
	return math.Pow((v+0.055)/1.055, 2.4)
}
