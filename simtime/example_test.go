package simtime_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/raybridge/raybridge/simtime"
)

// A stepped loop visits exactly the instants at which a sensor is due.
func ExampleNewClock() {
	clock, err := simtime.NewClock(simtime.Config{Stepped: true})
	if err != nil {
		panic(err)
	}
	lidarRate := simtime.MustRate("13.4")
	camera, _ := simtime.NewSchedule(simtime.Hz(10), 0)
	lidar, _ := simtime.NewSchedule(lidarRate, simtime.Stamp(lidarRate.Period()))

	for range 4 {
		t := min(camera.Next(), lidar.Next())
		if err := clock.Advance(t); err != nil {
			panic(err)
		}
		if at, due := camera.Due(clock.Now()); due {
			fmt.Println("camera", at)
		}
		if at, due := lidar.Due(clock.Now()); due {
			fmt.Println("lidar ", at)
		}
	}
	// Output:
	// camera 0
	// lidar  74626865
	// camera 100000000
	// lidar  149253731
}

// A clock says what it shows, and how.
func ExampleClock_Now() {
	clock, _ := simtime.NewClock(simtime.Config{Source: "DOTNET_SIMULATION", Stepped: true})
	_ = clock.Advance(1_500_000_000)
	fmt.Println(clock.Now(), "ns of", clock.Source())
	fmt.Println("paused:", clock.Paused(), "scale:", clock.Scale())
	// Output:
	// 1500000000 ns of simulation
	// paused: false scale: 1
}

// A loop in real time waits until the host's clock, and the scale, have come to
// the next instant; then it makes that the time.
func ExampleClock_WaitUntil() {
	clock, _ := simtime.NewClock(simtime.Config{})
	ctx := context.Background()
	for t := int64(10_000_000); t <= 30_000_000; t += 10_000_000 {
		if err := clock.WaitUntil(ctx, simtime.Stamp(t)); err != nil {
			panic(err)
		}
		_ = clock.Advance(simtime.Stamp(t))
		fmt.Println(clock.Now())
	}

	ctx, cancel := context.WithCancel(ctx)
	cancel()
	fmt.Println(clock.WaitUntil(ctx, 3_600_000_000_000))
	// Output:
	// 10000000
	// 20000000
	// 30000000
	// wait for simulation time: context canceled
}

// The engine's time goes from where it is to where the host's clock is, and
// no further.
func ExampleClock_Advance() {
	clock, _ := simtime.NewClock(simtime.Config{})
	_ = clock.WaitUntil(context.Background(), 5_000_000)
	fmt.Println(clock.Advance(5_000_000))
	err := clock.Advance(4_000_000)
	fmt.Println(errors.Is(err, simtime.ErrBackward), err)
	err = clock.Advance(clock.Pace() + 3_600_000_000_000)
	fmt.Println(errors.Is(err, simtime.ErrAhead))
	// Output:
	// <nil>
	// true advance clock to 4000000 ns: time would go back: it is 5000000 ns
	// true
}

// Pace is how far the loop may go; a paused clock's stands where the loop is.
func ExampleClock_Pace() {
	clock, _ := simtime.NewClock(simtime.Config{})
	_ = clock.WaitUntil(context.Background(), 5_000_000)
	fmt.Println("may go on:", clock.Pace() >= 5_000_000, "is at:", clock.Now())
	clock.Pause()
	fmt.Println("may go on:", clock.Pace() > clock.Now())
	// Output:
	// may go on: true is at: 0
	// may go on: false
}

// Steps of a paused clock make no loop late, however long they are: each of their
// instants is visited.
func ExampleClock_Stepping() {
	clock, _ := simtime.NewClock(simtime.Config{})
	clock.Pause()
	_ = clock.Step(30_000_000)
	for t := int64(10_000_000); clock.Stepping(simtime.Stamp(t)); t += 10_000_000 {
		_ = clock.Advance(simtime.Stamp(t))
		fmt.Println(clock.Now(), "lag", clock.Lag(simtime.Stamp(t)))
	}
	// Output:
	// 10000000 lag 0
	// 20000000 lag 0
	// 30000000 lag 0
}

