package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/raybridge/raybridge/bridges"
	bridgesall "github.com/raybridge/raybridge/bridges/all"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/bridgetest/peers"
	"github.com/raybridge/raybridge/cmd/raybridge/internal/control"
	"github.com/raybridge/raybridge/config"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/pipeline/carry"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	imuTopic = "/imu/data"
	// imuMessages are what the rig's sensor publishes in an outageRun.
	imuMessages = 300
)

// outageRun is a whole run of three seconds, in steps, that a test holds up at messages of
// its choice. It is a view of the run.
type outageRun struct {
	t      *testing.T
	p      *pipeline.Pipeline
	stops  map[int]chan struct{} // by message: closed when the run has come there
	resume chan struct{}
	ended  chan struct{}
	dir    string
	out    *transcript
	err    error // the run's, once it has ended
}

// startOutageRun begins a run with a recording and other bridges. It halts at each of the
// messages, until resumed.
func startOutageRun(t *testing.T, bridges []string, halts ...int) *outageRun {
	t.Helper()
	dir := t.TempDir()
	r := &outageRun{t: t, stops: map[int]chan struct{}{}, resume: make(chan struct{}), ended: make(chan struct{}), dir: dir, out: newTranscript()}
	for _, n := range halts {
		r.stops[n] = make(chan struct{})
	}
	var f runFlags
	cmd := &cobra.Command{Use: "run"}
	f.register(cmd)
	cmd.SetOut(r.out)
	cmd.SetErr(newTranscript())
	args := []string{
		"--scene", sceneFile(t, dir), "--rig", write(t, dir, "rig.yaml", "sensors: [{id: sensor.other.imu, name: imu, rate: 100}]"),
		"--step", "--duration", "3s", "--out", dir, "--bridge", "mcap:a.mcap",
	}
	for _, b := range bridges {
		args = append(args, "--bridge", b)
	}
	require.NoError(t, cmd.ParseFlags(args))
	pl, err := newPlan(cmd, &f)
	require.NoError(t, err)
	fake := gputest.NewFake()
	fake.StopLog()
	go func() {
		defer close(r.ended)
		r.err = pl.execute(t.Context(), cmd, fake.Open, r)
	}()
	return r
}

// attach has the run halt.
func (r *outageRun) attach(p *pipeline.Pipeline) error {
	r.p = p
	s, err := p.Sensor("imu")
	if err != nil {
		return err
	}
	n := 0
	_, err = pipeline.Listen(s, "imu", func(sensors.Tick, *sample.Imu) {
		n++
		stop, ok := r.stops[n]
		if !ok {
			return
		}
		close(stop)
		select {
		case <-r.resume:
		case <-r.t.Context().Done(): // the test failed
		}
	})
	return err
}

func (r *outageRun) finish(*pipeline.Pipeline) error { return nil }

// at waits until the run halts at a message, does something, and releases it.
func (r *outageRun) at(message int, do func()) {
	r.t.Helper()
	r.await(r.stops[message], "the run comes to message %d", message)
	do()
	r.resume <- struct{}{}
}

// end waits until the run has ended by itself, and checks that the recording has everything. It
// returns the exit code and the rows of the bridges.
func (r *outageRun) end() (code int, rows map[string]string) {
	r.t.Helper()
	r.await(r.ended, "the run ends")
	counts := byTopic(readRecording(r.t, filepath.Join(r.dir, "a.mcap")))
	assert.Len(r.t, counts[imuTopic], imuMessages)
	assert.Greater(r.t, len(counts["/clock"]), imuMessages-1)
	rows = map[string]string{}
	for line := range strings.Lines(r.out.String()) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if rest = strings.Join(strings.Fields(rest), " "); rows[name] != "" {
			rest = rows[name] + "\n" + rest
		}
		rows[name] = rest
	}
	row := strings.Fields(rows["mcap:a.mcap"])
	assert.Equal(r.t, []string{"written", "-"}, []string{row[0], row[len(row)-1]}, "nothing was dropped")
	return exitCode(r.err), rows
}

func (r *outageRun) await(c <-chan struct{}, format string, args ...any) {
	r.t.Helper()
	select {
	case <-c:
	case <-time.After(time.Minute):
		require.Fail(r.t, "it doesn't happen", format, args)
	}
}

func (r *outageRun) eventually(what string, holds func() bool) {
	r.t.Helper()
	require.Eventually(r.t, holds, time.Minute, 2*time.Millisecond, what)
}

