package rosbson_test

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/encode"
	"github.com/raybridge/raybridge/bridges/internal/rosbson"
	"github.com/raybridge/raybridge/bridges/internal/rostree"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/bridges/ros/rostest"
)

var versions = []ros.Version{ros.ROS2, ros.ROS1}

func encoded(t testing.TB, version ros.Version, m ros.Message) []byte {
	e := rosbson.Encoder{Version: version}
	data := e.Append([]byte("before"), m)[6:]
	require.NoError(t, e.Err())
	require.Equal(t, len(data), int(binary.LittleEndian.Uint32(data)))
	return data
}

func decode(version ros.Version, data []byte, m ros.Message) error {
	return (&rosbson.Decoder{Version: version}).Decode(data, m)
}

// bits are all values of a message, NaN with their bits.
func bits(m ros.Message) []byte { return encode.ROS1.Encoder().Append(nil, m) }

func TestRoundTripOfEveryMessage(t *testing.T) {
	for _, m := range rostest.Every() {
		for seed := range uint64(30) {
			rostest.Fill(m, seed)
			again := rostest.New(m)
			require.NoError(t, decode(ros.ROS1, encoded(t, ros.ROS1, m), again))
			require.Equal(t, bits(m), bits(again), m.TypeName())
			require.NoError(t, decode(ros.ROS2, encoded(t, ros.ROS2, m), again))
			require.Equal(t, encoded(t, ros.ROS2, m), encoded(t, ros.ROS2, again), m.TypeName())
		}
	}
}

// vectors calls f with each message of wire/ros1, by its file's name.
func vectors(t testing.TB, f func(name string, m ros.Message, data []byte)) {
	types := map[string]ros.Message{}
	for _, m := range rostest.Every() {
		name := m.TypeName()
		types[strings.ToLower(strings.ReplaceAll(name[strings.LastIndex(name, "/")+1:], "_", ""))] = m
	}
	// Names that vision_msgs and others have too aren't among the vectors.
	files, err := filepath.Glob("../../../testdata/wire/ros1/*.bin")
	require.NoError(t, err)
	require.Len(t, files, 27)
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".bin")
		m := types[strings.ReplaceAll(name, "_", "")]
		require.NotNil(t, m, name)
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, encode.ROS1.Decoder().Decode(data, m), name)
		if data, err = os.ReadFile(filepath.Join("../../../testdata/wire/rostree", name+".bson")); err != nil {
			t.Fatal(err)
		}
		f(name, m, data)
	}
}

// TestPythonsBytes: Python's bson comes to the same bytes.
func TestPythonsBytes(t *testing.T) {
	vectors(t, func(name string, m ros.Message, data []byte) {
		assert.Equal(t, data, encoded(t, ros.ROS1, m), name)
		again := rostest.New(m)
		require.NoError(t, decode(ros.ROS1, data, again), name)
		assert.Equal(t, bits(m), bits(again), name)
		for n := range len(data) {
			require.Error(t, decode(ros.ROS1, data[:n], again), "%s cut to %d bytes", name, n)
		}
		require.ErrorIs(t, decode(ros.ROS1, append(data, 0), again), rostree.ErrMalformed, name)
	})
}

// document makes a document of elements, each its type, its name and its value as hex.
func document(elements ...string) []byte {
	body := []byte{0, 0, 0, 0}
	for i := 0; i < len(elements); i += 2 {
		value, err := hex.DecodeString(elements[i+1])
		if err != nil {
			panic(err)
		}
		body = append(body, value[0])
		body = append(append(body, elements[i]...), 0)
		body = append(body, value[1:]...)
	}
	body = append(body, 0)
	binary.LittleEndian.PutUint32(body, uint32(len(body)))
	return body
}

