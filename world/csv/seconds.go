package csv

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/raybridge/raybridge/simtime"
)

// mostSeconds bounds instants, so that the difference of two fits into 64 bits.
const mostSeconds = math.MaxInt64 / 2

// mostExponent is enough for whatever fits, as programs write it.
const mostExponent = 40

var errSeconds = errors.New("want seconds as a decimal number, below 4.6e9")

// seconds reads a decimal number of seconds, such as 12.05, -1 or 5e-05. It is exact to the nanosecond.
// Further decimals, which programs write that add up float64, are rounded half up in magnitude.
func seconds(text string) (simtime.Stamp, error) {
	text, negative := strings.CutPrefix(text, "-")
	mantissa, exponent := text, 0
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		var err error
		if exponent, err = strconv.Atoi(text[i+1:]); err != nil || exponent < -mostExponent || exponent > mostExponent {
			return 0, errSeconds
		}
		mantissa = text[:i]
	}
	whole, decimals, _ := strings.Cut(mantissa, ".")
	digits := whole + decimals
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return 0, errSeconds
	}
	// The first so many digits are whole nanoseconds.
	nanoseconds := len(whole) + exponent + 9
	var n int64
	for i := range max(nanoseconds, 0) {
		d := int64(0)
		if i < len(digits) {
			d = int64(digits[i] - '0')
		}
		if n > (mostSeconds-d)/10 {
			return 0, errSeconds
		}
		n = 10*n + d
	}
	if nanoseconds >= 0 && nanoseconds < len(digits) && digits[nanoseconds] >= '5' {
		n++
	}
	if negative {
		n = -n
	}
	return simtime.Stamp(n), nil
}