// bridge returns what the run says now of the n-th bridge after the recording.
func (r *outageRun) bridge(n int) carry.BridgeSummary { return r.p.Summary().Bridges[1+n] }

// noGoroutinesLeft checks that those are gone which were started since. No other test runs
// beside one that calls it, since it isn't parallel.
func noGoroutinesLeft(t *testing.T, before int) {
	t.Helper()
	glance := time.NewTicker(5 * time.Millisecond) // Eventually has goroutines of its own
	defer glance.Stop()
	for limit := time.Now().Add(time.Minute); runtime.NumGoroutine() > before; <-glance.C {
		if time.Now().After(limit) {
			stacks := make([]byte, 1<<20)
			require.Fail(t, "goroutines are left", "%s", stacks[:runtime.Stack(stacks, true)])
		}
	}
}

// TestPeersDieInARun: of two peers one is killed and stays away, the other one comes back. The run
// continues, ends by itself, and the recording has everything.
func TestPeersDieInARun(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	before := runtime.NumGoroutine()
	lost, found := peers.NewLGSVL(peers.LGSVLConfig{}), peers.NewCyber(peers.CyberConfig{})
	t.Cleanup(lost.Kill)
	t.Cleanup(found.Kill)
	require.NoError(t, lost.Start())
	require.NoError(t, found.Start())
	address := found.Addr()
	first, second := "ros2lgsvl:"+lost.Addr()+"?retry=50ms", "cyber:"+address+"?retry=50ms"
	r := startOutageRun(t, []string{first, second}, 1, 100, 200, 290)
	r.at(1, func() {
		r.eventually("both are connected", func() bool { return r.bridge(0).Status == "connected" && r.bridge(1).Status == "connected" })
	})
	r.at(100, func() {
		time.Sleep(1200 * time.Millisecond) // a connection that is shorter could be a wrong server's
		r.eventually("both receive", func() bool { return lost.Received()[imuTopic] > 50 && found.Received()[imuTopic] > 50 })
		lost.Kill()
		found.Kill()
		r.eventually("both are missed", func() bool { return r.bridge(0).Failures > 1 && r.bridge(1).Failures > 1 })
	})
	r.at(200, func() {
		require.NoError(t, found.Start())
		r.eventually("one is found again", func() bool { return r.bridge(1).Status == "connected" })
	})
	received := found.Received()[imuTopic]
	r.at(290, func() {
		r.eventually("it receives on", func() bool { return found.Received()[imuTopic] > received+50 })
	})
	code, rows := r.end()
	assert.Equal(t, exitDone, code, "%v", r.err)
	assert.Regexp(t, `^lost \d+ [\d.]+ \S.*\n1 connection, \d+ failures, .*nobody listens there.*$`, rows[first])
	assert.Regexp(t, `^ended \d+ [\d.]+ \S.*\n2 connections, \d+ failures, .*$`, rows[second])
	found.Kill()
	noGoroutinesLeft(t, before)
}

// TestAPeerThatNeverWasThere: the run is as long as without it, and says so.
func TestAPeerThatNeverWasThere(t *testing.T) {
	before := runtime.NumGoroutine()
	spec := fmt.Sprintf("rosbridge:127.0.0.1:%d?retry=50ms", bridgetest.FreePort(t))
	r := startOutageRun(t, []string{spec}, 150)
	r.at(150, func() {
		r.eventually("it is looked for", func() bool { return r.bridge(0).Failures > 1 })
	})
	code, rows := r.end()
	assert.Equal(t, exitIncomplete, code)
	assert.EqualError(t, r.err, "finished, but not everything was delivered: "+spec+" never connected")
	assert.Regexp(t, `^never connected 0 0.0 -\n0 connections, \d+ failures, .*nobody listens there.*$`, rows[spec])
	noGoroutinesLeft(t, before)
}

// wrongServer is a TCP server of another protocol, or of none.
type wrongServer struct {
	net.Listener
	served atomic.Int64 // connections that have ended
	wg     sync.WaitGroup
}

func startWrongServer(t *testing.T, answer string) *wrongServer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &wrongServer{Listener: l}
	s.wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte(answer))
			_ = conn.Close()
			s.served.Add(1)
		}
	})
	return s
}

