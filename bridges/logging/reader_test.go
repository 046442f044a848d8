package logging_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/logging"
	"github.com/raybridge/raybridge/sensors/sample"
)

// packed returns texts as the members of a gzip file.
func packed(t testing.TB, texts ...string) []byte {
	t.Helper()
	var data bytes.Buffer
	for _, text := range texts {
		z := gzip.NewWriter(&data)
		_, err := z.Write([]byte(text))
		require.NoError(t, err)
		require.NoError(t, z.Close())
	}
	return data.Bytes()
}

// readAll returns a log's messages and what ended it.
func readAll(data []byte) ([]entry, error) {
	r, err := logging.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	var list []entry
	for {
		e, err := r.Next()
		if err != nil {
			if _, again := r.Next(); !errors.Is(again, err) {
				return list, fmt.Errorf("then %w", again)
			}
			return list, err
		}
		list = append(list, entry{e.Type, e.Topic, string(e.JSON)})
	}
}

// What was logged is read, and so is what a killed process has left of it. Every beginning of
// the file is read up to where it was cut.
func TestLogsAreReadBack(t *testing.T) {
	dir := t.TempDir()
	b, err := bridges.MustRegistry(logging.Factory{}).Open("logging:drive", bridges.Env{OutDir: dir})
	require.NoError(t, err)
	require.NoError(t, b.Connect(t.Context()))
	points, err := bridges.AddPublisher[*sample.PointCloud](b, bridges.Topic{Name: "/points"})
	require.NoError(t, err)
	imu, err := bridges.AddPublisher[*sample.Imu](b, bridges.Topic{Name: "/imu"})
	require.NoError(t, err)
	for seq := range 700 { // more than one gzip member
		require.NoError(t, points(t.Context(), bridgetest.PointCloud(seq)))
		require.NoError(t, imu(t.Context(), &sample.Imu{Header: sample.Header{Seq: uint64(seq)}}))
	}
	require.NoError(t, b.Close(t.Context()))
	path := filepath.Join(dir, "drive.txt.gz")
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	want := unpack(t, data)
	require.Len(t, want, 1400)
	require.Greater(t, bytes.Count(data, data[:10]), 1, "members")

	r, err := logging.Open(path)
	require.NoError(t, err)
	for _, w := range want {
		e, err := r.Next()
		require.NoError(t, err)
		assert.Equal(t, w, entry{e.Type, e.Topic, string(e.JSON)})
	}
	_, err = r.Next()
	assert.Equal(t, io.EOF, err)
	require.NoError(t, r.Close())

	whole := 0
	for size := 0; size < len(data); size += 1 + size/50 {
		got, err := readAll(data[:size])
		if size > 0 && !errors.Is(err, io.EOF) {
			require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		}
		require.Equal(t, want[:len(got)], append([]entry{}, got...), "%d bytes", size)
		whole = len(got)
	}
	assert.Greater(t, whole, 1000, "what was complete")
}