// A program that runs a clock together with busy workers leaves Go's scheduler
// some room for it.
func ExampleReserveProcs() {
	release := simtime.ReserveProcs()
	defer release()
	clock, _ := simtime.NewClock(simtime.Config{Source: simtime.ROS2, ROSClock: func() simtime.Stamp { return 42 }})
	fmt.Println(clock.Now())
	// Output:
	// 42
}

// A frame loop that has to keep a beat takes a thread for itself, which goes first
// where the system allows that.
func ExampleTakeThread() {
	granted, release := simtime.TakeThread()
	defer release()
	fmt.Println(granted != "")
	// Output:
	// true
}

// report prints what a clock's subscribers are told.
func report(c simtime.Change) {
	fmt.Printf("%v: %d -> %d ns, jump: %v\n", c.Kind, c.From, c.To, c.Jump())
}

// Whatever changes a clock is told to its subscribers, in order.
func ExampleClock_Subscribe() {
	clock, _ := simtime.NewClock(simtime.Config{Source: "ss2"})
	cancel := clock.Subscribe(report)
	_ = clock.Set(0, 250_000_000)
	_ = clock.Set(0, 100_000_000)
	_ = clock.Select("engine")
	cancel()
	clock.Pause()
	// Output:
	// jumped: 250000000 -> 100000000 ns, jump: true
	// source changed: 100000000 -> 0 ns, jump: true
}

// A change with a gap is a jump: plans made before it have lost their meaning.
func ExampleChange_Jump() {
	paused := simtime.Change{Kind: simtime.Paused, From: 10, To: 10}
	selected := simtime.Change{Kind: simtime.SourceChanged, From: 10, To: 1_700_000_000_000_000_000}
	stepped := simtime.Change{Kind: simtime.Stepped, From: 10, To: 20}
	fmt.Println(paused.Jump(), selected.Jump(), stepped.Jump())
	// Output:
	// false true false
}

// A loop that compares the number of jumps with the one it began with knows whether what
// it has planned still holds.
func ExampleClock_Jumps() {
	clock, err := simtime.NewClock(simtime.Config{Source: simtime.SS2})
	if err != nil {
		panic(err)
	}
	before := clock.Jumps()
	_ = clock.Set(100, 0)
	fmt.Println(clock.Jumps()-before, "jump to", clock.Now()/1e9, "s")
	clock.Pause() // it isn't a jump
	fmt.Println(clock.Jumps()-before, "jump")
	// Output:
	// 1 jump to 100 s
	// 1 jump
}

// At 1000 times real time a simulated second takes a millisecond; the change
// holds from its own instant, however seldom the clock is read.
func ExampleClock_SetScale() {
	clock, _ := simtime.NewClock(simtime.Config{Source: simtime.Simulation})
	fast, _ := simtime.ParseScale("1000")
	_ = clock.SetScale(fast)
	_ = clock.WaitUntil(context.Background(), 1_000_000_000)
	fmt.Println(clock.Scale(), clock.Now() >= 1_000_000_000)

	err := clock.SetScale(simtime.Scale{})
	fmt.Println(errors.Is(err, simtime.ErrScale), err)
	// Output:
	// 1000 true
	// true set time scale: invalid time scale: 0 (use pause)
}

// State reads everything at once: no change comes between.
func ExampleClock_State() {
	clock, _ := simtime.NewClock(simtime.Config{Source: simtime.SS2})
	_ = clock.Set(12, 5)
	clock.Pause()
	s := clock.State()
	fmt.Println(s.Now, s.Source, s.Scale, s.Paused)
	// Output:
	// 12000000005 ss2 1 true
}

// Time stands between Pause and Resume.
func ExampleClock_Pause() {
	clock, _ := simtime.NewClock(simtime.Config{Stepped: true})
	_ = clock.Advance(10_000_000)
	clock.Pause()
	fmt.Println(clock.Paused(), clock.Advance(20_000_000))
	clock.Resume()
	fmt.Println(clock.Paused(), clock.Advance(20_000_000), clock.Now())
	// Output:
	// true advance clock to 20000000 ns: time is not yet there: 10000000 ns
	// false <nil> 20000000
}

