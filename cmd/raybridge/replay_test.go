package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	foxglove "github.com/foxglove/mcap/go/mcap"
	"github.com/go-gl/mathgl/mgl64"
	"github.com/raybridge/raybridge/bridges"
	bridgesall "github.com/raybridge/raybridge/bridges/all"
	"github.com/raybridge/raybridge/bridges/bridgetest/peers"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// replayable makes a recording of one simulated second: frames once, a cloud and an IMU at 10 Hz.
// Times begin at 100 s; a message is recorded 2 ms after its stamp.
func replayable(t *testing.T, connection string, clock bool) string {
	t.Helper()
	dir := t.TempDir()
	now := int64(0)
	b, err := bridgesall.Registry().Open("mcap:"+connection, bridges.Env{OutDir: dir, Now: func() simtime.Stamp { return simtime.Stamp(now) }})
	require.NoError(t, err)
	publish := func(topic string, qos flow.QoS, s simtime.Stamped) {
		p, err := bridges.AddPublisherOf(b, reflect.TypeOf(s), bridges.Topic{Name: topic, QoS: qos})
		require.NoError(t, err)
		if b.Status() == flow.Connected {
			now = int64(s.Captured() + 2_000_000)
			require.NoError(t, p(t.Context(), s))
		}
	}
	at := func(i int) sample.Header {
		return sample.Header{Stamp: simtime.Stamp(100e9 + int64(i)*100_000_000), FrameID: "f", Pose: spatial.Identity()}
	}
	frames := &sample.Transforms{Stamp: 100e9, Static: true, Transforms: []sample.Transform{
		{Header: at(0), ChildFrameID: "lidar", Relative: spatial.Identity()},
	}}
	cloud := func(i int) *sample.PointCloud {
		return &sample.PointCloud{Header: at(i), Points: []sample.Point{{X: float32(i), Y: 1, Z: 2, Ring: 3, TimeNs: 4}}}
	}
	imu := func(i int) *sample.Imu { return &sample.Imu{Header: at(i), Orientation: mgl64.QuatIdent()} }
	publish("/tf_static", flow.StaticQoS, frames)
	publish("/points", flow.SensorDataQoS, cloud(0))
	publish("/imu", flow.SensorDataQoS, imu(0))
	if clock {
		publish("/clock", flow.ClockQoS, &sample.Clock{})
	}
	require.NoError(t, b.Connect(t.Context()))
	publish("/tf_static", flow.StaticQoS, frames)
	for i := range 10 {
		if clock {
			publish("/clock", flow.ClockQoS, &sample.Clock{Stamp: at(i).Stamp})
		}
		publish("/points", flow.SensorDataQoS, cloud(i))
		publish("/imu", flow.SensorDataQoS, imu(i))
	}
	require.NoError(t, b.Close(t.Context()))
	return filepath.Join(dir, strings.TrimSuffix(strings.Split(connection, "?")[0], "/"))
}

// content lists a recording's messages as the official reader has them: topic, schema,
// quality of service, number, times and a sum of the bytes.
func content(t *testing.T, path string) []string {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	r, err := foxglove.NewReader(file)
	require.NoError(t, err)
	defer r.Close()
	it, err := r.Messages(foxglove.InOrder(foxglove.LogTimeOrder))
	require.NoError(t, err)
	var list []string
	require.NoError(t, foxglove.Range(it, func(s *foxglove.Schema, c *foxglove.Channel, m *foxglove.Message) error {
		list = append(list, fmt.Sprintf("%s %s %v %d %d %d %x", c.Topic, s.Name, c.Metadata, m.Sequence, m.LogTime, m.PublishTime, sha256.Sum256(m.Data)))
		return nil
	}))
	return list
}

// TestReplayToARecording: what is replayed is what was recorded, to the byte.
func TestReplayToARecording(t *testing.T) {
	t.Parallel()
	for _, profile := range []string{"ros2", "ros1"} {
		path := replayable(t, "a.mcap?profile="+profile, true)
		out := t.TempDir()
		o := call(t, "replay", path, "--bridge", "mcap:b.mcap?profile="+profile, "--out", out, "--fast")
		require.Equal(t, exitDone, o.code, o.err)
		want := content(t, path)
		require.Len(t, want, 31)
		assert.Equal(t, want, content(t, filepath.Join(out, "b.mcap")))
		assert.Contains(t, o.out, "/points     10        *sample.PointCloud")
		assert.Contains(t, o.out, "written")
		assert.Contains(t, o.out, "0.90 s of the recording in")
	}
}