func TestDecodeTakesTypesOfOthers(t *testing.T) {
	want := ros.PointField{Name: "x", Offset: 4, Datatype: 7, Count: 1}
	for name, data := range map[string][]byte{
		"doubles":   document("name", "02"+"02000000"+"7800", "offset", "01"+"0000000000001040", "datatype", "01"+"0000000000001c40", "count", "12"+"0100000000000000"),
		"any order": document("count", "1001000000", "datatype", "1007000000", "name", "02"+"02000000"+"7800", "offset", "1004000000"),
		"unknown elements": document(
			"a", "07"+"000102030405060708090a0b", "b", "09"+"0000000000000000", "c", "0a", "d", "06", "e", "0b"+"612e00"+"6900", "f", "0d"+"02000000"+"7800",
			"g", "11"+"0000000000000000", "h", "13"+"00000000000000000000000000000000", "i", "ff", "j", "7f", "k", "0c"+"02000000"+"7800"+"000102030405060708090a0b",
			"l", "0f"+"0e000000"+"01000000"+"00"+"0500000000", "m", "05"+"02000000"+"80"+"0102", "n", "03"+"0500000000", "o", "04"+"0500000000",
			"name", "02"+"02000000"+"7800", "offset", "1004000000", "datatype", "1007000000", "count", "1001000000", "p", "0801"),
	} {
		var got ros.PointField
		require.NoError(t, decode(ros.ROS2, data, &got), name)
		assert.Equal(t, want, got, name)
	}

	var image ros.CompressedImage
	for name, value := range map[string]string{
		"binary": "05" + "02000000" + "00" + "01ff", "of another subtype": "05" + "02000000" + "80" + "01ff",
		"array": "04" + "13000000" + "103000" + "01000000" + "103100" + "ff000000" + "00",
	} {
		require.NoError(t, decode(ros.ROS2, document("data", value), &image), name)
		assert.Equal(t, []byte{1, 0xff}, image.Data.Data, name)
	}
	var point ros.Point
	require.NoError(t, decode(ros.ROS2, document("x", "0a", "y", "1005000000", "z", "01000000000000f07f"), &point))
	assert.True(t, math.IsNaN(point.X))
	assert.Equal(t, 5.0, point.Y)
	assert.True(t, math.IsInf(point.Z, 1))
}

func TestDecodeRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		data []byte
		m    ros.Message
		want error
	}{
		"nothing":               {nil, &ros.Point{}, rostree.ErrTruncated},
		"length of four":        {[]byte{4, 0, 0, 0}, &ros.Point{}, rostree.ErrMalformed},
		"negative length":       {[]byte{255, 255, 255, 255, 0}, &ros.Point{}, rostree.ErrMalformed},
		"length beyond":         {[]byte{6, 0, 0, 0, 0}, &ros.Point{}, rostree.ErrTruncated},
		"no zero at the end":    {[]byte{5, 0, 0, 0, 1}, &ros.Point{}, rostree.ErrMalformed},
		"name without end":      {[]byte{8, 0, 0, 0, 1, 'x', 'x', 0}, &ros.Point{}, rostree.ErrMalformed},
		"value behind document": {[]byte{9, 0, 0, 0, 1, 'x', 0, 0, 0, 0, 0, 0, 0, 0, 0}, &ros.Point{}, rostree.ErrMalformed},
		"unknown type":          {document("a", "20"), &ros.Point{}, rostree.ErrMalformed},
		"string for number":     {document("x", "02"+"02000000"+"7800"), &ros.Point{}, rostree.ErrType},
		"boolean of two":        {document("data", "0802"), &ros.SetBoolRequest{}, rostree.ErrMalformed},
		"number for boolean":    {document("data", "1001000000"), &ros.SetBoolRequest{}, rostree.ErrType},
		"string without zero":   {document("frame_id", "02"+"02000000"+"7878"), &ros.Header{}, rostree.ErrMalformed},
		"string of length 0":    {document("frame_id", "02"+"00000000"), &ros.Header{}, rostree.ErrMalformed},
		"string beyond":         {document("frame_id", "02"+"ffffff7f"+"7800"), &ros.Header{}, rostree.ErrTruncated},
		"number for string":     {document("frame_id", "1001000000"), &ros.Header{}, rostree.ErrType},
		"fraction for integer":  {document("offset", "01"+"000000000000e03f"), &ros.PointField{}, rostree.ErrType},
		"NaN for integer":       {document("offset", "01"+"000000000000f87f"), &ros.PointField{}, rostree.ErrType},
		"integer out of range":  {document("datatype", "1000010000"), &ros.PointField{}, rostree.ErrRange},
		"float out of range":    {document("data", "01"+"ffffffffffffef7f"), &ros.Float32{}, rostree.ErrRange},
		"binary beyond":         {document("data", "05"+"ffffff7f"+"00"), &ros.CompressedImage{}, rostree.ErrTruncated},
		"document for array":    {document("transforms", "03"+"0500000000"), &ros.TFMessage{}, rostree.ErrType},
		"array for document":    {document("linear", "04"+"0500000000"), &ros.Twist{}, rostree.ErrType},
		"array of other size":   {document("k", "04"+"0500000000"), &ros.CameraInfo{}, rostree.ErrRange},
	} {
		assert.ErrorIs(t, decode(ros.ROS2, c.data, c.m), c.want, name)
	}
}

