package pipeline_test

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/pipeline/carry"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// clockWatch is a bridge that carries the clock alone and keeps of it what tells
// whether its deadlines drift, however long it runs.
type clockWatch struct {
	period time.Duration

	mu     sync.Mutex
	count  int
	begin  time.Time       // when the first message came
	phases []time.Duration // of the messages since the last median
	median time.Duration   // the last one
	moved  time.Duration   // from the first median to the last
	judged bool            // there is a median
}

// medianOf is how many messages' phases make a median, which leaves out those
// that are published late.
const medianOf = 100

func (w *clockWatch) Info() bridges.Info {
	return bridges.Info{Name: "watch", Type: "watch", Kind: bridges.KindNetwork, Summary: "watches the clock", Connection: "ANY"}
}

func (w *clockWatch) Register(to *bridges.Plugin) error {
	return bridges.RegPublisher(to, "Clock", func(bridges.Instance, *bridges.PublishedTopic) (bridges.Publisher[*sample.Clock], error) {
		return func(context.Context, *sample.Clock) error { w.add(time.Now()); return nil }, nil
	})
}

func (w *clockWatch) NewInstance(bridges.Env) (bridges.Instance, error) { return w, nil }

func (w *clockWatch) Status() flow.Status { return flow.Connected }

func (w *clockWatch) Connect(context.Context, string) error { return nil }

func (w *clockWatch) Disconnect(context.Context) error { return nil }

// reset forgets what was seen so far.
func (w *clockWatch) reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count, w.phases, w.moved, w.judged = 0, nil, 0, false
}

// add counts a message that came at the instant.
func (w *clockWatch) add(now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.count == 0 {
		w.begin = now
	}
	w.count++
	if w.phases = append(w.phases, w.nearest(now.Sub(w.begin))); len(w.phases) < medianOf {
		return
	}
	slices.Sort(w.phases)
	median := w.phases[medianOf/2]
	if w.judged {
		w.moved += w.nearest(median - w.median)
	}
	w.median, w.judged, w.phases = median, true, w.phases[:0]
}

// nearest is how far d lies from the nearest multiple of the period: what lateness
// adds, and what a drift would.
func (w *clockWatch) nearest(d time.Duration) time.Duration {
	d %= w.period
	switch {
	case d > w.period/2:
		return d - w.period
	case d < -w.period/2:
		return d + w.period
	}
	return d
}

// seen returns how many messages there were, and how far the deadlines moved
// from the first of them to the last.
func (w *clockWatch) seen() (count int, moved time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.count, w.moved
}

// slowClock is a bridge that takes a while for each clock, and heeds its context.
type slowClock struct{ clockWatch }

func (s *slowClock) Register(to *bridges.Plugin) error {
	return bridges.RegPublisher(to, "Clock", func(bridges.Instance, *bridges.PublishedTopic) (bridges.Publisher[*sample.Clock], error) {
		return func(ctx context.Context, _ *sample.Clock) error {
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(5 * time.Millisecond):
				return nil
			}
		}, nil
	})
}

func (s *slowClock) NewInstance(bridges.Env) (bridges.Instance, error) { return s, nil }

// A run may end while its clock is being published: that message isn't lost.
func TestTheEndOfARunLetsTheClockFinish(t *testing.T) {
	p, err := pipeline.New(t.Context(), pipeline.Config{
		Scene: scenetest.MovingWall(30, 5), Open: gputest.NewFake().Open, Bridges: bridges.MustRegistry(&slowClock{}),
		Sensors: sensors.Must(sensors.NewRegistry()), Mode: pipeline.Realtime, ClockRate: simtime.Hz(1000),
	})
	require.NoError(t, err)
	require.NoError(t, p.AddBridge(t.Context(), carry.BridgeConfig{Spec: "watch:clock"}))
	for range 10 {
		require.NoError(t, p.Run(t.Context(), 10*time.Millisecond))
	}
	require.NoError(t, p.Close(t.Context()))
	summary := p.Summary()
	assert.Empty(t, summary.Bridges[0].Drops)
	assert.NotContains(t, summary.Sensors[0].Drops, "closed")
	assert.Positive(t, summary.Sensors[0].Messages)
}

