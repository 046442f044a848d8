//go:build peers

package rosbridge_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
)

// suiteFrames returns the address of a server that takes frames of at most so many bytes, as
// rosbridge_server does, and the frames.
func suiteFrames(t *testing.T, limit int64) (address string, frames <-chan []byte) {
	t.Helper()
	got := make(chan []byte, 1000)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer func() { _ = conn.CloseNow() }()
		conn.SetReadLimit(limit)
		for {
			_, frame, err := conn.Read(context.Background())
			if err != nil {
				return
			}
			got <- frame
		}
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String(), got
}

// TestSuiteJoinsFragments: an image above the limit of rosbridge_server of ROS 2 arrives there,
// whichever module it reads JSON by, between messages that are whole.
func TestSuiteJoinsFragments(t *testing.T) {
	const limit = 10_000_000
	address, frames := suiteFrames(t, limit)
	b := opened(t, address+"?ros=2")
	image, err := bridges.AddPublisher[*sample.Image](b, bridges.Topic{Name: "/image"})
	require.NoError(t, err)
	static, err := bridges.AddPublisher[*sample.Transforms](b, bridges.Topic{Name: "/tf_static", QoS: flow.StaticQoS})
	require.NoError(t, err)
	connected(t, b)
	pixels := make([]byte, 16_000_000) // 21 MB of base64
	for i := range pixels {
		pixels[i] = byte(i * i >> 7)
	}
	require.NoError(t, static(t.Context(), &sample.Transforms{}))
	require.NoError(t, image(t.Context(), &sample.Image{Width: 16_000_000, Height: 1, Step: 16_000_000, Encoding: sample.EncodingMono8, Data: pixels}))
	require.NoError(t, static(t.Context(), &sample.Transforms{}))
	require.NoError(t, b.Close(t.Context()))

	var lines strings.Builder
	for range 2 + 1 + 3 + 1 { // advertisements, a message, fragments, a message
		lines.WriteString(base64.StdEncoding.EncodeToString(<-frames) + "\n")
	}
	assert.Empty(t, frames)
	file := filepath.Join(t.TempDir(), "frames")
	require.NoError(t, os.WriteFile(file, []byte(lines.String()), 0o600))
	type line struct {
		Op, Topic, Data string
		Latch           bool
		Bytes           int
		Fragments       int
	}
	nothing, whole := sha256.Sum256(nil), sha256.Sum256(pixels)
	none := hex.EncodeToString(nothing[:])
	transforms := line{Op: "publish", Topic: "/tf_static", Latch: true, Data: none}
	want := []line{
		{Op: "advertise", Topic: "/image", Data: none}, {Op: "advertise", Topic: "/tf_static", Latch: true, Data: none}, transforms,
		{Op: "publish", Topic: "/image", Data: hex.EncodeToString(whole[:]), Bytes: len(pixels), Fragments: 3}, transforms,
	}
	for _, module := range []string{"ujson", "simplejson", "json"} {
		var got []line
		for text := range strings.Lines(bridgetest.StartProcess(t, bridgetest.Python("testdata/peers/suite.py", module, file)).Wait(t)) {
			var l line
			require.NoError(t, json.Unmarshal([]byte(text), &l), text)
			got = append(got, l)
		}
		assert.Equal(t, want, got, module)
	}
}
