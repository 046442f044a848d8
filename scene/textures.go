package scene

import (
	"image"
	"math"
)

// maxLayerSize is the largest width and height of the pictures on the GPU.
const maxLayerSize = 1024

// textureLayers says which layer of the two picture arrays holds each texture
// of the scene: one array for colours (sRGB), one for data (linear). All layers
// of an array have one square size.
type textureLayers struct {
	scene      *Scene
	colorOf    map[int]int // texture index to layer
	dataOf     map[int]int
	colorOrder []int // texture index of each layer
	dataOrder  []int
}

func (s *Scene) textureLayers() *textureLayers {
	l := &textureLayers{scene: s, colorOf: map[int]int{}, dataOf: map[int]int{}}
	for i := range s.Materials {
		m := &s.Materials[i]
		l.colorOrder = l.put(l.colorOf, l.colorOrder, m.BaseColorTexture)
		l.colorOrder = l.put(l.colorOf, l.colorOrder, m.EmissiveTexture)
		l.dataOrder = l.put(l.dataOf, l.dataOrder, m.MetalRoughTexture)
	}
	return l
}

func (l *textureLayers) put(of map[int]int, order []int, texture int) []int {
	if !l.has(texture) {
		return order
	}
	if _, ok := of[texture]; ok {
		return order
	}
	of[texture] = len(order)
	return append(order, texture)
}

func (l *textureLayers) has(texture int) bool {
	if texture < 0 || texture >= len(l.scene.Textures) {
		return false
	}
	img := l.scene.Textures[texture].Image
	return img != nil && !img.Rect.Empty()
}

func (l *textureLayers) color(texture int) (layer float32, wrap Wrap) {
	return l.find(l.colorOf, texture)
}
func (l *textureLayers) data(texture int) (layer float32, wrap Wrap) {
	return l.find(l.dataOf, texture)
}

func (l *textureLayers) find(of map[int]int, texture int) (float32, Wrap) {
	layer, ok := of[texture]
	if !ok {
		return NoTexture, WrapRepeat
	}
	return float32(layer), l.scene.Textures[texture].Wrap
}

// size returns the layer size of an array of textures: the power of two that
// holds the largest, at most maxLayerSize.
func (l *textureLayers) size(order []int) int {
	size := 1
	for _, t := range order {
		r := l.scene.Textures[t].Image.Rect
		for size < max(r.Dx(), r.Dy()) && size < maxLayerSize {
			size *= 2
		}
	}
	return size
}

// resampled returns the picture as size x size RGBA8 pixels, row 0 the picture's top row. It is
// averaged over each pixel's footprint where it shrinks, bilinear where it grows. Colours are
// averaged in linear light if srgb.
func resampled(img *image.NRGBA, size int, srgb bool) []byte {
	w, h := img.Rect.Dx(), img.Rect.Dy()
	out := make([]byte, 4*size*size)
	if w == size && h == size {
		for y := range size {
			copy(out[4*size*y:4*size*(y+1)], img.Pix[img.PixOffset(img.Rect.Min.X, img.Rect.Min.Y+y):])
		}
		return out
	}
	toLinear, toByte := linearByte, byteLinear
	if srgb {
		toLinear, toByte = linearSRGB, byteSRGB
	}
	columns, rows := footprints(w, size), footprints(h, size)
	for y, fy := range rows {
		for x, fx := range columns {
			var sum [4]float64
			for _, j := range fy {
				for _, i := range fx {
					p := img.Pix[img.PixOffset(img.Rect.Min.X+i.at, img.Rect.Min.Y+j.at):]
					f := i.weight * j.weight
					for c := range 3 {
						sum[c] += f * toLinear(p[c])
					}
					sum[3] += f * float64(p[3])
				}
			}
			o := out[4*(y*size+x):]
			for c := range 3 {
				o[c] = toByte(sum[c])
			}
			o[3] = byte(math.Round(min(sum[3], 255)))
		}
	}
	return out
}

// tap is one source pixel's share in a resampled one.
type tap struct {
	at     int
	weight float64
}

// footprints returns the taps of each of size pixels over n source pixels.
func footprints(n, size int) [][]tap {
	all := make([][]tap, size)
	scale := float64(n) / float64(size)
	for i := range all {
		if scale > 1 {
			lo, hi := float64(i)*scale, float64(i+1)*scale
			for k := int(lo); k < n && float64(k) < hi; k++ {
				all[i] = append(all[i], tap{k, (min(hi, float64(k+1)) - max(lo, float64(k))) / scale})
			}
			continue
		}
		at := (float64(i)+0.5)*scale - 0.5
		k := math.Floor(at)
		f := at - k
		all[i] = []tap{{wrapIndex(int(k), n), 1 - f}, {wrapIndex(int(k)+1, n), f}}
	}
	return all
}

func wrapIndex(i, n int) int { return ((i % n) + n) % n }

func linearByte(b byte) float64 { return float64(b) / 255 }
func byteLinear(v float64) byte { return byte(math.Round(255 * max(0, min(1, v)))) }

// linearSRGB and byteSRGB are the sRGB transfer function (IEC 61966-2-1) and
// its inverse.
func linearSRGB(b byte) float64 {
	v := float64(b) / 255
	if v <= 0.04045 {
		return v / 12.92
	}
	return math.Pow((v+0.055)/1.055, 2.4)
}

func byteSRGB(v float64) byte {
	if v <= 0.0031308 {
		return byteLinear(12.92 * v)
	}
	return byteLinear(1.055*math.Pow(v, 1/2.4) - 0.055)
}
