//go:build cgo && peers && ros2dds

package ros2dds_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/ros2dds"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/pipeline/carry"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What makes "ros2 node list" and "ros2 topic info -v" show the node. It is its name and its
// endpoints on ros_discovery_info, and what participant and endpoints say of themselves.
func TestNodeIsAnnounced(t *testing.T) {
	domain := freeDomain(t)
	s := cycloneSubscriber(t, domain, "subscribe")
	b := connect(t, domain, "node=sim&namespace=/vehicle")
	qos := flow.QoS{Reliability: flow.Reliable, History: flow.KeepLast, Depth: 3, Deadline: int64(2 * time.Second)}
	_, err := bridges.AddPublisher[*sample.Clock](b, bridges.Topic{Name: "/clock", QoS: flow.ClockQoS})
	require.NoError(t, err)
	_, err = bridges.AddPublisher[*sample.Imu](b, bridges.Topic{Name: "/imu", QoS: qos})
	require.NoError(t, err)
	require.NoError(t, bridges.AddSubscriber(b, bridges.Topic{Name: "/cmd_vel"}, func(*sample.VelocityCommand) {}))

	p := s.await("the participant", func(e event) bool { return e.Event == "participant" && e.UserData != "" })
	assert.Equal(t, "enclave=/;", p.UserData)
	w := s.await("the writer of /imu", func(e event) bool { return e.Event == "writer" && e.Topic == "rt/imu" })
	assert.Equal(t, int64(2*time.Second), w.DeadlineNs)
	assert.True(t, w.Reliable)
	c := s.await("the writer of /clock", func(e event) bool { return e.Event == "writer" && e.Topic == "rt/clock" })
	assert.False(t, c.Reliable)
	g := s.await("the graph's writer", func(e event) bool { return e.Event == "writer" && e.Topic == "ros_discovery_info" })
	assert.True(t, g.Reliable && g.TransientLocal)

	last := func(text string) event {
		return s.await("the graph with "+text, func(e event) bool {
			return e.Event == "message" && e.Topic == "ros_discovery_info" && strings.Contains(string(e.Value), text)
		})
	}
	e := last(`"readers":["` + p.GUID[:24])
	assert.Contains(t, string(e.Value), `"gid":"`+p.GUID+`"`)
	assert.Contains(t, string(e.Value), `"namespace":"/vehicle","name":"sim"`)
	assert.Contains(t, string(e.Value), `"writers":["`+c.GUID+`","`+w.GUID+`"]`)
	require.NoError(t, b.Disconnect(t.Context()))
	last(`"nodes":[]`)
}

// Commands and the clock arrive from a program on Cyclone's own types.
func TestCommandsArrive(t *testing.T) {
	domain := freeDomain(t)
	b := connect(t, domain, "")
	var mu sync.Mutex
	var clock []int64
	var velocity *sample.VelocityCommand
	var control *sample.VehicleControl
	require.NoError(t, bridges.AddSubscriber(b, bridges.Topic{Name: "/clock", QoS: flow.ClockQoS}, func(m *sample.Clock) {
		mu.Lock()
		defer mu.Unlock()
		clock = append(clock, int64(m.Stamp))
	}))
	require.NoError(t, bridges.AddSubscriber(b, bridges.Topic{Name: "/cmd_vel"}, func(m *sample.VelocityCommand) {
		mu.Lock()
		defer mu.Unlock()
		velocity = m
	}))
	require.NoError(t, bridges.AddSubscriber(b, bridges.Topic{Name: "/control"}, func(m *sample.VehicleControl) {
		mu.Lock()
		defer mu.Unlock()
		control = m
	}))
	bridgetest.StartProcess(t, bridgetest.Program(cyclonePeer(t), strconv.Itoa(domain), "publish").With("CYCLONEDDS_URI="+peerSettings))
	require.Eventually(t, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(clock) >= 3 && velocity != nil && control != nil
	}, patience, 5*time.Millisecond)
	mu.Lock()
	defer mu.Unlock()
	for i, stamp := range clock {
		assert.Equal(t, int64(500_000_000), stamp%1_000_000_000)
		if i > 0 {
			assert.Greater(t, stamp, clock[i-1])
		}
	}
	assert.Equal(t, 2.5, velocity.Twist.Linear[0])
	assert.Equal(t, -0.25, velocity.Twist.Angular[2])
	assert.Equal(t, 0.5, control.Acceleration)
	assert.Zero(t, b.Diagnosis().Malformed)
}

