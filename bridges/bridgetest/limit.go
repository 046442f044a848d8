package bridgetest

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
)

// Limit is the limit of messages, bytes, of the bridge that TooLarge tests.
const Limit = 64 << 10

// TooLarge checks what becomes of messages above a protocol's limit. The suite's bridge is
// one whose limit is Limit, in place of the gigabytes that the protocol allows. Such a
// message is bridges.ErrTooLarge and costs no memory, its topic counts it as
// too_large, and those before and after it are delivered, on its topic and on others.
func TooLarge(t *testing.T, s Suite) {
	t.Helper()
	f := s.connect(t)
	large, other := f.sizes("/large"), f.sizes("/other")
	f.await("/large")
	f.await("/other")
	require.NoError(t, large(Limit-1<<10))
	const size = 32 << 20
	before := allocated()
	err := large(size)
	assert.Less(t, allocated()-before, uint64(size/8), "bytes that were allocated for it")
	require.ErrorIs(t, err, bridges.ErrTooLarge)
	assert.ErrorContains(t, err, "the most are 65536")
	assert.ErrorIs(t, large(Limit), bridges.ErrTooLarge, "with its header it is above")
	require.NoError(t, large(Limit-1<<10))
	require.NoError(t, other(100))
	f.received("/large", 2)
	f.received("/other", 1)
	assert.Equal(t, flow.Drops{flow.CauseTooLarge: 2}, topicStatistics(t, f.bridge, "/large").Drops)
	assert.Empty(t, topicStatistics(t, f.bridge, "/other").Drops)
}

// sizes returns a function that publishes images of so many bytes.
func (f *fixture) sizes(topic string) func(size int) error {
	f.t.Helper()
	publish, err := bridges.AddPublisher[*sample.Image](f.bridge, bridges.Topic{Name: topic})
	require.NoError(f.t, err)
	return func(size int) error {
		return publish(f.t.Context(), &sample.Image{Header: header(1), Width: size, Height: 1, Step: size, Encoding: sample.EncodingMono8, Data: pixels[:size]})
	}
}

// pixels are all images' content.
var pixels = make([]byte, 32<<20)

// allocated returns how many bytes this process has allocated so far.
func allocated() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.TotalAlloc
}