func TestDamagedLogs(t *testing.T) {
	const good = "SpeedData /speed\n{\"Speed\":1}\n"
	broken := packed(t, good, good)
	broken[len(broken)-5] ^= 1 // of the second member's checksum
	for name, c := range map[string]struct {
		data []byte
		read int
		want string
	}{
		"text":                   {[]byte("SpeedData /speed\n{}\n"), 0, "open log: log is damaged"},
		"a line without a topic": {packed(t, good+"SpeedData\n{}\n"), 1, "message 2: log is damaged: its first line is not a type and topic"},
		"an empty line":          {packed(t, good+"\n{}\n"), 1, "message 2: log is damaged: its first line is not a type and topic"},
		"no JSON":                {packed(t, good, good+"SpeedData /speed\n{\"Speed\":NaN}\n"), 2, "message 3: log is damaged: its second line is not JSON"},
		"no second line":         {packed(t, good+"SpeedData /speed\n"), 1, "it ends early, after 1 message"},
		"no end of line":         {packed(t, good+"SpeedData /speed\n{}"), 1, "it ends early, after 1 message"},
		"something behind":       {append(packed(t, good), "0123456789"...), 1, "message 2: log is damaged"},
		"a wrong checksum":       {broken, 2, "message 3: log is damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := readAll(c.data)
			require.ErrorContains(t, err, c.want)
			assert.Equal(t, strings.Contains(c.want, "damaged"), errors.Is(err, logging.ErrDamaged))
			assert.Equal(t, strings.Contains(c.want, "early"), errors.Is(err, io.ErrUnexpectedEOF))
			assert.Len(t, got, c.read)
		})
	}
	got, err := readAll(nil)
	assert.Equal(t, io.EOF, err, "a log without a byte")
	assert.Empty(t, got)
	_, err = logging.Open(filepath.Join(t.TempDir(), "none.txt.gz"))
	assert.ErrorIs(t, err, fs.ErrNotExist)
	_, err = logging.Open(t.TempDir())
	require.Error(t, err)
	assert.NotErrorIs(t, err, logging.ErrDamaged, "the disk's errors are no damage")
	_, err = logging.NewReader(iotest.TimeoutReader(iotest.OneByteReader(bytes.NewReader(packed(t, good)))))
	assert.ErrorIs(t, err, iotest.ErrTimeout)
	assert.NotErrorIs(t, err, logging.ErrDamaged)
}

// A line that never ends doesn't take all memory.
func TestLinesAreLimited(t *testing.T) {
	r, err := logging.NewReader(bytes.NewReader(packed(t, "SpeedData /speed\n{\"Speed\":"+strings.Repeat("1", 10_000))))
	require.NoError(t, err)
	r.SetLimit(9000)
	_, err = r.Next()
	require.ErrorIs(t, err, logging.ErrDamaged)
	assert.ErrorContains(t, err, "a line has more than 9000 bytes")
}

func TestFloats(t *testing.T) {
	for text, want := range map[string]float64{`1.5`: 1.5, `"Infinity"`: math.Inf(1), `"-Infinity"`: math.Inf(-1), `1e300`: 1e300} {
		var f logging.Float
		require.NoError(t, f.UnmarshalJSON([]byte(text)))
		assert.Equal(t, want, float64(f))
	}
	var f logging.Float
	require.NoError(t, f.UnmarshalJSON([]byte(`"NaN"`)))
	assert.True(t, math.IsNaN(float64(f)))
	assert.Error(t, f.UnmarshalJSON([]byte(`"nan"`)))
}

// In steady state nothing is allocated for a message.
func TestReadingAllocatesNothing(t *testing.T) {
	text := strings.Repeat("SpeedData /speed\n{\"Speed\":1}\nImuData /imu\n{\"Position\":{}}\n", 3000)
	r, err := logging.NewReader(bytes.NewReader(packed(t, text)))
	require.NoError(t, err)
	next := func() {
		if _, err := r.Next(); err != nil {
			panic(err)
		}
	}
	for range 100 {
		next()
	}
	assert.Zero(t, testing.AllocsPerRun(1000, next))
}

// FuzzReader reads anything, as it is and compressed: what is read is what stands there.
func FuzzReader(f *testing.F) {
	const text = "SpeedData /speed\n{\"Speed\":1}\nImuData /imu\n{\"Frame\":\"\\u0000\"}\n"
	f.Add([]byte(text), true)
	f.Add([]byte("SpeedData  /a b\n[\"NaN\"]\n\n"), true)
	f.Add(packed(f, text, text), false)
	f.Add(packed(f, text)[:20], false)
	f.Fuzz(func(t *testing.T, data []byte, compress bool) {
		if !compress {
			_, err := readAll(data)
			assert.Error(t, err, "io.EOF at least")
			return
		}
		got, err := readAll(packed(t, string(data)))
		var again strings.Builder
		for _, e := range got {
			assert.NotEmpty(t, e.typ)
			assert.NotEmpty(t, e.topic)
			again.WriteString(e.typ + " " + e.topic + "\n" + e.line + "\n")
		}
		assert.True(t, strings.HasPrefix(string(data), again.String()), "%q of %q", again.String(), data)
		if errors.Is(err, io.EOF) {
			assert.Equal(t, string(data), again.String())
		}
	})
}