// TestSkippedClocksAreCountedAtOnce: those who watch over a run see them while it lasts.
func TestSkippedClocksAreCountedAtOnce(t *testing.T) {
	p, err := pipeline.New(t.Context(), pipeline.Config{
		Scene: scenetest.MovingWall(30, 5), Open: gputest.NewFake().Open, Bridges: bridges.MustRegistry(&slowClock{}),
		Sensors: sensors.Must(sensors.NewRegistry()), Mode: pipeline.Realtime, ClockRate: simtime.Hz(1000),
	})
	require.NoError(t, err)
	t.Cleanup(func() { _ = p.Close(context.Background()) })
	require.NoError(t, p.AddBridge(t.Context(), carry.BridgeConfig{Spec: "watch:clock"}))
	end := inBackground(t, p)
	require.Eventually(t, func() bool { return p.Summary().Sensors[0].Drops[flow.CauseSkipped] > 0 }, 20*time.Second, time.Millisecond)
	own := p.Measures().Own
	i := slices.IndexFunc(own, func(m carry.TopicMeasures) bool { return m.Topic == carry.ClockTopic })
	assert.Positive(t, own[i].Drops[flow.CauseSkipped])
	assert.True(t, p.Running())
	end()
}

// rosTime is a realtime run in the background whose bridge brings and takes /clock.
type rosTime struct {
	*wheel
	t      *testing.T
	p      *pipeline.Pipeline
	stamps chan int64 // of a sensor
	at     int64      // what the bridge's /clock said last
	end    func()
}

func runROSTime(t *testing.T, source string) *rosTime {
	r := &rosTime{wheel: &wheel{}, t: t, stamps: make(chan int64, 100)}
	r.p = newScripted(t, &script{}, pipeline.Config{Bridges: r.registry(), Mode: pipeline.Realtime, TimeSource: source})
	s := addScripted(t, r.p, plainID, "probe", "10")
	hear(t, s, func(at sensors.Tick, _ *sample.Imu) {
		select {
		case r.stamps <- int64(at.Due):
		default:
		}
	})
	r.attach(t, r.p)
	r.end = inBackground(t, r.p)
	return r
}

func (r *rosTime) eventually(what string, f func() bool) {
	r.t.Helper()
	require.Eventually(r.t, f, 20*time.Second, time.Millisecond, what)
}

// tell advances the bridge's /clock, if it is subscribed to.
func (r *rosTime) tell() bool {
	r.at += int64(50 * time.Millisecond)
	return r.bring("/clock", &sample.Clock{Stamp: simtime.Stamp(r.at)})
}

// awaitFollowing waits until a sensor fires at the time that the bridge's /clock tells,
// from the given one on.
func (r *rosTime) awaitFollowing(from time.Duration) {
	r.t.Helper()
	r.at = int64(from)
	r.eventually("sensors follow /clock", func() bool {
		r.tell()
		select {
		case stamp := <-r.stamps:
			return stamp > int64(from) && stamp <= r.at
		default:
			return false
		}
	})
}

// clocks are the stamps that the bridge was given of /clock.
func (r *rosTime) clocks() []int64 { return r.wheel.stamps("/clock") }

// TestAROSClockIsFollowed: it is not published to the bridge that it comes from.
func TestAROSClockIsFollowed(t *testing.T) {
	r := runROSTime(t, simtime.ROS2)
	assert.Greater(t, r.p.Clock().Now(), simtime.Stamp(time.Hour), "the time since the epoch")
	r.awaitFollowing(100 * time.Second)
	r.end()
	assert.Empty(t, r.clocks())
}

// A source that is chosen during a run is followed at once, there and back.
func TestAROSClockIsFollowedFromItsChoiceOn(t *testing.T) {
	r := runROSTime(t, simtime.Engine)
	r.eventually("the engine's clock is published", func() bool { return len(r.clocks()) > 0 })
	assert.False(t, r.tell(), "nobody asked for /clock")

	require.NoError(t, r.p.Clock().Select(simtime.ROS2))
	r.awaitFollowing(100 * time.Second)
	published := len(r.clocks())
	r.awaitFollowing(200 * time.Second)
	assert.Len(t, r.clocks(), published, "not published to where it comes from")

	require.NoError(t, r.p.Clock().Select(simtime.Engine))
	r.eventually("the engine's clock is published again", func() bool { return len(r.clocks()) > published })
	at := r.at
	r.eventually("the engine's time passes whatever /clock says", func() bool {
		r.tell()
		return r.p.Clock().Now() > simtime.Stamp(100*time.Millisecond)
	})
	assert.Less(t, r.p.Clock().Now(), simtime.Stamp(at))

	require.NoError(t, r.p.Clock().Select(simtime.ROS2))
	assert.Greater(t, r.p.Clock().Now(), simtime.Stamp(1e6*time.Second), "the time since the epoch, and not what /clock said before")
	r.awaitFollowing(300 * time.Second)
	r.end()
}

