package rosjson_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/internal/encode"
	"github.com/raybridge/raybridge/bridges/internal/rosjson"
	"github.com/raybridge/raybridge/bridges/internal/rostree"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/bridges/ros/rostest"
)

var versions = []ros.Version{ros.ROS2, ros.ROS1}

func encoded(t testing.TB, version ros.Version, m ros.Message) string {
	e := rosjson.Encoder{Version: version}
	text := e.Append([]byte("{"), m)[1:]
	require.NoError(t, e.Err())
	return string(text)
}

func decode(version ros.Version, text string, m ros.Message) error {
	return (&rosjson.Decoder{Version: version}).Decode([]byte(text), m)
}

func TestAppend(t *testing.T) {
	header := ros.Header{Seq: 9, Stamp: ros.Time{Sec: 5, Nanosec: 4294967295}, FrameID: "a\"\\/\n\r\t\b\x00\x1f\x7f<é\u2028🚗\xff\xfe"}
	assert.Equal(t, `{"stamp":{"sec":5,"nanosec":4294967295},"frame_id":"a\"\\/\n\r\t\u0008\u0000\u001f`+"\x7f"+`<é`+"\u2028"+`🚗\ufffd\ufffd"}`,
		encoded(t, ros.ROS2, &header))
	header.FrameID = ""
	assert.Equal(t, `{"seq":9,"stamp":{"secs":5,"nsecs":4294967295},"frame_id":""}`, encoded(t, ros.ROS1, &header))
	assert.Equal(t, `{"data":0.1}`, encoded(t, ros.ROS2, &ros.Float32{Data: 0.1}))
	assert.Equal(t, `{"x":0.1,"y":1e-7,"z":-0.0}`, encoded(t, ros.ROS2, &ros.Point{X: 0.1, Y: 1e-7, Z: math.Copysign(0, -1)}))
	assert.Equal(t, `{"x":null,"y":null,"z":100000000000000000000}`, encoded(t, ros.ROS2, &ros.Point{X: math.NaN(), Y: math.Inf(-1), Z: 1e20}))
	assert.Equal(t, `{}`, encoded(t, ros.ROS1, &ros.EmptyRequest{}))
	assert.Equal(t, `{"transforms":[]}`, encoded(t, ros.ROS1, &ros.TFMessage{}))
	info := encoded(t, ros.ROS1, &ros.CameraInfo{D: []float64{1, 2}})
	for _, member := range []string{`"D":[1,2]`, `"K":[0,0,0,0,0,0,0,0,0]`, `"R":[`, `"P":[0,0,0,0,0,0,0,0,0,0,0,0]`, `"do_rectify":false}}`} {
		assert.Contains(t, info, member)
	}
}

// TestNonFinite: in each way of writing, alone and in arrays; both are read back.
func TestNonFinite(t *testing.T) {
	point := &ros.Point{X: math.NaN(), Y: math.Inf(1), Z: math.Inf(-1)}
	scan := &ros.LaserScan{Ranges: []float32{1.5, float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))}}
	for name, c := range map[string]struct {
		how           rosjson.NonFinite
		point, ranges string
		altered       bool
	}{
		"null":  {rosjson.Null, `{"x":null,"y":null,"z":null}`, `[1.5,null,null,null]`, true},
		"words": {rosjson.Words, `{"x":NaN,"y":Infinity,"z":-Infinity}`, `[1.5,NaN,Infinity,-Infinity]`, false},
		"max": {
			rosjson.Max, `{"x":1.7976931348623157e+308,"y":1.7976931348623157e+308,"z":-1.7976931348623157e+308}`,
			`[1.5,3.4028235e+38,3.4028235e+38,-3.4028235e+38]`, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := rosjson.Encoder{NonFinite: c.how}
			assert.Equal(t, c.point, string(e.Append(nil, point)))
			assert.Equal(t, c.altered, e.Altered())
			e.Append(nil, &ros.Point{X: 1})
			assert.False(t, e.Altered(), "of the last message alone")
			text := string(e.Append(nil, scan))
			assert.Contains(t, text, `"ranges":`+c.ranges)
			assert.Equal(t, c.altered, e.Altered())
			var read ros.LaserScan
			require.NoError(t, decode(ros.ROS2, text, &read))
			require.Len(t, read.Ranges, 4)
			if c.how == rosjson.Words {
				assert.True(t, math.IsNaN(float64(read.Ranges[1])) && math.IsInf(float64(read.Ranges[2]), 1) && math.IsInf(float64(read.Ranges[3]), -1))
			}
		})
	}
	var skipped ros.Point
	require.NoError(t, decode(ros.ROS2, `{"other":[NaN,{"a":-Infinity}],"x":2,"last":Infinity}`, &skipped))
	assert.Equal(t, 2.0, skipped.X)
}

