package rosbridgev2_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/internal/rosbridgev2"
	"github.com/raybridge/raybridge/internal/guard"
)

// wire returns a frame that testdata/wire/rosbridge/make.py made.
func wire(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../../../testdata/wire/rosbridge", name))
	require.NoError(t, err)
	return data
}

// document ends a BSON document of elements.
func document(elements string) []byte {
	b := append([]byte{0, 0, 0, 0}, elements...)
	b = append(b, 0)
	b[0], b[1] = byte(len(b)), byte(len(b)>>8)
	return b
}

func TestParseFramesOfOthers(t *testing.T) {
	for _, form := range []rosbridgev2.Form{rosbridgev2.BSON, rosbridgev2.CBOR} {
		extension, bson := ".cbor", form == rosbridgev2.BSON
		if bson {
			extension = ".bson"
		}
		parse := func(name string) rosbridgev2.Frame {
			f, err := rosbridgev2.Parse(wire(t, name+extension), bson)
			require.NoError(t, err, name)
			assert.Equal(t, form, f.Form)
			return f
		}
		f := parse("publish")
		assert.Equal(t, "publish", f.Op)
		assert.Equal(t, "/cmd_vel", f.Topic)
		assert.NotEmpty(t, f.Message)
		f = parse("call")
		assert.Equal(t, "call_service /light", f.Op+" "+f.Service)
		assert.NotEmpty(t, f.ID)
		assert.NotEmpty(t, f.Values)
		f = parse("status")
		assert.Equal(t, "error no such topic ü", f.Level+" "+f.Text)
		f = parse("other")
		assert.Equal(t, "publish /x", f.Op+" "+f.Topic)
	}
	f, err := rosbridgev2.Parse(wire(t, "raw.cbor"), false)
	require.NoError(t, err)
	raw, err := rosbridgev2.ParseRaw(f.Message)
	require.NoError(t, err)
	assert.EqualValues(t, []any{uint32(7), uint32(250_000_000), 48, byte(47)}, []any{raw.Secs, raw.Nsecs, len(raw.Bytes), raw.Bytes[47]})
}

func TestParseJSON(t *testing.T) {
	f, err := rosbridgev2.Parse([]byte(` {"op":"subscribe","id":7,"topic":"/a","type":"b/C","throttle_rate":100,"queue_length":2,
		"fragment_size":1000,"compression":"cbor-raw","other":[{}]} `), false)
	require.NoError(t, err)
	assert.Equal(t, rosbridgev2.Frame{
		Op: "subscribe", ID: []byte("7"), Topic: "/a", Type: "b/C", ThrottleRate: 100, QueueLength: 2, FragmentSize: 1000, Compression: "cbor-raw",
	}, f)
	f, err = rosbridgev2.Parse([]byte(`{"op":"call_service","service":"/s","args":null,"id":null}`), false)
	require.NoError(t, err)
	assert.Nil(t, f.ID)
	assert.Nil(t, f.Values)
}

// Python and JavaScript choose the type of a number by themselves.
func TestNumbersInBSON(t *testing.T) {
	for name, c := range map[string]struct {
		kind, value string
		want        int
	}{
		"int32":             {"\x10", "\x64\x00\x00\x00", 100},
		"int64":             {"\x12", "\x64\x00\x00\x00\x00\x00\x00\x00", 100},
		"double":            {"\x01", "\x00\x00\x00\x00\x00\x00\x59\x40", 100},
		"not a number":      {"\x01", "\x00\x00\x00\x00\x00\x00\xf8\x7f", 0},
		"a text, no number": {"\x02", "\x04\x00\x00\x00100\x00", 0},
	} {
		f, err := rosbridgev2.Parse(document("\x02op\x00\x0a\x00\x00\x00subscribe\x00"+
			c.kind+"throttle_rate\x00"+c.value+c.kind+"queue_length\x00"+c.value), true)
		require.NoError(t, err, name)
		assert.Equal(t, []int{c.want, c.want}, []int{f.ThrottleRate, f.QueueLength}, name)
	}
}

