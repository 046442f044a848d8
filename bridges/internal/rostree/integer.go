package rostree

import (
	"fmt"
	"math"
)

// Integer is a number from an int64's least to an uint64's greatest: each type of ROS is
// within it.
type Integer struct {
	// Negative says that the number is Magnitude below zero.
	Negative  bool
	Magnitude uint64
}

// Signed returns an int64 as an Integer.
func Signed(n int64) Integer {
	if n < 0 {
		return Integer{Negative: true, Magnitude: -uint64(n)}
	}
	return Integer{Magnitude: uint64(n)}
}

// String returns the number's digits.
func (n Integer) String() string {
	if n.Negative {
		return fmt.Sprintf("-%d", n.Magnitude)
	}
	return fmt.Sprint(n.Magnitude)
}

// Float64 returns the nearest float64.
func (n Integer) Float64() float64 {
	if n.Negative {
		return -float64(n.Magnitude)
	}
	return float64(n.Magnitude)
}

// toSigned returns n as an integer of so many bits.
func (n Integer) toSigned(bits int) (int64, error) {
	most := uint64(1)<<(bits-1) - 1
	if n.Negative {
		most++
	}
	if n.Magnitude > most {
		return 0, fmt.Errorf("%v in an int%d: %w", n, bits, ErrRange)
	}
	if n.Negative {
		return int64(-n.Magnitude), nil
	}
	return int64(n.Magnitude), nil
}

// toUnsigned returns n as an integer of so many bits.
func (n Integer) toUnsigned(bits int) (uint64, error) {
	if n.Negative && n.Magnitude > 0 || n.Magnitude > math.MaxUint64>>(64-bits) {
		return 0, fmt.Errorf("%v in an uint%d: %w", n, bits, ErrRange)
	}
	return n.Magnitude, nil
}

// ToInteger returns f as an integer, ErrType if it has a fraction, ErrRange if it is
// beyond the integers that a float64 counts one by one.
func ToInteger(f float64) (Integer, error) {
	if f != math.Trunc(f) {
		return Integer{}, fmt.Errorf("%g for an integer: %w", f, ErrType)
	}
	if math.Abs(f) > 1<<53 {
		return Integer{}, fmt.Errorf("%g for an integer: %w", f, ErrRange)
	}
	return Signed(int64(f)), nil
}
