//go:build cgo && peers && ros2dds

package ros2dds_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest/process"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
)

var (
	// fragmentTrace is how Cyclone DDS traces a fragment that it received: the octets that
	// are in it, and how many the message has.
	fragmentTrace = regexp.MustCompile(`DATAFRAG\(.*/\[(\d+)\.\.(\d+)\) of (\d+)`)
	// datagramTrace is the size of a datagram.
	datagramTrace = regexp.MustCompile(`HDR\(.*\) len (\d+) from udp/`)
)

// A reader's own trace tells that large messages come in fragments of 65,000 octets, each
// in a datagram of its own, as the settings in code have it.
func TestFragmentsOnTheWire(t *testing.T) {
	const fragment, most = 65_000, 65_500
	domain := freeDomain(t)
	trace := filepath.Join(t.TempDir(), "trace")
	tracing := `,<CycloneDDS><Domain id="any"><Tracing><Verbosity>finest</Verbosity><OutputFile>` + trace + `</OutputFile></Tracing></Domain></CycloneDDS>`
	s := start(t, process.Program(cyclonePeer(t), strconv.Itoa(domain), "count").With("CYCLONEDDS_URI="+peerSettings+tracing))
	b := connect(t, domain, "")
	publish, err := bridges.AddPublisher[*sample.Image](b, bridges.Topic{Name: "/image", QoS: flow.QoS{Reliability: flow.Reliable}})
	require.NoError(t, err)
	image := &sample.Image{Width: 1000, Height: 1000, Step: 1000, Encoding: sample.EncodingMono8, Data: make([]byte, 1_000_000)}
	arrives(t, s, "/image", func() error { return publish(t.Context(), image) })

	seen := map[int]bool{} // the offsets in the message
	var data []byte
	require.Eventually(t, func() bool {
		data, err = os.ReadFile(trace)
		require.NoError(t, err)
		for _, f := range fragmentTrace.FindAllSubmatch(data, -1) {
			from, to, size := octets(t, f[1]), octets(t, f[2]), octets(t, f[3])
			assert.Greater(t, size, len(image.Data))
			assert.Zero(t, from%fragment)
			assert.Equal(t, min(from+fragment, size), to)
			seen[from] = true
		}
		return len(seen) == 16
	}, patience, 20*time.Millisecond, "a message of a million octets has 16 fragments")
	largest := 0
	for _, d := range datagramTrace.FindAllSubmatch(data, -1) {
		largest = max(largest, octets(t, d[1]))
	}
	assert.Greater(t, largest, fragment)
	assert.LessOrEqual(t, largest, most)
}

func octets(t *testing.T, digits []byte) int {
	t.Helper()
	n, err := strconv.Atoi(string(digits))
	require.NoError(t, err)
	return n
}
