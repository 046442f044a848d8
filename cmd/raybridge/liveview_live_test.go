//go:build cgo

package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/pipeline/carry"
)

// shownRun is a run with a page, in this process.
type shownRun struct {
	url    string
	err    *transcript
	ended  chan int
	cancel context.CancelFunc
}

// startShown starts a run, and waits until it says where its page is.
func startShown(t *testing.T, args ...string) *shownRun {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r := &shownRun{err: newTranscript(), ended: make(chan int, 1), cancel: cancel}
	go func() { r.ended <- program(ctx, args, newTranscript(), r.err) }()
	t.Cleanup(cancel)
	page := regexp.MustCompile(`(?m)^page on (http://\S+)$`)
	require.Eventually(t, func() bool {
		if found := page.FindStringSubmatch(r.err.String()); found != nil {
			r.url = found[1]
		}
		return r.url != ""
	}, patience, time.Millisecond, "%v", r.err)
	return r
}

// watcher is a page without a browser.
type watcher struct {
	conn     *websocket.Conn
	messages map[uint16]int
	bye      bool // it was told that the run has ended
	done     chan struct{}
}

// watch connects a page that wants everything.
func (r *shownRun) watch(t *testing.T) *watcher {
	t.Helper()
	base, token, _ := strings.Cut(r.url, "#token=")
	conn, _, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(base, "http")+"ws", nil) //nolint:bodyclose // it is the connection
	require.NoError(t, err)
	conn.SetReadLimit(64 << 20)
	t.Cleanup(func() { _ = conn.CloseNow() })
	w := &watcher{conn: conn, messages: map[uint16]int{}, done: make(chan struct{})}
	for _, text := range []string{fmt.Sprintf(`{"version": 1, "token": %q}`, token), `{"subscribe": "*"}`} {
		require.NoError(t, conn.Write(t.Context(), websocket.MessageText, []byte(text)))
	}
	for answered := false; !answered; { // the welcome, and the answer
		_, b, err := conn.Read(t.Context())
		require.NoError(t, err)
		answered = b[3] == 3
	}
	return w
}

// draw takes all that comes, until the run ends.
func (w *watcher) draw(ctx context.Context) {
	defer close(w.done)
	for {
		_, b, err := w.conn.Read(ctx)
		if err != nil {
			return
		}
		id := binary.LittleEndian.Uint16(b)
		if id == 0 {
			w.bye = w.bye || b[3] == 5
			continue
		}
		w.messages[id]++
		if w.conn.Write(ctx, websocket.MessageText, fmt.Appendf(nil, `{"credit": {"stream": %d, "n": 1}}`, id)) != nil {
			return
		}
	}
}

// resume lets the run continue.
func (r *shownRun) resume(t *testing.T) {
	t.Helper()
	response, err := http.Post(r.url+"v1/resume", "", nil)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusOK, response.StatusCode)
}

// TestAPageChangesNoByte: a stepped run records the same without a page, with one, and with one that reads nothing. It
// waits for none of them.
func TestAPageChangesNoByte(t *testing.T) {
	if testing.Short() {
		t.Skip("runs four times; runs without -short")
	}
	needsOpenGL(t)
	dir := t.TempDir()
	file := write(t, dir, "run.yaml", "scene: {triangles: 40000}\n"+smallRig)
	args := func(name string, more ...string) []string {
		return append([]string{
			"run", "--step", "--config", file, "--seed", "3", "--duration", "500ms", "--bridge", "mcap:a.mcap", "--out", filepath.Join(dir, name),
		}, more...)
	}
	recorded := func(name string) []byte {
		content, err := os.ReadFile(filepath.Join(dir, name, "a.mcap"))
		require.NoError(t, err)
		require.Greater(t, len(content), 10_000)
		return content
	}
	o := call(t, args("alone")...)
	require.Equal(t, exitDone, o.code, o.err)
	alone := recorded("alone")
	for name, watching := range map[string]struct{ drawing, stalled int }{"nobody": {}, "one": {drawing: 1}, "stalled": {stalled: 1}, "many": {drawing: 2, stalled: 7}} {
		r := startShown(t, args(name, "--view", "--api", "0", "--paused")...)
		var drawing []*watcher
		for range watching.stalled {
			r.watch(t)
		}
		for range watching.drawing {
			w := r.watch(t)
			drawing = append(drawing, w)
			go w.draw(t.Context())
		}
		r.resume(t)
		require.Equal(t, exitDone, <-r.ended, r.err)
		assert.True(t, bytes.Equal(alone, recorded(name)), "%s: the recordings differ", name)
		for _, w := range drawing {
			<-w.done
			assert.True(t, w.bye, "the page is told that the run has ended")
			assert.Greater(t, len(w.messages), 3)
		}
	}
}

