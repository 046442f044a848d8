package safedistance_test

import (
	"slices"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/sensors/safedistance"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/sensors/stream/wire"
	"github.com/raybridge/raybridge/spatial"
)

func event() *safedistance.Event {
	return &safedistance.Event{
		Header: sample.Header{StampNs: 50_000_000, Seq: 3, Frame: 9, FrameID: "safety", Pose: spatial.FromRPY(mgl64.Vec3{1, 2, 3}, 0, 0, 90)},
		Actors: []uint32{7, 0x01020304},
	}
}

func message(t testing.TB, number uint16) wire.Message {
	b, err := wire.Append(nil, wire.Envelope{Type: wire.NewTypeID(number, 0), PublishNs: 60_000_000}, event())
	require.NoError(t, err)
	m, err := wire.Open(b)
	require.NoError(t, err)
	return m
}

func TestAnEventThereAndBack(t *testing.T) {
	m := message(t, safedistance.Definition.Number)
	assert.Equal(t, []byte{7, 0, 0, 0, 4, 3, 2, 1}, m.Body())
	v, err := safedistance.Open(m)
	require.NoError(t, err)
	assert.Equal(t, event().Actors, slices.Collect(v.All()))
	assert.Equal(t, event().Header, v.Header())
	assert.Equal(t, int64(60_000_000), v.PublishNs())
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		v, _ := safedistance.Open(m)
		for range v.All() {
			continue
		}
	}), "it is read from the message's bytes")
}

func TestWhatIsNoEvent(t *testing.T) {
	_, err := safedistance.Open(message(t, safedistance.Definition.Number+1))
	require.ErrorIs(t, err, safedistance.ErrBody)
}

func FuzzOpen(f *testing.F) {
	f.Add(message(f, safedistance.Definition.Number).Bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := wire.Open(b)
		if err != nil {
			return
		}
		v, err := safedistance.Open(m)
		if err != nil {
			return
		}
		assert.Len(t, slices.Collect(v.All()), v.Len())
	})
}
