package stream_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"reflect"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/stream"
	"github.com/raybridge/raybridge/sensors/sample"
)

// cut takes n bytes off the front.
func cut(t *testing.T, b *[]byte, n int) []byte {
	t.Helper()
	require.GreaterOrEqual(t, len(*b), n)
	head := (*b)[:n]
	*b = (*b)[n:]
	return head
}

// TestWriter reads what was written as docs/stream-protocol.md has it.
func TestWriter(t *testing.T) {
	var out bytes.Buffer
	w, err := stream.NewWriter(&out)
	require.NoError(t, err)
	imu, err := w.Add(stream.Info{Name: "/imu"}, reflect.TypeFor[*sample.Imu]())
	require.NoError(t, err)
	points, err := w.Add(stream.Info{Name: "/points", Latched: true}, reflect.TypeFor[*sample.PointCloud]())
	require.NoError(t, err)
	_, err = w.Add(stream.Info{Name: "/bad"}, reflect.TypeFor[int]())
	require.Error(t, err)
	header := sample.Header{Stamp: 5, Seq: 7, FrameID: "f"}
	for range 2 {
		require.NoError(t, imu.Write(6, &sample.Imu{Header: header, Orientation: mgl64.QuatIdent()}))
	}
	require.NoError(t, points.Write(6, &sample.PointCloud{Header: header, Points: make([]sample.Point, 1000)}))
	require.NoError(t, w.Close())

	b, le := out.Bytes(), binary.LittleEndian
	greeting := cut(t, &b, 16)
	assert.Equal(t, "RBSTREAM\x02\x00\x00\x00", string(greeting[:12]))
	rest := cut(t, &b, int(le.Uint32(greeting[12:])))
	assert.Equal(t, "\x00\x00\x00\x00", string(rest[:4]), "no reason, no options")
	assert.EqualValues(t, 256<<20, le.Uint32(rest[4:]))
	assert.Zero(t, le.Uint16(rest[len(rest)-2:]), "streams come each by itself")
	type got struct {
		Stream, Control int
		Number          uint32
	}
	var frames []got
	for len(b) > 0 {
		h := cut(t, &b, 16)
		f := got{int(le.Uint16(h[4:])), int(h[7]), le.Uint32(h[8:])}
		payload := cut(t, &b, int(le.Uint32(h)))
		assert.Equal(t, le.Uint32(h), le.Uint32(h[12:]))
		assert.Zero(t, h[6])
		frames = append(frames, f)
		switch {
		case f.Control == 0:
			assert.Zero(t, le.Uint16(payload[88:]), "sequence, frame and pose aren't given")
			assert.EqualValues(t, 5, le.Uint64(payload[16:]))
			assert.EqualValues(t, 6, le.Uint64(payload[24:]))
		case f.Control == 2:
			assert.Contains(t, string(payload), [...]string{"/imu", "/points"}[len(frames)-1])
			assert.Equal(t, [...]byte{0, 1}[len(frames)-1], payload[2], "latched")
		}
	}
	assert.Equal(t, []got{{0, 2, 0}, {0, 2, 0}, {1, 0, 0}, {1, 0, 1}, {2, 0, 0}, {0, 5, 0}}, frames)
}

// brokenPipe takes a number of writes.
type brokenPipe int

var errBroken = errors.New("broken pipe")

func (p *brokenPipe) Write(b []byte) (int, error) {
	if *p--; *p < 0 {
		return 0, errBroken
	}
	return len(b), nil
}

func TestWriterTellsOfABrokenPipe(t *testing.T) {
	for writes := range 4 {
		pipe := brokenPipe(writes)
		errs := make([]error, 4)
		var w *stream.Writer
		var imu *stream.Track
		w, errs[0] = stream.NewWriter(&pipe)
		imu, errs[1] = w.Add(stream.Info{Name: "/imu"}, reflect.TypeFor[*sample.Imu]())
		errs[2] = imu.Write(0, &sample.Imu{})
		errs[3] = w.Close()
		for i, err := range errs {
			if i < writes {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, errBroken)
			}
		}
	}
}