// TestAWrongServerIsNoPeer: a TCP connection shows nothing where the protocol acknowledges nothing, so
// what the run ends with doesn't hang on when somebody looked.
func TestAWrongServerIsNoPeer(t *testing.T) {
	for name, answer := range map[string]string{"another protocol": "HTTP/1.1 400 Bad Request\r\n\r\n", "none": ""} {
		for _, kind := range []string{"cyber", "ros2lgsvl"} {
			t.Run(kind+", "+name, func(t *testing.T) {
				before := runtime.NumGoroutine()
				s := startWrongServer(t, answer)
				t.Cleanup(func() { _ = s.Close() })
				spec := kind + ":" + s.Addr().String() + "?retry=10ms"
				r := startOutageRun(t, []string{spec}, 150)
				r.at(150, func() {
					r.eventually("it is tried", func() bool { return s.served.Load() > 5 && r.bridge(0).Failures > 2 })
				})
				code, rows := r.end()
				assert.Equal(t, exitIncomplete, code)
				assert.ErrorContains(t, r.err, spec+" ended every connection at once")
				assert.Regexp(t, `^refused `, rows[spec])
				assert.Contains(t, rows[spec], " failures, ")
				_ = s.Close()
				s.wg.Wait()
				noGoroutinesLeft(t, before)
			})
		}
	}
}

func TestWhatIsIncompleteIsNamed(t *testing.T) {
	lost := flow.Drops{"write_failed": 3}
	err := incomplete([]carry.BridgeSummary{
		{Name: "mcap", Connection: "a.mcap", EverConnected: true},
		{Name: "mcap", Connection: "b.mcap", EverConnected: true, Drops: lost},
		{Name: "ros2lgsvl", Type: "ROS2", Connection: "localhost"},
		{Name: "cyber", Connection: "web:80", Connections: 7},
		{Name: "foxglove", EverConnected: true, Drops: lost},
	}, bridgesall.Registry())
	require.ErrorContains(t, err, "not everything was delivered: mcap:b.mcap lacks messages, ros2lgsvl:localhost never connected, "+
		"cyber:web:80 ended every connection at once, so it may speak another protocol")
	var exit *exitError
	require.ErrorAs(t, err, &exit)
	assert.Equal(t, exitIncomplete, exit.code)
}

func TestNothingIncomplete(t *testing.T) {
	assert.NoError(t, incomplete([]carry.BridgeSummary{{Name: "mcap", Connection: "a.mcap", EverConnected: true}}, bridgesall.Registry()))
	assert.NoError(t, incomplete(nil, bridgesall.Registry()))
}

// TestLostFiringsMakeARunIncomplete: a stepped run loses none, one that is recorded none but those for which the
// loop was late.
func TestLostFiringsMakeARunIncomplete(t *testing.T) {
	rows := []carry.SensorSummary{
		{Name: "front", Topic: "/front/image_raw", Drops: flow.Drops{flow.CauseReadbackFailed: 2, flow.CauseReadbackFull: 1}},
		{Name: "front", Topic: "/front/camera_info", Drops: flow.Drops{flow.CauseReadbackFailed: 2, flow.CauseReadbackFull: 1}},
		{Name: "roof", Topic: "/roof/points", Drops: flow.Drops{flow.CauseNoReturn: 4, flow.CauseQueueFull: 1, flow.CausePaused: 2}},
		{Name: "imu", Topic: "/imu/data", Drops: flow.Drops{flow.CauseSkipped: 1}},
	}
	for args, want := range map[string][]string{
		"--step --bridge foxglove:":              {"front lost 3 firings", "imu lost 1 firing"},
		"--realtime --bridge mcap:a.mcap":        {"front lost 3 firings"},
		"--realtime --bridge foxglove:":          nil,
		"--bridge mcap:a.mcap --report":          {"front lost 3 firings", "imu lost 1 firing"},
		"--realtime --report --bridge foxglove:": nil,
	} {
		pl, _ := planOf(t, strings.Fields(args)...)
		assert.Equal(t, want, pl.lost(rows), args)
	}
	pl, _ := planOf(t, "--step", "--bridge", "foxglove:")
	ended := []carry.SensorSummary{
		{Type: "sensor.other.imu", Ended: true, Others: 4, Drops: flow.Drops{flow.CauseSkipped: 2}},
		rows[0],
		{Type: "sensor.other.gnss", Ended: true, Others: 2, Drops: flow.Drops{flow.CauseReadbackFull: 1}},
		rows[1], // a topic of the same sensor
	}
	assert.Equal(t, []string{"ended sensor.other.imu lost 2 firings", "front lost 3 firings", "ended sensor.other.gnss lost 1 firing"}, pl.lost(ended),
		"rows that sum up others have no name")
	err := incomplete(nil, bridgesall.Registry(), "front lost 3 firings")
	assert.ErrorContains(t, err, "finished, but not everything was delivered: front lost 3 firings")
	assert.Equal(t, exitIncomplete, exitCode(err))
	assert.Equal(t, exitUsage, call(t, "run", "--device-timeout", "-1s", "--bridge", "mcap:a.mcap").code)
}

