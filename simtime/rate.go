package simtime

import (
	"errors"
	"fmt"
	"math"
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
// which never drifts (law T3). The zero value is no rate and has no grid.
type Rate struct{ f fraction }

// Hz returns the rate of n whole hertz, 1 to MaxRate; others give the zero Rate.
func Hz(n int64) Rate {
	if n < 1 || n > MaxRate {
		return Rate{}
	}
	return Rate{fraction{n, 1}}
}

// ParseRate reads a rate in Hz written as a decimal number of at most 9 decimals, or as
// the quotient of two, such as 10/3 or 1/0.3; it is above 0 and up to MaxRate. Errors
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

// RateOf returns the rate whose shortest decimal form is hertz's, so that 13.4
// means 67/5. Errors wrap ErrRate.
func RateOf(hertz float64) (Rate, error) {
	return ParseRate(strconv.FormatFloat(hertz, 'g', -1, 64))
}

// IsZero reports whether r is no rate.
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
func (r Rate) At(k int64) int64 {
	if k >= 0 {
		return mulDiv(k, second*r.f.den, r.f.num)
	}
	if k == math.MinInt64 {
		k++
	}
	return -mulDivCeil(-k, second*r.f.den, r.f.num)
}

// IndexAt returns the number of the last instant of the grid that is not after
// t nanoseconds: the largest k with At(k) <= t. r must not be zero.
func (r Rate) IndexAt(t int64) int64 {
	// floor(k*p) <= t  <=>  k*p < t+1  <=>  k < (t+1)/p
	switch {
	case t == math.MaxInt64:
		return mulDiv(t, r.f.num, second*r.f.den)
	case t >= 0:
		return mulDivCeil(t+1, r.f.num, second*r.f.den) - 1
	case t == math.MinInt64:
		t++
	}
	return -mulDiv(-(t+1), r.f.num, second*r.f.den) - 1
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
