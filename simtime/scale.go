package simtime

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

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
	t0, s0 int64
	scale  Scale
}

// at returns the simulation time at host time t, which is not before t0.
func (m mapping) at(t int64) int64 {
	return m.s0 + m.scale.Apply(t-m.t0)
}

// rescale returns the line that continues m from host time t at a new scale.
func (m mapping) rescale(t int64, scale Scale) mapping {
	return mapping{t0: t, s0: m.at(t), scale: scale}
}

// reaches returns the first host time at which m is at s or beyond; false if it
// never is.
func (m mapping) reaches(s int64) (int64, bool) {
	if s <= m.s0 {
		return m.t0, true
	}
	if m.scale.IsZero() {
		return 0, false
	}
	return m.t0 + mulDivCeil(s-m.s0, m.scale.f.den, m.scale.f.num), true
}
