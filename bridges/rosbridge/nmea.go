package rosbridge

import (
	"context"
	"fmt"
	"math"
	"sync"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/nmea"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// sentenceType is what a fix is published as with gps=nmea.
const sentenceType = "nmea_msgs/msg/Sentence"

// openGnss makes the way of fixes, as the connection has them. That is NavSatFix, or two
// sentences, GPGGA with the place and QQ02C with the attitude, whose header has the sequence
// numbers 2n and 2n+1.
func openGnss(pub ros.Publication) bridges.OpenSample {
	return func(i bridges.Instance, info *bridges.PublishedTopic) (bridges.SendSample, error) {
		t, err := i.(*instance).add(info, pub.Type)
		if err != nil {
			return nil, err
		}
		var mu sync.Mutex
		convert := pub.Converter() // guarded by mu, as are the others
		var sentence ros.Sentence
		var text []byte
		return func(ctx context.Context, s simtime.Stamped) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			message, err := convert(s)
			if err != nil {
				return err
			}
			if !t.nmea.Load() {
				return t.send(ctx, message, s.Captured())
			}
			fix := s.(*sample.GnssFix) // convert takes no other
			if text, err = appendGGA(text[:0], fix); err != nil {
				return err
			}
			sentence.Header = message.(*ros.NavSatFix).Header
			sentence.Header.Seq, sentence.Sentence = uint32(2*fix.Seq), string(text)
			if err := t.send(ctx, &sentence, s.Captured()); err != nil {
				return err
			}
			text = appendAttitude(text[:0], fix)
			sentence.Header.Seq, sentence.Sentence = uint32(2*fix.Seq+1), string(text)
			return t.send(ctx, &sentence, s.Captured())
		}, nil
	}
}

// appendGGA appends NMEA 0183's GGA. It has time of day, place, quality of the fix, satellites,
// precision, height above the ellipsoid with a geoid separation of 0, and the checksum. The
// number of satellites (10) and the dilution of precision (0.01) are SVL's.
func appendGGA(dst []byte, fix *sample.GnssFix) ([]byte, error) {
	if !(math.Abs(fix.Latitude) <= 90 && math.Abs(fix.Longitude) <= 360) || math.IsNaN(fix.Altitude) || math.IsInf(fix.Altitude, 0) {
		return nil, fmt.Errorf("%w: no place on earth: latitude %v, longitude %v, altitude %v",
			bridges.ErrConvert, fix.Latitude, fix.Longitude, fix.Altitude)
	}
	begin := len(dst)
	dst = appendTimeOfDay(append(dst, "$GPGGA,"...), fix.Stamp)
	dst = nmea.AppendPlace(append(dst, ','), fix.Latitude, fix.Longitude, 6)
	dst = fmt.Appendf(dst, ",%d,10,0.01,%.6f,M,0.000000,M,,", quality(fix.Status), fix.Altitude)
	return fmt.Appendf(dst, "*%02X", nmea.Checksum(dst[begin+1:])), nil
}

// quality returns GGA's number for a NavSatStatus: no fix, fix, differential, RTK.
func quality(status int8) int {
	switch {
	case status < 0:
		return 0
	case status == 0:
		return 1
	case status == 1:
		return 2
	default:
		return 4
	}
}

// appendTimeOfDay appends HHmmss.fff of nanoseconds since an epoch that begins a day.
func appendTimeOfDay(dst []byte, at simtime.Stamp) []byte {
	const day = 24 * 3600 * 1000
	ms := at / 1_000_000
	if at%1_000_000 < 0 {
		ms--
	}
	if ms %= day; ms < 0 {
		ms += day
	}
	s := ms / 1000
	return fmt.Appendf(dst, "%02d%02d%02d.%03d", s/3600, s/60%60, s%60, ms%1000)
}

// appendAttitude appends the sentence that SVL sends for the attitude: roll, nose-up
// pitch and compass heading in degrees. Its checksum follows an @.
func appendAttitude(dst []byte, fix *sample.GnssFix) []byte {
	var roll, pitch, yaw float64
	if fix.Pose.Orientation.Len() > 0 {
		roll, pitch, yaw = fix.Pose.RPY()
	}
	// Clockwise from north, where yaw is counter-clockwise from east; rounded before it is
	// wrapped, so that nothing prints as 360.
	heading := math.Mod(math.Round((450-mgl64.RadToDeg(yaw))*1000)/1000, 360)
	begin := len(dst)
	dst = appendTimeOfDay(append(dst, "QQ02C,INSATT,V,"...), fix.Stamp)
	dst = appendDegrees(append(dst, ','), mgl64.RadToDeg(roll))
	dst = appendDegrees(append(dst, ','), -mgl64.RadToDeg(pitch))
	dst = append(appendDegrees(append(dst, ','), heading), ',')
	return fmt.Appendf(dst, "@%02X", nmea.Checksum(dst[begin:]))
}

// appendDegrees appends three decimals, and no negative zero.
func appendDegrees(dst []byte, degrees float64) []byte {
	return fmt.Appendf(dst, "%.3f", math.Round(degrees*1000)/1000+0)
}
