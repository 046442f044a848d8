package coco

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestParseRuns decodes strings that pycocotools made.
func TestParseRuns(t *testing.T) {
	for _, c := range []struct {
		text          string
		height, width int
		runs          runs
		area          int
		box           pixelBox
	}{
		{"5220003", 4, 5, runs{5, 2, 2, 2, 2, 2, 5}, 6, pixelBox{1, 1, 3, 2}},
		{"9", 3, 3, runs{9}, 0, pixelBox{}},
		{"09", 3, 3, runs{0, 9}, 9, pixelBox{0, 0, 3, 3}},
		{"013", 2, 2, runs{0, 1, 3}, 1, pixelBox{0, 0, 1, 1}},
		{"111000000000", 3, 4, runs{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 6, pixelBox{0, 0, 4, 3}},
		{"`aa41k>8J4M2N2O0O2O00000O20N1000001N101N2N3L6Hdc`4", 480, 640, nil, 317, pixelBox{310, 230, 21, 21}},
	} {
		r, err := parseRuns(c.text)
		require.NoError(t, err, c.text)
		if c.runs != nil {
			assert.Equal(t, c.runs, r, c.text)
		} else {
			assert.Len(t, r, 43)
		}
		assert.Equal(t, c.height*c.width, r.pixels(), c.text)
		assert.Equal(t, c.area, r.ones(), c.text)
		assert.Equal(t, c.box, r.box(c.height), c.text)
	}
	for _, text := range []string{"P", "a b", "/", "\x7f", "PPPPPPPPPPPPPPPP0", "O"} {
		_, err := parseRuns(text)
		assert.ErrorIs(t, err, errRLE, "%q", text)
	}
}

// TestRuns compares box and overlap of random masks with those of their pixels.
func TestRuns(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		h, w := 1+random.IntN(9), 1+random.IntN(9)
		a, b := randomPixels(random, h*w), randomPixels(random, h*w)
		both, area := 0, 0
		box := boxOf(func(x, y int) bool { return a[x*h+y] }, w, h)
		byRows := boxOf(func(x, y int) bool { return a[y*w+x] }, w, h)
		for i := range a {
			if a[i] {
				area++
				if b[i] {
					both++
				}
			}
		}
		ra, rb := runsOf(a), runsOf(b)
		assert.Equal(t, area, ra.ones())
		assert.Equal(t, both, ra.overlap(rb))
		assert.Equal(t, box, ra.box(h))
		assert.Equal(t, byRows, ra.boxByRows(w))
		parsed, err := parseRuns(runsText(ra))
		require.NoError(t, err)
		assert.Equal(t, ra, parsed)
	}
}

func randomPixels(random *rand.Rand, n int) []bool {
	set, level := make([]bool, n), random.Float64()
	for i := range set {
		set[i] = random.Float64() < level
	}
	return set
}

func boxOf(set func(x, y int) bool, w, h int) pixelBox {
	x0, y0, x1, y1 := w, h, -1, -1
	for y := range h {
		for x := range w {
			if set(x, y) {
				x0, y0, x1, y1 = min(x0, x), min(y0, y), max(x1, x), max(y1, y)
			}
		}
	}
	if x1 < 0 {
		return pixelBox{}
	}
	return pixelBox{float64(x0), float64(y0), float64(x1 - x0 + 1), float64(y1 - y0 + 1)}
}

// runsOf returns the runs of pixels in the order in which they lie.
func runsOf(set []bool) runs {
	r, open := runs{0}, false
	for _, s := range set {
		if s != open {
			r, open = append(r, 0), s
		}
		r[len(r)-1]++
	}
	return r
}

// runsText is the tests' encoder of COCO's strings.
func runsText(r runs) string {
	var text []byte
	for i, n := range r {
		if i > 2 {
			n -= r[i-2]
		}
		for {
			group := n & 31
			n >>= 5
			if last := n == 0 && group&16 == 0 || n == -1 && group&16 != 0; last {
				text = append(text, byte(group)+'0')
				break
			}
			text = append(text, byte(group|32)+'0')
		}
	}
	return string(text)
}

func FuzzParseRuns(f *testing.F) {
	for _, seed := range []string{"5220003", "`aa41k>8J4M2N2O0O2O00000O20N1000001N101N2N3L6Hdc`4", "", "P"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := parseRuns(text)
		if err != nil {
			return
		}
		again, err := parseRuns(runsText(r))
		require.NoError(t, err)
		assert.Equal(t, r, again)
		if n := r.pixels(); n > 0 {
			assert.Equal(t, r.ones(), r.overlap(r))
			r.box(1 + n%7)
		}
	})
}
