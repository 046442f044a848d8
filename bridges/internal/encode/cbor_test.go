package encode_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/internal/encode"
	"github.com/raybridge/raybridge/bridges/ros"
)

func cborBytes(tb testing.TB, version ros.Version, m ros.Message) []byte {
	return treeBytes(tb, encode.CBOR, version, m)
}

func readCBOR(version ros.Version, data []byte, m ros.Message) error {
	return readTree(encode.CBOR, version, data, m)
}

// TestAnotherDecoderReadsTheValuesOfCBOR holds what is written against fxamacker's decoder.
func TestAnotherDecoderReadsTheValuesOfCBOR(t *testing.T) {
	m := ros.LaserScan{
		Header:   ros.Header{Seq: 24, Stamp: ros.Time{Sec: 70000, Nanosec: 256}, FrameID: "Straße\xff"},
		AngleMin: 0.1, RangeMax: float32(math.Inf(1)), Ranges: []float32{1.5, -2},
	}
	var got map[string]any
	require.NoError(t, cbor.Unmarshal(cborBytes(t, ros.ROS1, &m), &got))
	assert.Equal(t, map[any]any{
		"seq": uint64(24), "stamp": map[any]any{"secs": uint64(70000), "nsecs": uint64(256)}, "frame_id": "Straße\ufffd",
	}, got["header"])
	assert.Equal(t, float64(float32(0.1)), got["angle_min"])
	assert.Equal(t, math.Inf(1), got["range_max"])
	assert.Equal(t, cbor.Tag{Number: 85, Content: []byte{0, 0, 0xc0, 0x3f, 0, 0, 0, 0xc0}}, got["ranges"])
	assert.Equal(t, cbor.Tag{Number: 85, Content: []byte{}}, got["intensities"])

	require.NoError(t, cbor.Unmarshal(cborBytes(t, ros.ROS2, &ros.CarlaLaneInvasionEvent{CrossedLaneMarkings: []int32{-2}}), &got))
	assert.Equal(t, cbor.Tag{Number: 78, Content: []byte{0xfe, 0xff, 0xff, 0xff}}, got["crossed_lane_markings"])
	require.NoError(t, cbor.Unmarshal(cborBytes(t, ros.ROS2, &ros.CameraInfo{D: []float64{1}}), &got))
	assert.Equal(t, cbor.Tag{Number: 86, Content: []byte{0, 0, 0, 0, 0, 0, 0xf0, 0x3f}}, got["d"])
	for _, n := range []int32{math.MinInt32, -257, -256, -25, -24, -1, 23, 24, 255, 256, 65535, 65536, math.MaxInt32} {
		var stamp map[string]any
		data := cborBytes(t, ros.ROS2, &ros.Time{Sec: n, Nanosec: 7})
		require.NoError(t, cbor.Unmarshal(data, &stamp))
		assert.EqualValues(t, n, stamp["sec"])
		shortest, err := cbor.Marshal(n)
		require.NoError(t, err)
		assert.Contains(t, string(data), "\x63sec"+string(shortest))
	}
}

// TestCBORVectorsOfPython: cbor2 wrote what genpy serialised, with floats of 64 bits all
// through.
func TestCBORVectorsOfPython(t *testing.T) {
	const dir = "../../../testdata/wire/"
	files, err := filepath.Glob(dir + "rostree/*.cbor")
	require.NoError(t, err)
	require.Len(t, files, 27)
	types := map[string]ros.Message{}
	for _, m := range bridgetest.EveryMessage() {
		types[ros.ROS1.TypeName(m.TypeName())] = m
	}
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".cbor")
		text, err := os.ReadFile(dir + "ros1/" + name + ".json")
		require.NoError(t, err)
		var file struct{ Type string }
		require.NoError(t, json.Unmarshal(text, &file))
		want, err := os.ReadFile(dir + "ros1/" + name + ".bin")
		require.NoError(t, err)
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		m := types[file.Type]
		require.NoError(t, readCBOR(ros.ROS1, data, m), name)
		assert.True(t, bytes.Equal(want, bits(m)), name)
		for n := range len(data) {
			require.ErrorIs(t, readCBOR(ros.ROS1, data[:n], bridgetest.NewMessage(m)), encode.ErrTruncated, "%s cut to %d bytes", name, n)
		}
		require.ErrorIs(t, readCBOR(ros.ROS1, append(data, 0), m), encode.ErrMalformed, name)
	}
}

