//go:build cgo && peers && ros2dds

package ros2dds_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/internal/rossample"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// implementations are the DDS implementations that read what the bridge writes.
var implementations = []struct {
	name  string
	start func(t testing.TB, domain int, mode ...string) *subscriber
}{{"cyclone", cycloneSubscriber}, {"fastdds", fastSubscriber}}

// arrives publishes a message again and again until one has arrived. A reader that was
// matched but hasn't heard of the writer's sequence numbers yet takes what comes before
// for history, which it doesn't want.
func arrives(t testing.TB, s *subscriber, topic string, publish func() error) {
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
			for i, pub := range carried() {
				topic := fmt.Sprintf("/kind_%d/%s", i, pub.Sample.Elem().Name())
				qos := flow.QoS{Reliability: flow.Reliable, History: flow.KeepLast, Depth: 5}
				if i%2 == 1 {
					qos.Reliability = flow.BestEffort
				}
				publish, err := bridges.AddPublisherOf(b, pub.Sample, bridges.Topic{Name: topic, QoS: qos})
				require.NoError(t, err)
				msg := bridgetest.Filled(pub.Sample)
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
			first := bridgetest.Filled(reflect.TypeFor[*sample.Transforms]()).(*sample.Transforms)
			require.NoError(t, publish(t.Context(), first))
			last := bridgetest.Filled(reflect.TypeFor[*sample.Transforms]()).(*sample.Transforms)
			last.Transforms[0].ChildFrameID = "lidar"
			require.NoError(t, publish(t.Context(), last))

			s := implementation.start(t, domain, "subscribe")
			got := s.message("/tf_static")
			assert.Equal(t, "lidar", got["transforms"].([]any)[0].(map[string]any)["child_frame_id"])
			assert.Len(t, s.find(func(e event) bool { return e.Event == "message" && e.Topic == "rt/tf_static" }), 1, "depth 1 keeps the last")
		})
	}
}

// cloud returns a scan whose message has about so many bytes.
func cloud(bytes int) *sample.PointCloud {
	m := &sample.PointCloud{Header: sample.Header{FrameID: "lidar"}, Rings: 4, Columns: 16}
	var message ros.PointCloud2
	m.Points = make([]sample.Point, 1)
	if err := rossample.PointCloud2(&message, m); err != nil {
		panic(err)
	}
	m.Points = make([]sample.Point, bytes/int(message.PointStep))
	for i := range m.Points {
		m.Points[i] = sample.Point{X: float32(i), Y: float32(i) / 2, Z: 1, Intensity: float32(i % 256), Ring: uint16(i % 64), TimeNs: uint32(i), Ray: uint32(i)}
	}
	m.Rings, m.Columns = 64, len(m.Points)/64+1
	return m
}

// Clouds of 8 MB arrive complete, every octet as it was sent.
func TestLargeClouds(t *testing.T) {
	const messages = 20
	for _, implementation := range implementations {
		for _, reliability := range []flow.Reliability{flow.Reliable, flow.BestEffort} {
			t.Run(fmt.Sprintf("%s/%v", implementation.name, reliability), func(t *testing.T) {
				domain := freeDomain(t)
				s := implementation.start(t, domain, "subscribe")
				b := connect(t, domain, "")
				publish, err := bridges.AddPublisher[*sample.PointCloud](b, bridges.Topic{Name: "/points", QoS: flow.QoS{Reliability: reliability, History: flow.KeepLast, Depth: 5}})
				require.NoError(t, err)
				m := cloud(8_000_000)
				want := map[int64]any{}
				for n := range int64(messages) {
					m.Stamp, m.Points[n].X = simtime.Stamp(n*1e9), -1
					var message ros.PointCloud2
					require.NoError(t, rossample.PointCloud2(&message, m))
					want[n] = valueOf(&message)["data"]
					again := n == 0 || reliability == flow.BestEffort // may be lost
					err := publish(t.Context(), m)
					require.True(t, again || err == nil, "%v", err)
					arrived := func() bool { return clouds(t, s)[n] != nil }
					for again && !eventually(arrived, time.Second) {
						_ = publish(t.Context(), m) // there may be no reader yet
					}
					require.Eventually(t, arrived, patience, time.Millisecond, "cloud %d arrives", n)
				}
				assert.Equal(t, want, clouds(t, s))
			})
		}
	}
}

