package pipeline_test

import (
	"context"
	"errors"
	"fmt"
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

func TestABridgeCarriesSensorsAddedAfterIt(t *testing.T) {
	to := &peer{}
	p := newScripted(t, &script{}, pipeline.Config{Bridges: to.registry()})
	addScripted(t, p, plainID, "early", "100")
	to.attach(t, p, "")
	late := addScripted(t, p, plainID, "late", "100")
	require.NoError(t, p.Run(t.Context(), 100*time.Millisecond))
	require.NoError(t, p.Close(t.Context()))
	assert.Equal(t, to.stamps("/early"), to.stamps("/late"))
	assert.Len(t, to.stamps("/late"), 10)
	assert.Equal(t, []string{"/late"}, late.Topics())
	assert.Equal(t, 1, to.closed)
}

func TestABridgeThatCantConnectLeavesNothing(t *testing.T) {
	refused := errors.New("nobody there")
	to := &peer{connectErr: refused}
	p := newScripted(t, &script{}, pipeline.Config{Bridges: to.registry()})
	addScripted(t, p, plainID, "s", "100")
	require.ErrorIs(t, p.AddBridge(t.Context(), carry.BridgeConfig{Spec: "test:x"}), refused)
	assert.Equal(t, 1, to.closed, "it was closed")
	to.set(flow.Connected) // on its own, late

	to.connectErr = nil
	to.attach(t, p, "")
	require.NoError(t, p.Run(t.Context(), 100*time.Millisecond))
	summary := p.Summary()
	assert.Len(t, summary.Bridges, 1)
	assert.Len(t, to.stamps("/s"), 10, "each message once")
	require.ErrorIs(t, p.AddBridge(t.Context(), carry.BridgeConfig{Spec: "test:x"}), pipeline.ErrStarted)
}

func TestAWrongPolicyClosesTheBridge(t *testing.T) {
	to := &peer{}
	p := newScripted(t, &script{}, pipeline.Config{Bridges: to.registry()})
	require.Error(t, p.AddBridge(t.Context(), carry.BridgeConfig{Spec: "test:x", Policy: "sometimes"}))
	assert.Equal(t, 1, to.closed)
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

// TestASlowPeerIsNamed: a network connection that blocks does so for a while, or for as long as
// its bridge has patience.
func TestASlowPeerIsNamed(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	for _, patience := range []time.Duration{0, time.Minute} {
		t.Run(patience.String(), func(t *testing.T) {
			release := make(chan struct{})
			to := &peer{kind: bridges.KindNetwork, patience: patience, publish: func(context.Context, string, simtime.Stamp) error {
				<-release
				return nil
			}}
			p := newUnclocked(t, &script{}, pipeline.Config{Bridges: to.registry()})
			s := addScripted(t, p, plainID, "s", "100")
			to.attach(t, p, "block")
			fired := 0
			hear(t, s, func(sensors.Tick, *sample.Imu) { fired++ })
			time.AfterFunc(1500*time.Millisecond, func() { close(release) })
			require.NoError(t, p.Run(t.Context(), 700*time.Millisecond)) // 70 messages, 64 may wait
			summary := p.Summary()
			drops := summary.Sensors[0].Drops
			if patience > 0 {
				assert.Empty(t, drops)
			} else {
				assert.Positive(t, drops["peer_slow"])
				assert.Len(t, drops, 1)
			}
			assert.Equal(t, drops, summary.Bridges[0].Drops)
			assert.EqualValues(t, fired, summary.Bridges[0].Sent+drops["peer_slow"])
		})
	}
}

// TestOneMessageAtATime: under exclusive what comes while the message before is under way
// is refused, and counted where the program counts; a stepped run waits instead.
func TestOneMessageAtATime(t *testing.T) {
	for name, mode := range modes {
		t.Run(name, func(t *testing.T) {
			var underway atomic.Int32
			to := &peer{publish: func(_ context.Context, topic string, _ simtime.Stamp) error {
				if topic == "/s" {
					assert.EqualValues(t, 1, underway.Add(1))
					time.Sleep(3 * time.Millisecond) // longer than the sensor's period
					underway.Add(-1)
				}
				return nil
			}}
			p := newScripted(t, &script{}, pipeline.Config{Mode: mode, Bridges: to.registry()})
			s := addScripted(t, p, plainID, "s", "1000")
			to.attach(t, p, "exclusive")
			fired := int64(0)
			hear(t, s, func(sensors.Tick, *sample.Imu) { fired++ })
			require.NoError(t, p.Run(t.Context(), 100*time.Millisecond))
			sent, busy := int64(len(to.stamps("/s"))), p.Summary().Bridges[0].Drops[flow.CauseTokenBusy]
			assert.Equal(t, fired, sent+busy)
			assert.Equal(t, mode == pipeline.Realtime, busy > 0)
			assert.Equal(t, busy, p.Summary().Sensors[1].Drops[flow.CauseTokenBusy])
		})
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
	stop, err := pipeline.Listen(s, "out", func(sensors.Tick, *sample.Imu) {})
	require.NoError(t, err)
	assert.Equal(t, "connected", status())
	stop()
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

// TestReceiversAreCounted by topic and by bridge, of which the topic counts that has most.
func TestReceiversAreCounted(t *testing.T) {
	p := newScripted(t, &script{}, pipeline.Config{Bridges: bridges.MustRegistry(stream.Factory{}), ClockRate: simtime.Hz(100)})
	addScripted(t, p, plainID, "one", "100")
	addScripted(t, p, plainID, "two", "100")
	require.NoError(t, p.AddBridge(t.Context(), carry.BridgeConfig{Spec: "stream:127.0.0.1:0"}))
	address := p.Summary().Bridges[0].Endpoints[0].Address
	for _, topics := range [][]string{{"/one"}, {"/one", "/two"}} {
		c, err := stream.Dial(t.Context(), address, stream.Options{})
		require.NoError(t, err)
		defer c.Close()
		for _, topic := range topics {
			require.NoError(t, c.Listen(t.Context(), topic, func(*stream.Data) {}))
		}
	}
	for name, want := range map[string]int{"/one": 2, "/two": 1, "/clock": 0, "stream": 2} {
		require.Eventually(t, func() bool {
			n, err := p.Receivers(name)
			return err == nil && n == want
		}, 10*time.Second, time.Millisecond, name)
	}
	_, err := p.Receivers("/tow")
	require.ErrorIs(t, err, carry.ErrNoTopic)
	assert.ErrorContains(t, err, "did you mean /two?")
}

// TestABridgeTellsWhatItDoesNotCarry: once, all topics together, and those of sensors
// that are added later.
func TestABridgeTellsWhatItDoesNotCarry(t *testing.T) {
	const told = "does not carry them"
	var log strings.Builder
	p := newScripted(t, &script{}, pipeline.Config{
		Bridges: bridges.MustRegistry(&slowClock{}), ClockRate: simtime.Hz(100), Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	addScripted(t, p, plainID, "a", "20")
	addScripted(t, p, plainID, "b", "20")
	require.NoError(t, p.AddBridge(t.Context(), carry.BridgeConfig{Spec: "watch:clock"}))
	lines := func() (list []string) {
		for line := range strings.Lines(log.String()) {
			if strings.Contains(line, told) {
				list = append(list, strings.TrimSpace(line))
			}
		}
		return list
	}
	require.Len(t, lines(), 1, log.String())
	assert.Contains(t, lines()[0], `level=WARN`)
	assert.Contains(t, lines()[0], `bridge=watch:clock topics="/a /b`)
	assert.NotContains(t, lines()[0], "/clock ")
	assert.Contains(t, lines()[0], "has=Clock")

	_, err := p.AddSensor(sensors.Config{ID: plainID, Name: "a"})
	require.Error(t, err, "the name is taken")
	addScripted(t, p, plainID, "c", "20")
	require.Len(t, lines(), 2, log.String())
	assert.Contains(t, lines()[1], `topics=/c`)
	require.NoError(t, p.Step(t.Context(), 10))
	assert.Len(t, lines(), 2)
	for i := range 100 {
		s := addScripted(t, p, plainID, fmt.Sprint("episode_", i), "20")
		require.NoError(t, s.Destroy(t.Context()))
	}
	assert.Greater(t, len(lines()), 9)
	assert.Less(t, len(lines()), 20, "the later ones are counted")
}

// TestOnlyARunInRealTimeWarnsOfWaiting: in steps the run is to wait for files and peers, and no
// rate or policy would change that.
func TestOnlyARunInRealTimeWarnsOfWaiting(t *testing.T) {
	for name, mode := range map[string]pipeline.Mode{"stepped": pipeline.Stepped, "realtime": pipeline.Realtime} {
		for _, kind := range []bridges.Kind{bridges.KindFile, bridges.KindNetwork} {
			t.Run(fmt.Sprint(name, " ", kind), func(t *testing.T) {
				var log lockedText
				to := &peer{kind: kind}
				p := newScripted(t, &script{}, pipeline.Config{Mode: mode, Bridges: to.registry(), Log: slog.New(slog.NewTextHandler(&log, nil))})
				var waited sync.Once
				to.publish = func(ctx context.Context, _ string, _ simtime.Stamp) error {
					waited.Do(func() {
						for p.Load().Blocked == 0 && ctx.Err() == nil {
							time.Sleep(100 * time.Microsecond)
						}
					})
					return nil
				}
				addScripted(t, p, plainID, "fast", "1000")
				to.attach(t, p, "block")
				require.NoError(t, p.Run(t.Context(), 200*time.Millisecond))
				assert.Equal(t, mode == pipeline.Realtime, strings.Contains(log.String(), "the sender waits"), log.String())
			})
		}
	}
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

// renamed is a scripted bridge under another name.
type renamed struct{ *peer }

func (r renamed) Info() bridges.Info {
	info := r.peer.Info()
	info.Name = "test_custom"
	return info
}

// TestTwoBridgesOfOneType run together, and the summary has both by their names.
func TestTwoBridgesOfOneType(t *testing.T) {
	original, variant := &peer{kind: bridges.KindFile}, &peer{kind: bridges.KindFile}
	registry := bridges.MustRegistry(original, renamed{variant})
	p := newScripted(t, &script{}, pipeline.Config{Bridges: registry})
	addScripted(t, p, plainID, "probe", "10")
	for _, spec := range []string{"test_custom:b", "test:a"} {
		require.NoError(t, p.AddBridge(t.Context(), carry.BridgeConfig{Spec: spec}))
	}
	require.NoError(t, p.Run(t.Context(), time.Second))
	require.NoError(t, p.Close(t.Context()))
	assert.NotEmpty(t, original.deliveries())
	assert.Equal(t, original.deliveries(), variant.deliveries())
	summary := p.Summary()
	for i, want := range [][3]string{{"test_custom", "test", "b"}, {"test", "test", "a"}} {
		row := summary.Bridges[i]
		assert.Equal(t, want, [3]string{row.Name, row.Type, row.Connection})
		assert.EqualValues(t, len(original.deliveries()), row.Sent)
	}
	assert.True(t, summary.Complete(registry))
}

// TestALostConnectionIsToldOnce: by the bridge. That its topics fail for it is counted, and
// other failures are logged.
func TestALostConnectionIsToldOnce(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		cause  flow.Cause
		logged bool
	}{
		"not connected": {flow.ErrNotConnected, "not_connected", false},
		"too large":     {flow.ErrTooLarge, "too_large", true},
	} {
		t.Run(name, func(t *testing.T) {
			var log lockedText
			to := &peer{kind: bridges.KindNetwork}
			to.publish = func(_ context.Context, topic string, _ simtime.Stamp) error {
				if topic == "/probe" {
					to.set(flow.UnexpectedlyDisconnected)
					return errors.Join(errors.New("peer"), c.err)
				}
				return nil
			}
			p := newScripted(t, &script{}, pipeline.Config{Bridges: to.registry(), Log: slog.New(slog.NewTextHandler(&log, nil))})
			addScripted(t, p, plainID, "probe", "10")
			require.NoError(t, p.AddBridge(t.Context(), carry.BridgeConfig{Spec: "test:x"}))
			require.NoError(t, p.Step(t.Context(), 20))
			require.NoError(t, p.Close(t.Context()))
			if c.logged {
				assert.Contains(t, log.String(), "publish failed")
			} else {
				assert.NotContains(t, log.String(), "publish failed")
			}
			assert.Positive(t, p.Summary().Sensors[1].Drops[c.cause])
		})
	}
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
			stop, err := pipeline.Listen(inertial, "imu", func(sensors.Tick, *sample.Imu) {
				if fired++; fired == enough {
					load = p.Load()
					close(file.released)
				}
			})
			require.NoError(t, err)
			defer stop()
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
