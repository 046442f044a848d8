package coco

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// drawn makes a picture of 32SC1 ids, row by row, with pad bytes behind each row.
func drawn(pad, width, height int, id func(x, y int) uint32) (data []byte, step int) {
	step = 4*width + pad
	data = make([]byte, step*height)
	for y := range height {
		for x := range width {
			binary.LittleEndian.PutUint32(data[y*step+4*x:], id(x, y))
		}
	}
	return data, step
}

// TestMasksAreThoseOfPycocotools compares runs and strings with those that pycocotools prints.
func TestMasksAreThoseOfPycocotools(t *testing.T) {
	for name, tt := range map[string]struct {
		width, height int
		set           func(x, y int) bool
		runs          []int
		counts        string
		area          int
		box           [4]float64
	}{
		"block": {5, 4, func(x, y int) bool { return y >= 1 && y <= 2 && x >= 1 && x <= 3 },
			[]int{5, 2, 2, 2, 2, 2, 5}, "5220003", 6, [4]float64{1, 1, 3, 2}},
		"empty":    {3, 3, func(int, int) bool { return false }, []int{9}, "9", 0, [4]float64{}},
		"full":     {3, 3, func(int, int) bool { return true }, []int{0, 9}, "09", 9, [4]float64{0, 0, 3, 3}},
		"corner":   {2, 2, func(x, y int) bool { return x == 0 && y == 0 }, []int{0, 1, 3}, "013", 1, [4]float64{0, 0, 1, 1}},
		"chequers": {4, 3, func(x, y int) bool { return (x+y)%2 == 1 }, []int{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, "111000000000", 6, [4]float64{0, 0, 4, 3}},
		"disc": {640, 480, func(x, y int) bool { return (x-320)*(x-320)+(y-240)*(y-240) <= 100 }, nil,
			"`aa41k>8J4M2N2O0O2O00000O20N1000001N101N2N3L6Hdc`4", 317, [4]float64{310, 230, 21, 21}},
	} {
		t.Run(name, func(t *testing.T) {
			data, step := drawn(12, tt.width, tt.height, func(x, y int) uint32 {
				if tt.set(x, y) {
					return 70_000
				}
				return 0
			})
			var trace tracer
			m := trace.masks(data, step, tt.width, tt.height)[70_000]
			if tt.area == 0 {
				require.Nil(t, m)
				m = &mask{width: tt.width, height: tt.height}
			}
			if tt.runs != nil {
				assert.Equal(t, tt.runs, m.lengths())
			}
			assert.Equal(t, tt.counts, m.counts())
			assert.Equal(t, tt.area, m.area)
			assert.Equal(t, tt.box, m.box())
		})
	}
}

// decode reads the string of compressed runs, from the format's description.
func decode(text string) (runs []int) {
	for at := 0; at < len(text); {
		n, shift := 0, 0
		for {
			c := int(text[at]) - 48
			at++
			n |= (c & 31) << shift
			shift += 5
			if c&32 == 0 {
				if c&16 != 0 {
					n |= -1 << shift
				}
				break
			}
		}
		if len(runs) > 2 {
			n += runs[len(runs)-2]
		}
		runs = append(runs, n)
	}
	return runs
}

// TestMasksOfManyActors reads each actor's pixels back from its string and compares them, its area and its box with
// the picture, pixel by pixel.
func TestMasksOfManyActors(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var trace tracer // used again for pictures of other sizes
	for range 200 {
		width, height := 1+random.IntN(40), 1+random.IntN(40)
		ids := make([]uint32, width*height)
		for range random.IntN(12) {
			id, x0, y0 := random.Uint32N(4)*40_000, random.IntN(width), random.IntN(height)
			for y := y0; y < min(height, y0+1+random.IntN(20)); y++ {
				for x := x0; x < min(width, x0+1+random.IntN(20)); x++ {
					ids[y*width+x] = id
				}
			}
		}
		data, step := drawn(0, width, height, func(x, y int) uint32 { return ids[y*width+x] })
		masks := trace.masks(data, step, width, height)
		want := map[uint32]int{}
		for _, id := range ids {
			if id != 0 {
				want[id]++
			}
		}
		require.Len(t, masks, len(want))
		for _, id := range byID(masks) {
			m := masks[id]
			require.Equal(t, want[id], m.area)
			at := 0
			left, top, right, bottom := math.MaxInt, math.MaxInt, 0, 0
			for i, n := range decode(m.counts()) {
				for range n {
					x, y := at/height, at%height
					require.Equal(t, i%2 == 1, ids[y*width+x] == id)
					if i%2 == 1 {
						left, top, right, bottom = min(left, x), min(top, y), max(right, x+1), max(bottom, y+1)
					}
					at++
				}
			}
			require.Equal(t, width*height, at)
			require.Equal(t, [4]float64{float64(left), float64(top), float64(right - left), float64(bottom - top)}, m.box())
		}
	}
}

// inside reports whether a point lies in a polygon, by the number of edges to its right.
func inside(polygon []float64, x, y float64) bool {
	in := false
	for i := 0; i < len(polygon); i += 2 {
		k := (i + 2) % len(polygon)
		x1, y1, x2, y2 := polygon[i], polygon[i+1], polygon[k], polygon[k+1]
		if y1 > y != (y2 > y) && x < x1+(y-y1)/(y2-y1)*(x2-x1) {
			in = !in
		}
	}
	return in
}

// TestPolygons compares the polygons with the mask at the centre of each pixel: there is one round each part, and holes
// are filled.
func TestPolygons(t *testing.T) {
	for name, tt := range map[string]struct {
		rows  []string
		parts [][]float64
	}{
		"pixel":      {[]string{"...", ".#.", "..."}, [][]float64{{1, 1, 2, 1, 2, 2, 1, 2}}},
		"block":      {[]string{"##", "##"}, [][]float64{{0, 0, 2, 0, 2, 2, 0, 2}}},
		"corner":     {[]string{"#.", "##"}, [][]float64{{0, 0, 1, 0, 1, 1, 2, 1, 2, 2, 0, 2}}},
		"diagonal":   {[]string{"#.", ".#"}, [][]float64{{0, 0, 1, 0, 1, 1, 0, 1}, {1, 1, 2, 1, 2, 2, 1, 2}}},
		"other":      {[]string{".#", "#."}, [][]float64{{1, 0, 2, 0, 2, 1, 1, 1}, {0, 1, 1, 1, 1, 2, 0, 2}}},
		"hole":       {[]string{"###", "#.#", "###"}, [][]float64{{0, 0, 3, 0, 3, 3, 0, 3}}},
		"holes meet": {[]string{"####", "#.##", "##.#", "####"}, [][]float64{{0, 0, 4, 0, 4, 4, 0, 4}}},
	} {
		t.Run(name, func(t *testing.T) {
			data, step := drawn(0, len(tt.rows[0]), len(tt.rows), func(x, y int) uint32 {
				if tt.rows[y][x] == '#' {
					return 1
				}
				return 0
			})
			var trace tracer
			polygons := trace.masks(data, step, len(tt.rows[0]), len(tt.rows))[1].polygons()
			require.Len(t, polygons, len(tt.parts))
			for i, want := range tt.parts {
				assert.ElementsMatch(t, corners(want), corners(polygons[i]))
				for y := range tt.rows {
					for x := range tt.rows[y] {
						assert.Equal(t, inside(want, float64(x)+.5, float64(y)+.5), inside(polygons[i], float64(x)+.5, float64(y)+.5))
					}
				}
			}
		})
	}
}

func corners(polygon []float64) (list [][2]float64) {
	for i := 0; i < len(polygon); i += 2 {
		list = append(list, [2]float64{polygon[i], polygon[i+1]})
	}
	return list
}

// TestPolygonsOfNoise covers random masks: a pixel of the mask lies in one of the polygons, and a pixel in none isn't
// the mask's.
func TestPolygonsOfNoise(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 100 {
		width, height := 1+random.IntN(12), 1+random.IntN(12)
		data, step := drawn(0, width, height, func(int, int) uint32 { return random.Uint32N(2) })
		var trace tracer
		m := trace.masks(data, step, width, height)[1]
		if m == nil {
			continue
		}
		polygons := m.polygons()
		for y := range height {
			for x := range width {
				covered := false
				for _, p := range polygons {
					covered = covered || inside(p, float64(x)+.5, float64(y)+.5)
				}
				if binary.LittleEndian.Uint32(data[y*step+4*x:]) == 1 {
					require.True(t, covered)
				}
			}
		}
	}
}
