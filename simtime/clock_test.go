package simtime_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/raybridge/raybridge/simtime"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func newClock(t testing.TB, cfg simtime.Config) *simtime.Clock {
	t.Helper()
	c, err := simtime.NewClock(cfg)
	require.NoError(t, err)
	return c
}

func TestParseSource(t *testing.T) {
	for name, want := range map[string]string{
		"engine": simtime.Engine, "unity": simtime.Engine, "UNITY": simtime.Engine, "ss2": simtime.SS2,
		"System": simtime.System, "DOTNET_SYSTEM": simtime.System, "simulation": simtime.Simulation,
		"dotnet_simulation": simtime.Simulation, "ROS2": simtime.ROS2, " external ": simtime.SS2,
	} {
		got, err := simtime.ParseSource(name)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	_, err := simtime.ParseSource("gps")
	require.ErrorIs(t, err, simtime.ErrUnknownSource)
	for _, known := range []string{"engine", "ss2", "system", "simulation", "ros2", "unity"} {
		assert.ErrorContains(t, err, known)
	}
	_, err = simtime.NewClock(simtime.Config{Source: "gps"})
	assert.ErrorIs(t, err, simtime.ErrUnknownSource)
}

// Start values, and what two seconds at half speed make of them.
func TestSourcesStartAndScale(t *testing.T) {
	const sec = int64(time.Second)
	tests := []struct {
		source       string
		start, later func(unix int64) int64
	}{
		{simtime.Engine, zero, func(int64) int64 { return sec }},
		{simtime.SS2, zero, zero},
		{simtime.System, same, func(unix int64) int64 { return unix + sec }},
		{simtime.Simulation, zero, func(int64) int64 { return sec }},
		{simtime.ROS2, same, func(unix int64) int64 { return unix + 2*sec }},
	}
	for _, tt := range tests {
		t.Run(tt.source, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				unix := time.Now().UnixNano()
				c := newClock(t, simtime.Config{Source: tt.source, Scale: scale(t, "0.5")})
				assert.Equal(t, simtime.Stamp(tt.start(unix)), c.Now())
				time.Sleep(2 * time.Second)
				require.NoError(t, c.Advance(c.Pace()))
				assert.Equal(t, simtime.Stamp(tt.later(unix)), c.Now())
			})
		})
	}
}

func zero(int64) int64 { return 0 }

func same(unix int64) int64 { return unix }

// The engine shows where the loop is; its pace follows the host.
func TestEngineIsAdvancedByTheLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock(t, simtime.Config{})
		require.NoError(t, c.WaitUntil(context.Background(), 10*ms))
		assert.EqualValues(t, 0, c.Now())
		assert.EqualValues(t, 10*ms, c.Pace())
		require.NoError(t, c.Advance(10*ms))
		assert.EqualValues(t, 10*ms, c.Now())
		assert.ErrorIs(t, c.Advance(5*ms), simtime.ErrBackward)
		assert.ErrorIs(t, c.Advance(11*ms), simtime.ErrAhead)

		time.Sleep(300 * time.Millisecond)
		assert.EqualValues(t, 310*ms, c.Pace())
		c.Pause() // 300 ms ahead of the loop: they come after the pause
		assert.ErrorIs(t, c.Advance(15*ms), simtime.ErrAhead)
		time.Sleep(time.Minute)
		assert.EqualValues(t, 10*ms, c.Pace())
		require.NoError(t, c.Step(20*ms))
		require.NoError(t, c.WaitUntil(context.Background(), 20*ms))
		require.NoError(t, c.Advance(20*ms))
		require.NoError(t, c.Advance(30*ms))
		assert.ErrorIs(t, c.Advance(31*ms), simtime.ErrAhead)
		c.Resume()
		require.NoError(t, c.WaitUntil(context.Background(), 40*ms))
		assert.EqualValues(t, 40*ms, c.Pace())
	})
}

