package simtime

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// ErrRate says that a rate is not a decimal number within its limits.
var ErrRate = errors.New("invalid rate")

// MaxRate is the highest Rate, in Hz: one instant a nanosecond.
const MaxRate = 1_000_000_000

// Rate is a frequency in Hz, held exactly as a fraction: 13.4 Hz is 67/5. Its
// instants are the grid floor(k * 1e9 * den / num) nanoseconds for integer k,
// which never drifts (law T3). The zero value is not a rate and has no grid.
type Rate struct{ f fraction }

// Hz returns the rate of n whole hertz, 1 to MaxRate; others give the zero Rate.
func Hz(n int64) Rate {
	if n < 1 || n > MaxRate {
		return Rate{}
	}
	return Rate{fraction{n, 1}}
}

// ParseRate reads a rate in Hz. It is written as a decimal number of at most 9 decimals, or as
// the quotient of two, such as 10/3 or 1/0.3. The rate is above 0 and up to MaxRate. Errors
// wrap ErrRate.
func ParseRate(text string) (Rate, error) {
	f, err := parseQuotient(text)
	if err != nil {
		return Rate{}, fmt.Errorf("%w: %q is %w", ErrRate, text, err)
	}
	r := Rate{f}
	if f.num == 0 || f.num/f.den > MaxRate || f.num/f.den == MaxRate && f.num%f.den != 0 {
		return Rate{}, fmt.Errorf("%w: %s Hz is outside (0, %d]", ErrRate, text, int64(MaxRate))
	}
	return r, nil
}

// MustRate is ParseRate for texts that are known when the program is compiled. It panics
// where that returns an error.
func MustRate(text string) Rate {
	r, err := ParseRate(text)
	if err != nil {
		panic(err)
	}
	return r
}

// RateOf returns the rate whose shortest decimal form is hertz's, so that 13.4
// means 67/5. Errors wrap ErrRate.
func RateOf(hertz float64) (Rate, error) {
	return ParseRate(strconv.FormatFloat(hertz, 'g', -1, 64))
}

// Every returns the rate whose instants are d apart: 100 Hz for 10 ms. The error, for a d
// that isn't above 0, or above 9 s and not a fraction of few digits, wraps ErrRate.
func Every(d time.Duration) (Rate, error) {
	f := fraction{second, int64(d)}
	if d > 0 {
		f = f.reduced()
	}
	if f.den <= 0 || f.den > math.MaxInt64/second {
		return Rate{}, fmt.Errorf("%w: one instant every %v", ErrRate, d)
	}
	return Rate{f}, nil
}

// IsZero reports whether r is not a rate.
func (r Rate) IsZero() bool { return r.f.num == 0 }

// Float64 returns the rate in Hz, for display.
func (r Rate) Float64() float64 { return r.f.float64() }

// Period returns the time between instants, rounded down to nanoseconds; 0 for
// the zero Rate.
func (r Rate) Period() time.Duration {
	if r.IsZero() {
		return 0
	}
	return time.Duration(second * r.f.den / r.f.num)
}

// At returns the k-th instant of the grid, floor(k * 1e9 * den / num), in
// nanoseconds. It saturates at the ends of int64. r must not be zero.
func (r Rate) At(k int64) Stamp {
	if k >= 0 {
		return Stamp(mulDiv(k, second*r.f.den, r.f.num))
	}
	if k == math.MinInt64 {
		k++
	}
	return -Stamp(mulDivCeil(-k, second*r.f.den, r.f.num))
}

// IndexAt returns the number of the last instant of the grid that is not after
// t nanoseconds: the largest k with At(k) <= t. r must not be zero.
func (r Rate) IndexAt(t Stamp) int64 {
	// floor(k*p) <= t  <=>  k*p < t+1  <=>  k < (t+1)/p
	switch {
	case t == math.MaxInt64:
		return mulDiv(int64(t), r.f.num, second*r.f.den)
	case t >= 0:
		return mulDivCeil(int64(t+1), r.f.num, second*r.f.den) - 1
	case t == math.MinInt64:
		t++
	}
	return -mulDiv(int64(-(t+1)), r.f.num, second*r.f.den) - 1
}