// A reader that is stopped holds up neither other readers nor other topics, even where
// all messages are kept for it.
func TestStalledReaderStopsNobodyElse(t *testing.T) {
	domain := freeDomain(t)
	stalled, healthy := cycloneSubscriber(t, domain, "count"), cycloneSubscriber(t, domain, "count")
	b := connect(t, domain, "messages=1000")
	keepLast := flow.QoS{Reliability: flow.Reliable, History: flow.KeepLast, Depth: 200}
	imu, err := bridges.AddPublisher[*sample.Imu](b, bridges.Topic{Name: "/imu", QoS: keepLast})
	require.NoError(t, err)
	keepAll := keepLast
	keepAll.History = flow.KeepAll
	images, err := bridges.AddPublisher[*sample.Image](b, bridges.Topic{Name: "/image", QoS: keepAll})
	require.NoError(t, err)
	for _, s := range []*subscriber{stalled, healthy} {
		arrives(t, s, "/imu", func() error { return imu(t.Context(), &sample.Imu{}) })
		arrives(t, s, "/image", func() error { return images(t.Context(), bridgetest.Image(0)) })
	}
	message := &sample.Imu{Header: sample.Header{Stamp: 1}}
	count := func(s *subscriber) func() bool {
		before := s.count("/imu")
		return func() bool { return s.count("/imu") >= before+200 }
	}
	healthyHasAll, stalledHasAll := count(healthy), count(stalled)
	stalled.process.Stall()
	image := bridgetest.Image(0)
	image.Width, image.Height, image.Step, image.Data = 1000, 1000, 3000, make([]byte, 3_000_000)
	for n := range 200 {
		require.NoError(t, imu(t.Context(), message))
		if n < 10 {
			require.NoError(t, images(t.Context(), image))
		}
	}
	require.Eventually(t, healthyHasAll, patience, 5*time.Millisecond, "the other reader gets everything")
	require.Eventually(t, func() bool { return b.Statistics().Drops[flow.CausePeerSlow] > 0 }, patience, 5*time.Millisecond,
		"what the history has no room for is dropped")
	stalled.process.Resume()
	require.Eventually(t, stalledHasAll, patience, 5*time.Millisecond, "and later the stalled one too")
}

// A history of depth 3 keeps the last three messages for readers that come late.
func TestLateJoinerGetsAsManyAsTheDepth(t *testing.T) {
	for _, implementation := range implementations {
		t.Run(implementation.name, func(t *testing.T) {
			domain := freeDomain(t)
			b := connect(t, domain, "")
			qos := flow.QoS{Reliability: flow.Reliable, Durability: flow.TransientLocal, History: flow.KeepLast, Depth: 3}
			publish, err := bridges.AddPublisher[*sample.Clock](b, bridges.Topic{Name: "/clock", QoS: qos})
			require.NoError(t, err)
			for n := range int64(5) {
				require.NoError(t, publish(t.Context(), &sample.Clock{Stamp: simtime.Stamp(n * 1e9)}))
			}
			s := implementation.start(t, domain, "subscribe")
			require.Eventually(t, func() bool { return b.Listening("/clock") && s.ready("/clock") && s.count("/clock") >= 3 }, patience, 5*time.Millisecond)
			require.NoError(t, publish(t.Context(), &sample.Clock{Stamp: 5 * 1e9}))
			var seconds []int64
			require.Eventually(t, func() bool {
				seconds = nil
				for _, e := range s.find(func(e event) bool { return e.Event == "message" && e.Topic == "rt/clock" }) {
					var m struct{ Clock struct{ Sec int64 } }
					require.NoError(t, json.Unmarshal(e.Value, &m))
					seconds = append(seconds, m.Clock.Sec)
				}
				return len(seconds) > 0 && seconds[len(seconds)-1] == 5
			}, patience, 5*time.Millisecond)
			assert.Equal(t, []int64{2, 3, 4, 5}, seconds)
		})
	}
}

