package carry_test

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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/stream"
	"github.com/raybridge/raybridge/dispatch"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/pipeline/carry"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

var modes = map[string]bool{"stepped": true, "realtime": false}

func TestABridgeCarriesSensorsAddedAfterIt(t *testing.T) {
	to := &peer{}
	h := newHost(t, true, to)
	early := h.join(newProbe("early"))
	h.attach("test:x", "")
	late := h.join(newProbe("late"))
	for at := range simtime.Stamp(10) {
		h.instant(at)
		early.publish(at)
		late.publish(at)
	}
	h.drain()
	assert.Len(t, to.stamps("/late"), 10)
	assert.Equal(t, to.stamps("/early"), to.stamps("/late"))
	require.NoError(t, h.Close(t.Context()))
	assert.Equal(t, 1, to.closed)
}

func TestABridgeThatCantConnectLeavesNothing(t *testing.T) {
	refused := errors.New("nobody there")
	to := &peer{connectErr: refused}
	h := newHost(t, true, to)
	s := h.join(newProbe("s"))
	require.ErrorIs(t, h.Add(t.Context(), carry.BridgeConfig{Spec: "test:x"}), refused)
	assert.Equal(t, 1, to.closed, "it was closed")
	to.set(flow.Connected) // on its own, late
	assert.False(t, s.topics.Listening())

	to.connectErr = nil
	h.attach("test:x", "")
	h.instant(1)
	s.publish(1)
	h.drain()
	assert.Len(t, h.Rows(), 1)
	assert.Len(t, to.stamps("/s"), 1, "each message once")
}

func TestAWrongPolicyClosesTheBridge(t *testing.T) {
	to := &peer{}
	h := newHost(t, true, to)
	require.Error(t, h.Add(t.Context(), carry.BridgeConfig{Spec: "test:x", Policy: "sometimes"}))
	assert.Equal(t, 1, to.closed)
}

// TestJoinIsAllOrNothing: sensors that a bridge refuses leave nothing of those before.
func TestJoinIsAllOrNothing(t *testing.T) {
	to := &peer{}
	h := newHost(t, true, to)
	h.attach("test:x", "")
	s := newProbe("s")
	require.ErrorContains(t, h.Join([]*carry.Topics{s.topics, newProbe("s").topics}), "/s")
	assert.False(t, s.topics.Listening())
	h.instant(1)
	assert.True(t, h.join(s).topics.Listening(), "its topic is free")
	h.Leave([]*carry.Topics{s.topics})
	assert.True(t, h.join(newProbe("s")).topics.Listening(), "again")
}

// TestAStepsClockIsSentFirst is law T4 for a peer: it learns of an instant before it gets what was
// measured then, whatever the dispatcher's workers do.
func TestAStepsClockIsSentFirst(t *testing.T) {
	to := &peer{kind: bridges.KindNetwork, publish: func(topic string) error {
		if topic == carry.ClockTopic {
			time.Sleep(time.Millisecond) // a worker that is slow with just this
		}
		return nil
	}}
	h := newHost(t, true, to)
	s := h.join(newProbe("s"))
	h.attach("test:x", "")
	for at := range simtime.Stamp(30) {
		h.instant(at)
		s.publish(at)
	}
	h.drain()
	clock := simtime.Stamp(-1)
	for _, d := range to.deliveries() {
		if d.topic == carry.ClockTopic {
			clock = d.stamp
		} else {
			assert.LessOrEqual(t, d.stamp, clock)
		}
	}
	assert.Len(t, to.stamps("/s"), 30)
}

// TestSamplesWaitForTheClock is law T4 in real time, and for a bridge that connects late.
func TestSamplesWaitForTheClock(t *testing.T) {
	to := &peer{kind: bridges.KindNetwork}
	h := newHost(t, false, to)
	s := h.join(newProbe("s"))
	h.attach("test:x", "")
	h.PublishClock(t.Context(), 1)
	s.publish(2)
	assert.Empty(t, to.stamps("/s"))
	h.PublishClock(t.Context(), 2)
	h.drain()
	assert.Equal(t, []simtime.Stamp{2}, to.stamps("/s"))

	to.set(flow.Connecting)
	h.PublishClock(t.Context(), 3)
	to.set(flow.Connected)
	assert.False(t, s.topics.Listening(), "it has no clock yet")
	h.PublishClock(t.Context(), 4)
	assert.True(t, s.topics.Listening())
}

