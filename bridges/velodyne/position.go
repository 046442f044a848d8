package velodyne

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

// The position packet's size and places, bytes.
const (
	positionBytes = 512

	positionStampAt, pulseAt, sentenceAt = 0xC6, 0xCA, 0xCE

	pulseLocked = 2
)

// appendPosition appends the position packet of an instant at a place. Temperatures are 0.
func appendPosition(dst []byte, at simtime.Stamp, place spatial.Geodetic) []byte {
	begin := len(dst)
	dst = append(dst, make([]byte, positionBytes)...)
	packet := dst[begin:]
	binary.LittleEndian.PutUint32(packet[positionStampAt:], pastHour(at))
	packet[pulseAt] = pulseLocked
	copy(packet[sentenceAt:], appendRMC(nil, at, place))
	return dst
}

// appendRMC appends NMEA 0183's RMC: the time and date of the last full second, with simulation
// time as Unix time, and the place. Speed and course are left empty.
func appendRMC(dst []byte, at simtime.Stamp, place spatial.Geodetic) []byte {
	begin, utc := len(dst), time.Unix(0, int64(at)).UTC()
	dst = utc.AppendFormat(dst, "$GPRMC,150405,A,")
	dst = appendAngle(dst, place.Latitude, 2, "NS")
	dst = appendAngle(append(dst, ','), math.Remainder(place.Longitude, 360), 3, "EW")
	dst = utc.AppendFormat(dst, ",,,020106,,,A")
	var sum byte
	for _, c := range dst[begin+1:] {
		sum ^= c
	}
	return fmt.Appendf(dst, "*%02X\r\n", sum)
}

// appendAngle appends degrees, as so many digits, and minutes with the letter of the hemisphere.
func appendAngle(dst []byte, degrees float64, digits int, hemispheres string) []byte {
	const minute = 100_000
	letter := hemispheres[0]
	if degrees < 0 {
		letter = hemispheres[1]
	}
	units := int64(math.Round(math.Abs(degrees) * 60 * minute))
	whole, rest := units/(60*minute), units%(60*minute)
	return fmt.Appendf(dst, "%0*d%02d.%05d,%c", digits, whole, rest/minute, rest%minute, letter)
}