// TestReplayToTheStandardOutput is what a program at the other end of a pipe reads.
func TestReplayToTheStandardOutput(t *testing.T) {
	t.Parallel()
	recording := replayable(t, "drive.mcap", false)
	dir := t.TempDir()
	o := call(t, "replay", recording, "--stdout", "--fast", "--no-clock", "--topics", "/imu,/points", "--bridge", "mcap:copy.mcap", "--out", dir)
	require.Equal(t, 0, o.code, o.err)
	assert.FileExists(t, filepath.Join(dir, "copy.mcap"), "beside bridges")
	assert.Contains(t, o.err, "of the recording in", "the table isn't in the data's way")
	b, le := []byte(o.out), binary.LittleEndian
	require.True(t, bytes.HasPrefix(b, []byte("RBSTREAM\x02\x00\x00\x00")))
	var names []string
	messages := map[uint16]int{}
	for b = b[16+le.Uint32(b[12:]):]; len(b) > 0; {
		payload := b[16 : 16+le.Uint32(b)]
		switch id, control := le.Uint16(b[4:]), b[7]; control {
		case 0:
			assert.EqualValues(t, messages[id], le.Uint32(b[8:]))
			logged := int64(100e9) + int64(messages[id])*100_000_000 + 2_000_000
			assert.EqualValues(t, logged, le.Uint64(payload[24:]), "the recording's time")
			messages[id]++
		case 2:
			names = append(names, string(payload[10:10+le.Uint16(payload[8:])]))
			assert.EqualValues(t, len(names), le.Uint16(payload))
		default:
			assert.EqualValues(t, 5, control)
			assert.Len(t, b, 16+len(payload), "the goodbye is the last frame")
		}
		b = b[16+len(payload):]
	}
	assert.Equal(t, []string{"/points", "/imu"}, names)
	assert.Equal(t, map[uint16]int{1: 10, 2: 10}, messages)
}

// TestReplayToAProgramThatEnds ends, too.
func TestReplayToAProgramThatEnds(t *testing.T) {
	t.Parallel()
	cmd := command(t, "replay", replayable(t, "drive.mcap", false), "--stdout", "--fast", "--loop", "--quiet")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = io.ReadFull(out, make([]byte, 1000))
	require.NoError(t, err)
	require.NoError(t, out.Close())
	assert.Error(t, cmd.Wait(), "by the signal, or with an error")
	assert.Less(t, cmd.ProcessState.ExitCode(), exitUsage)
}