// TestARecordingsTimes are the instants of a stepped run at which its messages were queued.
func TestARecordingsTimes(t *testing.T) {
	to := &peer{kind: bridges.KindFile}
	h := newHost(t, true, to)
	s := h.join(newProbe("s"))
	h.attach("test:x", "")
	for _, at := range []simtime.Stamp{10, 20} {
		h.SetInstant(at)
		s.publish(at - 5) // as a late capture is
	}
	h.SetInstant(30)
	h.drain()
	assert.Equal(t, []delivery{{"/s", 5, 10}, {"/s", 15, 20}}, to.deliveries())
}

// TestOneMessageAtATime: under exclusive what comes while the message before is under way is
// refused, and counted where the program counts; a stepped run waits instead.
func TestOneMessageAtATime(t *testing.T) {
	for name, stepped := range modes {
		t.Run(name, func(t *testing.T) {
			var underway atomic.Int32
			to := &peer{publish: func(topic string) error {
				if topic == "/s" {
					assert.EqualValues(t, 1, underway.Add(1))
					time.Sleep(3 * time.Millisecond)
					underway.Add(-1)
				}
				return nil
			}}
			h := newHost(t, stepped, to)
			s := h.join(newProbe("s"))
			h.attach("test:x", "exclusive")
			h.dispatcher.ReleaseAll()
			for at := range simtime.Stamp(20) {
				s.publish(at)
			}
			h.drain()
			sent, busy := len(to.stamps("/s")), h.Rows()[0].Drops[flow.CauseTokenBusy]
			assert.EqualValues(t, 20, int64(sent)+busy)
			assert.Equal(t, !stepped, busy > 0)
			assert.Equal(t, busy, s.row().Drops[flow.CauseTokenBusy])
			assert.EqualValues(t, sent, s.row().Messages)
		})
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
			to := &peer{kind: bridges.KindNetwork, patience: patience, publish: func(string) error {
				<-release
				return nil
			}}
			h := newHost(t, false, to)
			s := h.join(newProbe("s"))
			h.attach("test:x", "block")
			h.dispatcher.ReleaseAll()
			time.AfterFunc(1500*time.Millisecond, func() { close(release) })
			for at := range simtime.Stamp(70) { // 64 may wait
				s.publish(at)
			}
			h.drain()
			drops := s.row().Drops
			if patience > 0 {
				assert.Empty(t, drops)
			} else {
				assert.Positive(t, drops[flow.CausePeerSlow])
				assert.Len(t, drops, 1)
			}
			row := h.Rows()[0]
			assert.Equal(t, drops, row.Drops)
			assert.EqualValues(t, 70, row.Sent+drops[flow.CausePeerSlow])
		})
	}
}

// TestALossCountsOnce: what a bridge lost is in its row and in the sensor's, and counts once. A firing that no bridge was
// to have counts, and so does what an input lost. An empty scan is not a loss.
func TestALossCountsOnce(t *testing.T) {
	to := &peer{kind: bridges.KindNetwork, publish: func(string) error { return flow.ErrTooLarge }}
	h := newHost(t, false, to)
	s := h.join(newProbe("s"))
	h.attach("test:x", "")
	h.dispatcher.ReleaseAll()
	for at := range simtime.Stamp(3) {
		s.publish(at)
		h.drain()
	}
	s.topics.Dropped(flow.CauseReadbackFull)
	s.topics.Dropped(flow.CauseNoReturn)
	s.topics.Dropped(flow.CauseTooLarge)
	inlets := []carry.InputSummary{{Drops: flow.Drops{flow.CauseQueueFull: 2}}}
	want := flow.Drops{flow.CauseTooLarge: 4, flow.CauseReadbackFull: 1, flow.CauseQueueFull: 2}
	assert.Equal(t, want, carry.Lost([]carry.SensorSummary{s.row()}, h.Rows(), inlets))
	assert.Equal(t, flow.Drops{flow.CauseTooLarge: 4, flow.CauseReadbackFull: 1, flow.CauseNoReturn: 1}, s.row().Drops, "the sensor's row has both")

	former := carry.Former{}.With([]carry.SensorSummary{s.row()}, inlets).With([]carry.SensorSummary{s.row()}, nil)
	want[flow.CauseReadbackFull], want[flow.CauseTooLarge] = 2, 5
	assert.Equal(t, want, carry.Lost(former.Sensors, h.Rows(), former.Inputs), "of sensors that have ended, too")
	assert.Equal(t, flow.Drops{}, carry.Lost(nil, nil, nil))
}

