package carla_test

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/bridges/carla"
	"github.com/raybridge/raybridge/sensors/sample"
)

// bodies has a body of each kind whose size matters, by its encoder: pictures of so many
// pixels, scans of so many columns of 128.
func bodies(width, height, columns int) map[string]func(dst []byte) []byte {
	kinds := map[string]func(dst []byte) []byte{}
	for encoding, pixel := range map[string]int{
		"bgra8": 4, "rgb8": 3, "mono8": 1, "16UC1": 2, "32FC1": 4, "32FC2": 8, "32FC3": 12,
	} {
		m := image(encoding, width, height, width*pixel, 90, make([]byte, width*height*pixel))
		for i := 0; i+4 <= len(m.Data) && encoding[0] == '3'; i += 4 { // 0 to 1: depths and parts of normals
			binary.LittleEndian.PutUint32(m.Data[i:], math.Float32bits(float32(i%1000)/1000))
		}
		kinds[encoding] = func(dst []byte) []byte { return carla.AppendImage(dst, m) }
	}
	var lidar, semantic carla.CloudEncoder
	m := &sample.PointCloud{Header: header(), Rings: 128, Columns: columns, Points: make([]sample.Point, 128*columns)}
	for i := range m.Points {
		m.Points[i] = sample.Point{X: float32(i), Y: 1, Z: 2, Intensity: 50, Ray: uint32(i), Return: sample.ReturnStrongest}
	}
	kinds["points"] = func(dst []byte) []byte { return carla.AppendLidar(&lidar, dst, m) }
	kinds["semantic points"] = func(dst []byte) []byte { return carla.AppendSemanticLidar(&semantic, dst, m) }
	s := &sample.Snapshot{Header: header()}
	for i := range uint32(200) {
		s.Actors = append(s.Actors, sample.ActorState{ID: i, Kind: sample.KindVehicle, Pose: header().Pose})
	}
	kinds["200 actors"] = func(dst []byte) []byte { return carla.AppendSnapshot(dst, s) }
	return kinds
}

// BenchmarkEncode has pictures of 1080p and scans of 230,400 points.
func BenchmarkEncode(b *testing.B) {
	for name, encode := range bodies(1920, 1080, 1800) {
		b.Run(name, func(b *testing.B) {
			dst := encode(nil)
			b.SetBytes(int64(len(dst)))
			b.ReportAllocs()
			for b.Loop() {
				dst = encode(dst[:0])
			}
		})
	}
}

func TestEncodingAllocatesNothing(t *testing.T) {
	for name, encode := range bodies(64, 36, 10) {
		dst := encode(nil)
		assert.Zero(t, testing.AllocsPerRun(10, func() { dst = encode(dst[:0]) }), name)
	}
}