// TestHalt has an engine give up what its loop hasn't come to.
func TestHalt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock(t, simtime.Config{})
		c.Pause()
		require.NoError(t, c.Step(100*ms))
		require.NoError(t, c.Advance(30*ms))
		c.Halt()
		assert.EqualValues(t, 30*ms, c.Pace())
		assert.ErrorIs(t, c.Advance(31*ms), simtime.ErrAhead)
		assert.False(t, c.Stepping(31*ms))
		require.NoError(t, c.Step(10*ms))
		assert.True(t, c.Stepping(31*ms))
		require.NoError(t, c.Advance(40*ms))
		c.Resume()
		time.Sleep(5 * time.Millisecond)
		assert.EqualValues(t, 45*ms, c.Pace(), "time passes from where it was")
	})
}

func TestSteppedClock(t *testing.T) {
	for _, source := range []string{simtime.Engine, simtime.Simulation, simtime.System} {
		t.Run(source, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newClock(t, simtime.Config{Source: source, Stepped: true})
				start := c.Now()
				time.Sleep(time.Hour)
				for k := range int64(10) {
					require.NoError(t, c.WaitUntil(context.Background(), start+simtime.Stamp(k*ms)))
					require.NoError(t, c.Advance(start+simtime.Stamp(k*ms)))
					assert.Equal(t, start+simtime.Stamp(k*ms), c.Now())
				}
				assert.ErrorIs(t, c.Advance(start), simtime.ErrBackward)
				assert.ErrorIs(t, c.Step(1), simtime.ErrNotPaused)
				assert.ErrorIs(t, c.Steppable(), simtime.ErrNotPaused)
				c.Pause()
				assert.NoError(t, c.Steppable())
				assert.ErrorIs(t, c.Advance(start+10*ms), simtime.ErrAhead)
				assert.ErrorIs(t, c.Step(0), simtime.ErrDuration)
				require.NoError(t, c.Step(ms))
				require.NoError(t, c.Advance(start+10*ms))
				assert.ErrorIs(t, c.Advance(start+11*ms), simtime.ErrAhead)
				require.NoError(t, c.Step(time.Hour.Nanoseconds()))
				c.Halt()
				assert.Equal(t, start+10*ms, c.Pace())
				assert.ErrorIs(t, c.Advance(start+11*ms), simtime.ErrAhead, "the step was given up")
				c.Resume()
				c.Halt() // of a clock that runs: nothing
				require.NoError(t, c.Advance(start+11*ms))
				assert.ErrorIs(t, c.Select(simtime.ROS2), simtime.ErrNotSteppable)
				assert.Equal(t, source, c.Source())
			})
		})
	}
	for _, source := range []string{simtime.SS2, simtime.ROS2} {
		_, err := simtime.NewClock(simtime.Config{Source: source, Stepped: true})
		assert.ErrorIs(t, err, simtime.ErrNotSteppable)
	}
}

// record collects a clock's changes.
func record(c *simtime.Clock) func() []simtime.Change {
	var mu sync.Mutex
	var changes []simtime.Change
	c.Subscribe(func(change simtime.Change) {
		mu.Lock()
		changes = append(changes, change)
		mu.Unlock()
	})
	return func() []simtime.Change {
		mu.Lock()
		defer mu.Unlock()
		taken := changes
		changes = nil
		return taken
	}
}

func TestSelectRaisesAJump(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock(t, simtime.Config{Source: simtime.Simulation})
		changes := record(c)
		unix := time.Now().UnixNano()
		time.Sleep(3 * time.Second)
		require.NoError(t, c.Select("simulation"))
		assert.Empty(t, changes())
		require.NoError(t, c.Select("SYSTEM"))
		assert.Equal(t, []simtime.Change{{
			Kind: simtime.SourceChanged, Source: simtime.System, Scale: simtime.RealTime,
			From: 3000 * ms, To: simtime.Stamp(unix + 3000*ms),
		}}, changes())
		assert.ErrorIs(t, c.Select("gps"), simtime.ErrUnknownSource)
		assert.Equal(t, simtime.System, c.Source())
		c.Pause()
		require.NoError(t, c.Select("unity"))
		assert.EqualValues(t, 0, c.Now())
		time.Sleep(time.Second)
		assert.EqualValues(t, 0, c.Pace(), "still paused")
		c.Resume()
		time.Sleep(time.Second)
		assert.EqualValues(t, 1000*ms, c.Pace())
		kinds := []simtime.ChangeKind{}
		for _, change := range changes() {
			kinds = append(kinds, change.Kind)
		}
		assert.Equal(t, []simtime.ChangeKind{simtime.Paused, simtime.SourceChanged, simtime.Resumed}, kinds)
	})
}