// planOf reads the flags of a run and decides what it is to do, without doing it.
func planOf(t *testing.T, args ...string) (pl *plan, errOut string) {
	t.Helper()
	var f runFlags
	var out bytes.Buffer
	cmd := &cobra.Command{Use: "run"}
	f.register(cmd)
	cmd.SetErr(&out)
	require.NoError(t, cmd.ParseFlags(args))
	pl, err := newPlan(cmd, &f)
	require.NoError(t, err)
	return pl, out.String()
}

const wholeRun = `
seed: 7
duration: 20s
scene: {file: wall.gltf}
time: {step: 5ms}
sensors: [{id: sensor.other.imu, name: own}]
bridges: [{type: mcap, connection: own.mcap, policy: drop_oldest}]
`

func TestFlagsWinOverTheFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := write(t, dir, "run.yaml", wholeRun)
	rig := write(t, dir, "small.yaml", smallRig)

	own, _ := planOf(t, "--config", file)
	assert.EqualValues(t, 7, own.config.Seed)
	assert.Equal(t, 20*time.Second, own.config.Duration)
	assert.Equal(t, filepath.Join(dir, "wall.gltf"), own.config.Scene.File)
	assert.Equal(t, 5*time.Millisecond, own.config.Time.Step)
	require.Len(t, own.config.Sensors, 1)
	assert.Equal(t, "run.yaml", own.rigName())

	flagged, _ := planOf(t, "--config", file, "--seed", "9", "--duration", "3s", "--scene", "city", "--rig", rig,
		"--bridge", "logging:more", "--policy", "block")
	assert.EqualValues(t, 9, flagged.config.Seed)
	assert.Equal(t, 3*time.Second, flagged.config.Duration)
	assert.True(t, flagged.config.Scene.City)
	assert.Empty(t, flagged.config.Scene.File)
	assert.Equal(t, 5*time.Millisecond, flagged.config.Time.Step, "what no flag says stays")
	assert.Len(t, flagged.config.Sensors, 8)
	assert.Equal(t, "small.yaml", flagged.rigName())
	assert.Equal(t, []config.Bridge{
		{Type: "mcap", Connection: "own.mcap", Policy: "block"}, {Type: "logging", Connection: "more", Policy: "block"},
	}, flagged.config.Bridges)

	zero, _ := planOf(t, "--config", file, "--duration", "0")
	assert.Zero(t, zero.config.Duration, "a flag that is given wins with its zero too")
}

func TestWithoutArgumentsItIsTheDemo(t *testing.T) {
	t.Parallel()
	pl, _ := planOf(t, "--control", "0")
	assert.Equal(t, "demo", pl.rigName())
	assert.Equal(t, config.Default().Scene, pl.config.Scene)
	var names []string
	for _, s := range pl.config.Sensors {
		names = append(names, s.Name)
	}
	assert.Equal(t, []string{"front", "front_depth", "front_semantic", "lidar", "imu", "gnss", "odom"}, names)
}

// TestWhoMayRunAlone: nobody listens to what computes always, and its user wants it so.
func TestWhoMayRunAlone(t *testing.T) {
	t.Parallel()
	rig := write(t, t.TempDir(), "rig.yaml", "sensors:\n  - {id: sensor.other.imu, name: a, always: true}\n")
	for _, args := range [][]string{{"--rig", rig}, {"--control", "0"}, {"--window"}, {"--report"}} {
		_, errOut := planOf(t, args...)
		assert.Empty(t, errOut, "%v", args)
	}
}

