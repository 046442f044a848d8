package encode_test

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

	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/internal/encode"
	"github.com/raybridge/raybridge/bridges/ros"
)

func jsonText(tb testing.TB, version ros.Version, m ros.Message) string {
	return string(treeBytes(tb, encode.JSON, version, m))
}

func readJSON(version ros.Version, text string, m ros.Message) error {
	return readTree(encode.JSON, version, []byte(text), m)
}

func TestJSON(t *testing.T) {
	header := ros.Header{Seq: 9, Stamp: ros.Time{Sec: 5, Nanosec: 4294967295}, FrameID: "a\"\\/\n\r\t\b\x00\x1f\x7f<é\u2028🚗\xff\xfe"}
	assert.Equal(t, `{"stamp":{"sec":5,"nanosec":4294967295},"frame_id":"a\"\\/\n\r\t\u0008\u0000\u001f`+"\x7f"+`<é`+"\u2028"+`🚗\ufffd\ufffd"}`,
		jsonText(t, ros.ROS2, &header))
	header.FrameID = ""
	assert.Equal(t, `{"seq":9,"stamp":{"secs":5,"nsecs":4294967295},"frame_id":""}`, jsonText(t, ros.ROS1, &header))
	assert.Equal(t, `{"data":0.1}`, jsonText(t, ros.ROS2, &ros.Float32{Data: 0.1}))
	assert.Equal(t, `{"x":0.1,"y":1e-7,"z":-0.0}`, jsonText(t, ros.ROS2, &ros.Point{X: 0.1, Y: 1e-7, Z: math.Copysign(0, -1)}))
	assert.Equal(t, `{"x":null,"y":null,"z":100000000000000000000}`, jsonText(t, ros.ROS2, &ros.Point{X: math.NaN(), Y: math.Inf(-1), Z: 1e20}))
	assert.Equal(t, `{}`, jsonText(t, ros.ROS1, &ros.EmptyRequest{}))
	assert.Equal(t, `{"transforms":[]}`, jsonText(t, ros.ROS1, &ros.TFMessage{}))
	info := jsonText(t, ros.ROS1, &ros.CameraInfo{D: []float64{1, 2}})
	for _, member := range []string{`"D":[1,2]`, `"K":[0,0,0,0,0,0,0,0,0]`, `"R":[`, `"P":[0,0,0,0,0,0,0,0,0,0,0,0]`, `"do_rectify":false}}`} {
		assert.Contains(t, info, member)
	}
}

// TestNonFinite: in each way of writing, alone and in arrays; both are read back.
func TestNonFinite(t *testing.T) {
	point := &ros.Point{X: math.NaN(), Y: math.Inf(1), Z: math.Inf(-1)}
	scan := &ros.LaserScan{Ranges: []float32{1.5, float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))}}
	for name, c := range map[string]struct {
		how           encode.NonFinite
		point, ranges string
		altered       bool
	}{
		"null":  {encode.Null, `{"x":null,"y":null,"z":null}`, `[1.5,null,null,null]`, true},
		"words": {encode.Words, `{"x":NaN,"y":Infinity,"z":-Infinity}`, `[1.5,NaN,Infinity,-Infinity]`, false},
		"max": {
			encode.Max, `{"x":1.7976931348623157e+308,"y":1.7976931348623157e+308,"z":-1.7976931348623157e+308}`,
			`[1.5,3.4028235e+38,3.4028235e+38,-3.4028235e+38]`, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := encode.TreeEncoder{Format: encode.JSON, NonFinite: c.how}
			assert.Equal(t, c.point, string(e.Append(nil, point)))
			assert.Equal(t, c.altered, e.Altered())
			e.Append(nil, &ros.Point{X: 1})
			assert.False(t, e.Altered(), "of the last message alone")
			text := string(e.Append(nil, scan))
			assert.Contains(t, text, `"ranges":`+c.ranges)
			assert.Equal(t, c.altered, e.Altered())
			var read ros.LaserScan
			require.NoError(t, readJSON(ros.ROS2, text, &read))
			require.Len(t, read.Ranges, 4)
			if c.how == encode.Words {
				assert.True(t, math.IsNaN(float64(read.Ranges[1])) && math.IsInf(float64(read.Ranges[2]), 1) && math.IsInf(float64(read.Ranges[3]), -1))
			}
		})
	}
	var skipped ros.Point
	require.NoError(t, readJSON(ros.ROS2, `{"other":[NaN,{"a":-Infinity}],"x":2,"last":Infinity}`, &skipped))
	assert.Equal(t, 2.0, skipped.X)
}

