package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/raybridge/raybridge/dispatch"
)

// full fills a topic whose publisher hangs, offers messages 0 to 3, and lets the
// publisher go on: two messages find room.
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
func ExamplePolicy_dropNewest() {
	full(dispatch.TopicConfig{Policy: dispatch.DropNewest})
	// Output:
	// 2 topic queue is full
	// 3 topic queue is full
	// 0 <nil>
	// 1 <nil>
}

// DropOldest pushes out what has waited longest.
func ExamplePolicy_dropOldest() {
	full(dispatch.TopicConfig{Policy: dispatch.DropOldest})
	// Output:
	// 0 topic queue is full
	// 1 topic queue is full
	// 2 <nil>
	// 3 <nil>
}

// Block lets the sender wait: for as long as it takes, or up to BlockLimit.
func ExamplePolicy_block() {
	full(dispatch.TopicConfig{Policy: dispatch.Block, BlockLimit: time.Millisecond})
	// Output:
	// 2 topic queue is full
	// 3 topic queue is full
	// 0 <nil>
	// 1 <nil>
}

// Policies are named in configurations.
func ExampleParsePolicy() {
	policy, err := dispatch.ParsePolicy("drop_oldest")
	fmt.Println(policy == dispatch.DropOldest, err)
	_, err = dispatch.ParsePolicy("newest")
	fmt.Println(err)
	fmt.Println(errors.Is(err, dispatch.ErrConfig))
	// Output:
	// true <nil>
	// invalid topic configuration: unknown policy "newest" (known: block, drop_newest, drop_oldest)
	// true
}

// brokenPipe is an error of a bridge that names its cause.
type brokenPipe struct{}

func (brokenPipe) Error() string     { return "broken pipe" }
func (brokenPipe) DropCause() string { return string(dispatch.CauseNotConnected) }

// Drops are counted by cause: that of the dispatcher's own errors, or what the
// publisher's error says.
func ExampleCauseOf() {
	for _, err := range []error{
		dispatch.ErrFull, dispatch.ErrPaused, fmt.Errorf("send image: %w", brokenPipe{}), errors.New("no such encoding"),
	} {
		fmt.Printf("%v: %s\n", err, dispatch.CauseOf(err))
	}
	// Output:
	// topic queue is full: queue_full
	// dispatcher is paused: paused
	// send image: broken pipe: not_connected
	// no such encoding: convert_failed
}