// TestThePageHasItsOwnSensors: the run has snapshots and lane marks for the page alone. The others have what they have without it.
func TestThePageHasItsOwnSensors(t *testing.T) {
	needsOpenGL(t)
	dir := t.TempDir()
	rows := regexp.MustCompile(`(?m)^\S+ +(\w+) +all (\d+)$`)
	topics := func(more ...string) map[string]int {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		said, ended := newTranscript(), make(chan int, 1)
		args := append([]string{"run", "--step", "--paused", "--scene", sceneFile(t, dir), "--rig", write(t, dir, "small.yaml", smallRig), "--out", dir,
			"--api", "0", "--bridge", "foxglove:127.0.0.1:0"}, more...)
		go func() { ended <- program(ctx, args, newTranscript(), said) }()
		said.await(t, "paused: ")
		counts := map[string]int{}
		for _, row := range rows.FindAllStringSubmatch(said.String(), -1) {
			counts[row[1]], _ = strconv.Atoi(row[2])
		}
		cancel()
		require.Equal(t, exitDone, <-ended, said)
		return counts
	}
	want := topics()
	require.Contains(t, want, "foxglove")
	want["page"] = want["api"] + 2
	assert.Equal(t, want, topics("--view"))
}

// TestSensorsOfAClosedPageRest: they compute while a page wants their data, and no longer.
func TestSensorsOfAClosedPageRest(t *testing.T) {
	needsOpenGL(t)
	dir := t.TempDir()
	r := startShown(t, "run", "--step", "--paused", "--scene", sceneFile(t, dir), "--rig", write(t, dir, "small.yaml", smallRig), "--view", "--api", "0")
	ctl := func(args ...string) string {
		o := call(t, append([]string{"ctl", "--api", r.url}, args...)...)
		require.Equal(t, exitDone, o.code, o.err)
		return o.out
	}
	status := func() (messages map[string]int64, listeners int) {
		var s struct{ Sensors []carry.SensorSummary }
		require.NoError(t, json.Unmarshal([]byte(ctl("status")), &s))
		messages = map[string]int64{}
		for _, row := range s.Sensors {
			messages[row.Topic] = row.Messages
			listeners += row.Listeners
		}
		return messages, listeners
	}
	ctl("step", "50")
	rested, _ := status()
	ctl("step", "50")
	still, _ := status()
	assert.Equal(t, rested, still, "nobody listens")
	w := r.watch(t)
	go w.draw(t.Context())
	ctl("step", "50")
	looked, _ := status()
	for topic, messages := range looked {
		assert.Greater(t, messages, still[topic], topic)
	}
	require.NoError(t, w.conn.CloseNow())
	<-w.done
	require.Eventually(t, func() bool {
		_, listeners := status()
		return listeners == 0
	}, patience, time.Millisecond)
	looked, _ = status()
	ctl("step", "50")
	rested, _ = status()
	assert.Equal(t, looked, rested, "the sensors go on")
	r.cancel()
	assert.Equal(t, exitDone, <-r.ended, r.err)
}

