package ros1_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/internal/ros1"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/bridges/ros/rostest"
)

const vectorDir = "../../../testdata/wire/ros1"

// messages has an empty message of each type, by ROS 1's name.
func messages() map[string]ros.Message {
	list := map[string]ros.Message{}
	for _, m := range rostest.Every() {
		list[ros.ROS1.TypeName(m.TypeName())] = m
	}
	return list
}

// readVector returns the bytes that genpy wrote, and an empty message of the type.
func readVector(t testing.TB, path string) ([]byte, ros.Message) {
	text, err := os.ReadFile(strings.TrimSuffix(path, ".bin") + ".json")
	require.NoError(t, err)
	var vector struct{ Type string }
	require.NoError(t, json.Unmarshal(text, &vector))
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	m := messages()[vector.Type]
	require.NotNil(t, m, vector.Type)
	return data, m
}

func vectors(t testing.TB) []string {
	files, err := filepath.Glob(filepath.Join(vectorDir, "*.bin"))
	require.NoError(t, err)
	require.Len(t, files, 27)
	return files
}

func TestVectorsSurviveDecodingAndEncoding(t *testing.T) {
	for _, path := range vectors(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			data, m := readVector(t, path)
			var d ros1.Decoder
			require.NoError(t, d.Decode(data, m))
			var e ros1.Encoder
			assert.Equal(t, append([]byte("before"), data...), e.Append([]byte("before"), m))
			assert.NoError(t, e.Err())
			for n := range len(data) {
				require.ErrorIs(t, d.Decode(data[:n], rostest.New(m)), ros1.ErrTruncated, "cut to %d bytes", n)
			}
			assert.ErrorIs(t, d.Decode(append(data, 0), rostest.New(m)), ros1.ErrMalformed)
		})
	}
}

// TestValuesOfVectors: values that vectors.py gave fields; rosjson compares all others.
func TestValuesOfVectors(t *testing.T) {
	var d ros1.Decoder
	data, _ := readVector(t, filepath.Join(vectorDir, "range.bin"))
	var m ros.Range
	require.NoError(t, d.Decode(data, &m))
	assert.Equal(t, "text 4: Straße \"道路\"\\\n\x01", m.Header.FrameID)
	assert.Equal(t, ros.Time{Sec: 1700000003, Nanosec: 999999996}, m.Header.Stamp)
	assert.Equal(t, []float32{-1.25, float32(math.Inf(1)), -1, -0.875}, []float32{m.FieldOfView, m.MinRange, m.MaxRange, m.Range})
}

func TestRoundTripOfEveryMessage(t *testing.T) {
	for _, m := range rostest.Every() {
		for seed := range uint64(30) {
			rostest.Fill(m, seed)
			var e ros1.Encoder
			data := e.Append(nil, m)
			require.NoError(t, e.Err(), m.TypeName())
			require.EqualValues(t, len(data), e.Size(m), m.TypeName())
			again := rostest.New(m)
			var d ros1.Decoder
			require.NoError(t, d.Decode(data, again), m.TypeName())
			require.Equal(t, data, e.Append(nil, again), m.TypeName())
		}
	}
}

func TestTimesThatROS1HasNot(t *testing.T) {
	var e ros1.Encoder
	data := e.Append(nil, &ros.Clock{Clock: ros.Time{Sec: -1, Nanosec: 5}})
	assert.ErrorIs(t, e.Err(), ros.ErrBeforeEpoch)
	assert.Equal(t, make([]byte, 8), data)
	e.Append(nil, &ros.Clock{Clock: ros.Time{Sec: 1}})
	assert.NoError(t, e.Err())

	var d ros1.Decoder
	assert.ErrorIs(t, d.Decode([]byte{0, 0, 0, 0x80, 0, 0, 0, 0}, &ros.Clock{}), ros1.ErrMalformed, "after 2038")
}

func TestDecodeTakesLittleMemory(t *testing.T) {
	// 2^16 transforms of a byte each, as there could be, would take 8 MB.
	data := append([]byte{0, 0, 1, 0}, make([]byte, 1<<16)...)
	var d ros1.Decoder
	var m ros.TFMessage
	assert.ErrorIs(t, d.Decode(data, &m), ros1.ErrTruncated)
	assert.Less(t, len(m.Transforms), 1000)
	assert.ErrorIs(t, d.Decode([]byte{255, 255, 255, 255, 0}, &ros.TFMessage{}), ros1.ErrTruncated)
}

func FuzzDecode(f *testing.F) {
	all := messages()
	for _, path := range vectors(f) {
		data, m := readVector(f, path)
		f.Add(ros.ROS1.TypeName(m.TypeName()), data)
	}
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		m := all[name]
		if m == nil {
			m = all["sensor_msgs/PointCloud2"]
		}
		m = rostest.New(m)
		var d ros1.Decoder
		if d.Decode(data, m) != nil {
			return
		}
		var e ros1.Encoder
		first := e.Append(nil, m)
		require.Len(t, first, len(data))
		again := rostest.New(m)
		require.NoError(t, d.Decode(first, again))
		require.Equal(t, first, e.Append(nil, again))
	})
}

func TestAppendIntoReusedBufferAllocatesNothing(t *testing.T) {
	for _, m := range rostest.Every() {
		rostest.Fill(m, 3)
		e := new(ros1.Encoder)
		buf := e.Append(nil, m)
		assert.Zero(t, testing.AllocsPerRun(20, func() { buf = e.Append(buf[:0], m) }), m.TypeName())
	}
}

func BenchmarkAppendPointCloud2(b *testing.B) {
	m := &ros.PointCloud2{Data: ros.Bytes{Data: make([]byte, 8<<20)}}
	e := new(ros1.Encoder)
	var buf []byte
	b.ReportAllocs()
	b.SetBytes(8 << 20)
	for b.Loop() {
		buf = e.Append(buf[:0], m)
	}
}
