package simtime_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/raybridge/raybridge/simtime"
)

// A stepped loop visits exactly the instants at which a sensor is due.
func ExampleNewClock() {
	clock, err := simtime.NewClock(simtime.Config{Stepped: true})
	if err != nil {
		panic(err)
	}
	lidarRate, _ := simtime.ParseRate("13.4")
	camera, _ := simtime.NewSchedule(simtime.Hz(10), 0)
	lidar, _ := simtime.NewSchedule(lidarRate, int64(lidarRate.Period()))

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
	fmt.Println("stepped:", clock.Stepped(), "paused:", clock.Paused(), "scale:", clock.Scale())
	// Output:
	// 1500000000 ns of simulation
	// stepped: true paused: false scale: 1
}

// A loop in real time waits until the host's clock, and the scale, have come to
// the next instant; then it makes that the time.
func ExampleClock_WaitUntil() {
	clock, _ := simtime.NewClock(simtime.Config{})
	ctx := context.Background()
	for t := int64(10_000_000); t <= 30_000_000; t += 10_000_000 {
		if err := clock.WaitUntil(ctx, t); err != nil {
			panic(err)
		}
		_ = clock.Advance(t)
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

// A loop that was held up for 20 ms leaves them out, instead of running after
// the host's clock from then on.
func ExampleClock_DropLag() {
	clock, _ := simtime.NewClock(simtime.Config{})
	_ = clock.WaitUntil(context.Background(), 20_000_000)
	fmt.Println("late:", clock.Lag(10_000_000) >= 10_000_000)
	fmt.Println("left out:", clock.DropLag() >= 20_000_000)
	fmt.Println("time:", clock.Now())
	// Output:
	// late: true
	// left out: true
	// time: 0
}

// Steps of a paused clock make no loop late, however long they are: each of their
// instants is visited.
func ExampleClock_Stepping() {
	clock, _ := simtime.NewClock(simtime.Config{})
	clock.Pause()
	_ = clock.Step(30_000_000)
	for t := int64(10_000_000); clock.Stepping(t); t += 10_000_000 {
		_ = clock.Advance(t)
		fmt.Println(clock.Now(), "lag", clock.Lag(t))
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
	clock, _ := simtime.NewClock(simtime.Config{Source: simtime.ROS2, ROSClock: func() int64 { return 42 }})
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
