package camera

import (
	"math"
	"slices"
)

// radial is a polynomial of the radius, r (1 + c0 r² + c1 r⁴ + c2 r⁶ + c3 r⁸), over
// the range in which it grows, so that it can be turned round.
type radial struct {
	c [4]float64
	// limit ends the range: where the polynomial turns back, or maxRadius.
	limit float64
}

// maxRadius is beyond what any pixel sees: 0.006 degrees beside the image plane.
const maxRadius = 1e4

func newRadial(c [4]float64) radial {
	// The derivative by r, as a polynomial of r².
	turns := positiveRoots([]float64{1, 3 * c[0], 5 * c[1], 7 * c[2], 9 * c[3]})
	limit := maxRadius
	if len(turns) > 0 {
		limit = min(limit, math.Sqrt(turns[0]))
	}
	return radial{c, limit}
}

// factor returns what the polynomial multiplies a radius by, given its square.
func (p *radial) factor(s float64) float64 {
	return 1 + s*(p.c[0]+s*(p.c[1]+s*(p.c[2]+s*p.c[3])))
}

// change returns the derivative of factor.
func (p *radial) change(s float64) float64 {
	return p.c[0] + s*(2*p.c[1]+s*(3*p.c[2]+s*4*p.c[3]))
}

// invert returns the radius that the polynomial turns into q >= 0; ok is false where
// none of its range does.
func (p *radial) invert(q float64) (r float64, ok bool) {
	value := func(r float64) float64 { return r * p.factor(r*r) }
	low, high := 0.0, p.limit
	if !(q <= value(high)) {
		return high, false
	}
	r = min(q, high)
	for range 200 {
		miss := value(r) - q
		if miss > 0 {
			high = r
		} else {
			low = r
		}
		s := r * r
		next := r - miss/(p.factor(s)+2*s*p.change(s))
		if !(next >= low && next <= high) { // Newton's step leaves what holds the root
			next = low + (high-low)/2
		}
		if next == r {
			break
		}
		r = next
	}
	return r, true
}

// positiveRoots returns where the polynomial c[0] + c[1] s + ... changes its sign at
// s > 0, in rising order: between the roots of its derivative there is at most one.
func positiveRoots(c []float64) []float64 {
	for len(c) > 0 && c[len(c)-1] == 0 {
		c = c[:len(c)-1]
	}
	if len(c) < 2 {
		return nil
	}
	derivative := make([]float64, len(c)-1)
	bound := 0.0 // Cauchy's, of all roots
	for i := range derivative {
		derivative[i] = float64(i+1) * c[i+1]
		bound = max(bound, math.Abs(c[i]/c[len(c)-1]))
	}
	at := func(s float64) (v float64) {
		for _, k := range slices.Backward(c) {
			v = v*s + k
		}
		return v
	}
	var roots []float64
	low := 0.0
	for _, high := range append(positiveRoots(derivative), 1+bound) {
		if a, b := at(low), at(high); (a < 0) != (b < 0) {
			roots = append(roots, bisect(at, low, high))
		}
		low = high
	}
	return roots
}

// bisect returns where f changes its sign between low and high, which differ in it.
func bisect(f func(float64) float64, low, high float64) float64 {
	below := f(low) < 0
	for {
		mid := low + (high-low)/2
		if mid <= low || mid >= high {
			return low
		}
		if (f(mid) < 0) == below {
			low = mid
		} else {
			high = mid
		}
	}
}