// TestNamesAreBounded: longer ones are refused before anybody keeps them.
func TestNamesAreBounded(t *testing.T) {
	most, more := strings.Repeat("n", guard.NameBytes), strings.Repeat("n", guard.NameBytes+1)
	for _, field := range []string{"op", "topic", "service", "type", "level", "compression"} {
		_, err := rosbridgev2.Parse(fmt.Appendf(nil, `{"op":"x",%q:%q}`, field, most), false)
		require.NoError(t, err, field)
		_, err = rosbridgev2.Parse(fmt.Appendf(nil, `{"op":"x",%q:%q}`, field, more), false)
		require.ErrorIs(t, err, rosbridgev2.ErrFrame, field)
		assert.ErrorContains(t, err, field+" of 257 bytes, the most are 256")
		_, err = rosbridgev2.Parse(document("\x02op\x00\x02\x00\x00\x00x\x00\x02"+field+"\x00\x02\x01\x00\x00"+more+"\x00"), true)
		require.ErrorIs(t, err, rosbridgev2.ErrFrame, field)
	}
	_, err := rosbridgev2.Parse(fmt.Appendf(nil, `{"op":"x","id":%q}`, strings.Repeat("i", guard.IDBytes-2)), false)
	require.NoError(t, err)
	_, err = rosbridgev2.Parse(fmt.Appendf(nil, `{"op":"x","id":%q}`, strings.Repeat("i", guard.IDBytes-1)), false)
	require.ErrorIs(t, err, rosbridgev2.ErrFrame)
	huge := fmt.Appendf(nil, `{"op":"x","topic":%q}`, strings.Repeat("n", 1<<20))
	_, err = rosbridgev2.Parse(huge, false)
	assert.Less(t, len(err.Error()), 1000, "the error quotes no more than the beginning")
}

func TestParseRubbish(t *testing.T) {
	for _, text := range []string{"", " ", "{", "[]", "7", `{"topic":"/x"}`, `{"op":7}`, `{"op":"publish"}{}`, "\x00", "\xa0", "\xa1\x62op", "\xff", `{"op":"status","msg":7}`} {
		_, err := rosbridgev2.Parse([]byte(text), false)
		assert.ErrorIs(t, err, rosbridgev2.ErrFrame, "%q", text)
	}
	whole := wire(t, "publish.bson")
	for n := range whole {
		_, err := rosbridgev2.Parse(whole[:n], true)
		assert.ErrorIs(t, err, rosbridgev2.ErrFrame, "the first %d bytes", n)
	}
	for name, data := range map[string][]byte{
		"no op":               document(""),
		"name without an end": document("\x02op"),
		"unknown type":        document("\x06op\x00"),
		"long string":         document("\x02op\x00\xff\x00\x00\x00ab\x00"),
		"negative string":     document("\x02op\x00\xff\xff\xff\xffab\x00"),
		"short string":        document("\x02op\x00\x00\x00\x00\x00"),
		"short document":      document("\x03op\x00\x00\x00\x00\x00"),
		"other length":        append(document(""), 0),
	} {
		_, err := rosbridgev2.Parse(data, true)
		assert.ErrorIs(t, err, rosbridgev2.ErrFrame, name)
	}
	_, err := rosbridgev2.ParseRaw([]byte{0xa0})
	assert.ErrorIs(t, err, rosbridgev2.ErrFrame)
}