func TestReplayOfAFolderThroughSeveralBridges(t *testing.T) {
	t.Parallel()
	path := replayable(t, "bag?split_time=300ms", true)
	out := t.TempDir()
	o := call(t, "replay", path, "--bridge", "mcap:b.mcap", "--bridge", "logging:log", "--out", out, "--fast", "--quiet",
		"--summary", filepath.Join(out, "summary.json"))
	require.Equal(t, exitDone, o.code, o.err)
	assert.Empty(t, o.out+o.err)
	assert.Len(t, content(t, filepath.Join(out, "b.mcap")), 31, "what files repeat is sent once")
	assert.FileExists(t, filepath.Join(out, "log.txt.gz"))
	var sum replaySummary
	text, err := os.ReadFile(filepath.Join(out, "summary.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &sum))
	assert.Len(t, sum.Bridges, 2)
	assert.EqualValues(t, 31, sum.Bridges[1].Sent)
	assert.InDelta(t, 0.9, sum.ReplayedS, 1e-9)
}

// TestReplayMakesTheClock: one tick each 10 ms and before each later message, none ahead.
func TestReplayMakesTheClock(t *testing.T) {
	t.Parallel()
	path := replayable(t, "a.mcap", false)
	out := t.TempDir()
	o := call(t, "replay", path, "--bridge", "mcap:b.mcap", "--out", out, "--rate", "0", "--quiet")
	require.Equal(t, exitDone, o.code, o.err)
	ticks, clock := 0, int64(0)
	for _, line := range content(t, filepath.Join(out, "b.mcap")) {
		var topic, schema string
		_, err := fmt.Sscan(line, &topic, &schema)
		require.NoError(t, err)
		var sequence, logNs, stamp simtime.Stamp
		_, err = fmt.Sscan(line[strings.Index(line, "]")+1:], &sequence, &logNs, &stamp)
		require.NoError(t, err)
		if topic == "/clock" {
			assert.Greater(t, stamp, simtime.Stamp(clock))
			ticks, clock = ticks+1, int64(stamp)
		}
		assert.LessOrEqual(t, stamp, simtime.Stamp(clock), "law T4: no stamp is ahead of the clock")
	}
	assert.Equal(t, 91, ticks, "0.9 s at 100 Hz, from the first message on")

	o = call(t, "replay", path, "--bridge", "mcap:c.mcap", "--out", out, "--fast", "--no-clock", "--quiet")
	require.Equal(t, exitDone, o.code, o.err)
	assert.Len(t, content(t, filepath.Join(out, "c.mcap")), 21)
}

func TestReplayOfAPart(t *testing.T) {
	t.Parallel()
	path := replayable(t, "a.mcap", true)
	for _, c := range []struct {
		args []string
		want map[string]int
	}{
		{[]string{"--start", "250ms"}, map[string]int{"/tf_static": 1, "/points": 7, "/imu": 7, "/clock": 7}},
		{[]string{"--start", "250ms", "--duration", "200ms"}, map[string]int{"/tf_static": 1, "/points": 2, "/imu": 2, "/clock": 2}},
		{[]string{"--topics", "/points,/i*", "--no-clock"}, map[string]int{"/points": 10, "/imu": 10}},
		{[]string{"--topics", "tf_static"}, map[string]int{"/tf_static": 1, "/clock": 1}},
	} {
		out := t.TempDir()
		args := append([]string{"replay", path, "--bridge", "mcap:b.mcap", "--out", out, "--fast", "--quiet"}, c.args...)
		o := call(t, args...)
		require.Equal(t, exitDone, o.code, o.err)
		counts := map[string]int{}
		for _, line := range content(t, filepath.Join(out, "b.mcap")) {
			topic, _, _ := strings.Cut(line, " ")
			counts[topic]++
		}
		assert.Equal(t, c.want, counts, c.args)
	}
}

func TestReplayTellsWhatItLeavesOut(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.mcap")
	file, err := os.Create(path)
	require.NoError(t, err)
	w, err := foxglove.NewWriter(file, &foxglove.WriterOptions{Chunked: true})
	require.NoError(t, err)
	require.NoError(t, w.WriteHeader(&foxglove.Header{}))
	require.NoError(t, w.WriteSchema(&foxglove.Schema{ID: 1, Name: "their_msgs/msg/Secret", Encoding: "ros2msg"}))
	require.NoError(t, w.WriteSchema(&foxglove.Schema{ID: 2, Name: "std_msgs/msg/Float32", Encoding: "ros2msg"}))
	require.NoError(t, w.WriteChannel(&foxglove.Channel{ID: 1, SchemaID: 1, Topic: "/secret", MessageEncoding: "cdr"}))
	require.NoError(t, w.WriteChannel(&foxglove.Channel{ID: 2, SchemaID: 2, Topic: "/speed", MessageEncoding: "cdr"}))
	require.NoError(t, w.WriteMessage(&foxglove.Message{ChannelID: 1, LogTime: 5}))
	require.NoError(t, w.WriteMessage(&foxglove.Message{ChannelID: 2, LogTime: 5, Data: []byte{0, 1, 0, 0, 0, 0, 0, 0}}))
	require.NoError(t, w.Close())
	require.NoError(t, file.Close())
	o := call(t, "replay", path, "--bridge", "mcap:b.mcap", "--out", t.TempDir(), "--fast")
	assert.Equal(t, exitDone, o.code)
	assert.Contains(t, o.err, "topic is left out: there is no type for its messages")
	assert.Equal(t, 1, strings.Count(o.err, "their_msgs/msg/Secret"), "told once")
	assert.Contains(t, o.out, "/secret   1         their_msgs/msg/Secret: no sample for messages of this type")
}

// TestReplayTellsWhyABridgeCannot: the reason is told once, and scans of lidars that the bridge doesn't name aren't lost.
func TestReplayTellsWhyABridgeCannot(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b, err := bridgesall.Registry().Open("mcap:two.mcap", bridges.Env{OutDir: dir, Now: func() simtime.Stamp { return 0 }})
	require.NoError(t, err)
	require.NoError(t, b.Connect(t.Context()))
	for _, topic := range []string{"/front", "/rear"} {
		publish, err := bridges.AddPublisher[*sample.PointCloud](b, bridges.Topic{Name: topic, QoS: flow.SensorDataQoS})
		require.NoError(t, err)
		for i := range 3 {
			require.NoError(t, publish(t.Context(), &sample.PointCloud{
				Header: sample.Header{Stamp: simtime.Stamp(i * 100_000_000), FrameID: "f", Pose: spatial.Identity()}, Points: []sample.Point{{X: 1}},
			}))
		}
	}
	require.NoError(t, b.Close(t.Context()))
	o := call(t, "replay", filepath.Join(dir, "two.mcap"), "--bridge", "velodyne:a.pcap?sensor=/front", "--out", t.TempDir(), "--fast")
	assert.Equal(t, 1, strings.Count(o.err, "publish failed"), o.err)
	assert.Regexp(t, `publish failed.*topic=/front.*convert message`, o.err)
	assert.Contains(t, o.out, "convert_failed 3")
	assert.NotContains(t, o.out, "not_connected", "of /rear")
}

func TestReplayEndsWithItsContext(t *testing.T) {
	t.Parallel()
	path := replayable(t, "a.mcap", true)
	ctx, cancel := context.WithCancel(t.Context())
	out := t.TempDir()
	done := make(chan int)
	go func() {
		var text strings.Builder
		done <- program(ctx, []string{"replay", path, "--bridge", "mcap:b.mcap", "--out", out, "--rate", "0.001", "--loop"}, &text, &text)
	}()
	require.Eventually(t, func() bool {
		_, err := os.Stat(filepath.Join(out, "b.mcap"))
		return err == nil
	}, time.Minute, time.Millisecond)
	cancel()
	assert.Equal(t, exitDone, <-done, "as after Ctrl-C")
	content(t, filepath.Join(out, "b.mcap")) // is complete
}

// fakeClock is a wall clock that goes on by what is slept, and a bit more.
type fakeClock struct {
	now   time.Time
	slept []time.Duration
	late  time.Duration
}

func (c *fakeClock) pacer(rate float64) *pacer {
	return &pacer{rate: rate, now: func() time.Time { return c.now }, sleep: func(ctx context.Context, d time.Duration) error {
		c.slept = append(c.slept, d)
		c.now = c.now.Add(d + c.late)
		return ctx.Err()
	}}
}

// TestPacerContinuesAfterAStop: messages that came due while the program stood still aren't sent at once, which
// overruns queues. They have their pace.
func TestPacerContinuesAfterAStop(t *testing.T) {
	t.Parallel()
	for rate, step := range map[float64]time.Duration{1: 10 * time.Millisecond, 2: 5 * time.Millisecond, 0.5: 20 * time.Millisecond} {
		c := &fakeClock{}
		p := c.pacer(rate)
		p.begin(1e9)
		require.NoError(t, p.wait(t.Context(), 1e9))
		c.now = c.now.Add(time.Minute)
		before := c.now
		for i := range 100 {
			require.NoError(t, p.wait(t.Context(), simtime.Stamp(1e9+int64(1+i)*10_000_000)))
		}
		assert.Equal(t, 99*step, c.now.Sub(before), "rate %v", rate)
	}
}

// TestPacerDoesNotDrift: a sleep that is too long takes away from the next.
func TestPacerDoesNotDrift(t *testing.T) {
	t.Parallel()
	for rate, total := range map[float64]time.Duration{1: 10 * time.Second, 2: 5 * time.Second, 0.5: 20 * time.Second} {
		c := &fakeClock{late: 3 * time.Millisecond}
		p := c.pacer(rate)
		p.begin(1e9)
		for i := range 101 {
			require.NoError(t, p.wait(t.Context(), simtime.Stamp(1e9+int64(i)*100_000_000)))
		}
		assert.Equal(t, total+c.late, c.now.Sub(time.Time{}), "rate %v", rate)
		assert.Len(t, c.slept, 100)
	}
	c := &fakeClock{}
	p := c.pacer(0)
	p.begin(0)
	require.NoError(t, p.wait(t.Context(), 1e18))
	p = c.pacer(1)
	p.begin(10)
	require.NoError(t, p.wait(t.Context(), 5), "what is due already")
	assert.Empty(t, c.slept)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.ErrorIs(t, newPacer(1).wait(ctx, 1<<60), context.Canceled)
}

// TestReplayAtARate: a second of the recording at double speed, by a clock of the test's.
func TestReplayAtARate(t *testing.T) {
	t.Parallel()
	path := replayable(t, "a.mcap", true)
	cmd := newReplay()
	cmd.SetContext(t.Context())
	f := &replayFlags{bridges: []string{"mcap:b.mcap"}, rate: 2, out: t.TempDir()}
	s, err := newReplaySession(cmd, []string{path}, f)
	require.NoError(t, err)
	c := &fakeClock{}
	s.pace = c.pacer(2)
	require.NoError(t, s.connect(t.Context()))
	require.NoError(t, s.replay(t.Context()))
	require.NoError(t, s.close())
	assert.Equal(t, 450*time.Millisecond, c.now.Sub(time.Time{}))
	for _, d := range c.slept {
		assert.Equal(t, 50*time.Millisecond, d, "a sleep for each of the recording's steps")
	}
}

func TestReplayOfWrongUse(t *testing.T) {
	t.Parallel()
	path := replayable(t, "a.mcap", true)
	dir := t.TempDir()
	text := write(t, dir, "notes.txt", "dear diary")
	to := []string{"--bridge", "mcap:b.mcap", "--out", dir}
	for message, args := range map[string][]string{
		"give a recording":                                   {},
		"nowhere to send it: give --bridge":                  {path},
		"no.mcap: no such file":                              append([]string{filepath.Join(dir, "no.mcap")}, to...),
		"not an MCAP file":                                   append([]string{text}, to...),
		"unknown bridge \"nix\"; known are":                  {path, "--bridge", "nix:"},
		"--rate -1: the range is 0 to 1000":                  append([]string{path, "--rate", "-1"}, to...),
		"--rate NaN: the range is 0 to 1000":                 append([]string{path, "--rate", "NaN"}, to...),
		"give either --fast or --rate":                       append([]string{path, "--rate", "2", "--fast"}, to...),
		"--start -1s is negative":                            append([]string{path, "--start", "-1s"}, to...),
		"is behind the recording's end: it has 900ms":        append([]string{path, "--start", "1s"}, to...),
		"nothing to replay: the recording's topics are":      append([]string{path, "--topics", "/nix"}, to...),
		"--topics: bad pattern":                              append([]string{path, "--topics", "[x"}, to...),
		"--policy: unknown policy":                           append([]string{path, "--policy", "x"}, to...),
		"clients=\"0\": want a whole number from 1 to 65535": {path, "--bridge", "mcap:b.mcap", "--bridge", "foxglove:0?clients=0", "--out", filepath.Join(path, "not made")},
		"profile=\"x\": want ros2, ros1 or foxglove":         {path, "--bridge", "mcap:b.mcap?profile=x", "--out", dir},
	} {
		o := call(t, append([]string{"replay"}, args...)...)
		assert.Equal(t, exitUsage, o.code, "%v: %s", args, o.err)
		assert.Contains(t, o.err, message)
	}
}

// TestReplayWithoutAPeerIsIncomplete: the recording goes to the others, and the exit code
// says that one never connected.
func TestReplayWithoutAPeerIsIncomplete(t *testing.T) {
	t.Parallel()
	path := replayable(t, "a.mcap", true)
	out := t.TempDir()
	o := call(t, "replay", path, "--bridge", "cyber:127.0.0.1:1", "--bridge", "foxglove:0", "--bridge", "mcap:b.mcap",
		"--out", out, "--fast", "--wait", "50ms", "--summary", filepath.Join(out, "s.json"))
	assert.Equal(t, exitIncomplete, o.code, o.err)
	assert.Contains(t, o.err, "not everything was delivered: cyber:127.0.0.1:1 never connected")
	assert.Regexp(t, `cyber:127\.0\.0\.1:1 0 connections, \d+ failures?, 0 messages that it could not read; the last error: .*refused`, o.out)
	assert.Regexp(t, `127\.0\.0\.1:[1-9]\d* +foxglove +all 4`, o.err, "where viewers connect to")
	summary, err := os.ReadFile(filepath.Join(out, "s.json"))
	require.NoError(t, err)
	assert.Contains(t, string(summary), `"last_error": "127.0.0.1:1: nobody listens there`)
	assert.Contains(t, o.err, "bridge hasn't connected: replaying without it")
	assert.Len(t, content(t, filepath.Join(out, "b.mcap")), 31)
}

func TestRecoverCommand(t *testing.T) {
	t.Parallel()
	path := replayable(t, "a.mcap", true)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	cut := filepath.Join(t.TempDir(), "cut.mcap")
	require.NoError(t, os.WriteFile(cut, data[:len(data)-100], 0o666))
	o := call(t, "mcap", "recover", cut)
	require.Equal(t, exitDone, o.code, o.err)
	to := filepath.Join(filepath.Dir(cut), "cut_recovered.mcap")
	assert.Contains(t, o.out, to)
	assert.Contains(t, o.out, "not finished")
	assert.Equal(t, content(t, path), content(t, to))
	assert.Equal(t, exitUsage, call(t, "mcap", "recover", cut).code, "the file is there already")

	bag := replayable(t, "bag?split_time=300ms", true)
	require.NoError(t, os.WriteFile(filepath.Join(bag, "bag_1.mcap"), make([]byte, 100), 0o666))
	o = call(t, "mcap", "recover", bag)
	assert.Equal(t, exitIncomplete, o.code)
	assert.Contains(t, o.out, "not an MCAP file: left out")
	assert.Contains(t, o.err, "of 1 of 4 files nothing could be kept")
	assert.FileExists(t, filepath.Join(bag+"_recovered", "metadata.yaml"))

	assert.Equal(t, exitUsage, call(t, "mcap", "recover").code)
	assert.Equal(t, exitUsage, call(t, "mcap", "recover", filepath.Join(t.TempDir(), "no.mcap")).code)
}

func TestBridgesShow(t *testing.T) {
	t.Parallel()
	for _, name := range bridgesall.Registry().Names() {
		o := call(t, "bridges", "show", name)
		require.Equal(t, exitDone, o.code, o.err)
		assert.Contains(t, o.out, "connection  "+name+":")
		o = call(t, "bridges", "show", name, "--json")
		var d bridgeDescription
		require.NoError(t, json.Unmarshal([]byte(o.out), &d))
		assert.Equal(t, name, d.Name)
		assert.NotEmpty(t, d.Messages, name)
	}
	o := call(t, "bridges", "show", "mcap")
	assert.Regexp(t, `\?compression=zstd\|lz4\|none +zstd +of chunks\n`, o.out)
	assert.Contains(t, call(t, "bridges", "show", "foxglove").out, "default     foxglove:127.0.0.1:8765\n")
	assert.Contains(t, o.out, "*sample.PointCloud       sensor_msgs/msg/PointCloud2              out\n")
	o = call(t, "bridges", "show", "nix")
	assert.Equal(t, exitUsage, o.code)
	assert.Contains(t, o.err, `unknown bridge "nix"; known are carla,`)
	assert.Equal(t, exitUsage, call(t, "bridges", "show").code)
	var list []bridgeDescription
	require.NoError(t, json.Unmarshal([]byte(call(t, "bridges", "list", "--json").out), &list))
	assert.Len(t, list, len(bridgesall.Registry().Names()))
}

// TestReplayNamesWhatGroundTruthLoses: between messages of one type there is nothing to say.
func TestReplayNamesWhatGroundTruthLoses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		recorded, to string
		said, unsaid []string
	}{
		{"a.mcap", "mcap:b.mcap", nil, []string{"ground truth"}},
		{"a.mcap?profile=ros1", "mcap:b.mcap?profile=ros1", nil, []string{"ground truth"}},
		{"a.mcap", "logging:b", []string{"sent as zero", "/boxes", "vision_msgs/msg/Detection3DArray", "Boxes.TypeID, Boxes.Tag, Boxes.Occlusion, Boxes.Twist.Linear"}, []string{"dropped"}},
		{"a.mcap?profile=ros1", "mcap:b.mcap", []string{"they are dropped", "Boxes.Twist.Linear, Boxes.Twist.Angular"}, []string{"zero", "TypeID"}},
		{"a.mcap", "mcap:b.mcap?profile=ros1", []string{"sent as zero", "Boxes.Twist.Linear, Boxes.Twist.Angular"}, []string{"TypeID"}},
	} {
		dir := t.TempDir()
		b, err := bridgesall.Registry().Open("mcap:"+c.recorded, bridges.Env{OutDir: dir, Now: func() simtime.Stamp { return 1 }})
		require.NoError(t, err)
		boxes, err := bridges.AddPublisher[*sample.Detections3D](b, bridges.Topic{Name: "/boxes"})
		require.NoError(t, err)
		require.NoError(t, b.Connect(t.Context()))
		require.NoError(t, boxes(t.Context(), &sample.Detections3D{Boxes: []sample.Box3D{{TypeID: "vehicle.sedan", Tag: 14}}}))
		require.NoError(t, b.Close(t.Context()))
		var out, errOut strings.Builder
		require.Zero(t, program(t.Context(), []string{"replay", filepath.Join(dir, "a.mcap"), "--bridge", c.to, "--fast", "--out", t.TempDir()}, &out, &errOut), errOut.String())
		for _, text := range c.said {
			assert.Contains(t, errOut.String(), text, "%v to %v", c.recorded, c.to)
		}
		for _, text := range c.unsaid {
			assert.NotContains(t, errOut.String(), text, "%v to %v", c.recorded, c.to)
		}
	}
}