// TestMembers: values as they stand, whatever they hold, and no more than one object.
func TestMembers(t *testing.T) {
	var got []string
	take := func(name, value []byte) error {
		got = append(got, string(name)+"="+string(value))
		return nil
	}
	require.NoError(t, rosjson.Members([]byte(` {"a" : [1, {"b":NaN}] ,"\u0063":"x","d":null} `), take))
	assert.Equal(t, []string{`a=[1, {"b":NaN}]`, `c="x"`, `d=null`}, got)
	got = nil
	require.NoError(t, rosjson.Elements([]byte(`[1,"x",{}]`), func(value []byte) error { return take(nil, value) }))
	assert.Equal(t, []string{"=1", `="x"`, "={}"}, got)
	for _, text := range []string{``, `7`, `[]`, `{"a":1} x`, `{"a"}`, `{"a":1,}`, `{"a":nan}`, `{"a":-Inf}`, `{"a":` + strings.Repeat("[", 100)} {
		require.Error(t, rosjson.Members([]byte(text), take), text)
	}
	stop := errors.New("enough")
	require.ErrorIs(t, rosjson.Members([]byte(`{"a":1,"b":`), func([]byte, []byte) error { return stop }), stop)
	long := []byte(`{"op":"publish","msg":"` + strings.Repeat("x", 1<<20) + `"}`)
	assert.Less(t, testing.AllocsPerRun(10, func() {
		require.NoError(t, rosjson.Members(long, func([]byte, []byte) error { return nil }))
	}), 10.0)
}

func TestStrict(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":NaN,"b":[Infinity, -Infinity,-1]}`: `{"a":"NaN","b":["Infinity", "-Infinity",-1]}`,
		`{"NaN":"Infinity \"NaN","c":NaN}`:       `{"NaN":"Infinity \"NaN","c":"NaN"}`,
		`{"a":1}`:                                `{"a":1}`,
		`NaN "unfinished`:                        `"NaN" "unfinished`,
		`"NaN`:                                   `"NaN`,
	} {
		assert.Equal(t, want, string(rosjson.Strict([]byte(text))), text)
	}
}

func TestBytesFromSources(t *testing.T) {
	for n := range 10000 {
		if n > 20 && n%997 != 0 && (n < 3070 || n > 3076) {
			continue
		}
		data := bytes.Repeat([]byte{1, 200, 30, 255, 7}, n/5+1)[:n]
		want := encoded(t, ros.ROS2, &ros.CompressedImage{Data: ros.Bytes{Data: data}})
		assert.Contains(t, want, `"data":"`+base64.StdEncoding.EncodeToString(data)+`"`)
		require.Equal(t, want, encoded(t, ros.ROS2, &ros.CompressedImage{Data: ros.Bytes{Source: source(data)}}), "%d bytes", n)
	}
}

// source writes its bytes in place.
type source []byte

func (s source) Size() int      { return len(s) }
func (s source) Put(dst []byte) { copy(dst, s) }

// TestRoundTripOfEveryMessage: what was written is valid, and reads back as it was, but
// for infinities.
func TestRoundTripOfEveryMessage(t *testing.T) {
	for _, version := range versions {
		for _, m := range rostest.Every() {
			for seed := range uint64(30) {
				rostest.Fill(m, seed)
				text := encoded(t, version, m)
				require.True(t, json.Valid([]byte(text)), text)
				again := rostest.New(m)
				require.NoError(t, decode(version, text, again), text)
				require.Equal(t, text, encoded(t, version, again))
			}
		}
	}
}

// vector is a message of wire/ros1: as values that Python wrote as JSON, and as genpy
// serialised it.
type vector struct {
	text string
	m    ros.Message
}

func vectors(t testing.TB) []vector {
	const dir = "../../../testdata/wire/ros1"
	types := map[string]ros.Message{}
	for _, m := range rostest.Every() {
		types[ros.ROS1.TypeName(m.TypeName())] = m
	}
	var list []vector
	files, err := filepath.Glob(filepath.Join(dir, "*.bin"))
	require.NoError(t, err)
	for _, path := range files {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		text, err := os.ReadFile(strings.TrimSuffix(path, ".bin") + ".json")
		require.NoError(t, err)
		var file struct {
			Type    string
			Message json.RawMessage
		}
		require.NoError(t, json.Unmarshal(text, &file))
		v := vector{
			text: strings.NewReplacer(`"nan"`, "null", `"inf"`, "null", `"-inf"`, "null").Replace(string(file.Message)),
			m:    types[file.Type],
		}
		require.NoError(t, encode.ROS1.Decoder().Decode(data, v.m))
		list = append(list, v)
	}
	require.Len(t, list, 27)
	return list
}

