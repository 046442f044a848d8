package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/raybridge/raybridge/dispatch"
)

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
	// dispatcher is closed
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
	fmt.Println(errors.Is(topic.Publish(context.Background(), 1), dispatch.ErrClosed))
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
		fmt.Println("timed", t.QueueTime.TotalCount(), "in the queue,", t.PublishTime.TotalCount(), "being published")
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
