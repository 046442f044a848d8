package pipeline_test

import (
	"bytes"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

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
		case r.stamps <- at.TimeNs:
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
	return r.bring("/clock", &sample.Clock{StampNs: r.at})
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
	assert.Greater(t, r.p.Clock().Now(), int64(time.Hour), "the time since the epoch")
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
		return r.p.Clock().Now() > int64(100*time.Millisecond)
	})
	assert.Less(t, r.p.Clock().Now(), at)

	require.NoError(t, r.p.Clock().Select(simtime.ROS2))
	assert.Greater(t, r.p.Clock().Now(), int64(1e6*time.Second), "the time since the epoch, and not what /clock said before")
	r.awaitFollowing(300 * time.Second)
	r.end()
}

// What began as ROS's time publishes its own when it is the engine's.
func TestAClockThatFollowedBecomesItsOwn(t *testing.T) {
	r := runROSTime(t, simtime.ROS2)
	r.awaitFollowing(100 * time.Second)
	require.NoError(t, r.p.Clock().Select(simtime.Engine))
	r.eventually("the engine's clock is published", func() bool { return len(r.clocks()) > 2 })
	r.end()
	assert.True(t, slices.IsSorted(r.clocks()))
	assert.Less(t, slices.Max(r.clocks()), int64(100*time.Second))
}

// A run whose bridges bring no /clock says so when it is to follow one.
func TestNoBridgeBringsTheClock(t *testing.T) {
	var log safeLog
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
		return bytes.Contains([]byte(log.String()), []byte(`"/clock (*sample.Clock)"`))
	}, 20*time.Second, time.Millisecond)
	end()
}

// dial is a time source of a program's own: it shows what it is set to.
type dial struct{ ns atomic.Int64 }

func (d *dial) Now() int64 { return d.ns.Load() }

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
				to.awaitStamp(t, "/computed", at)
				assert.Equal(t, at, p.Clock().Now())
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

// safeLog collects what several goroutines log.
type safeLog struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *safeLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *safeLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