// String returns the rate in Hz as a decimal number, or as a quotient of whole numbers
// where it has no end as that.
func (r Rate) String() string { return r.f.String() }

// MarshalText writes the rate as String does.
func (r Rate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText is ParseRate.
func (r *Rate) UnmarshalText(text []byte) error {
	parsed, err := ParseRate(string(text))
	if err != nil {
		return err
	}
	*r = parsed
	return nil
}

// UnmarshalJSON reads a JSON number or a string that ParseRate reads.
func (r *Rate) UnmarshalJSON(data []byte) error {
	return r.UnmarshalText([]byte(strings.Trim(string(data), `"`)))
}

// ErrScale says that a time scale is not a decimal number within its limits.
var ErrScale = errors.New("invalid time scale")

// MaxScale is the largest Scale.
const MaxScale = 1000

// Scale is how many simulated seconds pass in a second of the host, held
// exactly as a fraction: 0.2 is 1/5. The zero value stands still.
type Scale struct{ f fraction }

// RealTime is the scale 1.
var RealTime = Scale{fraction{1, 1}}

// ParseScale reads a time scale written as a decimal number of at most 9
// decimals, from 0 to MaxScale. Errors wrap ErrScale.
func ParseScale(text string) (Scale, error) {
	f, err := parseFraction(text)
	if err != nil {
		return Scale{}, fmt.Errorf("%w: %q is %w", ErrScale, text, err)
	}
	if f.num > MaxScale*f.den {
		return Scale{}, fmt.Errorf("%w: %s is outside [0, %d]", ErrScale, text, MaxScale)
	}
	return Scale{f}, nil
}

// ScaleOf returns the scale whose shortest decimal form is value's. Errors wrap
// ErrScale.
func ScaleOf(value float64) (Scale, error) {
	return ParseScale(strconv.FormatFloat(value, 'g', -1, 64))
}

// IsZero reports whether time stands still at this scale.
func (s Scale) IsZero() bool { return s.f.num == 0 }

// Float64 returns the scale for display.
func (s Scale) Float64() float64 { return s.f.float64() }

// Apply returns how many nanoseconds of simulation time pass in the given ones,
// not negative, of the host's: exactly, rounded down. It is for sources that
// follow the scale.
func (s Scale) Apply(host int64) int64 {
	if s.IsZero() {
		return 0
	}
	return mulDiv(max(0, host), s.f.num, s.f.den)
}

// String returns the scale as a decimal number.
func (s Scale) String() string { return s.f.String() }

// MarshalText writes the scale as a decimal number.
func (s Scale) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText is ParseScale.
func (s *Scale) UnmarshalText(text []byte) error {
	parsed, err := ParseScale(string(text))
	if err != nil {
		return err
	}
	*s = parsed
	return nil
}

// UnmarshalJSON reads a JSON number or a string that ParseScale reads.
func (s *Scale) UnmarshalJSON(data []byte) error {
	return s.UnmarshalText([]byte(strings.Trim(string(data), `"`)))
}

// mapping is a line from host time to simulation time, both in nanoseconds:
// s0 at t0, advancing by scale. A change of scale starts a new line at its own
// instant (law T2).
type mapping struct {
	t0    int64
	s0    Stamp
	scale Scale
}

// at returns the simulation time at host time t, which is not before t0.
func (m mapping) at(t int64) Stamp {
	return m.s0 + Stamp(m.scale.Apply(t-m.t0))
}

// rescale returns the line that continues m from host time t at a new scale.
func (m mapping) rescale(t int64, scale Scale) mapping {
	return mapping{t0: t, s0: m.at(t), scale: scale}
}

// reaches returns the first host time at which m is at s or beyond; false if it
// never is.
func (m mapping) reaches(s Stamp) (int64, bool) {
	if s <= m.s0 {
		return m.t0, true
	}
	if m.scale.IsZero() {
		return 0, false
	}
	return m.t0 + mulDivCeil(int64(s-m.s0), m.scale.f.den, m.scale.f.num), true
}

// second is the clock's unit: nanoseconds in a second.
const second = 1_000_000_000

// mulDiv returns floor(a*b/c) for a, b >= 0 and c > 0, in 128 bits, saturating
// at the largest int64.
func mulDiv(a, b, c int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	return div128(hi, lo, c)
}

// mulDivCeil is mulDiv rounded up.
func mulDivCeil(a, b, c int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	lo, carry := bits.Add64(lo, uint64(c-1), 0)
	return div128(hi+carry, lo, c)
}

func div128(hi, lo uint64, c int64) int64 {
	if hi >= uint64(c) {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, uint64(c))
	return int64(min(q, math.MaxInt64))
}

// fraction is a non-negative number as num/den, in lowest terms.
type fraction struct{ num, den int64 }

// mostDecimals bounds den to 10^9, so that den nanoseconds-per-second products
// fit into 64 bits.
const mostDecimals = 9

var errDecimal = errors.New("not a decimal number of at most 9 decimals")

// parseFraction reads a decimal number such as 10, 13.4 or 2.5e-1.
func parseFraction(text string) (fraction, error) {
	mantissa, exponent, err := splitExponent(strings.TrimSpace(text))
	if err != nil {
		return fraction{}, err
	}
	whole, decimals, _ := strings.Cut(mantissa, ".")
	decimals = strings.TrimRight(decimals, "0")
	digits := whole + decimals
	if digits == "" || strings.Trim(digits, "0123456789") != "" || len(digits) > 18 {
		return fraction{}, errDecimal
	}
	num, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return fraction{}, errDecimal
	}
	f := fraction{num, 1}
	for shift := exponent - len(decimals); shift != 0; {
		if shift > 0 {
			if f.num > math.MaxInt64/10 {
				return fraction{}, errDecimal
			}
			f.num *= 10
			shift--
			continue
		}
		if f.den > math.MaxInt64/10 {
			return fraction{}, errDecimal
		}
		f.den *= 10
		shift++
	}
	f = f.reduced()
	if f.den > second {
		return fraction{}, errDecimal
	}
	return f, nil
}