func TestWhomARunWaitsFor(t *testing.T) {
	t.Parallel()
	pl, _ := planOf(t, "--bridge", "foxglove:", "--wait-for", "/lidar/points=3", "--wait-for", "foxglove")
	assert.Equal(t, []audience{{"/lidar/points", 3}, {"foxglove", 1}}, pl.audience)
	there := map[string]int{"/lidar/points": 2}
	receivers := func(name string) (int, error) { return there[name], nil }
	missing, err := missingOf(pl.audience, receivers)
	require.NoError(t, err)
	assert.Equal(t, "3 receivers of /lidar/points, 2 there; 1 receiver of foxglove, 0 there", missing)
	there["/lidar/points"], there["foxglove"] = 4, 1
	missing, err = missingOf(pl.audience, receivers)
	require.NoError(t, err)
	assert.Empty(t, missing)
}

func TestRecordingStepsUnlessToldOtherwise(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		want pipeline.Mode
	}{
		{[]string{"--control", "0"}, pipeline.Realtime},
		{[]string{"--control", "0", "--step"}, pipeline.Stepped},
		{[]string{"--bridge", "mcap:a"}, pipeline.Stepped},
		{[]string{"--bridge", "logging:a"}, pipeline.Stepped},
		{[]string{"--bridge", "mcap:a", "--realtime"}, pipeline.Realtime},
		{[]string{"--report"}, pipeline.Stepped},
		{[]string{"--bridge", "mcap:a", "--time-source", "system"}, pipeline.Stepped},
		// These can't be stepped.
		{[]string{"--bridge", "mcap:a", "--time-source", "external"}, pipeline.Realtime},
		{[]string{"--report", "--time-source", "ROS2"}, pipeline.Realtime},
	} {
		pl, _ := planOf(t, c.args...)
		assert.Equal(t, c.want, pl.mode, "%v", c.args)
	}
}

func TestASteppedRunSaysThatItDropsNothing(t *testing.T) {
	t.Parallel()
	_, errOut := planOf(t, "--bridge", "mcap:a", "--policy", "drop_newest")
	assert.Contains(t, errOut, "a stepped run drops nothing")
	for _, args := range [][]string{
		{"--bridge", "mcap:a", "--policy", "block"},
		{"--bridge", "mcap:a", "--policy", "drop_newest", "--realtime"},
		{"--bridge", "mcap:a", "--policy", "drop_newest", "--quiet"},
	} {
		_, errOut := planOf(t, args...)
		assert.Empty(t, errOut, "%v", args)
	}
}

func TestTimeFlagsWinOverTheFile(t *testing.T) {
	t.Parallel()
	file := write(t, t.TempDir(), "run.yaml", "time: {source: simulation, scale: 0.5}")
	pl, _ := planOf(t, "--config", file, "--realtime", "--report")
	assert.Equal(t, "simulation", pl.config.Time.Source)
	assert.InDelta(t, 0.5, pl.config.Time.Scale, 0)
	pl, _ = planOf(t, "--config", file, "--realtime", "--time-source", "Unity", "--time-scale", "2", "--report")
	assert.Equal(t, "Unity", pl.config.Time.Source)
	assert.InDelta(t, 2, pl.config.Time.Scale, 0)
}

func TestWhatTimeFlagsHaveNoEffect(t *testing.T) {
	t.Parallel()
	listener := []string{"--bridge", "logging:a"}
	for _, c := range []struct {
		args []string
		want string // of the warning, "" for none
	}{
		{[]string{"--time-source", "ss2"}, "the time source is ss2 and nothing sets it"},
		{[]string{"--time-source", "ss2", "--control", "0"}, ""},
		{[]string{"--time-scale", "2", "--step"}, "the time scale counts with --realtime"},
		{[]string{"--time-scale", "2", "--realtime"}, ""},
	} {
		_, errOut := planOf(t, append(c.args, listener...)...)
		if c.want == "" {
			assert.Empty(t, errOut, "%v", c.args)
		} else {
			assert.Contains(t, errOut, c.want, "%v", c.args)
		}
	}
}

// TestNothingListensUnasked: the user who asks decides where.
func TestNothingListensUnasked(t *testing.T) {
	t.Parallel()
	pl, _ := planOf(t, "--report")
	assert.Nil(t, pl.api)
	pl, _ = planOf(t, "--control", ":8080")
	assert.Equal(t, &apiPlan{flag: "--control", at: control.Address{Host: "127.0.0.1", Port: 8080}}, pl.api)
}

