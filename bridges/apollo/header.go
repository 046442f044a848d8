package apollo

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/bridges/apollo/apollopb"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// Errors of the conversions.
var (
	// ErrStamp: a stamp lies before 0, which Apollo's unsigned nanoseconds can't say.
	errStamp = errors.New("stamp before 0")
	// ErrSize: the data's length doesn't agree with the shape it is said to have.
	errSize = errors.New("data size disagrees with shape")
	// ErrNumber: a number of a message that came in is infinite or no number.
	errNumber = errors.New("not a finite number")
)

// GPS time: its epoch, 1980-01-06, in Unix seconds, and its leap seconds since 2017
// (IERS Bulletin C 52).
const (
	gpsEpoch       = 315_964_800
	gpsLeapSeconds = 18
)

// seconds returns nanoseconds as seconds, rounded once.
func seconds(ns simtime.Stamp) float64 { return float64(ns/1e9) + float64(ns%1e9)/1e9 }

// gpsSeconds returns the GPS time of Unix nanoseconds.
func gpsSeconds(ns simtime.Stamp) float64 {
	return float64(ns/1e9-gpsEpoch+gpsLeapSeconds) + float64(ns%1e9)/1e9
}

// stamp returns a stamp as Apollo's unsigned nanoseconds.
func stamp(ns simtime.Stamp) (uint64, error) {
	if ns < 0 {
		return 0, fmt.Errorf("%w: %v", errStamp, time.Duration(ns))
	}
	return uint64(ns), nil
}

// setHeader sets a message's header, and returns it for what else belongs there.
func setHeader(field **apollopb.Header, src *sample.Header) (*apollopb.Header, error) {
	if _, err := stamp(src.Stamp); err != nil {
		return nil, err
	}
	h := part(field)
	set(&h.TimestampSec, seconds(src.Stamp))
	set(&h.SequenceNum, uint32(src.Seq))
	set(&h.FrameId, src.FrameID)
	return h, nil
}

// readHeader returns what a header says of a sample. Stamps are good to the quarter of
// a microsecond that seconds in a double have today.
func readHeader(h *apollopb.Header) (sample.Header, error) {
	ns := h.GetTimestampSec() * 1e9
	if !(math.Abs(ns) < math.MaxInt64) {
		return sample.Header{}, fmt.Errorf("timestamp_sec of %v: %w", h.GetTimestampSec(), errNumber)
	}
	return sample.Header{Stamp: simtime.Stamp(math.Round(ns)), Seq: uint64(h.GetSequenceNum()), FrameID: h.GetFrameId()}, nil
}

func setPoint(field **apollopb.Point3D, v mgl64.Vec3) {
	p := part(field)
	set(&p.X, v[0])
	set(&p.Y, v[1])
	set(&p.Z, v[2])
}

func readPoint(p *apollopb.Point3D) mgl64.Vec3 {
	if p == nil {
		return mgl64.Vec3{}
	}
	return mgl64.Vec3{p.GetX(), p.GetY(), p.GetZ()}
}

// finite reports whether all numbers are.
func finite(numbers ...float64) bool {
	for _, v := range numbers {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}