// clouds returns the data of the clouds that have arrived on /points, by the second in
// their stamp.
func clouds(t *testing.T, s *subscriber) map[int64]any {
	t.Helper()
	got := map[int64]any{}
	for _, e := range s.find(func(e event) bool { return e.Topic == "rt/points" && e.Event == "message" }) {
		var m struct {
			Header struct{ Stamp struct{ Sec int64 } }
			Data   any
		}
		require.NoError(t, json.Unmarshal(e.Value, &m))
		got[m.Header.Stamp.Sec] = m.Data
	}
	return got
}

// eventually reports whether something is so within a time.
func eventually(is func() bool, limit time.Duration) bool {
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if is() {
			return true
		}
	}
	return is()
}

var (
	// fragmentTrace is how Cyclone DDS traces a fragment that it received: the octets that
	// are in it, and how many the message has.
	fragmentTrace = regexp.MustCompile(`DATAFRAG\(.*/\[(\d+)\.\.(\d+)\) of (\d+)`)
	// datagramTrace is the size of a datagram.
	datagramTrace = regexp.MustCompile(`HDR\(.*\) len (\d+) from udp/`)
)

// A reader's own trace tells that large messages come in fragments of 65,000 octets. Each is in
// a datagram of its own, as the settings in code have it.
func TestFragmentsOnTheWire(t *testing.T) {
	const fragment, most = 65_000, 65_500
	domain := freeDomain(t)
	trace := filepath.Join(t.TempDir(), "trace")
	tracing := `,<CycloneDDS><Domain id="any"><Tracing><Verbosity>finest</Verbosity><OutputFile>` + trace + `</OutputFile></Tracing></Domain></CycloneDDS>`
	s := start(t, bridgetest.Program(cyclonePeer(t), strconv.Itoa(domain), "count").With("CYCLONEDDS_URI="+peerSettings+tracing))
	b := connect(t, domain, "")
	publish, err := bridges.AddPublisher[*sample.Image](b, bridges.Topic{Name: "/image", QoS: flow.QoS{Reliability: flow.Reliable}})
	require.NoError(t, err)
	image := &sample.Image{Width: 1000, Height: 1000, Step: 1000, Encoding: sample.EncodingMono8, Data: make([]byte, 1_000_000)}
	arrives(t, s, "/image", func() error { return publish(t.Context(), image) })

	seen := map[int]bool{} // the offsets in the message
	var data []byte
	require.Eventually(t, func() bool {
		data, err = os.ReadFile(trace)
		require.NoError(t, err)
		for _, f := range fragmentTrace.FindAllSubmatch(data, -1) {
			from, to, size := octets(t, f[1]), octets(t, f[2]), octets(t, f[3])
			assert.Greater(t, size, len(image.Data))
			assert.Zero(t, from%fragment)
			assert.Equal(t, min(from+fragment, size), to)
			seen[from] = true
		}
		return len(seen) == 16
	}, patience, 20*time.Millisecond, "a message of a million octets has 16 fragments")
	largest := 0
	for _, d := range datagramTrace.FindAllSubmatch(data, -1) {
		largest = max(largest, octets(t, d[1]))
	}
	assert.Greater(t, largest, fragment)
	assert.LessOrEqual(t, largest, most)
}

func octets(t *testing.T, digits []byte) int {
	t.Helper()
	n, err := strconv.Atoi(string(digits))
	require.NoError(t, err)
	return n
}
