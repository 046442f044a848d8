package picture_test

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/internal/picture"
)

// scenery is a picture with smooth parts, edges and noise.
func scenery(width, height int) *image.RGBA {
	m := image.NewRGBA(image.Rect(0, 0, width, height))
	rng := rand.New(rand.NewPCG(1, 2))
	for y := range height {
		for x := range width {
			fx, fy := float64(x)/40, float64(y)/30
			c := color.RGBA{uint8(127 + 120*math.Sin(fx)), uint8(127 + 120*math.Cos(fy)), uint8(127 + 100*math.Sin(fx*fy/6)), 255}
			if (x/50+y/40)%4 == 0 {
				c = color.RGBA{uint8(200 + rng.IntN(50)), uint8(rng.IntN(60)), 40, 255}
			}
			m.SetRGBA(x, y, c)
		}
	}
	return m
}

// meanSquare returns the mean square difference of the first n colours.
func meanSquare(a, b image.Image, n int) (sum float64) {
	r := a.Bounds()
	for y := range r.Dy() {
		for x := range r.Dx() {
			var p, q [3]uint32
			p[0], p[1], p[2], _ = a.At(x, y).RGBA()
			q[0], q[1], q[2], _ = b.At(x, y).RGBA()
			for i := range n {
				d := (float64(p[i]) - float64(q[i])) / 257
				sum += d * d
			}
		}
	}
	return sum / float64(n*r.Dx()*r.Dy())
}

// packed writes a picture down with its colours at some places of pixels of a size.
func packed(m *image.RGBA, size, red, green, blue, padding int) *picture.Packed {
	p := &picture.Packed{
		Width: m.Rect.Dx(), Height: m.Rect.Dy(), Stride: m.Rect.Dx()*size + padding, Size: size, Red: red, Green: green, Blue: blue,
	}
	p.Pixels = bytes.Repeat([]byte{0xee}, p.Stride*p.Height)
	for y := range p.Height {
		for x := range p.Width {
			c, at := m.RGBAAt(x, y), p.Pixels[y*p.Stride+x*size:]
			if size == 1 {
				at[0] = c.G
				continue
			}
			at[red], at[green], at[blue] = c.R, c.G, c.B
		}
	}
	return p
}

// TestItIsAsGoodAsTheStandardLibrarys decodes pictures of all layouts, with and without
// units that hang over the edge.
func TestItIsAsGoodAsTheStandardLibrarys(t *testing.T) {
	var e picture.JPEGEncoder
	for _, side := range [][2]int{{160, 96}, {161, 97}, {1, 1}, {7, 31}, {175, 80}} {
		m := scenery(side[0], side[1])
		for _, quality := range []int{1, 20, 75, 95, 100} {
			var reference bytes.Buffer
			require.NoError(t, jpeg.Encode(&reference, m, &jpeg.Options{Quality: quality}))
			wanted, err := jpeg.Decode(bytes.NewReader(reference.Bytes()))
			require.NoError(t, err)
			want := meanSquare(m, wanted, 3)
			var first []byte
			for _, l := range [][5]int{{3, 0, 1, 2, 0}, {3, 2, 1, 0, 3}, {4, 2, 1, 0, 0}, {4, 0, 1, 2, 8}} {
				file, err := e.Append([]byte("kept"), packed(m, l[0], l[1], l[2], l[3], l[4]), quality)
				require.NoError(t, err)
				require.Equal(t, "kept", string(file[:4]))
				file = file[4:]
				if first == nil {
					first = file
				}
				require.Equal(t, first, file, "the layout makes no difference")
			}
			decoded, err := jpeg.Decode(bytes.NewReader(first))
			require.NoError(t, err)
			require.Equal(t, image.Rect(0, 0, side[0], side[1]), decoded.Bounds())
			got := meanSquare(m, decoded, 3)
			assert.LessOrEqual(t, got, 1.03*want+0.3, "%v at %d: as close as the standard library's", side, quality)
			assert.Less(t, float64(len(first)), 1.03*float64(reference.Len())+40, "%v at %d: as small", side, quality)
		}
	}
}

func TestGreyIsOneComponent(t *testing.T) {
	var e picture.JPEGEncoder
	m := scenery(61, 43)
	p := packed(m, 1, 0, 0, 0, 3)
	file, err := e.Append(nil, p, 90)
	require.NoError(t, err)
	decoded, err := jpeg.Decode(bytes.NewReader(file))
	require.NoError(t, err)
	grey := image.NewGray(m.Rect)
	for y := range 43 {
		for x := range 61 {
			grey.SetGray(x, y, color.Gray{m.RGBAAt(x, y).G})
		}
	}
	var reference bytes.Buffer
	require.NoError(t, jpeg.Encode(&reference, grey, &jpeg.Options{Quality: 90}))
	wanted, err := jpeg.Decode(&reference)
	require.NoError(t, err)
	require.IsType(t, grey, decoded)
	require.Equal(t, grey.Rect, decoded.Bounds())
	assert.LessOrEqual(t, meanSquare(grey, decoded, 1), 1.03*meanSquare(grey, wanted, 1)+0.3)
}

