//go:build cgo && ros2dds

package ros2dds_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/ros2dds"
	"github.com/raybridge/raybridge/bridges/ros2dds/internal/cyclone"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// patience is how long a test waits for what others do.
const patience = 2 * time.Minute

// loopback keeps the library to the loopback interface, in the tests and in the peers
// that they start.
const loopback = `<CycloneDDS><Domain id="any"><General><Interfaces><NetworkInterface address="127.0.0.1" multicast="false"/></Interfaces>` +
	`<AllowMulticast>false</AllowMulticast></General>` +
	`<Discovery><ParticipantIndex>auto</ParticipantIndex><MaxAutoParticipantIndex>20</MaxAutoParticipantIndex>` +
	`<Peers><Peer Address="127.0.0.1"/></Peers></Discovery></Domain></CycloneDDS>`

func TestMain(m *testing.M) {
	for key, value := range map[string]string{"CYCLONEDDS_URI": loopback, "ROS_DOMAIN_ID": "", "ROS_LOCALHOST_ONLY": ""} {
		if err := os.Setenv(key, value); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// freeDomain returns the id of a domain that no other test on the machine uses until
// this one ends.
func freeDomain(t testing.TB) int {
	t.Helper()
	var config net.ListenConfig
	for id := 1; id <= 200; id++ {
		lock, err := config.Listen(context.Background(), "unix", fmt.Sprintf("@raybridge-dds-domain-%d", id))
		if err != nil {
			continue
		}
		t.Cleanup(func() { assert.NoError(t, lock.Close()) })
		return id
	}
	require.Fail(t, "no domain is free")
	return 0
}

// open returns a bridge that isn't connected, and closes it at the test's end.
func open(t testing.TB, domain int, options string, log *slog.Logger) *bridges.Bridge {
	t.Helper()
	b, err := bridges.MustRegistry(ros2dds.Factory{}).Open(fmt.Sprintf("ros2dds:%d?%s", domain, options), bridges.Env{Log: log})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, b.Close(context.Background())) })
	return b
}

// connect returns a bridge in a domain.
func connect(t testing.TB, domain int, options string) *bridges.Bridge {
	t.Helper()
	b := open(t, domain, options, nil)
	require.NoError(t, b.Connect(t.Context()))
	require.Equal(t, flow.Connected, b.Status(), "%v", b.Diagnosis().LastError)
	return b
}

// journal takes log lines, from any goroutine.
type journal struct {
	mu   sync.Mutex
	text strings.Builder // guarded by mu
}

func (j *journal) Write(line []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(line)
}

func (j *journal) logger() *slog.Logger { return slog.New(slog.NewTextHandler(j, nil)) }

// lines returns those that contain a text.
func (j *journal) lines(text string) []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	var list []string
	for line := range strings.Lines(j.text.String()) {
		if strings.Contains(line, text) {
			list = append(list, line)
		}
	}
	return list
}

// Two nodes in one program: one publishes the time, the other follows it.
func TestTwoNodesOfOneProgram(t *testing.T) {
	domain := freeDomain(t)
	from, to := connect(t, domain, "node=from"), connect(t, domain, "node=to")
	publish, err := bridges.AddPublisher[*sample.Clock](from, bridges.Topic{Name: "/clock", QoS: flow.ClockQoS})
	require.NoError(t, err)
	var got atomic.Int64
	require.NoError(t, bridges.AddSubscriber(to, bridges.Topic{Name: "/clock", QoS: flow.ClockQoS}, func(m *sample.Clock) { got.Store(int64(m.Stamp)) }))
	require.Eventually(t, func() bool {
		_ = publish(t.Context(), &sample.Clock{Stamp: 1_500_000_001}) // there may be no reader yet
		return got.Load() == 1_500_000_001
	}, patience, time.Millisecond)
}

func TestTopicNames(t *testing.T) {
	b := connect(t, freeDomain(t), "")
	for _, name := range []string{"points", "/", "/a/", "/9", "/a__b", "/a-b", "/ä"} {
		_, err := bridges.AddPublisher[*sample.Clock](b, bridges.Topic{Name: name})
		assert.ErrorIs(t, err, bridges.ErrTopicName, name)
		assert.ErrorIs(t, bridges.AddSubscriber(b, bridges.Topic{Name: name}, func(*sample.Clock) {}), bridges.ErrTopicName, name)
	}
}

// A topic without readers is not listened to, and its messages go nowhere.
func TestNobodyListens(t *testing.T) {
	b := connect(t, freeDomain(t), "")
	publish, err := bridges.AddPublisher[*sample.Clock](b, bridges.Topic{Name: "/clock", QoS: flow.ClockQoS})
	require.NoError(t, err)
	assert.False(t, b.Listening("/clock"))
	assert.False(t, b.Listening("/other"))
	assert.ErrorIs(t, publish(t.Context(), &sample.Clock{}), flow.ErrNotConnected)
	assert.Equal(t, flow.Drops{flow.CauseNotConnected: 1}, b.Statistics().Drops)
}

