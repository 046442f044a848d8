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

func ExampleClock_Subscribe() {
	clock, _ := simtime.NewClock(simtime.Config{Source: "ss2"})
	clock.Subscribe(func(c simtime.Change) {
		fmt.Printf("%v: %d -> %d ns, jump: %v\n", c.Kind, c.From, c.To, c.Jump())
	})
	_ = clock.Set(0, 250_000_000)
	_ = clock.Set(0, 100_000_000)
	_ = clock.Select("engine")
	fmt.Println(clock.Select("sundial"))
	// Output:
	// jumped: 250000000 -> 100000000 ns, jump: true
	// source changed: 100000000 -> 0 ns, jump: true
	// select time source: unknown time source "sundial" (known: engine, ss2, system, simulation, ros2, and unity for engine)
}

// A stepped loop publishes the clock itself, before the samples of that tick.
func ExampleClockPublisher_Publish() {
	clock, _ := simtime.NewClock(simtime.Config{Stepped: true})
	publisher, _ := simtime.NewClockPublisher(clock, simtime.ClockPublisherConfig{
		Publish: func(_ context.Context, stampNs int64) error {
			fmt.Println("/clock", stampNs)
			return nil
		},
	})
	for _, t := range []int64{0, 10_000_000} {
		_ = clock.Advance(t)
		_ = publisher.Publish(context.Background())
	}
	// Output:
	// /clock 0
	// /clock 10000000
}

func ExampleParseRate() {
	r, _ := simtime.ParseRate("13.4")
	fmt.Println(r, r.At(1), r.At(67))
	_, err := simtime.ParseRate("0")
	fmt.Println(errors.Is(err, simtime.ErrRate), err)
	// Output:
	// 13.4 74626865 5000000000
	// true invalid rate: 0 Hz is outside (0, 1000000000]
}

func ExampleFixedLoop_Until() {
	loop, _ := simtime.NewFixedLoop(simtime.Hz(100), 0)
	for _, frame := range []int64{0, 16_000_000, 33_000_000} {
		for t := range loop.Until(frame) {
			fmt.Println("frame", frame, "step", t)
		}
	}
	// Output:
	// frame 0 step 0
	// frame 16000000 step 10000000
	// frame 33000000 step 20000000
	// frame 33000000 step 30000000
}
