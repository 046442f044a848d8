package all_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/bluenviron/goroslib/v2"
	"github.com/bluenviron/goroslib/v2/pkg/msgs/rosgraph_msgs"
	"github.com/raybridge/raybridge/bridges/all"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/bridgetest/peers"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/pipeline/carry"
	"github.com/raybridge/raybridge/simtime"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// live are the protocols of a realtime run that bring a clock.
func live() (list []protocol) {
	for _, way := range protocols {
		if slices.Contains([]string{
			"stream", "rosbridge JSON", "rosbridge BSON", "rosbridge's server JSON", "rosapollo", "ros2lgsvl", "cyber", "foxglove", "ros1",
		}, way.name) {
			list = append(list, way)
		}
	}
	return list
}

// TestNoSampleIsAheadOfItsClock: law T4 as receivers see it. The clock ticks slower than
// the sensors, so that most samples have to wait for it.
func TestNoSampleIsAheadOfItsClock(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	ways := live()
	require.Len(t, ways, 9)
	receivers := make([]*receiver, len(ways))
	for i, way := range ways {
		receivers[i] = way.open(t, t.TempDir())
	}
	p := bridgetest.NewPipeline(t, simtime.Hz(50), pipeline.Config{Bridges: all.Registry(), Mode: pipeline.Realtime, ClockRate: simtime.Hz(20)})
	attach(t, p, receivers...)
	for deadline := time.Now().Add(patience); ; {
		require.NoError(t, p.Run(t.Context(), 100*time.Millisecond))
		if allThere(t, ways, receivers) {
			break
		}
		require.True(t, time.Now().Before(deadline), "not every receiver has every topic")
	}
	require.NoError(t, p.Run(t.Context(), time.Second))
	arrived := func() bool {
		for i, row := range p.Summary().Bridges {
			if int64(len(withoutTime(receivers[i].in.arrivals(t)))) != row.Sent {
				return false
			}
		}
		return true
	}
	require.Eventually(t, arrived, patience, tick, "all that was sent arrives")
	require.NoError(t, p.Close(t.Context()))
	assert.True(t, arrived(), "and nothing else")
	for i, row := range p.Summary().Bridges {
		for cause, n := range row.Drops {
			assert.Equal(t, string(flow.CauseNotConnected), cause, "%s: %d dropped", ways[i].name, n)
		}
	}
	for i, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			list := receivers[i].in.arrivals(t)
			if way.name == "ros1" {
				// A topic each has its connection, and what comes by two of them in no order:
				// what holds is each topic's own.
				risingOnEachTopic(t, list)
				return
			}
			clockFirst(t, list, bridgetest.ClockTopic)
			if way.name == "foxglove" {
				clockFirst(t, list, timeTopic)
			}
			risingOnEachTopic(t, list)
		})
	}
}

// withoutTime leaves out what is not a message of a topic.
func withoutTime(list []arrival) []arrival {
	return slices.DeleteFunc(list, func(a arrival) bool { return a.topic == timeTopic })
}

// allThere reports whether each receiver has something of each of its topics.
func allThere(t *testing.T, ways []protocol, receivers []*receiver) bool {
	t.Helper()
	for i, way := range ways {
		list := receivers[i].in.arrivals(t)
		for _, topic := range way.topics {
			if !slices.ContainsFunc(list, func(a arrival) bool { return a.topic == topic }) {
				return false
			}
		}
	}
	return true
}

// clockFirst asserts that no sample is later than the clock that arrived last before it.
func clockFirst(t *testing.T, list []arrival, clock string) {
	t.Helper()
	last, samples := int64(math.MinInt64), 0
	for i, a := range list {
		switch a.topic {
		case clock:
			last = a.stamp
		case bridgetest.ClockTopic, timeTopic:
		default:
			samples++
			if !assert.LessOrEqual(t, simtime.Stamp(a.stamp), simtime.Stamp(last), "message %d, on %s, after the %s of then", i, a.topic, clock) {
				return
			}
		}
	}
	assert.Positive(t, samples)
}

// risingOnEachTopic asserts that a topic's messages arrive in the order of their stamps,
// each once.
func risingOnEachTopic(t *testing.T, list []arrival) {
	t.Helper()
	last := map[string]int64{}
	for _, a := range list {
		before, ok := last[a.topic]
		switch {
		case !ok:
		case a.topic == bridgetest.ClockTopic || a.topic == timeTopic:
			assert.GreaterOrEqual(t, a.stamp, before, a.topic) // runs end and begin with the same time
		default:
			assert.Greater(t, simtime.Stamp(a.stamp), simtime.Stamp(before), a.topic)
		}
		last[a.topic] = a.stamp
	}
}

