package simtime_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/simtime"
)

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

func pause(_ *testing.T, c *simtime.Clock)  { c.Pause() }
func resume(_ *testing.T, c *simtime.Clock) { c.Resume() }
func nothing(*testing.T, *simtime.Clock)    {}

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
					require.Equal(t, want(entry), c.Now()-start, "entry %d", i)
				}
				assert.ErrorIs(t, c.SetScale(simtime.Scale{}), simtime.ErrScale)
			})
		})
	}
}
