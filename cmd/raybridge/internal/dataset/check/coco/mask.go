package coco

import (
	"errors"
	"fmt"
	"math"
)

// errRLE says that a string isn't a run-length encoded mask of COCO.
var errRLE = errors.New("is not a run-length encoded mask")

// maxPixels bounds the pixels of a picture, and so the runs of a mask.
const maxPixels = 1 << 26

// runs are a mask's run lengths over its pixels column by column (down, then right), those of zeros and ones in turn, the first of zeros.
type runs []int

// parseRuns decodes COCO's compressed form of runs. Characters from '0' on carry six bits: five of a number, lowest first, and one that says that more follow; the last
// group's bit 4 is the sign. From the fourth run on a number is the difference to the run two before.
func parseRuns(text string) (runs, error) {
	var all runs
	for at := 0; at < len(text); {
		value, shift := int64(0), 0
		for more := true; more; at++ {
			if at == len(text) {
				return nil, fmt.Errorf("%w: it ends within a number", errRLE)
			}
			group := int64(text[at]) - '0'
			if group < 0 || group > 63 || shift > 30 {
				return nil, fmt.Errorf("%w: character %d is %q", errRLE, at, text[at])
			}
			value |= group & 31 << shift
			shift += 5
			if more = group&32 != 0; !more && group&16 != 0 {
				value -= 1 << shift
			}
		}
		if len(all) > 2 {
			value += int64(all[len(all)-2])
		}
		if value < 0 || value > maxPixels {
			return nil, fmt.Errorf("%w: run %d has the length %d", errRLE, len(all), value)
		}
		all = append(all, int(value))
	}
	return all, nil
}

// pixels returns how many pixels the runs cover, ones how many of them are set.
func (r runs) pixels() (all int) {
	for _, n := range r {
		all += n
	}
	return all
}

func (r runs) ones() (set int) {
	for i := 1; i < len(r); i += 2 {
		set += r[i]
	}
	return set
}

// each calls f with the bounds of every run of ones.
func (r runs) each(f func(from, to int)) {
	at := 0
	for i, n := range r {
		if i%2 == 1 && n > 0 {
			f(at, at+n)
		}
		at += n
	}
}

// overlap returns how many pixels are set in both masks, which have the same size.
func (r runs) overlap(other runs) (both int) {
	i, j, endI, endJ, at := 0, 0, 0, 0, 0
	for {
		for ; endI <= at; i++ {
			if i == len(r) {
				return both
			}
			endI += r[i]
		}
		for ; endJ <= at; j++ {
			if j == len(other) {
				return both
			}
			endJ += other[j]
		}
		// Run i-1 of one mask and j-1 of the other are open at this pixel; odd ones are set.
		next := min(endI, endJ)
		if i%2 == 0 && j%2 == 0 {
			both += next - at
		}
		at = next
	}
}

// A pixelBox is a box in a picture in COCO's form: the first column and row, and how many columns and rows it has.
type pixelBox struct{ x, y, w, h float64 }

func (b pixelBox) area() float64 { return b.w * b.h }

// iou returns intersection over union of two boxes, 0 where both are empty.
func (b pixelBox) iou(o pixelBox) float64 {
	w := min(b.x+b.w, o.x+o.w) - max(b.x, o.x)
	h := min(b.y+b.h, o.y+o.h) - max(b.y, o.y)
	if w <= 0 || h <= 0 {
		return 0
	}
	return w * h / (b.area() + o.area() - w*h)
}

// near says whether all four numbers are equal within d.
func (b pixelBox) near(o pixelBox, d float64) bool {
	return math.Abs(b.x-o.x) <= d && math.Abs(b.y-o.y) <= d && math.Abs(b.w-o.w) <= d && math.Abs(b.h-o.h) <= d
}

// box returns the tight box of the set pixels of a mask with lines of the given length: columns of a height as COCO has them.
func (r runs) box(height int) pixelBox {
	first, last, low, high := math.MaxInt, -1, height, -1
	r.each(func(from, to int) {
		first, last = min(first, from/height), max(last, (to-1)/height)
		if from/height != (to-1)/height {
			low, high = 0, height-1
			return
		}
		low, high = min(low, from%height), max(high, (to-1)%height)
	})
	if last < 0 {
		return pixelBox{}
	}
	return pixelBox{float64(first), float64(low), float64(last - first + 1), float64(high - low + 1)}
}

// boxByRows is box for runs that go along the rows of a picture of that width: the mistake that COCO's readers don't notice.
func (r runs) boxByRows(width int) pixelBox {
	b := r.box(width)
	return pixelBox{b.y, b.x, b.h, b.w}
}
