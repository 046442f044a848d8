package pipeline_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/stream"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/pipeline/carry"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/motion"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestBridgesComeBeforeTheStart(t *testing.T) {
	to := &peer{}
	p := newScripted(t, &script{}, pipeline.Config{Bridges: to.registry()})
	require.NoError(t, p.Step(t.Context(), 1))
	require.ErrorIs(t, p.AddBridge(t.Context(), carry.BridgeConfig{Spec: "test:x"}), pipeline.ErrStarted)
}

func TestTheClocksTopicIsTaken(t *testing.T) {
	p := newScripted(t, &script{}, pipeline.Config{})
	_, err := p.AddSensor(sensors.Config{ID: plainID, Name: "clock"})
	require.ErrorIs(t, err, pipeline.ErrTopic)
}

// TestAStepsClockIsSentFirst is law T4 for a peer: it learns of an instant before
// it gets what was measured then, whatever the dispatcher's workers do.
func TestAStepsClockIsSentFirst(t *testing.T) {
	to := &peer{kind: bridges.KindNetwork, publish: func(_ context.Context, topic string, _ simtime.Stamp) error {
		if topic == "/clock" {
			time.Sleep(time.Millisecond) // a worker that is slow with just this
		}
		return nil
	}}
	p := newScripted(t, &script{}, pipeline.Config{Bridges: to.registry()})
	addScripted(t, p, plainID, "s", "100")
	to.attach(t, p, "")
	require.NoError(t, p.Run(t.Context(), 300*time.Millisecond))
	clockFirst(t, to.deliveries())
	assert.Len(t, to.stamps("/s"), 30)
}

// clockFirst asserts that no sample comes before a clock of its stamp.
func clockFirst(t testing.TB, list []delivery) {
	t.Helper()
	clock := int64(-1)
	for i, d := range list {
		if d.topic == "/clock" {
			clock = int64(d.stamp)
		} else if !assert.LessOrEqual(t, d.stamp, simtime.Stamp(clock), "%s is delivery %d", d.topic, i) {
			return
		}
	}
}

// TestTheSummaryTellsHowTopicsAreConnected: by the best of those who receive them.
func TestTheSummaryTellsHowTopicsAreConnected(t *testing.T) {
	to := &peer{kind: bridges.KindNetwork, late: true}
	p := newScripted(t, &script{}, pipeline.Config{Bridges: to.registry()})
	s := addScripted(t, p, plainID, "s", "100")
	status := func() string { return p.Summary().Sensors[1].Status }
	assert.Equal(t, "disconnected", status())
	to.attach(t, p, "")
	assert.Equal(t, "connecting", status())
	listener, err := pipeline.Listen(s, "out", func(sensors.Tick, *sample.Imu) {})
	require.NoError(t, err)
	assert.Equal(t, "connected", status())
	listener.Stop()
	to.set(flow.UnexpectedlyDisconnected)
	assert.Equal(t, "unexpectedly_disconnected", status())
	to.set(flow.Connected)
	assert.Equal(t, "connected", status())
	require.NoError(t, p.Close(t.Context()))
	assert.Empty(t, status())
}

// TestWhoConnectsLateGetsTheClockFirst: and the fixed frames too, though they were
// published before.
func TestWhoConnectsLateGetsTheClockFirst(t *testing.T) {
	for name, mode := range map[string]pipeline.Mode{"stepped": pipeline.Stepped, "realtime": pipeline.Realtime} {
		t.Run(name, func(t *testing.T) {
			to := &peer{kind: bridges.KindNetwork, late: true}
			p := newScripted(t, &script{}, pipeline.Config{Bridges: to.registry(), Mode: mode})
			s := addScripted(t, p, laggyID, "s", "100")
			require.NoError(t, p.AddTransforms())
			to.attach(t, p, "")
			heard := 0
			_, err := pipeline.Listen(p.Sensors()[1], "tf_static", func(sensors.Tick, *sample.Transforms) { heard++ })
			require.NoError(t, err)
			n := 0
			hear(t, s, func(sensors.Tick, *sample.Imu) {
				if n++; n == 10 {
					to.set(flow.Connected)
				}
			})
			end := inBackground(t, p)
			to.awaitStamp(t, "/s", 0)
			to.awaitStamp(t, "/tf_static", 0)
			end()
			clockFirst(t, to.deliveries())
			assert.Len(t, to.stamps("/tf_static"), 1)

			to.set(flow.Connecting) // lost, and there again later
			require.NoError(t, p.Run(t.Context(), 100*time.Millisecond))
			to.set(flow.Connected)
			before := len(to.deliveries())
			end = inBackground(t, p)
			for _, topic := range []string{"/s", "/tf_static"} {
				to.await(t, topic+" again", func(got []delivery) bool {
					return slices.ContainsFunc(got[before:], func(d delivery) bool { return d.topic == topic })
				})
			}
			end()
			clockFirst(t, to.deliveries()[before:])
			assert.Len(t, to.stamps("/tf_static"), 2)
			assert.Equal(t, 1, heard, "who was there all the time gets them once")
		})
	}
}