// A ROS clock doesn't stand while this one is paused: resuming is a jump to it.
func ExampleClock_Resume() {
	ros := int64(100)
	clock, _ := simtime.NewClock(simtime.Config{Source: simtime.ROS2, ROSClock: func() simtime.Stamp { return simtime.Stamp(ros) }})
	clock.Subscribe(report)
	clock.Pause()
	ros = 900
	fmt.Println("shown:", clock.Now())
	clock.Resume()
	fmt.Println("shown:", clock.Now())
	// Output:
	// paused: 100 -> 100 ns, jump: false
	// shown: 100
	// resumed: 100 -> 900 ns, jump: true
	// shown: 900
}

// A paused clock is moved on by hand.
func ExampleClock_Step() {
	clock, _ := simtime.NewClock(simtime.Config{Source: simtime.Simulation})
	err := clock.Step(1)
	fmt.Println(errors.Is(err, simtime.ErrNotPaused))
	clock.Pause()
	fmt.Println(clock.Steppable())
	before := clock.Now()
	_ = clock.Step(10_000_000)
	_ = clock.Step(10_000_000)
	fmt.Println(clock.Now() - before)

	engine, _ := simtime.NewClock(simtime.Config{}) // its time is where the loop is
	engine.Pause()
	_ = engine.Step(10_000_000)
	fmt.Println(engine.Pace() - engine.Now())
	engine.Halt() // it needn't go there
	fmt.Println(engine.Pace() - engine.Now())
	// Output:
	// true
	// <nil>
	// 20000000
	// 10000000
	// 0
}

// The source can be changed at any time, by name in any case of letters.
func ExampleClock_Select() {
	clock, _ := simtime.NewClock(simtime.Config{})
	for _, name := range []string{"SS2", "Unity", "sundial"} {
		err := clock.Select(name)
		fmt.Println(clock.Source(), err)
	}
	// Output:
	// ss2 <nil>
	// engine <nil>
	// engine select time source: unknown time source "sundial" (known: engine, ss2, system, simulation, ros2, and unity for engine)
}

// A run that begins again, such as an episode of training, has its source begin again, too.
func ExampleClock_Restart() {
	clock, _ := simtime.NewClock(simtime.Config{Stepped: true})
	_ = clock.Advance(10_000_000)
	clock.Pause()
	_ = clock.Step(10_000_000) // the loop won't go there
	_ = clock.Restart()
	fmt.Println(clock.Now(), clock.Pace(), clock.Paused())
	// Output: 0 0 true
}

// A scenario runner outside sets the time, seconds and nanoseconds at once.
func ExampleClock_Set() {
	clock, _ := simtime.NewClock(simtime.Config{Source: simtime.SS2})
	fmt.Println(clock.Now())
	_ = clock.Set(12, 500_000_000)
	fmt.Println(clock.Now())
	err := clock.Set(-1, 0)
	fmt.Println(errors.Is(err, simtime.ErrDuration), err)

	_ = clock.Select(simtime.Engine)
	err = clock.Set(13, 0)
	fmt.Println(errors.Is(err, simtime.ErrNotSettable), err)
	// Output:
	// 0
	// 12500000000
	// true set time: invalid duration or time: -1 s 0 ns
	// true set time: time source can't be set: the source is engine, not ss2
}

// A bridge hands in the clock of its ROS graph.
func ExampleClock_FollowROS() {
	clock, _ := simtime.NewClock(simtime.Config{Source: simtime.ROS2})
	clock.FollowROS(func() simtime.Stamp { return 1_000 })
	fmt.Println(clock.Now())
	clock.Subscribe(report)
	clock.FollowROS(func() simtime.Stamp { return 400 })
	fmt.Println(clock.Now())
	// Output:
	// 1000
	// jumped: 1000 -> 400 ns, jump: true
	// 400
}

// What holds a clock between its own runs leaves its user's pauses alone.
func ExampleClock_Hold() {
	clock, _ := simtime.NewClock(simtime.Config{Stepped: true})
	release := clock.Hold()
	clock.Pause()
	clock.Resume()
	fmt.Println(clock.Paused(), clock.Advance(1) == nil)
	release()
	fmt.Println(clock.Paused(), clock.Advance(1) == nil)
	// Output:
	// false false
	// false true
}

// Names of time sources come from a configuration or a command line.
func ExampleParseSource() {
	for _, name := range []string{"unity", "SS2", "dotnet_system", "GPS"} {
		source, err := simtime.ParseSource(name)
		fmt.Printf("%q %v\n", source, err)
	}
	// Output:
	// "engine" <nil>
	// "ss2" <nil>
	// "system" <nil>
	// "" unknown time source "GPS" (known: engine, ss2, system, simulation, ros2, and unity for engine)
}

