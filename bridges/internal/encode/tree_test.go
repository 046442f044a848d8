package encode_test

import (
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/internal/encode"
	"github.com/raybridge/raybridge/bridges/ros"
)

// trees are the self-describing formats by their names in tests.
var trees = map[string]encode.Tree{"json": encode.JSON, "bson": encode.BSON, "cbor": encode.CBOR}

var versions = []ros.Version{ros.ROS2, ros.ROS1}

func treeBytes(tb testing.TB, format encode.Tree, version ros.Version, m ros.Message) []byte {
	tb.Helper()
	e := encode.TreeEncoder{Format: format, Version: version}
	data := e.Append([]byte("before"), m)[6:]
	require.NoError(tb, e.Err())
	return data
}

func readTree(format encode.Tree, version ros.Version, data []byte, m ros.Message) error {
	return (&encode.TreeDecoder{Format: format, Version: version}).Decode(data, m)
}

// bits are all values of a message, NaN with their bits.
func bits(m ros.Message) []byte { return encode.ROS1.Encoder().Append(nil, m) }

// foreign reports whether the decoder of others takes data as a value of its format. BSON
// has none here.
func foreign(format encode.Tree, data []byte) error {
	switch {
	case format == encode.CBOR:
		other, err := cbor.DecOptions{MaxNestedLevels: 128}.DecMode()
		if err != nil {
			return err
		}
		return other.Wellformed(data)
	case format == encode.JSON && !json.Valid(data):
		return errors.New("no JSON")
	}
	return nil
}

// TestTreesKeepEveryMessage: what was written is well-formed for others, and reads back as it
// was, except JSON's infinities.
func TestTreesKeepEveryMessage(t *testing.T) {
	for name, format := range trees {
		for _, version := range versions {
			for _, m := range bridgetest.EveryMessage() {
				for seed := range uint64(30) {
					bridgetest.FillMessage(m, seed)
					data := treeBytes(t, format, version, m)
					require.NoError(t, foreign(format, data), "%s: %s", name, m.TypeName())
					again := bridgetest.NewMessage(m)
					require.NoError(t, readTree(format, version, data, again), "%s: %s", name, m.TypeName())
					require.Equal(t, data, treeBytes(t, format, version, again), "%s: %s", name, m.TypeName())
					if format != encode.JSON && version == ros.ROS1 {
						require.Equal(t, bits(m), bits(again), "%s: %s", name, m.TypeName())
					}
				}
			}
		}
	}
}

func TestTreesHaveNoTimesBeforeTheEpochInROS1(t *testing.T) {
	for name, format := range trees {
		clock := &ros.Clock{Clock: ros.Time{Sec: -1, Nanosec: 5}}
		e := encode.TreeEncoder{Format: format, Version: ros.ROS1}
		data := e.Append(nil, clock)
		assert.ErrorIs(t, e.Err(), ros.ErrBeforeEpoch, name)
		assert.Equal(t, treeBytes(t, format, ros.ROS1, &ros.Clock{}), data, name)
		before := treeBytes(t, format, ros.ROS2, clock)
		var read ros.Clock
		require.NoError(t, readTree(format, ros.ROS2, before, &read), name)
		assert.Equal(t, int32(-1), read.Clock.Sec, name)
		assert.ErrorIs(t, readTree(format, ros.ROS1, before, &read), encode.ErrRange, name)
	}
}

// FuzzTree compares the decoders with those of others. What they take is well-formed there,
// except JSON's words NaN and Infinity, and of JSON nothing well-formed is malformed.
func FuzzTree(f *testing.F) {
	every := bridgetest.EveryMessage()
	for _, format := range trees {
		for i, m := range every {
			bridgetest.FillMessage(m, 1)
			f.Add(uint8(format), uint8(i), treeBytes(f, format, ros.ROS1, m))
			f.Add(uint8(format), uint8(i), treeBytes(f, format, ros.ROS2, m))
		}
	}
	f.Add(uint8(encode.JSON), uint8(0), []byte(`{"unknown":[NaN,-Infinity,"NaN"]}`))
	f.Fuzz(func(t *testing.T, number, i uint8, data []byte) {
		format, m := encode.Tree(number%3), bridgetest.NewMessage(every[int(i)%len(every)])
		if err := readTree(format, ros.ROS1, data, m); err != nil {
			syntax := errors.Is(err, encode.ErrMalformed) || errors.Is(err, encode.ErrTruncated)
			require.False(t, format == encode.JSON && syntax && json.Valid(data), "%v", err)
			return
		}
		taken := data
		if format == encode.JSON {
			taken = encode.StrictJSON(data) // without the words for floats, which others refuse
		}
		require.NoError(t, foreign(format, taken), "%x", data)
		first := treeBytes(t, format, ros.ROS1, m)
		require.NoError(t, foreign(format, first))
		again := bridgetest.NewMessage(m)
		require.NoError(t, readTree(format, ros.ROS1, first, again))
		require.Equal(t, first, treeBytes(t, format, ros.ROS1, again))
	})
}