func TestKeysNeedAWindow(t *testing.T) {
	t.Parallel()
	file := write(t, t.TempDir(), "run.yaml", "ego: {driver: keys}")
	_, errOut := planOf(t, "--config", file, "--report")
	assert.Contains(t, errOut, "the vehicle stands")
	_, errOut = planOf(t, "--config", file, "--window")
	assert.Empty(t, errOut)
}

func TestTheTableListsDropsByCause(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	printSummary(&out, &pipeline.Summary{
		SimS: 2, WallS: 1, RealTimeFactor: 2, GPU: pipeline.GPUSummary{Renderer: "paper"},
		Sensors: []carry.SensorSummary{
			{Topic: "/a", Messages: 19, RateWantedHz: 10, RateHz: 9.5, LatencyP50Ms: 1.25, LatencyP99Ms: 20, Drops: flow.Drops{"readback_full": 1, "queue_full": 2}},
			{Topic: "/b", RateWantedHz: 10, Idle: true},
			{Topic: "/collision", Type: "sensor.other.collision", Messages: 2},
			{Topic: "/tf", Type: "sensor.other.transform", Messages: 100, RateWantedHz: 50},
			{Topic: "/tf_static", Type: "sensor.other.transform", Messages: 1, RateWantedHz: 50},
		},
		Bridges: []carry.BridgeSummary{
			{Name: "mcap", Connection: "a.mcap", Status: "disconnected", EverConnected: true, Sent: 17, Bytes: 2_500_000, Drops: flow.Drops{"queue_full": 2}},
			{Name: "mcap", Type: "another", Connection: "b.mcap", Status: "disconnected", EverConnected: true, Drops: flow.Drops{}},
			{Name: "mcap", Connection: "c.mcap", Status: "disconnected"},
			{Name: "mcap", Connection: "d.mcap", Status: "unexpectedly_disconnected", EverConnected: true},
			{Name: "stream", Status: "disconnected", StatusAtEnd: "connected", EverConnected: true},
			{Name: "cyber", Status: "disconnected", StatusAtEnd: "unexpectedly_disconnected", EverConnected: true},
			{Name: "ros1", Status: "disconnected", StatusAtEnd: "connected"},
			{Name: "ros2lgsvl", Status: "disconnected", StatusAtEnd: "connected", Connections: 2},
			{Name: "api", Status: "disconnected", StatusAtEnd: "connected", EverConnected: true},
		},
	})
	rows := map[string]string{}
	for line := range strings.Lines(out.String()) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		rows[name] = strings.Join(strings.Fields(rest), " ")
	}
	for name, want := range map[string]string{
		"/b": "idle 10 -", "/collision": "2 each frame 0", "/tf": "100 50 0", "/tf_static": "1 - 0",
		"mcap:a.mcap": "disconnected 17", "mcap:b.mcap": "written 0", "mcap:c.mcap": "never connected 0", "mcap:d.mcap": "unexpectedly_disconnected 0",
		"stream:": "ended 0", "cyber:": "lost 0", "ros1:": "never connected 0", "ros2lgsvl:": "refused 0",
		"api:": "ended 0",
	} {
		assert.True(t, strings.HasPrefix(rows[name], want), "%s: %s", name, rows[name])
	}
	for _, want := range []string{
		"/a", "queue_full 2, readback_full 1", "idle", "mcap:a.mcap", "2.5", "2.00 s simulated in 1.00 s: real-time factor 2.00", "paper",
	} {
		assert.Contains(t, out.String(), want)
	}
}

// TestTheTableTellsWhatSensorsDidNotTake: and nothing of those that took all.
func TestTheTableTellsWhatSensorsDidNotTake(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	printSummary(&out, &pipeline.Summary{Inputs: []carry.InputSummary{
		{Name: "follower", Topic: "/follower/lane", Drops: flow.Drops{"queue_full": 6}},
		{Name: "swift", Topic: "/swift/lane", Drops: flow.Drops{}},
	}})
	assert.Contains(t, out.String(), "sensor follower did not take messages of /follower/lane: queue_full 6\n")
	assert.NotContains(t, out.String(), "swift")
}

