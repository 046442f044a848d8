//go:build cgo && peers && ros2dds

package ros2dds_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/all/alltest"
	"github.com/raybridge/raybridge/bridges/bridgetest/process"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
)

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
			p := alltest.NewPipeline(t, "", pipeline.Config{Mode: pipeline.Realtime, TimeSource: simtime.SS2})
			require.NoError(t, p.AddBridge(t.Context(), pipeline.BridgeConfig{Spec: fmt.Sprintf("ros2dds:%d", domain)}))
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
		case alltest.ClockTopic:
			stamp = moment{m.Clock.Sec, m.Clock.Nanosec}
		case alltest.TransformsTopic:
			stamp = m.Transforms[0].Header.Stamp
		default:
			assert.Equal(t, alltest.Frames[topic], m.Header.FrameID, topic)
		}
		assert.EqualValues(t, 123_456_789, stamp.Nanosec, topic)
		if stamp.Sec*1e9+stamp.Nanosec == at {
			seen[topic] = true
		}
		if topic == alltest.ImageTopic {
			assert.Contains(t, string(m.Data), fmt.Sprintf(`"%016x"`, hashOctets(alltest.Pixels())))
		}
	}
	return len(seen) == len(alltest.DataTopics)+1
}

// Commands of a program on Cyclone's types move the externally driven ego: that steers
// 0.125 radians to the right, as SVL counts, or turns with 0.25 rad/s to the right.
func TestCommandsMoveTheEgo(t *testing.T) {
	for name, commands := range map[string]pipeline.Commands{"control": {Control: "/control"}, "velocity": {Velocity: "/cmd_vel"}} {
		t.Run(name, func(t *testing.T) {
			domain := freeDomain(t)
			ego, err := scene.NewDriven(spatial.Identity(), scene.Vehicle{})
			require.NoError(t, err)
			p := alltest.NewPipeline(t, "10", pipeline.Config{Ego: ego, Commands: commands})
			require.NoError(t, p.AddBridge(t.Context(), pipeline.BridgeConfig{Spec: fmt.Sprintf("ros2dds:%d", domain)}))
			process.Start(t, process.Program(cyclonePeer(t), strconv.Itoa(domain), "publish").With("CYCLONEDDS_URI="+peerSettings))
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