// TestReplayIntoARecordingThatIsRemoved: the loss shows in the exit code, a single chunk's too.
func TestReplayIntoARecordingThatIsRemoved(t *testing.T) {
	t.Parallel()
	for _, to := range []string{"mcap:b.mcap", "mcap:b.mcap?chunk=100", "mcap:b", "logging:b"} {
		out := t.TempDir()
		cmd := newReplay()
		cmd.SetContext(t.Context())
		cmd.SetOut(io.Discard)
		cmd.SetErr(io.Discard)
		s, err := newReplaySession(cmd, []string{replayable(t, "a.mcap", true)}, &replayFlags{bridges: []string{to}, out: out})
		require.NoError(t, err)
		s.pace = newPacer(0)
		require.NoError(t, s.connect(t.Context()))
		list, err := filepath.Glob(filepath.Join(out, "b*"))
		require.NoError(t, err)
		require.Len(t, list, 1, to)
		require.NoError(t, os.RemoveAll(list[0]))
		err = s.conclude(errors.Join(s.replay(t.Context()), s.close()))
		assert.ErrorContains(t, err, "removed", to)
		assert.Equal(t, exitFailed, exitCode(err), to)
	}
}

// TestReplayLoopsAtTheRecordingsPace: however few of its messages are replayed.
func TestReplayLoopsAtTheRecordingsPace(t *testing.T) {
	t.Parallel()
	path := replayable(t, "a.mcap", true)
	for _, c := range []struct {
		topics   []string
		duration time.Duration
		passes   int64 // in ten seconds
	}{
		{[]string{"/tf_static"}, 0, 12},                      // of 0.9 s each
		{[]string{"/tf_static"}, 200 * time.Millisecond, 51}, // and of 0.2 s
		{[]string{"/tf_static"}, time.Nanosecond, 1001},      // of 10 ms: it has no time of its own
	} {
		f := &replayFlags{bridges: []string{"mcap:b.mcap"}, rate: 1, out: t.TempDir(), topics: c.topics, duration: c.duration, loop: true, noClock: true}
		cmd := newReplay()
		cmd.SetContext(t.Context())
		s, err := newReplaySession(cmd, []string{path}, f)
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		wall := &fakeClock{}
		s.pace = wall.pacer(1)
		sleeper := s.pace.sleep
		s.pace.sleep = func(ctx context.Context, d time.Duration) error {
			if wall.now.Add(d).After(time.Time{}.Add(10 * time.Second)) {
				cancel()
			}
			return sleeper(ctx, d)
		}
		require.NoError(t, s.connect(ctx))
		assert.ErrorIs(t, s.replay(ctx), context.Canceled)
		require.NoError(t, s.close())
		require.NoError(t, s.reader.Close())
		assert.Equal(t, c.passes, s.sent, c)
	}
}

