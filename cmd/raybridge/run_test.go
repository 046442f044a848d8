package main

import (
	"fmt"
	"net"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	bridgesall "github.com/raybridge/raybridge/bridges/all"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/cyber/cybertest"
	"github.com/raybridge/raybridge/bridges/ros2lgsvl/lgsvltest"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
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

// at waits until the run halts at a message, does something, and lets it go on.
func (r *outageRun) at(message int, do func()) {
	r.t.Helper()
	r.await(r.stops[message], "the run comes to message %d", message)
	do()
	r.resume <- struct{}{}
}

// end waits until the run has ended by itself, checks that the recording has everything,
// and returns the exit code and the rows of the bridges.
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
func (r *outageRun) bridge(n int) pipeline.BridgeSummary { return r.p.Summary().Bridges[1+n] }

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
// goes on, ends by itself, and the recording has everything.
func TestPeersDieInARun(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	before := runtime.NumGoroutine()
	lost, found := lgsvltest.New(lgsvltest.Config{}), cybertest.New(cybertest.Config{})
	t.Cleanup(lost.Kill)
	t.Cleanup(found.Kill)
	require.NoError(t, lost.Start())
	require.NoError(t, found.Start("127.0.0.1:0"))
	address := found.Addr()
	first, second := "ros2lgsvl:"+lost.Address()+"?retry=50ms", "cyber:"+address+"?retry=50ms"
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
		require.NoError(t, found.Start(address))
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
	err := incomplete([]pipeline.BridgeSummary{
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
	assert.NoError(t, incomplete([]pipeline.BridgeSummary{{Name: "mcap", Connection: "a.mcap", EverConnected: true}}, bridgesall.Registry()))
	assert.NoError(t, incomplete(nil, bridgesall.Registry()))
}