func TestAppendedFramesAreOthers(t *testing.T) {
	id := func(name string) []byte {
		f, err := rosbridgev2.Parse(wire(t, name), true)
		require.NoError(t, err)
		return f.ID
	}("call.bson")
	values := func(name string) []byte {
		f, err := rosbridgev2.Parse(wire(t, name), true)
		require.NoError(t, err)
		return f.Values
	}("response.bson")
	head := rosbridgev2.AppendPublishHead(nil, rosbridgev2.BSON, "/points", false)
	for name, got := range map[string][]byte{
		"advertise": rosbridgev2.AppendAdvertise(nil, rosbridgev2.BSON, rosbridgev2.Advertise{Topic: "/points", Type: "sensor_msgs/PointCloud2"}),
		"subscribe": rosbridgev2.AppendSubscribe(nil, rosbridgev2.BSON, rosbridgev2.Subscribe{Topic: "/cmd_vel", Type: "geometry_msgs/Twist", Compression: "cbor"}),
		"service":   rosbridgev2.AppendAdvertiseService(nil, rosbridgev2.BSON, "/light", "std_srvs/SetBool"),
		"response":  rosbridgev2.AppendResponse(nil, rosbridgev2.BSON, rosbridgev2.Response{Service: "/light", ID: id, Values: values, Result: true}),
		"failure":   rosbridgev2.AppendResponse(nil, rosbridgev2.BSON, rosbridgev2.Response{Service: "/light", ID: id, Reason: "no lamp"}),
		"head":      rosbridgev2.Seal(append(head, document("")...), rosbridgev2.BSON, 0),
	} {
		assert.Equal(t, wire(t, name+".bson"), got, name)
	}
}

func TestAppendedJSON(t *testing.T) {
	for want, got := range map[string][]byte{
		`{"op":"advertise","topic":"/a\"b","type":"c/D"}`: rosbridgev2.AppendAdvertise(nil, rosbridgev2.JSON, rosbridgev2.Advertise{Topic: `/a"b`, Type: "c/D"}),
		`{"op":"advertise","topic":"/a","type":"c/D","latch":true}`: rosbridgev2.AppendAdvertise(nil, rosbridgev2.JSON,
			rosbridgev2.Advertise{Topic: "/a", Type: "c/D", Latch: true}),
		`{"op":"publish","topic":"/a","latch":true,"msg":{}}`:    rosbridgev2.Seal(append(rosbridgev2.AppendPublishHead(nil, rosbridgev2.JSON, "/a", true), `{}`...), rosbridgev2.JSON, 0),
		`{"op":"subscribe","topic":"/a","type":"c/D"}`:           rosbridgev2.AppendSubscribe(nil, rosbridgev2.JSON, rosbridgev2.Subscribe{Topic: "/a", Type: "c/D"}),
		`{"op":"advertise_service","type":"c/D","service":"/s"}`: rosbridgev2.AppendAdvertiseService(nil, rosbridgev2.JSON, "/s", "c/D"),
		`{"op":"service_response","service":"/s","id":7,"values":{},"result":true}`: rosbridgev2.AppendResponse(nil, rosbridgev2.JSON,
			rosbridgev2.Response{Service: "/s", ID: []byte("7"), Values: []byte("{}"), Result: true}),
		`{"op":"service_response","service":"/s","values":"so\n","result":false}`: rosbridgev2.AppendResponse(nil, rosbridgev2.JSON,
			rosbridgev2.Response{Service: "/s", Reason: "so\n"}),
		`{"op":"status","level":"error","msg":"no"}`:         rosbridgev2.AppendStatus(nil, rosbridgev2.StatusMessage{Level: "error", Text: "no"}),
		`{"op":"status","level":"info","msg":"so","id":"a"}`: rosbridgev2.AppendStatus(nil, rosbridgev2.StatusMessage{Level: "info", Text: "so", ID: []byte(`"a"`)}),
		`{"op":"publish","topic":"/a","msg":{"x":1}}`:        rosbridgev2.Seal(append(rosbridgev2.AppendPublishHead(nil, rosbridgev2.JSON, "/a", false), `{"x":1}`...), rosbridgev2.JSON, 0),
	} {
		assert.Equal(t, want, string(got))
		assert.True(t, json.Valid(got))
	}
	// A text that isn't UTF-8 is made so: JSON is.
	assert.True(t, json.Valid(rosbridgev2.AppendStatus(nil, rosbridgev2.StatusMessage{Level: "error", Text: "\xff\x00"})))
}

