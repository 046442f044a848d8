package sweep

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"math"

	"github.com/raybridge/raybridge/internal/doc"
)

// draw is a random key.
type draw struct {
	Range
	whole bool
	// leaf is the one that each value changes, to its text; "" where a value has to be set to see what it changes.
	leaf string
}

// prepare checks the ends of a range, with which each value between them is good.
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
	for _, end := range []float64{r.Low, r.High} {
		v := Value{doc.Number(end), r.Key.Place}
		if err := e.vary(r.Key, v); err != nil {
			return d, err
		}
		switch changes := e.variants[r.Key.Text][v.Text].changes; {
		case len(changes) == 0: // as the base has it
		case len(changes) == 1 && changes[0] == lineOf(changes[0].key, v.Text) && (d.leaf == "" || d.leaf == changes[0].key):
			d.leaf = changes[0].key
		default:
			d.leaf = ""
			return d, nil
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
		if d.leaf == "" && b.variants[d.Key.Text][text] == nil {
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
	share := float64(bits) / (1 << 53) // [0, 1)
	if d.whole {
		return min(d.Low+math.Floor(share*(d.High-d.Low+1)), d.High)
	}
	return min(d.Low+share*(d.High-d.Low), d.High)
}