// TestExtremes encodes what has the largest levels and the longest codes.
func TestExtremes(t *testing.T) {
	var e picture.JPEGEncoder
	rng := rand.New(rand.NewPCG(5, 6))
	for name, fill := range map[string]func(x, y int) byte{
		"noise":   func(int, int) byte { return byte(rng.IntN(256)) },
		"bits":    func(int, int) byte { return byte(rng.IntN(2) * 255) },
		"black":   func(int, int) byte { return 0 },
		"white":   func(int, int) byte { return 255 },
		"checker": func(x, y int) byte { return byte((x + y) % 2 * 255) },
		"blocks":  func(x, y int) byte { return byte((x/8 + y/8) % 2 * 255) },
	} {
		m := image.NewRGBA(image.Rect(0, 0, 64, 64))
		for y := range 64 {
			for x := range 64 {
				m.SetRGBA(x, y, color.RGBA{fill(x, y), fill(x, y), fill(x, y), 255})
			}
		}
		file, err := e.Append(nil, packed(m, 1, 0, 0, 0, 0), 100)
		require.NoError(t, err)
		decoded, err := jpeg.Decode(bytes.NewReader(file))
		require.NoError(t, err, name)
		for y := range 64 {
			for x := range 64 {
				require.InDelta(t, m.RGBAAt(x, y).G, decoded.(*image.Gray).GrayAt(x, y).Y, 2, name)
			}
		}
		file, err = e.Append(nil, packed(m, 3, 0, 1, 2, 0), 100)
		require.NoError(t, err)
		_, err = jpeg.Decode(bytes.NewReader(file))
		require.NoError(t, err, name)
	}
}

func TestPicturesThatCannotBe(t *testing.T) {
	var e picture.JPEGEncoder
	good := packed(scenery(20, 10), 3, 0, 1, 2, 0)
	for name, spoil := range map[string]func(*picture.Packed){
		"no width":      func(p *picture.Packed) { p.Width = 0 },
		"too high":      func(p *picture.Packed) { p.Height = 70_000 },
		"two bytes":     func(p *picture.Packed) { p.Size = 2 },
		"far colour":    func(p *picture.Packed) { p.Blue = 3 },
		"negative":      func(p *picture.Packed) { p.Red = -1 },
		"short stride":  func(p *picture.Packed) { p.Stride = 50 },
		"short picture": func(p *picture.Packed) { p.Pixels = p.Pixels[:len(p.Pixels)-1] },
	} {
		p := *good
		spoil(&p)
		_, err := e.Append(nil, &p, 75)
		assert.ErrorIs(t, err, picture.ErrPacked, name)
	}
	for _, quality := range []int{0, 101} {
		_, err := e.Append(nil, good, quality)
		assert.ErrorIs(t, err, picture.ErrPacked)
	}
}

func TestItAllocatesNothing(t *testing.T) {
	var e picture.JPEGEncoder
	p := packed(scenery(160, 96), 3, 0, 1, 2, 0)
	buffer, err := e.Append(nil, p, 75)
	require.NoError(t, err)
	buffer = make([]byte, 0, 2*len(buffer)+1024)
	assert.Zero(t, testing.AllocsPerRun(10, func() {
		if _, err := e.Append(buffer, p, 75); err != nil {
			t.Error(err)
		}
	}))
}

func ExampleJPEGEncoder_Append() {
	var e picture.JPEGEncoder
	file, err := e.Append(nil, &picture.Packed{Pixels: make([]byte, 3*16*16), Width: 16, Height: 16, Stride: 48, Size: 3, Green: 1, Blue: 2}, 75)
	if err != nil {
		fmt.Println(err)
		return
	}
	m, err := jpeg.Decode(bytes.NewReader(file))
	fmt.Println(m.Bounds(), err)
	// Output: (0,0)-(16,16) <nil>
}

func BenchmarkAppend1920x1080(b *testing.B) {
	var e picture.JPEGEncoder
	p := packed(scenery(1920, 1080), 3, 0, 1, 2, 0)
	buffer := make([]byte, 0, 4<<20)
	for b.Loop() {
		if _, err := e.Append(buffer, p, 75); err != nil {
			b.Fatal(err)
		}
	}
}

// The standard library's encoder on the same picture, which it needn't be copied for.
func BenchmarkStandardLibrary1920x1080(b *testing.B) {
	m := scenery(1920, 1080)
	var buffer bytes.Buffer
	for b.Loop() {
		buffer.Reset()
		if err := jpeg.Encode(&buffer, m, &jpeg.Options{Quality: 75}); err != nil {
			b.Fatal(err)
		}
	}
}