// TestEndpointsWithoutEmptyColumns: streams have numbers and tokens with carla alone.
func TestEndpointsWithoutEmptyColumns(t *testing.T) {
	t.Parallel()
	streams := carry.BridgeSummary{Name: "stream", Endpoints: []bridges.Endpoint{{Address: "a:1", Topic: "/t"}}}
	carla := carry.BridgeSummary{Name: "carla", Endpoints: []bridges.Endpoint{{Address: "a:2", Topic: "/t", Stream: 2, Token: "ff"}}}
	several := carry.BridgeSummary{Name: "foxglove", Endpoints: []bridges.Endpoint{{Address: "a:3", Topic: "/t", Stream: 1}, {Address: "a:3", Topic: "/u", Stream: 2}}}
	for want, list := range map[string][]carry.BridgeSummary{
		"": {{Name: "mcap"}},
		"receivers connect to bridge topic\na:3 foxglove all 2\n":                                {several},
		"receivers connect to bridge topic\na:1 stream /t\n":                                     {streams},
		"receivers connect to bridge stream topic token\na:2 carla 2 /t ff\n":                    {carla},
		"receivers connect to bridge stream topic token\na:1 stream - /t -\na:2 carla 2 /t ff\n": {streams, carla},
	} {
		var out, got bytes.Buffer
		printEndpoints(&out, list)
		for line := range strings.Lines(out.String()) {
			got.WriteString(strings.Join(strings.Fields(line), " ") + "\n")
		}
		assert.Equal(t, want, got.String())
	}
}

func TestInFile(t *testing.T) {
	t.Parallel()
	cause := errors.New("bad")
	assert.EqualError(t, inFile("run.yaml", cause), "run.yaml: bad")
	assert.Equal(t, cause, inFile("", cause), "flags have no file")
	require.NoError(t, inFile("run.yaml", nil))
	_, placed := config.Reader{}.Parse("c.yaml", []byte("sceen: 1"))
	assert.Equal(t, placed, inFile("run.yaml", placed))
}

// TestTheOutputFolderIsMadeWhereItIsNeeded: not for a recording of an absolute path, which a folder that can't be
// written has no say in.
func TestTheOutputFolderIsMadeWhereItIsNeeded(t *testing.T) {
	dir := t.TempDir()
	blocked := filepath.Join(write(t, dir, "file", ""), "out") // nobody, not even root, makes a folder in a file
	for connection, fine := range map[string]bool{
		"mcap:" + dir + "/a.mcap": true, "logging:" + dir + "/b?": true, "mcap:" + dir + "/c.mcap?profile=ros1": true, "foxglove:": true, "mcap:a.mcap": false, "logging:b": false,
	} {
		parsed, err := config.ParseBridge(connection)
		require.NoError(t, err)
		err = proveOutput(blocked, "", writesBelowOut([]config.Bridge{parsed}))
		assert.Equal(t, fine, err == nil, "%s: %v", connection, err)
		assert.Error(t, proveOutput(blocked, "", true), connection)
	}
}

// The summary may lie where the output folder, which isn't there yet, brings its parent along.
// A folder that nobody makes is refused before the run.
func TestSummaryMayLieAboveTheOutputFolder(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "out", "demo")
	require.NoError(t, proveOutput(out, filepath.Join(dir, "out", "demo.json"), true))
	require.DirExists(t, out)
	require.ErrorContains(t, proveOutput(out, filepath.Join(dir, "elsewhere", "demo.json"), true), "--summary")
}

// warnings are the lines of messages that are warnings.
func warnings(messages string) (list []string) {
	for line := range strings.Lines(messages) {
		if strings.HasPrefix(line, "warning: ") {
			list = append(list, line)
		}
	}
	return list
}

