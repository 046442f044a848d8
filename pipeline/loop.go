package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/weather"
)

// loop is the frame loop. It takes time from instant to instant, moves the scene there, and lists what is due.
// The one who runs the pipeline uses it. Any goroutine may call next, nextDue, dueAt, stepEnd and hasSettled, and read the atomic fields.
type loop struct {
	clock      *simtime.Clock // the one clock (law T1)
	steps      *simtime.FixedLoop
	clockDue   *simtime.Schedule // of /clock, nil without
	step       time.Duration
	realtime   bool
	roster     *roster
	scenery    *scenery
	rest       *rest
	metrics    *metrics
	elapsed    elapsed
	onProgress func(Progress) // nil for nobody

	now       simtime.AtomicStamp      // the instant
	goal      simtime.AtomicStamp      // the end of the latest StepTo, at which there is an instant
	lastFrame atomic.Uint64            // the number of the latest instant
	instants  atomic.Int64             // all that were begun, those before a Reset included
	jumps     atomic.Uint64            // the clock's jumps that the loop has followed; it alone stores them
	line      atomic.Pointer[timeline] // of the latest run, nil before the first

	frame uint64        // number of the next instant
	last  simtime.Stamp // the latest instant, or where it jumped to
	pace  pace          // of the world that is followed

	firstWeather, weather weather.State   // of the beginning, and of the latest instant
	weatherReport         *sensors.Config // the sensor that tells of another one; nil for none
	unreported            bool            // the log has that it can't

	releaseTime func() // lets time pass in a realtime run; it stands between runs
}

func newLoop(c *Config) (*loop, error) {
	scale, err := simtime.ScaleOf(c.Scale)
	if err != nil {
		return nil, err
	}
	l := &loop{step: c.Step, realtime: c.Mode == Realtime, onProgress: c.OnProgress, firstWeather: c.Weather, weather: c.Weather, weatherReport: c.WeatherReport}
	l.goal.Store(math.MinInt64)
	l.clock, err = simtime.NewClock(simtime.Config{
		Source: c.TimeSource, Sources: c.TimeSources, Scale: scale, Stepped: !l.realtime,
	})
	if err != nil {
		return nil, err
	}
	if l.realtime {
		l.releaseTime = l.clock.Hold() // time passes in runs only
	}
	every, err := simtime.Every(c.Step)
	if err != nil {
		return nil, fmt.Errorf("step: %w", err)
	}
	if l.steps, err = simtime.NewFixedLoop(every, 1); err != nil {
		return nil, err
	}
	if !c.ClockRate.IsZero() {
		l.clockDue, err = simtime.NewSchedule(c.ClockRate, 1)
	}
	return l, err
}

// restart takes the loop back to the beginning.
func (l *loop) restart() {
	l.goal.Store(math.MinInt64)
	l.now.Store(0)
	l.lastFrame.Store(0)
	l.frame, l.last = 0, 0
	l.weather = l.firstWeather
	l.steps.Realign(1)
	l.metrics.restart()
	if l.clockDue != nil {
		l.clockDue.Realign(1)
	}
}

// beginLine begins the timeline of a run, which the clock's jumps of before don't concern.
func (l *loop) beginLine(ctx context.Context) *timeline {
	l.jumps.Store(l.clock.Jumps())
	line := newTimeline(ctx, l.clock)
	l.line.Store(line)
	return line
}

// stepEnd is the end of the n-th step from now.
func (l *loop) stepEnd(n int) simtime.Stamp {
	now, grid := l.now.Load(), l.steps.Rate()
	return max(now, grid.At(grid.IndexAt(now)+int64(n)))
}

// next is the earliest of the next step, clock and due sensor, and of the end of a StepTo.
func (l *loop) next() simtime.Stamp {
	next := l.steps.Next()
	if goal := l.goal.Load(); goal > l.now.Load() {
		next = min(next, goal)
	}
	if l.clockDue != nil {
		next = min(next, l.clockDue.Next())
	}
	for _, s := range l.roster.list() {
		if s.joined.Load() && s.schedule != nil {
			next = min(next, s.schedule.Next())
		}
	}
	return next
}

