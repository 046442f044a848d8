package report

import (
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"math"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors/sample"
)

// drawImage shows an image's data as people see it, and says how.
func drawImage(m *sample.Image) (picture image.Image, caption string) {
	size := fmt.Sprintf("%d × %d, %s", m.Width, m.Height, m.Encoding)
	draw := pixelOf(m)
	if draw == nil {
		return image.NewNRGBA(image.Rect(0, 0, 1, 1)), size + ": not drawn"
	}
	out := image.NewNRGBA(image.Rect(0, 0, m.Width, m.Height))
	for y := range m.Height {
		for x := range m.Width {
			out.SetNRGBA(x, y, draw(x, y))
		}
	}
	return out, size + captions[m.Encoding]
}

var captions = map[string]string{
	sample.Encoding32FC1: ": depth in metres, bright is near",
	sample.EncodingMono8: ": semantic tags in CityScapes colours",
	sample.Encoding16UC1: ": a colour for each actor",
	sample.Encoding32SC1: ": a colour for each actor",
	sample.Encoding32FC3: ": normals as colours",
}

// pixelOf returns the colour of each pixel, nil for an encoding that isn't known.
func pixelOf(m *sample.Image) func(x, y int) color.NRGBA {
	u32 := func(at int) uint32 { return binary.LittleEndian.Uint32(m.Data[at:]) }
	f32 := func(at int) float64 { return float64(math.Float32frombits(u32(at))) }
	switch m.Encoding {
	case sample.EncodingRGB8:
		return func(x, y int) color.NRGBA {
			p := m.Data[y*m.Step+3*x:]
			return color.NRGBA{p[0], p[1], p[2], 255}
		}
	case sample.EncodingBGR8:
		return func(x, y int) color.NRGBA {
			p := m.Data[y*m.Step+3*x:]
			return color.NRGBA{p[2], p[1], p[0], 255}
		}
	case sample.EncodingMono8:
		return func(x, y int) color.NRGBA { return scene.Tag(m.Data[y*m.Step+x]).Color() }
	case sample.Encoding16UC1:
		return func(x, y int) color.NRGBA {
			return actorColor(uint32(binary.LittleEndian.Uint16(m.Data[y*m.Step+2*x:])))
		}
	case sample.Encoding32SC1:
		return func(x, y int) color.NRGBA { return actorColor(u32(y*m.Step + 4*x)) }
	case sample.Encoding32FC1:
		return func(x, y int) color.NRGBA { return rangeColor(f32(y*m.Step+4*x), 1, 120) }
	case sample.Encoding32FC3:
		return func(x, y int) color.NRGBA {
			at := y*m.Step + 12*x
			return normalColor(f32(at), f32(at+4), f32(at+8))
		}
	}
	return nil
}

// actorColor gives each instance a colour of its own, nothing black.
func actorColor(id uint32) color.NRGBA {
	if id == 0 {
		return color.NRGBA{A: 255}
	}
	h := id * 2654435761 // Knuth's multiplicative hash: neighbours differ
	return color.NRGBA{uint8(h>>24)/2 + 100, uint8(h>>16)/2 + 100, uint8(h>>8)/2 + 100, 255}
}

func normalColor(x, y, z float64) color.NRGBA {
	if math.IsNaN(x) {
		return color.NRGBA{A: 255}
	}
	c := func(v float64) uint8 { return uint8(127.5 * (v + 1)) }
	return color.NRGBA{c(x), c(-y), c(-z), 255}
}

// rangeColor shows a distance on a logarithmic scale from near to far metres,
// near bright; no distance is black.
func rangeColor(r, near, far float64) color.NRGBA {
	if !(r > 0) || math.IsInf(r, 0) {
		return color.NRGBA{A: 255}
	}
	return spectrum(1 - math.Log(r/near)/math.Log(far/near))
}

// spectrum maps 0..1 to dark violet, blue, green, yellow: even steps look even.
func spectrum(v float64) color.NRGBA {
	stops := [...][3]float64{{48, 18, 59}, {65, 100, 220}, {40, 180, 200}, {110, 220, 100}, {240, 210, 60}, {255, 255, 220}}
	v = max(0, min(1, v)) * float64(len(stops)-1)
	i := min(int(v), len(stops)-2)
	f := v - float64(i)
	mix := func(c int) uint8 { return uint8(stops[i][c] + f*(stops[i+1][c]-stops[i][c])) }
	return color.NRGBA{mix(0), mix(1), mix(2), 255}
}