// TestReplayLoopsNothing: a part without messages ends a loop.
func TestReplayLoopsNothing(t *testing.T) {
	t.Parallel()
	path := replayable(t, "a.mcap", true)
	o := call(t, "replay", path, "--bridge", "mcap:b.mcap", "--out", t.TempDir(), "--topics", "/imu", "--start", "50ms", "--duration", "10ms", "--loop", "--no-clock")
	assert.Equal(t, exitDone, o.code, o.err)
}

// TestReplayOverwritesNothingOfItself: by whichever name, what is replayed stays.
func TestReplayOverwritesNothingOfItself(t *testing.T) {
	t.Parallel()
	for connection, to := range map[string][]string{
		"a.mcap":               {"a.mcap", "a.mcap?profile=ros1", "link.mcap", "a.mcap?split_time=1s"},
		"bag?split_time=300ms": {"bag", "bag?split=1MB"},
	} {
		path := replayable(t, connection, true)
		dir := filepath.Dir(path)
		require.NoError(t, os.Symlink(path, filepath.Join(dir, "link.mcap")))
		for _, bridge := range to {
			o := call(t, "replay", path, "--bridge", "mcap:"+bridge, "--out", dir, "--fast")
			assert.Equal(t, exitUsage, o.code, bridge)
			assert.Contains(t, o.err, "which is to be replayed")
		}
		o := call(t, "replay", path, "--bridge", "mcap:b.mcap", "--out", dir, "--fast")
		require.Equal(t, exitDone, o.code, o.err)
		assert.Len(t, content(t, filepath.Join(dir, "b.mcap")), 31)
	}
}

