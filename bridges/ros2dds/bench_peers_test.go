//go:build cgo && peers && ros2dds

package ros2dds_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
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
func rate(t *testing.T, s *subscriber, topic string) float64 {
	t.Helper()
	at := s.find(func(e event) bool { return e.Event == "message" && e.Topic == topic })
	require.Greater(t, len(at), 2, topic)
	return float64(len(at)-1) / (float64(at[len(at)-1].AtNs-at[0].AtNs) / 1e9)
}

// throughputOfC returns at what rate a writer on Cyclone's own C API gets clouds through.
func throughputOfC(t *testing.T, domain, pass, bytes, messages int) float64 {
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
	return errors.Join(f.Factory.Register(p), bridges.AddType[*ready](p, "sensor_msgs/msg/PointCloud2"),
		bridges.AddPublisherCreator(p, func(i bridges.Instance, info *bridges.PublishedTopic) (bridges.Publisher[*ready], error) {
			send, err := ros2dds.Publish(i, info, "sensor_msgs/msg/PointCloud2")
			return func(ctx context.Context, m *ready) error { return send(ctx, &m.message, m.stamp) }, err
		}))
}

// throughputOfBridge returns at what rate the bridge gets messages through, one after the
// other. One message waits at a time, as in C. A queue that is full of large messages is
// slower, because memory that was just written has left the processor's cache when it is sent.
func throughputOfBridge[T any](t *testing.T, domain, messages int, topic string, m T) float64 {
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

// Clouds go through the bridge about as fast as through a program in C, with the same settings,
// in alternating passes. There are those whose octets are at hand, as they are in C, and those
// that are converted of points. RAYBRIDGE_BENCH=1 measures longer.
func TestThroughputBesideC(t *testing.T) {
	passes, total := 1, 100_000_000
	if os.Getenv("RAYBRIDGE_BENCH") != "" {
		passes, total = 11, 1_600_000_000
	}
	for _, bytes := range []int{1_000_000, 8_000_000} {
		t.Run(fmt.Sprintf("%dMB", bytes/1_000_000), func(t *testing.T) {
			domain := freeDomain(t)
			points := cloud(bytes)
			octets := &ready{}
			require.NoError(t, rossample.PointCloud2(&octets.message, points))
			data := make([]byte, octets.message.Data.Len())
			octets.message.Data.Put(data)
			octets.message.Data = ros.Bytes{Data: data}
			rates := map[string][]float64{}
			for pass := range passes {
				for name, measure := range map[string]func() float64{
					"C": func() float64 { return throughputOfC(t, domain, pass, bytes, total/bytes) },
					"octets": func() float64 {
						return throughputOfBridge(t, domain, total/bytes, fmt.Sprintf("/octets_%d", pass), octets)
					},
					"points": func() float64 {
						return throughputOfBridge(t, domain, total/bytes, fmt.Sprintf("/points_%d", pass), points)
					},
				} {
					rates[name] = append(rates[name], measure())
				}
			}
			median := func(name string) float64 {
				slices.Sort(rates[name])
				return rates[name][passes/2] * float64(bytes) / 1e6
			}
			c, o, p := median("C"), median("octets"), median("points")
			t.Logf("%d bytes: C %.0f MB/s, bridge %.0f MB/s (%.0f %%), with conversion of points %.0f MB/s (%.0f %%); median of %d",
				bytes, c, o, 100*o/c, p, 100*p/c, passes)
			assert.Positive(t, p)
		})
	}
}

// Pictures of 1920 x 1080 at 30 Hz arrive: all of those that the history keeps.
// RAYBRIDGE_BENCH=1 runs for a minute, with a history of 10 as drivers have it. None may be
// missing on a best-effort topic either; that needs an idle machine.
func TestImages1080p(t *testing.T) {
	seconds, depth, options := 2, 60, "bytes=1000000000"
	long := os.Getenv("RAYBRIDGE_BENCH") != ""
	if long {
		seconds, depth, options = 60, 10, ""
	}
	for _, reliability := range []flow.Reliability{flow.Reliable, flow.BestEffort} {
		t.Run(reliability.String(), func(t *testing.T) {
			domain := freeDomain(t)
			s := cycloneSubscriber(t, domain, "count")
			b := connect(t, domain, options)
			publish, err := bridges.AddPublisher[*sample.Image](b, bridges.Topic{Name: "/image", QoS: flow.QoS{Reliability: reliability, History: flow.KeepLast, Depth: depth}})
			require.NoError(t, err)
			image := &sample.Image{Width: 1920, Height: 1080, Step: 5760, Encoding: sample.EncodingRGB8, Data: make([]byte, 5760*1080)}
			arrives(t, s, "/image", func() error { return publish(t.Context(), image) })
			first, offered := s.count("/image"), 0
			ticker := time.NewTicker(time.Second / 30)
			defer ticker.Stop()
			for ; offered < 30*seconds; offered++ {
				<-ticker.C
				require.NoError(t, publish(t.Context(), image))
			}
			all := func() bool { return s.count("/image") >= first+offered }
			if reliability == flow.Reliable && !long {
				require.Eventually(t, all, patience, 10*time.Millisecond)
			}
			got := eventually(all, 5*time.Second)
			t.Logf("%s: %d of %d arrived", reliability, min(s.count("/image")-first, offered), offered)
			assert.True(t, got || !long && s.count("/image") > first, "an idle machine loses none; is this one busy?")
		})
	}
}