// instant is a time that a double of seconds hasn't: it is off by 72 ns, and one of
// nanoseconds by 21.
const instant = 1_700_000_000_123_456_789

// gps is how far GPS time, in which Apollo has what comes from a GNSS receiver, is behind
// UNIX time: 1980-01-06 less 18 leap seconds.
const gps = (315_964_800 - 18) * time.Second

// allTopics are those of each instant and /clock.
var allTopics = append([]string{bridgetest.ClockTopic}, bridgetest.DataTopics...)

// protocol is one way of a bridge's to its receivers.
type protocol struct {
	name string
	// resolution is what the protocol's stamps are made of, and lost what that leaves of
	// instant: the stamp that a receiver decodes less instant. Topics in but have others.
	resolution string
	lost       time.Duration
	but        map[string]time.Duration
	// topics are those that the protocol has a message for, and frameless those among them
	// whose message names no frame.
	topics    []string
	frameless []string
	// exact are topics whose messages have nanoseconds besides, and measured what is off in
	// Apollo's measurement_time, in those that have one.
	exact    []string
	measured map[string]time.Duration
	open     func(t *testing.T, dir string) *receiver
}

const (
	// toDouble is what the nearest double of seconds is off by, at this instant; its
	// neighbours are 238 ns away.
	toDouble = -72 * time.Nanosecond

	rosTimes   = "int32 or uint32 seconds and uint32 nanoseconds: 1 ns"
	doubles    = "float64 seconds: 238 ns at this instant"
	protoTimes = "google.protobuf.Timestamp: 1 ns"
)

// protocols are all ways of all bridges but ros2dds, whose tests have it.
var protocols = []protocol{
	{name: "mcap ros2", exact: allTopics, resolution: rosTimes, topics: allTopics, open: mcapFile("ros2")},
	{name: "mcap ros1", exact: allTopics, resolution: rosTimes, topics: allTopics, open: mcapFile("ros1")},
	{name: "mcap foxglove", exact: allTopics, resolution: protoTimes, topics: allTopics, open: mcapFile("foxglove")},
	{name: "logging", exact: allTopics, resolution: "seconds with 9 decimals: 1 ns", topics: allTopics, open: loggingFile},
	{name: "stream", resolution: "int64 nanoseconds: 1 ns", topics: allTopics, frameless: []string{bridgetest.TransformsTopic}, open: streamClient},
	{name: "carla", resolution: doubles, lost: toDouble, topics: carlaTopics, frameless: carlaTopics, open: carlaClient},
	{name: "rosbridge JSON", resolution: rosTimes, topics: allTopics, open: rosbridgeServer("rosbridge", "", peers.RosbridgeConfig{})},
	{name: "rosbridge BSON", resolution: rosTimes, topics: allTopics, open: rosbridgeServer("rosbridge", "&bson=1", peers.RosbridgeConfig{BSONOnly: true})},
	{name: "rosbridge JSON, ROS 2", resolution: rosTimes, topics: allTopics, open: rosbridgeServer("rosbridge", "&ros=2", peers.RosbridgeConfig{})},
	{name: "rosbridge's server JSON", resolution: rosTimes, topics: allTopics, open: rosbridgeClient("none")},
	{name: "rosbridge's server CBOR", resolution: rosTimes, topics: allTopics, open: rosbridgeClient("cbor")},
	{
		name: "rosapollo", resolution: rosTimes + "; Apollo's messages as in cyber", topics: allTopics,
		but:      map[string]time.Duration{bridgetest.ImuTopic: toDouble, bridgetest.FixTopic: toDouble},
		measured: map[string]time.Duration{bridgetest.ImuTopic: toDouble - gps, bridgetest.FixTopic: toDouble - gps},
		open:     rosbridgeServer("rosapollo", "", peers.RosbridgeConfig{}),
	},
	{name: "ros2lgsvl", resolution: rosTimes, topics: allTopics, open: lgsvlServer},
	{
		name: "cyber", resolution: doubles + "; Clock and a sensor's own stamp uint64 nanoseconds", lost: toDouble,
		but:      map[string]time.Duration{bridgetest.ClockTopic: 0},
		measured: map[string]time.Duration{bridgetest.ImageTopic: toDouble, bridgetest.PointsTopic: toDouble, bridgetest.OdometryTopic: toDouble, bridgetest.ImuTopic: toDouble - gps, bridgetest.FixTopic: toDouble - gps},
		topics:   cyberTopics, exact: []string{bridgetest.ImageTopic, bridgetest.PointsTopic}, open: cyberServer,
	},
	{name: "foxglove", exact: allTopics, resolution: protoTimes, topics: allTopics, open: foxgloveClient},
	{name: "ros1", resolution: rosTimes, topics: allTopics, open: ros1Node},
}

