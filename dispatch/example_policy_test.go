package dispatch_test

import (
	"context"
	"fmt"
	"time"

	"github.com/raybridge/raybridge/dispatch"
	"github.com/raybridge/raybridge/flow"
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
func ExampleTopicConfig_dropNewest() {
	full(dispatch.TopicConfig{Policy: flow.DropNewest})
	// Output:
	// 2 topic queue is full
	// 3 topic queue is full
	// 0 <nil>
	// 1 <nil>
}

// DropOldest pushes out what has waited longest.
func ExampleTopicConfig_dropOldest() {
	full(dispatch.TopicConfig{Policy: flow.DropOldest})
	// Output:
	// 0 topic queue is full
	// 1 topic queue is full
	// 2 <nil>
	// 3 <nil>
}

// Block lets the sender wait: for as long as it takes, or up to BlockLimit.
func ExampleTopicConfig_block() {
	full(dispatch.TopicConfig{Policy: flow.Block, BlockLimit: time.Millisecond})
	// Output:
	// 2 topic queue is full
	// 3 topic queue is full
	// 0 <nil>
	// 1 <nil>
}