// A clock of somebody else's: it begins at clockFrom and goes on by clockStep, which has
// nothing in common with the run's frames. A frame's stamp is its time, if that lies between
// two of the clock's, and what the clock shows if frames were passed over.
const (
	clockFrom = 1_000_123_456_789
	clockStep = 17_000_001
	frame     = 10_000_000
)

// ticker is a program on Cyclone's own types that writes /clock.
type ticker struct{ *bridgetest.Process }

func startTicker(t *testing.T, domain int) ticker {
	t.Helper()
	c := bridgetest.Program(cyclonePeer(t), strconv.Itoa(domain), "clock", strconv.Itoa(clockFrom), strconv.Itoa(clockStep))
	return ticker{bridgetest.StartProcess(t, c.With("CYCLONEDDS_URI="+peerSettings))}
}

// last returns the time that it has written last, or was about to.
func (c ticker) last(t *testing.T) int64 {
	t.Helper()
	lines := strings.Split(c.Output(), "\n")
	if len(lines) < 2 { // what follows the last line's end isn't a line
		return 0
	}
	var e event
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-2]), &e))
	return e.AtNs
}

// TestARunFollowsAClockOfROS: with the time source ros2, a run's time is what the other program
// writes on /clock. It stands while that is stopped and after it has ended.
func TestARunFollowsAClockOfROS(t *testing.T) {
	domain := freeDomain(t)
	s := cycloneSubscriber(t, domain, "subscribe")
	p := bridgetest.NewPipeline(t, simtime.Rate{}, pipeline.Config{Bridges: bridges.MustRegistry(ros2dds.Factory{}), Mode: pipeline.Realtime, TimeSource: simtime.ROS2})
	require.NoError(t, p.AddBridge(t.Context(), carry.BridgeConfig{Spec: fmt.Sprintf("ros2dds:%d", domain)}))
	c := startTicker(t, domain)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx, 0) }()
	defer func() {
		cancel()
		assert.NoError(t, <-done)
	}()

	goesOn := func(why string) {
		t.Helper()
		before := len(stampsOf(t, s))
		require.Eventually(t, func() bool { return len(stampsOf(t, s)) >= before+10 }, patience, 20*time.Millisecond, why)
	}
	stands := func(why string) {
		t.Helper()
		<-time.After(time.Second) // by which a clock that went on by itself would be ahead
		require.Eventually(t, func() bool { return p.Clock().Now() <= simtime.Stamp(c.last(t)) }, 10*time.Second, 10*time.Millisecond, why)
	}
	goesOn("time goes with the clock")
	c.Stall()
	stands("time stands while the clock is stopped")
	c.Resume()
	goesOn("time goes on with the clock")
	c.Kill()
	stands("time stands when the clock has ended")
	clocks, frames := 0, 0
	for _, stamp := range stampsOf(t, s) {
		assert.GreaterOrEqual(t, simtime.Stamp(stamp), simtime.Stamp(clockFrom))
		assert.LessOrEqual(t, stamp, c.last(t))
		switch {
		case (stamp-clockFrom)%clockStep == 0:
			clocks++
		case stamp%frame == 0:
			frames++
		default:
			assert.Fail(t, "no time of the clock's", "%d", stamp)
		}
	}
	t.Logf("%d stamps of the clock, %d of frames between them", clocks, frames)
	assert.Positive(t, clocks, "stamps are to the nanosecond those of the clock")
	writers := s.find(func(e event) bool { return e.Event == "writer" && e.Topic == "rt/clock" })
	assert.Len(t, writers, 1, "the run publishes no clock of its own")
}

// stampsOf are those of the IMU's messages that have arrived since the first stamp of the
// clock: until then the run's time is the wall's.
func stampsOf(t *testing.T, s *subscriber) (stamps []int64) {
	t.Helper()
	for _, e := range s.find(func(e event) bool { return e.Event == "message" && e.Topic == "rt"+bridgetest.ImuTopic }) {
		var m stamped
		require.NoError(t, json.Unmarshal(e.Value, &m))
		if at := m.Header.Stamp.Sec*1e9 + m.Header.Stamp.Nanosec; at < 2*clockFrom {
			stamps = append(stamps, at)
		}
	}
	return stamps
}

// stamped is what all messages of the run have, in one of these places.
type stamped struct {
	Header, Clock struct {
		Stamp        moment
		FrameID      string `json:"frame_id"`
		Sec, Nanosec int64
	}
	Transforms []struct{ Header struct{ Stamp moment } }
	Data       json.RawMessage
}

