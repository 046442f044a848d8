package pipeline_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
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
	require.ErrorIs(t, p.AddBridge(t.Context(), pipeline.BridgeConfig{Spec: "test:x"}), refused)
	assert.Equal(t, 1, to.closed, "it was closed")
	to.set(bridges.Connected) // on its own, late

	to.connectErr = nil
	to.attach(t, p, "")
	require.NoError(t, p.Run(t.Context(), 100*time.Millisecond))
	summary := p.Summary()
	assert.Len(t, summary.Bridges, 1)
	assert.Len(t, to.stamps("/s"), 10, "each message once")
	require.ErrorIs(t, p.AddBridge(t.Context(), pipeline.BridgeConfig{Spec: "test:x"}), pipeline.ErrStarted)
}

func TestAWrongPolicyClosesTheBridge(t *testing.T) {
	to := &peer{}
	p := newScripted(t, &script{}, pipeline.Config{Bridges: to.registry()})
	require.Error(t, p.AddBridge(t.Context(), pipeline.BridgeConfig{Spec: "test:x", Policy: "sometimes"}))
	assert.Equal(t, 1, to.closed)
}

func TestTheClocksTopicIsTaken(t *testing.T) {
	p := newScripted(t, &script{}, pipeline.Config{})
	_, err := p.AddSensor(pipeline.SensorConfig{ID: plainID, Name: "clock"})
	require.ErrorIs(t, err, pipeline.ErrTopic)
}

// TestAStepsClockIsSentFirst is law T4 for a peer: it learns of an instant before
// it gets what was measured then, whatever the dispatcher's workers do.
func TestAStepsClockIsSentFirst(t *testing.T) {
	to := &peer{kind: bridges.KindNetwork, publish: func(_ context.Context, topic string, _ int64) error {
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
			clock = d.stamp
		} else if !assert.LessOrEqual(t, d.stamp, clock, "%s is delivery %d", d.topic, i) {
			return
		}
	}
}

// TestASlowPeerIsNamed: a network connection that blocks does so for a while.
func TestASlowPeerIsNamed(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	release := make(chan struct{})
	to := &peer{kind: bridges.KindNetwork, publish: func(context.Context, string, int64) error {
		<-release
		return nil
	}}
	p := newScripted(t, &script{}, pipeline.Config{Bridges: to.registry(), ClockHz: -1})
	s := addScripted(t, p, plainID, "s", "100")
	to.attach(t, p, "block")
	fired := 0
	hear(t, s, func(sensors.Tick, *sample.Imu) { fired++ })
	time.AfterFunc(1500*time.Millisecond, func() { close(release) })
	require.NoError(t, p.Run(t.Context(), 700*time.Millisecond)) // 70 messages, 64 may wait
	summary := p.Summary()
	drops := summary.Sensors[0].Drops
	assert.Positive(t, drops["peer_slow"])
	assert.Len(t, drops, 1)
	assert.Equal(t, drops, summary.Bridges[0].Drops)
	assert.EqualValues(t, fired, summary.Bridges[0].Sent+drops["peer_slow"])
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
					to.set(bridges.Connected)
				}
			})
			end := inBackground(t, p)
			to.awaitStamp(t, "/s", 0)
			to.awaitStamp(t, "/tf_static", 0)
			end()
			clockFirst(t, to.deliveries())
			assert.Len(t, to.stamps("/tf_static"), 1)

			to.set(bridges.Connecting) // lost, and there again later
			require.NoError(t, p.Run(t.Context(), 100*time.Millisecond))
			to.set(bridges.Connected)
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