// replay shows the stamps of a recording, one after the other.
type replay struct{ stamps []int64 }

// Now returns the next stamp, and the last again at the end.
func (r *replay) Now() simtime.Stamp {
	now := r.stamps[0]
	if len(r.stamps) > 1 {
		r.stamps = r.stamps[1:]
	}
	return simtime.Stamp(now)
}

// A source of your own needs only to tell the time. Such a one doesn't follow the scale; the
// clock itself stands while paused, and finds jumps.
func ExampleSource() {
	clock, _ := simtime.NewClock(simtime.Config{
		Source: "replay",
		Sources: map[string]func() simtime.Source{
			"replay": func() simtime.Source { return &replay{[]int64{0, 10, 20, 20, 5, 15}} },
		},
	})
	clock.Subscribe(report)
	fmt.Println(clock.Now(), clock.Now())
	clock.Pause()
	fmt.Println(clock.Now(), clock.Now())
	clock.Resume()
	fmt.Println(clock.Now(), clock.Now())
	// Output:
	// 10 20
	// paused: 20 -> 20 ns, jump: false
	// 20 20
	// resumed: 20 -> 5 ns, jump: true
	// 15 15
}

// crank is a source that its user turns; it follows the scale and can be stepped.
type crank struct {
	time  int64
	scale simtime.Scale
}

// Now returns the time.
func (c *crank) Now() simtime.Stamp { return simtime.Stamp(c.time) }

// SetScale changes what a turn makes of the time; zero is a pause.
func (c *crank) SetScale(s simtime.Scale) { c.scale = s }

// Step moves the time by hand.
func (c *crank) Step(d int64) { c.time += d }

// turn lets as much of the host's time pass.
func (c *crank) turn(host int64) { c.time += c.scale.Apply(host) }

// A source that is a Stepper takes part in all of scale, pause and step.
func ExampleStepper() {
	source := &crank{}
	clock, _ := simtime.NewClock(simtime.Config{
		Source:  "crank",
		Sources: map[string]func() simtime.Source{"crank": func() simtime.Source { return source }},
	})
	source.turn(1000)
	fmt.Println(clock.Now())
	half, _ := simtime.ParseScale("0.5")
	_ = clock.SetScale(half)
	source.turn(1000)
	fmt.Println(clock.Now())
	clock.Pause()
	source.turn(1000)
	_ = clock.Step(7)
	fmt.Println(clock.Now())
	// Output:
	// 1000
	// 1500
	// 1507
}

// A rate is held exactly: its grid doesn't drift, and may be asked both ways.
func ExampleParseRate() {
	r, _ := simtime.ParseRate("13.4")
	fmt.Println(r, r.Period(), r.At(1), r.At(67))
	fmt.Println(r.IndexAt(74_626_864), r.IndexAt(74_626_865))
	_, err := simtime.ParseRate("0")
	fmt.Println(errors.Is(err, simtime.ErrRate), err)
	// Output:
	// 13.4 74.626865ms 74626865 5000000000
	// 0 1
	// true invalid rate: 0 Hz is outside (0, 1000000000]
}

// Numbers that are floating-point already mean what they are written as.
func ExampleRateOf() {
	r, _ := simtime.RateOf(29.97)
	fmt.Println(r, r.Float64(), r.At(2997))
	fmt.Println(simtime.Hz(30), simtime.Hz(30).Float64())
	// Output:
	// 29.97 29.97 100000000000
	// 30 30
}

// A grid of 10 ms is 100 Hz, exactly.
func ExampleEvery() {
	rate, err := simtime.Every(10 * time.Millisecond)
	fmt.Println(rate, err)
	// Output: 100 <nil>
}

// A time of a message in two numbers is one here.
func ExampleStampOf() {
	at, err := simtime.StampOf(12, 500_000_000)
	fmt.Println(int64(at), err)
	at, err = simtime.StampOf(12, 1_000_000_000) // as rounding may make it
	fmt.Println(int64(at), err)
	// Output:
	// 12500000000 <nil>
	// 13000000000 <nil>
}

