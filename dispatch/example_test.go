package dispatch_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/raybridge/raybridge/dispatch"
)

// FloatArray is a message whose sender reuses one buffer.
type FloatArray struct {
	Values []float32
}

// CopyToCache copies the valid values into dst, whose buffer is reused.
func (a *FloatArray) CopyToCache(dst *FloatArray) { dst.Values = append(dst.Values[:0], a.Values...) }

// CacheKey says that all instances can hold each other's data.
func (a *FloatArray) CacheKey() uint64 { return 0 }

func ExampleNewTopic() {
	d := dispatch.New(dispatch.Config{})
	topic := dispatch.NewTopic(d, "/values", func(_ context.Context, a *FloatArray) error {
		fmt.Println("sent", a.Values)
		return nil
	}, dispatch.TopicConfig{Ordered: true})

	buffer := &FloatArray{Values: make([]float32, 2)}
	for i := range 3 {
		buffer.Values[0], buffer.Values[1] = float32(i), float32(10*i)
		topic.TryQueue(buffer) // copied: the buffer is free again
	}
	_ = d.Drain(context.Background())
	_ = d.Close(context.Background())
	// Output:
	// sent [0 0]
	// sent [1 10]
	// sent [2 20]
}

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

func ExampleNewSubscriber() {
	d := dispatch.New(dispatch.Config{})
	steering := dispatch.NewSubscriber(d, "/steer", func(_ context.Context, angle float64) error {
		if angle > 1 {
			return errors.New("angle out of range")
		}
		fmt.Println("steer", angle)
		return nil
	}, dispatch.SubscriberConfig{Sync: true})
	fmt.Println(steering.Deliver(0.25))
	d.Pause()
	fmt.Println(steering.Deliver(0.5))
	_ = d.Close(context.Background())
	// Output:
	// steer 0.25
	// true
	// false
}
