package velodyne

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/raybridge/raybridge/bridges/internal/nmea"
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
	dst = nmea.AppendPlace(dst, place.Latitude, place.Longitude, 5)
	dst = utc.AppendFormat(dst, ",,,020106,,,A")
	return fmt.Appendf(dst, "*%02X\r\n", nmea.Checksum(dst[begin+1:]))
}
