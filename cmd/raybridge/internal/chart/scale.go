package chart

import (
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
)

// greatest and least bound the values that are drawn, so that no range overflows.
const (
	greatest = 1e300
	least    = 1e-290
)

// drawable tells whether a value has a place on an axis.
func drawable(v float64, log bool) bool {
	if log {
		return v >= 1/greatest && v <= greatest
	}
	return math.Abs(v) <= greatest // false for NaN
}

// extent is a range of values; the zero value is of none.
type extent struct {
	lo, hi float64
	some   bool
}

func (e *extent) add(v float64) {
	if !e.some {
		*e = extent{v, v, true}
		return
	}
	e.lo, e.hi = min(e.lo, v), max(e.hi, v)
}

func (e *extent) join(other extent) {
	if other.some {
		e.add(other.lo)
		e.add(other.hi)
	}
}

// linear returns the extent, no narrower than can be divided.
func (e extent) linear() extent {
	if !e.some {
		return extent{0, 1, true}
	}
	if e.hi-e.lo < max(least, 1e-9*math.Abs(e.lo), 1e-9*math.Abs(e.hi)) {
		d := max(0.5, 1e-6*math.Abs(e.lo))
		return extent{e.lo - d, e.hi + d, true}
	}
	return e
}

// heights returns what a linear Y axis shows: zero, the values, and some air.
func (e extent) heights() extent {
	e.add(0)
	if e.hi-e.lo < least {
		return extent{0, 1, true}
	}
	const air = 0.06
	d := (e.hi - e.lo) * air
	if e.lo < 0 {
		e.lo -= d
	}
	if e.hi > 0 {
		e.hi += d
	}
	return e
}

// decades returns the extent up to the next of 1, 2 and 5 of a decade on both sides.
func (e extent) decades() extent {
	if !e.some {
		return extent{1, 10, true}
	}
	out := extent{below(e.lo), -1, true}
	if out.hi = above(e.hi); out.hi <= out.lo {
		out.hi = above(out.lo * 1.5)
	}
	return out
}

// rounding lets 9.99999 be a 10.
const rounding = 1e-9

func below(v float64) float64 {
	k := int(math.Floor(math.Log10(v) + rounding))
	for _, d := range []float64{5, 2} {
		if scaled(d, k) <= v*(1+rounding) {
			return scaled(d, k)
		}
	}
	return scaled(1, k)
}

func above(v float64) float64 {
	k := int(math.Floor(math.Log10(v) + rounding))
	for _, d := range []float64{1, 2, 5} {
		if scaled(d, k) >= v*(1-rounding) {
			return scaled(d, k)
		}
	}
	return scaled(1, k+1)
}

// scaled returns d * 10^k, for negative k as the nearest number to the decimal
// fraction.
func scaled(d float64, k int) float64 {
	if k < 0 {
		return d / math.Pow10(-k)
	}
	return d * math.Pow10(k)
}

// ticks are the ticks of an axis whose range is known.
type ticks []plot.Tick

// Ticks returns them.
func (t ticks) Ticks(float64, float64) []plot.Tick { return t }

// linearTicks divides a range into about so many parts of 1, 2 or 5 times a power
// of ten, and those into five or four with ticks that have no label.
func linearTicks(e extent, parts int) ticks {
	rough := (e.hi - e.lo) / float64(parts)
	k := int(math.Floor(math.Log10(rough)))
	digit, minor := 10.0, 5
	for _, c := range []struct {
		digit float64
		minor int
	}{{5, 5}, {2, 4}, {1, 5}} {
		if scaled(c.digit, k) >= rough*(1-rounding) {
			digit, minor = c.digit, c.minor
		}
	}
	var out ticks
	step := scaled(digit, k) / float64(minor)
	for i := math.Ceil(e.lo/step - rounding); i*step <= e.hi+step*rounding; i++ {
		t := plot.Tick{Value: i * step}
		if math.Mod(i, float64(minor)) == 0 {
			t.Value = scaled(i/float64(minor)*digit, k)
			t.Label = number(t.Value, 1e6)
		}
		out = append(out, t)
	}
	return out
}

// logTicks has a label at each decade, or at every so many of them where there are
// more than would fit; in a range of few decades at 2 and 5 too.
func logTicks(e extent, most int) ticks {
	first, last := int(math.Floor(math.Log10(e.lo)+rounding)), int(math.Ceil(math.Log10(e.hi)-rounding))
	decades := last - first
	each := (decades + most - 1) / most // decades per label
	var out ticks
	for k := first; k <= last; k++ {
		for d := 1.0; d <= 9; d++ {
			t := plot.Tick{Value: scaled(d, k)}
			if t.Value < e.lo*(1-rounding) || t.Value > e.hi*(1+rounding) {
				continue
			}
			switch {
			case d == 1 && (k-first)%each == 0, (d == 2 || d == 5) && 3*decades <= most:
				t.Label = number(t.Value, 1e5)
			case d > 1 && each > 1:
				continue // the ticks would touch each other
			}
			out = append(out, t)
		}
	}
	return out
}

// number writes a tick's label: 1500, 0.02, and from a limit on 2e9.
func number(v, limit float64) string {
	if v == 0 {
		return "0" // never -0
	}
	if a := math.Abs(v); a >= 1e-3 && a < limit {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(v, 'e', -1, 64), "e")
	k, _ := strconv.Atoi(exponent) // FormatFloat writes digits with a sign
	return mantissa + "e" + strconv.Itoa(k)
}
