package dispatch_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/raybridge/raybridge/dispatch"
	"github.com/raybridge/raybridge/flow"
)

func steer(_ context.Context, angle float64) error {
	if angle > 1 {
		return errors.New("angle out of range")
	}
	fmt.Println("steer", angle)
	return nil
}

// A synchronous subscriber handles what comes in on the goroutine that delivers,
// and says whether that went well.
func ExampleNewSubscriber() {
	d := dispatch.New(dispatch.Config{Logger: quiet})
	steering := dispatch.NewSubscriber(d, "/steer", steer, dispatch.SubscriberConfig{Sync: true})
	fmt.Println(steering.Name(), steering.Err())
	fmt.Println(steering.Deliver(0.25))
	fmt.Println(steering.Deliver(4))
	d.Pause()
	fmt.Println(steering.Deliver(0.5))
	fmt.Println(steering.Stats().Dropped)
	_ = d.Close(context.Background())
	// Output:
	// /steer <nil>
	// steer 0.25
	// true
	// false
	// false
	// map[convert_failed:1 paused:1]
}

// An asynchronous subscriber queues what comes in, by the rules of topics:
// policies, tokens, callbacks.
func ExampleSubscriber_DeliverTask() {
	d := dispatch.New(dispatch.Config{Logger: quiet})
	steering := dispatch.NewSubscriber(d, "/steer", steer, dispatch.SubscriberConfig{
		TopicConfig: dispatch.TopicConfig{Policy: flow.DropOldest, Ordered: true, Depth: 4},
	})
	handled := func(err error) { fmt.Println("handled:", err) }
	steering.DeliverTask(0.25, dispatch.Task{Done: handled, Token: "wheel"})
	_ = d.Drain(context.Background())
	steering.DeliverTask(4, dispatch.Task{Done: handled, Token: "wheel"})
	_ = d.Drain(context.Background())
	steering.Close()
	steering.DeliverTask(0.5, dispatch.Task{Done: handled})
	_ = d.Close(context.Background())
	// Output:
	// steer 0.25
	// handled: <nil>
	// handled: angle out of range
	// handled: dispatcher is closed
}