func TestSS2IsSetFromOutside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock(t, simtime.Config{Source: simtime.SS2})
		changes := record(c)
		require.NoError(t, c.Set(0, 500_000_000))
		assert.EqualValues(t, 500*ms, c.Now())
		assert.Empty(t, changes())
		require.NoError(t, c.Set(0, 400_000_000))
		assert.True(t, changes()[0].Jump(), "back")
		require.NoError(t, c.Set(5, 0))
		assert.Equal(t, simtime.Jumped, changes()[0].Kind, "4.6 s at once")
		time.Sleep(10 * time.Second)
		require.NoError(t, c.Set(15, 0))
		assert.Empty(t, changes(), "10 s after 10 s is not a jump")

		c.Pause()
		require.NoError(t, c.Set(16, 0))
		assert.EqualValues(t, 15_000*ms, c.Now())
		assert.ErrorIs(t, c.Step(ms), simtime.ErrNotSteppable)
		c.Resume()
		assert.EqualValues(t, 16_000*ms, c.Now())
		resumed := changes()[1]
		assert.Equal(t, simtime.Resumed, resumed.Kind)
		assert.True(t, resumed.Jump())

		for _, bad := range []struct {
			sec  int64
			nsec uint32
		}{{-1, 0}, {-1, 2e9}, {1 << 62, 0}, {9_223_372_036, 1e9}} {
			assert.ErrorIs(t, c.Set(bad.sec, bad.nsec), simtime.ErrDuration)
		}
		require.NoError(t, c.Set(16, 1_000_000_000), "nanoseconds that were rounded up")
		assert.EqualValues(t, 17_000*ms, c.Now())
		require.NoError(t, c.Set(17, 4_294_967_295))
		assert.EqualValues(t, 21_294_967_295, c.Now())
		require.NoError(t, c.Select(simtime.Engine))
		assert.ErrorIs(t, c.Set(1, 0), simtime.ErrNotSettable)
	})
}

func TestROS2FollowsAClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ros atomic.Int64
		ros.Store(7)
		c := newClock(t, simtime.Config{Source: simtime.ROS2, ROSClock: func() simtime.Stamp { return simtime.Stamp(ros.Load()) }})
		changes := record(c)
		assert.EqualValues(t, 7, c.Now())
		require.NoError(t, c.SetScale(scale(t, "0.1")))
		ros.Store(20)
		assert.EqualValues(t, 20, c.Now(), "not scaled")
		changes()
		ros.Store(10)
		assert.EqualValues(t, 10, c.Now())
		assert.Equal(t, []simtime.Change{{
			Kind: simtime.Jumped, Source: simtime.ROS2, Scale: scale(t, "0.1"), From: 20, To: 10,
		}}, changes())
		c.FollowROS(func() simtime.Stamp { return 5000 * ms })
		assert.EqualValues(t, 5000*ms, c.Now())
		assert.Len(t, changes(), 1)
		c.FollowROS(nil)
		assert.Equal(t, simtime.Stamp(time.Now().UnixNano()), c.Now())
	})
}

func TestWaitUntilFollowsChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock(t, simtime.Config{Source: simtime.Simulation})
		start := time.Now()
		waited := make(chan error, 1)
		go func() { waited <- c.WaitUntil(context.Background(), 10_000*ms) }()
		time.Sleep(time.Second)
		require.NoError(t, c.SetScale(scale(t, "3"))) // 9 s left, 3 s long
		time.Sleep(time.Second)
		c.Pause()
		time.Sleep(time.Hour)
		c.Resume()
		require.NoError(t, <-waited)
		assert.Equal(t, 4*time.Second+time.Hour, time.Since(start))

		go func() { waited <- c.WaitUntil(context.Background(), 1e18) }()
		synctest.Wait()
		require.NoError(t, c.Select(simtime.SS2))
		assert.ErrorIs(t, <-waited, simtime.ErrJumped)

		ctx, cancel := context.WithCancel(context.Background())
		go func() { waited <- c.WaitUntil(ctx, 1e18) }()
		synctest.Wait()
		cancel()
		assert.ErrorIs(t, <-waited, context.Canceled)
	})
}

