package all_test

import (
	"context"
	"testing"
	"time"

	"github.com/bluenviron/goroslib/v2"
	"github.com/bluenviron/goroslib/v2/pkg/msgs/rosgraph_msgs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/all/alltest"
	"github.com/raybridge/raybridge/bridges/ros2lgsvl/lgsvltest"
	"github.com/raybridge/raybridge/bridges/rosbridge/rosbridgetest"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/simtime"
)

// rosClocks are peers that tell the ROS time to those who subscribe to /clock: the
// connection string, and what tells a time.
var rosClocks = map[string]func(t *testing.T) (spec string, tell func(at time.Duration)){
	"rosbridge": func(t *testing.T) (string, func(time.Duration)) {
		s := rosbridgetest.New(rosbridgetest.Config{})
		require.NoError(t, s.Start())
		t.Cleanup(s.Kill)
		return "rosbridge:ws://" + s.Addr() + "?retry=50ms", func(at time.Duration) {
			s.Publish(alltest.ClockTopic, rosbridgetest.Outgoing{Values: map[string]any{
				"clock": map[string]any{"secs": int(at / time.Second), "nsecs": int(at % time.Second)},
			}})
		}
	},
	"ros2lgsvl": func(t *testing.T) (string, func(time.Duration)) {
		s := lgsvltest.New(lgsvltest.Config{})
		require.NoError(t, s.Start())
		t.Cleanup(s.Kill)
		return "ros2lgsvl:" + s.Address() + "?retry=50ms", func(at time.Duration) {
			if s.Subscribed(alltest.ClockTopic) != "" {
				s.Publish(alltest.ClockTopic, lgsvltest.Value{
					"clock": lgsvltest.Value{"sec": int32(at / time.Second), "nanosec": uint32(at % time.Second)},
				})
			}
		}
	},
	"ros1": func(t *testing.T) (string, func(time.Duration)) {
		m := newMaster(t)
		publisher, err := goroslib.NewPublisher(goroslib.PublisherConf{Node: m.node(t), Topic: alltest.ClockTopic, Msg: &rosgraph_msgs.Clock{}})
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
			p := alltest.NewPipeline(t, "10", pipeline.Config{Mode: pipeline.Realtime})
			require.NoError(t, p.AddBridge(t.Context(), pipeline.BridgeConfig{Spec: spec}))
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
