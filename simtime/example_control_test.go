package simtime_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/raybridge/raybridge/simtime"
)

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
	clock.Pause() // is none
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
	fmt.Println(s.NowNs, s.Source, s.Scale, s.Paused)
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
	clock, _ := simtime.NewClock(simtime.Config{Source: simtime.ROS2, ROSClock: func() int64 { return ros }})
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
	before := clock.Now()
	_ = clock.Step(10_000_000)
	_ = clock.Step(10_000_000)
	fmt.Println(clock.Now() - before)
	// Output:
	// true
	// 20000000
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

// A scenario runner outside sets the time, seconds and nanoseconds at once.
func ExampleClock_Set() {
	clock, _ := simtime.NewClock(simtime.Config{Source: simtime.SS2})
	fmt.Println(clock.Now())
	_ = clock.Set(12, 500_000_000)
	fmt.Println(clock.Now())
	err := clock.Set(12, 1_000_000_000)
	fmt.Println(errors.Is(err, simtime.ErrDuration), err)

	_ = clock.Select(simtime.Engine)
	err = clock.Set(13, 0)
	fmt.Println(errors.Is(err, simtime.ErrNotSettable), err)
	// Output:
	// 0
	// 12500000000
	// true set time: invalid duration or time: 12 s 1000000000 ns
	// true set time: time source can't be set: the source is engine, not ss2
}

// A bridge hands in the clock of its ROS graph.
func ExampleClock_FollowROS() {
	clock, _ := simtime.NewClock(simtime.Config{Source: simtime.ROS2})
	clock.FollowROS(func() int64 { return 1_000 })
	fmt.Println(clock.Now())
	clock.Subscribe(report)
	clock.FollowROS(func() int64 { return 400 })
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
