package simtime_test

import (
	"errors"
	"fmt"

	"github.com/raybridge/raybridge/simtime"
)

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
		if at, due := camera.Due(frame); due {
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

// Where the clock has jumped to, schedules go on; what lies between is not missed.
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
		for step := range loop.Until(frame) {
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

// After a jump the steps go on from there.
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