// TestCheckAndRunSayTheSame of topics that ROS forbids and of values that are unusual.
func TestCheckAndRunSayTheSame(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := write(t, dir, "rig.yaml", "drivers: [external]\ncontrol_topic: /ego-1/control\nsensors:\n  - {id: sensor.other.imu, name: imu-1, topic: /3d/imu-1}\n  - {id: sensor.lidar.ray_cast, name: roof, pose: {z: -50}}\n")
	check := call(t, "rig", "check", file)
	require.Equal(t, exitDone, check.code, check.err)
	told := warnings(check.err)
	require.Len(t, told, 3)
	assert.Contains(t, told[0], "warning: "+file+": control_topic: ROS forbids the topic /ego-1/control, /ego_1/control takes its place")
	assert.Contains(t, told[1], "rig.yaml:4:48: sensors[0].topic: ROS forbids the topic /3d/imu-1, /n3d/imu_1 takes its place")
	assert.Contains(t, told[2], "sensor roof is mounted 50 m under the ground")
	assert.Contains(t, check.out, "/n3d/imu_1/data")

	pl, planned := planOf(t, "--rig", file, "--bridge", "mcap:a", "--bridge", "ros1:localhost")
	assert.Equal(t, told, warnings(planned)[:3])
	assert.Equal(t, "/ego_1/control", pl.config.Ego.Commands.Control)

	config := write(t, dir, "run.yaml", "scene: {file: "+sceneFile(t, dir)+"}\nrig: rig.yaml\nego: {pose: {x: 500}, commands: {velocity: /2d/turn, ackermann: \"\"}}\n")
	o := call(t, "config", "check", config)
	require.Equal(t, exitDone, o.code, o.err)
	require.Len(t, warnings(o.err), 5)
	own := warnings(o.err)[0]
	assert.Contains(t, own, "run.yaml: ego.commands.velocity: ROS forbids the topic /2d/turn, /n2d/turn takes its place")
	assert.Equal(t, told, warnings(o.err)[1:4])
	assert.Contains(t, warnings(o.err)[4], "the vehicle begins at (500, 0, 0) m, outside of the scene, (-30, -30, 0) to (30, 30, 6)")

	pl, planned = planOf(t, "--config", config, "--bridge", "ros1:localhost")
	assert.Equal(t, append([]string{own}, told...), warnings(planned)[:4])
	assert.Equal(t, "/n2d/turn", pl.config.Ego.Commands.Velocity)
	assert.Empty(t, pl.config.Ego.Commands.Ackermann)

	config = write(t, dir, "bare.yaml", "ego: {commands: {velocity: /2d/turn}}\n")
	_, planned = planOf(t, "--config", config, "--rig", file, "--bridge", "ros1:localhost")
	assert.Contains(t, warnings(planned)[0], "ego.commands.velocity")
	assert.Equal(t, told, warnings(planned)[1:4], "a rig by flag takes no warnings of the file away")
}

// TestProjectionsOfWorlds: a world whose projection isn't the scene's map's has a warning as soon as the
// scene is there. It has none where no sensor tells of places on the earth.
func TestProjectionsOfWorlds(t *testing.T) {
	t.Parallel()
	const utm = "+proj=utm +zone=32 +ellps=WGS84"
	flat, grid := spatial.TangentMap(spatial.Geodetic{Latitude: 48, Longitude: 8}), func(zone int) spatial.MapFrame { return spatial.GridMap(spatial.UTMZone{Number: zone}) }
	for name, c := range map[string]struct {
		proj      string
		at        spatial.MapFrame
		receivers bool
		want      string // "" for none
	}{
		"the same":        {utm, grid(32), true, ""},
		"unsaid":          {"", flat, true, ""},
		"nobody asks":     {utm, flat, false, ""},
		"the scene's not": {utm, flat, true, "give scene.projection: utm32n"},
		"another zone":    {utm, grid(33), true, "the world's coordinates are of utm32n, and scene.projection is utm33n"},
		"unknown":         {"+proj=tmerc +lat_0=0 +lon_0=0", flat, true, "projection that isn't known"},
	} {
		for _, early := range []bool{true, false} {
			var told []string
			s := openSource{receivers: c.receivers, warn: func(text string, _ ...any) { told = append(told, text) }}
			there := &scene.Scene{Map: c.at}
			if !early {
				s.scene = there
			}
			s.projected(c.proj)
			if early {
				assert.Empty(t, told)
				s.scene = there
				s.projected(s.proj)
			}
			if c.want == "" {
				assert.Empty(t, told, name)
				continue
			}
			require.Len(t, told, 1, name)
			assert.Contains(t, told[0], c.want)
		}
	}
}

func TestAWindowNeedsADisplay(t *testing.T) {
	t.Setenv("DISPLAY", "")
	var stdout, stderr strings.Builder
	root := newRoot(&stdout, &stderr)
	root.SetArgs([]string{"run", "--window"})
	err := root.ExecuteContext(t.Context())
	assert.Equal(t, exitNoOpenGL, exitCode(err), "%v", err)
	assert.ErrorContains(t, err, "--headless")
}

func TestAWindowedRunTakesADevice(t *testing.T) {
	var stdout, stderr strings.Builder
	root := newRoot(&stdout, &stderr)
	root.SetArgs([]string{"run", "--window", "--gpu", "fast"})
	err := root.ExecuteContext(t.Context())
	assert.Equal(t, exitUsage, exitCode(err), "%v", err)
	assert.ErrorContains(t, err, "--gpu")
}
