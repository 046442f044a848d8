package sweep

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"github.com/raybridge/raybridge/internal/doc"
)

// draw is a random key.
type draw struct {
	Range
	whole bool
	// lines is what each value changes: those of written to the value's text, the others alike. nil is where a value has to
	// be set to see what it changes.
	lines   []leafLine
	written []bool
}

// changes is what a value changes.
func (d *draw) changes(text string) []leafLine {
	lines := slices.Clone(d.lines)
	for i, w := range d.written {
		if w {
			lines[i] = lineOf(lines[i].key, text)
		}
	}
	return lines
}

// prepare checks the ends of a range, with which each value between them is good, and finds what values change.
func (e *expansion) prepare(r Range) (draw, error) {
	d := draw{Range: r}
	if r.Whole {
		c := e.base.Copy()
		err := c.Set(r.Key.Text, doc.Number(r.Low+(r.High-r.Low)*0.387))
		if err == nil {
			_, err = c.Leaves()
		}
		d.whole = err != nil // else the ends are refused, too
	}
	var probes []*variant
	for _, share := range []float64{0, 1, 0.387, 0.7131} { // the ends, and where no other leaf has the same value
		v := Value{doc.Number(d.within(share)), r.Key.Place}
		if err := e.vary(r.Key, v); err != nil {
			return d, err
		}
		probes = append(probes, e.variants[r.Key.Text][v.Text])
	}
	like := probes[3]
	d.lines, d.written = like.changes, make([]bool, len(like.changes))
	for i, l := range like.changes {
		d.written[i] = l == lineOf(l.key, like.value.Text)
	}
	for _, v := range probes {
		changes := slices.DeleteFunc(d.changes(v.value.Text), func(l leafLine) bool { return e.leaves[l.key] == l })
		if !slices.Contains(d.written, true) || !slices.Equal(changes, v.changes) {
			d.lines, d.written = nil, nil
			break
		}
	}
	return d, nil
}

// draw returns the values of a random combination.
func (b *builder) draw(number uint64) []string {
	values := make([]string, len(b.draws))
	for i := range b.draws {
		d := &b.draws[i]
		text := doc.Number(d.at(b.file.Random.Seed, number))
		values[i] = text
		if d.lines == nil && b.variants[d.Key.Text][text] == nil {
			if err := b.vary(d.Key, Value{text, d.Key.Place}); err != nil {
				b.err = errors.Join(b.err, err)
			}
		}
	}
	return values
}

// at draws the value of a combination's number. It depends on nothing else than seed, key and number, so that a sweep
// that grows keeps the combinations that it had.
func (d *draw) at(seed, number uint64) float64 {
	text := binary.LittleEndian.AppendUint64(nil, seed)
	text = binary.LittleEndian.AppendUint64(text, number)
	sum := sha256.Sum256(append(text, d.Key.Text...))
	bits := binary.LittleEndian.Uint64(sum[:]) >> 11
	return d.within(float64(bits) / (1 << 53)) // [0, 1)
}

// within is the value at a share of the range.
func (d *draw) within(share float64) float64 {
	if d.whole {
		return min(d.Low+math.Floor(share*(d.High-d.Low+1)), d.High)
	}
	return min(d.Low+share*(d.High-d.Low), d.High)
}