// A subscriber may call the clock, and is told of all changes in their order.
func TestSubscriberMayCallTheClock(t *testing.T) {
	c := newClock(t, simtime.Config{})
	var kinds []simtime.ChangeKind
	cancel := c.Subscribe(func(change simtime.Change) {
		kinds = append(kinds, change.Kind)
		if change.Kind == simtime.Paused {
			c.Resume()
		}
	})
	c.Pause()
	assert.Equal(t, []simtime.ChangeKind{simtime.Paused, simtime.Resumed}, kinds)
	assert.False(t, c.Paused())
	cancel()
	c.Pause()
	assert.Len(t, kinds, 2)
	assert.Equal(t, "resumed", simtime.Resumed.String())
}

// change is one entry of the table below.
type change struct {
	after  time.Duration // host time since the entry before; nobody reads meanwhile
	do     func(*testing.T, *simtime.Clock)
	scaled int64 // then, nanoseconds from the start, by a source that follows the scale
	own    int64 // and by one that doesn't
}

func setScale(text string) func(*testing.T, *simtime.Clock) {
	return func(t *testing.T, c *simtime.Clock) { require.NoError(t, c.SetScale(scale(t, text))) }
}

func step(d int64) func(*testing.T, *simtime.Clock) {
	return func(t *testing.T, c *simtime.Clock) {
		err := c.Step(d)
		switch c.Source() {
		case simtime.ROS2, simtime.SS2, "stopwatch":
			require.ErrorIs(t, err, simtime.ErrNotSteppable)
		default:
			require.NoError(t, err)
		}
	}
}

func pause(_ *testing.T, c *simtime.Clock) { c.Pause() }

func resume(_ *testing.T, c *simtime.Clock) { c.Resume() }

func nothing(*testing.T, *simtime.Clock) {}

const hour = int64(time.Hour)

// changes is worked out by hand.
var changes = []change{
	{0, nothing, 0, 0},
	{1000, setScale("0.1"), 1000, 1000},
	{1005, nothing, 1100, 2005}, // 100.5 rounded down
	{5, setScale("3"), 1101, 2010},
	{100, setScale("0.333333333"), 1401, 2110},
	{time.Second, nothing, 333_334_734, 1_000_002_110},
	{0, pause, 333_334_734, 1_000_002_110},
	{time.Hour, pause, 333_334_734, 1_000_002_110},
	{time.Hour, setScale("2"), 333_334_734, 1_000_002_110},
	{time.Hour, step(66), 333_334_800, 1_000_002_110},
	{0, step(200), 333_335_000, 1_000_002_110},
	{time.Hour, resume, 333_335_000, 1_000_002_110 + 4*hour},
	{7, resume, 333_335_014, 1_000_002_117 + 4*hour},
	{0, setScale("1000"), 333_335_014, 1_000_002_117 + 4*hour},
	{time.Hour, pause, 333_335_014 + 1000*hour, 1_000_002_117 + 5*hour},
	{1, resume, 333_335_014 + 1000*hour, 1_000_002_118 + 5*hour},
	{1, setScale("0.000000001"), 333_336_014 + 1000*hour, 1_000_002_119 + 5*hour},
	{time.Second - 1, nothing, 333_336_014 + 1000*hour, 2_000_002_118 + 5*hour},
	{1, nothing, 333_336_015 + 1000*hour, 2_000_002_119 + 5*hour},
}

// T1, T2: each change holds from its own instant on, to the nanosecond.
func TestChangesTakeEffectAtTheirInstant(t *testing.T) {
	scaled := func(c change) int64 { return c.scaled }
	own := func(c change) int64 { return c.own }
	none := func(change) int64 { return 0 } // nobody sets it
	for source, want := range map[string]func(change) int64{
		simtime.Engine: scaled, simtime.Simulation: scaled, simtime.System: scaled, "bent": scaled,
		simtime.ROS2: own, "stopwatch": own, simtime.SS2: none,
	} {
		t.Run(source, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newClock(t, simtime.Config{Source: source, JumpLimit: 24 * time.Hour, Sources: userSources()})
				start := c.Now()
				for i, entry := range changes {
					time.Sleep(entry.after)
					// The engine's loop is always where the host's clock is.
					require.NoError(t, c.Advance(c.Pace()))
					entry.do(t, c)
					require.NoError(t, c.Advance(c.Pace()))
					require.Equal(t, simtime.Stamp(want(entry)), c.Now()-start, "entry %d", i)
				}
				assert.ErrorIs(t, c.SetScale(simtime.Scale{}), simtime.ErrScale)
			})
		})
	}
}