// TestCBORTakesEveryForm: of the same values, as RFC 8949 and 8746 let them be written.
func TestCBORTakesEveryForm(t *testing.T) {
	field := ros.PointField{Name: "xyz", Offset: 4, Datatype: 7, Count: 1}
	for name, data := range map[string]string{
		"definite":            "a4 646e616d65 6378797a 666f6666736574 04 686461746174797065 07 65636f756e74 01",
		"indefinite":          "bf 646e616d65 6378797a 666f6666736574 04 686461746174797065 07 65636f756e74 01 ff",
		"chunks":              "a4 646e616d65 7f61786179617aff 666f6666736574 04 7f6464617461647479706 5ff 07 65636f756e74 01",
		"long heads":          "bb0000000000000004 78046e616d65 790003 78797a 666f6666736574 1800000000000004",
		"tags":                "d9d9f7 a4 646e616d65 6378797a 666f6666736574 c104 686461746174797065 07 65636f756e74 01",
		"floats, other order": "a4 65636f756e74 fb3ff0000000000000 686461746174797065 fa40e00000 666f6666736574 f94400 646e616d65 6378797a",
		"unknown members": "ac 6161 820102 6162 a1 01 02 6163 9fbf6178f6ff80ff 6164 5f4101420203ff 01 02 6165 f7 6166 c249010000000000000000 6167 f0" +
			"646e616d65 6378797a 666f6666736574 04 686461746174797065 07 65636f756e74 01",
	} {
		if name == "long heads" {
			data = "bb0000000000000004 78046e616d65 79000378797a 666f6666736574 1b0000000000000004 686461746174797065 1807 65636f756e74 190001"
		}
		raw, err := hex.DecodeString(strings.ReplaceAll(data, " ", ""))
		require.NoError(t, err, name)
		require.NoError(t, cbor.Wellformed(raw), name)
		var got ros.PointField
		require.NoError(t, readCBOR(ros.ROS2, raw, &got), name)
		assert.Equal(t, field, got, name)
	}
}

// member makes a map of one member.
func member(name, value string) []byte {
	raw, err := hex.DecodeString(strings.ReplaceAll(value, " ", ""))
	if err != nil {
		panic(err)
	}
	return append(append([]byte{0xa1, 0x60 | byte(len(name))}, name...), raw...)
}

func TestCBORTakesArraysOfEveryType(t *testing.T) {
	for name, value := range map[string]string{
		"plain": "83 01 f94000 22", "indefinite": "9f 01 02 22 ff",
		"sint8": "d848 43 0102fd", "sint16 BE": "d849 46 00010002fffd", "sint16 LE": "d84d 46 01000200fdff",
		"sint32 BE": "d84a 4c 0000000100000002fffffffd", "sint32 LE": "d84e 4c 0100000002000000fdffffff",
		"sint64 BE": "d84b 5818 00000000000000010000000000000002fffffffffffffffd", "sint64 LE": "d84f 5818 01000000000000000200000000000000fdffffffffffffff",
		"float16 BE": "d850 46 3c004000c200", "float16 LE": "d854 46 003c004000c2",
		"float32 BE": "d851 4c 3f80000040000000c0400000", "float32 LE": "d855 4c 0000803f00000040000040c0",
		"float64 BE": "d852 5818 3ff00000000000004000000000000000c008000000000000",
		"float64 LE": "d856 5818 000000000000f03f000000000000004000000000000008c0",
	} {
		var info ros.CameraInfo
		require.NoError(t, readCBOR(ros.ROS2, member("d", value), &info), name)
		assert.Equal(t, []float64{1, 2, -3}, info.D, name)
		var scan ros.LaserScan
		require.NoError(t, readCBOR(ros.ROS2, member("ranges", value), &scan), name)
		assert.Equal(t, []float32{1, 2, -3}, scan.Ranges, name)
		var lanes ros.CarlaLaneInvasionEvent
		require.NoError(t, readCBOR(ros.ROS2, member("crossed_lane_markings", value), &lanes), name)
		assert.Equal(t, []int32{1, 2, -3}, lanes.CrossedLaneMarkings, name)
	}
	for name, value := range map[string]string{
		"bytes": "42 01ff", "chunks": "5f 4101 41ff ff", "uint8": "d840 42 01ff", "clamped": "d844 42 01ff", "plain": "82 01 18ff",
		"uint16 LE": "d845 44 0100ff00", "uint32 BE": "d842 48 00000001000000ff", "uint64 BE": "d843 50 000000000000000100000000000000ff",
	} {
		var image ros.CompressedImage
		require.NoError(t, readCBOR(ros.ROS2, member("data", value), &image), name)
		assert.Equal(t, []byte{1, 0xff}, image.Data.Data, name)
	}
	var scan ros.LaserScan
	require.NoError(t, readCBOR(ros.ROS2, member("ranges", "86 f97c00 f9fc00 f97e00 f6 f90001 fb8000000000000000"), &scan))
	assert.Equal(t, "[+Inf -Inf NaN NaN 5.9604645e-08 -0]", fmt.Sprint(scan.Ranges))
}