// What began as ROS's time publishes its own when it is the engine's. One /clock may come
// before: the loop's instant, so that samples of ROS's time aren't ahead of the clock.
func TestAClockThatFollowedBecomesItsOwn(t *testing.T) {
	r := runROSTime(t, simtime.ROS2)
	r.awaitFollowing(100 * time.Second)
	require.NoError(t, r.p.Clock().Select(simtime.Engine))
	r.eventually("the engine's clock is published", func() bool { return len(r.clocks()) > 3 })
	r.end()
	clocks := r.clocks()
	if first := clocks[0]; first >= int64(100*time.Second) {
		assert.LessOrEqual(t, first, r.at, "the time that ROS's clock told")
		clocks = clocks[1:]
	}
	assert.True(t, slices.IsSorted(clocks))
	assert.Less(t, slices.Max(clocks), int64(100*time.Second))
}

// A run whose bridges bring no /clock says so when it is to follow one.
func TestNoBridgeBringsTheClock(t *testing.T) {
	var log lockedText
	to := &peer{}
	p := newScripted(t, &script{}, pipeline.Config{
		Bridges: to.registry(), Mode: pipeline.Realtime, Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	to.attach(t, p, "")
	end := inBackground(t, p)
	to.await(t, "a clock", func(got []delivery) bool { return len(got) > 0 })
	assert.NotContains(t, log.String(), "no bridge brings")
	require.NoError(t, p.Clock().Select(simtime.ROS2))
	require.Eventually(t, func() bool {
		return bytes.Contains([]byte(log.String()), []byte(`"/clock (Clock)"`))
	}, 20*time.Second, time.Millisecond)
	end()
}

// dial is a time source of a program's own: it shows what it is set to.
type dial struct{ ns atomic.Int64 }

func (d *dial) Now() simtime.Stamp { return simtime.Stamp(d.ns.Load()) }

// A realtime run follows a source that the program brings, from its start or from its
// choice on.
func TestAnOwnTimeSourceIsFollowed(t *testing.T) {
	for _, first := range []string{"dial", "engine"} {
		t.Run("begun on "+first, func(t *testing.T) {
			to, own := &peer{}, &dial{}
			p := newScripted(t, &script{}, pipeline.Config{
				Mode: pipeline.Realtime, TimeSource: first, Bridges: to.registry(),
				TimeSources: map[string]func() simtime.Source{"Dial": func() simtime.Source { return own }},
			})
			addScripted(t, p, plainID, "computed", "100")
			to.attach(t, p, "")
			end := inBackground(t, p)
			to.await(t, "a clock", func(got []delivery) bool { return len(got) > 0 })
			require.NoError(t, p.Clock().Select("DIAL"))
			for _, at := range []int64{10 * ms, 20 * ms, 2000 * ms, 30 * ms} {
				own.ns.Store(at)
				to.awaitStamp(t, "/computed", simtime.Stamp(at))
				assert.Equal(t, simtime.Stamp(at), p.Clock().Now())
			}
			end()
			assert.Equal(t, "Dial", p.Clock().Source())
			clockFirst(t, to.deliveries())
		})
	}
}

// A source that a program brings and that can't work is wrong use.
func TestBadTimeSources(t *testing.T) {
	of := func(source simtime.Source) map[string]func() simtime.Source {
		return map[string]func() simtime.Source{"dial": func() simtime.Source { return source }}
	}
	for name, tt := range map[string]struct {
		config pipeline.Config
		want   error
	}{
		"unknown":         {pipeline.Config{TimeSource: "dail", TimeSources: of(&dial{})}, simtime.ErrUnknownSource},
		"not to be moved": {pipeline.Config{TimeSource: "dial", TimeSources: of(&dial{})}, simtime.ErrNotSteppable},
		"none":            {pipeline.Config{Mode: pipeline.Realtime, TimeSource: "dial", TimeSources: of(nil)}, simtime.ErrBadSource},
		"a built-in name": {pipeline.Config{TimeSources: map[string]func() simtime.Source{"Engine": nil}}, simtime.ErrBadSource},
	} {
		t.Run(name, func(t *testing.T) {
			config := tt.config
			config.Scene, config.Open = scenetest.MovingWall(10, 1), gputest.NewFake().Open
			config.Sensors = (&script{}).registry()
			_, err := pipeline.New(t.Context(), config)
			require.ErrorIs(t, err, pipeline.ErrConfig)
			assert.ErrorIs(t, err, tt.want)
		})
	}
}