func TestTimesBeforeTheEpoch(t *testing.T) {
	clock := &ros.Clock{Clock: ros.Time{Sec: -1}}
	e := rosbson.Encoder{Version: ros.ROS1}
	data := e.Append(nil, clock)
	assert.ErrorIs(t, e.Err(), ros.ErrBeforeEpoch)
	assert.Equal(t, encoded(t, ros.ROS1, &ros.Clock{}), data)
	assert.ErrorIs(t, decode(ros.ROS1, encoded(t, ros.ROS2, clock), clock), rostree.ErrRange)
}

func TestTextIsUTF8(t *testing.T) {
	got := encoded(t, ros.ROS2, &ros.Header{FrameID: "a\xffb"})
	assert.Contains(t, string(got), "\x06\x00\x00\x00a\ufffdb\x00")
	var m ros.Header
	require.NoError(t, decode(ros.ROS2, document("frame_id", "02"+"04000000"+"61ff6200"), &m))
	assert.Equal(t, "a\ufffdb", m.FrameID)
}

func FuzzDecode(f *testing.F) {
	every := rostest.Every()
	for i, m := range every {
		rostest.Fill(m, 1)
		f.Add(uint8(i), encoded(f, ros.ROS1, m))
		f.Add(uint8(i), encoded(f, ros.ROS2, m))
	}
	f.Fuzz(func(t *testing.T, i uint8, data []byte) {
		m := rostest.New(every[int(i)%len(every)])
		if decode(ros.ROS1, data, m) != nil {
			return
		}
		first := encoded(t, ros.ROS1, m)
		again := rostest.New(m)
		require.NoError(t, decode(ros.ROS1, first, again))
		require.Equal(t, first, encoded(t, ros.ROS1, again))
	})
}

func TestAppendIntoReusedBufferAllocatesNothing(t *testing.T) {
	for _, version := range versions {
		for _, m := range rostest.Every() {
			rostest.Fill(m, 3)
			e := &rosbson.Encoder{Version: version}
			buf := e.Append(nil, m)
			assert.Zero(t, testing.AllocsPerRun(20, func() { buf = e.Append(buf[:0], m) }), m.TypeName())
		}
	}
}

func BenchmarkAppendPointCloud2(b *testing.B) {
	m := &ros.PointCloud2{Data: ros.Bytes{Data: make([]byte, 8<<20)}}
	e := new(rosbson.Encoder)
	var buf []byte
	b.ReportAllocs()
	b.SetBytes(8 << 20)
	for b.Loop() {
		buf = e.Append(buf[:0], m)
	}
}

func BenchmarkDecodePointCloud2(b *testing.B) {
	m := &ros.PointCloud2{Data: ros.Bytes{Data: make([]byte, 8<<20)}}
	data := new(rosbson.Encoder).Append(nil, m)
	d := new(rosbson.Decoder)
	b.ReportAllocs()
	b.SetBytes(8 << 20)
	for b.Loop() {
		if err := d.Decode(data, m); err != nil {
			b.Fatal(err)
		}
	}
}

// large is a source of more bytes than a document has; it must not be asked for them.
type large struct{ size int }

func (l large) Size() int { return l.size }
func (large) Put([]byte)  { panic("asked for bytes beyond the limit") }

func TestMessagesAboveTheLimitTakeNoMemory(t *testing.T) {
	m := &ros.Image{Data: ros.Bytes{Source: large{math.MaxInt32}}}
	var e rosbson.Encoder
	data := e.Append(nil, m)
	require.ErrorIs(t, e.Err(), rosbson.ErrSize)
	assert.ErrorIs(t, e.Err(), bridges.ErrTooLarge)
	assert.Less(t, len(data), 1000)

	m.Data = ros.Bytes{Data: make([]byte, 100)}
	size := len(e.Append(nil, m))
	require.NoError(t, e.Err(), "the next message is good")
	e.Limit = size
	e.Append(nil, m)
	require.NoError(t, e.Err())
	e.Limit = size - 1
	e.Append(nil, m)
	assert.ErrorIs(t, e.Err(), rosbson.ErrSize, "all that is in the buffer counts")
}