// TestWhatNobodySubscribedToIsNotPublished: a bridge that knows its receivers is sent neither
// samples nor clocks that nobody wants. One that wants samples alone gets them without a clock.
func TestWhatNobodySubscribedToIsNotPublished(t *testing.T) {
	p := newScripted(t, &script{}, pipeline.Config{Bridges: bridges.MustRegistry(stream.Factory{}), ClockRate: simtime.Hz(100)})
	addScripted(t, p, plainID, "heard", "100")
	addScripted(t, p, plainID, "unheard", "100")
	require.NoError(t, p.AddBridge(t.Context(), carry.BridgeConfig{Spec: "stream:127.0.0.1:0?policy=block"}))
	address := p.Summary().Bridges[0].Endpoints[0].Address
	require.NoError(t, p.Run(t.Context(), 50*time.Millisecond))

	c, err := stream.Dial(t.Context(), address, stream.Options{Queue: flow.QueueConfig{Policy: flow.Block}})
	require.NoError(t, err)
	defer c.Close()
	stamps := make(chan int64, 100)
	require.NoError(t, c.Listen(t.Context(), "/heard", func(d *stream.Data) { stamps <- int64(d.Stamp()) }))
	require.NoError(t, p.Run(t.Context(), 50*time.Millisecond))
	for i := range 5 {
		assert.EqualValues(t, 60_000_000+i*10_000_000, <-stamps)
	}
	require.Len(t, p.Summary().Bridges, 1)
	counted := func() bool { return p.Summary().Bridges[0].Sent == 5 }
	require.Eventually(t, counted, 10*time.Second, time.Millisecond, "a message counts when it was written, which its receiver may see before")
	assert.Empty(t, p.Summary().Bridges[0].Drops)
}

// TestASensorsQualityReachesBridges, whether the sensor or the bridge is added first. What it
// doesn't give is its output's own, and another sensor's stays as it is.
func TestASensorsQualityReachesBridges(t *testing.T) {
	bridge := &peer{}
	p := newScripted(t, &script{}, pipeline.Config{Bridges: bridge.registry()})
	given := func(name string, q sensors.Quality) {
		_, err := p.AddSensor(sensors.Config{ID: plainID, Name: name, QoS: q})
		require.NoError(t, err)
	}
	given("plain", sensors.Quality{})
	given("before", sensors.Quality{Reliability: "reliable", Depth: 1000})
	require.NoError(t, p.AddBridge(t.Context(), carry.BridgeConfig{Spec: "test:x"}))
	given("after", sensors.Quality{Reliability: "best_effort", Durability: "transient_local", Depth: 5})
	own := bridge.qos["/plain"]
	assert.NotZero(t, own)
	assert.Equal(t, flow.QoS{Reliability: flow.Reliable, Durability: own.Durability, History: flow.KeepLast, Depth: 1000}, bridge.qos["/before"])
	assert.Equal(t, flow.QoS{Reliability: flow.BestEffort, Durability: flow.TransientLocal, History: flow.KeepLast, Depth: 5}, bridge.qos["/after"])
}

// stuckFile is a recording whose disk takes nothing until it is released.
type stuckFile struct {
	released  chan struct{}
	connected atomic.Bool
}

func (f *stuckFile) Info() bridges.Info {
	return bridges.Info{Name: "stuck", Type: "disk", Kind: bridges.KindFile, Summary: "a slow disk", Connection: "ANY"}
}

func (f *stuckFile) Register(p *bridges.Plugin) error {
	return bridges.RegPublisher(p, "imu", func(_ bridges.Instance, topic *bridges.PublishedTopic) (bridges.Publisher[*sample.Imu], error) {
		return func(context.Context, *sample.Imu) error {
			<-f.released
			topic.Sent(1)
			return nil
		}, nil
	})
}

func (f *stuckFile) NewInstance(bridges.Env) (bridges.Instance, error) { return f, nil }

func (f *stuckFile) Connect(context.Context, string) error {
	f.connected.Store(true)
	return nil
}