// TestReplayOfATopicOfTwoTypes: the first is replayed, the other told of.
func TestReplayOfATopicOfTwoTypes(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.mcap")
	file, err := os.Create(path)
	require.NoError(t, err)
	w, err := foxglove.NewWriter(file, &foxglove.WriterOptions{Chunked: true})
	require.NoError(t, err)
	require.NoError(t, w.WriteHeader(&foxglove.Header{}))
	require.NoError(t, w.WriteSchema(&foxglove.Schema{ID: 1, Name: "std_msgs/msg/Float32", Encoding: "ros2msg"}))
	require.NoError(t, w.WriteSchema(&foxglove.Schema{ID: 2, Name: "rosgraph_msgs/msg/Clock", Encoding: "ros2msg"}))
	require.NoError(t, w.WriteChannel(&foxglove.Channel{ID: 1, SchemaID: 1, Topic: "/clock", MessageEncoding: "cdr"}))
	require.NoError(t, w.WriteChannel(&foxglove.Channel{ID: 2, SchemaID: 2, Topic: "/clock", MessageEncoding: "cdr"}))
	require.NoError(t, w.WriteMessage(&foxglove.Message{ChannelID: 1, LogTime: 5, Data: []byte{0, 1, 0, 0, 0, 0, 0, 0}}))
	require.NoError(t, w.WriteMessage(&foxglove.Message{ChannelID: 2, LogTime: 6, Data: []byte{0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}}))
	require.NoError(t, w.Close())
	require.NoError(t, file.Close())
	o := call(t, "replay", path, "--bridge", "mcap:b.mcap", "--out", t.TempDir(), "--fast")
	require.Equal(t, exitDone, o.code, o.err)
	assert.Contains(t, o.err, "topic has messages of several types")
	assert.Contains(t, o.out, "/clock  1         *sample.Speed")
}