// TestWhereThePageIs: at the usual port, or any free one where that is taken; beyond this machine with a token.
func TestWhereThePageIs(t *testing.T) {
	needsOpenGL(t)
	t.Setenv(tokenVariable, "")
	dir := t.TempDir()
	args := []string{"run", "--realtime", "--scene", sceneFile(t, dir), "--rig", write(t, dir, "small.yaml", smallRig), "--duration", "100ms", "--view"}
	usual, err := net.Listen("tcp", viewAddress)
	if err == nil { // else somebody else has it
		defer func() { assert.NoError(t, usual.Close()) }()
	}
	r := startShown(t, args...)
	assert.Contains(t, r.err.String(), "port 7741 is in use: the page has another\n")
	assert.NotContains(t, r.url, ":7741")
	assert.NotContains(t, r.url, "token")
	assert.Equal(t, exitDone, <-r.ended, r.err)
	r = startShown(t, append(args, "--api", "0.0.0.0:0", "--quiet")...)
	assert.Regexp(t, `^http://\d+\.\d+\.\d+\.\d+:\d+/#token=[A-Z2-7]{26}$`, r.url)
	assert.Equal(t, 1, strings.Count(r.err.String(), "token"), "it is printed once")
	w := r.watch(t)
	go w.draw(t.Context())
	assert.Equal(t, exitDone, <-r.ended, r.err)
	<-w.done
	t.Setenv(tokenVariable, aToken)
	r = startShown(t, append(args, "--api", "0.0.0.0:0")...)
	assert.NotContains(t, r.err.String(), "token", "who has given it knows it")
	assert.Equal(t, exitDone, <-r.ended, r.err)
	o := call(t, append(args, "--api", "203.0.113.7:80")...)
	assert.Equal(t, exitUsage, o.code)
	assert.Contains(t, lastLine(o.err), "--api: listen on 203.0.113.7:80")
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { assert.NoError(t, taken.Close()) }()
	o = call(t, append(args, "--api", taken.Addr().String())...)
	assert.Equal(t, exitUsage, o.code, "a port that was asked for isn't exchanged")
	assert.Contains(t, lastLine(o.err), "in use")
}

// TestDemoShownRecordsNothing: it is a run of the city in real time, with a page and nothing else.
func TestDemoShownRecordsNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("makes a city; runs without -short")
	}
	needsOpenGL(t)
	t.Setenv(tokenVariable, "")
	t.Chdir(t.TempDir())
	r := startShown(t, "demo", "--view", "--duration", "200ms")
	status, err := http.Get(r.url + "v1/status")
	require.NoError(t, err)
	var told struct {
		Bridges []struct{ Name string }
		Sensors []struct{ Topic string }
	}
	require.NoError(t, json.NewDecoder(status.Body).Decode(&told))
	require.NoError(t, status.Body.Close())
	for _, bridge := range told.Bridges {
		assert.Contains(t, []string{"api", "page"}, bridge.Name)
	}
	assert.Greater(t, len(told.Sensors), 5)
	w := r.watch(t)
	go w.draw(t.Context())
	require.Equal(t, exitDone, <-r.ended, r.err)
	<-w.done
	assert.True(t, w.bye, "the page is told that the run has ended")
	assert.Contains(t, r.err.String(), "scene city")
	files, err := os.ReadDir(".")
	require.NoError(t, err)
	assert.Empty(t, files, "nothing is written")
}

// TestBenchOfPages runs the program with pages, and tells what they cost.
func TestBenchOfPages(t *testing.T) {
	if testing.Short() {
		t.Skip("makes four runs in real time; runs without -short")
	}
	needsOpenGL(t)
	t.Setenv(envProgram, "1")
	code, out := benchWith(t, "view", "--quick", "--runs", "1")
	require.Equal(t, exitDone, code, out)
	for _, figure := range []string{"view.factor ", "view.lost ", "view.core_percent ", "view.further_percent ", "view.stalled_percent "} {
		assert.Contains(t, out, figure)
	}
}
