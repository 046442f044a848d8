package queue_test

import (
	"fmt"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/stream/queue"
)

func Example() {
	q := queue.New(queue.Config{Messages: 2, Policy: flow.DropOldest}, func(frame string, _ queue.Reason) {
		fmt.Println("dropped", frame)
	})
	for _, frame := range []string{"first", "second", "third"} {
		q.TryPush(frame, int64(len(frame)))
	}
	for frame, ok := q.Pop(); ok; frame, ok = q.Pop() {
		fmt.Println("taken", frame)
	}
	// Output:
	// dropped first
	// taken second
	// taken third
}