// raw is a participant that isn't the bridge's, with an endpoint on a topic.
func raw(t *testing.T, domain int) *cyclone.Participant {
	t.Helper()
	p, err := cyclone.Join(cyclone.Config{Domain: uint32(domain)})
	require.NoError(t, err)
	t.Cleanup(p.Leave)
	return p
}

// Messages that can't be read are counted, and those after them are read.
func TestMalformedMessages(t *testing.T) {
	domain := freeDomain(t)
	b := connect(t, domain, "")
	var got atomic.Int64
	require.NoError(t, bridges.AddSubscriber(b, bridges.Topic{Name: "/clock"}, func(m *sample.Clock) { got.Store(int64(m.Stamp)) }))
	p := raw(t, domain)
	var events cyclone.Events
	w, err := p.NewWriter("rt/clock", "rosgraph_msgs::msg::dds_::Clock_", cyclone.EndpointQoS{Reliable: true, Depth: 10}, &events)
	require.NoError(t, err)
	defer w.Close()
	require.Eventually(t, func() bool { return events.Matched() == 1 }, patience, time.Millisecond)
	for _, message := range []string{"\x00\x01\x00\x00", "\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x02", "\x00\x01\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00"} {
		s := w.Sample(0)
		w.Set(&s, []byte(message))
		require.NoError(t, w.Write(s))
	}
	require.Eventually(t, func() bool { return got.Load() == 1_000_000_002 }, patience, time.Millisecond)
	assert.EqualValues(t, 2, b.Diagnosis().Malformed)
	assert.ErrorContains(t, b.Diagnosis().LastError, "/clock")
}

// A topic whose messages come faster than they are delivered holds up neither other
// topics nor the end.
func TestATopicThatIsNeverSilent(t *testing.T) {
	p := raw(t, freeDomain(t))
	var readers, writers [2]cyclone.Events
	qos := cyclone.EndpointQoS{Reliable: true, Depth: 1}
	var write [2]func()
	for i, topic := range []string{"rt/busy", "rt/quiet"} {
		w, err := p.NewWriter(topic, "rosgraph_msgs::msg::dds_::Clock_", qos, &writers[i])
		require.NoError(t, err)
		defer w.Close()
		write[i] = func() {
			s := w.Sample(0)
			w.Set(&s, []byte("\x00\x01\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00"))
			if err := w.Write(s); err != nil {
				t.Error(err)
			}
		}
	}
	var busy, quiet atomic.Int64
	_, err := p.NewReader("rt/busy", "rosgraph_msgs::msg::dds_::Clock_", qos, &readers[0], func([]byte, cyclone.Sender) {
		busy.Add(1)
		write[0]() // so that there is always one more
	})
	require.NoError(t, err)
	_, err = p.NewReader("rt/quiet", "rosgraph_msgs::msg::dds_::Clock_", qos, &readers[1], func([]byte, cyclone.Sender) { quiet.Add(1) })
	require.NoError(t, err)
	require.Eventually(t, func() bool { return writers[0].Matched() == 1 && writers[1].Matched() == 1 }, patience, time.Millisecond)
	write[0]()
	reading := make(chan struct{})
	go func() {
		defer close(reading)
		for p.Read() {
		}
	}()
	require.Eventually(t, func() bool { return busy.Load() > 100 }, patience, time.Millisecond)
	write[1]()
	assert.Eventually(t, func() bool { return quiet.Load() == 1 }, patience, time.Millisecond)
	p.Wake()
	select {
	case <-reading:
	case <-time.After(patience):
		t.Fatal("the reading goroutine doesn't end")
	}
}

// A message costs no memory of Go's once the blocks are there.
func TestPublishingAllocatesNothing(t *testing.T) {
	domain := freeDomain(t)
	b := connect(t, domain, "")
	publish, err := bridges.AddPublisher[*sample.Image](b, bridges.Topic{Name: "/image", QoS: flow.SensorDataQoS})
	require.NoError(t, err)
	p := raw(t, domain)
	var events cyclone.Events
	_, err = p.NewReader("rt/image", "sensor_msgs::msg::dds_::Image_", cyclone.EndpointQoS{Depth: 1}, &events, func([]byte, cyclone.Sender) {})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return b.Listening("/image") }, patience, time.Millisecond)
	image := &sample.Image{Width: 100, Height: 100, Step: 300, Encoding: sample.EncodingRGB8, Data: make([]byte, 30_000)}
	image.FrameID = "camera"
	send := func() {
		if err := publish(t.Context(), image); err != nil {
			t.Error(err)
		}
	}
	for range 100 {
		send()
	}
	// The test's own context costs nothing; the queue's ring grows at most now and then.
	assert.Less(t, testing.AllocsPerRun(1000, send), 1.0)
}