func (p *protocol) want(topic string) time.Duration {
	if lost, ok := p.but[topic]; ok {
		return lost
	}
	return p.lost
}

// missing returns the topics of which nothing of a time, off from instant, has arrived.
func (p *protocol) missing(list []arrival, off time.Duration) (missing []string) {
	for _, topic := range p.topics {
		if !slices.ContainsFunc(list, func(a arrival) bool {
			return a.topic == topic && simtime.Stamp(a.stamp) == simtime.Stamp(instant+int64(off+p.want(topic)))
		}) {
			missing = append(missing, topic)
		}
	}
	return missing
}

// TestOneInstantOneStamp sends what is seen at one instant over all bridges at once, from
// one run, and holds what their receivers decode against it.
func TestOneInstantOneStamp(t *testing.T) {
	dir := t.TempDir()
	receivers := make([]*receiver, len(protocols))
	for i, way := range protocols {
		receivers[i] = way.open(t, dir)
	}
	p := bridgetest.NewPipeline(t, simtime.Rate{}, pipeline.Config{Bridges: all.Registry(), Mode: pipeline.Realtime, TimeSource: simtime.SS2, OutDir: dir})
	attach(t, p, receivers...)
	off := allHave(t, p, protocols, receivers)
	require.NoError(t, p.Close(t.Context()))
	for i, way := range protocols {
		t.Run(way.name, func(t *testing.T) {
			var list []arrival
			if receivers[i].file() {
				list = receivers[i].read(t)
			} else {
				list = receivers[i].in.arrivals(t)
			}
			way.check(t, list, off)
		})
	}
}

// allHave runs the simulation from second to second, each at the same nanosecond, until all
// receivers have all of one of them, and returns which. A receiver is there some time after the
// bridge has connected, and what is sent before that isn't for it.
func allHave(t *testing.T, p *pipeline.Pipeline, ways []protocol, receivers []*receiver) (off time.Duration) {
	t.Helper()
	set := func() {
		at := instant + int64(off)
		require.NoError(t, p.Clock().Set(at/1e9, uint32(at%1e9)))
	}
	set()
	end := inBackground(t, p)
	defer end()
	deadline := time.Now().Add(patience)
	for step := 50 * time.Millisecond; ; step = min(step*2, 5*time.Second) {
		missing := map[string][]string{}
		for until := time.Now().Add(step); time.Now().Before(until); time.Sleep(tick) {
			clear(missing)
			for i, way := range ways {
				if receivers[i].file() {
					continue
				}
				if topics := way.missing(receivers[i].in.arrivals(t), off); topics != nil {
					missing[way.name] = topics
				}
			}
			if len(missing) == 0 {
				return off
			}
		}
		require.True(t, time.Now().Before(deadline), "nothing has arrived of %v", missing)
		off += time.Second
		set()
	}
}

// check holds what was received of one instant against what was sent.
func (p *protocol) check(t *testing.T, list []arrival, off time.Duration) {
	t.Helper()
	at := instant + int64(off)
	picture := sha256.Sum256(bridgetest.Pixels())
	seen := map[string]int{}
	for _, a := range list {
		lost := time.Duration(simtime.Stamp(a.stamp) - simtime.Stamp(at))
		if lost < p.want(a.topic)-time.Second/2 || lost > p.want(a.topic)+time.Second/2 || a.topic == timeTopic {
			continue // of another instant
		}
		assert.Equal(t, p.want(a.topic), lost, "%s: %s", a.topic, p.resolution)
		seen[a.topic]++
		if a.topic != bridgetest.ClockTopic && !slices.Contains(p.frameless, a.topic) {
			assert.Equal(t, bridgetest.Frames[a.topic], a.frame, a.topic)
		}
		for _, exact := range a.exact {
			assert.Equal(t, at, exact, a.topic)
		}
		if slices.Contains(p.exact, a.topic) {
			assert.Len(t, a.exact, 1, a.topic)
		}
		if want, ok := p.measured[a.topic]; ok {
			assert.Equal(t, want, time.Duration(a.measured-at), "%s: when it was measured", a.topic)
		} else {
			assert.Zero(t, a.measured, a.topic)
		}
		if a.topic == bridgetest.ImageTopic {
			assert.Equal(t, picture, a.picture, "the picture's bytes")
		}
	}
	for _, topic := range p.topics {
		if topic == bridgetest.ClockTopic {
			assert.Positive(t, seen[topic], topic) // it continues while time stands
			continue
		}
		assert.Equal(t, 1, seen[topic], fmt.Sprintf("messages of one instant on %s", topic))
	}
	assert.Len(t, seen, len(p.topics), "topics")
}

