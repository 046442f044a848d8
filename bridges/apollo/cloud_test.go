package apollo

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/apollo/apollopb"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// randomCloud has stamps of all lengths as varints.
func randomCloud(r *rand.Rand) *sample.PointCloud {
	c := &sample.PointCloud{Rings: 1 + r.IntN(5), Columns: r.IntN(40), Organized: r.IntN(2) == 0, UnitIntensity: r.IntN(2) == 0}
	c.Stamp = simtime.Stamp(r.Int64() >> r.IntN(63))
	c.FrameID = "lidar"[:r.IntN(6)]
	if c.Organized {
		c.Columns++
	}
	rings := r.Perm(c.Rings)
	if r.IntN(3) == 0 {
		rings[0] += 3 // not 0 to Rings-1
	}
	for i := range c.Rings * c.Columns {
		p := sample.Point{
			X: r.Float32(), Y: -r.Float32(), Z: float32(r.NormFloat64()), Ring: uint16(rings[i%c.Rings]),
			Intensity: r.Float32() * 300, TimeNs: r.Uint32() >> r.IntN(32),
		}
		if r.IntN(4) == 0 {
			p.X, p.Intensity = float32(math.NaN()), float32(math.NaN())
		}
		c.Points = append(c.Points, p)
	}
	return c
}

// TestCloudBytes holds what is written by hand against protobuf's own encoder.
func TestCloudBytes(t *testing.T) {
	var got, want []byte
	b := open(t, &probe{take: func(_ string, m protoMessage) {
		var err error
		got, err = m.Append(make([]byte, 0, 1))
		require.NoError(t, err)
		require.GreaterOrEqual(t, m.Room(), len(got)-1)
		require.Equal(t, len(got), m.Size())
		want, err = proto.MarshalOptions{Deterministic: true}.Marshal(m.Proto())
		require.NoError(t, err)
	}})
	publish, err := bridges.AddPublisher[*sample.PointCloud](b, bridges.Topic{Name: "/points"})
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		require.NoError(t, publish(context.Background(), randomCloud(r)))
		require.Equal(t, want, got)
	}
	require.NoError(t, publish(context.Background(), &sample.PointCloud{Header: sample.Header{Stamp: math.MaxInt64}, Points: []sample.Point{{TimeNs: math.MaxUint32}}}))
	assert.Equal(t, want, got, "ten bytes of time")
}

// TestCloudsOfSeveralReturns: Apollo has the strongest of each firing, and no word for others.
func TestCloudsOfSeveralReturns(t *testing.T) {
	var got []byte
	b := open(t, &probe{take: func(_ string, m protoMessage) {
		var err error
		got, err = m.Append(nil)
		require.NoError(t, err)
	}})
	publish, err := bridges.AddPublisher[*sample.PointCloud](b, bridges.Topic{Name: "/points"})
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(5, 6))
	for range 50 {
		m := randomCloud(r)
		for i := range m.Points {
			p := &m.Points[i]
			p.Ray = uint32(i)
			if !m.Organized && p.X != p.X {
				p.X = 0
			}
		}
		require.NoError(t, publish(context.Background(), m))
		want := bytes.Clone(got)
		require.NoError(t, publish(context.Background(), bridgetest.Dual(m)))
		require.Equal(t, want, got)
	}
}

func TestVarint(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 100_000 {
		v := r.Uint64() >> r.IntN(64)
		var d [10]byte
		n := putVarint(&d, v)
		require.Equal(t, protowire.AppendVarint(nil, v), d[:n], "%#x", v)
	}
	for shift := range 64 {
		for _, v := range []uint64{1 << shift, 1<<shift - 1, math.MaxUint64 << shift} {
			var d [10]byte
			require.Equal(t, protowire.AppendVarint(nil, v), d[:putVarint(&d, v)], "%#x", v)
		}
	}
}

func TestCloudsThatAreNone(t *testing.T) {
	b := open(t, &probe{take: func(string, protoMessage) { t.Error("sent") }})
	publish, err := bridges.AddPublisher[*sample.PointCloud](b, bridges.Topic{Name: "/points"})
	require.NoError(t, err)
	for name, c := range map[string]struct {
		cloud sample.PointCloud
		want  error
	}{
		"shape":      {sample.PointCloud{Organized: true, Rings: 2, Columns: 2, Points: make([]sample.Point, 3)}, errSize},
		"no rings":   {sample.PointCloud{Organized: true}, errSize},
		"before all": {sample.PointCloud{Header: sample.Header{Stamp: -1}}, errStamp},
	} {
		err := publish(context.Background(), &c.cloud)
		require.ErrorIs(t, err, c.want, name)
		require.ErrorIs(t, err, bridges.ErrConvert, name)
	}
}

// A scan of SVL's largest lidar: 128 rings x 1800 columns.
const largest = 128 * 1800

// BenchmarkCloud measures the conversion of 230,400 points to bytes, by hand and by
// protobuf's encoder from structures that exist already.
func BenchmarkCloud(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	c := &sample.PointCloud{Header: sample.Header{Stamp: 1_700_000_000_123_456_789, FrameID: "lidar"}, Rings: 128, Columns: 1800}
	for i := range largest {
		c.Points = append(c.Points, sample.Point{X: r.Float32(), Y: r.Float32(), Z: r.Float32(), Intensity: r.Float32() * 255, TimeNs: uint32(i) * 434})
	}
	dst := make([]byte, 0, 8<<20)
	var structure proto.Message
	for name, take := range map[string]func(m protoMessage){
		"points":  func(m protoMessage) { dst, _ = m.Append(dst[:0]) },
		"structs": func(m protoMessage) { dst, _ = proto.MarshalOptions{}.MarshalAppend(dst[:0], structure) },
	} {
		b.Run(name, func(b *testing.B) {
			bridge := open(b, &probe{take: func(_ string, m protoMessage) {
				if structure == nil && name == "structs" {
					structure = m.Proto()
				}
				take(m)
			}})
			publish, err := bridges.AddPublisher[*sample.PointCloud](bridge, bridges.Topic{Name: "/points"})
			require.NoError(b, err)
			require.NoError(b, publish(context.Background(), c))
			b.SetBytes(int64(len(dst)))
			b.ReportAllocs()
			for b.Loop() {
				_ = publish(context.Background(), c)
			}
		})
	}
	if structure != nil {
		require.Len(b, structure.(*apollopb.PointCloud).GetPoint(), largest)
	}
}
