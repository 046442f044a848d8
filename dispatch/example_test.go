package dispatch_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/raybridge/raybridge/dispatch"
	"github.com/raybridge/raybridge/flow"
)

// A dispatcher runs the publishers of its topics on workers. Drain waits for
// what was queued, Close ends the workers.
func ExampleNew() {
	ctx := context.Background()
	d := dispatch.New(dispatch.Config{MaxWorkers: 4})
	greetings := dispatch.NewTopic(d, "/greetings", func(_ context.Context, text string) error {
		fmt.Println("sending", text)
		return nil
	}, dispatch.TopicConfig{})

	greetings.TryQueue("hello")

	fmt.Println("drained:", d.Drain(ctx))
	fmt.Println("closed:", d.Close(ctx))
	// Output:
	// sending hello
	// drained: <nil>
	// closed: <nil>
}

// FloatArray is a message whose sender reuses one buffer.
type FloatArray struct {
	Values []float32
	Class  uint64
}

// CopyToCache copies the valid values into dst, whose buffer is reused.
func (a *FloatArray) CopyToCache(dst *FloatArray) {
	dst.Values = append(dst.Values[:0], a.Values...)
	dst.Class = a.Class
}

// CacheKey says that only instances of one class can hold each other's data.
func (a *FloatArray) CacheKey() uint64 { return a.Class }

// SizeBytes lets the topic count and bound bytes.
func (a *FloatArray) SizeBytes() int64 { return int64(4 * len(a.Values)) }

// Messages that implement ThreadCached are copied before the call returns: the
// sender may fill its buffer anew at once. The topic says what its pool holds.
func ExampleThreadCached() {
	d := dispatch.New(dispatch.Config{})
	topic := dispatch.NewTopic(d, "/values", func(_ context.Context, a *FloatArray) error {
		fmt.Println("sent", a.Values)
		return nil
	}, dispatch.TopicConfig{Ordered: true})

	buffer := &FloatArray{Values: make([]float32, 2)}
	for i := range 3 {
		buffer.Values[0], buffer.Values[1] = float32(i), float32(10*i)
		topic.TryQueue(buffer)
		_ = d.Drain(context.Background()) // else more instances are made
	}
	pool := topic.Stats().Pool
	fmt.Println(pool.Idle, "instance of", pool.IdleBytes, "bytes")
	_ = d.Close(context.Background())
	// Output:
	// sent [0 0]
	// sent [1 10]
	// sent [2 20]
	// 1 instance of 8 bytes
}

// What can't work is told by Err; all messages of such a topic are refused with
// that error.
func ExampleNewTopic() {
	d := dispatch.New(dispatch.Config{})
	publish := func(_ context.Context, n int) error {
		fmt.Println("sent", n)
		return nil
	}
	numbers := dispatch.NewTopic(d, "/numbers", publish, dispatch.TopicConfig{Policy: flow.DropOldest, Depth: 8})
	fmt.Println(numbers.Name(), numbers.Err(), numbers.TryQueue(1))

	gated := dispatch.NewTopic(d, "/gated", publish, dispatch.TopicConfig{Gated: true})
	fmt.Println(gated.Err())
	fmt.Println(errors.Is(gated.Err(), dispatch.ErrConfig), gated.TryQueue(2))

	_ = d.Drain(context.Background())
	_ = d.Close(context.Background())
	// Unordered output:
	// /numbers <nil> true
	// sent 1
	// topic "/gated": invalid topic configuration: it is gated, but int has no Stamp method
	// true false
}

// TryQueue says at once whether a message was taken. Its policy says whether it
// waits for room.
func ExampleTopic_TryQueue() {
	d := dispatch.New(dispatch.Config{})
	fast := dispatch.NewTopic(d, "/fast", func(context.Context, int) error { return nil }, dispatch.TopicConfig{})
	for i := range 5 {
		if !fast.TryQueue(i) {
			fmt.Println("dropped", i) // paused or closed, or full with another policy
		}
	}
	_ = d.Drain(context.Background())
	fmt.Println(fast.Stats().Sent, "sent")
	_ = d.Close(context.Background())
	// Output: 5 sent
}

// An exclusive token drops a message while the one before it is under way, and
// the callback tells the sender.
func ExampleTopic_TryQueueTask() {
	d := dispatch.New(dispatch.Config{})
	hold := make(chan struct{})
	topic := dispatch.NewTopic(d, "/scan", func(context.Context, int) error {
		<-hold
		return nil
	}, dispatch.TopicConfig{})

	task := func(name string) dispatch.Task {
		return dispatch.Task{Token: "lidar", Done: func(err error) {
			switch {
			case err == nil:
				fmt.Println(name, "sent")
			case errors.Is(err, dispatch.ErrTokenBusy):
				fmt.Println(name, "dropped: the last one is still under way")
			}
		}}
	}
	fmt.Println("taken:", topic.TryQueueTask(1, task("first")))
	fmt.Println("taken:", topic.TryQueueTask(2, task("second")))
	close(hold)
	_ = d.Drain(context.Background())
	_ = d.Close(context.Background())
	// Output:
	// taken: true
	// second dropped: the last one is still under way
	// taken: false
	// first sent
}

// Small data can be sent at once, on the caller's goroutine, by the same rules.
func ExampleTopic_Publish() {
	d := dispatch.New(dispatch.Config{})
	imu := dispatch.NewTopic(d, "/imu", func(_ context.Context, acceleration float64) error {
		if acceleration > 100 {
			return errors.New("out of range")
		}
		fmt.Println("sent", acceleration)
		return nil
	}, dispatch.TopicConfig{})
	ctx := context.Background()
	fmt.Println(imu.Publish(ctx, 9.81))
	fmt.Println(imu.Publish(ctx, 1000))
	d.Pause()
	fmt.Println(imu.Publish(ctx, 9.81))
	_ = d.Close(ctx)
	// Output:
	// sent 9.81
	// <nil>
	// out of range
	// dispatcher is paused
}

// A publisher's panic is an error like any other.
func ExamplePanicError() {
	d := dispatch.New(dispatch.Config{Logger: quiet})
	topic := dispatch.NewTopic(d, "/points", func(_ context.Context, points []int) error {
		fmt.Println(points[3])
		return nil
	}, dispatch.TopicConfig{})
	topic.TryQueueTask([]int{1}, dispatch.Task{Done: func(err error) {
		var panicked *dispatch.PanicError
		if errors.As(err, &panicked) {
			fmt.Println(panicked.Value)
			fmt.Println("stack:", len(panicked.Stack) > 0)
			fmt.Println(panicked.DropCause())
		}
	}})
	_ = d.Drain(context.Background())
	_ = d.Close(context.Background())
	// Output:
	// runtime error: index out of range [3] with length 1
	// stack: true
	// convert_failed
}