// TestReplayToNetworks: servers of several protocols get what was recorded, each message
// once, at its own time.
func TestReplayToNetworks(t *testing.T) {
	t.Parallel()
	ros, apollo := peers.NewRosbridge(peers.RosbridgeConfig{}), peers.NewRosbridge(peers.RosbridgeConfig{})
	var mu sync.Mutex
	taken := map[string]int{} // guarded by mu
	ros2 := peers.NewLGSVL(peers.LGSVLConfig{Published: func(m peers.LGSVLMessage) {
		mu.Lock()
		defer mu.Unlock()
		taken[m.Topic]++
	}})
	cyber := peers.NewCyber(peers.CyberConfig{})
	for _, start := range []func() error{ros.Start, apollo.Start, ros2.Start, func() error { return cyber.Start() }} {
		require.NoError(t, start())
	}
	for _, kill := range []func(){ros.Kill, apollo.Kill, ros2.Kill, cyber.Kill} {
		t.Cleanup(kill)
	}
	o := call(t, "replay", replayable(t, "a.mcap", true), "--quiet", "--out", t.TempDir(), "--topics", "/points,/imu",
		"--bridge", "rosbridge:"+ros.Addr(), "--bridge", "rosapollo:"+apollo.Addr(), "--bridge", "ros2lgsvl:"+ros2.Addr(), "--bridge", "cyber:"+cyber.Addr())
	require.Equal(t, exitDone, o.code, o.err)
	for name, received := range map[string]func() map[string]int{
		"rosbridge": ros.Received, "rosapollo": apollo.Received, "cyber": cyber.Received,
		"ros2lgsvl": func() map[string]int {
			mu.Lock()
			defer mu.Unlock()
			return map[string]int{"/points": taken["/points"], "/imu": taken["/imu"]}
		},
	} {
		for _, topic := range []string{"/points", "/imu"} {
			require.Eventually(t, func() bool { return received()[topic] >= 10 }, time.Minute, 5*time.Millisecond, "%s: %s", name, topic)
			assert.Equal(t, 10, received()[topic], "%s: %s", name, topic)
		}
	}
	first, last := ros.Messages("/points")[0], ros.Messages("/points")[9]
	assert.NotEqual(t, first.Values["header"], last.Values["header"])
}

// TestReplayOfParts: files given one by one are one recording, in whatever order.
func TestReplayOfParts(t *testing.T) {
	t.Parallel()
	path := replayable(t, "bag?split_time=300ms", true)
	part := func(number string) string { return filepath.Join(path, "bag_"+number+".mcap") }
	out := t.TempDir()
	o := call(t, "replay", part("2"), part("0"), part("3"), part("1"), part("2"), "--bridge", "mcap:b.mcap", "--out", out, "--fast")
	require.Equal(t, exitDone, o.code, o.err)
	assert.Len(t, content(t, filepath.Join(out, "b.mcap")), 31)
	assert.Contains(t, o.out, "0.90 s of the recording in")
	assert.NotContains(t, o.err, "mixed")

	o = call(t, "replay", part("3"), part("0"), "--bridge", "mcap:gap.mcap", "--out", out, "--fast")
	require.Equal(t, exitDone, o.code, o.err)
	assert.Contains(t, o.out, "0.90 s of the recording in", "the gap stays")
	assert.Contains(t, o.out, "/points     4 ")

	o = call(t, "replay", part("0"), part("1"), "--bridge", "mcap:"+part("1"), "--out", out, "--fast")
	require.Equal(t, exitUsage, o.code)
	assert.Contains(t, o.err, "which is to be replayed")
}

// TestReplayTellsOfMixedRecordings: two runs begin at the same simulation time.
func TestReplayTellsOfMixedRecordings(t *testing.T) {
	t.Parallel()
	a, b := replayable(t, "a.mcap", true), replayable(t, "b.mcap", true)
	o := call(t, "replay", a, b, "--bridge", "mcap:c.mcap", "--out", t.TempDir(), "--fast")
	require.Equal(t, exitDone, o.code, o.err)
	assert.Contains(t, o.err, "two files have messages of the same times")
	o = call(t, "replay", a, filepath.Join(t.TempDir(), "none.mcap"), "--bridge", "mcap:c.mcap")
	assert.Equal(t, exitUsage, o.code)
	assert.Contains(t, o.err, "none.mcap: no such file in ")
}

