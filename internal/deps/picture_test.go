//go:build cgo

package deps_test

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu/gputest"
)

// roomsOfAPicture is how many of our packages one picture may enter on its way from a
// camera to a client of the Foxglove bridge.
const roomsOfAPicture = 18

// TestOnePicturesWay counts the packages that work on one picture, in a program with
// coverage counters, after its set-up.
func TestOnePicturesWay(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program with counters; runs without -short")
	}
	gputest.Thread(t) // skips, or fails, where there is no OpenGL
	program, counters := t.TempDir()+"/onepicture", t.TempDir()
	build := exec.Command("go", "build", "-cover", "-covermode=atomic", "-coverpkg=github.com/raybridge/raybridge/...", "-o", program, "./testdata/onepicture")
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))

	run := exec.CommandContext(t.Context(), program, counters)
	run.Env, run.Stderr = append(os.Environ(), "GOCOVERDIR="+t.TempDir()), os.Stderr // what the exit writes is of the end
	stdout, err := run.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, run.Start())
	address, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	view(t, strings.TrimSpace(address))
	require.NoError(t, run.Wait())

	profile := t.TempDir() + "/profile"
	out, err = exec.Command("go", "tool", "covdata", "textfmt", "-i="+counters, "-o="+profile).CombinedOutput()
	require.NoError(t, err, string(out))
	data, err := os.ReadFile(profile)
	require.NoError(t, err)
	var rooms []string
	for _, m := range regexp.MustCompile(`(?m)^github.com/raybridge/raybridge/(\S+)/[^/]+:\S+ \d+ [1-9]\d*$`).FindAllStringSubmatch(string(data), -1) {
		if !slices.Contains(rooms, m[1]) && !strings.Contains(m[1], "testdata") {
			rooms = append(rooms, m[1])
		}
	}
	t.Logf("%d packages: %s", len(rooms), strings.Join(rooms, " "))
	assert.Contains(t, rooms, "sensors/camera")
	assert.LessOrEqual(t, len(rooms), roomsOfAPicture)
}

// view subscribes to pictures and reads until the server goes.
func view(t *testing.T, address string) {
	t.Helper()
	c, _, err := websocket.Dial(t.Context(), "ws://"+address, &websocket.DialOptions{Subprotocols: []string{"foxglove.sdk.v1"}})
	require.NoError(t, err)
	defer func() { _ = c.CloseNow() }()
	for {
		kind, data, err := c.Read(t.Context())
		if err != nil {
			return // the program has ended
		}
		if kind != websocket.MessageText {
			continue
		}
		var m struct {
			Op       string
			Channels []struct {
				ID    int
				Topic string
			}
		}
		require.NoError(t, json.Unmarshal(data, &m))
		for _, channel := range m.Channels {
			if channel.Topic == "/front/image_raw" {
				subscribe, err := json.Marshal(map[string]any{"op": "subscribe", "subscriptions": []map[string]int{{"id": 1, "channelId": channel.ID}}})
				require.NoError(t, err)
				require.NoError(t, c.Write(t.Context(), websocket.MessageText, subscribe))
			}
		}
	}
}