// Connections give back all that they took: entities of the library, memory of C's and
// goroutines. So do those that have lost messages on their way, and those that failed.
func TestNothingIsLeftOfAConnection(t *testing.T) {
	domain := freeDomain(t)
	goroutines := runtime.NumGoroutine()
	require.Zero(t, cyclone.Entities(), "other tests have ended what they began")

	b := open(t, domain, "messages=4", nil)
	image, err := bridges.AddPublisher[*sample.Image](b, bridges.Topic{Name: "/image", QoS: flow.SensorDataQoS})
	require.NoError(t, err)
	all := flow.DefaultQoS
	all.History = flow.KeepAll
	clock, err := bridges.AddPublisher[*sample.Clock](b, bridges.Topic{Name: "/clock", QoS: all})
	require.NoError(t, err)
	transforms, err := bridges.AddPublisher[*sample.Transforms](b, bridges.Topic{Name: "/tf_static", QoS: flow.StaticQoS})
	require.NoError(t, err)
	require.NoError(t, bridges.AddSubscriber(b, bridges.Topic{Name: "/clock_in"}, func(*sample.Clock) {}))
	require.NoError(t, bridges.AddService(b, "/set", func(context.Context, sample.SetBoolRequest) (sample.SetBoolResponse, error) {
		return sample.SetBoolResponse{}, nil
	}))
	message := &sample.Image{Width: 100, Height: 100, Step: 300, Encoding: sample.EncodingRGB8, Data: make([]byte, 30_000)}

	cycle := func(full bool) {
		require.NoError(t, b.Connect(t.Context()))
		require.Equal(t, flow.Connected, b.Status())
		if full {
			cycleMessages(t, domain, b, func() {
				_ = image(t.Context(), message)
				_ = clock(t.Context(), &sample.Clock{Stamp: 1})
				_ = transforms(t.Context(), &sample.Transforms{})
			})
		}
		require.NoError(t, b.Disconnect(t.Context()))
		require.Zero(t, cyclone.Entities(), "all entities are gone")
		require.Zero(t, cyclone.Blocks(), "and all messages")
	}
	for range 5 { // pools, arenas and the library's own tables have their size then
		cycle(true)
	}
	before := cyclone.Bytes()
	const cycles = 40
	for n := range cycles {
		cycle(n%2 == 0)
	}
	// The allocator's own caches come and go with threads; blocks are counted to the last.
	assert.Less(t, cyclone.Bytes()-before, cycles*8192, "C memory stays as it was")

	t.Setenv("CYCLONEDDS_URI", nowhere)
	before = cyclone.Bytes()
	for range cycles {
		require.NoError(t, b.Connect(t.Context()))
		require.NoError(t, b.Disconnect(t.Context()))
	}
	assert.Less(t, cyclone.Bytes()-before, cycles*8192, "and of connections that failed")
	assert.Zero(t, cyclone.Entities())
	require.Eventually(t, func() bool { return runtime.NumGoroutine() <= goroutines+1 }, patience, time.Millisecond, "goroutines end, except the one that asks")
}

// cycleMessages has another participant exchange messages with the bridge.
func cycleMessages(t *testing.T, domain int, b *bridges.Bridge, publish func()) {
	t.Helper()
	p, err := cyclone.Join(cyclone.Config{Domain: uint32(domain)})
	require.NoError(t, err)
	defer p.Leave()
	var events [3]cyclone.Events
	reliable := cyclone.EndpointQoS{Reliable: true, Depth: 1}
	_, err = p.NewReader("rt/clock", clockType, reliable, &events[0], func([]byte, cyclone.Sender) {})
	require.NoError(t, err)
	_, err = p.NewReader("rt/image", "sensor_msgs::msg::dds_::Image_", cyclone.EndpointQoS{Depth: 1}, &events[1], func([]byte, cyclone.Sender) {})
	require.NoError(t, err)
	w, err := p.NewWriter("rt/clock_in", clockType, reliable, &events[2])
	require.NoError(t, err)
	defer w.Close()
	require.Eventually(t, func() bool {
		return b.Listening("/clock") && b.Listening("/image") && events[2].Matched() == 1
	}, patience, time.Millisecond)
	c := newClient(t, p, "/set", "clientid=1;", "clientid=1;")
	defer c.writer.Close()
	for range 20 {
		publish()
		c.call(requestHead + "01")
		s := w.Sample(0)
		w.Set(&s, []byte("\x00\x01\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00"))
		require.NoError(t, w.Write(s))
		s = w.Sample(10_000) // and one that is never sent
		s.Release()
	}
}
