package fault

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Count is a number of things, for people: "1 actor", "2 actors". One is the word for one of
// them, whose plural ends in s.
func Count[N int | int64](n N, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// Number is v with so many significant digits, for people: 1741.3 with 3 is "1740", never "1.74e+03".
func Number(v float64, digits int) string {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'e', digits-1, 64), 64) // it is a number
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// NineDecimals is a time in nanoseconds as seconds with nine decimals: "1.120000000".
func NineDecimals(ns int64) string {
	sign, size := "", uint64(ns)
	if ns < 0 {
		sign, size = "-", -size
	}
	return fmt.Sprintf("%s%d.%09d", sign, size/1e9, size%1e9)
}

// Seconds is a time in nanoseconds for people: "1.12 s", exact.
func Seconds(ns int64) string {
	return strings.TrimSuffix(strings.TrimRight(NineDecimals(ns), "0"), ".") + " s"
}

// Place is a place for people, "(450000, 5400000, 1.5)", to seven digits.
func Place(at [3]float64) string {
	return fmt.Sprintf("(%s, %s, %s)", Number(at[0], 7), Number(at[1], 7), Number(at[2], 7))
}
