package mcap_test

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	foxglove "github.com/foxglove/mcap/go/mcap"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/mcap"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
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

// null is a target that takes everything.
func null(b *testing.B) *os.File {
	f, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	require.NoError(b, err)
	return f
}

// benchmark records msg with the bridge, in a profile, and the same bytes with the
// library's bare writer, by turns, both to the null device. It reports the time of one
// message for each, and the bridge's speed in percent of the bare writer's.
func benchmark[T simtime.Stamped](b *testing.B, profile string, msg T) {
	ctx := context.Background()
	f := mcap.Factory{Open: func(string) (bridges.Target, error) { return null(b), nil }}
	bridge := open(b, f, "a.mcap?profile="+profile, bridges.Env{})
	publish, err := bridges.AddPublisher[T](bridge, bridges.Topic{Name: "/topic"})
	require.NoError(b, err)
	require.NoError(b, bridge.Connect(ctx))
	require.NoError(b, publish(ctx, msg))
	data := make([]byte, bridge.Statistics().Bytes)
	encoded(b, profile, msg, data)

	file := null(b)
	defer file.Close()
	w, err := foxglove.NewWriter(file, &foxglove.WriterOptions{
		IncludeCRC: true, Chunked: true, Compression: foxglove.CompressionZSTD, CompressionLevel: foxglove.CompressionLevelFastest,
	})
	require.NoError(b, err)
	require.NoError(b, w.WriteHeader(&foxglove.Header{}))
	require.NoError(b, w.WriteChannel(&foxglove.Channel{ID: 1, Topic: "/topic", MessageEncoding: "cdr"}))
	bare := foxglove.Message{ChannelID: 1, Data: data}

	var took [2]time.Duration
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		begun := time.Now()
		if err := publish(ctx, msg); err != nil {
			b.Fatal(err)
		}
		between := time.Now()
		if err := w.WriteMessage(&bare); err != nil {
			b.Fatal(err)
		}
		took[0] += between.Sub(begun)
		took[1] += time.Since(between)
	}
	b.ReportMetric(float64(took[0].Nanoseconds())/float64(b.N), "bridge-ns/msg")
	b.ReportMetric(float64(took[1].Nanoseconds())/float64(b.N), "bare-ns/msg")
	b.ReportMetric(100*float64(took[1])/float64(took[0]), "%-of-bare")
	require.NoError(b, bridge.Close(ctx))
	require.NoError(b, w.Close())
}

// encoded sets data to the message as the bridge has it.
func encoded[T simtime.Stamped](b *testing.B, profile string, msg T, data []byte) {
	dir := b.TempDir()
	bridge := open(b, mcap.Factory{}, "a.mcap?profile="+profile, bridges.Env{OutDir: dir})
	publish, err := bridges.AddPublisher[T](bridge, bridges.Topic{Name: "/topic"})
	require.NoError(b, err)
	require.NoError(b, bridge.Connect(context.Background()))
	require.NoError(b, publish(context.Background(), msg))
	require.NoError(b, bridge.Close(context.Background()))
	file, err := os.Open(filepath.Join(dir, "a.mcap"))
	require.NoError(b, err)
	defer file.Close()
	reader, err := foxglove.NewReader(file)
	require.NoError(b, err)
	defer reader.Close()
	messages, err := reader.Messages()
	require.NoError(b, err)
	_, _, m, err := messages.NextInto(nil)
	require.NoError(b, err)
	require.Len(b, m.Data, len(data))
	copy(data, m.Data)
}

func BenchmarkClock(b *testing.B) { benchmark(b, "ros2", &sample.Clock{Stamp: 1}) }

func BenchmarkImage640x480(b *testing.B) { benchmark(b, "ros2", gradient(640, 480)) }

func BenchmarkImage640x480Foxglove(b *testing.B) { benchmark(b, "foxglove", gradient(640, 480)) }

func BenchmarkCloud16x1800(b *testing.B) { benchmark(b, "ros2", room(16, 1800)) }

func BenchmarkCloud128x1800(b *testing.B) { benchmark(b, "ros2", room(128, 1800)) }

func BenchmarkCloud128x1800Ros1(b *testing.B) { benchmark(b, "ros1", room(128, 1800)) }

func BenchmarkCloud128x1800Foxglove(b *testing.B) { benchmark(b, "foxglove", room(128, 1800)) }