func TestTreesAllocateNothing(t *testing.T) {
	for name, format := range trees {
		for _, version := range versions {
			for _, m := range bridgetest.EveryMessage() {
				bridgetest.FillMessage(m, 3)
				e := &encode.TreeEncoder{Format: format, Version: version}
				buf := e.Append(nil, m)
				assert.Zero(t, testing.AllocsPerRun(20, func() { buf = e.Append(buf[:0], m) }), "%s: %s", name, m.TypeName())
			}
		}
	}
}

// cloud is one of 8 MB.
func cloud() *ros.PointCloud2 {
	data := make([]byte, 8<<20)
	for i := range data {
		data[i] = byte(i * 7)
	}
	return &ros.PointCloud2{
		Header: ros.Header{FrameID: "lidar"}, Height: 1, Width: 8 << 20 / 32, PointStep: 32, RowStep: 8 << 20,
		PointFields: []ros.PointField{{Name: "x", Datatype: 7, Count: 1}}, Data: ros.Bytes{Data: data}, IsDense: true,
	}
}

func BenchmarkTreeAppendPointCloud2(b *testing.B) {
	m := cloud()
	inPlace := cloud()
	inPlace.Data = ros.Bytes{Source: source(m.Data.Data)}
	for name, format := range trees {
		for kind, m := range map[string]*ros.PointCloud2{"bytes": m, "source": inPlace} {
			b.Run(name+"/"+kind, func(b *testing.B) {
				e := encode.TreeEncoder{Format: format}
				var buf []byte
				b.ReportAllocs()
				b.SetBytes(8 << 20)
				for b.Loop() {
					buf = e.Append(buf[:0], m)
				}
			})
		}
	}
}

// BenchmarkTreeAppendLaserScan: an array of 1,080 floats.
func BenchmarkTreeAppendLaserScan(b *testing.B) {
	m := &ros.LaserScan{Ranges: make([]float32, 1080)}
	for i := range m.Ranges {
		m.Ranges[i] = float32(i) / 7
	}
	for name, format := range trees {
		b.Run(name, func(b *testing.B) {
			e := encode.TreeEncoder{Format: format}
			var buf []byte
			b.ReportAllocs()
			for b.Loop() {
				buf = e.Append(buf[:0], m)
			}
		})
	}
}

func BenchmarkTreeDecodePointCloud2(b *testing.B) { benchmarkTreeDecode(b, cloud()) }

func BenchmarkTreeDecodeImu(b *testing.B) { benchmarkTreeDecode(b, new(ros.Imu)) }

