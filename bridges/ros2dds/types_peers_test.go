//go:build cgo && peers && ros2dds

package ros2dds_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/rossample"
	"github.com/raybridge/raybridge/bridges/internal/rossample/rossampletest"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
)

// implementations are the DDS implementations that read what the bridge writes.
var implementations = []struct {
	name  string
	start func(t *testing.T, domain int, mode ...string) *subscriber
}{{"cyclone", cycloneSubscriber}, {"fastdds", fastSubscriber}}

// arrives publishes a message again and again until one has arrived. A reader that was
// matched but hasn't heard of the writer's sequence numbers yet takes what comes before
// for history, which it doesn't want.
func arrives(t *testing.T, s *subscriber, topic string, publish func() error) {
	t.Helper()
	before := s.count(topic)
	require.Eventually(t, func() bool {
		_ = publish() // there may be no reader yet
		return s.count(topic) > before
	}, patience, 20*time.Millisecond, "a message arrives on %s", topic)
}

// message waits for a message on a ROS topic and returns what the peer decoded.
func (s *subscriber) message(topic string) map[string]any {
	s.t.Helper()
	e := s.await("a message on "+topic, func(e event) bool { return e.Event == "message" && e.Topic == "rt"+topic })
	var value map[string]any
	require.NoError(s.t, json.Unmarshal(e.Value, &value), "%s", e.Value)
	return value
}

// Each type is decoded, by code that others generated of its definition, to the values
// that were sent.
func TestEveryTypeIsDecodedByOthers(t *testing.T) {
	for _, implementation := range implementations {
		t.Run(implementation.name, func(t *testing.T) {
			domain := freeDomain(t)
			s := implementation.start(t, domain, "subscribe")
			b := connect(t, domain, "")
			for i, pub := range rossample.Standard() {
				topic := fmt.Sprintf("/kind_%d/%s", i, pub.Sample.Elem().Name())
				qos := flow.QoS{Reliability: flow.Reliable, History: flow.KeepLast, Depth: 5}
				if i%2 == 1 {
					qos.Reliability = flow.BestEffort
				}
				publish, err := bridges.AddPublisherOf(b, pub.Sample, bridges.Topic{Name: topic, QoS: qos})
				require.NoError(t, err)
				msg := rossampletest.Filled(pub.Sample)
				arrives(t, s, topic, func() error { return publish(t.Context(), msg) })
				converted, err := pub.Converter()(msg)
				require.NoError(t, err)
				assert.Equal(t, valueOf(converted), s.message(topic), pub.Type)

				hash, err := ros.TypeHash(pub.Type)
				require.NoError(t, err)
				w := s.await("the writer of "+topic, func(e event) bool { return e.Event == "writer" && e.Topic == "rt"+topic })
				assert.Equal(t, ddsName(pub.Type), w.Type)
				assert.Equal(t, "typehash="+hash+";", w.UserData)
				assert.Equal(t, i%2 == 0, w.Reliable, topic)
			}
		})
	}
}

// Who comes late gets the transforms that never change.
func TestLateJoinerGetsStaticTransforms(t *testing.T) {
	for _, implementation := range implementations {
		t.Run(implementation.name, func(t *testing.T) {
			domain := freeDomain(t)
			b := connect(t, domain, "")
			publish, err := bridges.AddPublisher[*sample.Transforms](b, bridges.Topic{Name: "/tf_static", QoS: flow.StaticQoS})
			require.NoError(t, err)
			assert.True(t, b.Listening("/tf_static"), "kept for those to come")
			first := rossampletest.Filled(reflect.TypeFor[*sample.Transforms]()).(*sample.Transforms)
			require.NoError(t, publish(t.Context(), first))
			last := rossampletest.Filled(reflect.TypeFor[*sample.Transforms]()).(*sample.Transforms)
			last.Transforms[0].ChildFrameID = "lidar"
			require.NoError(t, publish(t.Context(), last))

			s := implementation.start(t, domain, "subscribe")
			got := s.message("/tf_static")
			assert.Equal(t, "lidar", got["transforms"].([]any)[0].(map[string]any)["child_frame_id"])
			assert.Len(t, s.find(func(e event) bool { return e.Event == "message" && e.Topic == "rt/tf_static" }), 1, "depth 1 keeps the last")
		})
	}
}
