package mcap_test

import (
	"context"
	"math"
	"os"
	"testing"

	foxglove "github.com/foxglove/mcap/go/mcap"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/cdr"
	"github.com/raybridge/raybridge/bridges/internal/rosmsg"
	"github.com/raybridge/raybridge/bridges/internal/rossample"
	"github.com/raybridge/raybridge/bridges/mcap"
	"github.com/raybridge/raybridge/sensors/sample"
)

// room is a scan of a room of 20 m x 10 m: it compresses like a real one.
func room(rings, columns int) *sample.PointCloud {
	m := &sample.PointCloud{Rings: rings, Columns: columns}
	m.FrameID = "lidar"
	for column := range columns {
		azimuth := 2 * math.Pi * float64(column) / float64(columns)
		sin, cos := math.Sincos(azimuth)
		wall := min(10/max(math.Abs(cos), 1e-9), 5/max(math.Abs(sin), 1e-9))
		for ring := range rings {
			elevation := (float64(ring)/float64(rings) - 0.5) * math.Pi / 6
			m.Points = append(m.Points, sample.Point{
				X: float32(wall * cos), Y: float32(wall * sin), Z: float32(wall * math.Tan(elevation)), Intensity: float32(20 + ring%7),
				Azimuth: float32(azimuth), Elevation: float32(elevation), Distance: float32(wall / math.Cos(elevation)),
				Ring: uint16(ring), Return: 1, TimeNs: uint32(column * 55296), Ray: uint32(len(m.Points)),
			})
		}
	}
	return m
}

// gradient is a picture with the smoothness and the noise of a rendered one.
func gradient(width, height int) *sample.Image {
	m := &sample.Image{Width: width, Height: height, Step: 3 * width, Encoding: sample.EncodingRGB8}
	noise := uint32(1)
	for y := range height {
		for x := range width {
			noise = noise*1664525 + 1013904223
			dither := byte(noise >> 31)
			m.Data = append(m.Data, byte(x*256/width)+dither, byte(y*256/height), byte((x/40+y/40)%2*100))
		}
	}
	return m
}

// benchmark records msg with the bridge, and the same bytes with the library's
// bare writer; both write to the null device.
func benchmark[M any, P interface {
	*M
	rosmsg.Message
}, T bridges.Stamped](b *testing.B, msg T, convert func(P, T) error) {
	message := P(new(M))
	require.NoError(b, convert(message, msg))
	data := new(cdr.Encoder).Append(nil, message)
	null := func() *os.File {
		f, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
		require.NoError(b, err)
		return f
	}
	b.Run("bridge", func(b *testing.B) {
		f := mcap.FactoryOn{Open: func(string) (mcap.Target, error) { return null(), nil }}
		bridge := open(b, f, "a.mcap", bridges.Env{})
		publish, err := bridges.AddPublisher[T](bridge, bridges.Topic{Name: "/topic"})
		require.NoError(b, err)
		ctx := context.Background()
		require.NoError(b, bridge.Connect(ctx))
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			if err := publish(ctx, msg); err != nil {
				b.Fatal(err)
			}
		}
		require.NoError(b, bridge.Close(ctx))
	})
	b.Run("bare", func(b *testing.B) {
		file := null()
		defer file.Close()
		w, err := foxglove.NewWriter(file, &foxglove.WriterOptions{
			IncludeCRC: true, Chunked: true, Compression: foxglove.CompressionZSTD, CompressionLevel: foxglove.CompressionLevelFastest,
		})
		require.NoError(b, err)
		require.NoError(b, w.WriteHeader(&foxglove.Header{Profile: "ros2"}))
		require.NoError(b, w.WriteChannel(&foxglove.Channel{ID: 1, Topic: "/topic", MessageEncoding: "cdr"}))
		m := foxglove.Message{ChannelID: 1, Data: data}
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			if err := w.WriteMessage(&m); err != nil {
				b.Fatal(err)
			}
		}
		require.NoError(b, w.Close())
	})
}

func BenchmarkClock(b *testing.B) { benchmark(b, &sample.Clock{StampNs: 1}, rossample.Clock) }

func BenchmarkImage640x480(b *testing.B) { benchmark(b, gradient(640, 480), rossample.Image) }

func BenchmarkCloud16x1800(b *testing.B) { benchmark(b, room(16, 1800), rossample.PointCloud2) }

func BenchmarkCloud128x1800(b *testing.B) { benchmark(b, room(128, 1800), rossample.PointCloud2) }
