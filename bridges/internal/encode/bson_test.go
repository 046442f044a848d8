package encode_test

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

	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/internal/encode"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/flow"
)

func bsonBytes(tb testing.TB, version ros.Version, m ros.Message) []byte {
	return treeBytes(tb, encode.BSON, version, m)
}

func readBSON(version ros.Version, data []byte, m ros.Message) error {
	return readTree(encode.BSON, version, data, m)
}

// bsonVectors calls f with each message of wire/ros1, by its file's name.
func bsonVectors(t testing.TB, f func(name string, m ros.Message, data []byte)) {
	types := map[string]ros.Message{}
	for _, m := range bridgetest.EveryMessage() {
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

// TestPythonsBytesOfBSON: Python's bson comes to the same bytes.
func TestPythonsBytesOfBSON(t *testing.T) {
	bsonVectors(t, func(name string, m ros.Message, data []byte) {
		assert.Equal(t, data, bsonBytes(t, ros.ROS1, m), name)
		again := bridgetest.NewMessage(m)
		require.NoError(t, readBSON(ros.ROS1, data, again), name)
		assert.Equal(t, bits(m), bits(again), name)
		for n := range len(data) {
			require.Error(t, readBSON(ros.ROS1, data[:n], again), "%s cut to %d bytes", name, n)
		}
		require.ErrorIs(t, readBSON(ros.ROS1, append(data, 0), again), encode.ErrMalformed, name)
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

func TestBSONTakesTypesOfOthers(t *testing.T) {
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
		require.NoError(t, readBSON(ros.ROS2, data, &got), name)
		assert.Equal(t, want, got, name)
	}

	var image ros.CompressedImage
	for name, value := range map[string]string{
		"binary": "05" + "02000000" + "00" + "01ff", "of another subtype": "05" + "02000000" + "80" + "01ff",
		"array": "04" + "13000000" + "103000" + "01000000" + "103100" + "ff000000" + "00",
	} {
		require.NoError(t, readBSON(ros.ROS2, document("data", value), &image), name)
		assert.Equal(t, []byte{1, 0xff}, image.Data.Data, name)
	}
	var point ros.Point
	require.NoError(t, readBSON(ros.ROS2, document("x", "0a", "y", "1005000000", "z", "01000000000000f07f"), &point))
	assert.True(t, math.IsNaN(point.X))
	assert.Equal(t, 5.0, point.Y)
	assert.True(t, math.IsInf(point.Z, 1))
}

func TestBSONRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		data []byte
		m    ros.Message
		want error
	}{
		"nothing":               {nil, &ros.Point{}, encode.ErrTruncated},
		"length of four":        {[]byte{4, 0, 0, 0}, &ros.Point{}, encode.ErrMalformed},
		"negative length":       {[]byte{255, 255, 255, 255, 0}, &ros.Point{}, encode.ErrMalformed},
		"length beyond":         {[]byte{6, 0, 0, 0, 0}, &ros.Point{}, encode.ErrTruncated},
		"no zero at the end":    {[]byte{5, 0, 0, 0, 1}, &ros.Point{}, encode.ErrMalformed},
		"name without end":      {[]byte{8, 0, 0, 0, 1, 'x', 'x', 0}, &ros.Point{}, encode.ErrMalformed},
		"value behind document": {[]byte{9, 0, 0, 0, 1, 'x', 0, 0, 0, 0, 0, 0, 0, 0, 0}, &ros.Point{}, encode.ErrMalformed},
		"unknown type":          {document("a", "20"), &ros.Point{}, encode.ErrMalformed},
		"string for number":     {document("x", "02"+"02000000"+"7800"), &ros.Point{}, encode.ErrType},
		"boolean of two":        {document("data", "0802"), &ros.SetBoolRequest{}, encode.ErrMalformed},
		"number for boolean":    {document("data", "1001000000"), &ros.SetBoolRequest{}, encode.ErrType},
		"string without zero":   {document("frame_id", "02"+"02000000"+"7878"), &ros.Header{}, encode.ErrMalformed},
		"string of length 0":    {document("frame_id", "02"+"00000000"), &ros.Header{}, encode.ErrMalformed},
		"string beyond":         {document("frame_id", "02"+"ffffff7f"+"7800"), &ros.Header{}, encode.ErrTruncated},
		"number for string":     {document("frame_id", "1001000000"), &ros.Header{}, encode.ErrType},
		"fraction for integer":  {document("offset", "01"+"000000000000e03f"), &ros.PointField{}, encode.ErrType},
		"NaN for integer":       {document("offset", "01"+"000000000000f87f"), &ros.PointField{}, encode.ErrType},
		"integer out of range":  {document("datatype", "1000010000"), &ros.PointField{}, encode.ErrRange},
		"float out of range":    {document("data", "01"+"ffffffffffffef7f"), &ros.Float32{}, encode.ErrRange},
		"binary beyond":         {document("data", "05"+"ffffff7f"+"00"), &ros.CompressedImage{}, encode.ErrTruncated},
		"document for array":    {document("transforms", "03"+"0500000000"), &ros.TFMessage{}, encode.ErrType},
		"array for document":    {document("linear", "04"+"0500000000"), &ros.Twist{}, encode.ErrType},
		"array of other size":   {document("k", "04"+"0500000000"), &ros.CameraInfo{}, encode.ErrRange},
	} {
		assert.ErrorIs(t, readBSON(ros.ROS2, c.data, c.m), c.want, name)
	}
}

func TestTextOfBSONIsUTF8(t *testing.T) {
	got := bsonBytes(t, ros.ROS2, &ros.Header{FrameID: "a\xffb"})
	assert.Contains(t, string(got), "\x06\x00\x00\x00a\ufffdb\x00")
	var m ros.Header
	require.NoError(t, readBSON(ros.ROS2, document("frame_id", "02"+"04000000"+"61ff6200"), &m))
	assert.Equal(t, "a\ufffdb", m.FrameID)
}

// huge is a source of more bytes than a document has; it must not be asked for them.
type huge struct{ size int }

func (l huge) Size() int { return l.size }
func (huge) Put([]byte)  { panic("asked for bytes beyond the limit") }

func TestMessagesAboveTheLimitTakeNoMemory(t *testing.T) {
	m := &ros.Image{Data: ros.Bytes{Source: huge{math.MaxInt32}}}
	e := encode.TreeEncoder{Format: encode.BSON}
	data := e.Append(nil, m)
	require.ErrorIs(t, e.Err(), encode.ErrSize)
	assert.ErrorIs(t, e.Err(), flow.ErrTooLarge)
	assert.Less(t, len(data), 1000)

	m.Data = ros.Bytes{Data: make([]byte, 100)}
	size := len(e.Append(nil, m))
	require.NoError(t, e.Err(), "the next message is good")
	e.Limit = size
	e.Append(nil, m)
	require.NoError(t, e.Err())
	e.Limit = size - 1
	e.Append(nil, m)
	assert.ErrorIs(t, e.Err(), encode.ErrSize, "all that is in the buffer counts")
}