func TestCBORRefuses(t *testing.T) {
	raw := func(text string) []byte {
		data, err := hex.DecodeString(text)
		require.NoError(t, err)
		return data
	}
	deep := strings.Repeat("81", 64+1) + "01"
	for name, c := range map[string]struct {
		data []byte
		m    ros.Message
		want error
	}{
		"nothing":                 {nil, &ros.Point{}, encode.ErrTruncated},
		"an array":                {raw("80"), &ros.Point{}, encode.ErrType},
		"reserved length":         {raw("bc"), &ros.Point{}, encode.ErrMalformed},
		"integer without length":  {raw("a161781f"), &ros.Point{}, encode.ErrMalformed},
		"break in a definite map": {raw("a16178ff"), &ros.Point{}, encode.ErrType},
		"break for unknown":       {raw("a16161ff"), &ros.Point{}, encode.ErrMalformed},
		"2^64 - 1 members":        {raw("bbffffffffffffffff"), &ros.Point{}, encode.ErrTruncated},
		"2^64 - 1 elements":       {member("d", "9bffffffffffffffff"), &ros.CameraInfo{}, encode.ErrTruncated},
		"string of 2^63 bytes":    {member("a", "7b8000000000000000"), &ros.Point{}, encode.ErrTruncated},
		"chunk of another type":   {member("a", "7f4100ff"), &ros.Point{}, encode.ErrMalformed},
		"chunk of chunks":         {member("a", "7f7fffff"), &ros.Point{}, encode.ErrMalformed},
		"nine tags":               {member("x", "c1c1c1c1c1c1c1c1c101"), &ros.Point{}, encode.ErrMalformed},
		"two bytes for false":     {member("data", "f814"), &ros.SetBoolRequest{}, encode.ErrMalformed},
		"too deep":                {member("a", deep), &ros.Point{}, encode.ErrDepth},
		"text for number":         {member("x", "6131"), &ros.Point{}, encode.ErrType},
		"number for text":         {member("frame_id", "01"), &ros.Header{}, encode.ErrType},
		"bytes for text":          {member("frame_id", "4101"), &ros.Header{}, encode.ErrType},
		"number for bool":         {member("data", "01"), &ros.SetBoolRequest{}, encode.ErrType},
		"bytes for numbers":       {member("d", "4101"), &ros.CameraInfo{}, encode.ErrType},
		"half an element":         {member("d", "d85643010203"), &ros.CameraInfo{}, encode.ErrType},
		"float128":                {member("d", "d8575000000000000000000000000000000000"), &ros.CameraInfo{}, encode.ErrType},
		"typed array beyond":      {member("d", "d856581000"), &ros.CameraInfo{}, encode.ErrTruncated},
		"fraction for integer":    {member("offset", "f93800"), &ros.PointField{}, encode.ErrType},
		"integer out of range":    {member("datatype", "190100"), &ros.PointField{}, encode.ErrRange},
		"uint64 out of range":     {member("offset", "1bffffffffffffffff"), &ros.PointField{}, encode.ErrRange},
		"typed uint64 too large":  {member("any_i64", "d84348ffffffffffffffff"), &bridgetest.Kinds{}, encode.ErrRange},
		"-2^64 for an integer":    {member("i64", "3bffffffffffffffff"), &bridgetest.Kinds{}, encode.ErrRange},
		"below an int16":          {member("i16", "398000"), &bridgetest.Kinds{}, encode.ErrRange},
		"negative for an uint64":  {member("u64", "20"), &bridgetest.Kinds{}, encode.ErrRange},
		"two points of three":     {member("corners", "83a0a0a0"), &bridgetest.Kinds{}, encode.ErrRange},
		"three points of two":     {member("corners", "81a0"), &bridgetest.Kinds{}, encode.ErrRange},
		"number in strings":       {member("any_text", "8101"), &bridgetest.Kinds{}, encode.ErrType},
		"number in bools":         {member("three_flag", "83f4f501"), &bridgetest.Kinds{}, encode.ErrType},
		"float out of range":      {member("data", "fb7fefffffffffffff"), &ros.Float32{}, encode.ErrRange},
		"array of other size":     {member("k", "8101"), &ros.CameraInfo{}, encode.ErrRange},
		"objects of one byte":     {member("transforms", "991000"+strings.Repeat("a0", 4096)), &ros.TFMessage{}, encode.ErrTooLarge},
	} {
		assert.ErrorIs(t, readCBOR(ros.ROS2, c.data, c.m), c.want, name)
	}
}

// TestMapsOfMoreThan23Members: the head is longer then. No message has so many fields.
func TestMapsOfMoreThan23Members(t *testing.T) {
	data := cborBytes(t, ros.ROS2, large{})
	var got map[string]bool
	require.NoError(t, cbor.Unmarshal(data, &got))
	assert.Len(t, got, 30)
}

// large is a message of thirty fields.
type large struct{}

func (large) TypeName() string { return "test_msgs/msg/Large" }
func (large) Fields(v ros.Visitor) {
	for i := range 30 {
		yes := true
		v.Value(fmt.Sprint(i), ros.Of(&yes))
	}
}