// hasSettled reports whether the loop has come to a time, has followed the clock's jumps, and all its instants are
// released. Any goroutine may ask.
func (l *loop) hasSettled(at simtime.Stamp) bool {
	return l.now.Load() >= at && l.jumps.Load() == l.clock.Jumps() && l.rest.underway.count.Load() == 0
}

// beginInstant lists what is due at t and moves the scene there. The instant has to be
// released, also on an error: a sensor's, or the end of ctx.
func (l *loop) beginInstant(ctx context.Context, t simtime.Stamp) (*instant, error) {
	i := &instant{stamp: t, before: l.last, frame: l.frame, underway: &l.rest.underway}
	l.lastFrame.Store(l.frame)
	l.frame++
	step := false
	for range l.steps.Until(t) { // a late realtime loop passes over some
		step = true
	}
	l.rest.interrupt()
	l.instants.Add(1) // one that is under way is counted there already
	l.reportWeather()
	list := l.roster.list()
	i.retimed = l.join(list, t)
	if l.clockDue != nil {
		_, i.clock = l.clockDue.Due(t)
	}
	for rank := range ranks {
		for _, s := range list {
			if s.rank != rank {
				continue
			}
			if err := i.admit(ctx, s, len(list)); err != nil {
				return i, err
			}
		}
	}
	if i.retimed {
		l.keepHistory(list)
	}
	l.moveTo(t)
	l.metrics.depart(l.last)
	l.last = t
	l.scenery.move(t, (*scene.History).Record)
	l.metrics.arrive(t, step)
	i.dropOrphans(l.scenery.history, l.roster.endOn)
	return i, nil
}

// reportWeather has the run's sensor of the weather tell of the coming instant, if another weather begins with it. A run without
// weather has no such sensor, and its recordings no such topic.
func (l *loop) reportWeather() {
	coming := l.scenery.history.Weather().Coming()
	if coming == l.weather {
		return
	}
	l.weather = coming
	if l.weatherReport == nil {
		return
	}
	if err := l.roster.addOnce(*l.weatherReport); err != nil && !l.unreported {
		l.unreported = true
		l.roster.env.Log.Warn("no sensor reports the weather: mount "+l.weatherReport.ID+" in the rig, with a topic that is free", "error", err)
	}
}

// join lets sensors join that were added since the instant before, and reports whether there are any: each fires
// first a whole period from now.
func (l *loop) join(list []*Sensor, t simtime.Stamp) (grew bool) {
	for _, s := range list {
		if s.joined.Load() {
			continue
		}
		if s.schedule != nil {
			s.schedule.Realign(s.firstAfter(t))
		}
		s.joined.Store(true)
		grew = true
	}
	return grew
}

// keepHistory has the history keep as many ticks' poses as are needed. They are those of the instants that are
// begun and not yet published, and before them those of the longest scan.
func (l *loop) keepHistory(list []*Sensor) {
	perSecond, longest := 1/l.step.Seconds(), 0.0
	if l.clockDue != nil {
		perSecond += l.clockDue.Rate().Float64()
	}
	for _, s := range list {
		perSecond += s.Rate().Float64()
		if s.gpu && s.schedule != nil {
			longest = max(longest, 1/s.Rate().Float64())
		}
	}
	l.scenery.remember(maxInstants + maxCaptures + 2 + int(min(math.Ceil(perSecond*longest), maxScanTicks)))
}

// maxScanTicks bounds the memory of the history: longer scans see the scene stand
// still at their beginning.
const maxScanTicks = 1 << 15

// Bounds of what a stepped run has begun and not yet published. They let the GL thread work on
// one instant's captures while the one before is converted.
const (
	maxInstants = 256
	maxCaptures = 2
)

// arrival says where advance has got to.
type arrival uint8

const (
	there     arrival = iota // at an instant at which something is due
	ended                    // at the run's end, or the caller ended it
	nowhere                  // paused or stepped meanwhile: try again
	elsewhere                // the clock has jumped, or another instant comes first
)