// TestOnlyARunInRealTimeWarnsOfWaiting: in steps the run is to wait for files and peers, and no
// rate or policy would change that.
func TestOnlyARunInRealTimeWarnsOfWaiting(t *testing.T) {
	for name, stepped := range modes {
		for _, kind := range []bridges.Kind{bridges.KindFile, bridges.KindNetwork} {
			t.Run(fmt.Sprint(name, " ", kind), func(t *testing.T) {
				to := &peer{kind: kind}
				h := newHost(t, stepped, to)
				var waited sync.Once
				to.publish = func(string) error {
					waited.Do(func() {
						for !blocked(h) {
							time.Sleep(100 * time.Microsecond)
						}
					})
					return nil
				}
				s := h.join(newProbe("fast"))
				h.attach("test:x", "block")
				h.dispatcher.ReleaseAll()
				for at := range simtime.Stamp(200) {
					s.publish(at)
				}
				h.drain()
				assert.Equal(t, !stepped, strings.Contains(h.log.String(), "the sender waits"), h.log.String())
			})
		}
	}
}

// blocked reports whether a sender waits for room in a queue.
func blocked(h *host) bool {
	return slices.ContainsFunc(h.dispatcher.Stats().Topics, func(t dispatch.TopicStats) bool { return t.Blocked > 0 })
}

// TestReceiversAreCounted by topic and by bridge, of which the topic counts that has most.
func TestReceiversAreCounted(t *testing.T) {
	h := newHost(t, true, stream.Factory{})
	h.join(newProbe("one"))
	h.join(newProbe("two"))
	h.attach("stream:127.0.0.1:0", "")
	address := h.Rows()[0].Endpoints[0].Address
	for _, topics := range [][]string{{"/one"}, {"/one", "/two"}} {
		c, err := stream.Dial(t.Context(), address, stream.Options{})
		require.NoError(t, err)
		defer c.Close()
		for _, topic := range topics {
			require.NoError(t, c.Listen(t.Context(), topic, func(*stream.Data) {}))
		}
	}
	for name, want := range map[string]int{"/one": 2, "/two": 1, carry.ClockTopic: 0, "stream": 2} {
		require.Eventually(t, func() bool {
			n, err := h.Receivers(name)
			return err == nil && n == want
		}, 10*time.Second, time.Millisecond, name)
	}
	_, err := h.Receivers("/tow")
	require.ErrorIs(t, err, carry.ErrNoTopic)
	assert.ErrorContains(t, err, "did you mean /two?")
}

// clockOnly is a bridge that carries /clock alone.
type clockOnly struct{ *peer }

func (c clockOnly) Register(to *bridges.Plugin) error {
	return publishes[*sample.Clock](to, "Clock")
}

// TestABridgeTellsWhatItDoesNotCarry: once, all topics together, and those of sensors
// that are added later.
func TestABridgeTellsWhatItDoesNotCarry(t *testing.T) {
	h := newHost(t, true, clockOnly{&peer{name: "watch"}})
	h.join(newProbe("a"))
	h.join(newProbe("b"))
	h.attach("watch:clock", "")
	lines := func() []string { return h.log.lines("does not carry them") }
	require.Len(t, lines(), 1, h.log.String())
	assert.Contains(t, lines()[0], `level=WARN`)
	assert.Contains(t, lines()[0], `bridge=watch:clock topics="/a /b`)
	assert.NotContains(t, lines()[0], "/clock ")
	assert.Contains(t, lines()[0], "has=Clock")

	h.join(newProbe("c"))
	require.Len(t, lines(), 2, h.log.String())
	assert.Contains(t, lines()[1], `topics=/c`)
	for i := range 100 {
		p := h.join(newProbe(fmt.Sprint("episode_", i)))
		h.Leave([]*carry.Topics{p.topics})
	}
	assert.Greater(t, len(lines()), 9)
	assert.Less(t, len(lines()), 20, "the later ones are counted")
}

// TestTwoBridgesOfOneType run together, and the summary has both by their names.
func TestTwoBridgesOfOneType(t *testing.T) {
	original, variant := &peer{kind: bridges.KindFile}, &peer{name: "test_custom", kind: bridges.KindFile}
	h := newHost(t, true, original, variant)
	s := h.join(newProbe("probe"))
	h.attach("test_custom:b", "")
	h.attach("test:a", "")
	for at := range simtime.Stamp(10) {
		h.instant(at)
		s.publish(at)
	}
	h.drain()
	assert.Len(t, original.deliveries(), 20)
	assert.Equal(t, original.deliveries(), variant.deliveries())
	rows := h.Rows()
	for i, want := range [][3]string{{"test_custom", "test", "b"}, {"test", "test", "a"}} {
		assert.Equal(t, want, [3]string{rows[i].Name, rows[i].Type, rows[i].Connection})
		assert.EqualValues(t, 20, rows[i].Sent)
	}
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
			to := &peer{kind: bridges.KindNetwork, publish: func(topic string) error {
				if topic == "/probe" {
					return errors.Join(errors.New("peer"), c.err)
				}
				return nil
			}}
			h := newHost(t, true, to)
			s := h.join(newProbe("probe"))
			h.attach("test:x", "")
			h.instant(1)
			s.publish(1)
			h.drain()
			assert.Equal(t, c.logged, strings.Contains(h.log.String(), "publish failed"), h.log.String())
			assert.Positive(t, s.row().Drops[c.cause])
		})
	}
}

