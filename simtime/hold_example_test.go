package simtime_test

import (
	"fmt"
	"time"

	"github.com/raybridge/raybridge/simtime"
)

// A pipeline's pause between its runs, and its user's.
func ExampleClock_Hold() {
	clock, err := simtime.NewClock(simtime.Config{Source: simtime.Simulation})
	if err != nil {
		panic(err)
	}
	release := clock.Hold()
	start := clock.Now()
	clock.Pause() // the user's: it is still there after the release
	release()
	fmt.Println(clock.Paused(), clock.Now() == start)
	// Output: true true
}

// A loop that goes on from where the clock is when it is late, and visits what was
// stepped.
func ExampleClock_Lag() {
	clock, err := simtime.NewClock(simtime.Config{})
	if err != nil {
		panic(err)
	}
	const period = int64(10 * time.Millisecond)
	clock.Pause()
	if err := clock.Step(3 * period); err != nil {
		panic(err)
	}
	for t := period; t <= clock.Pace(); t += period {
		t += clock.Lag(t)
		if err := clock.Advance(t); err != nil {
			panic(err)
		}
		fmt.Println(time.Duration(t), clock.Stepping(t))
	}
	// Output:
	// 10ms true
	// 20ms true
	// 30ms true
}