// TestPythonsValues: JSON that Python wrote reads as what genpy serialised, and what is
// written are the values that Python has.
func TestPythonsValues(t *testing.T) {
	for _, v := range vectors(t) {
		got := encoded(t, ros.ROS1, v.m)
		assert.JSONEq(t, v.text, got)
		read := rostest.New(v.m)
		require.NoError(t, decode(ros.ROS1, v.text, read))
		assert.Equal(t, got, encoded(t, ros.ROS1, read))
	}
}

func TestDecodeTakesMembersInAnyOrderAndForm(t *testing.T) {
	want := ros.PointField{Name: "x\n/é🚗\ufffd", Offset: 4, Datatype: 7, Count: 1}
	for _, text := range []string{
		`{"name":"x\n\/\u00e9\ud83d\ude97\ud83d","offset":4,"datatype":7,"count":1}`,
		" {\t\"count\" : 1.0 ,\r\n\"datatype\":70e-1, \"offset\":4, \"name\":\"x\\u000a/é🚗\ufffd\" }\n",
		`{"unknown":[{"a":[1,2.5e3,{}],"b":null},true,false,"\"}"],"offset":4,"datatype":7,"name":"x\n/é🚗\udead","x":{},"count":1,"y":[]}`,
		`{"off\u0073et":4,"count":1,"name":"x\n/é🚗` + "\xff" + `","datatype":7}`,
	} {
		got := ros.PointField{Name: "old", Count: 5}
		require.NoError(t, decode(ros.ROS2, text, &got), text)
		assert.Equal(t, want, got, text)
	}
}

func TestDecodeTakesBothVersionsNames(t *testing.T) {
	for _, version := range versions {
		var m ros.CameraInfo
		for _, text := range []string{
			`{"header":{"seq":3,"stamp":{"secs":1,"nsecs":2}},"D":[1,null],"K":[1,2,3,4,5,6,7,8,9],"roi":null}`,
			`{"header":{"seq":3,"stamp":{"sec":1,"nanosec":2}},"d":[1,null],"k":[1,2,3,4,5,6,7,8,9]}`,
		} {
			m = ros.CameraInfo{Width: 5, P: [12]float64{1}, ROI: ros.RegionOfInterest{Width: 7}}
			require.NoError(t, decode(version, text, &m))
			assert.Equal(t, ros.Time{Sec: 1, Nanosec: 2}, m.Header.Stamp)
			assert.Equal(t, map[ros.Version]uint32{ros.ROS1: 3}[version], m.Header.Seq)
			assert.Equal(t, [9]float64{1, 2, 3, 4, 5, 6, 7, 8, 9}, m.K)
			assert.Zero(t, m.Width)
			assert.Zero(t, m.P)
			assert.Zero(t, m.ROI)
			require.Len(t, m.D, 2)
			assert.True(t, math.IsNaN(m.D[1]))
		}
	}
}

func TestDecodeTakesBytesAsTextOrNumbers(t *testing.T) {
	for _, text := range []string{`"AQL/"`, `"AQL\/"`, `[1,2,255]`, `[ 1 , 2.0 , 255 ]`} {
		m := ros.CompressedImage{Data: ros.Bytes{Source: source("old")}}
		require.NoError(t, decode(ros.ROS2, `{"data":`+text+`}`, &m), text)
		assert.Equal(t, ros.Bytes{Data: []byte{1, 2, 255}}, m.Data, text)
	}
	for text, want := range map[string]string{`"AQ=="`: "\x01", `"AQ"`: "\x01", `""`: "", `[]`: "", `null`: ""} {
		m := ros.CompressedImage{Data: ros.Bytes{Data: []byte("old")}}
		require.NoError(t, decode(ros.ROS2, `{"data":`+text+`}`, &m), text)
		assert.Equal(t, want, string(m.Data.Data), text)
	}
}

