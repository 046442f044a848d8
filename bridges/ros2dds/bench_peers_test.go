//go:build cgo && peers && ros2dds

package ros2dds_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/rossample"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/bridges/ros2dds"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// rate returns how many messages a second a peer saw on a DDS topic, between the first
// and the last.
func rate(t testing.TB, s *subscriber, topic string) float64 {
	t.Helper()
	at := s.find(func(e event) bool { return e.Event == "message" && e.Topic == topic })
	require.Greater(t, len(at), 2, topic)
	return float64(len(at)-1) / (float64(at[len(at)-1].AtNs-at[0].AtNs) / 1e9)
}

// throughputOfC returns at what rate a writer on Cyclone's own C API gets clouds through.
func throughputOfC(t testing.TB, domain, pass, bytes, messages int) float64 {
	t.Helper()
	s := cycloneSubscriber(t, domain, "count")
	defer s.process.Kill()
	topic := fmt.Sprintf("rt/c_%d", pass)
	w := exec.Command(cyclonePeer(t), strconv.Itoa(domain), "write", topic, strconv.Itoa(bytes), strconv.Itoa(messages), "keep_all")
	w.Env = append(os.Environ(), "CYCLONEDDS_URI="+peerSettings)
	w.Stderr = os.Stderr
	begin, err := w.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, w.Start())
	s.await("the match", func(e event) bool { return e.Event == "matched" && e.Topic == topic })
	_, err = io.WriteString(begin, "go\n")
	require.NoError(t, err)
	require.NoError(t, w.Wait()) // everything is acknowledged
	return rate(t, s, topic)
}

// ready is a cloud whose octets are at hand, as those of the program in C are.
type ready struct {
	stamp   simtime.Stamp
	message ros.PointCloud2
}

// Stamp returns when it was captured.
func (m *ready) Captured() simtime.Stamp { return m.stamp }

// withReady is the bridge with a publisher of such clouds.
type withReady struct{ ros2dds.Factory }

func (f withReady) Register(p *bridges.Plugin) error {
	return errors.Join(f.Factory.Register(p),
		bridges.RegPublisher(p, "sensor_msgs/msg/PointCloud2", func(i bridges.Instance, info *bridges.PublishedTopic) (bridges.Publisher[*ready], error) {
			send, err := ros2dds.Publish(i, info, "sensor_msgs/msg/PointCloud2")
			return func(ctx context.Context, m *ready) error { return send(ctx, &m.message, m.stamp) }, err
		}))
}

// throughputOfBridge returns at what rate the bridge gets messages through, one after the
// other. One message waits at a time, as in C. A queue that is full of large messages is
// slower, because memory that was just written has left the processor's cache when it is sent.
func throughputOfBridge[T any](t testing.TB, domain, messages int, topic string, m T) float64 {
	t.Helper()
	s := cycloneSubscriber(t, domain, "count")
	defer s.process.Kill()
	b, err := bridges.MustRegistry(withReady{}).Open(fmt.Sprintf("ros2dds:%d?messages=1", domain), bridges.Env{})
	require.NoError(t, err)
	require.NoError(t, b.Connect(t.Context()))
	publish, err := bridges.AddPublisher[T](b, bridges.Topic{
		Name: topic, Policy: flow.Block, QoS: flow.QoS{Reliability: flow.Reliable, History: flow.KeepAll},
	})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return b.Listening(topic) && s.ready(topic) }, patience, time.Millisecond)
	for range messages {
		_ = publish(t.Context(), m) // what a busy machine loses isn't in the rate
	}
	require.NoError(t, b.Close(t.Context()))
	return rate(t, s, "rt"+topic)
}

// BenchmarkBesideC sends clouds by the bridge and by a program in C with the same settings, in
// turns. There are those whose octets are at hand, as they are in C, and those that are
// converted of points.
func BenchmarkBesideC(b *testing.B) {
	const total = 1_600_000_000
	for _, bytes := range []int{1_000_000, 8_000_000} {
		b.Run(fmt.Sprintf("%dMB", bytes/1_000_000), func(b *testing.B) {
			domain, messages := freeDomain(b), total/bytes
			points, octets := cloud(bytes), octetsOf(b, cloud(bytes))
			var c, ready, converted float64
			for pass := 0; b.Loop(); pass++ {
				c += throughputOfC(b, domain, pass, bytes, messages)
				ready += throughputOfBridge(b, domain, messages, fmt.Sprintf("/octets_%d", pass), octets)
				converted += throughputOfBridge(b, domain, messages, fmt.Sprintf("/points_%d", pass), points)
			}
			each := float64(bytes) / float64(b.N)
			b.ReportMetric(c*each, "C-bytes/s")
			b.ReportMetric(ready*each, "octets-bytes/s")
			b.ReportMetric(converted*each, "points-bytes/s")
		})
	}
}

// octetsOf returns a cloud's message with its octets at hand.
func octetsOf(t testing.TB, points *sample.PointCloud) *ready {
	t.Helper()
	m := &ready{}
	require.NoError(t, rossample.PointCloud2(&m.message, points))
	data := make([]byte, m.message.Data.Len())
	m.message.Data.Put(data)
	m.message.Data = ros.Bytes{Data: data}
	return m
}

// offer publishes so many pictures of 1920 x 1080 at 30 Hz and returns how many didn't arrive.
func offer(t testing.TB, qos flow.QoS, options string, pictures int) (lost int) {
	t.Helper()
	domain := freeDomain(t)
	s := cycloneSubscriber(t, domain, "count")
	b := connect(t, domain, options)
	publish, err := bridges.AddPublisher[*sample.Image](b, bridges.Topic{Name: "/image", QoS: qos})
	require.NoError(t, err)
	image := &sample.Image{Width: 1920, Height: 1080, Step: 5760, Encoding: sample.EncodingRGB8, Data: make([]byte, 5760*1080)}
	arrives(t, s, "/image", func() error { return publish(t.Context(), image) })
	first := 0
	for n := s.count("/image"); n != first; n = s.count("/image") { // until none is on its way
		first = n
		time.Sleep(time.Second / 2)
	}
	ticker := time.NewTicker(time.Second / 30)
	defer ticker.Stop()
	for range pictures {
		<-ticker.C
		require.NoError(t, publish(t.Context(), image))
	}
	wait := patience
	if qos.Reliability == flow.BestEffort {
		wait = 5 * time.Second
	}
	eventually(func() bool { return s.count("/image") >= first+pictures }, wait)
	return max(first+pictures-s.count("/image"), 0)
}

var reliabilities = []flow.Reliability{flow.Reliable, flow.BestEffort}

// Pictures of 1920 x 1080 at 30 Hz arrive: all of those that the history keeps, and some on a
// best-effort topic.
func TestImages1080p(t *testing.T) {
	const pictures = 60
	for _, reliability := range reliabilities {
		t.Run(reliability.String(), func(t *testing.T) {
			lost := offer(t, flow.QoS{Reliability: reliability, History: flow.KeepLast, Depth: pictures}, "bytes=1000000000", pictures)
			assert.Less(t, lost, map[flow.Reliability]int{flow.Reliable: 1, flow.BestEffort: pictures}[reliability])
		})
	}
}

// BenchmarkImages1080p counts what is lost with a history of 10, as drivers have it.
func BenchmarkImages1080p(b *testing.B) {
	for _, reliability := range reliabilities {
		b.Run(reliability.String(), func(b *testing.B) {
			lost := offer(b, flow.QoS{Reliability: reliability, History: flow.KeepLast, Depth: 10}, "", b.N)
			b.ReportMetric(float64(lost), "lost")
		})
	}
}