type moment struct{ Sec, Nanosec int64 }

// One instant has the stamp of its nanosecond in every message that others decode, as
// bridges/all has it of the other bridges.
func TestOneInstantOneStamp(t *testing.T) {
	const instant = 1_700_000_000_123_456_789
	for _, implementation := range implementations {
		t.Run(implementation.name, func(t *testing.T) {
			domain := freeDomain(t)
			s := implementation.start(t, domain, "subscribe")
			p := bridgetest.NewPipeline(t, simtime.Rate{}, pipeline.Config{Bridges: bridges.MustRegistry(ros2dds.Factory{}), Mode: pipeline.Realtime, TimeSource: simtime.SS2})
			require.NoError(t, p.AddBridge(t.Context(), carry.BridgeConfig{Spec: fmt.Sprintf("ros2dds:%d", domain)}))
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- p.Run(ctx, 0) }()
			defer func() {
				cancel()
				assert.NoError(t, <-done)
			}()
			off := int64(0)
			require.Eventually(t, func() bool {
				if arrivedAt(t, s, instant+off*1e9) {
					return true
				}
				off++
				assert.NoError(t, p.Clock().Set(1_700_000_000+off, 123_456_789))
				return false
			}, patience, 200*time.Millisecond, "all of one instant arrives")
		})
	}
}

// arrivedAt reports whether all topics' messages of a time have arrived, and checks those
// that have.
func arrivedAt(t *testing.T, s *subscriber, at int64) bool {
	t.Helper()
	seen := map[string]bool{}
	for _, e := range s.find(func(e event) bool { return e.Event == "message" && e.Topic != "ros_discovery_info" }) {
		topic := e.Topic[len("rt"):]
		var m stamped
		if !assert.NoError(t, json.Unmarshal(e.Value, &m), topic) {
			return false
		}
		stamp := m.Header.Stamp
		switch topic {
		case bridgetest.ClockTopic:
			stamp = moment{m.Clock.Sec, m.Clock.Nanosec}
		case bridgetest.TransformsTopic:
			stamp = m.Transforms[0].Header.Stamp
		default:
			assert.Equal(t, bridgetest.Frames[topic], m.Header.FrameID, topic)
		}
		assert.EqualValues(t, 123_456_789, stamp.Nanosec, topic)
		if stamp.Sec*1e9+stamp.Nanosec == at {
			seen[topic] = true
		}
		if topic == bridgetest.ImageTopic {
			assert.Contains(t, string(m.Data), fmt.Sprintf(`"%016x"`, hashOctets(bridgetest.Pixels())))
		}
	}
	return len(seen) == len(bridgetest.DataTopics)+1
}

// Commands of a program on Cyclone's types move the externally driven ego. It steers 0.125
// radians to the right, as SVL counts, or turns with 0.25 rad/s to the right.
func TestCommandsMoveTheEgo(t *testing.T) {
	for name, commands := range map[string]pipeline.Commands{"control": {Control: "/control"}, "velocity": {Velocity: "/cmd_vel"}} {
		t.Run(name, func(t *testing.T) {
			domain := freeDomain(t)
			ego, err := scene.NewDriven(spatial.Identity(), scene.Vehicle{})
			require.NoError(t, err)
			p := bridgetest.NewPipeline(t, simtime.Hz(10), pipeline.Config{Bridges: bridges.MustRegistry(ros2dds.Factory{}), Ego: ego})
			require.NoError(t, p.AddCommands(commands))
			require.NoError(t, p.AddBridge(t.Context(), carry.BridgeConfig{Spec: fmt.Sprintf("ros2dds:%d", domain)}))
			bridgetest.StartProcess(t, bridgetest.Program(cyclonePeer(t), strconv.Itoa(domain), "publish").With("CYCLONEDDS_URI="+peerSettings))
			received := func() int64 { return p.Summary().Bridges[0].Received[0].Messages }
			for range 10 {
				before := received() // what is counted is on its way to the vehicle; the next comes after it
				require.Eventually(t, func() bool { return received() >= before+2 }, patience, 5*time.Millisecond)
				require.NoError(t, p.Run(t.Context(), 100*time.Millisecond))
			}
			s, limits := ego.StateAt(p.Clock().Now()), ego.Vehicle()
			speed := s.Pose.Orientation.Inverse().Rotate(s.Twist.Linear)[0]
			if name == "control" {
				assert.InDelta(t, limits.MaxAcceleration/2, speed, 1e-6)
				assert.InDelta(t, -speed*math.Tan(0.125)/limits.Wheelbase, s.Twist.Angular[2], 1e-6)
			} else {
				assert.InDelta(t, 2.5, speed, 1e-6)
				assert.InDelta(t, -0.25, s.Twist.Angular[2], 1e-6)
			}
			assert.Positive(t, s.Pose.Position[0])
			assert.Negative(t, s.Pose.Position[1])
		})
	}
}