func TestDecodeRefuses(t *testing.T) {
	deep := strings.Repeat("[", rostree.MaxDepth+1) + strings.Repeat("]", rostree.MaxDepth+1)
	for text, want := range map[string]error{
		``: rostree.ErrTruncated, `{`: rostree.ErrTruncated, `{"`: rostree.ErrTruncated, `{"name`: rostree.ErrTruncated,
		`{"name"`: rostree.ErrTruncated, `{"name":`: rostree.ErrTruncated, `{"name":"x`: rostree.ErrTruncated,
		`{"name":"x"`: rostree.ErrTruncated, `{"a":[`: rostree.ErrTruncated, `{"a":"\`: rostree.ErrTruncated,
		`[]`: rostree.ErrType, `null`: rostree.ErrType, `5`: rostree.ErrType,
		`{}x`: rostree.ErrMalformed, `{} {}`: rostree.ErrMalformed, `{"a":1,}`: rostree.ErrMalformed, `{,}`: rostree.ErrMalformed,
		`{"a":[1,]}`: rostree.ErrMalformed, `{"a":1 "b":2}`: rostree.ErrMalformed, `{"a" 1}`: rostree.ErrMalformed, `{a:1}`: rostree.ErrMalformed,
		`{"a":01}`: rostree.ErrMalformed, `{"a":-}`: rostree.ErrMalformed, `{"a":1.}`: rostree.ErrMalformed, `{"a":1e}`: rostree.ErrMalformed,
		`{"a":+1}`: rostree.ErrMalformed, `{"a":.5}`: rostree.ErrMalformed, `{"a":Nan}`: rostree.ErrMalformed, `{"a":tru}`: rostree.ErrMalformed,
		`{"a":"\x"}`: rostree.ErrMalformed, `{"a":"\u12g4"}`: rostree.ErrMalformed, "{\"a\":\"\n\"}": rostree.ErrMalformed, "{\"a\":\"abcdefgh\x1f\"}": rostree.ErrMalformed,
		`{"a":[}`: rostree.ErrMalformed, `{"a":{]}`: rostree.ErrMalformed, `{"a":` + deep + `}`: rostree.ErrDepth,
		`{"name":5}`: rostree.ErrType, `{"name":{}}`: rostree.ErrType, `{"offset":"5"}`: rostree.ErrType, `{"offset":1.5}`: rostree.ErrType, `{"offset":true}`: rostree.ErrType,
		`{"datatype":256}`: rostree.ErrRange, `{"datatype":-1}`: rostree.ErrRange, `{"offset":4294967296}`: rostree.ErrRange,
		`{"offset":99999999999999999999}`: rostree.ErrRange, `{"offset":1e300}`: rostree.ErrRange, `{"offset":1e999}`: rostree.ErrRange,
	} {
		assert.ErrorIs(t, decode(ros.ROS2, text, &ros.PointField{}), want, text)
	}
	for text, c := range map[string]struct {
		m    ros.Message
		want error
	}{
		`{"data":1e39}`:   {&ros.Float32{}, rostree.ErrRange},
		`{"x":1e309}`:     {&ros.Point{}, rostree.ErrRange},
		`{"x":"NaN"}`:     {&ros.Point{}, rostree.ErrType},
		`{"data":1}`:      {&ros.SetBoolRequest{}, rostree.ErrType},
		`{"data":tRue}`:   {&ros.SetBoolRequest{}, rostree.ErrMalformed},
		`{"data":"A"}`:    {&ros.CompressedImage{}, rostree.ErrType},
		`{"data":"A*=="}`: {&ros.CompressedImage{}, rostree.ErrType},
		`{"data":[256]}`:  {&ros.CompressedImage{}, rostree.ErrRange},
		`{"data":[null]}`: {&ros.CompressedImage{}, rostree.ErrType},
		`{"data":{}}`:     {&ros.CompressedImage{}, rostree.ErrType},
		`{"k":[1,2,3]}`:   {&ros.CameraInfo{}, rostree.ErrRange},
		`{"r":[` + strings.Repeat("1,", 9) + `1]}`: {&ros.CameraInfo{}, rostree.ErrRange},
		`{"header":[]}`:         {&ros.Image{}, rostree.ErrType},
		`{"transforms":{}}`:     {&ros.TFMessage{}, rostree.ErrType},
		`{"transforms":[null]}`: {&ros.TFMessage{}, rostree.ErrType},
		`{"transforms":[` + strings.Repeat("{},", 5000) + `{}]}`: {&ros.TFMessage{}, rostree.ErrTooLarge},
		`{"crossed_lane_markings":[2147483648]}`:                 {&ros.CarlaLaneInvasionEvent{}, rostree.ErrRange},
	} {
		assert.ErrorIs(t, decode(ros.ROS2, text, c.m), c.want, text)
	}
}

func TestTimesBeforeTheEpoch(t *testing.T) {
	clock := &ros.Clock{Clock: ros.Time{Sec: -1, Nanosec: 5}}
	assert.Equal(t, `{"clock":{"sec":-1,"nanosec":5}}`, encoded(t, ros.ROS2, clock))
	e := rosjson.Encoder{Version: ros.ROS1}
	assert.Equal(t, `{"clock":{"secs":0,"nsecs":0}}`, string(e.Append(nil, clock)))
	assert.ErrorIs(t, e.Err(), ros.ErrBeforeEpoch)

	require.NoError(t, decode(ros.ROS2, `{"clock":{"sec":-1}}`, clock))
	assert.Equal(t, int32(-1), clock.Clock.Sec)
	assert.ErrorIs(t, decode(ros.ROS1, `{"clock":{"secs":-1}}`, clock), rostree.ErrRange)
}

// TestNestedErrorsNameTheField says where a message is wrong.
func TestNestedErrorsNameTheField(t *testing.T) {
	err := decode(ros.ROS2, `{"linear":{"x":"fast"}}`, &ros.Twist{})
	assert.EqualError(t, err, "decode geometry_msgs/msg/Twist: x: value at byte 15 is not a number: value is of another type than the field")
}

// FuzzDecode holds the decoder against encoding/json: both take the same texts as JSON.
func FuzzDecode(f *testing.F) {
	every := rostest.Every()
	for i, m := range every {
		rostest.Fill(m, 1)
		f.Add(uint8(i), []byte(encoded(f, ros.ROS1, m)))
		f.Add(uint8(i), []byte(encoded(f, ros.ROS2, m)))
	}
	f.Fuzz(func(t *testing.T, i uint8, data []byte) {
		m := rostest.New(every[int(i)%len(every)])
		err := decode(ros.ROS1, string(data), m)
		if err != nil {
			syntax := errors.Is(err, rostree.ErrMalformed) || errors.Is(err, rostree.ErrTruncated)
			require.False(t, syntax && json.Valid(data), "%v", err)
			return
		}
		require.True(t, json.Valid(data))
		text := encoded(t, ros.ROS1, m)
		require.True(t, json.Valid([]byte(text)))
		again := rostest.New(m)
		require.NoError(t, decode(ros.ROS1, text, again))
		require.Equal(t, text, encoded(t, ros.ROS1, again))
	})
}

func TestAppendIntoReusedBufferAllocatesNothing(t *testing.T) {
	for _, m := range rostest.Every() {
		rostest.Fill(m, 3)
		e := &rosjson.Encoder{Version: ros.ROS1}
		buf := e.Append(nil, m)
		assert.Zero(t, testing.AllocsPerRun(20, func() { buf = e.Append(buf[:0], m) }), m.TypeName())
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

func BenchmarkAppendPointCloud2(b *testing.B) {
	m := cloud()
	inPlace := cloud()
	inPlace.Data = ros.Bytes{Source: source(m.Data.Data)}
	for name, m := range map[string]*ros.PointCloud2{"bytes": m, "source": inPlace} {
		b.Run(name, func(b *testing.B) {
			e := new(rosjson.Encoder)
			var buf []byte
			b.ReportAllocs()
			b.SetBytes(8 << 20)
			for b.Loop() {
				buf = e.Append(buf[:0], m)
			}
		})
	}
}

func BenchmarkDecodePointCloud2(b *testing.B) {
	text := new(rosjson.Encoder).Append(nil, cloud())
	var m ros.PointCloud2
	d := new(rosjson.Decoder)
	b.ReportAllocs()
	b.SetBytes(8 << 20)
	for b.Loop() {
		if err := d.Decode(text, &m); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeImu(b *testing.B) {
	m := new(ros.Imu)
	text := new(rosjson.Encoder).Append(nil, m)
	d := new(rosjson.Decoder)
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if err := d.Decode(text, m); err != nil {
			b.Fatal(err)
		}
	}
}

func ExampleEncoder() {
	e := rosjson.Encoder{Version: ros.ROS1}
	frame := []byte(`{"op":"publish","topic":"/clock","msg":`)
	frame = e.Append(frame, &ros.Clock{Clock: ros.Time{Sec: 12, Nanosec: 500}})
	fmt.Println(string(append(frame, '}')))
	// Output: {"op":"publish","topic":"/clock","msg":{"clock":{"secs":12,"nsecs":500}}}
}
