package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/raybridge/raybridge/dispatch"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/simtime"
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

// Messages that implement ThreadCached are copied before the call returns: the sender may fill
// its buffer again at once. The topic says what its pool holds.
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
	// topic "/gated": invalid topic configuration: it is gated, but int has no method Captured() simtime.Stamp
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
func Example_panic() {
	d := dispatch.New(dispatch.Config{Logger: quiet})
	topic := dispatch.NewTopic(d, "/points", func(_ context.Context, points []int) error {
		fmt.Println(points[3])
		return nil
	}, dispatch.TopicConfig{})
	topic.TryQueueTask([]int{1}, dispatch.Task{Done: func(err error) {
		var panicked *flow.PanicError
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

// full fills a topic whose publisher hangs, offers messages 0 to 3, and releases the publisher:
// two messages find room.
func full(cfg dispatch.TopicConfig) {
	d := dispatch.New(dispatch.Config{MaxWorkers: 1, Logger: quiet})
	started, hold := make(chan struct{}, 5), make(chan struct{})
	cfg.Depth = 2
	topic := dispatch.NewTopic(d, "/image", func(context.Context, int) error {
		started <- struct{}{}
		<-hold
		return nil
	}, cfg)
	topic.TryQueue(-1)
	<-started
	for i := range 4 {
		topic.TryQueueTask(i, dispatch.Task{Done: func(err error) { fmt.Println(i, err) }})
	}
	close(hold)
	_ = d.Drain(context.Background())
	_ = d.Close(context.Background())
}

// DropNewest refuses what finds no room.
func ExampleTopicConfig_dropNewest() {
	full(dispatch.TopicConfig{Policy: flow.DropNewest})
	// Output:
	// 2 queue is full
	// 3 queue is full
	// 0 <nil>
	// 1 <nil>
}

// DropOldest pushes out what has waited longest.
func ExampleTopicConfig_dropOldest() {
	full(dispatch.TopicConfig{Policy: flow.DropOldest})
	// Output:
	// 0 queue is full
	// 1 queue is full
	// 2 <nil>
	// 3 <nil>
}

// Block lets the sender wait: for as long as it takes, or up to BlockLimit.
func ExampleTopicConfig_block() {
	full(dispatch.TopicConfig{Policy: flow.Block, BlockLimit: time.Millisecond})
	// Output:
	// 2 peer too slow
	// 3 peer too slow
	// 0 <nil>
	// 1 <nil>
}

// Topics that share a lane are sent one message at a time, in the order of the TryQueue calls.
// A recording has one lane for all its topics.
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
	At    simtime.Stamp
	Value float64
}

// Stamp returns the simulation time of the capture, which a gated topic heeds.
func (r Reading) Captured() simtime.Stamp { return r.At }

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
	topic.TryQueue(Reading{At: 5_000_000, Value: 1.5})
	topic.TryQueue(Reading{At: 15_000_000, Value: 1.6})
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
	topic.TryQueue(Reading{At: 1_000_000, Value: 2.5})

	d.ReleaseAll()
	_ = d.Drain(ctx)
	_ = d.Close(ctx)
	// Output: sent 2.5
}

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
	// handled: closed
}

// While time is paused nothing new is taken; what was taken before is still sent.
func ExampleDispatcher_Pause() {
	d := dispatch.New(dispatch.Config{})
	topic := dispatch.NewTopic(d, "/image", func(context.Context, int) error { return nil }, dispatch.TopicConfig{})
	done := func(err error) { fmt.Println("callback:", err) }

	d.Pause()
	fmt.Println("paused:", d.Paused())
	fmt.Println("taken:", topic.TryQueueTask(1, dispatch.Task{Done: done}))
	d.Resume()
	fmt.Println("paused:", d.Paused())
	topic.TryQueueTask(2, dispatch.Task{Done: done})
	_ = d.Drain(context.Background())
	_ = d.Close(context.Background())
	// Output:
	// paused: true
	// callback: dispatcher is paused
	// taken: false
	// paused: false
	// callback: <nil>
}

// Drain waits for all that was queued, its callbacks included, or until its
// context ends.
func ExampleDispatcher_Drain() {
	d := dispatch.New(dispatch.Config{})
	hold := make(chan struct{})
	topic := dispatch.NewTopic(d, "/image", func(context.Context, int) error { <-hold; return nil }, dispatch.TopicConfig{})
	topic.TryQueueTask(1, dispatch.Task{Done: func(error) { fmt.Println("sent") }})

	hurried, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	fmt.Println(d.Drain(hurried))
	close(hold)
	fmt.Println(d.Drain(context.Background()))
	_ = d.Close(context.Background())
	// Output:
	// drain dispatcher: context deadline exceeded
	// sent
	// <nil>
}

// Close discards what is queued, and every callback still runs. The publishers'
// context ends, so that those who heed it return.
func ExampleDispatcher_Close() {
	d := dispatch.New(dispatch.Config{MaxWorkers: 1})
	started := make(chan struct{})
	topic := dispatch.NewTopic(d, "/image", func(ctx context.Context, _ int) error {
		close(started)
		<-ctx.Done()
		return ctx.Err()
	}, dispatch.TopicConfig{Ordered: true})
	fates := make(chan error, 2)
	topic.TryQueueTask(1, dispatch.Task{Done: func(err error) { fates <- err }})
	<-started
	topic.TryQueueTask(2, dispatch.Task{Done: func(err error) { fates <- err }})

	fmt.Println("closed:", d.Close(context.Background()))
	fmt.Println(<-fates)
	fmt.Println(<-fates)
	fmt.Println("taken:", topic.TryQueue(3))
	// Unordered output:
	// closed: <nil>
	// closed
	// context canceled
	// taken: false
}

// The context in the configuration ends the dispatcher, too; Closed tells when
// the last publisher has returned.
func ExampleDispatcher_Closed() {
	ctx, cancel := context.WithCancel(context.Background())
	d := dispatch.New(dispatch.Config{Context: ctx})
	topic := dispatch.NewTopic(d, "/image", func(context.Context, int) error { return nil }, dispatch.TopicConfig{})
	cancel()
	<-d.Closed()
	fmt.Println(errors.Is(topic.Publish(context.Background(), 1), flow.ErrClosed))
	// Output: true
}

// A topic can end before its dispatcher; its counts remain.
func ExampleTopic_Close() {
	d := dispatch.New(dispatch.Config{})
	topic := dispatch.NewTopic(d, "/image", func(context.Context, int) error { return nil }, dispatch.TopicConfig{})
	topic.TryQueue(1)
	_ = d.Drain(context.Background())
	topic.Close()
	fmt.Println("taken:", topic.TryQueue(2))
	fmt.Println("sent:", topic.Stats().Sent, "dropped:", topic.Stats().Dropped)
	_ = d.Close(context.Background())
	// Output:
	// taken: false
	// sent: 1 dropped: map[closed:1]
}

// Stats tells the load of the workers and what became of each topic's messages.
func ExampleDispatcher_Stats() {
	d := dispatch.New(dispatch.Config{Logger: quiet})
	topic := dispatch.NewTopic(d, "/cloud", func(_ context.Context, a *FloatArray) error {
		if len(a.Values) == 0 {
			return errors.New("empty cloud")
		}
		return nil
	}, dispatch.TopicConfig{})
	topic.TryQueue(&FloatArray{Values: make([]float32, 100)})
	topic.TryQueue(&FloatArray{})
	_ = d.Drain(context.Background())

	stats := d.Stats()
	fmt.Println("workers:", stats.Workers > 0, "outstanding:", stats.Outstanding)
	for _, t := range stats.Topics {
		fmt.Println(t.Name, "queued", t.Queued, "sent", t.Sent, "failed", t.Failed, "dropped", t.Dropped)
		fmt.Println("in flight", t.InFlight, "waiting", t.Waiting, "bytes", t.WaitingBytes, "senders blocked", t.Blocked)
		fmt.Println("timed", t.QueueTime.Count, "in the queue,", t.PublishTime.Count, "being published")
		fmt.Println("pool lends", t.Pool.Lent, "with", t.Pool.LentBytes, "bytes")
	}
	_ = d.Close(context.Background())
	// Output:
	// workers: true outstanding: 0
	// /cloud queued 2 sent 1 failed 1 dropped map[convert_failed:1]
	// in flight 0 waiting 0 bytes 0 senders blocked 0
	// timed 2 in the queue, 2 being published
	// pool lends 0 with 0 bytes
}