// Readers never see time go back, nor torn values, while others change scale,
// pause, resume and step.
func TestConcurrentReadersSeeTimeGoForward(t *testing.T) {
	for _, source := range []string{simtime.Simulation, simtime.System, simtime.Engine, simtime.SS2} {
		t.Run(source, func(t *testing.T) {
			c := newClock(t, simtime.Config{Source: source})
			ctx, cancel := context.WithCancel(context.Background())
			var readers sync.WaitGroup
			for range 3 {
				readers.Go(func() {
					for last := int64(-1); ctx.Err() == nil; {
						now := c.Now()
						if now < simtime.Stamp(last) {
							t.Errorf("time went back from %d to %d", last, now)
							return
						}
						if source == simtime.SS2 && now/1e9 != now%1e9 {
							t.Errorf("torn read: %d", now)
							return
						}
						last = int64(now)
					}
				})
			}
			scales := []simtime.Scale{scale(t, "0.1"), scale(t, "100"), scale(t, "1")}
			for i := range 2000 {
				assert.NoError(t, c.SetScale(scales[i%3]))
				c.Pause()
				if source == simtime.SS2 {
					c.Resume()
					assert.NoError(t, c.Set(int64(i), uint32(i)))
					continue
				}
				assert.NoError(t, c.Step(1))
				_ = c.Advance(c.Pace())
				c.Resume()
			}
			cancel()
			readers.Wait()
		})
	}
}

// jumpLog is what a clock's subscriber is told of jumps.
type jumpLog struct {
	mu      sync.Mutex
	arrived sync.Cond
	jumps   []simtime.Change // guarded by mu
	closed  bool             // guarded by mu
}

func newJumpLog(c *simtime.Clock) *jumpLog {
	l := &jumpLog{}
	l.arrived.L = &l.mu
	c.Subscribe(func(change simtime.Change) {
		if !change.Jump() {
			return
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.jumps = append(l.jumps, change)
		l.arrived.Broadcast()
	})
	return l
}

// count returns how many jumps were told so far.
func (l *jumpLog) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.jumps)
}

// close says that no more will be told.
func (l *jumpLog) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.arrived.Broadcast()
}

// explains reports whether one of the jumps from the n-th on led to now or before it. It waits
// for jumps that were made and not yet told.
func (l *jumpLog) explains(n int, now int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for ; ; n++ {
		for n == len(l.jumps) {
			if l.closed {
				return false
			}
			l.arrived.Wait()
		}
		if l.jumps[n].To <= simtime.Stamp(now) {
			return true
		}
	}
}