func (f *stuckFile) Disconnect(context.Context) error {
	f.connected.Store(false)
	return nil
}

func (f *stuckFile) Status() flow.Status {
	if f.connected.Load() {
		return flow.Connected
	}
	return flow.Disconnected
}

// TestARecordingThatLostMessagesIsNotComplete: what the dispatcher drops never
// reaches the bridge, and is missing in the file all the same.
func TestARecordingThatLostMessagesIsNotComplete(t *testing.T) {
	for policy, complete := range map[string]bool{"block": true, "drop_newest": false, "drop_oldest": false} {
		t.Run(policy, func(t *testing.T) {
			file := &stuckFile{released: make(chan struct{})}
			registry := bridges.MustRegistry(file)
			fake := gputest.NewFake()
			p, err := pipeline.New(t.Context(), pipeline.Config{
				Scene: scenetest.MovingWall(30, 5), Open: fake.Open, Bridges: registry,
				Sensors: sensors.Must(sensors.NewRegistry(motion.IMUDefinition)), Mode: pipeline.Realtime, ClockRate: simtime.Hz(100),
			})
			require.NoError(t, err)
			inertial, err := p.AddSensor(sensors.Config{ID: "sensor.other.imu", Name: "imu", Rate: simtime.Hz(1000)})
			require.NoError(t, err)
			fired, enough := 0, 150 // twice what the queue holds
			if complete {
				enough = 1 // a blocked loop fires no more
			}
			var load pipeline.Load
			listener, err := pipeline.Listen(inertial, "imu", func(sensors.Tick, *sample.Imu) {
				if fired++; fired == enough {
					load = p.Load()
					close(file.released)
				}
			})
			require.NoError(t, err)
			defer listener.Stop()
			require.NoError(t, p.AddBridge(t.Context(), carry.BridgeConfig{Spec: "stuck:", Policy: policy}))
			end := inBackground(t, p)
			select {
			case <-file.released:
			case <-time.After(20 * time.Second):
				t.Fatal("it doesn't fire")
			}
			end()
			require.NoError(t, p.Close(t.Context()))
			if !complete {
				assert.Positive(t, load.Workers-load.Idle, "one is stuck")
				assert.Positive(t, load.Waiting)
				assert.Positive(t, load.WaitingBytes)
				assert.Greater(t, load.Outstanding, load.Waiting)
			}
			assert.Zero(t, p.Load().Outstanding)
			summary := p.Summary()
			row := summary.Bridges[0]
			assert.Equal(t, complete, row.Drops["queue_full"] == 0)
			assert.Positive(t, row.Sent)
			assert.Equal(t, complete, summary.Complete(registry))
			assert.Equal(t, int64(fired), row.Sent+row.Drops["queue_full"])
			// A loop that a full queue held up is late, and says what it skipped.
			assert.Equal(t, row.Drops["queue_full"], summary.Sensors[1].Drops["queue_full"])
		})
	}
}

// TestTheRunsLogGoesToBridges of networks, also what sensors say.
func TestTheRunsLogGoesToBridges(t *testing.T) {
	to := &logged{peer: peer{kind: bridges.KindNetwork}}
	p := newScripted(t, &script{}, pipeline.Config{Bridges: bridges.MustRegistry(to), Log: slog.New(slog.NewTextHandler(&lockedText{}, nil))})
	sensor := addScripted(t, p, plainID, "probe", "100")
	hear(t, sensor, func(sensors.Tick, *sample.Imu) { panic("for the log") })
	require.NoError(t, p.AddBridge(t.Context(), carry.BridgeConfig{Spec: "test:x"}))
	require.NoError(t, p.Step(t.Context(), 1))
	require.Len(t, to.read(), 1)
	line := to.read()[0]
	assert.Contains(t, line.Message, "a listener panicked sensor=probe panic=for the log")
	assert.EqualValues(t, 10*ms, line.Stamp)
	assert.True(t, strings.HasSuffix(line.File, "listen.go"), line.File)
}

// logged is a bridge that carries the log, too.
type logged struct {
	peer
	mu    sync.Mutex
	lines []sample.Log
}

func (l *logged) Register(to *bridges.Plugin) error {
	return errors.Join(l.peer.Register(to),
		bridges.RegPublisher(to, "Log", func(bridges.Instance, *bridges.PublishedTopic) (bridges.Publisher[*sample.Log], error) {
			return l.write, nil
		}))
}

func (l *logged) write(_ context.Context, m *sample.Log) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, *m)
	return nil
}

func (l *logged) read() []sample.Log {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]sample.Log(nil), l.lines...)
}