// peerPrograms are the peers with other modes than reading everything.
var peerPrograms = map[string]func(*testing.T) bridgetest.Command{
	"cyclone": func(t *testing.T) bridgetest.Command {
		return bridgetest.Program(cyclonePeer(t)).With("CYCLONEDDS_URI=" + peerSettings)
	},
	"fastdds": func(t *testing.T) bridgetest.Command { return bridgetest.Program(fastPeer(t)) },
}

// policies are those of DDS by which the peers and the bridge don't match. They have the
// numbers that DDS gives them (DDS 1.4, section 2.3.3, QosPolicyId_t).
var policies = map[string]struct {
	id                     int
	readersAsk, writersAre string
}{
	"reliability": {11, "readers ask for reliable, best_effort is offered", "writers offer best_effort, reliable is asked for"},
	"durability":  {2, "readers ask for transient_local, volatile is offered", "writers offer volatile, transient_local is asked for"},
	"deadline":    {4, "readers ask for a deadline shorter than 2s, which is offered", "writers offer no deadline of 1s or less, which is asked for"},
}

// A reader that asks for more than is offered gets nothing. It knows why, and so does the
// bridge's user.
func TestIncompatibleReadersAreTold(t *testing.T) {
	for name, program := range peerPrograms {
		for policy, want := range policies {
			t.Run(name+"/"+policy, func(t *testing.T) {
				domain := freeDomain(t)
				b, log := logged(t, domain)
				offered := flow.QoS{Reliability: flow.BestEffort, History: flow.KeepLast, Depth: 1, Deadline: int64(2 * time.Second)}
				_, err := bridges.AddPublisher[*sample.Clock](b, bridges.Topic{Name: "/clock", QoS: offered})
				require.NoError(t, err)
				command := program(t)
				command.Args = []string{strconv.Itoa(domain), "ask", "rt/clock", policy}
				start(t, command).await("the incompatibility", func(e event) bool {
					return e.Event == "incompatible" && e.Topic == "rt/clock" && e.Policy == want.id
				})
				told(t, b, log, policy, want.readersAsk)
				assert.False(t, b.Listening("/clock"))
			})
		}
	}
}

// And so it is with writers that offer less than the bridge asks for.
func TestIncompatibleWritersAreTold(t *testing.T) {
	for name, program := range peerPrograms {
		for policy, want := range policies {
			t.Run(name+"/"+policy, func(t *testing.T) {
				domain := freeDomain(t)
				b, log := logged(t, domain)
				asked := flow.QoS{Reliability: flow.BestEffort, History: flow.KeepLast, Depth: 1}
				switch policy {
				case "reliability":
					asked.Reliability = flow.Reliable
				case "durability":
					asked.Durability = flow.TransientLocal
				case "deadline":
					asked.Deadline = int64(time.Second)
				}
				require.NoError(t, bridges.AddSubscriber(b, bridges.Topic{Name: "/clock", QoS: asked}, func(*sample.Clock) {}))
				command := program(t)
				command.Args = []string{strconv.Itoa(domain), "offer", "rt/clock"}
				bridgetest.StartProcess(t, command)
				told(t, b, log, policy, want.writersAre)
			})
		}
	}
}

// logged returns a connected bridge and its log.
func logged(t *testing.T, domain int) (*bridges.Bridge, *journal) {
	t.Helper()
	log := &journal{}
	b := open(t, domain, "", log.logger())
	require.NoError(t, b.Connect(t.Context()))
	require.Equal(t, flow.Connected, b.Status())
	return b, log
}

