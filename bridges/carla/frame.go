package carla

import (
	"encoding/binary"
	"math"

	"github.com/raybridge/raybridge/sensors/sample"
)

// Sizes of a frame's parts, bytes.
const (
	lengthBytes = 4
	headerBytes = 48
)

// appendFrame appends a frame: the length of what follows it, the header (packed: type
// id u64, frame u64, seconds f64, transform 6 f32), and the body.
func appendFrame(dst []byte, typeID uint64, h *sample.Header, body func([]byte) []byte) []byte {
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = binary.LittleEndian.AppendUint64(dst, typeID)
	dst = binary.LittleEndian.AppendUint64(dst, h.Frame)
	dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(seconds(h.StampNs)))
	dst = appendTransform(dst, h.Pose)
	dst = body(dst)
	binary.LittleEndian.PutUint32(dst[start:], uint32(len(dst)-start-lengthBytes))
	return dst
}

// seconds is the nearest number to a time: 0.3 s are 0.3.
func seconds(ns int64) float64 { return float64(ns) / 1e9 }