// TestMembers: values as they stand, whatever they hold, and no more than one object.
func TestMembers(t *testing.T) {
	var got []string
	take := func(name, value []byte) error {
		got = append(got, string(name)+"="+string(value))
		return nil
	}
	require.NoError(t, encode.JSONMembers([]byte(` {"a" : [1, {"b":NaN}] ,"\u0063":"x","d":null} `), take))
	assert.Equal(t, []string{`a=[1, {"b":NaN}]`, `c="x"`, `d=null`}, got)
	got = nil
	require.NoError(t, encode.JSONElements([]byte(`[1,"x",{}]`), func(value []byte) error { return take(nil, value) }))
	assert.Equal(t, []string{"=1", `="x"`, "={}"}, got)
	for _, text := range []string{``, `7`, `[]`, `{"a":1} x`, `{"a"}`, `{"a":1,}`, `{"a":nan}`, `{"a":-Inf}`, `{"a":` + strings.Repeat("[", 100)} {
		require.Error(t, encode.JSONMembers([]byte(text), take), text)
	}
	stop := errors.New("enough")
	require.ErrorIs(t, encode.JSONMembers([]byte(`{"a":1,"b":`), func([]byte, []byte) error { return stop }), stop)
	long := []byte(`{"op":"publish","msg":"` + strings.Repeat("x", 1<<20) + `"}`)
	assert.Less(t, testing.AllocsPerRun(10, func() {
		require.NoError(t, encode.JSONMembers(long, func([]byte, []byte) error { return nil }))
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
		assert.Equal(t, want, string(encode.StrictJSON([]byte(text))), text)
	}
}

func TestBytesFromSources(t *testing.T) {
	for n := range 10000 {
		if n > 20 && n%997 != 0 && (n < 3070 || n > 3076) {
			continue
		}
		data := bytes.Repeat([]byte{1, 200, 30, 255, 7}, n/5+1)[:n]
		want := jsonText(t, ros.ROS2, &ros.CompressedImage{Data: ros.Bytes{Data: data}})
		assert.Contains(t, want, `"data":"`+base64.StdEncoding.EncodeToString(data)+`"`)
		require.Equal(t, want, jsonText(t, ros.ROS2, &ros.CompressedImage{Data: ros.Bytes{Source: source(data)}}), "%d bytes", n)
	}
}

// source writes its bytes in place.
type source []byte

func (s source) Size() int      { return len(s) }
func (s source) Put(dst []byte) { copy(dst, s) }

// jsonVector is a message of wire/ros1: as values that Python wrote as JSON, and as genpy
// serialised it.
type jsonVector struct {
	text string
	m    ros.Message
}

func jsonVectors(t testing.TB) []jsonVector {
	const dir = "../../../testdata/wire/ros1"
	types := map[string]ros.Message{}
	for _, m := range bridgetest.EveryMessage() {
		types[ros.ROS1.TypeName(m.TypeName())] = m
	}
	var list []jsonVector
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
		v := jsonVector{
			text: strings.NewReplacer(`"nan"`, "null", `"inf"`, "null", `"-inf"`, "null").Replace(string(file.Message)),
			m:    types[file.Type],
		}
		require.NoError(t, encode.ROS1.Decoder().Decode(data, v.m))
		list = append(list, v)
	}
	require.Len(t, list, 27)
	return list
}

// TestPythonsValuesOfJSON: JSON that Python wrote reads as what genpy serialised, and what is
// written are the values that Python has.
func TestPythonsValuesOfJSON(t *testing.T) {
	for _, v := range jsonVectors(t) {
		got := jsonText(t, ros.ROS1, v.m)
		assert.JSONEq(t, v.text, got)
		read := bridgetest.NewMessage(v.m)
		require.NoError(t, readJSON(ros.ROS1, v.text, read))
		assert.Equal(t, got, jsonText(t, ros.ROS1, read))
	}
}

func TestJSONInAnyOrderAndForm(t *testing.T) {
	want := ros.PointField{Name: "x\n/é🚗\ufffd", Offset: 4, Datatype: 7, Count: 1}
	for _, text := range []string{
		`{"name":"x\n\/\u00e9\ud83d\ude97\ud83d","offset":4,"datatype":7,"count":1}`,
		" {\t\"count\" : 1.0 ,\r\n\"datatype\":70e-1, \"offset\":4, \"name\":\"x\\u000a/é🚗\ufffd\" }\n",
		`{"unknown":[{"a":[1,2.5e3,{}],"b":null},true,false,"\"}"],"offset":4,"datatype":7,"name":"x\n/é🚗\udead","x":{},"count":1,"y":[]}`,
		`{"off\u0073et":4,"count":1,"name":"x\n/é🚗` + "\xff" + `","datatype":7}`,
	} {
		got := ros.PointField{Name: "old", Count: 5}
		require.NoError(t, readJSON(ros.ROS2, text, &got), text)
		assert.Equal(t, want, got, text)
	}
}

func TestBothVersionsNames(t *testing.T) {
	for _, version := range versions {
		var m ros.CameraInfo
		for _, text := range []string{
			`{"header":{"seq":3,"stamp":{"secs":1,"nsecs":2}},"D":[1,null],"K":[1,2,3,4,5,6,7,8,9],"roi":null}`,
			`{"header":{"seq":3,"stamp":{"sec":1,"nanosec":2}},"d":[1,null],"k":[1,2,3,4,5,6,7,8,9]}`,
		} {
			m = ros.CameraInfo{Width: 5, P: [12]float64{1}, ROI: ros.RegionOfInterest{Width: 7}}
			require.NoError(t, readJSON(version, text, &m))
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

func TestJSONTakesBytesAsTextOrNumbers(t *testing.T) {
	for _, text := range []string{`"AQL/"`, `"AQL\/"`, `[1,2,255]`, `[ 1 , 2.0 , 255 ]`} {
		m := ros.CompressedImage{Data: ros.Bytes{Source: source("old")}}
		require.NoError(t, readJSON(ros.ROS2, `{"data":`+text+`}`, &m), text)
		assert.Equal(t, ros.Bytes{Data: []byte{1, 2, 255}}, m.Data, text)
	}
	for text, want := range map[string]string{`"AQ=="`: "\x01", `"AQ"`: "\x01", `""`: "", `[]`: "", `null`: ""} {
		m := ros.CompressedImage{Data: ros.Bytes{Data: []byte("old")}}
		require.NoError(t, readJSON(ros.ROS2, `{"data":`+text+`}`, &m), text)
		assert.Equal(t, want, string(m.Data.Data), text)
	}
}

func TestJSONRefuses(t *testing.T) {
	deep := strings.Repeat("[", 64+1) + strings.Repeat("]", 64+1)
	for text, want := range map[string]error{
		``: encode.ErrTruncated, `{`: encode.ErrTruncated, `{"`: encode.ErrTruncated, `{"name`: encode.ErrTruncated,
		`{"name"`: encode.ErrTruncated, `{"name":`: encode.ErrTruncated, `{"name":"x`: encode.ErrTruncated,
		`{"name":"x"`: encode.ErrTruncated, `{"a":[`: encode.ErrTruncated, `{"a":"\`: encode.ErrTruncated,
		`[]`: encode.ErrType, `null`: encode.ErrType, `5`: encode.ErrType,
		`{}x`: encode.ErrMalformed, `{} {}`: encode.ErrMalformed, `{"a":1,}`: encode.ErrMalformed, `{,}`: encode.ErrMalformed,
		`{"a":[1,]}`: encode.ErrMalformed, `{"a":1 "b":2}`: encode.ErrMalformed, `{"a" 1}`: encode.ErrMalformed, `{a:1}`: encode.ErrMalformed,
		`{"a":01}`: encode.ErrMalformed, `{"a":-}`: encode.ErrMalformed, `{"a":1.}`: encode.ErrMalformed, `{"a":1e}`: encode.ErrMalformed,
		`{"a":+1}`: encode.ErrMalformed, `{"a":.5}`: encode.ErrMalformed, `{"a":Nan}`: encode.ErrMalformed, `{"a":tru}`: encode.ErrMalformed,
		`{"a":"\x"}`: encode.ErrMalformed, `{"a":"\u12g4"}`: encode.ErrMalformed, "{\"a\":\"\n\"}": encode.ErrMalformed, "{\"a\":\"abcdefgh\x1f\"}": encode.ErrMalformed,
		`{"a":[}`: encode.ErrMalformed, `{"a":{]}`: encode.ErrMalformed, `{"a":` + deep + `}`: encode.ErrDepth,
		`{"name":5}`: encode.ErrType, `{"name":{}}`: encode.ErrType, `{"offset":"5"}`: encode.ErrType, `{"offset":1.5}`: encode.ErrType, `{"offset":true}`: encode.ErrType,
		`{"datatype":256}`: encode.ErrRange, `{"datatype":-1}`: encode.ErrRange, `{"offset":4294967296}`: encode.ErrRange,
		`{"offset":99999999999999999999}`: encode.ErrRange, `{"offset":1e300}`: encode.ErrRange, `{"offset":1e999}`: encode.ErrRange,
	} {
		assert.ErrorIs(t, readJSON(ros.ROS2, text, &ros.PointField{}), want, text)
	}
	for text, c := range map[string]struct {
		m    ros.Message
		want error
	}{
		`{"data":1e39}`:   {&ros.Float32{}, encode.ErrRange},
		`{"x":1e309}`:     {&ros.Point{}, encode.ErrRange},
		`{"x":"NaN"}`:     {&ros.Point{}, encode.ErrType},
		`{"data":1}`:      {&ros.SetBoolRequest{}, encode.ErrType},
		`{"data":tRue}`:   {&ros.SetBoolRequest{}, encode.ErrMalformed},
		`{"data":"A"}`:    {&ros.CompressedImage{}, encode.ErrType},
		`{"data":"A*=="}`: {&ros.CompressedImage{}, encode.ErrType},
		`{"data":[256]}`:  {&ros.CompressedImage{}, encode.ErrRange},
		`{"data":[null]}`: {&ros.CompressedImage{}, encode.ErrType},
		`{"data":{}}`:     {&ros.CompressedImage{}, encode.ErrType},
		`{"k":[1,2,3]}`:   {&ros.CameraInfo{}, encode.ErrRange},
		`{"r":[` + strings.Repeat("1,", 9) + `1]}`: {&ros.CameraInfo{}, encode.ErrRange},
		`{"header":[]}`:         {&ros.Image{}, encode.ErrType},
		`{"transforms":{}}`:     {&ros.TFMessage{}, encode.ErrType},
		`{"transforms":[null]}`: {&ros.TFMessage{}, encode.ErrType},
		`{"transforms":[` + strings.Repeat("{},", 5000) + `{}]}`: {&ros.TFMessage{}, encode.ErrTooLarge},
		`{"crossed_lane_markings":[2147483648]}`:                 {&ros.CarlaLaneInvasionEvent{}, encode.ErrRange},
	} {
		assert.ErrorIs(t, readJSON(ros.ROS2, text, c.m), c.want, text)
	}
}

// TestNestedErrorsNameTheField says where a message is wrong.
func TestNestedErrorsNameTheField(t *testing.T) {
	err := readJSON(ros.ROS2, `{"linear":{"x":"fast"}}`, &ros.Twist{})
	assert.EqualError(t, err, "decode geometry_msgs/msg/Twist: x: value at byte 15 is not a number: value is of another type than the field")
}

func BenchmarkDecodeImu(b *testing.B) {
	m := new(ros.Imu)
	text := (&encode.TreeEncoder{Format: encode.JSON}).Append(nil, m)
	d := (&encode.TreeDecoder{Format: encode.JSON})
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if err := d.Decode(text, m); err != nil {
			b.Fatal(err)
		}
	}
}

func ExampleTreeEncoder() {
	e := encode.TreeEncoder{Format: encode.JSON, Version: ros.ROS1}
	frame := []byte(`{"op":"publish","topic":"/clock","msg":`)
	frame = e.Append(frame, &ros.Clock{Clock: ros.Time{Sec: 12, Nanosec: 500}})
	fmt.Println(string(append(frame, '}')))
	// Output: {"op":"publish","topic":"/clock","msg":{"clock":{"secs":12,"nsecs":500}}}
}