// told waits until the log and the diagnosis say what they shall.
func told(t *testing.T, b *bridges.Bridge, log *journal, policy, why string) {
	t.Helper()
	require.Eventually(t, func() bool { return len(log.lines("level=WARN")) > 0 }, patience, 5*time.Millisecond)
	lines := log.lines("level=WARN")
	require.Len(t, lines, 1)
	assert.Contains(t, lines[0], "topic=/clock policy="+policy+` why="`+why+`"`)
	assert.ErrorIs(t, b.Diagnosis().LastError, ros2dds.ErrIncompatibleQoS)
	assert.ErrorContains(t, b.Diagnosis().LastError, "/clock: policy "+policy+": "+why)
}

// cycloneClient returns the program testdata/peers/cyclone_client.c, with the code that
// idlc generates of services.idl.
func cycloneClient(t *testing.T) string {
	t.Helper()
	return build(t, "cyclone_client", map[string]string{"cyclone_client.c": "", "services.idl": "", "print.h": ""}, nil,
		`idlc -l c services.idl && gcc -O2 -Wall -o cyclone_client cyclone_client.c services.c -lddsc -lm`)
}

// A client in C calls std_srvs' services, by the form of rmw_cyclonedds, and they are
// announced as the node's.
func TestClientsOnCycloneCallServices(t *testing.T) {
	domain := freeDomain(t)
	s := cycloneSubscriber(t, domain, "subscribe")
	b, log := logged(t, domain)
	defer func() { assert.Empty(t, log.lines("level=WARN")) }()
	var emptied atomic.Int64
	require.NoError(t, bridges.AddService(b, "/sim/empty", func(context.Context, sample.EmptyRequest) (sample.EmptyResponse, error) {
		emptied.Add(1)
		return sample.EmptyResponse{}, nil
	}))
	require.NoError(t, bridges.AddService(b, "/sim/set", func(_ context.Context, r sample.SetBoolRequest) (sample.SetBoolResponse, error) {
		return sample.SetBoolResponse{Success: true, Message: fmt.Sprintf("set to %t, äöü", r.Data)}, nil
	}))
	require.NoError(t, bridges.AddService(b, "/sim/fail", func(context.Context, sample.TriggerRequest) (sample.TriggerResponse, error) {
		return sample.TriggerResponse{}, errors.New("the brake is on")
	}))
	program := cycloneClient(t)
	for _, c := range []struct{ service, kind, calls, says string }{
		{"/sim/empty", "empty", "3", `"n":3,"value":{}`},
		{"/sim/set", "set_bool", "20", `"n":19,"value":{"success":true,"message":"set to true, äöü"}`},
		{"/sim/set", "set_bool", "20", `"n":20,"value":{"success":true,"message":"set to false, äöü"}`},
		{"/sim/fail", "trigger", "1", `"value":{"success":false,"message":"the brake is on"}`},
	} {
		client := func() *bridgetest.Process {
			return bridgetest.StartProcess(t, bridgetest.Program(program, strconv.Itoa(domain), c.service, c.kind, c.calls).With("CYCLONEDDS_URI="+peerSettings))
		}
		first, second := client(), client() // of which each gets its own replies
		for _, p := range []*bridgetest.Process{first, second} {
			output := p.Wait(t)
			assert.Contains(t, output, c.says)
			assert.Equal(t, c.calls, strconv.Itoa(strings.Count(output, `"reply"`)))
		}
	}
	assert.GreaterOrEqual(t, emptied.Load(), int64(6))
	assert.NoError(t, b.Diagnosis().LastError)

	w := s.await("the writer of replies", func(e event) bool { return e.Event == "writer" && e.Topic == "rr/sim/setReply" })
	assert.Equal(t, "std_srvs::srv::dds_::SetBool_Response_", w.Type)
	assert.Contains(t, w.UserData, "serviceid=")
	assert.True(t, w.Reliable)
	assert.False(t, w.TransientLocal)
	s.await("the graph with it", func(e event) bool {
		return e.Event == "message" && e.Topic == "ros_discovery_info" && strings.Contains(string(e.Value), w.GUID) &&
			strings.Count(string(e.Value), w.GUID[:24]) == 7 // the participant, three readers, three writers
	})
}