// TestAFullDiskEndsTheRun, and a peer that can't be written to doesn't.
func TestAFullDiskEndsTheRun(t *testing.T) {
	for _, kind := range []bridges.Kind{bridges.KindFile, bridges.KindNetwork} {
		t.Run(fmt.Sprint(kind), func(t *testing.T) {
			to := &peer{kind: kind, publish: func(string) error { return flow.ErrWriteFailed }}
			h := newHost(t, true, to)
			s := h.join(newProbe("s"))
			h.attach("test:x", "")
			s.publish(1)
			h.drain()
			h.mu.Lock()
			defer h.mu.Unlock()
			if kind == bridges.KindNetwork {
				assert.Empty(t, h.failed)
				return
			}
			require.Len(t, h.failed, 1)
			require.ErrorIs(t, h.failed[0], flow.ErrWriteFailed)
			assert.ErrorContains(t, h.failed[0], "bridge test")
		})
	}
}

// TestTheLogGoesToNetworks: with its attributes, and where it went before; not into
// recordings, which are to be the same in every run.
func TestTheLogGoesToNetworks(t *testing.T) {
	for name, kind := range map[string]bridges.Kind{"network": bridges.KindNetwork, "file": bridges.KindFile} {
		t.Run(name, func(t *testing.T) {
			to := &peer{kind: kind}
			h := newHost(t, true, to)
			h.attach("test:x", "")
			h.instant(7)
			h.logger.With("sensor", "probe").WithGroup("capture").Error("it failed", "at", 3)
			h.drain()
			assert.Len(t, h.log.lines("it failed"), 1)
			if kind == bridges.KindFile {
				assert.Empty(t, to.read())
				return
			}
			require.Len(t, to.read(), 1)
			line := to.read()[0]
			assert.Equal(t, "it failed sensor=probe capture.at=3", line.Message)
			assert.Equal(t, slog.LevelError, line.Level)
			assert.EqualValues(t, 7, line.Stamp)
			assert.True(t, strings.HasSuffix(line.File, "carry_test.go"), line.File)
			assert.Positive(t, line.Line)
		})
	}
}

// sink is a bridge that keeps nothing.
type sink struct{ *peer }

func (s sink) Register(to *bridges.Plugin) error {
	return bridges.RegPublisher(to, "Imu", func(bridges.Instance, *bridges.PublishedTopic) (bridges.Publisher[*sample.Imu], error) {
		return func(context.Context, *sample.Imu) error { return nil }, nil
	})
}

// TestCarryingCostsNoMemory, once the pools are full.
func TestCarryingCostsNoMemory(t *testing.T) {
	h := newHost(t, true, sink{&peer{}})
	s := h.join(newProbe("s"))
	h.attach("test:x", "")
	message := &sample.Imu{}
	queue := func() { s.out.TryQueue(sensors.Tick{Started: time.Now()}, message) }
	for range 1000 {
		queue()
	}
	assert.Zero(t, testing.AllocsPerRun(2000, queue))
}

// TestSkippedClock: a time of /clock that nobody was to have isn't lost.
func TestSkippedClock(t *testing.T) {
	to := &peer{kind: bridges.KindNetwork, deaf: true}
	h := newHost(t, false, to)
	skip := func(want flow.Drops) {
		t.Helper()
		h.SkippedClock(2)
		row := h.ClockRow(0)
		assert.Equal(t, want, row.Drops)
		assert.Equal(t, len(want), len(carry.Lost([]carry.SensorSummary{row}, h.Rows(), nil)))
	}
	skip(flow.Drops{}) // without a bridge
	h.attach("test:x", "")
	skip(flow.Drops{})
	assert.True(t, h.ClockRow(0).Idle)
	to.setDeaf(false)
	skip(flow.Drops{flow.CauseSkipped: 2})
	assert.False(t, h.ClockRow(0).Idle)
	to.set(flow.Disconnected)
	skip(flow.Drops{flow.CauseSkipped: 2})
}