// advance waits for the next instant, at the latest until, and advances the clock to it. A
// realtime loop that is late continues where the clock is. It does visit every instant of the
// steps that a paused clock was told to go. ctx ends the run's loop.
func (l *loop) advance(ctx context.Context, until simtime.Stamp) (t simtime.Stamp, reached arrival, err error) {
	due := l.next()
	t = min(due, until)
	if reached := l.await(ctx, t); reached != there {
		return t, reached, nil
	}
	if l.realtime {
		if lag := l.clock.Lag(t); lag > int64(l.step) {
			t = min(t+simtime.Stamp(lag), until)
		}
	}
	if l.clock.Jumps() != l.jumps.Load() { // what looks like lateness is a jump nobody has told of yet
		return t, elsewhere, nil
	}
	err = l.clock.Advance(t)
	switch {
	case errors.Is(err, simtime.ErrAhead):
		return t, nowhere, nil
	case errors.Is(err, simtime.ErrBackward):
		l.jumps.Store(unknownJumps)
		return t, elsewhere, nil
	case err != nil:
		return t, ended, err
	case due > t:
		l.moveTo(t)
		return t, ended, nil
	}
	return t, there, nil
}

// await waits until the loop may advance to t.
func (l *loop) await(ctx context.Context, t simtime.Stamp) arrival {
	line := l.line.Load()
	if l.pace.scale > 0 {
		l.pace.wait(line.context(), t)
		if l.clock.Paused() {
			defer l.pace.stood(time.Now())
		}
	}
	err := l.clock.WaitUntil(line.context(), t)
	switch {
	case ctx.Err() != nil:
		return ended
	case err != nil: // it jumped, or the line was interrupted
		return elsewhere
	default:
		return there
	}
}

// moveTo sets the loop's instant.
func (l *loop) moveTo(t simtime.Stamp) {
	l.elapsed.simulate(int64(t - l.now.Swap(t)))
}

// unknownJumps is not a number of jumps: the loop has to follow the clock in any case.
const unknownJumps = math.MaxUint64

// beginAtClock makes the loop begin where the clock is, if that has a time of its own:
// sensors first fire after it.
func (l *loop) beginAtClock() {
	if now := l.clock.Now(); now != l.now.Load() {
		l.jumpTo(now, now+1)
	}
}

// realign continues from where the clock has jumped to, and returns how far that is. It may be
// told once more of a jump that the loop has followed already: sensors that have fired there don't
// fire again. before is called ahead of anything else.
func (l *loop) realign(before func()) simtime.Stamp {
	l.line.Load().renew()
	jumps := l.clock.Jumps()
	if jumps == l.jumps.Load() {
		return 0
	}
	before()
	from, now := l.now.Load(), l.clock.Now()
	l.jumpTo(now, now)
	l.jumps.Store(jumps) // of another jump meanwhile advance learns before anything fires
	return now - from
}

// jumpTo sets the loop's instant without simulating what lies between; schedules continue with
// their first instant from first on.
func (l *loop) jumpTo(now, first simtime.Stamp) {
	l.now.Store(now)
	l.last = now
	l.steps.Realign(now + 1)
	l.scenery.move(now, (*scene.History).Jump)
	l.metrics.leap()
	for _, s := range l.roster.list() {
		if s.joined.Load() && s.schedule != nil {
			s.schedule.Realign(first)
		}
	}
	if l.clockDue != nil {
		l.clockDue.Realign(first)
	}
}

// report tells OnProgress how far the run is.
func (l *loop) report(t simtime.Stamp) {
	if l.onProgress == nil {
		return
	}
	_, wall, simulated := l.elapsed.seconds()
	l.onProgress(Progress{
		SimNs: t, Simulated: time.Duration(simulated * float64(time.Second)), Wall: time.Duration(wall * float64(time.Second)),
	})
}

// later returns t moved by d, without overflow for a run without end.
func later(t simtime.Stamp, d int64) simtime.Stamp {
	if t == math.MaxInt64 || (d > 0 && t > math.MaxInt64-simtime.Stamp(d)) {
		return math.MaxInt64
	}
	return t + simtime.Stamp(d)
}