// A time scale is held exactly, too.
func ExampleParseScale() {
	slow, _ := simtime.ParseScale("0.2")
	third, _ := simtime.ScaleOf(0.333)
	fmt.Println(slow, slow.Float64(), slow.Apply(1_000_000_000))
	fmt.Println(third, third.Apply(10), third.Apply(1000))
	_, err := simtime.ParseScale("-1")
	fmt.Println(errors.Is(err, simtime.ErrScale))
	// Output:
	// 0.2 0.2 200000000
	// 0.333 3 333
	// true
}

// A sensor asks its schedule at every update of the loop. One that comes late
// fires once, for the last instant, and keeps its phase.
func ExampleNewSchedule() {
	camera, err := simtime.NewSchedule(simtime.Hz(10), 0)
	if err != nil {
		panic(err)
	}
	for _, frame := range []int64{0, 33_000_000, 99_999_999, 101_000_000, 450_000_000, 480_000_000} {
		if at, due := camera.Due(simtime.Stamp(frame)); due {
			fmt.Println("at", frame, "for", at)
		}
	}
	fmt.Println("next", camera.Next(), "skipped", camera.Skipped())
	// Output:
	// at 0 for 0
	// at 101000000 for 100000000
	// at 450000000 for 400000000
	// next 500000000 skipped 2
}

// The rate may be changed while it runs.
func ExampleSchedule_SetRate() {
	s, _ := simtime.NewSchedule(simtime.Hz(10), 0)
	s.Due(100_000_000)
	_ = s.SetRate(simtime.Hz(25), 110_000_000)
	fmt.Println(s.Rate(), s.Next())
	fmt.Println(s.SetRate(simtime.Rate{}, 110_000_000))
	// Output:
	// 25 120000000
	// set schedule's rate: invalid rate: no rate given
}

// Where the clock has jumped to, schedules continue; what lies between is not missed.
func ExampleSchedule_Realign() {
	clock, _ := simtime.NewClock(simtime.Config{Source: simtime.SS2})
	s, _ := simtime.NewSchedule(simtime.Hz(10), 0)
	clock.Subscribe(func(c simtime.Change) {
		if c.Jump() {
			s.Realign(c.To)
		}
	})
	_ = clock.Set(1_700_000_000, 50_000_000)
	fmt.Println(s.Next(), s.Skipped())
	// Output:
	// 1700000000100000000 0
}

// The fixed-step loop has as many steps in a frame as simulation time asks for.
func ExampleNewFixedLoop() {
	loop, _ := simtime.NewFixedLoop(simtime.Hz(100), 0)
	imu, _ := simtime.NewSchedule(simtime.Hz(50), 0)
	for _, frame := range []int64{0, 16_000_000, 43_000_000} {
		for step := range loop.Until(simtime.Stamp(frame)) {
			_, due := imu.Due(step)
			fmt.Println("frame", frame, "step", step, "imu", due)
		}
	}
	// Output:
	// frame 0 step 0 imu true
	// frame 16000000 step 10000000 imu false
	// frame 43000000 step 20000000 imu true
	// frame 43000000 step 30000000 imu false
	// frame 43000000 step 40000000 imu true
}

// After a jump the steps continue from there.
func ExampleFixedLoop_Realign() {
	loop, _ := simtime.NewFixedLoop(simtime.Hz(100), 0)
	loop.Realign(995_000_000)
	for step := range loop.Until(1_010_000_000) {
		fmt.Println(step)
	}
	// Output:
	// 1000000000
	// 1010000000
}

// The publisher runs on a goroutine of its own, by the host's time, until its
// context ends; frames have no part in it.
func ExampleClockPublisher_Run() {
	ros := simtime.Stamp(-10) // 0 when the clock is made
	clock, _ := simtime.NewClock(simtime.Config{
		Source: simtime.ROS2, ROSClock: func() simtime.Stamp { ros += 10; return ros },
	})
	ctx, stop := context.WithCancel(context.Background())
	publisher, err := simtime.NewClockPublisher(clock, simtime.ClockPublisherConfig{
		Rate: simtime.Hz(200),
		Publish: func(_ context.Context, stamp simtime.Stamp) error {
			fmt.Println("/clock", stamp)
			if stamp == 30 {
				stop()
			}
			return nil
		},
	})
	if err != nil {
		panic(err)
	}
	ended := make(chan error)
	go func() { ended <- publisher.Run(ctx) }()
	fmt.Println(<-ended)
	// Output:
	// /clock 10
	// /clock 20
	// /clock 30
	// <nil>
}

