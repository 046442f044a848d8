package simtime_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/raybridge/raybridge/simtime"
)

// The publisher runs on a goroutine of its own, by the host's time, until its
// context ends; frames have no part in it.
func ExampleClockPublisher_Run() {
	ros := int64(-10) // 0 when the clock is made
	clock, _ := simtime.NewClock(simtime.Config{
		Source: simtime.ROS2, ROSClock: func() int64 { ros += 10; return ros },
	})
	ctx, stop := context.WithCancel(context.Background())
	publisher, err := simtime.NewClockPublisher(clock, simtime.ClockPublisherConfig{
		Rate: simtime.Hz(200),
		Publish: func(_ context.Context, stampNs int64) error {
			fmt.Println("/clock", stampNs)
			if stampNs == 30 {
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
	send := func(context.Context, int64) error { return nil }
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

// The rate may be changed while the publisher runs: a new grid begins at once.
func ExampleClockPublisher_SetRate() {
	clock, _ := simtime.NewClock(simtime.Config{})
	ctx, stop := context.WithCancel(context.Background())
	var deadlines []time.Time
	var publisher *simtime.ClockPublisher
	publisher, _ = simtime.NewClockPublisher(clock, simtime.ClockPublisherConfig{
		Rate:    simtime.Hz(1),
		Observe: func(deadline time.Time, _ time.Duration) { deadlines = append(deadlines, deadline) },
		Publish: func(context.Context, int64) error {
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
		Publish: func(context.Context, int64) error { return nil },
	})
	_ = clock.Advance(20_000_000)
	_ = publisher.Publish(context.Background())
	s := publisher.Stats()
	fmt.Println("published", s.Published, "failed", s.Failed, "missed", s.Missed, "last", s.LastStamp)
	fmt.Println("by deadlines:", s.Lateness.TotalCount())
	// Output:
	// published 1 failed 0 missed 0 last 20000000
	// by deadlines: 0
}