func benchmarkTreeDecode(b *testing.B, m ros.Message) {
	for name, format := range trees {
		b.Run(name, func(b *testing.B) {
			data := treeBytes(b, format, ros.ROS2, m)
			d, again := encode.TreeDecoder{Format: format}, bridgetest.NewMessage(m)
			b.ReportAllocs()
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if err := d.Decode(data, again); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// backwards visits a message's fields in the opposite order.
type backwards struct {
	ros.Visitor
	late []func()
}

func (b *backwards) Value(name string, v ros.Ref) {
	b.late = append(b.late, func() { b.Visitor.Value(name, v) })
}

func (b *backwards) Message(name string, m ros.Message) {
	b.late = append(b.late, func() { b.Visitor.Message(name, reversed{m}) })
}

// reversed is a message whose fields are floats and messages, in the opposite order.
type reversed struct{ ros.Message }

func (r reversed) Fields(v ros.Visitor) {
	b := &backwards{Visitor: v}
	r.Message.Fields(b)
	for i := len(b.late) - 1; i >= 0; i-- {
		b.late[i]()
	}
}

func TestMembersInAnyOrder(t *testing.T) {
	want := ros.Transform{
		Translation: ros.Vector3{X: 1, Y: 2, Z: 3}, Rotation: ros.Quaternion{X: 4, Y: 5, Z: 6, W: 7},
	}
	for name, f := range trees {
		data := treeBytes(t, f, ros.ROS2, reversed{&want})
		require.NotEqual(t, treeBytes(t, f, ros.ROS2, &want), data, name)
		var got ros.Transform
		require.NoError(t, readTree(f, ros.ROS2, data, &got), name)
		assert.Equal(t, want, got, name)
	}
}

// TestOtherMessages: what has other members than the message leaves it zero, except fields that
// both have; those of another type are errors.
func TestOtherMessages(t *testing.T) {
	for name, f := range trees {
		got := ros.AckermannDriveStamped{Drive: ros.AckermannDrive{Speed: 5}}
		data := treeBytes(t, f, ros.ROS2, &ros.VehicleControlData{Header: ros.Header{FrameID: "base"}, AccelerationPct: 1})
		require.NoError(t, readTree(f, ros.ROS2, data, &got), name)
		assert.Equal(t, ros.AckermannDriveStamped{Header: ros.Header{FrameID: "base"}}, got, name)
		assert.ErrorIs(t, readTree(f, ros.ROS2, treeBytes(t, f, ros.ROS2, &ros.Float32{}), &ros.CompressedImage{}), encode.ErrType, name)
	}
}

// TestMemoryIsBounded: of the worst data for each kind of field, no decoder makes more
// than a small multiple.
func TestMemoryIsBounded(t *testing.T) {
	const n = 1 << 15
	many := func(first, element, last string) []byte {
		return []byte(first + strings.Repeat(element, n) + last)
	}
	array := "\xa1\x61d\x9a\x00\x00\x80\x00" // CBOR: {"d": an array of n elements
	for name, c := range map[string]struct {
		form string
		data []byte
		m    ros.Message
	}{
		"json numbers":      {"json", many(`{"d":[`, "1,", "1]}"), &ros.CameraInfo{}},
		"json bytes":        {"json", many(`{"data":[`, "1,", "1]}"), &ros.CompressedImage{}},
		"json fixed array":  {"json", many(`{"k":[`, "1,", "1]}"), &ros.CameraInfo{}},
		"json objects":      {"json", many(`{"transforms":[`, "{},", "{}]}"), &ros.TFMessage{}},
		"json large ones":   {"json", many(`{"detections":[`, "{},", "{}]}"), &ros.Detection3DArray{}},
		"json text":         {"json", many(`{"frame_id":"`, `\n`, `"}`), &ros.Header{}},
		"json unknown":      {"json", many(`{"unknown":[`, "{},", "{}]}"), &ros.CanBusData{}},
		"json many members": {"json", many(`{`, `"a":0,`, `"a":0}`), &ros.CanBusData{}},
		"json base64":       {"json", many(`{"data":"`, "AAAA", `"}`), &ros.CompressedImage{}},
		"cbor numbers":      {"cbor", many(array, "\x01", ""), &ros.CameraInfo{}},
		"cbor objects":      {"cbor", many("\xa1\x6atransforms\x9f", "\xa0", "\xff"), &ros.TFMessage{}},
		"cbor chunks":       {"cbor", many("\xa1\x68frame_id\x7f", "\x61a", "\xff"), &ros.Header{}},
		"cbor names":        {"cbor", many("\xa1\x7f", "\x61a", "\xff\x01"), &ros.Header{}},
		"cbor half floats":  {"cbor", many("\xa1\x61d\xd8\x54\x5a\x00\x01\x00\x00", "\x00\x3c", ""), &ros.CameraInfo{}},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_ = readTree(trees[c.form], ros.ROS2, c.data, c.m)
		runtime.ReadMemStats(&after)
		// A list that grows takes as much again while it is copied, several times.
		assert.Less(t, float64(after.TotalAlloc-before.TotalAlloc), 64*float64(len(c.data)), name)
	}
}

// TestFewEmptyObjects are no attack.
func TestFewEmptyObjects(t *testing.T) {
	var m ros.Detection3DArray
	require.NoError(t, readTree(encode.JSON, ros.ROS2, []byte(`{"detections":[{},{"results":[{}]}]}`), &m))
	assert.Len(t, m.Detections, 2)
}

// TestDecodeIntoTheSameMessageKeepsNothing of what was in it before.
func TestDecodeIntoTheSameMessageKeepsNothing(t *testing.T) {
	for name, f := range trees {
		for _, m := range bridgetest.EveryMessage() {
			bridgetest.FillMessage(m, 5)
			want := treeBytes(t, f, ros.ROS2, bridgetest.NewMessage(m))
			require.NoError(t, readTree(f, ros.ROS2, want, m), "%s: %s", name, m.TypeName())
			require.Equal(t, want, treeBytes(t, f, ros.ROS2, m), "%s: %s", name, m.TypeName())
		}
	}
}