var errQuotient = errors.New("not the quotient of two decimal numbers that has a denominator of at most 10^9")

// parseQuotient reads a decimal number, or the quotient of two.
func parseQuotient(text string) (fraction, error) {
	above, below, ok := strings.Cut(text, "/")
	if !ok {
		return parseFraction(text)
	}
	a, err := parseFraction(above)
	if err != nil {
		return fraction{}, errQuotient
	}
	b, err := parseFraction(below)
	if err != nil || b.num == 0 {
		return fraction{}, errQuotient
	}
	nums, dens := fraction{a.num, b.num}.reduced(), fraction{b.den, a.den}.reduced()
	num, den := mulDiv(nums.num, dens.num, 1), mulDiv(nums.den, dens.den, 1)
	if den > second || num == math.MaxInt64 {
		return fraction{}, errQuotient
	}
	return fraction{num, den}.reduced(), nil
}

// splitExponent parts 2.5e-1 into 2.5 and -1.
func splitExponent(text string) (mantissa string, exponent int, err error) {
	i := strings.IndexAny(text, "eE")
	if i < 0 {
		return text, 0, nil
	}
	exponent, err = strconv.Atoi(text[i+1:])
	if err != nil || exponent < -mostDecimals || exponent > mostDecimals {
		return "", 0, errDecimal
	}
	return text[:i], exponent, nil
}

func (f fraction) reduced() fraction {
	a, b := f.num, f.den
	for b != 0 {
		a, b = b, a%b
	}
	return fraction{f.num / a, f.den / a}
}

// String writes the fraction as a decimal number where it has a finite one, else as
// num/den.
func (f fraction) String() string {
	if f.den == 0 {
		return "0"
	}
	for scale, decimals := int64(1), 0; decimals <= mostDecimals; scale, decimals = scale*10, decimals+1 {
		if scale%f.den == 0 {
			digits := strconv.FormatInt(f.num/f.den, 10)
			if decimals == 0 {
				return digits
			}
			return fmt.Sprintf("%s.%0*d", digits, decimals, f.num%f.den*(scale/f.den))
		}
	}
	return fmt.Sprintf("%d/%d", f.num, f.den)
}

func (f fraction) float64() float64 {
	if f.den == 0 {
		return 0
	}
	return float64(f.num) / float64(f.den)
}
