// Package nmea writes parts of the sentences of NMEA 0183.
package nmea

import (
	"fmt"
	"math"
)

// AppendPlace appends latitude and longitude, degrees, with a comma between them: whole degrees, two digits of minutes with so many
// decimals, and the letter of the hemisphere, as in 5230.5000,N,01324.0000,E.
func AppendPlace(dst []byte, latitude, longitude float64, decimals int) []byte {
	dst = appendAngle(dst, latitude, decimals, axis{2, "NS"})
	return appendAngle(append(dst, ','), math.Remainder(longitude, 360), decimals, axis{3, "EW"})
}

// axis has how many digits degrees take, and the letters of the positive and of the negative hemisphere.
type axis struct {
	digits  int
	letters string
}

func appendAngle(dst []byte, degrees float64, decimals int, a axis) []byte {
	minute := int64(math.Pow10(decimals))
	letter := a.letters[0]
	if degrees < 0 {
		letter = a.letters[1]
	}
	units := int64(math.Round(math.Abs(degrees) * float64(60*minute)))
	whole, rest := units/(60*minute), units%(60*minute)
	return fmt.Appendf(dst, "%0*d%02d.%0*d,%c", a.digits, whole, rest/minute, decimals, rest%minute, letter)
}

// Checksum is that of what stands between a sentence's first character and the one before its checksum.
func Checksum(text []byte) (sum byte) {
	for _, c := range text {
		sum ^= c
	}
	return sum
}