func TestAppendedCBOR(t *testing.T) {
	frame := append(rosbridgev2.AppendCBORHead(nil, "/points"), 0x01)
	var m map[string]any
	require.NoError(t, cbor.Unmarshal(frame, &m))
	assert.Equal(t, map[string]any{"op": "publish", "topic": "/points", "msg": uint64(1)}, m)

	for _, size := range []int{0, 1, 300, 70_000} {
		frame, at := rosbridgev2.AppendRawHead(rosbridgev2.AppendCBORHead(nil, "/points"), 1_700_000_000_000_000_123)
		frame = rosbridgev2.SealRaw(append(frame, make([]byte, size)...), at)
		require.NoError(t, cbor.Unmarshal(frame, &m))
		assert.Equal(t, map[any]any{"secs": uint64(1_700_000_000), "nsecs": uint64(123), "bytes": make([]byte, size)}, m["msg"])
	}
}

func TestFragments(t *testing.T) {
	var f rosbridgev2.Fragments
	part := func(id string, num, total int, data string) ([]byte, error) {
		return f.Add(&rosbridgev2.Frame{ID: []byte(id), Num: num, Total: total, Data: data})
	}
	whole, err := part("a", 1, 2, "cd")
	require.NoError(t, err)
	assert.Nil(t, whole)
	_, err = part("b", 0, 2, "xy")
	require.NoError(t, err)
	whole, err = part("a", 0, 2, "ab")
	require.NoError(t, err)
	assert.Equal(t, "abcd", string(whole))
	for _, bad := range []rosbridgev2.Frame{
		{Num: 0, Total: 1, Data: "x"}, {ID: []byte("c"), Num: 1, Total: 1, Data: "x"}, {ID: []byte("c"), Num: -1, Total: 1, Data: "x"},
		{ID: []byte("c"), Total: 1 << 30, Data: "x"}, {ID: []byte("c"), Total: 1}, {ID: []byte("b"), Num: 1, Total: 3, Data: "x"},
	} {
		_, err := f.Add(&bad)
		assert.ErrorIs(t, err, rosbridgev2.ErrFrame, "%+v", bad)
	}
	for i := range 100 { // those that never end make room for others
		_, err := part(string(rune('a'+i)), 0, 2, "x")
		require.NoError(t, err)
	}
	_, err = part("z", 0, 2, string(make([]byte, 65<<20)))
	assert.ErrorIs(t, err, rosbridgev2.ErrFrame, "too large")
}

func FuzzParse(f *testing.F) {
	for _, name := range []string{"publish", "call", "response", "status", "other"} {
		f.Add(wire(f, name+".bson"), true)
		f.Add(wire(f, name+".cbor"), false)
	}
	f.Add(wire(f, "raw.cbor"), false)
	f.Add([]byte(`{"op":"fragment","id":"x","data":"{","num":0,"total":2}`), false)
	f.Fuzz(func(t *testing.T, data []byte, bson bool) {
		frame, err := rosbridgev2.Parse(data, bson)
		if err != nil {
			assert.ErrorIs(t, err, rosbridgev2.ErrFrame)
			return
		}
		assert.NotEmpty(t, frame.Op)
		form := rosbridgev2.JSON
		if bson {
			form = rosbridgev2.BSON
		}
		if frame.Form != form {
			return
		}
		answer := rosbridgev2.AppendResponse(nil, form, rosbridgev2.Response{Service: frame.Service, ID: frame.ID, Values: frame.Values, Result: true})
		again, err := rosbridgev2.Parse(answer, bson)
		if assert.NoError(t, err, "%q", answer) {
			assert.Equal(t, frame.ID, again.ID)
		}
	})
}