// inBackground runs a pipeline until end is called.
func inBackground(t *testing.T, p *pipeline.Pipeline) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx, 0) }()
	return func() {
		cancel()
		assert.NoError(t, <-done)
	}
}

// rosClocks are peers that tell the ROS time to those who subscribe to /clock: the
// connection string, and what tells a time.
var rosClocks = map[string]func(t *testing.T) (spec string, tell func(at time.Duration)){
	"rosbridge": func(t *testing.T) (string, func(time.Duration)) {
		s := peers.NewRosbridge(peers.RosbridgeConfig{})
		require.NoError(t, s.Start())
		t.Cleanup(s.Kill)
		return "rosbridge:ws://" + s.Addr() + "?retry=50ms", func(at time.Duration) {
			s.Publish(bridgetest.ClockTopic, peers.Outgoing{Values: map[string]any{
				"clock": map[string]any{"secs": int(at / time.Second), "nsecs": int(at % time.Second)},
			}})
		}
	},
	"ros2lgsvl": func(t *testing.T) (string, func(time.Duration)) {
		s := peers.NewLGSVL(peers.LGSVLConfig{})
		require.NoError(t, s.Start())
		t.Cleanup(s.Kill)
		return "ros2lgsvl:" + s.Addr() + "?retry=50ms", func(at time.Duration) {
			if s.Subscribed(bridgetest.ClockTopic) != "" {
				s.Publish(bridgetest.ClockTopic, peers.Value{
					"clock": peers.Value{"sec": int32(at / time.Second), "nanosec": uint32(at % time.Second)},
				})
			}
		}
	},
	"ros1": func(t *testing.T) (string, func(time.Duration)) {
		m := newMaster(t)
		publisher, err := goroslib.NewPublisher(goroslib.PublisherConf{Node: m.node(t), Topic: bridgetest.ClockTopic, Msg: &rosgraph_msgs.Clock{}})
		require.NoError(t, err)
		t.Cleanup(publisher.Close)
		return "ros1:" + m.address(t) + "?retry=50ms&host=127.0.0.1", func(at time.Duration) {
			publisher.Write(&rosgraph_msgs.Clock{Clock: time.Unix(0, int64(at))})
		}
	},
}

// A run that changes to ROS's time, and back, subscribes to /clock by
// each bridge that it is connected by already.
func TestBridgesFollowTheClockFromTheChoiceOn(t *testing.T) {
	for name, open := range rosClocks {
		t.Run(name, func(t *testing.T) {
			spec, tell := open(t)
			p := bridgetest.NewPipeline(t, simtime.Hz(10), pipeline.Config{Bridges: all.Registry(), Mode: pipeline.Realtime})
			require.NoError(t, p.AddBridge(t.Context(), carry.BridgeConfig{Spec: spec}))
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- p.Run(ctx, 0) }()
			at := 5000 * time.Second
			follows := func() bool {
				at += 10 * time.Millisecond
				tell(at)
				now := time.Duration(p.Clock().Now())
				return now > 5000*time.Second && now <= at
			}
			require.Eventually(t, func() bool { return p.Clock().Now() > 0 }, patience, tick, "the engine's time passes")
			assert.False(t, follows())
			require.NoError(t, p.Clock().Select(simtime.ROS2))
			require.Eventually(t, follows, patience, tick, "/clock is followed")
			require.NoError(t, p.Clock().Select(simtime.Engine))
			assert.False(t, follows())
			require.NoError(t, p.Clock().Select(simtime.ROS2))
			require.Eventually(t, follows, patience, tick, "/clock is followed again")
			cancel()
			require.NoError(t, <-ended)
		})
	}
}
