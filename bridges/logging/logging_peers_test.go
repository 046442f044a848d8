//go:build peers

package logging_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/bridgetest/process"
	"github.com/raybridge/raybridge/bridges/logging"
	"github.com/raybridge/raybridge/sensors/sample"
)

// TestPythonReadsTheLog: gzip and a JSON parser of another language read every line, with
// the values that were logged.
func TestPythonReadsTheLog(t *testing.T) {
	dir := t.TempDir()
	registry := bridges.MustRegistry(logging.Factory{})
	b, err := registry.Open("logging:drive", bridges.Env{OutDir: dir})
	require.NoError(t, err)
	require.NoError(t, b.Connect(t.Context()))
	image := adder(t, b, "/image", bridgetest.Image)
	points := adder(t, b, "/points", bridgetest.PointCloud)
	imu := adder(t, b, "/imu", func(seq int) *sample.Imu {
		return &sample.Imu{
			Header:             sample.Header{StampNs: int64(seq) * bridgetest.Period, FrameID: "ümlaut \"quoted\"\\\n\u2028"},
			AngularVelocity:    mgl64.Vec3{math.NaN(), math.Inf(1), math.Inf(-1)},
			LinearAcceleration: mgl64.Vec3{0.1, float64(seq), math.SmallestNonzeroFloat64},
		}
	})
	const messages = 200 // more than one gzip member
	for seq := range messages {
		image(seq)
		points(seq)
		imu(seq)
	}
	require.NoError(t, b.Close(t.Context()))
	out := process.Start(t, process.Python("testdata/peers/read.py", filepath.Join(dir, "drive.txt.gz"))).Wait(t)
	require.True(t, strings.HasSuffix(out, fmt.Sprintf("read %d\n", 3*messages)), "read to the end")
	counts := map[string]int{}
	for line := range strings.Lines(out) {
		var entry []any
		if json.Unmarshal([]byte(line), &entry) != nil {
			continue
		}
		kind, topic, message := entry[0].(string), entry[1].(string), entry[2].(map[string]any)
		seq := counts[topic]
		counts[topic]++
		assert.EqualValues(t, seq*bridgetest.Period, message["StampNs"])
		assert.InDelta(t, float64(seq)*bridgetest.Period/1e9, message["Time"], 1e-9)
		switch topic {
		case "/image":
			assert.Equal(t, "UncompressedImageData", kind)
			assert.Equal(t, base64.StdEncoding.EncodeToString(bridgetest.Image(seq).Data), message["Bytes"])
		case "/imu":
			assert.Equal(t, "ümlaut \"quoted\"\\\n\u2028", message["Frame"])
			assert.Equal(t, map[string]any{"x": "NaN", "y": "Infinity", "z": "-Infinity"}, message["AngularVelocity"])
			assert.Equal(t, map[string]any{"x": 0.1, "y": float64(seq), "z": math.SmallestNonzeroFloat64}, message["Acceleration"])
		}
	}
	assert.Equal(t, map[string]int{"/image": messages, "/points": messages, "/imu": messages}, counts)
}

// adder returns what publishes the seq-th message of a topic.
func adder[T any](t *testing.T, b *bridges.Bridge, topic string, make func(seq int) T) func(seq int) {
	t.Helper()
	publish, err := bridges.AddPublisher[T](b, bridges.Topic{Name: topic})
	require.NoError(t, err)
	return func(seq int) { require.NoError(t, publish(context.Background(), make(seq))) }
}