// A publisher needs a clock, something to publish with, and a rate that it can keep.
func ExampleNewClockPublisher() {
	clock, _ := simtime.NewClock(simtime.Config{})
	send := func(context.Context, simtime.Stamp) error { return nil }
	for _, cfg := range []simtime.ClockPublisherConfig{
		{Publish: send}, // 100 Hz
		{Rate: simtime.Hz(10)},
		{Rate: simtime.Hz(2000), Publish: send},
	} {
		_, err := simtime.NewClockPublisher(clock, cfg)
		fmt.Println(err, errors.Is(err, simtime.ErrNoPublish), errors.Is(err, simtime.ErrRate))
	}
	// Output:
	// <nil> false false
	// make clock publisher: no publish function true false
	// make clock publisher: invalid rate: 2000 Hz is outside (0, 1000] false true
}

// A stepped loop publishes the clock itself, before the samples of that tick.
func ExampleClockPublisher_Publish() {
	clock, _ := simtime.NewClock(simtime.Config{Stepped: true})
	publisher, _ := simtime.NewClockPublisher(clock, simtime.ClockPublisherConfig{
		Publish: func(_ context.Context, stamp simtime.Stamp) error {
			fmt.Println("/clock", stamp)
			return nil
		},
	})
	for _, t := range []int64{0, 10_000_000} {
		_ = clock.Advance(simtime.Stamp(t))
		_ = publisher.Publish(context.Background())
	}
	// Output:
	// /clock 0
	// /clock 10000000
}

// The rate may be changed while the publisher runs: a new grid begins at once.
func ExampleClockPublisher_SetRate() {
	clock, _ := simtime.NewClock(simtime.Config{})
	ctx, stop := context.WithCancel(context.Background())
	var deadlines []time.Time
	var publisher *simtime.ClockPublisher
	publisher, _ = simtime.NewClockPublisher(clock, simtime.ClockPublisherConfig{
		Rate:    simtime.Hz(1),
		Observe: func(deadline time.Time, _ time.Duration) { deadlines = append(deadlines, deadline) },
		Publish: func(context.Context, simtime.Stamp) error {
			switch len(deadlines) {
			case 1:
				return publisher.SetRate(simtime.Hz(250))
			case 3:
				stop()
			}
			return nil
		},
	})
	_ = publisher.Run(ctx)
	between := deadlines[2].Sub(deadlines[1])
	fmt.Println("a multiple of 4 ms:", between > 0 && between%(4*time.Millisecond) == 0)
	fmt.Println(publisher.SetRate(simtime.Hz(0)))
	// Output:
	// a multiple of 4 ms: true
	// set clock rate: invalid rate: 0 Hz is outside (0, 1000]
}

// The statistics tell what was published, and how late.
func ExampleClockPublisher_Stats() {
	clock, _ := simtime.NewClock(simtime.Config{Stepped: true})
	publisher, _ := simtime.NewClockPublisher(clock, simtime.ClockPublisherConfig{
		Publish: func(context.Context, simtime.Stamp) error { return nil },
	})
	_ = clock.Advance(20_000_000)
	_ = publisher.Publish(context.Background())
	s := publisher.Stats()
	fmt.Println("published", s.Published, "failed", s.Failed, "missed", s.Missed, "last", s.LastStamp)
	fmt.Println("by deadlines:", s.Lateness.Count)
	// Output:
	// published 1 failed 0 missed 0 last 20000000
	// by deadlines: 0
}

// reading is a message that knows when its data was captured.
type reading struct{ at simtime.Stamp }

func (r reading) Captured() simtime.Stamp { return r.at }

// The stamp of a message is when its data was captured.
func ExampleStamped() {
	var message simtime.Stamped = reading{at: 1_500_000_000}
	fmt.Println(message.Captured())
	// Output: 1500000000
}

// One goroutine sets what others read.
func ExampleAtomicStamp() {
	var newest simtime.AtomicStamp
	newest.Store(1_000_000_000)
	before := newest.Swap(2_000_000_000)
	fmt.Println(before, newest.Load())
	// Output: 1000000000 2000000000
}