// With everything that can change a clock going on at once, readers see time go
// back only across jumps that subscribers are told of.
func TestReadersUnderEveryChange(t *testing.T) {
	var ros atomic.Int64
	c := newClock(t, simtime.Config{
		ROSClock: func() simtime.Stamp { return simtime.Stamp(ros.Add(1000)) },
		Sources: map[string]func() simtime.Source{
			"stopwatch": func() simtime.Source { return stopwatch{time.Now()} },
			"bent":      func() simtime.Source { return newBent() },
		},
	})
	log := newJumpLog(c)
	scales := []simtime.Scale{scale(t, "0.1"), scale(t, "100"), scale(t, "1")}
	sources := []string{simtime.Engine, simtime.SS2, simtime.System, simtime.Simulation, simtime.ROS2, "stopwatch", "bent"}
	writers := map[string]func(int) error{
		"scale":  func(i int) error { return c.SetScale(scales[i%3]) },
		"select": func(i int) error { return c.Select(sources[i%len(sources)]) },
		"pause":  func(int) error { c.Pause(); return c.Step(1) },
		"resume": func(int) error { c.Resume(); return nil },
		"hold":   func(int) error { c.Hold()(); return nil },
		"set":    func(i int) error { return c.Set(int64(i%50), uint32(i)) },
		"follow": func(int) error { c.FollowROS(func() simtime.Stamp { return simtime.Stamp(ros.Add(1000)) }); return nil },
		"loop":   func(int) error { return c.Advance(c.Pace()) },
		"lag":    func(int) error { c.Lag(c.Now()); return nil },
	}
	ctx, cancel := context.WithCancel(context.Background())
	var readers, writing sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			told := log.count()
			for last := c.Now(); ctx.Err() == nil; {
				next := log.count()
				now := c.Now()
				if now < last && !log.explains(told, int64(now)) {
					t.Errorf("time went back from %d to %d, and no jump was told", last, now)
					return
				}
				last, told = now, next
			}
		})
	}
	for name, write := range writers {
		writing.Go(func() {
			for i := range 1000 {
				if err := write(i); err != nil && !foreseen(err) {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
	writing.Wait()
	cancel()
	log.close()
	readers.Wait()
	require.NotZero(t, log.count())
}

// foreseen reports whether an error is only that another goroutine was faster.
func foreseen(err error) bool {
	for _, target := range []error{
		simtime.ErrNotPaused, simtime.ErrNotSteppable, simtime.ErrNotSettable, simtime.ErrBackward, simtime.ErrAhead,
	} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

// A hold and a pause overlap in every way; time goes on only without both.
func TestHoldAndPauseAreTwoWishes(t *testing.T) {
	type step struct {
		do     string
		paused bool
		passes bool // of the minute after it
	}
	for name, script := range map[string][]step{
		"hold alone":           {{"hold", false, false}, {"release", false, true}},
		"paused while held":    {{"hold", false, false}, {"pause", true, false}, {"release", true, false}, {"resume", false, true}},
		"resumed while held":   {{"pause", true, false}, {"hold", true, false}, {"resume", false, false}, {"release", false, true}},
		"held while paused":    {{"pause", true, false}, {"hold", true, false}, {"release", true, false}, {"resume", false, true}},
		"two holds":            {{"hold", false, false}, {"hold", false, false}, {"release", false, false}, {"release", false, true}},
		"released once more":   {{"hold", false, false}, {"release", false, true}, {"again", false, true}, {"hold", false, false}},
		"scaled while it held": {{"hold", false, false}, {"scale", false, false}, {"release", false, true}},
	} {
		for _, source := range []string{simtime.Engine, simtime.Simulation} {
			t.Run(name+" "+source, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := newClock(t, simtime.Config{Source: source})
					var releases []func()
					last := func() {}
					for i, s := range script {
						switch s.do {
						case "hold":
							releases = append(releases, c.Hold())
						case "release":
							last, releases = releases[0], releases[1:]
							last()
						case "again":
							last()
						case "pause":
							c.Pause()
						case "resume":
							c.Resume()
						case "scale":
							require.NoError(t, c.SetScale(scale(t, "1")))
						}
						require.Equal(t, s.paused, c.Paused(), "step %d", i)
						before := c.Pace()
						time.Sleep(time.Minute)
						want := int64(0)
						if s.passes {
							want = int64(time.Minute)
						}
						require.Equal(t, simtime.Stamp(want), c.Pace()-before, "step %d", i)
						require.NoError(t, c.Advance(c.Pace()))
					}
				})
			})
		}
	}
}

// Only where a source went on by itself has time a gap, and that is told.
func TestHoldTellsOfGapsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for source, want := range map[string][]simtime.ChangeKind{
			simtime.Engine: nil, simtime.Simulation: nil, simtime.System: nil, simtime.SS2: {simtime.Jumped}, simtime.ROS2: {simtime.Jumped},
		} {
			c := newClock(t, simtime.Config{Source: source})
			var kinds []simtime.ChangeKind
			c.Subscribe(func(change simtime.Change) { kinds = append(kinds, change.Kind) })
			release := c.Hold()
			before := c.Now()
			if source == simtime.SS2 {
				require.NoError(t, c.Set(100, 0))
			}
			time.Sleep(time.Minute)
			assert.Equal(t, before, c.Now(), source)
			release()
			assert.Equal(t, want, kinds, source)
		}
	})
}

func TestHoldEndsAWaitsSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, stepped := range []bool{false, true} {
			c := newClock(t, simtime.Config{Stepped: stepped})
			release := c.Hold()
			time.AfterFunc(time.Minute, release)
			begun := time.Now()
			require.NoError(t, c.WaitUntil(context.Background(), 1))
			assert.GreaterOrEqual(t, time.Since(begun), time.Minute)
		}
	})
}

// A loop is late by what the host's clock is ahead, never by what Step added.
func TestLag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, source := range []string{simtime.Engine, simtime.Simulation} {
			c := newClock(t, simtime.Config{Source: source})
			time.Sleep(30 * time.Millisecond)
			assert.EqualValues(t, 20*ms, c.Lag(10*ms), source)
			assert.Zero(t, c.Lag(40*ms), source)
			require.NoError(t, c.Advance(30*ms))

			c.Pause()
			require.NoError(t, c.Step(100*ms))
			require.NoError(t, c.Step(100*ms))
			for _, at := range []int64{31 * ms, 130 * ms, 131 * ms, 230 * ms} {
				assert.Zero(t, c.Lag(simtime.Stamp(at)), "%s at %d", source, at)
				assert.True(t, c.Stepping(simtime.Stamp(at)), "%s at %d", source, at)
			}
			assert.EqualValues(t, 10*ms, c.Lag(20*ms), "%s: late before the steps", source)
			for _, at := range []int64{30 * ms, 230*ms + 1} {
				assert.False(t, c.Stepping(simtime.Stamp(at)), "%s at %d", source, at)
			}
			c.Resume()
			time.Sleep(50 * time.Millisecond)
			assert.Zero(t, c.Lag(150*ms), "%s: the steps are still to be gone", source)
			assert.True(t, c.Stepping(150*ms), source)
			assert.EqualValues(t, 40*ms, c.Lag(240*ms), source)

			require.NoError(t, c.Advance(c.Pace()))
			c.Pause()
			require.NoError(t, c.Step(10*ms))
			assert.EqualValues(t, 80*ms, c.Lag(200*ms), "%s: those steps are long gone", source)
			assert.Zero(t, c.Lag(290*ms), source)
		}
		c := newClock(t, simtime.Config{Stepped: true})
		c.Pause()
		require.NoError(t, c.Step(10*ms))
		assert.Zero(t, c.Lag(0))
		assert.False(t, c.Stepping(10*ms))
	})
}

// A jump makes the steps before it meaningless.
func TestAJumpForgetsSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock(t, simtime.Config{Source: simtime.Simulation})
		c.Pause()
		require.NoError(t, c.Step(int64(time.Hour)))
		require.NoError(t, c.Select(simtime.Engine))
		c.Resume()
		time.Sleep(time.Second)
		assert.EqualValues(t, time.Second-10*time.Millisecond, c.Lag(10*ms))
		assert.False(t, c.Stepping(10*ms))
	})
}

// TestRestart: each source begins as it was made, in a pause too, and who waits learns of it.
func TestRestart(t *testing.T) {
	for _, stepped := range []bool{false, true} {
		for _, paused := range []bool{false, true} {
			c, err := simtime.NewClock(simtime.Config{Stepped: stepped})
			require.NoError(t, err)
			require.NoError(t, c.WaitUntil(t.Context(), 10_000_000))
			require.NoError(t, c.Advance(10_000_000))
			if paused {
				c.Pause()
				require.NoError(t, c.Step(5_000_000))
			}
			jumps := c.Jumps()
			require.NoError(t, c.Restart())
			assert.Zero(t, c.Now())
			assert.Equal(t, jumps+1, c.Jumps())
			assert.Equal(t, paused, c.Paused())
			if paused {
				assert.Zero(t, c.Pace(), "what it was told to go is forgotten")
				require.NoError(t, c.Step(2_000_000))
			}
			require.NoError(t, c.WaitUntil(t.Context(), 2_000_000))
			require.NoError(t, c.Advance(2_000_000))
			assert.EqualValues(t, 2_000_000, c.Now())
		}
	}
}
