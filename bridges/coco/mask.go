package coco

import (
	"encoding/binary"
	"maps"
	"slices"
)

// A mask is the pixels of a picture that show one actor, as COCO stores them: run lengths along the columns, each
// column from the top down and the columns from left to right. The first run is of pixels that aren't the actor's,
// and has length 0 if the first pixel is.
type mask struct {
	width, height int // of the picture
	runs          []int
	area          int // pixels
	// left and top are the first column and row that have pixels of the actor, right and bottom are behind the last.
	left, top, right, bottom int

	end int // of the last run that was added, in pixels from the picture's first
}

// add appends the actor's pixels from start up to end, both counted along the columns. They come in rising order.
func (m *mask) add(start, end int) {
	if m.area > 0 && start == m.end {
		m.runs[len(m.runs)-1] += end - start
	} else {
		m.runs = append(m.runs, start-m.end, end-start)
	}
	left, top, right, bottom := start/m.height, start%m.height, (end-1)/m.height+1, (end-1)%m.height+1
	if right-left > 1 { // it has the last row of a column and the first of the next
		top, bottom = 0, m.height
	}
	if m.area == 0 {
		m.left, m.top, m.right, m.bottom = left, top, right, bottom
	} else {
		m.top, m.right, m.bottom = min(m.top, top), max(m.right, right), max(m.bottom, bottom)
	}
	m.area += end - start
	m.end = end
}

// lengths returns all runs, with the one of zeros behind the actor's last pixel, if there is one.
func (m *mask) lengths() []int {
	if rest := m.width*m.height - m.end; rest > 0 || len(m.runs) == 0 {
		return append(m.runs[:len(m.runs):len(m.runs)], rest)
	}
	return m.runs
}

// box returns COCO's bbox: the corner at the top left, width and height, in pixels from the picture's corner. It is
// zero for an empty mask.
func (m *mask) box() [4]float64 {
	return [4]float64{float64(m.left), float64(m.top), float64(m.right - m.left), float64(m.bottom - m.top)}
}

// counts returns the runs as the string that COCO's programs read. From the fourth run on, a number is the
// difference to the run two before. A number is written in groups of five bits, the lowest first, each plus 48. Bit 5
// is set while more groups follow. The last group's bit 4 is the number's sign.
func (m *mask) counts() string {
	var text []byte
	runs := m.lengths()
	for i, n := range runs {
		if i > 2 {
			n -= runs[i-2]
		}
		for more := true; more; {
			group := byte(n & 0x1f)
			n >>= 5
			more = n != 0 && n != -1 || (group&0x10 != 0) != (n == -1)
			if more {
				group |= 0x20
			}
			text = append(text, group+48)
		}
	}
	return string(text)
}

// A tracer finds the masks of pictures. Its zero value is ready. One goroutine uses it at a time.
type tracer struct {
	columns []uint32 // the picture, column by column
}

// masks returns the mask of each actor that a picture of 32SC1 ids shows, by id. Rows are step bytes apart. 0 stands
// for no actor. The picture is read once, however many actors it shows.
func (t *tracer) masks(data []byte, step, width, height int) map[uint32]*mask {
	t.turn(data, step, width, height)
	found := map[uint32]*mask{}
	for start := 0; start < len(t.columns); {
		id, end := t.columns[start], start+1
		for end < len(t.columns) && t.columns[end] == id {
			end++
		}
		if id != 0 {
			m := found[id]
			if m == nil {
				m = &mask{width: width, height: height}
				found[id] = m
			}
			m.add(start, end)
		}
		start = end
	}
	return found
}

// band is how many columns are turned at a time: the pixels of one cache line.
const band = 16

// turn stores a picture column by column.
func (t *tracer) turn(data []byte, step, width, height int) {
	t.columns = slices.Grow(t.columns[:0], width*height)[:width*height]
	for first := 0; first < width; first += band {
		last := min(first+band, width)
		for y := range height {
			row := data[y*step+4*first : y*step+4*last]
			for x := first; x < last; x++ {
				t.columns[x*height+y] = binary.LittleEndian.Uint32(row[4*(x-first):])
			}
		}
	}
}

// byID returns the masks' ids, rising.
func byID(masks map[uint32]*mask) []uint32 { return slices.Sorted(maps.Keys(masks)) }
