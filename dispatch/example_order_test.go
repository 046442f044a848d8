package dispatch_test

import (
	"context"
	"fmt"

	"github.com/raybridge/raybridge/dispatch"
)

// Topics that share a lane are sent one message at a time, in the order of the
// TryQueue calls: a recording has one lane for all its topics.
func ExampleNewLane() {
	d := dispatch.New(dispatch.Config{})
	file := dispatch.NewLane(d)
	write := func(_ context.Context, line string) error {
		fmt.Println(line)
		return nil
	}
	clock := dispatch.NewTopic(d, "/clock", write, dispatch.TopicConfig{Lane: file})
	image := dispatch.NewTopic(d, "/image", write, dispatch.TopicConfig{Lane: file})
	clock.TryQueue("clock 0")
	image.TryQueue("image 0")
	clock.TryQueue("clock 1")
	_ = d.Drain(context.Background())
	_ = d.Close(context.Background())
	// Output:
	// clock 0
	// image 0
	// clock 1
}

// An ordered topic keeps the order without dropping, however many workers there
// are.
func ExampleTopicConfig_ordered() {
	d := dispatch.New(dispatch.Config{})
	var sent []int
	topic := dispatch.NewTopic(d, "/odometry", func(_ context.Context, n int) error {
		sent = append(sent, n) // no lock: one message at a time
		return nil
	}, dispatch.TopicConfig{Ordered: true})
	for i := range 10 {
		topic.TryQueue(i)
	}
	_ = d.Drain(context.Background())
	_ = d.Close(context.Background())
	fmt.Println(sent)
	// Output: [0 1 2 3 4 5 6 7 8 9]
}

// With WaitForToken the sender waits for a busy token, so that nothing is dropped
// and runs can be repeated.
func ExampleTopicConfig_waitForToken() {
	d := dispatch.New(dispatch.Config{})
	topic := dispatch.NewTopic(d, "/scan", func(_ context.Context, n int) error {
		fmt.Println("scan", n)
		return nil
	}, dispatch.TopicConfig{WaitForToken: true})
	for i := range 3 {
		topic.TryQueueTask(i, dispatch.Task{Token: "lidar"})
	}
	_ = d.Drain(context.Background())
	_ = d.Close(context.Background())
	// Output:
	// scan 0
	// scan 1
	// scan 2
}

// Reading is a message that knows when it was captured.
type Reading struct {
	StampNs int64
	Value   float64
}

// Stamp returns the simulation time of the capture, which a gated topic heeds.
func (r Reading) Stamp() int64 { return r.StampNs }

// A gated topic holds messages that are later than the clock, until the clock's
// own message is out.
func ExampleDispatcher_Release() {
	ctx := context.Background()
	d := dispatch.New(dispatch.Config{})
	sent := make(chan Reading)
	topic := dispatch.NewTopic(d, "/range", func(_ context.Context, r Reading) error {
		sent <- r
		return nil
	}, dispatch.TopicConfig{Ordered: true, Gated: true})

	d.Release(0)
	topic.TryQueue(Reading{StampNs: 5_000_000, Value: 1.5})
	topic.TryQueue(Reading{StampNs: 15_000_000, Value: 1.6})
	fmt.Println("clock 10 ms")
	d.Release(10_000_000)
	fmt.Println("sent", <-sent)
	fmt.Println("waiting", topic.Stats().Waiting)
	fmt.Println("clock 20 ms")
	d.Release(20_000_000)
	fmt.Println("sent", <-sent)
	_ = d.Close(ctx)
	// Output:
	// clock 10 ms
	// sent {5000000 1.5}
	// waiting 1
	// clock 20 ms
	// sent {15000000 1.6}
}

// At the end of a run no clock comes any more: what is held may go out before the
// dispatcher is drained.
func ExampleDispatcher_ReleaseAll() {
	ctx := context.Background()
	d := dispatch.New(dispatch.Config{})
	topic := dispatch.NewTopic(d, "/range", func(_ context.Context, r Reading) error {
		fmt.Println("sent", r.Value)
		return nil
	}, dispatch.TopicConfig{Gated: true})
	topic.TryQueue(Reading{StampNs: 1_000_000, Value: 2.5})

	d.ReleaseAll()
	_ = d.Drain(ctx)
	_ = d.Close(ctx)
	// Output: sent 2.5
}
