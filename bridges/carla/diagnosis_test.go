package carla_test

import (
	"context"
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/carla"
	"github.com/raybridge/raybridge/flow"
)

// A picture above the limit is refused before there is memory for it; those before and
// after it arrive.
func TestMessagesAboveTheLimit(t *testing.T) {
	b, err := bridges.MustRegistry(carla.Limited(bridgetest.Limit)).Open("carla:127.0.0.1:0", bridges.Env{})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, b.Close(context.Background())) })
	require.NoError(t, b.Connect(t.Context()))
	const most = bridgetest.Limit - 48 - 12 // without the header, and the picture's
	pixels := make([]byte, 32<<20)
	picture := func(bytes int) func() error {
		m := image("bgra8", bytes/4, 1, bytes, 60, pixels[:bytes])
		return publish(m)(t, b, bridges.Topic{Name: "/front", SensorType: "sensor.camera.rgb"})
	}
	fits, above, far := picture(most), picture(most+4), picture(len(pixels))
	conn := dial(t, b.Endpoints()[0].Address, 2)
	require.Eventually(t, func() bool { return b.Listening("/front") }, 10*time.Second, time.Millisecond)
	for _, send := range []func() error{above, far} {
		require.NoError(t, fits())
		_, err = io.ReadFull(conn, make([]byte, 4+bridgetest.Limit))
		require.NoError(t, err)
		before := allocated()
		err = send()
		assert.Less(t, allocated()-before, uint64(4<<20), "bytes that were allocated for it")
		require.ErrorIs(t, err, bridges.ErrTooLarge)
		require.ErrorIs(t, err, bridges.ErrConvert)
		assert.ErrorContains(t, err, "the most are 65536")
	}
	row := b.Statistics().Topics[0]
	assert.EqualValues(t, 2, row.Messages)
	assert.Equal(t, flow.Drops{flow.CauseTooLarge: 2}, row.Drops)
}

// allocated returns how many bytes this process has allocated so far.
func allocated() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.TotalAlloc
}

// The diagnosis has clients that were refused, and those that said what makes no sense.
func TestDiagnosis(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	b, addr := openWith(t, "clients=3")
	send := publish(image("bgra8", 1, 1, 4, 60, []byte{1, 2, 3, 4}))(t, b, bridges.Topic{Name: "/front", SensorType: "sensor.camera.rgb"})
	require.Error(t, send())
	assert.Zero(t, b.Diagnosis())
	fares := func(want bridges.Diagnosis, text string) {
		t.Helper()
		require.Eventually(t, func() bool {
			d := b.Diagnosis()
			return d.Connections == want.Connections && d.Failures == want.Failures && d.Malformed == want.Malformed
		}, 10*time.Second, time.Millisecond, "%+v, not %+v", b.Diagnosis(), want)
		if text != "" {
			assert.ErrorContains(t, b.Diagnosis().LastError, text)
		}
	}
	good := dial(t, addr, 2)
	fares(bridges.Diagnosis{Connections: 1}, "")
	dial(t, addr, 77)
	fares(bridges.Diagnosis{Connections: 1, Failures: 1}, "no such stream: 77")
	half, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	_, err = half.Write([]byte{2, 0})
	require.NoError(t, err)
	require.NoError(t, half.Close())
	fares(bridges.Diagnosis{Connections: 1, Failures: 2, Malformed: 1}, "client "+half.LocalAddr().String()+": ")
	assert.ErrorIs(t, b.Diagnosis().LastError, bridges.ErrProtocol)
	for range 3 { // the connection goes on
		_, err = good.Write([]byte("more"))
		require.NoError(t, err)
	}
	fares(bridges.Diagnosis{Connections: 1, Failures: 2, Malformed: 2}, "more than a stream's id")
	second := dial(t, addr, 2)
	fares(bridges.Diagnosis{Connections: 2, Failures: 2, Malformed: 2}, "")
	third := dial(t, addr, 2)
	fares(bridges.Diagnosis{Connections: 3, Failures: 2, Malformed: 2}, "")
	surplus := dial(t, addr, 2)
	_, err = surplus.Read(make([]byte, 1))
	require.Error(t, err)
	fares(bridges.Diagnosis{Connections: 3, Failures: 3, Malformed: 2}, "too many clients")
	require.NoError(t, second.Close())
	require.NoError(t, third.Close())
	before := b.Diagnosis()
	require.NoError(t, b.Close(t.Context()))
	assert.Equal(t, before, b.Diagnosis(), "an end in order is no failure")
}

// Who only looks whether the port is open is no failure.
func TestProbesAreNoFailures(t *testing.T) {
	b, addr := open(t)
	for range 5 {
		probe, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		require.NoError(t, probe.Close())
	}
	require.NoError(t, b.Close(t.Context())) // waits for all that were accepted
	assert.Zero(t, b.Diagnosis())
}