// damagedRecording makes a recording with one wrong byte in the data of its second chunk. It
// returns that chunk, and how many messages the file had and has lost.
func damagedRecording(t *testing.T, finished bool) (path string, chunk *foxglove.ChunkIndex, all, lost int) {
	t.Helper()
	path = replayable(t, "a.mcap?chunk=500", true)
	all = len(content(t, path))
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	r, err := foxglove.NewReader(bytes.NewReader(data))
	require.NoError(t, err)
	defer r.Close()
	info, err := r.Info()
	require.NoError(t, err)
	require.Greater(t, len(info.ChunkIndexes), 3)
	chunk = info.ChunkIndexes[1]
	lost = messagesIn(t, data, chunk)
	require.Positive(t, lost)
	data[chunk.ChunkStartOffset+chunk.ChunkLength-20] ^= 0xff
	if !finished {
		last := info.ChunkIndexes[len(info.ChunkIndexes)-1]
		data = data[:last.ChunkStartOffset+last.ChunkLength+last.MessageIndexLength]
	}
	require.NoError(t, os.WriteFile(path, data, 0o666))
	return path, chunk, all, lost
}

// messagesIn counts a chunk's messages by its message indexes, with the official lexer.
func messagesIn(t *testing.T, data []byte, chunk *foxglove.ChunkIndex) (n int) {
	t.Helper()
	begin := chunk.ChunkStartOffset + chunk.ChunkLength
	lexer, err := foxglove.NewLexer(bytes.NewReader(data[begin:begin+chunk.MessageIndexLength]), &foxglove.LexerOptions{SkipMagic: true})
	require.NoError(t, err)
	defer lexer.Close()
	for {
		kind, record, err := lexer.Next(nil)
		if err != nil {
			return n // the end
		}
		require.Equal(t, foxglove.TokenMessageIndex, kind)
		index, err := foxglove.ParseMessageIndex(record)
		require.NoError(t, err)
		n += len(index.Records)
	}
}

// damageRow returns the cells of the only row under the head of damaged parts.
func damageRow(t *testing.T, out string) []string {
	t.Helper()
	_, table, found := strings.Cut(out, "\ndamaged")
	require.True(t, found, out)
	lines := strings.Split(table, "\n")
	assert.Equal(t, []string{"from", "byte", "bytes", "from", "to", "messages", "lost"}, strings.Fields(lines[0]))
	if len(lines) > 2 {
		assert.Empty(t, strings.TrimSpace(lines[2]), "one row")
	}
	return strings.Fields(lines[1])
}

func TestReplayLeavesDamageOut(t *testing.T) {
	t.Parallel()
	path, chunk, all, lost := damagedRecording(t, true)
	out := t.TempDir()
	summary := filepath.Join(out, "summary.json")
	o := call(t, "replay", path, "--bridge", "mcap:b.mcap", "--out", out, "--fast", "--summary", summary)
	assert.Equal(t, exitIncomplete, o.code)
	assert.Contains(t, o.err, "raybridge: finished without 1 damaged part of the recording")
	assert.Len(t, content(t, filepath.Join(out, "b.mcap")), all-lost)
	row := damageRow(t, o.out)
	require.Len(t, row, 8)
	assert.Equal(t, path, row[0])
	assert.Equal(t, strconv.FormatUint(chunk.ChunkStartOffset, 10), row[1])
	assert.Equal(t, strconv.Itoa(lost), row[7])

	text, err := os.ReadFile(summary)
	require.NoError(t, err)
	var sum replaySummary
	require.NoError(t, json.Unmarshal(text, &sum))
	require.Len(t, sum.Damaged, 1)
	d := sum.Damaged[0]
	assert.NotEmpty(t, d.Cause)
	d.Cause, d.Bytes = "", 0
	assert.Equal(t, damagedRow{
		File: path, Offset: int64(chunk.ChunkStartOffset), FromNs: simtime.Stamp(chunk.MessageStartTime), ToNs: simtime.Stamp(chunk.MessageEndTime), Messages: int64(lost),
	}, d)
}

func TestReplayStrictEndsAtDamage(t *testing.T) {
	t.Parallel()
	path, _, all, lost := damagedRecording(t, true)
	out := t.TempDir()
	o := call(t, "replay", path, "--strict", "--bridge", "mcap:b.mcap", "--out", out, "--fast")
	assert.Equal(t, exitFailed, o.code)
	assert.Contains(t, o.err, "raybridge: ")
	assert.Contains(t, o.err, "a.mcap")
	assert.NotContains(t, o.out, "\ndamaged", "nothing was left out")
	assert.Less(t, len(content(t, filepath.Join(out, "b.mcap"))), all-lost, "what comes behind is not sent")
}

func TestRecoverLeavesDamageOut(t *testing.T) {
	t.Parallel()
	path, chunk, all, lost := damagedRecording(t, false)
	o := call(t, "mcap", "recover", path)
	assert.Equal(t, exitIncomplete, o.code)
	assert.Contains(t, o.err, "raybridge: 1 damaged part was left out")
	row := damageRow(t, o.out)
	assert.Equal(t, strconv.FormatUint(chunk.ChunkStartOffset, 10), row[1])
	assert.Len(t, content(t, strings.TrimSuffix(path, ".mcap")+"_recovered.mcap"), all-lost)
}

// TestRecoverCopiesWhatWasFinished: with its damage, which readers leave out.
func TestRecoverCopiesWhatWasFinished(t *testing.T) {
	t.Parallel()
	path, _, _, _ := damagedRecording(t, true)
	o := call(t, "mcap", "recover", path)
	require.Equal(t, exitDone, o.code, o.err)
	assert.Contains(t, o.out, "complete")
	before, err := os.ReadFile(path)
	require.NoError(t, err)
	after, err := os.ReadFile(strings.TrimSuffix(path, ".mcap") + "_recovered.mcap")
	require.NoError(t, err)
	assert.True(t, bytes.Equal(before, after))
}
