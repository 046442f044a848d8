package simtime

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
)

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
