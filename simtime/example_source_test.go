package simtime_test

import (
	"fmt"

	"github.com/raybridge/raybridge/simtime"
)

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
func (r *replay) Now() int64 {
	now := r.stamps[0]
	if len(r.stamps) > 1 {
		r.stamps = r.stamps[1:]
	}
	return now
}

// A source of one's own needs only to tell the time. Such a one doesn't follow the
// scale; the clock itself stands while paused, and finds jumps.
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
func (c *crank) Now() int64 { return c.time }

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
