package rostree_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/internal/rosbson"
	"github.com/raybridge/raybridge/bridges/internal/roscbor"
	"github.com/raybridge/raybridge/bridges/internal/rosjson"
	"github.com/raybridge/raybridge/bridges/internal/rostree"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/bridges/ros/rostest"
)

// form is an encoding of the three.
type form struct {
	encode func(ros.Message) []byte
	decode func([]byte, ros.Message) error
}

var forms = map[string]form{
	"json": {
		func(m ros.Message) []byte { return new(rosjson.Encoder).Append(nil, m) },
		func(data []byte, m ros.Message) error { return new(rosjson.Decoder).Decode(data, m) },
	},
	"bson": {
		func(m ros.Message) []byte { return new(rosbson.Encoder).Append(nil, m) },
		func(data []byte, m ros.Message) error { return new(rosbson.Decoder).Decode(data, m) },
	},
	"cbor": {
		func(m ros.Message) []byte { return new(roscbor.Encoder).Append(nil, m) },
		func(data []byte, m ros.Message) error { return new(roscbor.Decoder).Decode(data, m) },
	},
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
	for name, f := range forms {
		data := f.encode(reversed{&want})
		require.NotEqual(t, f.encode(&want), data, name)
		var got ros.Transform
		require.NoError(t, f.decode(data, &got), name)
		assert.Equal(t, want, got, name)
	}
}

// TestOtherMessages: what has other members than the message leaves it zero, but for
// fields that both have; those of another type are errors.
func TestOtherMessages(t *testing.T) {
	for name, f := range forms {
		got := ros.AckermannDriveStamped{Drive: ros.AckermannDrive{Speed: 5}}
		data := f.encode(&ros.VehicleControlData{Header: ros.Header{FrameID: "base"}, AccelerationPct: 1})
		require.NoError(t, f.decode(data, &got), name)
		assert.Equal(t, ros.AckermannDriveStamped{Header: ros.Header{FrameID: "base"}}, got, name)
		assert.ErrorIs(t, f.decode(f.encode(&ros.Float32{}), &ros.CompressedImage{}), rostree.ErrType, name)
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
		_ = forms[c.form].decode(c.data, c.m)
		runtime.ReadMemStats(&after)
		// A list that grows takes as much again while it is copied, several times.
		assert.Less(t, float64(after.TotalAlloc-before.TotalAlloc), 64*float64(len(c.data)), name)
	}
}

// TestFewEmptyObjects are no attack.
func TestFewEmptyObjects(t *testing.T) {
	var m ros.Detection3DArray
	require.NoError(t, forms["json"].decode([]byte(`{"detections":[{},{"results":[{}]}]}`), &m))
	assert.Len(t, m.Detections, 2)
}

// TestDecodeIntoTheSameMessageKeepsNothing of what was in it before.
func TestDecodeIntoTheSameMessageKeepsNothing(t *testing.T) {
	for name, f := range forms {
		for _, m := range rostest.Every() {
			rostest.Fill(m, 5)
			want := f.encode(rostest.New(m))
			require.NoError(t, f.decode(want, m), "%s: %s", name, m.TypeName())
			require.Equal(t, want, f.encode(m), "%s: %s", name, m.TypeName())
		}
	}
}
